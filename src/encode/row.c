/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fmt.h"
#include "derive/derive.h"
#include "derive/last.h"

/* ---- rates: what the row before said ---- */

#define OLD_NS 7200000000000ull /* a process that had no row for two hours is forgotten when room is needed */

struct row_memory {
    struct last_table cpu; /* the job is UINT32_MAX, the host one less */
};

struct row_memory *row_memory_new(void)
{
    return calloc(1, sizeof(struct row_memory));
}

void row_memory_free(struct row_memory *m)
{
    if (m)
        last_done(&m->cpu);
    free(m);
}

/* What a row is told apart by, and its CPU time. */
static int cpu_of(const struct row *r, uint32_t *ret_id, uint64_t *ret)
{
    *ret_id = r->process              ? r->process->id
              : r->machine            ? r->machine->id
              : r->entity == ROW_HOST ? UINT32_MAX - 1
                                      : UINT32_MAX;
    switch (r->entity) {
    case ROW_PROCESS:
        return baro_process_value(r->process, PROCESS_cpu, ret);
    case ROW_JOB:
        return baro_sample_job(r->sample, JOB_cpu, ret);
    case ROW_HOST:
        return derive_host_busy(r->sample, ret);
    case ROW_CPU:
        return derive_cpu_busy(r->machine, ret);
    case ROW_CGROUP:
        return baro_entity_value(r->machine, CGROUP_cpu, ret);
    default:
        return BARO_ABSENT_UNSUPPORTED;
    }
}

static void rate(struct row *r, uint32_t id, uint64_t cpu)
{
    bool added;
    struct last *b = last_get(&r->memory->cpu, id, r->t_ns > OLD_NS ? r->t_ns - OLD_NS : 0, &added);
    if (!b)
        return;
    if (!added) {
        r->cores_absent = derive_rate(b->t_ns, b->value, r->t_ns, cpu, &r->cores);
        r->cores /= 1e9;
        /* A value is read a moment after the sample's instant: over very short intervals that is too much. */
        uint32_t cpus = r->entity == ROW_CPU ? 1 : r->header ? r->header->cpus : 0;
        if (cpus && r->cores > cpus)
            r->cores = cpus;
    }
    *b = (struct last){id, r->t_ns, cpu};
}

void row_begin(struct row *r)
{
    uint64_t cpu;
    r->cores = 0;
    r->cores_absent = BARO_ABSENT_NOT_YET;
    if (!r->memory)
        return;
    uint32_t id;
    r->cores_absent = cpu_of(r, &id, &cpu);
    if (r->cores_absent != BARO_PRESENT)
        return;
    r->cores_absent = BARO_ABSENT_NOT_YET;
    rate(r, id, cpu);
}

/* ---- cells ---- */

static void put_absent(struct cell *c, int reason)
{
    c->kind = CELL_ABSENT;
    c->absent = reason;
}

static void put_u64(struct cell *c, uint64_t v)
{
    c->kind = CELL_U64;
    c->u64 = v;
}

static void put_text(struct cell *c, const char *text)
{
    c->kind = CELL_TEXT;
    c->text = text;
    c->len = strlen(text);
}

static void put_time(struct cell *c, const struct row *r)
{
    struct buf b = {0};
    /* unsigned: a damaged header may hold anything */
    fmt_time_utc(&b, (int64_t)((uint64_t)r->header->start_realtime_ns + r->t_ns));
    size_t n = b.failed ? 0 : b.len < sizeof(c->room) ? b.len : sizeof(c->room);
    memcpy(c->room, b.at ? b.at : (const unsigned char *)"", n);
    buf_done(&b);
    c->kind = CELL_TEXT;
    c->text = c->room;
    c->len = n;
}

static void put_user(struct cell *c, const struct row *r, uint32_t uid)
{
    const char *name = uid != UINT32_MAX && r->user ? r->user(r->user_context, uid) : NULL;
    if (uid == UINT32_MAX) {
        put_absent(c, BARO_ABSENT_UNKNOWN);
    } else if (name) {
        put_text(c, name);
    } else {
        snprintf(c->room, sizeof(c->room), "%u", uid);
        put_text(c, c->room);
    }
}

/* A stored value in the form in which its unit is shown. */
static void put_value(struct cell *c, enum baro_unit unit, int absent, uint64_t v)
{
    if (absent != BARO_PRESENT) {
        put_absent(c, absent);
        return;
    }
    switch (unit) {
    case BARO_UNIT_CHAR:
        c->room[0] = (char)v;
        c->room[1] = 0;
        put_text(c, c->room);
        break;
    case BARO_UNIT_SIGNED:
        c->kind = CELL_I64;
        c->i64 = (int64_t)v;
        break;
    case BARO_UNIT_RATIO:
    case BARO_UNIT_DECIMAL:
        c->kind = CELL_REAL;
        c->real = (double)v / 1e6;
        break;
    case BARO_UNIT_CELSIUS:
        c->kind = CELL_REAL;
        c->real = (double)(int64_t)v / 1e3;
        break;
    default:
        put_u64(c, v);
    }
}

