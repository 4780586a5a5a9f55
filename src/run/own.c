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
#define DEPTH_MOST 32

/* ---- is it ours to divide? ---- */

static bool says_one(const char *path, const char *name)
{
    char value[8];
    ssize_t n = getxattr(path, name, value, sizeof(value));
    return n == 1 && *value == '1';
}

/* What systemd sets with Delegate=yes (since 251 also for users to see). */
bool own_handed_over(const char *path)
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
            if (len > 0 && (size_t)len < cap && own_handed_over(path))
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

/* With the groups that the command made in there. rmdir(2) takes none that somebody is in. */
static void remove_tree(int parent_fd, const char *name, int depth)
{
    const struct dirent *e;
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY || depth == DEPTH_MOST)
        return;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    while (d && (e = readdir(d))) {
        if (e->d_type == DT_DIR && *e->d_name != '.')
            remove_tree(fd, e->d_name, depth + 1);
    }
    if (d)
        closedir(d);
    else
        fd_close(fd);
    unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* Groups of recorders that are no longer there. */
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
            remove_tree(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

static int write_below(const char *dir, const char *file, const char *text)
{
    char path[CGROUP_DIR_MAX + 96];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int code = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return code;
}

static struct span read_below(const char *dir, const char *file, char *text, size_t cap)
{
    char path[CGROUP_DIR_MAX + 96];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    ssize_t n = fd_read_file(AT_FDCWD, path, text, cap);
    return span_of(text, n > 0 ? (size_t)n : 0);
}

/* ---- controllers ---- */

static bool has_word(struct span list, const char *word)
{
    size_t n = strlen(word);
    while (list.len) {
        const char *end = list.at;
        while (end < list.at + list.len && *end != ' ' && *end != '\n')
            end++;
        if ((size_t)(end - list.at) == n && memcmp(list.at, word, n) == 0)
            return true;
        size_t used = (size_t)(end - list.at) + 1;
        list = used < list.len ? span_of(list.at + used, list.len - used) : span_of(list.at, 0);
    }
    return false;
}

/* Nobody but us is in it, and no group is below it, whose accounting would change. */
static bool alone_in(const char *parent)
{
    char text[64], self[16];
    struct stat st;
    int n = snprintf(self, sizeof(self), "%d\n", (int)getpid());
    struct span procs = read_below(parent, "cgroup.procs", text, sizeof(text));
    return procs.len == (size_t)n && memcmp(procs.at, self, procs.len) == 0 && stat(parent, &st) == 0 && st.st_nlink == 2;
}

/* "+memory +pids +io" of what there is and is not handed on; "" without memory. The root of the hierarchy, which has no cgroup.type, is the machine's. */
static void choose(const char *parent, char *ret, size_t cap)
{
    static const char *const names[] = {"memory", "pids", "io"};
    char all[256], on[256], type[32];
    struct span have = read_below(parent, "cgroup.controllers", all, sizeof(all)), given = read_below(parent, "cgroup.subtree_control", on, sizeof(on));
    size_t n = 0;
    *ret = 0;
    if (!span_starts(read_below(parent, "cgroup.type", type, sizeof(type)), "domain\n"))
        return;
    for (size_t i = 0; i < 3; i++) {
        if (has_word(have, names[i]) && !has_word(given, names[i]))
            n += (size_t)snprintf(ret + n, cap - n, "%s+%s", n ? " " : "", names[i]);
        else if (i == 0)
            return;
    }
}

static void take_back(struct own_group *g)
{
    for (char *c = g->controllers; *c; c++)
        *c = *c == '+' ? '-' : *c;
}

/* Into the leaf, and the controllers on; else all stays as it was. */
static void hand_on(struct own_group *g)
{
    char wanted[sizeof(g->controllers)];
    choose(g->parent, wanted, sizeof(wanted));
    if (!*wanted || !alone_in(g->parent))
        return;
    int n = snprintf(g->leaf, sizeof(g->leaf), "%s/" PREFIX "%d-self", g->parent, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof(g->leaf) || mkdir(g->leaf, 0755) < 0) {
        *g->leaf = 0;
        return;
    }
    memcpy(g->controllers, wanted, sizeof(wanted));
    if (write_below(g->leaf, "cgroup.procs", "0") == 0 && write_below(g->parent, "cgroup.subtree_control", wanted) == 0) {
        take_back(g);
        return;
    }
    write_below(g->parent, "cgroup.procs", "0");
    rmdir(g->leaf);
    *g->leaf = *g->controllers = 0;
}

/* ---- all ---- */

static int make_below(struct own_group *g)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)getppid();
    int n = snprintf(g->path, sizeof(g->path), "%s/" PREFIX "%d-%08x", g->parent, (int)getpid(), (unsigned)random);
    if (n < 0 || (size_t)n >= sizeof(g->path))
        return -ENAMETOOLONG;
    if (mkdir(g->path, 0755) < 0)
        return -errno;
    g->fd = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->fd >= 0)
        g->procs_fd = openat(g->fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return g->fd >= 0 && g->procs_fd >= 0 ? 0 : -errno;
}

/* Who moves a process must be allowed to where it comes from, too: to be asked before anything is made. */
static int may_divide(const char *parent)
{
    char procs[CGROUP_DIR_MAX + 32];
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", parent);
    return faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) < 0 || faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

int own_make(struct own_group *ret, enum own_mode mode, struct baro_error *err)
{
    struct own_group g = {.fd = -1, .procs_fd = -1};
    *ret = g;
    if (mode == OWN_NONE || (mode == OWN_AUTO && !delegated_place(g.parent, sizeof(g.parent))))
        return 0;
    if (mode == OWN_OWN && !any_place(g.parent, sizeof(g.parent)))
        return error_set(err, -ENOENT, "no control group of its own: there is no v2 hierarchy here");
    size_t len = strlen(g.parent);
    if (len > 1 && g.parent[len - 1] == '/')
        g.parent[len - 1] = 0;
    sweep(g.parent);
    int code = may_divide(g.parent);
    if (code == 0) {
        hand_on(&g);
        code = make_below(&g);
    }
    if (code == 0) {
        *ret = g;
        return 0;
    }
    g.fd = fd_close(g.fd);
    own_remove(&g);
    if (mode == OWN_AUTO)
        return 0;
    return error_set(err, code, "no control group of its own: can't make one in %s: %s", g.parent, strerror(-code));
}

void own_remove(const struct own_group *g)
{
    if (*g->path)
        remove_tree(AT_FDCWD, g->path, 0);
    if (!*g->leaf)
        return;
    write_below(g->parent, "cgroup.subtree_control", g->controllers); /* works with a survivor in the command's group, too */
    write_below(g->parent, "cgroup.procs", "0");
    rmdir(g->leaf);
}
