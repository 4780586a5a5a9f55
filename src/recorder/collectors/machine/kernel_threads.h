/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's threads, which are one row of the sample: kthreadd, their parent, stands for all of them. Their CPU
 * clocks are read at each sample, which costs less than a microsecond a thread; nothing else is read of them.
 */
#ifndef RECORDER_COLLECTORS_MACHINE_KERNEL_THREADS_H
#define RECORDER_COLLECTORS_MACHINE_KERNEL_THREADS_H

#include "base/map.h"
#include "recorder/sampling/sampling.h"

#define KTHREADD 2 /* its pid; in a PID namespace of its own it is an ordinary process */

struct kernel_threads {
    struct sampling *sampling;
    struct member *row; /* NULL: none can be seen from this PID namespace */
    struct kernel_thread {
        int32_t pid;
        uint64_t clock_ns; /* as read last */
    } * at;
    size_t n, cap;
    struct map by_pid;
    uint64_t cpu_ns; /* what all of them have used so far, as far as it was seen */
};

/* Makes the row if there are kernel threads. */
void kernel_threads_init(struct kernel_threads *k, struct sampling *sampling);
/* A process was found that is none of the members. Returns whether it is a kernel thread, and takes it if so. */
bool kernel_threads_take(struct kernel_threads *k, int32_t pid);
/* An event reports that kthreadd has forked: no file of the new thread is read. */
void kernel_threads_born(struct kernel_threads *k, int32_t pid);
/* Reads their clocks into the row. */
void kernel_threads_read(struct kernel_threads *k);
void kernel_threads_done(struct kernel_threads *k);

#endif
