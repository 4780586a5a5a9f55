/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/arrow/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/interval.h"

/* ---- one value ---- */

static void put_str(struct column *c, const char *text)
{
    column_text(c, text, strlen(text));
}

static void put_known(struct column *c, uint64_t v, uint64_t unknown)
{
    if (v == unknown)
        column_null(c);
    else
        column_i64(c, (int64_t)v);
}

/* A process belongs to a task, or, on the tape of a machine, to a control group. */
const struct baro_entities *fill_named(const struct baro_sample *s)
{
    const struct baro_entities *tasks = sample_entities(s, BARO_KIND_TASK);
    return tasks && tasks->n ? tasks : sample_entities(s, BARO_KIND_CGROUP);
}

/* The name of a task, in the sample or among those of earlier samples; NULL: not known. */
static const char *task_name(const struct filling *f, const struct baro_sample *s, uint64_t id)
{
    const struct baro_entities *tasks = s ? fill_named(s) : NULL;
    for (size_t i = 0; tasks && i < tasks->n; i++) {
        if (tasks->at[i]->id == id)
            return baro_row_name(row_of_entity(tasks->at[i]));
    }
    for (size_t i = 0; i < f->n_names; i++) {
        if (f->names[i].id == id)
            return f->names[i].text;
    }
    return NULL;
}

static void put_entity(struct column *c, const struct filling *f, const struct baro_sample *s, uint64_t id)
{
    char number[24];
    const char *name = task_name(f, s, id);
    if (!name) {
        snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
        name = number;
    }
    put_str(c, name);
}

static void put_real(struct column *c, int absent, double v)
{
    if (absent == BARO_PRESENT && isfinite(v))
        column_f64(c, v);
    else
        column_null(c);
}

static void put_char(struct column *c, uint64_t v)
{
    const char text[2] = {(char)v, 0};
    int32_t *number = &c->of_char[(unsigned char)text[0]];
    if (*number < 0)
        *number = column_word(c, text, strlen(text));
    if (*number >= 0)
        column_number(c, *number);
}

/* A stored value that is there, in the form in which its unit is shown. */
static void put_stored(struct column *c, const struct filling *f, const struct baro_sample *s, uint64_t v)
{
    double real;
    switch (c->is->metric->unit) {
    case BARO_UNIT_CHAR: put_char(c, v); break;
    case BARO_UNIT_ENTITY: put_entity(c, f, s, v); break;
    case BARO_UNIT_RATIO:
    case BARO_UNIT_JOULES:
    case BARO_UNIT_WATTS:
    case BARO_UNIT_DECIMAL: column_f64(c, (double)v / 1e6); break;
    case BARO_UNIT_CELSIUS: column_f64(c, (double)(int64_t)v / 1e3); break;
    case BARO_UNIT_REAL:
        memcpy(&real, &v, sizeof(real));
        if (isfinite(real)) /* NaN and infinity become absent, as in text: JSON and CSV do not have them */
            column_f64(c, real);
        else
            column_null(c);
        break;
    default: column_i64(c, (int64_t)v);
    }
}

/* Puts the text of the last row if this row has the same value. Returns false if not. Most rows have the same user and
 * origin. */
static bool put_as_last(struct column *c, uint64_t has)
{
    if (c->of_last < 0 || c->last != has)
        return false;
    column_number(c, c->of_last);
    return true;
}

static void put_and_keep(struct column *c, uint64_t has, const char *text)
{
    c->of_last = column_word(c, text, strlen(text));
    c->last = has;
    if (c->of_last >= 0)
        column_number(c, c->of_last);
}

static void put_user(struct column *c, const struct filling *f, uint32_t uid)
{
    char number[16];
    if (uid == UINT32_MAX) {
        column_null(c);
        return;
    }
    if (put_as_last(c, uid))
        return;
    const char *name = f->user ? f->user(f->user_context, uid) : NULL;
    snprintf(number, sizeof(number), "%u", uid);
    put_and_keep(c, uid, name ? name : number);
}

