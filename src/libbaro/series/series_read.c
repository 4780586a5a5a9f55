/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over a tape fills all curves of a series. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/growth.h"
#include "libbaro/interval/derive.h"
#include "libbaro/sample/sample.h"
#include "libbaro/series/series.h"

#define FORGET_NS (7200 * NS_PER_SEC)
#define BRIEF_IDS UINT32_C(0x80000000) /* processes are numbered from 1 on, and so are entities */
#define ENDED 0                        /* stands for the time of the last value: the process has ended */
#define ONE_ID 1u                      /* the id of a kind with one row: the job, the recorder, the machine */

/* ---- readings ---- */

/* Is the kind read at its own times? The machine and entities are. */
static bool has_own_time(int kind)
{
    return kind >= BARO_KIND_HOST;
}

/* Were they read since *read_ns? Updates it. */
static bool read_since(const struct baro_sample *sample, int kind, uint64_t *read_ns)
{
    uint64_t now_ns;
    if (baro_sample_read_ns(sample, kind, &now_ns) != BARO_PRESENT || now_ns == *read_ns)
        return false;
    *read_ns = now_ns;
    return true;
}

/* Sockets are read less often than the rest. Between two readings their counters are not known: if they counted as
 * unchanged, it would look as if nothing was sent. */
static bool is_of_sockets(const struct baro_series *s, const struct curve *c)
{
    const struct baro_metric *m =
        c->counter < 0 ? NULL : baro_tape_metric(s->tape, c->kind, s->counter[c->counter].metric);
    bool of_job = m && c->kind == BARO_KIND_JOB;
    return m && (of_job || c->kind == BARO_KIND_PROCESS) &&
           (strncmp(m->name, "tcp_", 4) == 0 || (of_job && strncmp(m->name, "net_", 4) == 0));
}

/* Sets *ret to the time of the reading. Returns false if there was none since the one before. */
static bool sockets_read_since(const struct baro_series *s, struct curve *c, const struct baro_sample *sample,
                               uint64_t *ret)
{
    int id = baro_tape_metric_find(s->tape, BARO_KIND_JOB, "tcp_read_at_ns");
    uint64_t now_ns;
    if (id < 0 || baro_row_value(baro_sample_row(sample, BARO_KIND_JOB, 0), id, &now_ns) != BARO_PRESENT)
        return true; /* an old tape, which lacks it */
    if (now_ns == c->read_ns)
        return false;
    c->read_ns = *ret = now_ns;
    return true;
}

/* The process or entity that a reading belongs to. */
struct who {
    uint32_t id, called; /* called: the number of the last name of a process */
    const char *name;    /* name of an entity */
};

static struct who who_of(const struct baro_series *s, const struct baro_row *row, bool needs_name)
{
    const struct baro_process *p = row_process(row);
    if (p)
        return (struct who){.id = p->id, .called = needs_name ? series_called(s, p->id) : 0, .name = ""};
    uint32_t id = baro_row_id(row);
    return (struct who){.id = id ? id : ONE_ID, .name = baro_row_name(row)};
}

static bool is_of(const struct curve *c, const struct who *who)
{
    if (c->id)
        return c->id == who->id;
    if (c->called)
        return c->called == who->called;
    return !c->name || strcmp(c->name, who->name) == 0;
}

/* Adds growth to the curves of a counter. It is negative if the counter fell: base/growth.h. A derived metric's counter
 * is the sum of several: only the first of them may not fall, and at the end their sum. */
static void take_growth(struct baro_series *s, const struct counter *counter, const struct who *who, double growth)
{
    for (size_t i = 0; i < counter->n_terms; i++) {
        const struct term *term = &counter->term[i];
        struct curve *c = &s->curve[term->curve];
        if (term->curve >= s->n_curves) /* there was no memory for it */
            continue;
        if (!is_of(c, who))
            continue;
        c->known = c->known || term->first;
        c->fell = c->fell || (c->has && term->first && growth < 0);
        if (c->has && term->per)
            c->per += growth;
        else if (c->has)
            c->value += growth;
    }
}

static double counter_growth(const struct counter *c, uint64_t before, uint64_t value)
{
    static const struct baro_metric real = {.unit = BARO_UNIT_REAL};
    uint64_t growth;
    if (c->real)
        return baro_metric_real(&real, value) - baro_metric_real(&real, before);
    return growth_between(before, value, &growth) ? (double)growth : -(double)(before - value);
}

