/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/marks/time_text.h"

#include "base/span.h"

#define NS_OF_SECOND 1000000000u

static bool scan_field(struct span *s, char before, unsigned least, unsigned most, unsigned *ret)
{
    uint64_t v;
    if ((before && !scan_char(s, before)) || !scan_u64(s, &v) || v < least || v > most)
        return false;
    *ret = (unsigned)v;
    return true;
}

/* Days since 1970 of a day of the Gregorian calendar. Years begin in March, so that a leap day ends one. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2), in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + in_year - 719468;
}

/* Returns the nanoseconds of a fraction such as ".678000". */
static bool scan_fraction(struct span *s, uint64_t *ret_ns)
{
    uint64_t unit = NS_OF_SECOND;
    *ret_ns = 0;
    if (!scan_char(s, '.'))
        return true;
    for (; s->len && *s->at >= '0' && *s->at <= '9'; s->at++, s->len--) {
        unit /= 10;
        *ret_ns += (uint64_t)(*s->at - '0') * unit;
    }
    return true;
}

/* "Z", "+00:00", "-05:30" */
static bool scan_zone(struct span *s, int64_t *ret_seconds)
{
    unsigned hour, minute;
    bool west = s->len && *s->at == '-';
    *ret_seconds = 0;
    if (scan_char(s, 'Z'))
        return true;
    if (!scan_field(s, west ? '-' : '+', 0, 24, &hour) || !scan_field(s, ':', 0, 59, &minute))
        return false;
    *ret_seconds = (west ? -60 : 60) * ((int64_t)hour * 60 + minute);
    return true;
}

bool time_text_parse(const char *text, uint64_t *ret_ns)
{
    struct span s = span_str(text);
    unsigned year, month, day, hour, minute, second;
    uint64_t fraction;
    int64_t east;
    if (!scan_field(&s, 0, 1970, 2200, &year) || !scan_field(&s, '-', 1, 12, &month) ||
        !scan_field(&s, '-', 1, 31, &day) || !scan_field(&s, 'T', 0, 23, &hour) ||
        !scan_field(&s, ':', 0, 59, &minute) || !scan_field(&s, ':', 0, 60, &second) || !scan_fraction(&s, &fraction) ||
        !scan_zone(&s, &east) || s.len)
        return false;
    int64_t t = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - east;
    *ret_ns = (uint64_t)(t > 0 ? t : 0) * NS_OF_SECOND + fraction;
    return true;
}
