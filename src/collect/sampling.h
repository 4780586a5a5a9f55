/* SPDX-License-Identifier: Apache-2.0 */
/* What all collectors of a recording share. The sampler alone changes it; they read it and fill the sample. */
#ifndef COLLECT_SAMPLING_H
#define COLLECT_SAMPLING_H

#include "base/buf.h"
#include "base/clock.h"
#include "cgroup/cgroup.h"
#include "collect/collector.h"
#include "job/job.h"
#include "procfs/procfs.h"

#define SAMPLING_TEXT 16384
#define SAMPLING_HELPER_AFTER (100 * NS_PER_MS) /* a shorter job has no helper for the machine and for its groups */

struct sampler_options {
    int proc_fd;     /* directory descriptor of /proc; borrowed */
    uint64_t wanted; /* mask of process metrics */
    uint64_t overhead_ppm;
    bool cmdline;      /* command lines are wanted */
    bool children;     /* descendants belong to the job */
    bool helper;       /* a helper process may be started */
    bool host;         /* the machine is sampled, too */
    bool host_at_once; /* from the first sample on; else when the job is no longer a short one */
    bool host_alone;   /* there is no job */
    int sys_fd;        /* directory descriptor of /sys; borrowed; -1: none */
    uint32_t clk_tck;
    uint64_t start_monotonic_ns;
    uint64_t page_size;
    int32_t self[3]; /* barograph's own processes, this one first: never members; 0: none */
    int wake_fd;     /* a wait for the helper ends when this is readable; -1: none */
    /* Called in a tick that found members gone, before their exits are reported: the events of their ends are in the
     * queues of the event sources by now. */
    void (*catch_up)(void *context);
    void *catch_up_context;
    int root_fd;                             /* directory descriptor of "/"; borrowed */
    const struct cgroup_hierarchies *groups; /* that the job is in; NULL: not sampled; borrowed */
    uint64_t memory_total;                   /* of the machine */
};

/* A program whose readings are recorded (--collect). All is borrowed. */
#define PROGRAMS_MOST 16u
struct program_request {
    const char *name, *command;
    const char *folder;   /* where it is run; NULL: where we are */
    uint64_t interval_ns; /* 0: auto */
};

struct sampling {
    struct sampler_options options;
    struct collectors collectors;
    struct job *job;
    struct budget budget;
    struct baro_sample sample;
    struct baro_declared *declared[PROGRAMS_MOST]; /* kinds of programs, of their rows */
    size_t n_declared;
    unsigned need;       /* enum baro_source: what the wanted metrics are read from */
    uint32_t entity_ids; /* the last id that a CPU, disk, control group ... was given */
    uint64_t now_ns;     /* of the tick */
    uint64_t ticks;
    uint64_t thinned;         /* reads that were left out for the budget */
    char text[SAMPLING_TEXT]; /* for whoever reads a file: its content is used before the next read */
};

/* barograph's own processes are no members. */
static inline bool sampling_is_own(const struct sampling *g, int32_t pid)
{
    const int32_t *self = g->options.self;
    return pid == self[0] || pid == self[1] || pid == self[2] || collectors_is_helper(&g->collectors, pid);
}

#endif
