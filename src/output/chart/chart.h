/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chart as data, and the canvases that draw it: SVG, PNG (cairo) and the terminal.
 *
 * All values are in the unit of the chart (cores, bytes, ...), times in nanoseconds since the tape began. Texts may
 * come from a tape: they are raw bytes, and the code that writes them escapes them. Figures of a tape are made by
 * figure.h; a chart can also be filled by hand.
 */
#ifndef OUTPUT_CHART_CHART_H
#define OUTPUT_CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum chart_unit {
    CHART_COUNT,            /* "1,500" */
    CHART_CORES,            /* "1.97 cores" */
    CHART_BYTES,            /* "153 MB" */
    CHART_BYTES_PER_SECOND, /* "20 MB/s" */
    CHART_PER_SECOND,       /* "1,500/s" */
    CHART_RATIO,            /* 0 to 1, written "25 %" */
    CHART_SECONDS,          /* "1.5 s", "2 min 30 s" */
    CHART_CELSIUS,          /* "41.5 °C" */
    CHART_HERTZ,            /* "2.4 GHz" */
    CHART_WATTS,            /* "310 W" */
    CHART_NUMBER            /* a number of the job's own, "0.3127", "1,500" */
};

/* The values of one bucket. A bucket that is not known is drawn as a gap. */
struct chart_bucket {
    bool known;
    double min, max, mean; /* mean: over the time in which the value is known */
    double last;           /* the value at its end */
    /* Only bounds of a sum are known, as in baro/series.h: min to last are lower bounds, and high is the upper
     * bound. */
    bool is_bound;
    double high;
    double at_least; /* the highest lower bound within the bucket, with or without known values; 0: none */
};

enum chart_shape {
    CHART_LINE,   /* mean as a line, in a band from min to max */
    CHART_AREA,   /* the same, filled down to 0 */
    CHART_STACK,  /* area on top of the stacked curves before it */
    CHART_TOTAL,  /* the sum of the stacked curves, drawn as a thin line over them, with its peaks. It is not in the
                     legend */
    CHART_DASHED, /* a dashed line, as for a curve to compare with */
    CHART_DOTS    /* a dot for each bucket: values that have nothing between them */
};

#define CHART_COLORS 10u /* colours of curves: people with all usual kinds of colour blindness can tell them apart */
#define CHART_COLOR_OTHERS 10u /* grey: all others, in a stack */

struct chart_curve {
    char *name; /* for the legend */
    enum chart_shape shape;
    unsigned color;          /* below CHART_COLORS, or CHART_COLOR_OTHERS */
    struct chart_bucket *at; /* as many as the chart has buckets */
    bool known;              /* some bucket is known; otherwise max, mean and last are not valid */
    double max, mean, last;  /* over the whole chart; last: of its last known bucket */
    bool max_is_bound;       /* the true maximum may be higher: for some buckets only bounds are known */
    bool has_bounds; /* for some buckets only bounds are known: they are dashed in pictures, and gaps in a terminal */
    bool has_whole;  /* some bucket has a known value */
    uint64_t max_ns; /* the middle of the bucket that has max */
};

/* A horizontal line, such as a memory limit. A limit far above all values is not drawn; the legend names it. */
struct chart_limit {
    char *name;   /* "limit", "memory of the machine" */
    double value; /* the last one */
    double *at;   /* value in each bucket; 0: no limit. NULL: it was the same in all buckets */
};

/* A limit as it is drawn: one line for each stretch of buckets with the same value. */
struct chart_step {
    size_t from, to;
    double value;
};
#define CHART_STEPS_MOST 64u

/* A point that is marked, such as the peak. */
struct chart_mark {
    uint64_t t_ns;
    double value;
    char *text; /* "peak 153 MB: cc1 ×2" */
};

/* What is drawn over all charts of a tape: phases as bars in lanes, marks and events as points in time. */
enum chart_span_kind { CHART_PHASE, CHART_MARK, CHART_EVENT, CHART_GAP };
struct chart_span {
    enum chart_span_kind kind;
    uint64_t begin_ns, end_ns; /* the same, for marks and events */
    unsigned lane;             /* for phases: 0 is the outermost lane */
    unsigned color;            /* for phases: chart_phase_color() */
    bool bad;                  /* an event that is a problem, such as an OOM kill */
    char *text;
};
struct chart_spans {
    struct chart_span *at;
    size_t n;
    unsigned lanes; /* number of lanes that the phases need */
};

struct chart_ticks;

struct chart {
    char *id;    /* "cpu": letters, digits, "_" and "-" */
    char *title; /* "CPU by command" */
    char *help;  /* one sentence of explanation, shown on demand */
    enum chart_unit unit;
    uint64_t from_ns, to_ns;
    uint64_t start_ns; /* the instant at which the axis has its 0: when the command started */
    double low;        /* the axis of values begins at the tick below it; 0: at 0 */
    size_t buckets;
    struct chart_curve *curves;
    size_t n_curves;
    struct chart_limit *limits;
    size_t n_limits;
    struct chart_mark *marks;
    size_t n_marks;
    const struct chart_spans *spans; /* borrowed; NULL: none */
    const struct chart_ticks *ticks; /* borrowed: those of an axis that is not the time of one tape; NULL: time */
    char *absent; /* reason why there is nothing to draw: no curve has a known bucket. NULL: there is something */
};

/* ---- making one ---- */
/* Adds a curve whose buckets are all unknown. Returns NULL if out of memory. The pointer is valid until the next curve
 * is added. */
