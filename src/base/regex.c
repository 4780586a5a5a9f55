/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regex.h"

#include <stdbool.h>
#include <string.h>

#define TOO_MANY (REGEX_MOST + 1ul)

static unsigned long limited(unsigned long n)
{
    return n > TOO_MANY ? TOO_MANY : n;
}

/* After a '[': what ends it does not in the first place, and not within [:class:] and its like. */
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

static unsigned long number(const char **at)
{
    unsigned long n = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        n = limited(10 * n + (unsigned long)(**at - '0'));
    return n;
}

/* After a '{': how often at most what stands before it is repeated; without an end, the least times and once more. */
static unsigned long repetitions(const char **at)
{
    unsigned long n = number(at), more;
    if (**at == ',') {
        (*at)++;
        more = **at >= '0' && **at <= '9' ? number(at) : n + 1;
        n = more > n ? more : n;
    }
    *at += **at == '}';
    return n ? n : 1;
}

unsigned long regex_states(const char *text)
{
    unsigned long sum[REGEX_DEPTH_MOST + 1] = {0}, last = 0;
    unsigned depth = 0;
    for (const char *at = text; *at;) {
        char c = *at++;
        if (c == '(') {
            if (++depth > REGEX_DEPTH_MOST)
                return TOO_MANY;
            sum[depth] = last = 0;
        } else if (c == ')' && depth) {
            last = sum[depth--] + 1;
            sum[depth] = limited(sum[depth] + last);
        } else if (c == '{' && *at >= '0' && *at <= '9') {
            unsigned long times = repetitions(&at);
            sum[depth] = limited(sum[depth] + last * (times - 1));
            last = limited(last * times);
        } else if (c == '+') { /* glibc makes "aa*" of "a+" */
            sum[depth] = limited(sum[depth] + last);
            last = limited(2 * last);
        } else if (c == '*' || c == '?') {
            sum[depth] = limited(sum[depth] + 1);
            last = limited(last + 1);
        } else {
            at += c == '\\' && *at;
            at = c == '[' ? end_of_brackets(at) : at;
            last = 1;
            sum[depth] = limited(sum[depth] + 1);
        }
    }
    while (depth) { /* not closed: an error for the compiler */
        sum[depth - 1] = limited(sum[depth - 1] + sum[depth]);
        depth--;
    }
    return sum[0];
}

/* at: after a '('. Returns what follows the ')' that closes it. */
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

/* at: a special character. Returns what follows the group, the bracket or the repetition that it begins. */
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
        len -= len && may_be_left_out(at); /* the last character of the run */
        if (len > best.len)
            best = span_of(begin, len);
        at = *at ? behind(at) : at;
    }
    return best;
}

int regex_make(regex_t *ret, const char *text, int flags, struct baro_error *err)
{
    char why[160];
    if (regex_states(text) > REGEX_MOST)
        return error_set(err, BARO_E_SYNTAX, "'%.80s' repeats too much, or has too many groups within each other",
                         text);
    int code = regcomp(ret, text, REG_EXTENDED | REG_NOSUB | flags);
    if (code == 0)
        return 0;
    regerror(code, ret, why, sizeof(why));
    char *basic = strstr(why, " or \\"); /* "Unmatched ( or \(": the second one is of basic expressions */
    if (basic)
        *basic = 0;
    return error_set(err, BARO_E_SYNTAX, "'%.80s' is not a regular expression: %s", text, why);
}
