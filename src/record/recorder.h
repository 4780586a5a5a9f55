/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's state, for its own files. */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "collect/sampler.h"
#include "schedule/schedule.h"
#include "exits/events.h"
#include "exits/filter.h"
#include "record/record.h"
#include "run/link.h"
#include "tape/writer.h"

#define STASH_MAX 256u /* exits told by taskstats before the fork that made the process was seen */
#define TARGETS_MAX 64u
#define DEFERRED_EXECS_MAX 64u

struct stash {
    int32_t pid;
    struct exits_event event;
};

#define OOM_ENDED_MAX 64u
/* Processes of the job that SIGKILL ended, or nobody knows what. */
struct oom_watch {
    struct oom_ended {
        int32_t pid;
        char name[28];
    } at[OOM_ENDED_MAX];
    size_t n;               /* all of them */
    uint64_t killed;        /* of these by SIGKILL, as is known */
};

struct recorder {
    const struct record_options *options;
    struct baro_header header;
    struct limits_watch *limits;  /* limits.c; NULL: there is no job */
    struct cgroup_hierarchies *places; /* the job's control groups; NULL: not to be looked at */
    int root_fd;
    struct tape_writer *writer;
    struct job job;
    struct sampler sampler;
    int proc_fd, sys_fd, epoll_fd, signal_fd, link_fd;
    pid_t wrapper;
    volatile uint64_t *write_hangs_at; /* of struct link_end; NULL: nobody looks */
    uint64_t write_began_ns, write_longest_ns;
    bool tape_is_local; /* neither on a file server nor on FUSE */
    int32_t command;            /* pid of the command; 0 until LINK_STARTED */

    struct exits_source *forks; /* tells forks, execs and exits; NULL: scanning */
    struct exits_source *usage; /* tells what ended processes used; may be forks itself; NULL: none */
    struct member *touched, *touched_last;
    int32_t
        deferred_execs[DEFERRED_EXECS_MAX]; /* who executed something and is looked at when it has lived for a while */
    size_t n_deferred_execs;
    bool taskstats_tried;
    bool unpollable;                  /* the events' descriptor can't be waited for */
    bool listening;             /* it is waited for: the next event wakes us */
    struct stash *stash;
    size_t stash_at;
    uint64_t drain_due_ns;      /* absolute; 0: nothing to drain */
    uint64_t drain_delay_ns;    /* the longest that the buffer allows */
    unsigned foreign;           /* drains in a row that told of nobody of the job */
    uint64_t perf_due_ns;       /* when perf is opened, off the start path; 0: not at all, or done */
    size_t n_attached;          /* how many perf was attached to */
    struct exits_filter *filter; /* event_filter.c; NULL: none */
    bool filter_tried, filter_holds, filter_behind; /* it holds back what is foreign; it did not know somebody */
    uint32_t filter_gaps;
    uint64_t filter_found, filter_ended, foreign_forks;
    bool perf_partly;           /* somebody could not be attached to */
    int32_t first_pid;          /* given before any of the job's was that nobody has told of; 0: not known */
    uint64_t event_forks;        /* members that an event made */
    uint64_t found;             /* members that something else made, when they were last looked through */

    uint64_t tick_due_ns;       /* since the tape began */
    uint64_t sampled_ns;        /* the last sample */
    uint64_t quiet_ns;          /* the last sample in which somebody had run */
    uint64_t looked_ns;         /* the last look since then that found nobody who had */
    bool resting;               /* between such looks */
    bool coarse;                /* no epoll_pwait2(2) */
    bool begun;                 /* the tape has its header */
    bool foreign_proc;          /* /proc is of another PID namespace: it is not read */
    bool started, finishing, wrapper_lost, link_closed, detached, trimmed;
    struct oom_watch oom;
    bool status_known;
    int status;
    uint64_t end_ns;            /* of the command, or of the last target */
    uint64_t error_reported;        /* the tape failed, and it was said */
    size_t pending;             /* exits and events since the last commit */
    int64_t wall_offset_ns;     /* realtime minus monotonic, at the last tick */
    uint64_t boot_offset_ns;    /* boottime minus monotonic */
    int target_fds[TARGETS_MAX];
    struct baro_key target_keys[TARGETS_MAX];
};

