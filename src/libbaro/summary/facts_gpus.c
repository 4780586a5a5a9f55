/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of GPUs, of all of them together, and of the energy of CPUs and memory. */
#include "libbaro/summary/facts.h"
#include <string.h>

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

/* A peak of 0 that was read before processes of the job used the device does not describe them. */
static int absent_of(const struct fold_entity *t, int metric)
{
    bool is_lacking = metric == GPU_memory_job_peak && t->lacks && !last(t, metric);
    return is_lacking ? t->lacks : t->cell[metric].absent;
}

static uint64_t watched(const struct fold_entity *t)
{
    return last(t, GPU_read_at) - t->cell[GPU_read_at].first;
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
    return (!absent_of(t, GPU_memory_job_peak) || !absent_of(t, GPU_busy_job)) && !has_unattributed(t);
}

static bool is_used_itself(const struct fold_entity *t)
{
    return most(t, GPU_processes_job) || (!absent_of(t, GPU_memory_job_peak) && last(t, GPU_memory_job_peak)) ||
           (!absent_of(t, GPU_busy_job) && last(t, GPU_busy_job));
}

/* A device is used if one of its instances is. */
static bool is_used(const struct fold_entities *g, const struct fold_entity *t)
{
    bool any = is_used_itself(t);
    for (size_t i = 0; !any && i < g->n; i++)
        any = is_instance(&g->at[i]) && g->at[i].owner == t->id && is_used_itself(&g->at[i]);
    return any;
}

void fact_gpu_text(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    value_text(ret, BARO_PRESENT, of ? t->label : t->name);
}

void fact_gpu_grown(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    value_u64(ret, absent_of(t, of), t->cell[of].grown);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, t->cell[of].fell);
}

/* The growth of a time, as a share of the time in which the device was watched. */
void fact_gpu_share(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    int absent = absent_of(t, of) ? absent_of(t, of) : watched(t) ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
    value_real(ret, absent, watched(t) ? growth(t, of) / (double)watched(t) : 0);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, t->cell[of].fell);
}

void fact_gpu_most(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    value_u64(ret, absent_of(t, of), most(t, of));
}

void fact_gpu_most_real(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    value_real(ret, absent_of(t, of), baro_metric_real(baro_metric_get(KIND_gpu, of), most(t, of)));
}

/* Computes the job's share of a device's energy, as far as it can be known. Example: the device used 300 J; of its
 * busy time 20 s are the job's and 40 s those of others: 100 J, an estimate. If nobody else used the device, all of
 * its energy is the job's, even that of its idle time. */
static void get_job_energy(const struct fold_entities *g, const struct fold_entity *t, struct baro_value *ret)
{
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
    bool may_be_more = !absent && has_unattributed(t);
    if (may_be_more && !is_used(g, t))
        absent = BARO_ABSENT_UNKNOWN;
    else if (!absent && !is_used(g, t))
        share = 0;
    else if (!absent && !is_alone && all > 0)
        share = growth(t, GPU_busy_job) / all;
    else if (!is_alone && !absent) /* both held memory, and neither computed */
        absent = BARO_ABSENT_UNKNOWN;
    value_real(ret, absent, absent ? 0 : growth(t, GPU_energy) / 1e6 * share);
    value_flag(ret, BARO_VALUE_ESTIMATE, is_estimated(t) || (share > 0 && !is_alone));
    value_flag(ret, BARO_VALUE_LOWER_BOUND, may_be_more || t->cell[GPU_energy].fell);
}

void fact_gpu_energy(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    double joules = growth(t, GPU_energy) / 1e6, seconds = (double)watched(t) / 1e9;
    int absent = absent_of(t, GPU_energy);
    if (of == GPU_JOULES_JOB) {
        get_job_energy(&s->fold.gpus, t, ret);
        return;
    }
    if (of == GPU_POWER_MEAN && !absent && !watched(t))
        absent = BARO_ABSENT_NOT_YET;
    value_real(ret, absent, of == GPU_POWER_MEAN && seconds > 0 ? joules / seconds : joules);
    value_flag(ret, BARO_VALUE_ESTIMATE, is_estimated(t));
    value_flag(ret, BARO_VALUE_LOWER_BOUND, t->cell[GPU_energy].fell);
}

