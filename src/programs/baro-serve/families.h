/* SPDX-License-Identifier: Apache-2.0 */
/* Writes metric families as text: in the OpenMetrics format or in Prometheus' text format. */
#ifndef PROGRAMS_BARO_SERVE_FAMILIES_H
#define PROGRAMS_BARO_SERVE_FAMILIES_H

#include <stdbool.h>

#include "baro/baro.h"
#include "base/buf.h"

struct families {
    struct buf *out;
    bool is_open_metrics;
};

struct family {
    char name[160];
    const char *unit; /* base unit; "": none */
    bool is_counter, is_there;
    double divisor;
};

/* Returns the family of a metric of the registry. */
struct family family_of(const char *kind, const struct baro_metric *m);

/* Begins a family. name: without _total. */
void family_begin(struct families *s, const char *name, const char *unit, bool is_counter, const char *help);
/* Writes a value. labels: begin with '{', or are empty; they are empty afterwards. */
void family_value(struct families *s, const char *name, bool is_counter, struct buf *labels, double v);
void family_label(struct buf *b, const char *name, const char *value);

#endif