static void put_origin(struct column *c, enum baro_origin origin)
{
    if (!put_as_last(c, (uint64_t)origin))
        put_and_keep(c, (uint64_t)origin, baro_origin_name(origin));
}

static void put_status(struct column *c, const struct baro_exit *e)
{
    bool by_signal = e->status_known && WIFSIGNALED(e->status);
    if (!e->status_known || by_signal != (c->is->kind == BARO_COLUMN_SIGNAL))
        column_null(c);
    else
        column_i64(c, by_signal ? WTERMSIG(e->status) : WEXITSTATUS(e->status));
}

static void put_event_number(struct column *c, const struct baro_event *e)
{
    bool is_signed = e->n_attributes > 0 && e->attribute[0].type == BARO_ATTRIBUTE_SIGNED;
    if (is_signed)
        column_i64(c, e->attribute[0].i64);
    else if (e->number <= INT64_MAX)
        column_i64(c, (int64_t)e->number);
    else
        column_null(c);
}

static void put_phase_text(struct column *c, const struct filling *f, uint64_t t_ns)
{
    ptrdiff_t i = f->timeline ? baro_timeline_phase_at(f->timeline, t_ns) : -1;
    if (i < 0)
        column_null(c);
    else
        put_str(c, baro_timeline_get(f->timeline, (size_t)i)->name);
}

/* A text that the library composes in `room`. */
static size_t make_text(struct column *c, struct filling *f, size_t (*make)(const void *of, char *ret, size_t size),
                        const void *of)
{
    size_t len = make(of, (char *)f->text.at, f->text.cap);
    buf_clear(&f->text);
    if (len < f->text.cap)
        return len;
    c->failed = !buf_reserve(&f->text, len + 1);
    return c->failed ? 0 : make(of, (char *)f->text.at, f->text.cap);
}

static void put_made(struct column *c, struct filling *f, size_t (*make)(const void *of, char *ret, size_t size),
                     const void *of)
{
    size_t len = make_text(c, f, make, of);
    if (!c->failed)
        column_text(c, (const char *)f->text.at, len);
}

static size_t attributes_text(const void *of, char *ret, size_t size)
{
    return baro_row_attributes_text(row_of_entity(of), ret, size);
}

static size_t given_json(const void *of, char *ret, size_t size)
{
    return baro_event_given_json(of, ret, size);
}

static size_t bounds_text(const void *of, char *ret, size_t size)
{
    return baro_sample_bounds_text(of, ret, size);
}

static void put_given(struct column *c, struct filling *f, const struct baro_event *e)
{
    size_t len = make_text(c, f, given_json, e);
    if (len)
        column_json(c, (const char *)f->text.at, len);
    else
        column_null(c);
}

/* ---- processes ---- */

/* Returns the number of a process's text. Most texts stood at the same place of the sample before. */
static int32_t word_of_process(struct column *c, const struct filling *f, const struct baro_process *p, size_t place,
                               const char *text)
{
    if (place >= c->n_hints) {
        size_t n = place + CHUNK_ROWS + c->n_hints;
        struct hint *hint = realloc(c->hint, n * sizeof(*hint));
        if (!hint) {
            c->failed = true;
            return -1;
        }
        memset(hint + c->n_hints, 0, (n - c->n_hints) * sizeof(*hint));
        c->hint = hint;
        c->n_hints = n;
    }
    struct hint *h = &c->hint[place];
    if (h->id != p->id || h->version != p->info_version || h->batch != f->batch)
        *h = (struct hint){p->id, p->info_version, f->batch, column_word(c, text, strlen(text))};
    return h->number;
}

static void put_process_text(struct column *c, const struct filling *f, const struct baro_process *p, size_t place,
                             const char *text)
{
    int32_t number = text ? word_of_process(c, f, p, place, text) : 0;
    if (!text)
        column_null(c);
    else if (number >= 0)
        column_number(c, number);
}

