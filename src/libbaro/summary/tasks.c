/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: what their rows and those of their processes say, and the facts of the section "tasks". */
#include "libbaro/summary/tasks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/growth.h"
#include "libbaro/summary/facts.h"

#define OLD_NS 60000000000ull /* a process that had no row for a minute is forgotten when room is needed */

/* ---- samples ---- */

static struct task_more *task_of(struct tasks *t, uint32_t id, size_t guess)
{
    if (guess < t->n && t->at[guess].id == id)
        return &t->at[guess];
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].id == id)
            return &t->at[i];
    }
    struct task_more *at = realloc(t->at, (t->n + 1) * sizeof(*at));
    if (!at)
        return NULL;
    t->at = at;
    at[t->n] = (struct task_more){.id = id};
    return &at[t->n++];
}

static void add_row(struct task_more *one, const struct baro_entity *e, uint64_t t_ns)
{
    static const enum task_metric of[2] = {TASK_pss, TASK_uss};
    uint64_t unread = e->value[TASK_memory_unread];
    /* The mean of uss is that over all rows of the task's processes. Example: two samples of two processes with 10 and
     * 30 MB each are four rows with a mean of 20 MB. A process whose uss is not known is not counted. */
    uint64_t samples = e->value[TASK_process_samples];
    uint64_t rows = one->process_samples ? samples - one->process_samples : e->value[TASK_processes];
    if (!e->absent[TASK_uss] && !e->absent[TASK_process_samples] && rows > unread) {
        one->uss_sum += (double)e->value[TASK_uss];
        one->uss_rows += rows - unread;
    }
    one->process_samples = samples;
    for (int i = 0; i < 2; i++) {
        if (e->absent[of[i]] || e->value[of[i]] < one->most[i])
            continue;
        one->most[i] = e->value[of[i]];
        one->is_short[i] = unread > 0;
    }
    if (!e->absent[TASK_cpu])
        derive_peak_add(&one->cores, t_ns, e->value[TASK_cpu], NULL);
}

/* Example: 1.50 s at +2.0 s and 1.75 s at +2.5 s are 0.5 cores; a row at +2.55 s waits for the next one. */
static void add_process(struct tasks *t, struct task_more *one, const struct baro_process *p, uint64_t t_ns)
{
    bool added;
    uint64_t cpu = p->value[PROCESS_cpu], begin_ns = derive_begin_ns(&t->ticks, p->key.start, p->first_ns);
    struct last *b =
        p->absent[PROCESS_cpu] ? NULL : last_get(&t->last, p->id, t_ns > OLD_NS ? t_ns - OLD_NS : 0, &added);
    if (!b)
        return;
    if (added) /* CPU time of before the sample before belongs to no interval */
        *b = begin_ns > t->before_ns ? (struct last){p->id, begin_ns, 0} : (struct last){p->id, t_ns, cpu};
    uint64_t growth;
    bool is_known = growth_between(b->value, cpu, &growth);
    if (is_known && t_ns < b->t_ns + GROWTH_SHORT_NS)
        return;
    if (is_known) {
        double used = (double)growth, time = (double)(t_ns - b->t_ns);
        one->one_peak = used / time > one->one_peak ? used / time : one->one_peak;
        one->one_used_ns += used;
        one->one_time_ns += time;
    }
    b->t_ns = t_ns;
    b->value = cpu;
}

int tasks_add(struct tasks *t, const struct baro_sample *s)
{
    const struct baro_entities *all = &s->entities[KIND_task];
    size_t at = 0; /* neighbours often are of one task */
    for (size_t i = 0; i < all->n; i++) {
        struct task_more *one = task_of(t, all->at[i]->id, i);
        if (!one)
            return -ENOMEM;
        add_row(one, all->at[i], s->t_ns);
    }
    for (size_t i = 0; t->n && i < s->n; i++) {
        const struct baro_process *p = s->processes[i];
        if (p->absent[PROCESS_task])
            continue;
        for (size_t tried = 0; tried < t->n && t->at[at].id != p->value[PROCESS_task]; tried++)
            at = at + 1 < t->n ? at + 1 : 0;
        if (t->at[at].id == p->value[PROCESS_task])
            add_process(t, &t->at[at], p, s->t_ns);
    }
    t->before_ns = s->t_ns;
    return 0;
}

void tasks_done(struct tasks *t)
{
    free(t->at);
    last_done(&t->last);
    *t = (struct tasks){0};
}

/* ---- facts ---- */

static bool is_sum_of_memory(int of)
{
    return of == TASK_rss || of == TASK_pss || of == TASK_uss || of == TASK_swap;
}

static bool is_peak(int of)
{
    return of == TASK_processes_peak || of == TASK_process_rss_peak || of == TASK_process_uss_peak;
}

/* Is it a count that may become smaller, because what was not read becomes known? */
static bool is_unread(int of)
{
    return of == TASK_processes_unread || of == TASK_commands_unread || of == TASK_commands_unread_cpu;
}

static bool is_counter(int of)
{
    return baro_metric_get(KIND_task, of)->semantics == BARO_SEM_COUNTER && !is_unread(of);
}

/* A recorder that was started again counts from 0: a fall (base/growth.h). Example: a task has used 159 ms when its
 * observer is killed, and 30 ms in the next part of the tape: at least 189 ms. */
static uint64_t counted(const struct fold_cell *c)
{
    return c->first + c->grown;
}

