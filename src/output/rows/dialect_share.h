/* SPDX-License-Identifier: Apache-2.0 */
/* The use of all GPUs together: each device's over the time between two readings of its own. */
#ifndef OUTPUT_ROWS_DIALECT_SHARE_H
#define OUTPUT_ROWS_DIALECT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/row.h"

/* A counter of time of one device, as read last; share holds until the next reading. */
struct share {
    uint32_t id;
    uint64_t read_ns, value;
    double share;
    int absent;
    bool is_there; /* in this sample */
};

struct shares {
    struct share *at;
    size_t n, cap;
    bool failed; /* there was no memory for a device: the sum is not known */
};

/* Takes a device of a sample. */
void shares_take(struct shares *s, const struct baro_row *device, int metric);
/* Sums what the devices of this sample have, and begins the next sample. whole_percent: each device's as whole
 * percents, as nvidia-smi has it. Returns enum baro_absent. */
int shares_sum(struct shares *s, bool whole_percent, double *ret);
void shares_done(struct shares *s);

#endif
