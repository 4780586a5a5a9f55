/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "base/command_line.h"
#include "output/text/lines.h"
#include "output/text/read_fact.h"

#define LINKS_MOST 12u
#define DRIVER_LEAST 200u /* a driver that took less of the time itself is not listed */
#define SAVING_LEAST 100u /* less of the wall time is not worth a sentence */
#define NAME_MOST 200u    /* bytes of a name in a table, which truncates it to the columns that there are */
#define SENTENCE_MOST 48u /* bytes of a name in a sentence */

/* The words that tell a step from others of its name. Of a driver the first word of its subject: "python3 pytest
 * itself", "make sub itself". Programs without arguments, such as build scripts of cargo, differ by their folders. */
static struct span label_of(const struct baro_step *step, size_t most, bool *ret_is_cut)
{
    struct command_line c;
    struct span word, label = span_str("");
    *ret_is_cut = false;
    if (!step->cmdline)
        return label;
    command_line_read(step->cmdline, strlen(step->cmdline), &c);
    struct span all = command_line_label(&c, SIZE_MAX);
    label = command_line_label(&c, most);
    *ret_is_cut = label.len < all.len;
    if (step->is_driver) {
        *ret_is_cut = false;
        return c.subject.at && scan_word(&label, &word) ? word : span_str("");
    }
    const char *slash = !all.len && step->occurrences > 1 ? strrchr(step->cmdline, '/') : NULL;
    if (slash && slash > step->cmdline && !strchr(step->cmdline, ' ')) {
        label = span_base_name(span_of(step->cmdline, (size_t)(slash - step->cmdline)));
        label.len = label.len < most ? label.len : most;
    }
    return label;
}

void report_step_name(const struct baro_step *step, size_t most, struct buf *ret)
{
    bool is_cut;
    if (!step->pid) {
        buf_str(ret, "no process");
        return;
    }
    size_t name = strnlen(step->name, most);
    buf_add(ret, step->name, name);
    struct span label = label_of(step, most > name + 1 ? most - name - 1 : 0, &is_cut);
    if (label.len)
        buf_byte(ret, ' ');
    buf_add(ret, label.at, label.len);
    if (is_cut)
        buf_str(ret, "…");
    if (step->is_driver)
        buf_str(ret, " itself");
    else if (!label.len && step->occurrences > 1)
        buf_printf(ret, " #%u", step->occurrence);
}

const char *report_link_after(const struct baro_step_link *link)
{
    switch (link->after) {
    case BARO_LINK_NEXT: return "the one before";
    case BARO_LINK_SLOT: return "a slot";
    case BARO_LINK_LAST: return "the last of several";
    default: return "";
    }
}

static uint64_t took(const struct baro_step_link *l)
{
    return l->end_ns - l->begin_ns;
}

static void link_name(const struct baro_steps *s, size_t link, size_t most, struct buf *ret)
{
    const struct baro_step_link *l = baro_steps_link(s, link);
    if (l->step < 0)
        buf_str(ret, "chain unknown");
    else
        report_step_name(baro_steps_get(s, (size_t)l->step), most, ret);
}

void report_chain_saving(const struct baro_steps *s, struct buf *ret)
{
    size_t best = 0, n = baro_steps_links(s);
    for (size_t i = 1; i < n; i++) {
        const struct baro_step_link *l = baro_steps_link(s, i), *most = baro_steps_link(s, best);
        if (l->saving_most_ns > most->saving_most_ns ||
            (l->saving_most_ns == most->saving_most_ns && took(l) > took(most)))
            best = i;
    }
    if (!n || baro_steps_link(s, best)->saving_most_ns * SAVING_LEAST <= baro_steps_end_ns(s) - baro_steps_begin_ns(s))
        return;
    const struct baro_step_link *l = baro_steps_link(s, best);
    const struct baro_step_link *next = baro_steps_link(s, best + 1);
    if (next && next->step >= 0 && !baro_steps_get(s, (size_t)next->step)->is_driver)
        link_name(s, best + 1, SENTENCE_MOST, ret);
    else
        buf_str(ret, "The job");
    buf_str(ret, " waited for ");
    link_name(s, best, SENTENCE_MOST, ret);
    buf_printf(ret, ", %s; starting it first saves up to %s", DURATION(took(l)), DURATION(l->saving_most_ns));
}

size_t report_steps_without_arguments(const struct baro_steps *s)
{
    size_t n = 0;
    for (size_t i = 0; i < baro_steps_count(s); i++) {
        const struct baro_step *step = baro_steps_get(s, i);
        n += step->pid && !step->is_driver && !step->cmdline && step->occurrences > 1;
    }
    return n;
}

