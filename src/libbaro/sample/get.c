/* SPDX-License-Identifier: Apache-2.0 */
/* How readers query samples. include/baro/sample.h has the rules. */
#include <string.h>

#include "libbaro/sample/row.h"

uint64_t baro_sample_t_ns(const struct baro_sample *s)
{
    return s->t_ns;
}

bool baro_sample_lossy(const struct baro_sample *s)
{
    return s->lossy;
}

size_t baro_sample_next_changed(const struct baro_sample *s, size_t i)
{
    for (uint64_t word; s->moved && i < s->n; i = (i | 63) + 1) {
        word = s->moved[i / 64] >> i % 64;
        if (!word)
            continue;
        i += (size_t)__builtin_ctzll(word);
        break;
    }
    return i < s->n ? i : s->n;
}

const struct baro_entities *sample_entities(const struct baro_sample *s, int kind)
{
    if (kind >= 0 && kind < KIND_COUNT)
        return &s->entities[kind];
    return kind >= 0 && (size_t)kind - KIND_COUNT < s->n_declared ? &s->declared[kind - KIND_COUNT]->rows : NULL;
}

size_t baro_sample_rows(const struct baro_sample *s, int kind)
{
    const struct baro_entities *e;
    switch (kind) {
    case BARO_KIND_PROCESS: return s->n;
    case BARO_KIND_JOB:
    case BARO_KIND_RECORDER: return 1;
    case BARO_KIND_HOST: return s->has_host;
    default: e = sample_entities(s, kind); return e ? e->n : 0;
    }
}

const struct baro_row *baro_sample_row(const struct baro_sample *s, int kind, size_t i)
{
    if (i >= baro_sample_rows(s, kind))
        return NULL;
    switch (kind) {
    case BARO_KIND_PROCESS: return row_of_process(s->processes[i]);
    case BARO_KIND_JOB: return row_make(s, ROW_JOB);
    case BARO_KIND_RECORDER: return row_make(s, ROW_RECORDER);
    case BARO_KIND_HOST: return row_make(s, ROW_HOST);
    default: return row_of_entity(sample_entities(s, kind)->at[i]);
    }
}

const struct baro_row *baro_sample_find(const struct baro_sample *s, int32_t pid, uint64_t start_ticks)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct baro_process *p = s->processes[i];
        if (p->key.pid == pid && (!start_ticks || p->key.start == start_ticks))
            return row_of_process(p);
    }
    return NULL;
}

const struct baro_row *baro_sample_find_id(const struct baro_sample *s, int kind, uint32_t id)
{
    size_t n = baro_sample_rows(s, kind);
    for (size_t i = 0; id && i < n; i++) {
        const struct baro_row *row = baro_sample_row(s, kind, i);
        if (baro_row_id(row) == id)
            return row;
    }
    return NULL;
}

/* Control groups, which are read together with the machine, may have been read without it. Example: a task of `baro
 * observe`, whose machine is on a tape of its own: then host_ns is the time of the groups, and no value is present. */
static bool has_machine(const struct baro_sample *s)
{
    return s->has_host && memchr(s->host_absent, BARO_PRESENT, sizeof(s->host_absent));
}

enum baro_absent baro_sample_read_ns(const struct baro_sample *s, int kind, uint64_t *ret)
{
    const struct baro_entities *e = sample_entities(s, kind);
    bool is_read = e && e->read_ns;
    uint64_t at = is_read ? e->read_ns : 0;
    if (kind == BARO_KIND_PROCESS || kind == BARO_KIND_JOB || kind == BARO_KIND_RECORDER) {
        is_read = true;
        at = s->t_ns;
    } else if (kind >= BARO_KIND_HOST && kind <= BARO_KIND_CGROUP) {
        is_read = kind == BARO_KIND_HOST ? has_machine(s) : s->has_host;
        at = s->host_ns;
    }
    if (!is_read)
        return BARO_ABSENT_UNKNOWN;
    *ret = at;
    return BARO_PRESENT;
}
