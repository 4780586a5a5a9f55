/* SPDX-License-Identifier: Apache-2.0 */
/* A stream: it walks over a tape and makes arrays of the rows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baro/fold.h"
#include "base/error.h"
#include "libbaro/arrow/fill.h"
#include "libbaro/tape/cursor.h"

enum { BATCH_ROWS = 65536, TEXT_ROOM = 1024, TEXT_MOST = 16 << 20 };

struct stream {
    struct baro_fold *fold;   /* has the timeline; NULL: no row or column is a phase */
    struct baro_steps *steps; /* NULL: no row is a step */
    size_t next_item;         /* of the timeline, or of the steps: rows of phases, of steps */
    uint64_t damage;          /* bytes that the fold stepped over, for rows of phases and steps */
    struct baro_tape *tape;   /* its own cursor */
    struct baro_columns *chosen;
    int rows; /* a kind, or BARO_ROWS_... */
    uint64_t from_ns, to_ns;
    size_t batch_rows;
    bool begun, ended, derived;
    struct filling filling;
    /* The record whose rows are being delivered: the rows from `next` to n - 1 are left. keep: its sample is kept
     * for comparison once all its rows were delivered. */
    struct baro_record record;
    uint64_t t_ns; /* time of these rows */
    size_t next, n;
    bool keep;
    bool any_read; /* rows of the machine or of entities were delivered, last those of read_ns */
    uint64_t read_ns;
    struct baro_error err;
    size_t n_columns;
    struct column column[];
};

/* ---- the rows of a record ---- */

/* Returns how many rows of the kind are new in the sample. The machine and entities are not read for every sample:
 * if this sample has no new reading of them, it returns 0. */
static size_t entity_rows(struct stream *s, const struct baro_sample *sample)
{
    uint64_t at;
    if (baro_sample_read_ns(sample, s->rows, &at) != BARO_PRESENT || (s->any_read && at == s->read_ns))
        return 0;
    s->any_read = s->keep = true;
    s->read_ns = s->t_ns = at;
    return baro_sample_rows(sample, s->rows);
}

static void note_tasks(struct filling *f, const struct baro_sample *sample)
{
    const struct baro_entities *named = fill_named(sample);
    for (size_t i = 0; named && f->n_names < TASK_NAMES && i < named->n; i++) {
        if (f->n_names && named->at[i]->id <= f->names[f->n_names - 1].id)
            continue; /* control groups come and go; a later one has a larger id */
        f->names[f->n_names].id = named->at[i]->id;
        snprintf(f->names[f->n_names++].text, sizeof(f->names->text), "%s", baro_row_name(row_of_entity(named->at[i])));
    }
}

/* Are the rows those of a list that is made from the whole tape? */
static bool is_of_list(int rows)
{
    return rows == BARO_ROWS_PHASE || rows == BARO_ROWS_STEP;
}

static bool is_of_samples(int rows)
{
    return rows != BARO_ROWS_EVENT && !is_of_list(rows) && rows != BARO_KIND_EXIT;
}

static size_t rows_of(struct stream *s, const struct baro_record *r)
{
    s->t_ns = r->t_ns;
    s->keep = false;
    if (r->kind == BARO_RECORD_SAMPLE)
        note_tasks(&s->filling, r->u.sample);
    if (r->kind == BARO_RECORD_EXIT)
        return s->rows == BARO_KIND_EXIT;
    if (r->kind == BARO_RECORD_EVENT)
        return s->rows == BARO_ROWS_EVENT;
    if (r->kind != BARO_RECORD_SAMPLE || !is_of_samples(s->rows))
        return 0;
    if (s->rows != BARO_KIND_PROCESS && s->rows != BARO_KIND_JOB)
        return entity_rows(s, r->u.sample);
    s->keep = true;
    return s->rows == BARO_KIND_JOB ? 1 : baro_sample_rows(r->u.sample, BARO_KIND_PROCESS);
}

/* Moves to the first record: the last sample before the range, with which the first rows of the range are compared.
 * If there is none, it is the first record of the tape, because exits and events may stand before the first sample. */
