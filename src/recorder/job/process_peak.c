/* SPDX-License-Identifier: Apache-2.0 */
/* The peak of processes: how many were alive at once. */
#include "recorder/job/counters.h"

/*
 * Events are in the order of time, so each fork may be a new peak. A list of children (/proc/PID/task/TID/children)
 * shows a new child, but not whether an earlier child ended before it began: the peak is then the number of members
 * that are alive after all were read. Example: for `sleep 1; sleep 1` in a shell, lists alone give two processes at
 * once, not three. A process that had ended when it was listed was alive at the same time as its parent; nothing more
 * is known. Nine zombies may have run one after the other.
 *
 * So the true peak may be higher than the count if a list found a process after another one had ended, or if one ends
 * before the living are counted.
 *
 * The recorder may find that a process has ended before it has read all forks that happened while the process was
 * alive. Events are in the order of time, so the process was alive at every fork that is read before its own end.
 * Example: 39 of 46 processes are known, and all have ended when they are read; then seven forks are read, and after
 * them 46 ends: the peak is 46. In contrast, a process that a list has found, or that perf is not attached to, may have
 * ended without an event. Until it is read again, forks do not count it. Forks do not count a process either that was
 * found ended and whose end no event reports. If an earlier fork is read after that, the peak is a lower bound.
 */
static uint64_t count_living(const struct job *j)
{
    return tree_count(&j->tree) - j->counts.ended_members - j->others.alive;
}

void peak_uncertain(struct job *j)
{
    uint64_t most = j->selected ? count_living(j) + j->at_once.fewer : j->counts.started - j->others.started;
    if (j->at_once.found && most > count_living(j))
        j->at_once.most = max_u64(j->at_once.most, most);
}

bool peak_is_known_at_begin(const struct job *j, enum baro_origin origin)
{
    return (origin == BARO_ORIGIN_EVENT || origin == BARO_ORIGIN_TARGET) && !j->selected;
}

void job_end_unseen(struct job *j, struct member *m, bool unseen)
{
    unseen = unseen && !m->other.is;
    j->at_once.n_end_unseen += unseen && !m->life.end_unseen;
    j->at_once.n_end_unseen -= !unseen && m->life.end_unseen;
    m->life.end_unseen = unseen;
}

void peak_begin(struct job *j, struct member *m, const struct member *parent)
{
    enum baro_origin origin = (enum baro_origin)m->row.origin;
    uint64_t now = parent ? 2 : 1; /* its parent was alive when it forked, even if both events are late */
    job_end_unseen(j, m, origin != BARO_ORIGIN_EVENT && (origin != BARO_ORIGIN_TARGET || !j->source.events));
    if (peak_is_known_at_begin(j, origin)) {
        uint64_t others = count_living(j) - 1 - j->at_once.n_end_unseen + m->life.end_unseen +
                          (j->source.lossy ? 0 : j->at_once.awaited);
        uint64_t unseen = j->at_once.n_end_unseen - m->life.end_unseen;
        if (unseen)
            j->at_once.most =
                max_u64(j->at_once.most, max_u64(count_living(j) + j->at_once.fewer, 1 + others + unseen));
        now = max_u64(now, 1 + others);
        if (m->row.first_ns <= j->at_once.unreported_end_ns)
            j->at_once.most = max_u64(j->at_once.most, now + j->at_once.unreported);
    } else if (!j->selected) {
        j->at_once.found = true;
    }
    j->counts.peak = max_u64(j->counts.peak, now);
    peak_uncertain(j);
}

void job_note_late(struct job *j, uint64_t begin_ns)
{
    j->at_once.found |= begin_ns <= j->at_once.last_end_ns;
    peak_uncertain(j);
}

void peak_end_awaited(struct job *j, struct member *m, bool awaited)
{
    j->at_once.awaited += awaited && !m->life.end_awaited;
    j->at_once.awaited -= !awaited && m->life.end_awaited;
    m->life.end_awaited = awaited;
}

void peak_end(struct job *j, struct member *m, uint64_t end_ns)
{
    if (member_state(m) != MEMBER_ALIVE || m->other.is)
        return;
    bool has_events = j->source.events && !j->selected;
    bool is_reported = !j->source.attaches || !m->life.end_unseen;
    j->at_once.fewer++;
    job_end_unseen(j, m, false);
    peak_end_awaited(j, m, has_events && is_reported);
    if (has_events && !is_reported) {
        j->at_once.unreported++;
        j->at_once.unreported_end_ns = max_u64(j->at_once.unreported_end_ns, end_ns);
    }
    j->at_once.last_end_ns = max_u64(j->at_once.last_end_ns, end_ns);
}

/* The member was read after the tick began. Example: the tick began at 10 ms, and the recorder waited for a CPU until
 * 30 ms. Then it found that five processes had ended whose ends no event reports. They may have been alive when 40
 * others were forked at 20 ms. The count is 41 (the 40 and their parent), a lower bound: the peak may be 46. */
void job_end_noticed(struct job *j, const struct member *m, uint64_t now_ns)
{
    if (member_state(m) == MEMBER_ALIVE && m->life.end_unseen && j->source.attaches)
        j->at_once.unreported_end_ns = max_u64(j->at_once.unreported_end_ns, now_ns);
}

void peak_note(struct job *j)
{
    j->counts.peak = max_u64(j->counts.peak, count_living(j));
    j->at_once.found = false;
    j->at_once.fewer = 0;
    for (size_t i = 0; j->at_once.n_end_unseen && j->source.events && !j->source.attaches && i < j->tree.n; i++) {
        if (j->tree.at[i])
            job_end_unseen(j, j->tree.at[i], false);
    }
}
