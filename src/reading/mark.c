/* SPDX-License-Identifier: Apache-2.0 */
#include "reading/mark.h"

#include <stdbool.h>
#include <string.h>

#include "reading/json_text.h"
#include "reading/reading.h"
#include "reading/time_text.h"

#define DEPTH_MOST 8u
#define SECONDS_MOST 1e10
#define NS_OF_SECOND 1e9

/* ---- texts ---- */

/* Keeps up to cap - 1 bytes of a text, without NULs. NULL: no room. */
static const char *keep(struct mark *m, struct span text, size_t cap)
{
    if (text.len >= sizeof(m->text) - m->text_len)
        return NULL;
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

static bool keep_string(struct span *s, struct mark *m, size_t cap, const char **ret)
{
    char *at = m->text + m->text_len;
    size_t len, room = sizeof(m->text) - m->text_len;
    if (room < 2 || !json_string(s, at, (cap < room ? cap : room) - 1, &len))
        return false;
    at[len] = 0;
    m->text_len += strlen(at) + 1;
    *ret = at;
    return true;
}

/* ---- attributes ---- */

static void add(struct mark *m, const char *path, struct baro_attribute a)
{
    struct baro_attribute *to = &m->attribute[m->n_attributes];
    for (size_t i = 0; i < m->n_attributes; i++) {
        if (strcmp(m->attribute[i].name, path) == 0)
            to = &m->attribute[i]; /* the later one counts */
    }
    a.name = keep(m, span_str(path), MARK_ATTRIBUTE_NAME);
    if (!*path || !a.name || to == &m->attribute[MARK_ATTRIBUTES]) {
        m->left_out++;
        return;
    }
    m->n_attributes += to == &m->attribute[m->n_attributes];
    *to = a;
}

static bool is_integer(struct span number)
{
    for (size_t i = 0; i < number.len; i++) {
        if (number.at[i] == '.' || number.at[i] == 'e' || number.at[i] == 'E')
            return false;
    }
    return true;
}

static bool scan_number(struct span *s, struct baro_attribute *ret)
{
    struct reading_cell cell;
    struct span text = *s, digits;
    int64_t negative;
    if (!s->len || (*s->at != '-' && (*s->at < '0' || *s->at > '9')) || !reading_number(s, &cell))
        return false;
    text.len -= s->len;
    digits = text;
    *ret = (struct baro_attribute){.type = BARO_ATTRIBUTE_REAL};
    if (is_integer(text) && cell.value == READING_INTEGER) {
        ret->type = BARO_ATTRIBUTE_UNSIGNED;
        ret->u64 = cell.bits;
    } else if (is_integer(text) && scan_i64(&digits, &negative) && !digits.len) {
        ret->type = BARO_ATTRIBUTE_SIGNED;
        ret->i64 = negative;
    } else if (cell.value == READING_INTEGER) {
        ret->real = (double)cell.bits; /* 2.0 stays a real number */
    } else {
        memcpy(&ret->real, &cell.bits, sizeof(ret->real));
    }
    return true;
}

static double real_of(const struct baro_attribute *a)
{
    return a->type == BARO_ATTRIBUTE_UNSIGNED ? (double)a->u64
           : a->type == BARO_ATTRIBUTE_SIGNED ? (double)a->i64
                                              : a->real;
}

static bool take_value(struct mark *m, struct span *s, const char *path, unsigned depth);

typedef bool member_fn(struct mark *m, struct span *s, const char *key, const char *path, unsigned depth);

static bool each_member(struct mark *m, struct span *s, const char *path, unsigned depth, member_fn *fn)
{
    char key[MARK_ATTRIBUTE_NAME];
    size_t len;
    if (depth > DEPTH_MOST || !json_next_is(s, '{'))
        return false;
    if (json_next_is(s, '}'))
        return true;
    do {
        if (!json_string(s, key, sizeof(key), &len) || !json_next_is(s, ':'))
            return false;
        key[len < sizeof(key) ? len : 0] = 0; /* too long: no name, so it is left out */
        json_blanks(s);
        if (!fn(m, s, key, path, depth))
            return false;
    } while (json_next_is(s, ','));
    return json_next_is(s, '}');
}

static bool take_member(struct mark *m, struct span *s, const char *key, const char *path, unsigned depth)
{
    char name[MARK_ATTRIBUTE_NAME];
    size_t path_len = strlen(path), key_len = strlen(key), dot = path_len > 0;
    bool fits = key_len && path_len + dot + key_len < sizeof(name);
    name[0] = 0;
    if (fits) {
        memcpy(name, path, path_len);
        name[path_len] = '.';
        memcpy(name + path_len + dot, key, key_len + 1);
    }
    return take_value(m, s, name, depth);
}

static bool skip_string(struct span *s)
{
    char none[1];
    size_t len;
    return json_string(s, none, 0, &len);
}

/* An array, as it is written. */
static bool skip_array(struct span *s)
{
    unsigned depth = 0;
    do {
        if (s->len && *s->at == '"') {
            if (!skip_string(s))
                return false;
            continue;
        }
        if (!s->len)
            return false;
        depth += (*s->at == '[' || *s->at == '{');
        depth -= (*s->at == ']' || *s->at == '}');
        s->at++;
        s->len--;
    } while (depth);
    return true;
}

static bool take_text(struct mark *m, struct span *s, const char *path)
{
    struct baro_attribute a = {.type = BARO_ATTRIBUTE_TEXT};
    if (!keep_string(s, m, MARK_ATTRIBUTE_TEXT, &a.text))
        return false;
    add(m, path, a);
    return true;
}

static bool take_array(struct mark *m, struct span *s, const char *path)
{
    struct baro_attribute a = {.type = BARO_ATTRIBUTE_TEXT};
    struct span from = *s;
    if (!skip_array(s))
        return false;
    a.text = keep(m, span_of(from.at, from.len - s->len), MARK_ATTRIBUTE_TEXT);
    if (a.text)
        add(m, path, a);
    return true;
}

static bool take_word(struct mark *m, struct span *s, const char *path)
{
    struct baro_attribute a = {.type = BARO_ATTRIBUTE_BOOLEAN};
    if (json_literal(s, "null") || json_literal(s, "NaN") || json_literal(s, "Infinity"))
        return true;
    a.u64 = json_literal(s, "true");
    if (!a.u64 && !json_literal(s, "false"))
        return false;
    add(m, path, a);
    return true;
}

static bool take_value(struct mark *m, struct span *s, const char *path, unsigned depth)
{
    struct baro_attribute a;
    json_blanks(s);
    if (!s->len)
        return false;
    if (*s->at == '{')
        return each_member(m, s, path, depth + 1, take_member);
    if (*s->at == '[')
        return take_array(m, s, path);
    if (*s->at == '"')
        return take_text(m, s, path);
    if (!scan_number(s, &a))
        return json_literal(s, "-Infinity") || take_word(m, s, path);
    add(m, path, a);
    return true;
}

/* ---- the members that have a meaning ---- */

static bool is(const char *key, const char *word)
{
    return strcmp(key, word) == 0;
}

/* Whole seconds and more, as nanoseconds. */
static bool seconds_of(const struct baro_attribute *a, uint64_t *ret_ns)
{
    double v = real_of(a);
    if (!(v >= 0 && v < SECONDS_MOST))
        return false;
    *ret_ns = (uint64_t)(v * NS_OF_SECOND + 0.5);
    return true;
}

static void take_number(struct mark *m, const char *key, const struct baro_attribute *a)
{
    uint64_t ns = 0;
    bool whole = a->type == BARO_ATTRIBUTE_UNSIGNED;
    if (is(key, "monotonic_ns") && whole) {
        m->time_ns = a->u64;
        m->clock = MARK_MONOTONIC;
    } else if ((is(key, "monotonic") || is(key, "time")) && seconds_of(a, &ns)) {
        m->time_ns = ns;
        m->clock = is(key, "time") ? MARK_REALTIME : MARK_MONOTONIC;
    } else if (is(key, "start_ticks") && whole) {
        m->start_ticks = a->u64;
    } else {
        add(m, key, *a);
    }
}

static bool take_name(struct mark *m, struct span *s, enum mark_kind kind)
{
    m->kind = kind;
    return keep_string(s, m, MARK_NAME, &m->name);
}

static bool on_member(struct mark *m, struct span *s, const char *key, const char *path, unsigned depth)
{
    struct baro_attribute a;
    bool is_text = s->len && *s->at == '"';
    if (is_text && is(key, "begin"))
        return take_name(m, s, MARK_BEGIN);
    if (is_text && is(key, "end"))
        return take_name(m, s, MARK_END);
    if (is_text && is(key, "phase"))
        return take_name(m, s, MARK_WHOLE);
    if (is_text && is(key, "run_task"))
        return take_name(m, s, MARK_TASK);
    if (is_text && is(key, "task_end"))
        return take_name(m, s, MARK_TASK_END);
    m->is_mark = m->is_mark || (is_text && is(key, "mark"));
    if (is_text && (is(key, "mark") || (!*m->name && is(key, "name"))))
        return take_name(m, s, m->kind);
    if (is_text && is(key, "id"))
        return keep_string(s, m, MARK_NAME, &m->id);
    if (!scan_number(s, &a))
        return take_member(m, s, key, path, depth);
    take_number(m, key, &a);
    return true;
}

/* Takes an attribute that turned out to have a meaning out of the list. */
static bool take_out(struct mark *m, const char *name, struct baro_attribute *ret)
{
    for (size_t i = 0; i < m->n_attributes; i++) {
        if (!is(m->attribute[i].name, name))
            continue;
        *ret = m->attribute[i];
        memmove(&m->attribute[i], &m->attribute[i + 1], (m->n_attributes - i - 1) * sizeof(*m->attribute));
        m->n_attributes--;
        return true;
    }
    return false;
}

/* ---- lines of the RunLog ---- */

static const struct baro_attribute *find_text(const struct mark *m, const char *name)
{
    for (size_t i = 0; i < m->n_attributes; i++) {
        if (is(m->attribute[i].name, name))
            return m->attribute[i].type == BARO_ATTRIBUTE_TEXT ? &m->attribute[i] : NULL;
    }
    return NULL;
}

/* "data.step" becomes "step" again. */
static void without_data(struct mark *m)
{
    static const char before[] = "data.";
    size_t len = sizeof(before) - 1;
    for (size_t i = 0; i < m->n_attributes; i++) {
        struct baro_attribute *a = &m->attribute[i];
        if (strncmp(a->name, before, len) == 0 && a->name[len])
            a->name += len;
    }
}

static void settle_runlog(struct mark *m)
{
    const struct baro_attribute *type = find_text(m, "type"), *name = find_text(m, "event"), *ts = find_text(m, "ts");
    bool is_phase = type && is(type->text, "phase") && *m->name, is_event = type && is(type->text, "event") && name;
    struct baro_attribute a;
    if (m->kind != MARK_POINT || m->is_mark || !(is_phase || is_event))
        return;
    if (is_phase)
        m->kind = MARK_WHOLE;
    else
        m->name = name->text;
    if (ts && m->clock == MARK_UNTIMED && time_text_parse(ts->text, &m->time_ns)) {
        m->clock = MARK_REALTIME;
        take_out(m, "ts", &a);
    }
    take_out(m, "type", &a);
    if (is_event) {
        take_out(m, "event", &a);
        without_data(m);
    }
}

/* "pid" alone may be anything of the job's own; "seconds" is a duration only of a phase as a whole. */
static void settle(struct mark *m)
{
    struct baro_attribute a;
    settle_runlog(m);
    if (m->start_ticks && take_out(m, "pid", &a) && a.type == BARO_ATTRIBUTE_UNSIGNED && a.u64 <= INT32_MAX)
        m->pid = (int32_t)a.u64;
    if (m->kind == MARK_TASK && !m->pid)
        m->kind = MARK_POINT;
    if (m->kind == MARK_TASK_END && take_out(m, "wait_status", &a) && a.type == BARO_ATTRIBUTE_UNSIGNED &&
        a.u64 <= UINT16_MAX)
        m->wait_status = (int)a.u64;
    else if (m->kind == MARK_TASK_END)
        m->kind = MARK_POINT;
    if (m->kind == MARK_WHOLE && (!take_out(m, "seconds", &a) || !seconds_of(&a, &m->duration_ns)))
        m->kind = MARK_POINT;
    if (!*m->name)
        m->name = "mark";
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0;
}

static struct span trimmed(struct span s)
{
    while (s.len && is_blank(*s.at)) {
        s.at++;
        s.len--;
    }
    while (s.len && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

static void begin(struct mark *m)
{
    m->kind = MARK_POINT;
    m->clock = MARK_UNTIMED;
    m->time_ns = m->duration_ns = m->start_ticks = 0;
    m->name = m->id = "";
    m->pid = 0;
    m->is_mark = false;
    m->n_attributes = m->left_out = m->text_len = 0;
}

enum mark_result mark_parse(struct span line, struct mark *ret)
{
    struct span s = trimmed(line);
    begin(ret);
    if (!s.len)
        return MARK_EMPTY;
    if (*s.at != '{') {
        s.len = s.len < MARK_LINE ? s.len : MARK_LINE;
        ret->name = keep(ret, s, MARK_NAME);
        return *ret->name ? MARK_GOOD : MARK_EMPTY;
    }
    if (s.len > MARK_LINE || !each_member(ret, &s, "", 0, on_member) || trimmed(s).len)
        return MARK_BAD;
    settle(ret);
    return MARK_GOOD;
}
