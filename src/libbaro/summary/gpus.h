/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs and meters of energy over a recording: what their counters grew by, and peaks of gauges. */
#ifndef LIBBARO_SUMMARY_GPUS_H
#define LIBBARO_SUMMARY_GPUS_H

#include <stdbool.h>

#include "libbaro/sample/sample.h"

struct gpu_total {
    uint32_t id, owner;
    char *name, *model;
    bool is_instance, lacks_memory; /* what the job holds was absent while processes of it were there */
    uint64_t first_ns, last_ns;     /* in the first and in the last reading */
    uint64_t first[GPU_MAX], last[GPU_MAX], most[GPU_MAX];
    uint8_t absent[GPU_MAX];     /* present if at least one reading had it */
    uint8_t absent_now[GPU_MAX]; /* of the last sample */
    bool is_estimated;           /* its energy */
};

struct meter_total {
    uint32_t id;
    uint64_t first_ns, last_ns, energy_uj, first_uj;
    bool is_counted, has_gap; /* has_gap: it was absent for a time after it was there */
};

struct gpus_total {
    struct gpu_total *at;
    size_t n;
    struct meter_total *meter;
    size_t n_meters;
    uint64_t memory_job_most; /* of all devices together at one sample */
    uint64_t allocator_most;  /* by marks of PyTorch and JAX, of one device */
    bool has_allocator;
    double grams_per_kwh; /* what the user says that the grid emits; 0: nothing was said */
};

/* Returns false without memory. */
bool gpus_total_add(struct gpus_total *g, const struct baro_sample *s);
/* Takes what the allocator of a framework had: a mark of the Python package. */
void gpus_total_add_mark(struct gpus_total *g, const struct baro_event *e);
void gpus_total_done(struct gpus_total *g);

#endif
