/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of directories (--du) and of kinds that only the tape has: one for each metric, with a curve for
 * each entity. */
#ifndef OUTPUT_PAGE_KINDS_H
#define OUTPUT_PAGE_KINDS_H

#include "baro/baro.h"
#include "output/chart/chart.h"

#define KINDS_ENTITIES 8u /* entities of one kind */
#define KINDS_CHARTS 16u

struct kinds_entity {
    int kind;
    uint32_t id;
    char *name; /* raw bytes, with its label */
};

/* All-zero is empty. */
struct kinds {
    struct kinds_entity entity[64];
    size_t n;
    struct chart chart[KINDS_CHARTS];
    size_t charts;
    uint64_t read_ns; /* when entities were last noted */
    bool failed;
};

/* Notes the entities of a sample. */
void kinds_add(struct kinds *k, const struct baro_tape *tape, const struct baro_record *record);
/* Makes the charts: another walk over the tape, if there are such kinds. Returns 0 or a negative code. */
int kinds_make(struct kinds *k, struct baro_tape *tape, const struct chart *like, struct baro_error *err);
void kinds_done(struct kinds *k);

#endif
