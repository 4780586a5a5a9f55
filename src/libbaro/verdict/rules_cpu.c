/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about waiting for CPU: a quota, neighbours, the hypervisor, too few cores. */
#include <math.h>

#include "libbaro/verdict/verdict_rule.h"

/* ---- cpu-quota ---- */

#define QUOTA_TIME_NS 1e8
#define QUOTA_SHARE 0.1

static double throttled_ns(const struct evidence *e, const struct stretch *s)
{
    return s->phase ? s->grown[FOLD_THROTTLED] : e->throttled_ns;
}

static double throttled_share(const struct evidence *e, const struct stretch *s)
{
    double lost = throttled_ns(e, s);
    return lost / (lost + s->grown[FOLD_CPU]);
}

static unsigned throttled_flags(const struct evidence *e, const struct stretch *s)
{
    return s->phase ? s->flags[FOLD_THROTTLED] : e->flags.throttled_ns;
}

bool is_throttled(const struct evidence *e, const struct stretch *s)
{
    return throttled_ns(e, s) >= QUOTA_TIME_NS && throttled_share(e, s) >= QUOTA_SHARE;
}

static const struct group *most_throttled(const struct evidence *e)
{
    const struct group *most = NULL;
    for (size_t i = 0; i < e->n_groups; i++) {
        if (e->group[i].throttled_ns > (most ? most->throttled_ns : 0))
            most = &e->group[i];
    }
    return most;
}

/* Returns how many cores its threads could have used: a whole number from 1 to the cores of the machine. */
static double cores_wanted(const struct evidence *e, const struct stretch *s)
{
    double wanted = whole_up(stretch_demand(s) - 0.25);
    wanted = wanted >= 1 ? wanted : 1;
    return wanted > e->host_cores ? e->host_cores : wanted;
}

static bool cpu_quota(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct group *g = most_throttled(e);
    unsigned flags = throttled_flags(e, s);
    if (!is_throttled(e, s))
        return false;
    find_title(f, "A CPU quota held it up for %s, %s of the time in which it could have run",
               words_duration(throttled_ns(e, s), flags).at,
               words_percent(throttled_share(e, s), flags | inverted(s->flags[FOLD_CPU])).at);
    if (g && g->quota_cores > 0)
        find_title(f, ": the quota is %s cores (cgroup %s)", words_cores(g->quota_cores, 0).at, g->name);
    if (g && g->throttled_periods > 0 && !s->phase)
        find_title(f, ", used up in %s of %s periods", words_count(g->throttled_periods, 0).at,
                   words_count(g->periods, 0).at);
    find_title(f, ".");
    find_advice(f, "Ask for %s core%s, or start fewer threads at a time.", words_cores(cores_wanted(e, s), 0).at,
                cores_wanted(e, s) >= 2 ? "s" : "");
    find_brief(f, "throttled for %s", words_duration(throttled_ns(e, s), flags | SIGNS).at);
    if (g && g->quota_cores > 0)
        find_brief(f, " by the quota of %s cores (cgroup %s)", words_cores(g->quota_cores, 0).at, g->name);
    find_hint(f, "ask for %s core%s", words_cores(cores_wanted(e, s), 0).at, cores_wanted(e, s) >= 2 ? "s" : "");
    find_number(f, s->phase ? "throttled_ns" : "limits.throttled_ns", throttled_ns(e, s), flags, BARO_UNIT_NS);
    find_number(f, "cpu_ns", GROWN(s, FOLD_CPU), BARO_UNIT_NS);
    find_number(f, "quota_cores", g ? g->quota_cores : NAN, 0, BARO_UNIT_REAL);
    find_number(f, "throttled_periods", g && !s->phase ? g->throttled_periods : NAN, 0, BARO_UNIT_NONE);
    find_text(f, "cgroup", g ? g->name : "");
    return true;
}

static const struct baro_threshold quota_thresholds[] = {
    {"time for which a quota throttled it", QUOTA_TIME_NS, BARO_UNIT_NS},
    {"that time as a share of it and the CPU time together", QUOTA_SHARE, BARO_UNIT_RATIO},
};
const struct verdict_rule rule_cpu_quota = {{"cpu-quota", BARO_VERDICT_PROBLEM,
                                             "The CPU quota of a control group throttled the job.",
                                             THRESHOLDS(quota_thresholds)},
                                            cpu_quota,
                                            RULE_OF_PHASES};

/* ---- cpu-neighbour ---- */

#define NEIGHBOUR_SHARE 0.2
#define NEIGHBOUR_CORES 0.25
#define NEIGHBOUR_FULL 0.8
#define NEIGHBOUR_OWN 0.1 /* own contention of at least this share of the time lost to others is mentioned */

