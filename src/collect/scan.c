/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding members without events. Only a process that ran can have forked, so only those that passed the gate are
 * asked, and all their threads: /proc/PID/task/TID/children lists the children of one thread alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "collect/sampler.h"
#include "procfs/machine.h"

#define CLOCKS (20 * NS_PER_MS) /* a CPU clock moves once in a tick of the kernel at least: 1 to 10 ms */

struct adding {
    struct sampler *s;
    struct member *parent;
    enum baro_origin origin;
};

static bool is_self(const struct sampler *s, int32_t pid)
{
    const int32_t *self = s->options.self;
    return pid == self[0] || pid == self[1] || pid == self[2] || (s->slow && pid == helper_pid(s->slow));
}

static bool add_child(void *context, int32_t pid)
{
    struct adding *a = context;
    if (!is_self(a->s, pid))
        job_add(a->s->job, pid, a->parent, a->origin, a->s->now_ns);
    return true;
}

/* One thread's children. The list can outgrow any fixed buffer (10,000 children are 60 kB): read on in pieces, cut at a
 * blank. */
static int children_of_thread(struct sampler *s, int32_t pid, int32_t tid, struct adding *a)
{
    char path[40];
    snprintf(path, sizeof(path), "task/%d/children", (int)tid);
    int fd = proc_open(s->options.proc_fd, pid, path, 0);
    if (fd < 0)
        return fd;
    size_t kept = 0;
    for (;;) {
        ssize_t n = read(fd, s->text + kept, sizeof(s->text) - kept);
        if (n <= 0)
            break;
        size_t len = kept + (size_t)n, whole = len;
        while (whole && s->text[whole - 1] != ' ')
            whole--;
        pid_children_parse(span_of(s->text, whole), add_child, a);
        kept = len - whole;
        memmove(s->text, s->text + whole, kept);
    }
    pid_children_parse(span_of(s->text, kept), add_child, a);
    close(fd);
    return 0;
}

struct each_thread {
    struct adding *a;
    int32_t pid;
};

static bool thread_children(void *context, int32_t tid)
{
    struct each_thread *e = context;
    children_of_thread(e->a->s, e->pid, tid, e->a);
    return true;
}

/* A missing file: the process is gone, or the kernel has none of them (CONFIG_PROC_CHILDREN). One's own tells. */
static void check_children_file(struct sampler *s)
{
    char path[40];
    int32_t self = s->options.self[0];
    if (s->children_file_known || !self)
        return;
    s->children_file_known = true;
    snprintf(path, sizeof(path), "task/%d/children", (int)self);
    int fd = proc_open(s->options.proc_fd, self, path, 0);
    s->no_children_file = fd == -ENOENT;
    if (fd >= 0)
        close(fd);
}

/* The last field is the last pid that was given in this pid namespace, to a process or a thread (fs/proc/loadavg.c).
 * lxcfs shows one of its own making; only the kernel's is of use. */
static int open_last_pid(const struct sampler *s)
{
    struct statfs fs;
    int fd = openat(s->options.proc_fd, "loadavg", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC))
        fd = fd_close(fd);
    return fd;
}

/* Where nobody was born since the last tick, nobody has new children. The pid is read before children are listed, so
 * who is born in between is seen by the next tick. A parent that runs on another core may show that it ran only after
 * some milliseconds: those that ran are still asked with the first tick that comes CLOCKS after the one that saw the
 * birth. */
void scan_begin(struct sampler *s)
{
    struct proc_loadavg l;
    char text[128];
    if (!s->pids_tried)
        s->pids_fd = open_last_pid(s);
    s->pids_tried = true;
    ssize_t n = s->pids_fd >= 0 ? pread(s->pids_fd, text, sizeof(text), 0) : -1;
    bool ok = n > 0 && proc_loadavg_parse(span_of(text, (size_t)n), &l) == 0 && l.last_pid;
    bool same = ok && l.last_pid == s->last_pid;
    s->nobody_born = same && s->pids_ns >= s->born_ns + CLOCKS;
    s->born_ns = same ? s->born_ns : s->now_ns;
    s->pids_ns = s->now_ns;
    s->last_pid = ok ? l.last_pid : 0;
}

bool scan_children_of(struct sampler *s, struct member *m)
{
    struct adding a = {s, m, BARO_ORIGIN_SCAN};
    int32_t pid = m->row.key.pid;
    if (m->row.value[PROCESS_threads] > 1) {
        struct each_thread e = {&a, pid};
        uint64_t begin = 0;
        if (!process_threads_free(s))
            return false;
        clock_process_cpu_ns(0, &begin);
        proc_each_task(s->options.proc_fd, pid, thread_children, &e);
        process_threads_took(s, begin);
        return true;
    }
    if (children_of_thread(s, pid, pid, &a) == -ENOENT)
        check_children_file(s);
    return true;
}

void scan_wrapper(struct sampler *s)
{
    if (!s->job->wrapper.pid)
        return;
    struct adding a = {s, NULL, BARO_ORIGIN_ADOPTED};
    children_of_thread(s, s->job->wrapper.pid, s->job->wrapper.pid, &a);
}

/* ---- the whole of /proc, where the kernel has no children files ---- */

struct found {
    int32_t pid, ppid;
};

struct everything {
    struct sampler *s;
    struct found *at;
    size_t n, cap;
};

static bool note_process(void *context, int32_t pid)
{
    struct everything *all = context;
    struct sampler *s = all->s;
    struct pid_stat st;
    if (is_self(s, pid) || tree_find(&s->job->tree, pid))
        return true;
    ssize_t n = proc_read(s->options.proc_fd, pid, "stat", s->text, 2048);
    if (n <= 0 || pid_stat_parse(span_of(s->text, (size_t)n), &st) != 0)
        return true;
    if (all->n == all->cap) {
        size_t cap = all->cap ? all->cap * 2 : 256;
        struct found *at = realloc(all->at, cap * sizeof(*at));
        if (!at)
            return false;
        all->at = at;
        all->cap = cap;
    }
    all->at[all->n++] = (struct found){pid, st.ppid};
    return true;
}

void scan_everything(struct sampler *s)
{
    struct everything all = {.s = s};
    proc_each_process(s->options.proc_fd, note_process, &all);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all.n; i++) {
            struct member *parent = tree_find(&s->job->tree, all.at[i].ppid);
            bool adopted = !parent && s->job->wrapper.pid && all.at[i].ppid == s->job->wrapper.pid;
            if (!all.at[i].pid || (!parent && !adopted))
                continue;
            job_add(s->job, all.at[i].pid, parent, adopted ? BARO_ORIGIN_ADOPTED : BARO_ORIGIN_SCAN, s->now_ns);
            all.at[i].pid = 0;
            more = true;
        }
    }
    free(all.at);
}
