/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the machine's processes belong to which task, as they start, execute programs and end. Pure: the caller
 * reports what happens and looks up commands.
 *
 * A process belongs to the task that its command fits. What it forks has the same command and belongs as well, until it
 * executes another program: then the command decides again. Most children execute a program at once, so a child is
 * reported as a member once it has lived for WATCH_PENDING without that, or has ended. Example: `python gulpy` forks
 * four workers, which are members; each `ls` that it starts is none.
 *
 * Of a whole task, what a member forks belongs to the task whatever it executes, unless its own command fits a rule of
 * a task that comes before. A process can also be pinned to a whole task (select/pin.h). A firm task is a control
 * group: its processes belong to no other.
 */
#ifndef SELECT_WATCH_H
#define SELECT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On a busy machine a child may wait for a core before it executes a program; what it uses is counted from the fork. */
#define WATCH_PENDING 200000000ull

enum watch_what {
    WATCH_JOIN,  /* the process belongs to a task from now on, or to another one than before */
    WATCH_LEAVE, /* it executed a program that fits no rule */
    WATCH_READY, /* all processes that there are have been matched once */
    WATCH_UNREAD, /* it executed a program and ended before that was matched: it may have fitted */
};

/* A change of membership. Times are of CLOCK_MONOTONIC; 0: not known. */
struct watch_change {
    uint8_t what; /* enum watch_what */
    uint8_t task; /* counted from 1 */
    bool has_ended, has_status;
    /* It had run another program for WATCH_LATE, or was in a task before: what it used until then does not belong to
     * this task. */
    bool is_late;
    int32_t pid, status;
    uint64_t start; /* in ticks: which process of that pid; 0: not known, then the one that was forked at begin_ns */
    uint64_t begin_ns, end_ns;
};

#define WATCH_LATE 1000000000ull

struct watch_process {
    int32_t pid, ppid;
    uint8_t task;     /* that it belongs to, counted from 1; 0: none */
    uint8_t reported; /* the task that was reported; 0: none */
    uint8_t pin;      /* the task that it, or what started it, is pinned to; 0: none */
    bool is_pin_seen; /* in the control groups that are being read */
    bool was_member;  /* of any task: what it had used by then was counted there */
    bool is_seen;     /* by the scan that is going on */
    uint64_t start;    /* in ticks; 0: not known */
    uint64_t executed_ns; /* when it executed a program that was not matched yet; 0: none */
    uint64_t begin_ns; /* when it was forked; 0: not known */
    uint8_t again;    /* how often it was matched again */
    uint64_t due_ns;  /* when it is reported, or matched again; 0: never */
    struct watch_process *next; /* with the same hash */
};

typedef void watch_change_fn(void *context, const struct watch_change *c);

/* What is read of a process. start: as in proc(5), ticks; 0: not known. */
struct watch_look {
    int32_t ppid;
    uint64_t start;
    uint8_t task; /* that its command fits, counted from 1; 0: none */
};
/* Returns false if the process can't be read any more. */
typedef bool watch_match_fn(void *context, int32_t pid, struct watch_look *ret);

struct watch {
    struct watch_process **hash;
    size_t hash_size, n;
    bool whole[256], firm[256]; /* by number of a task */
    bool any_whole;
    uint8_t first_rule;         /* the first task that has rules; 0: none has */
    bool scans;    /* no events: what a process executes is seen because it is matched again, in turn */
    bool scanned;  /* a scan has ended */
    int32_t under; /* the processes that belong to a task are below this one; 0: anywhere */
    bool anew;     /* the scan that is going on matches all processes, not only new ones */
    uint64_t due_ns; /* the earliest one of all processes; UINT64_MAX: none */
    int32_t *executed; /* pids of processes that executed a program since watch_settle() */
    size_t n_executed, cap_executed;
    uint64_t matched;  /* processes that were matched so far */
    watch_match_fn *match;
    watch_change_fn *change;
    void *context;
};

int watch_init(struct watch *w, watch_match_fn *match, watch_change_fn *change, void *context);
void watch_done(struct watch *w);

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

/* Pins a process, and what it has started. start: its start time, 0: whoever has the pid. is_late: as in a change. Not
 * within a scan. */
void watch_pin(struct watch *w, int32_t pid, uint64_t start, uint8_t task, bool is_late);
/* All processes of firm tasks: watch_pin_seen() for each, then watch_pins_unseen(), which drops those that left. */
void watch_pin_seen(struct watch *w, int32_t pid, uint8_t task, uint64_t now_ns);
void watch_pins_unseen(struct watch *w);

/* Reports children that have not executed a program for WATCH_PENDING, and matches again whose turn it is. Returns when
 * it has to be called next; UINT64_MAX: not before the next event. */
uint64_t watch_turn(struct watch *w, uint64_t now_ns);

#endif
