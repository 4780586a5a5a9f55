/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/row.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fmt.h"

/* ---- cells ---- */

static void write_time(struct row_time *t, int64_t realtime_ns)
{
    struct buf b = {0};
    fmt_time_utc(&b, realtime_ns);
    t->len = b.failed ? 0 : b.len < sizeof(t->text) ? b.len : sizeof(t->text);
    memcpy(t->text, b.at ? b.at : (const unsigned char *)"", t->len);
    buf_done(&b);
}

int64_t row_realtime_ns(struct baro_tape *tape, const struct baro_header *header, uint64_t t_ns)
{
    int64_t ns;
    return tape && baro_tape_realtime_ns(tape, t_ns, &ns, NULL) == 0 ? ns : baro_header_realtime_ns(header, t_ns);
}

static void put_time(struct cell *c, const struct output_row *r)
{
    struct row_time once = {0}, *t = r->time ? r->time : &once;
    if (!t->len || t->t_ns != r->t_ns) {
        write_time(t, row_realtime_ns(r->tape, r->header, r->t_ns));
        t->t_ns = r->t_ns;
    }
    memcpy(c->room, t->text, t->len);
    c->kind = CELL_TEXT;
    c->text = c->room;
    c->len = t->len;
}

static void put_user(struct cell *c, const struct output_row *r, uint32_t uid)
{
    const char *name = uid != UINT32_MAX && r->user ? r->user(r->user_context, uid) : NULL;
    if (uid == UINT32_MAX) {
        cell_absent(c, BARO_ABSENT_UNKNOWN);
    } else if (name) {
        cell_text(c, name);
    } else {
        snprintf(c->room, sizeof(c->room), "%u", uid);
        cell_text(c, c->room);
    }
}

/* A stored value in the form in which its unit is shown. */
static void put_stored(struct cell *c, enum baro_unit unit, int absent, uint64_t v)
{
    if (absent != BARO_PRESENT) {
        cell_absent(c, absent);
        return;
    }
    switch (unit) {
    case BARO_UNIT_CHAR:
        c->room[0] = (char)v;
        c->room[1] = 0;
        cell_text(c, c->room);
        break;
    case BARO_UNIT_SIGNED:
        c->kind = CELL_I64;
        c->i64 = (int64_t)v;
        break;
    case BARO_UNIT_RATIO:
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS:
    case BARO_UNIT_DECIMAL:
        c->kind = CELL_REAL;
        c->real = (double)v / 1e6;
        break;
    case BARO_UNIT_REAL:
        c->kind = CELL_REAL;
        memcpy(&c->real, &v, sizeof(c->real));
        break;
    case BARO_UNIT_CELSIUS:
        c->kind = CELL_REAL;
        c->real = (double)(int64_t)v / 1e3;
        break;
    default: cell_u64(c, v);
    }
}

/* ---- comparison with the previous row ---- */

struct baro_previous *row_previous_new(void)
{
    struct baro_previous *m;
    return baro_previous_new(&m) == 0 ? m : NULL;
}

/* A derived metric of a row: 0 or why it is absent (BARO_ABSENT_NOT_YET in the first row of a process, entity, ...). */
static int row_derived(const struct output_row *r, int derived, double *ret)
{
    if (r->kind == BARO_KIND_PROCESS)
        return r->process_before ? baro_row_derived(r->process_before, r->process, derived, ret) : BARO_ABSENT_NOT_YET;
    if (r->entity)
        return r->entity_before ? baro_row_derived(r->entity_before, r->entity, derived, ret) : BARO_ABSENT_NOT_YET;
    return r->before ? baro_row_derived(baro_sample_row(r->before, r->kind, 0), baro_sample_row(r->sample, r->kind, 0),
                                        derived, ret)
                     : BARO_ABSENT_NOT_YET;
}

static int cores_of(struct output_row *r)
{
    if (r->process)
        return baro_previous_cores(r->memory, r->header, r->t_ns, r->process, &r->cores);
    if (r->entity)
        return baro_previous_cores(r->memory, r->header, r->t_ns, r->entity, &r->cores);
    return r->sample
               ? baro_previous_cores(r->memory, r->header, r->t_ns, baro_sample_row(r->sample, r->kind, 0), &r->cores)
               : BARO_ABSENT_UNSUPPORTED;
}

