/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of phases and steps, rows of lists that are made from the whole tape. */
#include <sys/wait.h>

#include "output/rows/row.h"

/* What the library writes of a phase or a step, as with snprintf(3). */
typedef size_t write_of_item(const struct output_row *r, size_t item, char *ret, size_t size);

static void put_known(struct cell *cell, uint64_t v)
{
    if (v)
        cell_u64(cell, v);
    else
        cell_absent(cell, BARO_ABSENT_UNKNOWN);
}

static void put_flag(struct cell *cell, bool v)
{
    cell->kind = CELL_BOOL;
    cell->u64 = v;
}

static size_t marked(const struct output_row *r, size_t item, unsigned flag, char *ret, size_t size)
{
    return r->kind == ROW_STEP ? baro_steps_marked(r->steps, item, flag, ret, size)
                               : baro_timeline_marked(r->timeline, item, flag, ret, size);
}

static size_t lower_bounds(const struct output_row *r, size_t item, char *ret, size_t size)
{
    return marked(r, item, BARO_VALUE_LOWER_BOUND, ret, size);
}

static size_t estimates(const struct output_row *r, size_t item, char *ret, size_t size)
{
    return marked(r, item, BARO_VALUE_ESTIMATE, ret, size);
}

static size_t path(const struct output_row *r, size_t item, char *ret, size_t size)
{
    return baro_timeline_path(r->timeline, item, ret, size);
}

static size_t given(const struct output_row *r, size_t item, char *ret, size_t size)
{
    return baro_timeline_given_json(r->timeline, item, ret, size);
}

/* Leaves the cell absent if there is no memory for the text. */
static void put_made(struct cell *cell, const struct output_row *r, write_of_item *make, size_t item)
{
    struct buf *b = r->attributes;
    if (!b)
        return;
    buf_clear(b);
    size_t len = make(r, item, NULL, 0);
    if (!buf_reserve(b, len + 1))
        return;
    make(r, item, (char *)b->at, len + 1);
    cell->kind = CELL_TEXT;
    cell->text = (const char *)b->at;
    cell->len = len;
}

static void put_given(struct cell *cell, const struct output_row *r)
{
    put_made(cell, r, given, r->item);
    if (cell->kind == CELL_TEXT && cell->len)
        cell->kind = CELL_JSON;
    else
        cell_absent(cell, BARO_PRESENT); /* there are no attributes, which is not an absent value */
}

static void put_parent(struct cell *cell, const struct output_row *r, const struct baro_timeline_item *v)
{
    if (v->parent >= 0)
        put_made(cell, r, path, (size_t)v->parent);
    else
        cell_absent(cell, BARO_PRESENT);
}

static void put_status(struct cell *cell, int absent, int status, bool by_signal)
{
    if (absent != BARO_PRESENT)
        cell_absent(cell, absent == BARO_ABSENT_NONE ? BARO_PRESENT : absent);
    else if (WIFSIGNALED(status) != by_signal)
        cell_absent(cell, BARO_PRESENT); /* the command ended in the other way */
    else
        cell_u64(cell, (uint64_t)(by_signal ? WTERMSIG(status) : WEXITSTATUS(status)));
}

static struct baro_value value_of(const struct output_row *r, int fact)
{
    struct baro_value v;
    if (r->kind == ROW_STEP)
        baro_steps_value(r->steps, r->item, fact, &v);
    else
        baro_timeline_value(r->timeline, r->item, fact, &v);
    return v;
}

static void put_fact(struct cell *cell, const struct output_row *r, const struct baro_column *c)
{
    struct baro_value v = value_of(r, c->id);
    if (v.absent != BARO_PRESENT) {
        cell_absent(cell, v.absent);
        return;
    }
    switch (c->fact->type) {
    case BARO_FACT_REAL:
        cell->kind = CELL_REAL;
        cell->real = v.real;
        break;
    case BARO_FACT_SIGNED:
    case BARO_FACT_TIME:
        cell->kind = CELL_I64;
        cell->i64 = v.i64;
        break;
    case BARO_FACT_TEXT: cell_text(cell, v.text); break;
    default: cell_u64(cell, v.u64);
    }
}

