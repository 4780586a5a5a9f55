/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in a nutshell, made record by record: by the recorder while it writes, and by readers from the tape. Both
 * get the same result, because they use the same code. Adding a sample takes O(processes), and allocates nothing once
 * the tables have grown.
 *
 * Totals are those of the last row of the job, and are never computed anew. A sum over processes is a lower bound if a
 * member lacks the value, and is marked as one.
 */
#ifndef LIBBARO_SUMMARY_SUMMARY_H
#define LIBBARO_SUMMARY_SUMMARY_H

#include "baro/error.h"
#include "libbaro/fold/points.h"
#include "libbaro/interval/derive.h"
#include "libbaro/sample/limit.h"
#include "libbaro/sample/sample.h"
#include "libbaro/summary/commands.h"
#include "libbaro/summary/course.h"
#include "libbaro/summary/needed.h"
#include "libbaro/summary/oom.h"
#include "libbaro/summary/tasks.h"
#include "libbaro/summary/together.h"

/* Sums over the tree whose largest value is kept. */
enum summary_peak_kind { PEAK_RSS, PEAK_PSS, PEAK_USS, PEAK_SWAP, PEAK_THREADS, PEAK_FDS, PEAK_MAX };

#define SUMMARY_HOLDERS 4

struct summary_holder {
    uint32_t command; /* index into commands */
    uint32_t processes;
    uint64_t value;
};

struct summary_peak {
    uint64_t value, t_ns;
    size_t members, covered; /* members in the sample of the peak, and how many of them had the value */
    int absent;              /* enum baro_absent */
    bool stale;              /* pss and uss: the sum has stale values (derive_is_stale()) */
    struct summary_holder top[SUMMARY_HOLDERS]; /* for memory: the commands that held most of it, largest first */
    size_t n_top;
};

/* CPU time of the processes of one name, in user mode and in the kernel. */
struct summary_split {
    uint64_t user_ns, system_ns; /* their sum is the command's CPU time */
    int absent;                  /* enum baro_absent */
    bool is_estimate;            /* the split of some processes was not known */
};

/* A process as the last sample saw it. */
struct summary_alive {
    uint32_t id, command;
    struct baro_key key;
    uint32_t absent; /* bit per enum command_value */
    uint64_t value[COMMAND_MAX];
    uint64_t rss_most; /* stretch.c: of a process that was there before the stretch, in its samples */
};

/* The process with the largest high-water mark of those that have ended. */
struct summary_largest {
    uint64_t value;
    uint32_t command; /* index into commands */
    bool known;
};

/* The most memory that the job had resident: rss_peak.c. */
struct summary_rss {
    uint64_t value;
    int absent;      /* enum baro_absent */
    bool is_bound;   /* the peak may have been higher */
    bool of_process; /* value is the mark of one process, which exceeds every sampled sum over the tree */
    bool unsampled;  /* the mark exceeds every sampled sum by over 5 %: the peak was between samples */
    /* The peak may have been higher by 3 % or more: the marks of processes that were alive together allow it, or
     * processes that no sample has used enough CPU time for it. */
    bool exceeded;
    uint64_t at_most;    /* the upper bound that these marks give */
    int at_most_absent;  /* why at_most is absent; BARO_ABSENT_NONE: value is no lower bound */
    bool at_most_unsure; /* some processes, or their last marks, are not known */
    uint64_t mark;       /* largest mark of any one process; 0: not known */
    bool has_holder;     /* the process with that mark is known: */
    uint32_t holder;     /* index into commands */
};

/* What the job held under its present limits: since they changed, or from the start. */
struct summary_held {
    uint64_t since_ns;              /* when the limits changed; 0: from the start */
    struct fold_cell address_space; /* largest address space of one process in any sample */
    struct derive_peak cores;
};

/* What the header says of the recording. */
struct summary_subject {
    enum baro_mode mode;
    char **argv;
    char **tags; /* KEY=VALUE each */
    size_t n_argv, n_tags;
    char name[256];
    char host[65], kernel[65], machine_type[65], cpu_model[128];
    uint32_t numa_nodes; /* 0: not known */
    char event_source[16], exit_source[16], perf_refused[32];
    char job_id[64], step_id[64], rank[32], node[128]; /* of the batch system and the launcher of ranks; "": none */
    uint32_t ranks, local_ranks, attempt;              /* 0: not known */
    int64_t start_realtime_ns;
    uint64_t memory_total;
    uint32_t cpus;
    uint64_t overhead_ppm; /* the budget of the recorder, in millionths of a core; 0: no limit */
    char cgroup_mode[16];  /* as on the tape: "own", "none", "target", "members", "machine", "visible", or "" where it
                              was no question */
    bool own_cgroup;       /* a control group was made for the command */
    bool is_machine;       /* the job is all processes of the machine (record --all) */
    bool is_cgroup;        /* the job is a control group: the one made for it, or the target */
    size_t n_targets;
    int32_t *targets;     /* attach: their pids */
    char target_name[64]; /* name of the first one in its first sample */
};

