/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: named sets of members, which were selected by their commands (recorder/select). What a task has used is the
 * sum over its processes without their children, because the parent of a process of the task may not be a member.
 * Example: a shell that is not a member started three gulpy, which used 2 s each. One has ended: 4 s of the living ones
 * and 2 s of the exit are 6 s.
 *
 * If members are selected, each member belongs to a task, and the job's totals are such sums, too. A task that is a
 * control group has used what the kernel counts for the group, which includes processes that were never seen.
 */
#ifndef RECORDER_JOB_TASK_H
#define RECORDER_JOB_TASK_H

#include "recorder/job/job.h"

#define TASK_SPANS 32u

struct job_task {
    uint32_t id;                               /* id of the entity */
    uint64_t ended[TASK_MAX];                  /* counters of the processes that have ended or left */
    uint64_t io_published[4];                  /* the sums of I/O as they were written last: they never fall */
    uint64_t user_published, system_published; /* CPU time as it was written last */
    uint64_t started, gone, unread, io_unread, tcp_unread, samples;
    bool tcp_known;     /* some process had values of TCP */
    uint8_t tcp_absent; /* why they were absent for the last process; 0: there was none */
    uint64_t living, peak;
    uint64_t rss_peak, uss_peak;
    uint64_t begin_ns, active_ns;
    uint64_t since_ns;        /* since when it has had living processes; valid if living */
    uint64_t until_ns;        /* the latest end of a process so far */
    uint64_t commands_unread; /* programs that may have belonged to it and ended before their command was read */
    uint64_t commands_unread_cpu, commands_unsized; /* CPU time of these; how many have no known CPU time */
    struct task_span {
        uint64_t begin_ns, end_ns;
    } spans[TASK_SPANS]; /* the last times in which it had processes: a ring */
    unsigned next_span;
    bool has_status;                   /* the command of `run --task`, or the process that was named, has ended */
    int wait_status;                   /* its wait status (wait4(2)); if there are several, that of the last one */
    bool has_rules;                    /* commands are matched with rules; else the user named processes */
    bool is_group;                     /* its processes are those of control groups, whose own count is exact */
    struct job_group group_now;        /* that count, since the recording began */
    uint64_t extra_user, extra_system; /* the part of that count that no known process used; may wrap */
};

/* Makes n tasks, before the first member joins one. selects: each member belongs to a task. Returns 0 or -ENOMEM. */
int job_use_tasks(struct job *j, size_t n, bool selects);
/* The member has belonged to this task, counted from 1, since begin_ns. */
void job_join(struct job *j, struct member *m, unsigned task, uint64_t begin_ns);
/* The command of the task, counted from 1, has ended with this wait status. */
void job_task_status(struct job *j, unsigned task, int wait_status);
/* The member is alive and leaves the job: what it has used by now, according to its row, stays with its task. */
void job_leave(struct job *j, struct member *m);

/* Tasks of a job that has other members, too. A task is a label of some members and does not change the job's totals.
 * job_add_task() returns the number of the new task, or a negative code.
 * job_label(): the member has belonged to this task (0: to none) since since_ns. from_now: what it has used so far does
 * not count for the task.
 * job_inherit(): a new member gets the task that children of its parent get.
 * job_label_below(): all descendants of root belong to the task, also those that it starts later; root does not. */
#define JOB_TASKS_MOST 255u
int job_add_task(struct job *j, uint32_t id);
void job_label(struct job *j, struct member *m, unsigned task, uint64_t since_ns, bool from_now);
void job_inherit(struct job *j, struct member *m, const struct member *parent);
void job_label_below(struct job *j, struct member *root, unsigned task);
/* Counts an exit, not yet written, for the task to which its process had belonged since begin_ns. */
void job_label_exit(struct job *j, struct baro_exit *e, unsigned task, uint64_t begin_ns);
/* Counts a process of the task that has ended, and whose exit was counted for no task. */
void job_label_missed(struct job *j, unsigned task);
/* A program that may have belonged to the task ended before its command was read. cpu_ns: NULL: not known. */
void job_task_unread(struct job *j, unsigned task, const uint64_t *cpu_ns);

/* Fills the values of all tasks for a sample at now_ns: a row of TASK_MAX values for each task. */
void job_task_values(struct job *j, uint64_t now_ns, uint64_t (*ret_value)[TASK_MAX], uint8_t (*ret_absent)[TASK_MAX]);

/* Counts one more sample for each member: the rows of the last sample are written again. */
void job_task_repeat(struct job *j);

/* ---- only for recorder/job ---- */
/* The values of I/O of a task, and what they are made of. */
#define TASK_IO 4
extern const struct task_io {
    enum task_metric task;
    enum exit_metric exit;
    enum process_metric process;
    enum ledger_counter base;
} task_io[TASK_IO];
/* The part of the member's CPU time that it used in user mode since it joined its task. */
uint64_t task_user_of(const struct member *m, uint64_t cpu);
void task_ended(struct job *j, struct member *m, uint64_t end_ns);
void task_note_peaks(struct job *j);
void task_revived(struct job *j, struct member *m);
void task_exit(struct job *j, const struct member *m, const struct baro_exit *e);
void task_add_span(struct job_task *t, uint64_t begin_ns, uint64_t end_ns);
void task_set_base(struct member *m); /* what it has used so far does not count for its task */
/* The member is none of the task's: it belongs to another recording of barograph. */
void task_drop(struct job *j, struct member *m);
/* task_tcp.c */
void task_tcp_base(struct member *m);
void task_tcp_add(const struct member *m, uint64_t *v);
void task_tcp_live(struct job_task *t, const struct member *m, uint64_t *v);
void task_tcp_exit(struct job_task *t, const struct member *m, const struct baro_exit *e);
void task_tcp_label(struct job_task *t, const struct baro_exit *e);
void task_tcp_finish(const struct job_task *t, uint64_t *v, uint8_t *absent);
/* Adds what the sockets of an ended process sent and received since its exit was filled. */
void task_late(struct job *j, const struct member *m, const struct baro_exit *e);
/* Adds what the gone members had used to the job's totals: their parents do not count. */
void task_settle(struct job *j);

#endif
