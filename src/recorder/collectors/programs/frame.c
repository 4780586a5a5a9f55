/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stream of text parts into readings. */
#include "recorder/collectors/programs/reading.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_end_line(struct span line)
{
    while (line.len && is_blank(line.at[line.len - 1]))
        line.len--;
    return span_equal(line, "# EOF");
}

/* Up to the last bracket, or to the end of a line that breaks off in a string: then it is not JSON, and the next line
 * may be. A '{' that begins a line while another object is open is a new one: what was before it was cut off. */
static size_t next_json(struct reading_frame *f, struct span b)
{
    for (; f->at < b.len; f->at++) {
        char c = b.at[f->at];
        if (c == '\n' && (f->in_string || f->escaped))
            return f->at + 1;
        if (c == '{' && f->depth && *b.at == '{' && f->at && b.at[f->at - 1] == '\n' && !f->in_string)
            return f->at;
        if (f->escaped) {
            f->escaped = false;
        } else if (f->in_string) {
            f->escaped = c == '\\';
            f->in_string = c != '"';
        } else if (c == '"') {
            f->in_string = true;
        } else if (c == '{' || c == '[') {
            f->depth++;
        } else if (c == '}' || c == ']') {
            if (--f->depth == 0)
                return ++f->at;
        }
    }
    return 0;
}

static size_t next_text(struct reading_frame *f, struct span b)
{
    for (;;) {
        size_t n = b.len - f->line;
        const char *line = b.at + f->line;
        if (n && f->line && (*line == '{' || *line == '['))
            return f->line;
        const char *end = memchr(b.at + f->at, '\n', b.len - f->at);
        f->at = end ? (size_t)(end - b.at) + 1 : b.len;
        if (!end)
            return 0;
        if (is_end_line(span_of(line, (size_t)(end - line))))
            return f->at;
        f->line = f->at;
    }
}

size_t reading_next(struct reading_frame *f, struct span b, bool ended)
{
    size_t n = 0;
    while (!f->json && !f->text && f->at < b.len && is_blank(b.at[f->at]))
        f->at++;
    if (!f->json && !f->text && f->at < b.len) {
        f->json = b.at[f->at] == '{' || b.at[f->at] == '[';
        f->text = !f->json;
        if (f->at) /* blanks before it are a piece of their own, with nothing in it */
            n = f->at;
    }
    if (n)
        return n;
    if (f->json)
        n = next_json(f, b);
    else if (f->text)
        n = next_text(f, b);
    return !n && ended ? b.len : n;
}
