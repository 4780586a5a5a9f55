/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: its members, and what they have used together. Nothing here makes a system call: recorder/collectors fills the
 * rows, recorder/loop passes the reports of the wrapper and of the event sources, and asks for totals.
 *
 *
 * The ledger. A total is the sum of
 *   - the own counters of the living members,
 *   - the counters that they took over from children that they reaped,
 *   - the counters that the wrapper reaped (wait4(2)), and
 *   - the carried counters: those of ended processes that the kernel added to no process of the job (the parent
 *     ignores SIGCHLD, or an orphan was reaped by init).
 *
 * A member that is found gone waits in a list until job_settle(). By then its nearest living ancestor has been read
 * again, and what that ancestor gained must cover what is known of the member. Example: cc1 had used 800 ms when it was
 * last read, and is gone. If make's children_cpu has grown by 830 ms, cc1 is covered. If it has not grown, 800 ms less
 * the allowed rounding are carried.
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
    uint64_t user_ns, system_ns;
};

/* A process whose exit was reported before the wrapper, which adopts orphans, has reported it. It may still do so. */
struct job_unclaimed {
    struct baro_key key; /* pid 0: the wrapper has reported it. start 0: known from events alone */
    uint64_t begin_ns, end_ns, noted_ns, cpu_ns;
    /* the previous one with the same hash: its number, counted from 1 since the recording began; 0: none */
    size_t before;
};

#define JOB_UNCLAIMED_HASH 256u
#define JOB_REPORTED 256u

/* end_ns: when it ended, or when it was found gone. before: the previous one with the same hash, as above. */
struct job_reported {
    struct baro_key key;
    uint64_t end_ns, before;
};

/* An exit that is reported when the process's sockets have ended. */
struct job_late {
    struct member *member; /* gone, and in no list */
    struct baro_exit exit;
    uint64_t since_ns;
    struct job_late *next;
};

struct job_task;
struct job_before;

/* How members are found, and what is said of them. */
struct job_source {
    const uint64_t *events_ns; /* CLOCK_MONOTONIC: events until then were read; NULL: never */
    bool events;               /* an event source reports forks and exits, so counts are exact unless lossy */
    /* that source also reports the kernel's counters of each process that ends (taskstats) */
    bool ends_reported;
    /* that source covers single processes (perf): a member without member.covered may have forked without an event */
    bool covers_members;
    bool attaches; /* that source is perf, which reports members that it is attached to; covers_members: to all */
    bool lossy;    /* events were lost at some time, or the source began too late: counts are lower bounds */
    /* at most this many processes came and went before there were events (recorder/collectors/processes/births.h);
     * job_lose() drops it */
    bool unseen_known;
    uint64_t unseen;
};

/* Members that have ended and wait for job_settle(). */
struct job_settling {
    struct member *gone;
    size_t n_gone, n_held; /* n_held: of these, those that the last job_settle() held back */
    bool gone_unforked;    /* of these, one may have been found before the event of its fork was read */
    struct job_late *late;
    bool sockets; /* job_late_report() is called, and exits with open connections wait for it */
    bool closing; /* the last job_settle(): nothing is held back any more */
};

/* Exits that no member was found for, oldest first; valid: [first, n). */
struct job_claims {
    struct job_unclaimed *unclaimed;
    /* dropped: how many were dropped from the front; unclaimed[0] has this number + 1 */
    size_t first, n, cap, dropped;
    uint64_t cpu_ns;               /* the sum of their CPU time */
    size_t of[JOB_UNCLAIMED_HASH]; /* by hash: the number of the last one */
};

/* The last published totals: they never fall. */
struct job_shown {
    uint64_t ledger[LEDGER_MAX], run_delay, switches[2];
};

/* Why totals are lower bounds. */
struct job_shortfall {
    /* a process has ended whose I/O is not known completely: I/O totals are lower bounds */
    bool io;
    /* the same of CPU time: a process has ended that the kernel added to no other one, and its last values are from
     * before its end */
    bool cpu;
    bool rss_peak;         /* one has ended whose mark at its end is not known */
    bool ignores_children; /* some member was seen to ignore SIGCHLD */
    /* a process that has ended is in no other one's counters, as far as closure.c has noticed */
    bool unreaped;
    uint64_t teardown_ns; /* expected cost of the teardowns that no count has */
};

/* The exits that were reported last, by pid: none is reported twice. */
struct job_reports {
    struct job_reported at[JOB_REPORTED]; /* the last ones: number n is at (n - 1) % JOB_REPORTED */
    uint64_t n, of[JOB_REPORTED];         /* by the hash of a pid: the number of the last one; 0: none */
};

struct job_counts {
    uint64_t started, ended, unsampled, peak;
    size_t targets;       /* living members that the user named */
    size_t ended_members; /* members that have ended and are not reaped yet: they no longer count as living */
};

