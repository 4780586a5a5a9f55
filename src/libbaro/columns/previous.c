/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the previous rows, and computes from them the values that need two rows: cores, derived metrics. */
#include <errno.h>
#include <stdlib.h>

#include "base/growth.h"
#include "base/last_value.h"
#include "libbaro/columns/columns.h"
#include "libbaro/sample/row.h"
#include "libbaro/sample/sample.h"

#define OLD_NS 7200000000000ull /* a process that had no row for two hours is forgotten when room is needed */
#define ID_JOB UINT32_MAX       /* ids of the tape are numbered from 1 on and do not reach these */
#define ID_HOST (UINT32_MAX - 1)

struct baro_previous {
    struct last_table cpu;
    uint64_t t_ns, before_ns; /* time of the present rows, and of those before: UINT64_MAX if none */
    int process_cpu, job_cpu, cgroup_cpu, task_cpu; /* ids of metrics */
    struct baro_sample *kept;                       /* the sample with the previous rows; NULL: there is none */
    struct last_table place;                        /* by id: the place of each process or entity in `kept` */
};

static int find_stem(enum baro_kind kind, const char *stem)
{
    return baro_metric_find(kind, stem);
}

int baro_previous_new(struct baro_previous **ret)
{
    struct baro_previous *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->t_ns = m->before_ns = UINT64_MAX;
    m->process_cpu = find_stem(BARO_KIND_PROCESS, "cpu");
    m->job_cpu = find_stem(BARO_KIND_JOB, "cpu");
    m->cgroup_cpu = find_stem(BARO_KIND_CGROUP, "cpu");
    m->task_cpu = find_stem(BARO_KIND_TASK, "cpu");
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

static void begin_sample(struct baro_previous *m, uint64_t t_ns)
{
    if (m->t_ns == t_ns)
        return;
    m->before_ns = m->t_ns;
    m->t_ns = t_ns;
}

/* The process, entity, job or machine that used the CPU time. */
struct who {
    uint32_t id;
    uint32_t cpus;    /* cores that it can use at once; 0: not known */
    bool began_since; /* it began since the previous rows, when it had used nothing: even its first row has a rate */
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
    uint64_t growth;
    if (t_ns <= before.t_ns || !growth_between(before.value, cpu, &growth))
        return BARO_ABSENT_UNKNOWN;
    *ret = (double)growth * 1e9 / (double)(t_ns - before.t_ns) / 1e9;
    /* A value is read a moment after the instant of its sample, so over a very short interval the rate may be too
     * high. */
    if (who.cpus && *ret > who.cpus)
        *ret = who.cpus;
    return BARO_PRESENT;
}

static uint32_t cpus_of(const struct baro_header *header)
{
    return header ? baro_header_cpus(header) : 0;
}

/* Reads the CPU time of a row. */
static enum baro_absent row_cpu(const struct baro_previous *m, const struct baro_row *row, uint64_t *ret)
{
    switch (baro_row_kind(row)) {
    case BARO_KIND_PROCESS: return baro_row_value(row, m->process_cpu, ret);
    case BARO_KIND_JOB: return baro_row_value(row, m->job_cpu, ret);
    case BARO_KIND_CGROUP: return baro_row_value(row, m->cgroup_cpu, ret);
    case BARO_KIND_TASK: return baro_row_value(row, m->task_cpu, ret);
    default: return baro_row_busy_ns(row, ret);
    }
}

/* How many cores the process, or the only process of a job, can use at once: as many as it has threads. The kernel
 * counts in steps of up to 10 ms, so over 10 ms one thread may seem to use 1.25 cores. */
static uint32_t threads_of(const struct baro_row *row, uint32_t cpus)
{
    const struct baro_sample *s = baro_row_kind(row) == BARO_KIND_JOB ? row_sample(row) : NULL;
    const struct baro_process *p = s ? s->n == 1 ? s->processes[0] : NULL : row_process(row);
    bool is_known = p && p->absent[PROCESS_threads] == BARO_PRESENT && p->value[PROCESS_threads];
    return is_known && (!cpus || p->value[PROCESS_threads] < cpus) ? (uint32_t)p->value[PROCESS_threads] : cpus;
}

enum baro_absent baro_previous_cores(struct baro_previous *m, const struct baro_header *header, uint64_t t_ns,
                                     const struct baro_row *row, double *ret)
{
    const int kind = baro_row_kind(row);
    struct who who = {baro_row_id(row), kind == BARO_KIND_CPU ? 1 : cpus_of(header), false};
    uint64_t cpu;
    begin_sample(m, t_ns);
    if ((kind == BARO_KIND_JOB || kind == BARO_KIND_PROCESS) && t_ns - m->before_ns < GROWTH_SHORT_NS)
        who.cpus = threads_of(row, who.cpus);
    enum baro_absent absent = row_cpu(m, row, &cpu);
    if (absent != BARO_PRESENT)
        return absent;
    if (kind == BARO_KIND_JOB || kind == BARO_KIND_HOST)
        who.id = kind == BARO_KIND_JOB ? ID_JOB : ID_HOST;
    else if (kind == BARO_KIND_PROCESS && !last_find(&m->cpu, who.id))
        who.began_since = m->before_ns != UINT64_MAX && baro_row_began_after(header, row, m->before_ns);
    return (enum baro_absent)rate(m, t_ns, who, cpu, ret);
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
    const size_t n = baro_sample_rows(copy, kind);
    for (size_t i = 0; i < n && code == 0; i++) {
        uint32_t id = baro_row_id(baro_sample_row(copy, kind, i));
        if (id)
            code = put_place(m, id, i, t_ns);
    }
    return code;
}

const struct baro_sample *baro_previous_kept(const struct baro_previous *m)
{
    return m->kept;
}

/* Finds the place of a process or entity in the kept sample. A recorded place may be that of an older sample, if the
 * process or entity was not in the kept one. */
static bool previous_place(const struct baro_previous *m, uint32_t id, size_t *ret)
{
    const struct last *place = m->kept ? last_find(&m->place, id) : NULL;
    if (!place || place->t_ns != baro_sample_t_ns(m->kept))
        return false;
    *ret = (size_t)place->value;
    return true;
}

const struct baro_row *baro_previous_row(const struct baro_previous *m, const struct baro_row *row)
{
    size_t i = 0;
    bool is_single = baro_row_id(row) == 0;
    if (!m->kept || (!is_single && !previous_place(m, baro_row_id(row), &i)))
        return NULL;
    return baro_sample_row(m->kept, baro_row_kind(row), i);
}
