/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine around the job: the values of /proc and /sys, as this process sees them. Files of /proc stay open. What
 * can block is read by a helper process that only the machine and the control groups use, so that a mount that hangs
 * delays nothing else.
 */
#ifndef RECORDER_COLLECTORS_HOST_HOST_H
#define RECORDER_COLLECTORS_HOST_HOST_H

#include "base/error.h"
#include "libbaro/sample/sample.h"
#include "recorder/sampling/budget.h"

struct host_options {
    int proc_fd, sys_fd; /* directory descriptors of /proc and /sys; borrowed; sys_fd may be -1 */
    uint32_t clk_tck;
    uint64_t page_size;
    /* a helper process may be started; false: filesystems, sensors and frequencies are absent */
    bool helper;
    uint64_t helper_after_ns; /* no helper is started before: a short job does not pay for its fork */
    uint32_t *entity_ids;     /* the last id given to an entity of this recording; borrowed */
};

struct host;
struct helper;

int host_new(struct host **ret, const struct host_options *options, struct baro_error *err);
void host_free(struct host *h);
/* the part of host_free() that is needed if this process ends now; NULL is allowed */

/* Starts the helper now: it is a fork of this process, which is still small. */
void host_prepare(struct host *h);

/* Reads all that is due at now_ns (time since the tape began). */
void host_read(struct host *h, uint64_t now_ns, enum budget_level level);

/* Like host_read(). last: no other call follows. If there is a helper, it is asked once more how full the filesystems
 * are, and waited for some milliseconds. */
void host_tick(struct host *h, uint64_t now_ns, enum budget_level level, bool last);

/* Puts the values read last into a sample; entities are borrowed until the next read. */
void host_fill(const struct host *h, struct baro_sample *s);

/* The helper, for other users of it; NULL if there is none, or not yet. Requests of other users name who gets the
 * reply. */
struct helper *host_helper(struct host *h);

#endif
