/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to the whole job, for limits. All of it is below the wrapper, which adopts what has lost its parent: so the
 * processes are found by lists of children, and each is signalled by its open folder of /proc, after that has shown who
 * its parent is. A pid that is another process's by then is never signalled, and nothing is that is not below the
 * wrapper: neither the group that baro was started in, nor the recorder and its helpers, nor what the process that
 * became baro had started before. The job's members are not used, because a member's pid may have been reused.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "baro/text.h"
#include "base/fd.h"
#include "recorder/loop/recorder.h"
#include "recorder/wrapper/own_cgroup.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define DEPTH_MOST 64 /* below that SIGKILL alone arrives, because what is above ends */
#define PASSES_MOST 50u
#define NAMED_MOST 3u

/* What one pass over the job does. */
struct pass {
    struct recorder *r;
    int signal;       /* 0: none */
    bool is_deep;     /* to all that is below; else only to the wrapper's children */
    struct buf *left; /* NULL: they are not named */
    int depth;
    int32_t parent;
    struct end_job n;
};

static bool is_spared(const struct recorder *r, int32_t pid)
{
    for (size_t i = 0; i < r->wrapper.n_others; i++) {
        if (r->wrapper.other[i] == pid)
            return true;
    }
    return pid <= 1 || sampling_is_own(&r->sampler.sampling, pid);
}

/* May a child of the wrapper be one that was left by what was there before the command? If there was anything, only
 * those count whose fork was reported, or that were found below the command. */
static bool is_stray(const struct recorder *r, int32_t pid, const struct pid_stat *st)
{
    const struct member *m = r->wrapper.n_others ? tree_find(&r->job.tree, pid) : NULL;
    bool is_known = m && m->row.key.start == st->starttime && m->row.origin != BARO_ORIGIN_ADOPTED;
    return r->wrapper.n_others && !is_known;
}

static bool may_be_sent(int folder, int32_t pid, int signal)
{
    int code = (int)syscall(SYS_pidfd_send_signal, folder, signal, NULL, 0u);
    if (code < 0 && (errno == ENOSYS || errno == EBADF)) /* before 5.1 */
        code = kill(pid, signal);
    return code == 0 || errno != EPERM;
}

static void name_left(struct pass *p, int folder, const struct pid_stat *st)
{
    struct stat owner;
    char name[sizeof(st->comm) * 4 + 1];
    if (p->n.alive <= NAMED_MOST) {
        baro_text_escape(st->comm, strlen(st->comm), name, sizeof(name));
        buf_printf(p->left, "%s%s (pid %d, uid %d, %s)", p->n.alive > 1 ? ", " : "", name, st->pid,
                   fstat(folder, &owner) == 0 ? (int)owner.st_uid : -1, end_job_reason(st->pid, st->state));
    } else if (p->n.alive == NAMED_MOST + 1) {
        buf_str(p->left, ", ...");
    }
}

static void visit_children(struct pass *p, int32_t pid);

/* A zombie has no children left, and another thread of one that is no zombie lives on. */
static bool visit(void *context, int32_t pid)
{
    struct pass *p = context;
    struct recorder *r = p->r;
    struct pid_stat st;
    char text[1024];
    int folder = p->depth == 1 && is_spared(r, pid) ? -1 : proc_open(r->proc_fd, pid, ".", O_DIRECTORY);
    ssize_t n = folder < 0 ? -1 : fd_read_file(folder, "stat", text, sizeof(text));
    bool is_of_job = n > 0 && pid_stat_parse(span_of(text, (size_t)n), &st) == 0 && st.ppid == p->parent &&
                     (p->depth > 1 || !is_stray(r, pid, &st)) && !(st.state == 'Z' && st.num_threads <= 1);
    if (is_of_job) {
        const struct member *m = tree_find(&r->job.tree, pid);
        /* Wrapper and recorder of a recording that was begun inside end by themselves when their job has ended: their
         * tape is whole then. */
        bool is_other = m && m->other.is && m->row.key.start == st.starttime && !p->n.hurries;
        p->n.alive++;
        if (p->left)
            name_left(p, folder, &st);
        if (p->signal && !is_other) {
            p->n.refused += !may_be_sent(folder, pid, p->signal);
            if (p->signal != SIGKILL)
                may_be_sent(folder, pid, SIGCONT); /* one that is stopped takes the signal now */
        }
        if (p->is_deep || is_other)
            visit_children(p, pid);
    }
    fd_close(folder);
    return true;
}

static bool visit_if_child(void *context, int32_t pid)
{
    struct pass *p = context;
    struct pid_stat st;
    if (proc_read_stat(p->r->proc_fd, pid, &st) == 0 && st.ppid == p->parent)
        visit(p, pid);
    return true;
}

