/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows of a tape as an Arrow stream. pyarrow, pandas, polars, DuckDB and all other programs that have the Arrow C
 * stream interface read it without copying the arrays. No Arrow library is needed: the interface is three structs and
 * their rules.
 *
 * Columns are those of baro/columns.h; names and numbers are the same as in the CSV of `baro export`. Their types:
 *
 * | column | type |
 * |---|---|
 * | `time` | timestamp[ns, UTC], by baro_tape_realtime_ns() |
 * | `t_ns`, `end_ns` and other offsets from the beginning of the tape | int64 |
 * | pids, exit status, signal, depth of a phase, occurrence of a step | int32 |
 * | uid, id | uint32 |
 * | counts, bytes, nanoseconds, hertz | uint64: cast them to int64 before subtracting |
 * | metrics that can be below 0, the number of an event | int64 |
 * | ratios (0 to 1), degrees, decimals, cores, derived metrics | float64 |
 * | flags | bool |
 * | all text | dictionary<int32, utf8>, escaped as baro/text.h says |
 *
 * An absent value is null; the column `NAME_absent` has the reason, if the caller asks for it. The metadata of a field
 * has those of these keys that apply: `unit`, `semantics`, `help`, `source` (the kernel interface), and `absent` if no
 * row has the metric because the recorder was not asked for it. The metadata of the schema has `kind`.
 *
 * Lifetimes and threads: a stream has a cursor of its own. The cursor that it was made from may be moved or closed.
 * baro_tape_limit_cpu() of that cursor limits baro_tape_arrow(), but not the stream. A stream belongs to one thread at
 * a time. Schemas and arrays that it has delivered are independent of it and of each other: each may be moved to
 * another thread, and its owner releases it once.
 */
#ifndef BARO_ARROW_H
#define BARO_ARROW_H

#include <stddef.h>
#include <stdint.h>

#include "baro/columns.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The Arrow C data interface. Other headers may have the same structs: whichever comes first defines them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE /**< the types below are declared, here or by another library */

#define ARROW_FLAG_DICTIONARY_ORDERED 1 /**< the order of the dictionary has a meaning; never set here */
#define ARROW_FLAG_NULLABLE 2           /**< there may be nulls */
#define ARROW_FLAG_MAP_KEYS_SORTED 4    /**< never set here: there are no maps */

/** The type of an array. */
struct ArrowSchema {
    const char *format;                          /**< the type; for a dictionary that of its indices */
    const char *name;                            /**< may be NULL */
    const char *metadata;                        /**< keys and values, each with its length; NULL: none */
    int64_t flags;                               /**< ARROW_FLAG_... */
    int64_t n_children;                          /**< number of fields of a struct */
    struct ArrowSchema **children;               /**< the fields */
    struct ArrowSchema *dictionary;              /**< the type of the values in the dictionary; NULL: there is none */
    void (*release)(struct ArrowSchema *schema); /**< frees it; NULL: it was released, or moved elsewhere */
    void *private_data;                          /**< belongs to the producer */
};

/** The values of an array. */
struct ArrowArray {
    int64_t length;       /**< number of values */
    int64_t null_count;   /**< how many of them are nulls; -1: not counted */
    int64_t offset;       /**< position of its first value in the buffers */
    int64_t n_buffers;    /**< number of buffers: 1 for a struct, 2 for numbers, 3 for text, which has offsets, too */
    int64_t n_children;   /**< number of columns of a struct */
    const void **buffers; /**< the first has a bit for each value, 1 if it is not null; NULL: there are no nulls */
    struct ArrowArray **children;  /**< the columns */
    struct ArrowArray *dictionary; /**< the values to which indices refer; NULL: the array has values itself */
    void (*release)(struct ArrowArray *array); /**< frees it; NULL: it was released, or moved elsewhere */
    void *private_data;                        /**< belongs to the producer */
};
#endif

/* The Arrow C stream interface. */
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE /**< the type below is declared, here or by another library */

/** Arrays of the same type, one after the other. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out); /**< 0, or an errno value */
    /** 0, or an errno value. At the end of the stream `out->release` is NULL */
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *stream); /**< text for the last call that failed, or NULL */
    void (*release)(struct ArrowArrayStream *stream); /**< frees it; NULL: it was released, or moved elsewhere */
    void *private_data;                               /**< belongs to the producer */
};
#endif

