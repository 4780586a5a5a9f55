/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tables of a tape: the rows and columns that `baro export` writes as CSV and baro/arrow.h as Arrow.
 *
 * Each kind has a table of rows: a process has a row for each sample that it is in, the job one for each sample, the
 * machine and entities one for each time they were read; each exit, event, phase and step has one row. The recorder has
 * no table, because each sample has its row. A row has columns: some identify the row (`pid`, `t_ns`), some are
 * recorded metrics, and some are computed (`cores`, derived metrics).
 *
 * Lifetimes: the caller owns a selection of columns; columns are borrowed from it. A selection borrows metrics from the
 * tape, so free the selection before you close the tape. A selection and a struct baro_previous belong to one thread at
 * a time.
 */
#ifndef BARO_COLUMNS_H
#define BARO_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "baro/event.h"
#include "baro/metric.h"
#include "baro/sample.h"
#include "baro/summary.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Asks for rows of events where a function calls its parameter `rows`: a kind, or this. Events have no metrics, and so
 * no kind. It is not the number of any kind.
 */
#define BARO_ROWS_EVENT 1000000
/**
 * Asks for rows of phases in the same places: one for each phase of the timeline (baro/timeline.h), in order of their
 * beginnings, with its facts.
 */
#define BARO_ROWS_PHASE 1000001
/**
 * Asks for rows of steps in the same places: one for each step of the job (baro/steps.h), those that are responsible
 * for most of the time first, with its facts.
 */
#define BARO_ROWS_STEP 1000002

/** What a column is. Later versions may add some. */
enum baro_column_kind {
    BARO_COLUMN_TIME, /**< wall-clock time of the row, UTC */
    BARO_COLUMN_T,    /**< nanoseconds since the tape began */
    BARO_COLUMN_PID,
    BARO_COLUMN_START, /**< clock ticks since boot: with the pid the identity of a process */
    BARO_COLUMN_PPID,
    BARO_COLUMN_UID,
    BARO_COLUMN_USER, /**< the name of that user; the number if the user has no name */
    BARO_COLUMN_NAME,
    BARO_COLUMN_CMDLINE,
    BARO_COLUMN_AGE, /**< nanoseconds since the values of the process were read */
    BARO_COLUMN_ID,  /**< of an entity: baro_row_id(). An entity that replaced another one of its name has another id */
    BARO_COLUMN_LABEL,
    BARO_COLUMN_ATTRIBUTES, /**< of an entity, as text: "device=0, mode=fast" */
    BARO_COLUMN_GIVEN,      /**< of a mark or phase, as JSON: {"loss": 0.12} */
    BARO_COLUMN_PHASE,      /**< the innermost phase that the job was in at the time of the row */
    BARO_COLUMN_OWNER,      /**< pid of the process that an entity belongs to */
    BARO_COLUMN_CORES,      /**< CPU time per second since the previous row of the same process, entity, job or host */
    BARO_COLUMN_LOSSY,      /**< events were lost since the previous sample */
    BARO_COLUMN_STATUS,     /**< of an exit, a step, or the command of a phase: the exit status, if it called exit(3) */
    BARO_COLUMN_SIGNAL,     /**< of an exit, a step, or the command of a phase: the signal, if one killed it */
    BARO_COLUMN_SOURCE,     /**< of an exit: where its values come from (enum baro_exit_source) */
    BARO_COLUMN_ORIGIN,     /**< how the recorder found the process (enum baro_origin) */
    BARO_COLUMN_SAMPLED,    /**< of an exit: at least one sample has the process */
    BARO_COLUMN_EVENT,      /**< of an event: its kind */
    BARO_COLUMN_NUMBER,     /**< of an event: baro_event_number() */
    BARO_COLUMN_TEXT,       /**< of an event: baro_event_text() */
    BARO_COLUMN_BOUNDS,     /**< of the job: the names of the sums that lack the value of a process; of a phase
                                 or step: of facts that are lower bounds */
    BARO_COLUMN_METRIC,     /**< a metric of the row's kind */
    BARO_COLUMN_SUM,        /**< of the job: the sum of a metric over its processes */
    BARO_COLUMN_DERIVED, /**< a derived metric, from this row and the previous one of the same process, entity, ... */
    BARO_COLUMN_REASON,  /**< why a metric is absent; empty if it is present */
    BARO_COLUMN_SUM_REASON,   /**< why a sum is absent; empty if it is present */
    BARO_COLUMN_PATH,         /**< of a phase: baro_timeline_path() */
    BARO_COLUMN_PARENT,       /**< of a phase: the path of the phase in which it began */
    BARO_COLUMN_END,          /**< of a phase or step: its end, in nanoseconds since the tape began */
    BARO_COLUMN_OPEN,         /**< of a phase or step: it has not ended */
    BARO_COLUMN_DEPTH,        /**< of a phase: its lane; 0: the outermost */
    BARO_COLUMN_FACT,         /**< a fact of phases, or of steps */
    BARO_COLUMN_FACT_REASON,  /**< why a fact is absent; empty if it is present */
    BARO_COLUMN_ESTIMATES,    /**< of a phase or step: the names of the facts that may be wrong either way */
    BARO_COLUMN_OCCURRENCE,   /**< of a step: which of those of its name it is, by their beginning, from 1 on */
    BARO_COLUMN_DRIVER,       /**< of a step: pid of the driver that started it */
    BARO_COLUMN_DRIVER_START, /**< of a step: start time of that driver; both are in the driver's own row as well */
    BARO_COLUMN_IS_DRIVER,    /**< of a step: it is what a driver does on its own */
    BARO_COLUMN_IS_IDLE       /**< of a step: it idled beside others that worked */
};

