/* SPDX-License-Identifier: Apache-2.0 */
/* Up to three phases: those that failed, then the longest, as bars over the axis of the curves. Phases of one path
 * are one row. */
#include <string.h>

#include "base/escape.h"
#include "base/fmt.h"
#include "output/text/glance.h"
#include "output/text/phase_names.h"

#define PHASES_MOST 3u

static size_t chosen(const struct baro_timeline *t, struct phase_names *names)
{
    phase_names_collect(names, t);
    phase_names_keep(names, PHASES_MOST);
    return names->n;
}

unsigned glance_phases_label(const struct baro_timeline *t)
{
    struct phase_names names = {.n = 0};
    unsigned widest = 0;
    for (size_t i = chosen(t, &names); i-- > 0;) {
        unsigned n = 2 + (unsigned)utf8_columns(names.at[i].path, strlen(names.at[i].path));
        widest = n > widest ? n : widest;
    }
    phase_names_done(&names);
    return widest;
}

static void draw_bars(struct lines *l, const struct glance *g, const struct named_phases *d)
{
    const struct baro_timeline *t = g->style.timeline;
    bool filled[CELLS_MOST] = {false};
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *v = baro_timeline_get(t, i);
        if (!phase_is_named(t, i, d))
            continue;
        unsigned from = axis_column(&g->axis, v->begin_ns), to = axis_column(&g->axis, v->end_ns);
        from = from < g->axis.columns ? from : g->axis.columns - 1; /* the least width is one column */
        for (unsigned k = from; k < g->axis.columns && k < CELLS_MOST && (k < to || k == from); k++)
            filled[k] = true;
    }
    for (unsigned k = 0; k < g->axis.columns; k++)
        buf_str(l->out, !filled[k] ? " " : l->style.utf8 ? "━" : "=");
}

static void put_phase(struct glance *g, const struct named_phases *d)
{
    struct buf b = {0};
    struct lines l =
        glance_row(g, DROP_PHASE, d->status ? "✗ " : "", d->status ? TONE_BAD : TONE_PLAIN, d->path, g->label);
    if (g->axis.columns) {
        lines_tone(&l, d->status ? TONE_BAD : TONE_FAINT);
        draw_bars(&l, g, d);
        lines_tone(&l, TONE_PLAIN);
        buf_spaces(l.out, 2);
        l.column += g->axis.columns + 2;
    }
    if (d->n > 1)
        buf_printf(&b, "×%zu ", d->n);
    buf_str(&b, baro_value_prefix(d->is_open ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
    fmt_duration(&b, d->took_ns);
    if (d->status) {
        buf_str(&b, " · ");
        report_status(d->status, &b);
    }
    if (d->has_cpu)
        buf_printf(&b, " · %s%s cpu", baro_value_prefix(d->cpu_flags, BARO_PREFIX_SYMBOL), DURATION(d->cpu_ns));
    if (d->has_rss)
        buf_printf(&b, " · %s%s", baro_value_prefix(d->rss_flags, BARO_PREFIX_SYMBOL), BYTES(d->rss_bytes));
    glance_end(g, &l, &b);
}

void glance_phases(struct glance *g)
{
    struct phase_names names = {.n = 0};
    size_t n = chosen(g->style.timeline, &names);
    for (size_t i = 0; i < n; i++)
        put_phase(g, &names.at[i]);
    if (names.left_out) {
        struct buf b = {0};
        struct lines l = glance_row(g, DROP_REST, "", TONE_FAINT, "", g->label);
        buf_printf(&b, "%zu more phase%s: baro summary --by phase", names.left_out, names.left_out == 1 ? "" : "s");
        glance_end(g, &l, &b);
    }
    phase_names_done(&names);
}

bool glance_has_failed_phase(const struct baro_timeline *t)
{
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        if (phase_status(t, i))
            return true;
    }
    return false;
}