/**
 * Options of a stream. Later versions may add members at the end. Members that are 0 limit nothing:
 * `struct baro_arrow_options o = {.size = sizeof(o)}` is the same as BARO_ARROW_OPTIONS_INIT.
 */
struct baro_arrow_options {
    size_t size;       /**< set by the caller: sizeof(struct baro_arrow_options) */
    uint64_t from_ns;  /**< time (column `t_ns`) of the first rows */
    uint64_t to_ns;    /**< time of the last rows; 0 or UINT64_MAX: to the end */
    size_t batch_rows; /**< most rows of an array; 0: 65536. An array has fewer if their text takes more than 16 MiB */
    /** Returns the name of a user, borrowed until the next call; NULL if there is none: then the column `user` has the
     * uid, as it has if this function is NULL. The stream calls it in the thread that calls get_next(), until it is
     * released. */
    const char *(*user)(void *context, uint32_t uid);
    void *user_context; /**< given to `user` */
};

/** Initializes a struct baro_arrow_options: all rows of the tape, 65536 in an array, users as numbers. */
#define BARO_ARROW_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(struct baro_arrow_options), 0, UINT64_MAX, 0, NULL, NULL                                                \
    }

/**
 * Makes a stream of rows. The stream reads the tape piece by piece: it needs memory for one array, the cursor, and for
 * derived metrics two samples. It ends at the end that the tape has when the stream reaches it. It steps over damage,
 * as baro_tape_next() does.
 *
 * The stream decodes only what it needs, as far as the format permits: rows of the job without sums over processes,
 * events, and rows of the machine and of entities are read without the processes of their samples.
 * @param rows a kind, BARO_ROWS_EVENT, BARO_ROWS_PHASE or BARO_ROWS_STEP: the result of baro_rows_find()
 * @param columns a list as for baro_columns_new(); NULL: the default columns of `baro export`.
 * @param options borrowed during the call; NULL: BARO_ARROW_OPTIONS_INIT.
 * @param ret the stream, to be released with ret->release(ret).
 * @return 0; BARO_E_SYNTAX or BARO_E_RANGE as baro_columns_new(); a negative code as baro_tape_open().
 */
BARO_API int baro_tape_arrow(const struct baro_tape *tape, baro_kind_id rows, const char *columns,
                             const struct baro_arrow_options *options, struct ArrowArrayStream *ret,
                             struct baro_error *err);

/** A column of a table that a program has made itself. Later versions may add members at the end. */
struct baro_arrow_column {
    const char *name; /**< UTF-8 */
    /** BARO_FACT_UNSIGNED: uint64; _SIGNED: int64; _REAL: float64; _BOOLEAN: bool; _TIME: timestamp[ns, UTC]; _TEXT:
     * dictionary of utf8, escaped as baro/text.h says */
    enum baro_fact_type type;
    /** a value for each row: of reals a double, of texts a const char *, else 64 bits. NaN and NULL become nulls. */
    const void *values;
    const uint8_t *absent; /**< not 0 for each row without a value; NULL: all have one */
};

/**
 * Makes a stream of a table that the program has in memory, such as values of many recordings, in one array.
 * @param columns @p n of them, each with @p rows values; nothing of them is borrowed after the call.
 * @param ret the stream, to be released with ret->release(ret).
 * @return 0 or -ENOMEM.
 */
BARO_API int baro_arrow_table(const struct baro_arrow_column *columns, size_t n, size_t rows,
                              struct ArrowArrayStream *ret, struct baro_error *err);

/**
 * Destroys a PyCapsule called "arrow_array_stream", for the Arrow PyCapsule interface. It releases the stream, unless a
 * consumer has moved it, and frees the struct, which must be from malloc(3). It does nothing in a program without
 * Python.
 * @param capsule a PyObject *.
 */
BARO_API void baro_arrow_capsule_free(void *capsule);

/**
 * Tells whether rows are missing because the tape is damaged.
 * @param stream one that baro_tape_arrow() made and that was not released.
 * @return how many damaged bytes of the tape the stream has stepped over so far.
 */
BARO_API uint64_t baro_arrow_damage(const struct ArrowArrayStream *stream);

#ifdef __cplusplus
}
#endif
#endif
