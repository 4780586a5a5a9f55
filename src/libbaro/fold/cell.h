/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One metric over a time: all that is kept of its readings. The rules are the same for every metric:
 *
 * - Growth is added up from reading to reading. If a counter fell, it is a lower bound: base/growth.h.
 * - A reading without the value changes nothing: growth goes on at the next one that has it.
 * - A value that no reading had is absent, for the reason of the last reading.
 */
#ifndef LIBBARO_FOLD_CELL_H
#define LIBBARO_FOLD_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "baro/metric.h"
#include "base/growth.h"

struct fold_cell {
    uint64_t from_ns, to_ns; /* first and last reading that had it */
    uint64_t first, last, most, least, grown;
    bool seen;          /* some reading had it */
    bool lapsed;        /* a later one lacked it */
    bool fell;          /* for a counter: it fell, and `grown` is a lower bound */
    bool fell_now;      /* at the last reading */
    uint8_t absent;     /* BARO_PRESENT once it was seen; before, the reason of the last reading */
    uint8_t absent_now; /* of the last reading */
};

#define FOLD_CELL_NONE ((struct fold_cell){.absent = BARO_ABSENT_NOT_YET, .absent_now = BARO_ABSENT_NOT_YET})

static inline void fold_cell_add(struct fold_cell *c, uint64_t t_ns, int absent, uint64_t value)
{
    uint64_t growth = 0;
    c->absent_now = (uint8_t)absent;
    c->fell_now = false;
    if (absent != BARO_PRESENT) {
        c->lapsed = c->seen;
        c->absent = c->seen ? BARO_PRESENT : (uint8_t)absent;
        return;
    }
    if (!c->seen) {
        c->from_ns = t_ns;
        c->first = c->most = c->least = value;
        c->seen = true;
        c->absent = BARO_PRESENT;
    } else if (!growth_between(c->last, value, &growth)) {
        c->fell = c->fell_now = true;
    }
    c->grown += growth;
    c->most = value > c->most ? value : c->most;
    c->least = value < c->least ? value : c->least;
    c->last = value;
    c->to_ns = t_ns;
}

/* For a sum of growth that a reader made itself: a part of it fell at the last reading. */
static inline void fold_cell_part_fell(struct fold_cell *c, bool fell)
{
    c->fell = c->fell || fell;
    c->fell_now = c->fell_now || fell;
}

#endif
