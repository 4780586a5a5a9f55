/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about waiting for anything but CPU or memory: storage, locks, the network, or an unknown cause. */
#include <math.h>
#include <string.h>

#include "libbaro/verdict/verdict_rule.h"

/* ---- io-wait ---- */

#define IO_SHARE 0.2
#define IO_BYTES 1e6
#define IO_FAULTS 100.0

/* Does the job have a control group that holds nothing else? */
static bool has_own_group(const struct evidence *e)
{
    return strcmp(e->cgroup, "own") == 0 || strcmp(e->cgroup, "target") == 0;
}

static double io_share(const struct evidence *e, const struct stretch *s)
{
    double own = s->grown[FOLD_GROUP_IO] / s->wall_ns;
    return has_own_group(e) && !isnan(own) ? own : s->grown[FOLD_BLOCKED] / s->wall_ns;
}

static unsigned io_flags(const struct evidence *e, const struct stretch *s)
{
    return s->flags[has_own_group(e) && !isnan(s->grown[FOLD_GROUP_IO]) ? FOLD_GROUP_IO : FOLD_BLOCKED];
}

bool is_waiting_for_storage(const struct evidence *e, const struct stretch *s)
{
    double bytes = s->grown[FOLD_READ] + s->grown[FOLD_WRITTEN];
    return io_share(e, s) >= IO_SHARE && (bytes >= IO_BYTES || s->grown[FOLD_FAULTS] >= IO_FAULTS);
}

static bool io_wait(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    double rate = (s->grown[FOLD_READ] + s->grown[FOLD_WRITTEN]) / s->wall_ns * SECOND_NS;
    if (!is_waiting_for_storage(e, s) || is_short_of_memory(e, s))
        return false;
    find_title(f, "It waited for storage %s of the time: it read %s and wrote %s, %s a second.",
               words_percent(io_share(e, s), io_flags(e, s)).at, words_bytes(GROWN(s, FOLD_READ)).at,
               words_bytes(GROWN(s, FOLD_WRITTEN)).at,
               words_bytes(rate, s->flags[FOLD_READ] | s->flags[FOLD_WRITTEN]).at);
    find_advice(f,
                "Use faster or local storage (a tmpfs, a local disk), read or write less, or let several threads read "
                "at a time.");
    find_brief(f, "waited %s of the time for storage: read %s, wrote %s",
               words_percent(io_share(e, s), io_flags(e, s) | SIGNS).at, words_bytes(GROWN(s, FOLD_READ) | SIGNS).at,
               words_bytes(GROWN(s, FOLD_WRITTEN) | SIGNS).at);
    find_hint(f, "use faster storage, or read in parallel");
    find_number(f, "io_wait_ratio", io_share(e, s), io_flags(e, s), BARO_UNIT_RATIO);
    find_number(f, "io_read_bytes", GROWN(s, FOLD_READ), BARO_UNIT_BYTES);
    find_number(f, "io_write_bytes", GROWN(s, FOLD_WRITTEN), BARO_UNIT_BYTES);
    find_number(f, "faults_major", GROWN(s, FOLD_FAULTS), BARO_UNIT_NONE);
    find_text(f, "source",
              has_own_group(e) && !isnan(s->grown[FOLD_GROUP_IO]) ? "pressure of the job's own control group"
                                                                  : "processes in uninterruptible sleep (state D)");
    return true;
}

static const struct baro_threshold io_thresholds[] = {
    {"time in which a process waited for storage (pressure of the job's own control group; else time in which one was "
     "in "
     "uninterruptible sleep), as a share",
     IO_SHARE, BARO_UNIT_RATIO},
    {"bytes that it read from and wrote to storage", IO_BYTES, BARO_UNIT_BYTES},
    {"or page faults that needed I/O", IO_FAULTS, BARO_UNIT_NONE},
};
const struct verdict_rule rule_io_wait = {{"io-wait", BARO_VERDICT_PROBLEM,
                                           "Processes of the job waited for storage, and not because memory was short.",
                                           THRESHOLDS(io_thresholds)},
                                          io_wait,
                                          RULE_OF_PHASES | RULE_NEEDS_HISTORY};

