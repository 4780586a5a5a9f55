/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching to running processes: whether it is permitted, and how the end of a target is noticed. No target is ever
 * signalled. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/loop/recorder.h"

/* PIDFD_GET_INFO exists since 6.13; since 6.15 it returns the exit status of any process, also after it was reaped
 * (include/uapi/linux/pidfd.h). Declared here because the headers of older distributions do not have it. */
struct pidfd_info_v1 {
    __u64 mask, cgroupid;
    __u32 pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    __s32 exit_code;
};
#define PIDFD_GET_INFO_V1 _IOWR(0xFF, 11, struct pidfd_info_v1)
#define PIDFD_INFO_EXIT_BIT (1ull << 3)

#define REAPED_WITHIN_MS 100u
/* A script may move one process after the other into a group. */
#define EMPTY_FOR (100 * NS_PER_MS)
#define GROUP_TAG (UINT64_C(1) << 63) /* no address has this bit */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static int refuse(int32_t pid, int error, struct baro_error *err)
{
    if (error == ENOENT || error == ESRCH)
        return error_set(err, -ESRCH, "no process has the pid %d", pid);
    if (error == EACCES || error == EPERM)
        return error_set(err, -EACCES, "process %d can't be read: a container or a security module forbids it", pid);
    return error_set(err, -error, "can't read process %d: %s", pid, strerror(error));
}

static int refuse_thread(const struct recorder *r, int32_t tid, int32_t pid, struct baro_error *err)
{
    char name[64] = "?";
    ssize_t n = proc_read(r->proc_fd, pid, "comm", name, sizeof(name) - 1);
    name[n > 0 ? (size_t)n : 1] = 0;
    name[strcspn(name, "\n")] = 0;
    return error_set(err, -EINVAL, "PID %d is a thread of process %d (%s); use %spid %d", tid, pid, name,
                     r->options->attach.pinned ? "" : "--", pid);
}

/* A target must be a process (not one of its threads) with an address space. */
static int check_target(struct recorder *r, int32_t pid, struct baro_error *err)
{
    struct pid_status st;
    char text[4096];
    ssize_t n = proc_read(r->proc_fd, pid, "status", text, sizeof(text));
    if (n < 0)
        return refuse(pid, (int)-n, err);
    if (pid_status_parse(span_of(text, (size_t)n), &st) == 0 && (st.valid & 1u << STATUS_TGID) &&
        st.value[STATUS_TGID] != (uint64_t)pid)
        return refuse_thread(r, pid, (int32_t)st.value[STATUS_TGID], err);
    struct pid_stat stat;
    n = proc_read(r->proc_fd, pid, "stat", text, sizeof(text));
    if (n < 0)
        return refuse(pid, (int)-n, err);
    if (pid_stat_parse(span_of(text, (size_t)n), &stat) == 0 && (stat.flags & PROC_PF_KTHREAD))
        return error_set(err, -EINVAL, "process %d is a kernel thread", pid);
    n = proc_read(r->proc_fd, pid, "io", text, sizeof(text));
    if (n == -ESRCH)
        return refuse(pid, (int)-n, err);
    return 0; /* another user's memory and I/O may not be read: these are absent, as they are with --match */
}

int targets_accept(struct recorder *r, struct baro_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < r->options->attach.n_targets; i++)
        code = check_target(r, r->options->attach.targets[i], err);
    return code;
}

static int watch_target(struct recorder *r, size_t i, int32_t pid)
{
    if (!r->all->only)
        return 0; /* an observer needs its descriptors for the files of processes */
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ENOSYS || errno == EMFILE ? 0 : -errno; /* before 5.3 its end is noticed at a tick */
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = UINT64_C(1) << 32 | i};
    if (epoll_ctl(r->all->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0) {
        close(fd);
        return 0;
    }
    r->targets.fd[i] = fd;
    return 0;
}

/* The kernel has the status of a process that was reaped, but the pidfd is readable before that: for a zombie. A parent
 * that waits reaps it within milliseconds, unless the machine is busy. */
static bool read_status(int fd, bool waits, int *ret)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    for (unsigned i = 0; i < (waits ? REAPED_WITHIN_MS : 1); i++) {
        struct pidfd_info_v1 info = {.mask = PIDFD_INFO_EXIT_BIT};
        if (i)
            nanosleep(&pause, NULL);
        if (ioctl(fd, PIDFD_GET_INFO_V1, &info) < 0)
            return false;
        *ret = info.exit_code;
        if (info.mask & PIDFD_INFO_EXIT_BIT)
            return true;
    }
    return false;
}

/* ---- a control group ---- */

uint64_t targets_group_tag(struct recorder *r)
{
    return (uint64_t)(uintptr_t)r | GROUP_TAG;
}

struct recorder *targets_of_tag(uint64_t what)
{
    return what & GROUP_TAG ? (struct recorder *)(uintptr_t)(what - GROUP_TAG) : NULL;
}

/* Watches one living process of the group, mostly the first. Its end wakes the recorder sooner than events, which are
 * read in batches, and takes one descriptor. */