/* What was seen of the tape. */
struct summary_extent {
    uint64_t samples;           /* seen here; the recorder's own count is in its row */
    uint64_t first_ns, last_ns; /* times of samples */
    uint64_t damaged_bytes;
    bool cut_off;     /* it has no end, and no recorder is writing it */
    bool removed;     /* the beginning of the tape was removed (--keep) */
    bool part_begins; /* the next sample is the first one of a part of the tape that is not the first part */
    bool has_start;   /* baro_header_has_start() */
    uint32_t thinned; /* baro_header_thinned() */
    bool is_stretch;  /* the tape is a stretch of a recording, */
    bool is_within;   /* which does not begin where that does: what was used before the first sample does not count */
};

/* The job's start and end. */
struct summary_life {
    bool started, ended, status_known, wrapper_lost;
    bool machine_counts; /* CPU time comes from /proc/stat */
    bool group_counts;   /* CPU time comes from the job's own control group */
    bool detached;       /* stopped while its targets lived */
    uint64_t start_ns, end_ns;
    int status;           /* wait status, if status_known */
    char exit_signal[16]; /* "SIGKILL"; the number of a signal without a name */
    struct {
        bool known; /* the recorder attached, and what the targets had used before is known */
        uint64_t cpu_ns;
    } before;
};

/* Events that qualify the recording. */
struct summary_incidents {
    uint64_t gaps, gap_ns, suspended_ns, clock_steps, survivors, warnings, lossy_samples;
    bool is_resumed;                              /* another recorder went on with the counts of the one before */
    bool has_parts;                               /* another recorder began the next part of the tape */
    bool memory_counts_twice;                     /* processes with one address space may each count its memory */
    char thinned[96], survivor[64], warning[160]; /* the last text of each */
};

/* The limits that hold now, and what the job held under them. */
struct summary_limits {
    struct baro_limits now;
    bool known;
    struct summary_held held;
    struct needed needed;
};

/* Limits of --limit that were reached, in that order; each once. */
struct summary_reached {
    struct summary_limit_reached {
        struct limit_reached is;              /* without its texts */
        char action[16], by[16], largest[64]; /* as of the event */
        bool is_killed;                       /* the grace was over */
        uint64_t left;
    } at[LIMIT_KINDS];
    size_t n;
    char ended_by[16]; /* "": none ended the job */
};

/* The last rows of the job and of the recorder. */
struct summary_rows {
    uint64_t job[JOB_MAX];
    uint8_t job_absent[JOB_MAX];
    uint64_t self[RECORDER_MAX];
    uint8_t self_absent[RECORDER_MAX];
    uint64_t job_before[JOB_MAX], self_before[RECORDER_MAX]; /* of a stretch: the counters of its first sample */
    uint64_t rss_most, processes_most;                       /* of a stretch: of one process, and of all, in a sample */
    uint64_t self_first_ns, self_first_cpu_ns; /* use at the first sample that has it: the cost of starting */
};

struct summary_peaks {
    struct summary_peak sum[PEAK_MAX]; /* in the order of the sums of struct fold */
    /* for pss and uss: the largest upper bound in a sample in which some members lack the value or it is stale */
    uint64_t unsure_most[PEAK_MAX];
    struct summary_largest largest;
    struct together together;
};

/* Processes as the last samples saw them, until their exits come. */
struct summary_living {
    struct summary_alive *alive; /* of the last sample */
    size_t n_alive, cap_alive;
    struct summary_alive *base; /* attached: of the first sample, and of later members that had run before */
    size_t n_base, cap_base;
    uint32_t newest_id;
    uint32_t *ended_ids; /* since the last sample */
    size_t n_ended, cap_ended;
    struct summary_alive *left; /* of the last sample of the part of the tape before, by pid; NULL: none */
    size_t n_left;
};

/* Sums of brief lives, as the last sample had them. */
struct summary_briefs {
    struct summary_brief {
        uint64_t value[BRIEF_MAX];
    } * at;
    size_t n, cap;
    struct map by_id; /* indexes into at[] */
};

/* What a living process had used by the time at which it executed another program. */
struct summary_program {
    struct baro_key key;
    uint32_t command; /* index into commands: of the program before */
    uint64_t cpu_ns, rss;
};

