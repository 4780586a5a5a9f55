/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/cgroup/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/proc/machine.h"

static const char *const v1_names[CGROUP_AT_MAX] = {
    [CGROUP_AT_CPU] = "cpu",         [CGROUP_AT_CPUACCT] = "cpuacct", [CGROUP_AT_CPUSET] = "cpuset",
    [CGROUP_AT_MEMORY] = "memory",   [CGROUP_AT_IO] = "blkio",        [CGROUP_AT_PIDS] = "pids",
    [CGROUP_AT_HUGETLB] = "hugetlb",
};

bool cgroup_lists(struct span controllers, enum cgroup_controller c)
{
    return v1_names[c] && cgroup_listed(controllers, v1_names[c]);
}

/* ---- files ---- */

#define READ_MOST (8u << 20)

/* mountinfo of a machine with thousands of containers has megabytes. */
static int read_whole(int root_fd, const char *path, struct buf *ret)
{
    int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = 1;
    unsigned tries = 0;
    while (n > 0 && ret->len < READ_MOST) {
        if (!buf_reserve(ret, 16384)) {
            n = -1;
            errno = ENOMEM;
            break;
        }
        n = read(fd, ret->at + ret->len, ret->cap - ret->len);
        if (n > 0)
            ret->len += (size_t)n;
        else if (n < 0 && fd_again(&tries))
            n = 1;
    }
    int code = n < 0 ? -errno : 0;
    close(fd);
    return code;
}

