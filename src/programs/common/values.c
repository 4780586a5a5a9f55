/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options of those that record, and of baro serve, which passes them on. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/span.h"
#include "programs/common/options.h"

/* A sixteenth of it is a segment, which has a header of its own. */
#define KEEP_NS_LEAST (10 * NS_PER_SEC)
#define KEEP_BYTES_LEAST 1000000u
#define TOTAL_LEAST 16000000u
#define CARBON_MOST 10000
#define TAG_KEY_MOST 63
#define TAG_VALUE_MOST 1023
#define NOTE_MOST 300 /* SURROUNDING_SIZE */

int take_interval(void *at, const char *text, struct baro_error *err)
{
    uint64_t ns;
    if (strcmp(text, "auto") == 0) {
        *(uint64_t *)at = 0;
        return 0;
    }
    int code = parse_duration(text, &ns, err);
    if (code < 0)
        return code;
    if (ns < 10 * NS_PER_MS || ns > 3600 * NS_PER_SEC)
        return error_set(err, BARO_E_RANGE, "%s is outside of 10ms to 1h", text);
    *(uint64_t *)at = ns;
    return 0;
}

/* A key given again replaces the value. */
int take_tag(void *at, const char *text, struct baro_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    struct tag_settings *s = at;
    size_t n = strspn(text, letters);
    int i = 0;
    if (!n || n > TAG_KEY_MOST || text[n] != '=')
        return error_set(err, BARO_E_SYNTAX,
                         "'%.80s' is not KEY=VALUE, whose KEY has 1 to %d letters, digits and any of . _ - /", text,
                         TAG_KEY_MOST);
    if (strlen(text + n + 1) > TAG_VALUE_MOST)
        return error_set(err, BARO_E_RANGE, "the value of %.*s has more than %d bytes", (int)n, text, TAG_VALUE_MOST);
    while (i < s->n && strncmp(s->at[i], text, n + 1) != 0)
        i++;
    if (i == SETTINGS_TAGS_MAX)
        return error_set(err, BARO_E_RANGE, "more than %d of them", SETTINGS_TAGS_MAX);
    s->at[i] = text;
    s->n += i == s->n;
    return 0;
}

int take_note(void *at, const char *text, struct baro_error *err)
{
    if (!*text || strlen(text) > NOTE_MOST)
        return error_set(err, BARO_E_RANGE, "a note has 1 to %d bytes", NOTE_MOST);
    *(const char **)at = text;
    return 0;
}

int check_push(const char *text, struct baro_error *err)
{
    static const char *const beginnings[] = {"otlp+http://",        "otlp+https://", "prometheus+http://",
                                             "prometheus+https://", "http://",       "https://"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        if (strcmp(text, "otlp") == 0 || strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return 0;
    }
    return error_set(err, BARO_E_SYNTAX,
                     "its protocol is not known: write prometheus+http://HOST:PORT, "
                     "otlp+http://HOST:4318, the same with https, or otlp");
}

/* Any user can read the arguments of a process: what is before the last @, which may be a password, is overwritten
 * there, and the URL is kept elsewhere. */
int take_push(void *at, const char *text, struct baro_error *err)
{
    static char kept[PUSH_URL_MOST];
    int code = check_push(text, err);
    char *host = strrchr(text, '@'), *user = strstr(text, "//");
    *(const char **)at = text;
    if (code < 0 || !host)
        return code;
    if (strlen(text) >= sizeof(kept))
        return error_set(err, BARO_E_RANGE, "the URL has more than %d bytes", PUSH_URL_MOST - 1);
    snprintf(kept, sizeof(kept), "%s", text);
    memset(user + 2, '*', (size_t)(host - user - 2));
    *(const char **)at = kept;
    return 0;
}

int take_every(void *at, const char *text, struct baro_error *err)
{
    uint64_t ns;
    int code = parse_duration(text, &ns, err);
    if (code < 0)
        return code;
    if (ns < NS_PER_SEC || ns > 24 * 3600 * NS_PER_SEC)
        return error_set(err, BARO_E_RANGE, "%s is outside of 1s to 24h", text);
    *(uint64_t *)at = ns;
    return 0;
}

/* Parses a time or a size. The option may be given twice, once for each. */
int take_keep(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    uint64_t n;
    if (parse_duration(text, &n, NULL) == 0) {
        if (n < KEEP_NS_LEAST)
            return error_set(err, BARO_E_RANGE, "%s is less than 10s", text);
        s->keep_ns = n;
        return 0;
    }
    if (parse_size(text, &n, NULL) < 0)
        return error_set(err, BARO_E_SYNTAX, "'%s' is neither a time nor a size: write 1h, 10min or 512MB", text);
    if (n < KEEP_BYTES_LEAST)
        return error_set(err, BARO_E_RANGE, "%s is less than 1MB", text);
    s->keep_bytes = n;
    return 0;
}

int take_thin_after(void *at, const char *text, struct baro_error *err)
{
    uint64_t ns;
    int code = parse_duration(text, &ns, err);
    if (code == 0 && ns < KEEP_NS_LEAST)
        return error_set(err, BARO_E_RANGE, "%s is less than 10s", text);
    *(uint64_t *)at = code == 0 ? ns : 0;
    return code;
}

int take_reserve(void *at, const char *text, struct baro_error *err)
{
    return parse_size(text, at, err);
}

int take_total(void *at, const char *text, struct baro_error *err)
{
    uint64_t bytes;
    int code = parse_size(text, &bytes, err);
    if (code < 0)
        return code;
    if (bytes < TOTAL_LEAST)
        return error_set(err, BARO_E_RANGE, "%s is less than 16MB", text);
    *(uint64_t *)at = bytes;
    return 0;
}

/* "350", "350g/kWh", "0.35kg/kWh" */
int take_carbon(void *at, const char *text, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t whole;
    double divisor = 1, grams;
    if (!scan_u64(&s, &whole))
        return error_set(err, BARO_E_SYNTAX, "'%s' is no number of grams: write 350g/kWh", text);
    grams = (double)whole;
    if (scan_char(&s, '.')) {
        for (; s.len && *s.at >= '0' && *s.at <= '9'; divisor *= 10) {
            grams = 10 * grams + (*s.at - '0');
            s = span_of(s.at + 1, s.len - 1);
        }
    }
    scan_blanks(&s);
    if (span_equal(s, "kg/kWh"))
        grams = grams * 1000 / divisor;
    else if (s.len && !span_equal(s, "g/kWh") && !span_equal(s, "g"))
        return error_set(err, BARO_E_SYNTAX, "'%s' is not per kWh: write 350g/kWh", text);
    else
        grams /= divisor;
    if (grams <= 0 || grams > CARBON_MOST)
        return error_set(err, BARO_E_RANGE, "%s is outside of what grids emit: 1 to 10000 g/kWh", text);
    *(double *)at = grams;
    return 0;
}
