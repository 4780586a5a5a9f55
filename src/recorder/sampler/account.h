/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all recordings of a process have in common: the account of its CPU time, and the helper processes that read what
 * can block. `run` and `record` have one recording, and its sampler an account of its own.
 */
#ifndef RECORDER_SAMPLER_ACCOUNT_H
#define RECORDER_SAMPLER_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/sampler/budget.h"

struct gpu_source;
struct helper;
struct helper_reply;
struct selector;
struct worker;

struct account {
    struct budget budget;
    struct allowance allowance; /* for reads that block the process that is read */
    uint64_t start_ns;          /* CLOCK_MONOTONIC; the times of budget and allowance count from here */
    uint64_t charged_own_ns;    /* CPU time of this process that was charged to the budget so far */

    /* Several recordings in one process (an observer): each reports what its own samples cost, and an equal share of
     * everything else. */
    size_t recordings;         /* 0: there is one, and this account is its own */
    uint64_t ticks_ns;         /* CPU time of the ticks of all recordings */
    struct helper *helper;     /* for memory and commands of processes; NULL: none yet */
    struct helper *files;      /* for files of control groups; NULL: none yet */
    bool no_helper, no_files;  /* creating one failed */
    struct selector *selector; /* the process that selects; borrowed; NULL: none yet */
    struct worker *worker;     /* another process of the observer; borrowed; NULL: none */
    struct gpu_source *gpus;   /* NULL: none reads GPUs now */
    struct worker *gpu_worker; /* of it */
    uint64_t gpu_ended_ns;     /* CPU time of those that have ended */
    uint64_t charged_helper_ns;
    /* Replies to requests of other recordings than the one that reads them. */
    void (*route)(void *context, const struct helper_reply *reply);
    void *route_context;
};

void account_init(struct account *a, uint64_t overhead_ppm, uint64_t start_monotonic_ns);
/* CPU time of what belongs to no recording: this process outside of ticks, and the helpers. */
uint64_t account_shared_ns(struct account *a, uint64_t own_cpu_ns);
/* NULL: there is none. proc_fd: as of helper_new(). */
struct helper *account_files(struct account *a, int proc_fd);
/* The helpers' CPU time since the last call. */
uint64_t account_take_helper(struct account *a);
void account_done(struct account *a);

#endif