static uint64_t value_of(const struct fold_cell *cell, int of)
{
    return is_sum_of_memory(of) || is_peak(of) ? cell[of].most
           : of == TASK_begin                  ? cell[of].least
           : is_counter(of)                    ? counted(&cell[of])
                                               : cell[of].last;
}

/* A living process holds some rss, pss and uss, so a peak of 0 means that no sample has a process of the task, or that
 * it ended before anything was read. Example: three processes of 100 ms, and a sample each second. */
static int absent_of(const struct fold_cell *cell, int of)
{
    bool of_part = of == TASK_pss || of == TASK_uss || of == TASK_process_uss_peak;
    bool of_memory = of_part || of == TASK_rss || of == TASK_process_rss_peak;
    bool is_last = of == TASK_commands_unread || of == TASK_commands_unread_cpu; /* once absent, they stay so */
    bool was_unread = cell[TASK_memory_unread].most > 0, any = counted(&cell[TASK_processes_started]) > 0;
    if (cell[of].absent || is_last)
        return is_last ? cell[of].absent_now : cell[of].absent;
    return !value_of(cell, of) && ((of_memory && any) || (of_part && was_unread)) ? BARO_ABSENT_NOT_YET : BARO_PRESENT;
}

static bool is_of_io(int of)
{
    return of == TASK_io_read || of == TASK_io_write || of == TASK_io_rchar || of == TASK_io_wchar;
}

/* Is a value of a task a lower bound? The peak of rss comes from samples, so it is one if a process had a much
 * higher mark. Example: the task had 85 MB at most in a sample, and one of its processes 299 MB between two samples.
 * Up to a twentieth is ignored, because a mark is a little above most samples (libbaro/summary/rss_peak.c). Of the peak
 * of processes all may have been alive at the same time, unless events show how many were. */
static bool is_bound(const struct baro_summary *s, size_t row, int of)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    const struct task_more *more = &s->tasks.at[row];
    uint64_t rss = cell[TASK_rss].most, started = counted(&cell[TASK_processes_started]);
    bool is_short = cell[TASK_commands_unread].absent_now || cell[TASK_commands_unread].last;
    switch (of) {
    case TASK_run_delay: return true;
    case TASK_cpu:
    case TASK_cpu_user:
    case TASK_cpu_system: return cell[TASK_processes_unread].last > 0;
    case TASK_rss: return cell[TASK_process_rss_peak].most > rss + rss / 20;
    case TASK_pss:
    case TASK_uss: return more->is_short[of == TASK_uss];
    case TASK_processes_started: return is_short;
    case TASK_processes_peak:
        return is_short || (summary_processes_peak_is_bound(s) && cell[TASK_processes_peak].most < started);
    case TASK_tcp_sent:
    case TASK_tcp_received:
        return !s->finished.tcp_is_whole && (cell[TASK_processes_tcp_unread].last || !s->finished.tcp_is_exact);
    default: return is_of_io(of) && cell[TASK_processes_io_unread].last > 0;
    }
}

void fact_task(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    value_u64(ret, absent_of(cell, of), value_of(cell, of));
    value_flag(ret, BARO_VALUE_LOWER_BOUND, is_bound(s, row, of) || (is_counter(of) && cell[of].fell));
    value_flag(ret, BARO_VALUE_UPPER_BOUND, is_sum_of_memory(of) && s->incidents.memory_counts_twice);
}

void fact_task_text(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *one = &s->fold.tasks.at[row];
    value_text(ret, BARO_PRESENT, of == TASK_NAME ? one->name : one->label);
}

void fact_task_uss_mean(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct task_more *more = &s->tasks.at[row];
    (void)of;
    value_u64(ret, more->uss_rows ? BARO_PRESENT : BARO_ABSENT_NOT_YET,
              more->uss_rows ? whole_of(more->uss_sum / (double)more->uss_rows) : 0);
}

/* The end of a process is reported a little late, so over a short interval the rate may exceed what the machine has. */
static double at_most_all(const struct baro_summary *s, double cores)
{
    return s->subject.cpus && cores > s->subject.cpus ? s->subject.cpus : cores;
}

/* CPU time that one process used in an interval was also used by its task. */
void fact_task_cores(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    const struct task_more *more = &s->tasks.at[row];
    double active = (double)counted(&cell[TASK_active]), cpu = (double)counted(&cell[TASK_cpu]);
    double mean = active > 0 ? cpu / active : 0;
    double peak = more->cores.rate / 1e9 > more->one_peak ? more->cores.rate / 1e9 : more->one_peak;
    bool has_one = more->one_time_ns > 0, has_all = cell[TASK_cpu].seen && active > 0;
    switch (of) {
    case TASK_CORES_MEAN: value_real(ret, has_all ? BARO_PRESENT : BARO_ABSENT_NOT_YET, at_most_all(s, mean)); break;
    case TASK_CORES_PEAK:
        value_real(ret, has_all ? BARO_PRESENT : BARO_ABSENT_NOT_YET, at_most_all(s, peak > mean ? peak : mean));
        break;
    case TASK_ONE_CORES_MEAN:
        value_real(ret, has_one ? BARO_PRESENT : BARO_ABSENT_NOT_YET,
                   has_one ? more->one_used_ns / more->one_time_ns : 0);
        return;
    default: value_real(ret, has_one ? BARO_PRESENT : BARO_ABSENT_NOT_YET, at_most_all(s, more->one_peak)); return;
    }
    value_flag(ret, BARO_VALUE_LOWER_BOUND, is_bound(s, row, TASK_cpu));
}
