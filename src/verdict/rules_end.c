/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about what ended the job, or was refused to it: certain, however short the job was. */
#include <math.h>
#include <string.h>

#include "verdict/rule.h"

/* ---- oom ---- */

#define OOM_KILLS 1.0

static bool oom(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    bool certain = e->oom_kills_at_least >= OOM_KILLS;
    (void)s;
    if (!(e->oom_kills >= OOM_KILLS))
        return false;
    find_title(f, "%s%s of its processes %s OOM-killed", certain ? "" : "Probably ", words_count(e->oom_kills).at,
               e->oom_kills >= 2 ? "were" : "was");
    if (*e->victims)
        find_title(f, " (%s)", e->victims);
    if (e->memory_limit_bytes > 0)
        find_title(f, ": the limit is %s (%s)", words_bytes(e->memory_limit_bytes).at,
                   *e->memory_source ? e->memory_source : "source not known");
    if (e->memory_peak_bytes > 0)
        find_title(f, ", and %s was seen in use", words_bytes(e->memory_peak_bytes).at);
    find_title(f, ".");
    if (e->memory_limit_bytes > 0)
        find_advice(f, "Ask for more than %s of memory%s%s.", words_bytes(e->memory_limit_bytes).at,
                    *e->holder ? ", or find out what held it: most was held by " : "", e->holder);
    find_number(f, "limits.oom_kills", e->oom_kills, BARO_UNIT_NONE);
    find_number(f, "limits.memory_bytes", e->memory_limit_bytes, BARO_UNIT_BYTES);
    find_number(f, "limits.memory_peak_bytes", e->memory_peak_bytes, BARO_UNIT_BYTES);
    find_text(f, "limits.memory_source", e->memory_source);
    return true;
}

static const struct baro_threshold oom_thresholds[] = {
    {"processes of the job that were OOM-killed", OOM_KILLS, BARO_UNIT_NONE},
};
const struct rule rule_oom = {{"oom", BARO_VERDICT_PROBLEM,
                               "The kernel killed processes of the job because memory ran out.",
                               THRESHOLDS(oom_thresholds)},
                              oom,
                              0};

/* ---- pids-limit ---- */

#define PIDS_REFUSED 1.0

static bool pids_limit(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    (void)s;
    if (!(e->forks_refused >= PIDS_REFUSED))
        return false;
    find_title(f, "It could not start a process or thread %s times", words_count(e->forks_refused).at);
    if (e->pids > 0)
        find_title(f, ": the limit is %s (%s)", words_count(e->pids).at, e->pids_source);
    find_title(f, ".");
    find_advice(f, "Ask for a higher limit on processes and threads, or start fewer at a time.");
    find_number(f, "limits.forks_refused", e->forks_refused, BARO_UNIT_NONE);
    find_number(f, "limits.pids", e->pids, BARO_UNIT_NONE);
    return true;
}

static const struct baro_threshold pids_thresholds[] = {
    {"forks that were refused", PIDS_REFUSED, BARO_UNIT_NONE},
};
const struct rule rule_pids_limit = {{"pids-limit", BARO_VERDICT_PROBLEM,
                                      "A limit on the number of threads refused forks.", THRESHOLDS(pids_thresholds)},
                                     pids_limit,
                                     0};

/* ---- killed ---- */

static bool is_signal(const struct evidence *e, const char *name)
{
    return strcmp(e->exit_signal, name) == 0;
}

static const char *meaning(const struct evidence *e)
{
    static const struct {
        const char *signal, *meaning;
    } known[] = {
        {"SIGSEGV", "it used an address that it may not use"},
        {"SIGBUS", "it used memory that has no backing, such as a mapped file that became shorter"},
        {"SIGABRT", "it aborted itself, as a failed assertion does"},
        {"SIGILL", "it ran an instruction that this CPU does not have"},
        {"SIGFPE", "it divided by zero, or the like"},
        {"SIGXCPU", "it used up its limit of CPU time (RLIMIT_CPU)"},
        {"SIGXFSZ", "it wrote a file up to the limit of its size (RLIMIT_FSIZE)"},
        {"SIGPIPE", "it wrote to a pipe that nobody reads"},
        {"SIGKILL", "no OOM kill was seen, so somebody else sent it: a batch system at its time limit, or a user"},
        {"SIGTERM", "somebody asked it to end"},
        {"SIGINT", "somebody interrupted it"},
        {"SIGHUP", "its terminal went away"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (is_signal(e, known[i].signal))
            return known[i].meaning;
    }
    return NULL;
}

static bool killed(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    (void)s;
    if (!*e->exit_signal || (is_signal(e, "SIGKILL") && e->oom_kills >= OOM_KILLS))
        return false;
    find_title(f, "%s ended it after %s%s", e->exit_signal, words_duration(e->wall_ns).at,
               e->is_core_dumped >= 1 ? ", with a core dump" : "");
    if (meaning(e))
        find_title(f, ": %s", meaning(e));
    find_title(f, ".");
    find_text(f, "exit.signal", e->exit_signal);
    find_number(f, "wall_ns", e->wall_ns, BARO_UNIT_NS);
    return true;
}

const struct rule rule_killed = {{.name = "killed",
                                  .weight = BARO_VERDICT_PROBLEM,
                                  .help = "A signal ended the command, and not because memory ran out."},
                                 killed,
                                 0};

/* ---- failed ---- */

#define FAILED_STATUS 1.0

static bool failed(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    (void)s;
    if (!(e->exit_status >= FAILED_STATUS))
        return false;
    find_title(f, "It ended with status %s", words_count(e->exit_status).at);
    if (e->exit_status == 127)
        find_title(f, ": a shell or baro says so when a command was not found");
    else if (e->exit_status == 126)
        find_title(f, ": a shell or baro says so when a command could not be executed");
    else if (e->exit_status == 124)
        find_title(f, ": timeout(1) says so when the time was over");
    else if (e->exit_status > 128 && e->exit_status < 128 + 65)
        find_title(f, ": a shell says so of a command that signal %s ended", words_count(e->exit_status - 128).at);
    find_title(f, ".");
    find_number(f, "exit.status", e->exit_status, BARO_UNIT_NONE);
    return true;
}

static const struct baro_threshold failed_thresholds[] = {{"its exit status", FAILED_STATUS, BARO_UNIT_NONE}};
const struct rule rule_failed = {
    {"failed", BARO_VERDICT_NOTE, "The command ended with a status that is not 0.", THRESHOLDS(failed_thresholds)},
    failed,
    0};
