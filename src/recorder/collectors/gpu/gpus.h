/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of GPUs, as entities: counters go on from one helper process to the next, and what processes use is the
 * job's, others', or not attributed. Makes no system call. */
#ifndef RECORDER_COLLECTORS_GPU_GPUS_H
#define RECORDER_COLLECTORS_GPU_GPUS_H

#include "recorder/collectors/gpu/gpu_shared.h"
#include "recorder/sampling/entity.h"

struct gpu_tables {
    struct entity_table devices, processes, meters;
    struct gpu_known *device; /* GPU_DEVICES_MOST */
    struct gpu_owner *owner;  /* in the order of the reading before */
    size_t n_owners, owners_cap;
    struct gpu_known_meter *meter;
    bool is_late;  /* what was read before the first reading that is taken does not count: it is of before */
    bool is_alone; /* there is no job that could use a device */
    uint64_t epoch;
    uint64_t read_ns; /* of the last reading, since the recording began */
};

/* Whose is this process? Returns its name and sets *ret to its identity if it is a member of the job; else NULL. */
typedef const char *gpu_is_member(void *context, int32_t pid, uint64_t start, struct baro_key *ret);
/* Changes that are reported as events. */
typedef void gpu_say(void *context, const char *line, uint64_t number);

int gpu_tables_init(struct gpu_tables *t); /* 0 or -ENOMEM */
void gpu_tables_done(struct gpu_tables *t);
/* Takes a reading, which another process wrote: what is not valid is left out. Times become those since start_ns. */
void gpu_tables_take(struct gpu_tables *t, struct gpu_reading *r, uint64_t start_ns, uint32_t *entity_ids,
                     gpu_is_member *is_member, gpu_say *say, void *context);
/* A reading that is not taken, as a newer one came: its peaks and gaps are of the next one that is. */
void gpu_tables_pass(struct gpu_tables *t, const struct gpu_reading *r);
/* The driver hangs: no value is known from now on. slot: of the device; UINT32_MAX: all. */
void gpu_tables_lack(struct gpu_tables *t, uint32_t slot, enum baro_absent why);
const char *gpu_tables_name(const struct gpu_tables *t, uint32_t slot); /* "gpu0"; NULL: not known */

#endif
