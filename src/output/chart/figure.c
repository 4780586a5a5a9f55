/* SPDX-License-Identifier: Apache-2.0 */
/* Makes figures from the table of rows: which curves, for which commands. */
#include "output/chart/figure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/chart/figure_parts.h"

/* ---- the heaviest ---- */

/* Chooses which commands or tasks have a curve of their own, and its colour. */

#define NAMES_DEFAULT 8u

static void add_name(struct heaviest *h, const char *name, size_t most)
{
    for (size_t i = 0; i < h->n; i++) {
        if (!name || strcmp(h->name[i], name) == 0)
            return;
    }
    if (name && h->n < most)
        h->name[h->n++] = name;
}

static void by_fact(const struct baro_summary *s, struct heaviest *h, const char *fact, size_t most)
{
    size_t n = report_rows(s, h->section);
    double last = 1e300;
    while (h->n < most) {
        /* Adds the names with the next lower value, in their order. */
        double best = -1;
        for (size_t i = 0; i < n; i++) {
            double v;
            if (fact_number(s, h->section, fact, i, &v) && v < last && v > best)
                best = v;
        }
        if (best < 0)
            return;
        for (size_t i = 0; i < n; i++) {
            double v;
            if (fact_number(s, h->section, fact, i, &v) && v == best)
                add_name(h, report_row(s, h->section, "name", i).text, most);
        }
        last = best;
    }
}

/* Sorts by CPU time, or by memory (first the commands that held the peak). */
static struct heaviest heaviest_of(const struct making *m, enum row_order order, bool tasks)
{
    struct heaviest h = {.section = tasks ? "tasks" : "commands"};
    size_t most = m->options->commands ? m->options->commands : NAMES_DEFAULT;
    most = most < CHART_COLORS ? most : CHART_COLORS - 1;
    for (size_t i = 0; order == ORDER_MEMORY && !tasks && i < report_rows(m->summary, "rss_peak_held_by"); i++)
        add_name(&h, report_row(m->summary, "rss_peak_held_by", "name", i).text, most);
    if (order == ORDER_MEMORY)
        by_fact(m->summary, &h, "rss_peak_bytes", most);
    by_fact(m->summary, &h, "cpu_ns", most);
    for (size_t i = 0; i < report_rows(m->summary, h.section) && h.n < most; i++)
        add_name(&h, report_row(m->summary, h.section, "name", i).text, most);
    return h;
}

/* Returns the rank of a name by CPU time; the number of names if there is no such name. */
static size_t rank_of(const struct making *m, const char *section, const char *name)
{
    size_t n = report_rows(m->summary, section), at = 0, before = 0;
    double cpu = 0, other;
    while (at < n) {
        const char *found = report_row(m->summary, section, "name", at).text;
        if (found && strcmp(found, name) == 0)
            break;
        at++;
    }
    if (at == n)
        return n;
    fact_number(m->summary, section, "cpu_ns", at, &cpu);
    for (size_t i = 0; i < n; i++)
        before += fact_number(m->summary, section, "cpu_ns", i, &other) && (other > cpu || (other == cpu && i < at));
    return before;
}

/* Returns the colour of a name, by its rank by CPU time. So a name has the same colour in all figures, as long as
 * there are enough colours. */
static unsigned heaviest_color(const struct making *m, const struct heaviest *h, const char *name, unsigned *taken)
{
    size_t place = rank_of(m, h->section, name);
    unsigned color = place < CHART_COLORS ? (unsigned)place : CHART_COLORS;
    if (color >= CHART_COLORS || (*taken & 1u << color)) {
        color = CHART_COLORS - 1;
        while (color > 0 && (*taken & 1u << color))
            color--;
    }
    *taken |= 1u << color;
    return color;
}

#define NAME_MAX_BYTES 80
#define NAMED_MOST 4u /* names of commands that have no curve */

static bool has_tasks(const struct making *m)
{
    return report_rows(m->summary, "tasks") > 0;
}

/* Does a row have a curve for each task, instead of one for each command? In the plots of other monitors' reports
 * curves are by task if there are tasks. */
