/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of samples and exits, each in one piece of memory: the same walk first counts its bytes, then fills them. */
#include "libbaro/sample/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "libbaro/sample/row.h"

struct piece {
    uint8_t *at; /* NULL while bytes are counted */
    size_t used;
};

static void *copy_bytes(struct piece *p, const void *from, size_t size)
{
    enum { ALIGN = 8 };
    void *to = p->at ? p->at + p->used : NULL;
    p->used += (size + ALIGN - 1) / ALIGN * ALIGN;
    if (to && size)
        memcpy(to, from, size);
    return to;
}

static char *copy_piece_text(struct piece *p, const char *text)
{
    return text ? copy_bytes(p, text, strlen(text) + 1) : NULL;
}

static const struct baro_extra *put_extra(struct piece *p, const struct baro_extra *from)
{
    if (!from)
        return NULL;
    struct baro_extra extra = {.n = from->n};
    extra.value = copy_bytes(p, from->value, from->n * sizeof(*from->value));
    extra.absent = copy_bytes(p, from->absent, from->n * sizeof(*from->absent));
    return copy_bytes(p, &extra, sizeof(extra));
}

static struct baro_process *put_process(struct piece *p, const struct baro_process *from)
{
    struct baro_process copy = *from;
    struct baro_process *to = copy_bytes(p, from, sizeof(*from)); /* first, so that free() takes it */
    copy.name = copy_piece_text(p, from->name);
    copy.cmdline = copy_piece_text(p, from->cmdline);
    copy.extra = put_extra(p, from->extra);
    if (to)
        *to = copy;
    return to;
}

static const struct baro_attribute *put_attributes(struct piece *p, const struct baro_attribute *from, size_t n)
{
    struct baro_attribute *list = copy_bytes(p, from, n * sizeof(*from));
    for (size_t i = 0; i < n; i++) {
        const char *name = copy_piece_text(p, from[i].name), *text = copy_piece_text(p, from[i].text);
        if (list) {
            list[i].name = name;
            list[i].text = text;
        }
    }
    return list;
}

/* metric: a copy of the descriptors of its kind, if it is one that was declared. */
static struct baro_entity *put_entity(struct piece *p, const struct baro_entity *from,
                                      const struct baro_metric *const *metric)
{
    struct baro_entity copy = *from;
    struct baro_entity *to = copy_bytes(p, from, sizeof(*from)); /* first, so that free() takes it */
    size_t n = (size_t)entity_values(from);
    copy.name = copy_piece_text(p, from->name);
    copy.label = copy_piece_text(p, from->label);
    copy.attribute = put_attributes(p, from->attribute, from->n_attributes);
    copy.value = copy_bytes(p, from->value, n * sizeof(*from->value));
    copy.absent = copy_bytes(p, from->absent, n * sizeof(*from->absent));
    copy.extra = put_extra(p, from->extra);
    copy.metric = metric;
    if (to)
        *to = copy;
    return to;
}

static void put_entities(struct piece *p, const struct baro_entities *from, const struct baro_metric *const *metric,
                         struct baro_entities *to)
{
    struct baro_entity **list = copy_bytes(p, from->at, from->n * sizeof(*from->at));
    for (size_t i = 0; i < from->n; i++) {
        struct baro_entity *e = put_entity(p, from->at[i], metric);
        if (list)
            list[i] = e;
    }
    *to = (struct baro_entities){.n = from->n, .at = list, .read_ns = from->read_ns};
}

static const struct baro_metric *put_metric(struct piece *p, const struct baro_metric *from)
{
    struct baro_metric copy = *from;
    copy.stem = copy_piece_text(p, from->stem);
    copy.name = copy_piece_text(p, from->name);
    copy.help = copy_piece_text(p, from->help);
    copy.file = copy_piece_text(p, from->file);
    return copy_bytes(p, &copy, sizeof(copy));
}

