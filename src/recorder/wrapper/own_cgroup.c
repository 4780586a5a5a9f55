/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/wrapper/own_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/sample/sample.h"

#define NAMES_TRIED 8
#define NAME_MOST 48

/* ---- may we make groups here? ---- */

static bool says_one(const char *path, const char *name)
{
    char value[8];
    ssize_t n = getxattr(path, name, value, sizeof(value));
    return n == 1 && *value == '1';
}

/* systemd sets these with Delegate=yes (since 251 also one that ordinary users can read). */
bool own_is_delegated(const char *path)
{
    return says_one(path, "user.delegate") || says_one(path, "trusted.delegate");
}

/* Finds our own v2 group if it is delegated, where v2 is mounted alone or next to v1. Most users have no such group, so
 * this must take only a few microseconds. */
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
            if (len > 0 && (size_t)len < cap && own_is_delegated(path))
                return true;
        }
    }
    return false;
}

static void add_place(struct own_group *g, const struct cgroup_location *p)
{
    struct own_dir *d = &g->at[g->n];
    char first[CGROUP_DIR_MAX + 2];
    snprintf(first, sizeof(first), "/%s", p->dir);
    for (size_t i = 0; i < g->n; i++) {
        if (strcmp(g->at[i].parent, first) == 0)
            return; /* controllers that are mounted together have one directory */
    }
    d->v2 = p->v2;
    memcpy(d->parent, first, sizeof(first));
    g->n++;
}

/* Does the group's limit count groups below it? If not (use_hierarchy is 0), the command would escape the limit. */
static bool counts_below(int root_fd, const struct cgroup_location *p)
{
    int fd = openat(root_fd, p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool alone = fd < 0 || cgroup_memory_alone(fd);
    fd_close(fd);
    return p->root || !alone;
}

/* Finds the groups that are mounted: v2, or v1's cpuacct without v2, for CPU time; and v1's memory and pids. */
static void any_places(struct own_group *g)
{
    struct cgroup_hierarchies *places = calloc(1, sizeof(*places));
    int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (places && root_fd >= 0 && cgroup_find(root_fd, 0, places) == 0) {
        const struct cgroup_location *cpu = cgroup_location_of(places, CGROUP_AT_UNIFIED);
        const struct cgroup_location *memory = cgroup_location_of(places, CGROUP_AT_MEMORY),
                                     *pids = cgroup_location_of(places, CGROUP_AT_PIDS);
        cpu = cpu ? cpu : cgroup_location_of(places, CGROUP_AT_CPUACCT);
        if (cpu)
            add_place(g, cpu);
        if (cpu && memory && !memory->v2 && counts_below(root_fd, memory))
            add_place(g, memory);
        if (cpu && pids && !pids->v2)
            add_place(g, pids);
    }
    fd_close(root_fd);
    free(places);
}

/* ---- controllers ---- */

/* Are we the only processes in it, and is there no group below it whose accounting would change? */
static bool alone_in(const char *parent)
{
    char text[64], self[16];
    struct stat st;
    int n = snprintf(self, sizeof(self), "%d\n", (int)getpid());
    struct span procs = own_read(parent, "cgroup.procs", text, sizeof(text));
    return procs.len == (size_t)n && memcmp(procs.at, self, procs.len) == 0 && stat(parent, &st) == 0 &&
           st.st_nlink == 2;
}

/* "+memory +pids +io": those that are available and not enabled; "" without memory. The root of the hierarchy, which
 * has no cgroup.type, is the whole machine's: "" as well. */
static void choose_controllers(const char *parent, char *ret, size_t cap)
{
    static const char *const names[] = {"memory", "pids", "io"};
    char all[256], on[256], type[32];
    struct span have = own_read(parent, "cgroup.controllers", all, sizeof(all)),
                given = own_read(parent, "cgroup.subtree_control", on, sizeof(on));
    size_t n = 0;
    *ret = 0;
    if (!span_starts(own_read(parent, "cgroup.type", type, sizeof(type)), "domain\n"))
        return;
    for (size_t i = 0; i < 3; i++) {
        if (span_has_word(have, names[i]) && !span_has_word(given, names[i]))
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

/* Moves us to the leaf and enables the controllers. If this fails, restores the former state. */
static void enable_controllers(struct own_group *g)
{
    char wanted[sizeof(g->controllers)];
    const char *parent = g->at[0].parent;
    choose_controllers(parent, wanted, sizeof(wanted));
    if (!*wanted || !alone_in(parent))
        return;
    int n = snprintf(g->leaf, sizeof(g->leaf), "%s/" BARO_GROUP_PREFIX "%d-self", parent, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof(g->leaf) || mkdir(g->leaf, 0755) < 0) {
        *g->leaf = 0;
        return;
    }
    memcpy(g->controllers, wanted, sizeof(wanted));
    if (own_write(g->leaf, "cgroup.procs", "0") == 0 && own_write(parent, "cgroup.subtree_control", wanted) == 0) {
        take_back(g);
        return;
    }
    own_write(parent, "cgroup.procs", "0");
    rmdir(g->leaf);
    *g->leaf = *g->controllers = 0;
}

/* ---- all ---- */

/* Checks permissions before anything is made: to move a process, the wrapper must have write permission in the source
 * group as well. */
static int may_divide(const char *parent)
{
    char procs[CGROUP_DIR_MAX + 32];
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", parent);
    return faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) < 0 || faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) < 0
               ? -errno
               : 0;
}

static void choose_name(char name[static NAME_MOST])
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)clock_monotonic_ns();
    snprintf(name, NAME_MOST, BARO_GROUP_PREFIX "%d-%08x", (int)getpid(), (unsigned)random);
}

