/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text/phase_names.h"

#include <stdlib.h>
#include <string.h>

/* Returns the path of a phase, to be freed; NULL: out of memory. */
static char *path_of(const struct baro_timeline *t, size_t i)
{
    size_t size = baro_timeline_path(t, i, NULL, 0) + 1;
    char *path = malloc(size);
    if (path)
        baro_timeline_path(t, i, path, size);
    return path;
}

bool phase_is_named(const struct baro_timeline *t, size_t i, const struct named_phases *d)
{
    char *path = baro_timeline_path(t, i, NULL, 0) == strlen(d->path) ? path_of(t, i) : NULL;
    bool is = path && baro_timeline_get(t, i)->kind == BARO_TIMELINE_PHASE && strcmp(path, d->path) == 0;
    free(path);
    return is;
}

/* Returns the row of a phase; NULL if there is no room for another one. */
static struct named_phases *named_of(struct phase_names *names, const struct baro_timeline *t, size_t phase)
{
    char *path = path_of(t, phase);
    for (size_t i = 0; path && i < names->n; i++) {
        if (strcmp(names->at[i].path, path) == 0) {
            free(path);
            return &names->at[i];
        }
    }
    if (!path || names->n == PHASE_NAMES_MOST) {
        free(path);
        return NULL;
    }
    struct named_phases *d = &names->at[names->n++];
    *d = (struct named_phases){.first = baro_timeline_get(t, phase), .path = path, .has_cpu = true};
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
    d->is_least = d->is_least || v->is_open || v->begins_before;
    d->took_ns += v->end_ns > from ? v->end_ns - from : 0;
    d->end_ns = v->end_ns > d->end_ns ? v->end_ns : d->end_ns;
    d->status = status ? status : d->status;
    d->n++;
}

void phase_names_collect(struct phase_names *names, const struct baro_timeline *t)
{
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *v = baro_timeline_get(t, i);
        struct named_phases *d = v->kind == BARO_TIMELINE_PHASE ? named_of(names, t, i) : NULL;
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
        free(names->at[least].path);
        memmove(&names->at[least], &names->at[least + 1], (names->n - least) * sizeof(names->at[0]));
    }
}

void phase_names_done(struct phase_names *names)
{
    while (names->n)
        free(names->at[--names->n].path);
}
