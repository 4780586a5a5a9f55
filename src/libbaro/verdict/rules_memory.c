/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about memory: its limit, the page cache, swap, growth. */
#include <math.h>

#include "libbaro/verdict/verdict_rule.h"

#define PRESSURE_SHARE 0.1

/* Returns the share of the time in which threads waited for memory: in the job's innermost control group; if that is
 * not known, on the machine. */
static double memory_pressure(const struct stretch *s)
{
    double own = s->grown[FOLD_GROUP_MEMORY] / s->wall_ns;
    return isnan(own) ? s->grown[FOLD_HOST_MEMORY] / s->grown[FOLD_HOST_TIME] : own;
}

static unsigned pressure_flags(const struct stretch *s)
{
    return s->flags[isnan(s->grown[FOLD_GROUP_MEMORY]) ? FOLD_HOST_MEMORY : FOLD_GROUP_MEMORY];
}

static double larger(double a, double b)
{
    return a >= b || isnan(b) ? a : b;
}

static double smaller(double a, double b)
{
    return a <= b || isnan(b) ? a : b;
}

static double limit_of(const struct group *g)
{
    return smaller(g->memory_limit, g->memory_high);
}

/* Returns the group with the tightest limit of those that hit their limit. */
#define LIMIT_HITS 20.0
static const struct group *hit_group(const struct evidence *e)
{
    const struct group *found = NULL;
    for (size_t i = 0; i < e->n_groups; i++) {
        const struct group *g = &e->group[i];
        if ((g->limit_hits >= LIMIT_HITS || g->high_hits >= LIMIT_HITS) && limit_of(g) > 0 &&
            !(found && limit_of(g) >= limit_of(found)))
            found = g;
    }
    return found;
}

#define CACHE_READ 2.0
#define CACHE_ANON 0.6
#define CACHE_BLOCKED 0.2
#define CACHE_FAULTS 100.0
#define CACHE_FAULTS_ALONE 2000.0 /* a fast disk ends a sleep before the recorder has read the state */
#define SWAP_BYTES 16e6

static bool is_swapping(const struct evidence *e)
{
    return e->swap_peak_bytes >= SWAP_BYTES && e->host_swap_in_bytes >= SWAP_BYTES;
}

/* Are pages read again that the kernel had dropped? Threads wait for memory during such a read. The kernel counts
 * little of that wait for pages that were used only once before, but each of them is a major fault. */
static bool is_rereading(const struct stretch *s, const struct group *g)
{
    double pressure = memory_pressure(s), faults = s->grown[FOLD_FAULTS] / s->wall_ns * SECOND_NS;
    return s->grown[FOLD_READ] >= CACHE_READ * limit_of(g) && g->anon_most <= CACHE_ANON * limit_of(g) &&
           (pressure >= PRESSURE_SHARE || faults >= CACHE_FAULTS_ALONE ||
            (faults >= CACHE_FAULTS && s->grown[FOLD_BLOCKED] >= CACHE_BLOCKED * s->wall_ns));
}

bool is_short_of_memory(const struct evidence *e, const struct stretch *s)
{
    const struct group *g = hit_group(e);
    return is_swapping(e) || (g && (memory_pressure(s) >= PRESSURE_SHARE || is_rereading(s, g)));
}

static void find_limit(const struct evidence *e, const struct stretch *s, const struct group *g, struct finding *f)
{
    find_number(f, "memory_pressure_ratio", memory_pressure(s), pressure_flags(s), BARO_UNIT_RATIO);
    find_number(f, "limit_bytes", limit_of(g), 0, BARO_UNIT_BYTES);
    find_number(f, "limit_hits", g->limit_hits > 0 ? g->limit_hits : g->high_hits, 0, BARO_UNIT_NONE);
    find_number(f, "anonymous_bytes", g->anon_most, BARO_VALUE_LOWER_BOUND, BARO_UNIT_BYTES);
    find_number(f, s->phase ? "io_read_bytes" : "job.io_read_bytes", s->phase ? s->grown[FOLD_READ] : e->io_read_bytes,
                s->phase ? s->flags[FOLD_READ] : e->flags.io_read_bytes, BARO_UNIT_BYTES);
    find_text(f, "cgroup", g->name);
}

/* ---- memory-limit ---- */

