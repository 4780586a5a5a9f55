/* SPDX-License-Identifier: Apache-2.0 */
/* The same path may exist in several hierarchies, and these need not be one group: /a of the memory controller may have
 * other processes than /a of v2. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/fd.h"
#include "kernel/cgroup/discover.h"

#define ASKED_MOST 16u /* enough, although some end before they are read, and v1 reports "/" for a zombie */
#define DEPTH_MOST 16
#define LOOKED_MOST 4096u /* groups that are looked into: their owner can make any number */

struct people {
    int32_t pid[ASKED_MOST];
    size_t n, looked;
    int dir_fd, depth;
};

static void take_pids(struct people *all, int dir_fd)
{
    char text[4096];
    ssize_t n = fd_read_file(dir_fd, "cgroup.procs", text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    uint64_t pid;
    while (all->n < ASKED_MOST && rest.len && memchr(rest.at, '\n', rest.len) && scan_line(&rest, &line)) {
        if (scan_u64(&line, &pid) && pid && pid <= INT32_MAX) /* 0: outside of this PID namespace */
            all->pid[all->n++] = (int32_t)pid;
    }
}

static bool look_below(void *context, const char *name, size_t len)
{
    struct people *all = context;
    char copy[256];
    int above = all->dir_fd;
    if (!len || *name == '.' || len >= sizeof(copy) || all->depth == DEPTH_MOST)
        return true;
    if (all->looked++ == LOOKED_MOST)
        return false;
    memcpy(copy, name, len);
    copy[len] = 0;
    int fd = openat(above, copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return true;
    take_pids(all, fd);
    all->dir_fd = fd;
    all->depth++;
    if (all->n < ASKED_MOST)
        dir_each(fd, look_below, all);
    all->depth--;
    all->dir_fd = above;
    close(fd);
    return all->n < ASKED_MOST && all->looked < LOOKED_MOST;
}

/* Lists some of the processes in a group and below it. */
static void find_people(int root_fd, const struct cgroup_location *p, struct people *ret)
{
    ret->n = ret->looked = 0;
    ret->depth = 0;
    ret->dir_fd = openat(root_fd, p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir_fd < 0)
        return;
    take_pids(ret, ret->dir_fd);
    if (ret->n < ASKED_MOST)
        dir_each(ret->dir_fd, look_below, ret);
    ret->dir_fd = fd_close(ret->dir_fd);
}

/* Returns the index of the directory that belongs to a line of /proc/PID/cgroup, or -1. */
static int directory_index(const struct cgroup_hierarchies *p, const struct cgroup_membership *m)
{
    if (!m->controllers.len)
        return p->of[CGROUP_AT_UNIFIED];
    for (int c = 0; c < CGROUP_AT_UNIFIED; c++) {
        if (p->of[c] >= 0 && !p->at[p->of[c]].v2 && cgroup_lists(m->controllers, (enum cgroup_controller)c))
            return p->of[c];
    }
    return -1;
}

static bool at_or_below(struct span path, const char *of)
{
    size_t n = strlen(of);
    return path.len >= n && memcmp(path.at, of, n) == 0 && (path.len == n || path.at[n] == '/' || n == 1); /* 1: "/" */
}

bool cgroup_holds(const struct cgroup_hierarchies *p, size_t i, struct span membership)
{
    struct cgroup_membership m;
    while (cgroup_membership_next(&membership, &m)) {
        if (directory_index(p, &m) == (int)i && at_or_below(m.path, p->at[i].path))
            return true;
    }
    return false;
}

/* Returns a bit for each directory that one of the processes is in. */
static unsigned places_of(int root_fd, const struct cgroup_hierarchies *p, const struct people *who)
{
    char path[32], text[8192];
    unsigned in = 0;
    for (size_t i = 0; i < who->n; i++) {
        snprintf(path, sizeof(path), "proc/%d/cgroup", (int)who->pid[i]);
        ssize_t n = fd_read_file(root_fd, path, text, sizeof(text));
        for (size_t k = 0; k < p->n; k++)
            in |= (unsigned)cgroup_holds(p, k, span_of(text, n > 0 ? (size_t)n : 0)) << k;
    }
    return in;
}

/* Keeps the directories whose bits are set, with lead first. */
static void keep_directories(struct cgroup_hierarchies *p, size_t lead, unsigned kept)
{
    static const int8_t nowhere = -1;
    int8_t becomes[CGROUP_AT_MAX];
    struct cgroup_location swap = p->at[0];
    memset(becomes, nowhere, sizeof(becomes));
    becomes[lead] = 0;
    p->at[0] = p->at[lead];
    p->at[lead] = swap;
    size_t n = 1;
    for (size_t i = 1; i < p->n; i++) {
        size_t was = i == lead ? 0 : i;
        if (!(kept >> was & 1))
            continue;
        becomes[was] = (int8_t)n;
        if (n != i)
            p->at[n] = p->at[i];
        n++;
    }
    p->n = n;
    for (int c = 0; c < CGROUP_AT_MAX; c++)
        p->of[c] = p->of[c] < 0 ? nowhere : becomes[p->of[c]];
}

/* Prefers the directory that counts CPU time, so that members and CPU time are those of the same group. */
static int find_lead(int root_fd, const struct cgroup_hierarchies *p, struct people *ret)
{
    int first[2] = {p->of[CGROUP_AT_UNIFIED], p->of[CGROUP_AT_CPUACCT]};
    for (int i = 0; i < 2; i++) {
        if (first[i] < 0)
            continue;
        find_people(root_fd, &p->at[first[i]], ret);
        if (ret->n)
            return first[i];
    }
    for (size_t i = 0; i < p->n; i++) {
        find_people(root_fd, &p->at[i], ret);
        if (ret->n)
            return (int)i;
    }
    return -1;
}

int cgroup_agree(int root_fd, struct cgroup_hierarchies *p, size_t *ret_other)
{
    struct people people;
    int lead = p->n < 2 ? -1 : find_lead(root_fd, p, &people);
    if (lead < 0)
        return 0;
    unsigned in = places_of(root_fd, p, &people);
    if (!in)
        return 0; /* all of them have ended meanwhile */
    for (size_t i = 0; i < p->n; i++) {
        if (in >> i & 1 || i == (size_t)lead)
            continue;
        find_people(root_fd, &p->at[i], &people);
        if (people.n) {
            keep_directories(p, (size_t)lead, ~0u);
            *ret_other = i == 0 ? (size_t)lead : i;
            return -EINVAL;
        }
    }
    keep_directories(p, (size_t)lead, in);
    return 0;
}
