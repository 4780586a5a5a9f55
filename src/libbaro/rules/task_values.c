/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks have used by a sample. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/min_max.h"
#include "libbaro/rules/task_state.h"

static const struct {
    enum task_metric task;
    enum process_metric process;
} gauges[] = {
    {TASK_rss, PROCESS_rss},   {TASK_pss, PROCESS_pss},         {TASK_uss, PROCESS_uss},
    {TASK_swap, PROCESS_swap}, {TASK_threads, PROCESS_threads},
};
#define GAUGES (sizeof(gauges) / sizeof(*gauges))

/* ---- exits ---- */

static bool is_present(const struct task_exit *e, enum exit_metric m)
{
    return e->absent[m] == BARO_PRESENT;
}

/* Is its CPU time known up to its end? If all its page faults are, a zombie was read, which has both. */
static bool cpu_is_whole(const struct task_exit *e)
{
    bool was_zombie = is_present(e, EXIT_faults_is_lower_bound) && !e->value[EXIT_faults_is_lower_bound];
    bool is_read = e->source != BARO_EXIT_LAST_SAMPLE && e->source != BARO_EXIT_EVENT;
    return is_present(e, EXIT_cpu) && (is_read || was_zombie);
}

/* Its I/O is in the counters of its parent, too, once that has waited for it. Example: a make of no task has read 5 MB,
 * and a compiler of a task 20 MB, which make's counter has as well: 25 MB are there, and 5 MB are make's own. */
static bool give_io_to_parent(struct task_fold *f, const struct task_process *p)
{
    struct task_process *parent = task_process_find(f, p->parent);
    if (!parent || parent == p)
        return false;
    for (int i = 0; i < USED_IO; i++) {
        /* taskstats has its own alone; what it did before the stretch comes with the rest */
        parent->reaped_exits[i] += max_u64(p->used[USED_READ + i], p->reaped[i]) + p->base[USED_READ + i];
        parent->reaped[i] = max_u64(parent->reaped[i], parent->reaped_exits[i]); /* a row of record --all has all */
    }
    return parent->task == p->task;
}

/* Since its last row more may have come from processes below it that have no exits. Example: the last row of ninja has
 * 171 MB, all of them reaped, and its exit has 200 MB, 65 kB of which are its own: 28 MB more were reaped. */
static void take_late_children(struct task_process *p, const struct task_exit *e)
{
    bool is_whole = is_present(e, EXIT_own_io_is_lower_bound) && !e->value[EXIT_own_io_is_lower_bound];
    static const enum exit_metric own[USED_IO] = {EXIT_own_io_read, EXIT_own_io_write, EXIT_own_io_rchar,
                                                  EXIT_own_io_wchar};
    for (int i = 0; i < USED_IO && p->has_reaped && is_whole && is_present(e, EXIT_elapsed); i++) {
        uint64_t before = p->is_within ? excess(p->base[USED_READ + i], p->reaped_base[i]) : 0;
        if (is_present(e, own[i]))
            p->reaped[i] = max_u64(p->reaped[i], excess(p->used[USED_READ + i], excess(e->value[own[i]], before)));
    }
}

static void take_end(struct task_exit *e, struct task_fold *f)
{
    struct task_process *p = e->of;
    for (enum used_counter c = 0; c < USED_COUNTERS; c++) {
        uint64_t whole = is_present(e, used_metrics[c].exit) ? e->value[used_metrics[c].exit] : 0;
        /* The exit of a process that ran before the recording, without its time, counts from there on. */
        uint64_t since = !p->is_within ? whole : is_present(e, EXIT_elapsed) ? excess(whole, p->base[c]) : 0;
        p->used[c] = max_u64(p->used[c], since);
    }
    take_late_children(p, e);
    e->io_in_parent = give_io_to_parent(f, p);
}

/* Its task is not known. That of one that lives may still become known. */
static void count_open(struct task_fold *f, const struct task_process *p, bool has_ended, bool has_cpu)
{
    for (size_t i = 0; i < f->n_tasks; i++) {
        struct task_sums *t = f->task[i];
        if (!p->may[i] && i + 1 != p->otherwise)
            continue;
        *(has_ended ? &t->commands_unread : &t->value[TASK_commands_unread]) += 1;
        *(has_ended ? &t->commands_unread_cpu : &t->value[TASK_commands_unread_cpu]) += p->used[USED_CPU];
        t->commands_unsized += !has_cpu;
    }
}

