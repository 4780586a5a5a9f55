/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/row.h"

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
    if (b->failed)
        return;
    ret->kind = CELL_TEXT;
    ret->text = b->len ? (const char *)b->at : "";
    ret->len = b->len;
}
