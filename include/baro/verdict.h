/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Verdicts: what held a job up, which limits it nearly reached, what ended it, and which resources to request next
 * time. A verdict is a sentence with the numbers that it is based on.
 *
 * Rules make verdicts. A rule has a name that never changes, a weight and thresholds; docs/verdicts.md lists them, too.
 * A rule that has too little evidence makes no verdict.
 *
 *     struct baro_fold *fold;
 *     if (baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, &err) < 0)
 *         ...
 *     const struct baro_verdicts *all = baro_fold_verdicts(fold);
 *     for (size_t i = 0; i < baro_verdicts_count(all); i++) {
 *         const struct baro_verdict *v = baro_verdicts_get(all, i);
 *         printf("%s: %s %s\n", baro_verdict_weight_name(v->weight), v->title, v->advice);
 *     }
 *     baro_fold_free(fold);
 *
 * Sentences may contain names of commands, phases and control groups as they are on the tape: escape them before you
 * print them (baro/text.h).
 *
 * Rules are constant and may be read from any thread; verdicts belong to one thread at a time.
 */
#ifndef BARO_VERDICT_H
#define BARO_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/metric.h"
#include "baro/summary.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How much a verdict matters. Later versions may add weights. */
enum baro_verdict_weight {
    BARO_VERDICT_PROBLEM, /**< something held the job up, or ended it */
    BARO_VERDICT_ADVICE,  /**< nothing went wrong, but time or memory could be saved */
    BARO_VERDICT_NOTE     /**< worth knowing */
};

/** @return "problem", "advice" or "note"; "unknown" for a number that this library does not know. */
BARO_API const char *baro_verdict_weight_name(enum baro_verdict_weight weight);

/* ---- rules: the same for all tapes ---- */
/** A number that decides whether a rule makes a verdict. */
struct baro_threshold {
    const char *help;    /**< what is compared with it: "CPU time lost to throttling, as a share of the time" */
    double value;        /**< the threshold, in its unit; a ratio from 0 to 1 */
    enum baro_unit unit; /**< the unit of the threshold */
};

/** A rule. Members may be added at the end: take what baro_verdict_rule() returns, make no arrays. */
struct baro_rule {
    const char *name;                        /**< such as "cpu-quota"; never changes */
    enum baro_verdict_weight weight;         /**< the highest weight of its verdicts */
    const char *help;                        /**< when it makes a verdict: one sentence */
    const struct baro_threshold *thresholds; /**< the numbers that it compares with */
    size_t threshold_count;                  /**< how many thresholds it has */
};

/** @return how many rules there are. */
BARO_API int baro_verdict_rule_count(void);
/** @return rule @p i, a constant; NULL if there is none. */
BARO_API const struct baro_rule *baro_verdict_rule(int i);

/* ---- verdicts of a tape ---- */
/** A number that a verdict is based on. */
struct baro_evidence {
    const char *name;    /**< a fact of baro/summary.h such as "limits.throttled_ns"; or a name without a dot */
    double value;        /**< the number, in its unit; a ratio from 0 to 1 */
    enum baro_unit unit; /**< the unit of the value */
    unsigned flags;      /**< how exact it is: bits of enum baro_value_flag */
    /** The value with its mark (baro_value_prefix()), as text: "≥9.8 s". Or a text such as "cgroup /a"; the
     * value is NAN then. */
    const char *text;
};

/** A verdict. Members may be added at the end: take what baro_verdicts_get() returns, make no arrays. */
struct baro_verdict {
    const char *rule;                     /**< name of its rule */
    enum baro_verdict_weight weight;      /**< how much it matters */
    const char *title;                    /**< what was found: one sentence */
    const char *advice;                   /**< what to do about it: one sentence, or "" */
    const char *phase;                    /**< the phase that it concerns; NULL: the whole job */
    uint64_t begin_ns;                    /**< beginning of the time that it concerns, since the tape began */
    uint64_t end_ns;                      /**< end of that time */
    const struct baro_evidence *evidence; /**< the numbers that it is based on */
    size_t evidence_count;                /**< how many numbers these are */
    const char *brief; /**< what was found, in a few words: "others kept 1.2 of 2 cores busy; waited ≥4.0 s" */
    const char *hint;  /**< what to do, in a few words: "measure on a quiet machine"; or "" */
};

struct baro_verdicts; /**< the verdicts of one recording: baro_fold_verdicts() of baro/fold.h */

/** @return how many verdicts there are. */
BARO_API size_t baro_verdicts_count(const struct baro_verdicts *verdicts);
/**
 * @return verdict @p i, in the order of their weights, problems first. It is borrowed until baro_fold_free() or
 * baro_fold_finish(). NULL if there is none.
 */
BARO_API const struct baro_verdict *baro_verdicts_get(const struct baro_verdicts *verdicts, size_t i);

/**
 * Writes the summary as baro_summary_json() does, with one more member, the array `verdicts` (docs/json.md).
 * @param summary NULL: only that member is written.
 * @param tape_name the value of "tape"; NULL: null.
 * @param context given to @p sink.
 * @return 0; -ENOMEM; the negative code of @p sink.
 */
BARO_API int baro_verdicts_json(const struct baro_verdicts *verdicts, const struct baro_summary *summary,
                                const char *tape_name, baro_sink *sink, void *context, struct baro_error *err);

#ifdef __cplusplus
}
#endif
#endif
