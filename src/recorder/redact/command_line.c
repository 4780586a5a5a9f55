/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats /proc/PID/cmdline for people. Each argument ends with a NUL. A program that wrote a title over its arguments
 * leaves one text without NULs, or with a row of NULs at its end. Redaction comes before quoting, so that no quote
 * splits a text that a rule would match.
 */
#include "base/min_max.h"
#include "recorder/redact/redact.h"

/* More empty arguments than this at the end are the rest of a title. */
enum { PADDING = 8 };
/* How many bytes of an argument are examined beyond the part that is shown: a secret that begins in that part must be
 * seen whole. Of all arguments together twice as many: of 14 with 120 kB each that are shown as "***" it is not all. */
enum { LOOK_AHEAD = 4096 };

static struct span without_padding(struct span text)
{
    size_t len = text.len;
    while (len && text.at[len - 1] == 0)
        len--;
    return text.len - len > PADDING ? span_of(text.at, len) : text;
}

static struct span take_argument(struct span *rest)
{
    const char *nul = memchr(rest->at, 0, rest->len);
    size_t len = nul ? (size_t)(nul - rest->at) : rest->len;
    size_t used = nul ? len + 1 : len;
    struct span argument = span_of(rest->at, len);
    *rest = span_of(rest->at + used, rest->len - used);
    return argument;
}

/* Bytes that are not special for a shell. In the first word a '=' would make it an assignment. */
static bool is_plain_byte(unsigned char c, bool first)
{
    if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
        return true;
    return c && strchr("_@%+:,./-", c) != NULL ? true : c == '=' && !first;
}

/* Puts the text since `from` into single quotes, in place, if it needs them. The stars of a redaction do not: a shell
 * that finds no matching file leaves them as they are. */
static void quote(struct buf *b, size_t from, bool first, bool redacted)
{
    size_t quotes = 0, special = 0;
    if (b->failed)
        return;
    for (size_t i = from; i < b->len; i++) {
        quotes += b->at[i] == '\'';
        special += !is_plain_byte(b->at[i], first) && !(redacted && b->at[i] == '*');
    }
    size_t len = b->len - from;
    if (len && !special)
        return;
    if (!buf_reserve(b, 2 + 3 * quotes))
        return;
    size_t to = b->len + 2 + 3 * quotes;
    b->len = to;
    b->at[--to] = '\'';
    for (size_t i = from + len; i-- > from;) {
        if (b->at[i] == '\'') {
            to -= 4;
            memcpy(b->at + to, "'\\''", 4);
        } else {
            b->at[--to] = b->at[i];
        }
    }
    b->at[--to] = '\'';
}

/* Cuts to max bytes, at the start of a UTF-8 sequence if there is one. */
static void cut(struct buf *b, size_t start, size_t max)
{
    if (b->failed || b->len - start <= max)
        return;
    size_t dots = max < 3 ? max : 3, len = start + max - dots;
    for (int i = 0; i < 3 && len > start && (b->at[len] & 0xc0) == 0x80; i++)
        len--;
    b->len = len;
    buf_add(b, "...", dots);
}

/* Of an argument that was not examined to its end, the last bytes may be the beginning of a secret: "a:hunter2" of
 * "a:hunter2@host:80". */
static void leave_out_end(struct buf *b, size_t from)
{
    struct span shown = span_of(b->at + from, b->failed ? 0 : b->len - from);
    if (b->failed || span_ends(shown, "***"))
        return;
    b->len -= min_u64(shown.len, LOOK_AHEAD);
    buf_str(b, "...");
}

bool redact_argument_part(struct span program, struct span before, struct span argument, size_t most, struct buf *ret)
{
    size_t from = ret->len;
    bool redacted = redact_argument(program, before, span_of(argument.at, min_u64(argument.len, most)), ret);
    if (argument.len > most)
        leave_out_end(ret, from);
    return redacted;
}

void pid_cmdline_format(struct span text, size_t max, struct buf *ret)
{
    struct span rest = without_padding(text), before = {"", 0}, program = {"", 0};
    size_t start = ret->len;
    size_t left = 2 * (max + LOOK_AHEAD);
    for (bool first = true; rest.len && !ret->failed && ret->len - start <= max; first = false) {
        struct span argument = take_argument(&rest);
        if (!left) {
            buf_str(ret, " ...");
            break;
        }
        size_t most = min_u64(left, max + LOOK_AHEAD);
        if (first)
            program = span_base_name(argument);
        else
            buf_byte(ret, ' ');
        size_t from = ret->len;
        bool redacted = redact_argument_part(program, before, argument, most, ret);
        left -= min_u64(argument.len, most);
        quote(ret, from, first, redacted);
        if (!first)
            program = redact_program(program, argument);
        before = argument;
    }
    cut(ret, start, max);
}
