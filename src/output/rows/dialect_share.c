/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/dialect_share.h"

#include <stdlib.h>

#include "base/array.h"

static struct share *share_of(struct shares *s, uint32_t id)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].id == id)
            return &s->at[i];
    }
    if (array_reserve(&s->at, s->n + 1, &s->cap, sizeof(*s->at)) < 0)
        return NULL;
    s->at[s->n] = (struct share){.id = id, .absent = BARO_ABSENT_NOT_YET};
    return &s->at[s->n++];
}

void shares_take(struct shares *s, const struct baro_row *device, int metric)
{
    struct share *d = share_of(s, baro_row_id(device));
    uint64_t value = 0, read_ns = 0;
    if (!d) {
        s->failed = true;
        return;
    }
    d->is_there = true;
    int absent = baro_row_value(device, metric, &value);
    if (!absent)
        absent = baro_row_read_ns(device, &read_ns);
    if (absent) {
        *d = (struct share){.id = d->id, .absent = absent, .is_there = true};
        return;
    }
    if (read_ns <= d->read_ns)
        return;
    d->absent = !d->read_ns ? BARO_ABSENT_NOT_YET : value < d->value ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    d->share = !d->absent ? (double)(value - d->value) / (double)(read_ns - d->read_ns) : 0;
    d->read_ns = read_ns;
    d->value = value;
}

int shares_sum(struct shares *s, bool whole_percent, double *ret, uint64_t *ret_used)
{
    int absent = BARO_ABSENT_UNKNOWN;
    double sum = 0;
    *ret_used = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct share *d = &s->at[i];
        double share = whole_percent && d->share > 1 ? 1 : d->share;
        share = whole_percent ? (double)(unsigned)(share * 100 + 0.5) / 100 : share;
        if (d->is_there && !d->absent) {
            sum += share;
            *ret_used += share > 0;
        }
        if (d->is_there && absent)
            absent = d->absent;
        d->is_there = false;
    }
    *ret = sum;
    return s->failed ? BARO_ABSENT_UNKNOWN : absent;
}

void shares_done(struct shares *s)
{
    free(s->at);
    *s = (struct shares){0};
}
