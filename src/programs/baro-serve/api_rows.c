/* SPDX-License-Identifier: Apache-2.0 */
/* The handler for rows: those of one sample, sorted if wanted, or those of a part of the tape. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "output/rows/csv_json.h"
#include "programs/baro-serve/instant.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/sight.h"
#include "programs/common/tape_args.h"

#define LIMIT 100u
#define LIMIT_MOST 10000u

struct place {
    struct output_row row;
    uint64_t i;
    bool is_absent;
    double number;
    const char *text; /* borrowed from the sample; NULL: it is a number */
};

struct listing {
    struct request *q;
    struct row_source rows;
    struct columns sort; /* one column; none: the order of the tape */
    struct users users;
    struct page_range range;
    uint64_t from_ns, to_ns;
    const char *event; /* NULL: of any kind */
    struct json j;
    uint64_t total;
    struct place *places;
    size_t room;
};

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

/* Keeps a row with the value by which it is sorted, whose text must stay valid after the row. */
static int add_place(struct listing *l, const struct output_row *r)
{
    struct cell c;
    if (array_reserve(&l->places, (size_t)l->total + 1, &l->room, sizeof(*l->places)) < 0)
        return -ENOMEM;
    row_read(r, &l->sort);
    row_cell(r, &l->sort, 0, &c);
    bool in_row = (c.text >= c.room && c.text < c.room + sizeof(c.room)) || c.text == (const char *)r->attributes->at;
    struct place *p = &l->places[l->total];
    *p = (struct place){.row = *r, .i = l->total++, .is_absent = c.kind == CELL_ABSENT};
    if (c.kind == CELL_TEXT && in_row) /* the state of a process: one character; a user without a name: a number */
        p->number = c.text[0];
    else if (c.kind == CELL_TEXT)
        p->text = c.text;
    else
        p->number = c.kind == CELL_REAL ? c.real : c.kind == CELL_I64 ? (double)c.i64 : (double)c.u64;
    return 0;
}

static bool is_in_page(const struct listing *l, uint64_t i)
{
    return i >= l->range.offset && i - l->range.offset < l->range.limit;
}

static int take(void *context, const struct columns *c, const struct output_row *r)
{
    struct listing *l = context;
    if (r->t_ns < l->from_ns || r->t_ns > l->to_ns)
        return 0;
    if ((r->process && !sight_process(l->q, r->process)) || (r->exit && !sight_process(l->q, r->exit)))
        return 0;
    if (l->event && strcmp(baro_event_kind_name(baro_event_kind_of(r->event)), l->event) != 0)
        return 0;
    if (l->sort.n)
        return add_place(l, r);
    if (is_in_page(l, l->total++))
        json_row(c, r, &l->j);
    return l->q->out.failed ? -ENOMEM : 0;
}

/* Writes the rows of one sample, with the rates since the one before. Returns false if the request has failed. */
static bool write_instant(struct listing *l, struct baro_tape *tape, const char *member)
{
    const char *order = request_param(l->q, "order");
    struct baro_sample *now = NULL, *before = NULL;
    bool is_found = instant_find(l->q, tape, &now, &before);
    if (is_found) {
        json_key_u64(&l->j, "t_ns", baro_sample_t_ns(now));
        json_key_begin(&l->j, member, '[');
        int code = before ? row_source_sample(&l->rows, before, NULL, NULL) : 0;
        l->rows.of_every_sample = l->rows.is_last = true;
        if (code == 0)
            code = row_source_sample(&l->rows, now, take, l);
        l->q->out.failed = l->q->out.failed || code < 0;
        if (l->sort.n && l->total)
            qsort(l->places, l->total, sizeof(*l->places), order && strcmp(order, "up") == 0 ? compare : compare_down);
        for (uint64_t i = l->range.offset; l->sort.n && i < l->total && is_in_page(l, i); i++)
            json_row(&l->rows.columns, &l->places[i].row, &l->j);
        json_end(&l->j, ']');
    }
    baro_sample_free(now);
    baro_sample_free(before);
    return is_found;
}

