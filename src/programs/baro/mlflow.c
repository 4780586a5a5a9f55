/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/mlflow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program.h"
#include "programs/baro/follower.h"
#include "recorder/wrapper/fds.h"

#define SESSION 33 /* 32 hexadecimal digits */

static void name_session(char session[SESSION])
{
    uint64_t random[2] = {clock_monotonic_ns(), (uint64_t)getpid()};
    if (getrandom(random, sizeof(random), GRND_NONBLOCK) < 0)
        random[1] ^= clock_monotonic_ns() << 32;
    snprintf(session, SESSION, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

static const char *interpreter_of(const char *command)
{
    const char *slash = strrchr(command, '/'), *given = getenv("BAROGRAPH_PYTHON");
    if (given && *given)
        return given;
    return strncmp(slash ? slash + 1 : command, "python", 6) == 0 ? command : "python3";
}

/* python -m would execute files of the working directory: it is first in sys.path, as "" is with -c. -P does without
 * them since Python 3.11. */
#define FOLLOW                                                                                                         \
    "import sys; sys.path[:] = [p for p in sys.path if p]; from barograph.mlflow.__main__ import main; "               \
    "sys.exit(main())"

static _Noreturn void become_follower(const struct cli *cli, const char *tape, const char *command, char *session)
{
    const char *log = getenv("BAROGRAPH_MLFLOW_LOG"), *python = interpreter_of(command);
    char *argv[] = {(char *)python, (char *)"-c", (char *)FOLLOW, (char *)"beside", session, (char *)tape, NULL};
    program_python_path();
    setsid(); /* ^C of the terminal is for the job */
    fds_close_others(NULL, 0);
    int null = open("/dev/null", O_RDWR);
    int said = log && *log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : null;
    /* Readers of the job's output must not wait for the follower's end. */
    if (null >= 0 && said >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0) {
        int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3); /* for the message if there is no such interpreter */
        dup2(said, STDERR_FILENO);
        follower_execute(argv);
        int error = errno;
        if (stderr_fd >= 0)
            dup2(stderr_fd, STDERR_FILENO);
        errno = error;
    }
    cli_note(cli, "--mlflow: can't execute %s: %s", python, strerror(errno));
    _exit(127);
}

void mlflow_start(const struct cli *cli, const char *tape, const char *command)
{
    char session[SESSION];
    int status;
    name_session(session);
    pid_t child = fork();
    if (child == 0) {
        /* The follower is a grandchild: another process reaps it. */
        if (fork() == 0)
            become_follower(cli, tape, command, session);
        _exit(0);
    }
    if (child < 0) {
        cli_note(cli, "--mlflow: no process can be started: %s", strerror(errno));
        return;
    }
    waitpid(child, &status, 0);
    setenv("BAROGRAPH_MLFLOW", session, 1);
}
