/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/verdict/evidence.h"

#include <math.h>
#include <string.h>

#include "libbaro/summary/summary.h"
#include "libbaro/verdict/verdict_rule.h"

#define SURE_SHARE 0.05 /* share of a stretch; if readings are farther from its edges, growth is an estimate */
#define NEAR_SHARE 0.25 /* share of a stretch that may lie between the edges of its pieces and readings */

/* Returns how exact a growth is. Between readings it is interpolated. It is not known how long threads waited after
 * the last reading of run delay. Whether a process waits for storage is known only in samples. */
static unsigned flags_of(enum fold_term curve, double away_ns, double wall_ns)
{
    if (curve == FOLD_RUN_DELAY)
        return BARO_VALUE_LOWER_BOUND;
    return curve == FOLD_BLOCKED || away_ns > SURE_SHARE * wall_ns ? BARO_VALUE_ESTIMATE : 0;
}

void stretch_fill(struct stretch *s, const struct points *c, const char *phase, uint64_t begin_ns, uint64_t end_ns)
{
    *s = (struct stretch){
        .phase = phase, .begin_ns = begin_ns, .end_ns = end_ns, .wall_ns = (double)(end_ns - begin_ns), .phases = 1};
    for (int i = 0; i < FOLD_COUNTERS; i++) {
        s->grown[i] = points_growth(c, (enum fold_term)i, begin_ns, end_ns);
        double away = points_distance(c, (enum fold_term)i, begin_ns) + points_distance(c, (enum fold_term)i, end_ns);
        s->flags[i] = flags_of((enum fold_term)i, away, s->wall_ns);
        s->flags[i] |= points_fell(c, (enum fold_term)i, begin_ns, end_ns) ? BARO_VALUE_LOWER_BOUND : 0;
    }
}

/* Returns the sum of the times between the edges of the pieces and their nearest readings. */
static double distance_ns(const struct stretch *s, const struct points *c, enum fold_term curve)
{
    double sum = 0;
    for (size_t i = 0; i < s->n_pieces; i++)
        sum += points_distance(c, curve, s->piece[i].begin_ns) + points_distance(c, curve, s->piece[i].end_ns);
    return sum;
}

void stretch_fill_pieces(struct stretch *s, const struct points *c, const char *phase, const struct piece *piece,
                         size_t n)
{
    uint64_t wall_ns = 0;
    for (size_t i = 0; i < n; i++)
        wall_ns += piece[i].end_ns - piece[i].begin_ns;
    *s = (struct stretch){.phase = phase,
                          .begin_ns = piece[0].begin_ns,
                          .end_ns = piece[n - 1].end_ns,
                          .wall_ns = (double)wall_ns,
                          .piece = piece,
                          .n_pieces = n};
    for (int i = 0; i < FOLD_COUNTERS; i++) {
        double away = distance_ns(s, c, (enum fold_term)i);
        s->grown[i] = away <= NEAR_SHARE * s->wall_ns ? stretch_growth(s, c, (enum fold_term)i, 0, wall_ns) : NAN;
        s->flags[i] = flags_of((enum fold_term)i, away, s->wall_ns);
        for (size_t k = 0; k < n; k++)
            s->flags[i] |=
                points_fell(c, (enum fold_term)i, piece[k].begin_ns, piece[k].end_ns) ? BARO_VALUE_LOWER_BOUND : 0;
    }
}

double stretch_growth(const struct stretch *s, const struct points *c, enum fold_term curve, uint64_t from_ns,
                      uint64_t to_ns)
{
    double sum = 0;
    uint64_t before = 0;
    if (!s->piece)
        return points_growth(c, curve, s->begin_ns + from_ns, s->begin_ns + to_ns);
    for (size_t i = 0; i < s->n_pieces && before < to_ns; i++) {
        uint64_t begin = s->piece[i].begin_ns, length = s->piece[i].end_ns - begin, end = before + length;
        uint64_t low = from_ns > before ? from_ns : before, high = to_ns < end ? to_ns : end;
        if (low < high)
            sum += points_growth(c, curve, begin + (low - before), begin + (high - before));
        before = end;
    }
    return sum;
}

double stretch_demand(const struct stretch *s)
{
    return (s->grown[FOLD_CPU] + s->grown[FOLD_RUN_DELAY]) / s->wall_ns;
}

#define READ_SHARE 0.8    /* share of the CPU time */
#define UNREAD_CORES 0.02 /* a job that used at most this many cores without a reading did not wait long for a core */
#define READ_EDGE 0.05    /* share of a stretch: between the last reading and its end */
#define SPARE_CORES 0.25  /* share of the cores: while this many are idle, no thread waits for one */

