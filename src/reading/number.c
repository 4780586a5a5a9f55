/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal text to a number. strtod(3) needs a NUL, depends on the locale and takes what neither OpenMetrics nor JSON
 * has. An integer below 2^64 is kept as it is; what else has up to 19 digits and 21 places, as printf("%.17g") and all
 * that people write, becomes the nearest double; with more of either, it can be the neighbour of that.
 */
#include "reading/reading.h"

#define WHOLE_POWER 19    /* 2^64 times 10^19 fits into 128 bits */
#define EXACT_POWER 21    /* m / 10^21: 128 bits by 70, so the quotient has 57 bits or more */
#define POWER_MOST 400

__extension__ typedef unsigned __int128 wide;

struct decimal {
    uint64_t digits;  /* the first ones, as many as fit */
    int power;        /* of ten */
    bool negative, full, more; /* more: there were other digits than 0 behind them */
};

static bool scan_digits(struct span *s, struct decimal *d, bool fraction)
{
    size_t begin = s->len;
    for (; s->len && *s->at >= '0' && *s->at <= '9'; s->at++, s->len--) {
        unsigned digit = (unsigned)(*s->at - '0');
        uint64_t next;
        d->full = d->full || __builtin_mul_overflow(d->digits, 10u, &next) ||
                  __builtin_add_overflow(next, digit, &next);
        if (!d->full) {
            d->digits = next;
            d->power -= fraction;
        } else {
            d->power += !fraction;
            d->more |= digit != 0;
        }
    }
    return s->len < begin;
}

static bool scan_exponent(struct span *s, struct decimal *d)
{
    uint64_t e = 0;
    bool negative = scan_char(s, '-');
    if (!negative)
        scan_char(s, '+');
    size_t begin = s->len;
    for (; s->len && *s->at >= '0' && *s->at <= '9'; s->at++, s->len--)
        e = e < 100000 ? e * 10 + (uint64_t)(*s->at - '0') : e;
    int most = 2 * POWER_MOST, power = e < 100000 ? (int)e : 100000;
    d->power += negative ? -power : power;
    d->power = d->power > most ? most : d->power < -most ? -most : d->power;
    return s->len < begin;
}

static bool scan_decimal(struct span *s, struct decimal *ret)
{
    struct span rest = *s;
    struct decimal d = {0};
    d.negative = scan_char(&rest, '-');
    if (!d.negative)
        scan_char(&rest, '+');
    bool any = scan_digits(&rest, &d, false);
    if (scan_char(&rest, '.'))
        any |= scan_digits(&rest, &d, true);
    if (!any)
        return false;
    if (rest.len && (*rest.at == 'e' || *rest.at == 'E')) {
        rest.at++;
        rest.len--;
        if (!scan_exponent(&rest, &d))
            return false;
    }
    *s = rest;
    *ret = d;
    return true;
}

/* v times 2^shift; rest: it is a little more than that. To the nearest, ties to even: 64 bits and one for the rest. */
static double rounded(wide v, int shift, bool rest)
{
    unsigned lost = 0;
    while (v >> 64) {
        rest |= (v & 1) != 0;
        v >>= 1;
        lost++;
    }
    uint64_t m = (uint64_t)v;
    if (m >> 55) /* then the lowest bit is below half a unit of the result */
        m |= rest;
    return __builtin_ldexp((double)m, shift + (int)lost);
}

static wide power_of_ten(int n)
{
    wide v = 1;
    while (n-- > 0)
        v *= 10;
    return v;
}

static double times_power(uint64_t digits, int power)
{
    wide v = digits;
    int shift = 0;
    if (power >= 0)
        return rounded(v * power_of_ten(power), 0, false);
    wide by = power_of_ten(-power);
    while (!(v >> 127)) {
        v <<= 1;
        shift--;
    }
    return rounded(v / by, shift, v % by != 0);
}

static double as_real(const struct decimal *d)
{
    int power = d->power;
    if (!d->digits)
        return 0;
    if (!d->more && power >= -EXACT_POWER && power <= WHOLE_POWER)
        return times_power(d->digits, power);
    long double v = d->digits, ten = 10;
    unsigned n = (unsigned)(power < 0 ? -power : power);
    for (long double factor = ten; n; n >>= 1, factor *= factor) {
        if (n & 1)
            v = power < 0 ? v / factor : v * factor;
    }
    return (double)v;
}

bool reading_number(struct span *s, struct reading_cell *ret)
{
    struct decimal d;
    uint64_t whole;
    if (!scan_decimal(s, &d))
        return false;
    /* 1e3 and 20.0 are whole as well: Go, for one, writes 1.7e+09. */
    wide v = d.digits;
    bool fits = !d.more && d.power >= 0 && d.power <= WHOLE_POWER;
    fits = fits && (v = v * power_of_ten(d.power)) >> 64 == 0;
    whole = fits ? (uint64_t)v : 0;
    if (!d.more && d.power < 0 && d.power >= -WHOLE_POWER && v % power_of_ten(-d.power) == 0) {
        fits = true;
        whole = (uint64_t)(v / power_of_ten(-d.power));
    }
    if (fits && (!d.negative || !whole)) {
        *ret = (struct reading_cell){.bits = whole, .value = READING_INTEGER};
        return true;
    }
    double real = d.negative ? -as_real(&d) : as_real(&d);
    *ret = (struct reading_cell){.value = __builtin_isfinite(real) ? READING_REAL : READING_ABSENT};
    if (ret->value == READING_REAL)
        memcpy(&ret->bits, &real, sizeof(real));
    return true;
}
