/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/kind_families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kind_families_begin(struct kind_families *k, int kind, struct families *to)
{
    *k = (struct kind_families){.name = baro_kind_name(kind), .kind = kind, .n = baro_metric_count(kind), .to = to};
    k->at = calloc((size_t)k->n + 1, sizeof(*k->at));
    to->out->failed = to->out->failed || !k->at;
    for (int id = 0; k->at && id < k->n; id++)
        k->at[id].family = family_of(k->name, baro_metric_get(kind, id));
}

void kind_families_end(struct kind_families *k)
{
    for (int id = 0; k->at && id < k->n; id++) {
        const struct family *f = &k->at[id].family;
        struct buf *values = &k->at[id].values;
        if (values->len) {
            family_begin(k->to, f->name, f->unit, f->is_counter, baro_metric_get(k->kind, id)->help);
            buf_add(k->to->out, values->at, values->len);
        }
        k->to->out->failed = k->to->out->failed || values->failed;
        buf_done(values);
    }
    free(k->at);
    buf_done(&k->labels);
}

/* Adds a value, with the labels that k->labels has. */
static void add_value(struct kind_families *k, int id, uint64_t v)
{
    struct one_family *one = &k->at[id];
    struct families to = {.out = &one->values, .is_open_metrics = k->to->is_open_metrics};
    family_value(&to, one->family.name, one->family.is_counter, &k->labels,
                 baro_metric_real(baro_metric_get(k->kind, id), v) / one->family.divisor);
}

void kind_families_row(struct kind_families *k, const struct baro_row *row, const struct buf *labels)
{
    uint64_t v;
    for (int id = 0; k->at && id < k->n; id++) {
        if (!k->at[id].family.is_there || baro_row_value(row, id, &v) != BARO_PRESENT)
            continue;
        buf_add(&k->labels, labels->at, labels->len);
        add_value(k, id, v);
    }
}

void kind_families_host(struct kind_families *k, const struct baro_sample *s)
{
    static const struct buf none;
    kind_families_row(k, baro_sample_row(s, BARO_KIND_HOST, 0), &none);
}

/* ---- entities ---- */

struct name_at {
    const char *name;
    size_t i;
};

static int by_name(const void *a, const void *b)
{
    const struct name_at *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->i > y->i) - (x->i < y->i);
}

static int by_place(const void *a, const void *b)
{
    const struct name_at *x = a, *y = b;
    return (x->i > y->i) - (x->i < y->i);
}

/* Removes all but the first entity of each name: two would be two values of one series. Returns how many are left. */
static size_t first_of_each_name(struct name_at *all, size_t n)
{
    size_t kept = 0;
    qsort(all, n, sizeof(*all), by_name);
    for (size_t i = 0; i < n; i++) {
        if (!kept || strcmp(all[kept - 1].name, all[i].name) != 0)
            all[kept++] = all[i];
    }
    qsort(all, kept, sizeof(*all), by_place);
    return kept;
}

static void add_entity(struct kind_families *k, const struct baro_row *e, const char *job)
{
    uint64_t v;
    for (int id = 0; id < k->n; id++) {
        if (!k->at[id].family.is_there || baro_row_value(e, id, &v) != BARO_PRESENT)
            continue;
        if (job)
            family_label(&k->labels, "job", job);
        family_label(&k->labels, k->name, baro_row_name(e));
        add_value(k, id, v);
    }
}

uint64_t kind_families_entities(struct kind_families *k, const struct baro_sample *s, const char *job, size_t most)
{
    size_t all = baro_sample_rows(s, k->kind), n = all < most ? all : most;
    struct name_at *names = n && k->at ? calloc(n, sizeof(*names)) : NULL;
    for (size_t i = 0; names && i < n; i++)
        names[i] = (struct name_at){baro_row_name(baro_sample_row(s, k->kind, i)), i};
    size_t distinct = names ? first_of_each_name(names, n) : 0;
    for (size_t i = 0; i < distinct; i++)
        add_entity(k, baro_sample_row(s, k->kind, names[i].i), job);
    k->to->out->failed = k->to->out->failed || (n && !names);
    free(names);
    return (all - n) * (uint64_t)k->n;
}

/* ---- processes ---- */

struct used {
    const struct baro_row *process;
    uint32_t id;
    uint64_t cpu_ns;
};

static int by_id(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int busiest_first(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    return x->cpu_ns < y->cpu_ns ? 1 : x->cpu_ns > y->cpu_ns ? -1 : by_id(a, b);
}

/* Returns the CPU time of each process, sorted by id; NULL: memory ran out, or there is no process. */
static struct used *used_by(const struct baro_sample *s, size_t *ret_n)
{
    int cpu = baro_metric_find(BARO_KIND_PROCESS, "cpu");
    *ret_n = s ? baro_sample_rows(s, BARO_KIND_PROCESS) : 0;
    struct used *all = *ret_n ? calloc(*ret_n, sizeof(*all)) : NULL;
    for (size_t i = 0; all && i < *ret_n; i++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        all[i] = (struct used){.process = p, .id = baro_row_id(p)};
        baro_row_value(p, cpu, &all[i].cpu_ns);
    }
    if (all)
        qsort(all, *ret_n, sizeof(*all), by_id);
    return all;
}

static void add_process(struct kind_families *k, const struct baro_row *p, const char *job)
{
    char pid[16];
    uint64_t v;
    snprintf(pid, sizeof(pid), "%d", baro_row_pid(p));
    for (int id = 0; id < k->n; id++) {
        if (!k->at[id].family.is_there || baro_row_value(p, id, &v) != BARO_PRESENT)
            continue;
        family_label(&k->labels, "job", job);
        family_label(&k->labels, "pid", pid);
        family_label(&k->labels, "name", baro_row_name(p));
        add_value(k, id, v);
    }
}

void kind_families_busiest(struct kind_families *k, const struct baro_sample *before, const struct baro_sample *s,
                           const char *job, size_t most)
{
    size_t n, n_before;
    struct used *now = k->at ? used_by(s, &n) : NULL, *earlier = k->at ? used_by(before, &n_before) : NULL;
    for (size_t i = 0, at = 0; now && earlier && i < n; i++) {
        while (at < n_before && earlier[at].id < now[i].id)
            at++;
        uint64_t was = at < n_before && earlier[at].id == now[i].id ? earlier[at].cpu_ns : 0;
        now[i].cpu_ns = now[i].cpu_ns > was ? now[i].cpu_ns - was : 0;
    }
    if (now)
        qsort(now, n, sizeof(*now), busiest_first);
    for (size_t i = 0; now && i < n && i < most; i++)
        add_process(k, now[i].process, job);
    free(now);
    free(earlier);
}
