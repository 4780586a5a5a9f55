/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper of `baro run`: it stands in the command's place towards whoever started it, and changes nothing for the
 * command. README.md has the rules and the differences that no wrapper can hide.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "baro/error.h"

struct filter;
struct link_end;
struct own_group;

struct run_options {
    char *const *argv;     /* the command, NULL-terminated, at least one */
    bool subreaper;        /* adopt and reap orphans */
    const char *tape_path; /* absolute, for BARO_TAPE; NULL: no such variable */
    int tape_fd;           /* for the recorder: closed in the wrapper once the recorder has it; -1: none */
    int events_fd;         /* the same */
    int folder_fd;         /* of the tape's folder, kept by both; -1: none */
    void (*becoming)(void *context,
                     int error); /* nothing is recorded, and why: this process becomes the command; may be NULL */
    const struct own_group *own; /* the command's own control group (run/own.h); NULL or empty: none */
    const struct filter
        *filter; /* run/filter.h: what the wrapper must not call; NULL: nothing is known to be forbidden */
};

struct run_result {
    int wait_status;     /* as from wait4(2), when exec_errno is 0 */
    int exec_errno;      /* why the command could not be executed; 0: it was */
    bool recorder_lost;  /* it could not be started, died before its time, or did not finish within the grace */
    bool recorder_stays; /* lost, and its process is there still: stopped, or in a call that does not return */
    int recorder_errno;  /* why it could not be started; 0: it was */
    uint64_t started_ns, ended_ns; /* CLOCK_MONOTONIC: just before it was cloned, and seen to have ended */
    const struct filter *filter;   /* of the options */
    int stderr_fd;                 /* close-on-exec copy of stderr for last messages; -1: none could be had */
};

/*
 * The recorder, in a process and session of its own: 0, 1 and 2 are /dev/null, everything else is closed but the link
 * (non-blocking, receives struct link_message), tape_fd, events_fd and folder_fd, so that it holds nothing of the
 * job's, however long it hangs; what it has to say to people the wrapper prints (link_say()). The working directory is
 * "/", so paths must be absolute; signals that people or terminals send are ignored. Its result becomes its exit
 * status. The wrapper waits for its end after LINK_ENDED or LINK_FAILED, for a second at most, and reaps it; an end of
 * file on the link without LINK_ENDED means that the wrapper was killed.
 */
typedef int run_recorder(void *context, const struct link_end *link);

/*
 * Starts the recorder, runs the command, and returns when it has ended. The process must have one thread, and stdio
 * must have nothing buffered. All signals stay blocked afterwards. Returns 0 when the command was executed or could not
 * be (ret->exec_errno), negative on a failure of our own, for which the exit status is 125. Where no process can be had
 * for the command, this process becomes the command, unrecorded, and does not return.
 */
int run_wrapper(const struct run_options *options, run_recorder *recorder_main, void *context, struct run_result *ret,
                struct baro_error *err);

/* Ends this process as the command ended: the same exit status, or the same signal (without a core); 127 where it was
 * not found, 126 where it could not be executed, 128 + n where a signal can't end us (process 1 of its namespace). */
_Noreturn void run_die_like(const struct run_result *result);

#endif
