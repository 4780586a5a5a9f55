/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/fold/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fmt.h"

#define ROWS_HELD 2u /* the newest rows, which active windows get later */

static const struct {
    enum fold_term term;
    enum exit_metric exit;
} own_terms[WINDOW_OWN] = {{FOLD_CPU, EXIT_cpu},
                           {FOLD_READ, EXIT_own_io_read},
                           {FOLD_WRITTEN, EXIT_own_io_write},
                           {FOLD_RCHAR, EXIT_own_io_rchar},
                           {FOLD_WCHAR, EXIT_own_io_wchar}};

static struct fold_row *row_at(const struct fold_windows *all, size_t i)
{
    return &all->row[i % WINDOW_ROWS];
}

/* Exits are in the order of time, but for a few that were found late. */
static size_t first_exit(const struct fold_windows *all)
{
    return all->n_exits > WINDOW_EXITS ? all->n_exits - WINDOW_EXITS : 0;
}

int windows_init(struct fold_windows *all, bool attached)
{
    *all = (struct fold_windows){.row = malloc(WINDOW_ROWS * sizeof(*all->row)),
                                 .exit = malloc(WINDOW_EXITS * sizeof(*all->exit))};
    if (!all->row || !all->exit) {
        windows_done(all);
        return -ENOMEM;
    }
    if (attached)
        return 0;
    /* A command starts at 0: it had used nothing when the tape began. */
    struct fold_row *first = row_at(all, all->n++);
    *first = (struct fold_row){0};
    memset(first->absent + FOLD_OF_MACHINE, BARO_ABSENT_NOT_YET, FOLD_ROW - FOLD_OF_MACHINE);
    return 0;
}

void windows_done(struct fold_windows *all)
{
    free(all->row);
    free(all->exit);
    free(all->active);
    *all = (struct fold_windows){0};
}

/* ---- where CPU time between two samples belongs ---- */

static uint64_t overlap_ns(uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end)
{
    uint64_t lo = a_begin > b_begin ? a_begin : b_begin, hi = a_end < b_end ? a_end : b_end;
    return lo < hi ? hi - lo : 0;
}

static double growth_of(const struct fold_row *a, const struct fold_row *b, enum fold_term term)
{
    uint64_t growth;
    growth_between(a->value[term], b->value[term], &growth);
    return (double)growth;
}

/* CPU time between two samples that exits account for. */
struct of_exits {
    double all, here; /* in the interval, and the part of it in the window */
    double unsure;    /* the part of all of which it is not known on which side of the window's edges it was used */
};

/* Adds CPU time that a process used in an interval, of which it was alive for in_ns in the window and for out_ns
 * outside of it. When in its life it used it is not known: what can be on the wrong side is what it can use in the
 * shorter of the two. Example: of 300 ms, 299 are in the window, and it used 60 ms on one core: 1 ms. */
static void add_of_exit(struct of_exits *to, const struct window_exit *e, double cpu, uint64_t in_ns, uint64_t out_ns)
{
    double life = e->end_ns > e->begin_ns ? (double)(e->end_ns - e->begin_ns) : 1;
    double cores = (double)e->cpu_ns[0] > life ? (double)e->cpu_ns[0] / life : 1;
    double most = cores * (double)(in_ns < out_ns ? in_ns : out_ns);
    to->all += cpu;
    to->here += in_ns ? cpu * (double)in_ns / (double)(in_ns + out_ns) : 0;
    to->unsure += cpu < most ? cpu : most;
}

/* Two rows after each other, and the share of the time between them that is the window's. */
struct interval {
    const struct fold_row *a, *b;
    double part;
    double most; /* the largest error of a share: all growth may lie on one side of the window's edge */
};

static struct interval interval_of(const struct fold_row *a, const struct fold_row *b, double part)
{
    return (struct interval){a, b, part, part >= 1 ? 0 : part > 0.5 ? part : 1 - part};
}

/* The share of an interval's growth that belongs to the window, and how far it may be off. */
struct share {
    double part, error;
};

struct exits_between {
    struct of_exits within, across; /* of processes that lived in this interval alone; of those that lived beyond it */
    double no_split;                /* time whose exits do not say how it is split: as that of the job is */
};

