/* SPDX-License-Identifier: Apache-2.0 */
/* NAME=value and NAME: value, anywhere: options, environments, forms, queries, JSON, YAML, headers, connection strings.
 */
#include <string.h>

#include "recorder/redact/redact_parts.h"

enum { KEY_MAX = 80 };

struct pair {
    struct secret_ranges *m;
    const char *start, *end;   /* the text */
    const char *brace;         /* the first '{' in it, or its end */
    const char *separator;     /* '=' or ':' */
    const char *key, *key_end; /* the name */
    bool quoted, spaced;       /* "name", and name = value */
    bool script, blanks;       /* the text is a script; the text has blanks */
    char before;               /* the byte before the name, 0 if none */
};

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static bool is_key(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '.' || c == '-';
}

/* The name that ends before the separator: NAME, "NAME", \"NAME\", form[NAME]; blanks may come between them if there is
 * one after the separator, too. */
static bool key_find(struct pair *p)
{
    const char *q = p->separator;
    p->spaced = q + 1 < p->end && is_space(q[1]);
    if (p->spaced && *q == '=' && (q == p->start || q[-1] != ' '))
        return false; /* A= B: empty */
    for (int i = 0; i < 2 && p->spaced && q > p->start && q[-1] == ' '; i++)
        q--;
    if (q > p->start && *p->separator == '=' && q[-1] == ':')
        q--;
    p->quoted = q > p->start && is_quote(q[-1]);
    q -= p->quoted;
    if (p->quoted && q > p->start && q[-1] == '\\')
        q--;
    if (q > p->start && q[-1] == ']') {
        q--;
        q -= q > p->start && is_quote(q[-1]); /* ENV["NAME"] */
    }
    p->key_end = q;
    while (q > p->start && is_key(q[-1]) && p->key_end - q < KEY_MAX)
        q--;
    p->key = q;
    p->before = q > p->start ? q[-1] : 0;
    return p->key < p->key_end;
}

static const char *until(const struct pair *p, const char *from, const char *set, bool space_too)
{
    const char *q = from;
    while (q < p->end && !(*q && strchr(set, *q)) && !(space_too && is_space(*q)))
        q++;
    examined(p->m, (size_t)(q - from));
    return q;
}

/* Where an unquoted value ends: at the byte that was before its name, as in "a=1;b=2" and "a=1&b=2". */
static const char *value_end(const struct pair *p, const char *value)
{
    bool first = p->key == p->start;
    if (*p->separator == ':')
        return first && !p->spaced ? p->end : until(p, value, ",}\"'\\", true);
    if (first && !p->script && !p->spaced)
        return p->end;
    switch (p->before) {
    case '&':
    case '?':
    case '[': return until(p, value, "&#\"'", true);
    case ',':
    case '{': return until(p, value, ",}\"'", true);
    case ';': return until(p, value, ";\"'", false);
    case '=': return p->blanks ? until(p, value, "\"'", true) : p->end;
    case '"':
    case '\'': return until(p, value, p->before == '"' ? "\"" : "'", false);
    default: return until(p, value, "\"'", true);
    }
}

/* The value inside its quotes, which may be escaped; else up to its end. */
static struct span value_find(const struct pair *p, const char *value)
{
    const char *q = value;
    if (q + 1 < p->end && *q == '\\' && is_quote(q[1]))
        q++;
    if (q < p->end && is_quote(*q) &&
        (p->spaced || p->quoted || p->blanks || *p->separator == ':' || p->key > p->start)) {
        char quote = *q++;
        const char *stop = q;
        while (stop < p->end && *stop != quote)
            stop += *stop == '\\' && q[-2] != '\\' && stop + 1 < p->end ? 2 : 1;
        if (stop > p->end)
            stop = p->end;
        examined(p->m, (size_t)(stop - q));
        if (stop > q && stop[-1] == '\\' && stop < p->end)
            stop--;
        return span_of(q, (size_t)(stop - q));
    }
    return span_of(value, (size_t)(value_end(p, value) - value));
}

static bool is_line_end(const struct pair *p, const char *at)
{
    while (at < p->end && (*at == ' ' || *at == '\t'))
        at++;
    return at == p->end || *at == '\n' || *at == '\r' || is_quote(*at) || *at == '}' || *at == ',' || *at == '\\';
}

