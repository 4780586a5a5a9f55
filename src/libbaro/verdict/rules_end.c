/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about what ended the job, or was refused to it. They are certain even for a short job. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/text.h"
#include "libbaro/verdict/verdict_rule.h"

/* ---- limit ---- */

static bool is_ended_by_limit(const struct evidence *e)
{
    return e->limit && e->limit->ends;
}

static bool is_memory_limit(const struct evidence *e)
{
    return is_ended_by_limit(e) && strcmp(e->limit->name, "memory") == 0;
}

static void find_limit_end(const struct limit_told *l, struct finding *f)
{
    if (!l->ends) {
        find_title(f, strcmp(l->by, "exit") == 0 ? " This was known when the process had ended."
                                                 : " It was only noted (`--on-limit mark`).");
        return;
    }
    if (l->killed > 0)
        find_title(f, " %s of its processes had not ended after %s and the grace, and got SIGKILL.",
                   words_first(words_count(l->killed, 0)).at, l->action);
    else
        find_title(f, " %s ended it.", l->action);
    if (l->left > 0)
        find_title(f, " %s could not be ended: %s (%s)%s.", words_first(words_count(l->left, 0)).at, l->left_name,
                   l->left_why, l->left > 1 ? ", ..." : "");
}

static bool limit(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct limit_told *l = e->limit;
    const enum baro_unit unit = !l                                                            ? BARO_UNIT_NONE
                                : strcmp(l->name, "processes") == 0                           ? BARO_UNIT_NONE
                                : strcmp(l->name, "cpu") == 0 || strcmp(l->name, "wall") == 0 ? BARO_UNIT_NS
                                                                                              : BARO_UNIT_BYTES;
    (void)s;
    if (!l)
        return false;
    find_title(f, "The limit %s (`--limit`) was reached after %s%s.", l->limit, words_duration(l->t_ns, 0).at, l->use);
    find_limit_end(l, f);
    find_brief(f, "%s reached after %s%s", l->limit, words_duration(l->t_ns, 0).at, l->brief);
    if (!l->ends)
        f->weight = BARO_VERDICT_ADVICE;
    find_text(f, "limit", l->name);
    find_number(f, "value", l->value, 0, unit);
    find_number(f, "most", l->most, 0, unit);
    find_number(f, "t_ns", l->t_ns, 0, BARO_UNIT_NS);
    find_text(f, "action", l->action);
    find_text(f, "by", l->by);
    find_text(f, "largest", l->largest);
    return true;
}

const struct verdict_rule rule_limit = {
    {.name = "limit",
     .weight = BARO_VERDICT_PROBLEM,
     .help = "A limit of `baro run --limit` was reached. If it ended the job, baro ended with status 124."},
    limit,
    0};

/* ---- oom ---- */

#define OOM_KILLS 1.0
#define FULL_RATIO 0.9
#define FULL_HELD 0.7
#define MOST 0.5   /* share of what was in use */
#define EXACT 0.98 /* the same: a reading with so much in all is one of the moment when that was in use */

const struct group *limiting_group(const struct evidence *e)
{
    size_t i = e->n_groups;
    while (i && e->group[i - 1].memory_limit != e->memory_limit_bytes)
        i--;
    return i ? &e->group[i - 1] : NULL;
}

/* Returns the innermost group that ran out of memory: v2 counts that in the groups above it as well. v1 counts only how
 * often a limit was hit. NULL: not known. */
static const struct group *killing_group(const struct evidence *e)
{
    for (size_t i = 0; i < e->n_groups; i++) {
        const struct group *g = &e->group[i];
        if (g->memory_limit > 0 && (isnan(g->ooms) ? g->limit_hits : g->ooms) >= 1)
            return g;
    }
    return limiting_group(e);
}

/* Returns the group that was full of memory that can't be dropped when the recording was cut off. The kernel kills the
 * recorder with the job where memory.oom.group says so, and in place of it where no process of the job is larger. Page
 * cache is read more rarely than processes. Example: a group is full of it, and a process fills the group in 2 s. */
static const struct group *full_group(const struct evidence *e)
{
    const struct points *h = e->history;
    double rss = h ? points_at(h, FOLD_RSS, points_last_ns(h, FOLD_RSS)) : NAN;
    for (size_t i = 0; e->is_cut_off && i < e->n_groups; i++) {
        const struct group *g = &e->group[i];
        double least = FULL_HELD * g->memory_limit;
        if (g->memory >= FULL_RATIO * g->memory_limit && (g->memory - g->cache >= least || rss >= least))
            return g;
    }
    return NULL;
}

