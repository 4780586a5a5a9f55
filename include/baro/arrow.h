/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows of a tape as an Arrow stream: pyarrow, pandas, polars, DuckDB and all else that takes the Arrow C stream
 * interface reads them, without a copy and without text in between. No Arrow library is needed here: the interface is
 * three structs and their rules.
 *
 * Columns are those of baro/columns.h, and so those of `baro export`; numbers are the same as in its CSV. Their types:
 *
 * | column | type |
 * |---|---|
 * | `time` | timestamp[ns, UTC], by baro_tape_realtime_ns() |
 * | `t_ns` and other offsets from the beginning of the tape | int64 |
 * | pids, exit status, signal | int32 |
 * | uid, id | uint32 |
 * | counts, bytes, nanoseconds, hertz | uint64: cast them to int64 before subtracting |
 * | metrics that can be below 0, the number of an event | int64 |
 * | ratios (0 to 1), degrees, decimals, cores, derived metrics | float64 |
 * | flags | bool |
 * | all text | dictionary<int32, utf8>, escaped as baro/text.h says |
 *
 * What is absent is null; the column `NAME_absent` has the reason, if it is asked for. The metadata of a field has, as
 * far as there is something to say: `unit`, `semantics`, `help`, `source` (the kernel interface), and `absent` where no
 * row has the metric, because it was not asked for. That of the whole has `kind`.
 *
 * Lifetimes and threads: a stream has a cursor of its own and needs nothing of the cursor that it was made from, which
 * may be moved or closed meanwhile; only a tape that was opened in memory has to stay there until the stream is
 * released. baro_tape_limit_cpu() of that cursor does not limit the stream. A stream belongs to one thread at a time.
 * Schemas and arrays that it has delivered do not depend on it, or on each other: each may be moved to another thread
 * and is released once, by whoever has it.
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

#define ARROW_FLAG_DICTIONARY_ORDERED 1 /**< the order of the dictionary means something; never set here */
#define ARROW_FLAG_NULLABLE 2           /**< there may be nulls */
#define ARROW_FLAG_MAP_KEYS_SORTED 4    /**< never set here: there are no maps */

/** The type of an array. */
struct ArrowSchema {
    const char *format;                          /**< of an array of a dictionary that of its numbers */
    const char *name;                            /**< may be NULL */
    const char *metadata;                        /**< pairs of texts with their lengths; NULL: none */
    int64_t flags;                               /**< ARROW_FLAG_... */
    int64_t n_children;                          /**< of a struct: its fields */
    struct ArrowSchema **children;               /**< n_children of them */
    struct ArrowSchema *dictionary;              /**< the type of the values that the numbers stand for */
    void (*release)(struct ArrowSchema *schema); /**< NULL: it was released, or moved elsewhere */
    void *private_data;                          /**< of the producer */
};

/** The values of an array. */
struct ArrowArray {
    int64_t length;       /**< number of values */
    int64_t null_count;   /**< how many of them are nulls; -1: not counted */
    int64_t offset;       /**< of its first value in the buffers */
    int64_t n_buffers;    /**< by type: nulls and values; text has offsets between them */
    int64_t n_children;   /**< of a struct: its columns */
    const void **buffers; /**< the first: a bit for each value, 1 where there is one; NULL: there are no nulls */
    struct ArrowArray **children;  /**< n_children of them */
    struct ArrowArray *dictionary; /**< the values that the numbers stand for; NULL: they are values themselves */
    void (*release)(struct ArrowArray *array); /**< NULL: it was released, or moved elsewhere */
    void *private_data;                        /**< of the producer */
};
#endif

/* The Arrow C stream interface. */
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE /**< the type below is declared, here or by another library */

/** Arrays of the same type, one after the other. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out); /**< 0 or an errno */
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);    /**< at the end out is released */
    const char *(*get_last_error)(struct ArrowArrayStream *stream); /**< of the last call that failed; NULL: none */
    void (*release)(struct ArrowArrayStream *stream);               /**< NULL: it was released, or moved elsewhere */
    void *private_data;                                             /**< of the producer */
};
#endif

/** What else a stream may be asked for. Later versions may add members at the end. */
struct baro_arrow_options {
    size_t size;       /**< sizeof(struct baro_arrow_options) of the program */
    uint64_t from_ns;  /**< rows whose time (column `t_ns`) is at least this */
    uint64_t to_ns;    /**< and at most this; UINT64_MAX: to the end */
    size_t batch_rows; /**< most rows of an array; 0: 65536. It has fewer if their text takes more than 16 MiB */
    const char *(*user)(void *context, uint32_t uid); /**< names a user; NULL: `user` is the number, as text */
    void *user_context;                               /**< given to `user` */
};

/** All rows of the tape, arrays of the usual size, users as numbers. */
#define BARO_ARROW_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(struct baro_arrow_options), 0, UINT64_MAX, 0, NULL, NULL                                                \
    }

/**
 * Makes a stream of rows. It reads the tape as the stream is read: memory is bounded by one array, the cursor, and for
 * derived metrics two samples. It ends where the tape ends when it comes there; damage is stepped over, as by
 * baro_tape_next().
 *
 * What was not asked for is not decoded where the format permits that: rows of the job without sums over processes,
 * events, and readings of the machine and of other entities, are read without the processes of their samples.
 * @param rows a kind, or BARO_ROWS_EVENT: baro_rows_find()
 * @param columns a list as baro_columns_new() takes it; NULL: as `baro export` without --columns.
 * @param options NULL: all rows.
 * @param ret the stream, to be released with ret->release(ret); left alone on failure.
 * @return 0; BARO_E_SYNTAX, BARO_E_RANGE as baro_columns_new(); a negative code as baro_tape_open().
 */
BARO_API int baro_tape_arrow(const struct baro_tape *tape, int rows, const char *columns,
                             const struct baro_arrow_options *options, struct ArrowArrayStream *ret,
                             struct baro_error *err);

/**
 * For the Arrow PyCapsule interface: the destructor of a PyCapsule called "arrow_array_stream". It releases the stream,
 * if nobody took it, and frees it: the struct is in memory from malloc(3). It does nothing where there is no Python.
 * @param capsule a PyObject *.
 */
BARO_API void baro_arrow_capsule_free(void *capsule);

/**
 * Tells whether the rows are all that the tape had.
 * @param stream one that baro_tape_arrow() made, not released.
 * @return how many bytes of the tape it has stepped over so far because they were damaged.
 */
BARO_API uint64_t baro_arrow_damage(const struct ArrowArrayStream *stream);

#ifdef __cplusplus
}
#endif
#endif
