/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/machine/kernel_threads.h"

#include <stdlib.h>

#include "base/array.h"
#include "recorder/job/member_values.h"

static bool is_kernel_thread(const struct sampling *g, int32_t pid, struct pid_stat *ret)
{
    return proc_read_stat(g->options.proc_fd, pid, ret) == 0 && (ret->flags & PROC_PF_KTHREAD);
}

void kernel_threads_init(struct kernel_threads *k, struct sampling *sampling)
{
    struct pid_stat st;
    *k = (struct kernel_threads){.sampling = sampling};
    struct member *m = is_kernel_thread(sampling, KTHREADD, &st)
                           ? job_add(sampling->job, KTHREADD, NULL, BARO_ORIGIN_SCAN, sampling->now_ns)
                           : NULL;
    if (!m)
        return;
    k->row = m;
    m->is_kernel = m->reading.stat_was_read = m->reading.sampled = true;
    m->row.key.start = st.starttime;
    m->row.uid = 0;
    member_set_name(m, "kernel threads");
    m->row.cmdline_absent = BARO_ABSENT_UNSUPPORTED;
    for (int i = 0; i < PROCESS_MAX; i++)
        member_set_absent(m, i, i == PROCESS_task ? BARO_ABSENT_NOT_ASKED : BARO_ABSENT_UNSUPPORTED);
    member_set_value(m, PROCESS_state, 'S');
    member_set_value(m, PROCESS_rss, 0);
    member_set_value(m, PROCESS_cpu_user, 0);
    kernel_threads_born(k, KTHREADD);
}

void kernel_threads_born(struct kernel_threads *k, int32_t pid)
{
    uint64_t clock_ns;
    if (!k->row || map_find(&k->by_pid, (uint64_t)pid) || clock_process_cpu_ns(pid, &clock_ns) < 0 ||
        array_reserve(&k->at, k->n + 1, &k->cap, sizeof(*k->at)) < 0 || !map_add(&k->by_pid, (uint64_t)pid, 1))
        return;
    k->at[k->n++] = (struct kernel_thread){pid, clock_ns};
    k->cpu_ns += clock_ns;
}

bool kernel_threads_take(struct kernel_threads *k, int32_t pid)
{
    struct pid_stat st;
    if (!k->row)
        return false;
    if (map_find(&k->by_pid, (uint64_t)pid))
        return true;
    if (!is_kernel_thread(k->sampling, pid, &st))
        return false;
    kernel_threads_born(k, pid);
    return true;
}

/* Removes those that have ended, whose pids may be given to processes. */
static void rebuild(struct kernel_threads *k, size_t n)
{
    k->n = n;
    map_clear(&k->by_pid);
    for (size_t i = 0; i < n; i++)
        map_add(&k->by_pid, (uint64_t)k->at[i].pid, 1); /* there is room */
}

void kernel_threads_read(struct kernel_threads *k)
{
    size_t n = 0;
    if (!k->row)
        return;
    for (size_t i = 0; i < k->n; i++) {
        struct kernel_thread t = k->at[i];
        uint64_t now_ns;
        if (clock_process_cpu_ns(t.pid, &now_ns) < 0 || now_ns < t.clock_ns ||
            (t.pid != KTHREADD && tree_find(&k->sampling->job->tree, t.pid)))
            continue;
        k->cpu_ns += now_ns - t.clock_ns;
        k->at[n++] = (struct kernel_thread){t.pid, now_ns};
    }
    if (n < k->n)
        rebuild(k, n);
    member_set_value(k->row, PROCESS_cpu, k->cpu_ns);
    member_set_value(k->row, PROCESS_cpu_system, k->cpu_ns);
    member_set_value(k->row, PROCESS_threads, k->n);
    k->row->row.read_ns = k->sampling->now_ns;
    member_moved(k->row);
}

void kernel_threads_done(struct kernel_threads *k)
{
    map_done(&k->by_pid);
    free(k->at);
    *k = (struct kernel_threads){0};
}
