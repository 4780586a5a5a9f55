/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBBARO_VERDICT_VERDICT_H
#define LIBBARO_VERDICT_VERDICT_H

#include "baro/timeline.h"
#include "baro/verdict.h"
#include "libbaro/verdict/evidence.h"

/* Applies the rules to the evidence; replaces earlier verdicts. Returns 0 or -ENOMEM. */
int verdicts_judge(struct baro_verdicts *v, const struct evidence *e, const struct stretch *phases, size_t n_phases);

/* The timeline made from the same records; sorted after baro_verdicts_finish(). */
const struct baro_timeline *verdicts_timeline(const struct baro_verdicts *v);

#endif
