/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of previous rows, and what a row has only in comparison with one: cores, derived metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/last.h"
#include "output/rows/row.h"

/* ---- rates ---- */

#define OLD_NS 7200000000000ull /* a process that had no row for two hours is forgotten when room is needed */
#define ID_JOB UINT32_MAX       /* ids of the tape are numbered from 1 on and do not reach these */
#define ID_HOST (UINT32_MAX - 1)

struct row_memory {
    struct last_table cpu;
    uint64_t t_ns, before_ns; /* of the rows now, and of those before; before_ns: UINT64_MAX if there were none */
    int process_cpu, job_cpu, cgroup_cpu, task_cpu; /* ids of metrics */
    struct baro_sample *before;                     /* whose rows came before; NULL: there were none */
    struct last_table place;                        /* where each process or entity stands in it, by id */
};

static int find(enum baro_kind kind, const char *stem)
{
    return baro_metric_find(kind, stem, strlen(stem));
}

struct row_memory *row_memory_new(void)
{
    struct row_memory *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->t_ns = m->before_ns = UINT64_MAX;
    m->process_cpu = find(BARO_KIND_PROCESS, "cpu");
    m->job_cpu = find(BARO_KIND_JOB, "cpu");
    m->cgroup_cpu = find(BARO_KIND_CGROUP, "cpu");
    m->task_cpu = find(BARO_KIND_TASK, "cpu");
    return m;
}

void row_memory_free(struct row_memory *m)
{
    if (!m)
        return;
    last_done(&m->cpu);
    last_done(&m->place);
    baro_sample_free(m->before);
    free(m);
}

/* The CPU time of a row, and the id under which it is remembered. */
static int cpu_of(const struct row *r, uint32_t *ret_id, uint64_t *ret)
{
    switch (r->kind) {
    case BARO_KIND_PROCESS:
        *ret_id = baro_process_id(r->process);
        return baro_process_value(r->process, r->memory->process_cpu, ret);
    case BARO_KIND_JOB: *ret_id = ID_JOB; return baro_sample_job(r->sample, r->memory->job_cpu, ret);
    case BARO_KIND_HOST: *ret_id = ID_HOST; return baro_host_busy_ns(r->sample, ret);
    case BARO_KIND_CPU: *ret_id = baro_entity_id(r->entity); return baro_cpu_busy_ns(r->entity, ret);
    case BARO_KIND_CGROUP:
        *ret_id = baro_entity_id(r->entity);
        return baro_entity_value(r->entity, r->memory->cgroup_cpu, ret);
    case BARO_KIND_TASK:
        *ret_id = baro_entity_id(r->entity);
        return baro_entity_value(r->entity, r->memory->task_cpu, ret);
    default: return BARO_ABSENT_UNSUPPORTED;
    }
}

/* A process that began since the rows before had used nothing then: its first row has a rate, too. */
static bool began_since(const struct row *r)
{
    return r->process && r->memory->before_ns != UINT64_MAX &&
           baro_process_began_after(r->header, r->process, r->memory->before_ns);
}

/* Growth of CPU time since the previous row, in cores. Example: 1.50 s at +2.0 s and 1.75 s at +2.5 s are 0.5 cores. */
static int rate(struct row *r, uint32_t id, uint64_t cpu)
{
    bool added;
    struct last *b = last_get(&r->memory->cpu, id, r->t_ns > OLD_NS ? r->t_ns - OLD_NS : 0, &added);
    if (!b)
        return BARO_ABSENT_NOT_YET;
    const bool is_new = added && began_since(r);
    const struct last before = is_new ? (struct last){id, r->memory->before_ns, 0} : *b;
    *b = (struct last){id, r->t_ns, cpu};
    if (added && !is_new)
        return BARO_ABSENT_NOT_YET;
    if (r->t_ns <= before.t_ns || cpu < before.value)
        return BARO_ABSENT_UNKNOWN;
    r->cores = (double)(cpu - before.value) * 1e9 / (double)(r->t_ns - before.t_ns) / 1e9;
    /* A value is read a moment after the sample's instant: over very short intervals that is too much. */
    uint32_t cpus = r->kind == BARO_KIND_CPU ? 1 : r->header ? baro_header_cpus(r->header) : 0;
    if (cpus && r->cores > cpus)
        r->cores = cpus;
    return BARO_PRESENT;
}

/* ---- the previous sample ---- */

static int put_place(struct row_memory *m, uint32_t id, size_t i, uint64_t t_ns)
{
    bool added;
    struct last *place = last_get(&m->place, id, t_ns, &added);
    if (!place)
        return -ENOMEM;
    *place = (struct last){id, t_ns, i};
    return 0;
}

int row_memory_keep(struct row_memory *m, const struct baro_sample *s, int kind)
{
    struct baro_sample *copy;
    uint64_t t_ns = baro_sample_t_ns(s);
    int code = baro_sample_copy(s, &copy, NULL);
    if (code < 0)
        return code;
    baro_sample_free(m->before);
    m->before = copy;
    if (kind == BARO_KIND_PROCESS) {
        for (size_t i = 0; i < baro_sample_count(copy) && code == 0; i++)
            code = put_place(m, baro_process_id(baro_sample_process(copy, i)), i, t_ns);
    } else {
        for (size_t i = 0; i < baro_sample_entity_count(copy, kind) && code == 0; i++)
            code = put_place(m, baro_entity_id(baro_sample_entity(copy, kind, i)), i, t_ns);
    }
    return code;
}

/* A place is that of the previous sample, or of an older one if the process or entity was not in that one. */
static bool place_of(const struct row_memory *m, uint32_t id, size_t *ret)
{
    const struct last *place = last_find(&m->place, id);
    if (!place || place->t_ns != baro_sample_t_ns(m->before))
        return false;
    *ret = (size_t)place->value;
    return true;
}

static void find_before(struct row *r)
{
    const struct row_memory *m = r->memory;
    size_t i;
    r->before = m->before;
    if (m->before && r->process && place_of(m, baro_process_id(r->process), &i))
        r->process_before = baro_sample_process(m->before, i);
    if (m->before && r->entity && place_of(m, baro_entity_id(r->entity), &i))
        r->entity_before = baro_sample_entity(m->before, r->kind, i);
}

int row_derived(const struct row *r, int derived, double *ret)
{
    if (r->kind == BARO_KIND_PROCESS)
        return r->process_before ? baro_process_derived(r->process_before, r->process, derived, ret)
                                 : BARO_ABSENT_NOT_YET;
    if (r->entity)
        return r->entity_before ? baro_entity_derived(r->before, r->entity_before, r->sample, r->entity, derived, ret)
                                : BARO_ABSENT_NOT_YET;
    return r->before ? baro_sample_derived(r->before, r->sample, r->kind, derived, ret) : BARO_ABSENT_NOT_YET;
}

void row_begin(struct row *r)
{
    uint64_t cpu;
    uint32_t id;
    r->cores = 0;
    r->cores_absent = BARO_ABSENT_NOT_YET;
    r->before = NULL;
    r->process_before = NULL;
    r->entity_before = NULL;
    if (!r->memory)
        return;
    if (r->memory->t_ns != r->t_ns) {
        r->memory->before_ns = r->memory->t_ns;
        r->memory->t_ns = r->t_ns;
    }
    find_before(r);
    r->cores_absent = cpu_of(r, &id, &cpu);
    if (r->cores_absent == BARO_PRESENT)
        r->cores_absent = rate(r, id, cpu);
}