static void count_exit(struct task_fold *f, const struct task_exit *e)
{
    struct task_process *p = e->of;
    struct task_sums *t = sums_of_process(f, p);
    if (p->is_open)
        count_open(f, p, true, cpu_is_whole(e));
    if (!t)
        return;
    for (enum used_counter c = 0; c < USED_COUNTERS; c++)
        t->ended[c] += task_part(p, c);
    t->cpu_brief += p->used[USED_CPU] + p->base[USED_CPU] < BRIEF_CPU_NS ? task_part(p, USED_CPU) : 0;
    t->gone++;
    t->unread += !cpu_is_whole(e);
    t->io_unread += !e->io_in_parent && (!is_present(e, EXIT_io_rchar) || e->value[EXIT_io_is_lower_bound]);
    t->rss_peak = max_u64(t->rss_peak, is_present(e, EXIT_rss_peak) && !p->is_within ? e->value[EXIT_rss_peak] : 0);
    bool has_tcp = is_present(e, EXIT_tcp_sent);
    t->tcp_known |= has_tcp;
    t->tcp_absent = has_tcp ? t->tcp_absent : e->absent[EXIT_tcp_sent];
    t->tcp_unread += !has_tcp || e->value[EXIT_tcp_is_lower_bound];
    t->tcp[0] += has_tcp ? e->value[EXIT_tcp_sent] : 0;
    t->tcp[1] += has_tcp ? e->value[EXIT_tcp_received] : 0;
    if (p->is_running) /* of one that is known by its exit alone the begin may be the same */
        task_edge_add(f, max_u64(e->t_ns, p->begin_ns + 1), p, -1);
}

void task_exits_take(struct task_fold *f)
{
    for (size_t i = 0; i < f->n_exits; i++)
        take_end(&f->exit[i], f);
    for (size_t i = 0; i < f->n_exits; i++)
        count_exit(f, &f->exit[i]);
    f->n_exits = 0;
}

/* ---- how many at once, and when ---- */

static int by_time(const void *a, const void *b)
{
    const struct task_edge *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return x->change - y->change; /* one that ends as another one begins is not beside it */
}

static void advance(struct task_sums *t, uint64_t t_ns)
{
    t->active_ns += t->running ? excess(t_ns, t->swept_ns) : 0;
    t->swept_ns = max_u64(t->swept_ns, t_ns);
}

/* Of an exit that came after the next sample: what else ran then was counted. Its time counts if nothing did. */
static void sweep_late(struct task_sums *t, const struct task_edge *e)
{
    t->active_ns += t->late > 0 && !t->running ? excess(e->t_ns, t->late_ns) : 0;
    t->late_ns = e->t_ns;
    t->late += e->change; /* negative: the last sample had it */
    t->peak = t->late > 0 ? max_u64(t->peak, (uint64_t)t->late) : t->peak;
}

static void sweep_one(struct task_sums *t, const struct task_edge *e, uint64_t now_ns)
{
    advance(t, min_u64(e->t_ns, now_ns));
    /* An exit may say another control group than the last sample: the process then leaves a task that it did not run
     * in by then. */
    t->running += e->change > 0 || t->running ? (uint64_t)(int64_t)e->change : 0;
    t->peak = max_u64(t->peak, t->running);
}

void task_edges_sweep(struct task_fold *f, uint64_t now_ns)
{
    size_t i = 0;
    if (f->n_edges)
        qsort(f->edge, f->n_edges, sizeof(*f->edge), by_time);
    for (; i < f->n_edges && f->edge[i].t_ns < f->swept_ns; i++)
        sweep_late(f->task[f->edge[i].task - 1], &f->edge[i]);
    for (size_t k = 0; k < f->n_tasks; k++) {
        struct task_sums *t = f->task[k];
        t->active_ns += t->late > 0 && !t->running ? excess(f->swept_ns, t->late_ns) : 0;
        t->running = t->late < 0 ? excess(t->running, (uint64_t)-t->late) : t->running + (uint64_t)t->late;
        t->late = 0;
    }
    for (; i < f->n_edges; i++)
        sweep_one(f->task[f->edge[i].task - 1], &f->edge[i], now_ns);
    for (i = 0; i < f->n_edges; i++) {
        struct task_sums *t = f->task[f->edge[i].task - 1];
        t->end_ns = f->edge[i].change < 0 ? max_u64(t->end_ns, f->edge[i].t_ns) : t->end_ns;
    }
    f->n_edges = 0;
    for (i = 0; i < f->n_tasks; i++) {
        struct task_sums *t = f->task[i];
        advance(t, now_ns);
        t->end_ns = t->running ? now_ns : t->end_ns;
    }
    f->swept_ns = now_ns;
}

/* ---- the living ---- */

