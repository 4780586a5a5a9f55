/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/gpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/span.h"

static struct gpu_total *find_gpu(struct gpus_total *g, const struct baro_entity *e)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->at[i].id == e->id)
            return &g->at[i];
    }
    struct gpu_total *at = realloc(g->at, (g->n + 1) * sizeof(*at));
    if (!at)
        return NULL;
    g->at = at;
    at += g->n;
    *at = (struct gpu_total){.id = e->id, .name = strdup(e->name), .model = strdup(e->label)};
    at->is_instance = e->owner.kind == BARO_OWNER_ENTITY;
    at->owner = at->is_instance ? e->owner.id : 0;
    memset(at->absent, BARO_ABSENT_NOT_YET, sizeof(at->absent));
    if (!at->name || !at->model) {
        free(at->name);
        free(at->model);
        return NULL;
    }
    g->n++;
    return at;
}

/* A peak of 0 that was read before processes of the job used the device does not describe them. */
static void take_lacking_memory(struct gpu_total *t, const struct baro_entity *e)
{
    if (!e->absent[GPU_memory_job] || e->absent[GPU_processes_job] || !e->value[GPU_processes_job])
        return;
    t->lacks_memory = true;
    if (!t->last[GPU_memory_job_peak])
        t->absent[GPU_memory_job_peak] = e->absent[GPU_memory_job];
}

static void take_gpu_values(struct gpu_total *t, const struct baro_entity *e)
{
    for (int i = 0; i < GPU_MAX; i++) {
        t->absent_now[i] = e->absent[i];
        if (e->absent[i] != BARO_PRESENT) {
            t->absent[i] = t->absent[i] ? e->absent[i] : BARO_PRESENT;
            continue;
        }
        bool is_first = t->absent[i] != BARO_PRESENT;
        t->first[i] = is_first ? e->value[i] : t->first[i];
        t->most[i] = is_first || e->value[i] > t->most[i] ? e->value[i] : t->most[i];
        t->last[i] = e->value[i];
        t->absent[i] = BARO_PRESENT;
    }
    take_lacking_memory(t, e);
    if (e->absent[GPU_read_at] == BARO_PRESENT) {
        t->first_ns = t->first_ns ? t->first_ns : e->value[GPU_read_at];
        t->last_ns = e->value[GPU_read_at];
    }
    t->is_estimated |= e->absent[GPU_energy_estimated] == BARO_PRESENT && e->value[GPU_energy_estimated];
}

static bool add_meters(struct gpus_total *g, const struct baro_entities *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct baro_entity *e = all->at[i];
        size_t k = 0;
        while (k < g->n_meters && g->meter[k].id != e->id)
            k++;
        if (e->absent[ENERGY_energy] != BARO_PRESENT || e->absent[ENERGY_read_at] != BARO_PRESENT) {
            if (k < g->n_meters)
                g->meter[k].has_gap = true;
            continue;
        }
        if (k == g->n_meters) {
            struct meter_total *at = realloc(g->meter, (k + 1) * sizeof(*at));
            if (!at)
                return false;
            g->meter = at;
            at[g->n_meters++] = (struct meter_total){
                .id = e->id, .first_ns = e->value[ENERGY_read_at], .first_uj = e->value[ENERGY_energy]};
        }
        g->meter[k].last_ns = e->value[ENERGY_read_at];
        g->meter[k].energy_uj = e->value[ENERGY_energy];
        g->meter[k].is_counted = e->absent[ENERGY_counted] == BARO_PRESENT && e->value[ENERGY_counted];
    }
    return true;
}

static uint64_t memory_of_job(const struct baro_entity *e)
{
    return e->absent[GPU_memory_job] == BARO_PRESENT ? e->value[GPU_memory_job] : 0;
}

/* Returns the memory that the job holds on a device. A device that is divided into instances may list the processes
 * of its instances, or none: they count once. Example: 5 GB by the device, and 2 and 3 GB by its instances, are 5
 * GB. */
static uint64_t memory_on_device(const struct baro_entities *all, const struct baro_entity *device)
{
    uint64_t own = memory_of_job(device), parts = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct baro_entity_owner *owner = &all->at[i]->owner;
        parts += owner->kind == BARO_OWNER_ENTITY && owner->id == device->id ? memory_of_job(all->at[i]) : 0;
    }
    return own > parts ? own : parts;
}

bool gpus_total_add(struct gpus_total *g, const struct baro_sample *s)
{
    const struct baro_entities *all = &s->entities[KIND_gpu];
    uint64_t together = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct gpu_total *t = find_gpu(g, all->at[i]);
        if (!t)
            return false;
        take_gpu_values(t, all->at[i]);
        if (!t->is_instance)
            together += memory_on_device(all, all->at[i]);
    }
    g->memory_job_most = together > g->memory_job_most ? together : g->memory_job_most;
    return add_meters(g, &s->entities[KIND_energy]);
}

/* "gpu0_peak_bytes", but not "gpu0_reserved_peak_bytes" */
static bool is_peak_of_device(const char *name)
{
    struct span s = span_str(name);
    uint64_t device;
    if (!span_starts(s, "gpu"))
        return false;
    s = span_of(s.at + 3, s.len - 3);
    return scan_u64(&s, &device) && span_equal(s, "_peak_bytes");
}

void gpus_total_add_mark(struct gpus_total *g, const struct baro_event *e)
{
    struct baro_attribute a;
    if (baro_event_attribute_find(e, "name", &a) < 0 || !a.text ||
        (strcmp(a.text, "torch") != 0 && strcmp(a.text, "jax") != 0))
        return;
    for (size_t i = 0; baro_event_attribute(e, i, &a) == 0; i++) {
        if (a.type != BARO_ATTRIBUTE_UNSIGNED || !is_peak_of_device(a.name))
            continue;
        g->has_allocator = true;
        g->allocator_most = a.u64 > g->allocator_most ? a.u64 : g->allocator_most;
    }
}

void gpus_total_done(struct gpus_total *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->at[i].name);
        free(g->at[i].model);
    }
    free(g->at);
    free(g->meter);
}
