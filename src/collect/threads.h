/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of threads. A process can have thousands of threads, each with its own files. Reading them may take a fixed
 * part of the budget, for all processes together. Example with a budget of 1 %: reading 2,000 threads took 8 ms, so the
 * threads of the next process are read 3.2 s later; 8 ms in 3.2 s are 0.25 %, a quarter of the budget.
 */
#ifndef COLLECT_THREADS_H
#define COLLECT_THREADS_H

#include "collect/sampling.h"

struct threads {
    struct sampling *sampling;
    uint64_t free_ns; /* when threads may be read next */
};

/* May threads be read now? If not, the read is counted as left out. */
bool threads_may_read(struct threads *t);

/* To be called after threads were read. begin_cpu_ns: the CPU time of this process before. Returns the pause until the
 * next read. */
uint64_t threads_were_read(struct threads *t, uint64_t begin_cpu_ns);

struct thread_sums {
    uint64_t delay, voluntary, involuntary;
    bool has_delay, has_switches;
};

/* Sums up the run delay and context switches of all living threads of a process. */
void threads_sum(struct threads *t, int32_t pid, struct thread_sums *ret);

#endif
