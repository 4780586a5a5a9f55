/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from samples: sums over the tree, rates, closure. Pure functions; nothing else subtracts counters. */
#ifndef LIBBARO_INTERVAL_DERIVE_H
#define LIBBARO_INTERVAL_DERIVE_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "baro/metric.h"
#include "libbaro/metric/ids.h"

struct baro_entity;
struct baro_header;
struct baro_process;
struct baro_row;
struct baro_sample;

/* A sum over the living processes of one sample. Where not all of them had the value it is a lower bound. */
struct derive_sum {
    uint64_t value;
    size_t members;   /* that could have had the value */
    size_t covered;   /* that had it */
    uint64_t lacking; /* rss of those that did not: of pss and uss they have no more than that */
    int absent;       /* enum baro_absent: none had it, for this reason (that of the last one); 0: value counts */
};

/* Does it lack the value, and add nothing to a sum all the same? It is what is left of a process, which holds nothing,
 * or its memory counts with another process. */
bool derive_adds_nothing(const struct baro_process *p, int metric);

struct derive_sum derive_sum(const struct baro_sample *s, enum process_metric metric);
/* Adds one process to a sum; a sum begins as all zero and is closed by derive_sum_close(). */
void derive_sum_add(struct derive_sum *sum, const struct baro_process *p, enum process_metric metric);
void derive_sum_close(struct derive_sum *sum, const struct baro_sample *s);

/* Is there a job on the tape? Without one the machine alone is recorded: of processes nothing is known. */
bool derive_has_job(const struct baro_sample *s);

/* Was the pss of some read before others that share memory with them came or went? Then its sum may be too high or too
 * low. */
bool derive_is_stale(const struct baro_sample *s);

/* What the job had of pss or uss at most: of those that have none so far their rss counts, and where it is old the rss
 * of all. Example: 41 MB of `cargo`, and two compilers that have just begun, of 113 MB of rss each: 267 MB. */
uint64_t derive_sum_at_most(const struct derive_sum *sum, const struct derive_sum *rss, const struct baro_sample *s);

/* Does the sum over processes mean anything? It does for what a process has for itself. */
int derive_adds_up(enum process_metric metric);

/* Growth of a counter a second, in its unit a second. Returns 0, or BARO_ABSENT_UNKNOWN where it fell (another counter
 * than before) or no time passed. */
int derive_rate(uint64_t t0_ns, uint64_t v0, uint64_t t1_ns, uint64_t v1, double *ret);

/* The times that a rate from one row to the other lies between; or why it has none. */
enum baro_absent derive_between(const struct baro_row *before, const struct baro_row *now, uint64_t *ret_t0_ns,
                                uint64_t *ret_t1_ns);

/* baro_derived_find(), of a name that need not end with NUL. */
int derive_find(int kind, const char *name, size_t len);

/* Start times of processes are counted in ticks since the machine was booted, of 10 ms mostly. */
struct derive_ticks {
    uint64_t boottime_ns; /* when the tape began */
    uint32_t per_second;  /* 0: not known */
};
struct derive_ticks derive_ticks_of(const struct baro_header *h);
/* A start time in the tape's time, `later` ticks later; UINT64_MAX: not known. */
uint64_t derive_tick_ns(const struct derive_ticks *t, uint64_t start_ticks, uint64_t later);
/* baro_row_begin_ns() */
uint64_t derive_begin_ns(const struct derive_ticks *t, uint64_t start_ticks, uint64_t known_ns);

/* The metrics that busy time is the sum of. The first is there on each kernel; another one may be absent. */
#define DERIVE_HOST_BUSY                                                                                               \
    HOST_cpu_user, HOST_cpu_nice, HOST_cpu_system, HOST_cpu_irq, HOST_cpu_softirq, HOST_cpu_guest, HOST_cpu_guest_nice
#define DERIVE_CPU_BUSY CPU_user, CPU_nice, CPU_system, CPU_irq, CPU_softirq, CPU_guest, CPU_guest_nice

/* CPU time in which something ran on the machine, or on one CPU: all but idle, waiting for I/O and what the hypervisor
 * gave to others. Returns why it is absent, or 0. */
int derive_host_busy(const struct baro_sample *s, uint64_t *ret);
int derive_cpu_busy(const struct baro_entity *cpu, uint64_t *ret);

/* The share of total that is not in counted; negative where more was counted than there is. 0 of nothing is 0. */
double derive_remainder(uint64_t counted, uint64_t total);

/* The largest rate over intervals of at least DERIVE_PEAK_NS: each moment is compared with the latest one that lies
 * that far back, so that a dense start (a sample each 10 ms, counters in 10 ms steps) makes no peaks out of steps. */
#define DERIVE_PEAK_NS 100000000ull
#define DERIVE_PEAK_SLOTS 32u
struct derive_peak {
    struct {
        uint64_t t_ns, value;
    } at[DERIVE_PEAK_SLOTS]; /* a ring: the moments that are not too old to compare with */
    unsigned first, n;
    double rate;
    uint64_t t_ns; /* when the interval of the peak ended */
    int found;
};
void derive_peak_add(struct derive_peak *p, uint64_t t_ns, uint64_t value);

#endif
