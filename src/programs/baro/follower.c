/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/follower.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/program.h"
#include "base/span.h"
#include "programs/baro/programs.h"
#include "programs/common/options.h"
#include "recorder/wrapper/fds.h"

/* A process that waits for minutes is not to show the arguments of `baro run`, which any user can read: a URL may have
 * a password. The name of the program stays. */
static void wipe_arguments(void)
{
    char text[4096];
    uint64_t begin = 0, end = 0;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/stat", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    char *at = strrchr(text, ')');
    for (unsigned field = 2; at && field < 48; field++) /* 48 and 49: where the arguments begin and end; see proc(5) */
        at = strchr(at + 1, ' ');
    struct span rest = span_str(at ? at + 1 : "");
    if (!scan_u64(&rest, &begin) || !scan_char(&rest, ' ') || !scan_u64(&rest, &end) || !begin || begin >= end)
        return;
    char *first = (char *)(uintptr_t)begin; // NOLINT(performance-no-int-to-ptr)
    size_t len = strnlen(first, end - begin);
    explicit_bzero(first + len, end - begin - len);
}

void follower_execute(char **argv)
{
    char path[PATH_MAX];
    int status = 0;
    unsigned tries = 0;
    prctl(PR_SET_NAME, "baro-follower");
    signal(SIGCHLD, SIG_DFL); /* ignored, the status would be lost */
    pid_t child = fork();
    if (child > 0) {
        /* Who writes to the follower's pipe is to see its end, and who reads the job's stderr the job's. */
        fds_null_standard(-1);
        fds_close_others(NULL, 0);
        wipe_arguments();
        while (waitpid(child, &status, 0) < 0 && fd_again(&tries)) {
        }
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (program_in_path(argv[0], path))
        execv(path, argv);
}

static _Noreturn void become_follower(const struct cli *cli, const char *option, char **argv, char *const *environment,
                                      const char *log)
{
    for (size_t i = 0; environment[i]; i++)
        putenv(environment[i]);
    setsid(); /* ^C of the terminal is for the job */
    fds_close_others(NULL, 0);
    int null = open("/dev/null", O_RDWR);
    int said = log && *log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : null;
    /* Readers of the job's output must not wait for the follower's end. */
    if (null >= 0 && said >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0) {
        int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3); /* for the message if there is no such program */
        dup2(said, STDERR_FILENO);
        follower_execute(argv);
        int error = errno;
        if (stderr_fd >= 0)
            dup2(stderr_fd, STDERR_FILENO);
        errno = error;
    }
    cli_note(cli, "%s: can't execute %s: %s", option, argv[0], strerror(errno));
    _exit(127);
}

void follower_start(const struct cli *cli, const char *option, char **argv, char *const *environment, const char *log)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        /* The follower is a grandchild: another process reaps it. */
        if (fork() == 0)
            become_follower(cli, option, argv, environment, log);
        _exit(0);
    }
    if (child < 0)
        cli_note(cli, "%s: no process can be started: %s", option, strerror(errno));
    else
        waitpid(child, &status, 0);
}

void follower_push(const struct cli *cli, const char *url, const char *tape, int while_pid)
{
    static char to[PUSH_URL_MOST + 16], beside[40]; /* a child's environment has them */
    char program[PATH_MAX];
    const char *given = url ? url : getenv("BARO_PUSH");
    struct baro_error err = BARO_ERROR_INIT;
    if (!given || !*given)
        return;
    if (!url && check_push(given, &err) < 0) {
        cli_note(cli, "BARO_PUSH: %s", err.text);
        return;
    }
    if (!programs_path("baro-push", program)) {
        cli_note(cli, "--push: the program baro-push, which sends tapes, is not installed");
        return;
    }
    if (snprintf(to, sizeof(to), "BARO_PUSH=%s", given) >= (int)sizeof(to)) {
        cli_note(cli, "--push: the URL is too long");
        return;
    }
    snprintf(beside, sizeof(beside), "BARO_PUSH_BESIDE=%d", while_pid ? while_pid : 1);
    char *argv[] = {program, (char *)"push", (char *)"-f", (char *)"--", (char *)tape, NULL};
    char *environment[] = {to, beside, NULL};
    follower_start(cli, "--push", argv, environment, getenv("BARO_PUSH_LOG"));
}

int cmd_follow(struct cli *cli, const struct settings *s, char **argv)
{
    (void)s;
    follower_execute(argv);
    return cli_failf(cli, "can't execute %s: %s", argv[0], strerror(errno));
}