bool is_out_of_memory(const struct evidence *e)
{
    return e->oom_kills >= OOM_KILLS || full_group(e);
}

bool find_memory_kind(const struct evidence *e, double used, const struct group *g, struct finding *f)
{
    double anon = g ? g->held.anon : 0, shmem = g ? g->held.shmem : 0, kernel = g ? g->held.kernel : 0;
    double least = MOST * used, most = anon >= least ? anon : shmem >= least ? shmem : kernel;
    unsigned flags = anon + shmem + kernel >= EXACT * used ? 0 : BARO_VALUE_LOWER_BOUND;
    if (!(most >= least))
        return false;
    /* The group was read at another time. Example: 94.3 MB in its reading, and 94.1 MB in the samples of processes. */
    find_title(f, ", and %s of it was %s", words_bytes(most > used ? used : most, flags).at,
               most == anon    ? "anonymous memory"
               : most == shmem ? "shared memory or tmpfs (/dev/shm)"
                               : "memory of the kernel (pipes, sockets)");
    if (e->rss_peak_bytes >= least && most != kernel && *e->holder)
        find_title(f, "; most was held by %s", e->holder);
    else if (most == shmem && e->rss_peak_bytes < least)
        find_title(f, ", which no process maps");
    find_number(f, "anonymous_bytes", anon, flags, BARO_UNIT_BYTES);
    find_number(f, "shared_bytes", shmem, flags, BARO_UNIT_BYTES);
    find_number(f, "kernel_bytes", kernel, flags, BARO_UNIT_BYTES);
    return true;
}

static void find_use(const struct evidence *e, double limit, const struct group *g, struct finding *f)
{
    double used = e->oom_kills >= OOM_KILLS ? limit : g->memory;
    if (find_memory_kind(e, used, g, f) || !(e->memory_peak_bytes > 0) || (g && e->memory_peak_bytes < MOST * limit))
        return;
    find_title(f, ", and %s was seen in use", words_bytes(FACT(e, memory_peak_bytes)).at);
    if (*e->holder)
        find_title(f, "; most of that was held by %s", e->holder);
    find_number(f, "limits.memory_peak_bytes", FACT(e, memory_peak_bytes), BARO_UNIT_BYTES);
}

static void find_killed(const struct evidence *e, struct finding *f)
{
    bool certain = e->oom_kills_at_least >= OOM_KILLS;
    find_title(f, "%s%s of its processes %s OOM-killed", certain ? "" : "Probably ",
               words_first(words_count(e->oom_kills, certain ? e->flags.oom_kills : 0)).at,
               e->oom_kills >= 2 ? "were" : "was");
    if (*e->victims)
        find_title(f, " (%s)", e->victims);
    find_number(f, "limits.oom_kills", FACT(e, oom_kills), BARO_UNIT_NONE);
}

/* "out of memory: limit 126 MB (cgroup /job), most held by python3" */
static void find_oom_brief(const struct evidence *e, double limit, const struct group *g, struct finding *f)
{
    bool certain = e->oom_kills_at_least >= OOM_KILLS;
    find_brief(f, "%sout of memory", certain ? "" : "probably ");
    if (limit > 0)
        find_brief(f, ": limit %s", words_limit(limit).at);
    if (limit > 0 && g)
        find_brief(f, " (cgroup %s)", g->name);
    if (*e->holder)
        find_brief(f, ", most held by %s", e->holder);
    else if (*e->victims)
        find_brief(f, ", killed %s", e->victims);
    if (limit > 0)
        find_hint(f, "ask for more: %s", words_limit(g ? 2 * limit : limit).at);
}

static void find_limit(const struct evidence *e, double limit, const struct group *g, struct finding *f)
{
    bool of_group = limit != e->memory_limit_bytes;
    find_title(f, ": the limit %s%s (%s%s)", e->oom_kills >= OOM_KILLS ? "is " : "of ", words_limit(limit).at,
               of_group ? "cgroup " : "",
               of_group            ? g->name
               : *e->memory_source ? e->memory_source
                                   : "source not known");
    find_number(f, "limits.memory_bytes", FACT(e, memory_limit_bytes), BARO_UNIT_BYTES);
    find_text(f, "limits.memory_source", e->memory_source);
}

