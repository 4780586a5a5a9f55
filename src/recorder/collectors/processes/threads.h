/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of threads. A process can have thousands of threads, each with its own files. Reading them may take a fixed
 * part of the budget, for all processes together. Example with a budget of 1 %: reading 2,000 threads took 8 ms, so the
 * next threads are read 3.2 s later; 8 ms in 3.2 s are 0.25 %, a quarter of the budget. Four threads take 0.03 ms,
 * which is a quarter of the budget of 12 ms: they are read with each sample. Processes that have to wait take turns.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_THREADS_H
#define RECORDER_COLLECTORS_PROCESSES_THREADS_H

#include "recorder/sampling/sampling.h"

struct threads {
    struct sampling *sampling;
    uint64_t free_ns;  /* when threads may be read next */
    uint64_t round_ns; /* processes read since then have had their turn */
    bool refused;      /* in this tick a process was refused that has not had its turn */
};

/* To be called at the beginning of a tick. */
void threads_tick(struct threads *t);

/* May the threads of a process be read now that were last read at last_ns (0: never)? If not, the read counts as left
 * out. */
bool threads_may_read(struct threads *t, uint64_t last_ns);

/* To be called after threads were read. begin_cpu_ns: the CPU time of this process before. Returns the pause until the
 * next read. */
uint64_t threads_were_read(struct threads *t, uint64_t begin_cpu_ns);

struct thread_sums {
    uint64_t delay, voluntary, involuntary;
    bool has_delay, has_switches;
};

/* Sums up the run delay of all living threads of a process, and their context switches, which cost more to read. */
void threads_sum(struct threads *t, int32_t pid, bool switches, struct thread_sums *ret);

#endif