struct summary_programs {
    struct summary_program *at;
    size_t n, cap;
};

/* Memory of GPUs that no single one has. */
struct summary_gpus {
    uint64_t memory_job_most; /* the most that the job held on all devices together in one sample */
    uint64_t allocator_most;  /* the most on one device that marks of PyTorch or JAX report */
    bool has_allocator;
    double grams_per_kwh; /* emissions of the grid, as the user gave them; 0: not given */
};

/* What summary_finish() makes of all that was added. */
struct summary_finished {
    struct command *counted; /* a copy of the commands that includes the living processes */
    uint32_t *order;         /* indexes into counted, most CPU time first, without commands that have no processes */
    size_t n_order;
    uint64_t nameless;     /* processes whose name is not known */
    uint64_t nameless_ns;  /* and their CPU time */
    bool tcp_is_exact;     /* the job's total is exact */
    bool tcp_is_whole;     /* all TCP traffic of the job is attributed to processes */
    bool tcp_is_of_living; /* only living processes have the remainder: the traffic of all others is known */
    uint64_t rest_ns;      /* the job's CPU time that no command has */
    uint64_t rest_user_ns, rest_system_ns; /* the job's split minus the known ones */
};

struct baro_summary {
    struct summary_subject subject;
    struct summary_extent extent;
    struct summary_life life;
    struct summary_incidents incidents;
    struct summary_limits limit;
    struct summary_reached reached;
    struct summary_rows rows; /* summary.c */
    struct summary_peaks peaks;
    struct summary_living living;
    struct summary_briefs briefs;
    struct summary_programs programs;
    struct commands commands;
    uint64_t brief_cpu_ns; /* CPU time of the processes that used less than BRIEF_CPU_NS */
    struct fold fold;
    struct points points;
    struct course course;
    struct summary_gpus gpus;
    struct summary_oom oom;
    struct tasks tasks;
    bool failed; /* out of memory: parts are missing */
    struct summary_finished finished;
};

/* Returns NULL if out of memory. */
struct baro_summary *summary_new(const struct baro_header *h);
void summary_add_sample(struct baro_summary *s, const struct baro_sample *sample);
void summary_add_exit(struct baro_summary *s, const struct baro_exit *e);
void summary_add_event(struct baro_summary *s, const struct baro_event *e);
void summary_add_limits(struct baro_summary *s, const struct baro_limits *l, uint64_t t_ns);
/* Counts living processes under their commands and sorts the commands. Call it before the functions below, and again
 * after records were added. */
void summary_finish(struct baro_summary *s);
void summary_free(struct baro_summary *s); /* NULL allowed */

/* living.c, for summary.c, rss_peak.c and finish.c. False: out of memory. */
bool living_begin(struct summary_living *l, size_t n); /* a sample of n processes */
/* The i-th of them. ran_before: it is new, and what it has used so far is not the job's. */
bool living_add(struct summary_living *l, struct commands *commands, size_t i, const struct baro_process *p,
                bool ran_before);
bool living_end(struct summary_living *l, uint32_t id);
/* What the first sample of a process that ran before has; NULL: it did not run before. */
const struct summary_alive *living_base(const struct summary_living *l, uint32_t id);
/* The next part of the tape begins: counts those that have not ended under their commands. What they use from now on
 * counts anew. False: out of memory. */
bool living_end_part(struct summary_living *l, const struct summary_programs *p, struct command *counted);
/* Counts those that are in the first sample of the part, too, once. */
bool briefs_add(struct summary_briefs *b, struct commands *commands, const struct baro_sample *s, bool base);
void briefs_begin_part(struct summary_briefs *b);
void briefs_done(struct summary_briefs *b);
void living_begin_part(struct summary_living *l, const struct baro_sample *first, struct command *counted);
/* Counts those that have not ended under their commands. */
void living_count(struct summary_living *l, const struct summary_programs *p, struct command *counted);
void living_done(struct summary_living *l);

/* programs.c */
bool programs_add(struct summary_programs *p, struct commands *commands, const struct baro_event *exec);
/* Takes what the process had used as other programs from its values, and counts it under their commands. */
void programs_split(const struct summary_programs *p, struct baro_key key, uint64_t *value, const uint8_t *absent,
                    struct command *counted);
void programs_end(struct summary_programs *p, struct baro_key key); /* its exit was counted */

/* since_limit.c, for summary.c */
void summary_held_begin(struct summary_held *h, uint64_t since_ns);
void summary_note_held(struct baro_summary *s, const struct baro_sample *sample);

