/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream of events sends: the records of a job, or the changes of the list of jobs. */
#include "programs/baro-serve/live_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/span.h"
#include "output/rows/csv_json.h"
#include "programs/baro-serve/server.h"

#define STEP_RECORDS 2000u        /* records of one stream before the others have their turn */
#define JOBS_NS NS_PER_SEC        /* time between two updates of the list of jobs */
#define ROW_NS (NS_PER_SEC / 100) /* time per row of the list: if there are many, each is sent less often */

static void add_event(struct buf *out, const char *id, const char *event, const struct buf *data)
{
    if (*id)
        buf_printf(out, "id: %s\n", id);
    buf_printf(out, "event: %s\ndata: ", event);
    buf_add(out, data->at, data->len && data->at[data->len - 1] == '\n' ? data->len - 1 : data->len);
    buf_str(out, "\n\n");
    out->failed = out->failed || data->failed;
}

static void add_record(struct stream *s, const struct baro_record *r, struct buf *out)
{
    struct buf data = {0};
    struct json j = {.out = &data};
    char id[48];
    bool is_sample = r->kind == BARO_RECORD_SAMPLE;
    const char *event = is_sample ? "sample" : r->kind == BARO_RECORD_EVENT ? "event" : "exit";
    s->records = is_sample ? 0 : s->records + 1;
    s->t_ns = is_sample ? r->t_ns : s->t_ns;
    if (is_sample)
        instant_write(&s->writer, r->u.sample, &j);
    row_source_record(&s->events, r, json_put_row, &j);
    if (s->with_exits)
        row_source_record(&s->exits, r, json_put_row, &j);
    snprintf(id, sizeof(id), "%llu.%llu", (unsigned long long)s->t_ns, (unsigned long long)s->records);
    if (data.len || data.failed)
        add_event(out, id, event, &data);
    buf_done(&data);
}

static void add_end(struct stream *s, struct buf *out)
{
    struct buf row = {0};
    job_row(s->live->catalogue, s->job, &row);
    add_event(out, "", "end", &row);
    buf_done(&row);
    s->is_over = true;
}

static void add_error(struct stream *s, const struct baro_error *err, struct buf *out)
{
    struct buf data = {0};
    struct json j = {.out = &data};
    json_begin(&j, '{');
    json_key_text(&j, "message", err->text);
    json_end(&j, '}');
    add_event(out, "", "failed", &data);
    buf_done(&data);
    s->is_over = true;
}

static void fill_job(struct stream *s, size_t room, struct buf *out)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_record r;
    int code = 1;
    baro_tape_limit_cpu(s->tape, REQUEST_CPU_NS);
    for (size_t i = 0; i < STEP_RECORDS && code > 0 && out->len < room && !s->is_over; i++) {
        code = baro_tape_next(s->tape, &r, &err);
        if (code > 0) {
            add_record(s, &r, out);
            continue;
        }
        if (code == 0)
            code = baro_tape_wait(s->tape, 0, &err);
        if (code == BARO_E_ENDED)
            add_end(s, out);
    }
    if (code < 0 && code != BARO_E_ENDED)
        add_error(s, &err, out);
    if (code > 0 && !s->is_over)
        eventfd_write(s->live->wake_fd, 1); /* there is more */
}

static void fill_jobs(struct stream *s, uint64_t now_ns, struct buf *out)
{
    struct catalogue *c = s->live->catalogue;
    bool all = now_ns >= s->rows_ns;
    struct job_filter changed = {.state = -1, .since = all ? s->version : 0, .turned_since = all ? 0 : s->turned};
    struct job_list list;
    struct buf row = {0};
    if (now_ns - s->asked_ns < JOBS_NS)
        return;
    s->asked_ns = now_ns;
    if (!catalogue_removed(c, s->turned, &row))
        add_event(out, "", "reload", &(struct buf){.at = (unsigned char *)"{}", .len = 2});
    for (size_t i = 0; i < row.len; i += strlen((const char *)row.at + i) + 1) {
        struct buf data = {0};
        struct json j = {.out = &data};
        json_text(&j, (const char *)row.at + i);
        add_event(out, "", "removed", &data);
        buf_done(&data);
    }
    if (catalogue_list(c, &changed, 0, UINT64_MAX, &list) == 0) {
        for (size_t i = list.n; i-- > 0;) {
            buf_clear(&row);
            job_row(c, list.at[i], &row);
            add_event(out, "", "job", &row);
        }
        s->turned = list.version;
        s->version = all ? list.version : s->version;
        s->rows_ns = all ? now_ns + list.n * ROW_NS : s->rows_ns;
        job_list_done(c, &list);
    }
    buf_done(&row);
}

