/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper of `baro run`: for its caller it takes the command's place, and it changes nothing for the command.
 * README.md has the rules, and the differences that no wrapper can hide.
 */
#ifndef RECORDER_WRAPPER_RUN_H
#define RECORDER_WRAPPER_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "baro/error.h"

struct link_end;
struct marks_file;
struct own_group;

struct run_options {
    char *const *argv;     /* the command, NULL-terminated, at least one */
    bool subreaper;        /* adopt and reap orphans */
    bool wait_all;         /* return when all of them have ended, too, or a signal ends the wait */
    const char *tape_path; /* absolute, for BARO_TAPE; NULL: the variable is not set */
    int tape_fd;           /* for the recorder: the wrapper closes it once the recorder has it; -1: none */
    int events_fd;         /* the same */
    /* For BARO_EVENTS; its descriptor is the recorder's. NULL or without one: the variable is left as it is. */
    const struct marks_file *marks;
    int segments_fd; /* for the recorder: of a tape that is a folder; -1: none */
    int folder_fd;   /* of the tape's directory, kept open by both; -1: none */
    int beside_fd;   /* the view's socket (programs/baro/beside.h); kept open by the wrapper alone; -1: none */
    /* Nothing can be recorded, because of error, and this process will become the command; may be NULL. */
    void (*becoming)(void *context, int error);
    const struct own_group
        *own;        /* the command's own control group (recorder/wrapper/own_cgroup.h); NULL or empty: none */
    bool is_limited; /* the recorder ends the job at a limit: without one, nothing is run */
};

struct run_result {
    int wait_status;      /* from wait4(2); valid if exec_errno is 0 */
    int exec_errno;       /* why the command could not be executed; 0: it was */
    bool recorder_lost;   /* it could not be started, ended early, or did not finish within the grace period */
    bool recorder_stays;  /* lost, but its process still exists: stopped, or in a call that does not return */
    bool wait_refused;    /* wait_all: /proc does not list children, so none was waited for */
    bool recorder_killed; /* SIGKILL ended it */
    bool limit_reached;   /* a limit ended the job; wait_status is not valid if the command could not be ended */
    int recorder_errno;   /* why it could not be started; 0: it was */
    uint64_t started_ns, ended_ns; /* CLOCK_MONOTONIC: just before clone; when its end was seen */
    int stderr_fd;                 /* close-on-exec copy of stderr for last messages; -1: no descriptor was left */
};

/* The recorder, in a process and session of its own. Descriptors 0, 1 and 2 are /dev/null. All others are closed except
 * the link (non-blocking, receives struct link_message), tape_fd, segments_fd, events_fd, folder_fd and that of marks,
 * so it holds nothing of the job's, however long it hangs. The wrapper prints its messages to people (link_say()). The
 * working directory is "/", so paths must be absolute; signals that people or terminals send are ignored. Its return
 * value becomes its exit status. After LINK_ENDED or LINK_FAILED the wrapper waits at most a second for it and reaps
 * it. End of file on the link without LINK_ENDED means that the wrapper was killed. */
typedef int run_recorder(void *context, const struct link_end *link);

/* Starts the recorder (NULL: none, and the command's environment is left as it is), runs the command, and returns when
 * it has ended. The process must have one thread, and stdio must have nothing buffered. All signals stay blocked
 * afterwards. Returns 0 if the command was executed or could not be (ret->exec_errno); negative on a failure of our
 * own, for which the exit status is 125. If no process can be created for the command, this process becomes the
 * command, unrecorded, and the function does not return. */
int run_wrapper(const struct run_options *options, run_recorder *recorder_main, void *context, struct run_result *ret,
                struct baro_error *err);

/* Executes the command in this process, with nothing changed. Returns the errno if that failed. */
int run_at_once(char *const *argv);

#define RUN_LIMIT_STATUS 124 /* as of timeout(1) */

/* Ends this process as the command ended: with the same exit status, or by the same signal (without a core); with
 * RUN_LIMIT_STATUS if a limit ended the job, 127 if it was not found, 126 if it could not be executed, 128 + n if a
 * signal can't end us (process 1 of its namespace).
 */
_Noreturn void run_die_like(const struct run_result *result);

#endif
