/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: named sets of members, which were selected by their commands (recorder/select), or named by the job itself.
 * The recorder says which task a member belongs to, and readers sum up what its processes have used (libbaro/rules).
 *
 * If members are selected, each member belongs to a task, and the job's totals are sums over what members used without
 * their children, because the parent of one may not be a member. A task that is a control group has used what the
 * kernel counts for the group, which includes processes that were never seen.
 */
#ifndef RECORDER_JOB_TASK_H
#define RECORDER_JOB_TASK_H

#include "recorder/job/job.h"

struct job_task {
    uint32_t id;              /* id of the entity */
    uint64_t commands_unread; /* programs that may have belonged to it and ended before their command was read */
    uint64_t commands_unread_cpu, commands_unsized; /* CPU time of these; how many have no known CPU time */
    bool has_status;                   /* the command of `run --task`, or the process that was named, has ended */
    int wait_status;                   /* its wait status (wait4(2)); if there are several, that of the last one */
    bool has_rules;                    /* commands are matched with rules; else the user named processes */
    bool is_group;                     /* its processes are those of control groups, whose own count is exact */
    struct job_group group_now;        /* that count, since the recording began */
    uint64_t ended_cpu, ended_user;    /* CPU time of processes of the group that have ended */
    uint64_t extra_user, extra_system; /* the part of that count that no known process used; may wrap */
};

/* Makes n tasks, before the first member joins one. selects: each member belongs to a task. Returns 0 or -ENOMEM. */
int job_use_tasks(struct job *j, size_t n, bool selects);
/* The command of the task, counted from 1, has ended with this wait status. */
void job_task_status(struct job *j, unsigned task, int wait_status);
/* The member is alive and leaves the job: what it has used by now, according to its row, stays with its task. */
void job_leave(struct member *m);

/* Tasks of a job that has other members, too. A task is a label of some members and does not change the job's totals.
 * job_add_task() returns the number of the new task, or a negative code.
 * job_label(): the member belongs to this task (0: to none).
 * job_inherit(): a new member gets the task that children of its parent get.
 * job_label_below(): all descendants of root belong to the task, also those that it starts later; root does not. */
#define JOB_TASKS_MOST 255u
int job_add_task(struct job *j, uint32_t id);
void job_label(struct member *m, const struct job *j, unsigned task);
void job_inherit(struct job *j, struct member *m, const struct member *parent);
void job_label_below(struct job *j, struct member *root, unsigned task);
/* A program that may have belonged to the task ended before its command was read. cpu_ns: NULL: not known. */
void job_task_unread(struct job *j, unsigned task, const uint64_t *cpu_ns);

/* Compares the counts of control groups with what their known processes have used: extra_user, extra_system. */
void job_count_groups(struct job *j);

/* ---- only for recorder/job ---- */
void task_exit(struct job *j, const struct member *m, const struct baro_exit *e);
/* Adds what the gone members had used to the job's totals: their parents do not count. */
void task_settle(struct job *j);

#endif
