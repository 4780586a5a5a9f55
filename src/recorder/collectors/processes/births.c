/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "recorder/collectors/processes/births.h"
#include "base/fd.h"
#include "base/min_max.h"
#include "base/span.h"
#include "kernel/proc/machine.h"
#include "kernel/proc/procfs.h"
#include "recorder/collectors/processes/members.h"
#include "recorder/collectors/processes/process.h"
#include "recorder/sampling/sampling.h"

/*
 * Notices that a program begins or ends, without a privilege: inotify(7) on the C library that the job's programs use.
 * The loader opens it after each execve(2), and the last reference to that open file, which is the mapping, is dropped
 * in do_exit() shortly before the process is a zombie (exit_mm() and exit_task_work()). The event does not say which
 * process it was. Programs that are linked statically cause none.
 */

#define TRIES 16u /* processes whose mappings are read until one is found that has such a library */

static void library_watch_init(struct library_watch *w)
{
    *w = (struct library_watch){.fd = -1};
}

static void library_watch_done(struct library_watch *w)
{
    w->fd = fd_close(w->fd);
}

/* Is it the path of glibc, or of musl's loader, which is its C library, too? */
static bool is_library(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && (strcmp(name, "/libc.so.6") == 0 || strncmp(name, "/ld-musl-", 9) == 0);
}

/* Cuts the next line off the text of /proc/PID/maps; NULL: it is not whole. */
static const char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (end)
        *end = 0;
    *at = end ? end + 1 : line + strlen(line);
    return end ? line : NULL;
}

/* Is the file that a line maps on a disk, or on what is mounted at the root? A look-up on a file server or in FUSE
 * might never return. The fourth word of a line is the device, "08:01"; devices without a disk have major number 0. */
static bool is_near(const char *line)
{
    struct span s = span_str(line), device = {0};
    struct stat st;
    char root[32];
    for (int i = 0; i < 4; i++) {
        scan_blanks(&s);
        if (!scan_word(&s, &device))
            return false;
    }
    if (device.len < 3 || memcmp(device.at, "00:", 3) != 0)
        return true;
    if (stat("/", &st) < 0)
        return false;
    snprintf(root, sizeof(root), "%02x:%02x", major(st.st_dev), minor(st.st_dev));
    return span_equal(device, root);
}

/* Watches the C library that this process has mapped, if none is watched so far. */
static void library_watch_find(struct library_watch *w, struct sampling *g, int32_t pid)
{
    char path[256];
    ssize_t n = -1;
    if (w->fd >= 0 || w->tries >= TRIES)
        return;
    w->tries++;
    n = proc_read(g->options.proc_fd, pid, "maps", g->text, SAMPLING_TEXT - 1);
    g->text[n > 0 ? n : 0] = 0;
    for (char *at = g->text; *at;) {
        const char *line = next_line(&at), *file = line ? strchr(line, '/') : NULL;
        if (!file || !is_library(file))
            continue;
        if (!is_near(line))
            return;
        /* the job may have another root than we have */
        int len = snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, file);
        w->fd = len < (int)sizeof(path) ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
        if (w->fd >= 0 && inotify_add_watch(w->fd, path, IN_OPEN | IN_CLOSE_NOWRITE) < 0)
            w->fd = fd_close(w->fd);
        return;
    }
}

/* Drops the events that are queued. Returns whether there were any. */
static bool library_watch_drain(const struct library_watch *w)
{
    _Alignas(struct inotify_event) char part[2048];
    ssize_t n = w->fd < 0 ? 0 : read(w->fd, part, sizeof(part)), more = n;
    while (more > (ssize_t)sizeof(part) / 2)
        more = read(w->fd, part, sizeof(part));
    return n > 0;
}

/* Each takes a system call, and a process of another job a read of its stat: if there are more, all unknown ones count
 * as missed. In debt a tick looks at few, so that others that fork without pause cost little. */
