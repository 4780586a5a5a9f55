/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of the public API is a pointer to a process, an entity, an exit, or to a sample that stands for its job,
 * recorder or machine. The three lowest bits of the pointer, which are 0 in the address of each of these structs, say
 * which. So a row needs no memory, and no struct needs a tag.
 */
#ifndef LIBBARO_SAMPLE_ROW_H
#define LIBBARO_SAMPLE_ROW_H

#include <stdint.h>

#include "baro/row.h"
#include "libbaro/sample/sample.h"

enum row_of { ROW_PROCESS, ROW_ENTITY, ROW_EXIT, ROW_JOB, ROW_RECORDER, ROW_HOST, ROW_BITS = 7 };

_Static_assert(_Alignof(struct baro_process) > ROW_BITS && _Alignof(struct baro_entity) > ROW_BITS &&
                   _Alignof(struct baro_exit) > ROW_BITS && _Alignof(struct baro_sample) > ROW_BITS,
               "rows need three bits of an address");

static inline const struct baro_row *row_make(const void *at, enum row_of of)
{
    return at ? (const struct baro_row *)((uintptr_t)at | of) : NULL;
}

static inline enum row_of row_of(const struct baro_row *row)
{
    return (enum row_of)((uintptr_t)row & ROW_BITS);
}

static inline const void *row_at(const struct baro_row *row)
{
    return (const void *)((uintptr_t)row & ~(uintptr_t)ROW_BITS);
}

static inline const struct baro_row *row_of_process(const struct baro_process *p)
{
    return row_make(p, ROW_PROCESS);
}

static inline const struct baro_row *row_of_entity(const struct baro_entity *e)
{
    return row_make(e, ROW_ENTITY);
}

static inline const struct baro_row *row_of_exit(const struct baro_exit *e)
{
    return row_make(e, ROW_EXIT);
}

/* A row of a process, an entity or an exit. */
#define ROW(of)                                                                                                        \
    _Generic((of), struct baro_process *                                                                               \
             : row_of_process, const struct baro_process *                                                             \
             : row_of_process, struct baro_entity *                                                                    \
             : row_of_entity, const struct baro_entity *                                                               \
             : row_of_entity, struct baro_exit *                                                                       \
             : row_of_exit, const struct baro_exit *                                                                   \
             : row_of_exit)(of)

/* Returns NULL if it is a row of another type. */
static inline const struct baro_process *row_process(const struct baro_row *row)
{
    return row_of(row) == ROW_PROCESS ? row_at(row) : NULL;
}

static inline const struct baro_entity *row_entity(const struct baro_row *row)
{
    return row_of(row) == ROW_ENTITY ? row_at(row) : NULL;
}

static inline const struct baro_exit *row_exit(const struct baro_row *row)
{
    return row_of(row) == ROW_EXIT ? row_at(row) : NULL;
}

static inline const struct baro_sample *row_sample(const struct baro_row *row)
{
    return row_of(row) >= ROW_JOB ? row_at(row) : NULL;
}

/* The descriptor of a metric of the row's kind; NULL: not known. */
const struct baro_metric *row_metric(const struct baro_row *row, int metric);

#endif
