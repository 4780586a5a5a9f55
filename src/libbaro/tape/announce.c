/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/announce.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "libbaro/tape/segments.h"

#define BELOW "/barograph/runs"
#define USERS "/run/user"
#define KEPT 512u        /* links to keep */
#define PRUNE_EVERY 16   /* links beyond these before the oldest are removed */
#define LINKS_MOST 4096u /* links to read from one folder */

static bool is_own_folder(const char *path)
{
    struct stat st;
    return *path == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

bool announced_folder(struct buf *ret)
{
    const char *wanted = getenv("BARO_ANNOUNCED"), *runtime = getenv("XDG_RUNTIME_DIR");
    buf_clear(ret);
    if (wanted)
        buf_str(ret, *wanted == '/' ? wanted : "");
    else if (runtime && is_own_folder(runtime))
        buf_printf(ret, "%s" BELOW, runtime);
    else if (geteuid() == 0)
        buf_str(ret, "/run" BELOW);
    else
        buf_printf(ret, USERS "/%u" BELOW, (unsigned)geteuid());
    buf_byte(ret, 0);
    return !ret->failed && ret->len > 1;
}

/* ---- the recorder ---- */

/* Makes the folder and its parent, with mode 0700. */
static void make_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return;
    *slash = 0;
    if (!getenv("BARO_ANNOUNCED") && mkdir(path, 0755) == 0)
        (void)!chmod(path, 0755);
    *slash = '/';
    (void)!mkdir(path, 0700);
}

/* A name ends with a pid: "...-123.baro". Is that process alive? */
static bool lives(const char *name)
{
    uint64_t pid = 0;
    const char *dash = strrchr(name, '-');
    struct span s = span_str(dash ? dash + 1 : "");
    return scan_u64(&s, &pid) && pid && pid <= INT_MAX && (kill((pid_t)pid, 0) == 0 || errno != ESRCH);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct runs_entry *)a)->name, ((const struct runs_entry *)b)->name);
}

static bool add_announced(struct announced *a, const char *name, const char *path, uint64_t bytes)
{
    struct runs_list *l = &a->list;
    if (l->n % 64 == 0) {
        struct runs_entry *at = realloc(l->at, (l->n + 64) * sizeof(*at));
        l->at = at ? at : l->at;
        char **paths = at ? realloc(a->paths, (l->n + 64) * sizeof(*paths)) : NULL;
        a->paths = paths ? paths : a->paths;
        if (!paths)
            return false;
    }
    struct runs_entry e = {.name = strdup(name), .bytes = bytes};
    char *copy = strdup(path);
    if (!e.name || !copy) {
        free(e.name);
        free(copy);
        return false;
    }
    a->paths[l->n] = copy;
    l->at[l->n++] = e;
    return true;
}

static void announced_done(struct announced *a)
{
    for (size_t i = 0; i < a->list.n; i++)
        free(a->paths[i]);
    free(a->paths);
    runs_list_done(&a->list);
    *a = (struct announced){0};
}

static void prune(const char *folder)
{
    struct announced all = {0};
    DIR *d = opendir(folder);
    size_t over;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (runs_is_name(e->d_name) && !add_announced(&all, e->d_name, "", 0))
            break;
    }
    over = all.list.n > KEPT ? all.list.n - KEPT : 0;
    if (over)
        qsort(all.list.at, all.list.n, sizeof(*all.list.at), by_name);
    for (size_t i = 0; i < over; i++) {
        if (!lives(all.list.at[i].name))
            unlinkat(dirfd(d), all.list.at[i].name, 0);
    }
    announced_done(&all);
    if (d)
        closedir(d);
}

void announce(const char *name, const char *path)
{
    struct buf folder = {0}, link = {0};
    bool has_folder = announced_folder(&folder);
    if (has_folder)
        buf_printf(&link, "%s/%s", (const char *)folder.at, name);
    buf_byte(&link, 0);
    if (has_folder && !link.failed && symlink(path, (const char *)link.at) < 0 && errno == ENOENT) {
        make_folder((char *)folder.at);
        (void)!symlink(path, (const char *)link.at);
    }
    if (has_folder && getpid() % PRUNE_EVERY == 0)
        prune((const char *)folder.at);
    buf_done(&folder);
    buf_done(&link);
}

/* ---- readers ---- */

static uint64_t bytes_of(const char *path, const struct stat *st)
{
    int fd = S_ISDIR(st->st_mode) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
    uint64_t bytes = fd < 0 ? (uint64_t)st->st_size : segments_bytes(fd);
    fd_close(fd);
    return bytes;
}

/* Takes a link if its target belongs to the owner of the link: a user can make links to files of others. */
static bool take_link(struct announced *a, int dir, const char *name)
{
    char path[PATH_MAX];
    struct stat link, st;
    if (!runs_is_name(name) || fstatat(dir, name, &link, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(link.st_mode))
        return true;
    ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = 0;
    if (*path != '/' || lstat(path, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
        st.st_uid != link.st_uid || access(path, R_OK) < 0)
        return true;
    uint64_t bytes = bytes_of(path, &st);
    return !bytes || add_announced(a, name, path, bytes);
}

static bool list_folder(struct announced *a, const char *path)
{
    DIR *d = opendir(path);
    bool fits = true;
    unsigned n = 0;
    for (struct dirent *e; d && fits && n < LINKS_MOST && (e = readdir(d)) != NULL; n++)
        fits = take_link(a, dirfd(d), e->d_name);
    if (d)
        closedir(d);
    return fits;
}

static bool list_users(struct announced *a)
{
    char path[sizeof(USERS BELOW) + NAME_MAX + 1];
    DIR *d = opendir(USERS);
    bool fits = true;
    for (struct dirent *e; d && fits && (e = readdir(d)) != NULL;) {
        if (*e->d_name == '.' || strlen(e->d_name) > 20)
            continue;
        snprintf(path, sizeof(path), USERS "/%s" BELOW, e->d_name);
        fits = list_folder(a, path);
    }
    if (d)
        closedir(d);
    return fits;
}

int announced_list(struct announced *ret)
{
    struct buf folder = {0};
    *ret = (struct announced){0};
    bool fits = !announced_folder(&folder) || list_folder(ret, (const char *)folder.at);
    if (fits && geteuid() == 0 && !getenv("BARO_ANNOUNCED"))
        fits = list_users(ret);
    fits = fits && !folder.failed;
    buf_done(&folder);
    if (!fits)
        announced_done(ret);
    return fits ? 0 : -ENOMEM;
}
