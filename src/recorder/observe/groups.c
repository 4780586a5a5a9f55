/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups that match a pattern as in glob(7). */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "recorder/observe/state.h"

#define MOUNTED "/sys/fs/cgroup"

static ssize_t read_of(const char *dir, const char *name, char *text, size_t cap)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
    ssize_t len = n < (int)sizeof(path) ? fd_read_file(AT_FDCWD, path, text, cap - 1) : -1;
    text[len > 0 ? len : 0] = 0;
    return len;
}

/* Does a group or one below it have a process? v2 has cgroup.events; in v1 a group with groups below it counts. */
static bool has_processes(const char *dir, const struct stat *st)
{
    char text[256];
    if (read_of(dir, "cgroup.events", text, sizeof(text)) >= 0)
        return strstr(text, "populated 1") != NULL;
    return st->st_nlink > 2 || read_of(dir, "cgroup.procs", text, sizeof(text)) > 0;
}

/* Watches the folders in which groups can match. */
static void watch(char *whole, struct missed *missed)
{
    glob_t found;
    char *slash = strrchr(whole, '/');
    if (!slash || slash == whole)
        return;
    *slash = 0;
    if (glob(whole, GLOB_ONLYDIR | GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            missed_watch(missed, found.gl_pathv[i], slash + 1);
        globfree(&found);
    }
    *slash = '/';
}

/* Returns how many match. skip: length of the mount point in each path. */
static size_t each_below(const char *below, size_t skip, const char *pattern, const struct groups_search *s)
{
    char whole[4096];
    glob_t found;
    size_t n = 0;
    if (snprintf(whole, sizeof(whole), "%s%s", below, pattern) >= (int)sizeof(whole))
        return 0;
    watch(whole, s->missed);
    if (glob(whole, GLOB_ONLYDIR | GLOB_NOSORT, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *dir = found.gl_pathv[i];
        struct stat st;
        if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        n++;
        if (s->known(s->context, dir + skip, st.st_ino) ||
            (has_processes(dir, &st) && s->fn(s->context, dir + skip, st.st_ino)))
            missed_begun(s->missed, dir);
    }
    globfree(&found);
    return n;
}

/* A pattern may begin with /sys/fs/cgroup, like a path for `record --cgroup`. Any other pattern is searched for in each
 * hierarchy, first in the one that counts CPU time; a group has the same path in all of them. */
size_t groups_each(const char *pattern, const struct groups_search *s)
{
    static const char *const hierarchies[] = {"", "/unified", "/cpuacct", "/cpu,cpuacct", "/memory", "/systemd"};
    char below[64];
    bool absolute = *pattern == '/';
    if (strncmp(pattern, MOUNTED "/", sizeof(MOUNTED)) == 0)
        return each_below("", 0, pattern, s);
    size_t found = 0;
    for (size_t i = 0; !found && i < sizeof(hierarchies) / sizeof(*hierarchies); i++) {
        int n = snprintf(below, sizeof(below), MOUNTED "%s%s", hierarchies[i], absolute ? "" : "/");
        found = each_below(below, (size_t)n - !absolute, pattern, s);
    }
    return found;
}
