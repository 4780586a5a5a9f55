/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in buckets, filled in one walk over a tape. include/baro/series.h has the rules. */
#include "baro/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "baro/interval.h"
#include "base/error.h"
#include "derive/derive.h"
#include "derive/stretches.h"
#include "base/last.h"
#include "sample/sample.h"

#define RATE_OVER STRETCHES_SHORT_NS
#define FORGET_NS (7200 * NS_PER_SEC)
#define NEVER UINT64_MAX
#define ONE_ID 1u /* of what there is one of: the job, the recorder, the machine */

#define COUNT (-2)  /* as the metric of a curve of values: how many there are */
#define SCALE_RATE 1e9 /* of growth per nanosecond: per second */

/* A curve that a counter is part of. */
struct term {
    size_t curve;
    bool first; /* without it the curve has no value */
    bool per;   /* its growth divides */
};

/* The readings that rates of one metric are taken from; shared by all curves of that metric. */
struct counter {
    struct term *term;
    size_t n_terms;
    int kind, metric, exit_metric;
    bool real;        /* its values are doubles */
    uint64_t read_ns; /* entities: when they were read last; NEVER: not so far */
    struct last_table last;
};

struct curve {
    int kind;
    uint32_t id;
    char *name; /* NULL: any */
    int metric;
    int counter; /* index of the first; -1: a curve of values */
    double scale; /* of growth per nanosecond */
    bool share;   /* growth is divided by that of other counters, not by time */
    double per;   /* the growth of these */
    uint64_t read_ns; /* as of a counter */
    struct baro_bucket *at;
    bool has;         /* values: one holds since since_ns. Rates: growth is counted since then */
    uint64_t since_ns;
    double value;     /* that holds, or that grew since then */
    bool known;       /* in the sample that is being read */
    double now;       /* values: of that sample */
    struct stretches held; /* rates: growth that no bucket has so far */
};

struct baro_series {
    uint64_t from_ns, to_ns;
    size_t n_buckets;
    struct curve *curve;
    size_t n_curves;
    struct counter *counter;
    size_t n_counters;
    const struct baro_tape *tape;
    bool begun;         /* a sample was read */
    bool from_start;    /* the first one is the tape's first: what processes had used then is of this recording */
    bool failed;        /* out of memory */
};

/* ---- making ---- */

int baro_series_new(struct baro_series **ret, uint64_t from_ns, uint64_t to_ns, size_t buckets, struct baro_error *err)
{
    if (to_ns <= from_ns || buckets == 0 || buckets > SIZE_MAX / sizeof(struct baro_bucket) / 2)
        return error_set(err, BARO_E_RANGE, "a series needs a stretch of time and buckets");
    struct baro_series *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->from_ns = from_ns;
    s->to_ns = to_ns;
    s->n_buckets = buckets;
    *ret = s;
    return 0;
}

void baro_series_free(struct baro_series *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_curves; i++) {
        free(s->curve[i].name);
        free(s->curve[i].at);
    }
    for (size_t i = 0; i < s->n_counters; i++) {
        last_done(&s->counter[i].last);
        free(s->counter[i].term);
    }
    free(s->curve);
    free(s->counter);
    free(s);
}

