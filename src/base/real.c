/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles as text, as printf writes them with %.15g, or with %.17g where that would be read back as another number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

__extension__ typedef unsigned __int128 wide;

/* clang-format off */
static const uint64_t powers[] = {
    1,         10,         100,         1000,         10000,         100000,         1000000,         10000000,
    100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
    10000000000000000, 100000000000000000};
/* clang-format on */

/* Powers of ten that are exact as doubles. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Computes v * 10^places as a whole number, with halves rounded to even. v is at least LEAST and below MOST, and the
 * result has at most 17 digits. v has 53 bits and 10^22 has 74, so the product has 126 bits at most, and nothing is
 * lost. Example: 0.5 and 1 place is 5. */
#define LEAST 1e-6
#define MOST 1e15
static uint64_t scaled(double v, int places)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits)); /* v = (2^52 + the low 52 bits) * 2^(exponent - 1075) */
    wide w = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    w *= powers[places > 17 ? 17 : places];
    w *= powers[places > 17 ? places - 17 : 0];
    unsigned shift = 1075 - (unsigned)(bits >> 52);
    wide whole = w >> shift, rest = w - (whole << shift), half = (wide)1 << (shift - 1);
    return (uint64_t)whole + (rest > half || (rest == half && (whole & 1)));
}

/* 15 digits and the power of ten are exact as doubles, so one division rounds once, as reading the text would. */
static bool reads_back(double v, uint64_t digits15, int places)
{
    return (double)digits15 / tens[places] == v;
}

/* The number digits / 10^places with 15 or 17 digits, as %g writes it: without zeros at the end, and with an exponent
 * below 0.0001. Returns the end. */
static char *write_digits(char *at, uint64_t digits, int places)
{
    unsigned char text[BUF_U64_MOST];
    while (digits % 10 == 0) {
        digits /= 10;
        places--;
    }
    int n = (int)(buf_put_u64(text, digits) - text), before = n - places; /* digits before the point */
    if (before > -4 && before <= 0) {                                     /* 0.0001234 */
        memcpy(at, "0.000", 5);
        memcpy(at + 2 - before, text, (size_t)n);
        return at + 2 - before + n;
    }
    if (before > 0) {
        int whole = before < n ? before : n;
        memcpy(at, text, (size_t)whole);
        memset(at + whole, '0', (size_t)(before - whole));
        at += before;
        if (n > before) {
            *at++ = '.';
            memcpy(at, text + before, (size_t)(n - before));
            at += n - before;
        }
        return at;
    }
    *at++ = (char)text[0]; /* 1.234e-05 */
    if (n > 1) {
        *at++ = '.';
        memcpy(at, text + 1, (size_t)n - 1);
        at += n - 1;
    }
    memcpy(at, "e-0", 3);
    at[3] = (char)('0' + (1 - before));
    return at + 4;
}

/* Returns the number of decimal places with which the number has 15 digits. */
static int places_of(double v)
{
    int places = 14;
    for (; places > 0 && v >= tens[15 - places]; places--)
        ;
    for (; v < 1 && v * tens[places - 14] < 1; places++)
        ;
    return places;
}

static size_t write_exactly(char *room, double v)
{
    int places = places_of(v);
    uint64_t digits = scaled(v, places);
    if (digits < powers[14]) /* the product by which the places were counted was rounded up */
        digits = scaled(v, ++places);
    if (!reads_back(v, digits, places)) {
        places += 2;
        digits = scaled(v, places);
    }
    return (size_t)(write_digits(room, digits, places) - room);
}

/* The library never sets a locale, but its user may have: a decimal comma is replaced. */
static size_t write_printf(char *room, size_t size, double v)
{
    int n = snprintf(room, size, "%.15g", v);
    if (strtod(room, NULL) < v || strtod(room, NULL) > v)
        n = snprintf(room, size, "%.17g", v);
    for (int i = 0; i < n; i++)
        room[i] = room[i] == ',' ? '.' : room[i];
    return (size_t)n;
}

void buf_double(struct buf *b, double v)
{
    char room[40];
    if (signbit(v)) {
        buf_byte(b, '-');
        v = -v;
    }
    buf_add(b, room, v >= LEAST && v < MOST ? write_exactly(room, v) : write_printf(room, sizeof(room), v));
}