static void watch_one(struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n && r->targets.group_fd < 0; i++) {
        const struct member *m = r->job.tree.at[i];
        if (!m || member_has_ended(m))
            continue;
        struct epoll_event e = {.events = EPOLLIN, .data.u64 = targets_group_tag(r)};
        r->targets.from_elsewhere = !m->links.parent;
        r->targets.watched_pid = m->row.key.pid;
        r->targets.watched_id = m->row.id;
        r->targets.group_fd = (int)syscall(SYS_pidfd_open, m->row.key.pid, 0);
        if (r->targets.group_fd < 0)
            return;
        if (epoll_ctl(r->all->epoll_fd, EPOLL_CTL_ADD, r->targets.group_fd, &e) < 0)
            r->targets.group_fd = fd_close(r->targets.group_fd);
        return;
    }
}

bool targets_check_empty(struct recorder *r)
{
    if (!r->options->attach.cgroup || !r->wrapper.started || r->end.finishing)
        return false;
    if (tree_count(&r->job.tree) > r->job.counts.ended_members) {
        r->targets.empty_ns = 0;
        watch_one(r);
        return false;
    }
    if (r->targets.empty_ns)
        return false;
    sampler_groups_read_end(&r->sampler);
    r->targets.empty_ns = sampler_now(&r->sampler);
    uint64_t due_ns = r->targets.empty_ns + EMPTY_FOR + r->header.start_monotonic_ns;
    r->all->empty_due_ns = due_ns < r->all->empty_due_ns ? due_ns : r->all->empty_due_ns;
    if (r->pace.tick_due_ns <= r->targets.empty_ns + EMPTY_FOR)
        return false;
    r->pace.tick_due_ns = r->targets.empty_ns + EMPTY_FOR;
    return true;
}

void targets_group_ended(struct recorder *r)
{
    sampler_groups_read_end(&r->sampler);
    epoll_ctl(r->all->epoll_fd, EPOLL_CTL_DEL, r->targets.group_fd, NULL);
    fd_close(r->targets.last_fd);
    r->targets.last_fd = r->targets.from_elsewhere ? r->targets.group_fd : fd_close(r->targets.group_fd);
    r->targets.group_fd = -1;
    struct member *m = r->job.source.events ? NULL : tree_find(&r->job.tree, r->targets.watched_pid);
    if (m && m->row.id == r->targets.watched_id) {
        job_ended(&r->job, m, sampler_tick_ns(&r->sampler));
        if (sampler_read_member(&r->sampler, m) == 0)
            member_wake(m);
    }
    if (!r->job.source.events)
        r->pace.tick_due_ns = sampler_now(&r->sampler);
    event_drain(r->all);
    if (targets_check_empty(r) || !r->job.source.events)
        recorder_place(r);
}

void targets_note_exit(struct recorder *r, const struct baro_exit *e)
{
    if (!r->options->attach.cgroup || e->origin == BARO_ORIGIN_EVENT || tree_find(&r->job.tree, e->parent.pid))
        return;
    r->targets.status_known = e->status_known;
    r->targets.status = e->status;
}

void targets_finish(struct recorder *r)
{
    if (!r->targets.empty_ns || r->end.detached || r->end.leaves)
        return;
    if (!r->targets.status_known && r->targets.last_fd >= 0)
        r->targets.status_known = read_status(r->targets.last_fd, false, &r->targets.status);
    r->end.status_known = r->targets.status_known;
    r->end.status = r->targets.status;
    r->end.t_ns = r->job.group.ended_ns ? r->job.group.ended_ns : r->targets.empty_ns;
}

/* Makes all processes in a control group members. */
static int open_group(struct recorder *r, struct baro_error *err)
{
    const char *path = r->options->attach.cgroup;
    sampler_advance(&r->sampler);
    int code = sampler_groups_begin(&r->sampler, &r->places->at[0], true);
    if (code == -EMFILE)
        return error_set(err, code, "%s: no descriptor is left (ulimit -n)", path);
    if (code < 0)
        return error_set(err, -ENOENT, "%s: the control group was removed", path);
    sampler_group_base(&r->sampler, &r->header.group_user_ns, &r->header.group_system_ns);
    uint64_t before_ns;
    bool counts = sampler_group_counts(&r->sampler, &before_ns); /* else CPU time is the sum over members */
    snprintf(r->header.cgroup_mode, sizeof(r->header.cgroup_mode), "%s", counts ? "target" : "members");
    if (!sampler_groups_find_members(&r->sampler))
        return error_set(err, -ESRCH, "%s: no process is in this control group", path);
    watch_one(r);
    return 0;
}

struct member *targets_add(struct recorder *r, int32_t pid, struct baro_error *err)
{
    if (pid == getpid())
        error_set(err, -EINVAL, "process %d is this recorder", pid);
    else if (check_target(r, pid, err) == 0)
        return sampler_add_target(&r->sampler, pid, err);
    return NULL;
}

