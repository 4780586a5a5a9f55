/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Several recordings side by side: a table with a row for each fact of the job, of a command, a phase or a task, and a
 * column for each run; and what changed between two groups of runs.
 *
 *     struct baro_runset *set;
 *     baro_runset_new(&set, &err);
 *     baro_runset_add(set, "before", fold_before, &err);
 *     baro_runset_add(set, "after", fold_after, &err);
 *     if (baro_runset_compare(set, 1, &err) < 0)
 *         ...
 *     for (size_t i = 0; i < baro_difference_count(set); i++) {
 *         const struct baro_difference *d = baro_difference_get(set, i);
 *         printf("%s %s %s: %s\n", d->scope, d->name, d->fact->name, baro_answer_name(d->answer));
 *     }
 *     baro_runset_free(set);
 *
 * Values of different runs are added up only by baro_runset_merge() and baro_runset_spread(), and none is filled in: a
 * run that lacks a value has none, with the reason. Several phases of one path in a run (epochs) are one row: their
 * sum, or of a peak the highest. Names come from tapes: escape them before you print them (baro/text.h). A set belongs
 * to one thread at a time.
 */
#ifndef BARO_RUNSET_H
#define BARO_RUNSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/fold.h"
#include "baro/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_runset; /**< runs and their values */

/** Makes a set without runs. @return 0 and a set, to be freed with baro_runset_free(); -ENOMEM. */
BARO_API int baro_runset_new(struct baro_runset **ret, struct baro_error *err);
/** Frees a set and all that was borrowed from it. NULL is allowed. */
BARO_API void baro_runset_free(struct baro_runset *set);

/**
 * Adds a run as the next column.
 * @param name what to call it, such as its path; copied.
 * @param fold finished (baro_fold_finish()); nothing of it is borrowed. Phases are taken if it has a timeline.
 * @return 0 or -ENOMEM.
 */
BARO_API int baro_runset_add(struct baro_runset *set, const char *name, const struct baro_fold *fold,
                             struct baro_error *err);
/** @return how many runs there are. */
BARO_API size_t baro_runset_runs(const struct baro_runset *set);
/** @return the name of run @p run, borrowed; NULL if there is none. */
BARO_API const char *baro_runset_name(const struct baro_runset *set, size_t run);

/* ---- which facts have rows ---- */
/** @return how many facts have rows: of the job, of phases, commands and tasks together. */
BARO_API int baro_runset_fact_count(void);
/** @return fact @p i, a constant; NULL if there is none. */
BARO_API const struct baro_fact *baro_runset_fact(int i);
/** @return the scope of its rows, as in struct baro_runset_row; NULL if there is none. */
BARO_API const char *baro_runset_fact_scope(int i);
/** @return by how much two runs of the same program may differ in fact @p i at @p value; NAN if there is none. */
BARO_API double baro_runset_fact_floor(int i, double value);

/** A row. Members may be added at the end: take what baro_runset_row() returns, make no arrays. */
struct baro_runset_row {
    const char *scope;            /**< "job", "command", "phase", "task", or "holder": a command at the job's peak of
                                       memory */
    const char *name;             /**< of the command, phase ("test/flaky") or task; "" for the job */
    const struct baro_fact *fact; /**< what the values are; a constant */
};
/** @return how many rows there are. */
BARO_API size_t baro_runset_rows(const struct baro_runset *set);
/** @return row @p row, borrowed until a run is added; NULL if there is none. */
BARO_API const struct baro_runset_row *baro_runset_row(const struct baro_runset *set, size_t row);
/**
 * Reads a cell.
 * @param ret gets the value as a number in `real`, with its flags; or zeros and the reason.
 * @return ret->absent: BARO_PRESENT (0), or why the value is absent; BARO_ABSENT_NONE if the run has no such command,
 * phase or task.
 */
BARO_API enum baro_absent baro_runset_value(const struct baro_runset *set, size_t row, size_t run,
                                            struct baro_value *ret);

/**
 * How large a value may be that is only a bound, or an estimate. A command, phase or task has at most what the job has;
 * of CPU time a command has at most what no other command is known to have used. Example: the job used 537 ms, all
 * commands at least 531, and one of them at least 51: it is from 51 to 57 ms.
 * @return the largest value that is possible, of an exact one itself; INFINITY if it is not known.
 */
