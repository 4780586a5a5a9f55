/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBBARO_VERDICT_VERDICT_H
#define LIBBARO_VERDICT_VERDICT_H

#include "baro/advice.h"
#include "baro/timeline.h"
#include "baro/verdict.h"
#include "libbaro/verdict/evidence.h"

/* Applies the rules to the evidence; replaces earlier verdicts. Returns 0 or -ENOMEM. */
int verdicts_judge(struct baro_verdicts *v, const struct evidence *e, const struct stretch *phases, size_t n_phases);

struct baro_verdicts *verdicts_new(void);    /* NULL: out of memory */
void verdicts_free(struct baro_verdicts *v); /* NULL allowed */
void verdicts_add(struct baro_verdicts *v, const struct baro_record *record);
/* Applies the rules to the records so far; the summary and the timeline are of the same, and finished. steps: NULL, or
 * those of the same records. Returns 0 or -ENOMEM. */
int verdicts_finish(struct baro_verdicts *v, const struct baro_summary *summary, const struct baro_timeline *timeline,
                    const struct baro_steps *steps);
/* Would a verdict name a step? Steps take memory for each process, so they are made only then. */
bool verdicts_want_steps(const struct baro_verdicts *v);
/* What the recording needed; not before verdicts_finish(). */
const struct baro_need *verdicts_need(const struct baro_verdicts *v);

#endif
