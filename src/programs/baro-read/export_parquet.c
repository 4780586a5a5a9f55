/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/export_parquet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/program.h"
#include "programs/common/find_program.h"

#define PROGRAM "baro-parquet.py"

/* Returns the interpreter: the one that has the package barograph (its script `baro` sets this), else that of PATH. */
static const char *interpreter(void)
{
    const char *name = getenv("BARO_PYTHON");
    return name && *name ? name : "python3";
}

/* Returns 0 or an errno. The child takes signals as any program does, whatever was ignored here. */
static int spawn_writer(const char *program, const char *folder, int in, int out, pid_t *ret)
{
    char path[PATH_MAX];
    const char *const argv[] = {interpreter(), program, folder ? "--fleet" : NULL, folder, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t pipe;
    if (!program_in_path(argv[0], path))
        return ENOENT;
    program_python_path();
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &pipe);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int error = posix_spawn(ret, path, &actions, &attr, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return error;
}

static int start_writer(const char *folder, int in, int out, pid_t *ret, struct baro_error *err)
{
    char program[PATH_MAX];
    const char *what = folder ? "--fleet" : "--format parquet";
    if (!program_beside(PROGRAM, program) || access(program, R_OK) < 0)
        return error_set(err, -ENOENT, "%s: the program %s, which writes it, is not installed", what, PROGRAM);
    int error = spawn_writer(program, folder, in, out, ret);
    if (error == ENOENT)
        return error_set(err, -error, "%s: there is no %s; install Python 3 and its package pyarrow%s", what,
                         interpreter(), folder ? "" : " or polars");
    return error ? error_set(err, -error, "can't execute %s: %s", interpreter(), strerror(error)) : 0;
}

/* Takes the exit status of the program. If it is 0, the program has read all rows: then no error but a broken pipe
 * is ours. */
static int wait_for_writer(pid_t pid, int r, struct baro_error *err)
{
    int status;
    unsigned tries = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (!fd_again(&tries))
            return r < 0 ? r : error_set(err, -errno, "%s: %s", PROGRAM, strerror(errno));
    }
    if (r < 0 && r != -EPIPE)
        return r;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) { /* nobody reads our output: end as for other formats */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (WIFSIGNALED(status))
        return error_set(err, -EIO, "--format parquet: %s was ended by signal %d (%s)", PROGRAM, WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status) ? WEXITSTATUS(status) : r;
}

int parquet_writer_start(struct parquet_writer *w, const char *folder, int out, struct baro_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "can't make a pipe: %s", strerror(errno));
    signal(SIGPIPE, SIG_IGN); /* if the program ends early, its status says why */
    int r = start_writer(folder, ends[0], out, &w->pid, err);
    fd_close(ends[0]);
    w->rows = (struct output){.fd = r < 0 ? fd_close(ends[1]) : ends[1], .path = NULL};
    return r;
}

int parquet_writer_end(struct parquet_writer *w, int r, struct baro_error *err)
{
    if (r < 0 && r != -EPIPE)
        kill(w->pid, SIGKILL); /* the program did not get all rows */
    fd_close(w->rows.fd);
    return wait_for_writer(w->pid, r, err);
}

int export_parquet(struct export_arrow *e, struct output *out, struct baro_error *err)
{
    struct parquet_writer w;
    int r = parquet_writer_start(&w, NULL, out->fd, err);
    return r < 0 ? r : parquet_writer_end(&w, export_arrow(e, &w.rows, err), err);
}
