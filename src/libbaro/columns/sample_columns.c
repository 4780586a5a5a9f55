/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of one sample, in the caller's arrays. */

#include "libbaro/columns/columns.h"
#include "libbaro/sample/row.h"

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

static int value_at(const struct baro_sample *s, const struct baro_row *row, int column, uint64_t *ret)
{
    if (column >= 0)
        return baro_row_value(row, column, ret);
    if (row_process(row))
        return process_identity(s, row_process(row), column, ret);
    *ret = baro_row_id(row);
    return *ret && column == BARO_COLUMN_ID_OF(BARO_COLUMN_ID) ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

static void fill_column(const struct baro_sample *s, int kind, int column, size_t first, size_t n, uint64_t *value,
                        uint8_t *absent)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        int reason = value_at(s, baro_sample_row(s, kind, first + i), column, &v);
        if (value)
            value[i] = reason == BARO_PRESENT ? v : 0;
        if (absent)
            absent[i] = (uint8_t)reason;
    }
}

/* Metrics of processes that this library knows, which most columns are: without a call for each value. */
static void fill_processes(const struct baro_sample *s, int metric, size_t first, size_t n, uint64_t *value,
                           uint8_t *absent)
{
    struct baro_process *const *p = s->processes + first;
    for (size_t i = 0; value && i < n; i++)
        value[i] = p[i]->value[metric]; /* 0 where it is absent */
    for (size_t i = 0; absent && i < n; i++)
        absent[i] = p[i]->absent[metric];
}

size_t baro_sample_columns(const struct baro_sample *s, int kind, const int *columns, size_t n, size_t first,
                           size_t rows, uint64_t *const *ret_value, uint8_t *const *ret_absent)
{
    const size_t there = baro_sample_rows(s, kind);
    if (first >= there)
        return 0;
    rows = rows < there - first ? rows : there - first;
    for (size_t c = 0; c < n; c++) {
        uint8_t *absent = ret_absent ? ret_absent[c] : NULL;
        if (kind == BARO_KIND_PROCESS && columns[c] >= 0 && columns[c] < PROCESS_MAX)
            fill_processes(s, columns[c], first, rows, ret_value[c], absent);
        else
            fill_column(s, kind, columns[c], first, rows, ret_value[c], absent);
    }
    return rows;
}