/* header.c */
int header_fill(struct baro_header *h, const struct record_options *o, uint64_t now_monotonic_ns);
void header_free(struct baro_header *h);

/* event_apply.c: what event sources say */
int event_read(struct recorder *r); /* all of it; returns how many events told who came and went */
void event_lost(struct recorder *r, uint64_t times); /* so often some were lost */
void event_touch(struct recorder *r, struct member *m); /* an event spoke of it: it is looked at after the drain */
void event_take_stashed(struct recorder *r, struct member *m); /* what it had used, if that came before its name */

/* event_sources.c: when they are heard */
void event_open(struct recorder *r);
void event_open_usage(struct recorder *r); /* now that somebody was forked who will end */
void event_drain(struct recorder *r);
bool event_is_silent(const struct recorder *r); /* had there been an event, it would have woken us */
void event_ready(struct recorder *r);
void event_catch_up(void *recorder); /* what ended in this tick: for struct sampler_options */
void event_close(struct recorder *r);
void event_use(struct recorder *r, struct exits_source *forks); /* from now on it tells of forks */

/* event_filter.c: what is foreign is held back by the kernel */
void event_filter(struct recorder *r, int events); /* after a drain that told of so many */
void event_filter_fork(struct recorder *r, int32_t pid); /* of a member was read */
void event_filter_usage(struct recorder *r); /* there is a source of usage now */

/* event_perf.c: perf, which is to be attached to each member */
void event_note_pid(struct recorder *r); /* before anybody of the job can be forked unheard */
void event_open_late(struct recorder *r);
void event_verify(struct recorder *r); /* after members were found by other means: were they told of? */
void event_check_survivors(struct recorder *r); /* at the end: may those that live on have forked unheard? */

/* wrapper.c: what the wrapper says */
void wrapper_drain(struct recorder *r);
void wrapper_forget(struct recorder *r); /* who was reaped, and nobody told of them */

/* targets.c: attach */
int targets_open(struct recorder *r, struct baro_error *err);
void targets_ended(struct recorder *r, size_t i);
void targets_check(struct recorder *r); /* after a tick: where no descriptor tells */
void targets_close(struct recorder *r);

/* oom.c */
void oom_note_exit(struct recorder *r, const struct baro_exit *e);
void oom_tell(struct recorder *r); /* after the last sample */

/* limits.c */
int limits_prepare(struct recorder *r, struct baro_error *err);
void limits_without_groups(struct recorder *r); /* they are not looked at but for their limits */
bool limits_placed(const struct recorder *r);   /* are the groups known already? */
void limits_settle(struct recorder *r);
bool limits_wanted(const struct recorder *r);   /* the first ones, when there is time */
void limits_find(struct recorder *r);           /* if they are wanted still */
void limits_turn(struct recorder *r);           /* after a tick: are they others by now? */
void limits_close(struct recorder *r);

/* loop.c */
int loop_open(struct recorder *r, struct baro_error *err);
void loop_run(struct recorder *r);

/* finish.c */
void recorder_finish(struct recorder *r);

/* recorder.c */
/* Around whatever touches the tape's file system, which may not answer: the wrapper sees how long that takes. */
void recorder_writes(struct recorder *r, bool begins);
void recorder_event(struct recorder *r, enum baro_event_kind kind, const struct member *m, uint64_t number,
                    const char *text);
void recorder_tick(struct recorder *r);
void recorder_last_tick(struct recorder *r); /* the observer gets the sample before the tape does */
void recorder_first_tick(struct recorder *r);
void recorder_scheduled_tick(struct recorder *r);
uint64_t recorder_since(const struct recorder *r, uint64_t absolute_ns);

#endif
