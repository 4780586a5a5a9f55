/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine around the job: what /proc and /sys say of it, as this process sees it. Files of /proc are held open and
 * read anew; what can block is asked of a helper process of the machine's own, so that a mount that hangs holds up
 * nothing else.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "base/error.h"
#include "schedule/budget.h"
#include "sample/sample.h"

struct host_options {
    int proc_fd, sys_fd; /* directory descriptors of /proc and /sys; borrowed; sys_fd may be -1 */
    uint32_t clk_tck;
    uint64_t page_size;
    bool helper;              /* a helper process may be started: else no filesystem, sensor or frequency is read */
    uint64_t helper_after_ns; /* no helper before: a short job does not pay for its fork */
    uint32_t *entity_ids;     /* the last id given to an entity of this recording; borrowed */
};

struct host;
struct helper;

int host_new(struct host **ret, const struct host_options *options, struct baro_error *err);
void host_free(struct host *h);
void host_end_helper(struct host *h); /* of all that host_free() does: this process ends now. NULL allowed */

/* Starts the helper now, while there is little that it would hold a copy of. */
void host_prepare(struct host *h);

/* What there is to read at now_ns (time since the tape began). */
void host_read(struct host *h, uint64_t now_ns, enum budget_level level);

/* host_read(). last: no other call follows, so the helper, if there is one, is asked once more how full filesystems
 * are, and waited for some milliseconds. */
void host_tick(struct host *h, uint64_t now_ns, enum budget_level level, bool last);

/* What was read last, into a sample; entities are borrowed until the next read. */
void host_fill(const struct host *h, struct baro_sample *s);

/* The helper itself, for others who have something to ask: NULL if there is none, or not yet. What is diverted from it
 * is theirs. */
struct helper *host_helper(struct host *h);

/* The helper's process, 0 if there is none; the CPU time of all that there were; how often it was refused one. */
int host_helper_pid(const struct host *h);
uint64_t host_helper_cpu_ns(struct host *h);
uint64_t host_helper_refused(const struct host *h);

#endif
