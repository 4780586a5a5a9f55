/* SPDX-License-Identifier: Apache-2.0 */
/* The phases that are judged: each that is long enough, and all of one name together. */
#ifndef LIBBARO_VERDICT_PHASES_H
#define LIBBARO_VERDICT_PHASES_H

#include "baro/timeline.h"
#include "libbaro/verdict/evidence.h"

struct phases {
    struct stretch *at;
    size_t n;
    struct piece *piece; /* what those of several phases are made of */
};

/* 0 or -ENOMEM. What it points to belongs to the timeline. */
int phases_collect(struct phases *p, const struct baro_timeline *t, const struct evidence *e);
void phases_done(struct phases *p);

#endif
