/* SPDX-License-Identifier: Apache-2.0 */
/* The peak of processes: how many were alive at once. */
#include "recorder/job/counters.h"

/*
 * Events are in the order of time, so each fork may be a new peak. A list of children (/proc/PID/task/TID/children)
 * shows a new child, but not whether an earlier child ended before it began: the peak is then the number of members
 * that are alive after all were read. Example: for `sleep 1; sleep 1` in a shell, lists alone give two processes at
 * once, not three. If a list finds a process after another one has ended, or one that has ended, the peak is a lower
 * bound unless it is the number of all processes.
 *
 * The recorder may find that a process has ended before it has read all forks that happened while the process was
 * alive: it was alive at every fork that is read before its own end (`awaited`). Example: 39 of 46 processes are known,
 * and all have ended when they are read; then seven forks are read, and after them 46 ends: the peak is 46. In
 * contrast, a process that a list has found, or that perf is not attached to, may have ended without an event
 * (`end_unseen`). Until it is read again, forks do not count it, and the peak is a lower bound.
 */
static uint64_t count_living(const struct job *j)
{
    return tree_count(&j->tree) - j->counts.ended_members - j->others.alive;
}

bool peak_is_known_at_begin(const struct job *j, enum baro_origin origin)
{
    return (origin == BARO_ORIGIN_EVENT || origin == BARO_ORIGIN_TARGET) && !j->selected;
}

void job_end_unseen(struct job *j, struct member *m, bool unseen)
{
    unseen = unseen && !m->other.is;
    j->at_once.n_end_unseen += (uint64_t)unseen - m->life.end_unseen;
    m->life.end_unseen = unseen;
}

void peak_end_awaited(struct job *j, struct member *m, bool awaited)
{
    j->at_once.awaited += (uint64_t)awaited - m->life.end_awaited;
    m->life.end_awaited = awaited;
}

/* All that there have been may have been alive at once with it. */
void job_note_late(struct job *j, uint64_t begin_ns)
{
    if (begin_ns <= j->at_once.last_end_ns)
        j->at_once.most = max_u64(j->at_once.most, j->counts.started - j->others.started);
}

void peak_begin(struct job *j, struct member *m, const struct member *parent)
{
    enum baro_origin origin = (enum baro_origin)m->row.origin;
    uint64_t now = parent ? 2 : 1; /* its parent was alive when it forked, even if both events are late */
    job_end_unseen(j, m, origin != BARO_ORIGIN_EVENT && (origin != BARO_ORIGIN_TARGET || !j->source.events));
    if (peak_is_known_at_begin(j, origin)) {
        uint64_t unseen = j->at_once.n_end_unseen - m->life.end_unseen;
        uint64_t most = count_living(j) + (j->source.lossy ? 0 : j->at_once.awaited);
        now = max_u64(now, most - unseen);
        if (unseen)
            j->at_once.most = max_u64(j->at_once.most, most);
        if (m->row.first_ns <= j->at_once.unreported_end_ns)
            j->at_once.most = max_u64(j->at_once.most, j->counts.started - j->others.started);
    } else if (!j->selected) {
        job_note_late(j, 0);
    }
    j->counts.peak = max_u64(j->counts.peak, now);
}

/* Call it before the member's state changes. */
void peak_end(struct job *j, struct member *m, uint64_t end_ns)
{
    if (member_state(m) != MEMBER_ALIVE || m->other.is)
        return;
    j->at_once.last_end_ns = max_u64(j->at_once.last_end_ns, end_ns);
    bool is_reported = j->source.events && !j->selected && (!j->source.attaches || !m->life.end_unseen);
    if (!is_reported) {
        j->at_once.unreported_end_ns = max_u64(j->at_once.unreported_end_ns, end_ns);
        j->at_once.most = max_u64(j->at_once.most, j->counts.started - j->others.started);
    }
    job_end_unseen(j, m, false);
    peak_end_awaited(j, m, is_reported);
}

void peak_note(struct job *j)
{
    j->counts.peak = max_u64(j->counts.peak, count_living(j));
    for (size_t i = 0; j->at_once.n_end_unseen && j->source.events && !j->source.attaches && i < j->tree.n; i++) {
        if (j->tree.at[i])
            job_end_unseen(j, j->tree.at[i], false);
    }
}