static bool is_by_task(const struct making *m, const struct figure_row *row)
{
    return row->by_task || (row->info.set == FIGURE_SEED && has_tasks(m));
}

/* Returns the task curve that corresponds to a curve of processes of one name: tasks have the same metrics. */
static struct curve_row of_task(const struct curve_row *c)
{
    struct curve_row of = *c;
    of.kind = BARO_KIND_TASK;
    if (c->how == ROW_COUNT) {
        of.how = ROW_VALUE;
        of.metric = "processes";
    }
    return of;
}

static bool is_among(const struct heaviest *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++) {
        if (strcmp(h->name[i], name) == 0)
            return true;
    }
    return false;
}

/* A figure without a curve for all others says in its title which ones are missing: "(not drawn: evepy, fmpy and 3
 * others)". */
static void name_rest(struct making *m, size_t chart, const struct heaviest *h)
{
    struct chart *c = &m->figures->charts[chart];
    struct buf text = {0};
    size_t left = 0;
    buf_printf(&text, "%s (not drawn: ", c->title);
    for (size_t i = 0; i < report_rows(m->summary, h->section); i++) {
        const char *name = report_row(m->summary, h->section, "name", i).text;
        if (!name || is_among(h, name))
            continue;
        if (left++ < NAMED_MOST)
            buf_printf(&text, "%s%.40s", left > 1 ? ", " : "", name);
    }
    if (left > NAMED_MOST)
        buf_printf(&text, " and %zu other%s", left - NAMED_MOST, left - NAMED_MOST > 1 ? "s" : "");
    buf_str(&text, ")");
    buf_byte(&text, 0);
    char *title = left && !text.failed ? strdup((const char *)text.at) : NULL;
    if (title) {
        free(c->title);
        c->title = title;
    }
    m->failed = m->failed ? m->failed : left && !title ? -ENOMEM : 0;
    buf_done(&text);
}

static void add_names(struct making *m, size_t chart, const struct figure_row *row, size_t curves)
{
    bool tasks = is_by_task(m, row);
    struct heaviest h = heaviest_of(m, row->order, tasks);
    unsigned taken = 0, colors[CHART_COLORS];
    for (size_t k = 0; k < h.n; k++) {
        /* The heaviest names choose their colours first. */
        colors[k] = heaviest_color(m, &h, h.name[k], &taken);
    }
    for (size_t k = 0; k < h.n; k++) {
        for (size_t i = 0; i < curves; i++) {
            char title[NAME_MAX_BYTES];
            if (!row->curve[i].by_command)
                continue;
            const struct curve_row curve = tasks ? of_task(&row->curve[i]) : row->curve[i];
            int n = snprintf(title, sizeof(title), "%s%s", h.name[k], curve.name);
            if (n > 0)
                making_curve(m, chart, &curve, title, 0, h.name[k], colors[k]);
        }
    }
    if (row->curve[0].by_command && !row->others)
        name_rest(m, chart, &h);
}

/* Replaces "command" in a text of the table by "task", if curves are by task. */
static const char *said_of(const char *text, bool tasks, char *room, size_t size)
{
    static const char word[] = "command", task[] = "task";
    const char *at = tasks ? strstr(text, word) : NULL;
    if (!at)
        return text;
    snprintf(room, size, "%.*s%s%s", (int)(at - text), text, task, at + sizeof(word) - 1);
    return room;
}

static int add_figure(struct making *m, const struct figure_row *row)
{
    bool tasks = is_by_task(m, row);
    char title[256], help[256];
    int chart = making_chart(m, row->info.id, said_of(row->info.title, tasks, title, sizeof(title)),
                             said_of(row->info.help, tasks, help, sizeof(help)), row->info.unit);
    size_t curves = 0, colors = 0;
    if (chart < 0)
        return m->failed;
    while (curves < ROW_CURVES && row->curve[curves].name)
        curves++;
    add_names(m, (size_t)chart, row, curves);
    for (size_t i = 0; i < curves; i++) {
        const struct curve_row *c = &row->curve[i];
        if (c->shape == CHART_TOTAL && row->others) {
            struct chart_curve *others =
                chart_add_curve(&m->figures->charts[chart], row->others, CHART_STACK, CHART_COLOR_OTHERS);
            if (!others)
                return m->failed = -12;
        }
        if (!c->by_command)
            making_curve(m, (size_t)chart, c, c->name, 0, NULL,
                         c->shape == CHART_TOTAL ? CHART_COLOR_OTHERS : (unsigned)(colors++ % CHART_COLORS));
    }
    return m->failed;
}

