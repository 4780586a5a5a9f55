/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's state, for its own files. */
#ifndef RECORDER_LOOP_RECORDER_H
#define RECORDER_LOOP_RECORDER_H

#include <sys/epoll.h>

#include "recorder/collectors/sampler.h"
#include "recorder/loop/marks.h"
#include "recorder/loop/record.h"
#include "recorder/loop/recorders.h"
#include "recorder/sampler/schedule.h"
#include "recorder/wrapper/link.h"
#include "recorder/writer/writer.h"

#define TARGETS_MAX 64u
#define TASK_ROOTS_MOST 64u

#define OOM_ENDED_MAX 64u
/* Processes of the job that were ended by SIGKILL, or whose status is not known. */
struct oom_watch {
    struct oom_ended {
        int32_t pid;
        char name[28];
    } at[OOM_ENDED_MAX];
    size_t n;        /* all that were noted; at[] has the last OOM_ENDED_MAX of them */
    uint64_t killed; /* those known to be ended by SIGKILL */
};

struct recorder {
    struct recorders *all; /* what it shares with the other recorders of this process */
    const struct record_options *options;
    struct baro_header header;
    struct limits_watch *limits;       /* limits.c; NULL: there is no job */
    struct cgroup_hierarchies *places; /* the job's control groups; NULL: they are not read */
    int root_fd;
    struct tape_writer *writer;
    struct job job;
    struct sampler sampler;
    int proc_fd, sys_fd, link_fd;
    pid_t wrapper;
    volatile uint64_t *write_hangs_at; /* of struct link_end; NULL: no reader */
    uint64_t write_began_ns, write_longest_ns;
    bool tape_is_local; /* neither on a network file system nor on FUSE */
    int32_t command;    /* pid of the command; 0 until LINK_STARTED */

    struct member *touched, *touched_last; /* an event was about them since the last drain */
    struct recorder *active_next;          /* the next one with such members */
    bool active;
    size_t due_at;        /* its place among the recorders of an observer */
    bool leaves;          /* an observer stops while the job lives: another one may go on with it */
    bool is_first_due;    /* the first sample was not taken yet: its members have to join first */
    bool held;            /* the budget did not allow its tick when it was due */
    uint64_t perf_due_ns; /* when perf is opened, so that the command does not wait for it; 0: never, or done */
    size_t n_attached;    /* processes that perf is attached to */
    bool perf_partly;     /* perf could not be attached to some member */
    uint64_t event_forks; /* members added because of a fork event */
    uint64_t found;       /* members added otherwise, at the last check */

    uint64_t tick_due_ns; /* since the tape began */
    uint64_t sampled_ns;  /* the last sample */
    uint64_t quiet_ns;    /* the last sample in which the CPU clock of a member had advanced */
    uint64_t checked_ns;  /* the last idle check since then */
    bool resting;         /* the job is idle: only its CPU clocks are checked */
    bool begun;           /* the header is on the tape */
    bool foreign_proc;    /* /proc is not mounted, or of another PID namespace, and is not read */
    bool started, finishing, wrapper_lost, link_closed, detached, trimmed;
    struct oom_watch oom;
    struct marks marks;
    struct selector *selector;       /* that of all recorders; NULL: processes are not selected */
    struct select_options selection; /* what it selects */
    uint32_t select_id;
    struct recorder *next_selecting;
    bool selected; /* all processes that were there have been matched */
    struct task_root {
        struct baro_key key;
        unsigned task;
        uint64_t since_ns;
    } roots[TASK_ROOTS_MOST]; /* tasks.c: they start a task, and are no members yet */
    size_t n_roots;
    struct label_wait *label_waits; /* label.c */
    size_t n_label_waits, cap_label_waits;
    size_t tasks_on_tape;
    struct held_exit {
        struct baro_row *row; /* a copy of an exit */
        uint64_t held_ns;
    } * held_exits;
    size_t n_held_exits, cap_held_exits;
    uint64_t tasks_lost; /* lines that named a task and could not be followed */
    int under_fd;        /* pidfd of --under; -1: none */
    bool status_known;
    int status;
    uint64_t end_ns;         /* when the command, or the last target, ended */
    uint64_t error_reported; /* a write to the tape failed, and this was reported */
    size_t pending;          /* exits and events since the last commit */
    int64_t wall_offset_ns;  /* realtime minus monotonic, at the last tick */
    uint64_t boot_offset_ns; /* boottime minus monotonic */
    int target_fds[TARGETS_MAX];
    struct baro_key target_keys[TARGETS_MAX];
};

