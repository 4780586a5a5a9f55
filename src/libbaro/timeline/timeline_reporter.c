/* SPDX-License-Identifier: Apache-2.0 */
/* Which process reported a phase or mark, and who started whom of these processes. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "libbaro/timeline/timeline.h"

/* Values of ppid while the parent is not known: of a process that reported something, and of an ancestor of one. */
enum { UNKNOWN_REPORTER = -1, UNKNOWN_ANCESTOR = -2 };

static bool is_unknown(const struct parents_process *p)
{
    return p->ppid < 0;
}

/* A process too short to be sampled has an exit without a start time. */
static bool is_same(const struct parents_process *p, struct baro_key key)
{
    return p->pid == key.pid && (p->start == key.start || !p->start || !key.start);
}

static uint32_t find(const struct timeline_reporters *r, struct baro_key key)
{
    for (uint64_t *i = map_find(&r->by_pid, (uint32_t)key.pid); i; i = map_next(&r->by_pid, (uint32_t)key.pid, i)) {
        if (is_same(&r->at[*i], key))
            return (uint32_t)*i;
    }
    return REPORTER_NONE;
}

static uint32_t add(struct timeline_reporters *r, struct baro_key key, int32_t ppid)
{
    uint32_t there = key.pid > 0 ? find(r, key) : REPORTER_NONE;
    size_t n = r->n ? r->n : 1; /* at[0] is no process */
    if (key.pid <= 0 || there)
        return there;
    if (array_reserve(&r->at, n + 1, &r->cap, sizeof(*r->at)) < 0)
        return REPORTER_NONE;
    if (!map_add(&r->by_pid, (uint32_t)key.pid, n))
        return REPORTER_NONE;
    r->at[0] = (struct parents_process){0};
    r->at[n] = (struct parents_process){.pid = key.pid, .ppid = ppid, .start = key.start};
    r->n = n + 1;
    r->n_unknown++;
    return (uint32_t)n;
}

uint32_t reporters_add(struct timeline_reporters *r, struct baro_key key)
{
    return add(r, key, UNKNOWN_REPORTER);
}

void reporters_set_parent(struct timeline_reporters *r, struct baro_key key, struct baro_key parent)
{
    uint32_t i = r->n_unknown ? find(r, key) : REPORTER_NONE;
    if (!i || !is_unknown(&r->at[i]) || parent.pid < 0)
        return;
    r->at[i].ppid = parent.pid;
    r->at[i].parent_start = parent.start;
    r->n_unknown--;
    add(r, parent, UNKNOWN_ANCESTOR);
}

/* Parents come before children in a sample. An ancestor that is not in it has ended, or is outside of the job. */
void reporters_add_sample(struct timeline_reporters *r, const struct baro_sample *s)
{
    if (!r->n_unknown)
        return;
    for (size_t i = s->n; i-- > 0;)
        reporters_set_parent(r, s->processes[i]->key, s->processes[i]->parent);
    for (size_t i = 1; i < r->n; i++) {
        if (r->at[i].ppid == UNKNOWN_ANCESTOR) {
            r->at[i].ppid = 0;
            r->n_unknown--;
        }
    }
}

int reporters_arrange(struct timeline_reporters *r)
{
    ptrdiff_t *top = realloc(r->top, (r->n + 1) * sizeof(*top));
    r->top = top ? top : r->top;
    uint32_t *parent = realloc(r->parent, (r->n + 1) * sizeof(*parent));
    r->parent = parent ? parent : r->parent;
    if (!top || !parent)
        return -ENOMEM;
    for (size_t i = 0; i <= r->n; i++) {
        top[i] = -1;
        parent[i] = REPORTER_NONE;
    }
    if (r->n < 2)
        return 0;
    if (parents_find(r->at + 1, (uint32_t)r->n - 1, parent + 1) < 0)
        return -ENOMEM;
    for (size_t i = 1; i < r->n; i++)
        parent[i] = parent[i] == PARENTS_NONE ? REPORTER_NONE : parent[i] + 1;
    return 0;
}

uint32_t reporters_of(const struct timeline_reporters *r, uint32_t reporter)
{
    return reporter && is_unknown(&r->at[reporter]) ? REPORTER_NONE : reporter;
}

void reporters_done(struct timeline_reporters *r)
{
    free(r->at);
    free(r->top);
    free(r->parent);
    map_done(&r->by_pid);
}
