/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened on the machine around a job while it was watched, and in the control groups that the job is in: how
 * much counters grew, and the extremes of gauges. A reading of the machine counts once, even if several samples have
 * it. Adding one takes O(control groups) and allocates nothing.
 */
#ifndef LIBBARO_SUMMARY_MACHINE_H
#define LIBBARO_SUMMARY_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libbaro/interval/derive.h"
#include "libbaro/metric/ids.h"

struct baro_entity;

enum machine_counter {
    MACHINE_BUSY, /* CPU time of all work: user, nice, system, interrupts, guests */
    MACHINE_ALL,  /* all CPU time: busy, idle, waiting for I/O, stolen */
    MACHINE_STEAL,
    MACHINE_IDLE,
    MACHINE_USER, /* in user mode, niced or not, and of guests */
    MACHINE_JOB,  /* CPU time of the job at the same readings */
    MACHINE_SELF, /* and of the recorder */
    MACHINE_OOM_KILLS,
    MACHINE_SWAP_IN,
    MACHINE_SWAP_OUT,
    MACHINE_DISK_READ,
    MACHINE_DISK_WRITE,
    MACHINE_NET_RECEIVE,
    MACHINE_NET_TRANSMIT,
    MACHINE_CPU_SOME,
    MACHINE_MEMORY_SOME,
    MACHINE_MEMORY_FULL,
    MACHINE_IO_SOME,
    MACHINE_IO_FULL, /* pressure */
    MACHINE_COUNTERS
};

enum machine_gauge {
    MACHINE_MEMORY_USED,      /* the highest value */
    MACHINE_MEMORY_AVAILABLE, /* the lowest value */
    MACHINE_SWAP_USED,
    MACHINE_LOAD, /* averages over a minute, in millionths */
    MACHINE_CPUS,
    MACHINE_MEMORY_TOTAL,
    MACHINE_GAUGES
};

/* If a counter falls, it is another counter, or has lost a part (a disk was removed): the growth so far is kept. */
struct growth {
    uint64_t from_ns, to_ns; /* first and last reading that had it */
    uint64_t last, grown;
    bool seen;
    uint8_t absent; /* reason while it was absent */
};

/* The readings between which a counter rose. */
struct growth_rise {
    uint64_t from_ns, to_ns, by;
};

struct extreme {
    uint64_t value;
    bool seen;
    uint8_t absent;
};

#define MACHINE_RISES 8
#define MACHINE_GROUPS 32 /* usually about five; more if the job was moved */

struct machine_group {
    uint32_t id;
    uint32_t chain; /* number of the chain of groups that the job was in: its innermost groups and those above them. It
                     * is in another one each time it was moved */
    size_t length;  /* length of its path */
    char end[128];  /* the end of the path, or the whole path: as much as a truncated source keeps */
    char last[32];  /* the beginning of the last component of the path */
    char label[64]; /* which hierarchies see the job there, as on the tape */
    struct growth throttled, oom_kills, fork_refusals, limit_hits;
    struct growth_rise oom_rise[MACHINE_RISES]; /* growth of oom_kills; the last element stands for all that follow */
    size_t n_oom_rises;
    struct growth self_refusals; /* refusals that hit the recorder, by the same readings */
    bool counts_memory;
    bool outlived_limit;        /* an earlier limit held while the group existed: its peak may be from then, */
    bool reading_is_due;        /* and so may be the growth up to the next reading */
    struct extreme memory;      /* the most held under the present limit: a reading, or a peak that rose */
    struct extreme memory_mark; /* the kernel's own peak, which covers all of the group's life */
    struct extreme needed;      /* the most of anonymous and shared memory, and of what the kernel can't give back */
    bool needed_has_kernel;     /* the latter is known */
    uint64_t needed_shared, needed_cache; /* shared memory and page cache at that time */
};

struct machine {
    uint64_t readings, read_ns; /* how many, and when the last one was */
    struct growth counter[MACHINE_COUNTERS];
    struct extreme gauge[MACHINE_GAUGES];
    struct derive_peak cores;                   /* peak of MACHINE_BUSY */
    struct machine_group group[MACHINE_GROUPS]; /* in the order in which they were found */
    size_t n_groups;
    uint32_t chains;
};

struct baro_sample;

void machine_init(struct machine *m);
void machine_add(struct machine *m, const struct baro_sample *s);

/* Is called when the memory limit has changed: the peak of the groups so far, and how often they hit the limit,
 * belong to the old limit. */
void machine_limit_changed(struct machine *m);

/* All CPU time of the machine, busy or not. Returns 0 or enum baro_absent. */
int machine_all(const struct baro_sample *s, uint64_t *ret);
/* Growth per nanosecond of the time in which it was seen to grow. Returns 0 or enum baro_absent. */
int machine_share(const struct machine *m, enum machine_counter counter, double *ret);

#endif
