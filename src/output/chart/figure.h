/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures: the charts that can be made from a tape. One walk over the tape fills all charts that are wanted.
 *
 *     struct figure_options options = {.buckets = 400};
 *     figures_of_tape(tape, &options, &figures, &err);
 *     for (size_t i = 0; i < figures_count(figures); i++)
 *         chart_svg(figures_chart(figures, i), &picture, &html);
 *     figures_free(figures);
 *
 * Peaks, their holders and limits are the facts of the summary; curves come from baro/series.h.
 */
#ifndef OUTPUT_CHART_FIGURE_H
#define OUTPUT_CHART_FIGURE_H

#include "baro/baro.h"
#include "output/chart/chart.h"

enum figure_set {
    FIGURE_PAGE = 1, /* figures of the report: cpu, memory, ... */
    FIGURE_SEED = 2, /* the six plots of other monitors' reports, by their names: aggregate_uss, rss_vs_uss,
                        total_footprint, aggregate_cpu, cpu_time, instance_count */
    FIGURE_MORE = 4  /* needed rarely: page faults, context switches, ... */
};

/* A row of the table of figures. */
struct figure_info {
    const char *id;    /* "cpu" */
    const char *title; /* "CPU by command" */
    const char *help;  /* one sentence */
    enum chart_unit unit;
    enum figure_set set;
};

size_t figure_count(void);
const struct figure_info *figure_get(size_t i); /* NULL: no such figure */
int figure_find(const char *id);                /* or -1 */

struct figure_options {
    uint64_t from_ns, to_ns; /* 0, 0: the whole tape */
    size_t buckets;          /* 0: 400. As many as the plot has columns, or half as many */
    unsigned commands;       /* stacks: this many commands by name, the rest as "others"; 0: 8, at most 9 */
    unsigned sets;           /* enum figure_set, or'ed; 0: FIGURE_PAGE. Without effect if ids are given */
    const char *const *ids;  /* these figures, NULL-terminated; NULL: all of the sets */
    /* The summary of this tape, borrowed during the call; NULL: it is made here, which takes another walk. */
    const struct baro_summary *summary;
    const struct baro_timeline *timeline;
};

struct chart_set;

/* Makes figures. Moves the cursor. A figure without any known value is made, too, with `absent` set. Returns 0 or a
 * negative code; BARO_E_RANGE if no figure has such an id, or if the stretch of time is empty. */
int figures_of_tape(struct baro_tape *tape, const struct figure_options *options, struct chart_set **ret,
                    struct baro_error *err);
/*
 * Makes the figures of the machine ("pressure", "host_cpu", ...) from a tape of the machine alone, on the axis of a
 * job's figures that lack them. job: the job's tape, machine: the other one, whose cursor is moved. Sets *ret to NULL
 * if the machine's tape began later than the job's. Returns 0 or a negative code.
 */
int figures_beside(const struct chart_set *own, const struct baro_header *job, struct baro_tape *machine,
                   const struct figure_options *options, struct chart_set **ret, struct baro_error *err);
size_t figures_count(const struct chart_set *f);
const struct chart *figures_chart(const struct chart_set *f, size_t i);      /* borrowed until figures_free() */
const struct chart *figures_find(const struct chart_set *f, const char *id); /* NULL: no such figure was made */
void figures_free(struct chart_set *f);

/*
 * Makes a figure for each number that the job gave with its marks at least twice ("loss" of `baro mark epoch
 * loss=0.31`), with a curve for each name of marks. like: a chart that has the axis of time to use. only: the name of
 * the one number that is wanted; NULL: all. Returns 0 or -ENOMEM.
 */
int figures_of_marks(const struct baro_timeline *timeline, const struct chart *like, const char *only,
                     struct chart_set **ret, struct baro_error *err);

/*
 * Makes a figure of one metric. what: "KIND.NAME" or NAME, of a recorded or derived metric, such as "rss" (of
 * processes: the sum over all), "job.cores", "host.memory_used", "disk.read_bytes_per_second". NAME alone is searched
 * for in the kinds process, job and host, and then in all others. "@ENTITY" after it selects one process name or
 * entity: "rss@cc1", "disk.busy_ratio@sda". "mark.loss" is a number of marks. A counter is drawn as its growth per
 * second. Returns 0 and figures with one chart; BARO_E_RANGE if there is no such metric.
 */
int figures_of_metric(struct baro_tape *tape, const char *what, const struct figure_options *options,
                      struct chart_set **ret, struct baro_error *err);

#endif