struct rank {
    uint64_t ns;
    size_t i;
};

static int longer(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : (x->i > y->i) - (x->i < y->i);
}

size_t report_chain_choose(const struct baro_steps *s, size_t most, bool *shown)
{
    size_t n = baro_steps_links(s);
    struct rank *rank = malloc((n + 1) * sizeof(*rank));
    for (size_t i = 0; rank && i < n; i++)
        rank[i] = (struct rank){took(baro_steps_link(s, i)), i};
    if (rank)
        qsort(rank, n, sizeof(*rank), longer);
    for (size_t i = 0; i < n; i++)
        shown[rank ? rank[i].i : i] = i < most;
    free(rank);
    return n > most ? n - most : 0;
}

/* ---- the chain ---- */

static void put_link(struct table *t, const struct baro_steps *s, size_t i)
{
    const struct baro_step_link *l = baro_steps_link(s, i);
    struct buf cell = {0}, name = {0};
    fmt_moment(&cell, l->begin_ns - baro_steps_begin_ns(s));
    table_take(t, &cell);
    fmt_duration(&cell, took(l));
    table_take(t, &cell);
    table_text(t, report_link_after(l));
    link_name(s, i, NAME_MOST, &name);
    text_escaped(&cell, (const char *)name.at, name.len);
    table_take(t, &cell);
    buf_done(&name);
    buf_done(&cell);
}

/* The links between two that are shown, as one line. */
static void put_hidden(struct table *t, const struct baro_steps *s, size_t from, size_t to)
{
    struct buf cell = {0};
    uint64_t begin = baro_steps_link(s, from)->begin_ns;
    fmt_moment(&cell, begin - baro_steps_begin_ns(s));
    table_take(t, &cell);
    fmt_duration(&cell, baro_steps_link(s, to - 1)->end_ns - begin);
    table_take(t, &cell);
    table_text(t, "");
    buf_printf(&cell, "(%s shorter link%s)", COUNT(to - from), to - from == 1 ? "" : "s");
    table_take(t, &cell);
    buf_done(&cell);
}

static int put_chain(const struct baro_steps *s, size_t most, unsigned width, bool utf8, struct buf *ret)
{
    struct table t = {.columns = 4, .right = {true, true}, .drop = {2}, .n_drop = 1, .ascii = !utf8};
    size_t n = baro_steps_links(s);
    bool *shown = calloc(n + 1, sizeof(*shown));
    if (!shown)
        return -ENOMEM;
    report_chain_choose(s, most, shown);
    buf_str(ret, "chain of last finishers:\n");
    const char *const titles[] = {"begin", "took", "waited for", "step"};
    for (int i = 0; i < 4; i++)
        table_text(&t, titles[i]);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i; next < n && !shown[next]; next++)
            ;
        if (next > i + 1) {
            put_hidden(&t, s, i, next);
        } else {
            put_link(&t, s, i);
            next = i + 1;
        }
    }
    table_print(&t, width, ret);
    table_done(&t);
    free(shown);
    return 0;
}

/* ---- the steps ---- */

static const struct {
    const char *title, *fact;
} columns[] = {{"share", "responsible_ns"}, {"wall", "wall_ns"},       {"cpu", "cpu_ns"},
               {"wait", "run_delay_ns"},    {"rss", "rss_peak_bytes"}, {"procs", "processes"}};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

static bool is_shown(const struct baro_steps *s, size_t i)
{
    struct baro_value v;
    const struct baro_step *step = baro_steps_get(s, i);
    baro_steps_value(s, i, baro_steps_fact_find("responsible_ns"), &v);
    uint64_t wall = baro_steps_end_ns(s) - baro_steps_begin_ns(s);
    return (step->pid && !step->is_driver && !step->is_idle) || v.u64 > wall / DRIVER_LEAST;
}

static unsigned put_step(struct table *t, const struct baro_steps *s, size_t i)
{
    struct buf cell = {0}, name = {0};
    const struct baro_step *step = baro_steps_get(s, i);
    unsigned flags = 0;
    for (size_t k = 0; k < COLUMNS; k++) {
        struct baro_value v;
        baro_fact_id fact = baro_steps_fact_find(columns[k].fact);
        if (baro_steps_value(s, i, fact, &v) == BARO_ABSENT_NONE)
            table_text(t, "");
        else
            flags |= report_table_cell(t, baro_steps_fact(fact), &v);
        if (k)
            continue;
        uint64_t wall = baro_steps_end_ns(s) - baro_steps_begin_ns(s);
        if (wall)
            lines_percent(&cell, (double)v.u64 / (double)wall);
        table_take(t, &cell);
    }
    report_step_name(step, NAME_MOST, &name);
    text_escaped(&cell, (const char *)name.at, name.len);
    table_take(t, &cell);
    buf_done(&name);
    buf_done(&cell);
    return flags;
}

