/* SPDX-License-Identifier: Apache-2.0 */
#include "tape/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "base/span.h"
#include "tape/writer.h"

static int terminated(struct buf *b, struct baro_error *err)
{
    buf_byte(b, 0);
    if (b->failed)
        return error_set(err, -ENOMEM, "no memory for a path");
    b->len--;
    return 0;
}

/* Makes a folder and those above it that are missing. The XDG base directory specification asks for mode 0700. */
static int make_all(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        int r = mkdir(path, 0700);
        int code = errno;
        *slash = '/';
        if (r < 0 && code != EEXIST && code != EROFS && code != EACCES)
            return -code;
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int usable(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    return faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* Relative folders are ignored, as the XDG specification has it: they would depend on where one stands. */
static bool wanted_dir(struct buf *ret)
{
    const char *dir = getenv("BARO_DIR"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (dir && dir[0])
        buf_str(ret, dir);
    else if (state && state[0] == '/')
        buf_printf(ret, "%s/barograph", state);
    else if (home && home[0] == '/')
        buf_printf(ret, "%s/.local/state/barograph", home);
    else
        return false;
    return true;
}

/* /tmp is everyone's: what stands there under this name must be a folder of this user that no one else can write. */
static int fallback_dir(struct buf *ret, struct baro_error *err)
{
    const char *tmp = getenv("TMPDIR");
    struct stat st;
    buf_clear(ret);
    buf_printf(ret, "%s/barograph-%u", tmp && tmp[0] == '/' ? tmp : "/tmp", (unsigned)geteuid());
    int r = terminated(ret, err);
    if (r < 0)
        return r;
    const char *path = (const char *)ret->at;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "can't make %s: %s", path, error_text(errno));
    if (lstat(path, &st) < 0)
        return error_set(err, -errno, "can't use %s: %s", path, error_text(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return error_set(err, -EPERM, "can't use %s: it is not a folder of this user's own with mode 0700", path);
    return 0;
}

int runs_dir(struct buf *ret_path, struct baro_error *ret_note, struct baro_error *err)
{
    char why[300];
    if (ret_note)
        *ret_note = (struct baro_error)BARO_ERROR_INIT;
    buf_clear(ret_path);
    if (wanted_dir(ret_path)) {
        int r = terminated(ret_path, err);
        if (r < 0)
            return r;
        r = make_all((char *)ret_path->at);
        if (r == 0)
            r = usable((const char *)ret_path->at);
        if (r == 0)
            return 0;
        snprintf(why, sizeof why, "can't use %.180s: %s", (const char *)ret_path->at, error_text(-r));
    } else {
        snprintf(why, sizeof why, "HOME is %s", getenv("HOME") ? "not an absolute path" : "not set");
    }
    int r = fallback_dir(ret_path, err);
    if (r == 0)
        error_set(ret_note, 0, "%s; runs are kept in %s", why, (const char *)ret_path->at);
    return r;
}

static bool harmless(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._+-", c);
}

static void add_command(struct buf *b, const char *command)
{
    enum { LONGEST = 32 };
    const char *slash = strrchr(command, '/');
    size_t added = 0;
    for (const char *c = slash ? slash + 1 : command; *c && added < LONGEST; c++) {
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
    buf_printf(ret_path, "%s/%04lld%02u%02uT%02u%02u%02u.%06uZ-", dir, (long long)t.year, t.month, t.day, t.hour, t.minute, t.second, t.ns / 1000);
    add_command(ret_path, command ? command : "");
    buf_printf(ret_path, "-%d.baro", (int)getpid());
    return terminated(ret_path, err);
}

/* "20261121T043450." and ".baro": whatever else lies in the folder was not put there by us and is never removed. */
static bool is_run(const char *name)
{
    static const char shape[] = "ddddddddTdddddd.";
    size_t len = strlen(name);
    if (len < sizeof shape + 5 || strcmp(name + len - 5, ".baro") != 0)
        return false;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != shape[i])
            return false;
    return true;
}

static bool list_add(struct runs_list *l, size_t *cap, const char *name, uint64_t bytes)
{
    if (l->n == *cap) {
        size_t more = *cap ? *cap * 2 : 64;
        struct runs_entry *grown = realloc(l->at, more * sizeof *grown);
        if (!grown)
            return false;
        l->at = grown;
        *cap = more;
    }
    char *copy = strdup(name);
    if (!copy)
        return false;
    l->at[l->n++] = (struct runs_entry){copy, bytes};
    return true;
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(((const struct runs_entry *)b)->name, ((const struct runs_entry *)a)->name);
}

int runs_list(const char *dir, struct runs_list *ret, struct baro_error *err)
{
    size_t cap = 0;
    struct dirent *e;
    struct stat st;
    int r = 0;
    *ret = (struct runs_list){0};
    DIR *d = opendir(dir);
    if (!d)
        return error_set(err, -errno, "can't list %s: %s", dir, error_text(errno));
    while (r == 0 && (e = readdir(d)) != NULL) {
        if (!is_run(e->d_name) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        if (!list_add(ret, &cap, e->d_name, (uint64_t)st.st_size))
            r = error_set(err, -ENOMEM, "no memory to list %s", dir);
    }
    closedir(d);
    if (r < 0)
        runs_list_done(ret);
    else if (ret->n > 0)
        qsort(ret->at, ret->n, sizeof *ret->at, newest_first);
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
    r = runs_list(dir, &l, err);
    if (r < 0)
        return r;
    if (l.n == 0) {
        r = error_set(err, -ENOENT, "no run is kept in %s; `baro run -- COMMAND` records one", dir);
    } else if (nth > l.n) {
        r = error_set(err, -ENOENT, "there is no @%llu: %zu run%s kept in %s", (unsigned long long)nth, l.n, l.n == 1 ? " is" : "s are", dir);
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
    bool yes = tape_in_work(fd);
    fd_close(fd);
    return yes;
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
        int r = unlinkat(dir, l->at[i].name, 0);
        if (r < 0 && errno != ENOENT)
            continue;
        removed += r == 0; /* another baro may have been first */
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

#define SIZES_EVERY 16u /* runs between two looks at all sizes, */
#define SIZES_SHARE 64u /* unless the newest takes a larger part of what is allowed */

/* Is there anything to do? Names alone are read for that: five hundred stat(2) after each short command would cost as much as its recording. */
static bool worth_it(DIR *d, struct keep *keep)
{
    char newest[NAME_MAX + 1] = "";
    struct stat st;
    struct dirent *e;
    uint64_t n = 0;
    while ((e = readdir(d)) != NULL) {
        if (!is_run(e->d_name))
            continue;
        n++;
        if (strcmp(e->d_name, newest) > 0)
            memcpy(newest, e->d_name, strlen(e->d_name) + 1);
    }
    if (n > keep->runs) {
        keep->runs -= keep->runs / SIZES_EVERY; /* so that the next ones find nothing to do */
        return true;
    }
    return n % SIZES_EVERY == 0 || (*newest && fstatat(dirfd(d), newest, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                                    (uint64_t)st.st_size > keep->bytes / SIZES_SHARE);
}

int runs_prune(const char *dir, struct baro_error *err)
{
    struct keep keep;
    struct runs_list l;
    int r = parse_keep(getenv("BARO_KEEP"), &keep, err);
    if (r < 0)
        return r;
    DIR *d = opendir(dir);
    if (!d)
        return error_set(err, -errno, "can't list %s: %s", dir, error_text(errno));
    bool nothing = !worth_it(d, &keep);
    closedir(d);
    if (nothing)
        return 0;
    r = runs_list(dir, &l, err);
    if (r < 0)
        return r;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        r = error_set(err, -errno, "can't open %s: %s", dir, error_text(errno));
    else
        r = prune_list(fd, &l, &keep);
    fd_close(fd);
    runs_list_done(&l);
    return r;
}
