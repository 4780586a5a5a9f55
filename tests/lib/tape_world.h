/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated job with random but reproducible values, to write tapes from and to compare with what is read back. */
#ifndef TESTS_TAPE_WORLD_H
#define TESTS_TAPE_WORLD_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/sample/sample.h"

enum { WORLD_MAX = 4096, WORLD_ENTITIES = 4, WORLD_DECLARED = 3, WORLD_ROWS = 6, WORLD_COLUMNS = 9 };

/* A kind that is declared while the world is recorded. Rows come, go and change their owners and attributes; columns
 * come. */
struct world_declared {
    char name[16];
    struct baro_metric metric[WORLD_COLUMNS];
    const struct baro_metric *metrics[WORLD_COLUMNS];
    char metric_name[WORLD_COLUMNS][24];
    struct baro_entity *row[WORLD_ROWS];
    struct baro_declared view;
};

struct world {
    uint64_t random;
    uint64_t machine_every; /* so many ticks, on average */
    uint32_t last_id;
    size_t n;
    struct baro_process *at[WORLD_MAX];
    struct baro_entity *entity[KIND_COUNT][WORLD_ENTITIES];
    size_t n_entities[KIND_COUNT];
    struct world_declared declared[WORLD_DECLARED];
    struct baro_declared *declared_views[WORLD_DECLARED];
    struct baro_sample sample;
};

static inline uint64_t world_random(struct world *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static inline uint64_t world_below(struct world *w, uint64_t n)
{
    return world_random(w) % n;
}

/* A number of any size, including the extremes. */
static inline uint64_t world_any(struct world *w)
{
    uint64_t r = world_random(w);
    switch (world_below(w, 8)) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return 1ull << 63;
    case 3: return r & ~4095ull;
    default: return r >> world_below(w, 64);
    }
}

static inline void world_values(struct world *w, uint64_t *value, uint8_t *absent, size_t n, bool any)
{
    for (size_t i = 0; i < n; i++) {
        if (world_below(w, 30) == 0)
            absent[i] = (uint8_t)world_below(w, ABSENT_COUNT);
        else if (absent[i] && world_below(w, 4) == 0)
            absent[i] = BARO_PRESENT;
        if (absent[i])
            value[i] = 0;
        else if (any && world_below(w, 10) == 0)
            value[i] = world_any(w);
        else if (world_below(w, 3) == 0)
            value[i] += world_below(w, 1000000);
    }
}

static inline char *world_text(struct world *w, size_t max)
{
    size_t len = world_below(w, max + 1);
    char *s = malloc(len + 1);
    assert(s);
    for (size_t i = 0; i < len; i++)
        s[i] = (char)(1 + world_below(w, 255));
    s[len] = 0;
    return s;
}

static inline void world_info(struct world *w, struct baro_process *p)
{
    free(p->name);
    free(p->cmdline);
    p->name = world_text(w, 20);
    p->cmdline = world_below(w, 4) ? world_text(w, world_below(w, 10) ? 60 : 5000) : NULL;
    p->cmdline_absent = p->cmdline ? 0 : (uint8_t)(1 + world_below(w, ABSENT_COUNT - 1));
    p->uid = world_below(w, 3) ? 1000 : UINT32_MAX;
    p->parent = (struct baro_key){(int32_t)world_below(w, 4194304), world_below(w, 100000000)};
    p->info_version++;
}

static inline void world_born(struct world *w)
{
    struct baro_process *p = calloc(1, sizeof *p);
    assert(p && w->n < WORLD_MAX);
    p->id = ++w->last_id;
    p->key = (struct baro_key){(int32_t)world_below(w, 4194304), world_any(w)};
    p->origin = (enum baro_origin)world_below(w, ORIGIN_COUNT);
    p->first_ns = w->sample.t_ns;
    world_info(w, p);
    w->at[w->n++] = p;
}

static inline void world_died(struct world *w, size_t i)
{
    baro_process_done(w->at[i]);
    free(w->at[i]);
    memmove(&w->at[i], &w->at[i + 1], (w->n - i - 1) * sizeof *w->at);
    w->n--;
}

static inline void world_labels(struct world *w, struct baro_entity *e)
{
    free(e->label);
    e->label = world_text(w, 40);
    e->info_version++;
}

