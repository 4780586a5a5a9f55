/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of a job failed first, from the exits of a tape one by one.
 *
 * A process failed if it ended with a status that is not 0, or by a signal. Most failures mean nothing: a `configure`
 * has a hundred probes that fail, and goes on. So the search begins at the end: the command failed; which of its
 * children failed just before that; which child of that child; and so on. Example: `make` ended with 2, below it `make
 * -C src` with 2, `gcc` with 1, `collect2` with 1, and `ld` with 1: ld failed first.
 *
 * Exits come in the order of their ends, so a process ends after the children that made it fail. One failed child of
 * each living process is kept: the earliest after which it started no other process. Memory is bounded: at most
 * FAILURE_FAMILIES processes with such a child are kept. If there are more, the process whose child failed longest ago
 * is dropped.
 */
#ifndef LIBBARO_VERDICT_FAILURE_H
#define LIBBARO_VERDICT_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "baro/sample.h"

#define FAILURE_FAMILIES 32u
#define FAILURE_NAME 32u
#define FAILURE_COMMAND 128u
#define FAILURE_AFTER 128u

struct failure_process {
    int32_t pid;
    uint64_t start_ticks;
};

/* The end of a process. */
struct failure_end {
    struct failure_process process;
    uint64_t t_ns;
    bool status_known;
    int status;            /* as of wait4(2) */
    uint64_t cpu_limit_ns; /* the limit of CPU time that it had used up; 0: none */
    char name[FAILURE_NAME];
    char command[FAILURE_COMMAND]; /* "": not read */
};

/* Why a process failed. */
struct failure {
    /* the process that failed first: the process itself, if no child failed just before, or a signal ended the command
     */
    struct failure_end first;
    bool is_of_child;            /* `first` is not the process itself */
    bool is_probable;            /* a process between them went on for a moment, or has a status that is not known */
    char above[FAILURE_COMMAND]; /* command line of the process next above `first`, unless it is the job's command */
    char after[FAILURE_AFTER];   /* the processes in between, from the lowest up: "collect2, gcc, make" */
    unsigned n_after, n_named;   /* how many there are, and how many of them are named */
    uint64_t n_before;         /* children that failed before, and after which their parents started other processes */
    bool before_is_bound;      /* there may have been more: the status or the parent of some process is not known */
    struct failure_end before; /* the last of those children, if `first` is the process itself; else pid 0 */
};

struct failure_family {
    struct failure_process parent;
    struct failure child;
    bool is_weak;       /* it is not known whether that child failed, or a closed pipe ended it */
    bool went_on;       /* the parent started another process after the child had ended */
    uint64_t child_ns;  /* when the child ended */
    uint64_t latest_ns; /* when the latest of the other children ended */
    uint64_t together;  /* children that failed without another one being started in between */
    uint64_t n_before;  /* as in struct failure */
};

/* All zero at first, except for the command. */
struct failures {
    struct failure_process command;
    bool has_failed, is_partial; /* is_partial: the status or the parent of some process is not known */
    struct failure of_command;   /* why the command failed, if has_failed */
    struct failure_family family[FAILURE_FAMILIES];
    unsigned n;
};

void failures_add(struct failures *f, const struct baro_row *e);

#endif
