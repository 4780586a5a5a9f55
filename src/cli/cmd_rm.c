/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/reader.h"
#include "tape/folder.h"
#include "tape/runs.h"
#include "tape/writer.h"

/* What is to be removed: a name in a folder that is held open, and which file that was when it was looked at. */
struct doomed {
    int dir_fd, fd; /* -1: it can't be opened, which a broken link can't */
    const char *name;
    struct stat st;
};

/* Returns 0 where it may be removed. A tape of a newer version and a damaged one are tapes; what is too short to tell
 * is one by its name. */
static int check(const struct doomed *d, const char *path, bool yes, struct baro_error *err)
{
    struct baro_tape *tape = NULL;
    struct baro_error why = BARO_ERROR_INIT;
    int code = baro_tape_open_fd(&tape, d->fd, path, &why);
    size_t n = strlen(path);
    bool named = n > 5 && strcmp(path + n - 5, ".baro") == 0 && S_ISREG(d->st.st_mode);
    bool running = code >= 0 && !yes && tape_in_work(d->fd);
    baro_tape_close(tape);
    if (code == BARO_E_VERSION || code == BARO_E_CORRUPT || (code == BARO_E_EMPTY && named))
        return 0;
    if (code < 0)
        return error_set(err, code, "%.200s; it is not removed", why.text);
    if (running)
        return error_set(err, -EBUSY, "%s is still being written; --yes removes it all the same", path);
    return 0;
}

static int remove_doomed(struct doomed *d, const char *path, bool yes, struct baro_error *err)
{
    if (fstatat(d->dir_fd, d->name, &d->st, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set(err, -errno, "%s: %s", path, error_text(errno));
    d->fd = openat(d->dir_fd, d->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (d->fd < 0)
        return error_set(err, -errno, "can't open %s: %s; it is not removed", path, error_text(errno));
    int code = check(d, path, yes, err);
    if (code < 0)
        return code;
    /* Its recorder, where there is one, is told by this that it is not to come back. */
    if (yes && S_ISREG(d->st.st_mode) && tape_in_work(d->fd))
        fchmod(d->fd, 0);
    code = folder_remove(d->dir_fd, d->name, &d->st);
    return code < 0 ? error_set(err, code, "can't remove %s: %s", path, error_text(-code)) : 0;
}

static int remove_one(const char *path, bool yes, struct baro_error *err)
{
    struct doomed d = {.fd = -1};
    d.dir_fd = folder_of(path, &d.name, err);
    if (d.dir_fd < 0)
        return d.dir_fd;
    int code = remove_doomed(&d, path, yes, err);
    fd_close(d.fd);
    fd_close(d.dir_fd);
    return code;
}

struct paths {
    char **at;
    size_t n;
};

static int add(struct paths *p, const char *dir, const char *name, struct baro_error *err)
{
    size_t len = strlen(dir) + strlen(name) + 2;
    char **at = realloc(p->at, (p->n + 1) * sizeof(*at));
    if (at)
        p->at = at;
    char *path = at ? malloc(len) : NULL;
    if (!path)
        return error_set(err, -ENOMEM, "out of memory");
    memcpy(path, dir, strlen(dir));
    memcpy(path + strlen(dir), *dir ? "/" : "", 1);
    memcpy(path + strlen(dir) + (*dir != 0), name, strlen(name) + 1);
    p->at[p->n++] = path;
    return 0;
}

static int list_all(struct paths *p, struct baro_error *err)
{
    struct buf dir = {0};
    struct baro_error note;
    struct runs_list list = {0};
    int code = runs_dir(&dir, &note, err);
    if (code == 0)
        code = runs_list((const char *)dir.at, true, &list, err);
    for (size_t i = 0; code >= 0 && i < list.n; i++)
        code = add(p, (const char *)dir.at, list.at[i].name, err);
    runs_list_done(&list);
    buf_done(&dir);
    return code < 0 ? code : 0;
}

/* All names are looked up before anything is removed: @2 is another run once @1 is gone. */
static int list_named(struct paths *p, char **argv, struct baro_error *err)
{
    int code = 0;
    for (; code == 0 && *argv; argv++) {
        struct buf path = {0};
        code = runs_resolve(*argv, &path, err);
        if (code >= 0)
            code = add(p, "", (const char *)path.at, err);
        buf_done(&path);
    }
    return code;
}

/* Of all, some may be gone by now: a recording that ends thins out the kept runs, too. */
static int remove_all(const struct cli *cli, const struct settings *s, const struct paths *p)
{
    int status = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct baro_error err = BARO_ERROR_INIT;
        int code = remove_one(p->at[i], s->yes && !s->all, &err);
        if (code < 0 && !(s->all && code == -ENOENT))
            status = cli_fail(cli, &err);
    }
    return status;
}

int cmd_rm(struct cli *cli, const struct settings *s, char **argv)
{
    struct paths p = {0};
    struct baro_error err = BARO_ERROR_INIT;
    if (s->all && argv[0])
        return cli_failf(cli, "--all and names exclude each other");
    if (s->all && !s->yes)
        return cli_failf(cli, "--all removes every kept run; add --yes if that is meant");
    if (!s->all && !argv[0])
        return cli_failf(cli, "which tape? Name a file, @last, @2, ... (`baro ls` lists them)");
    int code = s->all ? list_all(&p, &err) : list_named(&p, argv, &err);
    int status = code < 0 ? cli_fail(cli, &err) : remove_all(cli, s, &p);
    for (size_t i = 0; i < p.n; i++)
        free(p.at[i]);
    free(p.at);
    return status;
}