/* within: it ran before the stretch that the tape is, so its mark may be from then. */
static void add_gauges(struct task_sums *t, const struct baro_process *row, bool within)
{
    bool ended = row->value[PROCESS_state] == 'Z'; /* stat has 1 thread for a zombie */
    for (size_t i = 0; i < GAUGES; i++) {
        enum process_metric m = gauges[i].process;
        t->value[gauges[i].task] += ended && m == PROCESS_threads ? 0 : row->value[m];
        if (row->absent[m] == BARO_PRESENT)
            t->absent[gauges[i].task] = BARO_PRESENT; /* of at least one; memory_unread counts the others */
        else if (!t->value[gauges[i].task] && t->absent[gauges[i].task] == BARO_ABSENT_NOT_YET)
            t->absent[gauges[i].task] = row->absent[m];
    }
    t->value[TASK_memory_unread] += row->absent[PROCESS_uss] != BARO_PRESENT;
    t->value[TASK_processes_io_unread] += row->absent[PROCESS_io_rchar] != BARO_PRESENT;
    t->value[TASK_processes]++;
    t->uss_peak = max_u64(t->uss_peak, row->value[PROCESS_uss]);
    t->rss_peak = max_u64(t->rss_peak, row->value[within ? PROCESS_rss : PROCESS_rss_peak]);
    t->samples++;
    bool has_tcp = row->absent[PROCESS_tcp_sent] == BARO_PRESENT;
    t->tcp_known |= has_tcp;
    t->tcp_absent = has_tcp ? t->tcp_absent : row->absent[PROCESS_tcp_sent];
    t->value[TASK_processes_tcp_unread] += !has_tcp;
    t->value[TASK_tcp_sent] += row->value[PROCESS_tcp_sent];
    t->value[TASK_tcp_received] += row->value[PROCESS_tcp_received];
}

/* An exit may be there before its process's last row: it waited for the process's sockets to be read once more. */
static void add_rows(struct task_fold *f, const struct baro_sample *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t *at = map_find(&f->by_id, s->processes[i]->id);
        struct task_process *p = at ? f->at[*at] : NULL;
        struct task_sums *t = p && !p->has_ended ? sums_of_process(f, p) : NULL;
        if (t)
            add_gauges(t, s->processes[i], p->is_within);
    }
}

/* Adds the counters of those whose exits have not come, also if they have no row any more. */
static void add_counters(struct task_fold *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct task_process *p = f->at[i];
        struct task_sums *t = sums_of_process(f, p);
        if (p->has_ended)
            continue;
        if (p->is_open)
            count_open(f, p, false, true);
        if (!t)
            continue;
        for (enum used_counter c = 0; c < USED_COUNTERS; c++)
            t->value[used_metrics[c].task] += task_part(p, c);
        if (p->missing && p->is_running)
            task_edge_add(f, f->t_ns, p, -1);
        t->value[TASK_processes_ended] += p->missing > 0;
        t->value[TASK_processes_unread] += p->missing > 1; /* it has left, or its exit is not known */
        t->value[TASK_processes_io_unread] += p->missing > 1;
    }
}

/* ---- values ---- */

static void begin_values(struct task_fold *f)
{
    for (size_t i = 0; i < f->n_tasks; i++) {
        struct task_sums *t = f->task[i];
        memset(t->value, 0, sizeof(t->value));
        memset(t->absent, BARO_PRESENT, sizeof(t->absent));
        for (size_t k = 0; k < GAUGES; k++)
            t->absent[gauges[k].task] = BARO_ABSENT_NOT_YET;
    }
}

/* Keeps sums from falling: a child has ended, and its parent's counter does not have its I/O so far; and the split of
 * an exit is another one than that of samples. Example: 1.0 ms in user mode and 0.4 ms in the kernel were shown, and
 * the exit has 0 and 2 ms: the result is 1.0 and 1.0 ms. */
static void keep_sums(struct task_sums *t)
{
    uint64_t *v = t->value;
    for (enum used_counter c = 0; c < USED_COUNTERS; c++) {
        if (c != USED_USER)
            v[used_metrics[c].task] = t->published[c] = max_u64(t->published[c], v[used_metrics[c].task]);
    }
    uint64_t cpu = v[TASK_cpu], user = min_u64(v[TASK_cpu_user], cpu);
    if (cpu >= t->published[USED_USER] + t->system_published)
        user = max_u64(min_u64(user, cpu - t->system_published), t->published[USED_USER]);
    v[TASK_cpu_user] = t->published[USED_USER] = user;
    v[TASK_cpu_system] = t->system_published = cpu - user;
}

/* Brief lives may have been one after the other, or beside what has rows. Example: 300 ms of them together in a second
 * in which a process of the task was there for 0.2 s: 0.3 s; in one in which it was there for 0.9 s: 0.9 s. */
