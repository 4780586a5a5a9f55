/* SPDX-License-Identifier: Apache-2.0 */
/* What readers ask of a cursor and of what it delivers. */
#include "tape/cursor.h"

bool baro_tape_complete(const struct baro_tape *t)
{
    return t->complete;
}

uint64_t baro_tape_damage(const struct baro_tape *t)
{
    return t->damage;
}

const struct baro_header *baro_tape_header(const struct baro_tape *t)
{
    return &t->header;
}

int baro_tape_metric_count(const struct baro_tape *t, enum baro_kind kind)
{
    if ((unsigned)kind >= BARO_KIND_MAX)
        return 0;
    return baro_metric_count(kind) + (int)t->schema.n_extra[kind];
}

const struct baro_metric *baro_tape_metric(const struct baro_tape *t, enum baro_kind kind, int id)
{
    int own = baro_metric_count(kind);
    if (id < own)
        return baro_metric_get(kind, id);
    return id < baro_tape_metric_count(t, kind) ? &t->schema.extra[kind][id - own] : NULL;
}

const char *const *baro_header_argv(const struct baro_header *h)
{
    static const char *const none[1];
    return h->argv ? (const char *const *)h->argv : none;
}

int64_t baro_header_start_realtime_ns(const struct baro_header *h)
{
    return h->start_realtime_ns;
}

const char *baro_header_host(const struct baro_header *h)
{
    return h->host;
}

const char *baro_header_kernel(const struct baro_header *h)
{
    return h->kernel;
}

uint32_t baro_header_cpus(const struct baro_header *h)
{
    return h->cpus;
}

const struct baro_limits *baro_tape_limits(const struct baro_tape *t)
{
    return &t->limits;
}

int baro_limits_memory_bytes(const struct baro_limits *l, uint64_t *ret, const char **ret_source)
{
    *ret = l->memory_bytes;
    *ret_source = l->memory_source;
    return l->memory_absent;
}

int baro_limits_cores_ppm(const struct baro_limits *l, uint64_t *ret, const char **ret_source)
{
    *ret = l->cores_ppm;
    *ret_source = l->cores_source;
    return l->cores_absent;
}

int baro_limits_pids(const struct baro_limits *l, uint64_t *ret, const char **ret_source)
{
    *ret = l->pids;
    *ret_source = l->pids_source;
    return l->pids_absent;
}

/* A value of this library's metrics, or of those that only the tape has. */
static int value_of(const uint64_t *value, const uint8_t *absent, int own, const struct baro_extra *extra, int metric,
                    uint64_t *ret)
{
    if (metric >= own && extra && (size_t)(metric - own) < extra->n) {
        value = extra->value;
        absent = extra->absent;
        metric -= own;
    } else if (metric < 0 || metric >= own) {
        return BARO_ABSENT_UNKNOWN;
    }
    if (absent[metric] == BARO_PRESENT)
        *ret = value[metric];
    return absent[metric];
}

size_t baro_sample_count(const struct baro_sample *s)
{
    return s->n;
}

const struct baro_process *baro_sample_process(const struct baro_sample *s, size_t i)
{
    return i < s->n ? s->processes[i] : NULL;
}

int baro_sample_job(const struct baro_sample *s, int metric, uint64_t *ret)
{
    return value_of(s->job, s->job_absent, JOB_MAX, s->job_extra, metric, ret);
}

int baro_sample_recorder(const struct baro_sample *s, int metric, uint64_t *ret)
{
    return value_of(s->self, s->self_absent, RECORDER_MAX, s->self_extra, metric, ret);
}

int baro_sample_host_ns(const struct baro_sample *s, uint64_t *ret)
{
    if (!s->has_host)
        return BARO_ABSENT_UNKNOWN;
    *ret = s->host_ns;
    return BARO_PRESENT;
}

int baro_sample_host(const struct baro_sample *s, int metric, uint64_t *ret)
{
    if (!s->has_host)
        return BARO_ABSENT_UNKNOWN;
    return value_of(s->host, s->host_absent, HOST_MAX, s->host_extra, metric, ret);
}

size_t baro_sample_entity_count(const struct baro_sample *s, enum baro_kind kind)
{
    return (unsigned)kind < BARO_KIND_MAX ? s->entities[kind].n : 0;
}

const struct baro_entity *baro_sample_entity(const struct baro_sample *s, enum baro_kind kind, size_t i)
{
    return i < baro_sample_entity_count(s, kind) ? s->entities[kind].at[i] : NULL;
}

uint32_t baro_entity_id(const struct baro_entity *e)
{
    return e->id;
}

const char *baro_entity_name(const struct baro_entity *e)
{
    return e->name ? e->name : "";
}

const char *baro_entity_label(const struct baro_entity *e)
{
    return e->label ? e->label : "";
}

int baro_entity_value(const struct baro_entity *e, int metric, uint64_t *ret)
{
    return value_of(e->value, e->absent, baro_metric_count(e->kind), e->extra, metric, ret);
}

int32_t baro_process_pid(const struct baro_process *p)
{
    return p->key.pid;
}

uint64_t baro_process_start_ticks(const struct baro_process *p)
{
    return p->key.start;
}

int32_t baro_process_ppid(const struct baro_process *p)
{
    return p->parent.pid;
}

uint32_t baro_process_uid(const struct baro_process *p)
{
    return p->uid;
}

const char *baro_process_name(const struct baro_process *p)
{
    return p->name ? p->name : "";
}

const char *baro_process_cmdline(const struct baro_process *p)
{
    return p->cmdline;
}

uint64_t baro_process_read_ns(const struct baro_process *p)
{
    return p->read_ns;
}

int baro_process_value(const struct baro_process *p, int metric, uint64_t *ret)
{
    return value_of(p->value, p->absent, PROCESS_MAX, p->extra, metric, ret);
}

int32_t baro_exit_pid(const struct baro_exit *e)
{
    return e->key.pid;
}

uint64_t baro_exit_start_ticks(const struct baro_exit *e)
{
    return e->key.start;
}

const char *baro_exit_name(const struct baro_exit *e)
{
    return e->name ? e->name : "";
}

int baro_exit_status(const struct baro_exit *e, int *ret)
{
    if (!e->status_known)
        return BARO_ABSENT_UNKNOWN;
    *ret = e->status;
    return 0;
}

int baro_exit_value(const struct baro_exit *e, int metric, uint64_t *ret)
{
    return value_of(e->value, e->absent, EXIT_MAX, e->extra, metric, ret);
}

const char *baro_event_name(const struct baro_event *e)
{
    return baro_event_kind_name(e->kind);
}

const char *baro_event_text(const struct baro_event *e)
{
    return e->text ? e->text : "";
}

uint64_t baro_event_number(const struct baro_event *e)
{
    return e->number;
}

int32_t baro_event_pid(const struct baro_event *e)
{
    return e->key.pid;
}