#define PIDS_CHECKED 256
#define PIDS_CHECKED_IN_DEBT 48
#define PIDS_PER_MS 10u   /* threads that a core can start */
#define PIDS_RESERVED 300 /* the first pid after the last one is this one (RESERVED_PIDS of Linux) */
#define UNSEEN_MOST 1000u /* a larger bound is useless */
#define PERIOD_LEAST NS_PER_MS
#define PERIOD_MOST (4 * NS_PER_MS)
#define PERIOD_HINTED (16 * NS_PER_MS) /* programs that begin and end are noticed */
#define SETTLE_AT 64u                  /* members that have ended and wait to be accounted */
#define PARTS 3                        /* it may take three quarters of the budget */
#define PAUSE_MOST (200 * NS_PER_MS)
#define STANDS_AFTER (10 * NS_PER_MS) /* the clock of a process on another CPU moves with that one's tick */
#define START_NS ((int64_t)(10 * NS_PER_MS))
#define BURST_NS NS_PER_SEC
/* If no member was found for so long, the timer stops: processes of some milliseconds can't have used much of the job.
 */
#define RARE_AFTER NS_PER_SEC
/* After so many hints in a row that were of other jobs no hint causes a poll, until a member is found. */
#define FOREIGN_MOST 8u

void births_init(struct births *b, struct sampling *sampling)
{
    *b = (struct births){.sampling = sampling, .fd = -1, .period_ns = PERIOD_LEAST, .left_ns = START_NS};
    library_watch_init(&b->library);
}

void births_done(struct births *b)
{
    if (!b->sampling)
        return;
    b->fd = fd_close(b->fd);
    for (size_t i = 0; i < b->n_followed; i++)
        fd_close(b->followed[i].pidfd);
    b->n_followed = 0;
    library_watch_done(&b->library);
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

/* Reads how many pids there are, and the shortest time in which the kernel can give out all of them once. pid_max may
 * be as small as 400 (since Linux 6.14 it may be set for a PID namespace): two cores then need 5 ms. */
static void read_pid_max(struct births *b)
{
    uint64_t max = 0, cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    char text[32];
    ssize_t n = fd_read_file(b->sampling->options.proc_fd, "sys/kernel/pid_max", text, sizeof(text));
    struct span s = span_of(text, n > 0 ? (size_t)n : 0);
    bool ok = scan_u64(&s, &max) && max <= INT32_MAX;
    b->pid_max = ok ? (int32_t)max : 0;
    b->round_ns = ok ? excess(max, PIDS_RESERVED) * NS_PER_MS / PIDS_PER_MS / cores : 0;
}

bool births_begin(struct births *b, int32_t pid)
{
    if (!b->sampling->options.children)
        return false;
    read_pid_max(b);
    b->last = pid ? pid : births_last_pid(b);
    b->last_ns = b->born_ns = sampling_clock_ns(b->sampling);
    b->polling = b->last > 0 && births_last_pid(b) > 0;
    births_rest(b);
    b->counting = b->sampling->job->source.unseen_known = b->sampling->job->source.polled = b->polling;
    b->due_ns = b->polling ? b->last_ns + b->period_ns : 0;
    return b->polling;
}

/* ---- members that are followed ---- */

/* Returns the one that makes room: the oldest whose clock stands still, else the oldest. Example: a program begins 150
 * that sleep, and computes: it is followed all the time. */
static size_t least_needed(const struct births *b)
{
    for (size_t i = 0; i < b->n_followed; i++) {
        const struct member *m = tree_find(&b->sampling->job->tree, b->followed[i].pid);
        if (!m || m->polled.polled_ns > m->polled.ran_ns + STANDS_AFTER)
            return i;
    }
    return 0;
}

static void follow(struct births *b, const struct member *m)
{
    if (b->n_followed == BIRTHS_FOLLOWED) {
        size_t i = least_needed(b);
        fd_close(b->followed[i].pidfd);
        memmove(b->followed + i, b->followed + i + 1, (--b->n_followed - i) * sizeof(*b->followed));
    }
    int fd = b->no_status ? -1 : proc_pidfd(m->row.key.pid);
    b->followed[b->n_followed++] = (struct followed){m->row.key.pid, fd < 0 ? -1 : fd};
}

/* Takes the exit status of a process that has been reaped. Older kernels don't know it: then no more are asked. */
static void take_status(struct births *b, struct member *m, int pidfd)
{
    int status = pidfd < 0 || m->life.status_known ? -1 : proc_exit_status(pidfd);
    b->no_status |= status < -1;
    if (status < 0)
        return;
    m->life.status_known = true;
    m->life.status = status;
}

/* The CPU clock is what is known of the process when it ends: it counts like a report of its end. */
static void note_clock(struct births *b, struct member *m, uint64_t clock_ns)
{
    uint64_t now = b->sampling->now_ns;
    struct member_usage *u = member_make_usage(m);
    m->polled.polled_ns = now;
    if (u->has_cpu && u->cpu_ns == clock_ns)
        return;
    if (!u->has_cpu) /* a process begins with work */
        m->polled.found_ns = max_u64(b->last_ns, excess(now, clock_ns));
    u->has_cpu = true;
    u->source = u->source ? u->source : BARO_EXIT_LAST_SAMPLE;
    u->cpu_ns = max_u64(u->cpu_ns, clock_ns);
    m->polled.ran_ns = now;
    member_moved(m);
}

/* Returns whether the member goes on. */
static bool poll_member(struct processes *p, struct member *m, int pidfd)
{
    uint64_t clock_ns;
    if (process_clock(m, &clock_ns) < 0) {
        take_status(&p->scan.births, m, pidfd);
        if (!members_await_wrapper(p, m))
            members_gone(p, m, p->sampling->now_ns);
        return false;
    }
    note_clock(&p->scan.births, m, clock_ns);
    /* It had its parent's name when it was read. */
    if (m->reading.name_is_parents && p->sampling->now_ns >= m->polled.found_ns + PERIOD_LEAST)
        return members_look(p, m) == 0;
    return true;
}

/* Children come before their parents: a parent that is gone takes them along. */
static void poll_followed(struct processes *p)
{
    struct births *b = &p->scan.births;
    size_t n = 0;
    for (size_t i = b->n_followed; i-- > 0;) {
        struct followed *f = &b->followed[i];
        struct member *m = tree_find(&p->sampling->job->tree, f->pid);
        if (m && !member_is_final(m) && !member_is_reap_pending(m) && poll_member(p, m, f->pidfd))
            continue;
        fd_close(f->pidfd);
        f->pid = 0;
    }
    for (size_t i = 0; i < b->n_followed; i++) {
        if (b->followed[i].pid)
            b->followed[n++] = b->followed[i];
    }
    b->n_followed = n;
}

/* ---- what happened to a pid ---- */

/* Was it a member whose end was noticed before its birth? The wrapper reports orphans when they have ended. */
static bool was_member(const struct job *j, int32_t pid, uint64_t since_ns)
{
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (m->row.key.pid == pid)
            return true;
    }
    return job_was_reported(j, pid, since_ns);
}