void fact_gpu_flag(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *t = &s->fold.gpus.at[row];
    bool used = is_used(&s->fold.gpus, t);
    int absent = of == GPU_USED && !is_use_known(t) && !used ? absent_of(t, GPU_busy_job) : BARO_PRESENT;
    if (of == GPU_USED && !used && has_unattributed(t))
        absent = BARO_ABSENT_UNKNOWN;
    value_u64(ret, absent, of == GPU_WATCHED ? watched(t) : of == GPU_USED ? used : is_instance(t));
}

/* ---- of all together ---- */

static bool is_whole(const struct fold_entity *t)
{
    return !is_instance(t);
}

/* Is the memory of the device known? That of a divided device is known if that of its instances is. */
static bool has_all_memory(const struct fold_entities *g, const struct fold_entity *t)
{
    bool has = !absent_of(t, GPU_memory_job_peak);
    for (size_t i = 0; !has && i < g->n; i++)
        has = is_instance(&g->at[i]) && g->at[i].owner == t->id && !absent_of(&g->at[i], GPU_memory_job_peak);
    return has && !t->lacks && !has_unattributed(t);
}

static bool is_bound(const struct fold_entity *t, int metric)
{
    return t->cell[metric].absent_now || t->cell[metric].fell;
}

/* Is a sum over all devices a lower bound, because one of them lacks the value? */
static bool is_all_bound(const struct fold_entities *g, int of)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct fold_entity *t = &g->at[i];
        bool lacks = of == GPUS_USED                              ? !is_use_known(t) && !is_used(g, t)
                     : of == GPUS_BUSY                            ? is_bound(t, GPU_busy_job) || has_unattributed(t)
                     : of == GPUS_MEMORY || of == GPUS_MEMORY_ONE ? !has_all_memory(g, t)
                     : of == GPUS_ENERGY                          ? is_bound(t, GPU_energy)
                                                                  : false;
        if (is_whole(t) ? lacks : of == GPUS_MEMORY && t->lacks)
            return true;
    }
    return false;
}

static void get_all_job_energy(const struct fold_entities *g, struct baro_value *ret)
{
    double joules = 0;
    unsigned flags = 0;
    bool any = false, lacks = false;
    for (size_t i = 0; i < g->n; i++) {
        struct baro_value one = {0};
        if (!is_whole(&g->at[i]))
            continue;
        get_job_energy(g, &g->at[i], &one);
        any |= !one.absent;
        lacks |= one.absent || one.flags & BARO_VALUE_LOWER_BOUND;
        joules += one.absent ? 0 : one.real;
        flags |= one.absent ? 0 : one.flags & BARO_VALUE_ESTIMATE;
    }
    value_real(ret, any ? BARO_PRESENT : g->n ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_NONE, joules);
    value_flag(ret, BARO_VALUE_ESTIMATE, flags);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, lacks || is_all_bound(g, GPUS_ENERGY));
}

void fact_gpu_all(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    if (of == GPUS_ENERGY_JOB) {
        get_all_job_energy(&s->fold.gpus, ret);
        return;
    }
    uint64_t n = 0, used = 0, watched_ns = 0, most_one = 0;
    double busy = 0, energy = 0;
    bool has_busy = false, has_energy = false, is_estimate = false, has_memory = false, has_use = false;
    (void)row;
    for (size_t i = 0; i < s->fold.gpus.n; i++) {
        const struct fold_entity *t = &s->fold.gpus.at[i];
        if (!absent_of(t, GPU_memory_job_peak)) {
            has_memory = true;
            most_one = last(t, GPU_memory_job_peak) > most_one ? last(t, GPU_memory_job_peak) : most_one;
        }
        if (!is_whole(t))
            continue;
        n++;
        used += is_used(&s->fold.gpus, t);
        has_use |= is_use_known(t) || is_used(&s->fold.gpus, t);
        watched_ns = watched(t) > watched_ns ? watched(t) : watched_ns;
        has_busy |= !absent_of(t, GPU_busy_job);
        busy += absent_of(t, GPU_busy_job) ? 0 : growth(t, GPU_busy_job);
        has_energy |= !absent_of(t, GPU_energy);
        energy += absent_of(t, GPU_energy) ? 0 : growth(t, GPU_energy) / 1e6;
        is_estimate |= is_estimated(t);
    }
    int none = n ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_NONE;
    switch (of) {
    case GPUS_VISIBLE: value_u64(ret, n ? BARO_PRESENT : none, n); break;
    case GPUS_USED: value_u64(ret, has_use ? BARO_PRESENT : none, used); break;
    case GPUS_BUSY: value_u64(ret, has_busy ? BARO_PRESENT : none, (uint64_t)busy); break;
    case GPUS_MEMORY: value_u64(ret, has_memory ? BARO_PRESENT : none, s->gpus.memory_job_most); break;
    case GPUS_MEMORY_ONE: value_u64(ret, has_memory ? BARO_PRESENT : none, most_one); break;
    case GPUS_ALLOCATOR:
        value_u64(ret, s->gpus.has_allocator ? BARO_PRESENT : BARO_ABSENT_NONE, s->gpus.allocator_most);
        break;
    case GPUS_WATCHED: value_u64(ret, n ? BARO_PRESENT : none, watched_ns); break;
    default:
        value_real(ret, has_energy ? BARO_PRESENT : none, energy);
        value_flag(ret, BARO_VALUE_ESTIMATE, is_estimate);
    }
    value_flag(ret, BARO_VALUE_LOWER_BOUND, is_all_bound(&s->fold.gpus, of));
}

