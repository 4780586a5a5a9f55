/* SPDX-License-Identifier: Apache-2.0 */
/* Finds text that every match of an expression contains. */
#include <stdbool.h>
#include <string.h>

#include "base/regex.h"

/* at: after a "[". Returns the position after the "]" that ends the bracket expression. A "]" that is its first
 * character, or that is within [:class:] and the like, does not end it. */
static const char *end_of_brackets(const char *at)
{
    at += *at == '^';
    at += *at == ']';
    while (*at && *at != ']') {
        char kind = at[0] == '[' ? at[1] : 0;
        const char ends[] = {kind, ']', 0};
        const char *end = kind == ':' || kind == '.' || kind == '=' ? strstr(at + 2, ends) : NULL;
        at = end ? end + 2 : at + 1;
    }
    return at + (*at != 0);
}

/* at: after a '('. Returns the position after the ')' that closes it. */
static const char *end_of_group(const char *at)
{
    for (unsigned depth = 1; *at && depth;) {
        char c = *at++;
        if (c == '\\')
            at += *at != 0;
        else if (c == '[')
            at = end_of_brackets(at);
        else
            depth += c == '(' ? 1 : c == ')' ? -1u : 0;
    }
    return at;
}

static bool is_ordinary(char c)
{
    return c && !strchr("\\^$.[]|()*+?{}", c);
}

/* at: the operators after a character. May that character occur zero times? "a+*" is "a*". */
static bool may_be_left_out(const char *at)
{
    while (*at == '+')
        at++;
    return *at && strchr("*?{", *at);
}

/* Drops the last character, which may be several bytes of UTF-8. */
static size_t without_last(const char *text, size_t len)
{
    while (len && (text[len - 1] & 0xc0) == 0x80)
        len--;
    return len ? len - 1 : 0;
}

/* at: a special character. Returns the position after the group, bracket expression or repetition that it begins. */
static const char *behind(const char *at)
{
    char c = *at++;
    const char *end = c == '{' ? strchr(at, '}') : NULL;
    if (c == '\\')
        return at + (*at != 0);
    return c == '[' ? end_of_brackets(at) : c == '(' ? end_of_group(at) : end ? end + 1 : at;
}

/* Does the expression have alternatives outside of groups? */
static bool has_branches(const char *at)
{
    while (*at && *at != '|')
        at = behind(at);
    return *at;
}

struct span regex_literal(const char *text)
{
    struct span best = {text, 0};
    const char *at = has_branches(text) ? text + strlen(text) : text;
    while (*at) {
        const char *begin = at;
        while (is_ordinary(*at))
            at++;
        size_t len = (size_t)(at - begin);
        len = may_be_left_out(at) ? without_last(begin, len) : len;
        if (len > best.len)
            best = span_of(begin, len);
        at = *at ? behind(at) : at;
    }
    return best;
}
