/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about GPUs. Each names the GPU to which it applies most. */
#include <math.h>

#include "libbaro/verdict/verdict_rule.h"

static double watched(const struct gpu_seen *g)
{
    return g->watched_ns;
}

static const char *model(const struct gpu_seen *g)
{
    return *g->model ? g->model : "GPU";
}

/* Returns the GPU with the largest value; NULL if none has it. */
static const struct gpu_seen *most(const struct evidence *e, double (*of)(const struct gpu_seen *g), double least)
{
    const struct gpu_seen *found = NULL;
    for (size_t i = 0; i < e->n_gpus; i++) {
        double v = of(&e->gpu[i]);
        if (v >= least && (!found || v > of(found)))
            found = &e->gpu[i];
    }
    return found;
}

/* ---- gpu-error ---- */

static double errors(const struct gpu_seen *g)
{
    return (isnan(g->xid_errors) ? 0 : g->xid_errors) + (isnan(g->ecc_uncorrected) ? 0 : g->ecc_uncorrected);
}

static bool gpu_error(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct gpu_seen *g = most(e, errors, 1);
    (void)s;
    if (!g)
        return false;
    if (g->xid_errors >= 1)
        find_title(f, "The driver reported Xid error %.0f of %s (%s).", g->xid_last, g->name, model(g));
    else
        find_title(f, "%s (%s) had %.0f memory errors that could not be corrected.", g->name, model(g),
                   g->ecc_uncorrected);
    find_advice(f, "13, 31, 43 and 45 are mostly the program's own mistakes; 48, 63, 64, 79, 94 and 95 are the "
                   "hardware's: have it checked, and exclude this GPU until then.");
    if (g->xid_errors >= 1)
        find_brief(f, "Xid %.0f of %s", g->xid_last, g->name);
    else
        find_brief(f, "%.0f memory errors of %s not corrected", g->ecc_uncorrected, g->name);
    find_hint(f, "have it checked if it comes again");
    find_number(f, "gpus.xid_errors", g->xid_errors, 0, BARO_UNIT_NONE);
    find_number(f, "gpus.ecc_uncorrected", g->ecc_uncorrected, 0, BARO_UNIT_NONE);
    return true;
}

static const struct baro_threshold error_thresholds[] = {
    {"Xid errors, or errors of memory that were not corrected", 1, BARO_UNIT_NONE}};
const struct verdict_rule rule_gpu_error = {{"gpu-error", BARO_VERDICT_PROBLEM,
                                             "The driver of a GPU reported an error while the job ran.",
                                             THRESHOLDS(error_thresholds)},
                                            gpu_error,
                                            RULE_OF_MACHINES};

/* ---- gpu-idle ---- */

#define IDLE_SHARE 0.4
#define IDLE_DEMAND_LEAST 0.8
#define IDLE_DEMAND_MOST 1.5

static double idle_of(const struct gpu_seen *g)
{
    return g->is_used > 0 && watched(g) >= LONG_ENOUGH_NS ? 1 - g->busy : NAN;
}

bool is_feeding_gpu(const struct evidence *e, const struct stretch *s)
{
    double demand = stretch_demand(s);
    return most(e, idle_of, IDLE_SHARE) && demand >= IDLE_DEMAND_LEAST && demand <= IDLE_DEMAND_MOST;
}

static bool gpu_idle(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct gpu_seen *g = most(e, idle_of, IDLE_SHARE);
    double demand = stretch_demand(s);
    if (!g)
        return false;
    bool is_one = is_feeding_gpu(e, s);
    struct words idle = words_percent(1 - g->busy, 0);
    if (is_one)
        find_title(f, "%s was idle %s of the time while %s thread%s had work: it waited for its data.", g->name,
                   idle.at, words_cores(demand, stretch_demand_flags(s)).at, demand >= 1.005 ? "s" : "");
    else
        find_title(f, "%s was idle %s of the time.", g->name, idle.at);
    if (is_one)
        find_advice(f, "Load and prepare data with several processes or threads (workers of the data loader), ahead of "
                       "the GPU, or on the GPU.");
    else
        find_advice(f,
                    "See what it waited for: phases (baro phase) show when. Larger batches keep it busier; a smaller "
                    "GPU may do.");
    find_brief(f, "%s idle %s of the time%s", g->name, idle.at, is_one ? ", while one thread prepared data" : "");
    find_hint(f, is_one ? "prepare data with several workers" : "larger batches, or a smaller GPU");
    find_number(f, "gpus.busy_ratio", g->busy, 0, BARO_UNIT_RATIO);
    if (is_one)
        find_number(f, "demand_cores", demand, stretch_demand_flags(s), BARO_UNIT_REAL);
    return true;
}

