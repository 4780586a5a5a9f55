/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of GPUs, of all of them together, and of the energy of CPUs and memory. */
#include "libbaro/summary/facts.h"
#include <string.h>

#include "base/min_max.h"
#include "base/span.h"

#define JOULES_PER_KWH 3.6e6

/* ---- samples and marks ---- */

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

void summary_note_gpus(struct baro_summary *s, const struct baro_sample *sample)
{
    const struct baro_entities *all = &sample->entities[KIND_gpu];
    uint64_t together = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct baro_entity *e = all->at[i];
        struct fold_entity *t = fold_entity_find(&s->fold.gpus, e->id);
        if (t && e->absent[GPU_memory_job] && !e->absent[GPU_processes_job] && e->value[GPU_processes_job])
            t->lacks = e->absent[GPU_memory_job];
        if (e->owner.kind != BARO_OWNER_ENTITY)
            together += memory_on_device(all, e);
    }
    s->gpus.memory_job_most = together > s->gpus.memory_job_most ? together : s->gpus.memory_job_most;
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

void summary_note_allocator(struct baro_summary *s, const struct baro_event *e)
{
    struct baro_attribute a;
    if (baro_event_attribute_find(e, "name", &a) < 0 || !a.text ||
        (strcmp(a.text, "torch") != 0 && strcmp(a.text, "jax") != 0))
        return;
    for (size_t i = 0; baro_event_attribute(e, i, &a) == 0; i++) {
        if (a.type != BARO_ATTRIBUTE_UNSIGNED || !is_peak_of_device(a.name))
            continue;
        s->gpus.has_allocator = true;
        s->gpus.allocator_most = a.u64 > s->gpus.allocator_most ? a.u64 : s->gpus.allocator_most;
    }
}

/* ---- facts of one ---- */

static uint64_t last(const struct fold_entity *t, int metric)
{
    return t->cell[metric].last;
}

static uint64_t most(const struct fold_entity *t, int metric)
{
    return t->cell[metric].most;
}

static int absent_of(const struct fold_entity *t, int metric)
{
    return t->cell[metric].absent;
}

/* A peak of 0 that was read before processes of the job used the device does not describe them. */
int gpu_memory_absent(const struct fold_entity *t)
{
    return t->lacks && !last(t, GPU_memory_job_peak) ? t->lacks : absent_of(t, GPU_memory_job_peak);
}

uint64_t gpu_watched_ns(const struct fold_entity *t)
{
    return excess(last(t, GPU_read_at), t->cell[GPU_read_at].first); /* of a hostile tape it may fall */
}

static double growth(const struct fold_entity *t, int metric)
{
    return (double)t->cell[metric].grown;
}

static bool is_instance(const struct fold_entity *t)
{
    return t->owner != 0;
}

static bool is_estimated(const struct fold_entity *t)
{
    return most(t, GPU_energy_estimated) != 0;
}

/* Were there processes that could not be identified? They may belong to the job, as in a container that has PIDs of
 * its own. */
static bool has_unattributed(const struct fold_entity *t)
{
    return most(t, GPU_memory_unattributed) || most(t, GPU_busy_unattributed);
}

/* Is the use by the job known? It is not if the device can't be read, or if its driver does not report the use by
 * processes or their pids. */
static bool is_use_known(const struct fold_entity *t)
{
    return (!gpu_memory_absent(t) || !absent_of(t, GPU_busy_job)) && !has_unattributed(t);
}

static bool is_used_itself(const struct fold_entity *t)
{
    return most(t, GPU_processes_job) || (!gpu_memory_absent(t) && last(t, GPU_memory_job_peak)) ||
           (!absent_of(t, GPU_busy_job) && last(t, GPU_busy_job));
}

/* A device is used if one of its instances is. */
static bool is_used(const struct baro_summary *s, const struct fold_entity *t)
{
    const struct fold_entities *g = &s->fold.gpus;
    bool any = is_used_itself(t);
    for (size_t i = 0; !any && i < g->n; i++)
        any = is_instance(&g->at[i]) && g->at[i].owner == t->id && is_used_itself(&g->at[i]);
    return any;
}

int gpu_is_used(const struct baro_summary *s, size_t row, uint64_t *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    *ret = is_used(s, t);
    if (!*ret && has_unattributed(t))
        return BARO_ABSENT_UNKNOWN;
    return !*ret && !is_use_known(t) ? absent_of(t, GPU_busy_job) : BARO_PRESENT;
}