struct hidden {
    size_t steps, others; /* others: drivers, and the time in which there was no process */
    uint64_t share_ns;
};

static void hide(struct hidden *h, const struct baro_steps *s, size_t i)
{
    struct baro_value share;
    const struct baro_step *step = baro_steps_get(s, i);
    baro_steps_value(s, i, baro_steps_fact_find("responsible_ns"), &share);
    h->share_ns += share.u64;
    if (share.u64)
        *(step->pid && !step->is_driver ? &h->steps : &h->others) += 1;
}

/* What was left out, or is not known. */
static void put_notes(const struct baro_steps *s, const struct hidden *h, unsigned flags, struct buf *ret)
{
    size_t idle = 0, unread = report_steps_without_arguments(s);
    for (size_t i = 0; i < baro_steps_count(s); i++)
        idle += baro_steps_get(s, i)->is_idle;
    if (h->steps)
        buf_printf(ret, "%s more step%s%s", COUNT(h->steps), h->steps == 1 ? "" : "s", h->others ? " and " : "");
    if (h->steps || h->others)
        buf_printf(ret, "%s, share %s; --verbose has all\n", h->others ? "the drivers" : "", DURATION(h->share_ns));
    if (idle)
        buf_printf(ret, "%s step%s idled beside others, such as a server: no share\n", COUNT(idle),
                   idle == 1 ? "" : "s");
    if (unread)
        buf_printf(ret, "%s step%s without arguments: ended before the command line was read\n", COUNT(unread),
                   unread == 1 ? "" : "s");
    if (baro_steps_left_out(s))
        buf_printf(ret, "%s processes more are in no step: there are too many\n", COUNT(baro_steps_left_out(s)));
    buf_str(ret, "share: each moment is divided among the steps that ran in it; adds up to the wall time\n");
    if (flags & BARO_VALUE_LOWER_BOUND)
        buf_str(ret, "≥ at least\n");
    if (flags & BARO_VALUE_ESTIMATE)
        buf_str(ret, "≈ about: begin or end is known to a sample\n");
}

static void put_steps(const struct baro_steps *s, size_t most, unsigned width, bool utf8, struct buf *ret)
{
    struct table t = {.columns = COLUMNS + 2, .drop = {6, 4, 3, 1}, .n_drop = 4, .ascii = !utf8};
    size_t n = baro_steps_count(s), put = 0;
    struct hidden hidden = {0};
    unsigned flags = 0;
    for (size_t k = 0; k < COLUMNS; k++) {
        table_text(&t, columns[k].title);
        if (!k)
            table_text(&t, "%");
    }
    for (size_t i = 0; i <= COLUMNS; i++)
        t.right[i] = true;
    table_text(&t, "step");
    for (size_t i = 0; i < n; i++) {
        if (most && (put >= most || !is_shown(s, i))) {
            hide(&hidden, s, i);
            continue;
        }
        flags |= put_step(&t, s, i);
        put++;
    }
    table_print(&t, width, ret);
    table_done(&t);
    size_t from = ret->len;
    put_notes(s, &hidden, flags, ret);
    if (!utf8)
        text_ascii(ret, from);
    if (width && ret->len > from)
        wrap_lines(ret, from, width);
}

int report_steps(const struct baro_steps *s, size_t most, unsigned width, bool utf8, struct buf *ret)
{
    struct buf saving = {0};
    size_t n = baro_steps_count(s), steps = 0, processes = 0, from = ret->len;
    for (size_t i = 0; i < n; i++) {
        struct baro_value v;
        baro_steps_value(s, i, baro_steps_fact_find("processes"), &v);
        processes += v.u64;
        steps += baro_steps_get(s, i)->pid && !baro_steps_get(s, i)->is_driver;
    }
    buf_printf(ret, "%s of wall time, %s step%s, %s process%s\n",
               DURATION(baro_steps_end_ns(s) - baro_steps_begin_ns(s)), COUNT(steps), steps == 1 ? "" : "s",
               COUNT(processes), processes == 1 ? "" : "es");
    report_chain_saving(s, &saving);
    text_escaped(ret, (const char *)saving.at, saving.len);
    if (saving.len)
        buf_byte(ret, '\n');
    buf_done(&saving);
    if (width)
        wrap_lines(ret, from, width);
    int code = put_chain(s, most ? LINKS_MOST : SIZE_MAX, width, utf8, ret);
    put_steps(s, most, width, utf8, ret);
    return code;
}
