/* SPDX-License-Identifier: Apache-2.0 */
/* What names and values tell: "token" names a secret, "token-file" and "max-tokens" do not; "none" and "/run/pw" are
 * none. */
#include <string.h>

#include "recorder/redact/redact_parts.h"

enum { NAME_MAX_BYTES = 160 };
enum { RANDOM_MIN = 32, RANDOM_MAX = 128 };

const char *next_with(const char *list, char c)
{
    char start[3] = {' ', c, 0};
    const char *p = c ? strstr(list, start) : NULL;
    return p ? p + 1 : NULL;
}

bool in_list(const char *list, struct span word)
{
    const char *p = list, *end;
    for (; word.len && p[0] && p[1] == '*'; p = end) {
        end = strchrnul(p + 1, ' ');
        size_t len = (size_t)(end - p) - 2;
        if (word.len >= len && memcmp(word.at + word.len - len, p + 2, len) == 0)
            return true;
    }
    while (word.len && (p = next_with(p, *word.at)) != NULL) {
        size_t n = 1;
        while (n < word.len && p[n] == word.at[n])
            n++;
        if (p[n] == '*' || (n == word.len && (!p[n] || p[n] == ' ')))
            return true;
    }
    return false;
}

bool in_list_any_case(const char *list, struct span word)
{
    char lower[32];
    if (word.len > sizeof(lower))
        return false;
    for (size_t i = 0; i < word.len; i++)
        lower[i] = is_letter(word.at[i]) ? (char)(word.at[i] | 0x20) : word.at[i];
    return in_list(list, span_of(lower, word.len));
}

/* ---- names ---- */

/* The words of a name in lower case, each without digits at its end, with '-' between them. */
struct words {
    size_t len;
    char at[2 * NAME_MAX_BYTES];
};

/* A word begins after a byte that is neither letter nor digit, at the B of aB, and at the last A of AAAb. */
static bool begins_word(struct span name, size_t i)
{
    char c = name.at[i], last = i ? name.at[i - 1] : 0;
    if (!is_letter(last) && !is_digit(last))
        return true;
    if (!is_letter(c) || (c & 0x20))
        return false;
    return is_digit(last) || (last & 0x20) ||
           (i + 1 < name.len && is_letter(name.at[i + 1]) && (name.at[i + 1] & 0x20));
}

static void word_end(struct words *w)
{
    while (w->len && (is_digit(w->at[w->len - 1]) || w->at[w->len - 1] == '-'))
        w->len--;
}

/* Returns false if the name is no name of a secret: it is text, or a switch or a number, as ask-password. */
static bool words_split(struct span name, struct words *w)
{
    w->len = 0;
    for (size_t i = 0; i < name.len && name.len < NAME_MAX_BYTES; i++) {
        char c = name.at[i];
        if (!is_letter(c) && !is_digit(c))
            continue;
        if (begins_word(name, i)) {
            word_end(w);
            if (w->len)
                w->at[w->len++] = '-';
        }
        w->at[w->len++] = is_letter(c) ? (char)(c | 0x20) : c;
    }
    word_end(w);
    const char *dash = memchr(w->at, '-', w->len);
    return w->len > 1 && !in_list(redact_switches, span_of(w->at, dash ? (size_t)(dash - w->at) : w->len));
}

/* Takes the last word off. */
static struct span last_word(struct span *words)
{
    const char *dash = words->len ? memrchr(words->at, '-', words->len) : NULL;
    struct span last = dash ? span_of(dash + 1, (size_t)(words->at + words->len - dash - 1)) : *words;
    words->len = dash ? (size_t)(dash - words->at) : 0;
    return last;
}

static enum telling words_tell(struct span words)
{
    struct span last = last_word(&words), before = last_word(&words);
    for (const struct name_rule *r = redact_names; r->last; r++)
        if (in_list(r->last, last) && (!r->before || (*r->before ? in_list(r->before, before) : !before.len)))
            return r->tells;
    return TELLS_NOTHING;
}

enum telling name_tells(struct span name)
{
    struct words w;
    if (!words_split(name, &w))
        return TELLS_NOTHING;
    struct span all = span_of(w.at, w.len), kept = all, shorter = all;
    while (in_list(redact_fillers, last_word(&shorter)) && shorter.len)
        kept = shorter;
    enum telling tells = words_tell(kept);
    return tells == TELLS_NOTHING && kept.len < all.len ? words_tell(all) : tells;
}

