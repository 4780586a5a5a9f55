/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "output/rows/row.h"

/* Members have run since it was read how long they waited. */
static bool delay_lags(const struct baro_sample *s)
{
    uint64_t lag;
    int id = baro_metric_find(BARO_KIND_JOB, "run_delay_lag", strlen("run_delay_lag"));
    return baro_sample_job(s, id, &lag) == BARO_PRESENT && lag;
}

/*
 * Example: five processes share 300 MB, and the budget has let two of them be read so far. Their pss adds up to 133 MB,
 * where all five have 329 MB: the row says "pss_bytes uss_bytes" until the other three are read.
 */
void row_bounds(const struct row *r, struct cell *ret)
{
    struct buf *b = r->attributes;
    if (!b)
        return;
    buf_clear(b);
    for (int id = 0; id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        struct baro_sum sum;
        if (!baro_metric_adds_up(id) || baro_sample_sum(r->sample, id, &sum) != BARO_PRESENT ||
            sum.covered == sum.members)
            continue;
        buf_str(b, b->len ? " " : "");
        buf_str(b, baro_metric_get(BARO_KIND_PROCESS, id)->name);
    }
    if (delay_lags(r->sample)) {
        buf_str(b, b->len ? " " : "");
        buf_str(b, "run_delay_ns");
    }
    if (b->failed)
        return;
    ret->kind = CELL_TEXT;
    ret->text = b->len ? (const char *)b->at : "";
    ret->len = b->len;
}
