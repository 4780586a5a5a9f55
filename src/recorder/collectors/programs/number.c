/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal text to a number. strtod(3) needs a NUL, depends on the locale and takes what neither OpenMetrics nor JSON
 * has. An integer below 2^64 is kept as it is; all else becomes the nearest double, as strtod() has it (of more than 38
 * digits the others count only in that there are some).
 */
#include "recorder/collectors/programs/reading.h"

#define WHOLE_POWER 19 /* 2^64 times 10^19 fits into 128 bits */
#define PLACES_MOST 38 /* 10^38 fits as well */
#define EXACT_POWER 21 /* m / 10^21: 128 bits by 70, so the quotient has 57 bits or more */
#define POWER_MOST 400
#define INFINITE_POWER 309
#define ZERO_POWER (-363) /* 2^128 times that is less than half of the least double */

__extension__ typedef unsigned __int128 wide;

struct decimal {
    wide digits;               /* the first digits, as many as fit */
    int power;                 /* of ten */
    bool negative, full, more; /* more: digits other than 0 follow */
};

static bool scan_digits(struct span *s, struct decimal *d, bool fraction)
{
    size_t begin = s->len;
    for (; s->len && *s->at >= '0' && *s->at <= '9'; s->at++, s->len--) {
        unsigned digit = (unsigned)(*s->at - '0');
        wide next;
        d->full =
            d->full || __builtin_mul_overflow(d->digits, 10u, &next) || __builtin_add_overflow(next, digit, &next);
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

/* v times 2^shift; rest: it is a little more than that, and v has more than 53 bits then. To the nearest, ties to even;
 * the last bit of the least double is 2^-1074. */
static double rounded(wide v, int shift, bool rest)
{
    int bits = 0;
    for (wide w = v; w; w >>= 1)
        bits++;
    int drop = bits - 53 > -1074 - shift ? bits - 53 : -1074 - shift;
    if (drop <= 0)
        return __builtin_ldexp((double)(uint64_t)v, shift);
    if (drop > bits)
        return 0;
    wide kept = v >> drop, low = v - (kept << drop), half = (wide)1 << (drop - 1);
    kept += low > half || (low == half && (rest || (kept & 1)));
    return __builtin_ldexp((double)(uint64_t)kept, shift + drop);
}

static wide power_of_ten(int n)
{
    wide v = 1;
    while (n-- > 0)
        v *= 10;
    return v;
}

static double times_power(wide digits, int power)
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

/* ---- whole numbers of any length that is needed ---- */

struct large {
    uint32_t part[56]; /* the least first */
    int n;
};

static void multiply(struct large *l, uint32_t by)
{
    uint64_t carry = 0;
    for (int i = 0; i < l->n; i++) {
        carry += (uint64_t)l->part[i] * by;
        l->part[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        l->part[l->n++] = (uint32_t)carry;
}

/* Returns whether there is a rest. */
static bool divide(struct large *l, uint32_t by)
{
    uint64_t rest = 0;
    for (int i = l->n; i-- > 0;) {
        rest = rest << 32 | l->part[i];
        l->part[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    while (l->n && !l->part[l->n - 1])
        l->n--;
    return rest != 0;
}

static double times_large_power(wide digits, int power, bool rest)
{
    /* Before a division there are 66 bits more than the divisor has: 10 has 3.322. */
    int n = power < 0 ? -power : power, zeros = power < 0 ? (66 + n * 3322 / 1000) / 32 + 1 : 0;
    struct large l = {.n = zeros};
    for (; digits; digits >>= 32)
        l.part[l.n++] = (uint32_t)digits;
    for (int left = n; left > 0; left -= 9) {
        uint32_t by = (uint32_t)power_of_ten(left < 9 ? left : 9);
        if (power < 0)
            rest |= divide(&l, by);
        else
            multiply(&l, by);
    }
    wide v = 0; /* the first 65 bits and more */
    int i = l.n;
    for (; i > 0 && i > l.n - 3; i--)
        v = v << 32 | l.part[i - 1];
    for (int below = i; below > 0; below--)
        rest |= l.part[below - 1] != 0;
    return rounded(v, 32 * (i - zeros), rest);
}

static double as_real(const struct decimal *d)
{
    int power = d->power;
    if (!d->digits || power < ZERO_POWER)
        return 0;
    if (power > INFINITE_POWER)
        return __builtin_inf();
    if (!d->more && !(d->digits >> 64) && power >= -EXACT_POWER && power <= WHOLE_POWER)
        return times_power(d->digits, power);
    return times_large_power(d->digits, power, d->more);
}

bool reading_number(struct span *s, struct reading_cell *ret)
{
    struct decimal d;
    uint64_t whole;
    if (!scan_decimal(s, &d))
        return false;
    /* 1e3 and 20.0 are whole as well: Go, for one, writes 1.7e+09. */
    wide v = d.digits;
    bool fits = !d.more && !(v >> 64) && d.power >= 0 && d.power <= WHOLE_POWER;
    fits = fits && (v = v * power_of_ten(d.power)) >> 64 == 0;
    whole = fits ? (uint64_t)v : 0;
    if (!d.more && d.power < 0 && d.power >= -PLACES_MOST && d.digits % power_of_ten(-d.power) == 0) {
        v = d.digits / power_of_ten(-d.power);
        fits = !(v >> 64);
        whole = (uint64_t)v;
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
