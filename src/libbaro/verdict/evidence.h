/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence that rules see: facts of the summary, the history of the job, and stretches of time with what was used
 * in them. Rules see nothing else. They are pure functions of it, and unit tests fill it in by hand.
 *
 * A number that is not known is NAN, so a condition such as `e->throttled_ns >= least` is false. Rules are written so
 * that they make no verdict when a condition is false.
 */
#ifndef LIBBARO_VERDICT_EVIDENCE_H
#define LIBBARO_VERDICT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/steps.h"
#include "baro/summary.h"
#include "libbaro/verdict/failure.h"
#include "libbaro/fold/points.h"

/* Facts of the summary: FACT(member, section, name). All numbers are double. */
#define VERDICT_FACTS(FACT)                                                                                            \
    FACT(wall_ns, "", "wall_ns")                                                                                       \
    FACT(start_ns, "", "start_ns")                                                                                     \
    FACT(exit_status, "exit", "status")                                                                                \
    FACT(is_core_dumped, "exit", "is_core_dumped")                                                                     \
    FACT(cpu_ns, "job", "cpu_ns")                                                                                      \
    FACT(cpu_system_ns, "job", "cpu_system_ns")                                                                        \
    FACT(cores_mean, "job", "cores_mean")                                                                              \
    FACT(cores_peak, "job", "cores_peak")                                                                              \
    FACT(run_delay_ns, "job", "run_delay_ns")                                                                          \
    FACT(run_delay_lag_ns, "job", "run_delay_lag_ns")                                                                  \
    FACT(switches, "job", "switches_voluntary")                                                                        \
    FACT(memory_peak_bytes, "limits", "memory_peak_bytes")                                                             \
    FACT(memory_at_most_bytes, "limits", "memory_peak_at_most_bytes")                                                  \
    FACT(memory_shared_bytes, "limits", "memory_peak_shared_bytes")                                                    \
    FACT(page_cache_bytes, "limits", "memory_page_cache_bytes")                                                        \
    FACT(rss_peak_bytes, "job", "rss_peak_bytes")                                                                      \
    FACT(swap_peak_bytes, "job", "swap_peak_bytes")                                                                    \
    FACT(io_read_bytes, "job", "io_read_bytes")                                                                        \
    FACT(io_write_bytes, "job", "io_write_bytes")                                                                      \
    FACT(faults_major, "job", "faults_major")                                                                          \
    FACT(threads_peak, "job", "threads_peak")                                                                          \
    FACT(processes_peak, "job", "processes_peak")                                                                      \
    FACT(processes_started, "job", "processes_started")                                                                \
    FACT(memory_limit_bytes, "limits", "memory_bytes")                                                                 \
    FACT(memory_peak_ratio, "limits", "memory_peak_ratio")                                                             \
    FACT(memory_group_ratio, "limits", "memory_group_ratio")                                                           \
    FACT(oom_kills, "limits", "oom_kills")                                                                             \
    FACT(oom_kills_at_least, "limits", "oom_kills_at_least")                                                           \
    FACT(oom_kills_at_most, "limits", "oom_kills_at_most")                                                             \
    FACT(cores, "limits", "cores")                                                                                     \
    FACT(throttled_ns, "limits", "throttled_ns")                                                                       \
    FACT(pids, "limits", "pids")                                                                                       \
    FACT(forks_refused, "limits", "forks_refused")                                                                     \
    FACT(host_cores, "host", "cores")                                                                                  \
    FACT(host_mean_cores, "host", "cpu_mean_cores")                                                                    \
    FACT(host_others_cores, "host", "cpu_others_mean_cores")                                                           \
    FACT(ranks_beside, "host", "ranks_beside")                                                                         \
    FACT(host_steal_ratio, "host", "cpu_steal_ratio")                                                                  \
    FACT(host_swap_in_bytes, "host", "swap_in_bytes")                                                                  \
    FACT(host_swap_out_bytes, "host", "swap_out_bytes")                                                                \
    FACT(gpu_visible, "gpu", "visible")                                                                                \
    FACT(gpu_used, "gpu", "used")                                                                                      \
    FACT(samples, "recorder", "samples")