static double machine_cores(const struct evidence *e, const struct stretch *s)
{
    return s->phase ? s->grown[FOLD_HOST_BUSY] / s->grown[FOLD_HOST_TIME] : e->host_mean_cores;
}

static double others_cores(const struct evidence *e, const struct stretch *s)
{
    return s->phase ? machine_cores(e, s) - s->grown[FOLD_CPU] / s->wall_ns : e->host_others_cores;
}

/* The use by others is the machine's minus the job's: if the job's may be too small, the result may be too large. */
static unsigned others_flags(const struct evidence *e, const struct stretch *s)
{
    return s->phase ? s->flags[FOLD_HOST_BUSY] | inverted(s->flags[FOLD_CPU]) : e->flags.host_others_cores;
}

/* Returns the run delay that others caused. Example: 8 threads that can run, on 2 cores of which others use one,
 * wait 7 s each second; 6 s of that they would also wait if they had both cores, so others cost them 1 s. The result
 * is at most what the others used: if two threads waited 42 s in bursts while others used 38 s of CPU time, it is 38
 * s. */
static double lost_to_others(const struct evidence *e, const struct stretch *s)
{
    double own = (stretch_demand(s) - e->cores) * s->wall_ns, lost = s->grown[FOLD_RUN_DELAY] - (own > 0 ? own : 0),
           used = others_cores(e, s) * s->wall_ns;
    return lost > used ? used : lost;
}

static bool cpu_neighbour(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    double lost = lost_to_others(e, s), share = lost / (lost + s->grown[FOLD_CPU]), others = others_cores(e, s),
           own = s->grown[FOLD_RUN_DELAY] - lost;
    unsigned of_others = others_flags(e, s), of_lost = s->flags[FOLD_RUN_DELAY] | of_others;
    if (!(share >= NEIGHBOUR_SHARE && lost >= NEIGHBOUR_SHARE / 2 * s->wall_ns && others >= NEIGHBOUR_CORES &&
          machine_cores(e, s) >= NEIGHBOUR_FULL * e->host_cores) ||
        is_throttled(e, s))
        return false;
    find_title(f,
               "Other processes of the machine kept %s of its %s cores busy: because of them it waited %s for a core, "
               "%s of the time in which it could have run.",
               words_cores(others, of_others).at, words_cores(e->host_cores, 0).at, words_duration(lost, of_lost).at,
               words_percent(share, of_lost | inverted(s->flags[FOLD_CPU])).at);
    if (own >= NEIGHBOUR_OWN * lost)
        find_title(f, " Besides, its threads waited for each other %s: more of them could run than its %s core%s.",
                   words_duration(own, s->flags[FOLD_RUN_DELAY]).at, words_cores(e->cores, 0).at,
                   e->cores > 1 ? "s" : "");
    find_advice(f, "Measure it again on a quiet machine, or give it cores of its own (cpuset, a higher cpu.weight).");
    find_brief(f, "others kept %s of %s cores busy; waited %s", words_cores(others, of_others | SIGNS).at,
               words_cores(e->host_cores, 0).at, words_duration(lost, of_lost | SIGNS).at);
    find_hint(f, "measure on a quiet machine");
    find_number(f, s->phase ? "others_cores" : "host.cpu_others_mean_cores", others, of_others, BARO_UNIT_REAL);
    find_number(f, s->phase ? "run_delay_ns" : "job.run_delay_ns", GROWN(s, FOLD_RUN_DELAY), BARO_UNIT_NS);
    find_number(f, "lost_to_others_ns", lost, of_lost, BARO_UNIT_NS);
    find_number(f, "waited_for_own_ns", own, s->flags[FOLD_RUN_DELAY], BARO_UNIT_NS);
    return true;
}

static const struct baro_threshold neighbour_thresholds[] = {
    {"time lost to others, as a share of it and the CPU time together; half as much as a share of the whole time",
     NEIGHBOUR_SHARE, BARO_UNIT_RATIO},
    {"cores that other processes kept busy", NEIGHBOUR_CORES, BARO_UNIT_REAL},
    {"cores of the machine that were busy, as a share of all", NEIGHBOUR_FULL, BARO_UNIT_RATIO},
};
const struct verdict_rule rule_cpu_neighbour = {
    {"cpu-neighbour", BARO_VERDICT_PROBLEM,
     "The job's threads waited for cores that other processes of the machine used. Threads of the job that wait for "
     "each other because there are more of them than cores do not count, and what was lost to others is at most what "
     "they used.",
     THRESHOLDS(neighbour_thresholds)},
    cpu_neighbour,
    RULE_OF_PHASES | RULE_NEEDS_HISTORY};

