/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers for rows of a tape: a sample, its processes, tasks and entities; events and exits, in pages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/rows/csv_json.h"
#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/instant.h"
#include "programs/baro-serve/route.h"
#include "programs/common/tape_args.h"

#define LIMIT 100u
#define LIMIT_MOST 10000u

void api_sample(struct request *q)
{
    struct json j = {.out = &q->out};
    struct instant i;
    struct baro_tape *tape = request_tape(q);
    if (tape && instant_find(q, tape, &i)) {
        struct instant_writer *w = instant_new(tape);
        if (w && i.before)
            instant_note(w, i.before);
        if (w)
            instant_write(w, i.now, &j);
        q->out.failed = q->out.failed || !w;
        instant_free(w);
        instant_done(&i);
        request_json_end(q);
    }
    baro_tape_close(tape);
}

/* ---- rows of an instant, sorted and paged ---- */

struct place {
    size_t i;
    bool is_absent;
    double number;
    const char *text; /* borrowed from the sample; NULL: it is a number */
};

struct listing {
    struct request *q;
    struct instant i;
    struct columns columns, sort;
    struct baro_previous *memory;
    struct row_time time;
    struct row_names names;
    struct buf attributes;
    struct users users;
    struct place *places;
    size_t n;
    struct page_range range;
};

static size_t count_of(const struct baro_sample *s, int kind)
{
    return kind == BARO_KIND_PROCESS ? baro_sample_rows(s, BARO_KIND_PROCESS) : baro_sample_rows(s, kind);
}

static struct output_row row_at(struct listing *l, const struct baro_sample *s, size_t i, struct baro_tape *tape)
{
    int kind = l->columns.kind;
    struct output_row r = {.kind = kind,
                           .header = baro_tape_header(tape),
                           .tape = tape,
                           .t_ns = baro_sample_t_ns(s),
                           .sample = s,
                           .memory = l->memory,
                           .time = &l->time,
                           .names = &l->names,
                           .attributes = &l->attributes,
                           .user = users_name,
                           .user_context = &l->users};
    if (kind == BARO_KIND_PROCESS)
        r.process = baro_sample_row(s, BARO_KIND_PROCESS, i);
    else
        r.entity = baro_sample_row(s, kind, i);
    return r;
}

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->is_absent != y->is_absent)
        return x->is_absent ? 1 : -1;
    int order = x->text && y->text ? strcmp(x->text, y->text) : x->number < y->number ? -1 : x->number > y->number;
    return order ? order : x->i < y->i ? -1 : 1;
}

static int compare_down(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->is_absent || y->is_absent ? compare(a, b) : compare(b, a);
}

/* Gets the value by which a row is sorted. Its text must stay valid after the row. */
static void take_place(struct listing *l, struct place *p, struct output_row *r)
{
    struct cell c;
    row_read(r, &l->sort);
    row_cell(r, &l->sort, 0, &c);
    p->is_absent = c.kind == CELL_ABSENT;
    p->number = c.kind == CELL_REAL ? c.real : c.kind == CELL_I64 ? (double)c.i64 : (double)c.u64;
    bool in_row = (c.text >= c.room && c.text < c.room + sizeof(c.room)) || c.text == (const char *)l->attributes.at;
    p->text = c.kind == CELL_TEXT && !in_row ? c.text : NULL;
    if (c.kind == CELL_TEXT && in_row) /* the state of a process: one character; a user without a name: a number */
        p->number = c.text[0];
}

/* Reads the rows of the previous sample, for rates, and then those of this one. */
static bool read_rows(struct listing *l, struct baro_tape *tape)
{
    int kind = l->columns.kind;
    l->memory = row_previous_new();
    l->n = count_of(l->i.now, kind);
    l->places = calloc(l->n + 1, sizeof(*l->places));
    if (!l->memory || !l->places)
        return false;
    for (size_t i = 0; l->i.before && i < count_of(l->i.before, kind); i++) {
        struct output_row r = row_at(l, l->i.before, i, tape);
        row_begin(&r);
    }
    if (l->i.before && baro_previous_keep(l->memory, l->i.before, kind) < 0)
        return false;
    row_names_note(&l->names, l->i.now);
    return true;
}

static void write_rows(struct listing *l, struct baro_tape *tape, const char *what)
{
    struct json j = {.out = &l->q->out};
    const char *order = request_param(l->q, "order");
    bool up = order && strcmp(order, "up") == 0;
    struct output_row *rows = calloc(l->n + 1, sizeof(*rows));
    l->q->out.failed = l->q->out.failed || !rows;
    for (size_t i = 0; rows && i < l->n; i++) {
        rows[i] = row_at(l, l->i.now, i, tape);
        row_begin(&rows[i]);
        l->places[i].i = i;
        if (l->sort.n)
            take_place(l, &l->places[i], &rows[i]);
    }
    if (l->sort.n)
        qsort(l->places, l->n, sizeof(*l->places), up ? compare : compare_down);
    json_begin(&j, '{');
    json_key_u64(&j, "t_ns", baro_sample_t_ns(l->i.now));
    json_key_u64(&j, "total", l->n);
    json_key_u64(&j, "offset", l->range.offset);
    json_key_begin(&j, what, '[');
    for (uint64_t k = l->range.offset; rows && k < l->n && k - l->range.offset < l->range.limit; k++)
        json_row(&l->columns, &rows[l->places[k].i], &j);
    json_end(&j, ']');
    json_end(&j, '}');
    free(rows);
}