static const struct baro_threshold idle_thresholds[] = {
    {"time in which no kernel ran on a GPU that the job used, as a share", IDLE_SHARE, BARO_UNIT_RATIO},
    {"threads that ran or could have run, on average, for the word about data: at least", IDLE_DEMAND_LEAST,
     BARO_UNIT_REAL},
    {"the same: at most", IDLE_DEMAND_MOST, BARO_UNIT_REAL}};
const struct verdict_rule rule_gpu_idle = {{"gpu-idle", BARO_VERDICT_ADVICE,
                                            "A GPU that the job used had nothing to do for much of the time.",
                                            THRESHOLDS(idle_thresholds)},
                                           gpu_idle,
                                           RULE_NEEDS_HISTORY};

/* ---- gpu-throttled ---- */

#define THROTTLED_SHARE 0.1

static double or_0(double v)
{
    return isnan(v) ? 0 : v;
}

static double throttled_of(const struct gpu_seen *g)
{
    return watched(g) >= LONG_ENOUGH_NS ? (or_0(g->throttled_power_ns) + or_0(g->throttled_thermal_ns)) / watched(g)
                                        : NAN;
}

static bool gpu_throttled(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct gpu_seen *g = most(e, throttled_of, THROTTLED_SHARE);
    (void)s;
    if (!g)
        return false;
    bool by_power = or_0(g->throttled_power_ns) >= or_0(g->throttled_thermal_ns);
    find_title(f, "%s was throttled by %s for %s.", g->name, by_power ? "its power limit" : "its temperature",
               words_duration(by_power ? g->throttled_power_ns : g->throttled_thermal_ns, 0).at);
    if (by_power)
        find_advice(f, "This is usual for a GPU that is fully used. Its limit (nvidia-smi -pl) can be raised if the "
                       "board and the room allow it; a lower clock costs less energy for nearly the same work.");
    else
        find_advice(f, "See to its cooling: fans, air flow, and what stands beside it.");
    find_brief(f, "%s throttled by its %s for %s", g->name, by_power ? "power limit" : "temperature",
               words_duration(by_power ? g->throttled_power_ns : g->throttled_thermal_ns, 0).at);
    if (!by_power)
        find_hint(f, "see to its cooling");
    find_number(f, "gpus.throttled_power_ns", g->throttled_power_ns, 0, BARO_UNIT_NS);
    find_number(f, "gpus.throttled_thermal_ns", g->throttled_thermal_ns, 0, BARO_UNIT_NS);
    find_number(f, "gpus.power_limit_watts", g->power_limit, 0, BARO_UNIT_REAL);
    return true;
}

static const struct baro_threshold throttled_thresholds[] = {
    {"time in which it was throttled by power or heat, as a share", THROTTLED_SHARE, BARO_UNIT_RATIO}};
const struct verdict_rule rule_gpu_throttled = {
    {"gpu-throttled", BARO_VERDICT_NOTE, "A GPU was slower than it can be, because of its power limit or its heat.",
     THRESHOLDS(throttled_thresholds)},
    gpu_throttled,
    RULE_OF_MACHINES};

/* ---- gpu-memory ---- */

#define MEMORY_FULL 0.95

static double filled(const struct gpu_seen *g)
{
    return g->memory_used_peak / g->memory_total;
}

