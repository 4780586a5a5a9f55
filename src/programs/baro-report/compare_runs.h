/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands one after the other, each several times, and records each run. */
#ifndef PROGRAMS_BARO_REPORT_COMPARE_RUNS_H
#define PROGRAMS_BARO_REPORT_COMPARE_RUNS_H

#include <limits.h>

#include "programs/common/cli.h"

#define COMPARED_MOST 16u
#define RUNS_MOST 1000u

/* A run that was recorded. */
struct compared_run {
    unsigned command, status; /* status: as of wait4(2) */
    char path[PATH_MAX];
};

struct compared_runs {
    const struct cli *cli;
    const struct compare_settings *s;
    const char *const *commands; /* as texts */
    char *const *argv;           /* the one command that is run without a shell; NULL: by sh -c */
    unsigned n_commands;
    char folder[PATH_MAX]; /* of the tapes */
    struct compared_run *run;
    unsigned n;
    int interrupted_by; /* a signal such as that of ^C: what was measured counts; 0: by none */
    bool has_failed;    /* a command failed, and was not allowed to: the set ended there */
};

/* Returns 0, or the exit status of a failure of our own, which was reported. To be freed in both cases. */
int compare_runs(struct compared_runs *r);
/* Removes the tapes, unless they are to be kept. */
void compare_runs_done(struct compared_runs *r);

#endif
