/* SPDX-License-Identifier: Apache-2.0 */
/* The values of tasks for a sample. */
#include <string.h>
#include <sys/wait.h>

#include "recorder/job/counters.h"
#include "recorder/job/task.h"

static const struct {
    enum task_metric task;
    enum process_metric process;
} gauges[] = {
    {TASK_rss, PROCESS_rss},   {TASK_pss, PROCESS_pss},         {TASK_uss, PROCESS_uss},
    {TASK_swap, PROCESS_swap}, {TASK_threads, PROCESS_threads},
};
#define GAUGES (sizeof(gauges) / sizeof(*gauges))

static void add_cpu(const struct member *m, uint64_t *v)
{
    uint64_t cpu = since_joined(m, BASE_CPU, own_cpu(m));
    v[TASK_cpu] += cpu;
    v[TASK_cpu_user] += task_user_of(m, cpu);
    v[TASK_run_delay] += since_joined(m, BASE_RUN_DELAY, value(m, PROCESS_run_delay));
}

static void add_member(struct job_task *t, const struct member *m, uint64_t *v, uint8_t *absent, uint64_t *known)
{
    add_cpu(m, v);
    for (size_t i = 0; i < TASK_IO; i++)
        v[task_io[i].task] += since_joined(m, task_io[i].base, value(m, task_io[i].process));
    v[TASK_processes_io_unread] += m->row.absent[PROCESS_io_rchar] != BARO_PRESENT;
    task_tcp_live(t, m, v);
    for (size_t i = 0; i < GAUGES; i++) {
        uint8_t why = m->row.absent[gauges[i].process];
        bool ended = gauges[i].process == PROCESS_threads && member_is_zombie(m); /* stat has 1 thread for a zombie */
        v[gauges[i].task] += ended ? 0 : value(m, gauges[i].process);
        if (!why)
            *known |= UINT64_C(1) << gauges[i].task;
        else
            absent[gauges[i].task] = why;
    }
    v[TASK_memory_unread] += m->row.absent[PROCESS_uss] != BARO_PRESENT;
    t->uss_peak = max_u64(t->uss_peak, value(m, PROCESS_uss));
    t->rss_peak = max_u64(t->rss_peak, value(m, PROCESS_rss_peak));
    t->samples++;
}

/* Replaces the sum over processes by the count of the control group. The difference is negative if a process was forked
 * in another group: it wraps. Example: the processes have 9 s and the group 10 s, so extra_user and extra_system are 1
 * s together. */
static void use_group_count(struct job_task *t, uint64_t *v)
{
    uint64_t sum = t->group_now.user_ns + t->group_now.system_ns;
    t->extra_user = t->group_now.user_ns - v[TASK_cpu_user];
    t->extra_system = t->group_now.system_ns - (v[TASK_cpu] - v[TASK_cpu_user]);
    v[TASK_cpu] = sum;
    v[TASK_cpu_user] = t->group_now.user_ns;
}

/* Keeps the sums of I/O from falling. Example: a child had read 100 kB and has ended. Until job_settle() knows whether
 * its parent's counters include them, they are in no sum. */
static void keep_io(struct job_task *t, uint64_t *v)
{
    for (size_t i = 0; i < TASK_IO; i++)
        v[task_io[i].task] = t->io_published[i] = max_u64(t->io_published[i], v[task_io[i].task]);
}

/* Keeps both parts of the CPU time from falling: exits have another split than samples, which have raw ticks. Example:
 * 1.0 ms in user mode and 0.4 ms in the kernel were written, and the exit has 0 and 2 ms: the result is 1.0 and 1.0 ms.
 */
static void keep_split(struct job_task *t, uint64_t *v)
{
    uint64_t cpu = v[TASK_cpu], user = v[TASK_cpu_user];
    if (cpu >= t->user_published + t->system_published) {
        uint64_t most = cpu - t->system_published;
        user = user < t->user_published ? t->user_published : user > most ? most : user;
    }
    v[TASK_cpu_user] = t->user_published = user;
    v[TASK_cpu_system] = t->system_published = cpu - user;
}