static bool gpu_memory(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct gpu_seen *g = most(e, filled, MEMORY_FULL);
    (void)s;
    if (!g)
        return false;
    find_title(f, "The memory of %s was filled to %s: %s of %s.", g->name, words_percent(filled(g), 0).at,
               words_bytes(g->memory_used_peak, 0).at, words_bytes(g->memory_total, 0).at);
    find_advice(f, "Some frameworks take nearly all of it at once, whatever they need. If yours does not: a smaller "
                   "batch, or a GPU with more memory, before it runs out.");
    find_brief(f, "%s filled to %s: %s of %s", g->name, words_percent(filled(g), 0).at,
               words_bytes(g->memory_used_peak, 0).at, words_bytes(g->memory_total, 0).at);
    find_hint(f, "a smaller batch, before it runs out");
    find_number(f, "gpus.memory_used_peak_bytes", g->memory_used_peak, 0, BARO_UNIT_BYTES);
    find_number(f, "gpus.memory_total_bytes", g->memory_total, 0, BARO_UNIT_BYTES);
    return true;
}

static const struct baro_threshold memory_thresholds[] = {
    {"memory in use at its peak, as a share of what the GPU has", MEMORY_FULL, BARO_UNIT_RATIO}};
const struct verdict_rule rule_gpu_memory = {
    {"gpu-memory", BARO_VERDICT_ADVICE, "The memory of a GPU was nearly full.", THRESHOLDS(memory_thresholds)},
    gpu_memory,
    0};

/* ---- gpu-shared ---- */

#define SHARED_BUSY 0.1

static double shared_of(const struct gpu_seen *g)
{
    return watched(g) >= LONG_ENOUGH_NS ? g->busy_others : NAN;
}

static bool gpu_shared(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct gpu_seen *g = most(e, shared_of, SHARED_BUSY);
    (void)s;
    if (!g)
        return false;
    find_title(f, "Processes that are not %s used %s of %s.",
               e->ranks_beside >= 1 ? "this rank's, other ranks of the job or not," : "the job's",
               words_percent(g->busy_others, 0).at, g->name);
    find_advice(f, "Use another GPU (CUDA_VISIBLE_DEVICES), or see who they are with nvidia-smi; times are not to be "
                   "compared with those of a GPU of its own.");
    find_brief(f, "others used %s of %s", words_percent(g->busy_others, 0).at, g->name);
    find_hint(f, "use another GPU");
    find_number(f, "gpus.busy_others_ratio", g->busy_others, 0, BARO_UNIT_RATIO);
    find_number(f, "gpus.busy_job_ratio", g->busy_job, 0, BARO_UNIT_RATIO);
    return true;
}

static const struct baro_threshold shared_thresholds[] = {
    {"share of the GPU's time that others used", SHARED_BUSY, BARO_UNIT_RATIO}};
const struct verdict_rule rule_gpu_shared = {
    {"gpu-shared", BARO_VERDICT_PROBLEM, "Others used a GPU that the job used.", THRESHOLDS(shared_thresholds)},
    gpu_shared,
    0};

/* ---- gpu-unused ---- */

static bool gpu_unused(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct gpu_seen *g = NULL;
    double known = 0;
    (void)s;
    for (size_t i = 0; i < e->n_gpus; i++) {
        const struct gpu_seen *one = &e->gpu[i];
        if (one->is_instance > 0 || isnan(one->is_used)) /* not known for all GPUs */
            continue;
        known++;
        g = g || one->is_used > 0 ? g : one;
    }
    if (!(e->gpu_used >= 1 && g))
        return false;
    find_title(f, "It used %s of %.0f GPUs%s: %s was never used.", words_count(FACT(e, gpu_used)).at, known,
               known < e->gpu_visible ? " that can be read" : "", g->name);
    find_advice(f, "Ask for as many as it uses, or let it use all (DistributedDataParallel, pmap, --gpus).");
    find_brief(f, "used %s of %.0f GPUs; %s never", words_count(FACT(e, gpu_used) | SIGNS).at, known, g->name);
    find_hint(f, "ask for as many as it uses");
    find_number(f, "gpu.used", FACT(e, gpu_used), BARO_UNIT_NONE);
    find_number(f, "gpu.visible", e->gpu_visible, 0, BARO_UNIT_NONE);
    return true;
}

static const struct baro_threshold unused_thresholds[] = {{"GPUs that the job used, at least", 1, BARO_UNIT_NONE}};
const struct verdict_rule rule_gpu_unused = {{"gpu-unused", BARO_VERDICT_ADVICE,
                                              "The job used some of the GPUs that it may use, and not all.",
                                              THRESHOLDS(unused_thresholds)},
                                             gpu_unused,
                                             0};
