/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that are recognised by their form: tokens with a prefix of their issuer, JWT, PEM keys, userinfo in URLs, and
 * random words. */
#include <string.h>

#include "recorder/redact/redact_parts.h"

enum { RANDOM_MIN = 32, RANDOM_MAX = 128 };
/* How many bytes of a URL are examined. */
enum { URL_MAX = 2048 };

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token(char c)
{
    return is_alnum(c) || c == '_' || c == '-';
}

static const char *while_token(const char *p, const char *end, const char *more)
{
    while (p < end && (is_token(*p) || (*p && strchr(more, *p))))
        p++;
    return p;
}

static unsigned class_of(char c)
{
    return is_digit(c) ? 1 : c >= 'a' && c <= 'z' ? 2 : c >= 'A' && c <= 'Z' ? 3 : 0;
}

/* Letters of both cases and digits that change at half of all places or more. Random text of 62 characters changes at
 * 62 % of them, CamelCase at 40 %. Hex, as in commits and digests, has only one case. */
bool looks_random(struct span s)
{
    size_t changes = 0, digit_runs = 0;
    unsigned seen = 0;
    if (s.len < RANDOM_MIN || s.len > RANDOM_MAX || span_starts(s, "AAAA") || span_starts(s, "sha"))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned class = class_of(s.at[i]), last = i ? class_of(s.at[i - 1]) : 0;
        if (!class && s.at[i] != '_' && s.at[i] != '-' && s.at[i] != '+' && s.at[i] != '/' && s.at[i] != '=')
            return false;
        seen |= 1u << class;
        changes += i && class != last;
        digit_runs += class == 1 && last != 1;
    }
    return (seen & 14) == 14 && changes * 2 >= s.len && digit_runs >= 3;
}

static bool is_mixed(const char *p, const char *end)
{
    bool digit = false, letter = false;
    for (; p < end; p++) {
        digit |= is_digit(*p);
        letter |= is_alnum(*p) && !is_digit(*p);
    }
    return digit && letter;
}

/* eyJ.... . eyJ.... . signature: the first two parts are JSON objects in base64. The signature may be missing. */
static const char *jwt_end(const char *p, const char *end)
{
    if (end - p < 20 || memcmp(p, "eyJ", 3) != 0)
        return NULL;
    const char *dot = while_token(p, end, "");
    if (dot - p < 10 || dot == end || *dot != '.')
        return NULL;
    const char *second = while_token(dot + 1, end, "");
    return second - dot < 10 ? NULL : while_token(second, end, ".=");
}

/* Stops as early as it can: otherwise a row of "s.s.s." would be read to its end from each of its bytes. */
static bool is_shape(const struct shape *s, const char *p, const char *end)
{
    size_t len = strlen(s->prefix);
    if ((size_t)(end - p) < len + s->rest || memcmp(p, s->prefix, len) != 0)
        return false;
    const char *rest = p + len, *enough = rest + s->rest;
    return while_token(rest, enough, memchr(s->prefix, '.', len) ? "." : "") == enough &&
           (!s->mixed || is_mixed(rest, while_token(rest, end, "")));
}

static const char *shape_end(const char *p, const char *end)
{
    for (const struct shape *s = redact_shapes; s->prefix; s++)
        if (s->prefix[0] == *p && is_shape(s, p, end))
            return while_token(p, end, ".=+/");
    return jwt_end(p, end);
}

static void pem_mark(struct secret_ranges *m, struct span text)
{
    static const char begin[] = "-----BEGIN ", stop[] = "-----END ";
    const char *end = text.at + text.len, *p = memmem(text.at, text.len, begin, sizeof(begin) - 1);
    if (!p || !memmem(p, (size_t)(end - p), "PRIVATE KEY", 11))
        return;
    const char *close = memmem(p, (size_t)(end - p), stop, sizeof(stop) - 1);
    mark(m, p, close ? close : end);
}

static void telegram_mark(struct secret_ranges *m, const char *start, const char *p, const char *end)
{
    const char *digits = p;
    while (digits > start && is_digit(digits[-1]))
        digits--;
    const char *stop = while_token(p + 1, end, "");
    if (p - digits >= 8 && p - digits <= 10 && stop - p > 30)
        mark(m, digits, stop);
}

