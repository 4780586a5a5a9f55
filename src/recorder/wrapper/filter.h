/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the command is to run under a seccomp(2) filter that kills at some system call, the wrapper would be killed as
 * well if it made that call, and the job would end by a signal that it would not get without baro. So if there is a
 * filter, children (probes) first make each call that the wrapper may make. Calls at which a probe was killed are left
 * out, or the command is executed at once in our own process.
 */
#ifndef RECORDER_WRAPPER_FILTER_H
#define RECORDER_WRAPPER_FILTER_H

#include <stdbool.h>

/* What is left out because a probe was killed. */
enum filter_lack {
    FILTER_MESSAGES = 1u << 0,    /* write(2): nothing can be printed */
    FILTER_TERMINAL = 1u << 1,    /* the terminal's size is not read */
    FILTER_EVENTS = 1u << 2,      /* no process connector and no other event source; each of them needs a socket */
    FILTER_OWN_GROUP = 1u << 3,   /* no control group for the command alone */
    FILTER_CLOSE_RANGE = 1u << 4, /* descriptors are closed one by one */
    FILTER_READ_FOLDER = 1u << 5, /* ... up to RLIMIT_NOFILE, because /proc/self/fd can't be read */
    FILTER_PRCTL = 1u << 6,       /* no subreaper; a parent-death signal is not restored in the command */
    FILTER_TIMERS = 1u << 7,      /* interval timers stay with the wrapper, and their signals are forwarded */
    FILTER_PROC_SELF = 1u << 8,   /* /proc is not used, because it may be another PID namespace's */
    FILTER_CPU_CLOCK = 1u << 9,   /* no CPU clock of another process */
    FILTER_SESSION = 1u << 10,    /* getsid(2): a hang-up of the terminal is not forwarded */
    FILTER_SETPGID = 1u << 11,    /* recorder and watcher stay in the process group */
    FILTER_PIDFD = 1u << 12,      /* the watcher reads only the command's clock and state */
    FILTER_PARENT = 1u << 13,     /* getppid(2) */
    FILTER_QUEUE = 1u << 14,      /* signals are forwarded by kill(2), without their value */
    FILTER_LIMITS = 1u << 15,     /* limits are not changed */
    FILTER_STACK = 1u << 16,      /* sigaltstack(2): a small stack stays small */
    FILTER_RARE = 1u << 17,       /* a call that is needed rarely: work with it is tried in a child (filter_apart()) */
};

struct filter {
    bool there;        /* there is a filter, or this can't be read (no /proc) */
    unsigned lacks;    /* bits of enum filter_lack */
    int process_errno; /* why no process could be created for the probes; 0: there was one */
    /* The forbidden call without which there can be no wrapper: the command is executed at once. NULL: none. */
    const char *essential;
};

/* Call this before anything else. It makes only the system calls that a dynamically linked program makes at its start,
 * and clone(2). */
void filter_look(struct filter *ret);

static inline bool filter_lacks(const struct filter *f, enum filter_lack what)
{
    return f && (f->lacks & what);
}

/* Runs fn in a child that has a copy of our memory, and waits for it, so that a filter kills only that child. If there
 * is no filter, or no process can be created, fn runs here. quiet: the child's standard descriptors are /dev/null.
 * Returns what fn returned, or false if it was killed. */
bool filter_apart(const struct filter *f, bool quiet, bool (*fn)(void *context), void *context);

/* fork(2) by way of clone(2), which the probes have shown to be allowed. fork(3) makes calls of its own in the
 * child. SIGCHLD reports the child's end. */
int filter_fork(void);

/* Executes the command in this process, with nothing changed. Returns the errno if that failed. */
int filter_execute(char *const *argv);

#endif
