/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/dialect_form.h"

#include "base/fmt.h"

static void strip_zeros(struct buf *b)
{
    while (b->len > 1 && b->at[b->len - 1] == '0' && b->at[b->len - 2] != '.')
        b->len--;
}

void form_float(struct buf *b, double v, int digits)
{
    fmt_decimal(b, v, digits);
    strip_zeros(b);
}

void form_epoch(struct buf *b, int64_t realtime_ns)
{
    uint64_t us = (uint64_t)(realtime_ns < 0 ? 0 : realtime_ns) / 1000;
    buf_printf(b, "%llu.%06llu", (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));
    strip_zeros(b);
}

void form_epoch_ms(struct buf *b, int64_t realtime_ns)
{
    uint64_t ms = ((uint64_t)(realtime_ns < 0 ? 0 : realtime_ns) + 500000) / 1000000;
    buf_printf(b, "%llu.%03llu", (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000));
    strip_zeros(b);
}

void form_iso(struct buf *b, int64_t realtime_ns)
{
    size_t from = b->len;
    fmt_time_utc(b, realtime_ns);
    if (b->len > from && b->at[b->len - 1] == 'Z') {
        b->len--;
        buf_str(b, "+00:00");
    }
}
