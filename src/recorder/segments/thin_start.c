/* SPDX-License-Identifier: Apache-2.0 */
/* Starts `baro thin` for the segments of a tape that are old. The recorder does not wait for it: it is nobody's child,
 * with the lowest priority for CPUs and disks. If it is killed, the segment that it was at is as it was. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/tape/segments.h"
#include "recorder/wrapper/fds.h"

enum { FOLDER_FD = 3, NICEST = 19 };
enum { IO_OF_PROCESS = 1, IO_IDLE = 3 << 13 }; /* ioprio_set(2): glibc has no header for it */

static _Noreturn void be_thinner(int dir_fd, const struct segments_keep *keep)
{
    char program[] = "baro-tape", command[] = "thin", folder[] = "/proc/self/fd/3", after[] = "--after";
    char age[32];
    char *argv[] = {program, command, folder, after, age, NULL};
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_NAME, "baro-thin");
    setpriority(PRIO_PROCESS, 0, NICEST);
    syscall(SYS_ioprio_set, IO_OF_PROCESS, 0, IO_IDLE);
    snprintf(age, sizeof(age), "%llus", (unsigned long long)(keep->thin_ns / NS_PER_SEC));
    if (dup2(dir_fd, FOLDER_FD) < 0 || fcntl(FOLDER_FD, F_SETFD, 0) < 0)
        _exit(1);
    fds_null_standard(-1);
    fds_close_others(&(int){FOLDER_FD}, 1);
    keep->become(program, argv);
    _exit(127);
}

void segments_start_thinning(int dir_fd, const struct segments_keep *keep)
{
    unsigned tries = 0;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0)
            be_thinner(dir_fd, keep);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && fd_again(&tries)) {
    }
}
