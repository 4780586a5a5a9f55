/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fmt.h"

#include <stdbool.h>

#include "base/clock.h"

/* Three significant digits of v / scale, 1 <= v / scale < 999.5: "2.31", "41.3", "412". Halves round up; the place of
 * the point is chosen after rounding, so that 9.996 is "10.0". */
static void three_digits(struct buf *b, uint64_t v, uint64_t scale)
{
    static const unsigned powers[] = {100, 10, 1};
    for (size_t i = 0; i < 3; i++) {
        uint64_t scaled = (uint64_t)(((unsigned __int128)v * powers[i] + scale / 2) / scale);
        if (scaled >= 1000 && i < 2)
            continue;
        buf_u64(b, scaled / powers[i]);
        if (powers[i] > 1)
            buf_printf(b, ".%0*u", i == 0 ? 2 : 1, (unsigned)(scaled % powers[i]));
        return;
    }
}

void fmt_bytes(struct buf *b, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t scale = 1;
    size_t i = 0;
    /* 999,500 B would round to "1000 kB". */
    while (i + 1 < sizeof(units) / sizeof(*units) && bytes >= 999 * scale + (scale + 1) / 2) {
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

#define MIB 1048576u
#define GIB 1073741824u

void fmt_limit(struct buf *b, uint64_t bytes)
{
    if (!bytes || bytes % MIB || bytes % 1000000 == 0) {
        fmt_bytes(b, bytes);
        return;
    }
    fmt_count(b, bytes % GIB ? bytes / MIB : bytes / GIB);
    buf_str(b, bytes % GIB ? " MiB" : " GiB");
}

/* Each bound is the value that would be rounded up to the next unit. */
void fmt_duration(struct buf *b, uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_SEC + (ns % NS_PER_SEC >= NS_PER_SEC / 2);
    if (ns < 1000) {
        buf_u64(b, ns);
        buf_str(b, " ns");
    } else if (ns < 999500) {
        three_digits(b, ns, 1000);
        buf_str(b, " \xc2\xb5s");
    } else if (ns < 999500000) {
        three_digits(b, ns, NS_PER_MS);
        buf_str(b, " ms");
    } else if (ns < 99950000000ULL) {
        three_digits(b, ns, NS_PER_SEC);
        buf_str(b, " s");
    } else if (seconds < 3600) {
        buf_printf(b, "%u min %02u s", (unsigned)(seconds / 60), (unsigned)(seconds % 60));
    } else {
        uint64_t minutes = (seconds + 30) / 60;
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
    double size = v < 0 ? -v : v;
    /* The value is too large to have decimals, or it is not finite; the condition is negated so that NaN fulfils it.
     * %.0f writes no decimal point in any locale. */
    if (!(size * (double)power < 1e18)) {
        buf_printf(b, "%.0f", v);
        return;
    }
    uint64_t scaled = (uint64_t)(size * (double)power + 0.5);
    if (v < 0 && scaled)
        buf_byte(b, '-');
    buf_u64(b, scaled / power);
    if (power == 1)
        return;
    buf_byte(b, '.');
    for (uint64_t p = power / 10; p; p /= 10)
        buf_byte(b, (uint8_t)('0' + scaled / p % 10));
}

/* Years are counted from 1 March, so that the leap day is the last of its year; the calendar repeats after 400 years,
 * which are 146,097 days. */
struct utc utc_of(int64_t realtime_ns)
{
    enum { DAY = 86400, FOUR_CENTURIES = 146097, FROM_MARCH_0000 = 719468 };
    const int64_t second = (int64_t)NS_PER_SEC;
    int64_t seconds = realtime_ns / second - (realtime_ns % second < 0);
    int64_t days = seconds / DAY - (seconds % DAY < 0);
    unsigned in_day = (unsigned)(seconds - days * DAY);
    days += FROM_MARCH_0000;
    int64_t era = (days >= 0 ? days : days - (FOUR_CENTURIES - 1)) / FOUR_CENTURIES;
    unsigned d = (unsigned)(days - era * FOUR_CENTURIES);
    unsigned year = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    unsigned in_year = d - (365 * year + year / 4 - year / 100);
    unsigned month = (5 * in_year + 2) / 153; /* 0: March; five months have 153 days, over and over */
    return (struct utc){
        .year = era * 400 + year + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = in_year - (153 * month + 2) / 5 + 1,
        .hour = in_day / 3600,
        .minute = in_day / 60 % 60,
        .second = in_day % 60,
        .ns = (unsigned)(realtime_ns % second +
                         (realtime_ns % second < 0 ? second : 0)), /* seconds * second may not fit */
    };
}

void fmt_time_utc(struct buf *b, int64_t realtime_ns)
{
    struct utc t = utc_of(realtime_ns);
    buf_printf(b, "%04lld-%02u-%02uT%02u:%02u:%02u.%03uZ", (long long)t.year, t.month, t.day, t.hour, t.minute,
               t.second, t.ns / (unsigned)NS_PER_MS);
}

void fmt_time_zone(struct buf *b, int64_t realtime_ns, long east_seconds, bool milliseconds)
{
    struct utc t = utc_of((int64_t)((uint64_t)realtime_ns + (uint64_t)east_seconds * NS_PER_SEC));
    unsigned minutes = (unsigned)((east_seconds < 0 ? -east_seconds : east_seconds) / 60);
    buf_printf(b, "%04lld-%02u-%02uT%02u:%02u:%02u", (long long)t.year, t.month, t.day, t.hour, t.minute, t.second);
    if (milliseconds)
        buf_printf(b, ".%03u", t.ns / (unsigned)NS_PER_MS);
    buf_printf(b, "%c%02u:%02u", east_seconds < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

void fmt_moment(struct buf *b, uint64_t t_ns)
{
    uint64_t ms = t_ns / NS_PER_MS, seconds = ms / 1000;
    buf_byte(b, '+');
    if (seconds >= 3600)
        buf_printf(b, "%lluh%02umin%02u", (unsigned long long)(seconds / 3600), (unsigned)(seconds / 60 % 60),
                   (unsigned)(seconds % 60));
    else if (seconds >= 60)
        buf_printf(b, "%umin%02u", (unsigned)(seconds / 60), (unsigned)(seconds % 60));
    else
        buf_u64(b, seconds);
    buf_printf(b, ".%03us", (unsigned)(ms % 1000));
}
