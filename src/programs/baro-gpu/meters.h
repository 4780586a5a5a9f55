/* SPDX-License-Identifier: Apache-2.0 */
/* Meters of energy and power, as they are found and as they are read. */
#ifndef PROGRAMS_BARO_GPU_METERS_H
#define PROGRAMS_BARO_GPU_METERS_H

#include "programs/baro-gpu/gpu_helper.h"

struct meter {
    char file[GPU_PATH + 128];
    uint64_t range_uj, before_uj, read_ns, first_uj;
    bool is_known, is_bad;
    struct grown counter;
    enum { OF_POWERCAP, OF_PMU, OF_ENERGY, OF_POWER, OF_BATTERY } of;
    int fd; /* descriptor of the PMU */
    double joules;
    struct gpu_meter out;
};

struct meters {
    struct meter at[GPU_METERS_MOST];
    uint32_t n, left_out; /* left_out: that found no room */
};

#endif
