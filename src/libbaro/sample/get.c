/* SPDX-License-Identifier: Apache-2.0 */
/* What readers ask of samples and exits. include/baro/sample.h has the rules. */
#include <string.h>

#include "libbaro/sample/sample.h"

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

/* The same for several metrics. */
static size_t values_of(const uint64_t *value, const uint8_t *absent, int own, const struct baro_extra *extra,
                        const int *metrics, size_t n, uint64_t *ret_value, uint8_t *ret_absent)
{
    size_t present = 0;
    for (size_t i = 0; i < n; i++) {
        int metric = metrics[i];
        ret_value[i] = 0;
        if (metric >= 0 && metric < own) { /* nearly always */
            ret_absent[i] = absent[metric];
            if (absent[metric] == BARO_PRESENT)
                ret_value[i] = value[metric];
        } else {
            ret_absent[i] = (uint8_t)value_of(value, absent, own, extra, metric, &ret_value[i]);
        }
        present += ret_absent[i] == BARO_PRESENT;
    }
    return present;
}

uint64_t baro_sample_t_ns(const struct baro_sample *s)
{
    return s->t_ns;
}

bool baro_sample_lossy(const struct baro_sample *s)
{
    return s->lossy;
}

size_t baro_sample_count(const struct baro_sample *s)
{
    return s->n;
}

const struct baro_process *baro_sample_process(const struct baro_sample *s, size_t i)
{
    return i < s->n ? s->processes[i] : NULL;
}

const struct baro_process *baro_sample_find(const struct baro_sample *s, int32_t pid, uint64_t start_ticks)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct baro_process *p = s->processes[i];
        if (p->key.pid == pid && (!start_ticks || p->key.start == start_ticks))
            return p;
    }
    return NULL;
}

const struct baro_process *baro_sample_find_id(const struct baro_sample *s, uint32_t id)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->processes[i]->id == id)
            return s->processes[i];
    }
    return NULL;
}

size_t baro_sample_next_changed(const struct baro_sample *s, size_t i)
{
    for (uint64_t word; s->moved && i < s->n; i = (i | 63) + 1) {
        word = s->moved[i / 64] >> i % 64;
        if (!word)
            continue;
        i += (size_t)__builtin_ctzll(word);
        break;
    }
    return i < s->n ? i : s->n;
}

int baro_sample_job(const struct baro_sample *s, int metric, uint64_t *ret)
{
    return value_of(s->job, s->job_absent, JOB_MAX, s->job_extra, metric, ret);
}

int baro_sample_recorder(const struct baro_sample *s, int metric, uint64_t *ret)
{
    return value_of(s->self, s->self_absent, RECORDER_MAX, s->self_extra, metric, ret);
}

/* Control groups, which are read together with the machine, may have been read without it. Example: a task of `baro
 * observe`, whose machine is on a tape of its own: then host_ns is the time of the groups, and no value is present. */
