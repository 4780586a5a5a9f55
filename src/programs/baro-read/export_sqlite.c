/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/export_sqlite.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "programs/common/find_program.h"

#define PROGRAM "baro-sqlite"

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
    if (program_beside(PROGRAM, path))
        execv(path, (char *const *)argv);
    else
        errno = ENOENT;
    if (errno == ENOENT)
        return cli_failf(cli, "--format sqlite: the program %s, which writes it, is not installed", PROGRAM);
    return cli_failf(cli, "can't execute %s: %s", PROGRAM, strerror(errno));
}
