/* SPDX-License-Identifier: Apache-2.0 */
/* One ring of perf records in shared memory: the kernel writes at the head, the reader follows with the tail. */
#ifndef KERNEL_EVENTS_PERF_RING_H
#define KERNEL_EVENTS_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/events/perf_parse.h"

#define RING_RECORD_MOST 256u /* ours have at most 80 bytes */
#define RING_SEEN 32u

/* A record that was read recently. */
struct ring_seen {
    enum perf_what what;
    int32_t tid;
    uint64_t id, t_ns;
};

struct perf_ring {
    int fd;              /* descriptor of the event that owns the ring; not closed here; -1: not mapped */
    void *pages;         /* struct perf_event_mmap_page, then the data */
    size_t size;         /* bytes of data, a power of two */
    uint64_t head, tail; /* in bytes since the ring was mapped */
    bool has_next;       /* next is the parsed record at the tail, text its bytes */
    struct perf_record next;
    unsigned char text[RING_RECORD_MOST];
    struct ring_seen seen[RING_SEEN];
};

/* Maps the ring of an event. Maps less than size if the user's limit on locked memory does not allow more. Returns 0 or
 * -errno. */
int ring_map(struct perf_ring *r, int fd, size_t size);
void ring_unmap(struct perf_ring *r);
/* Reads how far the kernel has written. */
void ring_refresh(struct perf_ring *r);
/* Makes `next` valid if there is a record before the head; returns false if there is none. If bytes make no sense, all
 * up to the head is dropped and *ret_torn grows. */
bool ring_peek(struct perf_ring *r, uint64_t *ret_torn);
void ring_advance(struct perf_ring *r);
/* Returns whether another event has just written the same record to this ring. A thread that was attached to although
 * it had inherited has two events on each CPU, and both record its forks, exit and CPU time. Remembers the record, so
 * call it once per record. */
bool ring_is_repeated(struct perf_ring *r, const struct perf_record *record);

#endif