int baro_sample_host_ns(const struct baro_sample *s, uint64_t *ret)
{
    if (!s->has_host || !memchr(s->host_absent, BARO_PRESENT, sizeof(s->host_absent)))
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

const struct baro_entities *sample_entities(const struct baro_sample *s, int kind)
{
    if (kind >= 0 && kind < KIND_COUNT)
        return &s->entities[kind];
    return kind >= 0 && (size_t)kind - KIND_COUNT < s->n_declared ? &s->declared[kind - KIND_COUNT]->rows : NULL;
}

int baro_sample_entities_ns(const struct baro_sample *s, int kind, uint64_t *ret)
{
    const struct baro_entities *e = sample_entities(s, kind);
    bool of_machine = kind >= BARO_KIND_CPU && kind <= BARO_KIND_CGROUP;
    if (of_machine ? !s->has_host : !e || !e->read_ns)
        return BARO_ABSENT_UNKNOWN;
    *ret = of_machine ? s->host_ns : e->read_ns;
    return BARO_PRESENT;
}

size_t baro_sample_entity_count(const struct baro_sample *s, int kind)
{
    const struct baro_entities *e = sample_entities(s, kind);
    return e ? e->n : 0;
}

const struct baro_entity *baro_sample_entity(const struct baro_sample *s, int kind, size_t i)
{
    return i < baro_sample_entity_count(s, kind) ? sample_entities(s, kind)->at[i] : NULL;
}

uint32_t baro_entity_id(const struct baro_entity *e)
{
    return e->id;
}

int baro_entity_kind(const struct baro_entity *e)
{
    return e->kind;
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
    return value_of(e->value, e->absent, entity_values(e), e->extra, metric, ret);
}

size_t baro_entity_values(const struct baro_entity *e, const int *metrics, size_t n, uint64_t *ret_value,
                          uint8_t *ret_absent)
{
    return values_of(e->value, e->absent, entity_values(e), e->extra, metrics, n, ret_value, ret_absent);
}

/* A column says it where the entities of a kind are read at different times. */
int baro_entity_read_ns(const struct baro_entity *e, uint64_t *ret)
{
    int column = metric_time(e->kind);
    if (column >= 0)
        return baro_entity_value(e, column, ret);
    *ret = e->read_ns;
    return BARO_PRESENT;
}

enum baro_owner baro_entity_owner(const struct baro_entity *e)
{
    return e->owner.kind;
}

int32_t baro_entity_owner_pid(const struct baro_entity *e)
{
    return e->owner.process.pid;
}

uint64_t baro_entity_owner_start_ticks(const struct baro_entity *e)
{
    return e->owner.process.start;
}

uint32_t baro_entity_owner_id(const struct baro_entity *e)
{
    return e->owner.id;
}

size_t baro_entity_attribute_count(const struct baro_entity *e)
{
    return e->n_attributes;
}

int baro_entity_attribute(const struct baro_entity *e, size_t i, struct baro_attribute *ret)
{
    if (i >= e->n_attributes)
        return BARO_E_RANGE;
    *ret = e->attribute[i];
    return 0;
}

int baro_entity_attribute_find(const struct baro_entity *e, const char *name, struct baro_attribute *ret)
{
    for (size_t i = 0; i < e->n_attributes; i++) {
        if (strcmp(e->attribute[i].name, name) == 0)
            return baro_entity_attribute(e, i, ret);
    }
    return BARO_E_RANGE;
}

uint32_t baro_process_id(const struct baro_process *p)
{
    return p->id;
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

uint64_t baro_process_parent_start_ticks(const struct baro_process *p)
{
    return p->parent.start;
}

enum baro_origin baro_process_origin(const struct baro_process *p)
{
    return p->origin;
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

int baro_process_cmdline_absent(const struct baro_process *p)
{
    return p->cmdline ? BARO_PRESENT : p->cmdline_absent ? p->cmdline_absent : BARO_ABSENT_UNKNOWN;
}

uint64_t baro_process_first_ns(const struct baro_process *p)
{
    return p->first_ns;
}

uint64_t baro_process_read_ns(const struct baro_process *p)
{
    return p->read_ns;
}

int baro_process_smaps_ns(const struct baro_process *p, uint64_t *ret)
{
    return baro_process_value(p, PROCESS_smaps_at, ret);
}

int baro_process_value(const struct baro_process *p, int metric, uint64_t *ret)
{
    return value_of(p->value, p->absent, PROCESS_MAX, p->extra, metric, ret);
}

size_t baro_process_values(const struct baro_process *p, const int *metrics, size_t n, uint64_t *ret_value,
                           uint8_t *ret_absent)
{
    return values_of(p->value, p->absent, PROCESS_MAX, p->extra, metrics, n, ret_value, ret_absent);
}

uint64_t baro_exit_t_ns(const struct baro_exit *e)
{
    return e->t_ns;
}

uint32_t baro_exit_id(const struct baro_exit *e)
{
    return e->id;
}

int32_t baro_exit_pid(const struct baro_exit *e)
{
    return e->key.pid;
}

uint64_t baro_exit_start_ticks(const struct baro_exit *e)
{
    return e->key.start;
}

int32_t baro_exit_ppid(const struct baro_exit *e)
{
    return e->parent.pid;
}

uint64_t baro_exit_parent_start_ticks(const struct baro_exit *e)
{
    return e->parent.start;
}

uint32_t baro_exit_uid(const struct baro_exit *e)
{
    return e->uid;
}

enum baro_origin baro_exit_origin(const struct baro_exit *e)
{
    return e->origin;
}

enum baro_exit_source baro_exit_source_of(const struct baro_exit *e)
{
    return e->source;
}

bool baro_exit_sampled(const struct baro_exit *e)
{
    return e->sampled;
}

const char *baro_exit_cmdline(const struct baro_exit *e)
{
    return e->cmdline;
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

size_t baro_exit_values(const struct baro_exit *e, const int *metrics, size_t n, uint64_t *ret_value,
                        uint8_t *ret_absent)
{
    return values_of(e->value, e->absent, EXIT_MAX, e->extra, metrics, n, ret_value, ret_absent);
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
