/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table of figures, and the parts that make a figure. Only for the files of this folder. */
#ifndef OUTPUT_CHART_FIGURE_PARTS_H
#define OUTPUT_CHART_FIGURE_PARTS_H

#include "output/chart/figure.h"
#include "output/text/read_fact.h"

enum row_how {
    ROW_VALUE,     /* a gauge */
    ROW_RATE,      /* a counter's growth per second */
    ROW_DERIVED,   /* a derived metric */
    ROW_COUNT,     /* number of living processes */
    ROW_CUMULATIVE /* a counter's growth since the start of the chart */
};

/* One curve, or with `by_command` one for each of the heaviest commands and one for all others. */
struct curve_row {
    const char *name; /* NULL: no such row; by_command: what follows the name of the command, such as " RSS" */
    int kind;
    const char *metric;
    enum row_how how;
    enum chart_shape shape;
    bool by_command;
};

#define ROW_CURVES 6u

/* The limits of the job from an instant on. 0: there is no limit below the machine's own, or it is not known. */
struct limit_change {
    uint64_t t_ns;
    double memory_bytes, cores, pids;
};
#define LIMIT_CHANGES_MOST 64u
struct limit_history {
    struct limit_change at[LIMIT_CHANGES_MOST];
    size_t n; /* 0: the limits never changed */
};
typedef void decorate_function(struct chart *c, const struct baro_summary *summary, const struct limit_history *limits);

enum row_order { ORDER_CPU, ORDER_MEMORY }; /* how the heaviest commands are chosen */

struct figure_row {
    struct figure_info info;
    struct curve_row curve[ROW_CURVES];
    enum row_order order;
    bool by_task;       /* by_command curves are by task; without tasks the figure is not made */
    const char *others; /* name of the curve between the stacked ones and the CHART_TOTAL; NULL: there is none */
    /* Adds limits and marks once the curves are known. NULL: none. */
    decorate_function *decorate;
};

extern const struct figure_row figure_rows[];
extern const size_t figure_rows_count;

/* ---- facts ---- */
/* Reads a fact as a number; returns false if it is absent. */
bool fact_number(const struct baro_summary *s, const char *section, const char *name, size_t row, double *ret);

decorate_function decorate_cpu, decorate_memory /* of rss */, decorate_memory_kinds;
decorate_function decorate_footprint /* of uss, with the machine's memory */, decorate_threads;
decorate_function decorate_host_cpu, decorate_host_memory, decorate_peak /* marks the highest value of all curves */;

/* Adds a limit, with its steps where it changed. offset: of the member of struct limit_change. */
void chart_add_limit_steps(struct chart *c, const char *name, double value, const struct limit_history *h,
                           size_t offset);

struct making;
struct heaviest {
    const char *name[CHART_COLORS];
    size_t n;
    const char *section; /* section of the summary: "commands" or "tasks" */
};

/* ---- making ---- */
struct chart_set {
    struct chart *charts;
    size_t n;
    struct chart_spans spans;
};

/* What of the machine is not the job's. A tape of the machine alone has only what is in use. */
#define ALL_ELSE "all else on the machine"
#define IN_USE "in use"
bool chart_rename_curve(struct chart_curve *curve, const char *name); /* false: out of memory */

/* The source of a curve's values. */
struct curve_source {
    size_t chart, curve;
    int series;
    double scale; /* to the chart's unit */
    double most;  /* values above this come from the steps in which the kernel counts time, and are lowered to it; 0: no
                     such bound */
    bool cumulative;
};

struct making {
    struct baro_tape *tape;
    const struct baro_summary *summary;
    const struct baro_timeline *timeline;
    struct baro_fold *own; /* owned: made here because the options lack a part */
    const struct figure_options *options;
    struct limit_history limits;
    struct baro_series *series;
    struct chart_set *figures;
    struct curve_source *feeds;
    size_t n_feeds;
    uint64_t from_ns, to_ns, start_ns;
    size_t buckets;
    bool keeps_empty; /* curves without a value above 0 are kept, and a value that was read once is one */
    int failed;       /* a negative code */
    struct baro_error *err;
};

enum chart_unit chart_unit_of_metric(const struct baro_metric *m); /* figure_metric.c; of a counter: of its rate */
/* Adds a chart without curves. Returns its number, or -1. */
int making_chart(struct making *m, const char *id, const char *title, const char *help, enum chart_unit unit);
/* Adds a curve whose values are a metric of the row's kind. Returns false if there is no such metric. id: that of an
 * entity; 0: any. name: a process or an entity; NULL: all of them. */
bool making_curve(struct making *m, size_t chart, const struct curve_row *row, const char *title, uint32_t id,
                  const char *name, unsigned color);
/* Makes the summary and the timeline if they are not given. Returns 0 or a negative code. */
int making_begin(struct making *m);
/* Reads the limits of a tape on which they changed. Returns 0 or a negative code. */
int making_read_limits(struct making *m);
void making_done(struct making *m);
/* Finds the range and makes the series; then calls `add`, which adds charts, and fills all of them. */
int making_run(struct making *m, int (*add)(struct making *m, void *context), void *context, struct chart_set **ret);

#endif
