/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about processes (too many of them, one that dominates), and about what to ask for next time. */
#include <math.h>
#include <string.h>

#include "libbaro/verdict/verdict_rule.h"

/* ---- many-processes ---- */

#define MANY_STARTED 500.0
#define MANY_CPU_NS 4e6

/* A dynamic program that does nothing takes about a millisecond to start and end. A high share of system time is no
 * evidence: the kernel counts user and system time by ticks of some milliseconds, and such a process ends before the
 * first tick. */
static bool many_processes(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    double each = e->cpu_ns / e->processes_started;
    (void)s;
    if (!(e->processes_started >= MANY_STARTED && each <= MANY_CPU_NS))
        return false;
    unsigned flags = e->flags.cpu_ns | inverted(e->flags.processes_started);
    find_title(f,
               "It started %s processes that used %s of CPU time each: most of that is what it takes to start and end "
               "them",
               words_count(FACT(e, processes_started)).at, words_duration(each, flags).at);
    if (e->n_commands)
        find_title(f, " (%s of them are %s)", words_count(e->command[0].processes, e->command[0].processes_flags).at,
                   e->command[0].name);
    find_title(f, ".");
    find_advice(f, "Let each process do more: a builtin instead of a command, xargs instead of a loop, one interpreter "
                   "instead of one per file.");
    find_brief(f, "started %s processes of %s CPU each", words_count(FACT(e, processes_started) | SIGNS).at,
               words_duration(each, flags | SIGNS).at);
    find_hint(f, "use builtins, xargs, one interpreter for all");
    find_number(f, "job.processes_started", FACT(e, processes_started), BARO_UNIT_NONE);
    find_number(f, "cpu_per_process_ns", each, flags, BARO_UNIT_NS);
    find_number(f, "job.cpu_ns", FACT(e, cpu_ns), BARO_UNIT_NS);
    return true;
}

static const struct baro_threshold many_thresholds[] = {
    {"processes that it started", MANY_STARTED, BARO_UNIT_NONE},
    {"CPU time per process, at most", MANY_CPU_NS, BARO_UNIT_NS},
};
const struct verdict_rule rule_many_processes = {
    {"many-processes", BARO_VERDICT_ADVICE,
     "The job started so many short processes that starting and ending them took most of its CPU time.",
     THRESHOLDS(many_thresholds)},
    many_processes,
    0};

/* ---- dominates ---- */

#define DOMINATES_SHARE 0.8
#define DOMINATES_COMMANDS 3
#define DOMINATES_CPU_NS (1 * SECOND_NS)

static bool dominates(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct heavy *first = &e->command[0];
    (void)s;
    if (!(e->n_all_commands >= DOMINATES_COMMANDS && e->cpu_ns >= DOMINATES_CPU_NS &&
          first->cpu_ns >= DOMINATES_SHARE * e->cpu_ns))
        return false;
    find_title(f, "%s used %s of the CPU time: %s in %s process%s.", first->name,
               words_percent(first->cpu_ns / e->cpu_ns, first->flags | inverted(e->flags.cpu_ns)).at,
               words_duration(first->cpu_ns, first->flags).at, words_count(first->processes, first->processes_flags).at,
               first->processes >= 2 ? "es" : "");
    find_brief(f, "%s used %s of the CPU time", first->name,
               words_percent(first->cpu_ns / e->cpu_ns, first->flags | inverted(e->flags.cpu_ns) | SIGNS).at);
    find_number(f, "commands.0.cpu_ns", first->cpu_ns, first->flags, BARO_UNIT_NS);
    find_number(f, "commands.0.processes", first->processes, first->processes_flags, BARO_UNIT_NONE);
    find_number(f, "job.cpu_ns", FACT(e, cpu_ns), BARO_UNIT_NS);
    return true;
}

static const struct baro_threshold dominates_thresholds[] = {
    {"its share of the CPU time", DOMINATES_SHARE, BARO_UNIT_RATIO},
    {"commands that the job had", DOMINATES_COMMANDS, BARO_UNIT_NONE},
    {"CPU time of the job", DOMINATES_CPU_NS, BARO_UNIT_NS},
};
const struct verdict_rule rule_dominates = {{"dominates", BARO_VERDICT_NOTE,
                                             "One command of several used most of the CPU time.",
                                             THRESHOLDS(dominates_thresholds)},
                                            dominates,
                                            0};

/* ---- right-size ---- */

#define SIZE_MEMORY 1.25
#define SIZE_AT_MOST 1.05           /* of a range, its upper end is an upper bound already */
#define SIZE_MEMORY_STEP 67108864.0 /* 64 MiB */
#define SIZE_RANGE 1.2              /* from this ratio on, what it may have needed is shown as a range */
#define SIZE_MENTION 0.25           /* a part of memory from this share on is worth a word */
#define SIZE_TIME 1.5
#define SIZE_CORES 0.25
#define SIZE_OTHERS 0.25 /* cores: if neighbours are this busy, the peak of cores proves nothing */
#define SIZE_WINDOWS 20
#define SIZE_WINDOWS_LEAST 5
#define SIZE_WINDOW_NS 0.25e9 /* minimum: a thread may have waited that long at once (carry_back()) */

