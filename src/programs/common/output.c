/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static int fail_output(const char *path, int code, struct baro_error *err)
{
    if (code == EEXIST)
        return error_set(err, -code, "%s exists; --force replaces it", path);
    return error_set(err, -code, "can't write %s: %s", path, strerror(code));
}

static int folder_of(const char *path, char *ret, size_t cap)
{
    char copy[4096];
    if (strlen(path) >= sizeof(copy) - 32)
        return -ENAMETOOLONG;
    memcpy(copy, path, strlen(path) + 1);
    snprintf(ret, cap, "%s", dirname(copy));
    return 0;
}

static int open_temporary(struct output *o)
{
    snprintf(o->temporary, sizeof(o->temporary), "%s.%d.part", o->path, (int)getpid());
    o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (o->fd >= 0)
        return 0;
    o->temporary[0] = 0;
    return -errno;
}

static int open_nameless(struct output *o)
{
    char folder[4096];
    int code = folder_of(o->path, folder, sizeof(folder));
    if (code < 0)
        return code;
    o->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (o->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT))
        return o->fd < 0 ? -errno : 0;
    return open_temporary(o); /* not every file system has files without a name */
}

/* Whether the path may be written to. */
static int check_path(struct output *o, const char *path, bool force, bool *ret_there, struct baro_error *err)
{
    struct stat st;
    *o = (struct output){.fd = -1, .path = path, .force = force};
    *ret_there = lstat(path, &st) == 0;
    if (*ret_there && !force)
        return fail_output(path, EEXIST, err);
    if (*ret_there && !S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "%s is not a regular file; it is not replaced", path);
    return 0;
}

int output_open(struct output *o, const char *path, bool force, bool streamed, struct baro_error *err)
{
    bool there;
    *o = (struct output){.fd = STDOUT_FILENO};
    int code = path ? check_path(o, path, force, &there, err) : 0;
    if (!path || code < 0)
        return code;
    if (streamed) {
        o->named = true;
        if (there)
            unlink(path);
        o->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        return o->fd < 0 ? fail_output(path, errno, err) : 0;
    }
    code = open_nameless(o);
    return code < 0 ? fail_output(path, -code, err) : 0;
}

int output_write(struct output *o, const void *at, size_t len, struct baro_error *err)
{
    int code = fd_write_all(o->fd, at, len, NULL);
    return code < 0 ? fail_output(o->path ? o->path : "to standard output", -code, err) : 0;
}

static int give_name(struct output *o, const char *name)
{
    char from[64];
    snprintf(from, sizeof(from), "/proc/self/fd/%d", o->fd);
    return linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int output_commit(struct output *o, struct baro_error *err)
{
    if (!o->path || o->named)
        return 0;
    int code = 0;
    if (!o->temporary[0]) {
        code = give_name(o, o->path);
        if (code == 0) {
            o->named = true;
            return 0;
        }
        if (code != -EEXIST || !o->force)
            return fail_output(o->path, -code, err);
        char name[sizeof(o->temporary)];
        snprintf(name, sizeof(name), "%s.%d.part", o->path, (int)getpid());
        code = give_name(o, name);
        if (code < 0)
            return fail_output(o->path, -code, err);
        memcpy(o->temporary, name, sizeof(name));
    }
    /* link() refuses to replace, rename() does not. */
    code = o->force ? rename(o->temporary, o->path) : link(o->temporary, o->path);
    if (code < 0)
        return fail_output(o->path, errno, err);
    if (!o->force)
        unlink(o->temporary);
    o->temporary[0] = 0;
    o->named = true;
    return 0;
}

void output_done(struct output *o)
{
    if (o->temporary[0])
        unlink(o->temporary);
    if (o->path)
        fd_close(o->fd);
    o->fd = -1;
}

int output_text(const char *path, const struct buf *text, bool force, struct baro_error *err)
{
    struct output o = {.fd = -1};
    if (text->failed)
        return error_set(err, -ENOMEM, "out of memory");
    int code = output_open(&o, path && strcmp(path, "-") == 0 ? NULL : path, force, false, err);
    code = code < 0 ? code : output_write(&o, text->at, text->len, err);
    code = code < 0 ? code : output_commit(&o, err);
    output_done(&o);
    return code;
}
