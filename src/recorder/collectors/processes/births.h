/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds members without an event source, by the pids that the kernel gives out in this PID namespace (the last field of
 * /proc/loadavg). Each new pid is a thread, a process that has ended, one of another job, or a new member: its parent
 * is one. Pids are read with each tick, whenever a program begins or ends (struct library_watch), and by a timer: as
 * fast as members are found, down to a millisecond, then less and less often, and not at all if none was found for a
 * second. Each time the CPU clocks of the members that were found last are read, too, so that little of what they use
 * until they end is unknown.
 *
 * All of this takes at most three quarters of the budget.
 *
 * How many processes ended before they were read is bounded by the pids of which nothing is known. Example: the command
 * is pid 100, and 107 is the pid that was given out last. 101 to 104 are known as members, 105 is a thread that lives,
 * 106 and 107 have ended: two processes at most were not seen. If 106 and 107 were known as members, too, none was
 * missed, and the number of processes is exact.
 *
 * A pid that a program chose itself (set_tid of clone3(2), as CRIU does) is not given out: a process with the pid of
 * one that has ended is seen only if a list of children has it.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_BIRTHS_H
#define RECORDER_COLLECTORS_PROCESSES_BIRTHS_H

#include "recorder/sampling/budget.h"
#include "recorder/sampling/sampling.h"

#define BIRTHS_FOLLOWED 64u

struct processes;

/*
 * Notices that a program begins or ends, without a privilege: inotify(7) on the C library that the job's programs use.
 * The loader opens it after each execve(2), and the last reference to that open file, which is the mapping, is dropped
 * in do_exit() shortly before the process is a zombie (exit_mm() and exit_task_work()). The event does not say which
 * process it was. Programs that are linked statically cause none.
 */
struct library_watch {
    int fd; /* -1: none */
    unsigned tries;
};

struct births {
    struct sampling *sampling;
    bool tried, polling;
    bool no_status;     /* the kernel does not know the exit status of a process that has been reaped */
    bool counting;      /* the number of processes that were not seen is known */
    int fd;             /* /proc/loadavg; -1: not usable */
    int32_t last;       /* all pids up to this one have been checked */
    uint64_t last_ns;   /* when that one was read */
    uint64_t round_ns;  /* all pids may have been given out within this time */
    int32_t pid_max;    /* 0: not known */
    uint64_t born_ns;   /* when a new member was last found */
    uint64_t polled_ns; /* the last poll */
    unsigned foreign;   /* hints in a row after which no member was found to have begun or ended */
    uint64_t due_ns;    /* when pids are read again; 0: with the next tick */
    uint64_t period_ns;
    struct library_watch library;
    uint64_t cpu_ns; /* CPU time of this thread when it last waited, or after the last poll */
    int64_t left_ns; /* the balance of its part of the budget; negative: debt */
    /* members whose CPU clocks are read each time; those that sleep, then the oldest ones, make room */
    struct followed {
        int32_t pid;
        int pidfd; /* has its exit status when it has been reaped; -1: none */
    } followed[BIRTHS_FOLLOWED];
    size_t n_followed;
};

void births_init(struct births *b, struct sampling *sampling);
void births_done(struct births *b);

/* Reads the last pid given out in our PID namespace. 0: not known. */
int32_t births_last_pid(struct births *b);

/* Looks for new pids above this one from now on; 0: above the last one. The pid is the command's, or no process of the
 * job has begun unobserved so far. Returns whether new members are found that way. */
bool births_begin(struct births *b, int32_t pid);
/* Adds the processes that have begun to the job, and reads the CPU clocks of those that were found last. */
void births_poll(struct processes *p);
/* Call it before the process waits: polls pay for waking up, which costs more than the poll. */
void births_rest(struct births *b);
/* May the next program that begins or ends cause a poll? If not, the budget has nothing left, or the job is idle. */
bool births_listen(const struct births *b);
/* Ends the polling: all members are known, and events report new ones from now on. Returns whether no process was
 * missed. */
bool births_end(struct processes *p);

#endif
