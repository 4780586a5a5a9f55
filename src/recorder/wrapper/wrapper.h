/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder; private to it. */
#ifndef RECORDER_WRAPPER_WRAPPER_H
#define RECORDER_WRAPPER_WRAPPER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#include "recorder/wrapper/fds.h"
#include "recorder/wrapper/messages.h"
#include "recorder/wrapper/run.h"

struct wrapper {
    int link, stderr_fd, folder_fd, beside_fd, marks_fd;
    volatile uint64_t *write_hangs_at, *limit_word; /* of struct link_end */
    uint64_t limit_acted_ns;                        /* when the limit was last seen to act */
    bool is_limited;                                /* of struct run_options */
    pid_t self, recorder, command;                  /* 0: none */
    bool wait_all;                                  /* of struct run_options */
    pid_t other[REAP_OTHERS];                       /* children that were there before the command */
    size_t n_others;
    pid_t watcher;          /* of a mirrored stop (mirror.c); 0: none */
    int stopped_by;         /* the signal that stopped the command, if the stop is mirrored; 0: none */
    unsigned watchers;      /* started for this stop so far */
    uint64_t view_asked_ns; /* when the view was asked to leave the terminal; 0: it may have it (view.c) */
    uint8_t view_request;   /* the number of that request */
    bool view_left;         /* the view has left the terminal, or the wrapper no longer waits for it */
    bool session_leader;
    bool recorder_ended, command_ended;
    bool recorder_done;             /* it reported that everything is written */
    bool proc_checked, proc_is_own; /* is /proc of this PID namespace? */
    const struct own_group *own;    /* its locks are held until the end */
    unsigned entered;               /* as in struct spawn */
    int self_io;                    /* /proc/self/io, kept open; -1: not needed so far, or can't be opened */
    int command_io;                 /* /proc/PID/task/PID/io of the command, kept open; -1: can't be opened */
    struct run_result *result;
    struct link_message totals; /* only its running totals and the floor are used */
};

/* Signal sets in the kernel's layout. libc hides signals 32 and 33 in every set that it handles; that would change the
 * mask which the command inherits, and one of these signals could end the wrapper. */
typedef uint64_t sigmask;
#define SIGMASK_ALL (~(sigmask)0)
#define SIGMASK_OF(signal) ((sigmask)1 << ((signal)-1))

/* messages.c: 0 or -errno, which callers may ignore; none of these waits for the recorder. */
int link_put(struct wrapper *w, const struct link_message *m);
int link_report(struct wrapper *w, enum link_kind kind, int64_t number);
void link_print(struct wrapper *w); /* prints the recorder's messages as far as stderr takes them at once */
/* The same, but waits for stderr; returns true if the recorder is done. */
bool link_print_last(struct wrapper *w, uint64_t deadline_ns);

/* signals.c */
sigmask sigmask_set(int how, sigmask set); /* rt_sigprocmask(2); returns the mask before */
int sigmask_wait(sigmask set, siginfo_t *ret, const struct timespec *timeout); /* the signal, or -errno */
void signal_reset(int signal);
void signal_handle(struct wrapper *w, const siginfo_t *info);

/* mirror.c: stops */
void mirror_update(struct wrapper *w);         /* stops or continues as the command did */
void mirror_end(struct wrapper *w);            /* the wrapper must not be stopped any more */
bool mirror_has_news(const struct wrapper *w); /* has the command stopped, continued or ended since the last update? */

/* view.c: the view of `baro run --top`; without one they do nothing */
/* Asks the view to leave the terminal, once per stop. Returns whether it has left. Call this again until it has. */
bool view_leaves(struct wrapper *w);
void view_let_return(struct wrapper *w);

/* reap.c */
void reap_prepare(struct wrapper *w); /* call once the command runs */
bool reap_round(struct wrapper *w);
bool reap_recorder(struct wrapper *w);
char reap_state(struct wrapper *w, pid_t pid); /* as in /proc/PID/stat: 'R', 'D', ...; 0: not known */
/* Helpers of the recorder that were left to the wrapper and are not reaped yet. */
enum reap_left { REAP_NONE_LEFT, REAP_HANGING /* all are in uninterruptible sleep */, REAP_ENDING };
enum reap_left reap_helpers_left(struct wrapper *w);
/* Notes the children that the wrapper has before the command starts: --wait-all does not wait for them. */
void reap_note_others(struct wrapper *w);
/* Has the command left processes behind? Each is a child of the wrapper, or below one. -ENOENT: can't be told. */
int reap_job_left(struct wrapper *w);

/* spawn.c */
struct spawn {
    char *const *argv;
    char **env;
    char **for_shell; /* for a script without "#!": room for the shell and the path, then the arguments */
    sigmask mask;     /* restored in the command */
    bool chld_ignored;
    int death_signal;
    int was_subreaper;
    struct itimerval timers[3];
    volatile int exec_errno;     /* written by the child, in our memory */
    const struct own_group *own; /* the command's own control group; NULL or empty: none */
    volatile unsigned entered;   /* a bit for each directory of it that the command is in */
};

/* Becomes argv, which is searched in PATH. Returns only if that failed, with errno. Allocates nothing. */
void exec_command(struct spawn *s, char *const *env);

/* The arguments of a script with room for the shell in front; NULL: out of memory. */
char **spawn_for_shell(char *const *argv);
int spawn_prepare(struct spawn *s, const struct run_options *options, bool is_recorded, sigmask mask_on_entry);
/* Returns the pid, with s->exec_errno set if exec failed, or -errno if no process could be created. */
pid_t spawn_start(struct spawn *s);
/* Becomes the command. Returns only if exec failed, with the errno in s->exec_errno. */
void spawn_become(struct spawn *s);

#endif
