/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text/lines.h"

#include <string.h>

#include "base/escape.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/rows/wrap.h"
#include "output/text/read_fact.h"

#define WIDTH_MIN 40u
#define WIDTH_MAX 100u

struct report_style lines_fit(struct report_style style)
{
    style.width = style.width < WIDTH_MIN ? WIDTH_MIN : style.width > WIDTH_MAX ? WIDTH_MAX : style.width;
    return style;
}

void lines_tone(struct lines *l, enum lines_tone tone)
{
    static const char *const codes[] = {
        [TONE_PLAIN] = "\033[0m",  [TONE_STRONG] = "\033[1m",  [TONE_GOOD] = "\033[32m",
        [TONE_BAD] = "\033[1;31m", [TONE_WARN] = "\033[33m",   [TONE_FAINT] = "\033[2m",
        [TONE_CPU] = "\033[32m",   [TONE_MEMORY] = "\033[35m", [TONE_IO] = "\033[36m",
    };
    if (l->style.color)
        buf_str(l->out, codes[tone]);
}

void lines_percent(struct buf *b, double ratio)
{
    double percent = ratio * 100;
    fmt_decimal(b, percent, percent >= 9.95 ? 0 : 1);
    buf_str(b, " %");
}

static struct number_text text_taken(struct buf *b)
{
    struct number_text w = {"?"}; /* out of memory */
    if (!b->failed && b->len < sizeof(w.at)) {
        memcpy(w.at, b->at, b->len);
        w.at[b->len] = 0;
    }
    buf_done(b);
    return w;
}

struct number_text text_of(void (*format)(struct buf *b, uint64_t v), uint64_t v)
{
    struct buf b = {0};
    format(&b, v);
    return text_taken(&b);
}

struct number_text text_of_percent(double ratio)
{
    struct buf b = {0};
    lines_percent(&b, ratio);
    return text_taken(&b);
}

struct number_text text_of_cores(double cores)
{
    struct buf b = {0};
    fmt_decimal(&b, cores, cores < 10 ? 2 : 1);
    return text_taken(&b);
}

struct number_text text_of_value(struct baro_value v, void (*format)(struct buf *b, uint64_t v))
{
    struct buf b = {0};
    report_marked(&b, v, format);
    return text_taken(&b);
}

void lines_say(struct lines *l, const char *format, ...)
{
    struct buf b = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&b, format, arguments);
    va_end(arguments);
    lines_part(l, &b);
    buf_done(&b);
}

void lines_begin(struct lines *l, const char *label, enum lines_tone tone)
{
    unsigned n = (unsigned)utf8_columns(label, strlen(label));
    l->label = label;
    if (l->visit)
        return;
    buf_spaces(l->out, 2);
    lines_tone(l, tone);
    buf_str(l->out, label);
    lines_tone(l, TONE_PLAIN);
    buf_spaces(l->out, n + 2 < LINES_INDENT ? LINES_INDENT - 2 - n : 1);
    l->column = LINES_INDENT;
    l->parts = 0;
}

void lines_part(struct lines *l, struct buf *part)
{
    if (!part->len)
        return;
    if (l->visit) {
        l->visit(l->context, l->label, (const char *)part->at, part->len);
        buf_clear(part);
        return;
    }
    if (!l->style.utf8)
        text_ascii(part, 0);
    unsigned n = (unsigned)utf8_columns((const char *)part->at, part->len);
    if (l->parts && l->column + 3 + n > l->style.width) {
        buf_byte(l->out, '\n');
        buf_spaces(l->out, LINES_INDENT);
        l->column = LINES_INDENT;
    } else if (l->parts) {
        buf_str(l->out, l->style.utf8 ? " · " : " - ");
        l->column += 3;
    }
    l->column = wrap_words(l->out, (const char *)part->at, part->len, l->column, LINES_INDENT, l->style.width);
    l->parts++;
    buf_clear(part);
}

void lines_end(struct lines *l)
{
    if (!l->visit)
        buf_byte(l->out, '\n');
}

void lines_finish(struct lines *l, struct buf *part)
{
    lines_part(l, part);
    lines_end(l);
    buf_done(part);
}

const char *lines_times(const struct lines *l)
{
    return l->style.utf8 ? "×" : "x";
}