/* Nobody knows how much a job needs that was killed when it had all that it may have. */
static void find_more(double limit, const struct group *g, struct finding *f)
{
    find_advice(f, "Ask for more than %s of memory", words_limit(limit).at);
    if (g)
        find_advice(f, ": how much it needs is not known, so try %s", words_limit(2 * limit).at);
    if (g && g->held.shmem >= MOST * limit)
        find_advice(f, ", or let it keep less in /dev/shm and other tmpfs");
    find_advice(f, ".");
    find_number(f, "ask_memory_bytes", g ? 2 * limit : NAN, 0, BARO_UNIT_BYTES);
}

/* The group's row may be older than the limit. Example: a limit of 100 MiB was lowered to 60 MiB 0.9 s before. */
static double limit_hit(const struct evidence *e, const struct group *g)
{
    const char *at = g ? strstr(e->memory_source, g->name) : NULL;
    return !g || (at && at[strlen(g->name)] == ' ') ? e->memory_limit_bytes : g->memory_limit;
}

/* Each kill may have another limit. */
static bool oom_of_machine(const struct evidence *e, struct finding *f)
{
    if (!(e->oom_kills >= OOM_KILLS))
        return false;
    find_title(f, "The kernel killed %s process%s because memory ran out", words_count(FACT(e, oom_kills)).at,
               e->oom_kills >= 2 ? "es" : "");
    find_brief(f, "out of memory: killed");
    if (*e->victims) {
        find_title(f, ": %s", *e->kills ? e->kills : e->victims);
        find_brief(f, " %s", e->victims);
    } else {
        find_brief(f, " %s", words_count(FACT(e, oom_kills)).at);
    }
    find_title(f, ".");
    if (e->knows_group)
        find_advice(f, "See when it was (`baro export -e event`), and what else moved then (`baro diff --at TIME`). A "
                       "group that needs more gets a higher limit.");
    else
        find_advice(f, "See when it was (`baro export -e event`), and which limits its control group had then (`baro "
                       "export -e cgroup`).");
    find_hint(f, "when: baro export -e event");
    find_number(f, "limits.oom_kills", FACT(e, oom_kills), BARO_UNIT_NONE);
    return true;
}

static bool oom(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    if (is_of_machine(e))
        return oom_of_machine(e, f);
    bool killed = e->oom_kills >= OOM_KILLS;
    const struct group *g = killed ? killing_group(e) : full_group(e);
    double limit = limit_hit(e, g);
    (void)s;
    if ((!killed && !g) || is_memory_limit(e))
        return false;
    if (killed)
        find_killed(e, f);
    else
        find_title(f, "Memory probably ran out, and the recorder was killed as well");
    if (limit > 0)
        find_limit(e, limit, g, f);
    if (!killed)
        find_title(f, " was %s full in the last sample", words_percent(g->memory / limit, 0).at);
    find_use(e, limit, g, f);
    find_title(f, ".");
    if (limit > 0)
        find_more(limit, g, f);
    find_oom_brief(e, limit, g, f);
    return true;
}

static const struct baro_threshold oom_thresholds[] = {
    {"processes of the job that were OOM-killed", OOM_KILLS, BARO_UNIT_NONE},
    {"or, where the tape has no end, what its last sample has of a control group's memory, as a share of the limit",
     FULL_RATIO, BARO_UNIT_RATIO},
    {"and of that what is no page cache, or what processes have resident", FULL_HELD, BARO_UNIT_RATIO},
};
const struct verdict_rule rule_oom = {
    {"oom", BARO_VERDICT_PROBLEM,
     "The kernel killed processes of the job because memory ran out, or probably did: "
     "the recording was cut off when the limit was nearly reached.",
     THRESHOLDS(oom_thresholds)},
    oom,
    RULE_OF_MACHINES};

/* ---- pids-limit ---- */

#define PIDS_REFUSED 1.0