/* Takes one reading of a counter. fresh: if it is the first reading, its value has grown from 0 since the previous
 * sample. */
static void read_counter(struct baro_series *s, int counter, const struct who *who, uint64_t t_ns, uint64_t value,
                         bool fresh)
{
    bool added;
    uint64_t old_ns = t_ns > FORGET_NS ? t_ns - FORGET_NS : ENDED + 1;
    struct last *l = last_get(&s->counter[counter].last, who->id, old_ns, &added);
    if (!l) {
        s->failed = true;
        return;
    }
    uint64_t before = added ? (fresh ? 0 : value) : l->value;
    take_growth(s, &s->counter[counter], who, counter_growth(&s->counter[counter], before, value));
    *l = (struct last){who->id, t_ns > ENDED ? t_ns : ENDED + 1, value};
}

/* Does all that was counted up to the first reading belong to the job? */
static bool is_fresh(const struct baro_series *s, const struct baro_row *row)
{
    const struct baro_header *h = baro_tape_header(s->tape);
    switch (baro_row_kind(row)) {
    case BARO_KIND_PROCESS:
        return s->begun ? baro_header_has_start(h) || baro_row_began_after(h, row, 0) : s->from_start;
    case BARO_KIND_TASK: return s->begun || s->from_begin;
    case BARO_KIND_JOB:
    case BARO_KIND_RECORDER: return s->from_start;
    default: return false;
    }
}

/* Returns the first row from i on that may have changed. */
static size_t next_row(const struct baro_sample *sample, int kind, size_t i)
{
    return kind == BARO_KIND_PROCESS ? baro_sample_next_changed(sample, i) : i;
}

static void read_counters(struct baro_series *s, const struct baro_sample *sample)
{
    for (int k = 0; k < (int)s->n_counters; k++) {
        struct counter *c = &s->counter[k];
        if (has_own_time(c->kind) && !read_since(sample, c->kind, &c->read_ns))
            continue;
        const struct baro_metric *m = baro_tape_metric(s->tape, c->kind, c->metric);
        size_t n = baro_sample_rows(sample, c->kind);
        c->real = m && m->unit == BARO_UNIT_REAL;
        for (size_t i = next_row(sample, c->kind, 0); i < n; i = next_row(sample, c->kind, i + 1)) {
            const struct baro_row *row = baro_sample_row(sample, c->kind, i);
            const struct who who = who_of(s, row, true);
            uint64_t v;
            if (baro_row_value(row, c->metric, &v) == BARO_PRESENT)
                read_counter(s, k, &who, has_own_time(c->kind) ? c->read_ns : sample->t_ns, v, is_fresh(s, row));
        }
    }
}

/* Processes of a machine that were brief have neither rows nor exits, but sums by name, which begin from 0. */
static void read_brief(struct baro_series *s, int counter, const struct baro_entity *e, uint64_t t_ns)
{
    const struct counter *c = &s->counter[counter];
    const struct who who = {.id = e->id | BRIEF_IDS, .called = series_name_number(s, e->name), .name = ""};
    uint64_t value = e->value[c->brief_metric];
    struct last *l = e->absent[c->brief_metric] ? NULL : last_find(&c->last, who.id);
    if (l && value < l->value) /* of a later recorder, which gives the same ids */
        l->value = 0;
    if (!e->absent[c->brief_metric])
        read_counter(s, counter, &who, t_ns, value, s->begun);
}

static void read_briefs(struct baro_series *s, const struct baro_sample *sample)
{
    const struct baro_entities *briefs = &sample->entities[KIND_brief];
    for (size_t k = 0; k < s->n_counters; k++) {
        for (size_t i = 0; i < briefs->n && s->counter[k].brief_metric >= 0; i++)
            read_brief(s, (int)k, briefs->at[i], sample->t_ns);
    }
}

/* No reading follows after the exit of a process, so its last value is marked as one to be dropped. For a process
 * that no sample has, none is stored, because there may be millions. */
