/* SPDX-License-Identifier: Apache-2.0 */
/* The lines under a plot in a terminal: the time axis; phases as "├ train ──┤", "◆" for a mark, "▲" for a problem. */
#include <string.h>

#include "output/chart/plot_cells.h"
#include "output/rows/escaped.h"

#define LANES_MOST 5u

void grid_time_axis(const struct plot_grid *g, struct buf *ret)
{
    struct chart_ticks times;
    char *line = calloc(g->columns + 32, 1);
    struct buf axis = {0};
    if (!line)
        return;
    memset(line, ' ', g->columns + 31);
    chart_time_ticks(g->c, g->columns / 12 < 2 ? 2 : g->columns / 12, &times);
    size_t next = 0, free_at = 0;
    for (size_t col = 0; col < g->columns; col++) {
        bool tick = false;
        while (next < times.n) {
            double share = (times.at[next].at - (double)g->c->from_ns) / (double)(g->c->to_ns - g->c->from_ns);
            if ((size_t)(share * (double)(g->columns - 1) + 0.5) > col)
                break;
            size_t len = strlen(times.at[next].text), at = col >= len / 2 ? col - len / 2 : 0;
            at = at + len > g->columns ? g->columns > len ? g->columns - len : 0 : at;
            if (at >= free_at && len < 24) {
                memcpy(line + at, times.at[next].text, len);
                free_at = at + len + 1;
            }
            tick = true;
            next++;
        }
        buf_str(&axis, g->t->utf8 ? (tick ? "\342\224\254" : "\342\224\200") : tick ? "+" : "-");
    }
    buf_byte(&axis, 0);
    buf_spaces(ret, g->labels + 1);
    grid_colored(ret, g, GRID_MUTED, g->t->utf8 ? "\342\224\224" : "+");
    if (!axis.failed)
        grid_colored(ret, g, GRID_MUTED, (const char *)axis.at);
    buf_byte(ret, '\n');
    buf_spaces(ret, g->labels + 2);
    size_t end = g->columns + 31;
    while (end && line[end - 1] == ' ')
        line[--end] = 0;
    grid_colored(ret, g, GRID_MUTED, line);
    buf_byte(ret, '\n');
    buf_done(&axis);
    free(line);
}

/* ---- phases, marks and problems ---- */

static size_t column_of(const struct plot_grid *g, uint64_t t_ns)
{
    const struct chart *c = g->c;
    if (t_ns <= c->from_ns)
        return 0;
    if (t_ns >= c->to_ns)
        return g->columns;
    return (size_t)((unsigned __int128)(t_ns - c->from_ns) * g->columns / (c->to_ns - c->from_ns));
}

static void repeat(struct buf *ret, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_str(ret, text);
}

/* Writes a name in at most this many columns, escaped; a truncated one ends in an ellipsis. Returns its columns. */
static size_t name(const struct plot_grid *g, const char *text, size_t room, struct buf *ret)
{
    struct buf b = {0};
    size_t used = 0;
    text_escaped(&b, text, strlen(text));
    size_t n = utf8_columns((const char *)b.at, b.len);
    bool is_cut = n > room;
    size_t take = is_cut ? room - 1 : n;
    for (size_t i = 0; i < b.len && !b.failed; i++) {
        used += (b.at[i] & 0xc0) != 0x80;
        if (used > take)
            break;
        /* Writes one sign for each character that the locale cannot show. */
        if (g->t->utf8 || b.at[i] < 0x80)
            buf_byte(ret, b.at[i]);
        else if ((b.at[i] & 0xc0) != 0x80)
            buf_byte(ret, '?');
    }
    buf_str(ret, !is_cut ? "" : g->t->utf8 ? "\342\200\246" : "~");
    buf_done(&b);
    return is_cut ? room : n;
}

static void phase(const struct plot_grid *g, const struct chart_span *s, size_t width, struct buf *ret)
{
    bool utf8 = g->t->utf8;
    struct buf text = {0};
    if (width == 1) {
        buf_str(&text, utf8 ? "\342\224\202" : "|");
    } else {
        size_t n = 2;
        buf_str(&text, utf8 ? "\342\224\234" : "|");
        if (width >= 6) {
            buf_byte(&text, ' ');
            n += 2 + name(g, s->text, width - 4, &text);
            buf_byte(&text, ' ');
        }
        repeat(&text, utf8 ? "\342\224\200" : "-", width - n);
        buf_str(&text, utf8 ? "\342\224\244" : "|");
    }
    buf_byte(&text, 0);
    if (text.failed)
        ret->failed = true;
    else
        grid_colored(ret, g, grid_color(s->color), (const char *)text.at);
    buf_done(&text);
}

static void lane(const struct plot_grid *g, unsigned depth, struct buf *ret)
{
    const struct chart_spans *s = g->c->spans;
    size_t column = 0;
    repeat(ret, " ", g->labels + 2);
    for (size_t i = 0; i < s->n; i++) {
        const struct chart_span *span = &s->at[i];
        if (span->kind != CHART_PHASE || span->lane != depth || span->end_ns < g->c->from_ns ||
            span->begin_ns >= g->c->to_ns)
            continue;
        size_t from = column_of(g, span->begin_ns), to = column_of(g, span->end_ns);
        to = to > from ? to : from + 1;
        from = from > column ? from : column;
        if (to <= from || to > g->columns)
            continue; /* more phases than there is room for */
        repeat(ret, " ", from - column);
        phase(g, span, to - from, ret);
        column = to;
    }
    buf_byte(ret, '\n');
}

/* Marks and problems; if one column has both, the problem. */
static void points(const struct plot_grid *g, struct buf *ret)
{
    const struct chart_spans *s = g->c->spans;
    char *at = calloc(g->columns, 1);
    size_t end = 0;
    for (size_t i = 0; at && i < s->n; i++) {
        const struct chart_span *span = &s->at[i];
        size_t col = column_of(g, span->begin_ns);
        if ((span->kind != CHART_MARK && span->kind != CHART_EVENT) || span->begin_ns < g->c->from_ns ||
            span->begin_ns > g->c->to_ns)
            continue;
        col = col < g->columns ? col : g->columns - 1;
        at[col] = span->bad || at[col] == '!' ? '!' : '*';
        end = col + 1 > end ? col + 1 : end;
    }
    if (end)
        repeat(ret, " ", g->labels + 2);
    for (size_t col = 0; col < end; col++) {
        char plain[2] = {at[col], 0};
        if (!at[col])
            buf_byte(ret, ' ');
        else
            grid_colored(ret, g, at[col] == '!' ? GRID_LIMIT : grid_color(0),
                         !g->t->utf8      ? plain
                         : at[col] == '!' ? "\342\226\262"
                                          : "\342\227\206");
    }
    if (end)
        buf_byte(ret, '\n');
    ret->failed = ret->failed || !at;
    free(at);
}

void grid_lanes(const struct plot_grid *g, struct buf *ret)
{
    const struct chart_spans *s = g->c->spans;
    for (unsigned depth = 0; s && depth < s->lanes && depth < LANES_MOST; depth++)
        lane(g, depth, ret);
    if (s && s->lanes > LANES_MOST) {
        repeat(ret, " ", g->labels + 2);
        buf_printf(ret, "(%u more lanes)\n", s->lanes - LANES_MOST);
    }
    if (s && s->n)
        points(g, ret);
}