/* The processes that are selected are its members; else they get their tasks (label.c), and it has other members, too.
 */
static inline bool recorder_selects(const struct record_options *o)
{
    return o->select && !o->n_targets && !o->cgroup;
}

/* header.c */
int header_fill(struct baro_header *h, const struct record_options *o, uint64_t now_monotonic_ns);
void header_free(struct baro_header *h);

/* event_route.c: which recorders an event is about */
int event_read(struct recorders *a); /* reads all queued events; returns how many */

/* event_apply.c: applies events to the members */
void event_apply(struct recorder *r, const struct exits_event *e);
void event_apply_usage(struct recorder *r, const struct exits_event *e); /* from the source of usage */
void event_lost_usage(struct recorder *r, uint64_t times);
void event_stash(struct recorders *a, const struct exits_event *e); /* usage of a process that is not known yet */
void event_lost(struct recorder *r, uint64_t times);
void event_touch(struct recorder *r, struct member *m); /* after the drain, this member is read */
/* What was reported of the end of a process that is no member; NULL: nothing. */
const struct exits_event *event_find_stashed(const struct recorders *a, int32_t pid, uint64_t begin_ns);
void event_take_stashed(struct recorder *r, struct member *m); /* usage that was reported before its fork was read */

/* event_sources.c: opens and reads the event sources */
void event_open(struct recorder *r);
void event_open_all(struct recorders *a);               /* of an observer, before its first job */
void event_open_usage(struct recorder *r);              /* after the first fork: an exit will follow */
void event_count_pids(struct recorder *r, int32_t pid); /* before the job can fork unobserved; 0: processes are there */
void event_drain(struct recorders *a);
bool event_is_silent(const struct recorders *a); /* no event is queued: one would have woken the recorder */
void event_ready(struct recorders *a);
void event_activate(struct recorder *r); /* the current drain has an event of this one */
void event_catch_up(void *recorder);     /* reads events within a tick; for struct sampler_options */
void event_close(struct recorders *a);
void event_use(struct recorder *r, struct exits_source *source); /* uses it as the source of forks from now on */

/* event_filter.c: lets the kernel drop foreign events */
void event_filter(struct recorder *r, int events);       /* after a drain that returned so many events */
void event_filter_fork(struct recorder *r, int32_t pid); /* the fork of a member was read */
void event_filter_usage(struct recorders *a);            /* a source of usage was opened */

/* event_perf.c: perf, which has to be attached to each member */
void event_open_late(struct recorder *r);
void event_verify(struct recorder *r);          /* after members were found otherwise: had perf reported their forks? */
void event_check_survivors(struct recorder *r); /* at the end: may living members have forked unobserved? */

/* wrapper.c: messages of the wrapper */
void wrapper_drain(struct recorder *r);
void wrapper_forget(struct recorder *r); /* drops ended members for which the wrapper's message is overdue */

/* targets.c: attach */
int targets_open(struct recorder *r, struct baro_error *err);
/* Makes a process and what it starts members. NULL: it can't be recorded. */
struct member *targets_add(struct recorder *r, int32_t pid, struct baro_error *err);
void targets_ended(struct recorder *r, size_t i);
void targets_check(struct recorder *r); /* after a tick: for targets without a pidfd */
void targets_close(struct recorder *r);

/* pinned.c */
int pinned_open(struct recorder *r, struct baro_error *err);

/* oom.c */
void oom_note_exit(struct recorder *r, const struct baro_exit *e);
void oom_report(struct recorder *r); /* after the last sample */

/* directories.c: what --du names */
int record_directories(struct recorder *r, struct baro_error *err);
/* The sandboxes of tasks. */
int record_sandboxes(struct recorder *r, const struct select_options *o, struct baro_error *err);

/* select.c: tasks */
int record_select_open(struct recorder *r, struct baro_error *err);
void record_select_ready(struct recorders *a); /* takes what the process has reported */
void record_select_change(struct recorder *r, const struct watch_change *c);
void record_select_turn(struct recorders *a); /* before each tick, or, of an observer, in each turn */
/* Another process selects, and it did not report the member: does that belong to its task no more? */
bool record_select_sweep(const struct recorder *r, const struct member *m);
void record_select_close(struct recorder *r);