static int first_record(struct stream *s, struct baro_record *ret)
{
    int r = s->from_ns ? baro_tape_seek(s->tape, s->from_ns - 1, ret, &s->err) : 0;
    if (r < 0 || (r > 0 && ret->t_ns < s->from_ns))
        return r;
    r = baro_tape_rewind(s->tape, &s->err);
    return r < 0 ? r : baro_tape_next(s->tape, ret, &s->err);
}

/* Is called when all rows of a record were delivered. */
static int keep_record(struct stream *s)
{
    const bool keep = s->keep && s->derived;
    s->keep = false;
    return keep ? baro_previous_keep(s->filling.previous, s->record.u.sample, s->rows) : 0;
}

/* Moves to the next phase. */
static int next_phase(struct stream *s)
{
    const struct baro_timeline_item *v;
    s->next = s->n = 0;
    while (s->n == 0 && (v = baro_timeline_get(s->filling.timeline, s->next_item)) != NULL) {
        s->t_ns = v->begin_ns;
        s->n = v->kind == BARO_TIMELINE_PHASE;
        s->next_item++;
    }
    return s->n > 0;
}

static int next_step(struct stream *s)
{
    const struct baro_step *step = baro_steps_get(s->steps, s->next_item);
    s->next = 0;
    s->n = step != NULL;
    s->t_ns = step ? step->begin_ns : 0;
    s->next_item += s->n;
    return step != NULL;
}

/* Moves to the next record that has rows. Returns 1, 0 at the end, or a negative code. A reading of the machine or
 * of entities may be older than the sample that has it, so the first sample after the range is the last one that may
 * have rows. Exits and events may stand later on the tape than they happened, so they are searched for up to its
 * end. */
static int next_record(struct stream *s)
{
    int r = 1;
    if (is_of_list(s->rows))
        return s->rows == BARO_ROWS_PHASE ? next_phase(s) : next_step(s);
    s->n = 0;
    while (s->n == 0 && r > 0 && !s->ended) {
        if (keep_record(s) < 0)
            return error_set(&s->err, -ENOMEM, "out of memory");
        r = s->begun ? baro_tape_next(s->tape, &s->record, &s->err) : first_record(s, &s->record);
        s->begun = true;
        if (r <= 0)
            break;
        s->ended = s->record.kind == BARO_RECORD_SAMPLE && s->record.t_ns > s->to_ns && is_of_samples(s->rows);
        if (s->ended && (s->rows == BARO_KIND_PROCESS || s->rows == BARO_KIND_JOB))
            break;
        s->n = rows_of(s, &s->record);
    }
    s->next = 0;
    s->ended = s->ended || r == 0;
    return r < 0 ? r : s->n > 0;
}

/* ---- batches ---- */

static struct chunk next_chunk(struct stream *s, size_t most)
{
    const struct baro_record *r = &s->record;
    size_t n = s->n - s->next;
    n = n < most ? n : most;
    struct chunk k = {.kind = s->rows, .t_ns = s->t_ns, .n = n < CHUNK_ROWS ? n : CHUNK_ROWS, .first = s->next};
    if (s->rows == BARO_KIND_EXIT)
        k.exit = row_exit(r->u.exit);
    else if (s->rows == BARO_ROWS_EVENT)
        k.event = r->u.event;
    else if (is_of_list(s->rows))
        k.item = s->next_item - 1;
    else
        k.sample = r->u.sample;
    if (s->rows == BARO_KIND_PROCESS)
        k.process = r->u.sample->processes + s->next;
    else if (k.sample && s->rows != BARO_KIND_JOB && s->rows != BARO_KIND_HOST)
        k.entity = sample_entities(k.sample, s->rows)->at + s->next;
    s->next += k.n;
    return k;
}

/* Returns the bytes of text that the columns hold. A column that ran out of memory counts as full. */
static size_t text_bytes(const struct stream *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_columns; i++)
        n += s->column[i].failed ? TEXT_MOST : s->column[i].words.bytes.len;
    return n;
}

