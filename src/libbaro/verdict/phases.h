/* SPDX-License-Identifier: Apache-2.0 */
/* The phases that are judged: each one that is long enough, and all phases of one path together. */
#ifndef LIBBARO_VERDICT_PHASES_H
#define LIBBARO_VERDICT_PHASES_H

#include "baro/timeline.h"
#include "base/buf.h"
#include "libbaro/verdict/evidence.h"

struct phases {
    struct stretch *at;
    size_t n;
    struct piece *piece; /* the pieces of stretches that are made of several phases */
    struct buf paths;    /* names of the stretches, NUL after each */
};

/* Returns 0 or -ENOMEM. It is freed by phases_done(), and on an error is empty. */
int phases_collect(struct phases *p, const struct baro_timeline *t, const struct evidence *e);
void phases_done(struct phases *p);

#endif
