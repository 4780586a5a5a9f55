/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of one sample, in the caller's arrays. */
#include <string.h>

#include "libbaro/columns/columns.h"
#include "libbaro/sample/sample.h"

/* Where the rows of a kind keep their values. */
struct source {
    const struct baro_sample *s;
    int kind;
    size_t n; /* rows */
    bool single;
};

static struct source source_of(const struct baro_sample *s, int kind)
{
    bool single = kind == BARO_KIND_JOB || kind == BARO_KIND_RECORDER || kind == BARO_KIND_HOST;
    size_t n = kind == BARO_KIND_PROCESS ? s->n : baro_sample_entity_count(s, kind);
    if (single)
        n = kind != BARO_KIND_HOST || s->has_host;
    return (struct source){s, kind, kind == BARO_KIND_EXIT ? 0 : n, single};
}

static int process_identity(const struct baro_sample *s, const struct baro_process *p, int column, uint64_t *ret)
{
    switch (column) {
    case BARO_COLUMN_ID_OF(BARO_COLUMN_PID): *ret = (uint64_t)p->key.pid; return BARO_PRESENT;
    case BARO_COLUMN_ID_OF(BARO_COLUMN_START): *ret = p->key.start; break;
    case BARO_COLUMN_ID_OF(BARO_COLUMN_PPID): *ret = (uint64_t)p->parent.pid; return BARO_PRESENT;
    case BARO_COLUMN_ID_OF(BARO_COLUMN_UID): *ret = p->uid; return p->uid == UINT32_MAX ? BARO_ABSENT_UNKNOWN : 0;
    case BARO_COLUMN_ID_OF(BARO_COLUMN_ID): *ret = p->id; return BARO_PRESENT;
    case BARO_COLUMN_ID_OF(BARO_COLUMN_AGE):
        *ret = s->t_ns > p->read_ns ? s->t_ns - p->read_ns : 0;
        return !p->read_ns && s->t_ns ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    default: return BARO_ABSENT_UNKNOWN;
    }
    return *ret ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

static int single_value(const struct source *from, int metric, uint64_t *ret)
{
    if (from->kind == BARO_KIND_JOB)
        return baro_sample_job(from->s, metric, ret);
    return from->kind == BARO_KIND_RECORDER ? baro_sample_recorder(from->s, metric, ret)
                                            : baro_sample_host(from->s, metric, ret);
}

static int value_at(const struct source *from, size_t row, int column, uint64_t *ret)
{
    if (from->single)
        return single_value(from, column, ret);
    if (from->kind == BARO_KIND_PROCESS) {
        const struct baro_process *p = from->s->processes[row];
        return column < 0 ? process_identity(from->s, p, column, ret) : baro_process_value(p, column, ret);
    }
    const struct baro_entity *e = sample_entities(from->s, from->kind)->at[row];
    if (column >= 0)
        return baro_entity_value(e, column, ret);
    *ret = e->id;
    return column == BARO_COLUMN_ID_OF(BARO_COLUMN_ID) ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

static void fill(const struct source *from, int column, size_t first, size_t n, uint64_t *value, uint8_t *absent)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        int reason = value_at(from, first + i, column, &v);
        if (value)
            value[i] = reason == BARO_PRESENT ? v : 0;
        if (absent)
            absent[i] = (uint8_t)reason;
    }
}

/* Metrics of processes that this library knows, which most columns are: without a call for each value. */
static void fill_processes(const struct source *from, int metric, size_t first, size_t n, uint64_t *value,
                           uint8_t *absent)
{
    struct baro_process *const *p = from->s->processes + first;
    for (size_t i = 0; value && i < n; i++)
        value[i] = p[i]->value[metric]; /* 0 where it is absent */
    for (size_t i = 0; absent && i < n; i++)
        absent[i] = p[i]->absent[metric];
}

size_t baro_sample_columns(const struct baro_sample *s, int kind, const int *columns, size_t n, size_t first,
                           size_t rows, uint64_t *const *ret_value, uint8_t *const *ret_absent)
{
    const struct source from = source_of(s, kind);
    if (first >= from.n)
        return 0;
    rows = rows < from.n - first ? rows : from.n - first;
    for (size_t c = 0; c < n; c++) {
        const bool is_plain = kind == BARO_KIND_PROCESS && columns[c] >= 0 && columns[c] < PROCESS_MAX;
        (is_plain ? fill_processes : fill)(&from, columns[c], first, rows, ret_value[c],
                                           ret_absent ? ret_absent[c] : NULL);
    }
    return rows;
}
