/* SPDX-License-Identifier: Apache-2.0 */
/* Getters of a cursor (include/baro/tape.h). */
#include <string.h>

#include "libbaro/tape/cursor.h"

bool baro_tape_complete(const struct baro_tape *t)
{
    return t->complete;
}

uint64_t baro_tape_damage(const struct baro_tape *t)
{
    return t->damage;
}

const char *baro_tape_id(const struct baro_tape *t)
{
    return t->header.id;
}

const struct baro_header *baro_tape_header(const struct baro_tape *t)
{
    return &t->header;
}

static const struct tape_kind *kind_of(const struct baro_tape *t, int kind)
{
    return kind >= 0 && (unsigned)kind < t->schema.n_kinds ? t->schema.kind[kind] : NULL;
}

int baro_tape_kind_count(const struct baro_tape *t)
{
    return (int)t->schema.n_kinds;
}

const char *baro_tape_kind_name(const struct baro_tape *t, int kind)
{
    const struct tape_kind *k = kind_of(t, kind);
    return k && k->name ? k->name : baro_kind_name(kind);
}

int baro_tape_kind_find(const struct baro_tape *t, const char *name)
{
    for (int kind = 0; kind < baro_tape_kind_count(t); kind++)
        if (strcmp(baro_tape_kind_name(t, kind), name) == 0)
            return kind;
    return -1;
}

int baro_tape_metric_count(const struct baro_tape *t, int kind)
{
    const struct tape_kind *k = kind_of(t, kind);
    return k ? (int)(k->name ? k->n_more : k->n_own + k->n_more) : 0;
}

const struct baro_metric *baro_tape_metric(const struct baro_tape *t, int kind, int id)
{
    const struct tape_kind *k = kind_of(t, kind);
    int first = baro_metric_count(kind);
    if (!k || id < first)
        return baro_metric_get(kind, id);
    return (unsigned)(id - first) < k->n_more ? k->more[id - first] : NULL;
}

int baro_tape_metric_find(const struct baro_tape *t, int kind, const char *name)
{
    struct span word = span_of(name, strlen(name));
    for (int id = 0; id < baro_tape_metric_count(t, kind); id++) {
        const struct baro_metric *m = baro_tape_metric(t, kind, id);
        if (span_equal(word, m->name) || span_equal(word, m->stem))
            return id;
    }
    return -1;
}

const struct baro_limits *baro_tape_limits(const struct baro_tape *t)
{
    return &t->limits;
}

enum baro_absent baro_limits_get(const struct baro_limits *l, enum baro_limit which, uint64_t *ret,
                                 const char **ret_source)
{
    switch (which) {
    case BARO_LIMIT_MEMORY:
        *ret = l->memory_bytes;
        *ret_source = l->memory_source;
        return l->memory_absent;
    case BARO_LIMIT_CORES:
        *ret = l->cores_ppm;
        *ret_source = l->cores_source;
        return l->cores_absent;
    case BARO_LIMIT_PIDS:
        *ret = l->pids;
        *ret_source = l->pids_source;
        return l->pids_absent;
    default:
        *ret = 0;
        *ret_source = "";
        return BARO_ABSENT_UNSUPPORTED;
    }
}
