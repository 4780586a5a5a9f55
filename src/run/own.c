/* SPDX-License-Identifier: Apache-2.0 */
#include "run/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"

#define PREFIX "baro-"

/* ---- is it ours to divide? ---- */

static bool says_one(const char *path, const char *name)
{
    char value[8];
    ssize_t n = getxattr(path, name, value, sizeof(value));
    return n == 1 && *value == '1';
}

/* What systemd sets with Delegate=yes (since 251 also for users to see). */
static bool delegated(const char *path)
{
    return says_one(path, "user.delegate") || says_one(path, "trusted.delegate");
}

/* Our own v2 group, if it is handed over, where v2 is mounted alone or beside v1: for all who have no such thing a few microseconds must do. */
static bool delegated_place(char *path, size_t cap)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char text[4096];
    struct cgroup_membership m;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    while (cgroup_membership_next(&rest, &m)) {
        for (size_t i = 0; i < 2 && m.hierarchy == 0 && !m.controllers.len; i++) {
            int len = snprintf(path, cap, "%s%.*s", mounts[i], (int)m.path.len, m.path.at);
            if (len > 0 && (size_t)len < cap && delegated(path))
                return true;
        }
    }
    return false;
}

/* Wherever it is mounted. */
static bool any_place(char *path, size_t cap)
{
    struct cgroup_places *places = calloc(1, sizeof(*places));
    int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), len = 0;
    if (places && root_fd >= 0 && cgroup_find(root_fd, 0, places) == 0) {
        const struct cgroup_place *p = cgroup_place_of(places, CGROUP_AT_UNIFIED);
        len = p ? snprintf(path, cap, "/%s", p->dir) : 0;
    }
    fd_close(root_fd);
    free(places);
    return len > 0 && (size_t)len < cap;
}

/* ---- making and removing ---- */

/* Groups of recorders that are no longer there. rmdir(2) takes none that somebody is in. */
static void sweep(const char *parent)
{
    DIR *d = opendir(parent);
    const struct dirent *e;
    while (d && (e = readdir(d))) {
        struct span name = span_str(e->d_name);
        uint64_t pid;
        if (!span_starts(name, PREFIX))
            continue;
        name = span_of(name.at + sizeof(PREFIX) - 1, name.len - (sizeof(PREFIX) - 1));
        if (!scan_u64(&name, &pid) || !scan_char(&name, '-') || pid == 0 || pid > INT32_MAX)
            continue;
        if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    if (d)
        closedir(d);
}

static int make_below(struct own_group *g, const char *parent)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)getppid();
    int n = snprintf(g->path, sizeof(g->path), "%s%s" PREFIX "%d-%08x", parent, parent[strlen(parent) - 1] == '/' ? "" : "/", (int)getpid(), (unsigned)random);
    if (n < 0 || (size_t)n >= sizeof(g->path))
        return -ENAMETOOLONG;
    char procs[CGROUP_DIR_MAX + 32];
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", parent);
    if (faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) < 0) /* who moves a process must be allowed to where it comes from, too */
        return -errno;
    if (mkdir(g->path, 0755) < 0)
        return -errno;
    g->fd = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->fd >= 0)
        g->procs_fd = openat(g->fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (g->fd >= 0 && g->procs_fd >= 0)
        return 0;
    int code = -errno;
    g->fd = fd_close(g->fd);
    rmdir(g->path);
    return code;
}

int own_make(struct own_group *ret, enum own_mode mode, struct baro_error *err)
{
    struct own_group g = {.fd = -1, .procs_fd = -1};
    char parent[CGROUP_DIR_MAX + 2];
    *ret = g;
    if (mode == OWN_NONE || (mode == OWN_AUTO && !delegated_place(parent, sizeof(parent))))
        return 0;
    if (mode == OWN_OWN && !any_place(parent, sizeof(parent)))
        return error_set(err, -ENOENT, "no control group of its own: there is no v2 hierarchy here");
    sweep(parent);
    int code = make_below(&g, parent);
    if (code == 0) {
        *ret = g;
        return 0;
    }
    if (mode == OWN_AUTO)
        return 0;
    return error_set(err, code, "no control group of its own: can't make one in %s: %s", parent, strerror(-code));
}

void own_remove(const char *path)
{
    if (*path)
        rmdir(path);
}
