/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from samples: sums over the processes of a job, rates, remainders. Pure functions; nothing else
 * subtracts counters. */
#ifndef LIBBARO_INTERVAL_DERIVE_H
#define LIBBARO_INTERVAL_DERIVE_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "baro/metric.h"
#include "base/growth.h"
#include "libbaro/metric/ids.h"

struct baro_entity;
struct baro_header;
struct baro_process;
struct baro_row;
struct baro_sample;

/* A sum over the living processes of one sample. Where not all of them had the value it is a lower bound. */
struct derive_sum {
    uint64_t value;
    size_t members;   /* processes that could have the value */
    size_t covered;   /* processes that had the value */
    uint64_t anon;    /* pss and uss that were read before its rss: the anonymous memory of the last process. That of an
                         only process is its own */
    uint64_t lacking; /* rss of the processes without a value: an upper bound of their pss or uss */
    int absent;       /* enum baro_absent: no process had the value (reason of the last one); 0: value is valid */
};

/* May the process be left out of the sum although it has no value? True if it has ended and holds no memory, or if
 * its memory is counted with another process. */
bool derive_adds_nothing(const struct baro_process *p, int metric);

struct derive_sum derive_sum(const struct baro_sample *s, enum process_metric metric);
/* Adds one process to a sum; a sum begins as all zero and is closed by derive_sum_close(). */
void derive_sum_add(struct derive_sum *sum, const struct baro_process *p, enum process_metric metric);
void derive_sum_close(struct derive_sum *sum, const struct baro_sample *s);

/* Does the tape have a job? If not, only the machine was recorded, and no processes are known. */
bool derive_has_job(const struct baro_sample *s);

/* Was some process's pss read before a process that shares memory with it began or ended? Then the sum may be too high
 * or too low. */
bool derive_is_stale(const struct baro_sample *s);

/* Returns an upper bound of the pss or uss of the job. A value that was not read counts as the process's rss; if the
 * sum is stale, all processes count with their rss. Example: 41 MB of `cargo`, and two compilers that have just
 * begun with 113 MB of rss each: 267 MB. */
uint64_t derive_sum_at_most(const struct derive_sum *sum, const struct derive_sum *rss, const struct baro_sample *s);

/* Can the metric be summed over processes? Only if each process has the value for itself. */
int derive_adds_up(enum process_metric metric);

/* Computes the growth of a counter per second. Returns 0; BARO_ABSENT_UNKNOWN if the counter fell (base/growth.h) or if
 * no time passed. */
int derive_rate(uint64_t t0_ns, uint64_t v0, uint64_t t1_ns, uint64_t v1, double *ret);

/* Finds the times between which a rate of two rows holds. Returns 0, or the reason why there is none. */
enum baro_absent derive_between(const struct baro_row *before, const struct baro_row *now, uint64_t *ret_t0_ns,
                                uint64_t *ret_t1_ns);

/* baro_derived_find() for a name that need not end with NUL. */
int derive_find(int kind, const char *name, size_t len);

/* Converts start times of processes, which are clock ticks (mostly of 10 ms) since the machine was booted. */
struct derive_ticks {
    uint64_t boottime_ns; /* when the tape began */
    uint32_t per_second;  /* 0: not known */
};
struct derive_ticks derive_ticks_of(const struct baro_header *h);
/* Returns the instant `later` ticks after a start time, in nanoseconds since the tape began; UINT64_MAX if it is not
 * known. */
uint64_t derive_tick_ns(const struct derive_ticks *t, uint64_t start_ticks, uint64_t later);
/* baro_row_begin_ns() */
uint64_t derive_begin_ns(const struct derive_ticks *t, uint64_t start_ticks, uint64_t known_ns);

/* The metrics that add up to busy time. Every kernel has the first; others may be absent. */
#define DERIVE_HOST_BUSY                                                                                               \
    HOST_cpu_user, HOST_cpu_nice, HOST_cpu_system, HOST_cpu_irq, HOST_cpu_softirq, HOST_cpu_guest, HOST_cpu_guest_nice
#define DERIVE_CPU_BUSY CPU_user, CPU_nice, CPU_system, CPU_irq, CPU_softirq, CPU_guest, CPU_guest_nice

/* Reads the CPU time in which the machine, or one CPU, ran something: it was not idle, did not wait for I/O, and was
 * not stolen by the hypervisor. Returns 0, or the reason why it is absent. */
int derive_host_busy(const struct baro_sample *s, uint64_t *ret);
int derive_cpu_busy(const struct baro_entity *cpu, uint64_t *ret);

/* Returns the share of `total` that `counted` does not include; negative if counted is larger; 0 if total is 0. */
double derive_remainder(uint64_t counted, uint64_t total);

/* How much CPU time a job can have used in an interval. */
struct derive_able {
    uint64_t threads; /* the most that any sample so far has; 0: not known */
    uint64_t started; /* processes so far, with those that may have come and gone unseen */
    uint64_t late_ns; /* CPU time that became known only when its process had ended, an interval or more too late; so
                         far */
};

/* The largest rate over intervals of at least GROWTH_SHORT_NS: each moment is compared with the latest one that lies
 * that far back, so that a dense start (a sample each 10 ms, counters in 10 ms steps) makes no peaks out of steps. CPU
 * time may become known late. So growth is at most what threads can have used, those of processes that began meanwhile
 * included; and what became known late at an end does not count. Example: one thread, and in 100 ms the total grows by
 * 190 ms: 1.0 cores. */
#define DERIVE_PEAK_SLOTS 16u
struct derive_peak {
    struct {
        uint64_t t_ns, value;
        struct derive_able able;
    } at[DERIVE_PEAK_SLOTS]; /* a ring of recent moments to compare with */
    unsigned first, n;
    double rate;
    uint64_t t_ns; /* when the interval of the peak ended */
    int found;
};
/* able: NULL where the value is not CPU time of a job. */
void derive_peak_add(struct derive_peak *p, uint64_t t_ns, uint64_t value, const struct derive_able *able);

#endif