/* ---- cpu-steal ---- */

#define STEAL_SHARE 0.05

static bool cpu_steal(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    if (!(e->host_steal_ratio >= STEAL_SHARE && stretch_demand(s) >= STEAL_SHARE))
        return false;
    find_title(f, "The hypervisor gave %s of this machine's CPU time to other machines.",
               words_percent(FACT(e, host_steal_ratio)).at);
    find_advice(f, "Use a machine whose cores are not shared, or measure it again at another time.");
    find_brief(f, "the hypervisor took %s of the CPU time", words_percent(FACT(e, host_steal_ratio) | SIGNS).at);
    find_hint(f, "use a machine that is not shared");
    find_number(f, "host.cpu_steal_ratio", FACT(e, host_steal_ratio), BARO_UNIT_RATIO);
    return true;
}

static const struct baro_threshold steal_thresholds[] = {
    {"CPU time that the hypervisor gave to others, as a share of all", STEAL_SHARE, BARO_UNIT_RATIO},
};
const struct verdict_rule rule_cpu_steal = {
    {"cpu-steal", BARO_VERDICT_PROBLEM, "The machine is virtual, and its hypervisor gave CPU time to other machines.",
     THRESHOLDS(steal_thresholds)},
    cpu_steal,
    RULE_OF_MACHINES | RULE_NEEDS_HISTORY};

/* ---- few-cores ---- */

#define FEW_DEMAND 1.5
#define FEW_USED 0.8

bool is_short_of_cores(const struct evidence *e, const struct stretch *s)
{
    return stretch_demand(s) >= FEW_DEMAND * e->cores && s->grown[FOLD_CPU] / s->wall_ns >= FEW_USED * e->cores &&
           !is_throttled(e, s);
}

/* A job cannot have 8 cores on a machine that has 2. */
static void advise_on_cores(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    double most = whole_up(e->cores);
    if (cores_wanted(e, s) > e->cores)
        find_advice(
            f, "Ask for %s cores; or start at most %s thread%s at a time, which takes as long and needs less memory.",
            words_cores(cores_wanted(e, s), 0).at, words_cores(most, 0).at, most >= 2 ? "s" : "");
    else
        find_advice(f,
                    "Start at most %s thread%s at a time, which takes as long and needs less memory; or use a machine "
                    "with %s cores.",
                    words_cores(most, 0).at, most >= 2 ? "s" : "",
                    words_cores(whole_up(stretch_demand(s) - 0.25), 0).at);
}

static bool few_cores(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    double demand = stretch_demand(s), used = s->grown[FOLD_CPU] / s->wall_ns;
    if (!is_short_of_cores(e, s))
        return false;
    find_title(f,
               "It kept all of its %s cores busy, and its threads waited %s for them: they could have used %s cores.",
               words_cores(e->cores, 0).at, words_duration(GROWN(s, FOLD_RUN_DELAY)).at,
               words_cores(demand, stretch_demand_flags(s)).at);
    advise_on_cores(e, s, f);
    find_brief(f, "all %s cores busy; had work for %s", words_cores(e->cores, 0).at,
               words_cores(demand, stretch_demand_flags(s) | SIGNS).at);
    find_hint(f, cores_wanted(e, s) > e->cores ? "ask for %s cores" : "start at most %s threads at a time",
              words_cores(cores_wanted(e, s) > e->cores ? cores_wanted(e, s) : whole_up(e->cores), 0).at);
    find_number(f, s->phase ? "cores" : "job.cores_mean", s->phase ? used : e->cores_mean,
                s->phase ? s->flags[FOLD_CPU] : e->flags.cores_mean, BARO_UNIT_REAL);
    find_number(f, "demand_cores", demand, stretch_demand_flags(s), BARO_UNIT_REAL);
    find_number(f, "limits.cores", FACT(e, cores), BARO_UNIT_REAL);
    find_number(f, s->phase ? "run_delay_ns" : "job.run_delay_ns", GROWN(s, FOLD_RUN_DELAY), BARO_UNIT_NS);
    return true;
}

static const struct baro_threshold few_thresholds[] = {
    {"threads that ran or could have run on average, as a multiple of the cores that it may use", FEW_DEMAND,
     BARO_UNIT_REAL},
    {"cores that it used, as a share of those that it may use", FEW_USED, BARO_UNIT_RATIO},
};
const struct verdict_rule rule_few_cores = {{"few-cores", BARO_VERDICT_ADVICE,
                                             "The job used all cores that it may use, and had work for more.",
                                             THRESHOLDS(few_thresholds)},
                                            few_cores,
                                            RULE_OF_PHASES | RULE_NEEDS_HISTORY};
