/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of a job that another recorder has recorded so far. Their sums begin with those of the last sample.
 *
 * Example: a task has 5 s of CPU time in the last sample. One of its processes had 2 s then and has 2.4 s now: its base
 * is 2 s, and the task has 5.4 s. Another one had 1 s, which the 5 s include, and has ended: what it used after the
 * sample is not known, and it counts in processes_unread.
 */
#include <stdlib.h>

#include "recorder/job/counters.h"
#include "recorder/job/task.h"

static uint64_t then_of(const struct baro_entity *e, enum task_metric id)
{
    return e->absent[id] ? 0 : e->value[id];
}

/* Counts the rows of the task in the last sample, and those of them whose I/O and TCP traffic could not be read. The
 * latter are counted again while they are alive. */
static uint64_t count_rows(const struct baro_sample *last, const struct baro_entity *then, uint64_t *ret_io,
                           uint64_t *ret_tcp)
{
    uint64_t n = 0;
    *ret_io = *ret_tcp = 0;
    for (size_t i = 0; i < last->n; i++) {
        const struct baro_process *p = last->processes[i];
        if (p->absent[PROCESS_task] || p->value[PROCESS_task] != then->id)
            continue;
        n++;
        *ret_io += p->absent[PROCESS_io_rchar] != BARO_PRESENT;
        *ret_tcp += p->absent[PROCESS_tcp_sent] != BARO_PRESENT;
    }
    return n;
}

void job_task_resume(struct job *j, unsigned task, const struct baro_sample *last, const struct baro_entity *then)
{
    static const enum task_metric sums[] = {TASK_cpu,      TASK_cpu_user, TASK_run_delay,
                                            TASK_io_read,  TASK_io_write, TASK_io_rchar,
                                            TASK_io_wchar, TASK_tcp_sent, TASK_tcp_received};
    struct job_task *t = &j->tasks[task - 1];
    uint64_t io_unread, tcp_unread, begin = then_of(then, TASK_begin);
    uint64_t rows = count_rows(last, then, &io_unread, &tcp_unread);
    /* Processes without a row have ended. If the end of one had not been reported, what it had used by its end is not
     * known. */
    uint64_t gone = excess(then_of(then, TASK_processes_started), rows);
    uint64_t unreported = excess(gone, then_of(then, TASK_processes_ended));
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
        t->ended[sums[i]] += then_of(then, sums[i]);
    if (then_of(then, TASK_processes_started))
        t->begin_ns = t->started && t->begin_ns < begin ? t->begin_ns : begin;
    t->user_published = then_of(then, TASK_cpu_user);
    t->system_published = then_of(then, TASK_cpu_system);
    t->id_before = then->id;
    if (!then->absent[TASK_exit_signal])
        job_task_status(j, task, (int)(then_of(then, TASK_exit_code) << 8 | then_of(then, TASK_exit_signal)));
    t->started += then_of(then, TASK_processes_started);
    t->gone += gone;
    t->unread += then_of(then, TASK_processes_unread) + unreported;
    t->io_unread += excess(then_of(then, TASK_processes_io_unread), io_unread) + unreported;
    t->tcp_known |= !then->absent[TASK_tcp_sent];
    t->tcp_unread += excess(then_of(then, TASK_processes_tcp_unread), tcp_unread);
    /* traffic of its sockets between the two recorders is not known */
    t->tcp_unread += t->tcp_known && !t->tcp_unread && then_of(then, TASK_processes);
    t->samples += then_of(then, TASK_process_samples);
    t->peak = max_u64(t->peak, then_of(then, TASK_processes_peak));
    t->rss_peak = max_u64(t->rss_peak, then_of(then, TASK_process_rss_peak));
    t->uss_peak = max_u64(t->uss_peak, then_of(then, TASK_process_uss_peak));
    t->active_ns += then_of(then, TASK_active);
    t->until_ns = max_u64(t->until_ns, then_of(then, TASK_end));
    t->commands_unread += then_of(then, TASK_commands_unread);
    t->commands_unread_cpu += then_of(then, TASK_commands_unread_cpu);
    t->commands_unsized += then->absent[TASK_commands_unread_cpu] != BARO_PRESENT;
    t->group_short |= t->is_group && t->unread;
}

unsigned job_task_before(const struct job *j, const struct baro_process *row)
{
    for (size_t k = 0; k < j->n_tasks && !row->absent[PROCESS_task]; k++) {
        if (j->tasks[k].id_before && j->tasks[k].id_before == row->value[PROCESS_task])
            return (unsigned)k + 1;
    }
    return 0;
}

void task_resume_lost(struct job *j, unsigned task)
{
    struct job_task *t = task ? &j->tasks[task - 1] : NULL;
    if (!t)
        return;
    t->gone++;
    t->unread++;
    t->io_unread++;
    t->tcp_unread += t->tcp_known;
}

/* A process was alive between the two recorders, so the task was active then. So far, the time of the task began when
 * the process was found again. */
static void add_time_between(struct job_task *t, uint64_t last_ns)
{
    if (t->living && t->since_ns > last_ns)
        task_add_span(t, last_ns, t->since_ns);
}

void task_resume_member(struct job *j, struct member *m, unsigned then, uint64_t last_ns)
{
    struct job_task *t = m->of_task.number ? &j->tasks[m->of_task.number - 1] : NULL;
    if (then && then == m->of_task.number) {
        free(m->of_task.base);
        m->of_task.base = NULL; /* the account has the base */
        t->started--;
        add_time_between(t, last_ns);
        return;
    }
    task_resume_lost(j, then);
    if (!t)
        return;
    task_set_base(m); /* it may have joined at any time since: it is not known what it has used for the task so far */
    t->unread++;
    t->io_unread++;
}
