/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets anywhere in a text, in one pass: NAME=value and NAME: value of options, environments, forms, queries, JSON,
 * YAML, headers and connection strings; user:password@host; tokens with a known prefix; random words.
 *
 * The pass is linear. What a rule reads ahead of its place is either passed over afterwards, because it is a secret, or
 * at most NEAR bytes long.
 */
#include <string.h>

#include "recorder/redact/redact_parts.h"

enum { NAME_MOST = 80, NEAR = 256 };
/* The shortest of what is known by its prefix: "discord.com" of an address. */
enum { PREFIXED_MIN = 11 };

struct text {
    struct secret_ranges *m;
    const char *start, *end;
    const char *brace;   /* the first '{' in it, or its end */
    bool script, blanks; /* it is a script; it has blanks */
    /* A word that may be user:password@host, or the authority of a URL, which began at `user` (NULL: none). */
    const char *user, *colon, *slash, *at; /* the first ':', the first '/' after it that may be part of a password */
    bool url;
    bool oracle; /* jdbc:oracle:thin:user/password@host: `colon` is the '/' */
};

static bool is_token(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}

static bool is_in(char c, const char *set)
{
    return c && strchr(set, c);
}

static const char *while_token(const char *p, const char *end, const char *more)
{
    while (p < end && (is_token(*p) || is_in(*p, more)))
        p++;
    return p;
}

static const char *until(const char *p, const char *end, const char *set, bool blank_too)
{
    while (p < end && !is_in(*p, set) && !(blank_too && is_space(*p)))
        p++;
    return p;
}

static struct span between(const char *from, const char *to)
{
    return span_of(from, (size_t)(to - from));
}

/* ---- names and values ---- */

struct pair {
    const char *separator;  /* '=' or ':' */
    const char *name, *end; /* the name */
    const char *value;      /* where its value begins */
    bool quoted, spaced;    /* "name", and name = value */
    char before;            /* the byte before the name, 0 if none */
};

/* The name before the separator: NAME, "NAME", \"NAME\", form[NAME]; blanks may come between them if there is one after
 * the separator, too. */
static bool name_find(const struct text *t, const char *separator, struct pair *p)
{
    const char *q = separator, *start = t->start;
    p->separator = separator;
    p->spaced = q + 1 < t->end && is_space(q[1]);
    if (p->spaced && *q == '=' && (q == start || q[-1] != ' '))
        return false; /* A= B: empty */
    for (int i = 0; i < 2 && p->spaced && q > start && q[-1] == ' '; i++)
        q--;
    q -= q > start && *separator == '=' && q[-1] == ':';
    p->quoted = q > start && is_quote(q[-1]);
    q -= p->quoted;
    q -= p->quoted && q > start && q[-1] == '\\';
    if (q > start && q[-1] == ']') {
        q--;
        q -= q > start && is_quote(q[-1]); /* ENV["NAME"] */
    }
    p->end = q;
    while (q > start && (is_token(q[-1]) || q[-1] == '.') && p->end - q < NAME_MOST)
        q--;
    p->name = q;
    p->before = q > start ? q[-1] : 0;
    p->value = separator + 1;
    while (p->value < t->end && (*p->value == ' ' || *p->value == '\t'))
        p->value++;
    return p->name < p->end;
}

/* The value, up to `end` of the text: inside its quotes, which may be escaped, or up to the byte that was before its
 * name, as in "a=1;b=2" and "a=1&b=2". */
static struct span value_find(const struct text *t, const struct pair *p, const char *end)
{
    const char *v = p->value, *q = v + (v + 1 < end && *v == '\\' && is_quote(v[1]));
    bool first = p->name == t->start;
    if (q < end && is_quote(*q) && (p->spaced || p->quoted || t->blanks || *p->separator == ':' || !first)) {
        char quote = *q++;
        const char *stop = q;
        while (stop < end && *stop != quote)
            stop += *stop == '\\' && q[-2] != '\\' && stop + 1 < end ? 2 : 1;
        return between(q, stop - (stop > q && stop[-1] == '\\' && stop < end));
    }
    if (*p->separator == ':')
        return between(v, first && !p->spaced ? end : until(v, end, ",}\"'\\", true));
    if (first && !t->script && !p->spaced)
        return between(v, end);
    const char *stops = is_in(p->before, "&?[")  ? "&#\"'"
                        : is_in(p->before, ",{") ? ",}\"'"
                        : p->before == ';'       ? ";\"'"
                        : p->before == '"'       ? "\""
                        : p->before == '\''      ? "'"
                                                 : "\"'";
    return between(v, until(v, end, stops, !is_in(p->before, ";\"'")));
}