static bool memory_limit(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct group *g = hit_group(e);
    if (!g || !(memory_pressure(s) >= PRESSURE_SHARE) || is_rereading(s, g) || is_swapping(e) || is_out_of_memory(e))
        return false;
    find_title(f, "It waited for memory %s of the time: it hit its limit of %s (cgroup %s) %s times.",
               words_percent(memory_pressure(s), pressure_flags(s)).at, words_bytes(limit_of(g), 0).at, g->name,
               words_count(g->limit_hits > 0 ? g->limit_hits : g->high_hits, 0).at);
    find_advice(f, "Ask for more than %s of memory, or let it hold less at a time.", words_bytes(limit_of(g), 0).at);
    find_brief(f, "waited %s of the time at its limit of %s (cgroup %s)",
               words_percent(memory_pressure(s), pressure_flags(s) | SIGNS).at, words_bytes(limit_of(g), 0).at,
               g->name);
    find_hint(f, "ask for more than %s", words_bytes(limit_of(g), 0).at);
    find_limit(e, s, g, f);
    return true;
}

static const struct baro_threshold limit_thresholds[] = {
    {"time in which threads waited for memory, as a share", PRESSURE_SHARE, BARO_UNIT_RATIO},
    {"times that the limit was hit", LIMIT_HITS, BARO_UNIT_NONE},
};
const struct verdict_rule rule_memory_limit = {
    {"memory-limit", BARO_VERDICT_PROBLEM,
     "Threads waited for memory because a control group was at its limit (memory.max) or throttled (memory.high).",
     THRESHOLDS(limit_thresholds)},
    memory_limit,
    RULE_OF_PHASES | RULE_NEEDS_HISTORY};

/* ---- page-cache ---- */

static bool page_cache(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct group *g = hit_group(e);
    if (!g || !is_rereading(s, g) || is_swapping(e) || is_out_of_memory(e))
        return false;
    double waited = larger(s->grown[FOLD_BLOCKED] / s->wall_ns, memory_pressure(s));
    find_title(f,
               "It read %s from storage, %s times its memory limit of %s (cgroup %s), and waited for that %s of the "
               "time: files that it reads again were probably dropped from the page cache meanwhile.",
               words_bytes(GROWN(s, FOLD_READ)).at,
               words_count(s->grown[FOLD_READ] / limit_of(g), s->flags[FOLD_READ]).at, words_bytes(limit_of(g), 0).at,
               g->name,
               words_percent(waited, waited > memory_pressure(s) ? s->flags[FOLD_BLOCKED] : pressure_flags(s)).at);
    find_advice(f, "Ask for memory for its files as well, or let it read each file once.");
    find_brief(f, "read %s with a limit of %s (cgroup %s): files were read again",
               words_bytes(s->grown[FOLD_READ], s->flags[FOLD_READ] | SIGNS).at, words_bytes(limit_of(g), 0).at,
               g->name);
    find_hint(f, "ask for memory for its files");
    find_limit(e, s, g, f);
    find_number(f, "faults_major", GROWN(s, FOLD_FAULTS), BARO_UNIT_NONE);
    return true;
}

static const struct baro_threshold cache_thresholds[] = {
    {"times that the limit was hit", LIMIT_HITS, BARO_UNIT_NONE},
    {"bytes read from storage, as a multiple of the limit", CACHE_READ, BARO_UNIT_REAL},
    {"anonymous memory, as a share of the limit, at most", CACHE_ANON, BARO_UNIT_RATIO},
    {"time in which threads waited for memory, as a share", PRESSURE_SHARE, BARO_UNIT_RATIO},
    {"or major faults per second", CACHE_FAULTS, BARO_UNIT_NONE},
    {"and the share of the time in which a process was in uninterruptible sleep", CACHE_BLOCKED, BARO_UNIT_RATIO},
    {"or major faults per second, whatever that share is", CACHE_FAULTS_ALONE, BARO_UNIT_NONE},
};
const struct verdict_rule rule_page_cache = {
    {"page-cache", BARO_VERDICT_PROBLEM,
     "Files were dropped from the page cache for lack of memory and read again, and threads waited for that.",
     THRESHOLDS(cache_thresholds)},
    page_cache,
    RULE_OF_PHASES | RULE_NEEDS_HISTORY};

/* ---- swap ---- */

static bool swap(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    if (!is_swapping(e))
        return false;
    find_title(f, "At its peak %s of its memory was swapped out, and the machine read %s back from swap.",
               words_bytes(FACT(e, swap_peak_bytes)).at, words_bytes(FACT(e, host_swap_in_bytes)).at);
    find_advice(f, "Ask for more memory: it held %s besides.", words_bytes(FACT(e, rss_peak_bytes)).at);
    find_brief(f, "%s swapped out, %s read back from swap", words_bytes(FACT(e, swap_peak_bytes) | SIGNS).at,
               words_bytes(FACT(e, host_swap_in_bytes) | SIGNS).at);
    find_hint(f, "ask for more memory");
    find_number(f, "job.swap_peak_bytes", FACT(e, swap_peak_bytes), BARO_UNIT_BYTES);
    find_number(f, "host.swap_in_bytes", FACT(e, host_swap_in_bytes), BARO_UNIT_BYTES);
    find_number(f, "host.swap_out_bytes", FACT(e, host_swap_out_bytes), BARO_UNIT_BYTES);
    find_number(f, "memory_pressure_ratio", memory_pressure(s), pressure_flags(s), BARO_UNIT_RATIO);
    return true;
}