/* facts_gpus.c, for summary.c */
void summary_note_gpus(struct baro_summary *s, const struct baro_sample *sample);
/* Takes the memory that a framework's allocator reported, from a mark of the Python package. */
void summary_note_allocator(struct baro_summary *s, const struct baro_event *e);

/* stretch.c, for summary.c, of a stretch that begins within a recording */
/* Takes what was used before its first sample from the rows of the job and of the recorder. */
void stretch_take_rows(struct baro_summary *s, const struct baro_sample *sample);
/* The i-th process of the sample was added. */
void stretch_note_process(struct baro_summary *s, size_t i, const struct baro_process *p);
/* Takes what the process had used before from the values of its exit. Returns whether they then lack its last part. */
bool stretch_take_exit(struct baro_summary *s, const struct baro_exit *e, uint64_t value[COMMAND_MAX]);
void stretch_take_exec(struct baro_summary *s, const struct baro_event *e); /* the same of an exec that was added */

/* rss_peak.c */
/* Is the high-water mark of an exit the one that the process ended with? */
bool summary_mark_is_final(const struct baro_exit *e);
/* May a process have had a higher mark than the largest one that is known? */
bool summary_mark_is_bound(const struct baro_summary *s);
void summary_note_mark(struct baro_summary *s, const struct baro_exit *e, uint32_t command);
void summary_rss_peak(const struct baro_summary *s, struct summary_rss *ret);
/* Returns how many commands are known to have held the most at the peak: one, if the peak is the mark of one process
 * between samples. */
size_t summary_rss_holders(const struct baro_summary *s);

uint64_t summary_wall_ns(const struct baro_summary *s);
/* Does the tape have a job of `baro run` from its first instruction on, so that nothing was there before? */
static inline bool summary_is_run(const struct baro_summary *s)
{
    return s->subject.mode == BARO_MODE_RUN && !s->extent.is_within;
}
/* Is this flag of the job set? */
static inline bool summary_job_has(const struct baro_summary *s, enum job_metric flag)
{
    return s->rows.job_absent[flag] == BARO_PRESENT && s->rows.job[flag];
}
/* Each returns 0 and the value, or enum baro_absent. */
int summary_cores_mean(const struct baro_summary *s, double *ret);
int summary_cores_peak(const struct baro_summary *s, double *ret);
bool summary_job_split_is_estimate(const struct baro_summary *s);
bool summary_job_cpu_is_estimate(const struct baro_summary *s);
int summary_cores_peak_of(const struct baro_summary *s, const struct derive_peak *peak,
                          double *ret); /* for only a part of the recording */
/* May the tree have held more than the peak says? Then the peak is a lower bound. */
bool summary_peak_is_bound(const struct baro_summary *s, enum summary_peak_kind kind);
/* May there have been more processes than were counted? Then their numbers are lower bounds. */
bool summary_processes_are_bound(const struct baro_summary *s);
/* May more processes have been alive at one time? Without events this may be so although it is known which processes
 * began. */
bool summary_processes_peak_is_bound(const struct baro_summary *s);
/* May there have been more processes of this name than were counted? */
bool summary_command_may_have_more(const struct baro_summary *s, const struct command *c);
int summary_processes_at_most(const struct baro_summary *s, uint64_t *ret); /* how many were started */
/* Is the job charged with more writes to storage than it passed to write(2), and than the machine's disks wrote? */
bool summary_writes_are_estimate(const struct baro_summary *s);
int summary_remainder(const struct baro_summary *s, double *ret);
int summary_sample_mean_ns(const struct baro_summary *s, uint64_t *ret);
int summary_process_sample_mean_ns(const struct baro_summary *s, uint64_t *ret);
/* CPU time of the recorder per time; what it had used at the first sample; and per time from then on. */
int summary_own_cost(const struct baro_summary *s, double *ret);
int summary_own_start(const struct baro_summary *s, uint64_t *ret);
int summary_own_cost_after_start(const struct baro_summary *s, double *ret);
/* Where the total comes from: "cgroup" if the job has one that counts, "wait4" once all was reaped by the wrapper, else
 * "ledger". */
const char *summary_kernel_source(const struct baro_summary *s);
void summary_command_split(const struct baro_summary *s, const struct command *c, struct summary_split *ret);
const struct command *summary_command(const struct baro_summary *s, size_t i); /* heaviest first */

struct json;
/* The object of `baro summary --json`. tape: where it is kept, NULL: nowhere. */
void summary_json(const struct baro_summary *s, const char *tape, struct json *json);
/* Its members alone, for an object that has more. */
void summary_json_members(const struct baro_summary *s, const char *tape, struct json *json);

#endif
