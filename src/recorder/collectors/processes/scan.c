/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define RESCAN (5 * NS_PER_SEC)
#define CLOCKS (20 * NS_PER_MS) /* a CPU clock advances at least once per tick of the kernel: 1 to 10 ms */

struct adding {
    struct sampling *sampling;
    struct member *parent;
    enum baro_origin origin;
};

struct member *scan_parent(const struct sampling *g, int32_t ppid)
{
    struct member *m = tree_find(&g->job->tree, ppid);
    uint64_t start = m && m->row.key.start ? proc_read_start(g->options.proc_fd, ppid) : 0;
    return start && start != m->row.key.start ? NULL : m;
}

static bool add_child(void *context, int32_t pid)
{
    struct adding *a = context;
    if (!sampling_is_own(a->sampling, pid))
        job_add(a->sampling->job, pid, a->parent, a->origin, a->sampling->now_ns);
    return true;
}

/* Lists the children of one thread. The list can be larger than any fixed buffer (10,000 children are 60 kB), so it is
 * read in pieces, which are cut at a blank. */
static int children_of_thread(struct sampling *g, int32_t pid, int32_t tid, struct adding *a)
{
    char path[40];
    snprintf(path, sizeof(path), "task/%d/children", (int)tid);
    int fd = proc_open(g->options.proc_fd, pid, path, 0);
    if (fd < 0)
        return fd;
    size_t kept = 0;
    for (;;) {
        ssize_t n = read(fd, g->text + kept, SAMPLING_TEXT - kept);
        if (n <= 0)
            break;
        size_t len = kept + (size_t)n, whole = len;
        while (whole && g->text[whole - 1] != ' ')
            whole--;
        pid_children_parse(span_of(g->text, whole), add_child, a);
        kept = len - whole;
        memmove(g->text, g->text + whole, kept);
    }
    pid_children_parse(span_of(g->text, kept), add_child, a);
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
    children_of_thread(e->a->sampling, e->pid, tid, e->a);
    return true;
}

/* A missing file means that the process is gone, or that the kernel has no such files (CONFIG_PROC_CHILDREN). The file
 * of this process shows which. */
static void check_children_file(struct scan *n)
{
    char path[40];
    int32_t self = n->sampling->options.self[0];
    if (n->children_file_known || !self)
        return;
    n->children_file_known = true;
    snprintf(path, sizeof(path), "task/%d/children", (int)self);
    int fd = proc_open(n->sampling->options.proc_fd, self, path, 0);
    n->no_children_file = fd == -ENOENT;
    if (fd >= 0)
        close(fd);
}

/* If no process was born since the last tick, no member has new children. The last pid is read before children are
 * listed, so a process that is born in between is seen by the next tick. The clock of a parent on another core may
 * advance some milliseconds late: the members that ran are still read in the first tick that comes CLOCKS after the one
 * that saw the birth. */
static void check_births(struct scan *n)
{
    int32_t last = births_last_pid(&n->births);
    bool same = last && last == n->last_pid;
    n->nobody_born = same && n->last_pid_ns >= n->born_ns + CLOCKS;
    n->born_ns = same ? n->born_ns : n->sampling->now_ns;
    n->last_pid_ns = n->sampling->now_ns;
    n->last_pid = last;
}

void scan_init(struct scan *n, struct sampling *sampling)
{
    *n = (struct scan){.sampling = sampling, .threads = {.sampling = sampling}};
    births_init(&n->births, sampling);
}

void scan_done(struct scan *n)
{
    births_done(&n->births);
}

void scan_set_always(struct scan *n, bool always)
{
    n->always = always;
}

void scan_request(struct scan *n)
{
    n->once = true;
}

