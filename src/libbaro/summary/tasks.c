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

/* Example: a task has used 159 ms when its observer is killed, and 30 ms in the next part of the tape: 189 ms. */
uint64_t task_counted(const struct fold_cell *counter)
{
    return counter->first + counter->grown;
}

/* A living process holds some rss, pss and uss, so a peak of 0 means that no sample has a process of the task, or that
 * it ended before anything was read. Example: three processes of 100 ms, and a sample each second. */
int task_memory_absent(const struct baro_summary *s, size_t row, enum task_metric metric)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    bool of_part = metric == TASK_pss || metric == TASK_uss || metric == TASK_process_uss_peak;
    bool was_unread = of_part && cell[TASK_memory_unread].most > 0;
    bool any = was_unread || task_counted(&cell[TASK_processes_started]) > 0;
    return cell[metric].absent ? cell[metric].absent : any && !cell[metric].most ? BARO_ABSENT_NOT_YET : BARO_PRESENT;
}

/* The peak of rss comes from samples, so it is a lower bound if a process had a much higher mark. Example: the task had
 * 85 MB at most in a sample, and one of its processes 299 MB between two samples. Up to a twentieth is ignored, because
 * a mark is a little above most samples (libbaro/summary/rss_peak.c). */
bool task_rss_is_bound(const struct baro_summary *s, size_t row)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    return cell[TASK_process_rss_peak].most > cell[TASK_rss].most + cell[TASK_rss].most / 20;
}

bool task_split_is_estimate(const struct baro_summary *s, size_t row)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    uint64_t cpu = task_counted(&cell[TASK_cpu]), brief = task_counted(&cell[TASK_cpu_brief]);
    return brief && brief >= cpu / 10;
}

bool task_started_is_bound(const struct baro_summary *s, size_t row)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    return cell[TASK_commands_unread].absent_now || cell[TASK_commands_unread].last;
}

/* All may have been alive at the same time, unless events show how many were. */
bool task_processes_peak_is_bound(const struct baro_summary *s, size_t row)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    uint64_t started = task_counted(&cell[TASK_processes_started]);
    return task_started_is_bound(s, row) ||
           (summary_processes_peak_is_bound(s) && cell[TASK_processes_peak].most < started);
}

bool task_tcp_is_bound(const struct baro_summary *s, size_t row)
{
    bool is_unread = s->fold.tasks.at[row].cell[TASK_processes_tcp_unread].last;
    return !s->finished.tcp_is_whole && (is_unread || !s->finished.tcp_is_exact);
}

int task_uss_mean(const struct baro_summary *s, size_t row, uint64_t *ret)
{
    const struct task_more *more = &s->tasks.at[row];
    *ret = more->uss_rows ? whole_of(more->uss_sum / (double)more->uss_rows) : 0;
    return more->uss_rows ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
}

/* The end of a process is reported a little late, so over a short interval the rate may exceed what the machine has. */
static double at_most_all(const struct baro_summary *s, double cores)
{
    return s->subject.cpus && cores > s->subject.cpus ? s->subject.cpus : cores;
}

int task_cores_mean(const struct baro_summary *s, size_t row, double *ret)
{
    const struct fold_cell *cell = s->fold.tasks.at[row].cell;
    uint64_t active_ns = task_counted(&cell[TASK_active]), cpu_ns = task_counted(&cell[TASK_cpu]);
    *ret = active_ns ? at_most_all(s, (double)cpu_ns / (double)active_ns) : 0;
    return cell[TASK_cpu].seen && active_ns ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
}

/* CPU time that one process used in an interval was also used by its task. */
int task_cores_peak(const struct baro_summary *s, size_t row, double *ret)
{
    const struct task_more *more = &s->tasks.at[row];
    double peak = more->cores.rate / 1e9 > more->one_peak ? more->cores.rate / 1e9 : more->one_peak, mean;
    int absent = task_cores_mean(s, row, &mean);
    *ret = at_most_all(s, peak > mean ? peak : mean);
    return absent;
}

int task_one_cores_mean(const struct baro_summary *s, size_t row, double *ret)
{
    const struct task_more *more = &s->tasks.at[row];
    *ret = more->one_time_ns > 0 ? more->one_used_ns / more->one_time_ns : 0;
    return more->one_time_ns > 0 ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
}

int task_one_cores_peak(const struct baro_summary *s, size_t row, double *ret)
{
    *ret = at_most_all(s, s->tasks.at[row].one_peak);
    return s->tasks.at[row].one_time_ns > 0 ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
}
