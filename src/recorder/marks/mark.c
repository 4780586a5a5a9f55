/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/marks/mark.h"
#include "base/json_scan.h"
#include "base/span.h"

/* ---- members of JSON ---- */

/* The members of a line that is JSON: their texts, and attributes made of them. */

/* A member of an object that json_value() has found to be one. */
struct mark_member {
    char key[MARK_ATTRIBUTE_NAME];
    bool has_name;           /* the key can be the name of an attribute */
    struct span name, value; /* as they are written */
    unsigned levels;
};

static inline bool mark_is_text(struct span value)
{
    return value.len && *value.at == '"';
}

/* Reads the next member. s: the text behind the last member, or the whole object. */
static bool mark_member_next(struct span *s, struct mark_member *ret)
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

/* Keeps up to cap - 1 bytes of a text, without NULs. */
static const char *mark_keep_text(struct mark *m, struct span text, size_t cap)
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

/* Keeps the whole text. Returns NULL if it is longer, or not all of it can be kept. */
static const char *mark_keep_exact(struct mark *m, struct span string, size_t cap)
{
    char *at = m->text + m->text_len;
    size_t len;
    if (!json_string_exact(&string, at, cap - 1, &len))
        return NULL;
    at[len] = 0;
    m->text_len += len + 1;
    return at;
}

/* A name is truncated and changed rather than lost. */
static const char *mark_keep_name(struct mark *m, const char *member, struct span string)
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

/* Returns false if no type can hold it as it is written. */
static bool mark_scan_number(struct span text, struct baro_attribute *ret)
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

static void mark_add_attribute(struct mark *m, const struct mark_member *v)
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

/* ---- times ---- */

/* A moment as ISO 8601 text, as Python's isoformat() writes it. Pure. */

#define NS_OF_SECOND 1000000000u

static bool scan_field(struct span *s, char before, unsigned least, unsigned most, unsigned *ret)
{
    uint64_t v;
    if ((before && !scan_char(s, before)) || !scan_u64(s, &v) || v < least || v > most)
        return false;
    *ret = (unsigned)v;
    return true;
}

/* Days since 1970 of a day of the Gregorian calendar. Years begin in March, so that a leap day ends one. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2), in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + in_year - 719468;
}

/* Returns the nanoseconds of a fraction such as ".678000". */
static bool scan_fraction(struct span *s, uint64_t *ret_ns)
{
    uint64_t unit = NS_OF_SECOND;
    *ret_ns = 0;
    if (!scan_char(s, '.'))
        return true;
    for (; s->len && *s->at >= '0' && *s->at <= '9'; s->at++, s->len--) {
        unit /= 10;
        *ret_ns += (uint64_t)(*s->at - '0') * unit;
    }
    return true;
}

/* "Z", "+00:00", "-05:30" */
static bool scan_zone(struct span *s, int64_t *ret_seconds)
{
    unsigned hour, minute;
    bool west = s->len && *s->at == '-';
    *ret_seconds = 0;
    if (scan_char(s, 'Z'))
        return true;
    if (!scan_field(s, west ? '-' : '+', 0, 24, &hour) || !scan_field(s, ':', 0, 59, &minute))
        return false;
    *ret_seconds = (west ? -60 : 60) * ((int64_t)hour * 60 + minute);
    return true;
}

/* "2026-01-02T03:04:05.678+00:00", with "Z" or another zone, and with any number of decimals: ns since 1970. False: it
 * is something else. */
static bool time_text_parse(const char *text, uint64_t *ret_ns)
{
    struct span s = span_str(text);
    unsigned year, month, day, hour, minute, second;
    uint64_t fraction;
    int64_t east;
    if (!scan_field(&s, 0, 1970, 2200, &year) || !scan_field(&s, '-', 1, 12, &month) ||
        !scan_field(&s, '-', 1, 31, &day) || !scan_field(&s, 'T', 0, 23, &hour) ||
        !scan_field(&s, ':', 0, 59, &minute) || !scan_field(&s, ':', 0, 60, &second) || !scan_fraction(&s, &fraction) ||
        !scan_zone(&s, &east) || s.len)
        return false;
    int64_t t = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - east;
    *ret_ns = (uint64_t)(t > 0 ? t : 0) * NS_OF_SECOND + fraction;
    return true;
}

#define SECONDS_MOST 1e10
#define TS_MOST 64u

/* Those up to MARK name the mark, the last one of them. */
enum { BEGIN, END, PHASE, RUN_TASK, TASK_END, MARK, NAME, TYPE, EVENT, TS, SECONDS, DATA, WORDS };
static const char *const words[WORDS] = {"begin", "end",  "phase", "run_task", "task_end", "mark",
                                         "name",  "type", "event", "ts",       "seconds",  "data"};

enum form { OF_OURS, LOG_PHASE, LOG_EVENT };

struct line {
    enum form form;
    struct span value[WORDS]; /* the last one of each; empty: there is none */
    int named_by;             /* BEGIN to NAME, which was a text; WORDS: none of them */
    struct span name;         /* that text: a later member of the same name may be a number */
    bool has_others;          /* than TYPE, EVENT, TS and DATA */
    bool is_data_open;        /* the members of DATA are the attributes */
};

