/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all recordings of a process share: the account of CPU time, the buffer for files, and the helper processes that
 * read files that can block. `run` and `record` have one recording, whose sampler has an account of its own.
 */
#ifndef RECORDER_SAMPLING_ACCOUNT_H
#define RECORDER_SAMPLING_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/sampling/budget.h"

struct gpu_source;
struct helper;
struct helper_reply;
struct worker;

#define ACCOUNT_WORKERS 8u
#define SAMPLING_TEXT 16384u

struct account {
    struct budget budget;
    struct read_budget read_budget; /* for reads that block the process that is read */
    uint64_t start_ns;              /* CLOCK_MONOTONIC: times of both budgets are relative to this */
    uint64_t charged_own_ns;        /* CPU time of this process that was charged to the budget so far */

    char text[SAMPLING_TEXT]; /* buffer for reading a file; its content is used before the next read */

    /* If one process has several recordings (an observer), each reports the cost of its own samples, and an equal share
     * of all other costs. */
    size_t recordings;                      /* 0: there is one, which owns this account */
    uint64_t ticks_ns;                      /* CPU time of the ticks of all recordings */
    struct helper *helper;                  /* for memory and commands of processes; NULL: none yet */
    struct helper *files;                   /* for files of control groups; NULL: none yet */
    bool no_helper, no_files;               /* creating one failed */
    struct gpu_source *gpus;                /* NULL: no recording reads GPUs now */
    struct worker *worker[ACCOUNT_WORKERS]; /* all processes that recordings share; borrowed */
    size_t n_workers;
    uint64_t ended_ns; /* CPU time of those that were removed */
    uint64_t charged_helper_ns;
    /* Called for a reply to another recording than the one that reads it. */
    void (*route)(void *context, const struct helper_reply *reply);
    void *route_context;
};

void account_init(struct account *a, uint64_t overhead_ppm, uint64_t start_monotonic_ns);
/* Returns the CPU time that belongs to no recording: of this process outside of ticks, and of the helpers. */
uint64_t account_shared_ns(struct account *a, uint64_t own_cpu_ns);
/* Returns the helper for files of control groups; NULL: there is none. proc_fd: as for helper_new(). */
struct helper *account_files(struct account *a, int proc_fd);
void account_add(struct account *a, struct worker *w); /* w: NULL allowed */
void account_remove(struct account *a, struct worker *w);
/* Returns the helper for processes, as account_files(). */
struct helper *account_helper(struct account *a, int proc_fd, bool want_cmdline);
/* Returns the helpers' CPU time since the last call. */
uint64_t account_take_helper(struct account *a);
void account_done(struct account *a);

#endif
