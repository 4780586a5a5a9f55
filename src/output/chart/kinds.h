/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of directories (--du) and of kinds that only the tape has: one for each metric, with a curve for
 * each entity. */
#ifndef OUTPUT_CHART_KINDS_H
#define OUTPUT_CHART_KINDS_H

#include "baro/baro.h"
#include "output/chart/figure.h"

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
    bool failed;
};

/* Notes the entities of a sample. */
void kinds_add(struct kinds *k, const struct baro_tape *tape, const struct baro_record *record);
/* Makes the figures: another walk over the tape. *ret is left alone if there are no such kinds. Returns 0 or a negative
 * code. */
int figures_of_kinds(struct baro_tape *tape, struct kinds *k, const struct figure_options *options,
                     struct chart_set **ret, struct baro_error *err);
void kinds_done(struct kinds *k);

#endif
