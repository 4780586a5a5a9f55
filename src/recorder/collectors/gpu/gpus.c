/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/gpu/gpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recorder/collectors/gpu/gpu_known.h"

/* ---- owners ---- */

/* Processes that use GPUs: whose they are, and what the job, others and those that can't be found have of a device. */

static struct gpu_owner *find_owner(struct gpu_tables *t, const struct gpu_process *p, size_t guess)
{
    for (size_t i = 0; i < t->n_owners; i++) {
        struct gpu_owner *o = &t->owner[(guess + i) % t->n_owners];
        if (o->device == p->device && o->host_pid == p->host_pid && (o->start == p->start || !p->start))
            return o;
    }
    if (array_reserve(&t->owner, t->n_owners + 1, &t->owners_cap, sizeof(*t->owner)) < 0)
        return NULL;
    struct gpu_owner *o = &t->owner[t->n_owners++];
    *o = (struct gpu_owner){
        .device = p->device, .host_pid = p->host_pid, .start = p->start, .whose = p->pid ? OTHERS : UNATTRIBUTED};
    return o;
}

static void begin_row(struct gpu_tables *t, struct gpu_owner *o, struct baro_key key, const char *name, uint32_t *ids)
{
    struct gpu_known *k = &t->device[o->device];
    o->e = entity_add(&t->processes, ids, k->e->name, name);
    if (!o->e)
        return;
    o->e->owner = (struct baro_entity_owner){.kind = BARO_OWNER_PROCESS, .process = key};
    entity_put(o->e, GPU_PROCESS_gpu, k->e->id);
    o->whose = JOB;
}

static void take_row(struct gpu_owner *o, const struct gpu_process *p, uint64_t start_ns, bool restarts)
{
    for (int m = GPU_PROCESS_memory; m < GPU_PROCESS_MAX; m++) {
        bool is_counter = baro_metric_get(KIND_gpu_process, m)->semantics == BARO_SEM_COUNTER;
        uint64_t v = is_counter ? counted(&o->base[m], &o->last[m], p->value[m], restarts) : p->value[m];
        if (m == GPU_PROCESS_memory_peak && !o->e->absent[m] && o->e->value[m] > v)
            v = o->e->value[m];
        if (p->absent[m])
            entity_lack(o->e, m, (enum baro_absent)p->absent[m]);
        else
            entity_put(o->e, m, m == GPU_PROCESS_read_at ? since(start_ns, v) : v);
    }
}

/* Adds what this process has to its device. */
static void add_up(struct gpu_tables *t, const struct gpu_owner *o, const struct gpu_process *p, uint64_t busy)
{
    struct gpu_known *k = &t->device[o->device];
    struct baro_entity *e = k->e;
    static const int memory[] = {GPU_memory_job, GPU_memory_others, GPU_memory_unattributed};
    if (!p->absent[GPU_PROCESS_memory] && !e->absent[memory[o->whose]])
        e->value[memory[o->whose]] += p->value[GPU_PROCESS_memory];
    else if (p->absent[GPU_PROCESS_memory] && !p->is_gone)
        k->unknown[o->whose] = (enum baro_absent)p->absent[GPU_PROCESS_memory];
    int count = o->whose == JOB ? GPU_processes_job : GPU_processes_others;
    if (!p->is_gone && !e->absent[count])
        e->value[count]++;
    k->grown[o->whose] += busy;
}

/* All together have used no more than the time since the last reading that was taken: each may have had an engine of
 * its own. Example: 0.9 s by the job and 0.6 s by others in 1 s are 0.6 s and 0.4 s. */
static void add_use(struct gpu_known *k, uint64_t now_ns)
{
    uint64_t since_ns = now_ns > k->busy_ns ? now_ns - k->busy_ns : 0;
    double sum = (double)k->grown[JOB] + (double)k->grown[OTHERS] + (double)k->grown[UNATTRIBUTED];
    bool is_more = sum > (double)since_ns;
    for (int i = JOB; i <= UNATTRIBUTED; i++) {
        k->busy[i] += is_more ? (uint64_t)((double)k->grown[i] * (double)since_ns / sum) : k->grown[i];
        k->grown[i] = 0;
    }
    k->busy_ns += since_ns;
}

