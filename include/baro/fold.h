/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Folding a recording: one walk over its records makes its summary (baro/summary.h), its timeline (baro/timeline.h) and
 * its verdicts (baro/verdict.h).
 *
 *     struct baro_fold *fold;
 *     baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, &err);
 *     const struct baro_summary *summary = baro_fold_summary(fold);
 *     ...
 *     baro_fold_free(fold);
 *
 * A live view makes an empty fold, adds records as they arrive and calls baro_fold_finish() before it reads. The memory
 * that a fold takes grows with the number of commands, entities and phases, not with the length of the tape. A fold
 * belongs to one thread at a time.
 */
#ifndef BARO_FOLD_H
#define BARO_FOLD_H

#include "baro/error.h"
#include "baro/summary.h"
#include "baro/tape.h"
#include "baro/timeline.h"
#include "baro/verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_fold; /**< what the records so far have said of one recording */

/** What a fold makes. Each includes those before it. */
enum baro_fold_part {
    BARO_FOLD_SUMMARY,  /**< the facts */
    BARO_FOLD_TIMELINE, /**< phases, marks and notable events, and what each phase used */
    BARO_FOLD_VERDICTS  /**< what held the job up or ended it */
};

/**
 * Makes a fold without records.
 * @param header borrowed during the call.
 * @return 0 and a fold, to be freed with baro_fold_free(); -ENOMEM.
 */
BARO_API int baro_fold_new(struct baro_fold **ret, const struct baro_header *header, enum baro_fold_part most,
                           struct baro_error *err);
/**
 * Reads @p tape from its beginning to its present end, and finishes. It leaves the cursor at the end. The fold borrows
 * nothing from the tape, which may be closed. A phase may be reported long after it began; here all of them are known
 * before they are measured, for which a tape with phases is read twice.
 * @return 0 and a fold, to be freed with baro_fold_free(); negative on a read error; -ENOMEM.
 */
BARO_API int baro_fold_of_tape(struct baro_tape *tape, enum baro_fold_part most, struct baro_fold **ret,
                               struct baro_error *err);
/** Frees a fold and all that was borrowed from it. NULL is allowed. */
BARO_API void baro_fold_free(struct baro_fold *fold);

/**
 * Adds one record. Add the records in the order of the tape, each once. It allocates memory only for new commands,
 * entities, phases and the like. If memory runs out, something is missing: the fact "is_incomplete" of the summary is
 * true, and baro_fold_finish() returns -ENOMEM if it is missing from the timeline.
 */
BARO_API void baro_fold_add(struct baro_fold *fold, const struct baro_record *record);
/**
 * Adds all records from the position of the cursor to the present end of the tape. To follow a tape, call this and
 * baro_fold_finish() each time baro_tape_wait() returns 1.
 * @return 0, or negative on a read error: the fold has the records that were read before it.
 */
BARO_API int baro_fold_add_tape(struct baro_fold *fold, struct baro_tape *tape, struct baro_error *err);
/**
 * Makes the parts up to @p most from the records so far: adds processes that are alive to their commands, sorts the
 * timeline, applies the rules. Read values after this call. More records may be added afterwards; then call it again,
 * which may change the positions of items.
 * @return 0 or -ENOMEM.
 */
BARO_API int baro_fold_finish(struct baro_fold *fold, enum baro_fold_part most, struct baro_error *err);

/** @return the summary, borrowed until baro_fold_free(). It changes with each call of baro_fold_add(). */
BARO_API struct baro_summary *baro_fold_summary(const struct baro_fold *fold);
/** @return the timeline, borrowed until baro_fold_free(); NULL if the fold makes none. */
BARO_API const struct baro_timeline *baro_fold_timeline(const struct baro_fold *fold);
/** @return the verdicts, borrowed until baro_fold_free(); NULL if the fold makes none. */
BARO_API const struct baro_verdicts *baro_fold_verdicts(const struct baro_fold *fold);

/* ---- several recordings ---- */
/** How the values of one fact of several recordings become one. */
enum baro_combine {
    BARO_COMBINE_JOIN, /**< parts of one recording, one after the other */
    BARO_COMBINE_UNION /**< parts of one job that ran at the same time, such as its ranks */
};

/** A value of a fact that stands for several recordings. All zero: it stands for none. */
struct baro_combined {
    struct baro_value value; /**< the value; its text is borrowed as that of the values that it was made from */
    double weight;           /**< what a mean or a share is weighed with: the time over which it was taken */
    uint64_t count;          /**< how many recordings it stands for */
    uint64_t known;          /**< how many of them have a value */
};

/**
 * Combines two values of @p fact: those of @p more come after those of @p to. One by one or in groups, the result is
 * the same.
 *
 * - Sums add up. Where a recording lacks the value, the sum is a lower bound, and never a value.
 * - Of peaks that were reached one after the other the largest counts. At the same time they add up to an upper bound:
 *   they may have been reached at different moments.
 * - Of the lowest values the lowest counts.
 * - Means and shares that follow each other are weighed. Of recordings at the same time there is none.
 * - Properties and instants are kept where all that are known are equal. Else the result is absent (BARO_ABSENT_NONE).
 */
BARO_API void baro_combine(const struct baro_fact *fact, enum baro_combine how, struct baro_combined *to,
                           const struct baro_combined *more);

#ifdef __cplusplus
}
#endif
#endif
