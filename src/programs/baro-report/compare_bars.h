/* SPDX-License-Identifier: Apache-2.0 */
/* Wall times of repeated runs: bars, and the runs that stand out. */
#ifndef PROGRAMS_BARO_REPORT_COMPARE_BARS_H
#define PROGRAMS_BARO_REPORT_COMPARE_BARS_H

#include <stdbool.h>

#include "baro/runset.h"
#include "base/buf.h"

/* Wall times of the runs of a command, in nanoseconds. */
struct wall_times {
    double least, median, most;
    double interval[2]; /* of the median */
    bool has_interval;  /* there are enough runs for one; else the interval is the range */
};

void wall_times_of(const double *sorted, size_t n, struct wall_times *ret);
/* A bar for each command, over lines of this width. */
void compare_bars(const struct wall_times *commands, unsigned n, unsigned width, bool utf8, struct buf *ret);
/* A line for each run from `from` on whose wall time is far from the others', with the reason that its tape has. None
 * is dropped: the median and its interval hardly move because of one. Example: "run 7 of b took 2.10 s, the others
 * 1.40 s to 1.50 s: other processes used 1.8 cores in it". */
void compare_outliers(const struct baro_runset *set, size_t from, char command, struct buf *ret);

#endif