/* What it had used before the first reading is of before. */
static void begin_owner(struct gpu_owner *o, const struct gpu_process *p)
{
    o->busy = p->absent[GPU_PROCESS_busy] ? 0 : p->value[GPU_PROCESS_busy];
    for (int m = GPU_PROCESS_memory; m < GPU_PROCESS_MAX; m++) {
        if (baro_metric_get(KIND_gpu_process, m)->semantics == BARO_SEM_COUNTER)
            begin_at(&o->base[m], p->value[m]);
    }
}

static void take_process(struct gpu_tables *t, struct gpu_reading *r, uint32_t i, const struct gpu_take *how)
{
    const struct gpu_process *p = &r->process[i];
    struct baro_key key = {0};
    if (p->device >= r->n_devices || !t->device[p->device].e)
        return;
    struct gpu_owner *o = find_owner(t, p, i);
    if (!o)
        return;
    o->is_there = true;
    if (how->late)
        begin_owner(o, p);
    const char *name = o->e || !p->pid ? NULL : how->is_member(how->context, p->pid, p->start, &key);
    if (name)
        begin_row(t, o, key, name, how->entity_ids);
    uint64_t busy = p->absent[GPU_PROCESS_busy] ? o->busy : p->value[GPU_PROCESS_busy];
    uint64_t before = how->restarts ? 0 : o->busy;
    add_up(t, o, p, busy > before ? busy - before : 0);
    o->busy = busy;
    if (o->e)
        take_row(o, p, how->start_ns, how->restarts);
}

static void remove_gone(struct gpu_tables *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_owners; i++) {
        if (t->owner[i].is_there)
            t->owner[n++] = t->owner[i];
        else
            entity_remove(&t->processes, t->owner[i].e);
    }
    t->n_owners = n;
}

static void put_sums(struct gpu_known *k, uint64_t read_ns)
{
    static const int busy[] = {GPU_busy_job, GPU_busy_others, GPU_busy_unattributed};
    struct baro_entity *e = k->e;
    add_use(k, e->absent[GPU_read_at] ? read_ns : e->value[GPU_read_at]);
    for (size_t i = 0; i < 3; i++) {
        if (!e->absent[busy[i]])
            e->value[busy[i]] = k->busy[i];
    }
    /* A sum that lacks a process is absent. */
    static const int memory[] = {GPU_memory_job, GPU_memory_others, GPU_memory_unattributed};
    for (int i = JOB; i <= UNATTRIBUTED; i++) {
        if (k->unknown[i])
            entity_lack(e, memory[i], k->unknown[i]);
    }
    if (k->unknown[JOB] && !e->value[GPU_memory_job_peak])
        entity_lack(e, GPU_memory_job_peak, k->unknown[JOB]);
    if (!e->absent[GPU_memory_job] && !e->absent[GPU_memory_job_peak] &&
        e->value[GPU_memory_job] > e->value[GPU_memory_job_peak])
        e->value[GPU_memory_job_peak] = e->value[GPU_memory_job];
}

/* Processes, and the sums of their devices, which were taken before. */
static void gpu_owners_take(struct gpu_tables *t, struct gpu_reading *r, const struct gpu_take *how)
{
    for (size_t i = 0; i < t->n_owners; i++)
        t->owner[i].is_there = false;
    for (uint32_t i = 0; i < r->n_processes; i++)
        take_process(t, r, i, how);
    remove_gone(t);
    for (uint32_t i = 0; i < r->n_devices; i++) {
        if (t->device[i].e)
            put_sums(&t->device[i], t->read_ns);
    }
}

struct gpu_known_meter {
    struct baro_entity *e;
    uint64_t base, last, wraps_base, wraps_last;
    bool lacked; /* in a reading that was not taken */
};

int gpu_tables_init(struct gpu_tables *t)
{
    *t = (struct gpu_tables){.devices.kind = KIND_gpu, .processes.kind = KIND_gpu_process, .meters.kind = KIND_energy};
    t->device = calloc(GPU_DEVICES_MOST, sizeof(*t->device));
    t->meter = calloc(GPU_METERS_MOST, sizeof(*t->meter));
    return t->device && t->meter ? 0 : -ENOMEM;
}