static struct exits_between take_exits(const struct fold_windows *all, const struct fold_window *w,
                                       const struct interval *v, enum fold_term metric)
{
    struct exits_between found = {0};
    uint64_t from = v->a->t_ns, to = v->b->t_ns, lo = from > w->begin_ns ? from : w->begin_ns,
             hi = to < w->end_ns ? to : w->end_ns;
    double cpu_grown = growth_of(v->a, v->b, FOLD_CPU);
    double job = cpu_grown > 0 ? growth_of(v->a, v->b, metric) / cpu_grown : 0;
    for (size_t i = all->n_exits, first = first_exit(all); i-- > first;) {
        const struct window_exit *e = &all->exit[i % WINDOW_EXITS];
        if (e->end_ns < from)
            break; /* the time of what was found before a late one is spread evenly */
        bool has_split = metric == FOLD_CPU || e->has_split;
        double cpu = has_split ? (double)e->cpu_ns[metric - FOLD_CPU] : (double)e->cpu_ns[0] * job;
        uint64_t here_ns = overlap_ns(e->begin_ns, e->end_ns, from, to);
        uint64_t in_ns = overlap_ns(e->begin_ns, e->end_ns, lo, hi);
        bool is_short = e->begin_ns >= from && e->end_ns <= to;
        /* It may have used all of it in this interval, unless a sample has it. Then it used it evenly. */
        if (!is_short && (e->is_sampled || !here_ns))
            cpu = here_ns ? cpu * (double)here_ns / (double)(e->end_ns - e->begin_ns) : 0;
        add_of_exit(is_short ? &found.within : &found.across, e, cpu, in_ns, here_ns - in_ns);
        found.no_split += has_split ? 0 : cpu;
    }
    return found;
}

/* Returns the window's share of the CPU time of an interval, of all or in one mode. */
static struct share cpu_share(const struct fold_windows *all, const struct fold_window *w, const struct interval *v,
                              enum fold_term metric)
{
    double growth = growth_of(v->a, v->b, metric);
    struct exits_between found = {0};
    if (v->part < 1 && growth > 0)
        found = take_exits(all, w, v, metric);
    const struct of_exits *within = &found.within, *across = &found.across;
    if (within->all + across->all <= 0)
        return (struct share){v->part, v->most};
    /* Processes that lived in this interval alone have their time; those that lived beyond it, and then what no exit
     * accounts for, share the rest. If nobody is left, nobody else can have used it. */
    bool is_last = across->all > 0 && v->b->absent[FOLD_PROCESSES] == BARO_PRESENT && !v->b->value[FOLD_PROCESSES];
    double scale = within->all > growth ? growth / within->all : 1, rest = growth - within->all * scale;
    double spread = across->all < rest && !is_last ? across->all : rest;
    double of_across = across->all > 0 ? spread / across->all : 0;
    double here = within->here * scale + across->here * of_across + (rest - spread) * v->part;
    double unsure = within->unsure * scale + across->unsure * of_across + (rest - spread) * v->most + found.no_split;
    return (struct share){here / growth, unsure / growth};
}

/* ---- a window, and two rows after each other ---- */

/* Adds the part of an interval's growth that belongs to the window. Example: of an interval from 2 to 4 s, a phase
 * that begins at 3 s gets one half. If the counter fell, the step is left out, and the window's growth is a lower
 * bound. */
static void count_part(struct fold_window *w, int i, const struct interval *v, struct share share)
{
    const struct fold_row *a = v->a, *b = v->b;
    uint64_t growth;
    int absent = b->absent[i] ? b->absent[i] : a->absent[i];
    if (absent == BARO_PRESENT && (!growth_between(a->value[i], b->value[i], &growth) || b->fell >> i & 1))
        absent = BARO_ABSENT_UNKNOWN;
    if (absent != BARO_PRESENT) {
        w->missing[i] = (uint8_t)absent;
        return;
    }
    w->counted[i] = true;
    w->grown[i] += (double)growth * share.part;
    w->error[i] += (double)growth * share.error;
}

/* Returns the share of an interval that overlaps the window. */
static double overlap(struct fold_window *w, uint64_t from, uint64_t to, uint64_t *covered_ns)
{
    uint64_t ns = overlap_ns(from, to, w->begin_ns, w->end_ns);
    *covered_ns += ns;
    return ns ? (double)ns / (double)(to - from) : 0;
}

static void raise_peak(struct window_peak *p, uint64_t value, int absent, bool is_stale)
{
    if (absent != BARO_PRESENT) {
        p->absent = p->absent == BARO_ABSENT_NOT_YET ? absent : p->absent;
        return;
    }
    if (p->absent != BARO_PRESENT || value > p->value)
        *p = (struct window_peak){value, BARO_PRESENT, is_stale};
}

static bool is_stale(const struct fold_row *row, int gauge)
{
    return row->is_stale && (gauge == FOLD_PSS - FOLD_RSS || gauge == FOLD_USS - FOLD_RSS);
}

