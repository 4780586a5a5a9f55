/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes of a control group and of all groups below it. Directories stay open. A directory is listed again
 * when its number of links shows that groups were made or removed in it, or when the list of a group shows that the
 * group was removed. In the array, parents come before their children.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "kernel/cgroup/walk.h"

#define GROUPS_MOST 2048u /* below one group: a pod has a few, an image builder some hundred. 15 us for each */
#define DEPTH_MOST 16

void cgroup_walk_init(struct cgroup_walk *w, int root_fd, const struct cgroup_location *place)
{
    struct rlimit limit;
    *w = (struct cgroup_walk){.root_fd = root_fd, .v2 = place->v2, .most = GROUPS_MOST};
    /* Each group takes two descriptors; a quarter of the limit may be used for them, the rest is for processes and the
     * machine. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 8 < w->most)
        w->most = (size_t)limit.rlim_cur / 8;
    memcpy(w->dir, place->dir, sizeof(w->dir));
}

static void close_group(struct cgroup_walked *g)
{
    fd_close(g->dir_fd);
    fd_close(g->procs_fd);
}

void cgroup_walk_done(struct cgroup_walk *w)
{
    for (size_t i = 0; i < w->n; i++)
        close_group(&w->at[i]);
    free(w->at);
    map_done(&w->by_name);
    *w = (struct cgroup_walk){.root_fd = -1};
}

static uint64_t links_of(int dir_fd)
{
    struct stat st;
    return fstat(dir_fd, &st) == 0 ? (uint64_t)st.st_nlink : 0;
}

static uint64_t map_key(size_t parent, uint64_t name)
{
    uint64_t key = name ^ (parent + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return key ? key : 1;
}

static uint64_t *find_group(const struct cgroup_walk *w, size_t parent, uint64_t name)
{
    uint64_t key = map_key(parent, name), *i = map_find(&w->by_name, key);
    while (i && (w->at[*i].name != name || w->at[*i].parent != parent))
        i = map_next(&w->by_name, key, i);
    return i;
}

static void put_names(struct cgroup_walk *w)
{
    map_clear(&w->by_name);
    for (size_t i = 1; i < w->n; i++)
        map_add(&w->by_name, map_key(w->at[i].parent, w->at[i].name), i);
}

/* Room for one more, also in the map. */
static bool make_group_room(struct cgroup_walk *w)
{
    struct cgroup_walked *at = w->n < w->most ? array_room(w->at, w->n, &w->cap, sizeof(*at)) : NULL;
    w->at = at ? at : w->at;
    return at && map_reserve(&w->by_name, w->n + 1);
}

/* Adds a group; closes dir_fd if it fails. Groups below it are found later. */
static void add_walked(struct cgroup_walk *w, const struct cgroup_walked *g)
{
    struct cgroup_walked *at;
    int procs_fd = make_group_room(w) ? openat(g->dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC) : -EMFILE;
    if (procs_fd < 0) {
        w->left_now += procs_fd == -EMFILE || errno == EMFILE || errno == ENFILE;
        fd_close(g->dir_fd);
        return;
    }
    if (w->n) {
        w->at[g->parent].parent_of = true;
        map_add(&w->by_name, map_key(g->parent, g->name), w->n);
    }
    at = &w->at[w->n++];
    *at = *g;
    at->procs_fd = w->v2 ? procs_fd : fd_close(procs_fd);
    at->links = 0; /* no directory has 0 links, so it is listed at the next walk */
    at->seen = true;
}

static bool is_known_group(struct cgroup_walk *w, size_t parent, uint64_t name)
{
    uint64_t *i = find_group(w, parent, name);
    if (i)
        w->at[*i].seen = true;
    return i;
}

static DIR *listing(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        fd_close(fd);
    return d;
}

/* Adds the groups in a directory that are not known yet. */
static void look_into(struct cgroup_walk *w, size_t parent, DIR *d)
{
    const struct dirent *e;
    int dir_fd = w->at[parent].dir_fd, depth = w->at[parent].depth + 1;
    while ((e = readdir(d))) {
        uint64_t name = map_hash(e->d_name, strlen(e->d_name));
        if (e->d_type != DT_DIR || *e->d_name == '.')
            continue;
        if (depth <= DEPTH_MOST && is_known_group(w, parent, name))
            continue;
        if (depth > DEPTH_MOST || w->n == w->most) {
            w->left_now++;
            continue;
        }
        struct cgroup_walked g = {.dir_fd = openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                  .parent = parent,
                                  .name = name,
                                  .depth = depth};
        if (g.dir_fd >= 0)
            add_walked(w, &g);
        else
            w->left_now += errno == EMFILE || errno == ENFILE;
    }
}

/* Lists a directory: adds new groups and marks those that were removed. */
static void list_groups(struct cgroup_walk *w, size_t parent)
{
    size_t end = w->at[parent].parent_of ? w->n : 0, left = w->left_now;
    w->at[parent].links = links_of(w->at[parent].dir_fd);
    DIR *d = listing(w->at[parent].dir_fd);
    if (!d) {
        w->at[parent].links = 0;
        return;
    }
    for (size_t i = parent + 1; i < end; i++)
        w->at[i].seen &= w->at[i].parent != parent;
    look_into(w, parent, d);
    closedir(d);
    for (size_t i = parent + 1; i < end; i++) {
        w->at[i].gone |= !w->at[i].seen;
        if (w->at[i].gone && w->left_now > left)
            w->at[parent].links = 0; /* list it again when there is room */
    }
}

/* Drops removed groups with all below them. The first group stays. */
static void drop_gone(struct cgroup_walk *w)
{
    size_t n = 1;
    for (size_t i = 1; i < w->n; i++) {
        struct cgroup_walked *g = &w->at[i];
        const struct cgroup_walked *parent = &w->at[g->parent];
        g->gone |= parent->gone;
        g->parent = parent->moved;
        g->moved = n;
        n += !g->gone;
    }
    for (size_t i = 1; i < w->n; i++) {
        if (w->at[i].gone)
            close_group(&w->at[i]);
        else
            w->at[w->at[i].moved] = w->at[i];
    }
    w->n = n;
    put_names(w); /* its memory is allocated already, so it cannot fail */
}

static bool any_gone(const struct cgroup_walk *w)
{
    for (size_t i = 1; i < w->n; i++) {
        if (w->at[i].gone)
            return true;
    }
    return false;
}

int cgroup_walk_groups(struct cgroup_walk *w)
{
    w->left_now = 0;
    if (!w->n) {
        const struct cgroup_walked first = {.dir_fd = openat(w->root_fd, w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        if (first.dir_fd >= 0)
            add_walked(w, &first);
        else
            w->left_now = errno == EMFILE || errno == ENFILE;
    }
    if (!w->n || w->at[0].gone)
        return !w->n && w->left_now ? -EMFILE : -ENOENT;
    for (size_t i = 1; i < w->n; i++) {
        if (w->at[i].gone)
            w->at[w->at[i].parent].links = 0; /* a new group may have its name: then the number of links is the same */
    }
    if (any_gone(w))
        drop_gone(w);
    for (size_t i = 0; i < w->n; i++) {
        if (!w->at[i].gone && links_of(w->at[i].dir_fd) != w->at[i].links)
            list_groups(w, i);
    }
    if (any_gone(w))
        drop_gone(w);
    w->left_out = w->left_now > w->left_out ? w->left_now : w->left_out;
    return 0;
}

#define WHOLE 2048u

/* A list may be larger than any buffer: it is read in pieces that are cut at a newline. The kernel makes it in a buffer
 * of a page at least, and a read ends early only where that buffer is full or the list ends (fs/seq_file.c), so a first
 * piece of less than WHOLE bytes is all of it. */
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
        bool is_whole = at == 0 && (size_t)n < cap && n < (ssize_t)WHOLE;
        at += n;
        struct span rest = span_of(text, kept + (size_t)n), line;
        while (rest.len && memchr(rest.at, '\n', rest.len)) {
            uint64_t pid;
            scan_line(&rest, &line);
            if (!scan_u64(&line, &pid) || pid == 0 || pid > INT32_MAX) /* 0: a process outside of this PID namespace */
                continue;
            fn(context, (int32_t)pid);
            count++;
        }
        if (is_whole)
            return count;
        kept = rest.len < cap / 2 ? rest.len : 0;
        memmove(text, rest.at, kept);
    }
}

/* v1 makes the list when its file is opened. A process that keeps the file open gets the same list until it was not
 * read for a second (kernel/cgroup/cgroup-v1.c, cgroup_pidlist_start). */
static int read_procs(const struct cgroup_walk *w, const struct cgroup_walked *g, char *text, size_t cap,
                      void (*fn)(void *context, int32_t pid), void *context)
{
    if (w->v2)
        return processes_of(g->procs_fd, text, cap, fn, context);
    int fd = openat(g->dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENODEV ? -ENODEV : 0;
    int n = processes_of(fd, text, cap, fn, context);
    close(fd);
    return n;
}

int cgroup_walk_processes(struct cgroup_walk *w, char *text, size_t cap, void (*fn)(void *context, int32_t pid),
                          void *context)
{
    int sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        int n = read_procs(w, &w->at[i], text, cap, fn, context);
        if (n > 0)
            sum += n;
        w->at[i].gone |= n < 0;
        if (n < 0 && i == 0)
            return n; /* only an error of the group itself counts; those below may be removed at any time */
    }
    return w->n ? sum : -ENODEV;
}
