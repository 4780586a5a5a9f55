/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/position.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/map.h"

#define FILE_MOST 65536
#define ASIDE_MOST 262144 /* bytes of the file of refused points */

/* ---- the folder ---- */

static int make_folders(char *path)
{
    for (char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = 0;
        int code = mkdir(path, 0700);
        *c = '/';
        if (code < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return -errno;
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int positions_open(struct positions *ret, bool makes, struct baro_error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state && state[0] == '/';
    *ret = (struct positions){.dir_fd = -1, .lock_fd = -1};
    if (!has_state && !(home && home[0] == '/'))
        return error_set(err, -ENOENT, "there is no folder for positions: set XDG_STATE_HOME or HOME");
    if (snprintf(ret->folder, sizeof(ret->folder), "%s%s/barograph/push", has_state ? state : home,
                 has_state ? "" : "/.local/state") >= (int)sizeof(ret->folder))
        return error_set(err, -ENAMETOOLONG, "the folder for positions has too long a path");
    int code = makes ? make_folders(ret->folder) : 0;
    if (code == 0)
        ret->dir_fd = open(ret->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir_fd >= 0 && makes)
        ret->lock_fd = openat(ret->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (ret->dir_fd < 0 || (makes && ret->lock_fd < 0))
        return error_set(err, code ? code : -errno, "can't use %s, where positions are kept: %s", ret->folder,
                         strerror(code ? -code : errno));
    return 0;
}

void positions_close(struct positions *p)
{
    fd_closep(&p->dir_fd);
    fd_closep(&p->lock_fd);
}

/* ---- members ---- */

#define TEXT(member)                                                                                                   \
    {                                                                                                                  \
#member, offsetof(struct position, member), sizeof(((struct position *)0)->member)                             \
    }
#define NUMBER(member)                                                                                                 \
    {                                                                                                                  \
#member, offsetof(struct position, member), 0                                                                  \
    }
static const struct member {
    const char *name;
    size_t offset, size; /* size 0: a number */
} members[] = {
    TEXT(id),
    TEXT(hash),
    TEXT(tape),
    TEXT(destination),
    TEXT(name),
    TEXT(failure),
    NUMBER(acked_ns),
    NUMBER(until_ns),
    NUMBER(done),
    NUMBER(sending),
    NUMBER(samples),
    NUMBER(begun),
    NUMBER(is_end),
    NUMBER(is_over),
    NUMBER(version),
    NUMBER(sent),
    NUMBER(refused),
    NUMBER(there),
    NUMBER(set_aside),
    NUMBER(left_out),
    NUMBER(missed),
    NUMBER(acked_realtime_ns),
    NUMBER(seen_realtime_ns),
    NUMBER(written_ns),
};
#define MEMBERS (sizeof(members) / sizeof(*members))

static bool read_member(struct span *s, struct position *pos)
{
    char name[64];
    size_t len, i = 0;
    if (!json_string_exact(s, name, sizeof(name) - 1, &len) || !json_next_is(s, ':'))
        return false;
    name[len] = 0;
    while (i < MEMBERS && strcmp(members[i].name, name) != 0)
        i++;
    json_blanks(s);
    unsigned levels;
    if (i == MEMBERS)
        return json_value(s, &levels);
    char *at = (char *)pos + members[i].offset;
    if (!members[i].size)
        return scan_u64(s, (uint64_t *)(void *)at);
    if (!json_string(s, at, members[i].size - 1, &len))
        return false;
    at[len] = 0;
    return true;
}

static bool read_members(struct span s, struct position *pos)
{
    if (!json_next_is(&s, '{'))
        return false;
    do {
        json_blanks(&s);
        if (!read_member(&s, pos))
            return false;
    } while (json_next_is(&s, ','));
    return json_next_is(&s, '}');
}

static void name_file(const struct position *pos, const char *ending, char ret[128])
{
    snprintf(ret, 128, "%.32s-%.16s.%s", pos->id, pos->hash, ending);
}

/* Reads a regular file: one of another kind, as a FIFO, is none of ours, and might never be readable. */
static ssize_t read_regular(int dir_fd, const char *file, char *at, size_t cap)
{
    struct stat st;
    int fd = openat(dir_fd, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    ssize_t done = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL, n = done < 0 ? 0 : 1;
    while (n > 0 && (size_t)done < cap) {
        n = pread(fd, at + done, cap - (size_t)done, done);
        done = n < 0 ? -errno : done + n;
    }
    close(fd);
    return done;
}

/* What a file says it is of has to be what its name says: the id becomes a part of names. */
static bool is_named_right(const struct position *pos, const char *file)
{
    char name[128];
    name_file(pos, "json", name);
    return strcmp(name, file) == 0 && !strchr(pos->id, '/') && !strchr(pos->hash, '/');
}

static int read_file(const struct positions *p, const char *file, struct position *pos, struct baro_error *err)
{
    static char text[FILE_MOST];
    struct position read = *pos;
    ssize_t n = read_regular(p->dir_fd, file, text, sizeof(text));
    if (n == -ENOENT)
        return 0;
    if (n < 0)
        return error_set(err, (int)n, "can't read %s/%s: %s", p->folder, file, strerror((int)-n));
    if (!read_members(span_of(text, (size_t)n), &read) || !is_named_right(&read, file))
        return error_set(err, BARO_E_SYNTAX, "%s/%s is damaged; remove it, and the tape is sent from its beginning",
                         p->folder, file);
    *pos = read;
    return 1;
}

int position_read(const struct positions *p, struct position *pos, struct baro_error *err)
{
    char file[128];
    name_file(pos, "json", file);
    return read_file(p, file, pos, err);
}

int position_write(const struct positions *p, struct position *pos, struct baro_error *err)
{
    char file[128], temporary[128];
    struct buf b = {0};
    struct json j = {.out = &b};
    pos->written_ns = (uint64_t)clock_realtime_ns();
    json_begin(&j, '{');
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *at = (const char *)pos + members[i].offset;
        json_key(&j, members[i].name);
        if (members[i].size)
            json_exact_n(&j, at, strlen(at));
        else
            json_u64(&j, *(const uint64_t *)(const void *)at);
    }
    json_end(&j, '}');
    name_file(pos, "json", file);
    name_file(pos, "new", temporary);
    int fd = openat(p->dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = b.failed ? -ENOMEM : fd < 0 ? -errno : fd_write_all(fd, b.at, b.len, NULL);
    if (code == 0 && fdatasync(fd) < 0)
        code = -errno;
    fd_close(fd);
    buf_done(&b);
    if (code == 0 && renameat(p->dir_fd, temporary, p->dir_fd, file) < 0)
        code = -errno;
    return code < 0 ? error_set(err, code, "can't write %s/%s: %s", p->folder, file, strerror(-code)) : 0;
}

/* ---- one sender ---- */

/* A byte of one file stands for a tape and its destination, so that no file is left for each of them. */
static bool set_lock(const struct positions *p, const struct position *pos, short type)
{
    char file[128];
    name_file(pos, "", file);
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(map_hash(file, strlen(file)) >> 2), .l_len = 1};
    return fcntl(p->lock_fd, F_OFD_SETLK, &lock) == 0;
}

bool position_lock(const struct positions *p, const struct position *pos)
{
    return set_lock(p, pos, F_WRLCK);
}

void position_unlock(const struct positions *p, const struct position *pos)
{
    set_lock(p, pos, F_UNLCK);
}

/* ---- what was refused ---- */

void position_set_aside(const struct positions *p, const struct position *pos, uint64_t points, long status,
                        const char *why)
{
    char file[128];
    struct stat st;
    struct buf b = {0}, time = {0};
    struct json j = {.out = &b};
    name_file(pos, "refused", file);
    int fd = openat(p->dir_fd, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size < ASIDE_MOST) {
        json_begin(&j, '{');
        json_key_i64(&j, "refused_ns", clock_realtime_ns());
        json_key_u64(&j, "points", points);
        json_key_u64(&j, "after_ns", pos->acked_ns);
        json_key_u64(&j, "until_ns", pos->until_ns);
        json_key_u64(&j, "first_point", pos->done);
        json_key_i64(&j, "status", status);
        json_key_text(&j, "answer", why);
        json_end(&j, '}');
        if (!b.failed)
            fd_write_all(fd, b.at, b.len, NULL);
    }
    fd_close(fd);
    buf_done(&b);
    buf_done(&time);
}

/* ---- all of them ---- */

struct each {
    const struct positions *p;
    void (*fn)(void *context, const struct position *pos);
    void *context;
};

static bool read_each(void *context, const char *name, size_t len)
{
    static struct position pos;
    struct each *e = context;
    pos = (struct position){.id = ""};
    if (span_ends(span_of(name, len), ".json") && read_file(e->p, name, &pos, NULL) > 0 && pos.id[0])
        e->fn(e->context, &pos);
    return true;
}

void positions_each(const struct positions *p, void (*fn)(void *context, const struct position *pos), void *context)
{
    struct each e = {p, fn, context};
    dir_each(p->dir_fd, read_each, &e);
}
