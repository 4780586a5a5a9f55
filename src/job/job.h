/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: who belongs to it, and what all of it has used. No system calls: collect/ fills the rows, record/ brings what
 * the wrapper and the events say, and asks for totals.
 *
 * The ledger. A total is the sum over living members of their own counters and of those they took over from children
 * they waited for, plus what the wrapper reaped, plus what is known of processes whose counters the kernel passed to
 * nobody in the job (a parent that ignores SIGCHLD, an orphan that went to init): those are carried. A member that is
 * found gone waits in a list until job_settle(), when its nearest living ancestor has been read again: what that one
 * gained must cover what is known of the gone.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "base/error.h"
#include "job/tree.h"

/* Where ended processes and happenings go: to the tape, and to whoever watches. */
struct job_sink {
    void (*exit)(void *context, const struct baro_exit *e);
    void (*event)(void *context, const struct baro_event *e);
    void *context;
};

/* What the wrapper has reaped so far (wait4), running totals. */
struct job_wrapper {
    int32_t pid; /* 0: no wrapper (attached), or it is lost */
    uint64_t total[LEDGER_MAX];
    uint64_t switches_voluntary, switches_involuntary;
    uint64_t maxrss, floor_rss;  /* bytes */
    uint64_t reaped, io_unknown; /* the latter: of how many of them total[LEDGER_IO_...] has not all */
};

/* A job that is a control group: what the kernel counts for it, also of processes that nobody ever saw. */
struct job_group {
    bool known;
    uint64_t user_ns, system_ns;
};

/* A process whose exit was reported although the wrapper, which adopts orphans, may still tell of it. */
struct job_unclaimed {
    struct baro_key key; /* pid 0: it told. start 0: known from events alone */
    uint64_t begin_ns, end_ns, noted_ns, cpu_ns;
    size_t before; /* the one before it of the same hash: its number, counted from 1 since the beginning; 0: none */
};

#define JOB_UNCLAIMED_HASH 256u
#define JOB_REPORTED 256u

/* end_ns: when it ended, or when its absence was noticed. */
struct job_reported {
    struct baro_key key;
    uint64_t end_ns;
};

struct job {
    struct tree tree;
    struct member_part sums; /* of all living members, once totals_refresh() has seen those that moved */
    struct job_sink sink;
    struct job_wrapper wrapper;
    struct job_group group;
    uint64_t start_boottime_ns; /* of the tape */
    uint64_t slept_ns;          /* the boot clock went on for that long since, and the monotonic one did not */
    uint64_t ns_per_tick;       /* clock tick of /proc */
    bool attached;
    bool open;      /* processes may join it that nobody told of: who came and went unseen is not known */
    bool adopts;    /* orphans come to a wrapper that tells of each one: nobody's children are not lost */
    bool events;    /* a source tells forks and exits, so counts are exact unless lossy */
    bool ends_told; /* and with what it used, whoever ends: the kernel's own counters */
    bool hears;     /* each member is to be heard by that source (member.heard), else it may have forked unheard */
    bool lossy;     /* it lost some, ever, or began too late: what is counted are lower bounds */

    struct member *gone;             /* waiting for job_settle() */
    size_t n_gone, n_held;           /* n_held: of them, those that the last settling held back */
    struct job_unclaimed *unclaimed; /* oldest first: [first, n) */
    size_t first_unclaimed, n_unclaimed, cap_unclaimed, let_go_unclaimed; /* number of unclaimed[0], less 1 */
    uint64_t unclaimed_ns;                                                /* their CPU time */
    size_t unclaimed_of[JOB_UNCLAIMED_HASH];                              /* the number of the last one */
    uint64_t wrapper_settled[LEDGER_MAX];
    uint64_t carried[LEDGER_MAX];
    uint64_t withheld;              /* CPU that is missing too, and may yet show when a parent's next tick is full */
    uint64_t published[LEDGER_MAX]; /* totals never fall below these */
    bool io_short;                  /* a process has ended of whose reading and writing nobody told all */
    bool closing;                   /* the last settling: nothing is held back any more */

