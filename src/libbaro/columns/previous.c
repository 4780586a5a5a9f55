/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of previous rows, and what a row has only in comparison with one: cores, derived metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/last.h"
#include "libbaro/columns/columns.h"

#define OLD_NS 7200000000000ull /* a process that had no row for two hours is forgotten when room is needed */
#define ID_JOB UINT32_MAX       /* ids of the tape are numbered from 1 on and do not reach these */
#define ID_HOST (UINT32_MAX - 1)

struct baro_previous {
    struct last_table cpu;
    uint64_t t_ns, before_ns; /* of the rows now, and of those before; before_ns: UINT64_MAX if there were none */
    int process_cpu, job_cpu, cgroup_cpu, task_cpu; /* ids of metrics */
    struct baro_sample *kept;                       /* whose rows came before; NULL: there were none */
    struct last_table place;                        /* where each process or entity stands in it, by id */
};

static int find(enum baro_kind kind, const char *stem)
{
    return baro_metric_find(kind, stem, strlen(stem));
}

int baro_previous_new(struct baro_previous **ret)
{
    struct baro_previous *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->t_ns = m->before_ns = UINT64_MAX;
    m->process_cpu = find(BARO_KIND_PROCESS, "cpu");
    m->job_cpu = find(BARO_KIND_JOB, "cpu");
    m->cgroup_cpu = find(BARO_KIND_CGROUP, "cpu");
    m->task_cpu = find(BARO_KIND_TASK, "cpu");
    *ret = m;
    return 0;
}

void baro_previous_free(struct baro_previous *m)
{
    if (!m)
        return;
    last_done(&m->cpu);
    last_done(&m->place);
    baro_sample_free(m->kept);
    free(m);
}

/* ---- cores ---- */

static void begin(struct baro_previous *m, uint64_t t_ns)
{
    if (m->t_ns == t_ns)
        return;
    m->before_ns = m->t_ns;
    m->t_ns = t_ns;
}

/* Whose CPU time it is. */
struct who {
    uint32_t id;
    uint32_t cpus;    /* that it can use at once; 0: not known */
    bool began_since; /* it began since the rows before: it had used nothing then, and its first row has a rate, too */
};

/* Growth of CPU time since the previous row, in cores. Example: 1.50 s at +2.0 s and 1.75 s at +2.5 s are 0.5 cores. */
static int rate(struct baro_previous *m, uint64_t t_ns, struct who who, uint64_t cpu, double *ret)
{
    bool added;
    struct last *b = last_get(&m->cpu, who.id, t_ns > OLD_NS ? t_ns - OLD_NS : 0, &added);
    if (!b)
        return BARO_ABSENT_NOT_YET;
    const bool is_new = added && who.began_since;
    const struct last before = is_new ? (struct last){who.id, m->before_ns, 0} : *b;
    *b = (struct last){who.id, t_ns, cpu};
    if (added && !is_new)
        return BARO_ABSENT_NOT_YET;
    if (t_ns <= before.t_ns || cpu < before.value)
        return BARO_ABSENT_UNKNOWN;
    *ret = (double)(cpu - before.value) * 1e9 / (double)(t_ns - before.t_ns) / 1e9;
    /* A value is read a moment after the sample's instant: over very short intervals that is too much. */
    if (who.cpus && *ret > who.cpus)
        *ret = who.cpus;
    return BARO_PRESENT;
}

static uint32_t cpus_of(const struct baro_header *header)
{
    return header ? baro_header_cpus(header) : 0;
}

int baro_previous_process(struct baro_previous *m, const struct baro_header *header, uint64_t t_ns,
                          const struct baro_process *p, double *ret)
{
    uint64_t cpu;
    begin(m, t_ns);
    int absent = baro_process_value(p, m->process_cpu, &cpu);
    if (absent != BARO_PRESENT)
        return absent;
    const struct last *known = last_find(&m->cpu, baro_process_id(p));
    bool began_since = !known && m->before_ns != UINT64_MAX && baro_process_began_after(header, p, m->before_ns);
    return rate(m, t_ns, (struct who){baro_process_id(p), cpus_of(header), began_since}, cpu, ret);
}

