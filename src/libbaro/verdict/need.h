/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needed, from the evidence, and the margins of what to ask for. */
#ifndef LIBBARO_VERDICT_NEED_H
#define LIBBARO_VERDICT_NEED_H

#include <stdbool.h>

#include "baro/advice.h"
#include "libbaro/verdict/evidence.h"

#define ADVISE_MANY 10u /* from so many runs on, margins are smaller */
#define ADVISE_MEMORY 1.25
#define ADVISE_MEMORY_MANY 1.15
#define ADVISE_MEMORY_KILLED 1.5
#define ADVISE_AT_MOST 1.05           /* of a range, its upper end is an upper bound already */
#define ADVISE_MEMORY_STEP 67108864.0 /* 64 MiB */
#define ADVISE_TIME 1.5
#define ADVISE_TIME_MANY 1.25
#define ADVISE_CORES 0.25 /* a core is asked for from this part of it on */

#define NEED_RANGE 1.2 /* from this ratio on, what it may have needed is shown as a range */

/* Is the memory that it may have needed so much more that one number would mislead? */
static inline bool need_is_range(const struct evidence *e)
{
    return e->memory_at_most_bytes > NEED_RANGE * e->memory_peak_bytes;
}

/* Did something else than the job end it, so that it would have run longer? */
bool need_is_ended_early(const struct evidence *e);

void need_of_evidence(const struct evidence *e, struct baro_need *ret);

#endif
