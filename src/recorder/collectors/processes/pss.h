/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector "memory": pss and uss of processes, full names and command lines. A helper process reads all of them,
 * as these reads can block.
 *
 * A read of smaps_rollup walks the page tables of its process (13 ns per 4 KiB page) and holds the mmap lock of that
 * process meanwhile. So a process is read only when its memory has changed, for at most one percent of the time, and
 * all processes together within the budget. Example: 4 GB resident are a million pages or 13 ms, so that process is
 * read at most every 1.3 s. At a new peak of the job the largest processes are read within that tick, so that the peak
 * is known in pss as well.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_PSS_H
#define RECORDER_COLLECTORS_PROCESSES_PSS_H

#include "recorder/helper/helper.h"
#include "recorder/sampling/sampling.h"

#define SHARED_SLOTS 512u

struct memory {
    struct sampling *sampling;
    struct helper *helper; /* NULL: none yet; may be the one that all recordings share (struct account) */
    bool no_helper;        /* creating one failed */
    uint64_t rss_sum_peak;
    bool peak_unread;              /* some of the largest members at the peak were not read yet */
    uint32_t shared[SHARED_SLOTS]; /* KiB that changed, by hash of program, parent and process */
    /* files: KiB of files that became shared or ceased to be shared, in the whole job. files_asked: its value when the
     * helper was asked, plus the changes that replies have shown since */
    uint32_t files, files_asked;
    bool shared_moved;       /* changed since stale members were last counted */
    bool moved_since_asked;  /* changed since the helper was asked: its reply may be older */
    uint64_t shared_ns;      /* when stale members were last counted */
    uint64_t stale_since_ns; /* since when stale is not 0 */
    /* members whose pss is older than a change of memory that they may share; 0: the sum of pss is right within a
     * sixteenth */
    uint64_t stale;
    struct helper_request *requests;
    size_t n_requests, cap_requests;
};

extern const struct collector memory_collector;
void memory_init(struct memory *y, struct sampling *sampling);

/* Takes a reply of a shared helper to a request of this one. */
void memory_take_reply(struct memory *y, const struct helper_reply *reply);

/* A value that changes when the memory of the process may have changed: page faults plus rss, as in stat. */
uint64_t memory_key(const struct member *m);
/* May the process have used more than its high-water mark, which was read when its rss was rss_then, and have freed it
 * again? It may have if its page faults since then are for more memory than its rss grew by. Example: 42 MB then, 38 MB
 * now, and 5,000 faults of 4 kB: it may have had 62 MB. */
bool memory_may_have_peaked(uint64_t rss_then, uint64_t rss_now, uint64_t faulted_bytes, uint64_t mark);

/* Returns when the helper must be asked about this member because its own memory changed; members that are stale
 * because of others: request_stale(). UINT64_MAX: not before the member changes. */
uint64_t memory_due(const struct memory *y, const struct member *m);

/* The number of members whose pss is stale; absent if pss is not read. */
uint64_t memory_stale(const struct memory *y, uint8_t *ret_absent);

#endif
