/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by disks and interfaces: finding a device in the order of the kernel's file, and totals that never fall. */
#include <string.h>

#include "base/growth.h"
#include "recorder/collectors/host/state.h"

static bool is(const struct host_device *d, struct span name, uint32_t major, uint32_t minor)
{
    return d->major == major && d->minor == minor && strlen(d->name) == name.len &&
           memcmp(d->name, name.at, name.len) == 0;
}

struct host_device *devices_find(struct devices *all, struct span name, uint32_t major, uint32_t minor, bool *ret_new)
{
    *ret_new = false;
    for (size_t i = 0; i < all->n; i++) { /* the first comparison hits unless devices come or go */
        size_t at = all->next + i < all->n ? all->next + i : all->next + i - all->n;
        if (is(&all->at[at], name, major, minor)) {
            all->next = at + 1;
            return &all->at[at];
        }
    }
    if (name.len >= sizeof(all->at->name) || !host_grow((void **)&all->at, &all->cap, all->n, sizeof(*all->at)))
        return NULL;
    struct host_device *d = &all->at[all->n++];
    *d = (struct host_device){.major = major, .minor = minor};
    memcpy(d->name, name.at, name.len);
    all->next = all->n;
    *ret_new = true;
    return d;
}

void devices_count(struct devices *all, struct host_device *d, const uint64_t now[DEVICE_TOTALS], bool from_start)
{
    for (int i = 0; i < DEVICE_TOTALS; i++) {
        uint64_t before = d->primed ? d->last[i] : from_start ? 0 : now[i], growth;
        growth_between(before, now[i], &growth);
        all->total[i] += d->counted ? growth : 0;
        d->last[i] = now[i];
    }
    d->primed = true;
}

void devices_sweep(struct host *h, struct devices *all, struct entity_table *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (all->at[i].seen_tick != h->ticks) {
            entity_remove(t, all->at[i].entity);
            continue;
        }
        if (kept != i)
            all->at[kept] = all->at[i];
        kept++;
    }
    all->n = kept;
    all->next = 0;
}
