/* SPDX-License-Identifier: Apache-2.0 */
/* What an expect(1) script types: `send "hunter2\r"`. Commands that it types contain blanks or are common ones. */
#include <string.h>

#include "recorder/redact/redact_parts.h"

static const char *skip_spaces(const char *p, const char *end)
{
    while (p < end && is_space(*p))
        p++;
    return p;
}

/* Skips -- and -s, -h, flags without a value, and -i with its value. */
static const char *skip_flags(const char *p, const char *end)
{
    p = skip_spaces(p, end);
    while (p < end && *p == '-') {
        bool has_value = end - p > 2 && p[1] == 'i' && is_space(p[2]);
        for (int word = 0; word < 1 + has_value; word++) {
            while (p < end && !is_space(*p))
                p++;
            p = skip_spaces(p, end);
        }
    }
    return p;
}

/* The text in "..." or {...}, or up to a blank or semicolon; the quotes may be escaped for an outer shell. */
static struct span typed(const char *p, const char *end)
{
    p += p + 1 < end && p[0] == '\\' && p[1] == '"';
    if (p == end)
        return span_of(end, 0);
    char close = *p == '"' ? '"' : *p == '{' ? '}' : 0;
    const char *stop = p += close != 0;
    while (stop < end && (close ? *stop != close : !is_space(*stop) && *stop != ';'))
        stop++;
    while (stop > p && (stop[-1] == 'r' || stop[-1] == 'n') && stop - p > 1 && stop[-2] == '\\') {
        stop -= 2;
        while (stop > p && stop[-1] == '\\')
            stop--;
    }
    while (stop > p && (is_space(stop[-1]) || stop[-1] == '\\'))
        stop--;
    return span_of(p, (size_t)(stop - p));
}

static bool is_common(struct span s)
{
    static const char *const words[] =
        WORDS("exit", "quit", "yes", "no", "y", "n", "q", "logout", "enable", "ls", "pwd", "date", "uptime", "whoami",
              "id", "help", "end", "bye", "top", "shutdown", "reboot");
    if (!s.len || s.at[0] == '$' || s.at[0] == '[' || s.at[0] == '\\')
        return true;
    for (const char *const *w = words; *w; w++) {
        if (span_equal(s, *w))
            return true;
    }
    return false;
}

static bool has_space(struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (is_space(s.at[i]))
            return true;
    }
    return false;
}

void expect_mark(struct secret_ranges *m, struct span program, struct span text)
{
    const char *end = text.at + text.len, *asked = text.at;
    if (!span_equal(program, "expect") && !memmem(text.at, text.len, "expect ", 7) &&
        !memmem(text.at, text.len, "expect -c", 9))
        return;
    for (const char *p = text.at; !m->all && (p = memmem(p, (size_t)(end - p), "send", 4)) != NULL;) {
        bool whole =
            (p == text.at || is_space(p[-1]) || p[-1] == ';' || p[-1] == '{' || p[-1] == '\'' || p[-1] == '"') &&
            p + 4 < end && is_space(p[4]);
        const char *before = p;
        p += 4;
        if (!whole)
            continue;
        struct span value = typed(skip_flags(p, end), end);
        bool prompted = memmem(asked, (size_t)(before - asked), "assword", 7) ||
                        memmem(asked, (size_t)(before - asked), "assphrase", 9);
        if (!is_common(value) && (prompted || !has_space(value)))
            mark(m, value.at, value.at + value.len);
        asked = p = value.at + value.len > p ? value.at + value.len : p;
    }
}
