/* SPDX-License-Identifier: Apache-2.0 */
/* Takes from the records of a tape, one by one and in bounded memory, the evidence that no summary has. */
#ifndef LIBBARO_VERDICT_GATHER_H
#define LIBBARO_VERDICT_GATHER_H

#include "baro/tape.h"
#include "libbaro/verdict/evidence.h"

#define SWITCHING_MOST 32u

struct gather {
    uint64_t start_ns, end_ns, last_ns; /* the command's start and end; the last sample */
    bool started, ended;
    char contender_name[FOLD_NAME_ROOM];
    struct contender contender;
    uint32_t contender_id;
    struct switching {
        double threads, switches;
    } switching[SWITCHING_MOST]; /* context switches of the contender, by its number of threads then */
    size_t n_switching;
    char victims[256], kills[512];
    bool knows_group;
    uint32_t clients, servers; /* client.h */
    struct failures failures;
    struct limit_told limit; /* most is 0: none was reached */
};

void gather_init(struct gather *g);
void gather_add(struct gather *g, const struct baro_record *record);
/* Fills all evidence that is not of the summary. Its pointers point into the gather. */
void gather_finish(const struct gather *g, struct evidence *ret);

#endif