static const struct baro_threshold swap_thresholds[] = {
    {"memory of the job that was swapped out at one time; and bytes that the machine read back from swap", SWAP_BYTES,
     BARO_UNIT_BYTES},
};
const struct verdict_rule rule_swap = {
    {"swap", BARO_VERDICT_PROBLEM, "Memory of the job was swapped out, and the machine read memory back from swap.",
     THRESHOLDS(swap_thresholds)},
    swap,
    RULE_OF_MACHINES};

/* ---- memory-near-limit ---- */

#define NEAR_RATIO 0.9
#define OVER_RATIO 1.02 /* a job that used more than its limit is not kept within it */
#define NEAR_ANON 0.7

/* Is most of the memory mapped files, which the kernel drops when it has to? A group that was never read while it
 * was near its limit does not show that. Example: a limit of 100 MB, a process with 94 MB, and a group that was read
 * at the start and after the end of that process, with 2 MB. */
static bool is_mostly_files(const struct evidence *e)
{
    for (size_t i = 0; i < e->n_groups; i++) {
        const struct group *g = &e->group[i];
        double least = NEAR_ANON * e->memory_limit_bytes;
        if (g->memory_limit == e->memory_limit_bytes && g->anon_most < least && !(g->anon_most + g->file_most < least))
            return true;
    }
    return false;
}

static bool near_limit(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    if (!(e->memory_peak_ratio >= NEAR_RATIO) || is_out_of_memory(e) || is_mostly_files(e) || is_short_of_memory(e, s))
        return false;
    bool is_over = e->memory_peak_ratio >= OVER_RATIO;
    find_title(f, "Its memory came to %s, %s of the limit of %s (%s)", words_bytes(FACT(e, memory_peak_bytes)).at,
               words_percent(FACT(e, memory_peak_ratio)).at, words_limit(e->memory_limit_bytes).at, e->memory_source);
    if (is_over)
        find_title(f, ", which nothing enforced");
    bool is_known = find_memory_kind(e, e->memory_peak_bytes, limiting_group(e), f);
    if (!is_known && !(e->rss_peak_bytes < e->memory_peak_bytes / 2) && *e->holder)
        find_title(f, "; most was held by %s", e->holder);
    find_title(f, ".");
    find_advice(f, "Ask for %s, so that %s.", words_bytes(e->memory_peak_bytes * 1.25, 0).at,
                is_over ? "it does not end where the limit is enforced" : "a little more does not end it");
    find_brief(f, "%s of %s used, %s", words_bytes(FACT(e, memory_peak_bytes) | SIGNS).at,
               words_limit(e->memory_limit_bytes).at, words_percent(FACT(e, memory_peak_ratio) | SIGNS).at);
    if (is_over)
        find_brief(f, ", not enforced");
    if (*e->holder && !(e->rss_peak_bytes < e->memory_peak_bytes / 2))
        find_brief(f, ", most held by %s", e->holder);
    find_hint(f, "ask for %s", words_bytes(e->memory_peak_bytes * 1.25, 0).at);
    find_number(f, "limits.memory_peak_bytes", FACT(e, memory_peak_bytes), BARO_UNIT_BYTES);
    find_number(f, "limits.memory_bytes", FACT(e, memory_limit_bytes), BARO_UNIT_BYTES);
    find_number(f, "limits.memory_peak_ratio", FACT(e, memory_peak_ratio), BARO_UNIT_RATIO);
    return true;
}

static const struct baro_threshold near_thresholds[] = {
    {"most memory that it held, as a share of its limit", NEAR_RATIO, BARO_UNIT_RATIO},
    {"most anonymous memory of the control group, as a share of it, where that is known", NEAR_ANON, BARO_UNIT_RATIO},
};
const struct verdict_rule rule_near_limit = {
    {"memory-near-limit", BARO_VERDICT_ADVICE,
     "The job's memory came near to its limit, and none of its processes was OOM-killed.", THRESHOLDS(near_thresholds)},
    near_limit,
    0};

/* ---- leak ---- */

#define LEAK_WINDOWS 20
#define LEAK_FROM 0.25
#define LEAK_TO 0.75
#define LEAK_BYTES 32e6
#define LEAK_GROWTH 0.5
#define LEAK_STEADY 0.75
#define LEAK_LAST 0.2
#define LEAK_TIME_NS (60 * SECOND_NS)
#define LEAK_POINTS 10 /* of a shorter time, which is worth a note */

