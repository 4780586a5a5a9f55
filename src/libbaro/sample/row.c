/* SPDX-License-Identifier: Apache-2.0 */
/* How readers query rows. include/baro/row.h has the rules. */
#include "libbaro/sample/row.h"

#include <string.h>

/* Where the values of a row are. */
struct values {
    const uint64_t *value;
    const uint8_t *absent;
    int own; /* number of values, without those in extra */
    const struct baro_extra *extra;
};

static struct values values_at(const struct baro_row *row)
{
    const struct baro_sample *s = row_sample(row);
    const struct baro_process *p = row_at(row);
    const struct baro_entity *e = row_at(row);
    const struct baro_exit *x = row_at(row);
    switch (row_of(row)) {
    case ROW_PROCESS: return p ? (struct values){p->value, p->absent, PROCESS_MAX, p->extra} : (struct values){0};
    case ROW_ENTITY: return (struct values){e->value, e->absent, entity_values(e), e->extra};
    case ROW_EXIT: return (struct values){x->value, x->absent, EXIT_MAX, x->extra};
    case ROW_JOB: return (struct values){s->job, s->job_absent, JOB_MAX, s->job_extra};
    case ROW_RECORDER: return (struct values){s->self, s->self_absent, RECORDER_MAX, s->self_extra};
    case ROW_HOST: return (struct values){s->host, s->host_absent, HOST_MAX, s->host_extra};
    default: return (struct values){0};
    }
}

static enum baro_absent stored_value(const struct values *v, int metric, uint64_t *ret)
{
    const uint64_t *value = v->value;
    const uint8_t *absent = v->absent;
    if (metric >= v->own && v->extra && (size_t)(metric - v->own) < v->extra->n) {
        value = v->extra->value;
        absent = v->extra->absent;
        metric -= v->own;
    } else if (metric < 0 || metric >= v->own) {
        return metric < 0 && value ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_UNKNOWN;
    }
    if (absent[metric] == BARO_PRESENT)
        *ret = value[metric];
    return (enum baro_absent)absent[metric];
}

int baro_row_kind(const struct baro_row *row)
{
    switch (row_of(row)) {
    case ROW_PROCESS: return row ? BARO_KIND_PROCESS : -1;
    case ROW_ENTITY: return row_entity(row)->kind;
    case ROW_EXIT: return BARO_KIND_EXIT;
    case ROW_JOB: return BARO_KIND_JOB;
    case ROW_RECORDER: return BARO_KIND_RECORDER;
    case ROW_HOST: return BARO_KIND_HOST;
    default: return -1;
    }
}

enum baro_absent baro_row_value(const struct baro_row *row, int metric, uint64_t *ret)
{
    const struct values v = values_at(row);
    return stored_value(&v, metric, ret);
}

size_t baro_row_values(const struct baro_row *row, const int *metrics, size_t n, uint64_t *ret_value,
                       uint8_t *ret_absent)
{
    const struct values v = values_at(row);
    size_t present = 0;
    for (size_t i = 0; i < n; i++) {
        int metric = metrics[i];
        ret_value[i] = 0;
        if (metric >= 0 && metric < v.own) { /* nearly always */
            ret_absent[i] = v.absent[metric];
            if (v.absent[metric] == BARO_PRESENT)
                ret_value[i] = v.value[metric];
        } else {
            ret_absent[i] = (uint8_t)stored_value(&v, metric, &ret_value[i]);
        }
        present += ret_absent[i] == BARO_PRESENT;
    }
    return present;
}

const struct baro_metric *row_metric(const struct baro_row *row, int metric)
{
    const struct baro_entity *e = row_entity(row);
    if (!e || e->kind < KIND_COUNT)
        return baro_metric_get(baro_row_kind(row), metric);
    return e->metric && metric >= 0 && (size_t)metric < e->n_values ? e->metric[metric] : NULL;
}

enum baro_absent baro_row_read_ns(const struct baro_row *row, uint64_t *ret)
{
    const struct baro_entity *e = row_entity(row);
    if (!row)
        return BARO_ABSENT_UNKNOWN;
    if (row_sample(row))
        return baro_sample_read_ns(row_sample(row), baro_row_kind(row), ret);
    if (e && metric_time(e->kind) >= 0) /* entities read at different times have a column with the time */
        return baro_row_value(row, metric_time(e->kind), ret);
    *ret = e ? e->read_ns : row_exit(row) ? row_exit(row)->t_ns : row_process(row)->read_ns;
    return BARO_PRESENT;
}

uint32_t baro_row_id(const struct baro_row *row)
{
    const struct baro_process *p = row_process(row);
    const struct baro_entity *e = row_entity(row);
    const struct baro_exit *x = row_exit(row);
    return p ? p->id : e ? e->id : x ? x->id : 0;
}

const char *baro_row_name(const struct baro_row *row)
{
    const struct baro_process *p = row_process(row);
    const struct baro_entity *e = row_entity(row);
    const struct baro_exit *x = row_exit(row);
    const char *name = p ? p->name : e ? e->name : x ? x->name : NULL;
    return name ? name : "";
}

/* ---- processes and exits ---- */

static const struct baro_key *process_key(const struct baro_row *row)
{
    static const struct baro_key none;
    const struct baro_process *p = row_process(row);
    const struct baro_exit *x = row_exit(row);
    return p ? &p->key : x ? &x->key : &none;
}

static const struct baro_key *parent_of(const struct baro_row *row)
{
    static const struct baro_key none;
    const struct baro_process *p = row_process(row);
    const struct baro_exit *x = row_exit(row);
    return p ? &p->parent : x ? &x->parent : &none;
}

int32_t baro_row_pid(const struct baro_row *row)
{
    return process_key(row)->pid;
}

