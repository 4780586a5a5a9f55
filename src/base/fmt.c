/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fmt.h"

#include <stdbool.h>
#include <time.h>

#include "base/clock.h"

/* v / scale in three significant digits: "2.31", "41.3", "412"; halves round up. */
static void three_digits(struct buf *b, uint64_t v, uint64_t scale)
{
    uint64_t whole = v / scale;
    int decimals = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    fmt_decimal(b, (double)v / (double)scale, decimals);
}

void fmt_bytes(struct buf *b, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t scale = 1;
    size_t i = 0;
    /* 999,500 B would round to "1000 kB" */
    while (i + 1 < sizeof(units) / sizeof(*units) && (double)bytes / (double)scale >= 999.5) {
        scale *= 1000;
        i++;
    }
    if (i == 0)
        buf_u64(b, bytes);
    else
        three_digits(b, bytes, scale);
    buf_byte(b, ' ');
    buf_str(b, units[i]);
}

void fmt_duration(struct buf *b, uint64_t ns)
{
    if (ns < 1000) {
        buf_u64(b, ns);
        buf_str(b, " ns");
    } else if (ns < 999500) {
        three_digits(b, ns, 1000);
        buf_str(b, " \xc2\xb5s");
    } else if (ns < 999500000) {
        three_digits(b, ns, NS_PER_MS);
        buf_str(b, " ms");
    } else if (ns < 99950000000ull) {
        three_digits(b, ns, NS_PER_SEC);
        buf_str(b, " s");
    } else if (ns < 3600 * NS_PER_SEC) {
        uint64_t s = (ns + NS_PER_SEC / 2) / NS_PER_SEC;
        buf_printf(b, "%u min %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
    } else {
        uint64_t minutes = ns / (60 * NS_PER_SEC);
        buf_u64(b, minutes / 60);
        buf_printf(b, " h %02u min", (unsigned)(minutes % 60));
    }
}

void fmt_count(struct buf *b, uint64_t n)
{
    if (n >= 1000) {
        fmt_count(b, n / 1000);
        buf_printf(b, ",%03u", (unsigned)(n % 1000));
        return;
    }
    buf_u64(b, n);
}

void fmt_decimal(struct buf *b, double v, int digits)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    uint64_t power = powers[digits < 0 ? 0 : digits > 9 ? 9 : digits];
    if (v < 0) {
        buf_byte(b, '-');
        v = -v;
    }
    if (v * (double)power > 1e18)
        power = 1;
    uint64_t scaled = (uint64_t)(v * (double)power + 0.5);
    buf_u64(b, scaled / power);
    if (power == 1)
        return;
    buf_byte(b, '.');
    for (uint64_t p = power / 10; p; p /= 10)
        buf_byte(b, (uint8_t)('0' + scaled / p % 10));
}

void fmt_time_utc(struct buf *b, int64_t realtime_ns)
{
    int64_t second = (int64_t)NS_PER_SEC;
    time_t s = (time_t)(realtime_ns / second - (realtime_ns % second < 0));
    int ms = (int)((realtime_ns - (int64_t)s * second) / (int64_t)NS_PER_MS);
    struct tm t;
    if (!gmtime_r(&s, &t))
        return;
    buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, ms);
}
