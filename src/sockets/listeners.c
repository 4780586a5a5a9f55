/* SPDX-License-Identifier: Apache-2.0 */
#include "sockets/listeners.h"

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
            l->at[i - 1].owner = owner;
            l->at[i - 1].reading = reading;
            return;
        }
    }
    l->is_full = l->is_full || l->n == LISTENERS_MOST;
    if (l->is_full)
        return;
    struct listener *one = &l->at[l->n];
    *one = (struct listener){.place = s->place, .cookie = s->cookie, .port = s->port, .owner = owner,
                             .reading = reading};
    memcpy(one->address, s->address, sizeof(one->address));
    link_one(l, l->n++);
}

void listeners_move(struct listeners *l, const uint32_t *moved_to)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->at[i].owner < OWNER_UNSURE)
            l->at[i].owner = moved_to[l->at[i].owner];
    }
}

void listeners_keep(struct listeners *l, uint32_t reading)
{
    size_t n = 0;
    memset(l->of, 0, sizeof(l->of));
    for (size_t i = 0; i < l->n; i++) {
        if (l->at[i].reading != reading)
            continue;
        l->at[n] = l->at[i];
        link_one(l, n++);
    }
    l->is_full = l->is_full && n == LISTENERS_MOST;
    l->n = n;
}

/* The kernel prefers the one with this very address to one that listens at any. Several may share it (SO_REUSEPORT):
 * the first counts, unless one of them is foreign. */
uint32_t listeners_find(const struct listeners *l, const struct diag_socket *s)
{
    static const uint8_t any[16];
    uint32_t found[2] = {OWNER_FOREIGN, OWNER_FOREIGN};
    bool seen[2] = {false, false}, foreign[2] = {false, false};
    for (size_t i = l->of[s->port % LISTENERS_HASH]; i; i = l->at[i - 1].next) {
        const struct listener *one = &l->at[i - 1];
        bool is_any = !memcmp(one->address, any, sizeof(any));
        if (one->place != s->place || one->port != s->port ||
            (!is_any && memcmp(one->address, s->address, sizeof(any))))
            continue;
        seen[is_any] = true;
        foreign[is_any] |= one->owner == OWNER_FOREIGN;
        if (found[is_any] == OWNER_FOREIGN || one->owner < found[is_any])
            found[is_any] = one->owner;
    }
    bool best = !seen[0];
    return l->is_full || !seen[best] || foreign[best] ? OWNER_FOREIGN : found[best];
}
