/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share; nobody else includes it. */
#ifndef RUN_WRAPPER_H
#define RUN_WRAPPER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#include "run/filter.h"
#include "run/link.h"
#include "run/run.h"

struct wrapper {
    int link, stderr_fd, folder_fd;
    volatile uint64_t *write_hangs_at; /* of struct link_end */
    pid_t self, recorder, command; /* 0: none */
    pid_t watcher;       /* of a stop that is mirrored (mirror.c); 0: none */
    int stopped_by;      /* the signal that the command stands still by, if that is mirrored; 0: none */
    unsigned watchers;   /* that this stop has had */
    bool session_leader;
    bool recorder_ended, command_ended;
    bool recorder_done; /* it said that all is written */
    bool proc_checked, proc_is_own; /* is /proc of this PID namespace? */
    const struct own_group *own;   /* whose locks are held to the end */
    unsigned entered;              /* as of struct spawn */
    int self_io;                   /* /proc/self/io, held; -1: not needed so far, or not to be had */
    int command_io;                /* /proc/PID/task/PID/io of the command, held; -1: not to be had */
    const struct filter *filter;   /* what the wrapper must not call; NULL: nothing is known to be forbidden */
    struct run_result *result;
    struct link_message totals; /* only its running totals and the floor are used */
};

/*
 * Signal sets as the kernel has them. libc hides signals 32 and 33 in every set it handles, which would change the mask
 * that a command inherits and would let one of these end the wrapper.
 */
typedef uint64_t sigmask;
#define SIGMASK_ALL (~(sigmask)0)
#define SIGMASK_OF(signal) ((sigmask)1 << ((signal)-1))

/* link.c: 0 or -errno, which callers may ignore; nothing here waits for the recorder. */
int link_put(struct wrapper *w, const struct link_message *m);
int link_tell(struct wrapper *w, enum link_kind kind, int64_t number);
void link_hear(struct wrapper *w); /* prints what the recorder has to say, as far as stderr takes it at once */
bool link_hear_last(struct wrapper *w,
                    uint64_t deadline_ns); /* the same, waiting for stderr; true: it has said that it is done */

/* signals.c */
sigmask sigmask_set(int how, sigmask set); /* rt_sigprocmask(2); returns the mask before */
int sigmask_wait(sigmask set, siginfo_t *ret, const struct timespec *timeout); /* the signal, or -errno */
void signal_reset(int signal);
void signal_handle(struct wrapper *w, const siginfo_t *info);

/* mirror.c: stops */
void mirror_update(struct wrapper *w); /* sees whether the command stopped or went on, and does the same */
void mirror_end(struct wrapper *w);    /* the wrapper no longer stands still for the command */
bool mirror_has_news(const struct wrapper *w); /* has the command stopped, gone on or ended since it was looked at? */

/* reap.c */
void reap_prepare(struct wrapper *w); /* once the command runs */
bool reap_round(struct wrapper *w);
bool reap_recorder(struct wrapper *w);
char reap_state(struct wrapper *w, pid_t pid); /* as in /proc/PID/stat: 'R', 'D', ...; 0: not known */
/* Helpers that the recorder has left to us and that are not reaped. */
enum reap_left { REAP_NONE_LEFT, REAP_HANGING /* in an uninterruptible wait, all of them */, REAP_ENDING };
enum reap_left reap_helpers_left(struct wrapper *w);

/* fds.c */
int fds_null(void);
void fds_null_standard(int but); /* leaves that one as it is; -1: none */
void fds_close_others(const struct filter *filter, const int *keep, size_t count);

/* spawn.c */
struct spawn {
    char *const *argv;
    char **env;
    char **for_shell; /* should it be a script without "#!": room for the shell and the path, then the arguments */
    sigmask mask; /* to be given back */
    bool chld_ignored;
    int death_signal;
    int was_subreaper;
    struct itimerval timers[3];
    volatile int exec_errno;   /* written by the child, in our memory */
    const struct filter *filter;
    const struct own_group *own; /* the command's own control group; NULL or empty: none */
    volatile unsigned entered;   /* a bit for each of its folders that the command is in */
};

/* Becomes argv, looked for in PATH. Returns only if that failed, with errno. Allocates nothing. */
void exec_command(struct spawn *s, char *const *env);

/* Room for the shell before the arguments of a script; NULL: out of memory. */
char **spawn_for_shell(char *const *argv);
int spawn_prepare(struct spawn *s, const struct run_options *options, sigmask mask_on_entry);
/* Returns the pid with s->exec_errno set if exec failed, or -errno if there is no process. */
pid_t spawn_start(struct spawn *s);
/* Becomes the command. Returns only if exec failed, with the errno in s->exec_errno. */
void spawn_become(struct spawn *s);

#endif
