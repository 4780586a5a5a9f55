/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a tape in segments. Where a recorder begins again, after an observer was killed or the machine was
 * started again, it counts from 0. A cursor joins the parts, so that readers see one recording: times count from the
 * beginning of the first part, ids go on, counters of the job are sums, peaks are maxima. Example: the first part ends
 * at 60 s with 5 s of CPU time; the next one begins 70 s after the first, and its sample at 3 s has 1 s: the cursor
 * delivers a sample at 73 s with 6 s. What the job used between 60 s and 70 s is missing, unless the job is a control
 * group: the header of each part has what the kernel had counted for the group when the part began.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "libbaro/metric/ids.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/tail.h"

#define IDS_BETWEEN 65536u /* ids that the recorder may have used since its last sample */

static const enum job_metric job_bounds[] = {
    JOB_io_is_lower_bound,  JOB_tcp_is_lower_bound,      JOB_net_is_lower_bound,
    JOB_cpu_is_lower_bound, JOB_counts_are_lower_bounds, JOB_process_rss_peak_is_lower_bound,
};

static bool is_peak(enum baro_kind kind, int id)
{
    return kind == BARO_KIND_JOB ? id == JOB_process_rss_peak || id == JOB_processes_peak
                                 : id == RECORDER_rss_peak || id == RECORDER_others_rss_peak;
}

static void add(enum baro_kind kind, const uint64_t *before, uint64_t *value, const uint8_t *absent)
{
    int n = baro_metric_count(kind);
    for (int i = 0; i < n; i++) {
        if (absent[i] != BARO_PRESENT)
            continue;
        if (baro_metric_get(kind, i)->semantics == BARO_SEM_COUNTER)
            value[i] += before[i];
        else if (is_peak(kind, i) && value[i] < before[i])
            value[i] = before[i];
    }
}

void series_join(const struct series_part *p, struct baro_sample *s)
{
    uint64_t *value = s->job;
    const uint8_t *absent = s->job_absent;
    add(BARO_KIND_JOB, p->job, value, absent);
    add(BARO_KIND_RECORDER, p->self, s->self, s->self_absent);
    for (size_t i = 0; !p->is_machine && i < sizeof(job_bounds) / sizeof(*job_bounds); i++) {
        if (absent[job_bounds[i]] == BARO_PRESENT && !(job_bounds[i] == JOB_cpu_is_lower_bound && p->cpu_is_whole))
            value[job_bounds[i]] = 1;
    }
}

/* ---- the edge between two parts ---- */

/* Returns how many processes of the last sample of a part are in the first one of the next. They count once. */
static uint64_t count_again(const struct baro_sample *last, const struct baro_sample *first)
{
    uint64_t n = 0;
    struct baro_key *keys = last->n ? malloc(last->n * sizeof(*keys)) : NULL;
    for (size_t i = 0; keys && i < last->n; i++)
        keys[i] = last->processes[i]->key;
    if (keys)
        qsort(keys, last->n, sizeof(*keys), compare_i32);
    for (size_t i = 0; keys && i < first->n; i++) {
        const struct baro_key *key = bsearch(&first->processes[i]->key, keys, last->n, sizeof(*keys), compare_i32);
        n += key && baro_key_equal(*key, first->processes[i]->key);
    }
    free(keys);
    return n;
}

static void add_last(struct series_part *p, const struct baro_sample *last, const struct baro_sample *first, bool again)
{
    uint64_t job[JOB_MAX], self[RECORDER_MAX], both = again && first ? count_again(last, first) : 0;
    memcpy(job, last->job, sizeof(job));
    memcpy(self, last->self, sizeof(self));
    add(BARO_KIND_JOB, p->job, job, last->job_absent);
    add(BARO_KIND_RECORDER, p->self, self, last->self_absent);
    for (int i = 0; i < JOB_MAX; i++)
        p->job[i] = last->job_absent[i] ? p->job[i] : job[i];
    for (int i = 0; i < RECORDER_MAX; i++)
        p->self[i] = last->self_absent[i] ? p->self[i] : self[i];
    p->job[JOB_processes_started] -= both < p->job[JOB_processes_started] ? both : p->job[JOB_processes_started];
    p->job[JOB_processes_ended] = p->job[JOB_processes_started]; /* of those that the next part does not have again */
    uint32_t id = p->id_base + (uint32_t)last->job[JOB_processes_started];
    for (size_t i = 0; i < last->n; i++)
        id = p->id_base + last->processes[i]->id > id ? p->id_base + last->processes[i]->id : id;
    p->id_base = id + IDS_BETWEEN;
}

/* What the kernel counted for the group between the beginnings of the first part and of this one. */
static void take_group(struct series_part *p, const struct baro_header *first, const struct baro_header *h)
{
    p->is_machine = strcmp(h->cgroup_mode, "machine") == 0; /* its figures are those of the stretches on the tape */
    bool counts = strcmp(first->cgroup_mode, "target") == 0 && strcmp(h->cgroup_mode, "target") == 0 &&
                  strcmp(first->boot_id, h->boot_id) == 0;
    p->cpu_is_whole =
        counts && h->group_user_ns >= first->group_user_ns && h->group_system_ns >= first->group_system_ns;
    if (!p->cpu_is_whole)
        return;
    p->job[JOB_cpu_user] = h->group_user_ns - first->group_user_ns;
    p->job[JOB_cpu_system] = h->group_system_ns - first->group_system_ns;
    p->job[JOB_cpu] = p->job[JOB_cpu_user] + p->job[JOB_cpu_system];
}

