/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of a job that is a control group, and who is in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "collect/cgroup.h"

#define GROUPS_MOST 16384u /* below one: a pod has a few, a builder of images some hundred */
#define DEPTH_MOST 16

/* ---- the meter ---- */

static int open_below(int root_fd, const struct cgroup_place *p, const char *name)
{
    char path[CGROUP_DIR_MAX + 32];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    return openat(root_fd, path, O_RDONLY | O_CLOEXEC);
}

int cgroup_meter_open(struct cgroup_meter *m, int root_fd, const struct cgroup_places *places, uint64_t ns_per_tick)
{
    const struct cgroup_place *p = cgroup_place_of(places, CGROUP_AT_UNIFIED);
    *m = (struct cgroup_meter){.fd = -1, .split_fd = -1, .ns_per_tick = ns_per_tick};
    if (p && !p->root) {
        m->fd = open_below(root_fd, p, "cpu.stat");
        m->v2 = m->fd >= 0;
    }
    p = cgroup_place_of(places, CGROUP_AT_CPUACCT);
    if (m->fd < 0 && p && !p->root && !p->v2) {
        m->fd = open_below(root_fd, p, "cpuacct.usage");
        m->split_fd = open_below(root_fd, p, "cpuacct.stat");
    }
    return m->fd < 0 ? -ENOENT : 0;
}

void cgroup_meter_close(struct cgroup_meter *m)
{
    m->fd = fd_close(m->fd);
    m->split_fd = fd_close(m->split_fd);
}

/* usage is in nanoseconds, the split of it in ticks: that gives the shares. */
static void split(const struct cgroup_meter *m, uint64_t usage, struct cgroup_reading *ret)
{
    struct cgroup_cpu c;
    char text[256];
    uint64_t user = usage;
    ssize_t n = m->split_fd < 0 ? -1 : fd_pread_all(m->split_fd, text, sizeof(text));
    if (n > 0 && cgroup_cpuacct_stat_parse(span_of(text, (size_t)n), m->ns_per_tick, &c) == 0) {
        double both = (double)c.value[CGCPU_USER] + (double)c.value[CGCPU_SYSTEM];
        user = both > 0 ? (uint64_t)((double)usage * ((double)c.value[CGCPU_USER] / both)) : usage;
    }
    user = user < usage ? user : usage;
    *ret = (struct cgroup_reading){user, usage - user};
}

int cgroup_meter_read(const struct cgroup_meter *m, struct cgroup_reading *ret)
{
    struct cgroup_cpu c;
    char text[2048];
    uint64_t usage;
    ssize_t n = m->fd < 0 ? -1 : fd_pread_all(m->fd, text, sizeof(text));
    if (n <= 0)
        return -ENODEV;
    if (!m->v2) {
        if (cgroup_value_parse(span_of(text, (size_t)n), &usage) < 0)
            return -ENODEV;
        split(m, usage, ret);
        return 0;
    }
    if (cgroup_cpu_stat_parse(span_of(text, (size_t)n), &c) < 0 || !(c.valid & 1u << CGCPU_USAGE))
        return -ENODEV;
    usage = c.value[CGCPU_USAGE];
    uint64_t user = c.value[CGCPU_USER] < usage ? c.value[CGCPU_USER] : usage;
    *ret = (struct cgroup_reading){user, usage - user};
    return 0;
}

/* ---- who is in it ---- */

void cgroup_walk_init(struct cgroup_walk *w, int root_fd, const struct cgroup_place *place)
{
    struct rlimit limit;
    *w = (struct cgroup_walk){.root_fd = root_fd, .most = GROUPS_MOST};
    /* Two descriptors each, and a quarter of what is allowed for them: the rest is for the processes and the machine. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 8 < w->most)
        w->most = (size_t)limit.rlim_cur / 8;
    memcpy(w->dir, place->dir, sizeof(w->dir));
}

static void forget(struct cgroup_walk *w)
{
    for (size_t i = 0; i < w->n; i++) {
        fd_close(w->at[i].dir_fd);
        fd_close(w->at[i].procs_fd);
    }
    w->n = w->left_out = 0;
}

void cgroup_walk_done(struct cgroup_walk *w)
{
    forget(w);
    free(w->at);
    *w = (struct cgroup_walk){.root_fd = -1};
}

static uint64_t links_of(int dir_fd)
{
    struct stat st;
    return fstat(dir_fd, &st) == 0 ? (uint64_t)st.st_nlink : 0;
}

static void add_group(struct cgroup_walk *w, int dir_fd)
{
    if (w->n >= w->most) {
        w->left_out++;
        return;
    }
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 8;
        struct cgroup_walked *at = realloc(w->at, cap * sizeof(*at));
        if (!at) {
            w->left_out++;
            return;
        }
        w->at = at;
        w->cap = cap;
    }
    int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        w->left_out += errno == EMFILE || errno == ENFILE;
    else
        w->at[w->n++] = (struct cgroup_walked){fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), fd, links_of(dir_fd)};
}

/* Takes dir_fd over. */
static void add_below(struct cgroup_walk *w, int dir_fd, int depth)
{
    const struct dirent *e;
    add_group(w, dir_fd);
    DIR *d = fdopendir(dir_fd);
    if (!d) {
        close(dir_fd);
        return;
    }
    while (depth < DEPTH_MOST && (e = readdir(d))) {
        if (e->d_type != DT_DIR || *e->d_name == '.')
            continue;
        int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
            add_below(w, fd, depth + 1);
    }
    closedir(d);
}

int cgroup_walk_groups(struct cgroup_walk *w)
{
    bool same = w->n && !w->stale;
    for (size_t i = 0; same && i < w->n; i++)
        same = links_of(w->at[i].dir_fd) == w->at[i].links;
    if (same)
        return 0;
    int fd = openat(w->root_fd, w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    forget(w);
    w->stale = false;
    if (fd < 0)
        return -ENOENT;
    add_below(w, fd, 0);
    return 0;
}

/* A list can outgrow any buffer: read on in pieces, cut at a newline. */
static int processes_of(int fd, char *text, size_t cap, void (*fn)(void *context, int32_t pid), void *context)
{
    size_t kept = 0;
    off_t at = 0;
    int count = 0;
    for (;;) {
        ssize_t n = pread(fd, text + kept, cap - kept, at);
        if (n < 0)
            return errno == ENODEV ? -ENODEV : count;
        if (n == 0)
            return count;
        at += n;
        struct span rest = span_of(text, kept + (size_t)n), line;
        while (rest.len && memchr(rest.at, '\n', rest.len)) {
            uint64_t pid;
            scan_line(&rest, &line);
            if (!scan_u64(&line, &pid) || pid == 0 || pid > INT32_MAX) /* 0: outside of this PID namespace */
                continue;
            fn(context, (int32_t)pid);
            count++;
        }
        kept = rest.len < cap / 2 ? rest.len : 0;
        memmove(text, rest.at, kept);
    }
}

int cgroup_walk_processes(struct cgroup_walk *w, char *text, size_t cap, void (*fn)(void *context, int32_t pid), void *context)
{
    int sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        int n = processes_of(w->at[i].procs_fd, text, cap, fn, context);
        if (n > 0)
            sum += n;
        w->stale |= n < 0;
        if (n < 0 && i == 0)
            return n; /* the group itself; those below it may come and go */
    }
    return w->n ? sum : -ENODEV;
}
