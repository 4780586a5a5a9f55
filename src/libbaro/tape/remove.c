/* SPDX-License-Identifier: Apache-2.0 */
/* Removes tapes (include/baro/runs.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "baro/runs.h"
#include "base/error.h"
#include "base/fd.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/segments.h"

/* A name in an open folder, and the file that it referred to when it was checked. */
struct candidate {
    int dir_fd, fd;
    const char *name, *path; /* path: for messages */
    struct stat st;
};

/* Returns 0 if it may be removed. */
static int check(const struct candidate *c, bool running_too, struct baro_error *err)
{
    struct baro_tape *tape = NULL;
    struct baro_error why = BARO_ERROR_INIT;
    int code = baro_tape_open_fd(&tape, c->fd, c->path, &why);
    size_t n = strlen(c->path);
    bool named = n > 5 && strcmp(c->path + n - 5, ".baro") == 0 && S_ISREG(c->st.st_mode);
    bool running =
        code >= 0 && !running_too && (S_ISDIR(c->st.st_mode) ? segments_in_work(c->fd) : tape_in_work(c->fd));
    baro_tape_close(tape);
    if (code == BARO_E_VERSION || code == BARO_E_CORRUPT || (code == BARO_E_EMPTY && named))
        return 0;
    if (code < 0)
        return error_set(err, code, "%.200s; it is not removed", why.text);
    if (running)
        return error_set(err, -EBUSY, "%s is still being written", c->path);
    return 0;
}

static int remove_candidate(struct candidate *c, bool running_too, struct baro_error *err)
{
    if (fstatat(c->dir_fd, c->name, &c->st, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set(err, -errno, "%s: %s", c->path, strerror(errno));
    c->fd = openat(c->dir_fd, c->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (c->fd < 0) /* a broken link, among others */
        return error_set(err, -errno, "can't open %s: %s; it is not removed", c->path, strerror(errno));
    int code = check(c, running_too, err);
    if (code < 0)
        return code;
    /* A recorder whose tape was removed creates it again, unless the file has mode 0. */
    if (running_too && S_ISREG(c->st.st_mode) && tape_in_work(c->fd))
        fchmod(c->fd, 0);
    code = S_ISDIR(c->st.st_mode) ? segments_remove(c->dir_fd, c->name, running_too)
                                  : folder_remove(c->dir_fd, c->name, &c->st);
    return code < 0 ? error_set(err, code, "can't remove %s: %s", c->path, strerror(-code)) : 0;
}

int baro_runs_remove(const char *path, unsigned flags, struct baro_error *err)
{
    struct candidate c = {.fd = -1, .path = path};
    c.dir_fd = folder_of(path, &c.name, err);
    if (c.dir_fd < 0)
        return c.dir_fd;
    int code = remove_candidate(&c, flags & BARO_REMOVE_RUNNING, err);
    fd_close(c.fd);
    fd_close(c.dir_fd);
    return code;
}
