/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows and columns: what `baro export` writes as CSV, and baro/arrow.h as Arrow, is described here once.
 *
 * A kind of entity has rows: a process has one for each sample that it is in, the job one for each sample, the machine
 * and entities one for each reading, an exit and an event one each. A row has columns: some say whose it is and when
 * (`pid`, `t_ns`), some are recorded metrics, some are computed (`cores`, derived metrics).
 *
 * Lifetimes: a selection of columns belongs to its caller; what it hands out is borrowed from it. It borrows metrics
 * from the tape that it was made for and is freed before that tape is closed.
 */
#ifndef BARO_COLUMNS_H
#define BARO_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "baro/event.h"
#include "baro/metric.h"
#include "baro/sample.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows that are of no kind: events have no metrics. */
#define BARO_ROWS_EVENT (-1)

/** What a column is. Later versions may add some. */
enum baro_column_kind {
    BARO_COLUMN_TIME, /**< wall-clock time of the row, UTC */
    BARO_COLUMN_T,    /**< nanoseconds since the tape began */
    BARO_COLUMN_PID,
    BARO_COLUMN_START, /**< clock ticks since boot: with the pid the identity of a process */
    BARO_COLUMN_PPID,
    BARO_COLUMN_UID,
    BARO_COLUMN_USER, /**< the name of that user; the number where it has none */
    BARO_COLUMN_NAME,
    BARO_COLUMN_CMDLINE,
    BARO_COLUMN_AGE, /**< nanoseconds since the values of the process were read */
    BARO_COLUMN_ID,  /**< of an entity: differs for two of the same name of which one replaced the other */
    BARO_COLUMN_LABEL,
    BARO_COLUMN_ATTRIBUTES, /**< of an entity, as text: "device=0, mode=fast" */
    BARO_COLUMN_GIVEN,      /**< of a mark or phase, as JSON: {"loss": 0.12} */
    BARO_COLUMN_PHASE,      /**< the innermost phase that the row lies in */
    BARO_COLUMN_OWNER,      /**< pid of the process that an entity belongs to */
    BARO_COLUMN_CORES,      /**< CPU time per second since the previous row of the same process, entity, job or host */
    BARO_COLUMN_LOSSY,      /**< events were lost since the previous sample */
    BARO_COLUMN_STATUS,     /**< of an exit: the status, if it ended by one */
    BARO_COLUMN_SIGNAL,     /**< of an exit: the signal, if one ended it */
    BARO_COLUMN_SOURCE,     /**< of an exit: where its values come from */
    BARO_COLUMN_ORIGIN,     /**< how the recorder found the process */
    BARO_COLUMN_SAMPLED,    /**< of an exit: at least one sample has it */
    BARO_COLUMN_EVENT,      /**< of an event: its kind */
    BARO_COLUMN_NUMBER,     /**< of an event */
    BARO_COLUMN_TEXT,       /**< of an event */
    BARO_COLUMN_BOUNDS,     /**< of the job: the names of those sums that lack the value of a process */
    BARO_COLUMN_METRIC,     /**< a metric of the row's kind */
    BARO_COLUMN_SUM,        /**< of the job: the sum of a metric over its processes */
    BARO_COLUMN_DERIVED,    /**< a derived metric: of this row and the previous one of the same process, entity, ... */
    BARO_COLUMN_REASON,     /**< why a metric is absent; nothing where it is there */
    BARO_COLUMN_SUM_REASON  /**< the same of a sum */
};

/** A column. Later versions may add members at the end: take it by pointer, as baro_columns_get() gives it. */
struct baro_column {
    const char *name;                 /**< "rss_bytes"; of a reason "rss_bytes_absent" */
    enum baro_column_kind kind;       /**< where its values come from */
    int id;                           /**< of the metric or the derived metric; else -1 */
    const struct baro_metric *metric; /**< of a metric, a sum or a reason; else NULL */
};

struct baro_columns; /**< a selection of columns for the rows of a kind */

/**
 * Finds whose rows a word means.
 * @param name "event" or the name of a kind, also of one that the tape alone has.
 * @return BARO_ROWS_EVENT, the number of the kind, or BARO_E_RANGE if a tape has no rows of it.
 */
BARO_API int baro_rows_find(const struct baro_tape *tape, const char *name);

/**
 * Selects columns.
 * @param rows a kind, or BARO_ROWS_EVENT
 * @param list names separated by commas: names or stems of metrics, derived metrics, any other name that
 * baro_columns_names() lists, and for each metric its name followed by "_absent". NULL: those that `baro export` writes
 * without being asked, all that the tape was asked to hold.
 * @return 0 and a selection, to be freed with baro_columns_free(); BARO_E_SYNTAX for an unknown name, which the error's
 * text has; BARO_E_RANGE if there are no such rows; -ENOMEM.
 */
BARO_API int baro_columns_new(struct baro_columns **ret, const struct baro_tape *tape, int rows, const char *list,
                              struct baro_error *err);
/** Frees a selection. NULL is allowed. */
BARO_API void baro_columns_free(struct baro_columns *c);
/** @return how many columns it has. */
BARO_API size_t baro_columns_count(const struct baro_columns *c);
/** @return column @p i; NULL if there is no such one. */
BARO_API const struct baro_column *baro_columns_get(const struct baro_columns *c, size_t i);

