/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "recorder/collectors/programs/reading.h"

#define LONGEST 511 /* the longest double in full has 325 characters, the least with 17 digits 342 */

static size_t skip_digits(struct span *s)
{
    size_t n = 0;
    for (; s->len && *s->at >= '0' && *s->at <= '9'; s->at++, s->len--)
        n++;
    return n;
}

static bool skip_decimal(struct span *s)
{
    size_t digits;
    if (!scan_char(s, '-'))
        scan_char(s, '+');
    digits = skip_digits(s);
    if (scan_char(s, '.'))
        digits += skip_digits(s);
    if (!digits || (!scan_char(s, 'e') && !scan_char(s, 'E')))
        return digits;
    if (!scan_char(s, '-'))
        scan_char(s, '+');
    return skip_digits(s);
}

/* 20, +20 and 20.0, however many digits a double would round away. */
static bool scan_whole(struct span s, uint64_t *ret)
{
    scan_char(&s, '+');
    if (!scan_u64(&s, ret))
        return false;
    if (scan_char(&s, '.')) {
        while (scan_char(&s, '0')) {
        }
    }
    return !s.len;
}

/* strtod(3) takes more than OpenMetrics has and needs a NUL; of the locale it knows only C, as nothing in the recorder
 * calls setlocale(). */
bool reading_number(struct span *s, struct reading_cell *ret)
{
    struct span rest = *s;
    char text[LONGEST + 1];
    if (!skip_decimal(&rest))
        return false;
    size_t len = s->len - rest.len;
    if (len > LONGEST)
        return false;
    memcpy(text, s->at, len);
    text[len] = 0;
    uint64_t bits = 0;
    enum reading_value is = READING_INTEGER;
    if (!scan_whole(span_of(text, len), &bits)) {
        double real = strtod(text, NULL);
        bool is_whole = real >= 0 && real < 0x1p64 && real == (double)(uint64_t)real; /* Go writes 1.7e+09 */
        is = is_whole ? READING_INTEGER : __builtin_isfinite(real) ? READING_REAL : READING_ABSENT;
        bits = is_whole ? (uint64_t)real : 0;
        if (is == READING_REAL)
            memcpy(&bits, &real, sizeof(real));
    }
    *ret = (struct reading_cell){.bits = bits, .value = is};
    *s = rest;
    return true;
}
