/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without an event source, a process can begin and end between two lists of children. How many did so is bounded by the
 * pids that the kernel has given out in this PID namespace: each belongs to a member, to another process or thread that
 * is alive, or to one that has ended. Whose those that have ended were is not known: each may have been a process of
 * the job.
 *
 * Example: the command is pid 100, and 107 is the pid that was given out last. 101 to 104 are known as members, 105 is
 * a thread that lives, 106 and 107 have ended: two processes at most were not seen. If 106 and 107 were known as
 * members, too, none was missed, and the number of processes is exact.
 *
 * A pid that a program chose itself (set_tid of clone3(2), as CRIU does) is not given out: a process with the pid of
 * one that has ended is seen only if a list of children has it.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_BIRTHS_H
#define RECORDER_COLLECTORS_PROCESSES_BIRTHS_H

#include "recorder/sampling/sampling.h"

#define BIRTHS_WAITING 64u

struct births {
    struct sampling *sampling;
    bool tried, counting;
    int fd;            /* /proc/loadavg, whose last field is the last pid given; -1: not usable */
    int32_t last;      /* all pids up to this one have been checked */
    uint64_t last_ns;  /* when that one was read */
    uint64_t round_ns; /* all pids may have been given out within this time */
    struct {
        int32_t pid;
        uint64_t since_ns;
    } waiting[BIRTHS_WAITING]; /* processes that live, and are no members so far */
    size_t n_waiting;
};

void births_init(struct births *b, struct sampling *sampling);
void births_done(struct births *b);

int32_t births_last_pid(struct births *b); /* 0: not known */

/* Counts pids above this one from now on; 0: above the last one. The pid is the command's, or no process of the job has
 * begun unobserved so far. */
void births_begin(struct births *b, int32_t pid);
/* Checks the pids up to `last`. It was read before the children were listed, so a living process with such a pid either
 * is a member by now, or is not of the job. */
void births_check(struct births *b, int32_t last);
/* Ends the counting: all members are known, and events report new ones from now on. Returns whether no process was
 * missed. */
bool births_end(struct births *b, int32_t last);

#endif
