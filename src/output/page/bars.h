/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes as bars over time, in the order of a tree. If there are few, each has a bar. If there are many, only
 * those that lived long or used much have one. The others are merged: those with one name and one parent are a strip,
 * whose darkness shows how many of them were alive at a time. Example: a build of 840 processes is a bar for make and
 * strips "gcc ×208", "cc1 ×207".
 */
#ifndef OUTPUT_PAGE_BARS_H
#define OUTPUT_PAGE_BARS_H

#include "output/page/lives.h"

#define BARS_SINGLE 48u   /* rows of single processes; all have one if there are no more than BARS_MOST */
#define BARS_MOST 72u     /* rows */
#define BARS_BUCKETS 500u /* buckets of a strip */

struct bar_row {
    uint32_t life;     /* a single process; LIFE_NONE: merged processes */
    uint32_t parent;   /* row of the nearest process above that has one; LIFE_NONE */
    uint32_t name;     /* in lives.names; NAMES_NONE: several names */
    uint32_t depth, n; /* n: how many processes */
    uint64_t begin_ns, end_ns;
    uint16_t *alive; /* for merged processes: the most that were alive at once, in each of BARS_BUCKETS buckets */
    uint32_t most;   /* the largest of alive */
    uint64_t cpu_ns;
};

struct bars {
    struct bar_row *row; /* in the order of drawing */
    uint32_t n;
    uint64_t end_ns; /* end of the time axis */
};

int bars_make(struct bars *out, const struct lives *l); /* 0 or -ENOMEM */
void bars_done(struct bars *b);

#endif