static const struct baro_metric *const *put_metrics(struct piece *p, const struct baro_metric *const *from, size_t n)
{
    const struct baro_metric **list = copy_bytes(p, from, n * sizeof(*from));
    for (size_t i = 0; i < n; i++) {
        const struct baro_metric *one = put_metric(p, from[i]);
        if (list)
            list[i] = one;
    }
    return list;
}

static struct baro_declared *put_declared(struct piece *p, const struct baro_declared *from)
{
    struct baro_declared copy = *from;
    copy.name = copy_piece_text(p, from->name);
    copy.metric = put_metrics(p, from->metric, from->n_metrics);
    put_entities(p, &from->rows, copy.metric, &copy.rows);
    return copy_bytes(p, &copy, sizeof(copy));
}

static struct baro_declared *const *put_all_declared(struct piece *p, const struct baro_sample *from)
{
    struct baro_declared **list = copy_bytes(p, from->declared, from->n_declared * sizeof(*from->declared));
    for (size_t i = 0; i < from->n_declared; i++) {
        struct baro_declared *one = put_declared(p, from->declared[i]);
        if (list)
            list[i] = one;
    }
    return list;
}

static struct baro_sample *put_sample(struct piece *p, const struct baro_sample *from)
{
    struct baro_sample copy = *from;
    struct baro_sample *to = copy_bytes(p, from, sizeof(*from)); /* first, so that free() takes it */
    struct baro_process **list = copy_bytes(p, from->processes, from->n * sizeof(*from->processes));
    for (size_t i = 0; i < from->n; i++) {
        struct baro_process *one = put_process(p, from->processes[i]);
        if (list)
            list[i] = one;
    }
    copy.processes = list;
    copy.moved = from->moved ? copy_bytes(p, from->moved, (from->n + 63) / 64 * sizeof(*from->moved)) : NULL;
    copy.job_extra = put_extra(p, from->job_extra);
    copy.self_extra = put_extra(p, from->self_extra);
    copy.host_extra = put_extra(p, from->host_extra);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        put_entities(p, &from->entities[kind], NULL, &copy.entities[kind]);
    copy.declared = put_all_declared(p, from);
    if (to)
        *to = copy;
    return to;
}

int baro_sample_copy(const struct baro_sample *s, struct baro_sample **ret, struct baro_error *err)
{
    struct piece piece = {0};
    put_sample(&piece, s);
    piece = (struct piece){.at = malloc(piece.used)};
    if (!piece.at)
        return error_set(err, -ENOMEM, "out of memory");
    *ret = put_sample(&piece, s);
    return 0;
}

void baro_sample_free(struct baro_sample *s)
{
    free(s);
}

static struct baro_exit *put_exit(struct piece *p, const struct baro_exit *from)
{
    struct baro_exit copy = *from;
    struct baro_exit *to = copy_bytes(p, from, sizeof(*from)); /* first, so that free() takes it */
    copy.name = copy_piece_text(p, from->name);
    copy.cmdline = copy_piece_text(p, from->cmdline);
    copy.extra = put_extra(p, from->extra);
    if (to)
        *to = copy;
    return to;
}

/* Copies only the job, the recorder or the machine: a sample without the rest. */
static struct baro_sample *put_single(struct piece *p, const struct baro_sample *from)
{
    struct baro_sample shell = *from;
    shell.n = shell.n_declared = 0;
    shell.moved = NULL;
    memset(shell.entities, 0, sizeof(shell.entities));
    return put_sample(p, &shell);
}

static const void *put_row(struct piece *p, const struct baro_row *from)
{
    const struct baro_entity *e = row_entity(from);
    if (e) {
        struct baro_entity *to = put_entity(p, e, NULL);
        const struct baro_metric *const *metric = e->metric ? put_metrics(p, e->metric, e->n_values) : NULL;
        if (to)
            to->metric = metric;
        return to;
    }
    if (row_process(from))
        return put_process(p, row_process(from));
    return row_exit(from) ? (const void *)put_exit(p, row_exit(from)) : put_single(p, row_sample(from));
}

