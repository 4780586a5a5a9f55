/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "gpu": GPUs, what processes use of them, and meters of energy, which the helper program baro-gpu reads.
 * If there is nothing to read, the helper is not started. */
#ifndef RECORDER_COLLECTORS_GPU_GPU_ROW_H
#define RECORDER_COLLECTORS_GPU_GPU_ROW_H

#include "recorder/sampling/sampling.h"

struct gpu_row {
    struct sampling *sampling;
    bool is_looked_for; /* it was checked whether there is something to read */
    struct gpus *gpus;  /* NULL: there is nothing to read */
};

extern const struct collector gpu_collector;
void gpu_row_init(struct gpu_row *r, struct sampling *sampling);

/* Checks the argument of --gpu without loading a library. Returns false, and the line to print, if it names GPUs where
 * there is no driver. That is no reason not to record. */
bool gpu_row_check(const char *select, struct baro_error *ret_line);

#endif