void shapes_mark(struct secret_ranges *m, struct span text)
{
    const char *start = text.at, *end = start + text.len;
    pem_mark(m, text);
    for (const char *p = start; p < end && !m->all;) {
        if (*p == ':' && p > start && is_digit(p[-1]))
            telegram_mark(m, start, p, end);
        if (!is_alnum(*p)) {
            p++;
            continue;
        }
        const char *stop = shape_end(p, end);
        if (stop) {
            mark(m, p, stop);
        } else {
            stop = while_token(p, end, "+");
            bool fingerprint = p - start >= 7 && memcmp(p - 7, "SHA256:", 7) == 0;
            if (!fingerprint && looks_random(span_of(p, (size_t)(stop - p))))
                mark(m, p, stop);
            /* "Bearer X" without its header, as some clients accept it. */
            if (stop - p == 6 && strncasecmp(p, "bearer", 6) == 0 && stop < end && is_space(*stop)) {
                const char *from = stop + 1, *to = while_token(from, end, ".~+/=");
                if (to - from >= 16 || (to - from >= 8 && is_mixed(from, to)))
                    mark(m, from, to);
            }
        }
        p = stop;
    }
}

/* The quoted text after certain words of SQL: PASSWORD 'x', PASSWORD('x'), IDENTIFIED WITH plugin BY 'x'. */
void sql_mark(struct secret_ranges *m, struct span text)
{
    static const char *const words[] = {
        "password", "identified by", "convertto-securestring", "convertto-securestring -string", " by", " using"};
    const size_t alone = 4; /* the first four are enough; the others need IDENTIFIED or "connect to" before them */
    const char *end = text.at + text.len;
    const char *by = memmem(text.at, text.len, "IDENTIFIED", 10), *to = memmem(text.at, text.len, "connect to", 10);
    for (const char *p = text.at; p < end && !m->all; p++) {
        if (*p != '\'' && *p != '"')
            continue;
        const char *stop = memchr(p + 1, *p, (size_t)(end - p - 1)), *before = p;
        if (!stop)
            return;
        while (before > text.at && (before[-1] == ' ' || before[-1] == '('))
            before--;
        for (size_t i = 0; i < sizeof(words) / sizeof(*words) && before < p; i++) {
            size_t len = strlen(words[i]);
            bool hit = (size_t)(before - text.at) >= len && strncasecmp(before - len, words[i], len) == 0;
            if (hit && (i < alone || (by && by < before) || (to && to < before)))
                mark(m, p + 1, stop);
        }
        p = stop;
    }
}

/* ---- URLs ---- */

static const char *find_any(const char *p, const char *end, const char *set)
{
    while (p < end && !(*p && strchr(set, *p)) && !is_space(*p))
        p++;
    return p;
}

/* A token instead of a user: https://TOKEN@github.com, or the hex key of an error reporting service. */
static bool is_lone_secret(const char *from, const char *to)
{
    if (to - from < 16 || !is_mixed(from, to))
        return false;
    size_t digits = 0;
    for (const char *p = from; p < to; p++) {
        if (!is_token(*p))
            return false;
        digits += is_digit(*p);
    }
    return digits >= 4;
}

static bool is_hole(const char *p, const char *end, bool script)
{
    return p == end || (*p == '{' && p + 1 < end && p[1] == '{') ||
           (*p == '$' && (script || (p + 1 < end && p[1] == '{'))) || *p == '<';
}

static void userinfo_mark(struct secret_ranges *m, const char *from, const char *at, bool script)
{
    const char *colon = memchr(from, ':', (size_t)(at - from));
    if (colon) {
        if (!is_hole(colon + 1, at, script))
            mark(m, colon + 1, at);
    } else if (is_lone_secret(from, at)) {
        mark(m, from, at);
    }
}

/* The authority, which begins at p. A password may contain '/', '#' or '?' although that is not allowed. */
static void authority_mark(struct secret_ranges *m, const char *p, const char *end, bool script)
{
    if (end - p > URL_MAX)
        end = p + URL_MAX;
    const char *stop = find_any(p, end, "\"'<>`"), *host_end = find_any(p, stop, "/?#");
    examined(m, (size_t)(stop - p));
    if (host_end <= p)
        return;
    const char *at = memrchr(p, '@', (size_t)(host_end - p)), *colon = memchr(p, ':', (size_t)(host_end - p));
    if (at) {
        userinfo_mark(m, p, at, script);
        return;
    }
    if (!colon || *p == '[')
        return;
    const char *port = colon + 1;
    while (port < host_end && (is_digit(*port) || *port == ',' || *port == '.' || *port == ':'))
        port++;
    if (port == host_end || memchr(p, ',', (size_t)(host_end - p)))
        return;
    at = memchr(host_end, '@', (size_t)(stop - host_end));
    if (at)
        userinfo_mark(m, p, at, script);
    else if (stop == end && host_end == end && is_alnum(*port) && memchr("$%{", *(colon + 1), 3) == NULL)
        mark(m, colon + 1, end); /* truncated before its '@' */
}

