/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: its members, and what they have used together. No function here makes a system call: recorder/collectors fills
 * the rows; recorder/loop gives it the reports of the wrapper and of the event sources, and asks for totals.
 *
 * docs/ledger.md says how the ledger balances.
 */
#ifndef RECORDER_JOB_JOB_H
#define RECORDER_JOB_JOB_H

#include "base/error.h"
#include "recorder/job/tree.h"

/* Receives exits and events: for the tape, and for live output. */
struct job_sink {
    void (*exit)(void *context, const struct baro_exit *e);
    void (*event)(void *context, const struct baro_event *e);
    void *context;
};

/* What the wrapper has reaped so far (wait4(2)): running totals. */
struct job_wrapper {
    int32_t pid; /* 0: no wrapper (attached), or it was lost */
    uint64_t total[LEDGER_MAX];
    uint64_t switches_voluntary, switches_involuntary;
    uint64_t maxrss, floor_rss; /* bytes */
    /* io_unknown: of the reaped processes, those whose I/O is not completely in total[LEDGER_IO_...] */
    uint64_t reaped, io_unknown;
};

/* A job that is a control group: the kernel's CPU time of the group, which includes processes that were never seen. */
struct job_group {
    bool known;
    bool is_gone; /* the group was removed: the values are those of the last reading */
    bool is_new;  /* named_ns is to be set */
    uint32_t cores;
    uint64_t user_ns, system_ns, read_ns;
    uint64_t named_ns; /* CPU time that was attributed to processes at the last reading */
    uint64_t ended_ns; /* when the last process ended whose exit was reported */
};

#define JOB_REPORTED 1024u
#define JOB_REPORTED_HASH 256u

/* An exit that was reported. */
struct job_reported {
    struct baro_key key; /* start 0: only events reported it */
    /* end_ns: when it ended, or was found gone. before: number of the previous one with the same hash, counted from 1;
     * 0: none */
    uint64_t begin_ns, end_ns, before;
    bool is_unreaped; /* nobody is known to have reaped it */
    bool is_claimed;  /* the wrapper has reported it as well */
};

/* An exit that is reported when the sockets of the process have ended. */
struct job_late {
    struct member *member; /* gone, and in no list of the job */
    struct baro_exit exit;
    uint64_t since_ns;
    struct job_late *next;
};

struct job_task;

/* What reports forks and exits. */
struct job_source {
    const uint64_t *events_ns; /* CLOCK_MONOTONIC: events until then were read; NULL: never */
    bool events;               /* an event source reports forks and exits, so counts are exact unless lossy */
    /* that source also reports the kernel's counters of each process that ends (taskstats) */
    bool ends_reported;
    /* that source covers single processes (perf): a member without events.covered may have forked without an event */
    bool covers_members;
    bool attaches; /* that source is perf, which reports only members that it is attached to */
    bool polled;   /* there are no events, but new members and their CPU clocks are polled */
    bool lossy;    /* events were lost, or the source began too late: counts are lower bounds */
    /* is `unseen` valid? It is the highest number of processes that may have run before events were reported
     * (recorder/collectors/processes/births.h). job_lose() makes it invalid */
    bool unseen_known;
    uint64_t unseen;
};

/* Members that have ended and wait for job_settle(). */
struct job_settling {
    struct member *gone;
    size_t n_gone, n_held; /* n_held: how many of them the last job_settle() held back */
    bool gone_unforked;    /* one of them may have been found before the event of its fork was read */
    struct job_late *late;
    bool sockets; /* exits of processes with open connections wait for job_late_report() */
    bool closing; /* this is the last job_settle(): nothing is held back */
};

/* The last published totals: they never fall. */
struct job_shown {
    uint64_t ledger[LEDGER_MAX], run_delay, switches[2];
};