static inline void world_found(struct world *w, enum baro_kind kind)
{
    size_t n = (size_t)baro_metric_count(kind);
    struct baro_entity *e = calloc(1, sizeof *e);
    assert(e && w->n_entities[kind] < WORLD_ENTITIES);
    e->id = ++w->last_id;
    e->kind = kind;
    e->name = world_text(w, 20);
    e->value = calloc(n, sizeof *e->value);
    e->absent = calloc(n, 1);
    assert(e->value && e->absent);
    world_labels(w, e);
    world_values(w, e->value, e->absent, n, false);
    if (kind == BARO_KIND_TASK && e->absent[TASK_processes] == BARO_ABSENT_NOT_ASKED)
        e->absent[TASK_processes] = BARO_ABSENT_UNKNOWN; /* else readers sum it up, and the values are theirs */
    w->entity[kind][w->n_entities[kind]++] = e;
}

static inline void world_lost(struct world *w, enum baro_kind kind, size_t i)
{
    struct baro_entity **at = w->entity[kind];
    free(at[i]->name);
    free(at[i]->label);
    free(at[i]->value);
    free(at[i]->absent);
    free(at[i]);
    memmove(&at[i], &at[i + 1], (--w->n_entities[kind] - i) * sizeof *at);
}

static inline void world_entities(struct world *w, enum baro_kind kind)
{
    struct baro_sample *s = &w->sample;
    size_t n = (size_t)baro_metric_count(kind);
    if (w->n_entities[kind] < WORLD_ENTITIES && world_below(w, 4) == 0)
        world_found(w, kind);
    if (w->n_entities[kind] > 1 && world_below(w, 4) == 0)
        world_lost(w, kind, world_below(w, w->n_entities[kind]));
    for (size_t i = 0; i < w->n_entities[kind]; i++) {
        struct baro_entity *e = w->entity[kind][i];
        if (world_below(w, 2))
            world_values(w, e->value, e->absent, n, true);
        if (kind == BARO_KIND_TASK && e->absent[TASK_processes] == BARO_ABSENT_NOT_ASKED)
            e->absent[TASK_processes] = BARO_ABSENT_UNKNOWN; /* else readers sum it up, and the values are theirs */
        if (kind == BARO_KIND_FS && !e->absent[FS_read_at] && world_below(w, 2))
            e->value[FS_read_at] = s->host_ns;
        if (world_below(w, 30) == 0)
            world_labels(w, e);
    }
    s->entities[kind] = (struct baro_entities){
        .n = w->n_entities[kind], .at = w->entity[kind], .read_ns = kind > BARO_KIND_CGROUP ? s->t_ns - 5 : 0};
}

/* Not at each tick, and not all of it: the tests that damage each byte of a tape take the square of its length. */
static inline void world_machine(struct world *w)
{
    struct baro_sample *s = &w->sample;
    if (world_below(w, w->machine_every))
        return;
    s->has_host = true;
    s->host_ns = s->t_ns + world_below(w, 100000) - 1000;
    world_values(w, s->host, s->host_absent, HOST_MAX, true);
    for (unsigned kind = BARO_KIND_CPU; kind < KIND_COUNT; kind++)
        if (world_below(w, 4) == 0)
            world_entities(w, (enum baro_kind)kind);
}

static inline void world_free_attributes(const struct baro_attribute *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)at[i].text);
    free((void *)(uintptr_t)at);
}

static inline const struct baro_attribute *world_attributes(struct world *w, size_t *ret_n)
{
    enum { MOST = 3 };
    static const char *const names[MOST] = {"device", "\xff", "unit"};
    struct baro_attribute *at = calloc(MOST, sizeof *at);
    assert(at);
    *ret_n = world_below(w, MOST + 1);
    for (size_t i = 0; i < *ret_n; i++) {
        at[i].name = names[i];
        at[i].type = (enum baro_attribute_type)world_below(w, BARO_ATTRIBUTE_JSON + 1);
        if (at[i].type == BARO_ATTRIBUTE_TEXT)
            at[i].text = world_text(w, 30);
        else if (at[i].type == BARO_ATTRIBUTE_JSON)
            at[i].text = strdup("{\"a\":[1,null]}");
        else if (at[i].type == BARO_ATTRIBUTE_BOOLEAN)
            at[i].u64 = world_below(w, 2);
        else if (at[i].type == BARO_ATTRIBUTE_REAL)
            at[i].real = (double)world_random(w) / 7;
        else if (at[i].type == BARO_ATTRIBUTE_SIGNED)
            at[i].i64 = (int64_t)world_any(w);
        else
            at[i].u64 = world_any(w);
    }
    return at;
}

