/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/loop/recorders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fd.h"
#include "recorder/loop/recorder.h"

void recorders_init(struct recorders *a, struct recorder *only)
{
    *a = (struct recorders){
        .only = only, .epoll_fd = -1, .signal_fd = -1, .proc_fd = -1, .root_fd = -1, .empty_due_ns = UINT64_MAX};
}

void recorders_done(struct recorders *a)
{
    select_free(a->select.selector);
    a->select.selector = NULL;
    event_close(a);
    a->epoll_fd = fd_close(a->epoll_fd);
    a->signal_fd = fd_close(a->signal_fd);
    a->proc_fd = fd_close(a->proc_fd);
    a->root_fd = fd_close(a->root_fd);
    member_index_done(&a->members);
    account_done(&a->account);
    free(a->due);
    a->due = NULL;
}

/* ---- which one is due first ---- */

uint64_t recorders_due_ns(const struct recorder *r)
{
    return r->pace.tick_due_ns + r->header.start_monotonic_ns;
}

/* Puts the recorder into the free place i, and moves it from there to where it belongs. */
static void place_in_heap(struct recorders *a, size_t i, struct recorder *r)
{
    const struct recorder_due now = {recorders_due_ns(r), r};
    for (; i && a->due[(i - 1) / 2].ns > now.ns; i = (i - 1) / 2)
        a->due[i] = a->due[(i - 1) / 2];
    for (size_t child; (child = 2 * i + 1) < a->n; i = child) {
        child += child + 1 < a->n && a->due[child + 1].ns < a->due[child].ns;
        if (a->due[child].ns >= now.ns)
            break;
        a->due[i] = a->due[child];
    }
    a->due[i] = now;
}

/* Mostly it is the first one, whose tick was just taken. */
static size_t place_of(const struct recorders *a, const struct recorder *r)
{
    size_t i = 0;
    while (i < a->n && a->due[i].recorder != r)
        i++;
    return i;
}

void recorders_place(struct recorders *a, struct recorder *r)
{
    size_t i = place_of(a, r);
    if (i < a->n)
        place_in_heap(a, i, r);
}

int recorders_add(struct recorders *a, struct recorder *r)
{
    if (array_reserve(&a->due, a->n + 1, &a->cap, sizeof(*a->due)) < 0)
        return -ENOMEM;
    place_in_heap(a, a->n++, r);
    return 0;
}

void recorders_remove(struct recorders *a, struct recorder *r)
{
    size_t i = place_of(a, r);
    struct recorder *last = a->due[--a->n].recorder;
    if (i < a->n)
        place_in_heap(a, i, last);
}
