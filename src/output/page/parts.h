/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the page share. */
#ifndef OUTPUT_PAGE_PARTS_H
#define OUTPUT_PAGE_PARTS_H

#include "baro/baro.h"
#include "base/json.h"
#include "output/chart/figure.h"
#include "output/chart/kinds.h"
#include "output/page/bars.h"
#include "output/page/lives.h"
#include "output/page/moments.h"
#include "output/page/page.h"
#include "output/page/sheet.h"

#define PAGE_CMDLINE_MOST 400u /* bytes of a command line */

struct page {
    struct buf html;           /* text that the sink did not get yet */
    const struct sheet *sheet; /* NULL: the page of a tape, which has what follows */
    const struct page_options *options;
    const struct baro_header *header;
    bool is_running;
    bool is_host_only;      /* the tape has no job, or the job is the machine */
    struct baro_fold *fold; /* has these: */
    const struct baro_summary *summary;
    const struct baro_timeline *timeline;
    struct lives lives;
    struct moments moments;
    struct bars bars;
    struct baro_steps *steps;
    struct kinds kinds;
    struct chart_set *figures;
    struct chart_set *machine;         /* charts of the machine, from its own tape; NULL: there are none */
    struct chart_set *numbers;         /* charts of numbers in marks */
    struct chart_set *devices;         /* charts of kinds; NULL: there are none */
    struct chart_spans spans;          /* none: the page draws phases in a lane above the charts */
    uint64_t from_ns, to_ns, start_ns; /* the time axis of all charts, and where its 0 is */
    baro_sink *sink;
    void *context;
    int code; /* code of the first failure */
};

/* ---- text: html.c. Each context has one function, and all text of a tape goes through one of them. ---- */
/* As page_prose(), for a sentence that contains names from the tape: raw bytes. */
void page_prose_string(struct buf *html, const char *text);
/* Writes an instant, counted from the start of the command as on the time axis: "+1min02.345s". */
void page_moment(const struct page *p, struct buf *html, uint64_t t_ns);
/* Writes a duration whose parts stay on one line. */
void page_duration(struct buf *html, uint64_t ns);
/* Writes JSON inside <script type="application/json">: no "<" in it can end the script. */
void page_script_json(struct buf *html, const char *json, size_t len);
/* Text of a tape is never written as a CSS or HTML class, an id or the like. */

/* Passes what was written so far to the sink, if it is much, or if `all` is true. */
void page_flush(struct page *p, bool all);

/* ---- values ---- */
/* A value as text for people, with "at least" and "about"; the reason where it is absent. */
void page_value(struct buf *html, const struct baro_fact *fact, const struct baro_value *v);
void page_mark(struct buf *html, unsigned flags); /* "≥" in small; nothing before an exact value */
/* Cells of tables. A mark before each number would be noise there: what is not exact is underlined, its title has the
 * words, and the foot of the page says so. page_begin_number() writes "<td ..." without its end. */
void page_begin_number(struct buf *html, unsigned flags);
void page_unknown_cell(struct buf *html);
/* <td data-v="..."> of a value: the number that a table is sorted by. page_fact_cell(): with its mark, for the list of
 * all figures. */
void page_fact_cell(struct buf *html, const struct baro_fact *fact, const struct baro_value *v);
void page_value_cell(struct buf *html, const struct baro_fact *fact, const struct baro_value *v);
/* The colour of a command in all charts: 0 to CHART_COLORS. */
unsigned page_color(const struct page *p, const char *command);
unsigned page_task_color(const struct page *p, const char *task);
/* A time as a share of the axis in percent, at least 0 and at most 100: "12.345". */
void page_percent(const struct page *p, struct buf *html, uint64_t t_ns);
/* "exit 1", "killed by SIGKILL"; "" if it is not known. */
void page_status(struct buf *html, const struct life *life);
void page_life_name(const struct page *p, struct buf *html, const struct life *life);
/* Writes " alpha", in small type after the name: the label that tells the process from others of its name. */
void page_life_label(const struct page *p, struct buf *html, const struct life *life);
/* Writes the cell of a command line, without the program's folder, which is in the title of the cell. */
void page_command_cell(const struct page *p, struct buf *html, const struct life *life);

/* ---- parts of the page, in order ---- */
void page_head(struct page *p);                                      /* head.c: what was recorded, how it ended */
void page_verdicts(struct page *p, const struct baro_verdicts *all); /* verdicts.c */
bool page_has_phases(const struct page *p);
void page_gantt(struct page *p);                           /* gantt.c: the phases, if it has some */
void page_words(struct page *p, bool about_the_recording); /* words.c: the lines of the summary */
void page_key_figures(struct page *p);
void page_axis(struct page *p);   /* lane.c: the time axis, phases and events */
void page_charts(struct page *p); /* plot.c */
void page_bars(struct page *p);   /* process_bars.c */
/* steps.c: the steps of the job, and the chain of last finishers; nothing if the job had one step. */
bool page_has_steps(const struct page *p);
void page_steps(struct page *p);
void page_step_name(struct page *p, ptrdiff_t step);
void page_tree(struct page *p);   /* tree.c: the processes at the moment with most memory */
void page_tables(struct page *p); /* tables.c */
void page_facts(struct page *p);  /* facts.c: completeness, cost, and all facts */
int page_data(struct page *p);    /* data.c: JSON for the script; 0 or -ENOMEM */

/* ---- what pages share ---- */
/* page.c: the file up to its body, and its script and end */
void page_begin_file(struct page *p, const char *title, size_t len);
void page_end_file(struct page *p, bool has_script);
void page_begin_head(struct page *p, const char *title, size_t len); /* head.c: up to the title */
void page_put_data(struct page *p, const struct buf *json);          /* data.c: the element that the script reads */
/* lane.c */
struct page_bar {
    uint64_t begin_ns, end_ns;
    unsigned lane, color;
    bool has_failed;
    const char *name, *title;
};
void page_time_axis(struct page *p);
void page_begin_lane(struct page *p, const char *title, unsigned lanes);
void page_lane_bar(struct page *p, const struct page_bar *bar);
void page_end_lane(struct page *p);

/* plot.c */
/* The charts in the order of the page, from 0 on; NULL: there is none. */
const struct chart *page_chart_at(const struct page *p, size_t i);
void page_spark(struct page *p, const struct chart *c, const struct chart_curve *curve);
void page_chart_data(const struct page *p, struct json *j); /* plot_data.c */

/* ---- files that the build embeds: embed.py ---- */
extern const char page_css[], page_js[], page_csp[];

#endif
