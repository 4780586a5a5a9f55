/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/fleet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "output/rows/fleet_columns.h"

/* baro_arrow_table() takes values of 8 bytes, and texts as pointers. */
union cell {
    uint64_t u64;
    int64_t i64;
    double real;
    char *text;
};
static_assert(sizeof(union cell) == 8, "cells of a column are an array of numbers, or of pointers");

struct fleet_column {
    int fact;
    enum baro_fact_type type; /* of the fact */
    union cell *values;
    uint8_t *absent;
    size_t values_cap, absent_cap;
};

struct fleet_table {
    const struct fleet_columns *of;
    struct fleet_column *column;
    size_t rows;
};

struct fleet {
    struct fleet_table table[FLEET_TABLES];
};

/* SQL subtracts: counts and bytes are signed, so that no difference wraps around or is an error. */
static enum baro_fact_type type_of_column(enum baro_fact_type fact)
{
    return fact == BARO_FACT_UNSIGNED ? BARO_FACT_SIGNED : fact;
}

int fleet_new(struct fleet **ret, struct baro_error *err)
{
    struct fleet *f = *ret = calloc(1, sizeof(*f));
    bool fits = f != NULL;
    for (int i = 0; fits && i < FLEET_TABLES; i++) {
        struct fleet_table *t = &f->table[i];
        t->of = fleet_columns((enum fleet_table_id)i);
        fits = (t->column = calloc(t->of->n, sizeof(*t->column)));
        for (size_t k = 0; fits && k < t->of->n; k++)
            t->column[k].fact = fleet_fact(&t->of->at[k], &t->column[k].type);
    }
    if (fits)
        return 0;
    fleet_free(f);
    *ret = NULL;
    return error_set(err, -ENOMEM, "out of memory");
}

void fleet_clear(struct fleet *f)
{
    for (struct fleet_table *t = f->table; t < f->table + FLEET_TABLES; t++) {
        for (size_t k = 0; t->column && k < t->of->n; k++) {
            for (size_t i = 0; t->column[k].type == BARO_FACT_TEXT && i < t->rows; i++)
                free(t->column[k].values[i].text);
        }
        t->rows = 0;
    }
}

void fleet_free(struct fleet *f)
{
    if (!f)
        return;
    fleet_clear(f);
    for (struct fleet_table *t = f->table; t < f->table + FLEET_TABLES; t++) {
        for (size_t k = 0; t->column && k < t->of->n; k++) {
            free(t->column[k].values);
            free(t->column[k].absent);
        }
        free(t->column);
    }
    free(f);
}

static void note_mark(struct fleet_row *row, const char *name, unsigned flags)
{
    const char *mark = baro_value_mark(flags);
    struct buf *b = !mark ? NULL : &row->marked[*mark == 'l' ? 0 : *mark == 'u' ? 1 : 2];
    if (b) {
        buf_str(b, b->len ? "," : "");
        buf_str(b, name);
    }
}

/* Returns false if out of memory. */
static bool put_cell(struct fleet_row *row, const struct fleet_source *s, struct fleet_column *c, size_t at)
{
    struct baro_value v = {0};
    if (array_reserve(&c->values, at + 1, &c->values_cap, sizeof(*c->values)) < 0 ||
        array_reserve(&c->absent, at + 1, &c->absent_cap, sizeof(*c->absent)) < 0)
        return false;
    s->read(row, s, c->fact, &v);
    bool is_huge = c->type == BARO_FACT_UNSIGNED && v.u64 > INT64_MAX;
    c->absent[at] = v.absent != BARO_PRESENT || is_huge;
    c->values[at].u64 = 0;
    if (c->type == BARO_FACT_TEXT) {
        c->values[at].text = c->absent[at] ? NULL : strdup(v.text);
        return c->absent[at] || c->values[at].text;
    }
    if (c->type == BARO_FACT_REAL)
        c->values[at].real = v.real;
    else if (c->type == BARO_FACT_SIGNED || c->type == BARO_FACT_TIME)
        c->values[at].i64 = v.i64;
    else
        c->values[at].u64 = v.u64;
    note_mark(row, s->name, v.flags);
    return true;
}

static bool put_row(struct fleet_table *t, struct fleet_row *row)
{
    for (size_t i = 0; i < FLEET_MARKS; i++)
        buf_clear(&row->marked[i]);
    for (size_t k = 0; k < t->of->n; k++) {
        if (put_cell(row, &t->of->at[k], &t->column[k], t->rows))
            continue;
        while (k-- > 0) { /* the row is not there */
            if (t->column[k].type == BARO_FACT_TEXT)
                free(t->column[k].values[t->rows].text);
        }
        return false;
    }
    t->rows++;
    return true;
}

int fleet_add(struct fleet *f, const struct fleet_job *job, struct baro_error *err)
{
    struct fleet_row row = {.job = job,
                            .header = baro_tape_header(job->tape),
                            .summary = baro_fold_summary(job->fold),
                            .timeline = baro_fold_timeline(job->fold)};
    bool fits = true;
    for (struct fleet_table *t = f->table; fits && t < f->table + FLEET_TABLES; t++) {
        size_t n = t->of->rows(&row);
        for (row.at = 0; fits && row.at < n; row.at++)
            fits = (t->of->has && !t->of->has(&row)) || put_row(t, &row);
    }
    for (size_t i = 0; i < FLEET_MARKS; i++)
        buf_done(&row.marked[i]);
    buf_done(&row.text);
    return fits ? 0 : error_set(err, -ENOMEM, "out of memory");
}

int fleet_stream(const struct fleet *f, enum fleet_table_id table, struct ArrowArrayStream *ret, struct baro_error *err)
{
    const struct fleet_table *t = &f->table[table];
    struct baro_arrow_column *columns = calloc(t->of->n, sizeof(*columns));
    if (!columns)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t k = 0; k < t->of->n; k++) {
        const struct fleet_column *c = &t->column[k];
        columns[k] = (struct baro_arrow_column){t->of->at[k].name, type_of_column(c->type), c->values, c->absent};
    }
    int code = baro_arrow_table(columns, t->of->n, t->rows, ret, err);
    free(columns);
    return code;
}
