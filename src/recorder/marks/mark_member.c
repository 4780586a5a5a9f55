/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a line that is JSON: their texts, and attributes made of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"
#include "recorder/marks/mark_member.h"

bool mark_member_next(struct span *s, struct mark_member *ret)
{
    size_t len;
    if (!json_next_is(s, '{') && !json_next_is(s, ','))
        return false;
    json_blanks(s);
    struct span from = *s;
    if (!json_string(s, ret->key, 0, &len)) /* there is none */
        return false;
    ret->name = span_of(from.at, from.len - s->len);
    ret->has_name = json_string_exact(&from, ret->key, sizeof(ret->key) - 1, &len) && len;
    ret->key[ret->has_name ? len : 0] = 0;
    json_next_is(s, ':');
    json_blanks(s);
    from = *s;
    if (!json_value(s, &ret->levels))
        return false;
    ret->value = span_of(from.at, from.len - s->len);
    return true;
}

/* ---- texts ---- */

const char *mark_keep_text(struct mark *m, struct span text, size_t cap)
{
    char *at = m->text + m->text_len;
    size_t n = 0;
    for (size_t i = 0; i < text.len && n + 1 < cap; i++) {
        if (text.at[i])
            at[n++] = text.at[i];
    }
    at[n] = 0;
    m->text_len += n + 1;
    return at;
}

static void leave_out_member(struct mark *m, struct span name, const char *why)
{
    if (m->left_out++)
        return;
    size_t n = name.len < sizeof(m->first_left_out) - 1 ? name.len : sizeof(m->first_left_out) - 1;
    memcpy(m->first_left_out, name.at, n);
    m->first_left_out[n] = 0;
    m->why_left_out = why;
}

static const char *keep_json(struct mark *m, struct span value)
{
    char *at = m->text + m->text_len;
    size_t n = json_compact(value, at);
    at[n] = 0;
    m->text_len += n + 1;
    return at;
}

const char *mark_keep_exact(struct mark *m, struct span string, size_t cap)
{
    char *at = m->text + m->text_len;
    size_t len;
    if (!json_string_exact(&string, at, cap - 1, &len))
        return NULL;
    at[len] = 0;
    m->text_len += len + 1;
    return at;
}

const char *mark_keep_name(struct mark *m, const char *member, struct span string)
{
    const char *exact = mark_keep_exact(m, string, MARK_NAME);
    size_t len = 0;
    if (exact)
        return exact;
    char *at = m->text + m->text_len;
    leave_out_member(m, span_str(member), "which is longer than 1023 bytes or not all text, in part");
    json_string(&string, at, MARK_NAME - 1, &len);
    at[len] = 0;
    m->text_len += len + 1;
    return at;
}

/* ---- attributes ---- */

#define LONGEST_NUMBER 511 /* the longest double in full has 325 characters, the least with 17 digits 342 */

/* 2.0 and 2e3 are real numbers; an integer beyond 64 bits is none. */
static bool scan_real(struct span text, double *ret)
{
    char copy[LONGEST_NUMBER + 1], *end;
    if (text.len > LONGEST_NUMBER)
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    if (strspn(copy, "0123456789+-.eE") != text.len || !strpbrk(copy, ".eE"))
        return false;
    *ret = strtod(copy, &end); /* of the locale "C": nothing in the recorder calls setlocale() */
    return !*end && isfinite(*ret);
}

bool mark_scan_number(struct span text, struct baro_attribute *ret)
{
    struct span digits = text, negative = text;
    uint64_t u64;
    int64_t i64;
    if (!text.len || (*text.at != '-' && (*text.at < '0' || *text.at > '9')))
        return false;
    if (scan_u64(&digits, &u64) && !digits.len)
        *ret = (struct baro_attribute){.type = BARO_ATTRIBUTE_UNSIGNED, .u64 = u64};
    else if (scan_i64(&negative, &i64) && !negative.len)
        *ret = (struct baro_attribute){.type = i64 ? BARO_ATTRIBUTE_SIGNED : BARO_ATTRIBUTE_UNSIGNED, .i64 = i64};
    else
        *ret = (struct baro_attribute){.type = BARO_ATTRIBUTE_REAL};
    return ret->type != BARO_ATTRIBUTE_REAL || scan_real(text, &ret->real);
}

/* Names with a meaning on the tape (ATTRIBUTE_* of libbaro/sample/sample.h). What the job gives by these names is JSON
 * there, which tells it from the recorder's own. */
static bool is_reserved(const char *name)
{
    static const char *const all[] = {"id", "duration_ns", "time_error_ns"};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (strcmp(name, all[i]) == 0)
            return true;
    }
    return false;
}

static bool scan_plain(struct mark *m, struct span value, struct baro_attribute *ret)
{
    *ret = (struct baro_attribute){.type = BARO_ATTRIBUTE_BOOLEAN, .u64 = *value.at == 't'};
    if (*value.at == 't' || *value.at == 'f')
        return true;
    if (!mark_is_text(value))
        return mark_scan_number(value, ret);
    ret->type = BARO_ATTRIBUTE_TEXT;
    ret->text = mark_keep_exact(m, value, MARK_ATTRIBUTE_TEXT);
    return ret->text != NULL;
}

void mark_add_attribute(struct mark *m, const struct mark_member *v)
{
    struct baro_attribute *to = &m->attribute[m->n_attributes], a;
    for (size_t i = 0; i < m->n_attributes; i++) {
        if (strcmp(m->attribute[i].name, v->key) == 0)
            to = &m->attribute[i]; /* the later one counts */
    }
    if (!v->has_name) {
        leave_out_member(m, v->name, "whose name is empty, longer than 255 bytes or not all text");
        return;
    }
    if (to == &m->attribute[MARK_ATTRIBUTES]) {
        leave_out_member(m, v->name, "which is one too many");
        return;
    }
    if (is_reserved(v->key) || !scan_plain(m, v->value, &a)) {
        a = (struct baro_attribute){.type = BARO_ATTRIBUTE_JSON, .text = keep_json(m, v->value)};
        if (!json_is_value(span_str(a.text))) {
            leave_out_member(m, v->name,
                             v->levels > JSON_LEVELS_MOST ? "which is nested too deeply" : "which is not UTF-8");
            return;
        }
    }
    a.name = mark_keep_text(m, span_str(v->key), MARK_ATTRIBUTE_NAME);
    m->n_attributes += to == &m->attribute[m->n_attributes];
    *to = a;
}