static void read_exit(struct baro_series *s, const struct baro_exit *e)
{
    const struct who who = {.id = e->id, .called = series_called_at_exit(s, e), .name = ""};
    for (int k = 0; k < (int)s->n_counters; k++) {
        const struct counter *c = &s->counter[k];
        uint64_t v = 0;
        bool has = c->exit_metric >= 0 && baro_row_value(row_of_exit(e), c->exit_metric, &v) == BARO_PRESENT;
        struct last *l = last_find(&c->last, e->id);
        uint64_t before = l ? l->value : 0;
        if (has && v > before) /* an exit leaves out what was used before the recorder attached: it may be less than the
                                  last sample */
            take_growth(s, c, &who, counter_growth(c, before, v));
        if (l)
            l->t_ns = ENDED;
    }
}

/* Adds a value to that of a curve. Only signed and real numbers have to be converted. m: NULL if it is not known. */
static void add_curve_value(struct curve *c, int absent, uint64_t value, const struct baro_metric *m)
{
    if (absent != BARO_PRESENT)
        return;
    bool is_signed = m && (m->unit == BARO_UNIT_SIGNED || m->unit == BARO_UNIT_CELSIUS);
    if (m && m->unit == BARO_UNIT_REAL)
        c->now += baro_metric_real(m, value);
    else
        c->now += is_signed ? (double)(int64_t)value : (double)value;
    c->known = true;
}

static bool is_part_of_rss(int metric)
{
    return metric == PROCESS_pss || metric == PROCESS_uss;
}

/* A process that lacks its pss or uss has at most its rss. Example: `cargo` has 41 MB of pss, and two compilers of 113
 * MB of rss each have no pss so far: 41 to 267 MB. */
static void note_bounds(struct curve *c, const struct baro_sample *sample, const struct derive_sum *sum, int metric)
{
    bool is_old = is_part_of_rss(metric) && derive_is_stale(sample);
    c->bounds_now = (struct bounds){.unsure = sum->covered < sum->members || is_old,
                                    .high = c->now + (is_part_of_rss(metric) ? (double)sum->lacking : 0),
                                    .at_least = is_old ? 0 : c->now};
}

/* Returns the metric of processes of which the curve is a sum; -1: it is no sum, or one that only the tape knows. A
 * task's value is a sum over its processes, and has the bounds of such a sum. */
static int summed_metric(const struct curve *c, const struct baro_metric *m)
{
    if (c->kind == BARO_KIND_PROCESS)
        return c->metric < PROCESS_MAX ? c->metric : -1;
    int metric = c->kind == BARO_KIND_TASK && m ? baro_metric_find(BARO_KIND_PROCESS, m->name) : -1;
    return metric >= 0 && derive_adds_up((enum process_metric)metric) ? metric : -1;
}

/* Adds the process, or those of the task. */
static void add_to_sum(struct derive_sum *sum, const struct baro_sample *sample, const struct baro_row *row, int metric)
{
    if (row_process(row))
        derive_sum_add(sum, row_process(row), (enum process_metric)metric);
    for (size_t i = 0; i < sample->n && !row_process(row); i++) {
        const struct baro_process *p = sample->processes[i];
        if (p->absent[PROCESS_task] == BARO_PRESENT && p->value[PROCESS_task] == baro_row_id(row))
            derive_sum_add(sum, p, (enum process_metric)metric);
    }
}

/* A sum over processes is that of the fold, with its rule for what is absent. Other values are as they were recorded.
 */
static void read_value(const struct baro_series *s, struct curve *c, const struct baro_sample *sample)
{
    const struct baro_metric *m = baro_tape_metric(s->tape, c->kind, c->metric);
    const bool is_count = c->metric == SERIES_COUNT, is_process = c->kind == BARO_KIND_PROCESS;
    const int summed = is_count ? -1 : summed_metric(c, m);
    const bool is_sum = is_process && summed >= 0 && !c->id;
    bool any = !c->id && !c->name;
    struct derive_sum sum = {0};
    c->now = 0;
    c->bounds_now = (struct bounds){0};
    for (size_t i = 0; i < baro_sample_rows(sample, c->kind); i++) {
        const struct baro_row *row = baro_sample_row(sample, c->kind, i);
        const struct who who = who_of(s, row, c->called);
        uint64_t v = 0;
        if (!is_of(c, &who))
            continue;
        any = true;
        int absent = is_count ? BARO_ABSENT_NONE : baro_row_value(row, c->metric, &v);
        if (is_count)
            c->now += 1;
        else if (!is_sum)
            add_curve_value(c, absent, v, m);
        if (summed >= 0)
            add_to_sum(&sum, sample, row, summed);
    }
    if (is_count)
        c->known = !is_process || derive_has_job(sample);
    if (is_sum) {
        derive_sum_close(&sum, sample);
        c->now = (double)sum.value;
        c->known = any && sum.absent == BARO_PRESENT;
    }
    if (summed >= 0)
        note_bounds(c, sample, &sum, summed);
}

