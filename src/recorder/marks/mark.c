/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/marks/mark.h"

#include <math.h>
#include <string.h>

#include "base/json_scan.h"
#include "recorder/marks/mark_member.h"
#include "recorder/marks/time_text.h"

#define SECONDS_MOST 1e10
#define TS_MOST 64u
#define NS_OF_SECOND 1e9

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
    *ret_ns = (uint64_t)(v * NS_OF_SECOND + 0.5);
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
