/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/reader.h"
#include "tape/runs.h"
#include "tape/writer.h"

static bool is_running(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool yes = fd >= 0 && tape_in_work(fd);
    fd_close(fd);
    return yes;
}

/* Returns 0 where it may be removed. A tape of a newer version and a damaged one are tapes; what is too short to tell is one by its name. */
static int check(const char *path, bool yes, struct baro_error *err)
{
    struct baro_tape *tape = NULL;
    struct stat st;
    if (lstat(path, &st) < 0)
        return error_set(err, -errno, "%s: %s", path, error_text(errno));
    struct baro_error why = BARO_ERROR_INIT;
    int code = baro_tape_open(&tape, path, &why);
    size_t n = strlen(path);
    bool named = n > 5 && strcmp(path + n - 5, ".baro") == 0 && S_ISREG(st.st_mode);
    if (code == BARO_E_VERSION || code == BARO_E_CORRUPT || (code == BARO_E_EMPTY && named))
        return 0;
    if (code < 0)
        return error_set(err, code, "%.200s; it is not removed", why.text);
    bool running = !yes && is_running(path);
    baro_tape_close(tape);
    if (running)
        return error_set(err, -EBUSY, "%s is still being written; --yes removes it all the same", path);
    return 0;
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
        code = runs_list((const char *)dir.at, &list, err);
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

static int remove_all(const struct cli *cli, const struct settings *s, const struct paths *p)
{
    int status = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct baro_error err = BARO_ERROR_INIT;
        if (check(p->at[i], s->yes && !s->all, &err) < 0)
            status = cli_fail(cli, &err);
        else if (unlink(p->at[i]) < 0)
            status = cli_failf(cli, "can't remove %s: %s", p->at[i], error_text(errno));
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