static void put_metric(struct cell *cell, const struct row *r, const struct column *c)
{
    uint64_t v = 0;
    int absent = BARO_ABSENT_UNSUPPORTED;
    if (c->kind == COLUMN_SUM) {
        struct derive_sum sum = derive_sum(r->sample, (enum process_metric)c->metric);
        v = sum.value;
        absent = sum.absent;
    } else if (r->entity == ROW_PROCESS) {
        absent = baro_process_value(r->process, c->metric, &v);
    } else if (r->entity == ROW_JOB) {
        absent = baro_sample_job(r->sample, c->metric, &v);
    } else if (r->entity == ROW_EXIT) {
        absent = baro_exit_value(r->exit, c->metric, &v);
    } else if (r->entity == ROW_HOST) {
        absent = baro_sample_host(r->sample, c->metric, &v);
    } else if (r->machine) {
        absent = baro_entity_value(r->machine, c->metric, &v);
    }
    put_value(cell, c->describes->unit, absent, v);
}

static void put_exit(struct cell *cell, const struct row *r, enum column_kind kind)
{
    int status, absent = baro_exit_status(r->exit, &status);
    if (absent != BARO_PRESENT) {
        put_absent(cell, absent);
    } else if (WIFSIGNALED(status) != (kind == COLUMN_SIGNAL)) {
        put_text(cell, ""); /* it ended the other way */
        cell->kind = CELL_ABSENT;
        cell->absent = BARO_PRESENT;
    } else {
        put_u64(cell, (uint64_t)(kind == COLUMN_SIGNAL ? WTERMSIG(status) : WEXITSTATUS(status)));
    }
}

static struct baro_key key_of(const struct row *r)
{
    return r->process ? r->process->key : r->exit ? r->exit->key : r->event->key;
}

static void put_who(struct cell *cell, const struct row *r, enum column_kind kind)
{
    struct baro_key key = key_of(r);
    uint32_t uid = r->process ? r->process->uid : r->exit ? r->exit->uid : UINT32_MAX;
    if (kind == COLUMN_PID && key.pid)
        put_u64(cell, (uint64_t)key.pid);
    else if (kind == COLUMN_START && key.start)
        put_u64(cell, key.start);
    else if (kind == COLUMN_PPID)
        put_u64(cell, (uint64_t)(r->process ? r->process->parent.pid : r->exit->parent.pid));
    else if (kind == COLUMN_USER)
        put_user(cell, r, uid);
    else if (kind == COLUMN_UID && uid != UINT32_MAX)
        put_u64(cell, uid);
    else
        put_absent(cell, BARO_ABSENT_UNKNOWN);
}

static void put_words(struct cell *cell, const struct row *r, enum column_kind kind)
{
    const char *line = r->process ? r->process->cmdline : r->exit ? r->exit->cmdline : NULL;
    if (r->machine)
        put_text(cell, kind == COLUMN_NAME ? baro_entity_name(r->machine) : baro_entity_label(r->machine));
    else if (kind == COLUMN_NAME)
        put_text(cell, r->process ? baro_process_name(r->process) : baro_exit_name(r->exit));
    else if (line)
        put_text(cell, line);
    else
        put_absent(cell, r->process && r->process->cmdline_absent ? r->process->cmdline_absent : BARO_ABSENT_UNKNOWN);
}

static void put_flag(struct cell *cell, bool v)
{
    cell->kind = CELL_BOOL;
    cell->u64 = v;
}

void row_cell(const struct row *r, const struct column *c, struct cell *ret)
{
    ret->kind = CELL_ABSENT;
    ret->absent = BARO_ABSENT_UNKNOWN;
    switch (c->kind) {
    case COLUMN_TIME:
        put_time(ret, r);
        break;
    case COLUMN_T:
        put_u64(ret, r->t_ns);
        break;
    case COLUMN_PID:
    case COLUMN_START:
    case COLUMN_PPID:
    case COLUMN_UID:
    case COLUMN_USER:
        put_who(ret, r, c->kind);
        break;
    case COLUMN_NAME:
    case COLUMN_LABEL:
    case COLUMN_CMDLINE:
        put_words(ret, r, c->kind);
        break;
    case COLUMN_AGE:
        put_u64(ret, r->t_ns > r->process->read_ns ? r->t_ns - r->process->read_ns : 0);
        break;
    case COLUMN_CORES:
        ret->kind = r->cores_absent == BARO_PRESENT ? CELL_REAL : CELL_ABSENT;
        ret->absent = r->cores_absent;
        ret->real = r->cores;
        break;
    case COLUMN_ID:
        put_u64(ret, baro_entity_id(r->machine));
        break;
    case COLUMN_LOSSY:
        put_flag(ret, r->sample->lossy);
        break;
    case COLUMN_STATUS:
    case COLUMN_SIGNAL:
        put_exit(ret, r, c->kind);
        break;
    case COLUMN_SOURCE:
        put_text(ret, baro_exit_source_name(r->exit->source));
        break;
    case COLUMN_ORIGIN:
        put_text(ret, baro_origin_name(r->process ? r->process->origin : r->exit->origin));
        break;
    case COLUMN_SAMPLED:
        put_flag(ret, r->exit->sampled);
        break;
    case COLUMN_EVENT:
        put_text(ret, baro_event_name(r->event));
        break;
    case COLUMN_NUMBER:
        put_u64(ret, baro_event_number(r->event));
        break;
    case COLUMN_TEXT:
        put_text(ret, baro_event_text(r->event));
        break;
    case COLUMN_METRIC:
    case COLUMN_SUM:
        put_metric(ret, r, c);
        break;
    }
}
