/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One metric over a time: all that is kept of its readings. The rules are the same for every metric:
 *
 * - Growth is added up from reading to reading. Where a counter falls, it is another counter or has lost a part (a
 *   control group was made again): the growth so far is kept, and the next reading is compared with the lower value.
 *   Example: 5, 9, 2, 3 have grown by 4 + 1. Totals of disks and interfaces do not fall when one is removed: see
 *   recorder/collectors/host/devices.c.
 * - A reading without the value changes nothing: growth goes on at the next one that has it.
 * - A value that no reading had is absent, for the reason of the last reading.
 */
#ifndef LIBBARO_FOLD_CELL_H
#define LIBBARO_FOLD_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "baro/metric.h"

struct fold_cell {
    uint64_t from_ns, to_ns; /* first and last reading that had it */
    uint64_t first, last, most, least, grown;
    bool seen;          /* some reading had it */
    bool lapsed;        /* a later one lacked it */
    uint8_t absent;     /* BARO_PRESENT once it was seen; before, the reason of the last reading */
    uint8_t absent_now; /* of the last reading */
};

#define FOLD_CELL_NONE ((struct fold_cell){.absent = BARO_ABSENT_NOT_YET, .absent_now = BARO_ABSENT_NOT_YET})

static inline void fold_cell_add(struct fold_cell *c, uint64_t t_ns, int absent, uint64_t value)
{
    c->absent_now = (uint8_t)absent;
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
    } else if (value > c->last) {
        c->grown += value - c->last;
    }
    c->most = value > c->most ? value : c->most;
    c->least = value < c->least ? value : c->least;
    c->last = value;
    c->to_ns = t_ns;
}

#endif
