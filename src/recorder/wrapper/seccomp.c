/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/wrapper/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "recorder/wrapper/wrapper.h"

/* Clones a child whose end is not reported: no SIGCHLD stays pending for the command, and only __WALL waits for it. We
 * are suspended until it has ended (CLONE_VFORK), so it has ended before it is known whether wait4(2) may be called.
 * Returns -1 if no process can be created. */
static pid_t child_clone(void)
{
    return (pid_t)syscall(SYS_clone, (unsigned long)CLONE_VFORK, 0ul, 0ul, 0ul, 0ul);
}

/* prctl(PR_GET_SECCOMP) may be what the filter kills at. If this can't be read, a filter is assumed: it only costs
 * time. */
static bool filter_exists(void)
{
    char text[4096];
    ssize_t len = fd_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text));
    struct span rest = span_of(text, len > 0 ? (size_t)len : 0), line;

    while (scan_line(&rest, &line))
        if (span_starts(line, "Seccomp:"))
            return !memchr(line.at, '0', line.len);
    return true;
}

void seccomp_check(struct seccomp_filter *ret)
{
    struct {
        const char *volatile call;
        volatile bool writes;
    } * shared;
    siginfo_t info;
    pid_t child;

    *ret = (struct seccomp_filter){.there = filter_exists()};
    if (!ret->there)
        return;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    child = child_clone();
    if (child == 0) {
        seccomp_try(&shared->call, &shared->writes);
        _exit(0);
    }
    if (child < 0) {
        ret->process_errno = errno;
        return;
    }
    ret->forbidden = shared->call;
    ret->mute = !shared->writes;
    if (ret->forbidden && strcmp(ret->forbidden, "wait4") == 0)
        waitid(P_PID, (id_t)child, &info, WEXITED | __WALL);
    else
        wait4(child, NULL, __WALL, NULL);
}

/* Replaces a function of glibc (elf/dl-origin.c) in a static program. glibc's calls readlink(2) before main(), which a
 * filter may kill at, to know what $ORIGIN is in the paths of dlopen(3); nothing here calls that. -1: not known. A libc
 * without a function of this name does not call it. */
const char *_dl_get_origin(void);
const char *_dl_get_origin(void)
{
    return (const char *)-1;
}

int seccomp_fork(void)
{
    return (int)syscall(SYS_clone, (unsigned long)SIGCHLD, 0ul, 0ul, 0ul, 0ul);
}

int seccomp_execute(char *const *argv)
{
    struct spawn s = {.argv = argv, .for_shell = spawn_for_shell(argv)};

    if (!s.for_shell)
        return ENOMEM;
    exec_command(&s, environ);
    return errno;
}
