/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process has read and written itself: /proc/PID/io is one sum for it and the children that it has reaped.
 *
 * Ended processes for which no complete record exists: an ordinary user cannot read the io of a zombie, and
 * its parent usually reaps it at once. But the parent's counters include that of the children that it reaped (struct
 * reaped_io), and if events report forks, all of these are known. So if exactly one child ended since the parent was
 * last read, the growth of these counters is that child's I/O, to the byte.
 *
 * Example: the reaped children of a shell had read (rchar) 104,862,600 bytes by the last time and 157,300,000 bytes
 * now, and only `dd` is gone: dd had read 52,437,400 bytes. If several are gone, their values stay lower bounds, unless
 * all but one of them are known.
 */
#include <string.h>

#include "recorder/job/counters.h"
#include "recorder/job/member_values.h"

static const enum process_metric metrics[REAPED_FAULTS] = {
    [REAPED_IO_READ] = PROCESS_io_read,
    [REAPED_IO_WRITE] = PROCESS_io_write,
    [REAPED_IO_RCHAR] = PROCESS_io_rchar,
    [REAPED_IO_WCHAR] = PROCESS_io_wchar,
    [REAPED_IO_CANCELLED_WRITE] = PROCESS_io_cancelled_write,
};

/* Gets how much of an I/O counter of the row is from reaped children. Returns false if this is not known: if the page
 * faults of reaped children have changed since that part was read, a child may have been reaped. */
static bool took_over(const struct member *m, unsigned counter, uint64_t *ret)
{
    const struct reaped_io *r = &m->reaped_io;
    const uint64_t *taken = r->known ? r->now : r->done;
    *ret = taken[counter];
    if (!m->account.had_child && !value(m, PROCESS_children_faults_minor))
        return true; /* *ret is 0 */
    return (r->known || !r->lost) && taken[REAPED_FAULTS] == value(m, PROCESS_children_faults_minor);
}

bool own_io(const struct job *j, const struct member *m, enum ledger_counter c, uint64_t *ret, bool *ret_whole)
{
    unsigned i = c - LEDGER_IO_READ;
    uint64_t taken;
    *ret = 0;
    *ret_whole = false;
    if (member_usage(m)->has_io && !m->life.io_final) {
        *ret_whole = !m->account.base;
        *ret = since_base(m, c, member_usage(m)->own[c]);
        return true;
    }
    if (m->row.absent[metrics[i]] != BARO_PRESENT || !took_over(m, i, &taken))
        return false;
    *ret_whole = io_is_whole(j, m);
    *ret = since_base(m, c, excess(value(m, metrics[i]), taken));
    return true;
}

/* Is it worth reading the parents? With taskstats each exit has the kernel's counters, so little is missing. */
static bool is_of_use(const struct job *j)
{
    return j->source.events && !j->source.lossy && !j->source.ends_reported && !j->open;
}

static struct reaped_io *reaped_io_of_parent(const struct job *j, const struct member *m)
{
    return m->account.successor && !m->account.io_accounted && !report_is_due(j, m->account.successor)
               ? &m->account.successor->reaped_io
               : NULL;
}

void reaped_io_want(struct job *j)
{
    if (!is_of_use(j))
        return;
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        struct reaped_io *r = reaped_io_of_parent(j, m);
        if (r && !member_is_gone(m->account.successor))
            r->wanted = true;
    }
}

static void add_gone_child(struct reaped_io *r, const struct member *m)
{
    r->ended++;
    r->not_whole += !m->life.io_final;
    r->faults += max_u64(faults_of(m), 1);
    for (int i = 0; i < REAPED_FAULTS; i++)
        r->whole[i] += m->life.io_final ? value(m, metrics[i]) : 0;
}

/* Is the growth of the parent's counters from the children that are gone? A parent that ignores SIGCHLD gains nothing
 * from them, not even their page faults. If the parent has ended, another process may have reaped some children: if one
 * child is gone, the faults show which process reaped it; if several are gone, they do not. */
static bool is_theirs(const struct member *parent)
{
    const struct reaped_io *r = &parent->reaped_io;
    for (int i = 0; i < REAPED_FAULTS; i++) {
        if (r->now[i] < r->done[i] + r->whole[i])
            return false;
    }
    bool reaped = r->now[REAPED_FAULTS] >= r->done[REAPED_FAULTS] + r->faults;
    return r->known && !r->lost && reaped && (r->ended == 1 || !member_is_final(parent));
}

static void put_gained_io(struct member *m)
{
    const struct reaped_io *r = &m->account.successor->reaped_io;
    for (int i = 0; i < REAPED_FAULTS; i++) {
        uint64_t gained = r->now[i] - r->done[i] - r->whole[i];
        if (m->row.absent[metrics[i]] == BARO_PRESENT && gained < value(m, metrics[i]))
            return;
    }
    for (int i = 0; i < REAPED_FAULTS; i++)
        member_set_value(m, metrics[i], r->now[i] - r->done[i] - r->whole[i]);
    m->life.io_final = true;
}

static void end_accounting(struct reaped_io *r)
{
    if (!r->ended)
        return;
    if (r->known)
        memcpy(r->done, r->now, sizeof(r->done));
    r->lost = !r->known;
    r->known = r->wanted = false;
    r->tries = 0;
    r->ended = r->not_whole = 0;
    r->faults = 0;
    memset(r->whole, 0, sizeof(r->whole));
}

void reaped_io_account(struct job *j)
{
    struct reaped_io *r;
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if ((r = reaped_io_of_parent(j, m)))
            add_gone_child(r, m);
    }
    for (struct member *m = j->settling.gone; m; m = m->links.list_next) {
        r = reaped_io_of_parent(j, m);
        if (r && is_of_use(j) && !m->life.io_final && r->not_whole == 1 && is_theirs(m->account.successor))
            put_gained_io(m);
    }
    for (struct member *m = j->settling.gone; m; m = m->links.list_next) {
        if (!(r = reaped_io_of_parent(j, m)))
            continue;
        end_accounting(r);
        m->account.io_accounted = true;
    }
}
