/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Verdicts: what held a job up, what it came near to, what ended it, and what to ask for next time; each as a sentence
 * with the numbers that it rests on.
 *
 * Verdicts are made by rules. A rule has a name that stays the same, a weight, and thresholds, all of which can be read
 * here and in docs/verdicts.md. A rule that has not enough evidence makes no verdict.
 *
 *     struct baro_verdicts *all;
 *     if (baro_verdicts_of_tape(tape, &all, &err) < 0)
 *         ...
 *     for (size_t i = 0; i < baro_verdicts_count(all); i++) {
 *         const struct baro_verdict *v = baro_verdicts_get(all, i);
 *         printf("%s: %s %s\n", baro_verdict_weight_name(v->weight), v->title, v->advice);
 *     }
 *     baro_verdicts_free(all);
 *
 * Sentences may hold names of commands, phases and control groups as they stand on the tape: whoever prints them has to
 * escape them, as all text of a tape.
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
    double value;        /**< in its unit */
    enum baro_unit unit; /**< BARO_UNIT_RATIO: 0 to 1 */
};

/** Members may be added at the end: take what baro_verdict_rule() returns, make no arrays. */
struct baro_rule {
    const char *name;                        /**< such as "cpu-quota"; never changed */
    enum baro_verdict_weight weight;         /**< of its verdicts, at most */
    const char *help;                        /**< when it makes a verdict: one sentence */
    const struct baro_threshold *thresholds; /**< what it compares with */
    size_t threshold_count;                  /**< how many they are */
};

/** @return how many rules there are. */
BARO_API int baro_verdict_rule_count(void);
/** @return rule @p i, constant; NULL if there is no such one. */
BARO_API const struct baro_rule *baro_verdict_rule(int i);

/* ---- verdicts of a tape ---- */
/** A number that a verdict rests on. */
struct baro_evidence {
    const char *name;    /**< a fact of baro/summary.h such as "limits.throttled_ns"; or a name without a dot */
    double value;        /**< in its unit; a ratio from 0 to 1 */
    enum baro_unit unit; /**< of the value */
    unsigned flags;      /**< enum baro_value_flag: how exact it is */
    /** The value for people, after its mark: "at least 9.8 s"; or text such as "cgroup /a": the value is NAN then. */
    const char *text;
};

/** Members may be added at the end: take what baro_verdicts_get() returns, make no arrays. */
struct baro_verdict {
    const char *rule;                     /**< name of its rule */
    enum baro_verdict_weight weight;      /**< how much it matters */
    const char *title;                    /**< what was found: one sentence */
    const char *advice;                   /**< what to do about it: one sentence, or "" */
    const char *phase;                    /**< the phase that it is about; NULL: the whole job */
    uint64_t begin_ns;                    /**< the time that it is about, since the tape began */
    uint64_t end_ns;                      /**< its end */
    const struct baro_evidence *evidence; /**< the figures that it rests on */
    size_t evidence_count;                /**< how many they are */
};

struct baro_verdicts;

/**
 * Reads @p tape from its beginning to its end (what is there of it) and applies all rules. The cursor is at the end
 * afterwards.
 * @return 0 and the verdicts, to be freed with baro_verdicts_free(); negative on a read error or -ENOMEM.
 */
BARO_API int baro_verdicts_of_tape(struct baro_tape *tape, struct baro_verdicts **ret, struct baro_error *err);
/** NULL is allowed. */
BARO_API void baro_verdicts_free(struct baro_verdicts *verdicts);

/** @return how many verdicts there are: the heaviest first. */
BARO_API size_t baro_verdicts_count(const struct baro_verdicts *verdicts);
/** @return verdict @p i, borrowed until baro_verdicts_free() or baro_verdicts_finish(); NULL if there is none. */
BARO_API const struct baro_verdict *baro_verdicts_get(const struct baro_verdicts *verdicts, size_t i);

/**
 * Writes the summary as baro_summary_json() does, with one member more: `verdicts`, an array (docs/json.md).
 * @param summary NULL: that member alone.
 * @param tape_name the value of "tape"; NULL: null.
 */
BARO_API int baro_verdicts_json(const struct baro_verdicts *verdicts, const struct baro_summary *summary,
                                const char *tape_name, baro_sink *sink, void *context, struct baro_error *err);

/* ---- for readers that walk the tape themselves ---- */
/**
 * Begins verdicts of a tape that the caller reads.
 * @param header borrowed during the call.
 */
BARO_API int baro_verdicts_new(struct baro_verdicts **ret, const struct baro_header *header, struct baro_error *err);
/** Adds one record: in the order of the tape, each once. Its memory is bounded, however long the tape is. */
BARO_API void baro_verdicts_add(struct baro_verdicts *verdicts, const struct baro_record *record);
/**
 * Adds all records from the position of the cursor to the end of what is there now, to the verdicts and to a summary.
 * @return 0, or negative on a read error: what was read before it is in both.
 */
BARO_API int baro_verdicts_add_tape(struct baro_verdicts *verdicts, struct baro_summary *summary,
                                    struct baro_tape *tape, struct baro_error *err);
/**
 * Applies the rules to what was added so far. More records may be added afterwards; then call it again.
 * @param summary of the same records, after baro_summary_finish(); borrowed during the call.
 * @return 0 or -ENOMEM.
 */
BARO_API int baro_verdicts_finish(struct baro_verdicts *verdicts, const struct baro_summary *summary,
                                  struct baro_error *err);

#ifdef __cplusplus
}
#endif
#endif
