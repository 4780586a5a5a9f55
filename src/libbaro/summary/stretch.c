/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of a recording that begins after the recording did. Its tape has all values as they were recorded, so what
 * was used in the stretch is what they have grown by since its first sample. Example: a job used 60 s of CPU time up to
 * 12:25, where the stretch begins, and 75 s up to its end: 15 s. Of that, a process with 50 s in the first sample has
 * 58 s in its exit: 8 s. The kernel's marks may be from before: one that has not risen since then counts as what
 * samples of the stretch have.
 */
#include "libbaro/summary/summary.h"

#include "base/min_max.h"

static struct summary_alive *base_of(struct summary_living *l, uint32_t id)
{
    return (struct summary_alive *)living_base(l, id);
}

static uint64_t less(uint64_t value, uint64_t before)
{
    return value > before ? value - before : 0;
}

static void take_counters(enum baro_kind kind, uint64_t *value, const uint8_t *absent, const uint64_t *before)
{
    for (int i = 0; i < baro_metric_count(kind); i++) {
        if (absent[i] == BARO_PRESENT && baro_metric_get(kind, i)->semantics == BARO_SEM_COUNTER)
            value[i] = less(value[i], before[i]);
    }
}

/* A mark that has not risen in the stretch may be from before: what samples have counts, as a lower bound. */
static void take_mark(struct summary_rows *rows, enum job_metric mark, enum job_metric is_bound, uint64_t sampled)
{
    if (rows->job_absent[mark] != BARO_PRESENT || rows->job[mark] > rows->job_before[mark])
        return;
    rows->job[mark] = sampled;
    rows->job[is_bound] = 1;
    rows->job_absent[is_bound] = BARO_PRESENT;
}

static void begin(struct baro_summary *s, const struct baro_sample *first)
{
    struct summary_rows *r = &s->rows;
    memcpy(r->job_before, first->job, sizeof(r->job_before));
    memcpy(r->self_before, first->self, sizeof(r->self_before));
    /* those that were there count among the processes of the stretch */
    r->job_before[JOB_processes_started] = less(r->job_before[JOB_processes_started], first->n);
    s->life.started = true;
    s->life.start_ns = first->t_ns;
    s->tasks.before_ns = first->t_ns;
    for (size_t i = 0; i < s->fold.tasks.n; i++) {
        for (int k = 0; k < TASK_MAX; k++)
            s->fold.tasks.at[i].cell[k].first = 0; /* only what grows counts */
    }
}

void stretch_take_rows(struct baro_summary *s, const struct baro_sample *sample)
{
    struct summary_rows *r = &s->rows;
    if (!s->extent.samples)
        begin(s, sample);
    take_counters(BARO_KIND_JOB, r->job, r->job_absent, r->job_before);
    take_counters(BARO_KIND_RECORDER, r->self, r->self_absent, r->self_before);
    r->processes_most = max_u64(r->processes_most, sample->n);
    take_mark(r, JOB_process_rss_peak, JOB_process_rss_peak_is_lower_bound, r->rss_most);
    take_mark(r, JOB_processes_peak, JOB_processes_peak_is_lower_bound, r->processes_most);
    r->job_absent[JOB_process_rss_most] = BARO_ABSENT_UNKNOWN;
}

void stretch_note_process(struct baro_summary *s, size_t i, const struct baro_process *p)
{
    struct summary_alive *base = base_of(&s->living, p->id), *now = &s->living.alive[i];
    uint64_t rss = p->absent[PROCESS_rss] == BARO_PRESENT ? p->value[PROCESS_rss] : 0;
    s->rows.rss_most = max_u64(s->rows.rss_most, rss);
    if (!base || i >= s->living.n_alive)
        return;
    base->rss_most = max_u64(base->rss_most, rss);
    if (now->value[COMMAND_RSS_PEAK] <= base->value[COMMAND_RSS_PEAK])
        now->value[COMMAND_RSS_PEAK] = base->rss_most;
    for (int k = COMMAND_TCP_SENT; k <= COMMAND_TCP_RECEIVED; k++) /* the others: living_count() */
        now->value[k] = less(now->value[k], base->value[k]);
}

/* An exit counts from the beginning of its process; that of a process which ran before the recording counts from
 * there on, so the last sample says what it used in the stretch. */
bool stretch_take_exit(struct baro_summary *s, const struct baro_exit *e, uint64_t value[COMMAND_MAX])
{
    const struct summary_living *l = &s->living;
    const struct summary_alive *base = living_base(l, e->id), *last = NULL;
    bool is_whole = e->absent[EXIT_elapsed] == BARO_PRESENT;
    if (!base)
        return false;
    for (size_t i = 0; !is_whole && !last && i < l->n_alive; i++)
        last = l->alive[i].id == e->id ? &l->alive[i] : NULL;
    for (int i = 0; i < COMMAND_MAX; i++) {
        if (i > COMMAND_RSS_PEAK && !is_whole)
            value[i] = last ? last->value[i] : 0;
        else if (i != COMMAND_RSS_PEAK)
            value[i] = less(is_whole ? value[i] : last ? last->value[i] : base->value[i], base->value[i]);
        else if (value[i] <= base->value[i])
            value[i] = base->rss_most;
    }
    return !is_whole;
}

void stretch_take_exec(struct baro_summary *s, const struct baro_event *e)
{
    struct summary_program *p = s->programs.n ? &s->programs.at[s->programs.n - 1] : NULL;
    for (size_t i = 0; p && p->key.pid == e->key.pid && i < s->living.n_base; i++) {
        if (baro_key_equal(s->living.base[i].key, e->key))
            p->cpu_ns = less(p->cpu_ns, s->living.base[i].value[COMMAND_CPU]);
    }
}
