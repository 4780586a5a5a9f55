/* SPDX-License-Identifier: Apache-2.0 */
/* One moment of a recording: a sample, an earlier one for its rates, and which processes ended between them. */
#ifndef TOP_INSTANT_H
#define TOP_INSTANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/baro.h"

#define INSTANT_NAME 64

/* A process that ended. */
struct ended {
    uint32_t id;
    int32_t pid, ppid;
    uint64_t cpu_ns; /* that it had used in all; 0 if that is not known */
    bool is_least;   /* cpu_ns is a lower bound: it is of the last sample of the living process, or not known */
    char name[INSTANT_NAME];
};

struct instant {
    struct baro_sample *before, *now; /* copies; NULL: none */
    struct ended *ended;
    size_t n_ended, cap_ended;
};

void instant_done(struct instant *i);
/* Adds the process of an exit record, whose metric cpu has this id. Returns 0 or -ENOMEM. */
int instant_add_exit(struct instant *i, const struct baro_exit *e, int cpu_metric);

#endif