static int word_of(const struct mark_member *v)
{
    for (int i = 0; v->has_name && i < WORDS; i++) {
        if (strcmp(v->key, words[i]) == 0)
            return i;
    }
    return WORDS;
}

static double real_of(const struct baro_attribute *a)
{
    return a->type == BARO_ATTRIBUTE_UNSIGNED ? (double)a->u64
           : a->type == BARO_ATTRIBUTE_SIGNED ? (double)a->i64
                                              : a->real;
}

/* Whole seconds and more, as nanoseconds. */
static bool seconds_of(const struct baro_attribute *a, uint64_t *ret_ns)
{
    double v = real_of(a);
    if (!(v >= 0 && v < SECONDS_MOST))
        return false;
    *ret_ns = (uint64_t)(v * 1e9 + 0.5);
    return true;
}

/* A number that is no duration, such as -1 or NaN, counts as 0. */
static bool scan_seconds(struct span value, uint64_t *ret_ns)
{
    static const char *const no_numbers[] = {"NaN", "Infinity", "-Infinity"};
    struct baro_attribute a;
    *ret_ns = 0;
    for (size_t i = 0; i < sizeof(no_numbers) / sizeof(*no_numbers); i++) {
        if (span_equal(value, no_numbers[i]))
            return true;
    }
    bool is_number = mark_scan_number(value, &a);
    if (is_number)
        seconds_of(&a, ret_ns);
    return is_number;
}

/* Is each member of "data" an attribute by itself? */
static bool fits_attributes(struct span data)
{
    struct mark_member v;
    size_t n = 0;
    if (!data.len || *data.at != '{')
        return false;
    for (; mark_member_next(&data, &v); n++) {
        if (!v.has_name)
            return false;
    }
    return n > 0 && n <= MARK_ATTRIBUTES;
}

static enum form form_of(const struct line *l)
{
    uint64_t ns;
    if (l->named_by < NAME && !mark_is_text(l->value[TS]))
        return OF_OURS;
    if (span_equal(l->value[TYPE], "\"phase\"") && l->value[NAME].len > 2 && mark_is_text(l->value[NAME]) &&
        scan_seconds(l->value[SECONDS], &ns))
        return LOG_PHASE;
    if (span_equal(l->value[TYPE], "\"event\"") && l->value[EVENT].len > 2 && mark_is_text(l->value[EVENT]))
        return LOG_EVENT;
    return OF_OURS;
}

static void read_members(struct span s, struct line *ret)
{
    struct mark_member v;
    *ret = (struct line){.named_by = WORDS};
    while (mark_member_next(&s, &v)) {
        int word = word_of(&v);
        bool is_ts = word == TS && mark_is_text(v.value) && v.value.len < TS_MOST;
        bool is_of_event = word == TYPE || word == EVENT || word == DATA || is_ts;
        if (word < WORDS)
            ret->value[word] = v.value;
        if (mark_is_text(v.value) && (word < NAME || (word == NAME && ret->named_by == WORDS))) {
            ret->named_by = word;
            ret->name = v.value;
        }
        ret->has_others = ret->has_others || !is_of_event;
    }
    ret->form = form_of(ret);
    ret->is_data_open = ret->form == LOG_EVENT && !ret->has_others && fits_attributes(ret->value[DATA]);
}

/* ---- lines of ours ---- */

static bool is_whole_number(const struct baro_attribute *a)
{
    return a->type == BARO_ATTRIBUTE_UNSIGNED;
}

/* Takes a member that has the time of the mark, or its process. */
static bool take_number(struct mark *m, const struct mark_member *v)
{
    struct baro_attribute a;
    uint64_t ns = 0;
    if (!mark_scan_number(v->value, &a))
        return false;
    bool is_time = strcmp(v->key, "time") == 0;
    if (strcmp(v->key, "monotonic_ns") == 0 && is_whole_number(&a)) {
        m->time_ns = a.u64;
        m->clock = MARK_MONOTONIC;
    } else if ((strcmp(v->key, "monotonic") == 0 || is_time) && seconds_of(&a, &ns)) {
        m->time_ns = ns;
        m->clock = is_time ? MARK_REALTIME : MARK_MONOTONIC;
    } else if (strcmp(v->key, "start_ticks") == 0 && is_whole_number(&a)) {
        m->start_ticks = a.u64;
    } else {
        return false;
    }
    return true;
}

static void take_ours(struct mark *m, const struct line *l, const struct mark_member *v)
{
    int word = word_of(v);
    bool names = mark_is_text(v->value) && (word < NAME || (word == NAME && l->named_by == NAME));
    bool is_id = mark_is_text(v->value) && (m->kind == MARK_BEGIN || m->kind == MARK_END) && strcmp(v->key, "id") == 0;
    if (is_id)
        m->id = mark_keep_name(m, "id", v->value);
    else if (!names && !(word == SECONDS && m->kind == MARK_WHOLE) && !take_number(m, v))
        mark_add_attribute(m, v);
}

