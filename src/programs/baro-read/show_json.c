/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of `baro show`. */
#include <string.h>

#include "base/fmt.h"
#include "programs/baro-read/show.h"

/* Rows before those of the instant, for rates. Apart: ids of entities are those of processes, too. */
struct earlier {
    struct baro_previous *processes, *tasks;
};

static struct output_row row_of(const struct show *w, int kind, const struct baro_sample *s,
                                struct baro_previous *memory)
{
    return (struct output_row){.kind = kind,
                               .header = baro_tape_header(w->feed.tape),
                               .t_ns = baro_sample_t_ns(s),
                               .sample = s,
                               .memory = memory};
}

/* Stores the rows of a kind; only those that an older sample lacks, if it is not NULL. */
static void remember(const struct show *w, int kind, const struct baro_sample *s, const struct baro_sample *older,
                     struct baro_previous *memory)
{
    struct output_row row = row_of(w, kind, s, memory);
    for (size_t i = 0; i < (kind == BARO_KIND_JOB ? 1 : baro_sample_rows(s, kind)); i++) {
        row.process = row.entity = baro_sample_row(s, kind, i);
        if (!older || !baro_sample_find_id(older, kind, baro_row_id(row.process)))
            row_begin(&row);
    }
}

/* Stores the sample from which rates are computed, and, for processes that began after it, their last row before the
 * instant: a process that began 50 ms ago has no row of 100 ms ago. */
static int read_earlier(struct show *w, struct earlier *e)
{
    struct baro_record record;
    const struct baro_sample *before = w->instant.before;
    *e = (struct earlier){row_previous_new(), row_previous_new()};
    if (!before)
        return 0;
    remember(w, BARO_KIND_JOB, before, NULL, e->processes);
    remember(w, BARO_KIND_PROCESS, before, NULL, e->processes);
    remember(w, BARO_KIND_TASK, before, NULL, e->tasks);
    int code = baro_tape_seek(w->feed.other, baro_sample_t_ns(before), &record, &w->err);
    while (code > 0 && (code = baro_tape_next(w->feed.other, &record, &w->err)) > 0 &&
           record.t_ns < baro_sample_t_ns(w->instant.now)) {
        if (record.kind == BARO_RECORD_SAMPLE)
            remember(w, BARO_KIND_PROCESS, record.u.sample, before, e->processes);
    }
    return code < 0 ? code : 0;
}

static void put_which(struct show *w, struct json *j)
{
    struct buf time = {0};
    uint64_t t_ns = baro_sample_t_ns(w->instant.now);
    fmt_time_utc(&time, row_realtime_ns(w->feed.other, baro_tape_header(w->feed.tape), t_ns));
    json_key_text(j, "tape", w->feed.path);
    json_key(j, "time");
    json_text_n(j, (const char *)time.at, time.len);
    buf_done(&time);
    json_key_u64(j, "t_ns", t_ns);
    json_key(j, "asked_ns");
    json_i64_or_null(j, w->asked, w->asked_ns);
    int64_t off = w->asked ? show_off_by(w) : 0;
    json_key_text(j, "sample",
                  !w->asked                           ? "last"
                  : off == 0                          ? "at"
                  : w->settings->pick == PICK_NEAREST ? "nearest"
                  : off < 0                           ? "before"
                                                      : "after");
    json_key(j, "rates_over_ns");
    json_u64_or_null(j, w->instant.before, w->instant.before ? t_ns - baro_sample_t_ns(w->instant.before) : 0);
}

