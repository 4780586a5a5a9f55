/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/job/counters.h"
#include "recorder/job/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int job_init(struct job *j, const struct job_sink *sink, bool attached, uint64_t start_boottime_ns, uint32_t clk_tck)
{
    *j = (struct job){.sink = *sink, .attached = attached, .start_boottime_ns = start_boottime_ns};
    j->ns_per_tick = 1000000000ULL / (clk_tck ? clk_tck : 100);
    return tree_init(&j->tree);
}

void job_done(struct job *j)
{
    while (j->gone) {
        struct member *m = j->gone;
        j->gone = m->links.list_next;
        tree_release(&j->tree, m);
    }
    late_done(j);
    job_resume_done(j);
    tree_done(&j->tree);
    free(j->unclaimed);
    free(j->tasks);
    j->unclaimed = NULL;
    j->tasks = NULL;
}

/*
 * ---- how many were there at once ----
 *
 * Events come in the order of time, so each fork may be a new peak. A list has a child and knows nothing of the end of
 * the one before it: a peak is then the count of those that are alive after all were read. Example: `sleep 1; sleep 1`
 * in a shell, with lists alone, are two processes at once and never three. One that had ended when it was listed lived
 * at the same time as its parent, and nothing more is known: nine zombies may have followed each other.
 *
 * So more may have been at once than were counted if one was found by a list, and another one had ended by then, or
 * one ends before the living are counted.
 *
 * A process may be found ended before the events are read of what was forked while it lived. As events come in order,
 * it was there at all forks that are read before its own end. Example: 39 of 46 are known, and all have ended when they
 * are read; then come seven forks, and after them 46 ends. And the other way round: one that a list has found, or that
 * perf is not attached to, may have ended unseen, so with what is forked until it is read it may not have been there.
 */
static uint64_t living(const struct job *j)
{
    return tree_count(&j->tree) - j->ended_members;
}

static void note_uncertain(struct job *j)
{
    uint64_t most = j->selected ? living(j) + j->fewer : j->started;
    if (j->found && most > living(j))
        j->peak_most = max_u64(j->peak_most, most);
}

bool peak_is_known_at_begin(const struct job *j, enum baro_origin origin)
{
    return (origin == BARO_ORIGIN_EVENT || origin == BARO_ORIGIN_TARGET) && !j->selected;
}

void job_end_unseen(struct job *j, struct member *m, bool unseen)
{
    j->n_end_unseen += unseen && !m->life.end_unseen;
    j->n_end_unseen -= !unseen && m->life.end_unseen;
    m->life.end_unseen = unseen;
}

static void note_begin(struct job *j, struct member *m, const struct member *parent)
{
    enum baro_origin origin = (enum baro_origin)m->row.origin;
    uint64_t now = parent ? 2 : 1; /* it was alive when it forked, though both events may have come late */
    job_end_unseen(j, m, origin != BARO_ORIGIN_EVENT && (origin != BARO_ORIGIN_TARGET || !j->events));
    if (peak_is_known_at_begin(j, origin)) {
        uint64_t others = living(j) - 1 - j->n_end_unseen + m->life.end_unseen + (j->lossy ? 0 : j->awaited);
        j->peak_most = max_u64(j->peak_most, j->n_end_unseen > m->life.end_unseen ? living(j) + j->fewer : 0);
        now = max_u64(now, 1 + others);
    } else if (!j->selected) {
        j->found = true;
    }
    j->peak = max_u64(j->peak, now);
    note_uncertain(j);
}

void job_note_late(struct job *j, uint64_t begin_ns)
{
    j->found |= begin_ns <= j->last_end_ns;
    note_uncertain(j);
}

void peak_end_awaited(struct job *j, struct member *m, bool awaited)
{
    j->awaited += awaited && !m->life.end_awaited;
    j->awaited -= !awaited && m->life.end_awaited;
    m->life.end_awaited = awaited;
}

static void note_end(struct job *j, struct member *m, uint64_t end_ns)
{
    if (member_state(m) != MEMBER_ALIVE)
        return;
    j->fewer++;
    job_end_unseen(j, m, false);
    peak_end_awaited(j, m, j->events && !j->selected && (!j->attaches || m->events.covered));
    j->last_end_ns = max_u64(j->last_end_ns, end_ns);
}

void peak_note(struct job *j)
{
    j->peak = max_u64(j->peak, living(j));
    j->found = false;
    j->fewer = 0;
    for (size_t i = 0; j->n_end_unseen && j->events && !j->attaches && i < j->tree.n; i++) {
        if (j->tree.at[i])
            job_end_unseen(j, j->tree.at[i], false);
    }
}

struct member *job_add(struct job *j, int32_t pid, struct member *parent, enum baro_origin origin, uint64_t now_ns)
{
    struct member *m = tree_find(&j->tree, pid);
    if (m)
        return m;
    m = tree_add(&j->tree, pid, parent);
    if (!m)
        return NULL;
    m->row.origin = origin;
    m->row.first_ns = now_ns;
    member_wake(m);
    if (j->tasks && !j->selected)
        job_inherit(j, m, parent);
    j->started++;
    note_begin(j, m, parent);
    return m;
}

void job_note_peak(struct job *j)
{
    peak_note(j);
    task_note_peaks(j);
}

uint64_t job_begin_ns(const struct job *j, uint64_t start)
{
    uint64_t begin = start * j->ns_per_tick, zero = j->start_boottime_ns + j->slept_ns;
    return begin > zero ? begin - zero : 0;
}

