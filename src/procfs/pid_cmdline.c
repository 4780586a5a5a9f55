/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/cmdline for people. Arguments end with a NUL each; a program that wrote a title over them leaves one text
 * without any, or a row of NULs behind it. Redaction comes first and quoting second, so that no quote splits what a
 * rule looks for.
 */
#include "procfs/procfs.h"
#include "procfs/redact.h"

/* More empty arguments than this at the end are what a title left behind. */
enum { PADDING = 8 };
/* What is looked at of one argument beyond what is shown of it: a secret that begins in the part shown must be seen
 * whole. */
enum { LOOK_AHEAD = 16384 };

static struct span base_name(struct span path)
{
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    return slash ? span_of(slash + 1, (size_t)(path.at + path.len - slash - 1)) : path;
}

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

/* Bytes that no shell treats in a special way. '=' in the first word would be an assignment. */
static bool is_plain(unsigned char c, bool first)
{
    if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
        return true;
    return c && strchr("_@%+:,./-", c) != NULL ? true : c == '=' && !first;
}

/* Puts what was appended since `from` into single quotes, in place, unless it needs none. The stars of a redaction need
 * none: a shell gives them back. */
static void quote(struct buf *b, size_t from, bool first, bool redacted)
{
    size_t quotes = 0, special = 0;
    if (b->failed)
        return;
    for (size_t i = from; i < b->len; i++) {
        quotes += b->at[i] == '\'';
        special += !is_plain(b->at[i], first) && !(redacted && b->at[i] == '*');
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

/* Cuts to max bytes, at the start of a UTF-8 sequence where there is one. */
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

void pid_cmdline_format(struct span text, size_t max, struct buf *ret)
{
    struct span rest = without_padding(text), before = {"", 0}, program = {"", 0};
    size_t start = ret->len;
    for (bool first = true; rest.len && !ret->failed && ret->len - start <= max; first = false) {
        struct span argument = take_argument(&rest), seen = argument;
        if (seen.len > max + LOOK_AHEAD)
            seen.len = max + LOOK_AHEAD;
        if (first)
            program = base_name(argument);
        else
            buf_byte(ret, ' ');
        size_t from = ret->len;
        bool redacted = redact_argument(program, before, seen, ret);
        quote(ret, from, first, redacted);
        if (!first)
            program = redact_program(program, argument);
        before = argument;
    }
    cut(ret, start, max);
}
