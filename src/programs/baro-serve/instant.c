/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/instant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "base/span.h"
#include "output/rows/csv_json.h"
#include "programs/baro-serve/request.h"
#include "programs/common/moment.h"

struct part {
    int kind;
    struct columns columns;
    struct baro_previous *memory;
};

struct instant_writer {
    struct baro_tape *tape;
    const struct baro_header *header;
    struct part job, host, task, directory;
    struct row_time time;
    struct row_names names;
    struct buf attributes;
};

int instant_columns(struct columns *ret, int kind, const char *list, const struct baro_tape *tape,
                    struct baro_error *err)
{
    struct buf all = {0};
    int code = columns_choose(ret, kind, list && *list ? list : NULL, tape, NULL, err);
    if (code < 0 || (list && *list) || kind < 0 || kind == BARO_KIND_EXIT)
        return code;
    for (size_t i = 0; i < ret->n; i++)
        buf_printf(&all, "%s%s", i ? "," : "", ret->at[i]->name);
    for (int i = 0; i < baro_derived_count(kind); i++) {
        const char *name = baro_derived_get(kind, i)->name;
        if (strcmp(name, "cores") != 0)
            buf_printf(&all, ",%s", name);
    }
    buf_byte(&all, 0);
    columns_done(ret);
    code = all.failed ? error_set(err, -ENOMEM, "out of memory")
                      : columns_choose(ret, kind, (const char *)all.at, tape, NULL, err);
    buf_done(&all);
    return code;
}

static int part_init(struct part *p, int kind, const struct baro_tape *tape)
{
    p->kind = kind;
    p->memory = row_previous_new();
    return p->memory ? instant_columns(&p->columns, kind, NULL, tape, NULL) : -ENOMEM;
}

static void part_done(struct part *p)
{
    columns_done(&p->columns);
    baro_previous_free(p->memory);
}

struct instant_writer *instant_new(struct baro_tape *tape)
{
    struct instant_writer *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->tape = tape;
    w->header = baro_tape_header(tape);
    if (part_init(&w->job, BARO_KIND_JOB, tape) == 0 && part_init(&w->host, BARO_KIND_HOST, tape) == 0 &&
        part_init(&w->task, baro_kind_find("task"), tape) == 0 &&
        part_init(&w->directory, BARO_KIND_DIRECTORY, tape) == 0)
        return w;
    instant_free(w);
    return NULL;
}

void instant_free(struct instant_writer *w)
{
    if (!w)
        return;
    part_done(&w->job);
    part_done(&w->host);
    part_done(&w->task);
    part_done(&w->directory);
    buf_done(&w->attributes);
    free(w);
}

static struct output_row row_of(struct instant_writer *w, const struct part *p, const struct baro_sample *s)
{
    return (struct output_row){.kind = p->kind,
                               .header = w->header,
                               .tape = w->tape,
                               .t_ns = baro_sample_t_ns(s),
                               .sample = s,
                               .memory = p->memory,
                               .names = &w->names,
                               .time = &w->time,
                               .attributes = &w->attributes};
}

static void write_one(struct instant_writer *w, struct part *p, const struct baro_sample *s, struct json *j)
{
    struct output_row r = row_of(w, p, s);
    if (p->kind == BARO_KIND_HOST)
        baro_sample_read_ns(s, BARO_KIND_HOST, &r.t_ns);
    row_begin(&r);
    if (j)
        json_row(&p->columns, &r, j);
    baro_previous_keep(p->memory, s, p->kind);
}

static void write_all(struct instant_writer *w, const struct part *p, const struct baro_sample *s, struct json *j)
{
    struct output_row r = row_of(w, p, s);
    if (j)
        json_begin(j, '[');
    for (size_t i = 0; i < baro_sample_rows(s, p->kind); i++) {
        r.entity = baro_sample_row(s, p->kind, i);
        row_begin(&r);
        if (j)
            json_row(&p->columns, &r, j);
    }
    if (j)
        json_end(j, ']');
    baro_previous_keep(p->memory, s, p->kind);
}

void instant_note(struct instant_writer *w, const struct baro_sample *s)
{
    uint64_t read_ns;
    row_names_note(&w->names, s);
    write_one(w, &w->job, s, NULL);
    if (baro_sample_read_ns(s, BARO_KIND_HOST, &read_ns) == BARO_PRESENT)
        write_one(w, &w->host, s, NULL);
    write_all(w, &w->task, s, NULL);
    write_all(w, &w->directory, s, NULL);
}

void instant_write(struct instant_writer *w, const struct baro_sample *s, struct json *j)
{
    struct buf time = {0};
    uint64_t read_ns;
    row_names_note(&w->names, s);
    json_begin(j, '{');
    json_key_u64(j, "t_ns", baro_sample_t_ns(s));
    fmt_time_utc(&time, row_realtime_ns(w->tape, w->header, baro_sample_t_ns(s)));
    json_key(j, "time");
    json_text_n(j, (const char *)time.at, time.len);
    buf_done(&time);
    json_key(j, "job");
    write_one(w, &w->job, s, j);
    json_key(j, "host");
    if (baro_sample_read_ns(s, BARO_KIND_HOST, &read_ns) == BARO_PRESENT)
        write_one(w, &w->host, s, j);
    else
        json_null(j);
    json_key(j, "tasks");
    write_all(w, &w->task, s, j);
    json_key(j, "directories");
    write_all(w, &w->directory, s, j);
    json_end(j, '}');
}