static int counter_of(struct baro_series *s, int kind, int metric)
{
    for (size_t i = 0; i < s->n_counters; i++) {
        if (s->counter[i].kind == kind && s->counter[i].metric == metric)
            return (int)i;
    }
    struct counter *grown = realloc(s->counter, (s->n_counters + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->counter = grown;
    struct counter *c = &grown[s->n_counters];
    *c = (struct counter){.kind = kind, .metric = metric, .exit_metric = -1, .read_ns = NEVER};
    const struct baro_metric *m = baro_metric_get(kind, metric);
    if (kind == BARO_KIND_PROCESS && m)
        c->exit_metric = baro_metric_find(BARO_KIND_EXIT, m->name, strlen(m->name));
    return (int)s->n_counters++;
}

/* Growth of the counter goes to the curve that will be added next. */
static int add_term(struct baro_series *s, int kind, int metric, bool first, bool per)
{
    int i = counter_of(s, kind, metric);
    if (i < 0)
        return i;
    struct counter *c = &s->counter[i];
    struct term *grown = realloc(c->term, (c->n_terms + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    c->term = grown;
    grown[c->n_terms++] = (struct term){.curve = s->n_curves, .first = first, .per = per};
    return i;
}

static int add(struct baro_series *s, struct curve c, const char *name, struct baro_error *err)
{
    struct curve *grown = realloc(s->curve, (s->n_curves + 1) * sizeof(*grown));
    s->curve = grown ? grown : s->curve;
    c.at = calloc(s->n_buckets, sizeof(*c.at));
    c.name = name ? strdup(name) : NULL;
    if (!grown || !c.at || (name && !c.name)) {
        free(c.at);
        free(c.name);
        s->failed = true;
        return error_set(err, -ENOMEM, "out of memory");
    }
    c.read_ns = NEVER;
    s->curve[s->n_curves] = c;
    return (int)s->n_curves++;
}

static bool one_of_a_kind(int kind)
{
    return kind == BARO_KIND_JOB || kind == BARO_KIND_RECORDER || kind == BARO_KIND_HOST;
}

static int check(int kind, int metric, struct baro_error *err)
{
    if (kind < 0 || kind > UINT8_MAX || kind == BARO_KIND_EXIT || metric < 0)
        return error_set(err, BARO_E_RANGE, "there is no series of that");
    return 0;
}

int baro_series_add_value(struct baro_series *s, int kind, uint32_t id, const char *name, int metric,
                          struct baro_error *err)
{
    int r = check(kind, metric, err);
    if (r < 0)
        return r;
    if (kind == BARO_KIND_PROCESS && !id && metric < PROCESS_MAX && !derive_adds_up((enum process_metric)metric))
        return error_set(err, BARO_E_RANGE, "%s does not add up over processes", baro_metric_get(kind, metric)->name);
    bool one = one_of_a_kind(kind);
    return add(s, (struct curve){.kind = kind, .id = one ? 0 : id, .metric = metric, .counter = -1}, one ? NULL : name,
               err);
}

int baro_series_add_rate(struct baro_series *s, int kind, uint32_t id, const char *name, int metric,
                         struct baro_error *err)
{
    int r = check(kind, metric, err);
    if (r < 0)
        return r;
    const struct baro_metric *m = baro_metric_get(kind, metric); /* NULL: of the tape alone */
    if (m && m->semantics != BARO_SEM_COUNTER)
        return error_set(err, BARO_E_RANGE, "%s is no counter: it has no rate", m->name);
    bool one = one_of_a_kind(kind);
    int counter = add_term(s, kind, metric, true, false);
    if (counter < 0)
        return error_set(err, counter, "out of memory");
    return add(s,
               (struct curve){
                   .kind = kind, .id = one ? 0 : id, .metric = metric, .counter = counter, .scale = SCALE_RATE},
               one ? NULL : name, err);
}

int baro_series_add_derived(struct baro_series *s, int kind, uint32_t id, const char *name, int derived,
                            struct baro_error *err)
{
    const struct baro_derived *d = baro_derived_get(kind, derived);
    if (!d)
        return error_set(err, BARO_E_RANGE, "there is no such derived metric");
    bool one = one_of_a_kind(kind);
    bool of_time = baro_metric_get(kind, d->from[0])->unit == BARO_UNIT_NS;
    struct curve c = {.kind = kind, .id = one ? 0 : id, .metric = d->from[0], .share = d->per != NULL,
                      .scale = d->per || of_time ? 1 : SCALE_RATE};
    int r = 0;
    for (size_t i = 0; i < d->n_from && r >= 0; i++) {
        r = add_term(s, kind, d->from[i], i == 0, false);
        c.counter = i == 0 ? r : c.counter;
    }
    for (size_t i = 0; i < d->n_per && d->per && r >= 0; i++)
        r = add_term(s, kind, d->per[i], false, true);
    return r < 0 ? error_set(err, r, "out of memory") : add(s, c, one ? NULL : name, err);
}

int baro_series_add_count(struct baro_series *s, int kind, const char *name, struct baro_error *err)
{
    if (one_of_a_kind(kind) || check(kind, 0, err) < 0)
        return error_set(err, BARO_E_RANGE, "there is no count of that");
    return add(s, (struct curve){.kind = kind, .metric = COUNT, .counter = -1}, name, err);
}

/* ---- buckets ---- */

uint64_t baro_series_bucket_ns(const struct baro_series *s, size_t i)
{
    return s->from_ns + (uint64_t)((unsigned __int128)(s->to_ns - s->from_ns) * i / s->n_buckets);
}

const struct baro_bucket *baro_series_bucket(const struct baro_series *s, int curve, size_t i)
{
    return curve >= 0 && (size_t)curve < s->n_curves && i < s->n_buckets ? &s->curve[curve].at[i] : NULL;
}

/* Of an instant within the stretch. Rounding may be off by one to either side of a border. */
static size_t bucket_of(const struct baro_series *s, uint64_t t_ns)
{
    size_t i = (size_t)((unsigned __int128)(t_ns - s->from_ns) * s->n_buckets / (s->to_ns - s->from_ns));
    if (i + 1 < s->n_buckets && baro_series_bucket_ns(s, i + 1) <= t_ns)
        i++;
    return i;
}

static void reach(const struct curve *c, struct baro_bucket *b, double value)
{
    bool first = !b->covered_ns && (c->counter >= 0 || !b->points);
    b->min = first || value < b->min ? value : b->min;
    b->max = first || value > b->max ? value : b->max;
    b->last = value;
}

/* The value held from a to b. While the walk goes on, mean is the sum of value times nanoseconds. */
static void spread(const struct baro_series *s, struct curve *c, uint64_t a, uint64_t b, double value)
{
    a = a < s->from_ns ? s->from_ns : a;
    b = b > s->to_ns ? s->to_ns : b;
    for (size_t i = a < b ? bucket_of(s, a) : 0; a < b; i++) {
        uint64_t end = baro_series_bucket_ns(s, i + 1);
        uint64_t part = (end < b ? end : b) - a;
        reach(c, &c->at[i], value);
        c->at[i].covered_ns += part;
        c->at[i].mean += value * (double)part;
        a += part;
    }
}

static void point(const struct baro_series *s, struct curve *c, uint64_t t_ns, double value)
{
    if (t_ns < s->from_ns || t_ns >= s->to_ns)
        return;
    struct baro_bucket *b = &c->at[bucket_of(s, t_ns)];
    if (c->counter < 0)
        reach(c, b, value);
    b->points++;
}

static void finish(struct baro_series *s)
{
    for (size_t i = 0; i < s->n_curves; i++) {
        for (size_t k = 0; k < s->n_buckets; k++) {
            struct baro_bucket *b = &s->curve[i].at[k];
            b->mean = b->covered_ns ? b->mean / (double)b->covered_ns : b->last;
        }
    }
}

/* ---- readings ---- */

/* The machine and entities: they are read at times of their own. */
static bool has_own_time(int kind)
{
    return kind >= BARO_KIND_HOST;
}

static int own_time(const struct baro_sample *sample, int kind, uint64_t *ret)
{
    return kind == BARO_KIND_HOST ? baro_sample_host_ns(sample, ret) : baro_sample_entities_ns(sample, kind, ret);
}

/* Were they read since *read_ns? Sets it. */
static bool read_since(const struct baro_sample *sample, int kind, uint64_t *read_ns)
{
    uint64_t now_ns;
    if (own_time(sample, kind, &now_ns) != BARO_PRESENT || now_ns == *read_ns)
        return false;
    *read_ns = now_ns;
    return true;
}

static const struct baro_metric *metric_of(const struct baro_series *s, int kind, int metric)
{
    return baro_tape_metric(s->tape, kind, metric);
}

static void take(struct baro_series *s, const struct counter *counter, uint32_t id, const char *name, double growth)
{
    for (size_t i = 0; i < counter->n_terms; i++) {
        const struct term *term = &counter->term[i];
        struct curve *c = &s->curve[term->curve];
        if (term->curve >= s->n_curves) /* there was no memory for it */
            continue;
        if ((c->id && c->id != id) || (!c->id && c->name && strcmp(c->name, name) != 0))
            continue;
        c->known = c->known || term->first;
        if (c->has && term->per)
            c->per += growth;
        else if (c->has)
            c->value += growth;
    }
}

static double growth_of(const struct counter *c, uint64_t before, uint64_t value)
{
    static const struct baro_metric real = {.unit = BARO_UNIT_REAL};
    if (!c->real)
        return value > before ? (double)(value - before) : 0;
    double growth = baro_metric_real(&real, value) - baro_metric_real(&real, before);
    return growth > 0 ? growth : 0;
}

/* One reading of a counter. fresh: what it shows at first has grown since the sample before. */
static void read_counter(struct baro_series *s, int counter, uint32_t id, const char *name, uint64_t t_ns,
                         uint64_t value, bool fresh)
{
    bool added;
    struct last *l = last_get(&s->counter[counter].last, id, t_ns > FORGET_NS ? t_ns - FORGET_NS : 0, &added);
    if (!l) {
        s->failed = true;
        return;
    }
    uint64_t before = added ? (fresh ? 0 : value) : l->value;
    take(s, &s->counter[counter], id, name, growth_of(&s->counter[counter], before, value));
    *l = (struct last){id, t_ns, value};
}

static int one_value(const struct baro_sample *sample, int kind, int metric, uint64_t *ret)
{
    if (kind == BARO_KIND_JOB)
        return baro_sample_job(sample, metric, ret);
    return kind == BARO_KIND_RECORDER ? baro_sample_recorder(sample, metric, ret)
                                      : baro_sample_host(sample, metric, ret);
}

static void read_processes(struct baro_series *s, int counter, const struct baro_sample *sample)
{
    for (size_t i = baro_sample_next_changed(sample, 0); i < sample->n; i = baro_sample_next_changed(sample, i + 1)) {
        const struct baro_process *p = sample->processes[i];
        uint64_t v;
        if (baro_process_value(p, s->counter[counter].metric, &v) == BARO_PRESENT)
            read_counter(s, counter, p->id, baro_process_name(p), sample->t_ns, v, s->begun || s->from_start);
    }
}

static void read_entities(struct baro_series *s, int counter, const struct baro_sample *sample)
{
    struct counter *c = &s->counter[counter];
    const struct baro_metric *m = metric_of(s, c->kind, c->metric);
    c->real = m && m->unit == BARO_UNIT_REAL;
    for (size_t i = 0; i < baro_sample_entity_count(sample, c->kind); i++) {
        const struct baro_entity *e = baro_sample_entity(sample, c->kind, i);
        uint64_t v;
        if (baro_entity_value(e, c->metric, &v) == BARO_PRESENT)
            read_counter(s, counter, e->id, baro_entity_name(e), c->read_ns, v, false);
    }
}

static void read_counters(struct baro_series *s, const struct baro_sample *sample)
{
    uint64_t v;
    for (int k = 0; k < (int)s->n_counters; k++) {
        struct counter *c = &s->counter[k];
        if (has_own_time(c->kind) && !read_since(sample, c->kind, &c->read_ns))
            continue;
        if (c->kind == BARO_KIND_PROCESS)
            read_processes(s, k, sample);
        else if (!one_of_a_kind(c->kind))
            read_entities(s, k, sample);
        else if (one_value(sample, c->kind, c->metric, &v) == BARO_PRESENT)
            read_counter(s, k, ONE_ID, "", sample->t_ns, v, c->kind != BARO_KIND_HOST && s->from_start);
    }
}

static void read_exit(struct baro_series *s, const struct baro_exit *e)
{
    for (int k = 0; k < (int)s->n_counters; k++) {
        const struct counter *c = &s->counter[k];
        uint64_t v;
        if (c->exit_metric < 0 || baro_exit_value(e, c->exit_metric, &v) != BARO_PRESENT)
            continue;
        const struct last *l = last_find(&c->last, e->id);
        if (!l ||
            v > l->value) /* attached, an exit leaves out what the process had used before: less than the last sample */
            read_counter(s, k, e->id, baro_exit_name(e), e->t_ns, v, true);
    }
}

/* m: NULL where it is not known. Of the units only those are converted that are no counts of something. */
static void add_value(struct curve *c, int absent, uint64_t value, const struct baro_metric *m)
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

static void read_process_values(struct curve *c, const struct baro_sample *sample, const struct baro_metric *m)
{
    /* Of no processes the sum is 0, and known. */
    c->known = c->metric == COUNT || (!c->id && !c->name && sample->n == 0);
    for (size_t i = 0; i < sample->n; i++) {
        const struct baro_process *p = sample->processes[i];
        uint64_t v = 0;
        if (c->id ? p->id != c->id : c->name && strcmp(baro_process_name(p), c->name) != 0)
            continue;
        if (c->metric == COUNT) {
            c->now += 1;
            continue;
        }
        int absent = baro_process_value(p, c->metric, &v);
        add_value(c, absent, v, m);
    }
}

static void read_entity_values(struct curve *c, const struct baro_sample *sample, const struct baro_metric *m)
{
    c->known = c->metric == COUNT;
    for (size_t i = 0; i < baro_sample_entity_count(sample, c->kind); i++) {
        const struct baro_entity *e = baro_sample_entity(sample, c->kind, i);
        uint64_t v = 0;
        if (c->id ? e->id != c->id : c->name && strcmp(baro_entity_name(e), c->name) != 0)
            continue;
        if (c->metric == COUNT) {
            c->now += 1;
            continue;
        }
        int absent = baro_entity_value(e, c->metric, &v);
        add_value(c, absent, v, m);
    }
}

static void read_value(const struct baro_series *s, struct curve *c, const struct baro_sample *sample)
{
    const struct baro_metric *m = metric_of(s, c->kind, c->metric);
    uint64_t v = 0;
    c->now = 0;
    if (one_of_a_kind(c->kind)) {
        int absent = one_value(sample, c->kind, c->metric, &v);
        add_value(c, absent, v, m);
    } else if (c->kind == BARO_KIND_PROCESS) {
        read_process_values(c, sample, m);
    } else {
        read_entity_values(c, sample, m);
    }
}

/* ---- the walk ---- */

/* What there can be of a counter per nanosecond; 0: that is not known. */
static double most_of(const struct baro_series *s, const struct curve *c)
{
    const struct baro_metric *m = metric_of(s, c->kind, c->metric);
    bool is_cpu = (c->kind == BARO_KIND_JOB || c->kind == BARO_KIND_PROCESS) && m && m->unit == BARO_UNIT_NS &&
                  m->semantics == BARO_SEM_COUNTER && strncmp(m->name, "cpu_", 4) == 0;
    return is_cpu && !c->share ? baro_header_cpus(baro_tape_header(s->tape)) : 0;
}

static void spread_growth(const struct baro_series *s, struct curve *c, const struct stretch_grown *grown)
{
    spread(s, c, grown->begin_ns, grown->end_ns,
           grown->growth * c->scale / (double)(grown->end_ns - grown->begin_ns));
}

/* What grew since since_ns, as a rate over that time. */
static void close_rate(const struct baro_series *s, struct curve *c, uint64_t t_ns, bool at_once)
{
    if (t_ns <= c->since_ns || (!at_once && t_ns - c->since_ns < RATE_OVER))
        return;
    struct stretch_grown one = {c->since_ns, t_ns, c->value}, ready;
    if (!c->share && stretches_add(&c->held, one, &ready))
        spread_growth(s, c, &ready);
    else if (c->share && c->per > 0)
        spread(s, c, c->since_ns, t_ns, c->value * c->scale / c->per);
    c->since_ns = t_ns;
    c->value = c->per = 0;
}

static void close_curve(const struct baro_series *s, struct curve *c, uint64_t t_ns)
{
    if (c->counter >= 0) {
        /* Of processes that come and go there is always a rate, if only 0; a counter that is absent has none. */
        bool goes_on = c->kind == BARO_KIND_PROCESS || c->known;
        if (c->has && goes_on)
            close_rate(s, c, t_ns, false);
        else if (goes_on)
            c->since_ns = t_ns;
        c->has = c->has || goes_on;
        point(s, c, t_ns, 0);
        return;
    }
    if (c->has)
        spread(s, c, c->since_ns, t_ns, c->value);
    c->has = c->known;
    c->since_ns = t_ns;
    c->value = c->now;
    if (c->known)
        point(s, c, t_ns, c->now);
}

static void on_sample(struct baro_series *s, const struct baro_sample *sample)
{
    for (size_t i = 0; i < s->n_curves; i++)
        s->curve[i].known = false;
    read_counters(s, sample);
    for (size_t i = 0; i < s->n_curves; i++) {
        struct curve *c = &s->curve[i];
        if (has_own_time(c->kind) && !read_since(sample, c->kind, &c->read_ns))
            continue;
        if (c->counter < 0)
            read_value(s, c, sample);
        close_curve(s, c, has_own_time(c->kind) ? c->read_ns : sample->t_ns);
    }
    s->begun = true;
}

/* Nothing was recorded for a while up to now: what a value was then is not known. Growth is: its mean is that of the
 * whole gap. */
static void on_gap(struct baro_series *s, const struct baro_event *e)
{
    uint64_t begin_ns = e->t_ns > e->number ? e->t_ns - e->number : 0;
    for (size_t i = 0; i < s->n_curves; i++) {
        struct curve *c = &s->curve[i];
        if (c->counter >= 0 || !c->has)
            continue;
        spread(s, c, c->since_ns, begin_ns, c->value);
        c->has = false;
    }
}

/* The last growth: exits after the last sample are of the time up to them. */
static void close_all(struct baro_series *s, uint64_t end_ns)
{
    for (size_t i = 0; i < s->n_curves; i++) {
        struct curve *c = &s->curve[i];
        if (c->counter >= 0 && c->has && c->value > 0)
            close_rate(s, c, end_ns > c->since_ns ? end_ns : c->since_ns + 1, true);
        for (struct stretch_grown ready; stretches_take(&c->held, &ready);)
            spread_growth(s, c, &ready);
    }
    finish(s);
}

int baro_series_read(struct baro_series *s, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_record record;
    uint64_t first_ns = 0, last_ns = 0;
    s->tape = tape;
    int r = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (r > 0)
        r = baro_tape_seek(tape, s->from_ns, &record, err);
    s->from_start = r > 0 && record.t_ns == first_ns && baro_header_mode(baro_tape_header(tape)) == BARO_MODE_RUN;
    for (size_t i = 0; s->from_start && i < s->n_curves; i++)
        s->curve[i].has = s->curve[i].counter >= 0 && !has_own_time(s->curve[i].kind); /* nothing, since 0 */
    for (size_t i = 0; i < s->n_curves; i++)
        s->curve[i].held.most = most_of(s, &s->curve[i]);
    for (; r > 0; r = baro_tape_next(tape, &record, err)) {
        if (record.kind == BARO_RECORD_SAMPLE)
            on_sample(s, record.u.sample);
        else if (record.kind == BARO_RECORD_EXIT)
            read_exit(s, record.u.exit);
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
