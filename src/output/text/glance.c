/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short block: what a person wants to know first, in at most 15 lines. One line with the command and how it ended,
 * up to three verdicts, a line for each resource that was used, up to three phases, the two heaviest commands, and
 * where to find the rest. If that is too much, rows go in this order: "N more", network and directories, the second
 * command, verdicts after the first, phases.
 */
#include "output/text/glance.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/phase_names.h"
#include "output/text/read_fact.h"
#include "output/text/used.h"

/* ---- phases ---- */

/* Up to three phases: those that failed, then the longest, as bars over the axis of the curves. Phases of one path
 * are one row. */

#define PHASES_MOST 3u

static size_t chosen(const struct baro_timeline *t, struct phase_names *names)
{
    phase_names_collect(names, t);
    phase_names_keep(names, PHASES_MOST);
    return names->n;
}

/* Returns how wide their labels are; then writes the rows */
static unsigned glance_phases_label(const struct baro_timeline *t)
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
    buf_str(&b, baro_value_prefix(d->is_least ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
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

static void glance_phases(struct glance *g)
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

static bool glance_has_failed_phase(const struct baro_timeline *t)
{
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        if (phase_status(t, i))
            return true;
    }
    return false;
}

/* ---- resources ---- */

/* A row for each resource that was used: its curve, how much, and who held it. */

static void put_row(void *context, const struct used *u)
{
    struct glance *g = context;
    if (u->is_small)
        return;
    struct lines l = glance_row(g, u->is_minor ? DROP_RESOURCE : DROP_NEVER, "", TONE_FAINT, u->label, g->label);
    if (g->axis.columns) {
        lines_tone(&l, u->tone);
        if (!u->curve || !report_curve(&l, g->s, u->curve, &g->axis, u->full))
            buf_spaces(l.out, g->axis.columns);
        lines_tone(&l, TONE_PLAIN);
        buf_spaces(l.out, 2);
        l.column += g->axis.columns + 2;
    }
    glance_end(g, &l, u->text);
}

/* CPU, memory, I/O, GPU, network, directories, where they were used */
static void glance_resources(struct glance *g)
{
    used_rows(g->s, g->style, put_row, g);
}

#define LINES_MOST 15u
#define LABEL_LEAST 7u
#define LABEL_MOST 20u
#define CURVE_LEAST 12u
#define CURVE_MOST 48u
#define FIGURES_COLUMNS 44u /* room for "3.02 s · exit 1 · 1.16 s cpu · ≥338 MB" */
#define VERDICTS_MOST 3u
#define EFFICIENCY_LABEL 10u
#define SMALL_CPU_NS (100 * NS_PER_MS)

/* ---- rows ---- */

struct lines glance_row(struct glance *g, enum glance_drop drop, const char *mark, enum lines_tone tone,
                        const char *label, unsigned columns)
{
    struct glance_row *row = &g->row[g->n < GLANCE_ROWS_MOST ? g->n++ : g->n - 1];
    struct lines l = {.out = &row->text, .style = g->style, .column = 1 + columns + 2};
    unsigned used = (unsigned)utf8_columns(mark, strlen(mark));
    buf_clear(&row->text);
    row->drop = drop;
    buf_byte(l.out, ' ');
    lines_tone(&l, tone);
    size_t from = l.out->len;
    buf_str(l.out, mark);
    if (!g->style.utf8)
        text_ascii(l.out, from);
    lines_command(&l, l.out, label, g->style.whole_names ? UINT_MAX : columns - used);
    used = l.out->failed ? columns : (unsigned)utf8_columns((const char *)l.out->at + from, l.out->len - from);
    lines_tone(&l, TONE_PLAIN);
    buf_spaces(l.out, (used < columns ? columns - used : 0) + 2);
    return l;
}

void glance_end(struct glance *g, struct lines *l, struct buf *text)
{
    unsigned width = g->style.whole_names ? UINT_MAX : g->style.width;
    if (!g->style.utf8)
        text_ascii(text, 0);
    lines_cut(l, l->out, text->len ? (const char *)text->at : "", text->len, width > l->column ? width - l->column : 1);
    buf_byte(l->out, '\n');
    l->out->failed = l->out->failed || text->failed;
    buf_done(text);
}

/* ---- verdicts ---- */

static size_t worth_showing(const struct baro_verdicts *all)
{
    size_t n = 0;
    for (size_t i = 0; all && i < baro_verdicts_count(all); i++)
        n += baro_verdicts_get(all, i)->weight <= BARO_VERDICT_ADVICE;
    return n;
}

static void put_verdict(struct glance *g, const struct baro_verdict *v, bool is_first, unsigned label)
{
    struct buf b = {0}, text = {0};
    struct lines l = glance_row(g, is_first ? DROP_NEVER : DROP_VERDICT, report_is_end(v) ? "✗ " : "! ",
                                report_is_end(v) ? TONE_BAD : TONE_WARN, v->rule, label);
    if (v->phase)
        buf_printf(&b, "in %s: ", v->phase);
    buf_str(&b, v->brief);
    size_t n = utf8_columns(b.len ? (const char *)b.at : "", b.len);
    bool fits = l.column + n + 3 + utf8_columns(v->hint, strlen(v->hint)) <= g->style.width;
    if (*v->hint && fits)
        buf_printf(&b, " → %s", v->hint);
    text_escaped(&text, b.len ? (const char *)b.at : "", b.len);
    glance_end(g, &l, &text);
    if (is_first && *v->hint && !fits) {
        buf_printf(&text, "→ %s", v->hint);
        l = glance_row(g, DROP_REST, "", TONE_FAINT, "", label);
        glance_end(g, &l, &text);
    }
    buf_done(&b);
}

/* Returns how many are not shown. */
static size_t put_verdicts(struct glance *g, const struct baro_verdicts *all)
{
    size_t n = worth_showing(all), shown = n < VERDICTS_MOST ? n : VERDICTS_MOST;
    unsigned widest = 0;
    for (size_t i = 0; i < shown; i++) {
        unsigned width = 2 + (unsigned)strlen(baro_verdicts_get(all, i)->rule);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < shown; i++)
        put_verdict(g, baro_verdicts_get(all, i), i == 0, widest);
    return n - shown;
}

static void take_note(void *context, const char *label, const char *part, size_t len)
{
    struct buf *first = context;
    (void)label;
    if (!first->len)
        buf_add(first, part, len);
}

/* Writes the first of what makes the figures incomplete. */
static void put_incomplete(struct glance *g)
{
    struct buf none = {0}, note = {0};
    struct lines quiet = {.out = &none, .style = g->style, .visit = take_note, .context = &note};
    report_gaps(&quiet, g->s);
    if (note.len) {
        struct lines l = glance_row(g, DROP_NEVER, "! ", TONE_WARN, "incomplete", sizeof("! incomplete") - 1);
        glance_end(g, &l, &note);
    }
    buf_done(&note);
    buf_done(&none);
}

/* Processes that outlived the command may go on using the machine. */
static void put_survivors(struct glance *g)
{
    struct buf b = {0};
    uint64_t n = report_u64(g->s, "job", "survivors");
    struct baro_value name = report_fact(g->s, "job", "survivor_name");
    if (!n)
        return;
    struct lines l = glance_row(g, DROP_VERDICT, "! ", TONE_WARN, "survivors", sizeof("! survivors") - 1);
    buf_printf(&b, "%s outlive%s the command: ", COUNT(n), n == 1 ? "s" : "");
    lines_name(&l, &b, name.absent ? "(not known)" : name.text, 24);
    buf_str(&b, n == 1 ? "" : ", ...");
    glance_end(g, &l, &b);
}

/* ---- what to ask for ---- */

/* Does a batch system or Kubernetes set the limits? */
static bool is_batch(const struct baro_summary *s)
{
    static const char *const facts[] = {"cores_at_most_source", "memory_at_most_source"};
    for (size_t i = 0; i < 2; i++) {
        const char *source = report_text(s, "limits", facts[i]);
        if (strncmp(source, "SLURM_", 6) == 0 || strstr(source, "slurm") || strstr(source, "kubepods"))
            return true;
    }
    return false;
}

/* The memory that a verdict says to ask for; 0: none. */
static double ask_bytes(const struct baro_verdict *v)
{
    for (size_t i = 0; i < v->evidence_count; i++) {
        if (strcmp(v->evidence[i].name, "ask_memory_bytes") == 0)
            return v->evidence[i].value;
    }
    return 0;
}

/* Writes the shares of what it was given, and the lines to ask for next time. Returns false if it has no limits of a
 * batch system. */
static bool put_efficiency(struct glance *g, const struct baro_verdicts *verdicts)
{
    struct buf b = {0};
    double mean, ratio, most = report_fact(g->s, "limits", "cores_at_most").real;
    if (!is_batch(g->s))
        return false;
    if (report_has_real(g->s, "job", "cores_mean", &mean) && most > 0)
        buf_printf(&b, "cpu %s", PERCENT(mean / most));
    if (report_has_real(g->s, "limits", "memory_peak_ratio", &ratio) &&
        !report_fact(g->s, "limits", "memory_peak_ratio").flags)
        buf_printf(&b, "%smemory %s", b.len ? " · " : "", PERCENT(ratio));
    struct lines l = glance_row(g, DROP_NEVER, "", TONE_FAINT, "efficiency", EFFICIENCY_LABEL);
    glance_end(g, &l, &b);
    for (size_t i = 0; verdicts && i < baro_verdicts_count(verdicts); i++) {
        const struct baro_verdict *v = baro_verdicts_get(verdicts, i);
        double bytes = ask_bytes(v);
        if (strcmp(v->rule, "right-size") == 0)
            buf_printf(&b, "#SBATCH %s", v->hint);
        else if (strcmp(v->rule, "oom") == 0 && bytes > 0)
            buf_printf(&b, "#SBATCH --mem=%.0fM", bytes / 1048576);
        if (!b.len)
            continue;
        l = glance_row(g, DROP_NEVER, "", TONE_FAINT, "next time", EFFICIENCY_LABEL);
        glance_end(g, &l, &b);
    }
    return true;
}

/* ---- the block ---- */

/* Writes the name of the tape, and what to type next, as far as there is room. */
static void put_foot(struct glance *g, const char *tape, size_t more)
{
    static const char *const next[] = {" · all: baro summary -v", " · page: baro report", " · live: baro top"};
    struct buf text = {0}, name = {0};
    bool is_last = tape && strcmp(tape, "@1") == 0;
    if (!tape)
        return;
    text_escaped(&name, tape, strlen(tape));
    buf_byte(&name, 0);
    struct lines l = {.style = g->style};
    lines_path(&l, &text, tape, g->style.whole_names ? UINT_MAX : g->style.width - 1);
    if (more)
        buf_printf(&text, " · %zu more verdict%s", more, more == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(next) / sizeof(*next); i++) {
        size_t from = text.len;
        buf_printf(&text, "%s%s%s", next[i], is_last ? "" : " ", is_last || name.failed ? "" : (const char *)name.at);
        if (text.failed || utf8_columns((const char *)text.at, text.len) >= g->style.width)
            text.len = from;
    }
    l = glance_row(g, DROP_NEVER, "", TONE_PLAIN, "", 0);
    l.out->len = 0;
    l.column = 1;
    buf_byte(l.out, ' ');
    lines_tone(&l, TONE_FAINT);
    glance_end(g, &l, &text);
    l.out->len--; /* before the end of the line */
    lines_tone(&l, TONE_PLAIN);
    buf_byte(l.out, '\n');
    buf_done(&name);
}

/* Drops rows until the block fits, those with the largest enum glance_drop first, from the last one. */
static void fit_rows(struct glance *g, unsigned most)
{
    while (g->n > most) {
        unsigned found = g->n;
        for (unsigned i = 0; i < g->n; i++)
            found = g->row[i].drop && (found == g->n || g->row[i].drop >= g->row[found].drop) ? i : found;
        if (found == g->n)
            return;
        buf_done(&g->row[found].text);
        memmove(&g->row[found], &g->row[found + 1], (g->n - found - 1) * sizeof(*g->row));
        g->n--;
        memset(&g->row[g->n], 0, sizeof(*g->row));
    }
}

/* Writes one line for a command that did next to nothing: "sleep 1   exit 0 · 1.00 s · cpu 1 ms · 1.9 MB · @1". Returns
 * false if there is more to say, or if the line would be too long. */
static bool put_one_line(const struct glance *g, const struct baro_verdicts *verdicts, const char *tape,
                         struct buf *ret)
{
    struct buf title = {0}, text = {0};
    struct lines l = {.out = &text, .style = g->style};
    struct baro_value cpu = report_fact(g->s, "job", "cpu_ns"), rss = report_fact(g->s, "job", "rss_peak_bytes"),
                      status = report_fact(g->s, "exit", "wait_status");
    uint64_t wall = report_u64(g->s, "", "wall_ns");
    bool is_small = !status.absent && !status.u64 && !cpu.absent && cpu.u64 < SMALL_CPU_NS &&
                    (cpu.u64 < wall / 100 || wall < NS_PER_SEC) && report_rows(g->s, "commands") < 2 &&
                    report_u64(g->s, "job", "io_rchar_bytes") + report_u64(g->s, "job", "io_wchar_bytes") < 1000000;
    if (!is_small || worth_showing(verdicts) || report_u64(g->s, "job", "survivors") ||
        report_rows(g->s, "directories") || report_rows(g->s, "gpus") ||
        (g->style.timeline && baro_timeline_lanes(g->style.timeline)))
        return false;
    report_title(g->s, &title);
    buf_byte(&title, 0);
    lines_name(&l, &text, title.failed ? "" : (const char *)title.at, 4096);
    buf_str(&text, "   ");
    lines_tone(&l, TONE_GOOD);
    report_result(g->s, false, &text);
    lines_tone(&l, TONE_PLAIN);
    buf_printf(&text, " · %s · cpu %s", DURATION(wall), MARKED(cpu, fmt_duration));
    if (!rss.absent && rss.u64)
        buf_printf(&text, " · %s", MARKED(rss, fmt_bytes));
    buf_str(&text, tape ? " · " : "");
    lines_path(&l, &text, tape ? tape : "", 4096);
    unsigned tones = g->style.color ? 9 : 0; /* columns of "\033[32m" and "\033[0m" */
    if (!g->style.utf8)
        text_ascii(&text, 0);
    bool fits = !text.failed && utf8_columns((const char *)text.at, text.len) <= g->style.width + tones;
    if (fits) {
        buf_add(ret, text.at, text.len);
        buf_byte(ret, '\n');
    }
    buf_done(&title);
    buf_done(&text);
    return fits;
}

/* Divides the line: labels, curves, figures. */
static void divide(struct glance *g)
{
    unsigned width = g->style.width, label = g->style.timeline ? glance_phases_label(g->style.timeline) : 0;
    label = label < LABEL_LEAST ? LABEL_LEAST : label > LABEL_MOST ? LABEL_MOST : label;
    g->label = label > width / 4 ? width / 4 : label;
    unsigned rest = width - g->label - 3, room = rest > FIGURES_COLUMNS + 2 ? rest - FIGURES_COLUMNS - 2 : 0;
    if (g->style.curves && room >= CURVE_LEAST)
        report_axis(g->s, room > CURVE_MOST ? CURVE_MOST : room, &g->axis);
}

void report_glance(const struct baro_summary *s, const struct baro_verdicts *verdicts, const char *tape,
                   struct report_style style, struct buf *ret)
{
    struct glance *g = calloc(1, sizeof(*g));
    if (!g) {
        ret->failed = true;
        return;
    }
    g->s = s;
    g->style = lines_fit(style);
    if (!put_one_line(g, verdicts, tape, ret)) {
        struct lines l = {.out = ret, .style = g->style};
        size_t from = ret->len;
        report_head(&l, s);
        if (!g->style.utf8)
            text_ascii(ret, from);
        divide(g);
        size_t more = put_verdicts(g, verdicts);
        put_survivors(g);
        put_incomplete(g);
        glance_resources(g);
        bool is_host = report_is_host_only(s),
             is_batch = !is_host && !report_is_machine(s) && put_efficiency(g, verdicts);
        if (style.timeline && !is_host && (!is_batch || glance_has_failed_phase(style.timeline)))
            glance_phases(g);
        if (!is_host && !is_batch)
            glance_commands(g);
        put_foot(g, tape, more);
        fit_rows(g, LINES_MOST - 1);
    }
    for (unsigned i = 0; i < g->n; i++) {
        buf_add(ret, g->row[i].text.at, g->row[i].text.len);
        ret->failed = ret->failed || g->row[i].text.failed;
        buf_done(&g->row[i].text);
    }
    free(g);
}