void row_begin(struct output_row *r)
{
    r->cores = 0;
    r->cores_absent = BARO_ABSENT_NOT_YET;
    r->before = r->memory ? baro_previous_kept(r->memory) : NULL;
    r->process_before = r->before && r->process ? baro_previous_row(r->memory, r->process) : NULL;
    r->entity_before = r->before && r->entity ? baro_previous_row(r->memory, r->entity) : NULL;
    if (r->memory)
        r->cores_absent = cores_of(r);
}

/* ---- names of entities ---- */

/* A process belongs to a task, or, on the tape of a machine, to a control group. */
static const struct baro_row *named_at(const struct baro_sample *s, size_t i)
{
    baro_kind_id kind = s && baro_sample_rows(s, BARO_KIND_TASK) ? BARO_KIND_TASK : BARO_KIND_CGROUP;
    return s ? baro_sample_row(s, kind, i) : NULL;
}

/* Control groups come and go; a later one has a larger id. */
void row_names_note(struct row_names *names, const struct baro_sample *s)
{
    const struct baro_row *e;
    for (size_t i = 0; names->n < ROW_NAMES_MOST && (e = named_at(s, i)); i++) {
        if (names->n && baro_row_id(e) <= names->at[names->n - 1].id)
            continue;
        names->at[names->n].id = baro_row_id(e);
        snprintf(names->at[names->n++].text, sizeof(names->at->text), "%s", baro_row_name(e));
    }
}

const char *row_task_name(const struct row_names *names, const struct baro_sample *s, uint64_t id)
{
    const struct baro_row *e;
    for (size_t i = 0; (e = named_at(s, i)); i++) {
        if (baro_row_id(e) == id)
            return baro_row_name(e);
    }
    for (size_t i = 0; names && i < names->n; i++) {
        if (names->at[i].id == id)
            return names->at[i].text;
    }
    return NULL;
}

static void put_entity(struct cell *c, const struct output_row *r, uint64_t id)
{
    const char *name = row_task_name(r->names, r->sample, id);
    if (name)
        cell_text(c, name);
    else
        cell_u64(c, id);
}

static int sum_of(const struct baro_sample *s, int metric, uint64_t *ret)
{
    return baro_sample_sum(s, metric, ret, NULL);
}

/* Reads values one by one: those of the job and the machine are one row of a sample; all other rows are read in one
 * call. */
static void read_one_by_one(const struct output_row *r, const struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->value[i] = 0;
        c->absent[i] = BARO_ABSENT_UNSUPPORTED;
        if (c->at[i]->kind == BARO_COLUMN_SUM || c->at[i]->kind == BARO_COLUMN_SUM_REASON)
            c->absent[i] = (uint8_t)sum_of(r->sample, c->metric[i], &c->value[i]);
        else if (r->kind == BARO_KIND_JOB)
            c->absent[i] =
                (uint8_t)baro_row_value(baro_sample_row(r->sample, BARO_KIND_JOB, 0), c->metric[i], &c->value[i]);
        else if (r->kind == BARO_KIND_HOST)
            c->absent[i] =
                (uint8_t)baro_row_value(baro_sample_row(r->sample, BARO_KIND_HOST, 0), c->metric[i], &c->value[i]);
    }
}

void row_read(const struct output_row *r, const struct columns *c)
{
    if (r->process)
        baro_row_values(r->process, c->metric, c->n, c->value, c->absent);
    else if (r->exit)
        baro_row_values(r->exit, c->metric, c->n, c->value, c->absent);
    else if (r->entity)
        baro_row_values(r->entity, c->metric, c->n, c->value, c->absent);
    else
        read_one_by_one(r, c);
}

static void put_exit(struct cell *cell, const struct output_row *r, enum baro_column_kind kind)
{
    int status, absent = baro_row_status(r->exit, &status);
    if (absent != BARO_PRESENT) {
        cell_absent(cell, absent);
    } else if (WIFSIGNALED(status) != (kind == BARO_COLUMN_SIGNAL)) {
        cell_text(cell, ""); /* the process ended in the other way */
        cell->kind = CELL_ABSENT;
        cell->absent = BARO_PRESENT;
    } else {
        cell_u64(cell, (uint64_t)(kind == BARO_COLUMN_SIGNAL ? WTERMSIG(status) : WEXITSTATUS(status)));
    }
}

static int32_t pid_of(const struct output_row *r)
{
    return r->process ? baro_row_pid(r->process) : r->exit ? baro_row_pid(r->exit) : baro_event_pid(r->event);
}

static uint64_t start_of(const struct output_row *r)
{
    return r->process ? baro_row_start_ticks(r->process)
           : r->exit  ? baro_row_start_ticks(r->exit)
                      : baro_event_start_ticks(r->event);
}

