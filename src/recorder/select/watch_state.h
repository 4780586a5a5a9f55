/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of watch.h share: the table of processes, and what a process is in each job. */
#ifndef RECORDER_SELECT_WATCH_STATE_H
#define RECORDER_SELECT_WATCH_STATE_H

#include "recorder/select/watch.h"

#define WATCH_ANCESTORS_MOST 64

struct watch_process *watch_find(const struct watch *w, int32_t pid);
struct watch_process *watch_add_process(struct watch *w, int32_t pid, int32_t ppid); /* NULL: out of memory */
void watch_drop_process(struct watch *w, struct watch_process *p);

/* NULL: it has nothing to do with the job. */
struct watch_member *watch_member_of(const struct watch_process *p, const struct watch_job *job);
struct watch_member *watch_make_member(struct watch_process *p, struct watch_job *job); /* NULL: out of memory */
void watch_prune(struct watch_process *p); /* drops entries that are of no use any more */

static inline uint8_t watch_first_of(uint8_t a, uint8_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* The task of a process whose own command fits m->found. */
uint8_t watch_task_of(const struct watch_member *m);
/* Is it pinned ahead of every rule, so that its command need not be read? */
bool watch_is_settled(const struct watch *w, const struct watch_process *p);

void watch_set_due(struct watch *w, struct watch_process *p, uint64_t due_ns);
/* Reports the change of each job, if there is one. */
void watch_report(struct watch *w, struct watch_process *p, const struct watch_change *change);
/* Reads and matches its command. Returns false if it could not be read any more. */
bool watch_match(struct watch *w, struct watch_process *p, const struct watch_change *change);
void watch_set_again(struct watch *w, struct watch_process *p, uint64_t now_ns);
#define WATCH_AGAIN_LAST 3u /* how often a process is matched again after less than half a minute */

#endif