/* "Authorization: Bearer X", "Cookie: a=b; c=d": everything to the end of the line, except the scheme. */
static bool header_mark(const struct pair *p, const char *value)
{
    static const char *const schemes[] =
        WORDS("bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256", "splunk", "key");
    bool at_start =
        p->key == p->start || is_quote(p->before) || p->before == '=' || p->before == '\n' || p->before == 'H';
    struct span key = span_of(p->key, (size_t)(p->key_end - p->key));
    if (span_starts(key, "-H"))
        key = span_of(key.at + 2, key.len - 2);
    if (!key_is_header(key) || (!at_start && !(p->blanks && p->spaced)))
        return false;
    const char *stop = is_quote(p->before) ? until(p, value, p->before == '"' ? "\"\n" : "'\n", false)
                                           : until(p, value, "\r\n", false);
    for (const char *const *s = schemes; *s; s++) {
        size_t len = strlen(*s);
        if ((size_t)(stop - value) > len + 1 && strncasecmp(value, *s, len) == 0 &&
            (value[len] == ' ' || value[len] == '=')) {
            value += len + 1;
            break;
        }
    }
    if (value < stop && !value_is_harmless(TELLS_SECRET, span_of(value, (size_t)(stop - value)), p->script))
        mark(p->m, value, stop);
    return true;
}

/* A colon separates a pair only in JSON, in YAML, in /password:X of Windows, and after the name of a header. */
static bool colon_counts(const struct pair *p, const char *value)
{
    if (p->quoted)
        return true;
    struct span v = value_find(p, value);
    if (p->spaced)
        return is_line_end(p, v.at + v.len);
    if (p->before == '{' || p->before == ',')
        return p->brace < p->key;
    if (p->key == p->start && !value_is_harmless(TELLS_WEAK, v, false))
        return true; /* token:4f9d...; but token:latest */
    return (p->key == p->start && p->key[0] == '-') || (p->before == '/' && p->key == p->start + 1);
}

/* In code, `token = get()` and `token = sys.argv[1]` say where the value comes from. */
static bool is_code(const struct pair *p, struct span value)
{
    bool quoted = value.at > p->start && is_quote(value.at[-1]);
    return !quoted && p->blanks && (memchr(value.at, '(', value.len) || memchr(value.at, '[', value.len));
}

/* ?sig=X of a URL, which is a permission for everyone who has it. */
static bool is_signature(struct span key)
{
    return span_equal(key, "sig") || span_equal(key, "signature") || span_equal(key, "Signature") ||
           span_equal(key, "X-Amz-Signature") || span_equal(key, "X-Goog-Signature");
}

/* Returns where to continue the search. */
static const char *pair_mark(struct pair *p)
{
    const char *next = p->separator + 1, *value = next;
    if (next < p->end && *next == '=' && *p->separator == '=')
        return next + 1;
    if (!key_find(p))
        return next;
    while (value < p->end && (*value == ' ' || *value == '\t'))
        value++;
    if (*p->separator == ':' && !p->quoted && is_quote(p->before) && value < p->end && *value == p->before)
        return next; /* 'Password: ' is a prompt */
    if (*p->separator == ':' && !p->quoted && header_mark(p, value))
        return next;
    struct span key = span_of(p->key, (size_t)(p->key_end - p->key));
    enum telling tells = key_tells(key);
    if (p->before == '/' && span_equal(key, "p") && p->key == p->start + 1)
        tells = TELLS_SECRET;
    if (tells == TELLS_WEAK && (p->before == '&' || p->before == '?') && is_signature(key))
        tells = TELLS_SECRET;
    if (span_equal(key, "data") && span_starts(span_of(p->start, (size_t)(p->end - p->start)), "secret,"))
        tells = TELLS_SECRET; /* qemu -object secret,id=s0,data=X */
    if (tells == TELLS_NOTHING || (*p->separator == ':' && !colon_counts(p, value)))
        return next;
    if (span_equal(key, "PWD") || span_equal(key, "OLDPWD"))
        return next;
    struct span v = value_find(p, value);
    /* "$NAME" = is a test in a shell, $name = "x" an assignment in Perl. */
    if (p->before == '$' && (p->quoted || v.at == value))
        return next;
    if (value_is_harmless(tells, v, p->script) || is_code(p, v))
        return next;
    mark(p->m, v.at, v.at + v.len);
    return v.at + v.len;
}

void pairs_mark(struct secret_ranges *m, struct span text, bool script)
{
    const char *brace = memchr(text.at, '{', text.len);
    struct pair p = {.m = m, .start = text.at, .end = text.at + text.len, .script = script};
    p.brace = brace ? brace : p.end;
    for (size_t i = 0; i < text.len && !p.blanks; i++)
        p.blanks = is_space(text.at[i]);
    for (const char *at = p.start; at < p.end && !m->all;) {
        if (*at != '=' && *at != ':') {
            at++;
            continue;
        }
        p.separator = at;
        at = pair_mark(&p);
    }
}
