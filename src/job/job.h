/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: who belongs to it, and what all of it has used. No system calls: collect/ fills the rows, record/ brings what the
 * wrapper and the events say, and asks for totals.
 *
 * The ledger. A total is the sum over living members of their own counters and of those they took over from children they
 * waited for, plus what the wrapper reaped, plus what is known of processes whose counters the kernel passed to nobody
 * in the job (a parent that ignores SIGCHLD, an orphan that went to init): those are carried. A member that is found gone waits in a list until
 * job_settle(), when its nearest living ancestor has been read again: what that one gained must cover what is known of the gone.
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
    int32_t pid;                 /* 0: no wrapper (attached), or it is lost */
    uint64_t total[LEDGER_MAX];
    uint64_t switches_voluntary, switches_involuntary;
    uint64_t maxrss, floor_rss;  /* bytes */
    uint64_t reaped;
};

#define JOB_RECENT 64u

struct job {
    struct tree tree;
    struct job_sink sink;
    struct job_wrapper wrapper;
    uint64_t start_boottime_ns; /* of the tape */
    uint64_t ns_per_tick;       /* clock tick of /proc */
    bool attached;
    bool adopts;                /* orphans come to a wrapper that tells of each one: nobody's children are not lost */
    bool events;                /* a source tells forks and exits, so counts are exact unless lossy */
    bool lossy;                 /* it lost some, ever */

    struct member *gone;        /* waiting for job_settle() */
    size_t n_gone;
    struct baro_key recent[JOB_RECENT]; /* of the last ones whose exits were reported */
    size_t recent_at;
    uint64_t wrapper_settled[LEDGER_MAX];
    uint64_t carried[LEDGER_MAX];
    uint64_t published[LEDGER_MAX]; /* totals never fall below these */
    uint64_t clamped;           /* times that they would have */

    size_t targets;             /* living members that the user named */
    size_t ended_members;       /* members whose end was told and that are not reaped yet: no longer processes that live */
    uint64_t started, ended, unsampled, peak;
    uint64_t counted_ended_ns;  /* CPU put down to ended processes */
    uint64_t rss_peak;          /* largest high-water mark of any one process */
    /* lower bounds: of ended members */
    uint64_t ended_run_delay, ended_switches[2];
};

int job_init(struct job *j, const struct job_sink *sink, bool attached, uint64_t start_boottime_ns, uint32_t clk_tck);
void job_done(struct job *j);

/* Adds a process that lives. parent may be NULL. Returns the member (the one that is there already if it is), NULL without memory. */
struct member *job_add(struct job *j, int32_t pid, struct member *parent, enum baro_origin origin, uint64_t now_ns);

/* An event told that the member ended at end_ns. It stays a member until it is reaped. */
void job_ended(struct job *j, struct member *m, uint64_t end_ns);

/* The member that is gone and waits for job_settle(), or NULL. */
struct member *job_find_gone(const struct job *j, int32_t pid);
/* Was the exit of this process reported, not long ago? */
bool job_was_reported(const struct job *j, struct baro_key key);

/* Marks what the member has used up to now as not this recording's (attach). */
void job_rebase(struct member *m);

/* The member is no longer there (reaped). Its exit is reported by job_settle(). */
void job_gone(struct job *j, struct member *m, uint64_t now_ns);

/* Calls read_again for each living member that was the nearest ancestor of a gone one (it reads the member's stat and io into its row;
 * it may find that one gone as well and call job_gone()), balances the ledger and reports the exits. */
void job_settle(struct job *j, uint64_t now_ns, void (*read_again)(void *context, struct member *m), void *context);

/* What the member has absorbed so far is accounted: called for each one read in a tick, after job_settle(). */
void job_settled(struct member *m);

/* Totals for a sample; also counts, peaks and bounds. */
void job_totals(struct job *j, uint64_t ret_value[JOB_MAX], uint8_t ret_absent[JOB_MAX]);

/* What a member has used itself and taken over from children, since attach. */
uint64_t job_ledger(const struct member *m, enum ledger_counter c);

void job_event(struct job *j, uint64_t t_ns, enum baro_event_kind kind, const struct member *m, uint64_t number, const char *text);

#endif