static double round_up(double value, double step)
{
    return whole_up(value / step) * step;
}

/* whole_up() returns 0 for NAN and for numbers below 0. */
static double at_most(double cores, double most)
{
    double whole = whole_up(most);
    return whole >= 1 && cores > whole ? whole : cores;
}

/* Returns for how many cores there was work in all but a tenth of the time: a short peak is no reason to ask for a
 * core. */
static double cores_needed(const struct evidence *e, const struct stretch *s)
{
    double most[3] = {0, 0, 0}, demand[SIZE_WINDOWS];
    int n = SIZE_WINDOWS;
    while (n > SIZE_WINDOWS_LEAST && s->wall_ns / n < SIZE_WINDOW_NS)
        n--;
    bool is_short = is_short_of_cores(e, s), is_known = e->history && stretch_demands(e, s, n, demand);
    if (e->history && !is_known && !is_short)
        return NAN;
    for (int i = 0; is_known && i < n; i++) {
        for (int j = 0; j < 3; j++) {
            if (demand[i] > most[j]) {
                double lower = most[j];
                most[j] = demand[i];
                demand[i] = lower;
            }
        }
    }
    double demanded = e->history && !is_short ? most[n > SIZE_WINDOWS / 2 ? 2 : 1] : stretch_demand(s),
           needed = whole_up(demanded - SIZE_CORES);
    if (!is_short)
        needed = at_most(needed, e->cores);
    if (!is_short && !is_contended(e, s) && !is_throttled(e, s) && !(e->host_others_cores >= SIZE_OTHERS))
        needed = at_most(needed, e->cores_peak - SIZE_CORES);
    needed = at_most(needed, e->host_cores);
    return needed >= 1 ? needed : 1;
}

/* Is the memory that it may have needed so much more that one number would mislead? */
static bool is_range(const struct evidence *e)
{
    return e->memory_at_most_bytes > SIZE_RANGE * e->memory_peak_bytes;
}

/* Returns what to ask for: the memory that the job needed, with what it would have needed without the limit and a
 * margin; or what it may have needed, if that is more. Examples: 67 MB resident at a limit of 67 MB, and 63 MB swapped
 * out, are 130 MB. Samples have 71 MB, and the marks of its processes allow 590 MB: 590 MB. */
static double memory_to_ask_for(const struct evidence *e, const struct stretch *s)
{
    double at_most = e->memory_at_most_bytes >= e->memory_peak_bytes ? e->memory_at_most_bytes : e->memory_peak_bytes;
    double needed = is_range(e) ? e->memory_peak_bytes : at_most;
    double swapped = e->swap_peak_bytes > 0 ? e->swap_peak_bytes : 0;
    if (is_short_of_memory(e, s) && e->memory_limit_bytes > needed + swapped)
        return e->memory_limit_bytes * SIZE_MEMORY;
    needed = (needed + swapped) * SIZE_MEMORY;
    at_most = (at_most + swapped) * SIZE_AT_MOST;
    return at_most > needed ? at_most : needed;
}

/* Why is it a range? */
static const char *words_doubt(const char *doubt)
{
    static const char *const words[][2] = {
        {"marks", "processes may have held it between two samples"},
        {"sharing", "how much of it its processes share could not be read"},
        {"shared_memory", "shared memory of the machine grew by so much, the job's or others'"},
        {"kernel", "the kernel's memory of its control group grew by so much, as for pipes"},
        {"hugetlb", "huge pages, which most limits do not count"},
        {"page_cache", "its control group held so much, page cache included"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(words[i][0], doubt) == 0)
            return words[i][1];
    }
    return "that much is possible";
}

static void title_memory(const struct evidence *e, struct finding *f)
{
    if (is_range(e))
        find_title(f, "needed between %s and %s of memory (%s)", words_bytes(e->memory_peak_bytes, 0).at,
                   words_bytes(e->memory_at_most_bytes, 0).at, words_doubt(e->memory_doubt));
    else if (isnan(e->memory_at_most_bytes))
        find_title(f, "needed %s of memory (how much more is not known)",
                   words_bytes(e->memory_peak_bytes, BARO_VALUE_LOWER_BOUND).at);
    else
        find_title(f, "needed %s of memory",
                   words_bytes(e->memory_peak_bytes, e->flags.memory_peak_bytes & ~BARO_VALUE_LOWER_BOUND).at);
    if (e->memory_shared_bytes >= SIZE_MENTION * e->memory_peak_bytes)
        find_title(f, ", %s of it shared memory and files in tmpfs", words_bytes(e->memory_shared_bytes, 0).at);
    if (e->page_cache_bytes >= SIZE_MENTION * e->memory_peak_bytes)
        find_title(f, ", besides %s of page cache, which it can do without,", words_bytes(e->page_cache_bytes, 0).at);
    find_title(f, " and took %s", words_duration(FACT(e, wall_ns)).at);
}