/* Example: `baro run --task load -- sh -c 'exit 9'`: exit_code 9, exit_signal 0. */
static void put_status(const struct job_task *t, uint64_t *v, uint8_t *absent)
{
    uint8_t why = t->has_status ? BARO_PRESENT : !t->started || t->living ? BARO_ABSENT_NOT_YET : BARO_ABSENT_UNKNOWN;
    bool is_killed = t->has_status && WIFSIGNALED(t->wait_status);
    v[TASK_exit_code] = t->has_status && !is_killed ? (uint64_t)WEXITSTATUS(t->wait_status) : 0;
    v[TASK_exit_signal] = is_killed ? (uint64_t)WTERMSIG(t->wait_status) : 0;
    absent[TASK_exit_code] = is_killed ? BARO_ABSENT_UNKNOWN : why;
    absent[TASK_exit_signal] = why;
}

static void finish_values(const struct job *j, struct job_task *t, uint64_t now_ns, uint64_t *v, uint8_t *absent,
                          uint64_t known)
{
    for (size_t i = 0; i < GAUGES; i++) {
        if (known >> gauges[i].task & 1)
            absent[gauges[i].task] = BARO_PRESENT; /* for at least one; memory_unread counts the others */
    }
    if (t->group_now.known)
        use_group_count(t, v);
    keep_io(t, v);
    keep_split(t, v);
    v[TASK_process_rss_peak] = t->rss_peak;
    v[TASK_process_uss_peak] = t->uss_peak;
    v[TASK_processes] = t->living;
    t->peak = max_u64(t->peak, t->living);
    v[TASK_processes_peak] = t->peak;
    v[TASK_processes_started] = t->started;
    v[TASK_processes_ended] = t->gone;
    v[TASK_processes_unread] = t->group_now.known ? 0 : t->unread;
    v[TASK_processes_io_unread] += t->io_unread; /* v has the number of living ones */
    v[TASK_commands_unread] = t->commands_unread;
    v[TASK_commands_unread_cpu] = t->commands_unread_cpu;
    bool unknown =
        t->has_rules || j->selected ? j->commands_unknown || t->is_group : !j->source.events || j->source.lossy;
    absent[TASK_commands_unread] = unknown ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    absent[TASK_commands_unread_cpu] = unknown || t->commands_unsized ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    task_tcp_finish(t, v, absent);
    v[TASK_process_samples] = t->samples;
    v[TASK_active] = t->active_ns + (t->living && now_ns > t->since_ns ? now_ns - t->since_ns : 0);
    v[TASK_begin] = t->begin_ns;
    v[TASK_end] = t->living ? now_ns : t->until_ns;
    if (!t->started)
        absent[TASK_begin] = absent[TASK_end] = BARO_ABSENT_NOT_YET;
    put_status(t, v, absent);
}

void job_task_values(struct job *j, uint64_t now_ns, uint64_t (*ret_value)[TASK_MAX], uint8_t (*ret_absent)[TASK_MAX])
{
    uint64_t known[256] = {0};
    for (size_t k = 0; k < j->n_tasks; k++) {
        memcpy(ret_value[k], j->tasks[k].ended, sizeof(*ret_value));
        memset(ret_absent[k], 0, sizeof(*ret_absent));
    }
    for (size_t i = 0; i < j->tree.n; i++) {
        const struct member *m = j->tree.at[i];
        if (m && m->of_task.number)
            add_member(&j->tasks[m->of_task.number - 1], m, ret_value[m->of_task.number - 1],
                       ret_absent[m->of_task.number - 1], &known[m->of_task.number - 1]);
    }
    /* Members that job_settle() held back are in no sum yet. */
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (m->of_task.number && !j->tasks[m->of_task.number - 1].group_now.known)
            add_cpu(m, ret_value[m->of_task.number - 1]);
    }
    for (size_t k = 0; k < j->n_tasks; k++)
        finish_values(j, &j->tasks[k], now_ns, ret_value[k], ret_absent[k], known[k]);
}

void job_task_repeat(struct job *j)
{
    for (size_t i = 0; i < j->tree.n; i++) {
        const struct member *m = j->tree.at[i];
        if (m && m->of_task.number)
            j->tasks[m->of_task.number - 1].samples++;
    }
}
