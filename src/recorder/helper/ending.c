/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/helper/ending.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"

/* The longest wait for a killed process. On a busy machine it may get a CPU, which it needs to end, only after 40 ms,
 * and a control group with a quota of CPU time may stop it for 100 ms and more. */
#define ENDS_WITHIN (500 * NS_PER_MS)
#define ASLEEP_MOST (20 * NS_PER_MS) /* in an uninterruptible sleep, which may last for ever */
#define ENDING_CPU (20 * NS_PER_MS)  /* CPU time that it may use meanwhile; with more it is still in a long read */
#define POLL_NS 100000

bool ending_reap(struct ending *e, pid_t pid)
{
    struct rusage u;
    int status;
    pid_t got = wait4(pid, &status, WNOHANG, &u);
    if (got == pid) {
        e->reaped_cpu_ns += (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_SEC;
        e->reaped_cpu_ns += (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
    }
    return got != 0; /* ECHILD: it was reaped elsewhere */
}

void ending_kill(struct ending *e, pid_t pid)
{
    uint64_t cpu_ns = 0;
    clock_process_cpu_ns(pid, &cpu_ns);
    kill(pid, SIGKILL);
    if (ending_reap(e, pid))
        return;
    e->at[e->n].pid = pid;
    e->at[e->n++].cpu_ns = cpu_ns;
}

void ending_reap_all(struct ending *e)
{
    for (size_t i = 0; i < e->n;) {
        if (ending_reap(e, e->at[i].pid))
            e->at[i] = e->at[--e->n];
        else
            i++;
    }
}

uint64_t ending_cpu_ns(const struct ending *e)
{
    uint64_t sum = e->reaped_cpu_ns, one;
    for (size_t i = 0; i < e->n; i++) {
        if (clock_process_cpu_ns(e->at[i].pid, &one) == 0)
            sum += one;
    }
    return sum;
}

/* Returns the state in /proc/PID/stat; 0: the process has ended, or /proc is that of another PID namespace, where the
 * pid is another process's. It reads /proc itself, not the directory from which a helper reads other processes. */
static char process_state(pid_t pid)
{
    char path[32], text[1024];
    struct pid_stat st;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    ssize_t len = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    bool is_child = len > 0 && pid_stat_parse(span_of(text, (size_t)len), &st) == 0 && st.ppid == getpid();
    return is_child ? st.state : 0;
}

/* Does the killed process run, or wait for a CPU? Returns false if it sleeps uninterruptibly, or if it goes on using
 * CPU time: SIGKILL does not interrupt a walk of the page tables of 100 GB. */
static bool is_about_to_end(pid_t pid, uint64_t killed_cpu_ns)
{
    uint64_t cpu_ns;
    char state = process_state(pid);
    if (!state || state == 'D')
        return false;
    return state == 'Z' || clock_process_cpu_ns(pid, &cpu_ns) < 0 || cpu_ns < killed_cpu_ns + ENDING_CPU;
}

static bool any_is_about_to_end(const struct ending *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (is_about_to_end(e->at[i].pid, e->at[i].cpu_ns))
            return true;
    }
    return false;
}

void ending_wait(struct ending *e)
{
    ending_reap_all(e);
    uint64_t begin = clock_monotonic_ns(), last = begin;
    for (uint64_t now = begin; e->n && now < begin + ENDS_WITHIN && now < last + ASLEEP_MOST;
         now = clock_monotonic_ns()) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        ending_reap_all(e);
        if (any_is_about_to_end(e))
            last = clock_monotonic_ns();
    }
}

bool ending_hangs(struct ending_late *late, pid_t pid, uint64_t what, uint64_t most_ns)
{
    uint64_t cpu_ns;
    if (process_state(pid) != 'R' || clock_process_cpu_ns(pid, &cpu_ns) < 0)
        return true;
    if (!late->found || late->what != what)
        *late = (struct ending_late){what, cpu_ns, true};
    return cpu_ns >= late->cpu_ns + most_ns;
}