/* "Authorization: Bearer X", "Cookie: a=b; c=d": everything to the end of the line or the quote, except the scheme. */
static struct span header_find(const struct pair *p, const char *end)
{
    const char *v = p->value;
    const char *stop = until(v, end, p->before == '"' ? "\"\n" : p->before == '\'' ? "'\n" : "\r\n", false);
    const char *scheme = until(v, stop, " =", false);
    return between(scheme + 1 < stop && in_list_any_case(redact_schemes, between(v, scheme)) ? scheme + 1 : v, stop);
}

static bool is_header(const struct text *t, const struct pair *p)
{
    struct span name = between(p->name, p->end);
    if (span_starts(name, "-H"))
        name = span_of(name.at + 2, name.len - 2);
    bool at_start = p->name == t->start || is_in(p->before, "\"'=\nH");
    return *p->separator == ':' && !p->quoted && (at_start || (t->blanks && p->spaced)) && name_is_header(name);
}

/* A colon separates a name and its value only in JSON, in YAML, in /password:X of Windows, and in token:4f9d... */
static bool colon_counts(const struct text *t, const struct pair *p, struct span value, const char *end)
{
    if (p->quoted)
        return true;
    if (p->spaced) {
        const char *next = value.at + value.len;
        while (next < end && (*next == ' ' || *next == '\t'))
            next++;
        return next == end || is_in(*next, "\n\r\"'},\\");
    }
    if (is_in(p->before, "{,"))
        return t->brace < p->name;
    if (p->name == t->start)
        return *p->name == '-' || !value_is_harmless(TELLS_WEAK, value, false);
    return p->before == '/' && p->name == t->start + 1;
}

static enum telling pair_tells(const struct text *t, const struct pair *p)
{
    struct span name = between(p->name, p->end);
    if (span_equal(name, "PWD") || span_equal(name, "OLDPWD"))
        return TELLS_NOTHING;
    if (span_equal(name, "p") && p->before == '/' && p->name == t->start + 1) /* /p:X of Windows */
        return TELLS_SECRET;
    if (span_equal(name, "data") && span_starts(between(t->start, t->end), "secret,"))
        return TELLS_SECRET; /* qemu -object secret,id=s0,data=X */
    enum telling tells = name_tells(name);
    /* ?sig=X of a URL is a permission for everyone who has it. */
    return tells == TELLS_WEAK && is_in(p->before, "&?") && (span_ends(name, "ignature") || span_equal(name, "sig"))
               ? TELLS_SECRET
               : tells;
}

/* The pair at a '=' or ':'. Returns where to continue. */
static const char *pair_mark(struct text *t, const char *separator)
{
    struct pair p;
    const char *next = separator + 1, *near = t->end - next > NEAR ? next + NEAR : t->end;
    if (*separator == '=' && next < t->end && *next == '=')
        return next + 1;
    if (!name_find(t, separator, &p))
        return next;
    if (*separator == ':' && !p.quoted && is_quote(p.before) && p.value < t->end && *p.value == p.before)
        return next; /* 'Password: ' is a prompt */
    if (p.value > near)
        near = p.value;
    bool header = is_header(t, &p);
    enum telling tells = header ? TELLS_SECRET : pair_tells(t, &p);
    if (tells == TELLS_NOTHING)
        return next;
    struct span v = header ? header_find(&p, near) : value_find(t, &p, near);
    if (value_is_harmless(tells, v, t->script))
        return next;
    if (!header) {
        bool bare = v.at == p.value;
        if (*separator == ':' && !colon_counts(t, &p, v, near))
            return next;
        if (p.before == '$' && (p.quoted || bare))
            return next; /* "$NAME" = is a test in a shell, $name = "x" an assignment in Perl */
        if (!is_quote(v.at[-1]) && t->blanks && (memchr(v.at, '(', v.len) || memchr(v.at, '[', v.len)))
            return next; /* token = get() and token = sys.argv[1] of code say where the value comes from */
    }
    v = header ? header_find(&p, t->end) : value_find(t, &p, t->end);
    mark(t->m, v.at, v.at + v.len);
    return v.at + v.len;
}

