/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs and meters of energy over a recording: what their counters grew by, and peaks of gauges. */
#ifndef LIBBARO_SUMMARY_GPUS_H
#define LIBBARO_SUMMARY_GPUS_H

#include <stdbool.h>

#include "libbaro/sample/sample.h"

struct gpu_total {
    uint32_t id, owner;
    char *name, *model;
    bool is_instance, lacks_memory; /* lacks_memory: the memory of the job was absent while it had processes there */
    uint64_t first_ns, last_ns;     /* in the first and in the last reading */
    uint64_t first[GPU_MAX], last[GPU_MAX], most[GPU_MAX];
    uint8_t absent[GPU_MAX];     /* present if at least one reading had it */
    uint8_t absent_now[GPU_MAX]; /* reasons in the last sample */
    bool is_estimated;           /* its energy is an estimate */
};

struct meter_total {
    uint32_t id;
    uint64_t first_ns, last_ns, energy_uj, first_uj;
    bool is_counted, has_gap; /* has_gap: the value was absent after it had been present */
};

struct gpus_total {
    struct gpu_total *at;
    size_t n;
    struct meter_total *meter;
    size_t n_meters;
    uint64_t memory_job_most; /* the most that the job held on all devices together in one sample */
    uint64_t allocator_most;  /* the most on one device that marks of PyTorch or JAX report */
    bool has_allocator;
    double grams_per_kwh; /* emissions of the grid, as the user gave them; 0: not given */
};

/* Adds a sample. Returns false if out of memory. */
bool gpus_total_add(struct gpus_total *g, const struct baro_sample *s);
/* Takes the memory that a framework's allocator reported, from a mark of the Python package. */
void gpus_total_add_mark(struct gpus_total *g, const struct baro_event *e);
void gpus_total_done(struct gpus_total *g);

#endif
