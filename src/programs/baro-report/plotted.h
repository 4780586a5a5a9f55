/* SPDX-License-Identifier: Apache-2.0 */
/* A tape whose curves are drawn, alone or beside others. */
#ifndef PROGRAMS_BARO_REPORT_PLOTTED_H
#define PROGRAMS_BARO_REPORT_PLOTTED_H

#include "output/chart/figure.h"
#include "programs/common/tape_args.h"

struct plotted {
    struct baro_tape *tape;
    struct baro_fold *fold; /* with its timeline */
    const struct baro_summary *summary;
    struct reader_path path;
    uint64_t start_ns, end_ns; /* begin and end of the command, or of the recording */
    struct chart_set *figures; /* NULL: none were made */
};

/* Opens and reads a tape. Returns 0 or the status of a failure that was reported. plotted_done() has to be called in
 * any case. */
int plotted_open(struct plotted *p, const struct cli *cli, const char *name);
void plotted_done(struct plotted *p);
/* The curve that stands for a whole figure: the total of its stack, or its first curve. NULL: there is none. */
const struct chart_curve *plotted_main_curve(const struct chart *c);

#endif