/* ---- user:password@host ---- */

static void user_begin(struct text *t, const char *at, bool url)
{
    t->user = at;
    t->colon = t->slash = t->at = NULL;
    t->url = url;
    t->oracle = false;
}

static bool is_hole(const struct text *t, const char *p, const char *end)
{
    return p == end || *p == '<' || span_starts(between(p, end), "{{") || span_starts(between(p, end), "${") ||
           (*p == '$' && t->script);
}

/* Is it a port, or the ports and hosts of a list? */
static bool is_port(const char *p, const char *end)
{
    const char *q = p;
    while (q < end && (is_digit(*q) || is_in(*q, ",.:")))
        q++;
    return q == end || memchr(p, ',', (size_t)(end - p));
}

static void url_at(struct text *t, const char *at)
{
    if (!t->colon) {
        /* a token instead of a user: https://TOKEN@github.com, or the key of an error reporting service */
        if (at - t->user >= 16 && at[-1] != ':' && has_letter_and_digit(between(t->user, at)))
            mark(t->m, t->user, at);
        t->user = NULL;
        return;
    }
    if (!is_hole(t, t->colon + 1, at))
        mark(t->m, t->colon + 1, at);
    t->at = at; /* a password may have another '@' */
}

/* user:password@host without a scheme, as proxies and DSNs have it. Digests, package aliases and mail addresses look
 * similar. */
static void word_at(struct text *t, const char *at)
{
    const char *from = t->user, *colon = t->colon, *end = t->end - at > NEAR ? at + NEAR : t->end;
    if (!colon || colon + 1 == at)
        return;
    if (at - from > 2 && from[0] == '/' && from[1] == '/')
        from += 2;
    struct span user = between(from, colon), host = between(at + 1, while_token(at + 1, end, "."));
    if (!user.len || *from == '/' || while_token(from, colon, ".%+\\/") < colon || in_list(redact_no_users, user))
        return;
    char next = host.at + host.len < end ? host.at[host.len] : ' ';
    bool plain = !t->slash && host.len && !span_equal(host, "sha256") &&
                 (is_letter(*host.at) || is_port(host.at, host.at + host.len)) &&
                 (memchr(host.at, '.', host.len) || is_in(next, ":/") || span_equal(host, "localhost")) &&
                 (is_space(next) || is_in(next, "/:(\"',;?"));
    if ((plain || next == '(') && !is_hole(t, colon + 1, at))
        mark(t->m, colon + 1, at);
}

/* The next byte of a word or an authority. */
static void user_step(struct text *t, const char *p)
{
    char c = *p;
    if (is_space(c) || is_in(c, t->url ? "\"'<>" : "\"'<>|=,;")) {
        user_begin(t, p + 1, false);
    } else if (c == '@' && t->user && p > t->user) {
        t->url ? url_at(t, p) : word_at(t, p);
        if (!t->url)
            user_begin(t, p + 1, false);
    } else if (c == ':' && t->user && !t->colon && !t->oracle) {
        t->oracle = span_starts(between(t->user, t->end), "jdbc:oracle:");
        t->url |= t->oracle;
        t->colon = t->oracle ? NULL : p;
    } else if (c == '/' && t->oracle && t->user && !t->colon) {
        t->colon = p;
    } else if (c == '/' && !t->url && t->colon && !t->slash) {
        t->slash = p;
    } else if (t->url && is_in(c, "/?#") && !t->slash && !t->oracle) {
        /* the end of the authority, unless it is part of a password, where it should have been escaped */
        if (t->at || !t->colon || is_port(t->colon + 1, p) || *t->user == '[')
            user_begin(t, NULL, false);
        else
            t->slash = p;
    }
}

/* The text ends in an authority: it may have been cut before its '@'. What stands before the colon must be like a user.
 */