/* The list of a thread may be longer than the buffer: what is left over is in the next pass. */
static bool visit_thread(void *context, int32_t tid)
{
    struct pass *p = context;
    char path[40], text[8192];
    snprintf(path, sizeof(path), "%d/task/%d/children", (int)p->parent, (int)tid);
    ssize_t n = fd_read_file(p->r->proc_fd, path, text, sizeof(text));
    if (n > 0)
        pid_children_parse(span_of(text, (size_t)n), visit, p);
    p->n.no_lists |= n < 0 && errno == ENOENT && p->parent == p->r->wrapper.pid;
    return true;
}

static void visit_children(struct pass *p, int32_t pid)
{
    int32_t parent = p->parent;
    if (p->depth == DEPTH_MOST)
        return;
    p->parent = pid;
    p->depth++;
    if (!p->n.no_lists)
        proc_each_task(p->r->proc_fd, pid, visit_thread, p);
    if (p->n.no_lists) /* a kernel without CONFIG_PROC_CHILDREN */
        proc_each_process(p->r->proc_fd, visit_if_child, p);
    p->depth--;
    p->parent = parent;
}

/* Without /proc only the command is known; its pid is its own until the wrapper has reported its end. */
static struct end_job signal_command(const struct recorder *r, int signal)
{
    struct end_job n = {.alive = r->wrapper.command && !r->end.status_known};
    n.refused = n.alive && kill(r->wrapper.command, signal) < 0 && errno == EPERM;
    return n;
}

static struct end_job pass(struct recorder *r, int signal, bool is_deep, bool hurries, struct buf *left)
{
    struct pass p = {.r = r, .signal = signal, .is_deep = is_deep, .left = left, .n.hurries = hurries};
    if (r->wrapper.is_lost)
        return p.n;
    if (r->proc_fd < 0)
        return signal_command(r, signal);
    visit_children(&p, r->wrapper.pid);
    return p.n;
}

/* Kills all in the command's own v2 group at once: a process can't fork faster than that. Only in the directory that
 * was made for the command, and not if the job has moved baro there. */
static void kill_group(const struct recorder *r)
{
    const struct own_group *own = r->options->run.own_group;
    char text[4096];
    uint64_t pid;
    if (!own || !own->n || !own->at[0].v2)
        return;
    struct span procs = own_read(own->at[0].path, "cgroup.procs", text, sizeof(text));
    while (scan_u64(&procs, &pid)) {
        if (sampling_is_own(&r->sampler.sampling, (int32_t)pid))
            return;
        scan_char(&procs, '\n');
    }
    own_write(own->at[0].path, "cgroup.kill", "1"); /* 5.14 */
}

struct end_job end_job_signal(struct recorder *r, int signal)
{
    return pass(r, signal, true, false, NULL);
}

/* A list of children may lack one while others end (proc(5)), and a zombie's children are the wrapper's only in the
 * next pass. Example: a pass reads the list [7], 7 is a zombie when its state is read, and its child 9 became the
 * wrapper's in between. So nothing is left only if a second pass, which reads the parent of each process of the
 * machine, finds nothing, too. */
static struct end_job pass_that_is_sure(struct recorder *r, int signal, bool hurries)
{
    struct end_job n = pass(r, signal, false, hurries, NULL);
    if (n.alive || r->wrapper.is_lost || r->proc_fd < 0)
        return n;
    struct pass p = {.r = r, .signal = signal, .n = {.hurries = hurries, .no_lists = true}};
    visit_children(&p, r->wrapper.pid);
    return p.n;
}

bool end_job_lives(struct recorder *r)
{
    return pass_that_is_sure(r, 0, false).alive;
}

/* What is below a process that ends becomes a child of the wrapper, so its children are all that has to be killed,
 * again and again. That is fast enough for chains of processes that live some milliseconds. */
struct end_job end_job_kill(struct recorder *r, bool hurries)
{
    struct end_job n;
    kill_group(r);
    for (unsigned i = 0; i < PASSES_MOST; i++) {
        n = pass_that_is_sure(r, SIGKILL, hurries);
        if (!n.alive || n.alive == n.refused)
            break;
    }
    return n;
}

unsigned end_job_name_left(struct recorder *r, struct buf *ret)
{
    return pass(r, 0, true, false, ret).alive;
}

const char *end_job_reason(int32_t pid, char state)
{
    if (kill(pid, 0) < 0 && errno == EPERM)
        return "of another user: not permitted";
    return state == 'D' ? "hangs in the kernel, state D" : "did not end within 5 s";
}
