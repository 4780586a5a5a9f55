/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/members.h"

#include "recorder/collectors/processes/process.h"
#include "recorder/collectors/processes/pss_sharing.h"
#include "recorder/job/task.h"

#define WRAPPER_DEADLINE (100 * NS_PER_MS)

void members_begin(struct processes *p, struct member *m)
{
    for (int i = 0; i < PROCESS_MAX; i++) {
        if (!(p->sampling->options.wanted >> i & 1))
            m->row.absent[i] = BARO_ABSENT_NOT_ASKED;
    }
    if (!p->sampling->options.cmdline && m->row.cmdline_absent == BARO_ABSENT_NOT_YET)
        m->row.cmdline_absent = BARO_ABSENT_NOT_ASKED;
    m->memory.info_wanted = true;
}

static void remove_member(struct processes *p, struct member *m, uint64_t t_ns)
{
    fd_cache_drop(&p->cache, m);
    sharing_note_left(p->memory, m, true);
    /* Processes may have been forked since the tick began. */
    job_gone(p->sampling->job, m, t_ns, sampling_clock_ns(p->sampling));
}

static bool member_exists(const struct member *m)
{
    uint64_t clock_ns;
    return process_clock(m, &clock_ns) == 0;
}

/* Depth first, without recursion: a tree can be as deep as there are pids. */
void members_gather(struct processes *p, struct member *m, uint64_t t_ns)
{
    struct member *at = m, *child = m->links.first_child;
    for (;;) {
        while (child && member_exists(child))
            child = child->links.sibling_next;
        if (child) {
            at = child;
            child = at->links.first_child;
            continue;
        }
        if (at == m)
            return;
        struct member *up = at->links.parent;
        child = at->links.sibling_next;
        job_absorbed(p->sampling->job, at);
        remove_member(p, at, t_ns);
        at = up;
    }
}

void members_gone(struct processes *p, struct member *m, uint64_t t_ns)
{
    members_gather(p, m, t_ns);
    remove_member(p, m, t_ns);
}

/* The wrapper reaps the command, and orphans, whose change of parent may not have been seen. The recorder does not wait
 * for the report of a member whose parent was found gone just before: most likely the parent had reaped it and was then
 * reaped itself. If the wrapper reports it nevertheless, job_claim() finds it. The command is waited for as long as the
 * wrapper lives: its last values say whether it reaped its children. */
bool members_await_wrapper(struct processes *p, struct member *m)
{
    if (m->links.parent || !p->sampling->job->wrapper.pid ||
        (m->account.successor && m->account.successor_epoch == p->sampling->job->tree.epoch))
        return false;
    uint64_t since_ns = job_expect_reaping(p->sampling->job, m, p->sampling->now_ns);
    return since_ns < WRAPPER_DEADLINE || m->row.origin == BARO_ORIGIN_TARGET;
}

/* A reaped child is included in its parent's counters and must not count twice, so children that are no longer there
 * are removed when their parent was read. All of them: of 2,000 that ended at once the first 256 of the list were still
 * there, others were not, and their 29 % of the page faults counted twice. */
static void check_children(struct processes *p, struct member *m)
{
    for (struct member *next, *c = m->links.first_child; c; c = next) {
        next = c->links.sibling_next;
        if (!member_exists(c))
            members_gone(p, c, p->sampling->now_ns);
    }
}

int members_look(struct processes *p, struct member *m)
{
    uint64_t clock_ns;
    if (!m->reading.stat_was_read && m->row.absent[PROCESS_cpu] == BARO_ABSENT_NOT_YET)
        members_begin(p, m);
    if (process_clock(m, &clock_ns) == 0 && process_read(p, m, clock_ns, PROCESS_STAT) != -ESRCH) {
        check_children(p, m);
        return 0;
    }
    if (!members_await_wrapper(p, m))
        members_gone(p, m, p->sampling->now_ns);
    return -ESRCH;
}

void members_leave(struct processes *p, struct member *m)
{
    if (members_look(p, m) < 0)
        return;
    if (member_is_zombie(m)) {
        m->group.missing = 0;
        return;
    }
    job_leave(m);
    members_gone(p, m, p->sampling->now_ns);
}

int members_rebase(struct processes *p, struct member *m)
{
    uint64_t clock_ns;
    int r = members_look(p, m);
    member_wake(m); /* read all values: only a known value can be subtracted later */
    if (r == 0 && (process_clock(m, &clock_ns) < 0 || process_read(p, m, clock_ns, PROCESS_WHOLE) < 0))
        r = -ESRCH;
    job_rebase(m);
    return r;
}

#define REAPED_IO_TRIES 3u

/* The growth of a parent's counters of reaped children can be attributed to its gone children only if all children that
 * it has reaped are known. A fork event that is still in the queue may be of a child that began and was reaped after
 * the queue was last read: in that case everything is read again. check_children() finds known children that are no
 * longer there. */
static void read_reaped_io(struct processes *p, struct member *m, uint64_t clock_ns)
{
    struct reaped_io *r = &m->reaped_io;
    r->known = false;
    while (r->tries < REAPED_IO_TRIES) {
        uint32_t forks = r->forks;
        r->tries++;
        r->known = process_reaped_io(p, m);
        if (r->known && p->sampling->options.catch_up)
            p->sampling->options.catch_up(p->sampling->options.catch_up_context);
        r->known &= r->forks == forks && !member_is_gone(m);
        if (r->known || member_is_gone(m) || process_read(p, m, clock_ns, PROCESS_LEDGER) != 0)
            return;
    }
}

static bool read_ancestor(void *context, struct member *m)
{
    struct processes *p = context;
    uint64_t clock_ns;
    if (member_is_final(m))
        return true;
    int r = process_clock(m, &clock_ns);
    if (r == 0)
        r = process_read(p, m, clock_ns, PROCESS_LEDGER);
    if (r == -ESRCH && !members_await_wrapper(p, m))
        members_gone(p, m, p->sampling->now_ns);
    if (r == 0 && m->reaped_io.wanted)
        read_reaped_io(p, m, clock_ns);
    if (r == 0 && !member_is_gone(m))
        check_children(p, m);
    if (member_is_gone(m))
        return true;
    member_wake(m); /* its row has changed: the next tick writes it to the tape */
    return r == 0 || r == -ESRCH;
}

void members_settle(struct processes *p)
{
    job_settle(p->sampling->job, p->sampling->now_ns, read_ancestor, p);
}
