/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/job/task.h"

#include <errno.h>
#include <stdlib.h>

#include "recorder/job/counters.h"

#define ANCESTORS_MOST 64

int job_use_tasks(struct job *j, size_t n, bool selects)
{
    j->tasks = calloc(n, sizeof(*j->tasks));
    j->n_tasks = j->tasks ? n : 0;
    j->selected = selects;
    j->open |= selects; /* processes join without an event */
    return j->tasks ? 0 : -ENOMEM;
}

int job_add_task(struct job *j, uint32_t id)
{
    struct job_task *grown = j->n_tasks < JOB_TASKS_MOST ? realloc(j->tasks, (j->n_tasks + 1) * sizeof(*grown)) : NULL;
    if (!grown)
        return -ENOMEM;
    j->tasks = grown;
    grown[j->n_tasks] = (struct job_task){.id = id};
    return (int)++j->n_tasks;
}

static struct job_task *task_of(const struct job *j, const struct member *m)
{
    return m->of_task.number ? &j->tasks[m->of_task.number - 1] : NULL;
}

/* ---- membership ---- */

void job_label(struct member *m, const struct job *j, unsigned task)
{
    m->of_task.number = (uint8_t)task;
    m->row.value[PROCESS_task] = task ? j->tasks[task - 1].id : 0;
    m->row.absent[PROCESS_task] = task ? BARO_PRESENT : BARO_ABSENT_NOT_ASKED;
    member_moved(m);
}

void job_leave(struct member *m)
{
    m->of_task.left = true;
}

void job_task_status(struct job *j, unsigned task, int wait_status)
{
    struct job_task *t = &j->tasks[task - 1];
    t->has_status = true;
    t->wait_status = wait_status;
}

void job_inherit(struct job *j, struct member *m, const struct member *parent)
{
    uint8_t task = parent && parent->of_task.of_children ? parent->of_task.of_children : j->all_task;
    if (!task)
        return;
    m->of_task.of_children = task;
    job_label(m, j, task);
}

void job_task_unread(struct job *j, unsigned task, const uint64_t *cpu_ns)
{
    struct job_task *t = &j->tasks[task - 1];
    t->commands_unread++;
    t->commands_unread_cpu += cpu_ns ? *cpu_ns : 0;
    t->commands_unsized += !cpu_ns;
}

static bool is_started_by(const struct member *m, const struct member *root)
{
    for (int i = 0; m && i < ANCESTORS_MOST; i++) {
        if (m == root || baro_key_equal(m->row.parent, root->row.key))
            return true;
        m = m->links.parent ? m->links.parent : m->account.successor;
    }
    return false;
}

static void label_if_below(const struct job *j, struct member *m, const struct member *root, uint8_t before)
{
    if (!m || m == root || m->of_task.of_children != before || !is_started_by(m, root))
        return;
    m->of_task.of_children = root->of_task.of_children;
    job_label(m, j, root->of_task.of_children);
}

void job_label_below(struct job *j, struct member *root, unsigned task)
{
    uint8_t before = root->of_task.of_children;
    root->of_task.of_children = (uint8_t)task;
    for (size_t i = 0; i < j->tree.n; i++)
        label_if_below(j, j->tree.at[i], root, before);
    for (struct member *m = j->settling.gone; m; m = m->links.list_next)
        label_if_below(j, m, root, before);
}

/* ---- the totals of a job whose members are selected ---- */

static uint64_t user_of(const struct member *m, uint64_t cpu)
{
    return min_u64(since_base(m, BASE_CPU_USER, value(m, PROCESS_cpu_user)), cpu);
}

/* Is its CPU time known up to its end, or until it left? Example of one that is not: without events, a process that had
 * used 30 ms when it was sampled and 60 ms when it ended has 30 ms on the tape. */
static bool cpu_is_whole(const struct member *m)
{
    return m->of_task.left || member_is_final(m) || m->life.cpu_final || member_usage(m)->has_cpu;
}

void task_settle(struct job *j)
{
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        uint64_t cpu = since_base(m, BASE_CPU, own_cpu(m)), user = user_of(m, cpu);
        j->shortfall.io |= j->alone && !io_is_whole(j, m);
        j->shortfall.cpu |= j->alone && !cpu_is_whole(m);
        j->carried[LEDGER_CPU_USER] += user;
        j->carried[LEDGER_CPU_SYSTEM] += cpu - user;
        for (enum ledger_counter c = LEDGER_IO_READ; c < LEDGER_FAULTS_MINOR && !m->account.io_in_parent; c++)
            j->carried[c] += since_base(m, c, reaped_of(m, c));
        for (enum ledger_counter c = LEDGER_FAULTS_MINOR; c < LEDGER_MAX; c++)
            j->carried[c] += own_faults(m, c);
    }
}

/* ---- control groups ---- */

void task_exit(struct job *j, const struct member *m, const struct baro_exit *e)
{
    struct job_task *t = task_of(j, m);
    if (!t || !t->is_group)
        return;
    t->ended_cpu += e->value[EXIT_cpu];
    t->ended_user += min_u64(e->value[EXIT_cpu_user], e->value[EXIT_cpu]);
}

/* The difference is negative if a process was forked in another group: it wraps. Example: the processes have 9 s and
 * the group 10 s, so extra_user and extra_system are 1 s together. */
void job_count_groups(struct job *j)
{
    for (size_t i = 0; i < j->n_tasks; i++) {
        struct job_task *t = &j->tasks[i];
        t->extra_user = t->group_now.known ? t->group_now.user_ns - t->ended_user : 0;
        t->extra_system = t->group_now.known ? t->group_now.system_ns - (t->ended_cpu - t->ended_user) : 0;
    }
    for (size_t i = 0; i < j->tree.n; i++) {
        const struct member *m = j->tree.at[i];
        struct job_task *t = m ? task_of(j, m) : NULL;
        if (!t || !t->group_now.known)
            continue;
        uint64_t cpu = since_base(m, BASE_CPU, own_cpu(m)), user = user_of(m, cpu);
        t->extra_user -= user;
        t->extra_system -= cpu - user;
    }
}
