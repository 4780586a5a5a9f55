/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing; a removal closes the gap, so that there are no tombstones. */
#include <stdlib.h>
#include <string.h>

#include "kernel/events/thread_groups.h"

#define MOST (GROUPS_SLOTS / 4 * 3)

static size_t hash_slot(int32_t tgid)
{
    return ((uint32_t)tgid * 2654435761u) >> 20 & (GROUPS_SLOTS - 1);
}

static struct event_group *find_thread_group(const struct groups *g, int32_t tgid)
{
    if (!g->n)
        return NULL;
    for (size_t i = hash_slot(tgid); g->at[i].tgid; i = (i + 1) & (GROUPS_SLOTS - 1)) {
        if (g->at[i].tgid == tgid)
            return &g->at[i];
    }
    return NULL;
}

static void drop_thread_group(struct groups *g, struct event_group *gone)
{
    size_t hole = (size_t)(gone - g->at);
    for (size_t i = (hole + 1) & (GROUPS_SLOTS - 1); g->at[i].tgid; i = (i + 1) & (GROUPS_SLOTS - 1)) {
        size_t home = hash_slot(g->at[i].tgid);
        if (((i - home) & (GROUPS_SLOTS - 1)) >= ((i - hole) & (GROUPS_SLOTS - 1))) {
            g->at[hole] = g->at[i];
            hole = i;
        }
    }
    g->at[hole].tgid = 0;
    g->n--;
}

static struct event_group *add_thread_group(struct groups *g, int32_t tgid)
{
    if (!g->at)
        g->at = calloc(GROUPS_SLOTS, sizeof(*g->at));
    if (!g->at || g->n >= MOST)
        return NULL;
    size_t i = hash_slot(tgid);
    while (g->at[i].tgid)
        i = (i + 1) & (GROUPS_SLOTS - 1);
    g->at[i] = (struct event_group){.tgid = tgid};
    g->n++;
    return &g->at[i];
}

void groups_done(struct groups *g)
{
    free(g->at);
    *g = (struct groups){0};
}

void groups_clear(struct groups *g)
{
    if (g->n)
        memset(g->at, 0, GROUPS_SLOTS * sizeof(*g->at));
    g->n = 0;
}

void groups_process(struct groups *g, int32_t tgid)
{
    struct event_group *known = find_thread_group(g, tgid);
    if (known)
        drop_thread_group(g, known);
}

void groups_thread(struct groups *g, int32_t tgid)
{
    struct event_group *known = tgid > 0 ? find_thread_group(g, tgid) : NULL;
    if (!known && tgid > 0)
        known = add_thread_group(g, tgid);
    if (known)
        known->threads++;
}

bool groups_end(struct groups *g, int32_t tgid, bool leader, uint32_t status, bool *ret_status_known,
                uint32_t *ret_status)
{
    struct event_group *known = find_thread_group(g, tgid);
    if (!known) {
        *ret_status_known = true;
        *ret_status = status;
        return leader;
    }
    if (leader) {
        known->leaderless = true;
        known->status = status;
        return false;
    }
    if (--known->threads > 0)
        return false;
    bool ended = known->leaderless;
    /* The parent gets the status of exit_group() if a thread called it, else that of the first thread. The event does
     * not say which, so the status is known only if both are the same. */
    *ret_status_known = ended && known->status == status;
    *ret_status = status;
    drop_thread_group(g, known);
    return ended;
}