/* Why totals are lower bounds. */
struct job_shortfall {
    /* a process has ended whose I/O is not known completely */
    bool io;
    /* a process has ended whose CPU time the kernel added to no other process, and is not known to its end */
    bool cpu;
    uint64_t cpu_ns;       /* such CPU time is known, but for the teardowns: what these are expected to have taken */
    bool rss_peak;         /* a process has ended whose VmHWM at its end is not known */
    bool ignores_children; /* a member was seen to ignore SIGCHLD */
    /* a process has ended whose counters the kernel added to no other process */
    bool unreaped;
};

/* The last exits that were reported, by pid: none is reported twice, and none is added again when the wrapper reports
 * it after that. */
struct job_reports {
    struct job_reported *at; /* a ring that grows to JOB_REPORTED: number n is at (n - 1) % JOB_REPORTED */
    size_t cap;
    uint64_t n, *of; /* by the hash of a pid, JOB_REPORTED_HASH of them: the number of the last one; 0: none */
};

struct job_counts {
    uint64_t started, ended, unsampled, peak;
    size_t targets;       /* living members that the user named */
    size_t ended_members; /* members that have ended and are not reaped yet: they no longer count as living */
};

/* How many processes were alive at once: process_peak.c. */
struct job_at_once {
    uint64_t most; /* upper bound of the peak; valid if it is more than counts.peak */
    /* when the last one ended, and the last one whose end no event reports */
    uint64_t last_end_ns, unreported_end_ns;
    uint64_t awaited;      /* members that were found ended, and whose end events have not been read yet */
    uint64_t n_end_unseen; /* members that may have ended without an event */
};

/* Sums over the processes that have ended. */
struct job_ended_sums {
    uint64_t counted_ns; /* CPU time attributed to them */
    uint64_t unsure_ns;  /* the part of it that may be too much: own_unsure() */
    uint64_t vague_ns;   /* the part of it that perf alone has: perf_cpu() */
    uint64_t unread_ns;  /* the part of that of processes whose page faults are not known */
    uint64_t excess_ns;  /* of the CPU time of processes that nobody waited for: the part that may be too much */
    /* those that nobody is known to have reaped: how many; is the CPU time, or the I/O, of one not known to its end? */
    uint64_t unreaped;
    bool unreaped_cpu_short, unreaped_io_short;
    bool cpu_is_short; /* the CPU time of one of them is not known to its end */
    /* I/O and page faults of each process itself, as far as they are known */
    uint64_t own[LEDGER_MAX];
    /* lower bounds */
    uint64_t run_delay, switches[2];
    uint64_t delay_cpu; /* their CPU time up to the moment when their run delay was read */
};

/* Members that belong to other recordings of barograph: other_recorders.c. They are in the ledger, and in no value that
 * is published of the job. */
struct job_others {
    struct member *first; /* living ones, and ended ones whose exits are not reported yet */
    /* What they have used themselves while they were such; of the ledger's counters I/O alone. past: those that have
     * ended, or execute something else by now; used: all of them, at the last job_totals() */
    uint64_t past[BASE_MAX], used[BASE_MAX];
    uint64_t started, ended; /* how many there were; how many of them have ended */
    size_t alive, listed;    /* how many are alive; how many are in the tree */
    uint64_t changes;        /* how often a member became one, or ceased to be one */
    uint64_t rss_peak;       /* the most that they had resident at a job_totals() */
};

/* Which metrics had a value for at least one process. */
struct job_metrics_seen {
    uint64_t known;       /* mask of enum job_metric */
    uint8_t why[JOB_MAX]; /* for the others: why they were absent for the last process */
};

