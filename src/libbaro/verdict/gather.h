/* SPDX-License-Identifier: Apache-2.0 */
/* Takes from the records of a tape, one by one and in bounded memory, the evidence that no summary has. */
#ifndef LIBBARO_VERDICT_GATHER_H
#define LIBBARO_VERDICT_GATHER_H

#include "baro/tape.h"
#include "libbaro/verdict/evidence.h"

/* Metrics that are looked up one by one: gather.c has their names. */
enum want {
    WANT_JOB_DELAY_LAG,
    WANT_JOB_IO_RCHAR,
    WANT_JOB_IO_WCHAR,
    WANT_PROCESS_THREADS,
    WANT_PROCESS_SWITCHES_VOLUNTARY,
    WANT_PROCESS_CPU,
    WANT_PROCESS_IO_RCHAR,
    WANT_PROCESS_IO_WCHAR,
    WANT_GROUP_CPU_PERIODS,
    WANT_GROUP_CPU_THROTTLED_PERIODS,
    WANT_GROUP_CPU_THROTTLED,
    WANT_GROUP_MEMORY_LIMIT_HITS,
    WANT_GROUP_MEMORY_HIGH_HITS,
    WANT_GROUP_MEMORY_LIMIT,
    WANT_GROUP_MEMORY_HIGH,
    WANT_GROUP_MEMORY_ANON,
    WANT_GROUP_MEMORY_FILE,
    WANT_GROUP_MEMORY_SHMEM,
    WANT_GROUP_MEMORY_KERNEL,
    WANT_GROUP_MEMORY_SLAB,
    WANT_GROUP_MEMORY,
    WANT_GROUP_OOMS,
    WANT_GROUP_CPU_LIMIT,
    WANT_GROUP_PRESSURE_IO_SOME,
    WANT_GROUP_PRESSURE_MEMORY_SOME,
    WANT_PROCESS_RSS,
    WANT_PROCESS_STATE,
    WANT_NET_PACKETS,
    WANT_COUNT
};

#define SWITCHING_MOST 32u

struct gather {
    struct history history;
    bool has_start;                     /* baro_header_has_start() */
    uint64_t start_ns, end_ns, last_ns; /* the command's start and end; the last record */
    bool started, ended;
    double blocked_ns;                       /* curves that are added up here */
    double pressure_ns[2], pressure_last[2]; /* I/O and memory of the innermost group that has them */
    uint32_t pressure_group;
    struct group group[GROUPS_MOST], group_first[GROUPS_MOST]; /* counters as they were read: last, and first */
    size_t n_groups;
    char name[HISTORY_NAMES][HISTORY_NAME_ROOM]; /* names of processes that ran when a sample was taken */
    unsigned n_names;
    char contender_name[HISTORY_NAME_ROOM];
    struct contender contender;
    uint32_t contender_id;
    struct switching {
        double threads, switches;
    } switching[SWITCHING_MOST]; /* context switches of the contender, by its number of threads then */
    size_t n_switching;
    double delay_cpu[2]; /* at the last new value of run delay: CPU time, and the part of it for which run delay was
                            read */
    char victims[256];
    uint32_t clients, servers; /* client.h */
    struct failures failures;
    int id[WANT_COUNT];      /* ids of the metrics of enum want */
    int metric[CURVE_COUNT]; /* ids in the registry; -1: the curve is not one metric */
};

int gather_init(struct gather *g, const struct baro_header *header); /* 0 or -ENOMEM */
void gather_done(struct gather *g);
void gather_add(struct gather *g, const struct baro_record *record);
/* Fills all evidence except the facts of the summary. Its pointers point into the gather. */
void gather_finish(const struct gather *g, struct evidence *ret);

#endif