BARO_API double baro_runset_most(const struct baro_runset *set, size_t row, size_t run);

/* ---- parts of one job ---- */
/** How the values of a row differ between runs that are parts of one job at the same time, such as its ranks. */
struct baro_spread {
    size_t size;           /**< sizeof(struct baro_spread), set by the caller */
    size_t n;              /**< runs that have a value */
    double least;          /**< the smallest value; it and all below up to most_run are 0 if n is 0 */
    double median;         /**< half of the values are below it */
    double mean;           /**< their sum through n. (most - mean) * n is what all of them wait for the slowest one, if
                                they wait for each other */
    double most;           /**< the largest value */
    size_t least_run;      /**< the run that has the smallest value; of several the first */
    size_t most_run;       /**< the run that has the largest value; of several the first */
    unsigned flags;        /**< enum baro_value_flag of all values together */
    struct baro_value all; /**< what they used together, by baro_combine(BARO_COMBINE_UNION); its number is in `real`.
                                Wall time is that from the first start of a run to the last end, of a phase the
                                longest */
};
/**
 * Compares the values of a row between the runs from @p from to just before @p to.
 * @param is_part parts of the job are missing: its sums are lower bounds.
 * @param ret its `size` is set by the caller; gets the other members, as far as it has them.
 * @return 0; -EINVAL: no such row or runs; -ENOMEM.
 */
BARO_API int baro_runset_spread(const struct baro_runset *set, size_t row, size_t from, size_t to, bool is_part,
                                struct baro_spread *ret, struct baro_error *err);
/**
 * Makes the runs from @p from on one run, whose values are those of struct baro_spread.all: several tapes of one job
 * become a column.
 * @param name what to call it; copied.
 * @param is_part parts of the job are missing: its sums are lower bounds.
 * @return 0; -EINVAL: there are no runs from there on; -ENOMEM: the set is as it was.
 */
BARO_API int baro_runset_merge(struct baro_runset *set, size_t from, const char *name, bool is_part,
                               struct baro_error *err);

/* ---- before and after ---- */
/** What the values of a row say. */
enum baro_answer {
    BARO_ANSWER_UNKNOWN, /**< it can't be told: too few runs for their spread, or values that are only bounds */
    BARO_ANSWER_SAME,    /**< the difference is certainly within the floor of the fact */
    BARO_ANSWER_CHANGED, /**< it is certainly beyond that floor */
    BARO_ANSWER_NEW,     /**< only runs after have it: a command, phase or task that is new */
    BARO_ANSWER_GONE,    /**< only runs before have it */
    BARO_ANSWER_SMALL,   /**< it certainly differs, by more than the relative floor of the fact, but certainly by less
                              than its absolute one (10 ms) */
    BARO_ANSWER_OTHERS   /**< of wall time: it is certainly beyond the floor, but the waits for cores that other
                              processes used differ by as much, or by half as much at least */
};
/** @return "unknown", "same", "changed", "new", "gone", "small" or "others". */
BARO_API const char *baro_answer_name(enum baro_answer answer);

/** A row of a comparison. Members may be added at the end: take what baro_difference_get() returns, make no arrays. */
struct baro_difference {
    const char *scope;            /**< as in struct baro_runset_row */
    const char *name;             /**< as in struct baro_runset_row */
    const struct baro_fact *fact; /**< as in struct baro_runset_row */
    enum baro_answer answer;      /**< what can be said */
    size_t n_before;              /**< runs before that have a value */
    size_t n_after;               /**< runs after that have a value */
    double before;                /**< median of the runs before, in the unit of the fact; NAN: none has it */
    double after;                 /**< median of the runs after; NAN: none has it */
    double shift;       /**< after - before: of one run each the difference, of more the Hodges-Lehmann estimate */
    double low;         /**< the interval of the shift; NAN: too few runs for one */
    double high;        /**< its upper end */
    double floor;       /**< a shift below it is not called a change */
    unsigned flags;     /**< enum baro_value_flag of all values of the row together */
    unsigned more_runs; /**< about how many runs on each side would decide; 0: not known, more than 30, or
                           decided */
    size_t row;         /**< its row in the set */
};