/* ---- lock-contention ---- */

#define LOCK_SWITCHES 1000.0
#define LOCK_DEMAND 0.7
#define LOCK_BYTES 1.0
#define LOCK_PACKETS 0.2
#define LOCK_STARTED 10.0 /* a process that starts another one and waits for it gives up its CPU two or three times */

static double per_second(const struct stretch *s, double n)
{
    return n / s->wall_ns * SECOND_NS;
}

bool is_contended(const struct evidence *e, const struct stretch *s)
{
    const struct contender *c = &e->contender;
    double threads = c->threads <= e->cores ? c->threads : e->cores,
           packets = isnan(s->grown[FOLD_PACKETS]) ? 0 : s->grown[FOLD_PACKETS];
    return !s->phase && c->threads >= 2 && per_second(s, c->switches) >= LOCK_SWITCHES &&
           stretch_demand(s) <= LOCK_DEMAND * threads && stretch_demand_is_known(s) &&
           c->read_write_bytes <= LOCK_BYTES * c->switches && packets <= LOCK_PACKETS * c->switches &&
           c->switches >= LOCK_STARTED * e->processes_started;
}

static bool lock_contention(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct contender *c = &e->contender;
    if (!is_contended(e, s))
        return false;
    find_title(f,
               "The %s threads of %s gave up their CPU %s times a second without reading or writing, and had work for "
               "%s cores: they probably wait for each other, for a lock.",
               words_count(c->threads, 0).at, c->name, words_count(per_second(s, c->switches), c->flags).at,
               words_cores(stretch_demand(s), stretch_demand_flags(s)).at);
    find_advice(f, "Hold the lock for a shorter time, or divide what it protects; fewer threads may be faster "
                   "(perf lock, or perf trace -s, shows which lock).");
    find_brief(f, "%s threads of %s gave up their CPU %s times/s: a lock?", words_count(c->threads, 0).at, c->name,
               words_count(per_second(s, c->switches), c->flags | SIGNS).at);
    find_hint(f, "hold the lock shorter, or fewer threads");
    find_number(f, "switches_per_second", per_second(s, c->switches), c->flags, BARO_UNIT_NONE);
    find_number(f, "threads", c->threads, 0, BARO_UNIT_NONE);
    find_number(f, "demand_cores", stretch_demand(s), stretch_demand_flags(s), BARO_UNIT_REAL);
    find_text(f, "command", c->name);
    return true;
}

static const struct baro_threshold lock_thresholds[] = {
    {"voluntary context switches per second of one process with several threads", LOCK_SWITCHES, BARO_UNIT_NONE},
    {"threads that ran or could have run, as a share of its threads or of the cores that it may use, at most",
     LOCK_DEMAND, BARO_UNIT_RATIO},
    {"bytes that it read and wrote per switch, at most", LOCK_BYTES, BARO_UNIT_BYTES},
    {"packets that the machine received per switch, at most", LOCK_PACKETS, BARO_UNIT_REAL},
    {"switches per process that the job started", LOCK_STARTED, BARO_UNIT_NONE},
};
const struct verdict_rule rule_lock_contention = {
    {"lock-contention", BARO_VERDICT_PROBLEM,
     "Threads of one process gave up their CPU very often, read and wrote next to nothing, and left cores idle.",
     THRESHOLDS(lock_thresholds)},
    lock_contention,
    RULE_NEEDS_HISTORY};

/* ---- network-wait, idle ---- */

#define IDLE_DEMAND 0.1
#define NETWORK_SWITCHES 5.0
#define NETWORK_SWITCHES_LEAST 100.0 /* a few packets of others come in at any time */
#define NETWORK_PACKETS 0.3

static bool is_idle(const struct evidence *e, const struct stretch *s)
{
    return stretch_demand(s) <= IDLE_DEMAND && stretch_demand_is_known(s) && !is_waiting_for_storage(e, s) &&
           !is_short_of_memory(e, s) && !is_throttled(e, s);
}

