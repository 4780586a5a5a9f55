/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families of one kind, side by side: one for each metric. Each job's entities are gone through once, and each
 * value is written to its metric's family, so the cost grows with the number of values, and all values of an entity are
 * of one sample. Example: 500 tasks and 30 metrics are 15,000 values, for which 500 names are looked at, not 30 x 500.
 */
#ifndef PROGRAMS_BARO_SERVE_KIND_FAMILIES_H
#define PROGRAMS_BARO_SERVE_KIND_FAMILIES_H

#include "programs/baro-serve/families.h"

struct kind_families {
    const char *name;
    int kind, n;
    struct families *to;
    struct one_family {
        struct family family;
        struct buf values;
    } * at;
    struct buf labels;
};

void kind_families_begin(struct kind_families *k, int kind, struct families *to);
/* The entities of a sample. job NULL: the machine's. Returns how many values more than `most` entities have. */
uint64_t kind_families_entities(struct kind_families *k, const struct baro_sample *s, const char *job, size_t most);
void kind_families_host(struct kind_families *k, const struct baro_sample *s);
/* The `most` processes that used most CPU time since `before`; NULL: at all. */
void kind_families_busiest(struct kind_families *k, const struct baro_sample *before, const struct baro_sample *s,
                           const char *job, size_t most);
/* Writes the families that have a value. */
void kind_families_end(struct kind_families *k);

#endif