/**
 * Compares the first @p before runs with the others.
 *
 * With four or more runs on both sides the interval is that of the exact Mann-Whitney test, with three or two, or too
 * few for so many rows, that of Student's t; of pairs that of the exact signed-rank test, if there are enough for it.
 * Run i of both sides is a pair if the runs were made in turn: both before the next two. All intervals together are
 * wrong in at most 5 % of comparisons: rows that may change share that. A shift beyond the floor, with an interval on
 * one side of zero: changed; the whole interval within the floor: same, or small; else unknown. The CPU time of
 * commands is compared in two ways with half of that each: as it is, and divided by how slow its run was, which is the
 * median over all commands (8 or more).
 *
 * Counts of bytes that do not vary with four runs or more on each side have an absolute floor of 64. With one run on a
 * side a shift is called a change beyond a larger floor (of the wall time with the time that the run waited for cores
 * that others used on top), and beyond all values of the other side; counts are the same where they are equal. Bounds
 * are never compared as values: where it is known how far one may be off, the largest possible values have to tell a
 * change, too. A command that only some runs of a side have is neither new nor gone: the others used nothing of it; nor
 * is one that no process had last, or that may be one of the processes without a name. Rows of the job come first, then
 * those of phases, tasks and commands; of these each fact's rows together, those with the largest difference first.
 * @param before from 1 to the number of runs - 1.
 * @return 0; -EINVAL; -ENOMEM.
 */
BARO_API int baro_runset_compare(struct baro_runset *set, size_t before, struct baro_error *err);
/**
 * Compares the first half of the runs with the second half as pairs: run i of both halves were made one after the other
 * (`baro compare`), so that what changes with time, such as the temperature, meets both alike. baro_runset_compare()
 * does so where the times when the runs began show it. A row for which a run has no value is not compared as pairs.
 * @return 0; -EINVAL: there are no runs, or their number is odd; -ENOMEM.
 */
BARO_API int baro_runset_compare_pairs(struct baro_runset *set, struct baro_error *err);
/** @return how many differences the last comparison made. */
BARO_API size_t baro_difference_count(const struct baro_runset *set);
/** @return difference @p i, borrowed until the next comparison; NULL if there is none. */
BARO_API const struct baro_difference *baro_difference_get(const struct baro_runset *set, size_t i);

/** What else differs between the two sides, and may be the cause: the model of the CPU, the kernel, limits. */
struct baro_circumstance {
    const char *what;   /**< such as "CPU model" */
    const char *before; /**< as text; "several" if the runs of a side differ */
    const char *after;  /**< the same of the other side */
};
/** @return how many circumstances differ. */
BARO_API size_t baro_circumstance_count(const struct baro_runset *set);
/** @return circumstance @p i, borrowed until the next comparison; NULL if there is none. */
BARO_API const struct baro_circumstance *baro_circumstance_get(const struct baro_runset *set, size_t i);

/**
 * @param what as in struct baro_circumstance: "CPU model", "cores allowed", ...
 * @return that circumstance of run @p run as text, "not known" if the tape lacks it, borrowed; NULL if there is no such
 * run or circumstance.
 */
BARO_API const char *baro_runset_circumstance(const struct baro_runset *set, size_t run, const char *what);

/* ---- change points ---- */
/** How many values baro_change_points() takes at most. */
#define BARO_CHANGE_POINTS_MOST 500

/**
 * Finds where a row of values changes its level or its spread, by E-divisive (Matteson and James 2014): it splits where
 * the energy distance of both sides is largest, as long as at most 2 of 199 permutations split better, and then both
 * sides in turn. A side has three values at least: one value is no level. The same values give the same result.
 * @param values in the order of time, finite, at most BARO_CHANGE_POINTS_MOST.
 * @param ret gets the first index of each new level, ascending.
 * @param most size of @p ret; more are not searched for.
 * @return how many there are; BARO_E_RANGE for too many values; -ENOMEM.
 */
BARO_API int baro_change_points(const double *values, size_t n, size_t *ret, size_t most);

#ifdef __cplusplus
}
#endif
#endif
