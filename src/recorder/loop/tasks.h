/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: of processes that are selected, of those that are named, and those that the job itself begins. */
#ifndef RECORDER_LOOP_TASKS_H
#define RECORDER_LOOP_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libbaro/sample/sample.h"
#include "recorder/select/select.h"

#define TASK_ROOTS_MOST 64u

struct member;
struct recorder;
struct recorders;
struct selector;

/* selected.c: of all recorders of a process. */
struct selecting {
    struct selector *selector; /* NULL: no recorder has tasks of selected processes */
    struct recorder *first;    /* those that have */
    uint64_t starts, lost;     /* of its processes, and events that they lost, as reported so far */
};

/* selected.c: of one recorder. */
struct selection {
    struct selector *selector;     /* that of all recorders; NULL: processes are not selected */
    struct select_options options; /* what it selects */
    uint32_t id;
    struct recorder *next;
    bool all_matched; /* all processes that were there have been matched */
    int under_fd;     /* pidfd of --under; -1: none */
};

/* named_tasks.c */
struct named_tasks {
    struct task_root {
        struct baro_key key;
        unsigned task;
        bool itself; /* the process itself belongs to the task, not only its descendants */
        uint64_t since_ns;
    } * roots; /* they start a task, and are no members yet; TASK_ROOTS_MOST at most */
    size_t n_roots, cap_roots;
    size_t on_tape;         /* tasks that a sample on the tape has */
    struct baro_row **held; /* copies of exits */
    size_t n_held, cap_held;
    uint64_t lost; /* lines that named a task and could not be followed */
};

/* selected.c */
/* --under: the recording ends with that process; 0: with none. */
int record_watch_under(struct recorder *r, int32_t under, struct baro_error *err);
int record_select_open(struct recorder *r, struct baro_error *err);
void record_select_ready(struct recorders *a); /* takes what the process has reported */
void record_select_change(struct recorder *r, const struct watch_change *c);
void record_select_turn(struct recorders *a); /* before each tick, or, of an observer, in each turn */
void record_select_close(struct recorder *r);

/* named_tasks.c: tasks that the job itself names (baro run --task) */
void tasks_begin(struct recorder *r); /* the task of the whole job, if it has one */
/* itself: the process belongs to the task, too, not only its descendants. */
void tasks_run(struct recorder *r, const char *name, struct baro_key key, bool itself);
/* The command of `run --task` has ended with that wait status. */
void tasks_ended(struct recorder *r, const char *name, int wait_status);
/* After events were read, and before exits are reported: reads new lines, and finds the processes of earlier ones. */
void tasks_look(struct recorder *r);
/* Holds an exit back, to be written after the first sample that has the task of the process. Returns false if the exit
 * is not held. */
bool tasks_hold_exit(struct recorder *r, const struct baro_exit *e);
void tasks_written(struct recorder *r, const struct baro_sample *s);
void tasks_close(struct recorder *r);

#endif