static bool pids_limit(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    (void)s;
    if (!(e->forks_refused >= PIDS_REFUSED))
        return false;
    find_title(f, "It could not start a process or thread %s times", words_count(FACT(e, forks_refused)).at);
    if (e->pids > 0)
        find_title(f, ": the limit is %s (%s)", words_count(FACT(e, pids)).at, e->pids_source);
    find_title(f, ".");
    find_advice(f, "Ask for a higher limit on processes and threads, or start fewer at a time.");
    find_brief(f, "%s fork%s refused", words_count(FACT(e, forks_refused) | SIGNS).at,
               e->forks_refused >= 2 ? "s" : "");
    if (e->pids > 0)
        find_brief(f, " at the limit of %s (%s)", words_count(FACT(e, pids)).at, e->pids_source);
    find_hint(f, "ask for a higher limit, or start fewer at a time");
    find_number(f, "limits.forks_refused", FACT(e, forks_refused), BARO_UNIT_NONE);
    find_number(f, "limits.pids", FACT(e, pids), BARO_UNIT_NONE);
    return true;
}

static const struct baro_threshold pids_thresholds[] = {
    {"forks that were refused", PIDS_REFUSED, BARO_UNIT_NONE},
};
const struct verdict_rule rule_pids_limit = {{"pids-limit", BARO_VERDICT_PROBLEM,
                                              "A limit on the number of threads refused forks.",
                                              THRESHOLDS(pids_thresholds)},
                                             pids_limit,
                                             0};

/* ---- killed ---- */

static bool is_signal(const struct evidence *e, const char *name)
{
    return strcmp(e->exit_signal, name) == 0;
}

static const char *meaning_of(const char *signal)
{
    static const struct {
        const char *signal, *meaning;
    } known[] = {
        {"SIGSEGV", "it used an address that it may not use"},
        {"SIGBUS", "it used memory that has no backing, such as a mapped file that became shorter"},
        {"SIGABRT", "it aborted itself, as a failed assertion does"},
        {"SIGILL", "it ran an instruction that this CPU does not have"},
        {"SIGFPE", "it divided by zero, or the like"},
        {"SIGXCPU", "it used up its limit of CPU time (RLIMIT_CPU, `ulimit -t`)"},
        {"SIGXFSZ", "it wrote a file up to the limit of its size (RLIMIT_FSIZE, `ulimit -f`)"},
        {"SIGPIPE", "it wrote to a pipe that nobody reads"},
        {"SIGTERM", "somebody asked it to end"},
        {"SIGINT", "somebody interrupted it"},
        {"SIGHUP", "its terminal went away"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(signal, known[i].signal) == 0)
            return known[i].meaning;
    }
    return NULL;
}

/* Explains a signal that ended a process. end: NULL: not known. Returns false if nothing is known of the cause. */
static bool find_cause(struct finding *f, char separator, const char *signal, const struct failure_end *end)
{
    const char *meaning = meaning_of(signal);
    bool is_limit = strcmp(signal, "SIGKILL") == 0 && end && end->cpu_limit_ns;
    if (is_limit) {
        find_title(f, "%c it used up its limit of CPU time, %s (RLIMIT_CPU, `ulimit -t`)", separator,
                   words_duration((double)end->cpu_limit_ns, 0).at);
        find_number(f, "cpu_limit_ns", (double)end->cpu_limit_ns, 0, BARO_UNIT_NS);
    } else if (meaning)
        find_title(f, "%c %s", separator, meaning);
    return is_limit || meaning;
}

static bool killed(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    (void)s;
    if (!*e->exit_signal || is_ended_by_limit(e) || (is_signal(e, "SIGKILL") && e->oom_kills >= OOM_KILLS))
        return false;
    find_title(f, "%s ended it after %s%s", e->exit_signal, words_duration(FACT(e, wall_ns)).at,
               e->is_core_dumped >= 1 ? ", with a core dump" : "");
    if (!find_cause(f, ':', e->exit_signal, e->failure ? &e->failure->first : NULL) && is_signal(e, "SIGKILL"))
        find_title(f, e->oom_kills_at_most >= OOM_KILLS
                          ? ": whether that was an OOM kill is not known"
                          : ": no OOM kill was seen, so somebody else sent it: a batch system at its time limit, or a "
                            "user");
    find_title(f, ".");
    find_brief(f, "%s after %s", e->exit_signal, words_duration(FACT(e, wall_ns) | SIGNS).at);
    if (meaning_of(e->exit_signal))
        find_brief(f, ": %s", meaning_of(e->exit_signal));
    find_text(f, "exit.signal", e->exit_signal);
    find_number(f, "wall_ns", FACT(e, wall_ns), BARO_UNIT_NS);
    return true;
}