struct wanted {
    const struct figure_row *row[64];
    size_t n;
};

static int add_wanted(struct making *m, void *context)
{
    const struct wanted *w = context;
    int r = 0;
    for (size_t i = 0; i < w->n && r >= 0; i++)
        r = add_figure(m, w->row[i]);
    return r;
}

static int choose_rows(const struct figure_options *o, struct wanted *ret, struct baro_error *err)
{
    unsigned sets = o->sets ? o->sets : FIGURE_PAGE;
    ret->n = 0;
    for (size_t i = 0; o->ids && o->ids[i]; i++) {
        int k = figure_find(o->ids[i]);
        if (k < 0)
            return error_set(err, BARO_E_RANGE, "there is no figure %s", o->ids[i]);
        if (ret->n < 64)
            ret->row[ret->n++] = &figure_rows[k];
    }
    for (size_t i = 0; !o->ids && i < figure_rows_count; i++) {
        if (sets & figure_rows[i].info.set)
            ret->row[ret->n++] = &figure_rows[i];
    }
    return 0;
}

/* Was TCP recorded? It is not one of the default metrics. */
static bool recorded_tcp(const struct making *m)
{
    struct baro_value v = {.absent = BARO_ABSENT_NOT_ASKED};
    if (m->summary)
        baro_summary_value(m->summary, baro_summary_fact_find("job", "tcp_sent_bytes"), 0, &v);
    return v.absent != BARO_ABSENT_NOT_ASKED && v.absent != BARO_ABSENT_UNKNOWN;
}

/* Leaves out figures of tasks if there are no tasks, and those of TCP if it was not recorded, unless the user asked
 * for them. */
static void leave_out_absent(const struct making *m, struct wanted *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        bool is_there = w->row[i]->by_task ? has_tasks(m) : strcmp(w->row[i]->info.id, "tcp") != 0 || recorded_tcp(m);
        if (is_there || m->options->ids)
            w->row[n++] = w->row[i];
    }
    w->n = n;
}

static void decorate(struct chart_set *f, const struct wanted *w, const struct making *m)
{
    for (size_t i = 0; i < f->n; i++) {
        if (w->row[i]->decorate && !f->charts[i].absent)
            w->row[i]->decorate(&f->charts[i], m->summary, &m->limits);
    }
}

int figures_of_tape(struct baro_tape *tape, const struct figure_options *options, struct chart_set **ret,
                    struct baro_error *err)
{
    struct wanted wanted;
    int r = choose_rows(options, &wanted, err);
    if (r < 0)
        return r;
    struct making m = {.tape = tape, .options = options, .err = err};
    r = making_begin(&m);
    if (r >= 0) {
        leave_out_absent(&m, &wanted);
        r = making_read_limits(&m);
    }
    if (r >= 0)
        r = making_run(&m, add_wanted, &wanted, ret);
    if (r >= 0)
        decorate(*ret, &wanted, &m);
    making_done(&m);
    return r;
}

size_t figures_count(const struct chart_set *f)
{
    return f->n;
}

const struct chart *figures_chart(const struct chart_set *f, size_t i)
{
    return i < f->n ? &f->charts[i] : NULL;
}

const struct chart *figures_find(const struct chart_set *f, const char *id)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->charts[i].id, id) == 0)
            return &f->charts[i];
    }
    return NULL;
}

void figures_free(struct chart_set *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++)
        chart_done(&f->charts[i]);
    for (size_t i = 0; i < f->spans.n; i++)
        free(f->spans.at[i].text);
    free(f->spans.at);
    free(f->charts);
    free(f);
}