static void put_age(struct column *c, uint64_t t_ns, uint64_t read_ns)
{
    if (!read_ns && t_ns) /* see BARO_COLUMN_AGE of older tapes in output/rows */
        column_null(c);
    else
        column_i64(c, (int64_t)(t_ns > read_ns ? t_ns - read_ns : 0));
}

static void put_process(struct column *c, struct filling *f, const struct chunk *k, size_t i)
{
    const struct baro_process *p = k->process[i];
    switch (c->is->kind) {
    case BARO_COLUMN_PID: put_known(c, (uint64_t)p->key.pid, 0); break;
    case BARO_COLUMN_START: put_known(c, p->key.start, 0); break;
    case BARO_COLUMN_PPID: column_i64(c, p->parent.pid); break;
    case BARO_COLUMN_UID: put_known(c, p->uid, UINT32_MAX); break;
    case BARO_COLUMN_USER: put_user(c, f, p->uid); break;
    case BARO_COLUMN_NAME: put_process_text(c, f, p, k->first + i, baro_row_name(row_of_process(p))); break;
    case BARO_COLUMN_CMDLINE: put_process_text(c, f, p, k->first + i, p->cmdline); break;
    case BARO_COLUMN_AGE: put_age(c, k->t_ns, p->read_ns); break;
    case BARO_COLUMN_ORIGIN: put_origin(c, p->origin); break;
    default: column_null(c);
    }
}

/* ---- other rows ---- */

static void put_exit(struct column *c, struct filling *f, const struct baro_exit *e)
{
    switch (c->is->kind) {
    case BARO_COLUMN_PID: put_known(c, (uint64_t)e->key.pid, 0); break;
    case BARO_COLUMN_START: put_known(c, e->key.start, 0); break;
    case BARO_COLUMN_PPID: column_i64(c, e->parent.pid); break;
    case BARO_COLUMN_UID: put_known(c, e->uid, UINT32_MAX); break;
    case BARO_COLUMN_USER: put_user(c, f, e->uid); break;
    case BARO_COLUMN_NAME: put_str(c, baro_row_name(row_of_exit(e))); break;
    case BARO_COLUMN_CMDLINE:
        if (e->cmdline)
            put_str(c, e->cmdline);
        else
            column_null(c);
        break;
    case BARO_COLUMN_STATUS:
    case BARO_COLUMN_SIGNAL: put_status(c, e); break;
    case BARO_COLUMN_SOURCE: put_str(c, baro_exit_source_name(e->source)); break;
    case BARO_COLUMN_ORIGIN: put_origin(c, e->origin); break;
    case BARO_COLUMN_SAMPLED: column_bool(c, e->sampled); break;
    default: column_null(c);
    }
}

static void put_event(struct column *c, struct filling *f, const struct baro_event *e)
{
    switch (c->is->kind) {
    case BARO_COLUMN_PID: put_known(c, (uint64_t)e->key.pid, 0); break;
    case BARO_COLUMN_START: put_known(c, e->key.start, 0); break;
    case BARO_COLUMN_EVENT: put_str(c, baro_event_kind_name(baro_event_kind_of(e))); break;
    case BARO_COLUMN_NUMBER: put_event_number(c, e); break;
    case BARO_COLUMN_TEXT: put_str(c, baro_event_text(e)); break;
    case BARO_COLUMN_GIVEN: put_given(c, f, e); break;
    default: column_null(c);
    }
}

static void put_entity_row(struct column *c, struct filling *f, const struct baro_entity *e)
{
    switch (c->is->kind) {
    case BARO_COLUMN_ID: column_i64(c, e->id); break;
    case BARO_COLUMN_NAME: put_str(c, baro_row_name(row_of_entity(e))); break;
    case BARO_COLUMN_LABEL: put_str(c, baro_row_label(row_of_entity(e))); break;
    case BARO_COLUMN_ATTRIBUTES: put_made(c, f, attributes_text, e); break;
    case BARO_COLUMN_OWNER: put_known(c, (uint64_t)baro_row_owner_pid(row_of_entity(e)), 0); break;
    default: column_null(c);
    }
}

