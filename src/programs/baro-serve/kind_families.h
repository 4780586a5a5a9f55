/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families of one kind, one for each metric. The entities of each job are read once, and each value is written to
 * the family of its metric. So all values of an entity are from one sample, and the labels of an entity are made once.
 * Example: for 500 tasks and 30 metrics, which are 15,000 values, 500 labels are made, not 15,000.
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
/* Adds the entities of a sample. job NULL: those of the machine. Returns how many values were left out because there
 * are more than `most` entities. */
uint64_t kind_families_entities(struct kind_families *k, const struct baro_sample *s, const char *job, size_t most);
/* Adds one row. labels: without the brace at the end; borrowed. */
void kind_families_row(struct kind_families *k, const struct baro_row *row, const struct buf *labels);
void kind_families_host(struct kind_families *k, const struct baro_sample *s);
/* Adds the `most` processes that used most CPU time since `before`; NULL: since they began. */
void kind_families_busiest(struct kind_families *k, const struct baro_sample *before, const struct baro_sample *s,
                           const char *job, size_t most);
/* Writes the families that have a value. */
void kind_families_end(struct kind_families *k);

#endif
