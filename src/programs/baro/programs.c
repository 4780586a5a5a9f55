/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/programs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "programs/common/find_program.h"

static const char *const folders[] = {BARO_LIBEXEC "/", ""};

bool programs_path(const char *program, char ret[PATH_MAX])
{
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (snprintf(name, sizeof(name), "%s%s", folders[i], program) < (int)sizeof(name) &&
            program_beside(name, ret) && access(ret, X_OK) == 0)
            return true;
    }
    return false;
}

/* Returns the error of the last attempt that found a file, ENOENT if none did. */
static int execute(const char *program, char **argv)
{
    char name[PATH_MAX], path[PATH_MAX];
    int error = ENOENT;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (snprintf(name, sizeof(name), "%s%s", folders[i], program) >= (int)sizeof(name) ||
            !program_beside(name, path))
            continue;
        execv(path, argv);
        if (errno != ENOENT && errno != ENOTDIR)
            error = errno;
    }
    return error;
}

void programs_become(char *program, char **argv)
{
    argv[0] = program;
    errno = execute(program, argv);
}

int programs_execute(struct cli *cli, char **argv)
{
    char program[NAME_MAX + 1];
    snprintf(program, sizeof(program), "%s", cli->command->program ? cli->command->program : "baro-read");
    argv[0] = program;
    int error = execute(program, argv);
    if (error == ENOENT)
        return cli_failf(cli,
                         "the program %s, which has this command, is not installed: it belongs in %s beside the "
                         "folder of baro, or in that folder",
                         program, BARO_LIBEXEC);
    return cli_failf(cli, "can't execute %s: %s", program, strerror(error));
}

bool programs_other(struct cli *cli, const char *name, char **argv, int *ret)
{
    char program[NAME_MAX + 1], path[PATH_MAX];
    if (strchr(name, '/') || snprintf(program, sizeof(program), "baro-%s", name) >= (int)sizeof(program))
        return false;
    argv[0] = program;
    int error = execute(program, argv);
    if (error == ENOENT) {
        if (program_in_path(program, path))
            execvp(path, argv);
        error = errno;
    }
    if (error == ENOENT)
        return false;
    *ret = cli_failf(cli, "can't execute %s: %s", program, strerror(error));
    return true;
}
