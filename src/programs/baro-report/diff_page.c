/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as a page: what text has, and the curves of both sides over each other. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "output/page/sheet.h"
#include "output/text/parts.h"
#include "programs/baro-report/align.h"
#include "programs/baro-report/diff.h"

#define BUCKETS 600u       /* on the axis */
#define FINE_BUCKETS 3000u /* of the curves of each run: a short phase may become wide */

struct diff_page {
    const struct baro_runset *set;
    size_t before;
    size_t shown[2]; /* the runs whose curves are drawn */
    struct plotted run[2];
    struct align align;
    struct chart charts[4];
    size_t n_charts;
    struct chart_ticks ticks;
    struct chart_spans spans[2];
    struct sheet_lane lanes[2];
    struct buf hint;
    const char *scope; /* of the table that is written */
    size_t rows;
};

static const struct {
    const char *id, *title, *help, *figure, *curve; /* curve: NULL: the total */
} pictures[] = {
    {"cpu", "CPU (cores)", "Cores that all processes of the job used", "cpu", NULL},
    {"memory", "Memory (RSS)", "Resident memory of all processes; what several share counts in each", "memory", NULL},
    {"read", "Read from storage", "Bytes fetched from storage", "io", "read"},
    {"written", "Written to storage", "Bytes sent to storage", "io", "written"},
};
#define PICTURES (sizeof(pictures) / sizeof(*pictures))
_Static_assert(PICTURES == sizeof(((struct diff_page *)0)->charts) / sizeof(struct chart), "a chart for each");

/* ---- curves ---- */

/* The run whose wall time is the median; of an even number the lower one of the two. */
static size_t middle_run(const struct baro_runset *set, size_t from, size_t to)
{
    size_t row = 0, best = from;
    while (row < baro_runset_rows(set) && (strcmp(baro_runset_row(set, row)->scope, "job") != 0 ||
                                           strcmp(baro_runset_row(set, row)->fact->name, "wall_ns") != 0))
        row++;
    for (size_t i = from; i < to; i++) {
        struct baro_value v, other;
        size_t below = 0;
        baro_runset_value(set, row, i, &v);
        for (size_t k = from; k < to; k++) {
            baro_runset_value(set, row, k, &other);
            below += other.real < v.real || (other.real == v.real && k < i);
        }
        best = below == (to - from - 1) / 2 ? i : best;
    }
    return best;
}

static const struct chart_curve *find_curve(const struct chart *c, const char *name)
{
    for (size_t i = 0; c && i < c->n_curves && name; i++) {
        if (strcmp(c->curves[i].name, name) == 0)
            return &c->curves[i];
    }
    return c && !name ? plotted_main_curve(c) : NULL;
}

static bool add_chart(struct diff_page *p, size_t i)
{
    struct chart *c = &p->charts[p->n_charts++];
    *c = (struct chart){.id = strdup(pictures[i].id),
                        .title = strdup(pictures[i].title),
                        .help = strdup(pictures[i].help),
                        .to_ns = p->align.at[p->align.n - 1].x_ns,
                        .buckets = BUCKETS,
                        .ticks = p->align.is_by_phases ? &p->ticks : NULL};
    bool has_room = c->id && c->title && c->help && chart_add_curve(c, "before", CHART_AREA, CHART_COLOR_OTHERS) &&
                    chart_add_curve(c, "after", CHART_LINE, 0);
    for (int side = 0; side < 2 && has_room; side++) {
        const struct chart *from = figures_find(p->run[side].figures, pictures[i].figure);
        const struct chart_curve *curve = find_curve(from, pictures[i].curve);
        c->unit = from ? from->unit : c->unit;
        if (curve)
            align_curve(&p->align, side, from, curve, c, &c->curves[side]);
    }
    if (has_room)
        chart_finish(c);
    return has_room;
}

