/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth of a counter over stretches of time, held back until it is clear that it is not of a longer stretch: what
 * wait4(2) reports at the end of a job was used before the sample that shows it. Example: of two CPUs, 1.0 s of CPU
 * time in 1 s and then 100 ms more in the last 40 ms would be 2.5 cores; together they are 1.1 s in 1.04 s.
 */
#ifndef LIBBARO_INTERVAL_STRETCHES_H
#define LIBBARO_INTERVAL_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRETCHES_HELD 32u
#define STRETCHES_SHORT_NS 100000000u /* the kernel counts much in steps of 10 ms */

struct stretch_grown {
    uint64_t begin_ns, end_ns; /* end_ns > begin_ns */
    double growth;
};

struct stretches {
    struct stretch_grown at[STRETCHES_HELD]; /* in the order of time */
    size_t n;
    double most; /* growth per nanosecond that there can be: of CPU time the CPUs; 0: there is no such limit */
};

/* Is the growth of both of one stretch? Yes if the second follows the first and grew faster, but is too short. */
bool stretches_are_one(const struct stretch_grown *first, const struct stretch_grown *second);

/* Adds one behind the others. Returns whether there was no room: then *ret is the first one, which is removed. Growth
 * of more than there can be goes to those before. */
bool stretches_add(struct stretches *s, struct stretch_grown one, struct stretch_grown *ret);
/* Removes the first one; false: there is none. */
bool stretches_take(struct stretches *s, struct stretch_grown *ret);

#endif
