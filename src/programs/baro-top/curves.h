/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of the job's figures in bounded memory: the whole recording in bins, which become longer as it does, and
 * the last samples one by one. A bin has the largest value of its time, so no peak is lost.
 *
 * Example: 1024 bins of 10 ms hold 10.24 s. At 10.25 s two neighbours become one each: 512 bins of 20 ms are used, and
 * there is room up to 20.48 s.
 */
#ifndef PROGRAMS_BARO_TOP_CURVES_H
#define PROGRAMS_BARO_TOP_CURVES_H

#include <stdbool.h>
#include <stdint.h>

enum curve {
    CURVE_CORES,
    CURVE_RSS, /* the sum over the processes */
    CURVE_READ,
    CURVE_WRITE,
    CURVE_PROCESSES,
    CURVE_PRESSURE_CPU,
    CURVE_PRESSURE_MEMORY,
    CURVE_PRESSURE_IO,
    CURVES
};

#define CURVES_BINS 1024
#define CURVES_POINTS 1024

struct curves {
    uint64_t bin_ns, last_ns;
    int n_bins;
    float bin[CURVES][CURVES_BINS];   /* NaN: not known */
    uint64_t point_ns[CURVES_POINTS]; /* a ring of the last samples */
    float point[CURVES][CURVES_POINTS];
    unsigned n_points; /* how many points were added in all */
};

void curves_init(struct curves *h);
/* Adds the value that held since the last one, up to t_ns; NaN: not known. Times never fall. */
void curves_add(struct curves *h, uint64_t t_ns, const float value[CURVES]);
/* Fills ret with n values for n equal parts of the time between two instants: the largest value in each part; NaN:
 * not known. */
void curves_read(const struct curves *h, enum curve curve, uint64_t from_ns, uint64_t to_ns, float *ret, int n);

#endif