/* The times of the run after, where the axis has them; not those that would stand in each other. */
static void make_ticks(struct diff_page *p)
{
    const struct plotted *after = &p->run[1];
    struct chart own = {.from_ns = after->start_ns, .to_ns = after->end_ns, .start_ns = after->start_ns};
    chart_time_ticks(&own, 12, &p->ticks);
    size_t n = 0;
    double least = (double)p->align.at[p->align.n - 1].x_ns / 16;
    for (size_t i = 0; i < p->ticks.n; i++) {
        struct chart_tick tick = p->ticks.at[i];
        tick.at = (double)align_x(&p->align, 1, (uint64_t)tick.at);
        if (!n || tick.at - p->ticks.at[n - 1].at >= least)
            p->ticks.at[n++] = tick;
    }
    p->ticks.n = n;
}

/* The phases of a side: "link 4.9 s". */
static bool make_spans(struct diff_page *p, int side, struct chart_phase_colors *colors)
{
    const struct baro_timeline *t = baro_fold_timeline(p->run[side].fold);
    size_t n = baro_timeline_count(t);
    struct chart_spans *s = &p->spans[side];
    s->at = calloc(n + 1, sizeof(*s->at));
    for (size_t i = 0; s->at && i < n; i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        struct buf text = {0};
        if (item->kind != BARO_TIMELINE_PHASE)
            continue;
        buf_printf(&text, "%s ", item->name);
        fmt_duration(&text, item->end_ns - item->begin_ns);
        buf_byte(&text, 0);
        unsigned lane = (unsigned)item->depth;
        s->at[s->n++] = (struct chart_span){.begin_ns = align_x(&p->align, side, item->begin_ns),
                                            .end_ns = align_x(&p->align, side, item->end_ns),
                                            .lane = lane,
                                            .color = chart_phase_color(colors, item->name),
                                            .text = (char *)text.at};
        s->lanes = s->lanes > lane ? s->lanes : lane + 1;
        if (text.failed)
            return false;
    }
    return s->at;
}

static int make_figures(struct plotted *run, struct baro_error *err)
{
    static const char *const ids[] = {"cpu", "memory", "io", NULL};
    const struct figure_options options = {.from_ns = run->start_ns,
                                           .to_ns = run->end_ns,
                                           .buckets = FINE_BUCKETS,
                                           .ids = ids,
                                           .summary = run->summary,
                                           .timeline = baro_fold_timeline(run->fold)};
    int code = run->end_ns > run->start_ns ? figures_of_tape(run->tape, &options, &run->figures, err) : 0;
    return code == BARO_E_RANGE ? 0 : code; /* nothing but a header */
}

static void make_hint(struct diff_page *p)
{
    static const char *const sides[] = {"before", "after"};
    buf_str(&p->hint, p->align.is_by_phases
                          ? "Both runs are aligned by the phases that they share: each is as wide as it lasted in the "
                            "slower run, and within it both curves are stretched to that width, up to twentyfold."
                          : "The runs have no phase in common: both begin at 0, and time has one scale.");
    for (int side = 0; side < 2; side++) {
        size_t n = side ? baro_runset_runs(p->set) - p->before : p->before;
        if (n > 1)
            buf_printf(&p->hint, " The curves %s are those of %s, the median of %zu runs by wall time.", sides[side],
                       baro_runset_name(p->set, p->shown[side]), n);
    }
    buf_byte(&p->hint, 0);
}

static int make_charts(struct diff_page *p, struct baro_error *err)
{
    struct chart_phase_colors colors = {.n = 0};
    int code = make_figures(&p->run[0], err);
    code = code < 0 ? code : make_figures(&p->run[1], err);
    if (code < 0)
        return code;
    bool has_room = align_runs(p->run, &p->align) == 0;
    if (has_room && p->align.at[p->align.n - 1].x_ns) {
        make_ticks(p);
        for (size_t i = 0; i < PICTURES && has_room; i++)
            has_room = add_chart(p, i);
        for (int side = 0; side < 2 && has_room; side++)
            has_room = make_spans(p, side, &colors);
        make_hint(p);
    }
    return has_room ? 0 : error_set(err, -ENOMEM, "out of memory");
}