void instant_event(struct instant_writer *w, const struct columns *c, const struct baro_event *e, struct json *j)
{
    struct output_row r = {.kind = ROW_EVENT,
                           .header = w->header,
                           .tape = w->tape,
                           .t_ns = baro_event_t_ns(e),
                           .event = e,
                           .time = &w->time,
                           .names = &w->names,
                           .attributes = &w->attributes};
    json_row(c, &r, j);
}

void instant_exit(struct instant_writer *w, const struct columns *c, const struct baro_row *e, struct json *j)
{
    struct output_row r = {.kind = BARO_KIND_EXIT,
                           .header = w->header,
                           .tape = w->tape,
                           .t_ns = baro_row_end_ns(e),
                           .exit = e,
                           .time = &w->time,
                           .names = &w->names,
                           .attributes = &w->attributes};
    json_row(c, &r, j);
}

/* ---- which instant ---- */

/* Finds the sample in which the job had most memory, as the summary does. */
static bool peak_of(struct request *q, struct baro_tape *tape, const char *name, uint64_t *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_summary *summary;
    struct baro_value peak;
    if (baro_summary_of_tape(tape, &summary, &err) < 0) {
        request_fail_tape(q, &err);
        return false;
    }
    int absent = baro_summary_value(summary, baro_summary_fact_find("job", "memory_peak_t_ns"), 0, &peak);
    baro_summary_free(summary);
    if (absent != BARO_PRESENT) {
        request_fail(q, 404, "no_sample", "%s: no sample has memory", name);
        return false;
    }
    *ret = peak.u64;
    return true;
}

bool instant_moment(struct request *q, struct baro_tape *tape, const char *name, const char *text, uint64_t *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct span s = span_str(text);
    struct moment m;
    uint64_t first_ns = 0, last_ns = 0;
    if (baro_tape_range(tape, &first_ns, &last_ns, &err) < 0) {
        request_fail_tape(q, &err);
        return false;
    }
    if (scan_u64(&s, ret) && !s.len)
        return true;
    if (moment_on_tape(text, tape, 0, last_ns, &m, &err) < 0) {
        request_fail(q, 400, "bad_parameter", "%s: %s", name, err.text);
        return false;
    }
    if (m.kind == MOMENT_PEAK)
        return peak_of(q, tape, name, ret);
    *ret = m.kind == MOMENT_START ? first_ns
           : m.kind == MOMENT_END ? last_ns
           : m.ns < 0             ? 0
                                  : (uint64_t)m.ns + moment_tolerance(&m);
    return true;
}

static bool pick_of(struct request *q, enum baro_at *ret)
{
    static const struct {
        const char *name;
        enum baro_at at;
    } picks[] = {{"before", BARO_AT_BEFORE},
                 {"nearest", BARO_AT_NEAREST},
                 {"after", BARO_AT_AFTER},
                 {"exact", BARO_AT_EXACT},
                 {"interpolate", BARO_AT_INTERPOLATE}};
    const char *text = request_param(q, "pick");
    *ret = BARO_AT_BEFORE;
    for (size_t i = 0; text && i < sizeof(picks) / sizeof(*picks); i++) {
        *ret = picks[i].at;
        if (strcmp(text, picks[i].name) == 0)
            return true;
    }
    if (text)
        request_fail(q, 400, "bad_parameter", "pick is one of before, nearest, after, exact and interpolate");
    return !text;
}

bool instant_find(struct request *q, struct baro_tape *tape, struct instant *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    enum baro_at pick;
    const char *at = request_param(q, "at");
    uint64_t t_ns = UINT64_MAX;
    *ret = (struct instant){0};
    if (!pick_of(q, &pick) || (at && !instant_moment(q, tape, "at", at, &t_ns)))
        return false;
    int code = baro_tape_at(tape, t_ns, at ? pick : BARO_AT_BEFORE, &ret->now, &err);
    uint64_t now_ns = code > 0 ? baro_sample_t_ns(ret->now) : 0;
    if (code > 0 && now_ns > 0)
        code = baro_tape_at(tape, now_ns - 1, BARO_AT_BEFORE, &ret->before, &err) < 0 ? -1 : 1;
    if (code < 0) {
        instant_done(ret);
        request_fail_tape(q, &err);
        return false;
    }
    if (ret->now)
        return true;
    request_fail(q, 404, "no_sample", at ? "the tape has no such sample" : "the tape has no sample yet");
    return false;
}

void instant_done(struct instant *i)
{
    baro_sample_free(i->now);
    baro_sample_free(i->before);
    *i = (struct instant){0};
}
