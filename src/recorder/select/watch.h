/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the machine's processes belong to which task, as they start, execute programs and end. Pure: the caller
 * reports what happens and looks up commands.
 *
 * There may be many jobs, each with tasks of its own. A process can belong to a task of each of them.
 *
 * A process belongs to the task that its command fits. What it forks has the same command and belongs as well, until it
 * executes another program: then the command decides again. Most children execute a program at once, so a child is
 * reported as a member once it has lived for WATCH_PENDING without that, or has ended. Example: `python gulpy` forks
 * four workers, which are members; each `ls` that it starts is none.
 *
 * In a whole task (`children: true`), what a member forks belongs to the task whatever it executes, unless its own
 * command fits a rule of a task that comes before. A process can also be pinned to a whole task
 * (recorder/select/pin.h). A firm task is a control group: its processes belong to no other.
 */
#ifndef RECORDER_SELECT_WATCH_H
#define RECORDER_SELECT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On a busy machine a child may wait for a core before it executes a program; what it uses is counted from the fork. */
#define WATCH_PENDING 200000000ull

enum watch_what {
    WATCH_JOIN,   /* the process belongs to a task from now on, or to another one than before */
    WATCH_LEAVE,  /* it executed a program that fits no rule */
    WATCH_READY,  /* of a job: all processes that there are have been matched once */
    WATCH_UNREAD, /* it executed a program and ended before that was matched: it may have fitted */
};

#define WATCH_ALL 0u /* a change is about all jobs */

/* A change of membership. Times are of CLOCK_MONOTONIC; 0: not known. */
struct watch_change {
    uint32_t job;                  /* its id, or WATCH_ALL */
    uint8_t what;                  /* enum watch_what */
    uint8_t task;                  /* counted from 1 */
    uint8_t has_ended, has_status; /* bytes and no bool: another process may have written them */
    /* It had run another program for WATCH_LATE, or was in a task before: what it used until then does not belong to
     * this task. */
    uint8_t is_late;
    int32_t pid, status;
    uint64_t start; /* in ticks: which process of that pid; 0: not known, then the one that was forked at begin_ns */
    uint64_t begin_ns, end_ns;
};

#define WATCH_LATE 1000000000ull

/* A job. The caller sets what is not said to be otherwise, before watch_add(). */
struct watch_job {
    uint32_t id;                /* not WATCH_ALL */
    bool whole[256], firm[256]; /* by number of a task */
    bool any_whole;             /* set by watch_add() */
    uint8_t first_rule;         /* the first task that has rules; 0: none has */
    int32_t under;              /* the processes that belong to a task are below this one; 0: anywhere */
    bool is_new;                /* set by watch_add(): not all processes were matched for it yet */
    bool is_walked;             /* its control groups are being read */
};

/* The state of a process in a job. */
struct watch_member {
    struct watch_job *job;
    uint8_t task;     /* that it belongs to, counted from 1; 0: none */
    uint8_t reported; /* the task that was reported; 0: none */
    uint8_t pin;      /* the task that it, or what started it, is pinned to; 0: none */
    uint8_t found;    /* while it is matched: the task that its command fits, or that of what is above it */
    bool is_pin_seen; /* in the control groups that are being read */
    bool has_left;    /* it was not in them */
    bool was_member;  /* of any task of the job: what it had used by then was counted there */
    struct watch_member *next;
};

struct watch_process {
    int32_t pid, ppid;
    struct watch_member *members; /* one for each job that it has to do with: mostly none */
    uint8_t again;                /* how often it was matched again */
    bool is_seen;                 /* by the scan that is going on */
    uint64_t start;               /* in ticks; 0: not known */
    uint64_t executed_ns;         /* when it executed a program that was not matched yet; 0: none */
    uint64_t begin_ns;            /* when it was forked; 0: not known */
    uint64_t due_ns;              /* when it is reported, or matched again; 0: never */
    struct watch_process *next;   /* with the same hash */
};

