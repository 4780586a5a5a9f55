/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBBARO_SAMPLE_COPY_H
#define LIBBARO_SAMPLE_COPY_H

#include "libbaro/sample/sample.h"

/* A copy of the earlier sample with the values that lie at t_ns on the line to the later one. Returns 1, 0 if t_ns is
 * not between them (on a damaged tape time may run back), or a negative code. Frees like any copy. */
int sample_interpolate(const struct baro_sample *earlier, const struct baro_sample *later, uint64_t t_ns,
                       struct baro_sample **ret, struct baro_error *err);

#endif
