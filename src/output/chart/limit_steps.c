/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that changed: read from the tape, and kept for each bucket of a chart. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "output/chart/figure_parts.h"

static double known_value(int absent, uint64_t value, double scale)
{
    return absent ? 0 : (double)value * scale;
}

static struct limit_change change_of(const struct baro_limits *l, uint64_t t_ns)
{
    struct limit_change c = {.t_ns = t_ns};
    uint64_t v = 0;
    const char *source;
    int absent = baro_limits_get(l, BARO_LIMIT_MEMORY, &v, &source);
    c.memory_bytes = known_value(absent, v, 1);
    absent = baro_limits_get(l, BARO_LIMIT_CORES, &v, &source);
    c.cores = known_value(absent, v, 1e-6);
    absent = baro_limits_get(l, BARO_LIMIT_PIDS, &v, &source);
    c.pids = known_value(absent, v, 1);
    return c;
}

int making_read_limits(struct making *m)
{
    struct limit_history *h = &m->limits;
    struct baro_record record;
    double since = 0;
    if (!fact_number(m->summary, "limits", "held_from_ns", 0, &since) || since <= 0)
        return 0;
    int r = baro_tape_rewind(m->tape, m->err);
    while (r >= 0 && (r = baro_tape_next(m->tape, &record, m->err)) > 0) {
        if (record.kind != BARO_RECORD_LIMITS)
            continue;
        struct limit_change c = change_of(record.u.limits, h->n ? record.t_ns : 0);
        h->n -= h->n == LIMIT_CHANGES_MOST; /* if there are more, the last one is kept */
        h->at[h->n++] = c;
    }
    return r < 0 ? r : 0;
}

static double member(const struct limit_change *c, size_t offset)
{
    double v;
    memcpy(&v, (const char *)c + offset, sizeof(v));
    return v;
}

static void fill_limit(const struct chart *c, const struct limit_history *h, size_t offset, double *at)
{
    size_t k = 0;
    for (size_t i = 0; i < c->buckets; i++) {
        uint64_t middle = (chart_bucket_ns(c, i) + chart_bucket_ns(c, i + 1)) / 2;
        while (k + 1 < h->n && h->at[k + 1].t_ns <= middle)
            k++;
        at[i] = member(&h->at[k], offset);
    }
}

void chart_add_limit_steps(struct chart *c, const char *name, double value, const struct limit_history *h,
                           size_t offset)
{
    bool changed = false, any = false;
    for (size_t i = 0; i < h->n; i++) {
        changed = changed || member(&h->at[i], offset) != member(&h->at[0], offset);
        any = any || member(&h->at[i], offset) > 0;
    }
    if (chart_add_limit(c, changed && any ? "limit" : name, value) < 0 || !changed)
        return;
    double *at = calloc(c->buckets ? c->buckets : 1, sizeof(*at));
    if (at)
        fill_limit(c, h, offset, at);
    c->limits[c->n_limits - 1].at = at;
}
