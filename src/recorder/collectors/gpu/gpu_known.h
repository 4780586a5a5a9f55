/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of devices and of processes that use them, from one reading to the next. */
#ifndef RECORDER_COLLECTORS_GPU_GPU_KNOWN_H
#define RECORDER_COLLECTORS_GPU_GPU_KNOWN_H

#include "recorder/collectors/gpu/gpus.h"

#define ATTRIBUTES 5

struct gpu_known {
    struct baro_entity *e; /* NULL: not found so far */
    uint32_t slot, state;
    uint64_t base[GPU_MAX], last[GPU_MAX];
    uint64_t busy_peak, power_peak, memory_peak; /* of readings that were not taken; 0: none */
    uint64_t busy[3], xids;                      /* of the job, of others, unattributed */
    uint64_t grown[3];                           /* what is to be added to busy by this reading */
    uint64_t busy_ns;                            /* until when busy is counted, since the recording began */
    bool has_energy_gap; /* a helper process ended: what was used until the next one is in no reading */
    /* why the memory of one of their processes is not known; 0: all is known */
    enum baro_absent unknown[3];
    char model[GPU_TEXT], uuid[GPU_TEXT], bus[32], driver[32], source[16];
    struct baro_attribute attribute[ATTRIBUTES];
};

struct gpu_owner {
    uint32_t device;
    int32_t host_pid;
    uint64_t start;
    unsigned whose; /* as in busy */
    uint64_t busy;  /* as read last */
    uint64_t base[GPU_PROCESS_MAX], last[GPU_PROCESS_MAX];
    struct baro_entity *e; /* NULL: it is not the job's */
    bool is_there;
};

enum { JOB, OTHERS, UNATTRIBUTED };

/* How a reading is taken. */
struct gpu_take {
    uint64_t start_ns;
    bool restarts, late; /* of another helper process; the first one of a recording that began later than it */
    uint32_t *entity_ids;
    gpu_is_member *is_member;
    void *context;
};

static inline uint64_t since(uint64_t start_ns, uint64_t ns)
{
    return ns > start_ns ? ns - start_ns : 1; /* 0 would be: never */
}

/* Counters begin at 0 with the first reading that is taken: what they had is of before. */
static inline void begin_at(uint64_t *base, uint64_t now)
{
    *base = 0 - now; /* modulo 2^64, as what is added to it */
}

/* Counters of a new helper process begin at 0. */
static inline uint64_t counted(uint64_t *base, uint64_t *last, uint64_t now, bool restarts)
{
    if (restarts)
        *base += *last;
    *last = now;
    return *base + now;
}

#endif