void gpu_tables_done(struct gpu_tables *t)
{
    entity_table_done(&t->devices);
    entity_table_done(&t->processes);
    entity_table_done(&t->meters);
    free(t->device);
    free(t->owner);
    free(t->meter);
}

/* ---- what another process wrote ---- */

static void end_text(char *text, size_t cap)
{
    text[cap - 1] = 0;
}

static void valid_absent(uint8_t *absent, size_t n)
{
    for (size_t i = 0; i < n; i++)
        absent[i] = absent[i] < ABSENT_COUNT ? absent[i] : BARO_ABSENT_UNKNOWN;
}

static void make_valid(struct gpu_reading *r)
{
    r->n_devices = r->n_devices <= GPU_DEVICES_MOST ? r->n_devices : 0;
    r->n_meters = r->n_meters <= GPU_METERS_MOST ? r->n_meters : 0;
    r->n_processes = r->n_processes <= GPU_PROCESSES_MOST ? r->n_processes : 0;
    end_text(r->trouble, sizeof(r->trouble));
    end_text(r->source, sizeof(r->source));
    for (uint32_t i = 0; i < r->n_devices; i++) {
        struct gpu_device *d = &r->device[i];
        end_text(d->name, sizeof(d->name));
        end_text(d->model, sizeof(d->model));
        end_text(d->uuid, sizeof(d->uuid));
        end_text(d->bus, sizeof(d->bus));
        end_text(d->driver, sizeof(d->driver));
        end_text(d->source, sizeof(d->source));
        d->parent = d->parent < i ? d->parent : GPU_NONE;
        d->slot = d->slot < GPU_DEVICES_MOST ? d->slot : 0;
        valid_absent(d->absent, GPU_MAX);
    }
    for (uint32_t i = 0; i < r->n_processes; i++)
        valid_absent(r->process[i].absent, GPU_PROCESS_MAX);
    for (uint32_t i = 0; i < r->n_meters; i++) {
        end_text(r->meter[i].name, sizeof(r->meter[i].name));
        valid_absent(r->meter[i].absent, ENERGY_MAX);
    }
}

/* ---- devices ---- */

static void describe(struct gpu_known *k, const struct gpu_device *d)
{
    memcpy(k->model, d->model, sizeof(k->model));
    memcpy(k->uuid, d->uuid, sizeof(k->uuid));
    memcpy(k->bus, d->bus, sizeof(k->bus));
    memcpy(k->driver, d->driver, sizeof(k->driver));
    memcpy(k->source, d->source, sizeof(k->source));
    size_t n = 0;
    if (*k->uuid)
        k->attribute[n++] = text_attribute("uuid", k->uuid);
    if (*k->bus)
        k->attribute[n++] = text_attribute("pci", k->bus);
    if (*k->driver)
        k->attribute[n++] = text_attribute("driver", k->driver);
    if (*k->source)
        k->attribute[n++] = text_attribute("source", k->source);
    k->e->attribute = k->attribute;
    k->e->n_attributes = n;
    k->e->info_version++;
}

static struct gpu_known *known(struct gpu_tables *t, const struct gpu_reading *r, uint32_t i, uint32_t *ids)
{
    const struct gpu_device *d = &r->device[i];
    struct gpu_known *k = &t->device[i];
    if (k->e && strcmp(k->e->name, d->name) == 0)
        return k;
    if (k->e) /* another helper process found others: those of before have no values any more */
        return NULL;
    k->e = entity_add(&t->devices, ids, d->name, d->model);
    if (!k->e)
        return NULL;
    if (d->parent != GPU_NONE && t->device[d->parent].e)
        k->e->owner = (struct baro_entity_owner){.kind = BARO_OWNER_ENTITY, .id = t->device[d->parent].e->id};
    k->slot = d->slot;
    describe(k, d);
    return k;
}

