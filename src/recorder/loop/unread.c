/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that ended before the process that selects had read their command. What taskstats reports of the end of a
 * process (its name of 15 bytes, user and CPU time) may show to which task it belonged, or that it can't have belonged
 * to one. Otherwise it may have belonged to a task, and the task counts it, with its CPU time.
 *
 * The kernel reports that before the end itself, which the process that selects has read by now.
 */
#include <string.h>

#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

/* What is known of its end. */
struct end {
    char comm[sizeof(((struct exits_event *)0)->comm)];
    bool has_comm, has_uid, has_cpu;
    uint32_t uid;
    uint64_t cpu_ns, t_ns; /* t_ns: of CLOCK_MONOTONIC; 0: not known */
};

static void count_unread(struct recorder *r, const bool may[TASKS_MOST], const struct end *end)
{
    for (unsigned t = 0; t < r->selection.options.rules->n_tasks; t++) {
        if (may[t])
            job_task_unread(&r->job, t + 1, end->has_cpu ? &end->cpu_ns : NULL);
    }
}

static void judge(struct recorder *r, const struct watch_change *c, const struct end *end)
{
    const struct select_options *o = &r->selection.options;
    const struct known_command command = {
        .comm = end->has_comm ? end->comm : NULL, .has_uid = end->has_uid, .uid = end->uid};
    bool may[TASKS_MOST];
    unsigned task = rules_judge(o->rules, &command, may);
    if (task && (o->under || !end->t_ns)) { /* it is not known whether the program was a descendant of that process */
        may[task - 1] = true;
        task = 0;
    }
    if (!task) {
        count_unread(r, may, end);
        return;
    }
    struct watch_change join = *c;
    join.what = WATCH_JOIN;
    join.task = (uint8_t)task;
    join.end_ns = c->end_ns ? c->end_ns : end->t_ns;
    record_select_change(r, &join);
    recorder_wake(r);
}

/* Did the program end before the recording began? */
static bool is_earlier(const struct recorder *r, const struct watch_change *c)
{
    return c->end_ns && c->end_ns < r->header.start_monotonic_ns;
}

void unread_change(struct recorders *a, const struct recorder *of, const struct watch_change *c)
{
    struct end end = {0};
    event_read(a);
    const struct exits_event *stashed = event_find_stashed(a, c->pid, c->begin_ns);
    if (stashed) {
        const struct exits_event e = *stashed; /* another one may take its place when a process joins */
        end = (struct end){"", e.has_comm, e.uid != UINT32_MAX, true, e.uid, e.cpu_ns, e.t_ns};
        memcpy(end.comm, e.comm, sizeof(end.comm));
    }
    for (struct recorder *r = a->select.first; r; r = r->selection.next) {
        if ((of && of != r) || is_earlier(r, c))
            continue;
        sampler_advance(&r->sampler);
        judge(r, c, &end);
    }
}