/* ---- energy of CPUs and memory ---- */

void fact_energy(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    double joules = 0;
    bool has_gap = false;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    struct baro_value busy = {0}, job = {0};
    (void)row;
    for (size_t i = 0; i < s->fold.meters.n; i++) {
        const struct fold_cell *cell = s->fold.meters.at[i].cell, *at = &cell[ENERGY_read_at];
        if (!cell[ENERGY_counted].last || !cell[ENERGY_energy].seen || !at->seen)
            continue;
        joules += (double)cell[ENERGY_energy].grown / 1e6;
        has_gap |= cell[ENERGY_energy].lapsed || cell[ENERGY_energy].fell;
        first_ns = at->first < first_ns ? at->first : first_ns;
        last_ns = at->last > last_ns ? at->last : last_ns;
    }
    if (first_ns == UINT64_MAX) {
        value_real(ret, BARO_ABSENT_NONE, 0);
        return;
    }
    if (of == ENERGY_MACHINE) {
        value_real(ret, BARO_PRESENT, joules);
        value_flag(ret, BARO_VALUE_LOWER_BOUND, has_gap);
        return;
    }
    if (of == ENERGY_WATCHED) {
        value_u64(ret, BARO_PRESENT, last_ns - first_ns);
        return;
    }
    /* The job's CPU time as a share of that of the machine. */
    int absent = baro_summary_value(s, baro_summary_fact_find("host", "cpu_mean_cores"), 0, &busy);
    if (!absent)
        absent = baro_summary_value(s, baro_summary_fact_find("job", "cores_mean"), 0, &job);
    absent = absent || busy.real > 0 ? absent : BARO_ABSENT_UNKNOWN;
    double share = !absent && job.real < busy.real ? job.real / busy.real : 1;
    value_real(ret, absent, joules * share);
    value_flag(ret, BARO_VALUE_ESTIMATE, true);
    value_flag(ret, BARO_VALUE_LOWER_BOUND, has_gap);
}

void baro_summary_set_carbon(struct baro_summary *summary, double grams_per_kwh)
{
    summary->gpus.grams_per_kwh = grams_per_kwh > 0 ? grams_per_kwh : 0;
}

void fact_carbon(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    static const struct {
        const char *section, *fact;
    } energy[] = {[CARBON_GPU] = {"gpu", "energy_joules"},
                  [CARBON_MACHINE] = {"energy", "machine_joules"},
                  [CARBON_JOB] = {"energy", "job_joules"}};
    struct baro_value joules = {0};
    (void)row;
    if (s->gpus.grams_per_kwh <= 0 || of == CARBON_FACTOR) {
        value_real(ret, s->gpus.grams_per_kwh > 0 ? BARO_PRESENT : BARO_ABSENT_NONE, s->gpus.grams_per_kwh);
        return;
    }
    int absent = baro_summary_value(s, baro_summary_fact_find(energy[of].section, energy[of].fact), 0, &joules);
    value_real(ret, absent, joules.real / JOULES_PER_KWH * s->gpus.grams_per_kwh);
    ret->flags |= ret->absent ? 0 : joules.flags & (BARO_VALUE_ESTIMATE | BARO_VALUE_LOWER_BOUND);
}