static uint64_t more_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void say_state(struct gpu_known *k, const struct gpu_device *d, gpu_say *say, void *context)
{
    char line[256];
    uint64_t xids = d->absent[GPU_xid_errors] ? 0 : k->e->value[GPU_xid_errors];
    if (d->state != k->state && (d->state == GPU_LOST || d->state == GPU_NEEDS_RESET)) {
        snprintf(line, sizeof(line), "GPU lost: %s (%s): %s", d->name, d->model,
                 d->state == GPU_LOST ? "the driver says that it is not on the bus any more" : "it needs a reset");
        say(context, line, 0);
    }
    if (d->state == GPU_FINE && (k->state == GPU_LOST || k->state == GPU_NEEDS_RESET)) {
        snprintf(line, sizeof(line), "GPU back: %s (%s): its counters begin anew", d->name, d->model);
        say(context, line, 0);
    }
    if (xids > k->xids) {
        snprintf(line, sizeof(line), "%s (%s): Xid error %llu", d->name, d->model,
                 (unsigned long long)d->value[GPU_xid_last]);
        say(context, line, d->value[GPU_xid_last]);
    }
    k->state = d->state;
    k->xids = xids;
}

static bool is_of_job(int metric)
{
    return metric == GPU_memory_job || metric == GPU_memory_job_peak || metric == GPU_busy_job ||
           metric == GPU_processes_job;
}

/* The value of a metric that is not from the processes. */
static uint64_t device_value(const struct gpu_tables *t, struct gpu_known *k, const struct gpu_device *d, int m,
                             uint64_t start_ns, bool restarts)
{
    uint64_t v = d->value[m];
    if (baro_metric_get(KIND_gpu, m)->semantics == BARO_SEM_COUNTER)
        return counted(&k->base[m], &k->last[m], v, restarts);
    switch (m) {
    case GPU_memory_used_peak: /* of the readings of this recording, where the helper had others before */
        v = t->is_late ? more_of(k->memory_peak, d->value[GPU_memory_used]) : v;
        return k->e->absent[m] ? v : more_of(v, k->e->value[m]);
    case GPU_busy_peak: return more_of(v, k->busy_peak);
    case GPU_power_peak: return more_of(v, k->power_peak);
    case GPU_energy_estimated: return v || k->has_energy_gap;
    case GPU_read_at: return since(start_ns, v);
    default: return v;
    }
}

static void take_device(const struct gpu_tables *t, struct gpu_known *k, const struct gpu_device *d, uint64_t start_ns,
                        bool restarts, bool late)
{
    struct baro_entity *e = k->e;
    if (strcmp(k->uuid, d->uuid) != 0 && *d->uuid)
        describe(k, d);
    k->has_energy_gap |= restarts;
    for (int m = 0; m < GPU_MAX; m++) {
        int absent = t->is_alone && is_of_job(m) ? BARO_ABSENT_NOT_ASKED : d->absent[m];
        if (late && baro_metric_get(KIND_gpu, m)->semantics == BARO_SEM_COUNTER)
            begin_at(&k->base[m], d->value[m]);
        bool of_processes = m >= GPU_memory_job && m <= GPU_processes_others;
        uint64_t v = of_processes ? 0 : device_value(t, k, d, m, start_ns, restarts);
        if (m == GPU_xid_last && !absent && t->is_late && !e->value[GPU_xid_errors]) /* it was before */
            absent = BARO_ABSENT_NOT_YET;
        if (m == GPU_memory_job_peak) /* it is kept */
            e->absent[m] = (uint8_t)absent;
        else if (absent)
            entity_lack(e, m, (enum baro_absent)absent);
        else
            entity_put(e, m, v);
    }
    k->busy_peak = k->power_peak = k->memory_peak = 0;
    memset(k->unknown, 0, sizeof(k->unknown));
}

static void pass_peak(const struct gpu_device *d, int metric, uint64_t *most)
{
    if (!d->absent[metric])
        *most = more_of(*most, d->value[metric]);
}

void gpu_tables_pass(struct gpu_tables *t, const struct gpu_reading *r)
{
    for (uint32_t i = 0; i < r->n_devices && i < GPU_DEVICES_MOST; i++) {
        struct gpu_known *k = &t->device[i];
        const struct gpu_device *d = &r->device[i];
        if (!k->e || strncmp(k->e->name, d->name, sizeof(d->name)) != 0)
            continue;
        pass_peak(d, GPU_busy_peak, &k->busy_peak);
        pass_peak(d, GPU_power_peak, &k->power_peak);
        pass_peak(d, GPU_memory_used, &k->memory_peak);
    }
    for (uint32_t i = 0; i < r->n_meters && i < GPU_METERS_MOST; i++)
        t->meter[i].lacked |= r->meter[i].absent[ENERGY_energy] != BARO_PRESENT;
}

