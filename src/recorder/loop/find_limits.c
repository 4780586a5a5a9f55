/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the control groups of the job, and reads their limits and its own. This is done when the recorder has nothing
 * else to do: while another CPU starts the command, once the command runs, or when the job ends. The command never
 * waits for it. A job may be moved to another group or change its own limits, and the limits of its groups may be
 * changed. Such changes are rare, so everything is read again at long intervals.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/collectors/cgroups/bounds.h"
#include "recorder/collectors/cgroups/limits.h"
#include "recorder/loop/recorder.h"
#include "recorder/wrapper/messages.h"
#include "recorder/wrapper/own_cgroup.h"

#define STARTS_WITHIN_MS 1000 /* an exec that takes longer hangs; the command is then taken to be in its group */
/* When limits are read again: a program that starts a job often moves itself first and then executes it. The wait grows
 * by a factor of four each time (20 ms, 80 ms, ... 20.48 s): a read takes as long as half a sample of 200 processes. */
#define AGAIN_FIRST (20 * NS_PER_MS)
#define AGAIN_TIMES 4u
#define AGAIN_MOST (20480 * NS_PER_MS)
/* Reading the groups' limits may take a thousandth of the time: a kernel may need seconds for one memory.stat. A read
 * of 2 ms is followed by 2 s without one. */
#define BOUNDS_SHARE 1000u

struct limits_watch {
    int places_error;
    struct cgroup_bounds bounds;
    struct baro_limits last;
    bool placed, found;
    bool early;               /* read before the command starts: another CPU is starting it */
    uint64_t due_ns, wait_ns; /* since the tape began */
    uint64_t bounds_due_ns;   /* bounds are not read before that */
    size_t membership_len;
    /* From here on a job that is a control group has only the hierarchies in which it is: trim_places(). */
    struct cgroup_hierarchies places;
    char membership[4096]; /* text of /proc/PID/cgroup when the places were found */
};

/* The process whose limits are the command's: the wrapper, because the recorder has raised some of its own. */
static int32_t limits_pid(const struct recorder *r)
{
    if (r->wrapper.pid)
        return r->wrapper.is_lost ? r->wrapper.command : r->wrapper.pid;
    return r->options->attach.n_targets ? r->options->attach.targets[0] : 0;
}

static uint32_t affinity_of(int32_t pid)
{
    cpu_set_t mask[8]; /* 8,192 CPUs: with more this fails, and the text in /proc is read */
    return sched_getaffinity(pid, sizeof(mask), mask) == 0 ? (uint32_t)CPU_COUNT_S(sizeof(mask), mask) : 0;
}

/* False if prlimit(2) is not permitted. */
static bool ulimits_of(int32_t pid, struct pid_limits *ret)
{
    static const struct {
        int resource;
        enum pid_limit_field field;
    } of[] = {{RLIMIT_AS, PID_LIMIT_AS}, {RLIMIT_DATA, PID_LIMIT_DATA}, {RLIMIT_NPROC, PID_LIMIT_NPROC}};
    *ret = (struct pid_limits){0};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct rlimit limit;
        if (prlimit(pid, of[i].resource, NULL, &limit) < 0)
            return false;
        if (limit.rlim_cur == RLIM_INFINITY)
            continue;
        ret->value[of[i].field] = limit.rlim_cur;
        ret->valid |= 1u << of[i].field;
    }
    return true;
}