bool stretch_demand_is_known(const struct stretch *s)
{
    double cpu = s->grown[FOLD_CPU], unread = cpu - s->grown[FOLD_DELAY_CPU];
    /* unread is NAN if the tape does not say for how much run delay was read: then the result is true */
    return !(unread > (1 - READ_SHARE) * cpu) || unread <= UNREAD_CORES * s->wall_ns;
}

unsigned stretch_demand_flags(const struct stretch *s)
{
    unsigned flags = s->flags[FOLD_CPU] | s->flags[FOLD_RUN_DELAY];
    return stretch_demand_is_known(s) ? BARO_VALUE_ESTIMATE : flags;
}

/* Did the machine have an idle core? Then the job did not wait for one, even if its own waiting is not known. */
static bool has_spare_cores(const struct evidence *e, const struct stretch *s, uint64_t from_ns, uint64_t to_ns)
{
    double busy = stretch_growth(s, e->history, FOLD_HOST_BUSY, from_ns, to_ns),
           time = stretch_growth(s, e->history, FOLD_HOST_TIME, from_ns, to_ns),
           cpu = stretch_growth(s, e->history, FOLD_CPU, from_ns, to_ns);
    return time > 0 && busy <= (1 - SPARE_CORES) * e->host_cores * time &&
           cpu <= (1 - SPARE_CORES) * e->cores * (double)(to_ns - from_ns);
}

double stretch_demand_within(const struct evidence *e, const struct stretch *s, uint64_t from_ns, uint64_t to_ns)
{
    double last = (double)points_last_ns(e->history, FOLD_RUN_DELAY);
    bool is_read = stretch_demand_is_known(s) && last >= (double)s->end_ns - READ_EDGE * s->wall_ns;
    if (!is_read && !has_spare_cores(e, s, from_ns, to_ns))
        return NAN;
    return (stretch_growth(s, e->history, FOLD_CPU, from_ns, to_ns) +
            stretch_growth(s, e->history, FOLD_RUN_DELAY, from_ns, to_ns)) /
           (double)(to_ns - from_ns);
}

#define CARRIED_NS 0.25e9

/* The kernel counts the time that a thread waited when the thread gets its core, so that time may belong to earlier
 * parts. Example: one thread waits 150 ms, and parts of 50 ms have a demand of 0, 0, 0 and 3.5. Demand above the
 * mean is moved back, by at most a quarter of a second, to parts that are below the mean. */
static void carry_back(const struct evidence *e, const struct stretch *s, int n, double *demand)
{
    double length = s->wall_ns / n, mean = 0;
    for (int i = 0; i < n; i++)
        mean += demand[i] / n;
    for (int i = n - 1; i > 0; i--) {
        uint64_t from = whole_of(s->wall_ns * i / n), to = whole_of(s->wall_ns * (i + 1) / n);
        double delay = stretch_growth(s, e->history, FOLD_RUN_DELAY, from, to) / length, excess = demand[i] - mean;
        excess = excess < delay ? excess : delay;
        for (int k = i - 1; k >= 0 && (k == i - 1 || (i - k) * length <= CARRIED_NS) && excess > 0; k--) {
            double room = mean - demand[k], moved = room < excess ? room : excess;
            if (!(moved > 0))
                continue;
            demand[k] += moved;
            demand[i] -= moved;
            excess -= moved;
        }
    }
}

bool stretch_demands(const struct evidence *e, const struct stretch *s, int n, double *ret)
{
    for (int i = 0; i < n; i++) {
        uint64_t from = whole_of(s->wall_ns * i / n), to = whole_of(s->wall_ns * (i + 1) / n);
        ret[i] = stretch_demand_within(e, s, from, to);
        if (isnan(ret[i]))
            return false;
    }
    carry_back(e, s, n, ret);
    return true;
}

void evidence_init(struct evidence *e)
{
    memset(e, 0, sizeof(*e));
#define MEMBER(member, section, name) e->member = NAN;
    VERDICT_FACTS(MEMBER)
#undef MEMBER
#define MEMBER(member, section, name) e->member = "";
    VERDICT_TEXTS(MEMBER)
#undef MEMBER
    e->holder = e->victims = e->kills = e->failed_phase = e->contender.name = "";
    e->job.wall_ns = NAN;
    for (int i = 0; i < FOLD_COUNTERS; i++)
        e->job.grown[i] = NAN;
}

/* ---- facts ---- */

