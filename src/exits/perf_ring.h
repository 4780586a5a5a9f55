/* SPDX-License-Identifier: Apache-2.0 */
/* One ring of perf records in shared memory: the kernel writes at the head, we read at the tail. */
#ifndef EXITS_PERF_RING_H
#define EXITS_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exits/perf_parse.h"

#define RING_RECORD_MOST 256u /* ours have at most 80 bytes */
#define RING_SEEN 32u

/* A record that was read lately, by the thread that it is of. */
struct ring_seen {
    enum perf_what what;
    int32_t tid;
    uint64_t id, t_ns;
};

struct perf_ring {
    int fd;       /* of the event that owns it; borrowed; -1: not mapped */
    void *pages;  /* struct perf_event_mmap_page, then the data */
    size_t size;  /* bytes of data, a power of two */
    uint64_t head, tail; /* bytes since the ring began */
    bool has_next; /* next is the record at tail, in text */
    struct perf_record next;
    unsigned char text[RING_RECORD_MOST];
    struct ring_seen seen[RING_SEEN];
};

/* Maps the ring of an event. Takes less than size where the user's share of locked memory does not allow more. Returns
 * 0 or -errno. */
int ring_map(struct perf_ring *r, int fd, size_t size);
void ring_unmap(struct perf_ring *r);
/* Sees how far the kernel has written. */
void ring_refresh(struct perf_ring *r);
/* Makes next valid, if there is one before the head. Returns false if not. *ret_torn grows where bytes made no sense
 * and all up to the head was dropped. */
bool ring_peek(struct perf_ring *r, uint64_t *ret_torn);
void ring_advance(struct perf_ring *r);
/* Has another event written the same record to this ring just before? A thread that was attached to though it had
 * inherited has two events on each CPU, and both tell of its forks, its end and its use. To be asked once for each
 * record. */
bool ring_is_repeated(struct perf_ring *r, const struct perf_record *record);

#endif