/* ---- meters ---- */

static void take_meter(struct gpu_tables *t, const struct gpu_meter *m, uint32_t i, uint64_t start_ns, bool restarts,
                       bool late, uint32_t *ids)
{
    struct gpu_known_meter *k = &t->meter[i];
    /* no helper process counted what was used between the two */
    bool lacks_some = k->e && (restarts || k->lacked);
    if (!k->e)
        k->e = entity_add(&t->meters, ids, m->name, "");
    if (!k->e || strcmp(k->e->name, m->name) != 0)
        return;
    if (late) {
        begin_at(&k->base, m->value[ENERGY_energy]);
        begin_at(&k->wraps_base, m->value[ENERGY_wraps]);
    }
    for (int id = 0; id < ENERGY_MAX; id++) {
        uint64_t v = m->value[id];
        if (id == ENERGY_energy)
            v = counted(&k->base, &k->last, v, restarts);
        else if (id == ENERGY_wraps)
            v = counted(&k->wraps_base, &k->wraps_last, v, restarts);
        bool has_gap = lacks_some && id == ENERGY_energy && !m->absent[id];
        if (m->absent[id] || has_gap)
            entity_lack(k->e, id, has_gap ? BARO_ABSENT_UNKNOWN : (enum baro_absent)m->absent[id]);
        else
            entity_put(k->e, id, id == ENERGY_read_at ? since(start_ns, v) : v);
    }
    k->lacked = false;
}

static void lack(struct gpu_known *k, enum baro_absent why)
{
    for (int m = 0; m < GPU_MAX; m++) {
        if (m != GPU_memory_used_peak && m != GPU_memory_job_peak && m != GPU_read_at)
            entity_lack(k->e, m, why);
    }
}

/* Those that another helper process found and this one did not: their last values are no values of now. */
static void lack_others(struct gpu_tables *t, const struct gpu_reading *r)
{
    for (uint32_t i = 0; i < GPU_DEVICES_MOST; i++) {
        struct gpu_known *k = &t->device[i];
        if (k->e && (i >= r->n_devices || strcmp(k->e->name, r->device[i].name) != 0))
            lack(k, BARO_ABSENT_GONE);
    }
}

void gpu_tables_take(struct gpu_tables *t, struct gpu_reading *r, uint64_t start_ns, uint32_t *entity_ids,
                     gpu_is_member *is_member, gpu_say *say, void *context)
{
    bool restarts = t->epoch && r->epoch != t->epoch, late = t->is_late && !t->epoch;
    make_valid(r);
    t->epoch = r->epoch;
    t->read_ns = since(start_ns, r->read_ns);
    for (uint32_t i = 0; i < r->n_devices; i++) {
        struct gpu_known *k = known(t, r, i, entity_ids);
        if (!k)
            continue;
        take_device(t, k, &r->device[i], start_ns, restarts, late);
        say_state(k, &r->device[i], say, context);
    }
    lack_others(t, r);
    gpu_owners_take(t, r, &(struct gpu_take){start_ns, restarts, late, entity_ids, is_member, context});
    for (uint32_t i = 0; i < r->n_meters; i++)
        take_meter(t, &r->meter[i], i, start_ns, restarts, late, entity_ids);
}

void gpu_tables_lack(struct gpu_tables *t, uint32_t slot, enum baro_absent why)
{
    for (size_t i = 0; i < t->devices.n; i++) {
        struct gpu_known *k = &t->device[i];
        if (k->e && (slot == UINT32_MAX || k->slot == slot))
            lack(k, why);
    }
}

const char *gpu_tables_name(const struct gpu_tables *t, uint32_t slot)
{
    for (size_t i = 0; i < GPU_DEVICES_MOST; i++) {
        if (t->device[i].e && t->device[i].slot == slot)
            return t->device[i].e->name;
    }
    return NULL;
}