/** A column. Later versions may add members at the end: take it by pointer, as baro_columns_get() gives it. */
struct baro_column {
    /**
     * "rss_bytes"; for the reason of that metric "rss_bytes_absent". It is UTF-8 without control characters, and no two
     * columns of a kind differ in case alone: metrics Foo, foo and time, which only the tape has, are the columns Foo,
     * foo_2 and time_2.
     */
    const char *name;
    enum baro_column_kind kind;       /**< where its values come from */
    int id;                           /**< the id of the metric, derived metric or fact; else -1 */
    const struct baro_metric *metric; /**< the metric of a value, a sum or a reason; else NULL */
    const struct baro_fact *fact;     /**< the fact of a value or a reason; else NULL */
};

struct baro_columns; /**< a selection of columns for the rows of a kind */

/**
 * Finds rows by the name of their kind.
 * @param name "event", "phase", "step", or the name of a kind. A kind that only the tape has is found if the cursor
 * knows it: call baro_tape_read_kinds() before. The same holds for columns of such a kind.
 * @return BARO_ROWS_EVENT, BARO_ROWS_PHASE, BARO_ROWS_STEP, or the number of the kind; -1 if there are no rows of that
 * name.
 */
BARO_API baro_kind_id baro_rows_find(const struct baro_tape *tape, const char *name);

/**
 * Selects columns.
 * @param rows a kind, BARO_ROWS_EVENT, BARO_ROWS_PHASE or BARO_ROWS_STEP
 * @param list names separated by commas: names or stems of metrics, derived metrics, any other name that
 * baro_columns_names() lists, and the name of a metric or fact followed by "_absent". NULL: the default columns of
 * `baro export`, which have all metrics that the recorder was asked for.
 * @return 0 and a selection, to be freed with baro_columns_free(); BARO_E_SYNTAX for an unknown name, which is in the
 * text of the error; BARO_E_RANGE if there are no such rows; -ENOMEM.
 */
BARO_API int baro_columns_new(struct baro_columns **ret, const struct baro_tape *tape, baro_kind_id rows,
                              const char *list, struct baro_error *err);
/** Frees a selection. NULL is allowed. */
BARO_API void baro_columns_free(struct baro_columns *c);
/** @return how many columns the selection has. */
BARO_API size_t baro_columns_count(const struct baro_columns *c);
/** @return column @p i, borrowed from the selection; NULL if there is none. */
BARO_API const struct baro_column *baro_columns_get(const struct baro_columns *c, size_t i);

/**
 * Lists the names of all columns that rows can have, without those of reasons: for completion and suggestions.
 * @param ret room for @p n names, borrowed from the tape; NULL if @p n is 0.
 * @return how many there are; @p ret gets at most @p n of them.
 */
BARO_API size_t baro_columns_names(const struct baro_tape *tape, baro_kind_id rows, const char **ret, size_t n);

/* ---- texts of columns: as with snprintf(3), the text in ret is complete if the result is less than size ---- */

/**
 * Writes the attributes of an entity: "device=0, mode=fast"; "" if it has none.
 * @return the length of the whole text without the NUL at its end.
 */
BARO_API size_t baro_row_attributes_text(const struct baro_row *row, char *ret, size_t size);
/**
 * Writes the attributes that the job gave to a mark or phase, and what an exec has of the program before, as a JSON
 * object; "" if there are none.
 * @return the length of the whole text without the NUL at its end.
 */
