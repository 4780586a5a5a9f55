/* SPDX-License-Identifier: Apache-2.0 */
/* A fold's parts, for the recorder, which makes the summary at the end of a run while it writes. */
#ifndef LIBBARO_BUILDER_BUILDER_H
#define LIBBARO_BUILDER_BUILDER_H

#include "baro/fold.h"

struct baro_fold {
    struct baro_summary *summary;
    struct baro_timeline *timeline; /* NULL: not wanted, or given up */
    struct baro_verdicts *verdicts; /* the same */
};

/* Adds a record to the summary alone. */
void builder_add_to_summary(struct baro_fold *f, const struct baro_record *record);
/* Gives up the timeline and the verdicts. */
void builder_keep_summary(struct baro_fold *f);

#endif
