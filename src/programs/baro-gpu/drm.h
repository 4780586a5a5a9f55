/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of GPUs in DRM: drm.c reads the descriptors of processes, drm_clients.c takes the values of their fdinfo. */
#ifndef PROGRAMS_BARO_GPU_DRM_H
#define PROGRAMS_BARO_GPU_DRM_H

#include "base/span.h"
#include "kernel/proc/fdinfo.h"
#include "programs/baro-gpu/gpu_helper.h"

#define CLIENTS_MOST 65536u

/* Classes of engines. A client's use of a class is that of its busiest engine in the class: work that it submits to
 * several engines at once is one piece of work. */
enum { RENDER, COPY, DECODE, ENCODE, CLASSES };

struct drm_use {
    char name[20];
    uint64_t used, total; /* the largest values so far: the kernel lets them decrease */
    uint64_t waits_ns;    /* the time whose cycles count as soon as the rate of the clock is known */
};

struct drm_client {
    uint32_t device; /* index of its unit */
    uint64_t id;
    bool by_pid; /* the driver has no numbers of clients: id is the process's pid */
    uint32_t round;
    int32_t pid; /* the process that has it: the first one in which it was found */
    uint64_t start, read_ns;
    unsigned n;
    struct drm_use use[FDINFO_ENGINES_MOST];
    uint64_t growth[CLASSES], memory, system;
    bool has_memory, has_system, has_use;
};

struct drm {
    uint32_t round;
    uint64_t began_ticks; /* clients of processes that are older than this had used something before */
    uint64_t not_before_ns;
    struct drm_client *client;
    size_t n, cap;
    struct gpu_member member[GPU_MEMBERS_MOST], before[GPU_MEMBERS_MOST]; /* in this round, and in the one before */
    uint32_t n_members, n_before, seen_turn;
    uint64_t round_ns;                      /* when the round before was */
    double cycles_per_ns[GPU_DEVICES_MOST]; /* rate of the clock total-cycles; 0: not known yet */
    uint64_t left_out;                      /* descriptors and clients for which there was no room */
};

/* Takes the fdinfo of one descriptor of a process. */
void drm_take_descriptor(struct gpu_helper *h, const struct gpu_member *m, struct span text);

#endif
