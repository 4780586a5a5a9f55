/* SPDX-License-Identifier: Apache-2.0 */
/* Searches and executes a program as execvpe(3) does, but with no copy of argv on the stack: execvpe(3) makes one for a
 * script without "#!". The stack of the child has 64 KiB (spawn.c), and an argv may have a megabyte. */
#include <errno.h>
#include <limits.h>
#include <paths.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/wrapper/wrapper.h"

#define PATH_UNSET "/bin:/usr/bin" /* confstr(3), _CS_PATH */

/* A file in no format that the kernel knows (ENOEXEC) is a script for the shell. */
static void exec_one(const char *path, struct spawn *s, char *const *env)
{
    execve(path, s->argv, env);
    if (errno != ENOEXEC)
        return;
    s->for_shell[0] = (char *)_PATH_BSHELL;
    s->for_shell[1] = (char *)path;
    execve(_PATH_BSHELL, s->for_shell, env); /* spawn_prepare() has put the arguments there */
}

/* After this error, may the program still be found later in PATH? */
static bool is_elsewhere(int error)
{
    return error == EACCES || error == ENOENT || error == ESTALE || error == ENOTDIR || error == ENODEV ||
           error == ETIMEDOUT;
}

static void exec_search(struct spawn *s, char *const *env)
{
    const char *name = s->argv[0], *at = getenv("PATH");
    size_t name_len = strlen(name);
    bool denied = false;
    char path[PATH_MAX + NAME_MAX + 2];

    errno = name_len ? ENAMETOOLONG : ENOENT;
    if (!name_len || name_len > NAME_MAX)
        return;
    for (at = at ? at : PATH_UNSET;; at++) {
        size_t len = strcspn(at, ":");

        if (len < PATH_MAX) {
            memcpy(path, at, len);
            path[len] = '/';
            memcpy(path + len + (len > 0), name, name_len + 1);
            exec_one(path, s, env);
            denied = denied || errno == EACCES;
            if (!is_elsewhere(errno))
                return;
        }
        at += len;
        if (!*at)
            break;
    }
    errno = denied ? EACCES : errno;
}

void exec_command(struct spawn *s, char *const *env)
{
    if (strchr(s->argv[0], '/'))
        exec_one(s->argv[0], s, env);
    else
        exec_search(s, env);
}

int run_at_once(char *const *argv)
{
    struct spawn s = {.argv = argv, .for_shell = spawn_for_shell(argv)};

    if (!s.for_shell)
        return ENOMEM;
    exec_command(&s, environ);
    return errno;
}