static bool choose_columns(struct listing *l, struct baro_tape *tape, int kind)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct request *q = l->q;
    const char *sort = request_param(q, "sort"), *order = request_param(q, "order");
    if (order && strcmp(order, "up") != 0 && strcmp(order, "down") != 0) {
        request_fail(q, 400, "bad_parameter", "order is up or down");
        return false;
    }
    if (sort && strchr(sort, ',')) {
        request_fail(q, 400, "bad_parameter", "sort is the name of one column");
        return false;
    }
    int code = instant_columns(&l->columns, kind, request_param(q, "columns"), tape, &err);
    if (code >= 0 && sort && *sort)
        code = columns_choose(&l->sort, kind, sort, tape, NULL, &err);
    if (code < 0)
        request_fail_param(q, "", &err, code);
    return code >= 0;
}

static void list_rows(struct request *q, struct baro_tape *tape, int kind, const char *what)
{
    struct listing l = {.q = q};
    if (request_range(q, LIMIT, LIMIT_MOST, &l.range) && choose_columns(&l, tape, kind) &&
        instant_find(q, tape, &l.i)) {
        if (read_rows(&l, tape))
            write_rows(&l, tape, what);
        else
            q->out.failed = true;
        request_json_end(q);
    }
    instant_done(&l.i);
    columns_done(&l.columns);
    columns_done(&l.sort);
    baro_previous_free(l.memory);
    buf_done(&l.attributes);
    free(l.places);
}

void api_processes(struct request *q)
{
    struct baro_tape *tape = request_tape(q);
    if (tape)
        list_rows(q, tape, BARO_KIND_PROCESS, "processes");
    baro_tape_close(tape);
}

void api_tasks(struct request *q)
{
    struct baro_tape *tape = request_tape(q);
    if (tape)
        list_rows(q, tape, baro_kind_find("task"), "tasks");
    baro_tape_close(tape);
}

void api_entities(struct request *q)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape = request_tape(q);
    int kind = -1;
    if (!tape)
        return;
    if (baro_tape_read_kinds(tape, &err) < 0) {
        request_fail_tape(q, &err);
    } else {
        kind = baro_tape_kind_find(tape, q->part[1]);
        if (kind < BARO_KIND_CPU)
            request_fail(q, 404, "no_kind", "the tape has no entities of this kind");
        else
            list_rows(q, tape, kind, "entities");
    }
    baro_tape_close(tape);
}

/* ---- records in a page ---- */

struct walk {
    struct request *q;
    struct instant_writer *writer;
    struct columns columns;
    struct page_range range;
    enum baro_record_kind record;
    const char *event; /* NULL: of any kind */
    uint64_t total;
};

static void take_record(struct walk *w, const struct baro_record *r, struct json *j)
{
    if (r->kind != w->record || (w->event && r->kind == BARO_RECORD_EVENT &&
                                 strcmp(baro_event_kind_name(baro_event_kind_of(r->u.event)), w->event) != 0))
        return;
    uint64_t number = w->total++;
    if (number < w->range.offset || number - w->range.offset >= w->range.limit)
        return;
    if (r->kind == BARO_RECORD_EVENT)
        instant_event(w->writer, &w->columns, r->u.event, j);
    else
        instant_exit(w->writer, &w->columns, r->u.exit, j);
}

static void walk_tape(struct walk *w, struct baro_tape *tape, const char *what)
{
    struct json j = {.out = &w->q->out};
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_record r;
    int code;
    json_begin(&j, '{');
    json_key_u64(&j, "offset", w->range.offset);
    json_key_begin(&j, what, '[');
    while ((code = baro_tape_next(tape, &r, &err)) > 0)
        take_record(w, &r, &j);
    json_end(&j, ']');
    json_key_u64(&j, "total", w->total);
    json_end(&j, '}');
    if (code < 0)
        request_fail_tape(w->q, &err);
    else
        request_json_end(w->q);
}

static void list_records(struct request *q, int kind, const char *list, struct walk *w, const char *what)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape = request_tape(q);
    if (tape && request_range(q, LIMIT, LIMIT_MOST, &w->range)) {
        w->writer = instant_new(tape);
        list = list && *list ? list : NULL;
        int code = w->writer ? columns_choose(&w->columns, kind, list, tape, NULL, &err) : -ENOMEM;
        if (code < 0)
            request_fail_param(q, "", &err, code);
        else
            walk_tape(w, tape, what);
    }
    columns_done(&w->columns);
    instant_free(w->writer);
    baro_tape_close(tape);
}

void api_events(struct request *q)
{
    struct walk w = {.q = q, .record = BARO_RECORD_EVENT, .event = request_param(q, "kind")};
    list_records(q, ROW_EVENT, NULL, &w, "events");
}

void api_exits(struct request *q)
{
    struct walk w = {.q = q, .record = BARO_RECORD_EXIT};
    list_records(q, BARO_KIND_EXIT, request_param(q, "columns"), &w, "exits");
}