bool job_began_before(const struct job *j, uint64_t start, uint64_t t_ns)
{
    uint64_t begin = job_begin_ns(j, start);
    return begin == 0 || begin + j->ns_per_tick <= t_ns;
}

void job_end_reported(struct job *j, struct member *m)
{
    m->life.end_reported = true;
    peak_end_awaited(j, m, false);
}

void job_ended(struct job *j, struct member *m, uint64_t end_ns)
{
    note_end(j, m, end_ns);
    if (member_state(m) == MEMBER_ALIVE)
        state_change(j, m, MEMBER_ENDED);
    note_uncertain(j);
    if (!m->life.end_ns)
        m->life.end_ns = end_ns;
    task_ended(j, m, m->life.end_ns);
}

void job_revive(struct job *j, struct member *m)
{
    if (!state_change(j, m, MEMBER_ALIVE))
        return;
    /* perf detaches from a process that executes a file that may not be read (perf_event_exit_task() in
     * begin_new_exec()), so later events of it are lost. */
    if (j->covers_members)
        job_lose(j);
    m->events.covered = !j->covers_members && m->events.covered;
    m->life.end_reported = m->life.status_known = false;
    m->life.end_ns = 0;
    peak_end_awaited(j, m, false);
    task_revived(j, m);
}

void job_set_target(struct job *j, struct member *m, bool target)
{
    j->targets += target && !m->is_target;
    j->targets -= !target && m->is_target;
    m->is_target = target;
}

void job_absorbed(const struct job *j, struct member *m)
{
    m->life.reaped_by_parent |= j->adopts;
}

void job_rebase(struct member *m)
{
    if (!m->account.base)
        m->account.base = calloc(BASE_MAX, sizeof(*m->account.base));
    if (!m->account.base)
        return;
    memset(m->account.base, 0, BASE_MAX * sizeof(*m->account.base));
    m->reaped_io.lost = true;
    uint64_t now[LEDGER_MAX];
    for (int c = 0; c < LEDGER_MAX; c++)
        now[c] = job_ledger(m, c);
    memcpy(m->account.base, now, sizeof(now));
    member_moved(m);
    m->account.base[BASE_CPU] = value(m, PROCESS_cpu);
    m->account.base[BASE_CPU_USER] = value(m, PROCESS_cpu_user);
    m->account.base[BASE_CPU_SYSTEM] = value(m, PROCESS_cpu_system);
    m->account.base[BASE_CHILDREN_CPU] = value(m, PROCESS_children_cpu_user) + value(m, PROCESS_children_cpu_system);
    m->account.base[BASE_FAULTS_MINOR] = value(m, PROCESS_faults_minor);
    m->account.base[BASE_FAULTS_MAJOR] = value(m, PROCESS_faults_major);
    m->account.base[BASE_RUN_DELAY] = value(m, PROCESS_run_delay);
    m->account.base[BASE_SWITCHES_VOLUNTARY] = value(m, PROCESS_switches_voluntary);
    m->account.base[BASE_SWITCHES_INVOLUNTARY] = value(m, PROCESS_switches_involuntary);
}

uint64_t job_expect_reaping(struct job *j, struct member *m, uint64_t now_ns)
{
    job_ended(j, m, now_ns);
    if (!member_is_reap_pending(m))
        m->life.reap_pending_ns = now_ns;
    state_change(j, m, MEMBER_REAP_PENDING);
    member_moved(m);
    return now_ns - m->life.reap_pending_ns;
}

void job_reaped(struct job *j, struct member *m, uint64_t end_ns)
{
    job_ended(j, m, end_ns);
    state_change(j, m, member_is_gone(m) ? MEMBER_GONE_REAPED : MEMBER_REAPED);
    m->life.reaped_by_parent = false;
    member_moved(m);
    if (!member_is_gone(m))
        tree_set_parent(m, NULL); /* it was the wrapper's child when it was reaped, whatever parent was seen before */
    m->account.successor = NULL;
}

void job_gone(struct job *j, struct member *m, uint64_t end_ns, uint64_t noticed_ns)
{
    bool final = member_is_final(m);
    if (member_is_gone(m))
        return;
    note_end(j, m, end_ns);
    m->life.gone_ns = noticed_ns;
    m->life.reaped_by_parent |= !final && !m->links.parent && j->adopts;
    if (!m->life.end_ns)
        m->life.end_ns = end_ns;
    j->targets -= m->is_target;
    task_ended(j, m, m->life.end_ns ? m->life.end_ns : noticed_ns);
    m->account.io_in_parent = m->of_task.number && m->links.parent &&
                              m->links.parent->of_task.number == m->of_task.number && !m->of_task.left;
    totals_leave(j, m);
    state_change(j, m, final ? MEMBER_GONE_REAPED : MEMBER_GONE);
    tree_remove(&j->tree, m);
    note_uncertain(j);
    m->links.list_next = j->gone;
    j->gone = m;
    j->n_gone++;
    j->gone_unforked |= !m->life.begin_ns;
}

void job_event(struct job *j, uint64_t t_ns, enum baro_event_kind kind, const struct member *m, uint64_t number,
               const char *text)
{
    struct baro_event e = {.t_ns = t_ns, .kind = kind, .number = number, .text = text ? text : ""};
    if (m)
        e.key = m->row.key;
    j->sink.event(j->sink.context, &e);
}