/* "before +3.204s, after +2.911s" */
static void tell(const void *context, size_t bucket, struct buf *ret)
{
    const struct diff_page *p = context;
    uint64_t x = (chart_bucket_ns(p->charts, bucket) + chart_bucket_ns(p->charts, bucket + 1)) / 2;
    buf_str(ret, "before ");
    fmt_moment(ret, align_t(&p->align, 0, x) - p->run[0].start_ns);
    buf_str(ret, ", after ");
    fmt_moment(ret, align_t(&p->align, 1, x) - p->run[1].start_ns);
}

/* ---- words and tables ---- */

static void put_side(struct page *page, const struct baro_runset *set, const char *label, size_t from, size_t to)
{
    struct buf name = {0};
    buf_str(&name, baro_runset_name(set, from));
    if (to - from > 1)
        buf_printf(&name, " and %zu more", to - from - 1);
    buf_byte(&name, 0);
    page_meta(page, label, name.failed ? "" : (const char *)name.at);
    buf_done(&name);
}

static void put_meta(struct page *page, void *context)
{
    const struct diff_page *p = context;
    put_side(page, p->set, "before", 0, p->before);
    put_side(page, p->set, "after", p->before, baro_runset_runs(p->set));
}

static void put_cell(struct buf *html, void (*put)(struct buf *b, const struct baro_difference *d),
                     const struct baro_difference *d, double key)
{
    struct buf b = {0};
    put(&b, d);
    if (isnan(key))
        buf_str(html, "<td class=\"n\">");
    else
        buf_printf(html, "<td class=\"n\" data-v=\"%.17g\">", key);
    page_prose_done(html, &b);
    buf_str(html, "</td>");
}

static void put_before(struct buf *b, const struct baro_difference *d)
{
    diff_value(b, d, d->before);
}

static void put_after(struct buf *b, const struct baro_difference *d)
{
    diff_value(b, d, d->after);
}

static void put_answer(struct buf *html, const struct baro_difference *d)
{
    struct buf b = {0};
    double size = (isnan(d->after) ? 0 : d->after) - (isnan(d->before) ? 0 : d->before);
    bool is_certain =
        d->answer != BARO_ANSWER_UNKNOWN && d->answer != BARO_ANSWER_SAME && d->answer != BARO_ANSWER_SMALL;
    diff_answer(&b, d);
    buf_printf(html, "<td><span class=\"tag%s\">", !is_certain ? "" : size > 0 ? " up" : " down");
    page_prose_done(html, &b);
    buf_str(html, "</span></td>");
}

struct put_context {
    struct diff_page *p;
    struct page *page;
};

static void put_row(void *context, const struct baro_difference *d)
{
    struct put_context *c = context;
    struct buf *html = page_html(c->page);
    bool is_job = strcmp(d->scope, "job") == 0;
    double shift = (isnan(d->after) ? 0 : d->after) - (isnan(d->before) ? 0 : d->before);
    if (strcmp(d->scope, c->p->scope) != 0)
        return;
    buf_str(html, "<tr><td>");
    page_string(html, is_job ? diff_label(d) : *d->name ? d->name : "(not known)");
    buf_str(html, "</td>");
    if (!is_job)
        buf_printf(html, "<td>%s</td>", diff_label(d));
    put_answer(html, d);
    put_cell(html, put_before, d, d->before);
    put_cell(html, put_after, d, d->after);
    put_cell(html, diff_shift, d, shift);
    put_cell(html, diff_percent, d, d->before > 0 ? shift / d->before : NAN);
    buf_str(html, "</tr>\n");
}

static void count_row(void *context, const struct baro_difference *d)
{
    struct diff_page *p = context;
    p->rows += strcmp(d->scope, p->scope) == 0;
}

static void put_table(struct diff_page *p, struct page *page, const char *scope, const char *title, const char *columns)
{
    struct put_context c = {p, page};
    p->scope = scope;
    p->rows = 0;
    diff_each_row(p->set, count_row, p);
    if (!p->rows)
        return;
    page_begin_table(page, scope, title, columns);
    diff_each_row(p->set, put_row, &c);
    page_end_table(page, 0, 0, "");
}

