/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that the sockets of a task's processes have sent and received. The reader of sockets leaves out, for each
 * socket, the bytes from before the recording attached. So this file leaves out only what a process sent and received
 * before it joined the task. */
#include "recorder/job/counters.h"
#include "recorder/job/task.h"

static const struct {
    enum task_metric task;
    enum exit_metric exit;
    enum process_metric process;
    enum base_counter base;
} tcp[] = {
    {TASK_tcp_sent, EXIT_tcp_sent, PROCESS_tcp_sent, BASE_TCP_SENT},
    {TASK_tcp_received, EXIT_tcp_received, PROCESS_tcp_received, BASE_TCP_RECEIVED},
};
#define TCP (sizeof(tcp) / sizeof(*tcp))

static void note_tcp(struct job_task *t, uint8_t absent)
{
    t->tcp_known = t->tcp_known || absent == BARO_PRESENT;
    t->tcp_absent = absent;
}

void task_tcp_base(struct member *m)
{
    for (size_t i = 0; i < TCP; i++)
        m->of_task.base[tcp[i].base] = value(m, tcp[i].process);
}

void task_tcp_add(const struct member *m, uint64_t *v)
{
    for (size_t i = 0; i < TCP; i++)
        v[tcp[i].task] += since_joined(m, tcp[i].base, value(m, tcp[i].process));
}

void task_tcp_live(struct job_task *t, const struct member *m, uint64_t *v)
{
    task_tcp_add(m, v);
    v[TASK_processes_tcp_unread] += m->row.absent[PROCESS_tcp_sent] != BARO_PRESENT || m->tcp.is_short;
    note_tcp(t, m->row.absent[PROCESS_tcp_sent]);
}

void task_tcp_exit(struct job_task *t, const struct member *m, const struct baro_exit *e)
{
    t->tcp_unread += e->absent[EXIT_tcp_sent] || (!m->of_task.left && tcp_is_bound(m));
    task_tcp_add(m, t->ended);
    note_tcp(t, e->absent[EXIT_tcp_sent]);
}

void task_tcp_label(struct job_task *t, const struct baro_exit *e)
{
    t->tcp_unread += e->absent[EXIT_tcp_sent] || e->value[EXIT_tcp_is_lower_bound];
    for (size_t i = 0; i < TCP; i++)
        t->ended[tcp[i].task] += e->value[tcp[i].exit];
    note_tcp(t, e->absent[EXIT_tcp_sent]);
}

void task_late(struct job *j, const struct member *m, const struct baro_exit *e)
{
    struct job_task *t = m->of_task.number ? &j->tasks[m->of_task.number - 1] : NULL;
    if (!t)
        return;
    t->tcp_unread -= !tcp_is_bound(m);
    for (size_t i = 0; i < TCP; i++)
        t->ended[tcp[i].task] += value(m, tcp[i].process) - e->value[tcp[i].exit];
}

void task_tcp_finish(const struct job_task *t, uint64_t *v, uint8_t *absent)
{
    static const enum task_metric ids[] = {TASK_tcp_sent, TASK_tcp_received, TASK_processes_tcp_unread};
    uint8_t why = t->tcp_known ? BARO_PRESENT : t->tcp_absent ? t->tcp_absent : BARO_ABSENT_NOT_YET;
    v[TASK_processes_tcp_unread] += t->tcp_unread;
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        absent[ids[i]] = why;
}
