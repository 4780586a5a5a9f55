/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "base/span.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/segments.h"

static int terminated(struct buf *b, struct baro_error *err)
{
    buf_byte(b, 0);
    if (b->failed)
        return error_set(err, -ENOMEM, "no memory for a path");
    b->len--;
    return 0;
}

/* May this user keep runs there? An ordinary user may, even if others can write to the folder, because they gain no
 * rights by that. Root may not: others could make root write and remove files of their choice. */
static int usable(int fd, const char **ret_why)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (geteuid() == 0 && st.st_uid != 0)
        *ret_why = "it belongs to another user";
    else if (geteuid() == 0 && (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        *ret_why = "everybody may remove files from it";
    if (*ret_why)
        return -EPERM;
    return faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* Writes a folder without the slashes at its end: a home may be "/". */
static void put_folder(struct buf *ret, const char *folder)
{
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/')
        n--;
    buf_add(ret, folder, n);
}

/* Gets the folder that the environment names. Relative paths are ignored, as the XDG Base Directory Specification
 * demands. */
static bool wanted_dir(struct buf *ret)
{
    const char *dir = getenv("BARO_DIR"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (dir && dir[0]) {
        put_folder(ret, dir);
        buf_str(ret, ret->len ? "" : "/");
    } else if (state && state[0] == '/') {
        put_folder(ret, state);
        buf_str(ret, "/barograph");
    } else if (home && home[0] == '/') {
        put_folder(ret, home);
        buf_str(ret, "/.local/state/barograph");
    }
    return ret->len > 0;
}

/* Gets the folder below /tmp. Anybody can make files in /tmp, so it must be a folder of this user with mode 0700. */
static int fallback_dir(struct buf *ret, struct baro_error *err)
{
    const char *tmp = getenv("TMPDIR");
    struct stat st;
    buf_clear(ret);
    put_folder(ret, tmp && tmp[0] == '/' ? tmp : "/tmp");
    buf_printf(ret, "/barograph-%u", (unsigned)geteuid());
    int r = terminated(ret, err);
    if (r < 0)
        return r;
    const char *path = (const char *)ret->at;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "can't make %s: %s", path, strerror(errno));
    if (lstat(path, &st) < 0)
        return error_set(err, -errno, "can't use %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return error_set(err, -EPERM, "can't use %s: it is not a folder of this user's own with mode 0700", path);
    return 0;
}

/* Opens the folder. Returns its descriptor; else -1, and the reason in `why`. */
static int open_wanted(const char *path, char *why, size_t cap)
{
    struct baro_error err = BARO_ERROR_INIT;
    const char *reason = NULL;
    int fd = folder_open(path, true, &err);
    if (fd < 0) {
        snprintf(why, cap, "%s", err.text);
        return fd;
    }
    int r = usable(fd, &reason);
    if (r == 0)
        return fd;
    snprintf(why, cap, "can't use %.180s: %s", path, reason ? reason : strerror(-r));
    fd_close(fd);
    return r;
}

int runs_open(struct buf *ret_path, struct baro_error *ret_note, struct baro_error *err)
{
    char why[300];
    if (ret_note)
        *ret_note = (struct baro_error)BARO_ERROR_INIT;
    buf_clear(ret_path);
    if (wanted_dir(ret_path)) {
        int r = terminated(ret_path, err);
        if (r == 0)
            r = open_wanted((const char *)ret_path->at, why, sizeof why);
        if (r >= 0 || ret_path->failed)
            return r;
    } else {
        snprintf(why, sizeof why, "HOME is %s", getenv("HOME") ? "not an absolute path" : "not set");
    }
    int r = fallback_dir(ret_path, err);
    if (r < 0)
        return r;
    error_set(ret_note, 0, "%s; runs are kept in %s", why, (const char *)ret_path->at);
    return folder_open((const char *)ret_path->at, false, err);
}

int runs_dir(struct buf *ret_path, struct baro_error *ret_note, struct baro_error *err)
{
    int fd = runs_open(ret_path, ret_note, err);
    fd_close(fd);
    return fd < 0 ? fd : 0;
}

static bool harmless(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._+-", c);
}

static void add_command(struct buf *b, const char *command)
{
    enum { LONGEST = 32 };
    size_t added = 0;
    for (const char *c = path_base_name(command); *c && added < LONGEST; c++) {
        if (!harmless(*c))
            continue;
        buf_byte(b, (uint8_t)*c);
        added++;
    }
    if (added == 0)
        buf_str(b, "run");
}

int runs_new_path(const char *dir, const char *command, struct buf *ret_path, struct baro_error *err)
{
    struct utc t = utc_of(clock_realtime_ns());
    buf_clear(ret_path);
    buf_printf(ret_path, "%s/%04lld%02u%02uT%02u%02u%02u.%06uZ-", dir, (long long)t.year, t.month, t.day, t.hour,
               t.minute, t.second, t.ns / 1000);
    add_command(ret_path, command ? command : "");
    buf_printf(ret_path, "-%d.baro", (int)getpid());
    return terminated(ret_path, err);
}

static bool is_tape_name(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && strcmp(name + len - 5, ".baro") == 0;
}

/* The form is "20261121T043450." ... ".baro". Other files in the folder were made by somebody else and are not removed.
 */
bool runs_is_name(const char *name)
{
    static const char shape[] = "ddddddddTdddddd.";
    if (!is_tape_name(name) || strlen(name) < sizeof shape + 5)
        return false;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != shape[i])
            return false;
    return true;
}

static bool list_add(struct runs_list *l, size_t *cap, const char *name, const struct runs_entry *one)
{
    char *copy = array_reserve(&l->at, l->n + 1, cap, sizeof *l->at) < 0 ? NULL : strdup(name);
    if (!copy)
        return false;
    l->at[l->n] = *one;
    l->at[l->n++].name = copy;
    return true;
}

/* Names without a time have their natural order: task-2 before task-10. */
static int newest_first(const void *a, const void *b)
{
    const struct runs_entry *x = a, *y = b;
    if (x->untimely != y->untimely)
        return x->untimely ? 1 : -1;
    return x->untimely ? strverscmp(x->name, y->name) : strcmp(y->name, x->name);
}

enum { STAMP_SIZE = 16, CLOCKS_DIFFER = 3600 /* s by which the clocks of machines that share a folder may differ */ };

static void stamp(int64_t seconds, char ret[static STAMP_SIZE + 40])
{
    struct utc t = utc_of((seconds + CLOCKS_DIFFER) * (int64_t)NS_PER_SEC);
    snprintf(ret, STAMP_SIZE + 40, "%04lld%02u%02uT%02u%02u%02u.", (long long)t.year, t.month, t.day, t.hour, t.minute,
             t.second);
}

/* Is the time in a name later than the time at which the file was made, or in the future? A recorder makes the file
 * when the recording begins, so no recorder chose this name, unless its clock was wrong. Such a file comes last in
 * the list, and @last never means it. */
static bool is_untimely(const struct statx *st, const char *name, const char *now)
{
    char made[STAMP_SIZE + 40];
    if (strncmp(name, now, STAMP_SIZE) > 0)
        return true;
    if (!(st->stx_mask & STATX_BTIME))
        return false;
    stamp(st->stx_btime.tv_sec, made);
    return strncmp(name, made, STAMP_SIZE) > 0;
}

static uint64_t bytes_of(int dir, const char *name, const struct statx *st)
{
    int fd = S_ISDIR(st->stx_mode) ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
    uint64_t bytes = fd < 0 ? st->stx_size : segments_bytes(fd);
    fd_close(fd);
    return bytes;
}

static int list(DIR *d, unsigned flags, struct runs_list *ret, struct baro_error *err)
{
    size_t cap = 0;
    struct dirent *e;
    struct statx st;
    char now[STAMP_SIZE + 40];
    stamp(clock_realtime_ns() / (int64_t)NS_PER_SEC, now);
    *ret = (struct runs_list){0};
    while ((e = readdir(d)) != NULL) {
        bool is_listed = flags & RUNS_ANY_NAME ? is_tape_name(e->d_name) : runs_is_name(e->d_name);
        if (!is_listed || statx(dirfd(d), e->d_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
            continue;
        uint64_t bytes = bytes_of(dirfd(d), e->d_name, &st);
        if ((!S_ISREG(st.stx_mode) && !S_ISDIR(st.stx_mode)) || (!(flags & RUNS_EMPTY) && bytes == 0))
            continue;
        struct runs_entry one = {.bytes = bytes,
                                 .inode = st.stx_ino,
                                 .changed_ns = st.stx_mtime.tv_sec * (int64_t)NS_PER_SEC + st.stx_mtime.tv_nsec,
                                 .is_numbered = runs_is_name(e->d_name)};
        one.untimely = !one.is_numbered || is_untimely(&st, e->d_name, now);
        if (!list_add(ret, &cap, e->d_name, &one)) {
            runs_list_done(ret);
            return error_set(err, -ENOMEM, "no memory to list the kept runs");
        }
    }
    if (ret->n > 0)
        qsort(ret->at, ret->n, sizeof *ret->at, newest_first);
    return 0;
}

int runs_list(const char *dir, unsigned flags, struct runs_list *ret, struct baro_error *err)
{
    *ret = (struct runs_list){0};
    DIR *d = opendir(dir);
    if (!d)
        return error_set(err, -errno, "can't list %s: %s", dir, strerror(errno));
    int r = list(d, flags, ret, err);
    closedir(d);
    return r;
}

void runs_list_done(struct runs_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].name);
    free(l->at);
    *l = (struct runs_list){0};
}

static int resolve_kept(uint64_t nth, struct buf *ret_path, struct baro_error *err)
{
    struct runs_list l;
    int r = runs_dir(ret_path, NULL, err);
    if (r < 0)
        return r;
    const char *dir = (const char *)ret_path->at;
    r = runs_list(dir, 0, &l, err);
    if (r < 0)
        return r;
    if (l.n == 0) {
        r = error_set(err, -ENOENT, "no run is kept in %s; `baro run -- COMMAND` records one", dir);
    } else if (nth > l.n) {
        r = error_set(err, -ENOENT, "there is no @%llu: %zu run%s kept in %s", (unsigned long long)nth, l.n,
                      l.n == 1 ? " is" : "s are", dir);
    } else {
        buf_printf(ret_path, "/%s", l.at[nth - 1].name);
        r = terminated(ret_path, err);
    }
    runs_list_done(&l);
    return r;
}

int runs_resolve(const char *name, struct buf *ret_path, struct baro_error *err)
{
    uint64_t nth = 1;
    buf_clear(ret_path);
    if (name && name[0] != '@') {
        buf_str(ret_path, name);
        return terminated(ret_path, err);
    }
    if (name && strcmp(name, "@last") != 0) {
        struct span s = span_str(name + 1);
        if (!scan_u64(&s, &nth) || s.len > 0 || nth == 0)
            return error_set(err, BARO_E_SYNTAX, "%s names no run; @last, @1 (the same), @2 ... do", name);
    }
    return resolve_kept(nth, ret_path, err);
}

struct keep {
    uint64_t runs, bytes;
};

/* "200", "200 runs" or "1GB". A bare number counts runs. */
static int parse_keep_part(char *part, struct keep *k, struct baro_error *err)
{
    struct span s = span_str(part);
    uint64_t n;
    if (scan_u64(&s, &n)) {
        scan_blanks(&s);
        if (s.len == 0 || span_equal(s, "runs") || span_equal(s, "run")) {
            k->runs = n;
            return 0;
        }
    }
    return parse_size(part, &k->bytes, err);
}

static int parse_keep(const char *text, struct keep *ret, struct baro_error *err)
{
    char copy[128], *save = NULL;
    *ret = (struct keep){500, 2000000000};
    if (!text || !text[0])
        return 0;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return error_set(err, BARO_E_SYNTAX, "BARO_KEEP is too long");
    for (char *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        part += strspn(part, " \t");
        for (size_t len = strlen(part); len > 0 && (part[len - 1] == ' ' || part[len - 1] == '\t'); len--)
            part[len - 1] = 0;
        if (parse_keep_part(part, ret, NULL) < 0)
            return error_set(err, BARO_E_SYNTAX, "BARO_KEEP=%s: neither a number of runs nor a size: %s", text, part);
    }
    return 0;
}

static bool in_work(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno != ENOENT;
    struct stat st;
    bool yes = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? segments_in_work(fd) : tape_in_work(fd);
    fd_close(fd);
    return yes;
}

static int remove_run(int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    return errno == EISDIR ? segments_remove(dir, name, false) : -errno;
}

static int prune_list(int dir, const struct runs_list *l, const struct keep *keep)
{
    uint64_t n = l->n, bytes = 0;
    int removed = 0;
    for (size_t i = 0; i < l->n; i++)
        bytes += l->at[i].bytes;
    for (size_t i = l->n; i-- > 1 && (n > keep->runs || bytes > keep->bytes);) {
        if (in_work(dir, l->at[i].name))
            continue;
        int r = remove_run(dir, l->at[i].name);
        if (r < 0 && r != -ENOENT)
            continue;
        removed += r == 0; /* -ENOENT: another baro has removed it */
        n--;
        bytes -= l->at[i].bytes;
    }
    return removed;
}

int runs_check_limits(struct baro_error *err)
{
    struct keep keep;
    return parse_keep(getenv("BARO_KEEP"), &keep, err);
}

#define SIZES_EVERY 16u /* all sizes are read after this many runs, */
#define SIZES_SHARE 64u /* or if the newest run takes more than this part of the allowed bytes */

/* Is there anything to remove? This reads names only: five hundred calls of stat(2) after each short command would cost
 * as much as its recording. */
static bool may_exceed(DIR *d, struct keep *keep)
{
    char newest[NAME_MAX + 1] = "";
    struct stat st;
    struct dirent *e;
    uint64_t n = 0;
    while ((e = readdir(d)) != NULL) {
        if (!runs_is_name(e->d_name))
            continue;
        n++;
        if (strcmp(e->d_name, newest) > 0)
            memcpy(newest, e->d_name, strlen(e->d_name) + 1);
    }
    if (n > keep->runs) {
        keep->runs -= keep->runs / SIZES_EVERY; /* the next calls then find nothing to do */
        return true;
    }
    return n % SIZES_EVERY == 0 || (*newest && fstatat(dirfd(d), newest, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                                    (uint64_t)st.st_size > keep->bytes / SIZES_SHARE);
}

int runs_prune(int dir_fd, struct baro_error *err)
{
    struct keep keep;
    struct runs_list l;
    int r = parse_keep(getenv("BARO_KEEP"), &keep, err);
    if (r < 0)
        return r;
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        r = error_set(err, -errno, "can't list the kept runs: %s", strerror(errno));
        fd_close(fd);
        return r;
    }
    if (may_exceed(d, &keep)) {
        rewinddir(d);
        r = list(d, RUNS_EMPTY, &l, err);
        if (r == 0)
            r = prune_list(fd, &l, &keep);
        runs_list_done(&l);
    }
    closedir(d);
    return r;
}