static void put_circumstances(const struct baro_runset *set, struct buf *html)
{
    size_t n = baro_circumstance_count(set);
    buf_str(html, n ? "<p class=\"besides\">Besides, this differs: " : "");
    for (size_t i = 0; i < n; i++) {
        const struct baro_circumstance *c = baro_circumstance_get(set, i);
        buf_printf(html, "%s%s <b>", i ? ", " : "", c->what);
        page_string(html, c->after);
        buf_str(html, "</b> instead of <b>");
        page_string(html, c->before);
        buf_str(html, "</b>");
    }
    buf_str(html, n ? "</p>\n" : "");
}

static void put_above(struct page *page, void *context)
{
    struct diff_page *p = context;
    struct buf *html = page_html(page), sentence = {0}, noise = {0};
    diff_sentence(p->set, p->before, &sentence);
    page_begin_section(page, "verdict", "In short");
    buf_str(html, "<div class=\"short\"><div><p class=\"sentence\">");
    page_prose_done(html, &sentence);
    buf_str(html, "</p>\n");
    put_circumstances(p->set, html);
    buf_str(&noise, "Of the machine: ");
    if (noise_of_sides(p->set, p->before, &noise)) {
        buf_str(html, "<p class=\"besides\">");
        page_prose_done(html, &noise);
        buf_str(html, "</p>\n");
    }
    buf_done(&noise);
    buf_printf(html, "<p class=\"hint\">%s</p></div></div>\n", diff_advice(p->set, p->before));
    page_end_section(page);
    put_table(p, page, "job", "The job", "|answer|before>|after>|difference>|%>");
}

static void put_below(struct page *page, void *context)
{
    struct diff_page *p = context;
    put_table(p, page, "phase", "Phases", "phase|fact|answer|before>|after>|difference>|%>");
    put_table(p, page, "task", "Tasks", "task|fact|answer|before>|after>|difference>|%>");
    put_table(p, page, "command", "Commands", "command|fact|answer|before>|after>|difference>|%>");
}

static int write_page(struct diff_page *p, struct buf *ret)
{
    struct buf title = {0};
    buf_str(&title, "before and after: ");
    report_title(p->run[1].summary, &title);
    buf_byte(&title, 0);
    p->lanes[0] = (struct sheet_lane){"Phases before", &p->spans[0]};
    p->lanes[1] = (struct sheet_lane){"Phases after", &p->spans[1]};
    const struct sheet s = {.title = title.failed ? "" : (const char *)title.at,
                            .meta = put_meta,
                            .above = put_above,
                            .below = put_below,
                            .tell = p->align.is_by_phases ? tell : NULL,
                            .context = p,
                            .heading = "Over time",
                            .hint = (const char *)p->hint.at,
                            .axis = p->align.is_by_phases ? "time of the run after" : "time since the start",
                            .charts = p->charts,
                            .n_charts = p->hint.failed ? 0 : p->n_charts,
                            .lanes = p->lanes,
                            .n_lanes = 2};
    int code = sheet_write(&s, ret);
    buf_done(&title);
    return code;
}

int diff_page(const struct cli *cli, const struct baro_runset *set, const char *const *paths, size_t before,
              struct buf *ret)
{
    struct diff_page *p = calloc(1, sizeof(*p));
    struct baro_error err = BARO_ERROR_INIT;
    if (!p)
        return cli_failf(cli, "out of memory");
    *p = (struct diff_page){.set = set, .before = before};
    p->shown[0] = middle_run(set, 0, before);
    p->shown[1] = middle_run(set, before, baro_runset_runs(set));
    int status = plotted_open(&p->run[0], cli, paths[p->shown[0]]);
    if (!status)
        status = plotted_open(&p->run[1], cli, paths[p->shown[1]]);
    if (!status && make_charts(p, &err) < 0)
        status = cli_fail(cli, &err);
    if (!status && write_page(p, ret) < 0)
        status = cli_failf(cli, "out of memory");
    for (size_t i = 0; i < p->n_charts; i++)
        chart_done(&p->charts[i]);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < p->spans[side].n; i++)
            free(p->spans[side].at[i].text);
        free(p->spans[side].at);
        plotted_done(&p->run[side]);
    }
    align_done(&p->align);
    buf_done(&p->hint);
    free(p);
    return status;
}
