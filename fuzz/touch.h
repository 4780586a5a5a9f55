/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every getter of what a cursor delivers, so that a sanitizer sees each read. The sum is of no use but that. */
#ifndef FUZZ_TOUCH_H
#define FUZZ_TOUCH_H

#include "baro/baro.h"

uint64_t touch_front(struct baro_tape *t); /* header, kinds and metrics */
uint64_t touch_attribute(const struct baro_attribute *a);
uint64_t touch_sample(const struct baro_tape *t, const struct baro_sample *s);
/* Reads all rows of the tape as Arrow arrays. */
uint64_t touch_arrow(const struct baro_tape *t);
uint64_t touch_record(const struct baro_tape *t, const struct baro_record *r);

#endif