static int32_t ppid_of(const struct output_row *r)
{
    return r->process ? baro_row_ppid(r->process) : baro_row_ppid(r->exit);
}

static uint32_t uid_of(const struct output_row *r)
{
    return r->process ? baro_row_uid(r->process) : baro_row_uid(r->exit);
}

static void put_known(struct cell *cell, uint64_t v, uint64_t unknown)
{
    if (v == unknown)
        cell_absent(cell, BARO_ABSENT_UNKNOWN);
    else
        cell_u64(cell, v);
}

static void put_cmdline(struct cell *cell, const struct output_row *r)
{
    const char *line;
    enum baro_absent absent = baro_row_cmdline(r->process ? r->process : r->exit, &line);
    if (absent == BARO_PRESENT)
        cell_text(cell, line);
    else
        cell_absent(cell, absent);
}

static void put_name_cell(struct cell *cell, const struct output_row *r)
{
    cell_text(cell, r->entity    ? baro_row_name(r->entity)
                    : r->process ? baro_row_name(r->process)
                                 : baro_row_name(r->exit));
}

/* A text that the library puts together. Returns whether there was memory for it. */
static bool put_made(struct cell *cell, struct buf *b, size_t (*make)(const void *of, char *ret, size_t size),
                     const void *of)
{
    enum { MOSTLY = 256 };
    if (!b)
        return false;
    buf_clear(b);
    if (!buf_reserve(b, MOSTLY))
        return false;
    size_t room = b->cap, len = make(of, (char *)b->at, room);
    if (len >= room && !buf_reserve(b, len + 1))
        return false;
    if (len >= room)
        make(of, (char *)b->at, len + 1);
    cell->kind = CELL_TEXT;
    cell->text = (const char *)b->at;
    cell->len = len;
    return true;
}

static size_t attributes_text(const void *of, char *ret, size_t size)
{
    return baro_row_attributes_text(of, ret, size);
}

static size_t given_json(const void *of, char *ret, size_t size)
{
    return baro_event_given_json(of, ret, size);
}

static size_t bounds_text(const void *of, char *ret, size_t size)
{
    return baro_sample_bounds_text(of, ret, size);
}

/* Writes the attributes of a mark or phase, without its name. */
static void put_given(struct cell *cell, const struct output_row *r)
{
    if (put_made(cell, r->attributes, given_json, r->event) && cell->len)
        cell->kind = CELL_JSON;
    else
        cell->kind = CELL_ABSENT;
    cell->absent = BARO_PRESENT; /* there are no attributes, which is not an absent value */
}

static void put_reason(struct cell *cell, int absent)
{
    cell->absent = BARO_PRESENT;
    if (absent != BARO_PRESENT)
        cell_text(cell, baro_absent_name((enum baro_absent)absent));
}

static void put_phase_cell(struct cell *cell, const struct output_row *r)
{
    ptrdiff_t i = r->timeline ? baro_timeline_phase_at(r->timeline, r->t_ns) : -1;
    cell->absent = r->timeline ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
    if (i >= 0)
        cell_text(cell, baro_timeline_get(r->timeline, (size_t)i)->name);
}

static void put_flag(struct cell *cell, bool v)
{
    cell->kind = CELL_BOOL;
    cell->u64 = v;
}

/* Some processes of older tapes have 0: they were read when they began, and in no sample since. */
static void put_age(struct cell *cell, const struct output_row *r)
{
    uint64_t read_ns = 0;
    baro_row_read_ns(r->process, &read_ns);
    cell_u64(cell, r->t_ns > read_ns ? r->t_ns - read_ns : 0);
    if (!read_ns && r->t_ns) {
        cell->kind = CELL_ABSENT;
        cell->absent = BARO_ABSENT_UNKNOWN;
    }
}

static void put_real(struct cell *cell, int absent, double v)
{
    cell->kind = absent == BARO_PRESENT ? CELL_REAL : CELL_ABSENT;
    cell->absent = absent;
    cell->real = v;
}

static void put_derived(struct cell *cell, const struct output_row *r, int derived)
{
    double v = 0;
    int absent = row_derived(r, derived, &v);
    put_real(cell, absent, v);
}

/* Writes the number of an event, which can be negative: that of a wall clock that was set back. */
static void put_event_number(struct cell *ret, const struct baro_event *e)
{
    struct baro_attribute a;
    if (baro_event_attribute(e, 0, &a) < 0 || a.type != BARO_ATTRIBUTE_SIGNED) {
        cell_u64(ret, baro_event_number(e));
        return;
    }
    ret->kind = CELL_I64;
    ret->i64 = a.i64;
}