struct job {
    struct tree tree;
    uint64_t sums[PART_MAX]; /* over all members: enum member_part_of; up to date after totals_refresh() */
    struct job_sink sink;
    struct job_wrapper wrapper;
    struct job_group group;
    struct job_source source;
    struct job_settling settling;
    struct job_reports reports;
    struct job_counts counts;
    struct job_at_once at_once;
    struct job_ended_sums past;
    struct job_shortfall shortfall;
    struct job_shown shown;
    struct job_metrics_seen seen;
    struct job_others others;
    uint64_t start_boottime_ns; /* CLOCK_BOOTTIME when the tape began */
    /* for how long the machine was suspended since: CLOCK_BOOTTIME advanced and CLOCK_MONOTONIC did not */
    uint64_t slept_ns;
    uint64_t ns_per_tick; /* length of a clock tick of /proc */
    bool attached;
    bool whole; /* each process of the machine is a member, whoever started it */
    /* processes can join without an event (moved into the group), so it is not known how many were never seen */
    bool open;
    /* the wrapper adopts orphans and reports each one, so their counters are not lost */
    bool adopts;
    bool selected;         /* each member belongs to a task, and the job's totals are the sums of tasks */
    bool alone;            /* children of members are not members, and their counters do not count for the job */
    bool commands_unknown; /* it is not known how many programs ended before their command was read */
    uint64_t carried[LEDGER_MAX];
    uint64_t rss_peak; /* the largest peak of any one process */

    struct job_task *tasks; /* recorder/job/task.h; NULL: none */
    size_t n_tasks;
    uint8_t all_task; /* the task of each member that has no other; 0: none */
};

int job_init(struct job *j, const struct job_sink *sink, bool attached, uint64_t start_boottime_ns, uint32_t clk_tck);
void job_done(struct job *j);

/* Events were lost: from now on it is not known how many processes were never seen. */
static inline void job_lose(struct job *j)
{
    j->source.lossy = true;
    j->source.unseen_known = false;
}

/* Adds a process that is alive; parent may be NULL. tree.h has the states of members and their transitions. Returns the
 * new member, the existing one if the pid is a member already, or NULL if out of memory. */
struct member *job_add(struct job *j, int32_t pid, struct member *parent, enum baro_origin origin, uint64_t now_ns);

/* A process is in the control group of its parent until it is known to be in another one. parent may be NULL. */
static inline void job_inherit_group(struct member *m, const struct member *parent)
{
    if (!parent || m->row.absent[PROCESS_cgroup] == BARO_PRESENT || parent->row.absent[PROCESS_cgroup] != BARO_PRESENT)
        return;
    m->row.value[PROCESS_cgroup] = parent->row.value[PROCESS_cgroup];
    m->row.absent[PROCESS_cgroup] = BARO_PRESENT;
}

/* Marks the member as one that the user named, or removes the mark, so that its end does not end the recording. */
void job_set_target(struct job *j, struct member *m, bool target);

/* The member ended at end_ns: an event reported it, or it was seen as a zombie. It stays a member until it is reaped.
 */
void job_ended(struct job *j, struct member *m, uint64_t end_ns);
/* An event reported its end. */
void job_end_reported(struct job *j, struct member *m);

/* Sets whether the member may have ended without an event, until it is read again. */
void job_end_unseen(struct job *j, struct member *m, bool unseen);

/* Was an exit reported for this pid with an end at or after t_ns? Then a fork event with that time is of the same
 * process, and must not add it again. */
bool job_was_reported(const struct job *j, int32_t pid, uint64_t t_ns);
/* Did a process with this pid whose exit was reported live at t_ns? Then a fork event with that time is of its child.
 */
bool job_lived_at(const struct job *j, int32_t pid, uint64_t t_ns);

/* The member's pid no longer exists, and the wrapper, which is the parent, will report the member. Returns how many ns
 * have passed since the pid was first found missing. */
uint64_t job_expect_reaping(struct job *j, struct member *m, uint64_t now_ns);

/* The wrapper reported the member, and the row has its last values. The member may be gone already. */
void job_reaped(struct job *j, struct member *m, uint64_t end_ns);

/* Counts the members that are alive, for the peak. Call it after a list has found members and all members were read:
 * only then are all of them known to be alive at the same time. */
void job_note_peak(struct job *j);

/* A process is found late: others may have ended since it began. begin_ns: when that was; 0: not known. */
void job_note_late(struct job *j, uint64_t begin_ns);