struct chart_curve *chart_add_curve(struct chart *c, const char *name, enum chart_shape shape, unsigned color);
int chart_add_limit(struct chart *c, const char *name, double value); /* 0 or -ENOMEM */
int chart_add_mark(struct chart *c, uint64_t t_ns, double value, const char *text);
/* Computes max, mean and last of all curves; called when their buckets are filled. */
void chart_finish(struct chart *c);
void chart_done(struct chart *c); /* frees what it owns */

/* ---- what drawings share ---- */
/* Is the value of the bucket known, and not only bounds of it? */
static inline bool chart_is_whole(const struct chart_bucket *b)
{
    return b->known && !b->is_bound;
}
/* "471 MB", "at least 315 MB" */
void chart_max_text(enum chart_unit unit, const struct chart_curve *curve, struct buf *ret);
/* Returns when bucket i begins. */
uint64_t chart_bucket_ns(const struct chart *c, size_t i);
/* Returns the highest value that must fit: of curves (if stacked, of their sum), of marks, and of limits below 1.6
 * times that. */
double chart_top(const struct chart *c);
/* Is the chart a flat line: do all curves stay within a fiftieth of the axis, with no limit near? */
bool chart_is_flat(const struct chart *c);
/* Returns the highest drawn value at the time of a mark, if that is below the mark. A peak between two samples is
 * above its curve: 1.35 GB by the high-water mark of a process, 1.26 GB in the samples. */
double chart_below_mark(const struct chart *c, const struct chart_mark *mark);
/* Is the limit drawn as a line? If not, the legend names it. */
bool chart_limit_is_drawn(const struct chart *c, const struct chart_limit *limit);
/* Fills the lines of a limit from left to right, except those far above all values. Returns how many there are. */
size_t chart_limit_steps(const struct chart *c, const struct chart_limit *limit,
                         struct chart_step ret[CHART_STEPS_MOST]);
/* Writes the limit: "2.00 GB"; if it changed: "1.00 GB, then 2.00 GB", "2.00 GB, then none". */
void chart_limit_text(const struct chart *c, const struct chart_limit *limit, struct buf *ret);

#define CHART_TICKS_MAX 24u
#define CHART_TICK_TEXT 24u
struct chart_tick {
    double at;                  /* a value, or nanoseconds since the tape began */
    char text[CHART_TICK_TEXT]; /* without the unit if the first tick has it */
};
struct chart_ticks {
    struct chart_tick at[CHART_TICKS_MAX];
    size_t n;
    double begin, end; /* for values: where the axis begins, and ends: the tick at or above the highest value */
};
/* Finds at most `most` ticks (`most` is at least 2), from 0 on, at steps of 1, 2 or 5 times a power of ten. The last
 * one is at or above top. */
void chart_value_ticks(enum chart_unit unit, double top, size_t most, struct chart_ticks *ret);
/* The same for a chart, whose axis may begin above 0. */
void chart_axis_ticks(const struct chart *c, size_t most, struct chart_ticks *ret);
/* Ticks within the time of a chart, counted from its start_ns: at steps of 1, 2, 5 s, 15 s, 1 min, 1 h, ...; or some of
 * its own ticks. */
void chart_time_ticks(const struct chart *c, size_t most, struct chart_ticks *ret);
/* "1.97 cores", "153 MB", "25 %" */
void chart_value_text(enum chart_unit unit, double value, struct buf *ret);
/* The label of the axis: "cores", "bytes", "" */
const char *chart_unit_name(enum chart_unit unit);

/* Colours of phases, in the order in which their names first occur. Names that differ in digits alone have the same
 * one: "epoch 1" and "epoch 2" are repetitions. Red is left out: it stands for what failed. */
struct chart_phase_colors {
    uint64_t kind[64]; /* hashes of names */
    unsigned n;
};
unsigned chart_phase_color(struct chart_phase_colors *known, const char *name);

/* ---- drawing ---- */
struct chart_picture {
    unsigned width, height; /* in CSS pixels */
    double scale;           /* for PNG: pixels of the file per CSS pixel; 0 is 1 */
    bool dark;              /* for PNG; SVG has both themes */
    bool has_title;         /* the title stands above the plot */
    bool has_time; /* the ticks of the time axis have labels: if charts stand below each other, only the last one needs
                      them */
    bool has_legend;
    bool has_spans; /* phases, marks and events are drawn */
};

/*
 * Writes a chart as an SVG file. Elements have classes, and the style sheet in the file has their colours, light and
 * dark. All text is escaped. Numbers for programs stand in attributes: svg has data-figure, data-unit,
 * data-from-ns, data-to-ns, data-start-ns, data-axis-end, and data-plot="x y width height" of the plot in its
 * coordinates; the group of a curve data-curve (its name), data-max, data-mean, data-last; limits and marks
 * data-value, marks data-t-ns; phases, marks of the job and events data-span (phase, mark, event, gap), data-begin-ns
 * and data-end-ns.
 */
void chart_svg(const struct chart *c, const struct chart_picture *p, struct buf *ret);
/* Adds raw bytes as text of XML or HTML, also within double-quoted attributes. Control bytes and bytes that are not
 * UTF-8 become \xNN. */
void chart_xml_text(struct buf *ret, const char *at, size_t len);
/* The same for text that text_escaped() has already escaped. */
void chart_xml_escaped(struct buf *ret, const char *at, size_t len);

/* Writes a chart as a PNG file. Returns 0; -ENOTSUP if it was built without cairo, -ENOMEM. */
int chart_png(const struct chart *c, const struct chart_picture *p, struct buf *ret, struct baro_error *err);
bool chart_has_png(void);

struct chart_terminal {
    unsigned width, height; /* in cells; height of the plot without title, axis and legend; 0: 12 */
    bool utf8, color;
};
/* Writes a chart as lines of text: braille dots, or ASCII. */
void chart_text(const struct chart *c, const struct chart_terminal *t, struct buf *ret);

#endif
