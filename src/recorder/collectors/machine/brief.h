/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brief lives: processes of a machine that lived for less than a tenth of a second and used less than a hundredth are
 * no records of their own, but sums by name, parent's name, control group and user. Example: a loop that runs `true` a
 * hundred times a second is 9 kB a minute instead of 600.
 */
#ifndef RECORDER_COLLECTORS_MACHINE_BRIEF_H
#define RECORDER_COLLECTORS_MACHINE_BRIEF_H

#include "base/map.h"
#include "recorder/sampling/entity.h"
#include "recorder/sampling/sampling.h"

struct brief {
    struct sampling *sampling;
    struct entity_table table;
    struct brief_of {
        uint64_t key;      /* hash of what its processes have in common */
        uint64_t ended_ns; /* the last one */
        bool is_new;       /* one ended since the last sample */
    } * at;                /* one for each entity */
    size_t n, cap;
    struct map by_key; /* indexes into at[] */
    uint64_t swept_ns;
};

void brief_init(struct brief *b, struct sampling *sampling);
/* Is the process one of these? Then it is counted, and needs no record. */
bool brief_takes(struct brief *b, const struct baro_exit *e);
void brief_fill(struct brief *b, struct baro_sample *ret);
void brief_done(struct brief *b);

#endif
