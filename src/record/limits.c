/* SPDX-License-Identifier: Apache-2.0 */
/* Which control groups the job is in, and what it may have. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "collect/limits.h"
#include "record/recorder.h"
#include "run/link.h"
#include "run/own.h"

#define STARTS_WITHIN_MS 1000 /* an exec that takes longer hangs: in the group, as it was to be */

/* The wrapper has what the command has: the recorder has lifted some of its own limits. */
static int32_t whose(const struct recorder *r)
{
    return r->wrapper ? r->wrapper : r->options->n_targets ? r->options->targets[0] : 0;
}

static uint32_t affinity_of(int32_t pid)
{
    cpu_set_t mask[8]; /* 8,192 CPUs: with more it fails, and the text of /proc is taken */
    return sched_getaffinity(pid, sizeof(mask), mask) == 0 ? (uint32_t)CPU_COUNT_S(sizeof(mask), mask) : 0;
}

/* False where it may not be asked. */
static bool ulimits_of(int32_t pid, struct pid_limits *ret)
{
    static const struct {
        enum __rlimit_resource resource;
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

static int find_group(struct recorder *r, struct baro_error *err)
{
    const char *path = r->options->cgroup;
    if (!cgroup_find_path(r->root_fd, path, r->places))
        return error_set(err, -ENOENT, "%s: no such control group; give its path below /sys/fs/cgroup, or as in /proc/PID/cgroup", path);
    for (size_t i = 0; i < r->places->n; i++) {
        if (r->places->at[i].root)
            return error_set(err, -EINVAL, "%s is the root of its hierarchy: all of the machine", path);
    }
    size_t other;
    if (cgroup_agree(r->root_fd, r->places, &other) < 0)
        return error_set(err, -EINVAL, "%s is two groups with different processes: give /%s or /%s", path, r->places->at[0].dir, r->places->at[other].dir);
    return 0;
}

/* Of where the wrapper went to let the command have controllers: what is the job's begins above it. */
static void leave_leaf(struct cgroup_place *p, const struct own_group *own)
{
    const char *name = strrchr(own->leaf, '/');
    size_t n = name ? strlen(name) : 0, dir = strlen(p->dir), path = strlen(p->path);
    if (!n || dir < n || path < n || strcmp(p->dir + dir - n, name) != 0 || strcmp(p->path + path - n, name) != 0)
        return;
    p->dir[dir - n] = 0;
    p->path[path == n ? 1 : path - n] = 0;
}

static bool enter_one(struct cgroup_place *p, const struct own_dir *own)
{
    size_t n = strlen(p->dir), len = strlen(own->path + 1), at = strlen(p->path);
    const char *name = own->path + 1 + n;
    if (strncmp(own->path + 1, p->dir, n) != 0 || *name != '/' || strchr(name + 1, '/') || len >= sizeof(p->dir) || at + len - n >= sizeof(p->path))
        return false;
    memcpy(p->dir, own->path + 1, len + 1);
    memcpy(p->path + (at == 1 ? 0 : at), name, len - n + 1);
    p->root = false;
    return true;
}

/* The command's own group is one below that of the wrapper, in each hierarchy that has a bit. False where that leaves it without what counts CPU time. */
static bool enter_own(struct recorder *r, uint64_t entered)
{
    const struct own_group *own = r->options->own_group;
    struct cgroup_places *all = r->places;
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

/* The wrapper tells where the command is; the head of the tape, which says so, is not written before. */
void limits_settle(struct recorder *r)
{
    struct pollfd in = {.fd = r->link_fd, .events = POLLIN};
    struct link_message l;
    if (!r->places || strcmp(r->header.cgroup_mode, "own") != 0 || poll(&in, 1, STARTS_WITHIN_MS) <= 0)
        return;
    if (recv(r->link_fd, &l, sizeof(l), MSG_PEEK | MSG_DONTWAIT) != sizeof(l) || l.kind != LINK_STARTED)
        return;
    if ((uint64_t)l.number == (UINT64_C(1) << r->options->own_group->n) - 1)
        return;
    cgroup_find(r->root_fd, r->wrapper, r->places);
    if (!enter_own(r, (uint64_t)l.number))
        memcpy(r->header.cgroup_mode, "none", 5);
}

int limits_prepare(struct recorder *r, struct baro_error *err)
{
    struct baro_header *h = &r->header;
    int32_t pid = whose(r);
    if (r->options->host_alone)
        return 0; /* there is no job */
    r->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    r->places = calloc(1, sizeof(*r->places));
    if (r->root_fd < 0 || !r->places)
        return error_set(err, -ENOMEM, "can't open /");
    if (r->options->cgroup) {
        int code = find_group(r, err);
        if (code < 0)
            return code;
    } else {
        cgroup_find(r->root_fd, pid, r->places); /* what can't be found is not there */
    }
    if (enter_own(r, UINT64_MAX))
        memcpy(h->cgroup_mode, "own", 4);
    struct pid_limits ulimits;
    struct limits_place place = {.root_fd = r->root_fd, .pid = pid, .cpus = h->cpus, .memory_total = h->memory_total, .groups = r->places};
    if (!r->options->cgroup)
        place.affinity = affinity_of(pid);
    if (r->wrapper) { /* of our own user */
        place.env = own_env;
        place.uid = getuid();
        place.ulimits = ulimits_of(pid, &ulimits) ? &ulimits : NULL;
    }
    if (r->options->cgroup)
        limits_read_groups(&place, &h->limits);
    else
        limits_read(&place, &h->limits);
    return 0;
}

void limits_close(struct recorder *r)
{
    r->root_fd = fd_close(r->root_fd);
    free(r->places);
    r->places = NULL;
}
