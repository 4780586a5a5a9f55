/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text/phase_names.h"

#include <stdio.h>
#include <string.h>

/* The phase around it. One of the same name stands beside it: two that overlap are "both", and not "both/both". */
static const struct baro_timeline_item *parent_of(const struct baro_timeline *t, const struct baro_timeline_item *v)
{
    const struct baro_timeline_item *parent = v;
    do
        parent = parent->parent < 0 ? NULL : baro_timeline_get(t, (size_t)parent->parent);
    while (parent && strcmp(parent->name, v->name) == 0);
    return parent;
}

bool phase_is_same(const struct baro_timeline *t, const struct baro_timeline_item *a,
                   const struct baro_timeline_item *b)
{
    while (a && b && a != b) {
        if (strcmp(a->name, b->name) != 0)
            return false;
        a = parent_of(t, a);
        b = parent_of(t, b);
    }
    return a == b;
}

/* Writes the path from its end, as far as there is room. */
static void write_path(const struct baro_timeline *t, const struct baro_timeline_item *v, char *ret, size_t size)
{
    char path[96] = "";
    for (; v; v = parent_of(t, v)) {
        char longer[sizeof(path)];
        if (snprintf(longer, sizeof(longer), *path ? "%s/%s" : "%s", v->name, path) >= (int)sizeof(longer) && *path)
            break;
        memcpy(path, longer, sizeof(path));
    }
    memcpy(ret, path, size < sizeof(path) ? size : sizeof(path));
}

static struct named_phases *named_of(struct phase_names *names, const struct baro_timeline *t,
                                     const struct baro_timeline_item *v)
{
    for (size_t i = 0; i < names->n; i++) {
        if (phase_is_same(t, names->at[i].first, v))
            return &names->at[i];
    }
    if (names->n == PHASE_NAMES_MOST)
        return NULL;
    struct named_phases *d = &names->at[names->n++];
    *d = (struct named_phases){.first = v, .has_cpu = true};
    write_path(t, v, d->path, sizeof(d->path));
    return d;
}

int phase_status(const struct baro_timeline *t, size_t i)
{
    int status;
    return baro_timeline_status(t, i, &status) == BARO_PRESENT ? status : 0;
}

static void add_phase(struct named_phases *d, const struct baro_timeline *t, size_t i)
{
    const struct baro_timeline_item *v = baro_timeline_get(t, i);
    struct baro_value cpu, rss;
    bool has_cpu = baro_timeline_value(t, i, baro_timeline_fact_find("cpu_ns"), &cpu) == BARO_PRESENT,
         has_rss = baro_timeline_value(t, i, baro_timeline_fact_find("rss_peak_bytes"), &rss) == BARO_PRESENT;
    uint64_t from = v->begin_ns > d->end_ns ? v->begin_ns : d->end_ns;
    int status = phase_status(t, i);
    d->has_cpu = d->has_cpu && has_cpu && v->begin_ns >= d->end_ns;
    d->cpu_ns += cpu.u64;
    d->cpu_flags |= cpu.flags;
    if (has_rss && (!d->has_rss || rss.u64 > d->rss_bytes)) {
        d->rss_bytes = rss.u64;
        d->rss_flags = rss.flags;
    }
    d->has_rss = d->has_rss || has_rss;
    d->is_open = d->is_open || v->is_open;
    d->took_ns += v->end_ns > from ? v->end_ns - from : 0;
    d->end_ns = v->end_ns > d->end_ns ? v->end_ns : d->end_ns;
    d->status = status ? status : d->status;
    d->n++;
}

void phase_names_collect(struct phase_names *names, const struct baro_timeline *t)
{
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *v = baro_timeline_get(t, i);
        struct named_phases *d = v->kind == BARO_TIMELINE_PHASE ? named_of(names, t, v) : NULL;
        if (d)
            add_phase(d, t, i);
        else
            names->left_out += v->kind == BARO_TIMELINE_PHASE;
    }
}

static bool goes_before(const struct named_phases *a, const struct named_phases *b)
{
    return (a->status != 0) != (b->status != 0) ? !a->status : a->took_ns < b->took_ns;
}

void phase_names_keep(struct phase_names *names, size_t most)
{
    while (names->n > most) {
        size_t least = 0;
        for (size_t i = 1; i < names->n; i++)
            least = goes_before(&names->at[i], &names->at[least]) ? i : least;
        names->left_out += names->at[least].n;
        names->n--;
        memmove(&names->at[least], &names->at[least + 1], (names->n - least) * sizeof(names->at[0]));
    }
}
