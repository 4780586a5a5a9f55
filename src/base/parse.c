/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people write them. */
#include "base/clock.h"
#include "base/fmt.h"
#include "base/span.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit durations[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", NS_PER_MS},
    {"s", NS_PER_SEC},
    {"sec", NS_PER_SEC},
    {"m", 60 * NS_PER_SEC},
    {"min", 60 * NS_PER_SEC},
    {"h", 3600 * NS_PER_SEC},
    {"d", 86400 * NS_PER_SEC},
};

/* "K" for 1000 is not SI, but people write it. */
/* clang-format off */
static const struct unit sizes[] = {
    {"", 1},           {"B", 1},           {"k", 1000},          {"K", 1000},          {"kB", 1000},
    {"KB", 1000},      {"M", 1000000},     {"MB", 1000000},      {"G", 1000000000},    {"GB", 1000000000},
    {"T", 1000000000000}, {"TB", 1000000000000}, {"Ki", 1ull << 10}, {"KiB", 1ull << 10}, {"Mi", 1ull << 20},
    {"MiB", 1ull << 20}, {"Gi", 1ull << 30}, {"GiB", 1ull << 30}, {"Ti", 1ull << 40},  {"TiB", 1ull << 40},
};
/* clang-format on */

static const struct unit *unit_find(struct span word, const struct unit *units, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (span_equal(word, units[i].name))
            return &units[i];
    }
    return NULL;
}

/* digits [ '.' digits ] times the factor; at most nine digits after the point count. */
struct decimal {
    uint64_t whole, fraction, scale;
};

static bool scan_decimal(struct span *s, struct decimal *ret)
{
    struct span rest = *s;
    struct decimal d = {.scale = 1};
    bool digits = scan_u64(&rest, &d.whole);
    if (scan_char(&rest, '.')) {
        bool any = false;
        while (rest.len && *rest.at >= '0' && *rest.at <= '9') {
            if (d.scale < NS_PER_SEC) {
                d.fraction = d.fraction * 10 + (uint64_t)(*rest.at - '0');
                d.scale *= 10;
            }
            any = true;
            rest.at++;
            rest.len--;
        }
        digits = digits || any;
        if (!any)
            return false;
    }
    if (!digits)
        return false;
    *s = rest;
    *ret = d;
    return true;
}

static bool times(const struct decimal *d, uint64_t factor, uint64_t *ret)
{
    uint64_t v, part = (uint64_t)((unsigned __int128)d->fraction * factor / d->scale);
    if (__builtin_mul_overflow(d->whole, factor, &v) || __builtin_add_overflow(v, part, &v))
        return false;
    *ret = v;
    return true;
}

static struct span unit_word(struct span *s)
{
    scan_blanks(s);
    size_t n = 0;
    while (n < s->len && ((s->at[n] | 32) >= 'a') && ((s->at[n] | 32) <= 'z'))
        n++;
    struct span word = span_of(s->at, n);
    s->at += n;
    s->len -= n;
    return word;
}

int parse_duration(const char *text, uint64_t *ret_ns, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t sum = 0;
    do {
        struct decimal d;
        uint64_t part;
        scan_blanks(&s);
        if (!scan_decimal(&s, &d))
            return error_set(err, BARO_E_SYNTAX, "invalid duration '%s': write 100ms, 1s, 5min or 1h30m", text);
        struct span word = unit_word(&s);
        const struct unit *u = unit_find(word, durations, sizeof(durations) / sizeof(*durations));
        if (!u && word.len)
            return error_set(err, BARO_E_SYNTAX, "'%s': '%.*s' is no unit of time: write 100ms, 1s, 5min or 1h30m",
                             text, (int)word.len, word.at);
        if (!u)
            return error_set(err, BARO_E_SYNTAX, "'%s' has no unit of time: write 100ms, 1s, 5min or 1h30m", text);
        if (!times(&d, u->factor, &part) || __builtin_add_overflow(sum, part, &sum))
            return error_set(err, BARO_E_RANGE, "'%s' is too long a time", text);
        scan_blanks(&s);
    } while (s.len);
    *ret_ns = sum;
    return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes, struct baro_error *err)
{
    struct span s = span_str(text);
    struct decimal d;
    if (!scan_decimal(&s, &d))
        return error_set(err, BARO_E_SYNTAX, "invalid size '%s': write 512, 10k, 1.5GB or 2GiB", text);
    const struct unit *u = unit_find(unit_word(&s), sizes, sizeof(sizes) / sizeof(*sizes));
    if (!u || s.len)
        return error_set(err, BARO_E_SYNTAX, "invalid size '%s': write 512, 10k, 1.5GB or 2GiB", text);
    if (!times(&d, u->factor, ret_bytes))
        return error_set(err, BARO_E_RANGE, "'%s' is too large a size", text);
    return 0;
}

int parse_decimal(const char *text, double *ret, struct baro_error *err)
{
    struct span s = span_str(text);
    struct decimal d;
    if (!scan_decimal(&s, &d) || s.len)
        return error_set(err, BARO_E_SYNTAX, "invalid number '%s': write 500 or 1.05", text);
    *ret = (double)d.whole + (double)d.fraction / (double)d.scale;
    return 0;
}

int parse_percent(const char *text, uint64_t *ret_ppm, struct baro_error *err)
{
    struct span s = span_str(text);
    struct decimal d;
    if (!scan_decimal(&s, &d) || !scan_char(&s, '%') || s.len || !times(&d, 10000, ret_ppm))
        return error_set(err, BARO_E_SYNTAX, "invalid share '%s': write 1%% or 0.5%%", text);
    return 0;
}

int parse_pid(const char *text, int32_t *ret, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t v;
    if (!scan_u64(&s, &v) || s.len || v == 0 || v > INT32_MAX)
        return error_set(err, BARO_E_SYNTAX, "invalid pid '%s'", text);
    *ret = (int32_t)v;
    return 0;
}