static int open_machine(struct recorder *r, struct baro_error *err)
{
    sampler_advance(&r->sampler);
    if (r->all->events.forks && !r->all->events.usage_tried)
        event_open_usage(r);                             /* processes end from now on */
    collectors_prepare(&r->sampler.sampling.collectors); /* helpers are forks: before there are thousands of members */
    if (machine_begin(&r->sampler.machine) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    if (!r->sampler.machine.counts)
        snprintf(r->header.cgroup_mode, sizeof(r->header.cgroup_mode), "visible");
    return 0;
}

int targets_open(struct recorder *r, struct baro_error *err)
{
    const struct record_options *o = r->options;
    if (o->attach.all)
        return open_machine(r, err);
    if (o->attach.cgroup)
        return open_group(r, err);
    if (o->attach.n_targets > TARGETS_MAX)
        return error_set(err, BARO_E_RANGE, "%zu targets, at most %u", o->attach.n_targets, TARGETS_MAX);
    for (size_t i = 0; i < TARGETS_MAX; i++)
        r->targets.fd[i] = -1;
    for (size_t i = 0; i < o->attach.n_targets; i++) {
        int32_t pid = o->attach.targets[i];
        if (pid == getpid())
            return error_set(err, -EINVAL, "process %d is this recorder", pid);
        int refused = watch_target(r, i, pid), code = check_target(r, pid, err); /* which knows threads */
        if (code == 0 && refused)
            code = refuse(pid, -refused, err);
        if (code < 0)
            return code;
        const struct member *m = sampler_add_target(&r->sampler, pid, err);
        if (!m)
            return err ? err->code : -ESRCH;
        r->targets.key[i] = m->row.key;
    }
    return 0;
}

static void take_status(struct recorder *r, struct member *m, int status, bool first)
{
    if (m) {
        m->life.status_known = true;
        m->life.status = status;
    }
    if (first) {
        r->end.status_known = true;
        r->end.status = status;
    }
}

static struct member *target_of(const struct recorder *r, size_t i)
{
    struct member *m = tree_find(&r->job.tree, r->options->attach.targets[i]);
    return m && m->is_target && baro_key_equal(m->row.key, r->targets.key[i]) ? m : NULL;
}

/* The member is no target any more: the recording does not wait for its end. */
static void end_target(struct recorder *r, struct member *m)
{
    job_set_target(&r->job, m, false);
    /* Its parent may reap it at any time, or never. The kernel then adds what it used to the parent's counters, which
     * matters here only if the parent is a member. */
    if (!m->links.parent)
        sampler_gone(&r->sampler, m, m->life.end_ns);
}

/* The pidfd became readable: the target is a zombie or was reaped already. */
void targets_ended(struct recorder *r, size_t i)
{
    struct member *m = target_of(r, i);
    int fd = r->targets.fd[i], status;
    if (m) {
        job_ended(&r->job, m, sampler_now(&r->sampler));
        if (sampler_read_member(&r->sampler, m) == 0)
            member_wake(m);
    }
    if (m && m->life.status_known)
        take_status(r, m, m->life.status, i == 0);
    else if (read_status(fd, i == 0 || r->job.counts.targets <= 1, &status))
        take_status(r, m, status, i == 0);
    if (m && !member_is_gone(m))
        end_target(r, m);
    epoll_ctl(r->all->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    r->targets.fd[i] = fd_close(fd);
}

/* The recording of a group ends when the group was removed or when only zombies are left in it and below it, for
 * EMPTY_FOR. */
static void check_group(struct recorder *r)
{
    targets_check_empty(r);
    uint64_t until = r->targets.empty_ns + EMPTY_FOR;
    if (!r->targets.empty_ns)
        return;
    sampler_advance(&r->sampler);
    sampler_groups_find_members(&r->sampler);
    if (tree_count(&r->job.tree) > r->job.counts.ended_members)
        r->targets.empty_ns = 0;
    else if (sampler_tick_ns(&r->sampler) >= until)
        r->end.finishing = true;
    else
        r->pace.tick_due_ns = until;
}

/* Before 5.3 there is no pidfd: a zombie is noticed at a tick. */
void targets_check(struct recorder *r)
{
    if (r->options->attach.cgroup)
        check_group(r);
    for (size_t i = 0; i < r->options->attach.n_targets && r->job.counts.targets; i++) {
        struct member *m = r->targets.fd[i] < 0 ? target_of(r, i) : NULL;
        if (m && member_has_ended(m))
            end_target(r, m);
    }
}

void targets_close(struct recorder *r)
{
    for (size_t i = 0; i < r->options->attach.n_targets && i < TARGETS_MAX; i++)
        r->targets.fd[i] = fd_close(r->targets.fd[i]);
    /* A helper may have a copy of the descriptor, with which the event would outlive the recorder. */
    if (r->targets.group_fd >= 0)
        epoll_ctl(r->all->epoll_fd, EPOLL_CTL_DEL, r->targets.group_fd, NULL);
    r->targets.group_fd = fd_close(r->targets.group_fd);
    r->targets.last_fd = fd_close(r->targets.last_fd);
}