static int open_dir(int root_fd, const char *dir)
{
    return openat(root_fd, *dir ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool has_file(int dir_fd, const char *name)
{
    return faccessat(dir_fd, name, F_OK, 0) == 0;
}

/* v2 has these files everywhere but at its root (CFTYPE_NOT_ON_ROOT), v1 only there (CFTYPE_ONLY_ON_ROOT). */
static bool is_root(int dir_fd, bool v2)
{
    return v2 ? !has_file(dir_fd, "cgroup.events")
              : has_file(dir_fd, "release_agent") || has_file(dir_fd, "cgroup.sane_behavior");
}

/* Is the process in this group itself? */
static bool holds(int dir_fd, int32_t pid)
{
    struct buf text = {0};
    struct span rest, line;
    bool found = false;
    uint64_t id;
    if (read_whole(dir_fd, "cgroup.procs", &text) == 0) {
        rest = span_of(text.at, text.len);
        while (!found && scan_line(&rest, &line))
            found = scan_u64(&line, &id) && id == (uint64_t)pid;
    }
    buf_done(&text);
    return found;
}

/* ---- one hierarchy ---- */

static bool is_mount_of(const struct proc_mount *m, const struct cgroup_membership *of)
{
    struct span list = of->controllers;
    if (!list.len)
        return span_equal(m->type, "cgroup2");
    if (!span_equal(m->type, "cgroup"))
        return false;
    const char *comma = memchr(list.at, ',', list.len);
    char word[64];
    size_t n = comma ? (size_t)(comma - list.at) : list.len;
    if (!n || n >= sizeof(word))
        return false;
    /* Controllers that are mounted together are all options of that mount, so it is enough to check the first. */
    memcpy(word, list.at, n);
    word[n] = 0;
    return cgroup_listed(m->options, word);
}

/* The part of the path below the mount's root; false if the path is not below it. */
static bool below(struct span path, const char *root, struct span *ret)
{
    size_t n = strlen(root);
    if (n == 1)
        n = 0; /* "/" */
    if (path.len < n || (n && memcmp(path.at, root, n) != 0) || (path.len > n && path.at[n] != '/'))
        return false;
    *ret = span_of(path.at + n, path.len - n);
    if (ret->len == 1)
        ret->len = 0;
    return true;
}

/* Is the path outside of this control group namespace, such as "/../x"? The file system must not resolve the "..". */
static bool has_dots(struct span s)
{
    return memmem(s.at, s.len, "/../", 4) || (s.len >= 3 && memcmp(s.at + s.len - 3, "/..", 3) == 0);
}

static bool put_dir(struct cgroup_location *p, const char *mount, struct span rest)
{
    size_t n = strlen(mount);
    while (n && *mount == '/') {
        mount++;
        n--;
    }
    if (n + rest.len >= sizeof(p->dir))
        return false;
    memcpy(p->dir, mount, n);
    memcpy(p->dir + n, rest.at, rest.len);
    p->dir[n + rest.len] = 0;
    p->mount_len = n;
    return true;
}

#define INITIAL_NAMESPACE "cgroup:[4026531835]" /* PROC_CGROUP_INIT_INO, constant since these namespaces exist */

/* In the initial namespace "/" is the root of a hierarchy, so that needs no check. */
static bool in_initial_namespace(int root_fd)
{
    char text[sizeof(INITIAL_NAMESPACE)];
    ssize_t n = readlinkat(root_fd, "proc/self/ns/cgroup", text, sizeof(text));
    return n == (ssize_t)sizeof(INITIAL_NAMESPACE) - 1 && memcmp(text, INITIAL_NAMESPACE, (size_t)n) == 0;
}

struct search {
    int root_fd;
    bool initial; /* no namespace hides ancestors */
    int32_t pid;  /* 0: no process to check */
    struct cgroup_location best;
    size_t best_root; /* length of the mount's root: the shorter, the more ancestors are visible */
    bool found;
};

/* Tries to find the group at this mount or below it. If the path does not fit, as in a container without a control
 * group namespace, the group is the mount itself if the process is in it. */
static void try_mount(struct search *s, const struct proc_mount *m, const struct cgroup_membership *of)
{
    char root[CGROUP_PATH_MAX], target[256];
    struct cgroup_location p = {.v2 = !of->controllers.len};
    struct span rest;
    if (proc_mount_unescape(m->root, root, sizeof(root)) < 0 ||
        proc_mount_unescape(m->point, target, sizeof(target)) < 0)
        return;
    size_t root_len = strlen(root);
    if (s->found && root_len >= s->best_root)
        return;
    int fd = -1;
    bool at_root = s->initial && root_len == 1 && of->path.len == 1;
    if (at_root && put_dir(&p, target, span_of("", 0))) {
        p.root = true;
    } else if (below(of->path, root, &rest) && !has_dots(rest) && put_dir(&p, target, rest))
        fd = open_dir(s->root_fd, p.dir);
    if (fd < 0 && !p.root && s->pid && put_dir(&p, target, span_of("", 0))) {
        fd = open_dir(s->root_fd, p.dir);
        if (fd >= 0 && !holds(fd, s->pid))
            fd = fd_close(fd);
    }
    if (fd < 0 && !p.root)
        return;
    p.root = p.root || is_root(fd, p.v2);
    if (p.root && fd >= 0 && !has_file(fd, "cgroup.procs")) { /* another file system is mounted over it */
        close(fd);
        return;
    }
    p.whole = s->initial && root_len == 1;
    fd_close(fd);
    memcpy(p.path, of->path.at, of->path.len);
    p.path[of->path.len] = 0;
    s->best = p;
    s->best_root = root_len;
    s->found = true;
}

/* A later mount on the same point covers it: the directory then shows the groups of that mount, or none. later: the
 * part of mountinfo after this mount. */
static bool is_covered(const struct proc_mount *m, struct span later)
{
    struct proc_mount other;
    while (proc_mount_next(&later, &other)) {
        if (other.point.len == m->point.len && memcmp(other.point.at, m->point.at, m->point.len) == 0)
            return true;
    }
    return false;
}

static void search_mounts(struct search *s, struct span mounts, const struct cgroup_membership *of)
{
    struct proc_mount m;
    s->found = false;
    if (of->path.len >= CGROUP_PATH_MAX)
        return;
    while (proc_mount_next(&mounts, &m)) {
        if (is_mount_of(&m, of) && !is_covered(&m, mounts))
            try_mount(s, &m, of);
    }
}

/* ---- all hierarchies ---- */

static void add_place(struct cgroup_hierarchies *ret, const struct cgroup_location *p, struct span controllers)
{
    int8_t index = (int8_t)ret->n;
    bool used = p->v2;
    for (int c = 0; c < CGROUP_AT_UNIFIED; c++) {
        if (!cgroup_lists(controllers, (enum cgroup_controller)c))
            continue;
        ret->of[c] = index;
        used = true;
    }
    if (p->v2)
        ret->of[CGROUP_AT_UNIFIED] = index;
    if (used)
        ret->at[ret->n++] = *p;
}

static bool has_known_controller(struct span controllers)
{
    for (int c = 0; c < CGROUP_AT_UNIFIED; c++) {
        if (cgroup_listed(controllers, v1_names[c]))
            return true;
    }
    return !controllers.len;
}

/* A controller that has no v1 hierarchy belongs to v2, if there is one. If it has a v1 hierarchy that is not visible,
 * it is not found at all. */
static void share_unified(struct cgroup_hierarchies *p, unsigned claimed)
{
    for (int c = 0; c < CGROUP_AT_UNIFIED; c++) {
        if (!(claimed >> c & 1))
            p->of[c] = p->of[CGROUP_AT_UNIFIED];
    }
}

static void clear_hierarchies(struct cgroup_hierarchies *p)
{
    memset(p, 0, sizeof(*p));
    memset(p->of, -1, sizeof(p->of));
}

static void find_all(struct search *s, struct span mounts, struct span memberships, struct cgroup_hierarchies *ret)
{
    struct cgroup_membership m;
    unsigned claimed = 0;
    while (cgroup_membership_next(&memberships, &m)) {
        unsigned these = m.controllers.len ? 0 : 1u << CGROUP_AT_UNIFIED;
        for (int c = 0; c < CGROUP_AT_UNIFIED; c++)
            these |= (unsigned)cgroup_listed(m.controllers, v1_names[c]) << c;
        claimed |= these;
        if (!has_known_controller(m.controllers) || ret->n == CGROUP_AT_MAX)
            continue;
        search_mounts(s, mounts, &m);
        if (s->found)
            add_place(ret, &s->best, m.controllers);
        else if (!s->initial || m.path.len != 1) /* the root of a hierarchy is not needed */
            ret->hidden |= these;
    }
    if (ret->hidden >> CGROUP_AT_UNIFIED & 1) /* then each controller that is in no v1 hierarchy is hidden as well */
        ret->hidden |= ~claimed & ((1u << CGROUP_AT_UNIFIED) - 1);
    share_unified(ret, claimed);
}

int cgroup_find(int root_fd, int32_t pid, struct cgroup_hierarchies *ret)
{
    char path[48] = "proc/self/cgroup";
    struct buf mounts = {0}, memberships = {0};
    struct search s = {
        .root_fd = root_fd, .initial = in_initial_namespace(root_fd), .pid = pid ? pid : (int32_t)getpid()};
    clear_hierarchies(ret);
    if (pid)
        snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
    int code = read_whole(root_fd, "proc/self/mountinfo", &mounts);
    if (code == 0)
        code = read_whole(root_fd, path, &memberships);
    if (code == 0)
        find_all(&s, span_of(mounts.at, mounts.len), span_of(memberships.at, memberships.len), ret);
    buf_done(&mounts);
    buf_done(&memberships);
    return code;
}

const struct cgroup_location *cgroup_location_of(const struct cgroup_hierarchies *p, enum cgroup_controller c)
{
    return p->of[c] < 0 ? NULL : &p->at[p->of[c]];
}

/* ---- by path ---- */

/* If the path is at or below the mount point, the rest of the path. */
static bool beneath(const char *path, const char *point, struct span *ret)
{
    size_t n = strlen(point);
    if (strncmp(path, point, n) != 0 || (path[n] && path[n] != '/'))
        return false;
    *ret = span_str(path + n);
    return true;
}

/* Options of a v1 mount include the names of its controllers. */
static bool same_hierarchy(const struct cgroup_hierarchies *p, const struct proc_mount *m)
{
    if (span_equal(m->type, "cgroup2"))
        return p->of[CGROUP_AT_UNIFIED] >= 0;
    for (int c = 0; c < CGROUP_AT_UNIFIED; c++) {
        if (p->of[c] >= 0 && cgroup_listed(m->options, v1_names[c]))
            return true;
    }
    return false;
}

static bool place_at(int root_fd, const struct proc_mount *m, const char *path, bool absolute,
                     struct cgroup_location *p)
{
    char root[CGROUP_PATH_MAX], point[256];
    struct span rest;
    *p = (struct cgroup_location){.v2 = span_equal(m->type, "cgroup2")};
    if (proc_mount_unescape(m->root, root, sizeof(root)) < 0 || proc_mount_unescape(m->point, point, sizeof(point)) < 0)
        return false;
    if (absolute ? !beneath(path, point, &rest) : !below(span_str(path), root, &rest))
        return false;
    if (has_dots(rest) || !put_dir(p, point, rest))
        return false;
    int n = snprintf(p->path, sizeof(p->path), "%s%.*s", strcmp(root, "/") != 0 ? root : "", (int)rest.len, rest.at);
    if (n < 0 || (size_t)n >= sizeof(p->path))
        return false;
    if (!n)
        memcpy(p->path, "/", 2);
    int fd = open_dir(root_fd, p->dir);
    if (fd < 0)
        return false;
    bool group = has_file(fd, "cgroup.procs");
    p->root = is_root(fd, p->v2);
    fd_close(fd);
    return group;
}

static void find_in(int root_fd, struct span mounts, const char *path, bool absolute, struct cgroup_hierarchies *ret)
{
    struct proc_mount m;
    struct cgroup_location p;
    while (ret->n < CGROUP_AT_MAX && proc_mount_next(&mounts, &m)) {
        bool group = span_equal(m.type, "cgroup2") || span_equal(m.type, "cgroup");
        if (group && !same_hierarchy(ret, &m) && !is_covered(&m, mounts) && place_at(root_fd, &m, path, absolute, &p))
            add_place(ret, &p, p.v2 ? span_of("", 0) : m.options);
    }
}

int cgroup_find_path(int root_fd, const char *path, struct cgroup_hierarchies *ret)
{
    char trimmed[CGROUP_DIR_MAX];
    struct buf mounts = {0};
    size_t n = strlen(path);
    clear_hierarchies(ret);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (*path != '/' || n >= sizeof(trimmed) || read_whole(root_fd, "proc/self/mountinfo", &mounts) < 0) {
        buf_done(&mounts);
        return 0;
    }
    memcpy(trimmed, path, n);
    trimmed[n] = 0;
    find_in(root_fd, span_of(mounts.at, mounts.len), trimmed, true, ret);
    if (!ret->n)
        find_in(root_fd, span_of(mounts.at, mounts.len), trimmed, false, ret);
    unsigned claimed = 0;
    for (int c = 0; c < CGROUP_AT_UNIFIED; c++)
        claimed |= (unsigned)(ret->of[c] >= 0) << c;
    share_unified(ret, claimed);
    buf_done(&mounts);
    return (int)ret->n;
}
