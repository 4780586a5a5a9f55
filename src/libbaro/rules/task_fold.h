/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tasks of a recording have used, summed up by readers from the rows of processes and their exits, in the
 * order of the tape. A process has the task that its row says, or, with rules, the one that its command fits: a child
 * has its parent's until a rule fits the child, and a program that it executes is matched anew.
 *
 * A task has used what its processes used while they belonged to it, without their children: the parent of a process
 * may belong to another task. Example: a shell of no task started three gulpy, which used 2 s each. One has ended: 4 s
 * of the living ones and 2 s of the exit are 6 s.
 *
 * A rule may need a command line that the tape does not have: then the process belongs to no task, and each that it may
 * belong to counts it (commands_unread), with its CPU time (commands_unread_cpu).
 *
 * An exit counts when the next sample comes: only then is it known what its parent was.
 */
#ifndef LIBBARO_RULES_TASK_FOLD_H
#define LIBBARO_RULES_TASK_FOLD_H

#include "libbaro/rules/rule.h"
#include "libbaro/sample/sample.h"

struct task_fold;

/* rules: borrowed; NULL: rows say which task they belong to. since_ns: the time of the sample before the first one that
 * it gets, in which no process had a task; 0: none. Returns 0 or -ENOMEM. */
int task_fold_new(struct task_fold **ret, const struct baro_header *h, const struct rules *rules, uint64_t since_ns);
void task_fold_free(struct task_fold *f); /* NULL allowed */

/* Sets the task of each process, and the tasks of the sample, which belong to the fold until the next call. Values that
 * the sample has stay: earlier recorders summed up themselves. Returns 0 or -ENOMEM. */
int task_fold_sample(struct task_fold *f, struct baro_sample *s);
/* Sets the task of the process as far as it is known by now. Returns 0 or -ENOMEM. */
int task_fold_exit(struct task_fold *f, struct baro_exit *e);
/* Gives the processes of the sample their own tasks back, which changes on a tape refer to. Call it before they are
 * read again. */
void task_fold_restore(struct task_fold *f, struct baro_process *const *processes, size_t n);
/* After this instant of the thread's CPU time no command is matched any more; 0: no limit. Rules and commands of a
 * hostile tape can take a tenth of a second for each process. */
void task_fold_limit_cpu(struct task_fold *f, uint64_t until_ns);
/* Adds what brief lives (brief.def) have grown by to the task with this id. Returns 0 or -ENOMEM. */
int task_fold_briefs(struct task_fold *f, uint32_t id, const uint64_t grown[BRIEF_MAX], uint64_t t_ns);
/* Does a sample have tasks whose values a reader has to sum up? */
bool task_fold_is_needed(const struct baro_sample *s);

/* The reason for which a recorder leaves a value of a task to readers. */
#define TASK_OF_READERS BARO_ABSENT_NOT_ASKED

#endif
