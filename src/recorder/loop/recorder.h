/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's state, for its own files. A part has one owner that changes it; its header says which file. */
#ifndef RECORDER_LOOP_RECORDER_H
#define RECORDER_LOOP_RECORDER_H

#include <sys/epoll.h>

#include "recorder/collectors/sampler.h"
#include "recorder/loop/event.h"
#include "recorder/loop/find_limits.h"
#include "recorder/loop/marks.h"
#include "recorder/loop/record.h"
#include "recorder/loop/recorders.h"
#include "recorder/loop/targets.h"
#include "recorder/loop/tasks.h"
#include "recorder/sampling/schedule.h"
#include "recorder/wrapper/messages.h"
#include "libbaro/writer/writer.h"

#define OOM_ENDED_MAX 64u
#define OOM_NOTED_MAX 16u
#define OOM_GROUP_MAX 256u
/* Whom the log names. */
struct oom_victim {
    int32_t pid;
    uint64_t limit;            /* of the group; 0: not known */
    char group[OOM_GROUP_MAX]; /* the control group that ran out of memory; "": the machine, or not known */
};
/* Processes of the job that were ended by SIGKILL, or whose status is not known. */
struct oom_watch {
    struct oom_ended {
        struct baro_key key;
        uint64_t t_ns;
        char name[28];
    } at[OOM_ENDED_MAX];
    /* of a machine: its count of kills as read last, and how many of them are to be reported; which processes the log
     * names that have not ended */
    uint64_t counted, pending;
    struct oom_victim awaited[OOM_NOTED_MAX];
    uint32_t n_awaited;
    uint64_t awaited_ns; /* since when */
    uint64_t recent_ns;  /* what ended before is another process that had the same pid */
    bool is_counted;
    int log_fd;      /* of a machine, once is_counted: the kernel's log, after what was read; -1: it can't be read */
    size_t n;        /* all that were noted; at[] has the last OOM_ENDED_MAX of them */
    uint64_t killed; /* those known to be ended by SIGKILL */
};

/* What the kernel's log says of OOM kills: oom.c. */
struct oom_log {
    uint64_t since_us; /* on the log's clock: earlier lines are older than the job */
    uint64_t lines, kills;
    uint64_t kills_noted; /* those of processes that were noted */
    char names[96];
    struct oom_ended noted[OOM_NOTED_MAX];     /* the first ones of these */
    struct oom_victim noted_as[OOM_NOTED_MAX]; /* how the log names these */
    struct oom_victim others[OOM_NOTED_MAX];   /* the first of the rest */
    struct oom_victim chosen;                  /* whose end the next lines say */
    bool begins_before;                        /* the log has a line from before the job, so it is complete */
    bool lost; /* it may lack lines: they were overwritten before they were read, or there were too many to read in time
                */
};

/* When samples are taken: recorder.c. Times are since the tape began. */
struct pace {
    uint64_t tick_due_ns;
    uint64_t sampled_ns; /* the last sample */
    uint64_t quiet_ns;   /* the last sample in which the CPU clock of a member had advanced */
    uint64_t checked_ns; /* the last idle check since then */
    bool is_first_due;   /* the first sample was not taken yet: its members have to join first */
    bool is_held;        /* the budget did not allow its tick when it was due */
    bool is_resting;     /* the job is idle: only its CPU clocks are checked */
    bool trimmed;        /* memory was given back after the first samples */
};

/* Writes of the tape, which may hang: recorder.c. */
struct tape_writes {
    volatile uint64_t *hangs_at; /* of struct link_end; NULL: no reader */
    uint64_t began_ns, longest_ns;
    bool is_local;            /* neither on a network file system nor on FUSE */
    bool begun;               /* the header is on the tape */
    uint64_t error_reported;  /* a write failed, and this was reported */
    size_t pending;           /* exits and events since the last commit */
    bool memory_counts_twice; /* the tape says so; each segment does, as the first ones may be removed */
};

/* How the recording ends: finish.c, loop.c, and wrapper_messages.c or targets.c, which learn it. */
struct recorder_end {
    bool finishing, detached;
    bool leaves; /* an observer stops while the job lives: another one may go on with it */
    bool status_known;
    int status;
    uint64_t t_ns; /* when the command, or the last target, ended */
};

/* The wrapper in front of the command: wrapper_messages.c. */
struct wrapper_side {
    int link_fd;
    pid_t pid;
    int32_t command;               /* pid of the command; 0 until LINK_STARTED */
    volatile uint64_t *limit_word; /* these of struct link_end; NULL: no wrapper */
    const int32_t *other;
    size_t n_others;
    struct baro_key earlier[REAP_OTHERS]; /* the same processes with their start times */
    bool started, is_lost, link_closed;
};

