/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a row of runs, and where their level changed. */
#ifndef PROGRAMS_BARO_LOG_TREND_H
#define PROGRAMS_BARO_LOG_TREND_H

#include "output/chart/chart.h"
#include "programs/baro-log/subject.h"

#define TREND_CHANGES_MOST 32u
#define TREND_BOUND ((unsigned)(BARO_VALUE_LOWER_BOUND | BARO_VALUE_UPPER_BOUND))

struct trend {
    struct log log;
    struct settings settings; /* with the expression of the operands */
    struct subject of;
    bool is_named; /* of: the user named it */
    struct point {
        const struct tape_row *row;
        struct figure figure;
        double level; /* the median of its level; NAN: it is only a bound */
    } * at;
    size_t n;
    size_t change[TREND_CHANGES_MOST]; /* positions in `at`: the first runs of new levels */
    size_t n_changes;
    size_t failed, unread, absent, bounds, older; /* runs that are left out, and why; bounds are shown */
    size_t hosts;                                 /* 2: more than one */
    bool is_mixed;                                /* there are several commands */
};

/* cmd_trend.c */
double trend_level_before(const struct trend *t, size_t change);
/* "CPU time of make -s" */
void trend_title(const struct trend *t, size_t most, struct buf *ret);
/* "14.1 s -> 38.8 s (+174 %)" */
void trend_step(const struct trend *t, size_t change, struct buf *ret);
/* "@7, 2026-11-29 10:00, commit 0123456789ab" */
void trend_when(const struct trend *t, size_t change, struct buf *ret);
/* Lines about what else there is to know: no change, runs that are left out. */
void trend_notes(const struct trend *t, struct buf *ret);

/* trend_chart.c: a chart with a dot for each run, and its ticks, which it borrows. Returns 0 or -ENOMEM. */
int trend_chart(const struct trend *t, bool has_marks, struct chart_ticks *ticks, struct chart *ret);
/* Writes a page. Returns 0 or -ENOMEM. */
int trend_page(const struct trend *t, struct buf *ret);

#endif