bool name_is_header(struct span name)
{
    struct words w;
    if (!words_split(name, &w))
        return false;
    struct span before = span_of(w.at, w.len), last = last_word(&before);
    enum telling tells = before.len ? name_tells(name) : TELLS_NOTHING;
    return in_list(redact_headers, last) || tells == TELLS_SECRET || tells == TELLS_KEY ||
           (before.len && w.at[0] == 'x' && in_list(" key signature", last));
}

/* ---- values ---- */

bool has_blank(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (is_space(s.at[i]))
            return true;
    return false;
}

bool has_letter_and_digit(struct span s)
{
    bool letter = false, digit = false;
    for (size_t i = 0; i < s.len; i++) {
        letter |= is_letter(s.at[i]);
        digit |= is_digit(s.at[i]);
    }
    return letter && digit;
}

static unsigned class_of(char c)
{
    return is_digit(c) ? 1 : !is_letter(c) ? 0 : c & 0x20 ? 2 : 3;
}

/* Letters of both cases and digits that change at half of all places or more. Random text of 62 characters changes at
 * 62 % of them, CamelCase at 40 %. Hex, as in commits and digests, has only one case. */
bool looks_random(struct span s)
{
    size_t changes = 0, digit_runs = 0;
    unsigned seen = 0, last = 0;
    if (s.len < RANDOM_MIN || s.len > RANDOM_MAX || span_starts(s, "AAAA") || span_starts(s, "sha"))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned class = class_of(s.at[i]);
        if (!class && (!s.at[i] || !strchr("_-+/=", s.at[i])))
            return false;
        seen |= 1u << class;
        changes += i && class != last;
        digit_runs += class == 1 && last != 1;
        last = class;
    }
    return (seen & 14) == 14 && changes * 2 >= s.len && digit_runs >= 3;
}

/* "/run/secrets/db", "./key.pem", "~/.ssh/id". A base64 key may also begin with a slash, but has capitals. */
static bool is_path(struct span s)
{
    if (s.at[0] != '/' && !span_starts(s, "./") && !span_starts(s, "../") && !span_starts(s, "~/"))
        return false;
    const char *comma = memchr(s.at, ',', s.len); /* credentials=/etc/cifs,uid=0 */
    if (comma)
        s.len = (size_t)(comma - s.at);
    size_t slashes = 0, capitals = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] && strchr("+=!$#&", s.at[i]))
            return false;
        slashes += s.at[i] == '/';
        capitals += class_of(s.at[i]) == 3;
    }
    return s.len > 2 && (capitals * 4 <= s.len || slashes * 8 >= s.len) && (slashes > 1 || memchr(s.at, '.', s.len));
}

/* "user:password", "a=b" of a cookie, digits, or something random. */
static bool looks_weak_secret(struct span s)
{
    size_t digits = 0;
    for (size_t i = 0; i < s.len; i++)
        digits += is_digit(s.at[i]);
    if (looks_random(s) || (digits == s.len && s.len >= 4))
        return true;
    if (memchr(s.at, '/', s.len))
        return false;
    return (s.len >= 16 && digits >= 3 && !memchr(s.at, ' ', s.len)) || memchr(s.at + 1, '=', s.len - 1) ||
           memchr(s.at + 1, ':', s.len - 1);
}

bool value_is_harmless(enum telling tells, struct span value, bool script)
{
    static const char *const elsewhere[] = {"${", "$(", "{{", "`", "file:", "env:", "stdin", NULL};
    if (!value.len || (value.len == 1 && is_digit(value.at[0])) || (value.at[0] == '<' && span_ends(value, ">")) ||
        in_list_any_case(redact_harmless, value))
        return true;
    for (const char *const *e = elsewhere; *e; e++)
        if (span_starts(value, *e))
            return true;
    if (script && value.len > 1 && (value.at[0] == '$' || span_starts(value, "\"$")))
        return true;
    if (is_path(value) || (tells == TELLS_KEY && in_list(redact_file_ends, value)))
        return true;
    if (value.at[0] == '@' && value.len > 2 && (strchr("/.-", value.at[1]) || in_list(redact_file_ends, value)))
        return true;
    if (tells == TELLS_RANDOM)
        return value.len < RANDOM_MIN || !has_letter_and_digit(value);
    return tells == TELLS_WEAK && !looks_weak_secret(value);
}