uint64_t baro_row_start_ticks(const struct baro_row *row)
{
    return process_key(row)->start;
}

int32_t baro_row_ppid(const struct baro_row *row)
{
    return parent_of(row)->pid;
}

uint64_t baro_row_parent_start_ticks(const struct baro_row *row)
{
    return parent_of(row)->start;
}

uint32_t baro_row_uid(const struct baro_row *row)
{
    const struct baro_process *p = row_process(row);
    const struct baro_exit *x = row_exit(row);
    return p ? p->uid : x ? x->uid : UINT32_MAX;
}

/* A property that rows of this kind do not have. */
static enum baro_absent lacks(const struct baro_row *row)
{
    return row ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_UNKNOWN;
}

enum baro_absent baro_row_origin(const struct baro_row *row, enum baro_origin *ret)
{
    const struct baro_process *p = row_process(row);
    const struct baro_exit *x = row_exit(row);
    if (!p && !x)
        return lacks(row);
    *ret = p ? p->origin : x->origin;
    return BARO_PRESENT;
}

enum baro_absent baro_row_cmdline(const struct baro_row *row, const char **ret)
{
    const struct baro_process *p = row_process(row);
    const struct baro_exit *x = row_exit(row);
    const char *line = p ? p->cmdline : x ? x->cmdline : NULL;
    if (!p && !x)
        return lacks(row);
    if (!line)
        return p && p->cmdline_absent ? (enum baro_absent)p->cmdline_absent : BARO_ABSENT_UNKNOWN;
    *ret = line;
    return BARO_PRESENT;
}

enum baro_absent baro_row_first_ns(const struct baro_row *row, uint64_t *ret)
{
    const struct baro_process *p = row_process(row);
    if (!p)
        return lacks(row);
    *ret = p->first_ns;
    return BARO_PRESENT;
}

/* ---- exits ---- */

enum baro_absent baro_row_end_ns(const struct baro_row *row, uint64_t *ret)
{
    const struct baro_exit *x = row_exit(row);
    if (!x)
        return lacks(row);
    *ret = x->t_ns;
    return BARO_PRESENT;
}

enum baro_absent baro_row_status(const struct baro_row *row, int *ret)
{
    const struct baro_exit *x = row_exit(row);
    if (!x || !x->status_known)
        return x ? BARO_ABSENT_UNKNOWN : lacks(row);
    *ret = x->status;
    return BARO_PRESENT;
}

enum baro_absent baro_row_exit_source(const struct baro_row *row, enum baro_exit_source *ret)
{
    const struct baro_exit *x = row_exit(row);
    if (!x)
        return lacks(row);
    *ret = x->source;
    return BARO_PRESENT;
}

enum baro_absent baro_row_is_sampled(const struct baro_row *row, bool *ret)
{
    const struct baro_exit *x = row_exit(row);
    if (!x)
        return lacks(row);
    *ret = x->sampled;
    return BARO_PRESENT;
}

/* ---- entities ---- */

const char *baro_row_label(const struct baro_row *row)
{
    const struct baro_entity *e = row_entity(row);
    return e && e->label ? e->label : "";
}

enum baro_owner baro_row_owner(const struct baro_row *row)
{
    const struct baro_entity *e = row_entity(row);
    return e ? e->owner.kind : BARO_OWNER_NONE;
}

int32_t baro_row_owner_pid(const struct baro_row *row)
{
    const struct baro_entity *e = row_entity(row);
    return e ? e->owner.process.pid : 0;
}

uint64_t baro_row_owner_start_ticks(const struct baro_row *row)
{
    const struct baro_entity *e = row_entity(row);
    return e ? e->owner.process.start : 0;
}

uint32_t baro_row_owner_id(const struct baro_row *row)
{
    const struct baro_entity *e = row_entity(row);
    return e ? e->owner.id : 0;
}

size_t baro_row_attribute_count(const struct baro_row *row)
{
    const struct baro_entity *e = row_entity(row);
    return e ? e->n_attributes : 0;
}

int baro_row_attribute(const struct baro_row *row, size_t i, struct baro_attribute *ret)
{
    if (i >= baro_row_attribute_count(row))
        return BARO_E_RANGE;
    *ret = row_entity(row)->attribute[i];
    return 0;
}

int baro_row_attribute_find(const struct baro_row *row, const char *name, struct baro_attribute *ret)
{
    for (size_t i = 0; i < baro_row_attribute_count(row); i++) {
        if (strcmp(row_entity(row)->attribute[i].name, name) == 0)
            return baro_row_attribute(row, i, ret);
    }
    return BARO_E_RANGE;
}

const char *baro_origin_name(enum baro_origin origin)
{
    static const char *const names[ORIGIN_COUNT] = {
        [BARO_ORIGIN_TARGET] = "target",
        [BARO_ORIGIN_EVENT] = "event",
        [BARO_ORIGIN_SCAN] = "scan",
        [BARO_ORIGIN_ADOPTED] = "adopted",
    };
    return (unsigned)origin < ORIGIN_COUNT ? names[origin] : "unknown";
}

const char *baro_exit_source_name(enum baro_exit_source source)
{
    static const char *const names[EXIT_SOURCE_COUNT] = {
        [BARO_EXIT_LAST_SAMPLE] = "last_sample", [BARO_EXIT_EVENT] = "event",   [BARO_EXIT_PERF] = "perf",
        [BARO_EXIT_TASKSTATS] = "taskstats",     [BARO_EXIT_ZOMBIE] = "zombie", [BARO_EXIT_WAIT4] = "wait4",
    };
    return (unsigned)source < EXIT_SOURCE_COUNT ? names[source] : "unknown";
}