/* Facts that are text; "": absent. */
#define VERDICT_TEXTS(TEXT)                                                                                            \
    TEXT(mode, "", "mode")                                                                                             \
    TEXT(event_source, "accounting", "event_source")                                                                   \
    TEXT(cgroup, "", "cgroup")                                                                                         \
    TEXT(exit_signal, "exit", "signal")                                                                                \
    TEXT(memory_source, "limits", "memory_source")                                                                     \
    TEXT(memory_doubt, "limits", "memory_peak_doubt")                                                                  \
    TEXT(cores_source, "limits", "cores_source")                                                                       \
    TEXT(pids_source, "limits", "pids_source")

/* A piece of a stretch. */
struct piece {
    uint64_t begin_ns, end_ns;
};

/* What was used within a stretch of time. It may be made of pieces: the phases of one name. Example: the phases
 * "epoch" from 1 to 2 s and from 4 to 5 s are a stretch from 1 to 5 s with a length of 2 s. */
struct stretch {
    const char *phase; /* NULL: the whole job */
    uint64_t begin_ns, end_ns;
    double wall_ns;
    const struct piece *piece; /* in order, without overlap; NULL: the stretch is one piece */
    size_t n_pieces;
    size_t phases; /* number of phases of one name in it; 0 or 1: one phase, or the job */
    double grown[FOLD_COUNTERS];
    unsigned flags[FOLD_COUNTERS]; /* enum baro_value_flag of the numbers above */
};

/* A control group of the job, while it was watched. */
struct group {
    uint32_t id;
    char name[128];                                                         /* the end of the path, if it is longer */
    double periods, throttled_periods, throttled_ns, limit_hits, high_hits; /* growth */
    double memory_limit, memory_high, anon_most, file_most, quota_cores;
    double ooms, memory; /* growth of its count of times out of memory; its memory in the last sample */
    struct group_held {
        double anon, shmem, kernel; /* what can't be dropped, in the reading with the most of it; 0: not known */
    } held;
    double cache; /* page cache in the last reading, without shared memory and tmpfs; 0: not known */
};
#define GROUPS_MOST 16u

/* A command by its CPU time, as the summary has it; the heaviest first. */
struct heavy {
    const char *name;
    double processes, cpu_ns;
    unsigned flags, processes_flags; /* flags of its CPU time, and of its processes */
};
#define COMMANDS_MOST 3u

/* A GPU or a MIG instance, as the summary has it; NAN: not known. */
struct gpu_seen {
    const char *name, *model;
    double is_instance, is_used, watched_ns, busy, busy_job, busy_others, memory_used_peak, memory_total, power_limit,
        throttled_power_ns, throttled_thermal_ns, xid_errors, xid_last, ecc_uncorrected;
};
#define GPUS_MOST 64u

struct limit_told {
    char use[160], brief[64], limit[48]; /* ": 4.02 GB; largest: cc1 3.1 GB", with one name, "rss=4 GB" */
    char name[16], action[16], by[16], largest[64];
    double value, most, t_ns;
    bool ends;     /* it ended the job; else it was only noted */
    double killed; /* processes that got SIGKILL after the grace; 0: none */
    double left;   /* processes that could not be ended; the first of them, and why */
    char left_name[64], left_why[64];
};

