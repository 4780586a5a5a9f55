/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One axis for two runs. Where both have the same phases, in the same order, each begin and each end of these is at one
 * place for both; what is between two such places is as wide as it lasted in the slower run. Runs that have no phase in
 * common begin at the same place and share the scale.
 */
#ifndef PROGRAMS_BARO_REPORT_ALIGN_H
#define PROGRAMS_BARO_REPORT_ALIGN_H

#include "programs/baro-report/plotted.h"

struct align {
    struct align_point {
        uint64_t t_ns[2]; /* on each of the tapes */
        uint64_t x_ns;    /* on the axis */
    } * at;               /* ascending; the first at 0 */
    size_t n;
    bool is_by_phases;
};

/* runs: before and after. Returns 0 or -ENOMEM. */
int align_runs(const struct plotted runs[2], struct align *ret);
void align_done(struct align *a);
/* From the time on the tape of a side to the axis, and back. What is outside is at an end. */
uint64_t align_x(const struct align *a, int side, uint64_t t_ns);
uint64_t align_t(const struct align *a, int side, uint64_t x_ns);

/* Writes a curve of one side onto the axis. from: its chart, from the begin of the run to its end. */
void align_curve(const struct align *a, int side, const struct chart *from, const struct chart_curve *curve,
                 const struct chart *to, struct chart_curve *ret);

#endif