bool scan_children_of(struct scan *n, struct member *m)
{
    struct adding a = {n->sampling, m, BARO_ORIGIN_SCAN};
    int32_t pid = m->row.key.pid;
    if (m->row.value[PROCESS_threads] > 1) {
        struct each_thread e = {&a, pid};
        uint64_t begin = 0;
        if (!threads_may_read(&n->threads, 0))
            return false;
        clock_process_cpu_ns(0, &begin);
        proc_each_task(n->sampling->options.proc_fd, pid, thread_children, &e);
        threads_were_read(&n->threads, begin);
        return true;
    }
    if (children_of_thread(n->sampling, pid, pid, &a) == -ENOENT)
        check_children_file(n);
    return true;
}

/* Only a process that ran since the last list can have forked since. In state R its clock may be late: the clock of
 * another core advances with the kernel's tick only. */
void scan_member(struct scan *n, struct member *m, bool known, uint64_t clock_ns)
{
    char state = (char)m->row.value[PROCESS_state];
    /* An event source covers this process, so it also reports its children. */
    bool covered =
        m->row.origin == BARO_ORIGIN_EVENT && (m->events.covered || !n->sampling->job->source.covers_members);
    if (!n->sampling->options.children || n->no_children_file || state == 'Z')
        return;
    if (!n->always && !n->once && (known || covered))
        return;
    if (clock_ns && clock_ns == m->scan.scanned_clock_ns && state != 'R')
        return;
    bool up_to_date = n->nobody_born && m->scan.children_listed && !n->once;
    if (!up_to_date)
        m->scan.children_listed = scan_children_of(n, m);
    if (m->scan.children_listed)
        m->scan.scanned_clock_ns = clock_ns;
}

void scan_wrapper(struct scan *n)
{
    int32_t wrapper = n->sampling->job->wrapper.pid;
    struct adding a = {n->sampling, NULL, BARO_ORIGIN_ADOPTED};
    if (wrapper)
        children_of_thread(n->sampling, wrapper, wrapper, &a);
}

/* ---- all of /proc, if the kernel has no children files ---- */

struct found {
    int32_t pid, ppid;
};

struct everything {
    struct sampling *sampling;
    struct found *at;
    size_t n, cap;
};

static bool note_process(void *context, int32_t pid)
{
    struct everything *all = context;
    struct sampling *g = all->sampling;
    struct pid_stat st;
    if (sampling_is_own(g, pid) || tree_find(&g->job->tree, pid))
        return true;
    if (proc_read_stat(g->options.proc_fd, pid, &st) < 0)
        return true;
    if (array_reserve(&all->at, all->n + 1, &all->cap, sizeof(*all->at)) < 0)
        return false;
    all->at[all->n++] = (struct found){pid, st.ppid};
    return true;
}

static void scan_everything(struct sampling *g)
{
    struct everything all = {.sampling = g};
    proc_each_process(g->options.proc_fd, note_process, &all);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all.n; i++) {
            struct member *parent = scan_parent(g, all.at[i].ppid);
            bool adopted = !parent && g->job->wrapper.pid && all.at[i].ppid == g->job->wrapper.pid;
            if (!all.at[i].pid || (!parent && !adopted))
                continue;
            job_add(g->job, all.at[i].pid, parent, adopted ? BARO_ORIGIN_ADOPTED : BARO_ORIGIN_SCAN, g->now_ns);
            all.at[i].pid = 0;
            more = true;
        }
    }
    free(all.at);
}

bool scan_is_requested(const struct scan *n)
{
    return n->once;
}

bool scan_is_due(const struct scan *n, uint64_t now_ns)
{
    return n->once || now_ns >= n->scanned_ns + RESCAN;
}

void scan_begin(struct scan *n)
{
    n->once = scan_is_due(n, n->sampling->now_ns);
    if (!n->always && !n->once)
        return;
    check_births(n);
    scan_wrapper(n);
    if (n->no_children_file && n->sampling->options.children)
        scan_everything(n->sampling);
}

void scan_end(struct scan *n)
{
    if (n->once)
        n->scanned_ns = n->sampling->now_ns;
    n->once = false;
}