struct evidence {
#define MEMBER(member, section, name) double member;
    VERDICT_FACTS(MEMBER)
#undef MEMBER
    struct {
#define MEMBER(member, section, name) unsigned member;
        VERDICT_FACTS(MEMBER)
#undef MEMBER
    } flags; /* enum baro_value_flag of the facts */
#define MEMBER(member, section, name) const char *member;
    VERDICT_TEXTS(MEMBER)
#undef MEMBER
    bool is_running;          /* the tape has no end yet */
    bool is_stretch;          /* only a part of the recording was read, or is on the tape */
    bool is_cut_off;          /* the tape has no end, and no recorder is writing it any more */
    const char *holder;       /* the command that held the most at the peak of memory; "": not known */
    uint32_t clients;         /* those that had others do the work (client.h) */
    const char *failed_phase; /* path of the phase in which what failed first ended: "test/flaky"; "": none */
    const char *victims;      /* names of OOM-killed processes; "" */
    const char *kills;        /* of a machine: the first of them, each with its group and that one's limit; "" */
    bool knows_group;         /* of one of these */
    struct heavy command[COMMANDS_MOST];
    size_t n_commands, n_all_commands;
    struct gpu_seen gpu[GPUS_MOST];
    size_t n_gpus;
    struct group group[GROUPS_MOST];
    size_t n_groups;
    struct contender {
        const char *name; /* the process with several threads that gave up its CPU most often; "" */
        double threads, switches, cpu_ns, read_write_bytes;
        unsigned flags; /* flags of its switches */
    } contender;
    const struct limit_told *limit; /* of --limit: the one that ended the job, else the first; NULL: none was reached */
    const struct failure *failure;  /* why the command failed; NULL: it did not, or its end is not on the
                                     * tape */
    const struct points *history;   /* NULL: none */
    const struct fold *fold;        /* names of its runners; NULL: none */
    const struct baro_steps *steps; /* NULL: not made; then no step is named */
    struct stretch job;
};

/* Fills a stretch from the history. */
void stretch_fill(struct stretch *s, const struct points *c, const char *phase, uint64_t begin_ns, uint64_t end_ns);

/* Fills a stretch that is made of pieces, which are borrowed. A counter is known (not NAN) only if its readings lie
 * near the edges of the pieces: otherwise growth outside of them would count as growth within. */
void stretch_fill_pieces(struct stretch *s, const struct points *c, const char *phase, const struct piece *piece,
                         size_t n);
/* Returns the growth of a counter within a part of a stretch. from_ns and to_ns are offsets in the stretch, whose
 * pieces are joined. */
double stretch_growth(const struct stretch *s, const struct points *c, enum fold_term curve, uint64_t from_ns,
                      uint64_t to_ns);

/* Sets all facts to NAN and all texts to "". */
void evidence_init(struct evidence *e);
/* Fills the facts and the texts, which are borrowed from the summary. */
void evidence_of_summary(struct evidence *e, const struct baro_summary *s);

/* Gives the whole job the summary's numbers wherever the summary has them: they include the job's end exactly. */
void evidence_agree(struct evidence *e);

/* Returns how many threads ran or could have run, on average. A thread that always computes counts as 1, even on a
 * busy machine, where it has to wait. Example: 3 s of CPU time and 7 s of run delay in 10 s are 1. It is a lower
 * bound if run delay was not read for all of the CPU time. */
double stretch_demand(const struct stretch *s);
/* Returns the flag for an estimate if run delay was read for nearly all of the CPU time; else those of a lower
 * bound. */
unsigned stretch_demand_flags(const struct stretch *s);
/* Was run delay read for nearly all of the CPU time of the stretch? A condition such as `stretch_demand(s) <= most`
 * needs that. */
bool stretch_demand_is_known(const struct stretch *s);
/* Returns the demand within a part of a stretch, as stretch_growth() does; NAN if it is not known. */
double stretch_demand_within(const struct evidence *e, const struct stretch *s, uint64_t from_ns, uint64_t to_ns);
/* Is the job all processes of a machine, or of what can be seen of it? */
bool is_of_machine(const struct evidence *e);
/* Fills the demand of n equal parts of a stretch. Returns false if one of them is not known. */
bool stretch_demands(const struct evidence *e, const struct stretch *s, int n, double *ret);

#endif