/* How long after the first part a part begins. The wall clock alone goes on when the machine is started again. */
static uint64_t begins_after(const struct baro_header *first, const struct baro_header *h)
{
    bool same_boot = strcmp(first->boot_id, h->boot_id) == 0;
    int64_t after = same_boot ? (int64_t)(h->start_boottime_ns - first->start_boottime_ns)
                              : (int64_t)((uint64_t)h->start_realtime_ns - (uint64_t)first->start_realtime_ns);
    return after > 0 ? (uint64_t)after : 0;
}

/* ---- the list of parts ---- */

/* Copies the first or the last sample of a segment. Returns NULL if it has none. */
static struct baro_sample *sample_of(const struct baro_tape *t, size_t i, bool last)
{
    struct baro_tape *tape;
    struct baro_record r;
    struct baro_sample *found = NULL, *copy;
    if (segment_open(t, i, &tape) < 0)
        return NULL;
    for (unsigned n = 0; !found && n < 3; n++) {
        n = last ? n : 2;
        if ((n < 2 ? tape_seek_tail(tape, n, NULL) : baro_tape_rewind(tape, NULL)) < 0)
            break;
        while (!(found && !last) && baro_tape_next(tape, &r, NULL) > 0) {
            if (r.kind != BARO_RECORD_SAMPLE || baro_sample_copy(r.u.sample, &copy, NULL) < 0)
                continue;
            baro_sample_free(found);
            found = copy;
        }
    }
    baro_tape_close(tape);
    return found;
}

static struct series_part *append(struct tape_segments *s, const struct series_part *p)
{
    if (array_reserve(&s->parts, s->n_parts + 1, &s->cap_parts, sizeof(*s->parts)) < 0)
        return NULL;
    s->parts[s->n_parts] = *p;
    return &s->parts[s->n_parts++];
}

static int add_part(struct baro_tape *t, size_t i, const struct baro_header *h)
{
    struct tape_segments *s = t->segments;
    struct series_part p = s->parts[s->n_parts - 1];
    struct baro_sample *last = NULL, *first = sample_of(t, i, false);
    bool same_boot = strcmp(p.boot_id, h->boot_id) == 0;
    for (size_t k = i; !last && k-- > 0 && s->list.at[k].number >= p.first;)
        last = sample_of(t, k, true);
    uint64_t least = p.shift_ns + (last ? last->t_ns : 0);
    p.first = s->list.at[i].number;
    p.shift_ns = begins_after(&t->header, h) > least ? begins_after(&t->header, h) : least;
    p.start_monotonic_ns = h->start_monotonic_ns;
    p.start_realtime_ns = h->start_realtime_ns;
    memcpy(p.boot_id, h->boot_id, sizeof(p.boot_id));
    if (last)
        add_last(&p, last, first, same_boot);
    take_group(&p, &t->header, h);
    baro_sample_free(last);
    baro_sample_free(first);
    return append(s, &p) ? 0 : -ENOMEM;
}

static bool is_of(const struct series_part *p, const struct baro_header *h)
{
    return p->start_monotonic_ns == h->start_monotonic_ns && p->start_realtime_ns == h->start_realtime_ns &&
           strcmp(p->boot_id, h->boot_id) == 0;
}

int series_begin(struct baro_tape *t)
{
    struct tape_segments *s = t->segments;
    const struct baro_header *h = &t->header;
    struct series_part p = {.first = s->list.at[s->current].number,
                            .start_monotonic_ns = h->start_monotonic_ns,
                            .start_realtime_ns = h->start_realtime_ns};
    memcpy(p.boot_id, h->boot_id, sizeof(p.boot_id));
    s->n_seen = s->current + 1;
    return append(s, &p) ? 0 : -ENOMEM;
}

/* Notes the parts up to segment i. */
static int find_parts(struct baro_tape *t, size_t i)
{
    struct tape_segments *s = t->segments;
    int code = 0;
    for (; code == 0 && s->n_seen <= i; s->n_seen++) {
        struct baro_tape *other;
        if (segment_open(t, s->n_seen, &other) < 0)
            continue; /* it was removed, or it is damaged */
        if (!is_of(&s->parts[s->n_parts - 1], &other->header))
            code = add_part(t, s->n_seen, &other->header);
        baro_tape_close(other);
    }
    return code;
}

int series_find(struct baro_tape *t, size_t i, const struct baro_header *h, size_t *ret)
{
    const struct tape_segments *s = t->segments;
    int code = is_of(&s->parts[0], h) ? 0 : find_parts(t, i);
    *ret = 0;
    for (size_t k = 0; k < s->n_parts && s->parts[k].first <= s->list.at[i].number; k++)
        *ret = k;
    return code;
}

bool series_is_current(const struct baro_tape *t, const struct baro_header *h)
{
    return is_of(&t->segments->parts[t->segments->part], h);
}

void series_done(struct tape_segments *s)
{
    free(s->parts);
}

const struct series_part *series_part(const struct baro_tape *t)
{
    return t->segments && t->segments->part ? &t->segments->parts[t->segments->part] : NULL;
}

void series_shift(const struct baro_tape *t, int id, uint64_t *value, const uint8_t *absent, bool back)
{
    const struct series_part *p = series_part(t);
    if (p && absent[id] == BARO_PRESENT)
        value[id] += back ? 0 - p->shift_ns : p->shift_ns;
}