static double fact_number(const struct baro_summary *s, int fact, size_t row, unsigned *ret_flags)
{
    struct baro_value v;
    *ret_flags = 0;
    if (baro_summary_value(s, fact, row, &v) != BARO_PRESENT)
        return NAN;
    *ret_flags = v.flags;
    switch (baro_summary_fact(fact)->type) {
    case BARO_FACT_REAL: return v.real;
    case BARO_FACT_SIGNED: return (double)v.i64;
    default: return (double)v.u64;
    }
}

static const char *fact_text(const struct baro_summary *s, int fact, size_t row)
{
    struct baro_value v;
    return baro_summary_value(s, fact, row, &v) == BARO_PRESENT && v.text ? v.text : "";
}

static void read_commands(struct evidence *e, const struct baro_summary *s)
{
    int section = baro_summary_section_find("commands"), name = baro_summary_fact_find("commands", "name"),
        processes = baro_summary_fact_find("commands", "processes"), cpu = baro_summary_fact_find("commands", "cpu_ns");
    e->n_all_commands = baro_summary_rows(s, section);
    for (size_t i = 0; i < e->n_all_commands && i < COMMANDS_MOST; i++, e->n_commands = i) {
        struct heavy *one = &e->command[i];
        one->name = fact_text(s, name, i);
        one->processes = fact_number(s, processes, i, &one->processes_flags);
        one->cpu_ns = fact_number(s, cpu, i, &one->flags);
    }
}

static void read_gpus(struct evidence *e, const struct baro_summary *s)
{
    static const struct {
        const char *name;
        size_t at;
    } facts[] = {{"is_instance", offsetof(struct gpu_seen, is_instance)},
                 {"is_used", offsetof(struct gpu_seen, is_used)},
                 {"watched_ns", offsetof(struct gpu_seen, watched_ns)},
                 {"busy_ratio", offsetof(struct gpu_seen, busy)},
                 {"busy_job_ratio", offsetof(struct gpu_seen, busy_job)},
                 {"busy_others_ratio", offsetof(struct gpu_seen, busy_others)},
                 {"memory_used_peak_bytes", offsetof(struct gpu_seen, memory_used_peak)},
                 {"memory_total_bytes", offsetof(struct gpu_seen, memory_total)},
                 {"power_limit_watts", offsetof(struct gpu_seen, power_limit)},
                 {"throttled_power_ns", offsetof(struct gpu_seen, throttled_power_ns)},
                 {"throttled_thermal_ns", offsetof(struct gpu_seen, throttled_thermal_ns)},
                 {"xid_errors", offsetof(struct gpu_seen, xid_errors)},
                 {"xid_last", offsetof(struct gpu_seen, xid_last)},
                 {"ecc_uncorrected", offsetof(struct gpu_seen, ecc_uncorrected)}};
    size_t n = baro_summary_rows(s, baro_summary_section_find("gpus"));
    e->n_gpus = n < GPUS_MOST ? n : GPUS_MOST;
    for (size_t i = 0; i < e->n_gpus; i++) {
        struct gpu_seen *g = &e->gpu[i];
        unsigned flags;
        g->name = fact_text(s, baro_summary_fact_find("gpus", "name"), i);
        g->model = fact_text(s, baro_summary_fact_find("gpus", "model"), i);
        for (size_t k = 0; k < sizeof(facts) / sizeof(*facts); k++) {
            double v = fact_number(s, baro_summary_fact_find("gpus", facts[k].name), i, &flags);
            memcpy((char *)g + facts[k].at, &v, sizeof(v));
        }
    }
}

/* A number of the group's last reading; NAN: that did not have it. */
static double last_of(const struct fold_group *g, enum cgroup_metric metric)
{
    return g->cell[metric].absent_now
               ? NAN
               : baro_metric_real(baro_metric_get(BARO_KIND_CGROUP, metric), g->cell[metric].last);
}

static double grown_of(const struct fold_group *g, enum cgroup_metric metric)
{
    return g->cell[metric].absent_now ? NAN : (double)g->cell[metric].grown;
}

static double most_of(const struct fold_group *g, enum cgroup_metric metric)
{
    return g->cell[metric].seen ? (double)g->cell[metric].most : NAN;
}