/* Adds the process if it is a child of a member, or an orphan that the wrapper has adopted. */
static void add_process(struct processes *p, int32_t pid, uint64_t clock_ns)
{
    struct job *j = p->sampling->job;
    struct pid_stat st;
    if (proc_read_stat(p->sampling->options.proc_fd, pid, &st) < 0) {
        j->source.unseen++;
        return;
    }
    if (j->whole && (st.flags & PROC_PF_KTHREAD))
        return; /* collectors/machine finds it */
    struct member *parent = scan_parent(p->sampling, st.ppid);
    bool adopted = !parent && j->wrapper.pid && st.ppid == j->wrapper.pid;
    if (!parent && !adopted && !j->whole) {
        /* Without a wrapper an orphan of the job has another parent. */
        j->source.unseen += !j->adopts && st.ppid != p->sampling->options.self[0];
        return;
    }
    struct member *m = job_add(j, pid, parent, adopted ? BARO_ORIGIN_ADOPTED : BARO_ORIGIN_SCAN, p->sampling->now_ns);
    if (!m)
        return;
    members_begin(p, m);
    process_begin(p, m, &st, clock_ns);
    note_clock(&p->scan.births, m, clock_ns);
    library_watch_find(&p->scan.births.library, p->sampling, pid);
    follow(&p->scan.births, m);
}

/* A clock of a process is found by the pid of its first thread only; getpgid() finds the other threads, too. */
static void check_pid(struct processes *p, int32_t pid)
{
    struct job *j = p->sampling->job;
    uint64_t clock_ns;
    if (tree_find(&j->tree, pid) || sampling_is_own(p->sampling, pid))
        return;
    if (clock_process_cpu_ns(pid, &clock_ns) == 0)
        add_process(p, pid, clock_ns);
    else
        j->source.unseen += getpgid(pid) < 0 && !was_member(j, pid, p->scan.births.last_ns);
}

/* Checks the pids after `from`, up to `to`; the oldest ones count as missed if there are too many. */
static void check_pids(struct processes *p, int32_t from, int32_t to)
{
    int32_t most = p->scan.births.left_ns < 0 ? PIDS_CHECKED_IN_DEBT : PIDS_CHECKED;
    if (to - from > most) {
        p->sampling->job->source.unseen += (uint64_t)(to - from - most);
        scan_request(&p->scan);
        from = to - most;
    }
    for (int32_t pid = from + 1; pid <= to; pid++)
        check_pid(p, pid);
}

