/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ended processes read and wrote, of whom nobody told all of it: an ordinary user can't read the io of a zombie,
 * and its parent reaps it at once. But what the parent took over is known (struct reaped_io), and each child of it that
 * is gone is known, too, if events tell of forks. So if one of them ended since its parent was last asked, what the
 * parent gained is that child's, to the byte. Example: a shell had taken over rchar 104,862,600 by the last time, and
 * 157,300,000 now, and `dd` is the one that is gone: it had read 52,437,400. Of several the rest stays a lower bound,
 * unless all but one are known, or nothing is missing.
 */
#include <string.h>

#include "job/counters.h"

static const enum process_metric metrics[REAPED_FAULTS] = {
    [REAPED_IO_READ] = PROCESS_io_read,   [REAPED_IO_WRITE] = PROCESS_io_write,
    [REAPED_IO_RCHAR] = PROCESS_io_rchar, [REAPED_IO_WCHAR] = PROCESS_io_wchar,
    [REAPED_IO_CANCELLED_WRITE] = PROCESS_io_cancelled_write,
};

/* Where the kernel's own counters are told with each end (taskstats) little is missing, and most of what is there to be
 * asked would be asked for nothing. */
static bool is_of_use(const struct job *j)
{
    return j->events && !j->lossy && !j->ends_told && !j->open;
}

static struct reaped_io *of_parent(const struct job *j, const struct member *m)
{
    return m->successor && !m->io_accounted && !is_about_to_be_told(j, m->successor) ? &m->successor->reaped_io : NULL;
}

void reaped_io_want(struct job *j)
{
    if (!is_of_use(j))
        return;
    for (const struct member *m = j->gone; m; m = m->list_next) {
        struct reaped_io *r = of_parent(j, m);
        if (r && !member_is_gone(m->successor))
            r->wanted = true;
    }
}

static void add(struct reaped_io *r, const struct member *m)
{
    r->ended++;
    r->not_whole += !m->io_final;
    r->faults += m->absorbed ? 1 : faults_of(m);
    for (int i = 0; i < REAPED_FAULTS; i++)
        r->whole[i] += m->io_final ? value(m, metrics[i]) : 0;
}

/* Is what it gained that of the children that are gone? Whoever ignores SIGCHLD gains nothing of them, not even their
 * faults. Those of a process that ended itself it may have left to others: of one alone the faults tell, of several
 * they don't. */
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

static void put(struct member *m)
{
    const struct reaped_io *r = &m->successor->reaped_io;
    for (int i = 0; i < REAPED_FAULTS; i++) {
        uint64_t gained = r->now[i] - r->done[i] - r->whole[i];
        if (m->row.absent[metrics[i]] == BARO_PRESENT && gained < value(m, metrics[i]))
            return;
    }
    for (int i = 0; i < REAPED_FAULTS; i++) {
        if (m->row.absent[metrics[i]] == BARO_ABSENT_NOT_ASKED)
            continue;
        m->row.value[metrics[i]] = r->now[i] - r->done[i] - r->whole[i];
        m->row.absent[metrics[i]] = BARO_PRESENT;
    }
    m->io_final = true;
}

static void accounted(struct reaped_io *r)
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
    for (const struct member *m = j->gone; m; m = m->list_next) {
        if ((r = of_parent(j, m)))
            add(r, m);
    }
    for (struct member *m = j->gone; m; m = m->list_next) {
        r = of_parent(j, m);
        if (r && is_of_use(j) && !m->io_final && r->not_whole == 1 && is_theirs(m->successor))
            put(m);
    }
    for (struct member *m = j->gone; m; m = m->list_next) {
        if (!(r = of_parent(j, m)))
            continue;
        accounted(r);
        m->io_accounted = true;
    }
}
