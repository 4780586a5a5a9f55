/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector "memory": pss and uss of processes, full names and command lines. All come from a helper process, as
 * reading them can block.
 *
 * A read of smaps_rollup walks the page tables of its target (13 ns per 4 KiB page) and holds its mmap lock for that
 * long. So a process is read when its memory has moved, at most for one percent of its time, and all together within
 * the budget. Example: 4 GB resident are a million pages, 13 ms; that process is read every 1.3 s at most. On a new
 * peak of the job the largest are read within that tick, so that the peak is known in pss as well.
 */
#ifndef COLLECT_MEMORY_H
#define COLLECT_MEMORY_H

#include "collect/sampling.h"
#include "helper/helper.h"

#define SHARED_SLOTS 512u

struct memory {
    struct sampling *sampling;
    struct helper *helper; /* NULL: none yet */
    bool no_helper;        /* none can be made */
    struct allowance allowance;
    uint64_t rss_sum_peak;
    bool peak_unread;              /* of those that make up the peak some could not be read yet */
    uint32_t shared[SHARED_SLOTS]; /* KiB that moved, by program and by parent */
    bool shared_moved;             /* since members whose pss that makes stale were last looked for */
    bool moved_since_asked;        /* since the helper was asked: its reply may be older than that */
    uint64_t shared_ns;            /* when that was */
    uint64_t stale_since_ns;       /* stale is not 0 since then */
    uint64_t stale;                /* members whose pss is older than a change among those that share with them; 0: the
                                      sum is right but for a sixteenth */
    struct helper_request *requests;
    size_t n_requests, cap_requests;
};

extern const struct collector memory_collector;
void memory_init(struct memory *y, struct sampling *sampling);

/* Changes when the memory of the process may have changed: page faults and rss, as stat shows them. */
uint64_t memory_key(const struct member *m);

/* The member came, went, grew or shrank by that many bytes. */
void memory_moved_by(struct memory *y, const struct member *m, uint64_t bytes);

/* When the helper is to be asked for something of this member; UINT64_MAX: not until it changes. */
uint64_t memory_due(const struct memory *y, const struct member *m);

/* How many members have a pss that is stale; absent where it is not read. */
uint64_t memory_stale(const struct memory *y, uint8_t *ret_absent);

#endif