static void check_births(struct processes *p, int32_t last)
{
    struct births *b = &p->scan.births;
    if (last == b->last)
        return;
    if (last < b->last) {
        check_pids(p, b->last, b->pid_max - 1);
        check_pids(p, last < PIDS_RESERVED ? 0 : PIDS_RESERVED - 1, last);
    } else {
        check_pids(p, b->last, last);
    }
}

/* If all pids may have been given out, or many were missed, it is not known how many. */
static void check_count(struct births *b, int32_t last)
{
    struct job *j = b->sampling->job;
    bool is_known = b->sampling->now_ns - b->last_ns < b->round_ns && (last >= b->last || b->pid_max);
    if (!is_known || j->source.unseen > UNSEEN_MOST)
        b->counting = j->source.unseen_known = false;
}

/* ---- polling ---- */

/* Its part of the budget grows with the time since the last poll, up to that of BURST_NS. */
static void pay(struct births *b, uint64_t cost_ns)
{
    const struct budget *all = &b->sampling->account->budget;
    double rate = (double)all->ppm / 1e6 * PARTS / 4;
    int64_t most = (int64_t)(rate * BURST_NS), gained = (int64_t)(rate * (double)(b->sampling->now_ns - b->polled_ns));
    if (b->left_ns < most) /* it begins with more */
        b->left_ns = b->left_ns + gained < most ? b->left_ns + gained : most;
    b->left_ns -= all->ppm ? (int64_t)cost_ns : b->left_ns;
    if (b->left_ns < -(int64_t)(rate * PAUSE_MOST))
        b->left_ns = -(int64_t)(rate * PAUSE_MOST);
    b->polled_ns = b->sampling->now_ns;
}

/* Plans the next poll. hinted: a program has begun or ended. The time between polls without such a hint is halved if a
 * member was found, and doubled if none was. */
static void plan(struct births *b, bool born, bool hinted)
{
    uint64_t now = b->sampling->now_ns, most = b->library.fd < 0 ? PERIOD_MOST : PERIOD_HINTED;
    uint64_t debt = b->left_ns < 0 ? (uint64_t)-b->left_ns : 0;
    uint64_t pause = debt ? budget_pause(&b->sampling->account->budget, debt, 1) * 4 / PARTS : 0;
    pause = min_u64(pause, PAUSE_MOST);
    if (!hinted)
        b->period_ns = born ? max_u64(b->period_ns / 2, PERIOD_LEAST) : min_u64(2 * b->period_ns, most);
    b->born_ns = born ? now : b->born_ns;
    b->due_ns = now < b->born_ns + RARE_AFTER ? now + max_u64(b->period_ns, pause) : 0;
}

void births_poll(struct processes *p)
{
    struct births *b = &p->scan.births;
    struct sampling *g = p->sampling;
    if (!b->polling)
        return;
    int32_t last = births_last_pid(b);
    bool hinted = library_watch_drain(&b->library);
    uint64_t before = g->job->counts.started;
    if (b->counting)
        check_count(b, last);
    size_t followed = b->n_followed;
    poll_followed(p);
    bool ended = b->n_followed < followed;
    check_births(p, last);
    bool born = g->job->counts.started != before;
    b->foreign = born || ended ? 0 : b->foreign + hinted;
    b->last = last;
    b->last_ns = g->now_ns;
    if (g->job->settling.n_gone >= g->job->settling.n_held + SETTLE_AT)
        members_settle(p);
    uint64_t cpu_ns = clock_thread_cpu_ns();
    pay(b, cpu_ns - b->cpu_ns);
    b->cpu_ns = cpu_ns;
    plan(b, born, hinted);
}

void births_rest(struct births *b)
{
    if (b->polling)
        b->cpu_ns = clock_thread_cpu_ns();
}

bool births_listen(const struct births *b)
{
    return b->polling && b->left_ns >= 0 && b->foreign < FOREIGN_MOST;
}

bool births_end(struct processes *p)
{
    struct births *b = &p->scan.births;
    const struct job *j = p->sampling->job;
    births_poll(p);
    b->polling = b->counting = p->sampling->job->source.polled = false;
    b->due_ns = 0;
    library_watch_done(&b->library);
    return j->source.unseen_known && !j->source.unseen;
}