static void put_reason(struct cell *cell, const struct output_row *r, const struct baro_column *c)
{
    struct baro_value v = value_of(r, c->id);
    if (v.absent == BARO_PRESENT)
        cell_absent(cell, BARO_PRESENT);
    else
        cell_text(cell, baro_absent_name((enum baro_absent)v.absent));
}

static void phase_cell(const struct output_row *r, const struct baro_column *c, struct cell *ret)
{
    const struct baro_timeline_item *v = baro_timeline_get(r->timeline, r->item);
    int status = 0, absent = baro_timeline_status(r->timeline, r->item, &status);
    switch (c->kind) {
    case BARO_COLUMN_T: cell_u64(ret, v->begin_ns); break;
    case BARO_COLUMN_END: cell_u64(ret, v->end_ns); break;
    case BARO_COLUMN_PID: put_known(ret, (uint64_t)v->pid); break;
    case BARO_COLUMN_START: put_known(ret, v->start_ticks); break;
    case BARO_COLUMN_NAME: cell_text(ret, v->name); break;
    case BARO_COLUMN_PATH: put_made(ret, r, path, r->item); break;
    case BARO_COLUMN_PARENT: put_parent(ret, r, v); break;
    case BARO_COLUMN_DEPTH: cell_u64(ret, (uint64_t)v->depth); break;
    case BARO_COLUMN_OPEN: put_flag(ret, v->is_open); break;
    case BARO_COLUMN_STATUS: put_status(ret, absent, status, false); break;
    case BARO_COLUMN_SIGNAL: put_status(ret, absent, status, true); break;
    case BARO_COLUMN_GIVEN: put_given(ret, r); break;
    default: break;
    }
}

static void step_cell(const struct output_row *r, const struct baro_column *c, struct cell *ret)
{
    const struct baro_step *v = baro_steps_get(r->steps, r->item);
    const struct baro_step *driver = v->driver < 0 ? NULL : baro_steps_get(r->steps, (size_t)v->driver);
    int absent = v->has_status ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
    switch (c->kind) {
    case BARO_COLUMN_T: cell_u64(ret, v->begin_ns); break;
    case BARO_COLUMN_END: cell_u64(ret, v->end_ns); break;
    case BARO_COLUMN_PID: put_known(ret, (uint64_t)v->pid); break;
    case BARO_COLUMN_START: put_known(ret, v->start_ticks); break;
    case BARO_COLUMN_NAME: cell_text(ret, v->name); break;
    case BARO_COLUMN_OCCURRENCE: cell_u64(ret, v->occurrence); break;
    case BARO_COLUMN_DRIVER:
    case BARO_COLUMN_DRIVER_START:
        if (driver)
            put_known(ret, c->kind == BARO_COLUMN_DRIVER ? (uint64_t)driver->pid : driver->start_ticks);
        else
            cell_absent(ret, BARO_PRESENT);
        break;
    case BARO_COLUMN_IS_DRIVER: put_flag(ret, v->is_driver); break;
    case BARO_COLUMN_IS_IDLE: put_flag(ret, v->is_idle); break;
    case BARO_COLUMN_OPEN: put_flag(ret, !v->has_ended); break;
    case BARO_COLUMN_STATUS: put_status(ret, absent, v->status, false); break;
    case BARO_COLUMN_SIGNAL: put_status(ret, absent, v->status, true); break;
    case BARO_COLUMN_CMDLINE:
        if (v->cmdline)
            cell_text(ret, v->cmdline);
        break;
    default: break;
    }
}

void list_cell(const struct output_row *r, const struct baro_column *c, struct cell *ret)
{
    switch (c->kind) {
    case BARO_COLUMN_FACT: put_fact(ret, r, c); break;
    case BARO_COLUMN_FACT_REASON: put_reason(ret, r, c); break;
    case BARO_COLUMN_BOUNDS: put_made(ret, r, lower_bounds, r->item); break;
    case BARO_COLUMN_ESTIMATES: put_made(ret, r, estimates, r->item); break;
    default: (r->kind == ROW_STEP ? step_cell : phase_cell)(r, c, ret);
    }
}
