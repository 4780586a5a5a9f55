/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the job used during a phase: the growth of counters between its edges, and the peaks of gauges. A phase is
 * reported at the next tick or later, so it often begins before samples that were read already: the last USAGE_ROWS
 * samples are kept for it.
 */
#ifndef LIBBARO_TIMELINE_PHASE_USAGE_H
#define LIBBARO_TIMELINE_PHASE_USAGE_H

#include "libbaro/interval/derive.h"
#include "libbaro/sample/sample.h"
#include "libbaro/summary/machine.h"

#define USAGE_ROWS 256u       /* a power of two */
#define USAGE_OPEN_MOST 1024u /* phases that are measured from one row to the next */
#define USAGE_OPEN UINT64_MAX /* end of a phase that is still open */

enum usage_counter {
    USAGE_CPU,
    USAGE_CPU_USER,
    USAGE_CPU_SYSTEM,
    USAGE_RUN_DELAY,
    USAGE_DELAY_CPU, /* the CPU time for which run delay was read */
    USAGE_SWITCHES_VOLUNTARY,
    USAGE_SWITCHES_INVOLUNTARY,
    USAGE_IO_READ,
    USAGE_IO_WRITE,
    USAGE_IO_RCHAR,
    USAGE_IO_WCHAR,
    USAGE_FAULTS_MINOR,
    USAGE_FAULTS_MAJOR,
    USAGE_STARTED,
    USAGE_ENDED,
    USAGE_OF_MACHINE, /* the counters from here on are read with the machine, at its own times */
    USAGE_THROTTLED = USAGE_OF_MACHINE,
    USAGE_HOST_BUSY,
    USAGE_HOST_CPU_SOME,
    USAGE_HOST_MEMORY_SOME,
    USAGE_HOST_IO_SOME,
    USAGE_HOST_SWAP_IN,
    USAGE_HOST_SWAP_OUT,
    USAGE_COUNTERS
};

enum usage_gauge {
    USAGE_RSS,
    USAGE_PSS,
    USAGE_USS,
    USAGE_SWAP,
    USAGE_THREADS,
    USAGE_FDS,
    USAGE_PROCESSES,
    USAGE_GAUGES
};

/* What is kept of a sample. */
struct usage_row {
    uint64_t t_ns, machine_ns; /* 0: the machine was not read yet */
    uint64_t counter[USAGE_COUNTERS];
    uint8_t counter_absent[USAGE_COUNTERS];
    struct usage_sum {
        uint64_t value;
        uint8_t absent;
        bool is_stale;
    } gauge[USAGE_GAUGES];
};

struct usage_history {
    struct usage_row *row; /* a ring; NULL: none yet */
    size_t n;              /* number of rows so far: row n - 1 is the newest */
    struct machine machine;
    uint64_t throttled_ns, throttled_before[MACHINE_GROUPS];
    struct phase_usage **active; /* open phases, which get the next rows, too */
    size_t n_active, cap_active;
};

struct usage_peak {
    uint64_t value;
    int absent;
    bool is_stale;
};

struct phase_usage {
    uint64_t begin_ns, end_ns; /* USAGE_OPEN */
    bool is_active;
    bool is_left; /* rows after the last one that it got are missing */
    uint64_t samples;
    uint64_t covered_ns[2]; /* intervals between samples: of the job, of the machine */
    double grown[USAGE_COUNTERS], error[USAGE_COUNTERS];
    uint8_t missing[USAGE_COUNTERS]; /* the reason why some growth is not known; 0: all growth is known */
    bool counted[USAGE_COUNTERS];
    struct usage_peak peak[USAGE_GAUGES]; /* from samples during the phase */
    struct usage_peak edge[USAGE_GAUGES]; /* interpolated at the phase's begin and end */
    uint64_t process_rss; /* the largest high-water mark of a process that was alive only within the phase */
    struct derive_peak cores;
};

/* Returns 0 or -ENOMEM. attached: what counters have at the beginning was used before the recording. */
int usage_history_init(struct usage_history *h, bool attached);
void usage_history_done(struct usage_history *h);
/* Adds a sample. The row is given to active phases only with the next one, because an end of a phase before it may
 * still be reported. */
bool usage_history_add(struct usage_history *h, const struct baro_sample *s);
void usage_history_exit(struct usage_history *h, const struct baro_exit *e);

void usage_init(struct phase_usage *u, uint64_t begin_ns, uint64_t end_ns);
/* Makes a phase active: it gets all rows from now on, and those kept from before. Returns false if out of memory. */
bool usage_activate(struct usage_history *h, struct phase_usage *u);
/* Returns u brought up to the newest row. */
void usage_read(const struct usage_history *h, const struct phase_usage *u, struct phase_usage *ret);

/* phase_facts.c */
struct baro_value;
int usage_value(const struct phase_usage *u, uint64_t wall_ns, int fact, struct baro_value *ret);

#endif
