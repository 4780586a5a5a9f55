/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter of seccomp(2) that the command was to be started under, and that kills at a system call, would kill the
 * wrapper as well if it made that call, and the job would end by a signal that the command alone does not get. So where
 * a filter is there, each call that the wrapper may make is first made by a child (a probe). What the child was killed
 * for is left out, or the command is executed at once, in our own process.
 */
#ifndef RUN_FILTER_H
#define RUN_FILTER_H

#include <stdbool.h>

/* What is left out. */
enum filter_lack {
    FILTER_MESSAGES = 1u << 0, /* write(2): nothing can be said */
    FILTER_TERMINAL = 1u << 1, /* no terminal is asked for its size */
    FILTER_EVENTS =
        1u << 2, /* the process connector, and the other sources of events, as each of them takes a socket */
    FILTER_OWN_GROUP = 1u << 3,   /* a control group for the command alone */
    FILTER_CLOSE_RANGE = 1u << 4, /* descriptors are closed one by one */
    FILTER_READ_FOLDER = 1u << 5, /* ... as far as RLIMIT_NOFILE goes, as /proc/self/fd can't be read */
    FILTER_PRCTL = 1u << 6,       /* no subreaper; a parent-death signal is not handed on */
    FILTER_TIMERS = 1u << 7,      /* interval timers stay ours, and their signals are passed on */
    FILTER_PROC_SELF = 1u << 8,   /* /proc is not used, as it may be another PID namespace's */
    FILTER_CPU_CLOCK = 1u << 9,   /* no CPU clock of another process */
    FILTER_SESSION = 1u << 10,    /* getsid(2): a hang-up of the terminal is not passed on */
    FILTER_SETSID = 1u << 11,     /* recorder and watcher stay in the session */
    FILTER_PIDFD = 1u << 12,      /* the watcher looks at the command's clock and state alone */
    FILTER_PARENT = 1u << 13,     /* getppid(2) */
    FILTER_QUEUE = 1u << 14,      /* signals are passed on by kill(2) alone */
    FILTER_LIMITS = 1u << 15,     /* limits are not changed */
    FILTER_STACK = 1u << 16,      /* sigaltstack(2): a small stack stays small */
    FILTER_RARE = 1u << 17,       /* something that is needed at times: what uses it is rehearsed (filter_apart()) */
};

struct filter {
    bool there;           /* a filter, or it can't be told (no /proc) */
    unsigned lacks;       /* bits of enum filter_lack */
    int process_errno;    /* no process is to be had for the probes, and why; 0: there was one */
    const char *essential; /* the call without which there can be no wrapper: the command is to be executed at once;
                              NULL: none */
};

/* To be called before anything else is done. Calls execute no more than a program that was linked dynamically does
 * itself, and clone(2). */
void filter_look(struct filter *ret);

static inline bool filter_lacks(const struct filter *f, enum filter_lack what)
{
    return f && (f->lacks & what);
}

/*
 * Runs fn in a child that has a copy of our memory, and waits for it, so that a filter kills that child at most. Where
 * no filter is there, or no process to be had, it runs here. quiet: the child's standard descriptors are /dev/null.
 * Returns what fn returned; false: it was killed.
 */
bool filter_apart(const struct filter *f, bool quiet, bool (*fn)(void *context), void *context);

/* fork(2) by clone(2), which the probes have shown to be let through (musl's fork() calls fork(2)). SIGCHLD tells its
 * end. */
int filter_fork(void);

/* Executes the command in this process, with nothing changed. Returns only if that failed, with the errno. */
int filter_execute(char *const *argv);

#endif