static void place_mark(struct secret_ranges *m, const char *p, const char *end)
{
    if (end - p > URL_MAX)
        end = p + URL_MAX;
    const char *stop = find_any(p, end, "\"'<>`");
    examined(m, (size_t)(stop - p));
    for (const char *const *place = redact_places; *place; place++) {
        const char *hit = memmem(p, (size_t)(stop - p), *place, strlen(*place));
        if (hit && hit + strlen(*place) < stop)
            mark(m, hit + strlen(*place), stop);
    }
}

static bool is_name(const char *p, const char *end, const char *more)
{
    if (p == end)
        return false;
    for (; p < end; p++)
        if (!is_token(*p) && !(*p && strchr(more, *p)))
            return false;
    return true;
}

static bool is_version(const char *p, const char *end)
{
    int dots = 0;
    if (p == end || (!is_digit(*p) && *p != 'v' && *p != '^' && *p != '~'))
        return false;
    for (const char *q = p; q < end; q++)
        dots += *q == '.';
    return dots != 3;
}

/* user:password@host without a scheme, as proxies and Go's DSN have it. Digests, package aliases and mail addresses
 * look similar. */
static void bare_mark(struct secret_ranges *m, const char *start, const char *at, const char *end, bool script)
{
    static const char *const others[] = {"mailto", "sip", "sips",   "npm", "acct",      "xmpp", "jsr", "tel",
                                         "file",   "pkg", "docker", "oci", "workspace", "jdbc", NULL};
    const char *from = at;
    while (from > start && !is_space(from[-1]) && !strchr("\"'=,;@<>|", from[-1]))
        from--;
    if (at - from > 2 && from[0] == '/' && from[1] == '/')
        from += 2;
    const char *colon = memchr(from, ':', (size_t)(at - from));
    if (!colon || colon + 1 == at || (colon[1] == '/' && colon + 2 < at && colon[2] == '/') ||
        !is_name(from, colon, ".%+\\/") || from[0] == '/')
        return;
    for (const char *const *o = others; *o; o++)
        if ((size_t)(colon - from) == strlen(*o) && memcmp(from, *o, strlen(*o)) == 0)
            return;
    const char *host = at + 1, *stop = find_any(host, end, "/:(\"',;?");
    if (stop < end && *stop == '(')
        goto found;
    if (!is_name(host, stop, ".") || is_version(host, stop) || memchr(colon, '/', (size_t)(at - colon)) ||
        (size_t)(stop - host) == 6 * !memcmp(host, "sha256", stop - host >= 6 ? 6 : 0))
        return;
    if (!memchr(host, '.', (size_t)(stop - host)) && !(stop < end && (*stop == ':' || *stop == '/')) &&
        (size_t)(stop - host) != 9)
        return;
found:
    if (!is_hole(colon + 1, at, script))
        mark(m, colon + 1, at);
}

/* jdbc:oracle:thin:user/password@host */
static void oracle_mark(struct secret_ranges *m, const char *start, const char *at)
{
    static const char scheme[] = "jdbc:oracle:";
    const char *from = at;
    while (from > start && !is_space(from[-1]) && !strchr("\"'<>|", from[-1]) && at - from < URL_MAX)
        from--;
    examined(m, (size_t)(at - from));
    const char *hit = memmem(from, (size_t)(at - from), scheme, sizeof(scheme) - 1);
    const char *colon = hit ? memchr(hit + sizeof(scheme) - 1, ':', (size_t)(at - hit) - (sizeof(scheme) - 1)) : NULL;
    const char *slash = colon ? memchr(colon, '/', (size_t)(at - colon)) : NULL;
    if (slash && slash > colon + 1 && slash + 1 < at)
        mark(m, slash + 1, at);
}

void urls_mark(struct secret_ranges *m, struct span text, bool script)
{
    const char *end = text.at + text.len;
    for (const char *p = text.at; p < end && !m->all; p++) {
        if (*p == ':' && end - p > 3 && p[1] == '/' && p[2] == '/') {
            authority_mark(m, p + 3, end, script);
            place_mark(m, p + 3, end);
        } else if (*p == '@' && p > text.at) {
            oracle_mark(m, text.at, p);
            bare_mark(m, text.at, p, end, script);
        }
    }
}