typedef void watch_change_fn(void *context, const struct watch_change *c);

/* The data read from a process. start: as in proc(5), ticks; 0: not known. */
struct watch_reading {
    int32_t ppid;
    uint64_t start;
    /* The tasks that its command fits, at most one of each job; borrowed until the next call. */
    const struct watch_fit {
        struct watch_job *job;
        uint8_t task; /* counted from 1 */
    } * fits;
    size_t n_fits;
};
/* Matches the command for the jobs that watch_wants() wants. Returns false if the process can't be read any more. */
typedef bool watch_match_fn(void *context, int32_t pid, struct watch_reading *ret);

struct watch {
    struct watch_process **hash;
    size_t hash_size, n;
    struct watch_job **jobs; /* borrowed */
    size_t n_jobs, cap_jobs;
    size_t n_with_rules; /* of these jobs */
    bool any_whole, any_under;
    bool only_new;                /* processes are being matched for new jobs */
    const struct watch_job *only; /* a process is being matched for this job; NULL: for all */
    bool scans;                   /* no events: what a process executes is seen because it is matched again, in turn */
    bool scanned;                 /* a scan has ended */
    bool anew;                    /* the scan that is going on matches all processes, not only new ones */
    uint64_t due_ns;              /* the earliest one of all processes; UINT64_MAX: none */
    int32_t *executed;            /* pids of processes that executed a program since watch_settle() */
    size_t n_executed, cap_executed;
    uint64_t matched; /* processes that were matched so far */
    watch_match_fn *match;
    watch_change_fn *change;
    void *context;
};

int watch_init(struct watch *w, watch_match_fn *match, watch_change_fn *change, void *context);
void watch_done(struct watch *w);

/* Adds a job, which is borrowed until watch_remove(). It is new until the caller clears is_new. Returns
 * 0 or -ENOMEM. */
int watch_add(struct watch *w, struct watch_job *job);
void watch_remove(struct watch *w, struct watch_job *job);
/* Matches all processes that are known for the new jobs. */
void watch_match_new(struct watch *w);
static inline bool watch_wants(const struct watch *w, const struct watch_job *job)
{
    return (!w->only || w->only == job) && (!w->only_new || job->is_new);
}

void watch_fork(struct watch *w, int32_t pid, int32_t ppid, uint64_t t_ns);
void watch_exec(struct watch *w, int32_t pid, uint64_t t_ns);
/* After a batch of events: matches what executed a program and has not ended since. */
void watch_settle(struct watch *w);
/* status: a wait status; has_status: it is known */
void watch_exit(struct watch *w, int32_t pid, uint64_t t_ns, bool has_status, int32_t status);

/* A scan: watch_scan_begin(), watch_scan() for each process of the machine, watch_scan_end(). */
/* anew: processes that are known are matched again, too: events were lost. */
void watch_scan_begin(struct watch *w, bool anew);
void watch_scan(struct watch *w, int32_t pid, uint64_t now_ns);
void watch_scan_end(struct watch *w);

/* Pins a process to a task of a job, and what it has started. start: its start time, 0: whoever has the pid. is_late:
 * as in a change. Not within a scan. */
struct watch_pinned {
    struct watch_job *job;
    uint8_t task;
    int32_t pid;
    uint64_t start;
    bool is_late;
};
void watch_pin(struct watch *w, const struct watch_pinned *pin);
/* All processes of firm tasks of some jobs: watch_pin_seen() for each, then watch_pins_unseen(), which drops those that
 * left. It is for all jobs whose is_walked the caller has set, which it clears. */
void watch_pin_seen(struct watch *w, struct watch_job *job, int32_t pid, uint8_t task, uint64_t now_ns);
void watch_pins_unseen(struct watch *w);

/* Reports children that have not executed a program for WATCH_PENDING, and matches again whose turn it is. Returns when
 * it has to be called next; UINT64_MAX: not before the next event. */
uint64_t watch_turn(struct watch *w, uint64_t now_ns);

#endif
