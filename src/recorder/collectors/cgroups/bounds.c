/* SPDX-License-Identifier: Apache-2.0 */
/* The limit that binds is the tightest of the group and its ancestors: a pod has a limit above those of its containers,
 * a user's slice above that of a session. */
#include "recorder/collectors/cgroups/bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "recorder/redact/redact.h"

/* source becomes "cgroup /a/b memory.max"; if the path is too long, its end is kept, which says most. */
static void tighten(struct cgroup_bound *b, uint64_t value, const char *path, const char *file)
{
    if (value >= b->value)
        return;
    char name[CGROUP_DIR_MAX];
    redact_name_to(path, name, sizeof(name)); /* before it is cut: half a secret would not be recognised */
    path = name;
    size_t room = sizeof(b->source) - sizeof("cgroup ... ") - strlen(file), len = strlen(path);
    bool cut = len > room;
    b->value = value;
    snprintf(b->source, sizeof(b->source), "cgroup %s%.*s %s", cut ? "..." : "", (int)room,
             path + (cut ? len - room : 0), file);
}

/* A file that does not exist is no limit: the controller is not enabled at this level. */
static void note_error(struct cgroup_bound *b, int code)
{
    if (code < 0 && code != -ENOENT && !b->unseen)
        b->unseen = code;
}

static void tighten_by(struct cgroup_bound *b, int dir_fd, const char *path, const char *file)
{
    uint64_t v;
    int code = cgroup_read_value(dir_fd, file, &v);
    if (code == 0)
        tighten(b, v, path, file);
    note_error(b, code);
}

static bool memory_v2(void *context, int dir_fd, const char *dir, const char *path)
{
    (void)dir;
    tighten_by(context, dir_fd, path, "memory.max");
    tighten_by(context, dir_fd, path, "memory.high"); /* above it, processes are throttled until they are below again */
    return true;
}

struct chain {
    struct cgroup_bound *bound;
    bool above;
};

static bool memory_v1(void *context, int dir_fd, const char *dir, const char *path)
{
    struct chain *c = context;
    (void)dir;
    if (c->above && cgroup_memory_alone(dir_fd))
        return false; /* its limit, and those of its ancestors, do not apply to groups below */
    c->above = true;
    tighten_by(c->bound, dir_fd, path, "memory.limit_in_bytes");
    return true;
}

/* Is the root of the hierarchy mounted here, so that all ancestors are visible? */
static bool sees_root(int root_fd, const struct cgroup_location *p)
{
    char path[CGROUP_DIR_MAX + 32];
    if (p->root || p->whole)
        return true;
    snprintf(path, sizeof(path), "%.*s/%s", (int)p->mount_len, p->dir, p->v2 ? "cgroup.events" : "release_agent");
    return (faccessat(root_fd, path, F_OK, 0) == 0) != p->v2;
}

/* v1's memory.stat includes ancestors above the mount. It is read only if there are some: with many removed groups
 * below, the kernel takes seconds to write memory.stat. */
static void memory_hierarchical(int root_fd, const struct cgroup_location *p, struct cgroup_bound *b)
{
    char text[8192];
    struct cgroup_memory m;
    int fd = sees_root(root_fd, p) ? -1 : openat(root_fd, p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_file(fd, "memory.stat", text, sizeof(text));
    fd_close(fd);
    if (n <= 0 || cgroup_memory_stat_parse(span_of(text, (size_t)n), true, &m) < 0 ||
        !(m.valid & 1u << CGMEM_HIERARCHICAL_LIMIT))
        return;
    tighten(b, m.value[CGMEM_HIERARCHICAL_LIMIT], p->path, "hierarchical_memory_limit");
    b->unseen = 0; /* this includes all ancestors */
}

static bool quota_of(struct cgroup_bound *b, int dir_fd, bool v2, const char *path)
{
    uint64_t v;
    int code = cgroup_read_quota(dir_fd, v2, &v);
    if (code == 0)
        tighten(b, v, path, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    note_error(b, code);
    return true;
}

static bool quota_v2(void *context, int dir_fd, const char *dir, const char *path)
{
    (void)dir;
    return quota_of(context, dir_fd, true, path);
}

static bool quota_v1(void *context, int dir_fd, const char *dir, const char *path)
{
    (void)dir;
    return quota_of(context, dir_fd, false, path);
}

static bool pids_of(void *context, int dir_fd, const char *dir, const char *path)
{
    (void)dir;
    tighten_by(context, dir_fd, path, "pids.max");
    return true;
}

/* cpuset.cpus.effective of the group itself is enough: it is restricted to what all ancestors allow. */
static void read_cpus(int root_fd, const struct cgroup_location *p, struct cgroup_bound *b)
{
    static const char *const names[] = {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"};
    char text[4096];
    uint64_t count;
    int fd = p->root ? -1 : openat(root_fd, p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (size_t i = !p->v2; i < (p->v2 ? 1u : 3u); i++) {
        ssize_t n = fd_read_file(fd, names[i], text, sizeof(text));
        if (n < 0 || cgroup_cpus_parse(span_of(text, (size_t)n), &count) < 0 || !count)
            continue;
        tighten(b, count, p->path, p->v2 ? names[0] : "cpuset.cpus");
        break;
    }
    close(fd);
}

/* Also notes whether all ancestors that could limit the group are visible. */
static const struct cgroup_location *bounded_location(int root_fd, const struct cgroup_hierarchies *places,
                                                      enum cgroup_controller c, struct cgroup_bound *b)
{
    const struct cgroup_location *p = cgroup_location_of(places, c);
    if (places->hidden >> c & 1 || (p && !sees_root(root_fd, p)))
        b->unseen = -ENOENT;
    return p;
}

static void read_bounds(int root_fd, const struct cgroup_hierarchies *places, bool all, struct cgroup_bounds *ret)
{
    static const struct cgroup_bound none = {.value = CGROUP_NO_LIMIT};
    *ret = (struct cgroup_bounds){none, none, none, none};
    struct chain chain = {.bound = &ret->memory};
    const struct cgroup_location *p = bounded_location(root_fd, places, CGROUP_AT_MEMORY, &ret->memory);
    if (p && p->v2)
        cgroup_each_level(root_fd, p, memory_v2, &ret->memory);
    else if (p)
        cgroup_each_level(root_fd, p, memory_v1, &chain);
    if (all && p && !p->v2 && !p->whole)
        memory_hierarchical(root_fd, p, &ret->memory);
    p = bounded_location(root_fd, places, CGROUP_AT_CPU, &ret->quota);
    if (p)
        cgroup_each_level(root_fd, p, p->v2 ? quota_v2 : quota_v1, &ret->quota);
    p = bounded_location(root_fd, places, CGROUP_AT_PIDS, &ret->pids);
    if (p)
        cgroup_each_level(root_fd, p, pids_of, &ret->pids);
    p = cgroup_location_of(places, CGROUP_AT_CPUSET);
    if (p)
        read_cpus(root_fd, p, &ret->cpus);
}

void cgroup_bounds_read(int root_fd, const struct cgroup_hierarchies *places, struct cgroup_bounds *ret)
{
    read_bounds(root_fd, places, true, ret);
}

void cgroup_bounds_read_quickly(int root_fd, const struct cgroup_hierarchies *places, struct cgroup_bounds *ret)
{
    read_bounds(root_fd, places, false, ret);
}
