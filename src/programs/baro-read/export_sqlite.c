/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/export_sqlite.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "baro-sqlite"

/* The path of baro-sqlite, in the same folder as this program. */
static bool find_program(char ret[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    if (n < 0)
        return false;
    ret[n] = 0;
    char *name = strrchr(ret, '/');
    if (!name || (size_t)(name + 1 - ret) + sizeof(PROGRAM) > PATH_MAX)
        return false;
    memcpy(name + 1, PROGRAM, sizeof(PROGRAM));
    return true;
}

static size_t add_option(const char **argv, size_t n, const char *option, const char *value)
{
    if (!value)
        return n;
    argv[n++] = option;
    argv[n++] = value;
    return n;
}

int export_sqlite(const struct cli *cli, const struct settings *s, const char *name)
{
    const char *argv[16] = {PROGRAM, "export", "--format", "sqlite"};
    char path[PATH_MAX];
    size_t n = 4;
    n = add_option(argv, n, "--entity", s->entity);
    n = add_option(argv, n, "--columns", s->columns);
    n = add_option(argv, n, "--output", s->output);
    if (s->force)
        argv[n++] = "--force";
    n = add_option(argv, n, "--", name);
    argv[n] = NULL;
    if (find_program(path))
        execv(path, (char *const *)argv);
    else
        errno = ENOENT;
    if (errno == ENOENT)
        return cli_failf(cli, "--format sqlite: the program %s, which writes it, is not installed", PROGRAM);
    return cli_failf(cli, "can't execute %s: %s", PROGRAM, strerror(errno));
}