const struct verdict_rule rule_killed = {{.name = "killed",
                                          .weight = BARO_VERDICT_PROBLEM,
                                          .help = "A signal ended the command, and not because memory ran out."},
                                         killed,
                                         0};

/* ---- failed ---- */

#define FAILED_STATUS 1.0

static struct words of_signal(int number)
{
    struct words w;
    const char *name = baro_signal_name(number);
    snprintf(w.at, sizeof(w.at), "%s%.0d", name ? name : "signal ", name ? 0 : number);
    return w;
}

/* Explains a status by the convention of shells and other programs. */
static void find_custom(struct finding *f, double status)
{
    if (status == 127)
        find_title(f, ": a shell or baro says so when a command was not found");
    else if (status == 126)
        find_title(f, ": a shell or baro says so when a command could not be executed");
    else if (status == 124)
        find_title(f, ": timeout(1) says so when the time was over");
    else if (status > 128 && status < 128 + 65) {
        const struct words signal = of_signal((int)status - 128);
        find_title(f, ": a shell says so of a command that %s ended", signal.at);
        find_cause(f, ';', signal.at, NULL);
    }
}

static void find_process(struct finding *f, const struct failure_end *end)
{
    if (*end->command)
        find_title(f, "`%s`", end->command);
    else if (*end->name)
        find_title(f, "%s", end->name);
    else
        find_title(f, "process %d", (int)end->process.pid);
}

/* "status 1 at +58.9 s": since the tape began, as for `baro show --at` */
static void find_end(struct finding *f, const struct failure_end *end)
{
    if (WIFSIGNALED(end->status))
        find_title(f, "%s%s", of_signal(WTERMSIG(end->status)).at, WCOREDUMP(end->status) ? " and a core dump" : "");
    else
        find_title(f, "status %d", WEXITSTATUS(end->status));
    find_title(f, " at +%s", words_duration((double)end->t_ns, 0).at);
}

static void find_above(struct finding *f, const struct failure *why)
{
    if (*why->above)
        find_title(f, ", below `%s`", why->above);
}

static void find_after(struct finding *f, const struct failure *why)
{
    unsigned more = why->n_after - why->n_named;
    if (!why->n_named)
        return;
    find_title(f, " %s", why->after);
    if (more)
        find_title(f, " and %s more", words_count(more, 0).at);
    find_title(f, " passed that on.");
}

static void find_before(struct finding *f, const struct failure *why)
{
    if (!why->n_before)
        return;
    unsigned flags = why->before_is_bound ? BARO_VALUE_LOWER_BOUND : 0;
    find_title(f, " Before that %s %s failed, and what had started %s went on",
               words_count((double)why->n_before, flags).at, why->n_before == 1 ? "process had" : "processes had",
               why->n_before == 1 ? "it" : "them");
    if (why->before.process.pid) {
        find_title(f, why->n_before == 1 ? ": " : "; the last was ");
        find_process(f, &why->before);
        find_title(f, ", with ");
        find_end(f, &why->before);
    }
    find_title(f, ".");
    find_number(f, "failed_before", (double)why->n_before, flags, BARO_UNIT_NONE);
}

/* The connector reports the statuses of all processes. Where perf reports their ends, or they are found by their pids,
 * some statuses are known, and that of the process that failed first may not be. Example: a probe that ended with 4 is
 * known, the sh that made `make -C src` fail with 7 is not. */
static bool first_is_known(const struct evidence *e, const struct failure *why)
{
    return why->first.status_known && strcmp(e->event_source, "scan") != 0 && strcmp(e->event_source, "perf") != 0;
}

static void find_not_known(struct finding *f, double status, const struct failure *why)
{
    if (status > 128)
        find_custom(f, status);
    find_title(f, ". What failed first is not known, as the statuses of its processes are not; the last that ended "
                  "before it was ");
    find_process(f, &why->first);
    find_title(f, " at +%s", words_duration((double)why->first.t_ns, 0).at);
    find_above(f, why);
    find_title(f, "%s%s", why->n_named ? ", and then " : "", why->after);
    find_cause(f, ';', "SIGKILL", &why->first);
    find_title(f, ".");
}