static int make_one(struct own_group *g, struct own_dir *d, char name[static NAME_MOST])
{
    size_t len = strlen(d->parent);
    if (len > 1 && d->parent[len - 1] == '/')
        d->parent[len - 1] = 0;
    own_dir_sweep(d->parent);
    int code = may_divide(d->parent);
    if (code < 0)
        return code;
    if (d->v2)
        enable_controllers(g);
    for (int i = 0; i < NAMES_TRIED; i++) {
        code = own_dir_make(d, name);
        if (code != -EAGAIN)
            break;
        choose_name(name);
    }
    return code;
}

/* The first directory is required, the others are made if possible. All have the same name: a job with the same path in
 * all hierarchies is shown as one group. */
static int make_all(struct own_group *g)
{
    char name[NAME_MOST];
    size_t n = 0;
    choose_name(name);
    for (size_t i = 0; i < g->n; i++) {
        int code = make_one(g, &g->at[i], name);
        if (code < 0 && i == 0)
            return code;
        if (code == 0 && n != i)
            g->at[n] = g->at[i];
        n += code == 0;
    }
    g->n = n;
    return 0;
}

int own_make(struct own_group *g, enum own_mode mode, struct baro_error *err)
{
    g->n = g->memory = 0;
    *g->leaf = *g->controllers = 0;
    if (mode == OWN_AUTO && delegated_place(g->at[0].parent, sizeof(g->at[0].parent))) {
        g->at[0].v2 = true;
        g->n = 1;
    }
    if (mode == OWN_OWN) {
        any_places(g);
        if (!g->n)
            return error_set(err, -ENOENT, "no control group of its own: no mounted hierarchy counts CPU time");
    }
    int code = make_all(g);
    if (code == 0)
        return 0;
    g->n = 0;
    own_remove(g);
    if (mode == OWN_AUTO)
        return 0;
    return error_set(err, code, "no control group of its own: can't make one in %s: %s", g->at[0].parent,
                     strerror(-code));
}

#define LEAF_MOST_MS 20 /* how long the end of the job may be delayed for it */

void own_remove(const struct own_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        own_dir_remove(g->at[i].path);
    if (!*g->leaf)
        return;
    /* This works even if a process that outlived the command is still in its group. */
    own_write(g->at[0].parent, "cgroup.subtree_control", g->controllers);
    own_write(g->at[0].parent, "cgroup.procs", "0");
    /* A helper of the recorder may be about to end in the leaf. If the leaf can't be removed now, own_dir_sweep()
     * removes it later. */
    for (int ms = 0; rmdir(g->leaf) < 0 && errno == EBUSY && ms < LEAF_MOST_MS; ms++)
        poll(NULL, 0, 1);
}