static void take_brief_time(struct task_sums *t, uint64_t interval_ns)
{
    uint64_t brief_ns = min_u64(t->brief_ns, interval_ns);
    t->active_ns += excess(brief_ns, t->active_ns - t->active_before);
    t->active_before = t->active_ns;
    t->brief_ns = 0;
}

static void finish_tcp(struct task_sums *t)
{
    t->value[TASK_tcp_sent] += t->tcp[0];
    t->value[TASK_tcp_received] += t->tcp[1];
    t->value[TASK_processes_tcp_unread] += t->tcp_unread;
    if (t->tcp_known)
        return;
    uint8_t why = t->tcp_absent ? t->tcp_absent : BARO_ABSENT_NOT_YET;
    t->absent[TASK_tcp_sent] = t->absent[TASK_tcp_received] = t->absent[TASK_processes_tcp_unread] = why;
}

static void finish_values(const struct task_fold *f, struct task_sums *t)
{
    uint64_t *v = t->value;
    for (size_t k = 0; k < GAUGES && !v[TASK_processes]; k++)
        t->absent[gauges[k].task] = BARO_PRESENT; /* the sum of none */
    for (enum used_counter c = 0; c < USED_COUNTERS; c++)
        v[used_metrics[c].task] += t->ended[c];
    keep_sums(t);
    v[TASK_process_rss_peak] = t->rss_peak;
    v[TASK_process_uss_peak] = t->uss_peak;
    v[TASK_processes_peak] = t->peak = max_u64(t->peak, v[TASK_processes]);
    v[TASK_processes_started] = t->started;
    v[TASK_processes_ended] += t->gone;
    v[TASK_processes_unread] += t->unread;
    v[TASK_processes_io_unread] += t->io_unread;
    v[TASK_process_samples] = t->samples;
    v[TASK_active] = t->active_ns;
    v[TASK_cpu_brief] = t->cpu_brief;
    v[TASK_begin] = t->begin_ns;
    v[TASK_end] = t->end_ns;
    if (!t->started)
        t->absent[TASK_begin] = t->absent[TASK_end] = BARO_ABSENT_NOT_YET;
    finish_tcp(t);
    /* Of processes whose task is not known, more than 2 % of what it has used may be its own. */
    v[TASK_commands_unread] += t->commands_unread;
    v[TASK_commands_unread_cpu] += t->commands_unread_cpu;
    if (t->commands_unsized || v[TASK_commands_unread_cpu] > v[TASK_cpu] / 50)
        v[TASK_processes_unread] += v[TASK_commands_unread];
    bool unknown = f->is_unsure || f->is_short;
    t->absent[TASK_commands_unread] = unknown ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    t->absent[TASK_commands_unread_cpu] = unknown || t->commands_unsized ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    t->absent[TASK_exit_code] = t->absent[TASK_exit_signal] = BARO_ABSENT_UNKNOWN;
}

/* What the recorder has summed up stays: all of an old tape; the kernel's count of a control group; how many commands
 * it could not read; how the command of a task has ended. */
static void keep_own_values(struct task_sums *t)
{
    const struct baro_entity *own = &t->entity;
    for (size_t m = 0; own->value && m < TASK_MAX; m++) {
        if (own->absent[m] == TASK_OF_READERS)
            continue;
        t->own[m] = own->value[m];
        t->value[m] = own->value[m] + t->carried[m];
        t->absent[m] = own->absent[m];
    }
    if (own->value && own->absent[TASK_cpu] == BARO_PRESENT && t->is_joined)
        t->value[TASK_processes_unread] += 1; /* what a group used between two recorders is missing */
}

void task_values_make(struct task_fold *f, struct baro_sample *s, uint64_t before_ns)
{
    begin_values(f);
    add_rows(f, s);
    add_counters(f);
    task_edges_sweep(f, s->t_ns);
    for (size_t i = 0; i < f->n_tasks; i++)
        take_brief_time(f->task[i], excess(s->t_ns, before_ns));
    size_t n = 0;
    if (array_reserve(&f->shown, f->n_tasks, &f->cap_shown, sizeof(*f->shown)) < 0)
        f->failed = true;
    for (size_t i = 0; i < f->n_tasks && i < f->cap_shown; i++) {
        struct task_sums *t = f->task[i];
        finish_values(f, t);
        if (!f->rules)
            keep_own_values(t);
        t->entity.value = t->value;
        t->entity.absent = t->absent;
        t->entity.read_ns = s->t_ns;
        if (t->entity.name)
            f->shown[n++] = &t->entity;
    }
    s->entities[KIND_task] = (struct baro_entities){.n = n, .at = f->shown, .read_ns = s->t_ns};
}
