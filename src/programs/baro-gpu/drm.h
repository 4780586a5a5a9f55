/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of GPUs of DRM: drm.c looks through the descriptors of processes, drm_clients.c takes what they say. */
#ifndef PROGRAMS_BARO_GPU_DRM_H
#define PROGRAMS_BARO_GPU_DRM_H

#include "base/span.h"
#include "kernel/proc/fdinfo.h"
#include "programs/baro-gpu/gpu_helper.h"

#define CLIENTS_MOST 65536u

/* Engines by what they are for. A client's use of a class is that of its busiest engine there: what it submits to
 * several at once is one piece of work. */
enum { RENDER, COPY, DECODE, ENCODE, CLASSES };

struct drm_use {
    char name[20];
    uint64_t used, total; /* the largest so far: the kernel lets them go back */
    uint64_t waits_ns;    /* cycles of so long before count as soon as it is known how many there are in a second */
};

struct drm_client {
    uint32_t device; /* index of its unit */
    uint64_t id;
    bool by_pid; /* the driver has no numbers of clients: id is the process's pid */
    uint32_t round;
    int32_t pid; /* who has it: the first process that was found with it */
    uint64_t start, read_ns;
    unsigned n;
    struct drm_use use[FDINFO_ENGINES_MOST];
    uint64_t growth[CLASSES], memory, system;
    bool has_memory, has_system, has_use;
};

struct drm {
    uint32_t round;
    uint64_t began_ticks; /* clients of processes that are older had used something before */
    uint64_t not_before_ns;
    struct drm_client *client;
    size_t n, cap;
    struct gpu_member member[GPU_MEMBERS_MOST], before[GPU_MEMBERS_MOST]; /* of this round, and of the one before */
    uint32_t n_members, n_before, seen_turn;
    uint64_t round_ns;                      /* when the one before was */
    double cycles_per_ns[GPU_DEVICES_MOST]; /* of total-cycles; 0: not known so far */
    uint64_t left_out; /* descriptors of clients that found no room, and clients whose engines did not */
};

/* Takes the fdinfo of one descriptor of a process. */
void drm_take_descriptor(struct gpu_helper *h, const struct gpu_member *m, struct span text);

#endif
