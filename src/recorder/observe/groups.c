/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups that match a pattern as in glob(7). Any user to whom a group is delegated can make a hundred thousand
 * below it, so a search goes on where it stopped, and reads a part of a large folder in each pass. Example: the folder
 * of one user has 20,000 groups without processes; a pass reads 256 of them and then the other folders. A new group
 * there is found within two passes; one in the large folder within 80.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/map.h"
#include "kernel/cgroup/discover.h"
#include "recorder/observe/state.h"

#define MOUNTED "/sys/fs/cgroup"
#define NAMES_MOST 2048u /* names of a folder in a pass */
#define NAMES_OF_READ 7u /* reading a file of a group takes as long as so many names */

/* A group has the same path in all hierarchies; the first is the one that counts CPU time. */
static const char *const hierarchies[] = {"", "/unified", "/cpuacct", "/cpu,cpuacct", "/memory", "/systemd"};
#define HIERARCHIES (sizeof(hierarchies) / sizeof(*hierarchies))

static ssize_t read_of(const char *dir, const char *name, char *text, size_t cap)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
    ssize_t len = n < (int)sizeof(path) ? fd_read_file(AT_FDCWD, path, text, cap - 1) : -1;
    text[len > 0 ? len : 0] = 0;
    return len;
}

/* Does a group or one below it have a process? v2 has cgroup.events; in v1 a group with groups below it counts. */
bool groups_has_processes(const char *dir)
{
    char text[256];
    struct stat st;
    ssize_t n = read_of(dir, "cgroup.events", text, sizeof(text));
    if (n >= 0 || n == -EMFILE) /* who begins the job then says that no descriptor is left */
        return n < 0 || strstr(text, "populated 1") != NULL;
    return read_of(dir, "cgroup.procs", text, sizeof(text)) > 0 || (stat(dir, &st) == 0 && st.st_nlink > 2);
}

/* ---- large folders ---- */

/* Returns the folder at g->path, if a pass before this one has read a part of it. */
static struct groups_large *find_large(struct groups *g, const char *names)
{
    uint64_t key = map_hash(g->path, strlen(g->path)) ^ map_hash(names, strlen(names));
    for (size_t i = 0; i < g->n_large; i++) {
        if (g->large[i].key == key)
            return &g->large[i];
    }
    if (g->n_large == LARGE_MOST)
        return NULL;
    g->large[g->n_large] = (struct groups_large){.key = key};
    return &g->large[g->n_large];
}

/* If there is no room to note where a folder was left, it is read to its end. */
static bool leave_large(struct groups *g, const struct groups_level *l)
{
    g->path[l->len] = 0;
    struct groups_large *large = find_large(g, l->names);
    if (!large)
        return false;
    if (large == &g->large[g->n_large])
        g->n_large++;
    large->since_ns = large->since_ns ? large->since_ns : g->since_ns;
    large->at = telldir(l->dir);
    large->is_kept = true;
    return true;
}

/* A folder that a pass has read from its beginning to its end is not large any more. */
static void end_large(struct groups *g, const struct groups_level *l)
{
    g->path[l->len] = 0;
    struct groups_large *large = find_large(g, l->names);
    if (!large || large == &g->large[g->n_large])
        return;
    large->is_kept = large->at != 0;
    large->was_read = true;
    large->at = 0;
    large->since_ns = 0;
}

static void forget_large(struct groups *g)
{
    for (size_t i = g->n_large; i-- > 0;) {
        if (!g->large[i].is_kept)
            g->large[i] = g->large[--g->n_large];
        else
            g->large[i].is_kept = false;
    }
}

bool groups_are_read(const struct groups *g)
{
    for (size_t i = 0; i < g->n_large; i++) {
        if (!g->large[i].was_read)
            return false;
    }
    return g->was_pass;
}

uint64_t groups_since_ns(const struct groups *g)
{
    uint64_t since = g->since_ns;
    for (size_t i = 0; i < g->n_large; i++) {
        if (g->large[i].since_ns && g->large[i].since_ns < since)
            since = g->large[i].since_ns;
    }
    return since;
}

/* ---- one pattern ---- */

static void count_read(struct groups *g)
{
    if (g->n)
        g->level[g->n - 1].n += NAMES_OF_READ;
}

/* Opens the folder at g->path to compare its names, unless nothing in it can have a process. */
static void open_level(struct groups *g, size_t len, const char *names)
{
    char text[256];
    if (g->n == LEVELS_MOST)
        return;
    count_read(g);
    if (read_of(g->path, "cgroup.events", text, sizeof(text)) > 0 && strstr(text, "populated 0"))
        return;
    DIR *dir = opendir(g->path);
    if (!dir)
        return;
    const struct groups_large *large = find_large(g, names);
    if (large && large->at)
        seekdir(dir, large->at);
    g->level[g->n++] = (struct groups_level){.dir = dir, .names = names, .len = len};
}

