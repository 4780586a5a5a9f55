/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/job/counters.h"
#include "recorder/job/task.h"

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
    while (j->settling.gone) {
        struct member *m = j->settling.gone;
        j->settling.gone = m->links.list_next;
        tree_release(&j->tree, m);
    }
    late_done(j);
    tree_done(&j->tree);
    free(j->reports.at);
    free(j->reports.of);
    free(j->tasks);
    j->reports.at = NULL;
    j->reports.of = NULL;
    j->tasks = NULL;
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
    m->other.peak_before = j->counts.peak;
    m->other.most_before = j->at_once.most;
    member_wake(m);
    job_inherit_group(m, parent);
    if (j->tasks && !j->selected)
        job_inherit(j, m, parent);
    j->counts.started++;
    peak_begin(j, m, parent);
    m->other.was_started = job_starts_others(parent);
    if (m->other.was_started)
        job_set_other(j, m, true);
    return m;
}

void job_note_peak(struct job *j)
{
    peak_note(j);
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
    peak_end(j, m, end_ns);
    if (member_state(m) == MEMBER_ALIVE)
        state_change(j, m, MEMBER_ENDED);
    if (!m->life.end_ns)
        m->life.end_ns = end_ns;
}

void job_revive(struct job *j, struct member *m)
{
    if (!state_change(j, m, MEMBER_ALIVE))
        return;
    /* perf detaches from a process that executes a file without read permission (perf_event_exit_task() in
     * begin_new_exec()), so later events of it are lost. */
    if (j->source.covers_members)
        job_lose(j);
    m->events.covered = !j->source.covers_members && m->events.covered;
    m->life.end_reported = m->life.status_known = false;
    m->life.end_ns = 0;
    peak_end_awaited(j, m, false);
}

void job_set_target(struct job *j, struct member *m, bool target)
{
    j->counts.targets += target && !m->is_target;
    j->counts.targets -= !target && m->is_target;
    m->is_target = target;
}

void job_absorbed(const struct job *j, struct member *m)
{
    if (j->adopts)
        m->account.heir = HEIR_EARLIER;
}

void job_rebase(struct member *m)
{
    if (!m->account.base)
        m->account.base = calloc(BASE_MAX, sizeof(*m->account.base));
    if (!m->account.base)
        return;
    memset(m->account.base, 0, BASE_MAX * sizeof(*m->account.base));
    free(m->other.base); /* it was less the former base */
    m->other.base = NULL;
    m->reaped_io.lost = true;
    uint64_t now[LEDGER_MAX];
    for (int c = 0; c < LEDGER_MAX; c++)
        now[c] = job_ledger(m, c);
    memcpy(m->account.base, now, sizeof(now));
    member_moved(m);
    m->account.base[BASE_CHILDREN_CPU] = value(m, PROCESS_children_cpu_user) + value(m, PROCESS_children_cpu_system);
    for (int c = BASE_CPU; c <= BASE_SWITCHES_INVOLUNTARY; c++)
        m->account.base[c] = value(m, base_metrics[c]);
}

void job_leave_out(struct member *m, const uint64_t used[LEDGER_MAX])
{
    for (int c = 0; c < LEDGER_MAX && m->account.base; c++) {
        m->account.base[c] += used[c];
        m->account.base[BASE_CHILDREN_CPU] += c <= LEDGER_CPU_SYSTEM ? used[c] : 0;
    }
    member_moved(m);
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
    m->account.heir = HEIR_SUCCESSOR;
    member_moved(m);
    if (!member_is_gone(m))
        tree_set_parent(m, NULL); /* when it was reaped it was a child of the wrapper, even if it was adopted late */
    m->account.successor = NULL;
}

/* Bytes of a process that is gone are in its parent's counters, when those are read next. */
static void pass_on_late_io(const struct job *j, const struct member *m)
{
    struct member *parent = m->links.parent;
    uint64_t since_ns = late_io_since(m);
    bool is_readable = parent && (parent->row.absent[PROCESS_io_rchar] == BARO_PRESENT ||
                                  parent->row.absent[PROCESS_io_rchar] == BARO_ABSENT_NOT_YET);
    if (!since_ns || !is_readable || is_own_alone(j))
        return;
    uint64_t *of_parent = &parent->reading.io_since_ns;
    *of_parent = *of_parent && *of_parent < since_ns ? *of_parent : since_ns;
}

void job_gone(struct job *j, struct member *m, uint64_t end_ns, uint64_t noticed_ns)
{
    bool final = member_is_final(m);
    if (member_is_gone(m))
        return;
    peak_end(j, m, end_ns);
    m->life.gone_ns = noticed_ns;
    job_inherit_group(m, m->links.parent);
    if (!final && !m->links.parent && j->adopts)
        m->account.heir = HEIR_EARLIER;
    if (!m->life.end_ns)
        m->life.end_ns = end_ns;
    j->counts.targets -= m->is_target;
    m->account.io_in_parent = m->of_task.number && m->links.parent &&
                              m->links.parent->of_task.number == m->of_task.number && !m->of_task.left;
    totals_leave(j, m);
    if (!final)
        pass_on_late_io(j, m);
    state_change(j, m, final ? MEMBER_GONE_REAPED : MEMBER_GONE);
    tree_remove(&j->tree, m);
    j->others.listed -= m->other.is;
    m->links.list_next = j->settling.gone;
    j->settling.gone = m;
    j->settling.n_gone++;
    j->settling.gone_unforked |= !m->life.begin_ns;
}

void job_event(struct job *j, uint64_t t_ns, enum baro_event_kind kind, const struct member *m, uint64_t number,
               const char *text)
{
    struct baro_event e = {.t_ns = t_ns, .kind = kind, .number = number, .text = text ? text : ""};
    if (m)
        e.key = m->row.key;
    j->sink.event(j->sink.context, &e);
}