/* The reported end was wrong: the process is alive. */
void job_revive(struct job *j, struct member *m);

/* Finds the process that a report of the wrapper is about. start: its start time in ticks of CLOCK_BOOTTIME, 0 if it
 * could not be read; t_ns: when it was still a zombie. Events can arrive before the wrapper's report, so the pid may
 * belong to another process by now. Returns the member, which may be gone and wait for job_settle(). Returns NULL if
 * there is none; then ret_reported says whether its exit was reported before. */
struct member *job_claim(struct job *j, int32_t pid, uint64_t start, uint64_t t_ns, bool *ret_reported);

/* Converts a start time in ticks to ns since the tape began; 0: before. Precision: one tick. */
uint64_t job_begin_ns(const struct job *j, uint64_t start);
/* Did a process with this start time begin before t_ns, even if it began at the end of its tick? */
bool job_began_before(const struct job *j, uint64_t start, uint64_t t_ns);

/* Sets the member's base (attach): what it has used so far does not count for this recording. */
void job_rebase(struct member *m);
/* Leaves out what a child of the member has used that is not a member itself. The kernel will add it to the member's
 * counters when the member reaps that child. */
void job_leave_out(struct member *m, const uint64_t used[LEDGER_MAX]);

/* The member was reaped by its parent, or by the wrapper after its parent ended: its counters are not lost. */
void job_absorbed(const struct job *j, struct member *m);

/* The member is no longer there (reaped), which was noticed at noticed_ns. end_ns is used as its end if none is known.
 * job_settle() reports its exit. */
void job_gone(struct job *j, struct member *m, uint64_t end_ns, uint64_t noticed_ns);

/* Settles the ledger: calls read_again for the nearest living ancestor of each member that is gone, compares the growth
 * of its counters with what the members had used, and reports the exits. read_again reads the ancestor's stat and io
 * into its row; if the ancestor is gone as well, it calls job_gone(). It returns false if the ancestor exists and could
 * not be read: then the exits below it wait for the next call. */
typedef bool job_read_fn(void *context, struct member *m);
void job_settle(struct job *j, uint64_t now_ns, job_read_fn *read_again, void *context);

/* Reports exits that waited for the sockets of their processes. An exit waits until the sockets have ended (tcp.whole),
 * for a second at most, and no longer if the job is closing. */
void job_late_report(struct job *j, uint64_t now_ns);

/* The member was seen to ignore SIGCHLD. */
void job_ignores_children(struct job *j, struct member *m);

/* Have the member's counters of reaped children grown since the ledger was last settled? */
bool job_gained(const struct member *m);

/* Marks the member's counters of reaped children as settled, unless gone children of it still wait. Call it after
 * job_settle() for each member that was read in this tick. */
void job_settled(struct member *m);

/* Fills the job's values of a sample: totals, counts, peaks and bounds. */
void job_totals(struct job *j, uint64_t ret_value[JOB_MAX], uint8_t ret_absent[JOB_MAX]);
/* Returns for how long before now bytes may be missing in the totals that a later sample has. Call it after
 * job_settle().
 */
uint64_t job_io_lag(const struct job *j, uint64_t now_ns);

/* The member belongs to another recording of barograph, or no longer does. Call it before the row gets the values that
 * were read together with what the member executes: what it used since the last reading counts for what it is now. */
void job_set_other(struct job *j, struct member *m, bool is);

/* Does what the member starts belong to another recording as well? A recorder and a helper have named themselves
 * `baro-…`; what a wrapper starts is the job's. */
bool job_starts_others(const struct member *m);

/* The sum of the resident memory of all living members, in bytes. */
uint64_t job_rss(struct job *j);

/* What a member and the children that it reaped have used since attach. */
uint64_t job_ledger(const struct member *m, enum ledger_counter c);

void job_event(struct job *j, uint64_t t_ns, enum baro_event_kind kind, const struct member *m, uint64_t number,
               const char *text);

#endif