/* ---- the walk ---- */

/* Returns the greatest possible growth of a counter per nanosecond; 0: not known. */
static double greatest_growth(const struct baro_series *s, const struct curve *c)
{
    const struct baro_metric *m = baro_tape_metric(s->tape, c->kind, c->metric);
    bool is_of_all = c->kind == BARO_KIND_JOB || c->kind == BARO_KIND_PROCESS || c->kind == BARO_KIND_HOST;
    bool is_cpu = is_of_all && m && m->unit == BARO_UNIT_NS && m->semantics == BARO_SEM_COUNTER &&
                  strncmp(m->name, "cpu_", 4) == 0;
    return is_cpu && !c->share ? baro_header_cpus(baro_tape_header(s->tape)) : 0;
}

/* Raises the limit when CPUs came online. It is needed because the kernel counts each CPU's time in ticks of 10 ms:
 * within 100 ms, two CPUs may seem to have been busy for 220 ms. */
static void raise_most(struct curve *c, const struct baro_sample *sample)
{
    if (c->kind != BARO_KIND_HOST || c->held.most <= 0 || sample->host_absent[HOST_cpus] != BARO_PRESENT)
        return;
    double cpus = (double)sample->host[HOST_cpus];
    c->held.most = cpus > c->held.most ? cpus : c->held.most;
}

static void spread_growth(const struct baro_series *s, struct curve *c, const struct stretch_grown *grown)
{
    series_spread(s, c, grown->begin_ns, grown->end_ns,
                  grown->growth * c->scale / (double)(grown->end_ns - grown->begin_ns));
}

/* Turns the growth since since_ns into a rate over that time. If a counter fell, none is known. */
static void close_rate(const struct baro_series *s, struct curve *c, uint64_t t_ns, bool at_once)
{
    if (t_ns <= c->since_ns || (!at_once && t_ns - c->since_ns < GROWTH_SHORT_NS))
        return;
    struct stretch_grown one = {c->since_ns, t_ns, c->value}, ready;
    bool is_known = !c->fell && c->value >= 0;
    if (is_known && !c->share && stretches_add(&c->held, one, &ready))
        spread_growth(s, c, &ready);
    else if (is_known && c->share && c->per > 0)
        series_spread(s, c, c->since_ns, t_ns, c->value * c->scale / c->per);
    c->since_ns = t_ns;
    c->value = c->per = 0;
    c->fell = false;
}

/* Adds the value of the last sample, which held until t_ns, to the buckets. */
static void close_value(const struct baro_series *s, struct curve *c, uint64_t t_ns)
{
    if (c->has && c->bounds.unsure)
        series_spread_unsure(s, c, c->since_ns, t_ns);
    else if (c->has)
        series_spread(s, c, c->since_ns, t_ns, c->value);
}

static void close_curve(const struct baro_series *s, struct curve *c, uint64_t t_ns)
{
    if (c->counter >= 0) {
        /* Processes and tasks come and go: they always have a rate, even if it is 0. Any other curve has none while
         * its counter is absent. */
        bool come_and_go = c->kind == BARO_KIND_PROCESS || c->kind == BARO_KIND_TASK;
        bool goes_on = (come_and_go && s->has_job) || c->known;
        if (c->has && goes_on)
            close_rate(s, c, t_ns, false);
        else if (goes_on)
            c->since_ns = t_ns;
        c->has = c->has || goes_on;
        return;
    }
    close_value(s, c, t_ns);
    c->has = c->known;
    c->since_ns = t_ns;
    c->value = c->now;
    c->bounds = c->bounds_now;
    if (c->known && !c->bounds.unsure)
        series_point(s, c, t_ns, c->now);
}

/* Was the entity read since its previous reading? Its growth is divided by the time between its own readings: with
 * those of its kind, a GPU that is sometimes read 0.2 s later than the others would be busy for over 100 %. */
