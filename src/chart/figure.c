/* SPDX-License-Identifier: Apache-2.0 */
/* Figures from the table of rows: which curves, for which commands. */
#include "chart/figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "chart/rows.h"

#define COMMANDS_DEFAULT 8u
#define NAME_MAX_BYTES 80

/* The heaviest commands: by CPU time, or by memory (those that held the peak first). */
struct heaviest {
    const char *name[CHART_COLORS];
    size_t n;
};

static void add_name(struct heaviest *h, const char *name, size_t most)
{
    for (size_t i = 0; i < h->n; i++) {
        if (!name || strcmp(h->name[i], name) == 0)
            return;
    }
    if (name && h->n < most)
        h->name[h->n++] = name;
}

static void by_peak_memory(const struct baro_summary *s, struct heaviest *h, size_t most)
{
    for (size_t i = 0; i < fact_rows(s, "rss_peak_held_by"); i++)
        add_name(h, fact_text(s, "rss_peak_held_by", "name", i), most);
    size_t n = fact_rows(s, "commands");
    double last = 1e300;
    while (h->n < most) {
        /* The next lower mark; several with the same are added in their order. */
        double best = -1;
        for (size_t i = 0; i < n; i++) {
            double v;
            if (fact_number(s, "commands", "rss_peak_bytes", i, &v) && v < last && v > best)
                best = v;
        }
        if (best < 0)
            return;
        for (size_t i = 0; i < n; i++) {
            double v;
            if (fact_number(s, "commands", "rss_peak_bytes", i, &v) && v == best)
                add_name(h, fact_text(s, "commands", "name", i), most);
        }
        last = best;
    }
}

static struct heaviest heaviest_of(const struct making *m, enum row_order order)
{
    struct heaviest h = {.n = 0};
    size_t most = m->options->commands ? m->options->commands : COMMANDS_DEFAULT;
    most = most < CHART_COLORS ? most : CHART_COLORS - 1;
    if (order == ORDER_MEMORY)
        by_peak_memory(m->summary, &h, most);
    for (size_t i = 0; i < fact_rows(m->summary, "commands") && h.n < most; i++)
        add_name(&h, fact_text(m->summary, "commands", "name", i), most);
    return h;
}

/* A command has the same colour in all figures, as far as there are colours: its place by CPU time. */
static unsigned color_of(const struct making *m, const char *name, unsigned *taken)
{
    unsigned color = 0;
    for (size_t i = 0; i < fact_rows(m->summary, "commands") && i < CHART_COLORS; i++) {
        const char *other = fact_text(m->summary, "commands", "name", i);
        if (other && strcmp(other, name) == 0) {
            color = (unsigned)i;
            break;
        }
        color = CHART_COLORS;
    }
    if (color >= CHART_COLORS || (*taken & 1u << color)) {
        color = CHART_COLORS - 1;
        while (color > 0 && (*taken & 1u << color))
            color--;
    }
    *taken |= 1u << color;
    return color;
}

static void add_commands(struct making *m, size_t chart, const struct figure_row *row, size_t curves)
{
    struct heaviest h = heaviest_of(m, row->order);
    unsigned taken = 0, colors[CHART_COLORS];
    for (size_t k = 0; k < h.n; k++) {
        /* Those that have a place of their own come first. */
        colors[k] = color_of(m, h.name[k], &taken);
    }
    for (size_t k = 0; k < h.n; k++) {
        for (size_t i = 0; i < curves; i++) {
            char title[NAME_MAX_BYTES];
            if (!row->curve[i].by_command)
                continue;
            int n = snprintf(title, sizeof(title), "%s%s", h.name[k], row->curve[i].name);
            if (n > 0)
                making_curve(m, chart, &row->curve[i], title, h.name[k], colors[k]);
        }
    }
}

static int add_figure(struct making *m, const struct figure_row *row)
{
    int chart = making_chart(m, row->info.id, row->info.title, row->info.help, row->info.unit);
    size_t curves = 0, colors = 0;
    if (chart < 0)
        return m->failed;
    while (curves < ROW_CURVES && row->curve[curves].name)
        curves++;
    add_commands(m, (size_t)chart, row, curves);
    for (size_t i = 0; i < curves; i++) {
        const struct curve_row *c = &row->curve[i];
        if (c->shape == CHART_TOTAL && row->others) {
            struct chart_curve *others = chart_add_curve(&m->figures->charts[chart], row->others, CHART_STACK,
                                                         CHART_COLOR_OTHERS);
            if (!others)
                return m->failed = -12;
        }
        if (!c->by_command)
            making_curve(m, (size_t)chart, c, c->name, NULL,
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

static int choose(const struct figure_options *o, struct wanted *ret, struct baro_error *err)
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

static void decorate(struct figures *f, const struct wanted *w, const struct making *m)
{
    for (size_t i = 0; i < f->n; i++) {
        if (w->row[i]->decorate && !f->charts[i].absent)
            w->row[i]->decorate(&f->charts[i], m->summary, &m->limits);
    }
}

int figures_of_tape(struct baro_tape *tape, const struct figure_options *options, struct figures **ret,
                    struct baro_error *err)
{
    struct wanted wanted;
    int r = choose(options, &wanted, err);
    if (r < 0)
        return r;
    struct making m = {.tape = tape, .options = options, .err = err};
    r = making_begin(&m);
    if (r >= 0)
        r = making_read_limits(&m);
    if (r >= 0)
        r = making_run(&m, add_wanted, &wanted, ret);
    if (r >= 0)
        decorate(*ret, &wanted, &m);
    making_done(&m);
    return r;
}

size_t figures_count(const struct figures *f)
{
    return f->n;
}

const struct chart *figures_chart(const struct figures *f, size_t i)
{
    return i < f->n ? &f->charts[i] : NULL;
}

const struct chart *figures_find(const struct figures *f, const char *id)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->charts[i].id, id) == 0)
            return &f->charts[i];
    }
    return NULL;
}

void figures_free(struct figures *f)
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
