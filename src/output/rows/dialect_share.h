/* SPDX-License-Identifier: Apache-2.0 */
/* The use of all GPUs together: for each device, the share of the time between two readings of its own. */
#ifndef OUTPUT_ROWS_DIALECT_SHARE_H
#define OUTPUT_ROWS_DIALECT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/row.h"

/* A counter of time of one device, as it was read last. Its share holds until the next reading. */
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
    bool failed; /* out of memory for a device: the sum is not known */
};

/* Takes the counter of a device from a sample. */
void shares_take(struct shares *s, const struct baro_row *device, int metric);
/* Adds up the shares of the devices of this sample, counts those above 0, and begins the next sample. whole_percent:
 * rounds each share to whole percents, as nvidia-smi does. Returns enum baro_absent. */
int shares_sum(struct shares *s, bool whole_percent, double *ret, uint64_t *ret_used);
void shares_done(struct shares *s);

#endif
