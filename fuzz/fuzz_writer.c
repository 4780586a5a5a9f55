/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of tapes: the input is a list of operations, which change a job and write it, with any times, numbers,
 * names and attributes. All of it must be read back in order, equal, without damage.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tests/lib/tape_world.h"
#include "baro/tape.h"
#include "libbaro/sample/row.h"
#include "libbaro/writer/writer.h"

enum { ITEMS_MOST = 256, PROCESSES_MOST = 64, TICKS_MOST = 24 };

struct item {
    enum baro_record_kind kind;
    struct snapshot whole;
    struct baro_limits limits; /* of a sample: that hold then */
};

struct story {
    const uint8_t *at;
    size_t left;
    struct tape_writer *w;
    struct world *world;
    struct baro_limits limits;
    unsigned ticks;
    uint64_t readings;
    struct item item[ITEMS_MOST];
    size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the input ---- */

static uint8_t take(struct story *s)
{
    if (!s->left)
        return 0;
    s->left--;
    return *s->at++;
}

static size_t below(struct story *s, size_t n)
{
    return n ? take(s) % n : 0;
}

static uint64_t number(struct story *s)
{
    uint8_t first = take(s);
    uint64_t v = 0;
    if (first < 224)
        return first;
    if (first == 224)
        return UINT64_MAX;
    for (unsigned i = 0; i < (first & 7u) + 1; i++)
        v = v << 8 | take(s);
    return v;
}

static char *text(struct story *s, size_t most)
{
    size_t len = take(s);
    len = len < 250 ? len % 32 : len * 16;
    len = len < s->left ? len : s->left;
    len = len < most ? len : most;
    char *copy = malloc(len + 1);
    if (!copy)
        abort();
    memcpy(copy, s->at, len);
    copy[len] = 0;
    s->at += len;
    s->left -= len;
    return copy;
}

static void values(struct story *s, uint64_t *value, uint8_t *absent, size_t n)
{
    for (size_t left = take(s) % 8; n && left > 0; left--) {
        size_t i = below(s, n);
        absent[i] = take(s) < 224 ? (uint8_t)BARO_PRESENT : (uint8_t)below(s, ABSENT_COUNT);
        value[i] = absent[i] ? 0 : number(s);
    }
}

/* ---- what was written ---- */

static struct item *add(struct story *s, enum baro_record_kind kind)
{
    struct item *item = &s->item[s->n++];
    *item = (struct item){.kind = kind, .limits = s->limits};
    return item;
}

static void commit(struct story *s, const struct baro_sample *sample)
{
    if (tape_writer_commit(s->w, sample, NULL) < 0)
        abort();
    if (sample)
        add(s, BARO_RECORD_SAMPLE)->whole = snapshot_sample(sample, true);
}

/* ---- operations ---- */

/* Rows change only where they were read again, so at another time than any before; the time of a sample is any. */
static uint64_t reading(struct story *s)
{
    return ++s->readings * 1000003;
}

static void tick(struct story *s)
{
    struct baro_sample *v = &s->world->sample;
    if (s->ticks++ >= TICKS_MOST)
        return;
    s->world->random = number(s) * 0x9e3779b97f4a7c15ull + 1;
    world_tick(s->world);
    if (v->has_host)
        v->host_ns = reading(s);
    for (int kind = BARO_KIND_CGROUP + 1; kind < (int)KIND_COUNT; kind++) {
        if (v->entities[kind].read_ns || v->entities[kind].n)
            v->entities[kind].read_ns = reading(s);
    }
    for (size_t i = 0; i < v->n_declared; i++) {
        if (s->world->declared[i].view.rows.read_ns || s->world->declared[i].view.rows.n)
            s->world->declared[i].view.rows.read_ns = reading(s);
    }
}

static void born(struct story *s)
{
    struct world *w = s->world;
    struct baro_process *p = w->n < PROCESSES_MOST ? calloc(1, sizeof(*p)) : NULL;
    if (!p)
        return;
    p->id = w->last_id += 1 + take(s) % 3;
    p->key = (struct baro_key){(int32_t)number(s), number(s)};
    p->origin = (enum baro_origin)below(s, ORIGIN_COUNT);
    p->name = text(s, 4096);
    p->cmdline = take(s) % 4 ? text(s, 4096) : NULL;
    w->at[w->n++] = p;
    w->sample.n = w->n;
    w->sample.processes = w->at;
}

static void died(struct story *s)
{
    struct world *w = s->world;
    if (w->n)
        world_died(w, below(s, w->n));
    w->sample.n = w->n;
}

static void change(struct story *s)
{
    struct baro_process *p = s->world->n ? s->world->at[below(s, s->world->n)] : NULL;
    if (!p)
        return;
    values(s, p->value, p->absent, PROCESS_MAX);
    p->read_ns = number(s);
    if (take(s) % 4)
        return;
    free(p->name);
    free(p->cmdline);
    p->name = text(s, 4096);
    p->cmdline = take(s) % 4 ? text(s, 4096) : NULL;
    p->cmdline_absent = p->cmdline ? 0 : (uint8_t)below(s, ABSENT_COUNT);
    p->uid = (uint32_t)number(s);
    p->parent = (struct baro_key){(int32_t)number(s), number(s)};
    p->first_ns = number(s);
    p->info_version++;
}

static void ended(struct story *s)
{
    const struct world *w = s->world;
    const struct baro_process *p = w->n ? w->at[below(s, w->n)] : NULL;
    char *name = text(s, 4096), *cmdline = take(s) % 2 ? text(s, 4096) : NULL;
    struct baro_exit e = {.t_ns = number(s),
                          .key = {(int32_t)number(s), number(s)},
                          .uid = (uint32_t)number(s),
                          .origin = (enum baro_origin)below(s, ORIGIN_COUNT),
                          .source = (enum baro_exit_source)below(s, EXIT_SOURCE_COUNT),
                          .sampled = take(s) % 2,
                          .status_known = take(s) % 2,
                          .name = name,
                          .cmdline = cmdline};
    e.parent = (struct baro_key){(int32_t)number(s), number(s)};
    e.status = e.status_known ? (int)number(s) : 0;
    e.id = (uint32_t)(number(s) | 1);
    if (p && take(s) % 2) { /* of a process that is on the tape, mostly with the texts that it has there */
        e.id = p->id;
        e.name = take(s) % 4 ? p->name : name;
        e.cmdline = take(s) % 4 ? p->cmdline : cmdline;
    }
    values(s, e.value, e.absent, EXIT_MAX);
    tape_writer_exit(s->w, &e);
    add(s, BARO_RECORD_EXIT)->whole = snapshot_exit(&e);
    free(name);
    free(cmdline);
}

static struct baro_attribute attribute(struct story *s)
{
    struct baro_attribute a = {.type = (enum baro_attribute_type)below(s, BARO_ATTRIBUTE_BOOLEAN + 1)};
    char *name = text(s, ATTRIBUTE_NAME_MAX);
    a.name = name;
    if (!*name) {
        free(name);
        a.name = strdup("a");
    }
    if (a.type == BARO_ATTRIBUTE_TEXT)
        a.text = text(s, ATTRIBUTE_TEXT_MAX);
    else if (a.type == BARO_ATTRIBUTE_SIGNED)
        a.i64 = (int64_t)number(s);
    else if (a.type == BARO_ATTRIBUTE_REAL)
        a.real = (double)number(s) / 7;
    else
        a.u64 = a.type == BARO_ATTRIBUTE_BOOLEAN ? number(s) % 2 : number(s);
    return a;
}

static void happened(struct story *s)
{
    struct baro_attribute at[ATTRIBUTES_MAX];
    char *words = text(s, 4096);
    struct baro_event e = {.t_ns = number(s),
                           .kind = (enum baro_event_kind)below(s, EVENT_KIND_COUNT),
                           .key = {(int32_t)number(s), number(s)},
                           .number = number(s),
                           .text = words,
                           .n_attributes = take(s) % (ATTRIBUTES_MAX + 1),
                           .attribute = at};
    for (size_t i = 0; i < e.n_attributes; i++)
        at[i] = attribute(s);
    tape_writer_event(s->w, &e);
    add(s, BARO_RECORD_EVENT)->whole = snapshot_event(&e);
    for (size_t i = 0; i < e.n_attributes; i++) {
        free((char *)(uintptr_t)at[i].name);
        free((char *)(uintptr_t)at[i].text);
    }
    free(words);
}

static void limit(struct story *s)
{
    struct baro_limits l = {.memory_bytes = number(s),
                            .cores_ppm = number(s),
                            .pids = number(s),
                            .memory_absent = (uint8_t)below(s, ABSENT_COUNT),
                            .cores_absent = (uint8_t)below(s, ABSENT_COUNT),
                            .pids_absent = (uint8_t)below(s, ABSENT_COUNT)};
    char *source = text(s, sizeof(l.memory_source) - 1);
    snprintf(l.memory_source, sizeof(l.memory_source), "%s", source);
    snprintf(l.pids_source, sizeof(l.pids_source), "%s", source);
    free(source);
    tape_writer_limits(s->w, &l, number(s));
    s->limits = l;
}

static void machine(struct story *s)
{
    struct baro_sample *v = &s->world->sample;
    enum baro_kind kind = (enum baro_kind)(BARO_KIND_CPU + below(s, KIND_COUNT - BARO_KIND_CPU));
    v->has_host = true;
    v->host_ns = reading(s);
    values(s, v->host, v->host_absent, HOST_MAX);
    s->world->random = number(s) * 0x9e3779b97f4a7c15ull + 1;
    world_entities(s->world, kind);
    struct baro_entity *e = s->world->n_entities[kind] ? s->world->entity[kind][0] : NULL;
    if (e)
        values(s, e->value, e->absent, (size_t)baro_metric_count(e->kind));
    if (kind > BARO_KIND_CGROUP)
        v->entities[kind].read_ns = reading(s);
}

static void other(struct story *s)
{
    struct world *w = s->world;
    if (w->sample.n_declared < WORLD_DECLARED && take(s) % 2)
        world_declare(w);
    struct world_declared *d = w->sample.n_declared ? &w->declared[below(s, w->sample.n_declared)] : NULL;
    if (!d)
        return;
    w->random = number(s) * 0x9e3779b97f4a7c15ull + 1;
    world_read_declared(w, d);
    if (d->view.rows.n)
        values(s, d->row[0]->value, d->row[0]->absent, d->view.n_metrics);
    d->view.rows.read_ns = reading(s);
}

static void step(struct story *s)
{
    struct baro_sample *v = &s->world->sample;
    static void (*const operations[])(struct story *) = {tick,  born,     died,  change,  change,
                                                         ended, happened, limit, machine, other};
    size_t known = sizeof(operations) / sizeof(*operations), what = take(s) % (known + 4);
    if (what < known) {
        operations[what](s);
    } else if (what == known) {
        commit(s, NULL);
    } else if (what == known + 1) {
        v->t_ns = number(s);
        v->lossy = take(s) % 2;
        values(s, v->job, v->job_absent, JOB_MAX);
        values(s, v->self, v->self_absent, RECORDER_MAX);
    } else {
        v->t_ns += number(s) << (what == known + 2 ? 0 : 27);
        commit(s, v);
    }
}

/* ---- reading ---- */

static struct snapshot snapshot_of(const struct baro_record *r)
{
    return r->kind == BARO_RECORD_SAMPLE ? snapshot_sample(r->u.sample, true)
           : r->kind == BARO_RECORD_EXIT ? snapshot_exit(row_exit(r->u.exit))
                                         : snapshot_event(r->u.event);
}

static void expect(const struct baro_tape *t, const struct item *item, const struct baro_record *r)
{
    if (r->kind != item->kind)
        abort();
    struct snapshot s = snapshot_of(r);
    if (!snapshot_equal(&s, &item->whole))
        abort();
    free(s.at);
    if (r->kind == BARO_RECORD_SAMPLE && !baro_limits_equal(baro_tape_limits(t), &item->limits))
        abort();
}

static int next(struct baro_tape *t, struct baro_record *r)
{
    int code;
    do
        code = baro_tape_next(t, r, NULL);
    while (code == 1 && r->kind == BARO_RECORD_LIMITS);
    return code;
}

static void read_back(const struct story *s, const char *path)
{
    struct baro_tape *t;
    struct baro_record r;
    if (baro_tape_open(&t, path, NULL) < 0)
        abort();
    for (size_t i = 0; i < s->n; i++) {
        if (next(t, &r) != 1)
            abort();
        expect(t, &s->item[i], &r);
    }
    if (next(t, &r) != 0 || !baro_tape_complete(t) || baro_tape_damage(t))
        abort();
    baro_tape_close(t);
}

static void tell(struct story *s, int fd)
{
    static const struct baro_header header = {.version = "fuzz", .wanted = UINT32_MAX};
    if (tape_writer_new(&s->w, fd, &header, NULL, NULL) < 0)
        abort();
    s->world = world_new(1);
    while (s->left && s->n < ITEMS_MOST - 1)
        step(s);
    if (tape_writer_finish(s->w, NULL) < 0)
        abort();
    tape_writer_free(s->w); /* closes fd */
    world_free(s->world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("tape", MFD_CLOEXEC), copy = dup(fd);
    struct story *s = calloc(1, sizeof(*s));
    if (fd < 0 || copy < 0 || !s)
        abort();
    s->at = data;
    s->left = size < 1 << 16 ? size : 1 << 16;
    tell(s, fd);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
    read_back(s, path);
    for (size_t i = 0; i < s->n; i++)
        free(s->item[i].whole.at);
    free(s);
    close(copy);
    return 0;
}
