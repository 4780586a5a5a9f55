/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the command is to run under a seccomp(2) filter that kills at some system call, the wrapper would be killed as
 * well if it made that call, and the job would end by a signal that it would not get without baro. So if there is a
 * filter, a child first makes every call that the wrapper may make. If it is killed, or if a call is refused in a way
 * with which the wrapper would wait for ever, the command is executed at once, and nothing is recorded.
 */
#ifndef RECORDER_WRAPPER_SECCOMP_H
#define RECORDER_WRAPPER_SECCOMP_H

#include <stdbool.h>

struct seccomp_filter {
    bool there;            /* there is a filter, or this can't be read (no /proc) */
    bool mute;             /* it kills at write(2): nothing can be printed */
    int process_errno;     /* why no child could be created; 0: there was one */
    const char *forbidden; /* the call at which the child was killed, or that is refused; NULL: none */
};

/* Call this before anything else. It makes only the system calls that a program makes at its start, and clone(2). */
void seccomp_check(struct seccomp_filter *ret);

/* fork(2) by way of clone(2), which seccomp_check() has shown to be allowed. fork(3) makes calls of its own in the
 * child. SIGCHLD reports the child's end. */
int seccomp_fork(void);

/* Executes the command in this process, with nothing changed. Returns the errno if that failed. */
int seccomp_execute(char *const *argv);

#endif