/* Columns of exits and events only. */
static void put_end(struct cell *ret, const struct output_row *r, enum baro_column_kind kind)
{
    enum baro_exit_source source;
    bool is_sampled;
    switch (kind) {
    case BARO_COLUMN_STATUS:
    case BARO_COLUMN_SIGNAL: put_exit(ret, r, kind); break;
    case BARO_COLUMN_SOURCE:
        if (baro_row_exit_source(r->exit, &source) == BARO_PRESENT)
            cell_text(ret, baro_exit_source_name(source));
        break;
    case BARO_COLUMN_SAMPLED:
        if (baro_row_is_sampled(r->exit, &is_sampled) == BARO_PRESENT)
            put_flag(ret, is_sampled);
        break;
    case BARO_COLUMN_EVENT: cell_text(ret, baro_event_kind_name(baro_event_kind_of(r->event))); break;
    case BARO_COLUMN_NUMBER: put_event_number(ret, r->event); break;
    case BARO_COLUMN_TEXT: cell_text(ret, baro_event_text(r->event)); break;
    case BARO_COLUMN_GIVEN: put_given(ret, r); break;
    default: break;
    }
}

void row_cell(const struct output_row *r, const struct columns *columns, size_t i, struct cell *ret)
{
    const struct baro_column *c = columns->at[i];
    enum baro_origin origin;
    ret->kind = CELL_ABSENT;
    ret->absent = BARO_ABSENT_UNKNOWN;
    if (row_is_of_list(r->kind) && c->kind != BARO_COLUMN_TIME && c->kind != BARO_COLUMN_PHASE) {
        list_cell(r, c, ret);
        return;
    }
    switch (c->kind) {
    case BARO_COLUMN_TIME: put_time(ret, r); break;
    case BARO_COLUMN_T: cell_u64(ret, r->t_ns); break;
    case BARO_COLUMN_PID: put_known(ret, (uint64_t)pid_of(r), 0); break;
    case BARO_COLUMN_START: put_known(ret, start_of(r), 0); break;
    case BARO_COLUMN_PPID: cell_u64(ret, (uint64_t)ppid_of(r)); break;
    case BARO_COLUMN_UID: put_known(ret, uid_of(r), UINT32_MAX); break;
    case BARO_COLUMN_USER: put_user(ret, r, uid_of(r)); break;
    case BARO_COLUMN_NAME: put_name_cell(ret, r); break;
    case BARO_COLUMN_LABEL: cell_text(ret, baro_row_label(r->entity)); break;
    case BARO_COLUMN_ATTRIBUTES: put_made(ret, r->attributes, attributes_text, r->entity); break;
    case BARO_COLUMN_PHASE: put_phase_cell(ret, r); break;
    case BARO_COLUMN_OWNER: put_known(ret, (uint64_t)baro_row_owner_pid(r->entity), 0); break;
    case BARO_COLUMN_CMDLINE: put_cmdline(ret, r); break;
    case BARO_COLUMN_AGE: put_age(ret, r); break;
    case BARO_COLUMN_CORES: put_real(ret, r->cores_absent, r->cores); break;
    case BARO_COLUMN_DERIVED: put_derived(ret, r, c->id); break;
    case BARO_COLUMN_ID: cell_u64(ret, baro_row_id(r->entity)); break;
    case BARO_COLUMN_LOSSY: put_flag(ret, baro_sample_lossy(r->sample)); break;
    case BARO_COLUMN_BOUNDS: put_made(ret, r->attributes, bounds_text, r->sample); break;
    case BARO_COLUMN_ORIGIN:
        if (baro_row_origin(r->process ? r->process : r->exit, &origin) == BARO_PRESENT)
            cell_text(ret, baro_origin_name(origin));
        break;
    case BARO_COLUMN_METRIC:
    case BARO_COLUMN_SUM:
        if (c->metric->unit == BARO_UNIT_ENTITY && columns->absent[i] == BARO_PRESENT)
            put_entity(ret, r, columns->value[i]);
        else
            put_stored(ret, c->metric->unit, columns->absent[i], columns->value[i]);
        break;
    case BARO_COLUMN_REASON:
    case BARO_COLUMN_SUM_REASON: put_reason(ret, columns->absent[i]); break;
    default: put_end(ret, r, c->kind);
    }
}