struct recorder {
    struct recorders *all; /* what it shares with the other recorders of this process */
    const struct record_options *options;
    struct baro_header header;
    struct tape_writer *writer;
    struct tape_writes writes;
    struct job job;
    struct sampler sampler;
    struct pace pace;
    struct wrapper_side wrapper;
    struct recorder_events events;
    struct targets targets;
    struct limits_watch *limits;       /* find_limits.c; NULL: there is no job */
    struct cgroup_hierarchies *places; /* the job's control groups; NULL: they are not read */
    struct selection selection;
    struct named_tasks tasks;
    struct oom_watch oom;
    struct marks marks;
    struct enforce enforce;
    struct recorder_end end;
    int proc_fd, sys_fd, root_fd;
    bool foreign_proc;       /* /proc is not mounted, or of another PID namespace, and is not read */
    int64_t wall_offset_ns;  /* realtime minus monotonic, at the last tick */
    uint64_t boot_offset_ns; /* boottime minus monotonic */
};

/* Are the members of the recording processes that are selected by their commands? */
static inline bool recorder_selects(const struct record_options *o)
{
    return o->attach.select;
}

/* header.c */
int header_fill(struct baro_header *h, const struct record_options *o, uint64_t now_monotonic_ns);

/* wrapper_messages.c: messages of the wrapper */
void wrapper_drain(struct recorder *r);

/* oom.c */
void oom_note_exit(struct recorder *r, const struct baro_exit *e);
/* Of a machine, after each sample: the kernel has killed processes for lack of memory. */
void oom_note_sample(struct recorder *r, const struct baro_sample *s);
void oom_report(struct recorder *r);                           /* after the last sample */
struct oom_log oom_log_of(uint64_t start_ns, uint64_t now_ns); /* for a job that began then: CLOCK_MONOTONIC */
void oom_log_take(struct oom_log *l, const struct oom_watch *w, struct span text);
/* Does the log have all kills, and were all processes noted that it may name? counted: the number of kills in the job's
 * control group. */
bool oom_log_is_whole(const struct oom_log *l, const struct oom_watch *w, uint64_t counted);

/* directories.c: what --du names */
int record_directories(struct recorder *r, struct baro_error *err);
/* The sandboxes of tasks. */
int record_sandboxes(struct recorder *r, const struct select_options *o, struct baro_error *err);

/* loop.c */
int loop_open(struct recorders *a, int stop_fd, struct baro_error *err); /* stop_fd -1: signals stop it */
void loop_run(struct recorders *a);
int loop_wait(struct recorders *a, uint64_t due_ns, struct epoll_event *events, int most);
bool loop_is_over(const struct recorder *r);

/* finish.c */
void recorder_finish(struct recorder *r);

/* begin.c */
int recorder_begin(struct recorder *r, const struct record_options *o, struct baro_error *err); /* attach */
void recorder_close(struct recorder *r);
void recorder_report_finished(struct recorder *r);
/* Why the /proc that is there can't be used: foreign_proc. */
const char *recorder_lacks_proc(void);

/* writes.c: to the tape, and to the observer */
/* Call it before and after each access to the tape's file system, which may hang. It shows the wrapper how long the
 * access has taken so far. */
void recorder_writes(struct recorder *r, bool begins);
int writes_begin(struct recorder *r, struct baro_error *err); /* the header */
void writes_observe(struct recorder *r, const struct baro_sample *s);
void writes_commit(struct recorder *r, const struct baro_sample *s); /* NULL: exits and events alone */
void writes_next_segment(struct recorder *r, uint64_t t_ns);         /* where one is due */
struct job_sink writes_sink(struct recorder *r);
void recorder_event(struct recorder *r, enum baro_event_kind kind, const struct member *m, uint64_t number,
                    const char *text);

/* recorder.c */
void recorder_flush(struct recorder *r);       /* events that were reported since the last tick go to the tape */
void recorder_sample_soon(struct recorder *r); /* at the edge of a phase: at once, within limits */
void recorder_last_tick(struct recorder *r);   /* the observer gets the sample before it is written to the tape */
void recorder_first_tick(struct recorder *r);
void recorder_scheduled_tick(struct recorder *r);
void recorder_place(struct recorder *r); /* pace.tick_due_ns has changed */
void recorder_wake(struct recorder *r);  /* after events: an idle job of an observer is sampled if they changed it */
uint64_t recorder_since(const struct recorder *r, uint64_t absolute_ns);

#endif
