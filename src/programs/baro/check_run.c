/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/check_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/baro/programs.h"

/* Executes `baro-report` with standard output on a descriptor. All signals are blocked in a wrapper, and not in what it
 * starts. Returns its exit status. */
static int execute(char **argv, int out_fd, int err_fd)
{
    const struct sigaction wanted = {.sa_handler = SIG_DFL};
    struct sigaction before;
    int status = CLI_FAILED << 8;
    sigaction(SIGCHLD, &wanted, &before); /* where it is ignored, a child leaves no status */
    pid_t pid = fork();
    if (!pid) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (err_fd >= 0)
            dup2(err_fd, STDERR_FILENO);
        dup2(out_fd, STDOUT_FILENO);
        programs_become((char[]){"baro-report"}, argv);
        dprintf(STDERR_FILENO, "baro run: --check: can't execute baro-report: %s\n", strerror(errno));
        _exit(CLI_FAILED);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    sigaction(SIGCHLD, &before, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILED;
}

bool check_run_is_valid(const char *budget)
{
    char *argv[] = {NULL, (char[]){"check"}, (char[]){"--list"}, (char[]){"--budget"}, (char *)budget, NULL};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status = null < 0 ? CLI_FAILED : execute(argv, null, -1);
    if (null >= 0)
        close(null);
    return status == 0;
}

int check_run(const char *budget, const char *tape, int stderr_fd)
{
    char *argv[] = {NULL, (char[]){"check"}, (char[]){"--budget"}, (char *)budget, (char[]){"--"}, (char *)tape, NULL};
    return execute(argv, stderr_fd >= 0 ? stderr_fd : STDERR_FILENO, stderr_fd);
}