int baro_row_copy(const struct baro_row *row, struct baro_row **ret, struct baro_error *err)
{
    struct piece piece = {0};
    if (!row)
        return error_set(err, BARO_E_RANGE, "there is no row to copy");
    put_row(&piece, row);
    piece = (struct piece){.at = malloc(piece.used)};
    if (!piece.at)
        return error_set(err, -ENOMEM, "out of memory");
    *ret = (struct baro_row *)(uintptr_t)row_make(put_row(&piece, row), row_of(row));
    return 0;
}

void baro_row_free(struct baro_row *row)
{
    free((void *)(uintptr_t)row_at(row));
}

/* ---- interpolation ---- */

/* A position between two samples: `at` nanoseconds of `out_of`. */
struct between {
    uint64_t at, out_of;
};

/* 100 at 0 s and 200 at 10 s are 130 at 3 s. In 128 bits: counters of bytes times nanoseconds exceed 64. */
static uint64_t on_line(uint64_t from, uint64_t to, struct between b)
{
    __int128 change = (__int128)(int64_t)(to - from) * b.at / b.out_of;
    return from + (uint64_t)(int64_t)change;
}

static uint64_t real_on_line(uint64_t from, uint64_t to, struct between b)
{
    double a, z;
    memcpy(&a, &from, sizeof(a));
    memcpy(&z, &to, sizeof(z));
    a += (z - a) * ((double)b.at / (double)b.out_of);
    memcpy(&from, &a, sizeof(a));
    return from;
}

static void mix_value(const struct baro_metric *m, struct between b, uint64_t *value, uint8_t *absent, uint64_t later,
                      uint8_t later_absent)
{
    if (m->semantics == BARO_SEM_INFO || m->unit == BARO_UNIT_CHAR || *absent != BARO_PRESENT)
        return;
    *absent = later_absent;
    if (*absent != BARO_PRESENT)
        *value = 0;
    else
        *value = m->unit == BARO_UNIT_REAL ? real_on_line(*value, later, b) : on_line(*value, later, b);
}

static void mix(int kind, struct between b, uint64_t *value, uint8_t *absent, const uint64_t *later,
                const uint8_t *later_absent)
{
    for (int i = 0; i < baro_metric_count(kind); i++)
        mix_value(baro_metric_get(kind, i), b, &value[i], &absent[i], later[i], later_absent[i]);
}

/* Metrics that this library does not know can have any semantics: their value is known only if it did not change. */
static void mix_extra(const struct baro_extra *extra, const struct baro_extra *later)
{
    uint8_t *absent = extra ? (uint8_t *)(uintptr_t)extra->absent : NULL;
    for (size_t i = 0; extra && i < extra->n; i++) {
        bool same = later && i < later->n && later->absent[i] == extra->absent[i] && later->value[i] == extra->value[i];
        if (!same && absent[i] == BARO_PRESENT)
            absent[i] = BARO_ABSENT_UNKNOWN;
    }
}

/* The list of a later sample begins with those that stayed, in the same order. */
static void mix_processes(struct baro_sample *s, const struct baro_sample *later, struct between b)
{
    struct baro_process **list = (struct baro_process **)(uintptr_t)s->processes;
    size_t n = 0, j = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct baro_process *p = list[i];
        if (j == later->n || later->processes[j]->id != p->id)
            continue;
        const struct baro_process *q = later->processes[j++];
        mix(BARO_KIND_PROCESS, b, p->value, p->absent, q->value, q->absent);
        mix_extra(p->extra, q->extra);
        p->read_ns = on_line(p->read_ns, q->read_ns, b);
        list[n++] = p;
    }
    s->n = n;
    s->moved = NULL;
}

