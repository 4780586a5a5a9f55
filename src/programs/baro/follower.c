/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/follower.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/program.h"
#include "recorder/wrapper/fds.h"

void follower_execute(char **argv)
{
    char path[PATH_MAX];
    int status = 0;
    unsigned tries = 0;
    prctl(PR_SET_NAME, "baro-follower");
    signal(SIGCHLD, SIG_DFL); /* ignored, the status would be lost */
    pid_t child = fork();
    if (child > 0) {
        fds_null_standard(-1); /* who writes to the follower's pipe is to see its end */
        while (waitpid(child, &status, 0) < 0 && fd_again(&tries)) {
        }
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (program_in_path(argv[0], path))
        execv(path, argv);
}

int cmd_follow(struct cli *cli, const struct settings *s, char **argv)
{
    (void)s;
    follower_execute(argv);
    return cli_failf(cli, "can't execute %s: %s", argv[0], strerror(errno));
}
