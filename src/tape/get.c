/* SPDX-License-Identifier: Apache-2.0 */
/* What readers ask of a cursor. include/baro/tape.h has the rules. */
#include "tape/cursor.h"

bool baro_tape_complete(const struct baro_tape *t)
{
    return t->complete;
}

uint64_t baro_tape_damage(const struct baro_tape *t)
{
    return t->damage;
}

const struct baro_header *baro_tape_header(const struct baro_tape *t)
{
    return &t->header;
}

int baro_tape_metric_count(const struct baro_tape *t, enum baro_kind kind)
{
    if ((unsigned)kind >= BARO_KIND_MAX)
        return 0;
    return baro_metric_count(kind) + (int)t->schema.n_extra[kind];
}

const struct baro_metric *baro_tape_metric(const struct baro_tape *t, enum baro_kind kind, int id)
{
    int own = baro_metric_count(kind);
    if (id < own)
        return baro_metric_get(kind, id);
    return id < baro_tape_metric_count(t, kind) ? &t->schema.extra[kind][id - own] : NULL;
}

const struct baro_limits *baro_tape_limits(const struct baro_tape *t)
{
    return &t->limits;
}

int baro_limits_memory_bytes(const struct baro_limits *l, uint64_t *ret, const char **ret_source)
{
    *ret = l->memory_bytes;
    *ret_source = l->memory_source;
    return l->memory_absent;
}

int baro_limits_cores_ppm(const struct baro_limits *l, uint64_t *ret, const char **ret_source)
{
    *ret = l->cores_ppm;
    *ret_source = l->cores_source;
    return l->cores_absent;
}

int baro_limits_pids(const struct baro_limits *l, uint64_t *ret, const char **ret_source)
{
    *ret = l->pids;
    *ret_source = l->pids_source;
    return l->pids_absent;
}