/* Fills the columns. Returns the number of rows or a negative code. */
static int64_t fill_columns(struct stream *s)
{
    size_t rows = 0;
    s->filling.batch++;
    for (size_t i = 0; i < s->n_columns; i++)
        column_begin(&s->column[i]);
    while (rows < s->batch_rows && text_bytes(s) < TEXT_MOST) {
        int r = s->next < s->n ? 1 : next_record(s);
        if (r < 0)
            return r;
        if (r == 0)
            break;
        struct chunk k = next_chunk(s, s->batch_rows - rows);
        chunk_compare(&k, &s->filling);
        if (s->t_ns < s->from_ns || s->t_ns > s->to_ns)
            continue;
        for (size_t i = 0; i < s->n_columns; i++)
            chunk_fill(&k, &s->filling, &s->column[i]);
        rows += k.n;
    }
    return (int64_t)rows;
}

/* ---- the interface ---- */

static int errno_of(int code)
{
    return code < 0 && code > -4096 ? -code : EIO;
}

static int fail_stream(struct stream *s, int code)
{
    if (!s->err.text[0])
        error_set(&s->err, code, "%s", code == -ENOMEM ? "out of memory" : "can't read the tape");
    s->err.code = code;
    return errno_of(code);
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct stream *s = stream->private_data;
    const char *kind = s->rows == BARO_ROWS_EVENT   ? "event"
                       : s->rows == BARO_ROWS_PHASE ? "phase"
                       : s->rows == BARO_ROWS_STEP  ? "step"
                                                    : baro_tape_kind_name(s->tape, s->rows);
    int r = arrow_schema(s->column, s->n_columns, s->filling.header, s->rows, kind, out);
    return r < 0 ? fail_stream(s, r) : 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *s = stream->private_data;
    if (s->err.code)
        return errno_of(s->err.code);
    int64_t rows = fill_columns(s);
    if (rows == 0) {
        *out = (struct ArrowArray){0};
        return 0;
    }
    int r = rows < 0 ? (int)rows : columns_take(s->column, s->n_columns, (size_t)rows, out);
    return r < 0 ? fail_stream(s, r) : 0;
}

uint64_t baro_arrow_damage(const struct ArrowArrayStream *stream)
{
    const struct stream *s = stream->private_data;
    return is_of_list(s->rows) ? s->damage : baro_tape_damage(s->tape);
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const struct stream *s = stream->private_data;
    return s->err.code ? s->err.text : NULL;
}

static void stream_free(struct stream *s)
{
    for (size_t i = 0; i < s->n_columns; i++)
        column_done(&s->column[i]);
    baro_columns_free(s->chosen);
    baro_previous_free(s->filling.previous);
    baro_fold_free(s->fold);
    baro_steps_free(s->steps);
    buf_done(&s->filling.text);
    baro_tape_close(s->tape);
    free(s);
}

static void release(struct ArrowArrayStream *stream)
{
    stream_free(stream->private_data);
    stream->release = NULL;
}

/* ---- making one ---- */

static bool of_job_alone(const struct baro_column *c)
{
    switch (c->kind) {
    case BARO_COLUMN_TIME:
    case BARO_COLUMN_T:
    case BARO_COLUMN_PHASE:
    case BARO_COLUMN_LOSSY:
    case BARO_COLUMN_CORES:
    case BARO_COLUMN_DERIVED:
    case BARO_COLUMN_REASON: return true;
    case BARO_COLUMN_METRIC: return c->metric->unit != BARO_UNIT_ENTITY;
    default: return false; /* sums, and which of them lack a process */
    }
}

/* Selects what must be decoded for these columns. */
static enum tape_part part_of(int rows, const struct baro_columns *c)
{
    if (rows == BARO_ROWS_EVENT)
        return PART_EVENTS;
    if (rows >= BARO_KIND_HOST && rows != BARO_KIND_TASK) /* tasks are sums over processes */
        return PART_MACHINE;
    bool alone = rows == BARO_KIND_JOB;
    for (size_t i = 0; alone && i < baro_columns_count(c); i++)
        alone = of_job_alone(baro_columns_get(c, i));
    return alone ? PART_JOB : PART_ALL;
}