/* declared: the declaration of its kind, if the registry does not have it. */
static void mix_entity(struct baro_entity *e, const struct baro_entity *later, const struct baro_declared *declared,
                       struct between b)
{
    size_t n = declared ? declared->n_metrics : 0;
    if (!declared)
        mix(e->kind, b, e->value, e->absent, later->value, later->absent);
    for (size_t i = 0; i < n && i < e->n_values && i < later->n_values; i++)
        mix_value(declared->metric[i], b, &e->value[i], &e->absent[i], later->value[i], later->absent[i]);
    mix_extra(e->extra, later->extra);
    e->read_ns = on_line(e->read_ns, later->read_ns, b);
}

static void mix_entities(struct baro_entities *list, const struct baro_entities *later,
                         const struct baro_declared *declared, struct between b)
{
    struct baro_entity **at = (struct baro_entity **)(uintptr_t)list->at;
    size_t n = 0, j = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (j == later->n || later->at[j]->id != at[i]->id)
            continue;
        mix_entity(at[i], later->at[j++], declared, b);
        at[n++] = at[i];
    }
    list->n = n;
}

/* Values with their own time of reading are as old as in the earlier sample, unless they were read again since. */
static bool read_since(uint64_t before_ns, uint64_t later_ns, uint64_t t_ns, struct between *ret)
{
    *ret = (struct between){t_ns - before_ns, later_ns - before_ns};
    return later_ns != before_ns && later_ns > t_ns && before_ns <= t_ns;
}

static void mix_machine(struct baro_sample *s, const struct baro_sample *later, uint64_t t_ns)
{
    struct between b;
    if (!s->has_host || !later->has_host || !read_since(s->host_ns, later->host_ns, t_ns, &b))
        return;
    s->host_ns = t_ns;
    mix(BARO_KIND_HOST, b, s->host, s->host_absent, later->host, later->host_absent);
    mix_extra(s->host_extra, later->host_extra);
    for (int kind = BARO_KIND_CPU; kind <= BARO_KIND_CGROUP; kind++)
        mix_entities(&s->entities[kind], &later->entities[kind], NULL, b);
}

/* Kinds whose entities each have their own time of reading. */
static void mix_own_times(struct baro_sample *s, const struct baro_sample *later, uint64_t t_ns)
{
    struct between b;
    for (int kind = BARO_KIND_CGROUP + 1; kind < KIND_COUNT + (int)s->n_declared; kind++) {
        struct baro_entities *now = (struct baro_entities *)(uintptr_t)sample_entities(s, kind);
        const struct baro_entities *next = sample_entities(later, kind);
        if (!next || !now->read_ns || !next->read_ns || !read_since(now->read_ns, next->read_ns, t_ns, &b))
            continue;
        mix_entities(now, next, kind < KIND_COUNT ? NULL : s->declared[kind - KIND_COUNT], b);
        now->read_ns = t_ns;
    }
}

int sample_interpolate(const struct baro_sample *earlier, const struct baro_sample *later, uint64_t t_ns,
                       struct baro_sample **ret, struct baro_error *err)
{
    struct between b = {t_ns - earlier->t_ns, later->t_ns - earlier->t_ns};
    if (t_ns < earlier->t_ns || later->t_ns <= t_ns)
        return 0;
    int r = baro_sample_copy(earlier, ret, err);
    if (r < 0)
        return r;
    struct baro_sample *s = *ret;
    s->t_ns = t_ns;
    s->lossy = later->lossy;
    mix(BARO_KIND_JOB, b, s->job, s->job_absent, later->job, later->job_absent);
    mix(BARO_KIND_RECORDER, b, s->self, s->self_absent, later->self, later->self_absent);
    mix_extra(s->job_extra, later->job_extra);
    mix_extra(s->self_extra, later->self_extra);
    mix_processes(s, later, b);
    mix_machine(s, later, t_ns);
    mix_own_times(s, later, t_ns);
    return 1;
}