/* How many lived at once, between two readings of all members: at_once.c. */
struct job_at_once {
    uint64_t most; /* so many may have been at once, at most; valid if it is more than counts.peak */
    /* since the living were counted: one was found by a list; so many have ended */
    bool found;
    uint64_t fewer, last_end_ns;
    uint64_t awaited;      /* members that were found ended, and the events of that are still to come */
    uint64_t n_end_unseen; /* living members of which an end may not have been seen */
};

/* Sums over the processes that have ended. */
struct job_ended_sums {
    uint64_t counted_ns;  /* CPU time attributed to them */
    uint64_t split[2];    /* the parts of it in user mode and in the kernel, as far as they are known */
    uint64_t unsure_ns;   /* the part of it that may be too much: own_unsure() */
    uint64_t shared_ns;   /* CPU time of parents, in ticks, that was attributed to children that had ended */
    uint64_t reported_ns; /* what perf reported of them since they were read last, page faults too */
    /* each without its children, as far as it is known: I/O and page faults */
    uint64_t own[LEDGER_MAX];
    /* of processes that an ended parent is assumed to have reaped: CPU time, and the part that may be too much */
    uint64_t assumed_ns, assumed_unsure_ns;
    bool assumed_short; /* of one of these the CPU time is not known to its end */
    /* lower bounds */
    uint64_t run_delay, switches[2];
    uint64_t delay_cpu; /* their CPU time up to the moment when their run delay was read */
};

/* What was known for at least one process at some time. */
struct job_metrics_seen {
    uint64_t known;       /* mask of enum job_metric */
    uint8_t why[JOB_MAX]; /* else: the reason that the last process gave */
};

struct job {
    struct tree tree;
    /* of all living members; up to date after totals_refresh() */
    struct member_part sums;
    struct job_sink sink;
    struct job_wrapper wrapper;
    struct job_group group;
    struct job_source source;
    struct job_settling settling;
    struct job_claims claims;
    struct job_reports reports;
    struct job_counts counts;
    struct job_at_once at_once;
    struct job_ended_sums past;
    struct job_shortfall shortfall;
    struct job_shown shown;
    struct job_metrics_seen seen;
    uint64_t start_boottime_ns; /* of the tape */
    /* time that the machine was suspended since: CLOCK_BOOTTIME advanced and CLOCK_MONOTONIC did not */
    uint64_t slept_ns;
    uint64_t ns_per_tick; /* a clock tick of /proc */
    bool attached;
    /* processes can join without an event (moved into the group): how many came and went unseen is not known */
    bool open;
    /* orphans become children of the wrapper, which reports each one: the counters of orphans are not lost */
    bool adopts;
    bool selected; /* each member belongs to a task, and the job's totals are the sums of tasks */
    bool alone;    /* children of members are not members, and what a member takes over from them is not the job's */
    bool commands_unknown; /* how many programs ended before their command was read */
    uint64_t wrapper_settled[LEDGER_MAX];
    uint64_t carried[LEDGER_MAX];
    uint64_t rss_peak; /* the largest peak of any one process */

    struct job_task *tasks; /* recorder/job/task.h; NULL: none */
    size_t n_tasks;
    uint8_t all_task;          /* the task of each member that has no other; 0: none */
    struct job_before *before; /* resume.c: processes that are not found again yet; NULL: all are */
    bool resumed;              /* another recorder has recorded it before */
};

int job_init(struct job *j, const struct job_sink *sink, bool attached, uint64_t start_boottime_ns, uint32_t clk_tck);
void job_done(struct job *j);

/* From now on nobody knows how many processes came and went unseen. */
static inline void job_lose(struct job *j)
{
    j->source.lossy = true;
    j->source.unseen_known = false;
}

/* How many processes may have begun and ended unseen, at most. False: there is no bound. */
bool job_unseen(const struct job *j, uint64_t *ret);

/* Adds a process that is alive; parent may be NULL. tree.h has the states of members and their transitions. Returns the
 * new member, the existing one if the pid is a member already, or NULL if out of memory. */
struct member *job_add(struct job *j, int32_t pid, struct member *parent, enum baro_origin origin, uint64_t now_ns);

/* Marks the member as one that the user named; or removes the mark, when its end no longer ends the recording. */
void job_set_target(struct job *j, struct member *m, bool target);

/* The member ended at end_ns: an event reported it, or it was seen as a zombie. It stays a member until it is reaped.
 */
void job_ended(struct job *j, struct member *m, uint64_t end_ns);

/* An event reported its end. */
void job_end_reported(struct job *j, struct member *m);

/* May the living member have ended without an event of that? It is read later. */
void job_end_unseen(struct job *j, struct member *m, bool unseen);

/* Was an exit reported for this pid with an end at or after t_ns? Then a fork event of that time is of the same
 * process, and must not add it again. */
bool job_was_reported(const struct job *j, int32_t pid, uint64_t t_ns);

/* The pid is no longer there, and the wrapper, its parent, is going to report it. Returns how long ago that was first
 * seen, in ns. */