static inline void world_row_info(struct world *w, struct baro_entity *e)
{
    world_free_attributes(e->attribute, e->n_attributes);
    e->attribute = world_attributes(w, &e->n_attributes);
    e->owner = (struct baro_entity_owner){.kind = (enum baro_owner)world_below(w, BARO_OWNER_ENTITY + 1)};
    if (e->owner.kind == BARO_OWNER_PROCESS)
        e->owner.process = (struct baro_key){(int32_t)world_below(w, 4194304), world_any(w)};
    if (e->owner.kind == BARO_OWNER_ENTITY)
        e->owner.id = (uint32_t)world_any(w);
    e->info_version++;
}

static inline void world_add_row(struct world *w, struct world_declared *d)
{
    struct baro_entity *e = calloc(1, sizeof *e);
    assert(e);
    e->id = ++w->last_id;
    e->name = world_text(w, 20);
    e->label = world_text(w, 5);
    e->value = calloc(WORLD_COLUMNS, sizeof *e->value);
    e->absent = calloc(WORLD_COLUMNS, 1);
    assert(e->value && e->absent);
    world_row_info(w, e);
    d->row[d->view.rows.n++] = e;
}

static inline void world_remove_row(struct world_declared *d, size_t i)
{
    struct baro_entity *e = d->row[i];
    world_free_attributes(e->attribute, e->n_attributes);
    free(e->name);
    free(e->label);
    free(e->value);
    free(e->absent);
    free(e);
    memmove(&d->row[i], &d->row[i + 1], (--d->view.rows.n - i) * sizeof *d->row);
}

static inline void world_add_column(struct world *w, struct world_declared *d)
{
    size_t i = d->view.n_metrics++;
    snprintf(d->metric_name[i], sizeof d->metric_name[i], "column_%zu", i);
    d->metric[i] = (struct baro_metric){
        .stem = d->metric_name[i],
        .name = d->metric_name[i],
        .help = "made up",
        .file = i % 2 ? "a command" : "",
        .unit = (enum baro_unit)world_below(w, BARO_UNIT_REAL + 1),
        .semantics = (enum baro_semantics)world_below(w, BARO_SEM_INFO + 1),
    };
    d->metrics[i] = &d->metric[i];
}

static inline void world_declare(struct world *w)
{
    struct baro_sample *s = &w->sample;
    struct world_declared *d = &w->declared[s->n_declared];
    snprintf(d->name, sizeof d->name, "made up %zu", s->n_declared);
    d->view = (struct baro_declared){.name = d->name, .metric = d->metrics, .rows = {.at = d->row}};
    w->declared_views[s->n_declared++] = &d->view;
    s->declared = w->declared_views;
}

static inline void world_read_declared(struct world *w, struct world_declared *d)
{
    struct baro_entities *rows = &d->view.rows;
    if (d->view.n_metrics < WORLD_COLUMNS && world_below(w, rows->n ? 60 : 3) == 0)
        world_add_column(w, d);
    if (rows->n < WORLD_ROWS && world_below(w, 4) == 0)
        world_add_row(w, d);
    if (rows->n > 1 && world_below(w, 8) == 0)
        world_remove_row(d, world_below(w, rows->n));
    for (size_t i = 0; i < rows->n; i++) {
        if (world_below(w, 2))
            world_values(w, d->row[i]->value, d->row[i]->absent, d->view.n_metrics, true);
        if (world_below(w, 20) == 0)
            world_row_info(w, d->row[i]);
    }
    rows->read_ns = w->sample.t_ns - world_below(w, 100000);
}

static inline void world_all_declared(struct world *w)
{
    struct baro_sample *s = &w->sample;
    if (s->n_declared < WORLD_DECLARED && world_below(w, 10 * w->machine_every) == 0)
        world_declare(w);
    for (size_t i = 0; i < s->n_declared; i++)
        if (world_below(w, 2 * w->machine_every) == 0)
            world_read_declared(w, &w->declared[i]);
}

