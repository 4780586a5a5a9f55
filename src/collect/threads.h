/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of threads. A process can have thousands of threads, and each has files of its own: reading them takes a fixed
 * part of the budget, of all processes together. Example with a budget of 1 %: reading 2,000 threads took 8 ms, so the
 * next process whose threads are read has to wait for 3.2 s, in which that is a quarter of the budget.
 */
#ifndef COLLECT_THREADS_H
#define COLLECT_THREADS_H

#include "collect/sampling.h"

struct threads {
    struct sampling *sampling;
    uint64_t free_ns; /* when the threads of some process may be read next */
};

/* May threads be read now? If not, that is counted as left out. */
bool threads_may_read(struct threads *t);

/* They were read, from when this process had used begin_cpu_ns of CPU time until now. Returns how long the next read
 * has to wait. */
uint64_t threads_were_read(struct threads *t, uint64_t begin_cpu_ns);

struct thread_sums {
    uint64_t delay, voluntary, involuntary;
    bool has_delay, has_switches;
};

/* Run delay and context switches of all living threads of a process. */
void threads_sum(struct threads *t, int32_t pid, struct thread_sums *ret);

#endif