/* Writes the rows of a kind as an array; of processes and tasks only those that were asked for. */
static int put_rows(struct show *w, int kind, struct baro_previous *memory, struct json *j)
{
    const struct baro_sample *s = w->instant.now;
    const char *only = w->settings->tasks.only;
    struct buf attributes = {0};
    struct output_row row = row_of(w, kind, s, memory);
    struct columns columns;
    int code = columns_choose(&columns, kind, NULL, w->feed.tape, NULL, &w->err);
    if (code < 0)
        return code;
    row.attributes = kind == BARO_KIND_PROCESS ? NULL : &attributes;
    json_begin(j, '[');
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        row.process = row.entity = baro_sample_row(s, kind, i);
        const char *task = kind == BARO_KIND_PROCESS ? model_task(&w->model, row.process)
                           : kind == BARO_KIND_TASK  ? baro_row_name(row.entity)
                                                     : only;
        if (only && strcmp(only, task) != 0)
            continue;
        if (kind == BARO_KIND_PROCESS || baro_row_read_ns(row.entity, &row.t_ns) != BARO_PRESENT)
            row.t_ns = baro_sample_t_ns(s);
        row_begin(&row);
        json_row(&columns, &row, j);
    }
    json_end(j, ']');
    columns_done(&columns);
    buf_done(&attributes);
    return 0;
}

static void put_phases(const struct show *w, struct json *j)
{
    const struct baro_timeline_item *v;
    json_key_begin(j, "phases", '[');
    for (size_t i = 0; (v = baro_timeline_get(w->feed.timeline, i)); i++) {
        if (!show_is_in(v, baro_sample_t_ns(w->instant.now)))
            continue;
        json_begin(j, '{');
        json_key_text(j, "name", v->name);
        json_key_u64(j, "begin_ns", v->begin_ns);
        json_key_bool(j, "begins_before", v->begins_before);
        json_key(j, "end_ns");
        json_u64_or_null(j, !v->is_open, v->end_ns);
        json_key_i64(j, "depth", v->depth);
        json_key(j, "attributes");
        json_attributes(v, j);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static int put_one(struct show *w, struct output_row *row, struct json *j)
{
    struct columns columns;
    struct buf text = {0};
    int code = columns_choose(&columns, row->kind, NULL, w->feed.tape, NULL, &w->err);
    if (code < 0)
        return code;
    row->attributes = &text; /* of a job these are its lower_bounds */
    row_begin(row);
    json_row(&columns, row, j);
    columns_done(&columns);
    buf_done(&text);
    return 0;
}

static int put_kinds(struct show *w, struct json *j)
{
    int code = 0;
    bool any = false;
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(w->feed.tape) && code == 0; kind++) {
        if (!baro_sample_rows(w->instant.now, kind))
            continue;
        if (!any)
            json_key_begin(j, "entities", '{');
        any = true;
        json_key(j, baro_tape_kind_name(w->feed.tape, kind));
        code = put_rows(w, kind, NULL, j);
    }
    if (any)
        json_end(j, '}');
    return code;
}

static int put_instant(struct show *w, const struct earlier *e, struct json *j)
{
    struct output_row job = row_of(w, BARO_KIND_JOB, w->instant.now, e->processes), machine;
    json_begin(j, '{');
    put_which(w, j);
    json_key(j, "job");
    int code = put_one(w, &job, j);
    json_key(j, "processes");
    if (code == 0)
        code = put_rows(w, BARO_KIND_PROCESS, e->processes, j);
    put_phases(w, j);
    json_key(j, "host");
    if (!show_machine_row(w, &machine))
        json_null(j);
    else if (code == 0)
        code = put_one(w, &machine, j);
    if (code == 0 && baro_sample_rows(w->instant.now, BARO_KIND_TASK)) {
        json_key(j, "tasks");
        code = put_rows(w, BARO_KIND_TASK, e->tasks, j);
    }
    if (code == 0)
        code = put_kinds(w, j);
    json_end(j, '}');
    return code;
}

int show_json(struct show *w, struct buf *b)
{
    struct json j = {.out = b, .pretty = !w->settings->follow};
    struct earlier e;
    int code = read_earlier(w, &e);
    if (code == 0)
        code = put_instant(w, &e, &j);
    baro_previous_free(e.processes);
    baro_previous_free(e.tasks);
    return code;
}