void stream_fill(struct stream *s, uint64_t now_ns, size_t room, struct buf *out)
{
    if (s->job)
        fill_job(s, room, out);
    else
        fill_jobs(s, now_ns, out);
}

void stream_free(struct stream *s)
{
    baro_tape_close(s->tape);
    instant_done(&s->writer);
    row_source_done(&s->exits);
    row_source_done(&s->events);
    buf_done(&s->out);
    if (s->job)
        job_release(s->live->catalogue, s->job);
    free(s);
}

/* ---- the handlers ---- */

/* Moves the cursor behind the last event that the client has, else to the last sample. Returns 0 or a negative code. */
static int place(struct stream *s, const char *id, struct baro_error *err)
{
    struct baro_record r;
    struct span at = span_str(id ? id : "");
    uint64_t t_ns, records = 0;
    bool resumes = scan_u64(&at, &t_ns);
    if (resumes && scan_char(&at, '.'))
        scan_u64(&at, &records);
    int code = baro_tape_seek(s->tape, resumes ? t_ns : UINT64_MAX, &r, err);
    if (code <= 0)
        return code < 0 ? code : baro_tape_rewind(s->tape, err);
    if (!resumes) { /* first the sample before the last one, for rates */
        code = baro_tape_previous(s->tape, &r, err);
        if (code > 0)
            instant_write(&s->writer, r.u.sample, NULL);
        while (code > 0 && (code = baro_tape_next(s->tape, &r, err)) > 0 && r.kind != BARO_RECORD_SAMPLE)
            ;
        code = code < 0 ? code : baro_tape_seek(s->tape, UINT64_MAX, &r, err);
        if (code > 0)
            add_record(s, &r, &s->out);
        return code < 0 ? code : 0;
    }
    instant_write(&s->writer, r.u.sample, NULL);
    s->t_ns = r.t_ns;
    for (; records > 0 && r.t_ns == t_ns && (code = baro_tape_next(s->tape, &r, err)) > 0; records--)
        s->records++;
    return code < 0 ? code : 0;
}

void live_job(struct request *q)
{
    struct baro_error err = BARO_ERROR_INIT;
    const char *id = request_param(q, "last_event_id"), *exits = request_param(q, "exits");
    struct baro_tape *tape = request_tape(q);
    struct stream *s = tape ? calloc(1, sizeof(*s)) : NULL;
    if (!tape)
        return;
    if (!s) {
        baro_tape_close(tape);
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    s->live = q->server->live;
    s->tape = tape;
    s->with_exits = exits && strcmp(exits, "1") == 0;
    int code = instant_init(&s->writer, tape, &err);
    if (code >= 0)
        code = row_source_init(&s->exits, tape, BARO_KIND_EXIT, NULL, NULL, &err);
    if (code >= 0)
        code = row_source_init(&s->events, tape, ROW_EVENT, NULL, NULL, &err);
    if (code >= 0)
        code = place(s, q->last_event_id ? q->last_event_id : id, &err);
    if (code < 0) {
        stream_free(s);
        err.code = err.code ? err.code : code;
        request_fail_tape(q, &err);
        return;
    }
    s->job = q->job;
    q->job = NULL; /* the stream has it now */
    q->stream = s;
}

void live_jobs(struct request *q)
{
    struct job_filter any = {.state = -1};
    struct job_list list;
    struct stream *s = calloc(1, sizeof(*s));
    if (!s || catalogue_list(q->server->catalogue, &any, 0, 0, &list) < 0) {
        free(s);
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    s->version = s->turned = list.version; /* only later changes are sent */
    job_list_done(q->server->catalogue, &list);
    s->live = q->server->live;
    q->stream = s;
}
