/* SPDX-License-Identifier: Apache-2.0 */
/* One moment of a recording: a sample, an earlier sample for its rates, and which processes ended between them. */
#ifndef PROGRAMS_BARO_TOP_INSTANT_H
#define PROGRAMS_BARO_TOP_INSTANT_H

#include <stddef.h>

#include "baro/baro.h"

struct instant {
    struct baro_sample *before, *now; /* copies; NULL: none */
    struct baro_sample *earlier;      /* a copy in which GPUs, which are read seldom, had other values; NULL: none */
    struct baro_row **ended;          /* copies */
    size_t n_ended, cap_ended;
};

void instant_done(struct instant *i);
void instant_forget_exits(struct instant *i);
/* Adds an exit record. Returns 0 or -ENOMEM. */
int instant_add_exit(struct instant *i, const struct baro_row *e);

#endif