static void read_groups(struct evidence *e, const struct baro_summary *s)
{
    const struct fold_groups *all = &s->fold.groups;
    e->n_groups = all->n < GROUPS_MOST ? all->n : GROUPS_MOST;
    for (size_t i = 0; i < e->n_groups; i++) {
        const struct fold_group *g = &all->at[i];
        double shmem = last_of(g, CGROUP_memory_shmem),
               cache = last_of(g, CGROUP_memory_file) - (isnan(shmem) ? 0 : shmem);
        e->group[i] = (struct group){
            .id = g->id,
            .periods = grown_of(g, CGROUP_cpu_periods),
            .throttled_periods = grown_of(g, CGROUP_cpu_throttled_periods),
            .throttled_ns = grown_of(g, CGROUP_cpu_throttled),
            .limit_hits = grown_of(g, CGROUP_memory_limit_hits),
            .high_hits = grown_of(g, CGROUP_memory_high_hits),
            .memory_limit = last_of(g, CGROUP_memory_limit),
            .memory_high = last_of(g, CGROUP_memory_high),
            .anon_most = most_of(g, CGROUP_memory_anon),
            .file_most = most_of(g, CGROUP_memory_file),
            .quota_cores = last_of(g, CGROUP_cpu_limit),
            .ooms = grown_of(g, CGROUP_ooms),
            .memory = last_of(g, CGROUP_memory),
            .held = {(double)g->held.anon, (double)g->held.shmem, (double)g->held.kernel},
            .cache = cache > 0 ? cache : 0,
        };
        memcpy(e->group[i].name, g->end, sizeof(e->group[i].name));
    }
}

void evidence_of_summary(struct evidence *e, const struct baro_summary *s)
{
    unsigned flags;
#define MEMBER(member, section, name)                                                                                  \
    e->member = fact_number(s, baro_summary_fact_find(section, name), 0, &e->flags.member);
    VERDICT_FACTS(MEMBER)
#undef MEMBER
#define MEMBER(member, section, name) e->member = fact_text(s, baro_summary_fact_find(section, name), 0);
    VERDICT_TEXTS(MEMBER)
#undef MEMBER
    read_commands(e, s);
    read_gpus(e, s);
    read_groups(e, s);
    e->history = &s->points;
    e->fold = &s->fold;
    e->is_cut_off = s->extent.cut_off;
    e->is_stretch = s->extent.is_stretch;
    /* pss is read more rarely. Example: python3 grew to 109 MB of rss within 50 ms, and sh held most of 4 MB of pss. */
    double pss = fact_number(s, baro_summary_fact_find("job", "pss_peak_bytes"), 0, &flags);
    e->holder = pss >= e->rss_peak_bytes / 2 ? fact_text(s, baro_summary_fact_find("pss_peak_held_by", "name"), 0) : "";
    if (!*e->holder)
        e->holder = fact_text(s, baro_summary_fact_find("rss_peak_held_by", "name"), 0);
}

static void agree(struct stretch *job, enum fold_term curve, double fact, unsigned flags)
{
    if (isnan(fact))
        return;
    job->grown[curve] = fact;
    job->flags[curve] = flags;
}

/* If a job has one process, the totals of the job are those of the process, and they are exact; samples have less
 * for its threads. Only the number of threads at the time of the switches comes from samples. */
static void agree_on_contender(struct evidence *e)
{
    struct contender *c = &e->contender;
    if (e->processes_started != 1 || !(e->threads_peak >= 2) || c->switches > e->switches || !e->n_commands)
        return;
    double threads = c->threads >= 2 ? c->threads : e->threads_peak;
    *c = (struct contender){e->command[0].name,        threads,          e->switches, e->cpu_ns,
                            e->job.grown[FOLD_CALLED], e->flags.switches};
}

void evidence_agree(struct evidence *e)
{
    agree_on_contender(e);
    e->job.wall_ns = isnan(e->wall_ns) ? e->job.wall_ns : e->wall_ns;
    agree(&e->job, FOLD_CPU, FACT(e, cpu_ns));
    agree(&e->job, FOLD_RUN_DELAY, FACT(e, run_delay_ns));
    agree(&e->job, FOLD_DELAY_CPU, e->cpu_ns - e->run_delay_lag_ns, e->flags.cpu_ns);
    agree(&e->job, FOLD_SWITCHES, FACT(e, switches));
    agree(&e->job, FOLD_READ, FACT(e, io_read_bytes));
    agree(&e->job, FOLD_WRITTEN, FACT(e, io_write_bytes));
    agree(&e->job, FOLD_FAULTS, FACT(e, faults_major));
    agree(&e->job, FOLD_STARTED, FACT(e, processes_started));
}

bool is_of_machine(const struct evidence *e)
{
    return strcmp(e->cgroup, "machine") == 0 || strcmp(e->cgroup, "visible") == 0;
}