/* Writes the rows of a part of the tape. It begins with the sample before, for rates. */
static bool write_range(struct listing *l, struct baro_tape *tape, const char *member)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_record r;
    bool of_samples = l->rows.columns.kind != ROW_EVENT && l->rows.columns.kind != BARO_KIND_EXIT;
    json_key_begin(&l->j, member, '[');
    int code = l->from_ns ? baro_tape_seek(tape, l->from_ns - 1, &r, &err) : baro_tape_next(tape, &r, &err);
    for (; code > 0 && !l->q->out.failed; code = baro_tape_next(tape, &r, &err)) {
        if (of_samples && r.kind == BARO_RECORD_SAMPLE && r.t_ns > l->to_ns)
            break;
        l->q->out.failed = row_source_record(&l->rows, &r, take, l) < 0 || l->q->out.failed;
    }
    json_end(&l->j, ']');
    if (code < 0)
        request_fail_tape(l->q, &err);
    return code >= 0;
}

static bool has(const struct request *q, const char *name)
{
    return request_param(q, name) != NULL;
}

/* Chooses kind and columns by the parameters, and checks these. Returns false if the request has failed. */
static bool choose(struct listing *l, struct baro_tape *tape, bool *ret_is_range)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct request *q = l->q;
    const char *sort = request_param(q, "sort"), *order = request_param(q, "order"), *fault = NULL;
    if (!q->route->rows && baro_tape_read_kinds(tape, &err) < 0) {
        request_fail_tape(q, &err);
        return false;
    }
    int kind = baro_rows_find(tape, q->route->rows ? q->route->rows : q->part[1]);
    bool is_of_process = kind == BARO_KIND_PROCESS || kind == BARO_KIND_EXIT; /* take() leaves out those of others */
    if (kind < 0 || row_is_of_list(kind) || (!is_of_process && !sight_kind(q, kind))) { /* the summary has them */
        request_fail(q, 404, "no_kind", "the tape has no rows of this kind");
        return false;
    }
    bool is_range = kind == ROW_EVENT || kind == BARO_KIND_EXIT || has(q, "from") || has(q, "to");
    *ret_is_range = is_range;
    if (order && strcmp(order, "up") != 0 && strcmp(order, "down") != 0)
        fault = "order is up or down";
    else if (sort && strchr(sort, ','))
        fault = "sort is the name of one column";
    else if (is_range && (sort || has(q, "at") || has(q, "pick")))
        fault =
            "at, pick and sort are for the rows of one sample; events, exits, and what from and to ask for, are more";
    else if (l->event && kind != ROW_EVENT)
        fault = "kind is for events";
    if (fault)
        request_fail(q, 400, "bad_parameter", "%s", fault);
    if (fault || !request_range(q, LIMIT, LIMIT_MOST, &l->range) || !instant_moment(q, tape, "from", &l->from_ns) ||
        !instant_moment(q, tape, "to", &l->to_ns))
        return false;
    int code = instant_rows(&l->rows, tape, kind, request_param(q, "columns"), &err);
    if (code >= 0 && sort && *sort)
        code = columns_choose(&l->sort, kind, sort, tape, NULL, &err);
    if (code < 0)
        request_fail_param(q, "", &err, code);
    l->rows.columns.cores |= l->sort.cores;
    l->rows.columns.derived |= l->sort.derived;
    l->rows.user = users_name;
    l->rows.user_context = &l->users;
    return code >= 0;
}

void api_rows(struct request *q)
{
    struct listing l = {.q = q, .to_ns = UINT64_MAX, .event = request_param(q, "kind"), .j.out = &q->out};
    struct baro_tape *tape = request_tape(q);
    bool is_range;
    if (tape && choose(&l, tape, &is_range)) {
        json_begin(&l.j, '{');
        json_key_u64(&l.j, "offset", l.range.offset);
        if (is_range ? write_range(&l, tape, q->route->member) : write_instant(&l, tape, q->route->member)) {
            json_key_u64(&l.j, "total", l.total);
            json_end(&l.j, '}');
            request_json_end(q);
        }
    }
    row_source_done(&l.rows);
    columns_done(&l.sort);
    free(l.places);
    baro_tape_close(tape);
}