/* One character of escaped text: a \xNN whole, a code point whole, in ASCII the bytes of a code point as \xNN each. */
static size_t next_character(const struct lines *l, const char *at, size_t len, char *ret, size_t *ret_len)
{
    size_t n = 1;
    if (at[0] == '\\' && len >= 4 && at[1] == 'x')
        n = 4;
    else if (at[0] == '\\' && len >= 2)
        n = 2;
    while (n < len && ((unsigned char)at[n] & 0xc0) == 0x80)
        n++;
    if (l->style.utf8 || (unsigned char)at[0] < 0x80) {
        memcpy(ret, at, n);
        *ret_len = n;
        return n;
    }
    *ret_len = 0;
    for (size_t i = 0; i < n; i++) {
        static const char digits[] = "0123456789abcdef";
        unsigned char c = (unsigned char)at[i];
        char code[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
        memcpy(ret + *ret_len, code, 4);
        *ret_len += 4;
    }
    return n;
}

void lines_cut(const struct lines *l, struct buf *b, const char *at, size_t len, unsigned columns)
{
    struct buf cut = {0};
    const char *more = l->style.utf8 ? "…" : "...";
    unsigned used = 0, room = columns > 3 ? columns - (unsigned)utf8_columns(more, strlen(more)) : columns;
    size_t fits = 0;
    for (size_t i = 0; i < len && used <= columns;) {
        char c[32];
        size_t n;
        i += next_character(l, at + i, len - i, c, &n);
        used += (unsigned)utf8_columns(c, n);
        buf_add(&cut, c, n);
        if (used <= room)
            fits = cut.len;
    }
    buf_add(b, cut.at, used > columns ? fits : cut.len);
    if (used > columns)
        buf_str(b, more);
    b->failed = b->failed || cut.failed;
    buf_done(&cut);
}

void lines_name(const struct lines *l, struct buf *b, const char *name, unsigned columns)
{
    struct buf escaped = {0};
    text_escaped(&escaped, name, strlen(name));
    lines_cut(l, b, escaped.len ? (const char *)escaped.at : "", escaped.len, columns);
    b->failed = b->failed || escaped.failed;
    buf_done(&escaped);
}

/* Returns the bytes of the last characters that fit into this many columns. */
static size_t tail_of(const struct lines *l, const char *at, size_t len, unsigned columns)
{
    size_t from = 0;
    unsigned all = (unsigned)utf8_columns(at, len);
    while (from < len && all > columns) {
        char c[32];
        size_t n;
        size_t step = next_character(l, at + from, len - from, c, &n);
        all -= (unsigned)utf8_columns(at + from, step);
        from += step;
    }
    return len - from;
}

/* tail: thirds of the room that its end gets */
static void put_both_ends(const struct lines *l, struct buf *b, const char *name, unsigned columns, unsigned tail)
{
    struct buf whole = {0};
    const char *more = l->style.utf8 ? "…" : "...";
    unsigned dots = (unsigned)utf8_columns(more, strlen(more));
    lines_name(l, &whole, name, 4 * (unsigned)strlen(name) + 4);
    const char *at = (const char *)whole.at;
    if (!whole.len || (unsigned)utf8_columns(at, whole.len) <= columns || columns < dots + 8) {
        buf_add(b, whole.at, whole.len);
    } else {
        unsigned last = (columns - dots) * tail / 3;
        size_t end = tail_of(l, at, whole.len, last), head = 0;
        unsigned used = 0;
        while (head < whole.len) {
            char c[32];
            size_t n, step = next_character(l, at + head, whole.len - head, c, &n);
            used += (unsigned)utf8_columns(at + head, step);
            if (used > columns - dots - last)
                break;
            head += step;
        }
        buf_add(b, at, head);
        buf_str(b, more);
        buf_add(b, at + whole.len - end, end);
    }
    b->failed = b->failed || whole.failed;
    buf_done(&whole);
}

void lines_path(const struct lines *l, struct buf *b, const char *name, unsigned columns)
{
    put_both_ends(l, b, name, columns, 2); /* the file, the innermost group */
}

void lines_command(const struct lines *l, struct buf *b, const char *name, unsigned columns)
{
    if (columns < 12) /* too little for two ends */
        lines_name(l, b, name, columns);
    else
        put_both_ends(l, b, name, columns, 1);
}
