/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "programs/common/tape_args.h"

struct paths {
    char **at;
    size_t n;
};

static int add_path(struct paths *p, const char *path, struct baro_error *err)
{
    char **at = realloc(p->at, (p->n + 1) * sizeof(*at));
    if (at)
        p->at = at;
    char *copy = at ? strdup(path) : NULL;
    if (!copy)
        return error_set(err, -ENOMEM, "out of memory");
    p->at[p->n++] = copy;
    return 0;
}

static int list_all(struct paths *p, struct baro_error *err)
{
    struct baro_runs *runs;
    int code = baro_runs_list(&runs, BARO_RUNS_EMPTY, err);
    if (code < 0)
        return code;
    for (size_t i = 0; code >= 0 && i < baro_runs_count(runs); i++)
        code = add_path(p, baro_runs_path(runs, i), err);
    baro_runs_free(runs);
    return code;
}

/* Resolves all names before anything is removed: @2 is another run once @1 is gone. */
static int list_named(struct paths *p, char **argv, struct baro_error *err)
{
    int code = 0;
    for (; code >= 0 && *argv; argv++) {
        struct reader_path path;
        code = baro_runs_resolve(*argv, path.at, sizeof(path.at), err);
        if (code >= 0)
            code = add_path(p, path.at, err);
    }
    return code;
}

/* With --all some runs may be gone by now: a recording that ends also removes the oldest kept runs. */
static int remove_all(const struct cli *cli, const struct settings *s, const struct paths *p)
{
    int status = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct baro_error err = BARO_ERROR_INIT;
        int code = baro_runs_remove(p->at[i], s->yes && !s->all ? BARO_REMOVE_RUNNING : 0, &err);
        if (code == -EBUSY)
            status = cli_failf(cli, "%s; --yes removes it all the same", err.text);
        else if (code < 0 && !(s->all && code == -ENOENT))
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