/* Reads the memory at the ends of the windows, which divide the time from LEAK_FROM to the last sample with a living
 * process. Returns the length of that time; 0 if the memory is not known, or if the time ends long before the job
 * did. */
static double memory_history(const struct evidence *e, const struct stretch *s, double *ret)
{
    uint64_t begin_ns = s->begin_ns + whole_of(LEAK_FROM * s->wall_ns), end_ns;
    if (!e->history)
        return 0;
    end_ns = points_last_ns(e->history, FOLD_RSS);
    end_ns = end_ns > s->end_ns ? s->end_ns : end_ns;
    if (end_ns < s->begin_ns + whole_of(LEAK_TO * s->wall_ns))
        return 0;
    for (int i = 0; i <= LEAK_WINDOWS; i++) {
        ret[i] = points_at(e->history, FOLD_RSS, begin_ns + (end_ns - begin_ns) * (uint64_t)i / LEAK_WINDOWS);
        if (isnan(ret[i]))
            return 0;
    }
    return (double)(end_ns - begin_ns);
}

/* If memory grows steadily, each window has about its share of the growth. */
static bool grows_steadily(const double *memory)
{
    double growth = memory[LEAK_WINDOWS] - memory[0], share = growth / LEAK_WINDOWS;
    int steady = 0;
    for (int i = 0; i < LEAK_WINDOWS; i++) {
        double step = memory[i + 1] - memory[i];
        if (step < -0.02 * growth)
            return false;
        steady += step >= share / 4 && step <= share * 3;
    }
    double last = memory[LEAK_WINDOWS] - memory[LEAK_WINDOWS * 2 / 3];
    return steady >= LEAK_STEADY * LEAK_WINDOWS && last >= LEAK_LAST * growth;
}

static bool leak(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    double memory[LEAK_WINDOWS + 1];
    double length_ns = memory_history(e, s, memory);
    bool is_long = s->wall_ns >= LEAK_TIME_NS; /* else it may fill its memory once */
    if (!(length_ns > 0) || s->phases > 1 ||
        (!is_long && points_within(e->history, s->begin_ns, s->end_ns) < LEAK_POINTS))
        return false;
    double growth = memory[LEAK_WINDOWS] - memory[0], rate = growth / length_ns * SECOND_NS;
    if (!(growth >= LEAK_BYTES && growth >= LEAK_GROWTH * memory[0]) || !grows_steadily(memory))
        return false;
    find_title(f, "Its memory grew steadily to its end, by %s a second, up to %s",
               words_bytes(rate, BARO_VALUE_ESTIMATE).at, words_bytes(memory[LEAK_WINDOWS], BARO_VALUE_ESTIMATE).at);
    if (*e->holder)
        find_title(f, "; most was held by %s", e->holder);
    find_title(f, ".");
    if (is_long)
        find_advice(
            f, "If it runs longer it needs more: look for a leak, or for data that is collected and never dropped.");
    else
        f->weight = BARO_VERDICT_NOTE;
    find_brief(f, "grew to its end, by %s/s to %s", words_bytes(rate, BARO_VALUE_ESTIMATE | SIGNS).at,
               words_bytes(memory[LEAK_WINDOWS], BARO_VALUE_ESTIMATE | SIGNS).at);
    if (*e->holder)
        find_brief(f, ", most held by %s", e->holder);
    if (is_long)
        find_hint(f, "look for a leak");
    find_number(f, "growth_bytes", growth, BARO_VALUE_ESTIMATE, BARO_UNIT_BYTES);
    find_number(f, "growth_bytes_per_second", rate, BARO_VALUE_ESTIMATE, BARO_UNIT_BYTES);
    find_number(f, "job.rss_peak_bytes", FACT(e, rss_peak_bytes), BARO_UNIT_BYTES);
    find_text(f, "command", e->holder);
    f->begin_ns = s->begin_ns + whole_of(LEAK_FROM * s->wall_ns);
    return true;
}

static const struct baro_threshold leak_thresholds[] = {
    {"time that the job took; it is a note if it took less", LEAK_TIME_NS, BARO_UNIT_NS},
    {"growth in the last three quarters of the time", LEAK_BYTES, BARO_UNIT_BYTES},
    {"the same as a share of the memory before it", LEAK_GROWTH, BARO_UNIT_RATIO},
    {"share of twenty windows in which it grew by a quarter to three times of what is even", LEAK_STEADY,
     BARO_UNIT_RATIO},
    {"growth in the last third of them, as a share of all of it", LEAK_LAST, BARO_UNIT_RATIO},
};
const struct verdict_rule rule_leak = {{"leak", BARO_VERDICT_ADVICE,
                                        "The memory of the job grew steadily up to its end, and never fell.",
                                        THRESHOLDS(leak_thresholds)},
                                       leak,
                                       RULE_OF_PHASES | RULE_NEEDS_HISTORY};