int gpu_share(const struct fold_entity *t, enum gpu_metric metric, double *ret)
{
    uint64_t watched_ns = gpu_watched_ns(t);
    *ret = watched_ns ? growth(t, metric) / (double)watched_ns : 0;
    return absent_of(t, metric) ? absent_of(t, metric) : watched_ns ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
}

int gpu_power_mean(const struct baro_summary *s, size_t row, double *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    double joules = growth(t, GPU_energy) / 1e6, seconds = (double)gpu_watched_ns(t) / 1e9;
    *ret = seconds > 0 ? joules / seconds : 0;
    return absent_of(t, GPU_energy) ? absent_of(t, GPU_energy) : seconds > 0 ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
}

/* Computes the job's share of a device's energy, as far as it can be known. Example: the device used 300 J; of its
 * busy time 20 s are the job's and 40 s those of others: 100 J, an estimate. If nobody else used the device, all of
 * its energy is the job's, even that of its idle time. */
struct baro_value gpu_job_energy(const struct baro_summary *s, const struct fold_entity *t)
{
    struct baro_value ret = {0};
    static const int users[] = {GPU_busy_job, GPU_busy_others, GPU_busy_unattributed};
    double all = 0, share = 1;
    int absent = absent_of(t, GPU_energy);
    if (!absent) /* without a list of processes, a busy time of 0 proves nothing */
        absent = absent_of(t, GPU_processes_job);
    for (size_t i = 0; i < 3 && !absent; i++) {
        absent = absent_of(t, users[i]);
        all += absent ? 0 : growth(t, users[i]);
    }
    bool is_alone =
        !absent && growth(t, GPU_busy_others) + growth(t, GPU_busy_unattributed) <= 0 && !most(t, GPU_processes_others);
    bool may_be_more = !absent && has_unattributed(t), used = is_used(s, t);
    bool none_computed = !is_alone && all <= 0; /* both held memory */
    if (!absent && (used ? none_computed : may_be_more))
        absent = BARO_ABSENT_UNKNOWN;
    else if (!absent && !used)
        share = 0;
    else if (!absent && !is_alone)
        share = growth(t, GPU_busy_job) / all;
    value_real(&ret, absent, growth(t, GPU_energy) / 1e6 * share);
    value_flag(&ret, BARO_VALUE_ESTIMATE, is_estimated(t) || (share > 0 && !is_alone));
    value_flag(&ret, BARO_VALUE_LOWER_BOUND, may_be_more || t->cell[GPU_energy].fell);
    return ret;
}

/* ---- of all together ---- */

bool gpu_lacks_use(const struct baro_summary *s, const struct fold_entity *t)
{
    return !is_use_known(t) && !is_used(s, t);
}

static bool lacks_growth(const struct fold_cell *c)
{
    return c->absent_now || c->fell;
}

bool gpu_lacks_busy(const struct baro_summary *s, const struct fold_entity *t)
{
    (void)s;
    return lacks_growth(&t->cell[GPU_busy_job]) || has_unattributed(t);
}

/* The memory of a divided device is known if that of its instances is. */
bool gpu_lacks_memory(const struct baro_summary *s, const struct fold_entity *t)
{
    const struct fold_entities *g = &s->fold.gpus;
    bool has = !gpu_memory_absent(t);
    for (size_t i = 0; !has && i < g->n; i++)
        has = is_instance(&g->at[i]) && g->at[i].owner == t->id && !gpu_memory_absent(&g->at[i]);
    return !has || t->lacks || has_unattributed(t);
}

bool gpu_lacks_energy(const struct baro_summary *s, const struct fold_entity *t)
{
    (void)s;
    return lacks_growth(&t->cell[GPU_energy]);
}

bool gpus_lack(const struct baro_summary *s, gpu_lacks *lacks)
{
    bool any = false;
    for (size_t i = 0; !any && i < s->fold.gpus.n; i++)
        any = !is_instance(&s->fold.gpus.at[i]) && lacks(s, &s->fold.gpus.at[i]);
    return any;
}

bool gpus_lack_memory_together(const struct baro_summary *s)
{
    bool any = gpus_lack(s, gpu_lacks_memory);
    for (size_t i = 0; !any && i < s->fold.gpus.n; i++)
        any = s->fold.gpus.at[i].lacks;
    return any;
}