static void find_first(struct finding *f, const struct failure *why)
{
    find_title(f, why->is_probable ? ": probably " : ": ");
    find_process(f, &why->first);
    find_title(f, " failed first, with ");
    find_end(f, &why->first);
    find_above(f, why);
    if (WIFEXITED(why->first.status))
        find_custom(f, WEXITSTATUS(why->first.status));
    else
        find_cause(f, ';', of_signal(WTERMSIG(why->first.status)).at, &why->first);
    find_title(f, ".");
    find_after(f, why);
}

static void find_failure_numbers(struct finding *f, const struct failure *why, bool is_known)
{
    const struct failure_end *first = &why->first;
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)first->process.pid); /* without a separator of thousands */
    find_text(f, "first_pid", pid);
    find_text(f, "first_name", first->name);
    find_text(f, "first_command", first->command);
    find_number(f, "first_end_ns", (double)first->t_ns, 0, BARO_UNIT_NS);
    if (is_known && WIFSIGNALED(first->status))
        find_text(f, "first_signal", of_signal(WTERMSIG(first->status)).at);
    else if (is_known)
        find_number(f, "first_status", WEXITSTATUS(first->status), 0, BARO_UNIT_NONE);
    find_text(f, "below", why->above);
    find_text(f, "failed_after", why->after);
}

/* What a status means by convention, in a few words; "". */
static struct words meaning_of_status(int status)
{
    struct words w = {""};
    const char *means = status == 127   ? ": command not found"
                        : status == 126 ? ": it could not be executed"
                        : status == 124 ? ": timeout(1) ended it"
                                        : "";
    if (status > 128 && status < 128 + 65)
        snprintf(w.at, sizeof(w.at), ": %.40s", of_signal(status - 128).at);
    else
        snprintf(w.at, sizeof(w.at), "%s", means);
    return w;
}

/* "in phase test/flaky: `sh tests/flaky.sh`, status 1" */
static void find_failed_brief(const struct evidence *e, const struct failure *why, bool is_known, struct finding *f)
{
    if (*e->failed_phase)
        find_brief(f, "in phase %s: ", e->failed_phase);
    if (!why || !why->is_of_child || !is_known) {
        find_brief(f, "status %s%s", words_count(FACT(e, exit_status)).at, meaning_of_status((int)e->exit_status).at);
        return;
    }
    const struct failure_end *first = &why->first;
    find_brief(f, "%s, ", *first->command ? first->command : *first->name ? first->name : "a process");
    if (WIFSIGNALED(first->status))
        find_brief(f, "%s", of_signal(WTERMSIG(first->status)).at);
    else
        find_brief(f, "status %d%s", WEXITSTATUS(first->status), meaning_of_status(WEXITSTATUS(first->status)).at);
}

static bool is_oom_kill(const struct evidence *e)
{
    const struct failure *why = e->failure;
    bool killed = why && why->first.status_known
                      ? WIFSIGNALED(why->first.status) && WTERMSIG(why->first.status) == SIGKILL
                      : e->exit_status == 128 + SIGKILL;
    return e->oom_kills >= OOM_KILLS && killed;
}

static bool apply_failed(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct failure *why = e->failure;
    (void)s;
    if (!(e->exit_status >= FAILED_STATUS) || is_oom_kill(e) || is_ended_by_limit(e))
        return false;
    find_title(f, "It ended with status %s", words_count(FACT(e, exit_status)).at);
    if (*e->failed_phase)
        find_title(f, " in phase %s", e->failed_phase);
    find_number(f, "exit.status", FACT(e, exit_status), BARO_UNIT_NONE);
    find_text(f, "phase", e->failed_phase);
    find_failed_brief(e, why, why && first_is_known(e, why), f);
    bool is_itself = !why || !why->is_of_child;
    if (is_itself) {
        find_custom(f, e->exit_status);
        find_title(f, ".");
    } else if (first_is_known(e, why)) {
        find_first(f, why);
    } else {
        find_not_known(f, e->exit_status, why);
    }
    if (why)
        find_before(f, why);
    if (!is_itself)
        find_failure_numbers(f, why, first_is_known(e, why));
    return true;
}

static const struct baro_threshold failed_thresholds[] = {{"its exit status", FAILED_STATUS, BARO_UNIT_NONE}};
const struct verdict_rule rule_failed = {
    {"failed", BARO_VERDICT_PROBLEM, "The command ended with a status that is not 0.", THRESHOLDS(failed_thresholds)},
    apply_failed,
    0};