static void user_end(struct text *t)
{
    if (!t->url || !t->user || !t->colon || t->at || t->slash || *t->user == '[' || is_port(t->colon + 1, t->end) ||
        is_in(t->colon[1], "$%{") || while_token(t->user, t->colon, ".%+~") < t->colon)
        return;
    mark(t->m, t->colon + 1, t->end);
}

/* ---- tokens ---- */

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

/* Reads no more than it must: otherwise a row of "s.s.s." would be read to its end from each of its bytes. */
static bool has_prefix(const struct prefix *x, const char *prefix, size_t len, const char *p, const char *end)
{
    if ((size_t)(end - p) < len + x->rest || memcmp(p, prefix, len) != 0)
        return false;
    const char *rest = p + len, *enough = rest + x->rest;
    return while_token(rest, enough, memchr(prefix, '.', len) ? "." : "") == enough &&
           (x->what != MIXED || has_letter_and_digit(between(rest, while_token(rest, end, ""))));
}

/* The token that begins at p. Returns its end. */
static const char *token_mark(struct text *t, const char *p)
{
    const char *end = t->end, *stop = jwt_end(p, end), *from = p;
    bool is_long = end - p >= PREFIXED_MIN && while_token(p, p + PREFIXED_MIN, ".") == p + PREFIXED_MIN;
    for (const struct prefix *x = redact_prefixes; x->prefixes && is_long && !stop; x++)
        for (const char *w = x->prefixes; !stop && (w = next_with(w, *p)) != NULL;) {
            size_t len = (size_t)(strchrnul(w, ' ') - w);
            if (!has_prefix(x, w, len, p, end))
                continue;
            from += x->what == PATH ? len : 0;
            stop = x->what == PATH ? until(from, end, "\"'<>`", true) : while_token(p, end, ".=+/");
        }
    if (stop) {
        mark(t->m, from, stop);
        return stop;
    }
    stop = while_token(p, end, "+");
    struct span word = between(p, stop);
    if (looks_random(word) && !(p - t->start >= 7 && memcmp(p - 7, "SHA256:", 7) == 0)) {
        mark(t->m, p, stop);
    } else if (stop < end && *stop == ':') { /* 123456789:AbC..., the token of a bot of Telegram */
        const char *digits = stop, *rest = while_token(stop + 1, end, "");
        while (digits > p && is_digit(digits[-1]) && stop - digits <= 10)
            digits--;
        if (stop - digits < 8 || stop - digits > 10 || rest - stop <= 30)
            return stop;
        mark(t->m, digits, rest);
        return rest;
    } else if (word.len == 6 && strncasecmp(p, "bearer", 6) == 0 && stop < end && is_space(*stop)) {
        /* without its header, as some clients accept it */
        const char *rest = while_token(stop + 1, end, ".~+/=");
        struct span value = between(stop + 1, rest);
        if (value.len >= 16 || (value.len >= 8 && has_letter_and_digit(value)))
            mark(t->m, value.at, rest);
    }
    return stop;
}

static void private_key_mark(struct text *t)
{
    const char *p = memmem(t->start, (size_t)(t->end - t->start), "-----BEGIN ", 11);
    if (!p || !memmem(p, (size_t)(t->end - p), "PRIVATE KEY", 11))
        return;
    const char *close = memmem(p, (size_t)(t->end - p), "-----END ", 9);
    mark(t->m, p, close ? close : t->end);
}

void text_mark(struct secret_ranges *m, struct span text, bool script)
{
    struct text t = {.m = m, .start = text.at, .end = text.at + text.len, .script = script};
    const char *brace = memchr(text.at, '{', text.len);
    t.brace = brace ? brace : t.end;
    t.blanks = has_blank(text);
    private_key_mark(&t);
    user_begin(&t, t.start, false);
    for (const char *p = t.start; p < t.end && !m->all;) {
        if (is_letter(*p) || is_digit(*p)) {
            p = token_mark(&t, p);
        } else if (*p == ':' && t.end - p > 3 && p[1] == '/' && p[2] == '/') {
            p += 3;
            user_begin(&t, p, true);
        } else {
            user_step(&t, p);
            p = *p == '=' || *p == ':' ? pair_mark(&t, p) : p + 1;
        }
    }
    if (!m->all)
        user_end(&t);
}