static const char *own_env(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

/* ---- which groups ---- */

/* Replaces the wrapper's group by its parent. In v2 the wrapper moved into a leaf so that the command's group can have
 * controllers; the job is above that leaf. */
static void leave_leaf(struct cgroup_location *p, const struct own_group *own)
{
    const char *name = strrchr(own->leaf, '/');
    size_t n = name ? strlen(name) : 0, dir = strlen(p->dir), path = strlen(p->path);
    if (!n || dir < n || path < n || strcmp(p->dir + dir - n, name) != 0 || strcmp(p->path + path - n, name) != 0)
        return;
    p->dir[dir - n] = 0;
    p->path[path == n ? 1 : path - n] = 0;
}

static bool enter_one(struct cgroup_location *p, const struct own_dir *own)
{
    size_t n = strlen(p->dir), len = strlen(own->path + 1), at = strlen(p->path);
    const char *name = own->path + 1 + n;
    if (strncmp(own->path + 1, p->dir, n) != 0 || *name != '/' || strchr(name + 1, '/') || len >= sizeof(p->dir) ||
        at + len - n >= sizeof(p->path))
        return false;
    memcpy(p->dir, own->path + 1, len + 1);
    memcpy(p->path + (at == 1 ? 0 : at), name, len - n + 1);
    p->root = false;
    return true;
}

/* The command's own group is a child of the wrapper's, in each hierarchy whose bit is set. Returns false if the command
 * is not in the group that counts CPU time. */
static bool enter_own(struct recorder *r, uint64_t entered)
{
    const struct own_group *own = r->options->run.own_group;
    struct cgroup_hierarchies *all = r->places;
    bool counted = false;
    for (size_t i = 0; own && i < own->n && (entered & 1); i++) {
        for (size_t k = 0; k < all->n && (entered >> i & 1); k++) {
            if (all->at[k].v2)
                leave_leaf(&all->at[k], own);
            counted |= enter_one(&all->at[k], &own->at[i]) && i == 0;
        }
    }
    return counted;
}

static bool is_group(const struct recorder *r)
{
    return r->options->attach.cgroup || strcmp(r->header.cgroup_mode, "own") == 0;
}

/* /proc/PID/cgroup has the same text as long as the process is in the same groups. */
static void find_places(struct recorder *r, int32_t pid)
{
    struct limits_watch *w = r->limits;
    ssize_t n =
        r->end.finishing ? 0 : proc_read_record(r->proc_fd, pid, "cgroup", w->membership, sizeof(w->membership));
    w->membership_len = n > 0 ? (size_t)n : 0;
    w->places_error = cgroup_find(r->root_fd, pid, &w->places);
    w->placed = true;
}

static bool moved(const struct recorder *r, int32_t pid)
{
    const struct limits_watch *w = r->limits;
    char text[sizeof(w->membership)];
    ssize_t n = is_group(r) ? -1 : proc_read_record(r->proc_fd, pid, "cgroup", text, sizeof(text));
    return n > 0 && ((size_t)n != w->membership_len || memcmp(text, w->membership, (size_t)n) != 0);
}

/* The wrapper reports which groups the command has entered. The tape's header has this, so it is written after that. */
void limits_settle(struct recorder *r)
{
    struct pollfd in = {.fd = r->wrapper.link_fd, .events = POLLIN};
    struct link_message l;
    if (!r->places || strcmp(r->header.cgroup_mode, "own") != 0 || poll(&in, 1, STARTS_WITHIN_MS) <= 0)
        return;
    if (recv(r->wrapper.link_fd, &l, sizeof(l), MSG_PEEK | MSG_DONTWAIT) != sizeof(l) || l.kind != LINK_STARTED)
        return;
    if ((uint64_t)l.number == (UINT64_C(1) << r->options->run.own_group->n) - 1)
        return;
    find_places(r, r->wrapper.pid);
    if (!enter_own(r, (uint64_t)l.number))
        memcpy(r->header.cgroup_mode, "none", 5);
}

/* ---- limits of the groups and of the process ---- */

/* quickly: somebody may be waiting for the end of the recording, so some values are left out. They are read the next
 * time. */
static void read_bounds(struct recorder *r, bool quickly, struct cgroup_bounds *ret)
{
    struct limits_watch *w = r->limits;
    uint64_t from_ns = sampler_now(&r->sampler);
    if (w->places_error)
        return;
    if (quickly)
        cgroup_bounds_read_quickly(r->root_fd, &w->places, ret);
    else
        cgroup_bounds_read(r->root_fd, &w->places, ret);
    uint64_t now_ns = sampler_now(&r->sampler);
    w->bounds_due_ns = quickly && ret->memory.unseen ? now_ns : now_ns + (now_ns - from_ns) * BOUNDS_SHARE;
}

static bool any_gone(const struct recorder *r)
{
    const struct cgroup_hierarchies *p = &r->limits->places;
    for (size_t i = 0; i < p->n; i++) {
        if (faccessat(r->root_fd, p->at[i].dir, F_OK, 0) < 0 && errno == ENOENT)
            return true;
    }
    return false;
}

/* Reads the bounds of the same groups again. If a group was removed, the last bounds are kept. */
static void read_bounds_again(struct recorder *r)
{
    struct limits_watch *w = r->limits;
    struct cgroup_bounds b = w->bounds;
    if (sampler_now(&r->sampler) < w->bounds_due_ns)
        return;
    read_bounds(r, false, &b);
    if (memcmp(&b, &w->bounds, sizeof(b)) != 0 && !any_gone(r))
        w->bounds = b;
}

/* The wrapper has our uid, and so has the command unless it changes that. */
static uint32_t uid_of(const struct recorder *r, int32_t pid)
{
    const struct member *m = r->wrapper.pid ? NULL : tree_find(&r->job.tree, pid);
    return r->wrapper.pid ? getuid() : m ? m->row.uid : UINT32_MAX;
}

static void read_limits(struct recorder *r, int32_t pid, struct baro_limits *ret)
{
    const struct limits_watch *w = r->limits;
    struct pid_limits ulimits;
    struct limits_place p = {.root_fd = r->root_fd,
                             .pid = pid,
                             .cpus = r->header.cpus,
                             .memory_total = r->header.memory_total,
                             .groups = w->places_error ? NULL : &w->places,
                             .groups_error = w->places_error,
                             .bounds = w->places_error ? NULL : &w->bounds};
    if (r->options->attach.cgroup) {
        limits_read_groups(&p, ret);
        return;
    }
    p.affinity = affinity_of(pid);
    p.env = r->wrapper.pid ? own_env : NULL;
    p.uid = uid_of(r, pid);
    p.ulimits = p.uid != UINT32_MAX && ulimits_of(pid, &ulimits) ? &ulimits : NULL;
    limits_read(&p, ret);
}

/* Does a control group limit anything? Most do not, and then a short job need not pay for reading their values. */
static bool any_bound(const struct recorder *r)
{
    const struct cgroup_bounds *b = &r->limits->bounds;
    return !r->limits->places_error && (b->memory.value < r->header.memory_total || b->quota.value != CGROUP_NO_LIMIT ||
                                        b->pids.value != CGROUP_NO_LIMIT);
}

static void report_limits(struct recorder *r, const struct baro_limits *l)
{
    const struct record_observer *o = &r->options->observer;
    uint64_t now = sampler_now(&r->sampler);
    r->limits->last = *l;
    tape_writer_limits(r->writer, l, now);
    if (o->limits)
        o->limits(o->context, l, now);
}

static void delay_read(struct limits_watch *w, uint64_t now_ns)
{
    w->due_ns = now_ns + w->wait_ns;
    w->wait_ns = w->wait_ns * AGAIN_TIMES < AGAIN_MOST ? w->wait_ns * AGAIN_TIMES : AGAIN_MOST;
}

bool limits_wanted(const struct recorder *r)
{
    return r->limits && !r->limits->found && (r->wrapper.started || r->limits->early);
}

void limits_find(struct recorder *r)
{
    struct limits_watch *w = r->limits;
    struct baro_limits l;
    if (!w || w->found)
        return;
    int32_t pid = limits_pid(r);
    if (!w->placed) {
        find_places(r, pid);
        if (r->places)
            sampler_groups_renew(&r->sampler, r->places);
    }
    read_bounds(r, true, &w->bounds);
    read_limits(r, pid, &l);
    w->found = true;
    w->wait_ns = AGAIN_FIRST;
    delay_read(w, sampler_now(&r->sampler));
    report_limits(r, &l);
    if (any_bound(r))
        sampler_groups_early(&r->sampler);
}

/* Returns the member with this pid if it was alive in the tick that has just ended, else NULL. A zombie has no limits
 * any more. */
static const struct member *living(const struct recorder *r, int32_t pid)
{
    const struct member *m = tree_find(&r->job.tree, pid);
    return m && m->reading.stat_was_read && member_state(m) == MEMBER_ALIVE ? m : NULL;
}

/* Is the process with this pid still the same one, and is it not ending? If not, the caller drops what it read by this
 * pid. */
static bool lives(const struct recorder *r, int32_t pid)
{
    const struct member *m = living(r, pid);
    struct pid_stat st;
    return m && proc_read_stat(r->proc_fd, pid, &st) == 0 && !(st.flags & PROC_PF_EXITING) &&
           st.starttime == m->row.key.start;
}

/* Returns whether the process was really moved: a process that is ending is in other groups, too. */
static bool follow_move(struct recorder *r, int32_t pid)
{
    struct limits_watch *w = r->limits, *before = malloc(sizeof(*before));
    bool lived = false;
    if (before) {
        *before = *w;
        find_places(r, pid);
        read_bounds(r, false, &w->bounds);
        lived = lives(r, pid);
        if (!lived)
            *w = *before;
    }
    free(before);
    if (lived && r->places)
        sampler_groups_renew(&r->sampler, r->places);
    return lived;
}

void limits_turn(struct recorder *r)
{
    struct limits_watch *w = r->limits;
    int32_t pid = r->wrapper.pid ? r->wrapper.command : limits_pid(r);
    uint64_t now = sampler_now(&r->sampler);
    struct baro_limits l;
    if (!w || now < w->due_ns || (!r->options->attach.cgroup && !living(r, pid)))
        return;
    if (r->enforce.step != ENFORCE_WATCHES) /* a limit acts: the group's own may be lifted, so that processes can end */
        return;
    delay_read(w, now);
    bool away = moved(r, pid);
    if (away && !follow_move(r, pid))
        return;
    if (!away)
        read_bounds_again(r);
    read_limits(r, pid, &l);
    if (!baro_limits_equal(&l, &w->last) && (r->options->attach.cgroup || lives(r, pid)))
        report_limits(r, &l);
}

/* ---- the beginning and the end ---- */

/* An observer has a thousand jobs, each of which is in one hierarchy of eight where version 2 has all controllers: 2.7
 * kB instead of 23. */
static void trim_places(struct recorder *r)
{
    size_t size = offsetof(struct limits_watch, places.at) + r->places->n * sizeof(*r->places->at);
    struct limits_watch *smaller = realloc(r->limits, size);
    r->limits = smaller ? smaller : r->limits;
    r->places = &r->limits->places;
}

int limits_prepare(struct recorder *r, struct baro_error *err)
{
    const struct own_group *own = r->options->run.own_group;
    if (r->options->attach.host_alone)
        return 0; /* there is no job */
    r->root_fd = r->all->only ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : r->all->root_fd;
    if (r->options->attach.all)
        return r->root_fd < 0 ? error_set(err, -errno, "can't open /") : 0; /* nothing limits all of them */
    r->limits = calloc(1, sizeof(*r->limits));
    if (r->root_fd < 0 || !r->limits)
        return error_set(err, -ENOMEM, "can't open /");
    r->places = &r->limits->places;
    r->limits->early = affinity_of(0) > 1;
    r->header.limits = (struct baro_limits){
        .memory_absent = BARO_ABSENT_NOT_YET, .cores_absent = BARO_ABSENT_NOT_YET, .pids_absent = BARO_ABSENT_NOT_YET};
    if (r->options->attach.cgroup) {
        r->limits->placed = true;
        int code = cgroup_target(r->root_fd, r->options->attach.cgroup, r->places, err);
        if (code == 0)
            trim_places(r);
        return code;
    }
    if (!own || !own->n)
        return 0;
    find_places(r, r->wrapper.pid); /* if this fails, there are no groups */
    if (enter_own(r, UINT64_MAX))
        memcpy(r->header.cgroup_mode, "own", 4);
    return 0;
}

void limits_without_groups(struct recorder *r)
{
    r->places = NULL;
    if (r->wrapper.pid)
        memcpy(r->header.cgroup_mode, "none", 5);
}

bool limits_placed(const struct recorder *r)
{
    return r->limits && r->limits->placed;
}

void limits_close(struct recorder *r)
{
    if (r->all->only)
        fd_close(r->root_fd);
    r->root_fd = -1;
    free(r->limits);
    r->limits = NULL;
    r->places = NULL;
}