struct baro_value gpus_job_energy(const struct baro_summary *s)
{
    const struct fold_entities *g = &s->fold.gpus;
    struct baro_value all = {.absent = g->n ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_NONE};
    for (size_t i = 0; i < g->n; i++) {
        if (is_instance(&g->at[i]))
            continue;
        struct baro_value one = gpu_job_energy(s, &g->at[i]);
        all.flags |= one.absent ? BARO_VALUE_LOWER_BOUND : one.flags;
        all.absent = one.absent ? all.absent : BARO_PRESENT;
        all.real += one.real;
    }
    value_flag(&all, BARO_VALUE_LOWER_BOUND, gpus_lack(s, gpu_lacks_energy));
    return all;
}

void gpus_sum(const struct baro_summary *s, struct gpus_sum *ret)
{
    double busy = 0;
    *ret = (struct gpus_sum){.memory_most = s->gpus.memory_job_most};
    for (size_t i = 0; i < s->fold.gpus.n; i++) {
        const struct fold_entity *t = &s->fold.gpus.at[i];
        if (!gpu_memory_absent(t)) {
            ret->has_memory = true;
            ret->memory_most_of_one = max_u64(ret->memory_most_of_one, last(t, GPU_memory_job_peak));
        }
        if (is_instance(t))
            continue;
        ret->n++;
        ret->used += is_used(s, t);
        ret->has_use |= !gpu_lacks_use(s, t);
        ret->watched_ns = max_u64(ret->watched_ns, gpu_watched_ns(t));
        ret->has_busy |= !absent_of(t, GPU_busy_job);
        busy += absent_of(t, GPU_busy_job) ? 0 : growth(t, GPU_busy_job);
        ret->has_energy |= !absent_of(t, GPU_energy);
        ret->joules += absent_of(t, GPU_energy) ? 0 : growth(t, GPU_energy) / 1e6;
        ret->is_estimate |= is_estimated(t);
    }
    ret->busy_ns = (uint64_t)busy;
}

/* ---- energy of CPUs and memory ---- */

int meters_sum(const struct baro_summary *s, struct meters_sum *ret)
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    *ret = (struct meters_sum){0};
    for (size_t i = 0; i < s->fold.meters.n; i++) {
        const struct fold_cell *cell = s->fold.meters.at[i].cell, *at = &cell[ENERGY_read_at];
        if (!cell[ENERGY_counted].last || !cell[ENERGY_energy].seen || !at->seen)
            continue;
        ret->joules += (double)cell[ENERGY_energy].grown / 1e6;
        ret->has_gap |= cell[ENERGY_energy].lapsed || cell[ENERGY_energy].fell;
        first_ns = at->first < first_ns ? at->first : first_ns;
        last_ns = max_u64(last_ns, at->last);
    }
    ret->watched_ns = excess(last_ns, first_ns);
    return first_ns == UINT64_MAX ? BARO_ABSENT_NONE : BARO_PRESENT;
}

static int fact_real(const struct baro_summary *s, const char *section, const char *name, double *ret)
{
    struct baro_value v;
    baro_summary_value(s, baro_summary_fact_find(section, name), 0, &v);
    *ret = v.real;
    return v.absent;
}

/* The job's CPU time as a share of that of the machine. */
int energy_of_job(const struct baro_summary *s, double *ret)
{
    struct meters_sum meters;
    double busy = 0, job = 0;
    int absent = meters_sum(s, &meters);
    if (!absent)
        absent = fact_real(s, "host", "cpu_mean_cores", &busy);
    if (!absent)
        absent = fact_real(s, "job", "cores_mean", &job);
    *ret = meters.joules * (job < busy ? job / busy : 1);
    return absent || busy > 0 ? absent : BARO_ABSENT_UNKNOWN;
}

void baro_summary_set_carbon(struct baro_summary *summary, double grams_per_kwh)
{
    summary->gpus.grams_per_kwh = grams_per_kwh > 0 ? grams_per_kwh : 0;
}

int carbon_of(const struct baro_summary *s, const char *section, const char *fact, double *ret_grams)
{
    double joules;
    int absent = s->gpus.grams_per_kwh > 0 ? fact_real(s, section, fact, &joules) : BARO_ABSENT_NONE;
    *ret_grams = absent ? 0 : joules / JOULES_PER_KWH * s->gpus.grams_per_kwh;
    return absent;
}