/* ---- phases and steps ---- */

/* What the library writes of a phase or a step, as with snprintf(3). */
struct of_item {
    const struct baro_timeline *timeline;
    const struct baro_steps *steps; /* NULL: a phase */
    size_t item;
};

static size_t path_of(const void *of, char *ret, size_t size)
{
    const struct of_item *p = of;
    return baro_timeline_path(p->timeline, p->item, ret, size);
}

static size_t marked(const struct of_item *p, unsigned flag, char *ret, size_t size)
{
    return p->steps ? baro_steps_marked(p->steps, p->item, flag, ret, size)
                    : baro_timeline_marked(p->timeline, p->item, flag, ret, size);
}

static size_t bounds_of(const void *of, char *ret, size_t size)
{
    return marked(of, BARO_VALUE_LOWER_BOUND, ret, size);
}

static size_t estimates_of(const void *of, char *ret, size_t size)
{
    return marked(of, BARO_VALUE_ESTIMATE, ret, size);
}

static size_t given_of(const void *of, char *ret, size_t size)
{
    const struct of_item *p = of;
    return baro_timeline_given_json(p->timeline, p->item, ret, size);
}

static void put_given_of(struct column *c, struct filling *f, const struct of_item *p)
{
    size_t len = make_text(c, f, given_of, p);
    if (len)
        column_json(c, (const char *)f->text.at, len);
    else
        column_null(c);
}

