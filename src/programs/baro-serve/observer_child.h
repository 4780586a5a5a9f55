/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `baro observe` that the server starts (--cgroup). It writes tapes to the folder that is served. The first thread
 * starts it, so that it ends with the server, even if that is killed (PR_SET_PDEATHSIG).
 */
#ifndef PROGRAMS_BARO_SERVE_OBSERVER_CHILD_H
#define PROGRAMS_BARO_SERVE_OBSERVER_CHILD_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "programs/common/cli.h"

struct observing {
    const struct cli *cli;
    bool is_wanted;
    char program[PATH_MAX];
    const char *argv[SETTINGS_OBSERVE_MAX + 5];
    pid_t pid;                             /* 0: it is not running */
    int pid_fd;                            /* readable when it has ended; -1: there is none */
    uint64_t started_ns, due_ns, pause_ns; /* CLOCK_MONOTONIC: last start, next start; the pause before that */
    /* read by other threads */
    atomic_bool is_running;
    atomic_uint_fast64_t starts;
};

/* folder is borrowed. Does nothing without --cgroup. */
int observing_init(struct observing *o, const struct cli *cli, const char *folder, const struct serve_settings *s,
                   struct baro_error *err);
/* Starts it if that is due, and reports if it has ended. Returns after how many ms to call again; -1: when pid_fd is
 * readable. */
int observing_turn(struct observing *o);
/* Asks it to end; observing_done() waits for that. */
void observing_stop(struct observing *o);
void observing_done(struct observing *o);

#endif