static void size_with_cores(const struct evidence *e, struct finding *f, double cores, double mib, double minutes)
{
    find_title(f, "It had work for %s core%s, ", words_cores(cores, BARO_VALUE_ESTIMATE).at, cores >= 2 ? "s" : "");
    title_memory(e, f);
    find_title(f, ".");
    find_advice(f,
                "Next time ask for %s core%s, %.0f MiB and %.0f min. Slurm: --cpus-per-task=%s --mem=%.0fM "
                "--time=%.0f. Kubernetes: cpu: %s, memory: %.0fMi.",
                words_cores(cores, 0).at, cores >= 2 ? "s" : "", mib, minutes, words_cores(cores, 0).at, mib, minutes,
                words_cores(cores, 0).at, mib);
}

/* Writes the advice if it is not known for how many cores the job had work: the machine was busy, and threads ended
 * before it was read how long they had waited. */
static void size_without_cores(const struct evidence *e, struct finding *f, double mib, double minutes)
{
    find_title(f, "It ");
    title_memory(e, f);
    find_title(f, "; for how many cores it had work is not known.");
    find_advice(f,
                "Next time ask for %.0f MiB and %.0f min. Slurm: --mem=%.0fM --time=%.0f. Kubernetes: memory: %.0fMi.",
                mib, minutes, mib, minutes, mib);
}

static bool right_size(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    double cores = cores_needed(e, s), memory = round_up(memory_to_ask_for(e, s), SIZE_MEMORY_STEP),
           minutes = whole_up(e->wall_ns * SIZE_TIME / (60 * SECOND_NS)), mib = memory / 1048576;
    if (e->is_running || *e->exit_signal || e->oom_kills_at_most >= 1 || !(memory > 0 && minutes >= 1))
        return false;
    if (cores >= 1)
        size_with_cores(e, f, cores, mib, minutes);
    else
        size_without_cores(e, f, mib, minutes);
    find_brief(f, "needed %s", words_bytes(FACT(e, memory_peak_bytes) | SIGNS).at);
    if (cores >= 1)
        find_brief(f, " and %s core%s", words_cores(cores, SIGNS).at, cores >= 2 ? "s" : "");
    find_brief(f, " for %s", words_duration(FACT(e, wall_ns) | SIGNS).at);
    if (cores >= 1)
        find_hint(f, "--cpus-per-task=%s ", words_cores(cores, 0).at);
    find_hint(f, "--mem=%.0fM --time=%.0f", mib, minutes);
    find_number(f, "ask_cores", cores, 0, BARO_UNIT_REAL);
    find_number(f, "ask_memory_bytes", memory, 0, BARO_UNIT_BYTES);
    find_number(f, "ask_time_ns", minutes * 60 * SECOND_NS, 0, BARO_UNIT_NS);
    find_number(f, "job.cores_mean", FACT(e, cores_mean), BARO_UNIT_REAL);
    find_number(f, "limits.memory_peak_bytes", FACT(e, memory_peak_bytes), BARO_UNIT_BYTES);
    find_number(f, "limits.memory_peak_at_most_bytes", FACT(e, memory_at_most_bytes), BARO_UNIT_BYTES);
    find_number(f, "wall_ns", FACT(e, wall_ns), BARO_UNIT_NS);
    return true;
}

static const struct baro_threshold size_thresholds[] = {
    {"memory to ask for, as a multiple of the most that it needed; rounded up to 64 MiB", SIZE_MEMORY, BARO_UNIT_REAL},
    {"the same of what it may have needed, if that is more by a fifth", SIZE_AT_MOST, BARO_UNIT_REAL},
    {"time to ask for, as a multiple of its time; rounded up to minutes", SIZE_TIME, BARO_UNIT_REAL},
    {"cores to ask for: those it had work for in all but a tenth of the time, and at most those that it might use, the "
     "most that it used at once unless others used them too, and those of the machine (where few-cores says so, those "
     "of the machine alone); rounded up from this fraction of one on",
     SIZE_CORES, BARO_UNIT_REAL},
};
const struct verdict_rule rule_right_size = {
    {"right-size", BARO_VERDICT_NOTE,
     "What the job needed and what to ask for next time, with margins; without cores where it is not known for how "
     "many it had work; not if it runs still, was killed or ran out of memory.",
     THRESHOLDS(size_thresholds)},
    right_size,
    RULE_NEEDS_HISTORY};
