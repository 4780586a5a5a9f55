/* SPDX-License-Identifier: Apache-2.0 */
/* The phases that are judged: each one that is long enough, and all phases of one name together. */
#ifndef LIBBARO_VERDICT_PHASES_H
#define LIBBARO_VERDICT_PHASES_H

#include "baro/timeline.h"
#include "libbaro/verdict/evidence.h"

struct phases {
    struct stretch *at;
    size_t n;
    struct piece *piece; /* the pieces of stretches that are made of several phases */
};

/* Returns 0 or -ENOMEM. Its pointers point into the timeline. */
int phases_collect(struct phases *p, const struct baro_timeline *t, const struct evidence *e);
void phases_done(struct phases *p);

#endif
