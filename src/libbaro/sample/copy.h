/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBBARO_SAMPLE_COPY_H
#define LIBBARO_SAMPLE_COPY_H

#include "libbaro/sample/sample.h"

/* A copy of the earlier sample with the values that lie at t_ns on the line to the later one: earlier->t_ns < t_ns <
 * later->t_ns. Frees like any copy. */
int sample_interpolate(const struct baro_sample *earlier, const struct baro_sample *later, uint64_t t_ns,
                       struct baro_sample **ret, struct baro_error *err);

#endif
