/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use GPUs: whose they are, and what the job, others and those that can't be found have of a device. */
#include "base/array.h"
#include "recorder/collectors/gpu/gpu_known.h"

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

void gpu_owners_take(struct gpu_tables *t, struct gpu_reading *r, const struct gpu_take *how)
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