int baro_previous_entity(struct baro_previous *m, const struct baro_header *header, uint64_t t_ns,
                         const struct baro_entity *e, double *ret)
{
    const int kind = baro_entity_kind(e);
    uint64_t cpu;
    int absent = BARO_ABSENT_UNSUPPORTED;
    begin(m, t_ns);
    if (kind == BARO_KIND_CPU)
        absent = baro_cpu_busy_ns(e, &cpu);
    else if (kind == BARO_KIND_CGROUP)
        absent = baro_entity_value(e, m->cgroup_cpu, &cpu);
    else if (kind == BARO_KIND_TASK)
        absent = baro_entity_value(e, m->task_cpu, &cpu);
    if (absent != BARO_PRESENT)
        return absent;
    const uint32_t cpus = kind == BARO_KIND_CPU ? 1 : cpus_of(header);
    return rate(m, t_ns, (struct who){baro_entity_id(e), cpus, false}, cpu, ret);
}

int baro_previous_sample(struct baro_previous *m, const struct baro_header *header, uint64_t t_ns,
                         const struct baro_sample *s, int kind, double *ret)
{
    uint64_t cpu;
    int absent = BARO_ABSENT_UNSUPPORTED;
    begin(m, t_ns);
    if (kind == BARO_KIND_JOB)
        absent = baro_sample_job(s, m->job_cpu, &cpu);
    else if (kind == BARO_KIND_HOST)
        absent = baro_host_busy_ns(s, &cpu);
    if (absent != BARO_PRESENT)
        return absent;
    const uint32_t id = kind == BARO_KIND_JOB ? ID_JOB : ID_HOST;
    return rate(m, t_ns, (struct who){id, cpus_of(header), false}, cpu, ret);
}

/* ---- the previous sample ---- */

static int put_place(struct baro_previous *m, uint32_t id, size_t i, uint64_t t_ns)
{
    bool added;
    struct last *place = last_get(&m->place, id, t_ns, &added);
    if (!place)
        return -ENOMEM;
    *place = (struct last){id, t_ns, i};
    return 0;
}

int baro_previous_keep(struct baro_previous *m, const struct baro_sample *s, int kind)
{
    struct baro_sample *copy;
    uint64_t t_ns = baro_sample_t_ns(s);
    int code = baro_sample_copy(s, &copy, NULL);
    if (code < 0)
        return code;
    baro_sample_free(m->kept);
    m->kept = copy;
    if (kind == BARO_KIND_PROCESS) {
        for (size_t i = 0; i < baro_sample_count(copy) && code == 0; i++)
            code = put_place(m, baro_process_id(baro_sample_process(copy, i)), i, t_ns);
    } else {
        for (size_t i = 0; i < baro_sample_entity_count(copy, kind) && code == 0; i++)
            code = put_place(m, baro_entity_id(baro_sample_entity(copy, kind, i)), i, t_ns);
    }
    return code;
}

const struct baro_sample *baro_previous_kept(const struct baro_previous *m)
{
    return m->kept;
}

/* A place is that of the previous sample, or of an older one if the process or entity was not in that one. */
static bool place_of(const struct baro_previous *m, uint32_t id, size_t *ret)
{
    const struct last *place = m->kept ? last_find(&m->place, id) : NULL;
    if (!place || place->t_ns != baro_sample_t_ns(m->kept))
        return false;
    *ret = (size_t)place->value;
    return true;
}

const struct baro_process *baro_previous_kept_process(const struct baro_previous *m, const struct baro_process *p)
{
    size_t i;
    return place_of(m, baro_process_id(p), &i) ? baro_sample_process(m->kept, i) : NULL;
}

const struct baro_entity *baro_previous_kept_entity(const struct baro_previous *m, const struct baro_entity *e)
{
    size_t i;
    return place_of(m, baro_entity_id(e), &i) ? baro_sample_entity(m->kept, baro_entity_kind(e), i) : NULL;
}