static int make_stream(struct stream **ret, struct baro_tape *tape, struct baro_columns *chosen, int rows,
                       struct baro_error *err)
{
    size_t n = baro_columns_count(chosen);
    struct stream *s = calloc(1, sizeof(*s) + n * sizeof(struct column));
    if (!s || !buf_reserve(&s->filling.text, TEXT_ROOM)) {
        free(s);
        return error_set(err, -ENOMEM, "out of memory");
    }
    s->tape = tape;
    s->chosen = chosen;
    s->rows = rows;
    s->filling.header = baro_tape_header(tape);
    s->filling.tape = tape;
    s->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        s->column[i].is = baro_columns_get(chosen, i);
        s->column[i].type = arrow_type(s->column[i].is);
    }
    *ret = s;
    return 0;
}

static bool has_column(const struct stream *s, enum baro_column_kind kind)
{
    for (size_t i = 0; i < s->n_columns; i++) {
        if (s->column[i].is->kind == kind)
            return true;
    }
    return false;
}

static int prepare_stream(struct stream *s, const struct baro_tape *tape, struct baro_error *err)
{
    struct baro_tape *other;
    s->derived = has_column(s, BARO_COLUMN_DERIVED);
    if ((s->derived || has_column(s, BARO_COLUMN_CORES)) && baro_previous_new(&s->filling.previous) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    bool has_phase = has_column(s, BARO_COLUMN_PHASE) || s->rows == BARO_ROWS_PHASE;
    if (!has_phase && s->rows != BARO_ROWS_STEP)
        return 0;
    int r = tape_open_again(&other, tape, PART_ALL, err);
    if (r < 0)
        return r;
    if (has_phase)
        r = baro_fold_of_tape(other, BARO_FOLD_TIMELINE, &s->fold, err);
    if (r >= 0 && has_phase)
        s->filling.timeline = baro_fold_timeline(s->fold);
    if (r >= 0 && s->rows == BARO_ROWS_STEP)
        r = baro_steps_of_tape(other, &s->steps, err);
    s->filling.steps = s->steps;
    s->damage = baro_tape_damage(other);
    baro_tape_close(other);
    return r;
}

static void take_options(struct stream *s, const struct baro_arrow_options *options)
{
    struct baro_arrow_options o = BARO_ARROW_OPTIONS_INIT;
    if (options)
        memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    s->from_ns = o.from_ns;
    s->to_ns = o.to_ns ? o.to_ns : UINT64_MAX;
    s->batch_rows = o.batch_rows ? o.batch_rows : BATCH_ROWS;
    s->filling.user = o.user;
    s->filling.user_context = o.user_context;
}

int baro_tape_arrow(const struct baro_tape *tape, int rows, const char *columns,
                    const struct baro_arrow_options *options, struct ArrowArrayStream *ret, struct baro_error *err)
{
    struct baro_tape *own = NULL;
    struct baro_columns *chosen = NULL;
    struct stream *s = NULL;
    int r = tape_open_again(&own, tape, PART_ALL, err);
    if (r == 0 && rows != BARO_ROWS_EVENT && !is_of_list(rows) &&
        rows > BARO_KIND_DIRECTORY) /* its columns are declared on the tape */
        r = baro_tape_read_kinds(own, err);
    if (r == 0)
        r = baro_columns_new(&chosen, own, rows, columns, err);
    if (r == 0)
        r = make_stream(&s, own, chosen, rows, err);
    if (r < 0) {
        baro_columns_free(chosen);
        baro_tape_close(own);
        return r;
    }
    own->part = part_of(rows, chosen);
    take_options(s, options);
    r = prepare_stream(s, tape, err);
    if (r < 0) {
        stream_free(s);
        return r;
    }
    baro_tape_limit_cpu(own, 0);
    *ret = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, s};
    return 0;
}