/* Takes an attribute that turned out to have a meaning out of the list. */
static bool take_out(struct mark *m, const char *name, struct baro_attribute *ret)
{
    for (size_t i = 0; i < m->n_attributes; i++) {
        if (strcmp(m->attribute[i].name, name) != 0)
            continue;
        *ret = m->attribute[i];
        memmove(&m->attribute[i], &m->attribute[i + 1], (m->n_attributes - i - 1) * sizeof(*m->attribute));
        m->n_attributes--;
        return true;
    }
    return false;
}

/* Takes the process of the mark from "pid" if there is "start_ticks". "pid" alone stays an attribute, because it may be
 * any number of the job's own. */
static void settle_process(struct mark *m)
{
    struct baro_attribute a;
    if (m->start_ticks && take_out(m, "pid", &a) && is_whole_number(&a) && a.u64 <= INT32_MAX)
        m->pid = (int32_t)a.u64;
    if (m->kind == MARK_TASK && !m->pid)
        m->kind = MARK_POINT;
    if (m->kind == MARK_TASK && take_out(m, "itself", &a))
        m->itself = a.type == BARO_ATTRIBUTE_BOOLEAN && a.u64;
    if (m->kind == MARK_TASK_END && take_out(m, "wait_status", &a) && is_whole_number(&a) && a.u64 <= UINT16_MAX)
        m->wait_status = (int)a.u64;
    else if (m->kind == MARK_TASK_END)
        m->kind = MARK_POINT;
}

static void begin_ours(struct mark *m, const struct line *l)
{
    static const enum mark_kind kinds[] = {
        [BEGIN] = MARK_BEGIN,       [END] = MARK_END,    [PHASE] = MARK_WHOLE, [RUN_TASK] = MARK_TASK,
        [TASK_END] = MARK_TASK_END, [MARK] = MARK_POINT, [NAME] = MARK_POINT};
    m->name = l->named_by < WORDS ? mark_keep_name(m, words[l->named_by], l->name) : "";
    m->kind = l->named_by < WORDS ? kinds[l->named_by] : MARK_POINT;
    if (m->kind == MARK_WHOLE && !scan_seconds(l->value[SECONDS], &m->duration_ns))
        m->kind = MARK_POINT;
}

/* ---- lines of a RunLog ---- */

static void begin_log(struct mark *m, const struct line *l)
{
    bool is_phase = l->form == LOG_PHASE;
    const char *ts = mark_is_text(l->value[TS]) ? mark_keep_exact(m, l->value[TS], TS_MOST) : NULL;
    m->name = mark_keep_name(m, words[is_phase ? NAME : EVENT], l->value[is_phase ? NAME : EVENT]);
    m->kind = is_phase ? MARK_WHOLE : MARK_POINT;
    if (ts && time_text_parse(ts, &m->time_ns))
        m->clock = MARK_REALTIME;
    if (is_phase)
        scan_seconds(l->value[SECONDS], &m->duration_ns);
}

static void take_log(struct mark *m, const struct line *l, const struct mark_member *v)
{
    int word = word_of(v);
    bool has_meaning = word == TYPE || (word == TS && m->clock == MARK_REALTIME) ||
                       word == (l->form == LOG_PHASE ? NAME : EVENT) || (word == SECONDS && l->form == LOG_PHASE);
    struct span data = v->value;
    struct mark_member within;
    if (word == DATA && l->is_data_open) {
        m->n_attributes = 0; /* of an earlier one */
        while (mark_member_next(&data, &within))
            mark_add_attribute(m, &within);
    } else if (!has_meaning) {
        mark_add_attribute(m, v);
    }
}

/* ---- lines ---- */

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

static void begin_mark(struct mark *m)
{
    m->kind = MARK_POINT;
    m->clock = MARK_UNTIMED;
    m->time_ns = m->duration_ns = m->start_ticks = 0;
    m->wait_status = 0;
    m->name = m->id = "";
    m->pid = 0;
    m->itself = false;
    m->n_attributes = m->left_out = m->text_len = 0;
}

static void take_object(struct mark *m, struct span s)
{
    struct line l;
    struct mark_member v;
    read_members(s, &l);
    if (l.form == OF_OURS)
        begin_ours(m, &l);
    else
        begin_log(m, &l);
    while (mark_member_next(&s, &v))
        (l.form == OF_OURS ? take_ours : take_log)(m, &l, &v);
    if (l.form == OF_OURS)
        settle_process(m);
    if (!*m->name)
        m->name = "mark";
}

enum mark_result mark_parse(struct span line, struct mark *ret)
{
    struct span s = trimmed(line), rest = s;
    unsigned levels;
    begin_mark(ret);
    if (!s.len)
        return MARK_EMPTY;
    if (*s.at != '{') {
        s.len = s.len < MARK_LINE ? s.len : MARK_LINE;
        ret->name = mark_keep_text(ret, s, MARK_NAME);
        return *ret->name ? MARK_GOOD : MARK_EMPTY;
    }
    if (s.len > MARK_LINE || !json_value(&rest, &levels) || rest.len)
        return MARK_BAD;
    take_object(ret, s);
    return MARK_GOOD;
}
