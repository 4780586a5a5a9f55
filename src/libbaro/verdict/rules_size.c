/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about processes (too many of them, one that dominates), and about what to ask for next time. */
#include <math.h>
#include <string.h>

#include "libbaro/verdict/need.h"
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

#define SIZE_MENTION 0.25 /* a part of memory from this share on is worth a word */

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
    if (need_is_range(e))
        find_title(f, "needed between %s and %s of memory (%s)", words_bytes(e->memory_peak_bytes, 0).at,
                   words_bytes(e->memory_at_most_bytes, 0).at, words_doubt(e->memory_doubt));
    else if (isnan(e->memory_at_most_bytes))
        find_title(f, "needed %s of memory (how much more is not known)",
                   words_bytes(e->memory_peak_bytes, BARO_VALUE_LOWER_BOUND).at);
    else
        find_title(f, "needed %s of memory", words_bytes(FACT(e, memory_peak_bytes)).at);
    if (e->memory_shared_bytes >= SIZE_MENTION * e->memory_peak_bytes)
        find_title(f, ", %s of it shared memory and files in tmpfs", words_bytes(e->memory_shared_bytes, 0).at);
    if (e->page_cache_bytes >= SIZE_MENTION * e->memory_peak_bytes)
        find_title(f, ", besides %s of page cache, which it can do without,", words_bytes(e->page_cache_bytes, 0).at);
    if (need_is_ended_early(e))
        find_title(f, ", and had run for %s when it was ended",
                   words_duration(e->wall_ns, e->flags.wall_ns & ~BARO_VALUE_LOWER_BOUND).at);
    else
        find_title(f, " and took %s", words_duration(FACT(e, wall_ns)).at);
}

/* Writes what to ask for. cores: NAN: not known, as the machine was busy, and threads ended before it was read how long
 * they had waited. minutes: 0: a limit ended the job, and how long it would have run is not known. */
static void advise_size(const struct evidence *e, struct finding *f, double cores, double mib, double minutes)
{
    bool has_time = minutes >= 1;
    struct words many = words_cores(cores, 0);
    find_advice(f, "Next time ask for ");
    if (cores >= 1)
        find_advice(f, "%s core%s%s", many.at, cores >= 2 ? "s" : "", has_time ? ", " : " and ");
    find_advice(f, "%.0f MiB", mib);
    if (has_time)
        find_advice(f, " and %.0f min. Slurm: ", minutes);
    else
        find_advice(f, ", and for more time than %s: how much it needs is not known. Slurm: ",
                    words_duration(e->wall_ns, 0).at);
    if (cores >= 1) {
        find_advice(f, "--cpus-per-task=%s ", many.at);
        find_hint(f, "--cpus-per-task=%s ", many.at);
    }
    if (e->ranks_beside >= 1) { /* --mem is for all ranks of a node */
        double each = whole_up(mib / (cores >= 1 ? cores : 1));
        find_advice(f, "--mem-per-cpu=%.0fM", each);
        find_hint(f, "--mem-per-cpu=%.0fM", each);
    } else {
        find_advice(f, "--mem=%.0fM", mib);
        find_hint(f, "--mem=%.0fM", mib);
    }
    if (has_time) {
        find_advice(f, " --time=%.0f", minutes);
        find_hint(f, " --time=%.0f", minutes);
    }
    find_advice(f, ". Kubernetes: ");
    if (cores >= 1)
        find_advice(f, "cpu: %s, ", many.at);
    find_advice(f, "memory: %.0fMi.", mib);
}

static void title_size(const struct evidence *e, struct finding *f, const struct baro_need *need, double cores)
{
    if (cores >= 1)
        find_title(f, "It had work for %s core%s, ", words_cores(cores, BARO_VALUE_ESTIMATE).at, cores >= 2 ? "s" : "");
    else
        find_title(f, "It ");
    title_memory(e, f);
    if (!(cores >= 1))
        find_title(f, "; for how many cores it had work is not known");
    if (need->flags & BARO_NEED_NEIGHBOURS)
        find_title(f, ", because others%s used %s of the machine's %s cores", words_ranks_beside(e).at,
                   words_cores(FACT(e, host_others_cores)).at, words_cores(FACT(e, host_cores)).at);
    find_title(f, ".");
}

static bool right_size(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    struct baro_need need;
    struct baro_advice ask = BARO_ADVICE_INIT;
    const struct baro_need *const needs[] = {&need};
    (void)s;
    if (e->is_running || e->is_stretch || *e->exit_signal || e->oom_kills_at_most >= 1)
        return false;
    need_of_evidence(e, &need);
    need.flags &= ~(unsigned)BARO_NEED_PARTIAL; /* what a tape without an end has is better than nothing */
    if (baro_advise(needs, 1, 0, &ask) < 0 || !(ask.memory_bytes > 0 && e->wall_ns > 0))
        return false;
    double mib = ask.memory_bytes / 1048576, minutes = whole_up(ask.time_ns / (60 * SECOND_NS));
    title_size(e, f, &need, ask.cores);
    advise_size(e, f, ask.cores, mib, minutes);
    find_brief(f, "needed %s", words_bytes(FACT(e, memory_peak_bytes) | SIGNS).at);
    if (ask.cores >= 1)
        find_brief(f, " and %s core%s", words_cores(ask.cores, SIGNS).at, ask.cores >= 2 ? "s" : "");
    find_brief(f, " for %s",
               words_duration(e->wall_ns, e->flags.wall_ns | (minutes >= 1 ? 0 : BARO_VALUE_LOWER_BOUND) | SIGNS).at);
    find_number(f, "ask_cores", ask.cores, 0, BARO_UNIT_REAL);
    find_number(f, "ask_memory_bytes", ask.memory_bytes, 0, BARO_UNIT_BYTES);
    find_number(f, "ask_time_ns", ask.time_ns, 0, BARO_UNIT_NS);
    find_number(f, "job.cores_mean", FACT(e, cores_mean), BARO_UNIT_REAL);
    find_number(f, "limits.memory_peak_bytes", FACT(e, memory_peak_bytes), BARO_UNIT_BYTES);
    find_number(f, "limits.memory_peak_at_most_bytes", FACT(e, memory_at_most_bytes), BARO_UNIT_BYTES);
    find_number(f, "wall_ns", FACT(e, wall_ns), BARO_UNIT_NS);
    return true;
}

static const struct baro_threshold size_thresholds[] = {
    {"memory to ask for, as a multiple of the most that it needed; rounded up to 64 MiB", ADVISE_MEMORY,
     BARO_UNIT_REAL},
    {"the same of what it may have needed, if that is more by a fifth", ADVISE_AT_MOST, BARO_UNIT_REAL},
    {"time to ask for, as a multiple of its time; rounded up to minutes; none if a limit ended it", ADVISE_TIME,
     BARO_UNIT_REAL},
    {"cores to ask for: those it had work for in all but a tenth of the time, and at most those that it might use, the "
     "most that it used at once unless others used them too, and those of the machine (where few-cores says so, those "
     "of the machine alone); not known if others kept it waiting, and it may have had work for fewer without them; "
     "rounded up from this fraction of one on",
     ADVISE_CORES, BARO_UNIT_REAL},
};
const struct verdict_rule rule_right_size = {
    {"right-size", BARO_VERDICT_NOTE,
     "What the job needed and what to ask for next time, with margins; without cores where it is not known for how "
     "many it had work; not if it runs still, was killed or ran out of memory, nor of a stretch.",
     THRESHOLDS(size_thresholds)},
    right_size,
    RULE_NEEDS_HISTORY};
