/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth of a counter over stretches of time. A stretch is held back until it is clear that its growth does not belong
 * to a longer stretch: the CPU time that wait4(2) returns at the end of a job was used before the sample that has it.
 * Example: with two CPUs, 1.0 s of CPU time in 1 s and then 0.1 s more in the last 40 ms would be 2.5 cores; together
 * they are 1.1 s in 1.04 s.
 */
#ifndef LIBBARO_INTERVAL_STRETCHES_H
#define LIBBARO_INTERVAL_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"

#define STRETCHES_HELD 32u

struct stretch_grown {
    uint64_t begin_ns, end_ns; /* end_ns > begin_ns */
    double growth;
};

struct stretches {
    struct stretch_grown at[STRETCHES_HELD]; /* in the order of time */
    size_t n;
    double most; /* the greatest possible growth per nanosecond: for CPU time the number of CPUs; 0: no limit */
};

/* Appends a stretch. Returns true if there was no room: then the first stretch was removed into *ret. Growth beyond the
 * possible rate goes to earlier stretches. */
bool stretches_add(struct stretches *s, struct stretch_grown one, struct stretch_grown *ret);
/* Removes the first stretch into *ret; returns false if there is none. */
bool stretches_take(struct stretches *s, struct stretch_grown *ret);

#endif