static bool entity_read_since(struct curve *c, const struct baro_sample *sample, uint64_t *ret)
{
    bool has_time = c->id && c->counter >= 0 && metric_time(c->kind) >= 0;
    size_t n = has_time ? baro_sample_rows(sample, c->kind) : 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = (c->row + i) % n; /* mostly where it was in the sample before */
        const struct baro_row *e = baro_sample_row(sample, c->kind, at);
        uint64_t now_ns;
        if (baro_row_id(e) != c->id)
            continue;
        c->row = at;
        if (baro_row_read_ns(e, &now_ns) != BARO_PRESENT)
            return true;
        bool is_new = now_ns != c->own_ns;
        c->own_ns = *ret = now_ns;
        return is_new;
    }
    return true;
}

static void on_sample(struct baro_series *s, const struct baro_sample *sample)
{
    for (size_t i = 0; i < s->n_curves; i++)
        s->curve[i].known = false;
    s->has_job = derive_has_job(sample);
    read_counters(s, sample);
    read_briefs(s, sample);
    for (size_t i = 0; i < s->n_curves; i++) {
        struct curve *c = &s->curve[i];
        uint64_t t_ns = sample->t_ns;
        if (has_own_time(c->kind) && !read_since(sample, c->kind, &c->read_ns))
            continue;
        raise_most(c, sample);
        if (has_own_time(c->kind)) {
            t_ns = c->read_ns;
            if (!series_one_of_a_kind(c->kind) && !entity_read_since(c, sample, &t_ns))
                continue;
        } else if (is_of_sockets(s, c) && !sockets_read_since(s, c, sample, &t_ns))
            continue;
        if (c->counter < 0)
            read_value(s, c, sample);
        close_curve(s, c, t_ns);
    }
    s->begun = true;
}

/* Handles a gap, in which nothing was recorded. Values in it are not known; growth is, and is spread over the gap. */
static void on_gap(struct baro_series *s, const struct baro_event *e)
{
    uint64_t begin_ns = e->t_ns > e->number ? e->t_ns - e->number : 0;
    for (size_t i = 0; i < s->n_curves; i++) {
        struct curve *c = &s->curve[i];
        if (c->counter >= 0 || !c->has)
            continue;
        close_value(s, c, begin_ns);
        c->has = false;
    }
}

/* Adds the last growth to the buckets: exits after the last sample belong to the time up to them. */
static void close_all(struct baro_series *s, uint64_t end_ns)
{
    for (size_t i = 0; i < s->n_curves; i++) {
        struct curve *c = &s->curve[i];
        if (c->counter >= 0 && c->has && c->value > 0)
            close_rate(s, c, end_ns > c->since_ns ? end_ns : c->since_ns + 1, true);
        for (struct stretch_grown ready; stretches_take(&c->held, &ready);)
            spread_growth(s, c, &ready);
    }
    series_finish(s);
}

int baro_series_read(struct baro_series *s, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_record record;
    uint64_t first_ns = 0, last_ns = 0;
    s->tape = tape;
    int r = series_find_names(s, tape, err);
    if (r >= 0)
        r = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (r > 0)
        r = baro_tape_seek(tape, s->from_ns, &record, err);
    s->from_begin = r > 0 && record.t_ns == first_ns;
    s->from_start = s->from_begin && baro_header_has_start(baro_tape_header(tape));
    for (size_t i = 0; i < s->n_curves; i++) {
        struct curve *c = &s->curve[i];
        bool from_zero = c->kind == BARO_KIND_TASK ? s->from_begin : s->from_start && !has_own_time(c->kind);
        c->has = c->counter >= 0 && from_zero; /* counting begins with 0 at time 0 */
        c->held.most = greatest_growth(s, c);
    }
    for (; r > 0; r = baro_tape_next(tape, &record, err)) {
        if (record.kind == BARO_RECORD_SAMPLE)
            on_sample(s, record.u.sample);
        else if (record.kind == BARO_RECORD_EXIT)
            read_exit(s, row_exit(record.u.exit));
        else if (record.kind == BARO_RECORD_EVENT && baro_event_kind_of(record.u.event) == BARO_EVENT_GAP)
            on_gap(s, record.u.event);
        last_ns = record.t_ns > last_ns ? record.t_ns : last_ns;
        if (record.kind == BARO_RECORD_SAMPLE && record.t_ns >= s->to_ns)
            break;
    }
    close_all(s, last_ns);
    if (r >= 0 && s->failed)
        r = error_set(err, -ENOMEM, "out of memory");
    return r < 0 ? r : 0;
}
