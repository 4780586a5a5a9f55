/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/events/perf_ring.h"

#define LEAST (16u << 10)
#define REPEATED_WITHIN 10000000u /* ns; duplicates are written right after each other */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int ring_map(struct perf_ring *r, int fd, size_t size)
{
    size_t page = page_size(), least = LEAST > page ? LEAST : page;
    if (size < least)
        size = least;
    for (;; size /= 2) {
        void *at = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) {
            *r = (struct perf_ring){.fd = fd, .pages = at, .size = size};
            return 0;
        }
        if (errno != EPERM || size / 2 < least)
            return -errno;
    }
}

void ring_unmap(struct perf_ring *r)
{
    if (r->pages)
        munmap(r->pages, r->size + page_size());
    *r = (struct perf_ring){.fd = -1};
}

void ring_refresh(struct perf_ring *r)
{
    struct perf_event_mmap_page *page = r->pages;
    if (page)
        r->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

static void copy_out(const struct perf_ring *r, uint64_t from, void *to, size_t len)
{
    const unsigned char *data = (const unsigned char *)r->pages + page_size();
    size_t at = from & (r->size - 1), first = r->size - at < len ? r->size - at : len;
    memcpy(to, data + at, first);
    memcpy((unsigned char *)to + first, data, len - first);
}

static void set_tail(struct perf_ring *r, uint64_t tail)
{
    struct perf_event_mmap_page *page = r->pages;
    r->tail = tail;
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

bool ring_peek(struct perf_ring *r, uint64_t *ret_torn)
{
    struct perf_event_header h;
    while (!r->has_next && r->pages && r->tail != r->head) {
        uint64_t there = r->head - r->tail;
        if (there >= sizeof(h))
            copy_out(r, r->tail, &h, sizeof(h));
        if (there < sizeof(h) || there > r->size || h.size < sizeof(h) || h.size > there) {
            ++*ret_torn;
            set_tail(r, r->head);
            return false;
        }
        if (h.size <= sizeof(r->text)) {
            copy_out(r, r->tail, r->text, h.size);
            r->has_next = perf_parse(span_of(r->text, h.size), &r->next) == 0;
            *ret_torn += !r->has_next;
        }
        if (!r->has_next)
            set_tail(r, r->tail + h.size);
    }
    return r->has_next;
}

void ring_advance(struct perf_ring *r)
{
    struct perf_event_header h;
    memcpy(&h, r->text, sizeof(h));
    r->has_next = false;
    set_tail(r, r->tail + h.size);
}

bool ring_is_repeated(struct perf_ring *r, const struct perf_record *record)
{
    struct ring_seen *s = &r->seen[((uint32_t)record->tid * 4u + (uint32_t)record->what) % RING_SEEN];
    bool same = s->tid == record->tid && s->what == record->what && s->id != record->id;
    if (same && record->t_ns < s->t_ns + REPEATED_WITHIN)
        return true;
    *s = (struct ring_seen){record->what, record->tid, record->id, record->t_ns};
    return false;
}