/* inode: 0 if it is not known. */
static void try_group(struct groups *g, uint64_t inode, const struct groups_search *s)
{
    struct stat st;
    if (!inode && (stat(g->path, &st) < 0 || !S_ISDIR(st.st_mode)))
        return;
    inode = inode ? inode : st.st_ino;
    g->matched++;
    if (s->known(s->context, g->path + g->skip))
        return;
    count_read(g);
    if (groups_has_processes(g->path) && s->fn(s->context, g->path + g->skip, inode))
        missed_begun(s->missed, g->path + g->skip);
}

static const char *names_after(const char *names)
{
    return names + strlen(names) + 1;
}

/* g->path, of this length, fits so far: goes to the next folder whose names are to be compared, or takes the group. */
static void follow(struct groups *g, size_t len, const char *names, uint64_t inode, const struct groups_search *s)
{
    for (; *names; names = names_after(names)) {
        size_t n = strlen(names);
        if (!*names_after(names))
            missed_watch(s->missed, g->path, g->skip, names);
        if (strpbrk(names, "*?[\\")) {
            open_level(g, len, names);
            return;
        }
        if (len + n + 2 > sizeof(g->path))
            return;
        g->path[len] = '/';
        memcpy(g->path + len + 1, names, n + 1);
        len += n + 1;
        inode = 0;
    }
    try_group(g, inode, s);
}

static void take_name(struct groups *g, const struct groups_search *s)
{
    struct groups_level *l = &g->level[g->n - 1];
    bool is_left = l->n++ >= NAMES_MOST && leave_large(g, l);
    const struct dirent *e = is_left ? NULL : readdir(l->dir);
    if (!e) {
        if (!is_left)
            end_large(g, l);
        g->any_left_out |= is_left;
        closedir(l->dir);
        g->n--;
        return;
    }
    size_t n = strlen(e->d_name);
    if (e->d_type != DT_DIR || l->len + n + 2 > sizeof(g->path) || fnmatch(l->names, e->d_name, FNM_PERIOD) != 0)
        return;
    g->path[l->len] = '/';
    memcpy(g->path + l->len + 1, e->d_name, n + 1);
    follow(g, l->len + n + 1, names_after(l->names), e->d_ino, s);
}

/* Copies a pattern, of which each part ends with a zero byte, and the last one with two. */
static bool split_pattern(struct groups *g, const char *pattern)
{
    size_t len = 0;
    while (*(pattern += strspn(pattern, "/"))) {
        size_t n = strcspn(pattern, "/");
        if (len + n + 2 > sizeof(g->pattern))
            return false;
        memcpy(g->pattern + len, pattern, n);
        len += n;
        g->pattern[len++] = 0;
        pattern += n;
    }
    g->pattern[len] = 0;
    return len > 0;
}

/* Begins a pattern in a hierarchy. Like a path for `record --cgroup` it may begin with /sys/fs/cgroup, or with the name
 * of a hierarchy, which is no part of the group's path: "memory/a" is the group "/a". */
static void begin_pattern(struct groups *g, const char *pattern, const struct groups_search *s)
{
    bool has_mount = strncmp(pattern, MOUNTED "/", sizeof(MOUNTED)) == 0;
    int n = has_mount ? 0 : snprintf(g->path, sizeof(g->path), MOUNTED "%s", hierarchies[g->hierarchy]);
    g->path[n] = 0;
    pattern += has_mount ? 0 : strspn(pattern, "/");
    size_t named = has_mount || g->hierarchy ? 0 : cgroup_hierarchy_length(AT_FDCWD, pattern);
    g->skip = (size_t)n + (named ? named + 1 : 0);
    if (split_pattern(g, pattern))
        follow(g, (size_t)n, g->pattern, 0, s);
    g->hierarchy = has_mount ? HIERARCHIES : g->hierarchy + 1;
}

/* ---- all patterns ---- */

static void begin_pass(struct groups *g)
{
    g->pattern_index = g->hierarchy = g->matched = 0;
    g->any_left_out = false;
    g->is_in_pass = true;
    g->since_ns = clock_monotonic_ns();
}

bool groups_turn(struct groups *g, const struct groups_search *s, uint64_t until_ns)
{
    if (!g->is_in_pass)
        begin_pass(g);
    while (g->pattern_index < s->n_patterns) {
        const char *pattern = s->patterns[g->pattern_index];
        if (g->n) {
            take_name(g, s);
        } else if (!g->matched && g->hierarchy < HIERARCHIES) {
            begin_pattern(g, pattern, s);
        } else {
            if (!g->matched && !g->any_left_out)
                s->no_match(s->context, pattern);
            g->pattern_index++;
            g->hierarchy = g->matched = 0;
            g->any_left_out = false;
        }
        if (clock_monotonic_ns() >= until_ns)
            return false;
    }
    forget_large(g);
    g->was_pass = true;
    g->is_in_pass = false;
    return true;
}

void groups_again(struct groups *g)
{
    while (g->n)
        closedir(g->level[--g->n].dir);
    g->n_large = 0;
    g->is_in_pass = g->was_pass = false;
}