BARO_API size_t baro_event_given_json(const struct baro_event *e, char *ret, size_t size);
/**
 * Writes the names of those sums of a job that are lower bounds because a process lacks the value, with blanks between
 * them: "pss_bytes uss_bytes"; and run_delay_ns if processes have run since it was read.
 * @return the length of the whole text without the NUL at its end.
 */
BARO_API size_t baro_sample_bounds_text(const struct baro_sample *s, char *ret, size_t size);

/* ---- values that are computed from a row and the previous one ---- */

/**
 * The previous rows of one kind, from which `cores` and derived metrics are computed. Pass it rows in the order of the
 * tape.
 */
struct baro_previous;
/** @return 0 and an object without rows, to be freed with baro_previous_free(); -ENOMEM. */
BARO_API int baro_previous_new(struct baro_previous **ret);
/** Frees the object. NULL is allowed. */
BARO_API void baro_previous_free(struct baro_previous *m);
/**
 * Takes a row and computes its CPU time per second since the previous row of the same process, entity, job or machine:
 * 0.5 s of CPU time in 0.25 s are 2 cores. The result is at most the number of CPUs.
 * @param header of the tape; NULL: start times of processes and the number of CPUs are not used
 * @param t_ns time of the row
 * @param row a process, the job, the machine, a CPU, a control group or a task. It is not kept.
 * @return BARO_PRESENT; BARO_ABSENT_NOT_YET for the first row, unless the process began after the previous rows;
 * BARO_ABSENT_UNSUPPORTED for rows of other kinds.
 */
BARO_API enum baro_absent baro_previous_cores(struct baro_previous *m, const struct baro_header *header, uint64_t t_ns,
                                              const struct baro_row *row, double *ret);
/**
 * Keeps a copy of a sample whose rows of a kind have all been taken. Derived metrics are computed from it and the next
 * sample: baro_row_derived(baro_previous_row(m, row), row, ...).
 * @return 0 or -ENOMEM.
 */
BARO_API int baro_previous_keep(struct baro_previous *m, const struct baro_sample *s, baro_kind_id kind);
/** @return the sample that was kept last, borrowed until the next call of baro_previous_keep(); NULL if none was. */
BARO_API const struct baro_sample *baro_previous_kept(const struct baro_previous *m);
/** @return the row of the same process, entity, job, ... in that sample, borrowed from it; NULL if it has none. */
BARO_API const struct baro_row *baro_previous_row(const struct baro_previous *m, const struct baro_row *row);

/* ---- the columns of one sample ---- */

/** Asks baro_sample_columns() for BARO_COLUMN_PID, _START, _PPID, _UID, _ID or _AGE instead of a metric. */
#define BARO_COLUMN_ID_OF(column_kind) (-1 - (int)(column_kind))

/**
 * Fills arrays with the values of a sample, a column at a time: for languages in which a call per row is expensive.
 * @param kind of the rows: processes, the job, the recorder, the host (one row each), or a kind of entities.
 * @param columns @p n ids of metrics, or BARO_COLUMN_ID_OF(). For any other number the values are BARO_ABSENT_UNKNOWN.
 * @param first the first row, counted as by baro_sample_row().
 * @param rows how many rows there is room for in each array.
 * @param ret_value @p n arrays of @p rows values, as stored (baro_metric_real()); 0 where a value is absent. An array
 * may be NULL: its values are not wanted.
 * @param ret_absent @p n arrays of @p rows reasons of enum baro_absent, BARO_PRESENT (0) where there is a value; an
 * array may be NULL, and so may be @p ret_absent.
 * @return how many rows were filled: fewer than @p rows at the end of the sample, 0 after it.
 *
 *     int columns[] = {BARO_COLUMN_ID_OF(BARO_COLUMN_PID), cpu, rss};
 *     uint64_t pid[256], cpu_ns[256], rss_bytes[256], *at[] = {pid, cpu_ns, rss_bytes};
 *     for (size_t i = 0, n; (n = baro_sample_columns(s, BARO_KIND_PROCESS, columns, 3, i, 256, at, NULL)); i += n)
 *         use(n, pid, cpu_ns, rss_bytes);
 */
BARO_API size_t baro_sample_columns(const struct baro_sample *s, baro_kind_id kind, const int *columns, size_t n,
                                    size_t first, size_t rows, uint64_t *const *ret_value, uint8_t *const *ret_absent);

#ifdef __cplusplus
}
#endif
#endif