uint64_t job_expect_reaping(struct job *j, struct member *m, uint64_t now_ns);

/* The wrapper reported the member, and the row has its last values. The member may be gone already. */
void job_reaped(struct job *j, struct member *m, uint64_t end_ns);

/* Members were found by a list, and all have been read since: those that are alive are so at the same time. Otherwise
 * that is counted with the next sample alone. */
void job_note_peak(struct job *j);

/* A process that was selected joins only now; begin_ns: when it did in truth, 0: not known. */
void job_note_late(struct job *j, uint64_t begin_ns);

/* The reported end was wrong: the process is alive. */
void job_revive(struct job *j, struct member *m);

/* Finds the process that a report of the wrapper is about. start: its start time in ticks of CLOCK_BOOTTIME, 0 if it
 * could not be read; t_ns: when it was still a zombie. Events can arrive before the wrapper's report, so the pid may
 * belong to another process by now. Returns the member, which may be gone and wait for job_settle(). Returns NULL if
 * there is none; then ret_reported says whether its exit was reported before. */
struct member *job_claim(struct job *j, int32_t pid, uint64_t start, uint64_t t_ns, bool *ret_reported);

/* Drops the unclaimed exits that were noted before this time: the wrapper has reported all that it will. */
void job_forget_unclaimed(struct job *j, uint64_t before_ns);

/* When a process began, in ns since the tape began, from its start time in ticks; 0: before. Precision: one tick. */
uint64_t job_begin_ns(const struct job *j, uint64_t start);
/* Did it begin before t_ns, at whatever time of its tick? */
bool job_began_before(const struct job *j, uint64_t start, uint64_t t_ns);

/* Sets the member's base (attach): what it has used so far is not part of this recording. */
void job_rebase(struct member *m);

/* The member was reaped by its parent, or by the wrapper after its parent ended: its counters are not lost. */
void job_absorbed(const struct job *j, struct member *m);

/* The member is no longer there (reaped), which was noticed at noticed_ns. end_ns is used as its end if none is known.
 * job_settle() reports its exit. */
void job_gone(struct job *j, struct member *m, uint64_t end_ns, uint64_t noticed_ns);

/* Settles the ledger: calls read_again for each nearest living ancestor of a member that is gone, compares, and reports
 * the exits. read_again reads the ancestor's stat and io into its row; it may find that one gone as well and call
 * job_gone(). It returns false if the ancestor is there and could not be read: then the exits below it wait for the
 * next call. */
typedef bool job_read_fn(void *context, struct member *m);
void job_settle(struct job *j, uint64_t now_ns, job_read_fn *read_again, void *context);

/* Reports the exits that have waited for their sockets: those whose sockets are known to their end (member.tcp_whole),
 * those that have waited for long, and all if the job is closing. */
void job_late_report(struct job *j, uint64_t now_ns);

/* The member was seen to ignore SIGCHLD. */
void job_ignores_children(struct job *j, struct member *m);

/* Have the member's counters of reaped children grown since the ledger was last settled? */
bool job_gained(const struct member *m);

/* Marks what the member took over so far as settled, unless children of it still wait. To be called after job_settle()
 * for each member that was read in this tick. */
void job_settled(const struct job *j, struct member *m);

/* Fills the job's values of a sample: totals, counts, peaks and bounds. */
void job_totals(struct job *j, uint64_t ret_value[JOB_MAX], uint8_t ret_absent[JOB_MAX]);

/* The sum of the resident memory of all living members, in bytes. */
uint64_t job_rss(struct job *j);

/* What a member has used itself and taken over from reaped children, since attach. */
uint64_t job_ledger(const struct member *m, enum ledger_counter c);

/* Another recorder has recorded this job until its last sample `last`, and its members were found anew: totals go on
 * from there, and what a member has used since then counts. What has ended in between is known to the kernel only. The
 * sums of tasks: job_task_resume(), before. If members are selected, they join from now on, and job_resume_end() has to
 * be called when all have joined that are there. Returns 0 or -ENOMEM. */
int job_resume(struct job *j, const struct baro_sample *last);
/* Does the last sample have this member, or did it begin before that? Then job_resume_member() sets what of it counts,
 * when it has joined its task, its values were read, and its base is what it had used by now. */
bool job_resume_knows(const struct job *j, const struct member *m);
void job_resume_member(struct job *j, struct member *m);
/* A member has joined that had ended by then, and began at that time: what it had used at the last sample becomes its
 * base. */
void job_resume_ended(struct job *j, struct member *m, uint64_t start);
/* The next process of the last sample, from 0 on, that was not found again; NULL: there are no more. */
const struct baro_process *job_resume_next(const struct job *j, size_t *i, unsigned *ret_task);
/* What was not found again has ended. */
void job_resume_end(struct job *j);

void job_event(struct job *j, uint64_t t_ns, enum baro_event_kind kind, const struct member *m, uint64_t number,
               const char *text);

#endif