static inline void world_tick(struct world *w)
{
    struct baro_sample *s = &w->sample;
    s->t_ns += 1000000000 + world_below(w, 2000) - 1000;
    s->lossy = world_below(w, 20) == 0;
    world_values(w, s->job, s->job_absent, JOB_MAX, true);
    world_values(w, s->self, s->self_absent, RECORDER_MAX, true);
    for (uint64_t i = world_below(w, 4); i > 0 && w->n < WORLD_MAX; i--)
        world_born(w);
    for (uint64_t i = w->n > 12 ? world_below(w, 4) : 0; i > 0; i--)
        world_died(w, world_below(w, w->n));
    for (size_t i = 0; i < w->n; i++) {
        struct baro_process *p = w->at[i];
        if (world_below(w, 3) == 0)
            continue;
        if (world_below(w, 4))
            world_values(w, p->value, p->absent, PROCESS_MAX, true);
        p->read_ns = world_below(w, 10) ? s->t_ns : world_below(w, s->t_ns);
        if (world_below(w, 30) == 0)
            world_info(w, p);
    }
    s->n = w->n;
    s->processes = w->at;
    world_machine(w);
    world_all_declared(w);
}

static inline struct world *world_new(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    assert(w);
    w->machine_every = 3;
    w->random = seed * 0x9e3779b97f4a7c15ull + 1;
    return w;
}

static inline void world_free(struct world *w)
{
    while (w->n > 0)
        world_died(w, w->n - 1);
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        while (w->n_entities[kind] > 0)
            world_lost(w, (enum baro_kind)kind, 0);
    for (size_t i = 0; i < w->sample.n_declared; i++)
        while (w->declared[i].view.rows.n > 0)
            world_remove_row(&w->declared[i], 0);
    free(w);
}

static inline void world_exit(struct world *w, struct baro_exit *e, char name[16])
{
    memset(e, 0, sizeof *e);
    snprintf(name, 16, "exit%llu", (unsigned long long)world_below(w, 1000));
    e->t_ns = w->sample.t_ns + world_below(w, 1000000);
    e->id = w->n && world_below(w, 2) ? w->at[0]->id : ++w->last_id;
    e->key = (struct baro_key){(int32_t)world_below(w, 4194304), world_any(w)};
    e->parent = (struct baro_key){(int32_t)world_below(w, 4194304), world_any(w)};
    e->uid = 1000;
    e->origin = (enum baro_origin)world_below(w, ORIGIN_COUNT);
    e->source = (enum baro_exit_source)world_below(w, EXIT_SOURCE_COUNT);
    e->sampled = world_below(w, 2);
    e->status_known = world_below(w, 2);
    e->status = e->status_known ? (int)world_below(w, 65536) : 0;
    e->name = name;
    e->cmdline = NULL;
    if (w->n && e->id == w->at[0]->id) {
        e->name = w->at[0]->name;
        e->cmdline = w->at[0]->cmdline;
    }
    world_values(w, e->value, e->absent, EXIT_MAX, true);
}

/* All values of a sample as one string of bytes, so that two can be compared and kept. Free with free(). */
struct snapshot {
    unsigned char *at;
    size_t len, cap;
};

static inline void snapshot_add(struct snapshot *s, const void *at, size_t len)
{
    if (s->cap - s->len < len) {
        s->cap = (s->len + len) * 2;
        s->at = realloc(s->at, s->cap);
        assert(s->at);
    }
    if (len > 0)
        memcpy(s->at + s->len, at, len);
    s->len += len;
}

static inline void snapshot_text(struct snapshot *s, const char *text)
{
    snapshot_add(s, text ? "+" : "-", 1);
    if (text)
        snapshot_add(s, text, strlen(text) + 1);
}

#define SNAP(s, field) snapshot_add(s, &(field), sizeof(field))

static inline void snapshot_process(struct snapshot *s, const struct baro_process *p, bool with_cmdline)
{
    SNAP(s, p->id);
    SNAP(s, p->key.pid);
    SNAP(s, p->key.start);
    SNAP(s, p->parent.pid);
    SNAP(s, p->parent.start);
    SNAP(s, p->uid);
    SNAP(s, p->origin);
    SNAP(s, p->first_ns);
    SNAP(s, p->read_ns);
    SNAP(s, p->info_version);
    SNAP(s, p->cmdline_absent);
    snapshot_text(s, p->name);
    if (with_cmdline)
        snapshot_text(s, p->cmdline);
    SNAP(s, p->value);
    SNAP(s, p->absent);
}

static inline void snapshot_entity(struct snapshot *s, const struct baro_entity *e)
{
    size_t n = (size_t)baro_metric_count(e->kind);
    SNAP(s, e->id);
    SNAP(s, e->kind);
    SNAP(s, e->info_version);
    snapshot_text(s, e->name);
    snapshot_text(s, e->label);
    snapshot_add(s, e->value, n * sizeof *e->value);
    snapshot_add(s, e->absent, n);
}

