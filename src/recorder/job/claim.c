/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the process that a report of the wrapper is about. Reports wait in a socket while events are read. When one is
 * handled, its process may be a member, may be gone, or may have been reported already, and its pid may belong to
 * another process.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "recorder/job/counters.h"

#define SLACK (20 * NS_PER_MS) /* start times are truncated to ticks of 10 ms */

static bool is_same_process(const struct job *j, const struct member *m, uint64_t start, uint64_t t_ns)
{
    if (m->reading.stat_was_read && start)
        return m->row.key.start == start;
    uint64_t began = m->life.begin_ns ? m->life.begin_ns : m->row.first_ns;
    if (!start)
        return began <= t_ns;
    uint64_t begin = job_begin_ns(j, start);
    return !m->life.begin_ns ? begin <= began : begin + SLACK >= began && begin <= began + SLACK;
}

static size_t *hash_of(struct job *j, int32_t pid)
{
    return &j->claims.of[(uint32_t)pid % JOB_UNCLAIMED_HASH];
}

static bool was_same_process(const struct job *j, const struct job_unclaimed *u, uint64_t start)
{
    uint64_t begin = job_begin_ns(j, start);
    if (!start || begin > u->end_ns + SLACK)
        return !start;
    return u->key.start ? u->key.start == start
                        : begin + SLACK >= u->begin_ns && (!u->begin_ns || begin <= u->begin_ns + SLACK);
}

static bool take_unclaimed(struct job *j, int32_t pid, uint64_t start)
{
    for (size_t n = *hash_of(j, pid); n > j->claims.dropped + j->claims.first;) {
        struct job_unclaimed *u = &j->claims.unclaimed[n - 1 - j->claims.dropped];
        n = u->before;
        if (u->key.pid != pid)
            continue;
        if (!was_same_process(j, u, start))
            continue;
        u->key.pid = 0;
        j->claims.cpu_ns -= u->cpu_ns;
        while (j->claims.first < j->claims.n && !j->claims.unclaimed[j->claims.first].key.pid)
            j->claims.first++;
        return true;
    }
    return false;
}

struct member *job_claim(struct job *j, int32_t pid, uint64_t start, uint64_t t_ns, bool *ret_reported)
{
    *ret_reported = false;
    struct member *m = tree_find(&j->tree, pid);
    if (m && is_same_process(j, m, start, t_ns))
        return m;
    for (m = j->settling.gone; m; m = m->links.list_next) {
        if (m->row.key.pid == pid && is_same_process(j, m, start, t_ns))
            return m;
    }
    *ret_reported = take_unclaimed(j, pid, start);
    return NULL;
}

/* Makes room for one more: moves the entries to the front, over the claimed ones, or grows the array. */
static bool make_room(struct job *j)
{
    if (j->claims.n < j->claims.cap)
        return true;
    size_t n = j->claims.n - j->claims.first;
    if (n * 2 <= j->claims.cap && n) {
        memmove(j->claims.unclaimed, j->claims.unclaimed + j->claims.first, n * sizeof(*j->claims.unclaimed));
    } else if (n) {
        size_t cap = j->claims.cap * 2;
        struct job_unclaimed *at = malloc(cap * sizeof(*at));
        if (!at)
            return false;
        memcpy(at, j->claims.unclaimed + j->claims.first, n * sizeof(*at));
        free(j->claims.unclaimed);
        j->claims.unclaimed = at;
        j->claims.cap = cap;
    } else if (!j->claims.unclaimed) {
        j->claims.unclaimed = malloc(64 * sizeof(*j->claims.unclaimed));
        j->claims.cap = j->claims.unclaimed ? 64 : 0;
    }
    j->claims.dropped += j->claims.first;
    j->claims.first = 0;
    j->claims.n = n;
    return j->claims.n < j->claims.cap;
}

void claim_note(struct job *j, const struct member *m, uint64_t now_ns)
{
    bool may_come = j->adopts && !member_is_final(m) &&
                    (m->life.reaped_by_parent || !m->account.successor || member_is_gone(m->account.successor));
    if (!may_come || !make_room(j))
        return;
    size_t *last = hash_of(j, m->row.key.pid);
    j->claims.unclaimed[j->claims.n++] =
        (struct job_unclaimed){m->row.key, m->life.begin_ns, m->life.end_ns, now_ns, own_cpu(m), *last};
    j->claims.cpu_ns += own_cpu(m);
    *last = j->claims.dropped + j->claims.n;
}

void job_forget_unclaimed(struct job *j, uint64_t before_ns)
{
    while (j->claims.first < j->claims.n && j->claims.unclaimed[j->claims.first].noted_ns < before_ns) {
        const struct job_unclaimed *u = &j->claims.unclaimed[j->claims.first++];
        j->claims.cpu_ns -= u->key.pid ? u->cpu_ns : 0;
    }
}
