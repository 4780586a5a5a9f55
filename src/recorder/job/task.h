/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: named sets of members, which were selected by their commands (src/select). What a task has used is the sum
 * over its processes themselves: their parents may be no members, so nothing can be taken over from children. Example:
 * three gulpy of a shell that is no member used 2 s each, and one has ended: 4 s of the living and 2 s of the exit
 * record are 6 s.
 *
 * A job whose members are selected has no members but those of tasks, and its totals are sums of the same kind. A task
 * that is a control group has used what the kernel counted for the group, which includes processes that were never
 * seen.
 */
#ifndef RECORDER_JOB_TASK_H
#define RECORDER_JOB_TASK_H

#include "recorder/job/job.h"

#define TASK_SPANS 32u

struct job_task {
    uint32_t id;              /* of the entity */
    uint32_t id_before;       /* the same on the tape of another recorder, with which this one goes on; 0: none */
    uint64_t ended[TASK_MAX]; /* counters of the processes that have ended or left */
    uint64_t io_published[4]; /* the sums of I/O as they were written last: they never fall */
    uint64_t user_published, system_published; /* the same of CPU time */
    uint64_t started, gone, unread, io_unread, tcp_unread, samples;
    bool tcp_known;     /* of some process, at some time */
    uint8_t tcp_absent; /* else why not, as the last one said; 0: there was none */
    uint64_t living, peak;
    uint64_t rss_peak, uss_peak;
    uint64_t begin_ns, active_ns;
    uint64_t since_ns;        /* while it has living processes: since when */
    uint64_t until_ns;        /* the latest end so far */
    uint64_t commands_unread; /* programs that ended before their command was read, and may have belonged to it */
    uint64_t commands_unread_cpu, commands_unsized; /* CPU time of these; how many of whom it is not known */
    struct task_span {
        uint64_t begin_ns, end_ns;
    } spans[TASK_SPANS]; /* the last ones in which processes lived, as a ring */
    unsigned next_span;
    bool has_status;                   /* the command of `run --task`, or the process that was named, has ended with */
    int wait_status;                   /* this (wait4(2)); of several the one that ended last */
    bool has_rules;                    /* else processes are named, and no command decides */
    bool is_group;                     /* its processes are those of control groups, whose own count is exact */
    bool group_short;                  /* that count lacks what another group of the same name used */
    struct job_group group_now;        /* that count, since the recording began */
    uint64_t extra_user, extra_system; /* the part that no known process used; may wrap */
};

/* To be called before the first member joins a task. selects: each member belongs to one. Returns 0 or -ENOMEM. */
int job_use_tasks(struct job *j, size_t n, bool selects);
/* The member belongs to this task, counted from 1, since begin_ns. */
void job_join(struct job *j, struct member *m, unsigned task, uint64_t begin_ns);
/* The command that the task is about has ended with this wait status; task is counted from 1. */
void job_task_status(struct job *j, unsigned task, int wait_status);
/* The member goes on and is none any more: what it has used by now, as its row says, stays with its task. */
void job_leave(struct job *j, struct member *m);

/* A job that has other members as well: a task is a label of some, and the job's totals are what they are without.
 * job_add_task() returns the number of the new task, or a negative code. job_label(): the member belongs to this task
 * (0: to none) since since_ns; from_now: what it used so far does not count for it. job_inherit(): a member that was
 * just added gets the task of what its parent starts. job_label_below(): what root has started, and will start, belongs
 * to the task; not root itself. */
#define JOB_TASKS_MOST 255u
int job_add_task(struct job *j, uint32_t id);
void job_label(struct job *j, struct member *m, unsigned task, uint64_t since_ns, bool from_now);
void job_inherit(struct job *j, struct member *m, const struct member *parent);
void job_label_below(struct job *j, struct member *root, unsigned task);
/* The process whose exit record this is belonged to the task since begin_ns, which was not known when it was made. */
void job_label_exit(struct job *j, struct baro_exit *e, unsigned task, uint64_t begin_ns);
/* A process of the task has ended, and what it used was counted for no task. */
void job_label_missed(struct job *j, unsigned task);
/* A program may have belonged to the task, and ended before its command was read. cpu_ns: NULL: not known. */
void job_task_unread(struct job *j, unsigned task, const uint64_t *cpu_ns);

/* Another recorder has recorded the task until the sample `last`, in which it is `then`: before job_resume(). */
void job_task_resume(struct job *j, unsigned task, const struct baro_sample *last, const struct baro_entity *then);
/* The task of a process of that sample, counted from 1; 0: none. */
unsigned job_task_before(const struct job *j, const struct baro_process *row);

/* Adds what the members have now to the sums of all tasks: n rows of TASK_MAX values. sampled: they are in a sample of
 * time now_ns. */
void job_task_values(struct job *j, uint64_t now_ns, uint64_t (*ret_value)[TASK_MAX], uint8_t (*ret_absent)[TASK_MAX]);

/* The rows of the members are written once more. */
void job_task_repeat(struct job *j);

/* ---- for src/job alone ---- */
void task_ended(struct job *j, struct member *m, uint64_t end_ns);
void task_note_peaks(struct job *j);
void task_revived(struct job *j, struct member *m);
void task_exit(struct job *j, const struct member *m, const struct baro_exit *e);
void task_add_span(struct job_task *t, uint64_t begin_ns, uint64_t end_ns);
void task_set_base(struct member *m); /* what it has used so far is not its task's */
/* task_resume.c: a member of now; then: the task that it had in the last sample, 0: none, at last_ns */
void task_resume_member(struct job *j, struct member *m, unsigned then, uint64_t last_ns);
void task_resume_lost(struct job *j, unsigned task); /* a process of the task was not found again */
/* task_tcp.c */
void task_tcp_base(struct member *m);
void task_tcp_add(const struct member *m, uint64_t *v);
void task_tcp_live(struct job_task *t, const struct member *m, uint64_t *v);
void task_tcp_exit(struct job_task *t, const struct member *m, const struct baro_exit *e);
void task_tcp_label(struct job_task *t, const struct baro_exit *e);
void task_tcp_finish(const struct job_task *t, uint64_t *v, uint8_t *absent);
/* What the sockets of an ended process did since its exit was filled. */
void task_late(struct job *j, const struct member *m, const struct baro_exit *e);
/* Carries what the gone members had used: nobody takes it over. */
void task_settle(struct job *j);

#endif
