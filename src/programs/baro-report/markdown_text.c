/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/markdown_text.h"

#include "output/rows/escaped.h"

#include <string.h>

#define TITLE_BYTES 100u

static bool is_word_byte(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* Returns the length of the longest run of backticks. */
static size_t longest_fence(const char *at, size_t len)
{
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < len; i++) {
        run = at[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* A code span ends at as many backticks as it began with. A table is split into cells before code is looked for, so a
 * bar within code needs its backslash; the number of backslashes before it is even, as each one was escaped. */
void markdown_code(struct buf *b, const char *at, size_t len, bool in_table)
{
    struct buf escaped = {0};
    text_escaped(&escaped, at, len);
    const char *text = (const char *)escaped.at;
    size_t n = escaped.failed ? 0 : escaped.len, fence = n ? longest_fence(text, n) + 1 : 0;
    bool padded = n && (text[0] == '`' || text[n - 1] == '`' || (text[0] == ' ' && text[n - 1] == ' '));
    if (!n)
        buf_str(b, "(not known)");
    for (size_t i = 0; i < fence; i++)
        buf_byte(b, '`');
    buf_str(b, padded ? " " : "");
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '|' && in_table)
            buf_byte(b, '\\');
        buf_byte(b, (uint8_t)text[i]);
    }
    buf_str(b, padded ? " " : "");
    for (size_t i = 0; i < fence; i++)
        buf_byte(b, '`');
    b->failed = b->failed || escaped.failed;
    buf_done(&escaped);
}

bool markdown_title(struct buf *b, const struct buf *title, bool in_table)
{
    size_t n = title->failed ? 0 : title->len;
    bool is_cut = n > TITLE_BYTES;
    for (n = is_cut ? TITLE_BYTES : n; is_cut && n && (title->at[n] & 0xc0) == 0x80; n--)
        ;
    markdown_code(b, (const char *)title->at, n, in_table);
    buf_str(b, is_cut ? "…" : "");
    return is_cut;
}

/*
 * GitHub links "@name", "#12", ":smile:" and "www.example.org" in text after it was unescaped, so a backslash does not
 * help; an empty comment between the two parts does.
 */
static bool begins_link(const char *at, size_t len, size_t i)
{
    unsigned char next = i + 1 < len ? (unsigned char)at[i + 1] : ' ';
    if (at[i] == '@' || at[i] == '#')
        return is_word_byte(next);
    if (at[i] == ':')
        return (next && strchr("/+-_", next)) || (is_word_byte(next) && (next < '0' || next > '9'));
    return next == '.' && i >= 2 && (at[i] | 0x20) == 'w' && (at[i - 1] | 0x20) == 'w' && (at[i - 2] | 0x20) == 'w';
}

/* At the beginning of a line, text could be a heading, a quotation or an item of a list. */
static bool begins_block(const char *at, size_t i, size_t len)
{
    if (strchr("#+-=>", at[i]))
        return i == 0;
    size_t digits = 0;
    while (digits < i && at[digits] >= '0' && at[digits] <= '9')
        digits++;
    bool ends = i + 1 == len || at[i + 1] == ' ';
    return (at[i] == '.' || at[i] == ')') && i > 0 && digits == i && ends;
}

void markdown_escaped_text(struct buf *b, const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr("\\`*_{}[]<>&|~$!", at[i]) || begins_block(at, i, len))
            buf_byte(b, '\\');
        buf_byte(b, (uint8_t)at[i]);
        if (begins_link(at, len, i))
            buf_str(b, "<!-- -->");
    }
}

void markdown_text(struct buf *b, const char *at, size_t len)
{
    struct buf escaped = {0};
    text_escaped(&escaped, at, len);
    if (!escaped.failed)
        markdown_escaped_text(b, (const char *)escaped.at, escaped.len);
    b->failed = b->failed || escaped.failed;
    buf_done(&escaped);
}
