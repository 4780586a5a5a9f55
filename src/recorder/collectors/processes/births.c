/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/births.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/proc/machine.h"

#define PIDS_CHECKED 1024 /* each takes a system call: if there are more, all unknown ones count as missed */
#define PIDS_PER_MS 10u   /* threads that a core can start */
#define UNSEEN_MOST 1000u /* a larger bound is useless */
/* Within this time the children of members are listed twice (CLOCKS in scan.c), and the wrapper has adopted orphans. So
 * a process that has been alive for this long and is no member is not of the job. Until then each such process costs
 * some system calls per tick. */
#define WAIT (200 * NS_PER_MS)

void births_init(struct births *b, struct sampling *sampling)
{
    *b = (struct births){.sampling = sampling, .fd = -1};
}

void births_done(struct births *b)
{
    if (b->sampling)
        b->fd = fd_close(b->fd);
}

/* The file of lxcfs has no such pid, so only that of procfs is used. */
static int open_loadavg(int proc_fd)
{
    struct statfs fs;
    int fd = openat(proc_fd, "loadavg", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC))
        fd = fd_close(fd);
    return fd;
}

int32_t births_last_pid(struct births *b)
{
    struct proc_loadavg l;
    char text[128];
    if (sampling_is_shared(b->sampling))
        return 0; /* a descriptor for each job would be too many */
    if (!b->tried)
        b->fd = open_loadavg(b->sampling->options.proc_fd);
    b->tried = true;
    ssize_t n = b->fd >= 0 ? pread(b->fd, text, sizeof(text), 0) : -1;
    bool ok = n > 0 && proc_loadavg_parse(span_of(text, (size_t)n), &l) == 0 && l.last_pid <= INT32_MAX;
    return ok ? (int32_t)l.last_pid : 0;
}

/* Returns the shortest time, in ms, in which the kernel can give out all pids once; 0: not known. pid_max may be as
 * small as 400 (since Linux 6.14 it may be set for a PID namespace): two cores then need 20 ms. */
static uint64_t round_ms(const struct births *b)
{
    uint64_t max = 0, cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    char text[32];
    ssize_t n = fd_read_file(b->sampling->options.proc_fd, "sys/kernel/pid_max", text, sizeof(text));
    struct span s = span_of(text, n > 0 ? (size_t)n : 0);
    return scan_u64(&s, &max) ? max / PIDS_PER_MS / cores : 0;
}

void births_begin(struct births *b, int32_t pid)
{
    if (!b->sampling->options.children)
        return;
    b->round_ns = round_ms(b) * NS_PER_MS;
    b->last = pid ? pid : births_last_pid(b);
    b->last_ns = sampling_clock_ns(b->sampling);
    b->counting = b->sampling->job->source.unseen_known = b->last > 0;
}

/* ---- what happened to a pid ---- */

static bool is_member(const struct job *j, int32_t pid, uint64_t since_ns)
{
    if (tree_find(&j->tree, pid) || job_was_reported(j, pid, since_ns))
        return true;
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (m->row.key.pid == pid)
            return true;
    }
    return false;
}

static bool is_helper(const struct sampling *g, int32_t pid)
{
    struct pid_stat st;
    return sampling_is_own(g, pid) ||
           (proc_read_stat(g->options.proc_fd, pid, &st) == 0 && st.ppid == g->options.self[0]);
}

/* A clock of the process is found by the pid of its first thread only; getpgid() finds the other threads, too. */
static bool is_process(int32_t pid)
{
    uint64_t clock_ns;
    return clock_process_cpu_ns(pid, &clock_ns) == 0;
}

/* Keeps the pid to check it again: its process is alive, and is no member so far. */
static void wait_for(struct births *b, int32_t pid, uint64_t since_ns)
{
    struct job *j = b->sampling->job;
    if (is_helper(b->sampling, pid))
        return;
    if (b->sampling->now_ns >= since_ns + WAIT && j->adopts)
        return;
    if (b->sampling->now_ns >= since_ns + WAIT || b->n_waiting == BIRTHS_WAITING) {
        j->source.unseen++;
        return;
    }
    b->waiting[b->n_waiting].pid = pid;
    b->waiting[b->n_waiting++].since_ns = since_ns;
}

/* before_ns: a time at which the pid was unused, or its process was alive and no member. */
static void check_pid(struct births *b, int32_t pid, uint64_t before_ns, uint64_t since_ns)
{
    if (is_member(b->sampling->job, pid, before_ns))
        return;
    if (is_process(pid))
        wait_for(b, pid, since_ns);
    else
        b->sampling->job->source.unseen += getpgid(pid) < 0;
}

static void check_waiting(struct births *b)
{
    size_t n = b->n_waiting;
    b->n_waiting = 0;
    for (size_t i = 0; i < n; i++)
        check_pid(b, b->waiting[i].pid, b->last_ns, b->waiting[i].since_ns);
}

void births_check(struct births *b, int32_t last)
{
    struct job *j = b->sampling->job;
    uint64_t now = b->sampling->now_ns; /* before last was read */
    if (!b->counting)
        return;
    if (last < b->last || now - b->last_ns >= b->round_ns) { /* the pids may have been given out once round */
        b->counting = j->source.unseen_known = false;
        return;
    }
    check_waiting(b);
    if (last - b->last > PIDS_CHECKED)
        j->source.unseen += (uint64_t)(last - b->last);
    for (int32_t pid = b->last + 1; last - b->last <= PIDS_CHECKED && pid <= last; pid++)
        check_pid(b, pid, b->last_ns, now);
    b->last = last;
    b->last_ns = now;
    if (j->source.unseen > UNSEEN_MOST)
        b->counting = j->source.unseen_known = false;
    if (j->settling.closing) { /* those that are alive may be of the job nevertheless: as children of a parent that
                                  ended unseen */
        j->source.unseen += b->n_waiting;
        b->n_waiting = 0;
    }
}

bool births_end(struct births *b, int32_t last)
{
    struct job *j = b->sampling->job;
    births_check(b, last);
    b->counting = false;
    j->source.unseen += b->n_waiting;
    b->n_waiting = 0;
    return j->source.unseen_known && !j->source.unseen;
}