/* label.c: members that fit a rule get their tasks */
void label_change(struct recorder *r, const struct watch_change *c); /* from the process that selects */
void label_turn(struct recorder *r);                                 /* before each tick */
void label_finish(struct recorder *r); /* reads what is reported of processes that have just ended */
void label_close(struct recorder *r);

/* The member, which may be gone, or the exit record that is held of the process; NULL: none. */
struct member *label_member(const struct recorder *r, const struct watch_change *c);
struct baro_exit *label_held_exit(const struct recorder *r, const struct watch_change *c);
bool label_was_member(const struct recorder *r, const struct watch_change *c); /* its exit record is on the tape */

/* unread.c: programs that ended before their command was read */
void unread_change(struct recorders *a, struct recorder *r, const struct watch_change *c); /* r NULL: for all */
void unread_turn(struct recorders *a);  /* before each tick, or, of an observer, in each turn */
void unread_finish(struct recorder *r); /* for this recorder nothing more is waited for */
void unread_close(struct recorders *a);

/* tasks.c: tasks that the job itself names (baro run --task) */
void tasks_begin(struct recorder *r); /* the task of the whole job, if it has one */
void tasks_run(struct recorder *r, const char *name, struct baro_key key);
/* The command of `run --task` has ended with that wait status. */
void tasks_ended(struct recorder *r, const char *name, int wait_status);
/* After events were read, and before exits are reported: reads new lines, and finds the processes of earlier ones. */
void tasks_look(struct recorder *r);
/* The exit of a process whose task no sample on the tape has, or may still become known (label.c): it is written after
 * a later one. Returns false if it is not held. */
bool tasks_hold_exit(struct recorder *r, const struct baro_exit *e);
void tasks_written(struct recorder *r, const struct baro_sample *s);
void tasks_release(struct recorder *r, uint64_t before_ns); /* writes the exits that were held before */
void tasks_close(struct recorder *r);

/* limits.c */
int limits_prepare(struct recorder *r, struct baro_error *err);
void limits_without_groups(struct recorder *r); /* reads only the limits of the groups, not their values */
bool limits_placed(const struct recorder *r);   /* are the job's groups known already? */
void limits_settle(struct recorder *r);
bool limits_wanted(const struct recorder *r); /* the limits were not read yet, and could be now */
void limits_find(struct recorder *r);         /* reads them for the first time, unless that was done */
void limits_turn(struct recorder *r);         /* after a tick: reads them again if it is time */
void limits_close(struct recorder *r);

/* loop.c */
int loop_open(struct recorders *a, int stop_fd, struct baro_error *err); /* stop_fd -1: signals stop it */
void loop_run(struct recorders *a);
int loop_wait(struct recorders *a, uint64_t due_ns, struct epoll_event *events, int most);
bool loop_is_over(const struct recorder *r);

/* finish.c */
void recorder_finish(struct recorder *r);

/* recorder.c */
int recorder_begin(struct recorder *r, const struct record_options *o, struct baro_error *err); /* attach */
void recorder_close(struct recorder *r);
void recorder_report_finished(struct recorder *r);
/* Call before and after whatever touches the tape's file system, which may hang: shows the wrapper for how long. */
void recorder_writes(struct recorder *r, bool begins);
/* Why the /proc that is there can't be used: foreign_proc. */
const char *recorder_lacks_proc(void);
void recorder_event(struct recorder *r, enum baro_event_kind kind, const struct member *m, uint64_t number,
                    const char *text);
void recorder_tick(struct recorder *r);
void recorder_flush(struct recorder *r);       /* events that were reported since the last tick go to the tape */
void recorder_sample_soon(struct recorder *r); /* at the edge of a phase: at once, within limits */
void recorder_last_tick(struct recorder *r);   /* the observer gets the sample before it is written to the tape */
void recorder_first_tick(struct recorder *r);
void recorder_scheduled_tick(struct recorder *r);
void recorder_wake(struct recorder *r); /* after events: an idle job of an observer is sampled if they changed it */
uint64_t recorder_since(const struct recorder *r, uint64_t absolute_ns);

#endif
