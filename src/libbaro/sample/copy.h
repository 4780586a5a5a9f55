/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBBARO_SAMPLE_COPY_H
#define LIBBARO_SAMPLE_COPY_H

#include "libbaro/sample/sample.h"

/* Makes a copy of the earlier sample whose values are interpolated linearly at t_ns. Returns 1; 0 if t_ns is not
 * between the two samples (on a damaged tape time may run back); or a negative code. Free the copy with
 * baro_sample_free(). */
int sample_interpolate(const struct baro_sample *earlier, const struct baro_sample *later, uint64_t t_ns,
                       struct baro_sample **ret, struct baro_error *err);

#endif