/**
 * Lists the names that rows may be asked for, without those of reasons: for completion and suggestions.
 * @param ret room for @p n names, borrowed from the tape; NULL if @p n is 0.
 * @return how many there are; no more than @p n of them are in @p ret.
 */
BARO_API size_t baro_columns_names(const struct baro_tape *tape, int rows, const char **ret, size_t n);

/* ---- texts of columns ---- */

/**
 * Text of columns that are put together. They return the length of all of the text without the NUL at its end, as
 * snprintf(3) does; all of it is in @p ret where that is less than @p size.
 */
/** The attributes of an entity: "device=0, mode=fast"; "" if it has none. */
BARO_API size_t baro_row_attributes_text(const struct baro_row *row, char *ret, size_t size);
/** What a mark or phase was given besides its name, as a JSON object; "" if that is nothing. */
BARO_API size_t baro_event_given_json(const struct baro_event *e, char *ret, size_t size);
/**
 * The names of those sums of a job that are lower bounds, because the value of a process is absent: "pss_bytes
 * uss_bytes"; and run_delay_ns while processes have run since it was read.
 */
BARO_API size_t baro_sample_bounds_text(const struct baro_sample *s, char *ret, size_t size);

/* ---- values that a row has only in comparison with the previous one ---- */

/**
 * What is remembered of the rows before: for `cores` and derived metrics. Rows are given to it in the order of the
 * tape, those of one kind alone.
 */
struct baro_previous;
/** @return 0 and an object to be freed with baro_previous_free(); -ENOMEM. */
BARO_API int baro_previous_new(struct baro_previous **ret);
/** Frees it. NULL is allowed. */
BARO_API void baro_previous_free(struct baro_previous *m);
/**
 * Takes a row and computes CPU time per second since the previous row of the same process, entity, job or machine, of
 * no more than the cores that there are.
 * @param header of the tape; NULL: start times of processes and the number of CPUs are not made use of
 * @param t_ns of the row
 * @param row a process, the job, the machine, a CPU, a control group or a task; BARO_ABSENT_UNSUPPORTED of other kinds.
 * @return BARO_ABSENT_NOT_YET in its first row, unless it began after the rows before.
 */
BARO_API enum baro_absent baro_previous_cores(struct baro_previous *m, const struct baro_header *header, uint64_t t_ns,
                                              const struct baro_row *row, double *ret);
/**
 * Keeps a copy of a sample whose rows of a kind have all been taken: for derived metrics, which are computed from two
 * samples (baro_row_derived()).
 * @return 0 or -ENOMEM.
 */
BARO_API int baro_previous_keep(struct baro_previous *m, const struct baro_sample *s, int kind);
/** @return the sample that was kept last, borrowed until the next one is; NULL: there was none. */
BARO_API const struct baro_sample *baro_previous_kept(const struct baro_previous *m);
/** @return the same process, entity, job, ... in it, borrowed like it; NULL if it is not there. */
BARO_API const struct baro_row *baro_previous_row(const struct baro_previous *m, const struct baro_row *row);

/* ---- the columns of one sample ---- */

/** As a column of baro_sample_columns(): one of BARO_COLUMN_PID, _START, _PPID, _UID, _ID or _AGE instead of a metric.
 */
#define BARO_COLUMN_ID_OF(column_kind) (-1 - (int)(column_kind))

/**
 * Fills arrays with the values of a sample, a column at a time: for programs that would make a call for each row.
 * @param kind of the rows: processes, the job, the recorder, the host (one row each), or a kind of entities.
 * @param columns @p n of them: ids of metrics, or BARO_COLUMN_ID_OF(). Values of others are BARO_ABSENT_UNKNOWN.
 * @param first the row to begin with: that of baro_sample_row() with this number.
 * @param rows how many rows there is room for in each array.
 * @param ret_value @p n arrays of @p rows values, as stored (baro_metric_real()); 0 where a value is absent. An array
 * may be NULL: its values are not wanted.
 * @param ret_absent @p n arrays of @p rows reasons of enum baro_absent, BARO_PRESENT (0) where there is a value; an
 * array may be NULL, and so may be @p ret_absent.
 * @return how many rows were filled: fewer than @p rows at the end of the sample, 0 behind it.
 *
 *     int columns[] = {BARO_COLUMN_ID_OF(BARO_COLUMN_PID), cpu, rss};
 *     uint64_t pid[256], cpu_ns[256], rss_bytes[256], *at[] = {pid, cpu_ns, rss_bytes};
 *     for (size_t i = 0, n; (n = baro_sample_columns(s, BARO_KIND_PROCESS, columns, 3, i, 256, at, NULL)); i += n)
 *         use(n, pid, cpu_ns, rss_bytes);
 */
BARO_API size_t baro_sample_columns(const struct baro_sample *s, int kind, const int *columns, size_t n, size_t first,
                                    size_t rows, uint64_t *const *ret_value, uint8_t *const *ret_absent);

#ifdef __cplusplus
}
#endif
#endif