static bool is_network(const struct stretch *s)
{
    return per_second(s, s->grown[FOLD_SWITCHES]) >= NETWORK_SWITCHES &&
           s->grown[FOLD_SWITCHES] >= NETWORK_SWITCHES_LEAST &&
           s->grown[FOLD_PACKETS] >= NETWORK_PACKETS * s->grown[FOLD_SWITCHES];
}

static bool network_wait(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    if (!is_idle(e, s) || !is_network(s) || is_contended(e, s))
        return false;
    find_title(f,
               "It had work for %s cores and waited otherwise, %s times, while %s packets came in: it probably waited "
               "for the network.",
               words_cores(stretch_demand(s), stretch_demand_flags(s)).at, words_count(GROWN(s, FOLD_SWITCHES)).at,
               words_count(GROWN(s, FOLD_PACKETS)).at);
    find_advice(f, "Ask for several things at a time, or find out why the other side is slow.");
    find_brief(f, "had work for %s cores, and probably waited for the network",
               words_cores(stretch_demand(s), stretch_demand_flags(s) | SIGNS).at);
    find_hint(f, "ask for several things at a time");
    find_number(f, "demand_cores", stretch_demand(s), stretch_demand_flags(s), BARO_UNIT_REAL);
    find_number(f, "switches_voluntary", GROWN(s, FOLD_SWITCHES), BARO_UNIT_NONE);
    find_number(f, "packets_received", GROWN(s, FOLD_PACKETS), BARO_UNIT_NONE);
    return true;
}

static bool idle(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    if (!is_idle(e, s) || is_network(s) || is_contended(e, s))
        return false;
    find_title(f, "It did next to nothing: %s of CPU time in %s, and it waited neither for storage nor for memory.",
               words_duration(GROWN(s, FOLD_CPU)).at, words_duration(s->wall_ns, 0).at);
    find_advice(f, "It slept, or waited for something outside: a timer, another process, the network.");
    find_brief(f, "%s of CPU time in %s", words_duration(GROWN(s, FOLD_CPU) | SIGNS).at,
               words_duration(s->wall_ns, 0).at);
    find_number(f, s->phase ? "cpu_ns" : "job.cpu_ns", GROWN(s, FOLD_CPU), BARO_UNIT_NS);
    find_number(f, "demand_cores", stretch_demand(s), stretch_demand_flags(s), BARO_UNIT_REAL);
    find_number(f, "switches_voluntary", GROWN(s, FOLD_SWITCHES), BARO_UNIT_NONE);
    return true;
}

static const struct baro_threshold network_thresholds[] = {
    {"threads that ran or could have run, on average, at most", IDLE_DEMAND, BARO_UNIT_REAL},
    {"voluntary context switches per second", NETWORK_SWITCHES, BARO_UNIT_NONE},
    {"voluntary context switches in all", NETWORK_SWITCHES_LEAST, BARO_UNIT_NONE},
    {"packets that the machine received per switch", NETWORK_PACKETS, BARO_UNIT_REAL},
};
const struct verdict_rule rule_network_wait = {
    {"network-wait", BARO_VERDICT_NOTE,
     "The job was idle and woke up often, and the machine received packets as often. (Linux does not say whose packets "
     "they were, so this is likely and no more.)",
     THRESHOLDS(network_thresholds)},
    network_wait,
    RULE_OF_PHASES | RULE_NEEDS_HISTORY};

static const struct baro_threshold idle_thresholds[] = {
    {"threads that ran or could have run, on average, at most", IDLE_DEMAND, BARO_UNIT_REAL},
};
const struct verdict_rule rule_idle = {{"idle", BARO_VERDICT_NOTE,
                                        "The job used next to no CPU time and waited for no resource that can be seen.",
                                        THRESHOLDS(idle_thresholds)},
                                       idle,
                                       RULE_OF_PHASES | RULE_NEEDS_HISTORY};