static inline void snapshot_machine(struct snapshot *s, const struct baro_sample *v)
{
    SNAP(s, v->has_host);
    if (!v->has_host)
        return;
    SNAP(s, v->host_ns);
    SNAP(s, v->host);
    SNAP(s, v->host_absent);
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        SNAP(s, v->entities[kind].n);
        if (kind > BARO_KIND_CGROUP)
            SNAP(s, v->entities[kind].read_ns);
        for (size_t i = 0; i < v->entities[kind].n; i++)
            snapshot_entity(s, v->entities[kind].at[i]);
    }
}

static inline void snapshot_attributes(struct snapshot *s, const struct baro_attribute *at, size_t n)
{
    SNAP(s, n);
    for (size_t i = 0; i < n; i++) {
        snapshot_text(s, at[i].name);
        SNAP(s, at[i].type);
        SNAP(s, at[i].u64);
        SNAP(s, at[i].i64);
        SNAP(s, at[i].real);
        snapshot_text(s, at[i].text);
    }
}

static inline void snapshot_row(struct snapshot *s, const struct baro_entity *e, size_t n)
{
    SNAP(s, e->id);
    SNAP(s, e->info_version);
    snapshot_text(s, e->name);
    snapshot_text(s, e->label);
    SNAP(s, e->owner.kind);
    SNAP(s, e->owner.process.pid);
    SNAP(s, e->owner.process.start);
    SNAP(s, e->owner.id);
    snapshot_attributes(s, e->attribute, e->n_attributes);
    snapshot_add(s, e->value, n * sizeof *e->value);
    snapshot_add(s, e->absent, n);
}

/* A reader that went back knows kinds and columns that this sample does not have yet: kinds without rows are not
 * compared, and neither are columns of rows that were read before the columns were declared. */
static inline void snapshot_declared(struct snapshot *s, const struct baro_declared *d)
{
    if (d->rows.read_ns == 0)
        return;
    snapshot_text(s, d->name);
    SNAP(s, d->rows.read_ns);
    SNAP(s, d->rows.n);
    for (size_t i = 0; i < d->rows.n; i++) {
        size_t n = d->rows.at[i]->kind ? d->rows.at[i]->n_values : d->n_metrics; /* read, or written */
        for (size_t m = 0; m < n; m++) {
            snapshot_text(s, d->metric[m]->name);
            snapshot_text(s, d->metric[m]->help);
            SNAP(s, d->metric[m]->unit);
            SNAP(s, d->metric[m]->semantics);
        }
        snapshot_row(s, d->rows.at[i], n);
    }
}

static inline struct snapshot snapshot_sample(const struct baro_sample *v, bool with_cmdline)
{
    struct snapshot s = {0};
    SNAP(&s, v->t_ns);
    SNAP(&s, v->job);
    SNAP(&s, v->job_absent);
    SNAP(&s, v->self);
    SNAP(&s, v->self_absent);
    SNAP(&s, v->lossy);
    SNAP(&s, v->n);
    for (size_t i = 0; i < v->n; i++)
        snapshot_process(&s, v->processes[i], with_cmdline);
    snapshot_machine(&s, v);
    for (size_t i = 0; i < v->n_declared; i++)
        snapshot_declared(&s, v->declared[i]);
    return s;
}

static inline struct snapshot snapshot_exit(const struct baro_exit *e)
{
    struct snapshot s = {0};
    SNAP(&s, e->t_ns);
    SNAP(&s, e->id);
    SNAP(&s, e->key.pid);
    SNAP(&s, e->key.start);
    SNAP(&s, e->parent.pid);
    SNAP(&s, e->parent.start);
    SNAP(&s, e->uid);
    SNAP(&s, e->origin);
    SNAP(&s, e->source);
    SNAP(&s, e->sampled);
    SNAP(&s, e->status_known);
    SNAP(&s, e->status);
    snapshot_text(&s, e->name);
    snapshot_text(&s, e->cmdline);
    SNAP(&s, e->value);
    SNAP(&s, e->absent);
    return s;
}

static inline struct snapshot snapshot_event(const struct baro_event *e)
{
    struct snapshot s = {0};
    SNAP(&s, e->t_ns);
    SNAP(&s, e->kind);
    SNAP(&s, e->key.pid);
    SNAP(&s, e->key.start);
    SNAP(&s, e->number);
    snapshot_text(&s, e->text);
    snapshot_attributes(&s, e->attribute, e->n_attributes);
    return s;
}

static inline bool snapshot_equal(const struct snapshot *a, const struct snapshot *b)
{
    return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

#endif
