/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sockets/listeners.h"

#include <string.h>

static uint16_t *first_of(struct listeners *l, uint16_t port)
{
    return &l->of[port % LISTENERS_HASH];
}

static void link_one(struct listeners *l, size_t i)
{
    uint16_t *first = first_of(l, l->at[i].port);
    l->at[i].next = *first;
    *first = (uint16_t)(i + 1);
}

void listeners_note(struct listeners *l, const struct diag_socket *s, uint32_t owner, uint32_t reading)
{
    for (size_t i = *first_of(l, s->port); i; i = l->at[i - 1].next) {
        if (l->at[i - 1].cookie == s->cookie) {
            l->at[i - 1].owner = owner; /* listeners_move() has kept that of the reading before */
            l->at[i - 1].reading = reading;
            return;
        }
    }
    l->is_full = l->is_full || l->n == LISTENERS_MOST;
    if (l->is_full)
        return;
    struct listener *one = &l->at[l->n];
    *one = (struct listener){.netns = s->netns,
                             .cookie = s->cookie,
                             .port = s->port,
                             .family = s->family,
                             .owner = owner,
                             .owner_before = owner,
                             .reading = reading};
    memcpy(one->address, s->address, sizeof(one->address));
    link_one(l, l->n++);
}

void listeners_move(struct listeners *l, const uint32_t *moved_to)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->at[i].owner < OWNER_SHARED)
            l->at[i].owner = moved_to[l->at[i].owner];
        l->at[i].owner_before = l->at[i].owner;
    }
}

void listeners_keep(struct listeners *l, uint32_t reading)
{
    size_t n = 0;
    memset(l->of, 0, sizeof(l->of));
    for (size_t i = 0; i < l->n; i++) {
        bool is_closed = l->at[i].reading != reading;
        if (is_closed && !listeners_unsettled(&l->at[i].before) && !listeners_unsettled(&l->at[i].now))
            continue;
        l->at[i].is_closed = is_closed;
        l->at[n] = l->at[i];
        link_one(l, n++);
    }
    l->is_full = l->is_full && n == LISTENERS_MOST;
    l->n = n;
}

static bool is_at(const struct listener *one, const struct diag_socket *s)
{
    return !one->is_closed && one->netns == s->netns && one->port == s->port && one->family == s->family;
}

/* The kernel prefers the one with this very address to one that listens at any. Several may share it: none counts if
 * one of them is foreign. */
struct listener *listeners_find(struct listeners *l, const struct diag_socket *s)
{
    static const uint8_t any[16];
    struct listener *found[2] = {NULL, NULL};
    bool foreign[2] = {false, false};
    for (size_t i = l->of[s->port % LISTENERS_HASH]; i; i = l->at[i - 1].next) {
        struct listener *one = &l->at[i - 1];
        bool is_any = !memcmp(one->address, any, sizeof(any));
        if (!is_at(one, s) || (!is_any && memcmp(one->address, s->address, sizeof(any))))
            continue;
        found[is_any] = one;
        foreign[is_any] |= one->owner == OWNER_FOREIGN;
    }
    bool best = !found[0];
    return l->is_full || foreign[best] ? NULL : found[best];
}

const struct listener *listeners_same(const struct listeners *l, const struct listener *one,
                                      const struct listener *last)
{
    for (size_t i = last ? last->next : l->of[one->port % LISTENERS_HASH]; i; i = l->at[i - 1].next) {
        const struct listener *same = &l->at[i - 1];
        if ((same == one || !same->is_closed) && same->netns == one->netns && same->port == one->port &&
            same->family == one->family && !memcmp(same->address, one->address, sizeof(one->address)))
            return same;
    }
    return NULL;
}

bool listeners_unsettled(const struct unsettled *u)
{
    return u->sent || u->received;
}

bool listeners_any_unsettled(const struct listeners *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (listeners_unsettled(&l->at[i].before) || listeners_unsettled(&l->at[i].now))
            return true;
    }
    return false;
}

uint32_t listeners_holder(const struct listeners *l, const struct listener *one)
{
    const struct listener *same = NULL;
    while ((same = listeners_same(l, one, same))) {
        if (same->owner != one->owner || same->owner_before != one->owner)
            return OWNER_SHARED;
    }
    return one->owner;
}