static void reach_edge(struct fold_window *w, const struct fold_row *a, const struct fold_row *b, uint64_t edge_ns)
{
    double part = (double)(edge_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
    for (int i = 0; i < FOLD_GAUGES; i++) {
        int at = FOLD_RSS + i;
        bool both = a->absent[at] == BARO_PRESENT && b->absent[at] == BARO_PRESENT;
        const struct fold_row *of = b->absent[at] == BARO_PRESENT ? b : a;
        double value = both ? (double)a->value[at] * (1 - part) + (double)b->value[at] * part : (double)of->value[at];
        raise_peak(&w->edge[i], whole_of(value), of->absent[at], is_stale(of, i));
    }
}

static void reach_row(struct fold_window *w, const struct fold_row *row)
{
    w->samples++;
    for (int i = 0; i < FOLD_GAUGES; i++)
        raise_peak(&w->peak[i], row->value[FOLD_RSS + i], row->absent[FOLD_RSS + i], is_stale(row, i));
    if (row->absent[FOLD_CPU] == BARO_PRESENT)
        derive_peak_add(&w->cores, row->t_ns, row->value[FOLD_CPU], &row->able);
}

static bool is_io(int term)
{
    return term >= FOLD_READ && term <= FOLD_CALLED;
}

/* Takes the bytes from one row to the next, which were transferred since all were in the first of them. Example: `ld`
 * ends at 635 ms, and with it a phase. The row at 636 ms lacks its 42 MB, because its parent was not read since 513 ms,
 * and the row at 639 ms has them: of the time from 513 to 639 ms, 122 ms are the phase's, which gets 41 MB. */
static void feed_io(struct fold_window *w, const struct fold_row *a, const struct fold_row *b)
{
    uint64_t ns = overlap_ns(a->io_ns, b->t_ns, w->begin_ns, w->end_ns);
    double part = ns ? (double)ns / (double)(b->t_ns - a->io_ns) : 0;
    struct interval v = interval_of(a, b, part);
    for (int i = FOLD_READ; part > 0 && i <= FOLD_CALLED; i++)
        count_part(w, i, &v, (struct share){part, v.most});
}

/* Takes the growth from one row to the next. */
static void feed(const struct fold_windows *all, struct fold_window *w, const struct fold_row *a,
                 const struct fold_row *b)
{
    double part = a->t_ns < b->t_ns ? overlap(w, a->t_ns, b->t_ns, &w->covered_ns[0]) : 0;
    struct interval v = interval_of(a, b, part);
    for (int i = 0; part > 0 && i < FOLD_OF_MACHINE; i++) {
        if (!is_io(i))
            count_part(w, i, &v,
                       i <= FOLD_CPU_SYSTEM ? cpu_share(all, w, &v, (enum fold_term)i) : (struct share){part, v.most});
    }
    feed_io(w, a, b);
    if (w->begin_ns > a->t_ns && w->begin_ns < b->t_ns)
        reach_edge(w, a, b, w->begin_ns);
    if (w->end_ns > a->t_ns && w->end_ns < b->t_ns)
        reach_edge(w, a, b, w->end_ns);
    if (b->t_ns >= w->begin_ns && b->t_ns <= w->end_ns)
        reach_row(w, b);
    part = a->host_ns && a->host_ns < b->host_ns ? overlap(w, a->host_ns, b->host_ns, &w->covered_ns[1]) : 0;
    v = interval_of(a, b, part);
    for (int i = FOLD_OF_MACHINE; part > 0 && i < FOLD_COUNTERS; i++)
        count_part(w, i, &v, (struct share){part, v.most});
}

/* ---- all windows ---- */

void window_init(struct fold_window *w, uint64_t begin_ns, uint64_t end_ns)
{
    *w = (struct fold_window){.begin_ns = begin_ns, .end_ns = end_ns};
    for (int i = 0; i < FOLD_GAUGES; i++)
        w->peak[i].absent = w->edge[i].absent = BARO_ABSENT_NOT_YET;
}

static bool is_over(const struct fold_window *w, const struct fold_row *row)
{
    return row->io_ns >= w->end_ns && (!row->host_ns || row->host_ns >= w->end_ns);
}

/* Each window that is open takes time at each row. Of those that a row finds open only the oldest WINDOWS_OPEN_MOST get
 * the next one; what the others use is not known. Example: 40,000 phases that a job begins and never ends. */
static void feed_active(struct fold_windows *all, const struct fold_row *a, const struct fold_row *b)
{
    size_t left = 0, open = 0;
    for (size_t i = 0; i < all->n_active; i++) {
        struct fold_window *w = all->active[i];
        feed(all, w, a, b);
        bool is_open = w->begin_ns <= b->t_ns && !is_over(w, b);
        open += is_open;
        w->is_left = is_open && open > WINDOWS_OPEN_MOST;
        w->is_active = !w->is_left && !is_over(w, b);
        if (w->is_active)
            all->active[left++] = w;
    }
    all->n_active = left;
}

void windows_add(struct fold_windows *all, const struct fold_row *row)
{
    if (all->n > ROWS_HELD)
        feed_active(all, row_at(all, all->n - ROWS_HELD - 1), row_at(all, all->n - ROWS_HELD));
    *row_at(all, all->n++) = *row;
}

/* Was the process alive only within the window? */
static bool is_within(const struct fold_window *w, const struct window_exit *e)
{
    return e->begin_ns >= w->begin_ns && e->end_ns <= w->end_ns && e->end_ns >= w->begin_ns;
}

static void add_own(struct fold_window *w, const struct window_exit *e, double sign)
{
    for (int i = 0; i < WINDOW_OWN; i++)
        w->within[i] += sign * (double)e->own[i];
}

static void take_within(struct fold_window *w, const struct window_exit *e)
{
    if (!is_within(w, e))
        return;
    add_own(w, e, 1);
    w->process_rss = e->rss_peak > w->process_rss ? e->rss_peak : w->process_rss;
}

void windows_add_exit(struct fold_windows *all, const struct baro_exit *e)
{
    static const enum exit_metric of[3] = {EXIT_cpu, EXIT_cpu_user, EXIT_cpu_system};
    uint64_t elapsed = e->value[EXIT_elapsed];
    if (e->absent[EXIT_elapsed])
        return;
    struct window_exit *one = &all->exit[all->n_exits++ % WINDOW_EXITS];
    *one = (struct window_exit){.begin_ns = e->t_ns > elapsed ? e->t_ns - elapsed : 0,
                                .end_ns = e->t_ns,
                                .rss_peak = e->absent[EXIT_rss_peak] ? 0 : e->value[EXIT_rss_peak],
                                .is_sampled = e->sampled,
                                .has_split = !e->absent[EXIT_cpu_user] && !e->absent[EXIT_cpu_system]};
    for (int i = 0; i < WINDOW_OWN; i++)
        one->own[i] = e->absent[own_terms[i].exit] ? 0 : e->value[own_terms[i].exit];
    for (int i = 0; i < 3; i++)
        one->cpu_ns[i] = e->absent[of[i]] || (i && !one->has_split) ? 0 : e->value[of[i]];
    for (size_t i = 0; i < all->n_active; i++)
        take_within(all->active[i], one);
}

bool windows_activate(struct fold_windows *all, struct fold_window *w)
{
    if (array_reserve(&all->active, all->n_active + 1, &all->cap_active, sizeof(*all->active)) < 0)
        return false;
    w->is_active = true;
    all->active[all->n_active++] = w;
    size_t first = all->n > WINDOW_ROWS ? all->n - WINDOW_ROWS : 0;
    for (size_t i = first_exit(all); i < all->n_exits; i++)
        take_within(w, &all->exit[i % WINDOW_EXITS]);
    for (size_t i = first + 1; i + ROWS_HELD < all->n; i++) {
        if (row_at(all, i)->t_ns >= w->begin_ns || row_at(all, i)->host_ns >= w->begin_ns)
            feed(all, w, row_at(all, i - 1), row_at(all, i));
    }
    return true;
}

void windows_end(const struct fold_windows *all, struct fold_window *w, uint64_t end_ns)
{
    for (size_t i = first_exit(all); i < all->n_exits; i++) {
        const struct window_exit *e = &all->exit[i % WINDOW_EXITS];
        if (is_within(w, e) && e->end_ns > end_ns)
            add_own(w, e, -1);
    }
    w->end_ns = end_ns;
}

/* Totals may have what a process used a little earlier or later than its exit says: a window has at least what ended in
 * it. The split of CPU time stays that of the total: that of a short process is a guess of the kernel's from one tick
 * or none. */
static void have_exits(struct fold_window *w)
{
    double more = w->within[0] - w->grown[FOLD_CPU];
    for (int i = FOLD_CPU_USER; i <= FOLD_CPU_SYSTEM && w->counted[FOLD_CPU] && more > 0; i++) {
        w->grown[i] += w->grown[FOLD_CPU] > 0 ? w->grown[i] * more / w->grown[FOLD_CPU] : 0;
        w->error[i] += more;
    }
    for (int i = 0; i < WINDOW_OWN; i++) {
        double *grown = &w->grown[own_terms[i].term];
        *grown = w->counted[own_terms[i].term] && w->within[i] > *grown ? w->within[i] : *grown;
    }
}

void windows_read(const struct fold_windows *all, const struct fold_window *w, struct fold_window *ret)
{
    *ret = *w;
    for (size_t i = all->n > ROWS_HELD ? all->n - ROWS_HELD : 1; w->is_active && i < all->n; i++)
        feed(all, ret, row_at(all, i - 1), row_at(all, i));
    have_exits(ret);
}