    size_t targets;       /* living members that the user named */
    size_t ended_members; /* members whose end was told and that are not reaped yet: no longer processes that live */
    struct job_reported reported[JOB_REPORTED]; /* whose exits were told lately, by pid: nobody is told of twice */
    uint64_t started, ended, unsampled, peak;
    uint64_t counted_ended_ns; /* CPU put down to ended processes */
    uint64_t rss_peak;         /* largest high-water mark of any one process */
    /* lower bounds: of ended members */
    uint64_t ended_run_delay, ended_switches[2];
    uint64_t known;       /* mask of enum job_metric: of at least one process it was known, ever */
    uint8_t why[JOB_MAX]; /* else: of the last one that could not tell, why */
};

int job_init(struct job *j, const struct job_sink *sink, bool attached, uint64_t start_boottime_ns, uint32_t clk_tck);
void job_done(struct job *j);

/* The states of members and their transitions are in tree.h. Adds a process that is alive. parent may be NULL. Returns
 * the member (the one that is there already if it is), NULL if out of memory. */
struct member *job_add(struct job *j, int32_t pid, struct member *parent, enum baro_origin origin, uint64_t now_ns);

/* The user named it; or is no longer interested in its end. */
void job_set_target(struct job *j, struct member *m, bool target);

/* It ended at end_ns, as an event reported or as seen. It stays a member until it is reaped. */
void job_ended(struct job *j, struct member *m, uint64_t end_ns);

/* Was the exit of a process with this pid told, which still was there at t_ns? Whose fork at that time is heard of now,
 * then, is the same. */
bool job_was_reported(const struct job *j, int32_t pid, uint64_t t_ns);

/* The pid is no longer there, and the wrapper, its parent, is going to report it. Returns how long that was waited for
 * so far. */
uint64_t job_await_reaping(struct job *j, struct member *m, uint64_t now_ns);

/* The wrapper reported it, and its row has its last values. It may be gone already. */
void job_reaped(struct job *j, struct member *m, uint64_t end_ns);

/* Its end was a mistake: it is alive. */
void job_revive(struct job *j, struct member *m);

/* Whose end the wrapper tells of: pid, start time (in ticks of the boot clock; 0: could not be read) and when it was
 * still a zombie. Events can be ahead of the wrapper's word, so the pid may belong to another by now. Returns the
 * member, which may be gone already and wait for job_settle(); or NULL, and then ret_reported tells whether its exit
 * was reported before, or it was never heard of. */
struct member *job_claim(struct job *j, int32_t pid, uint64_t start, uint64_t t_ns, bool *ret_reported);

/* What was reported before this instant the wrapper has no more to tell of. */
void job_forget_unclaimed(struct job *j, uint64_t before_ns);

/* When a process began, since the tape began, from its start time in ticks; 0: before. As exact as a tick. */
uint64_t job_begin_ns(const struct job *j, uint64_t start);

/* Marks what the member has used up to now as not this recording's (attach). */
void job_rebase(struct member *m);

/* It was reaped by its parent, or by the wrapper after that one had ended: nothing of it is lost. */
void job_absorbed(const struct job *j, struct member *m);

/* The member is no longer there (reaped): it ended at end_ns if nobody knows better, and that was noticed at
 * noticed_ns. Its exit is reported by job_settle(). */
void job_gone(struct job *j, struct member *m, uint64_t end_ns, uint64_t noticed_ns);

/* Calls read_again for each living member that was the nearest ancestor of a gone one (it reads the member's stat and
 * io into its row; it may find that one gone as well and call job_gone()), balances the ledger and reports the exits.
 * read_again returns false if the member is there and could not be read: then its children wait for the next time. */
typedef bool job_read_fn(void *context, struct member *m);
void job_settle(struct job *j, uint64_t now_ns, job_read_fn *read_again, void *context);

/* Has it taken over something from children since then? */
bool job_gained(const struct member *m);

/* What the member has absorbed so far is accounted, but for what is of children that still wait: called for each one
 * read in a tick, after job_settle(). */
void job_settled(const struct job *j, struct member *m);

/* Totals for a sample; also counts, peaks and bounds. */
void job_totals(struct job *j, uint64_t ret_value[JOB_MAX], uint8_t ret_absent[JOB_MAX]);

/* What living members have resident, all together. */
uint64_t job_rss(struct job *j);

/* What a member has used itself and taken over from children, since attach. */
uint64_t job_ledger(const struct member *m, enum ledger_counter c);

void job_event(struct job *j, uint64_t t_ns, enum baro_event_kind kind, const struct member *m, uint64_t number,
               const char *text);

#endif