static void put_wait_status(struct column *c, bool is_known, int status)
{
    if (!is_known || WIFSIGNALED(status) != (c->is->kind == BARO_COLUMN_SIGNAL))
        column_null(c);
    else
        column_i64(c, WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void put_fact(struct column *c, const struct of_item *p)
{
    struct baro_value v;
    bool wants_reason = c->is->kind == BARO_COLUMN_FACT_REASON;
    if (p->steps)
        baro_steps_value(p->steps, p->item, c->is->id, &v);
    else
        baro_timeline_value(p->timeline, p->item, c->is->id, &v);
    if (wants_reason != (v.absent != BARO_PRESENT))
        column_null(c);
    else if (wants_reason)
        put_str(c, baro_absent_name(v.absent));
    else if (c->type == TYPE_F64)
        put_real(c, BARO_PRESENT, v.real);
    else
        column_i64(c, (int64_t)v.u64);
}

static void put_phase(struct column *c, struct filling *f, const struct of_item *p)
{
    const struct baro_timeline_item *v = baro_timeline_get(p->timeline, p->item);
    const struct of_item parent = {p->timeline, NULL, v->parent >= 0 ? (size_t)v->parent : 0};
    int status = 0;
    bool is_known = baro_timeline_status(p->timeline, p->item, &status) == BARO_PRESENT;
    switch (c->is->kind) {
    case BARO_COLUMN_END: column_i64(c, (int64_t)v->end_ns); break;
    case BARO_COLUMN_PID: put_known(c, (uint64_t)v->pid, 0); break;
    case BARO_COLUMN_START: put_known(c, v->start_ticks, 0); break;
    case BARO_COLUMN_NAME: put_str(c, v->name); break;
    case BARO_COLUMN_PATH: put_made(c, f, path_of, p); break;
    case BARO_COLUMN_PARENT:
        if (v->parent >= 0)
            put_made(c, f, path_of, &parent);
        else
            column_null(c);
        break;
    case BARO_COLUMN_DEPTH: column_i64(c, v->depth); break;
    case BARO_COLUMN_OPEN: column_bool(c, v->is_open); break;
    case BARO_COLUMN_STATUS:
    case BARO_COLUMN_SIGNAL: put_wait_status(c, is_known, status); break;
    case BARO_COLUMN_GIVEN: put_given_of(c, f, p); break;
    default: column_null(c);
    }
}

static void put_step(struct column *c, const struct of_item *p)
{
    const struct baro_step *v = baro_steps_get(p->steps, p->item);
    const struct baro_step *driver = v->driver < 0 ? NULL : baro_steps_get(p->steps, (size_t)v->driver);
    switch (c->is->kind) {
    case BARO_COLUMN_END: column_i64(c, (int64_t)v->end_ns); break;
    case BARO_COLUMN_PID: put_known(c, (uint64_t)v->pid, 0); break;
    case BARO_COLUMN_START: put_known(c, v->start_ticks, 0); break;
    case BARO_COLUMN_NAME: put_str(c, v->name); break;
    case BARO_COLUMN_OCCURRENCE: column_i64(c, v->occurrence); break;
    case BARO_COLUMN_DRIVER: put_known(c, driver ? (uint64_t)driver->pid : 0, 0); break;
    case BARO_COLUMN_DRIVER_START: put_known(c, driver ? driver->start_ticks : 0, 0); break;
    case BARO_COLUMN_IS_DRIVER: column_bool(c, v->is_driver); break;
    case BARO_COLUMN_IS_IDLE: column_bool(c, v->is_idle); break;
    case BARO_COLUMN_OPEN: column_bool(c, !v->has_ended); break;
    case BARO_COLUMN_STATUS:
    case BARO_COLUMN_SIGNAL: put_wait_status(c, v->has_status, v->status); break;
    case BARO_COLUMN_CMDLINE:
        if (v->cmdline)
            put_str(c, v->cmdline);
        else
            column_null(c);
        break;
    default: column_null(c);
    }
}

static void put_item(struct column *c, struct filling *f, const struct of_item *p)
{
    switch (c->is->kind) {
    case BARO_COLUMN_BOUNDS: put_made(c, f, bounds_of, p); break;
    case BARO_COLUMN_ESTIMATES: put_made(c, f, estimates_of, p); break;
    case BARO_COLUMN_FACT:
    case BARO_COLUMN_FACT_REASON: put_fact(c, p); break;
    default:
        if (p->steps)
            put_step(c, p);
        else
            put_phase(c, f, p);
    }
}

static void put_identity(struct column *c, struct filling *f, const struct chunk *k, size_t i)
{
    if (k->process)
        put_process(c, f, k, i);
    else if (k->entity)
        put_entity_row(c, f, k->entity[i]);
    else if (k->exit)
        put_exit(c, f, k->exit);
    else if (k->event)
        put_event(c, f, k->event);
    else if (k->kind == BARO_ROWS_PHASE || k->kind == BARO_ROWS_STEP)
        put_item(c, f, &(struct of_item){f->timeline, k->kind == BARO_ROWS_STEP ? f->steps : NULL, k->item});
    else if (c->is->kind == BARO_COLUMN_LOSSY)
        column_bool(c, k->sample->lossy);
    else if (c->is->kind == BARO_COLUMN_BOUNDS)
        put_made(c, f, bounds_text, k->sample);
    else
        column_null(c);
}

/* ---- metrics ---- */

static const struct baro_row *row_in(const struct chunk *k, size_t i)
{
    if (k->process)
        return row_of_process(k->process[i]);
    if (k->entity)
        return row_of_entity(k->entity[i]);
    return k->exit ? row_of_exit(k->exit) : k->sample ? baro_sample_row(k->sample, k->kind, 0) : NULL;
}

static int column_value(const struct chunk *k, size_t i, const struct baro_column *is, uint64_t *ret)
{
    if (is->kind == BARO_COLUMN_SUM || is->kind == BARO_COLUMN_SUM_REASON)
        return baro_sample_sum(k->sample, is->id, ret, NULL);
    return baro_row_value(row_in(k, i), is->id, ret);
}

/* Integers of processes: the most frequent case. */
static void fill_numbers(const struct chunk *k, struct column *c)
{
    const unsigned id = (unsigned)c->is->id;
    uint64_t *to = (uint64_t *)c->data + c->n;
    size_t nulls = 0;
    for (size_t i = 0; i < k->n; i++) {
        to[i] = k->process[i]->value[id]; /* 0 where it is absent */
        nulls += k->process[i]->absent[id] != BARO_PRESENT;
    }
    if (!c->valid && nulls == 0) {
        c->n += k->n;
        return;
    }
    for (size_t i = 0; i < k->n; i++) {
        if (k->process[i]->absent[id] == BARO_PRESENT)
            column_i64(c, (int64_t)to[i]);
        else
            column_null(c);
    }
}

static void fill_metric(const struct chunk *k, const struct filling *f, struct column *c)
{
    if (k->process && c->is->id < PROCESS_MAX && (c->type == TYPE_U64 || c->type == TYPE_I64)) {
        fill_numbers(k, c);
        return;
    }
    for (size_t i = 0; i < k->n; i++) {
        uint64_t v = 0;
        if (column_value(k, i, c->is, &v) == BARO_PRESENT)
            put_stored(c, f, k->sample, v);
        else
            column_null(c);
    }
}

static void fill_reason(const struct chunk *k, struct column *c)
{
    for (size_t i = 0; i < k->n; i++) {
        uint64_t v;
        int absent = column_value(k, i, c->is, &v);
        if (absent == BARO_PRESENT)
            column_null(c);
        else
            put_str(c, baro_absent_name((enum baro_absent)absent));
    }
}

/* ---- comparison with the row before ---- */

void chunk_compare(struct chunk *k, struct filling *f)
{
    for (size_t i = 0; f->previous && i < k->n; i++)
        k->cores_absent[i] = (uint8_t)baro_previous_cores(f->previous, f->header, k->t_ns, row_in(k, i), &k->cores[i]);
}

static int derived_of(const struct chunk *k, const struct filling *f, size_t i, int derived, double *ret)
{
    const struct baro_row *row = row_in(k, i);
    return baro_row_derived(f->previous ? baro_previous_row(f->previous, row) : NULL, row, derived, ret);
}

/* ---- columns ---- */

/* Returns the wall-clock time of an instant. If the tape's events can't be read, it is computed from the header
 * alone. */
static int64_t realtime_of(struct filling *f, uint64_t t_ns)
{
    if (f->has_time && f->time_of == t_ns)
        return f->realtime_ns;
    if (baro_tape_realtime_ns(f->tape, t_ns, &f->realtime_ns, NULL) < 0)
        f->realtime_ns = baro_header_realtime_ns(f->header, t_ns);
    f->time_of = t_ns;
    f->has_time = true;
    return f->realtime_ns;
}

static void fill_time(const struct chunk *k, struct filling *f, struct column *c)
{
    const int64_t t = c->is->kind == BARO_COLUMN_T ? (int64_t)k->t_ns : realtime_of(f, k->t_ns);
    for (size_t i = 0; i < k->n; i++)
        column_i64(c, t);
}

void chunk_fill(struct chunk *k, struct filling *f, struct column *c)
{
    double v = 0;
    int absent;
    c->failed = c->failed || !column_reserve(c, k->n);
    if (c->failed)
        return;
    switch (c->is->kind) {
    case BARO_COLUMN_TIME:
    case BARO_COLUMN_T: fill_time(k, f, c); return;
    case BARO_COLUMN_METRIC:
    case BARO_COLUMN_SUM: fill_metric(k, f, c); return;
    case BARO_COLUMN_REASON:
    case BARO_COLUMN_SUM_REASON: fill_reason(k, c); return;
    default: break;
    }
    for (size_t i = 0; i < k->n; i++) {
        if (c->is->kind == BARO_COLUMN_CORES) {
            put_real(c, f->previous ? k->cores_absent[i] : BARO_ABSENT_UNKNOWN, k->cores[i]);
        } else if (c->is->kind == BARO_COLUMN_DERIVED) {
            absent = derived_of(k, f, i, c->is->id, &v);
            put_real(c, absent, v);
        } else if (c->is->kind == BARO_COLUMN_PHASE) {
            put_phase_text(c, f, k->t_ns);
        } else {
            put_identity(c, f, k, i);
        }
    }
}
