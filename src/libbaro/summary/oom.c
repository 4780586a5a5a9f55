/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/oom.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "libbaro/summary/groups.h"

/* The counter rises before SIGKILL is sent (mm/oom_kill.c), so a reading may have that first; a large process takes a
 * while to end. */
#define ENDS_WITHIN (2 * NS_PER_SEC)

void oom_add_exit(struct summary_oom *o, const struct baro_exit *e)
{
    if (o->status_unknown && e->status_known && WIFEXITED(e->status) && WEXITSTATUS(e->status) == 128 + SIGKILL)
        o->said_ns = e->t_ns;
    o->status_unknown |= !e->status_known;
    if (!e->status_known)
        o->unknown_ns = e->t_ns;
    if (!e->status_known || !WIFSIGNALED(e->status) || WTERMSIG(e->status) != SIGKILL)
        return;
    if (o->n < OOM_TIMES)
        o->end_ns[o->n++] = e->t_ns;
    o->ended++;
}

void oom_add_event(struct summary_oom *o, const struct baro_event *e)
{
    o->logged = true;
    o->log_own = e->number;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns how many kills of one reading match a process that SIGKILL ended at about that time. Example: the counter
 * rises by 2 between the readings at 1.0 and 2.0 s, and processes ended at 0.4, 1.7 and 9.0 s: one matches. */
static uint64_t match(const struct baro_summary *s, const struct fold_rise *rise, size_t n, bool taken[OOM_TIMES])
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t left = rise[i].by;
        for (size_t k = 0; k < s->oom.n && left; k++) {
            uint64_t t = s->oom.end_ns[k];
            if (taken[k] || t < rise[i].from_ns || t > rise[i].to_ns + ENDS_WITHIN)
                continue;
            taken[k] = true;
            left--;
            all++;
        }
    }
    return all;
}

static uint64_t matched(const struct baro_summary *s, const struct fold_rise *rise, size_t n)
{
    bool taken[OOM_TIMES] = {false};
    uint64_t all = match(s, rise, n, taken), said_ns = s->oom.said_ns;
    for (size_t i = 0; !all && said_ns && i < n; i++)
        all = said_ns >= rise[i].from_ns && said_ns <= rise[i].to_ns + ENDS_WITHIN;
    return all;
}

/* Counts processes that SIGKILL ended before the counter was first read: that reading may include them already. */
static uint64_t ended_before(const struct baro_summary *s, uint64_t first_ns)
{
    uint64_t n = 0;
    for (size_t k = 0; k < s->oom.n; k++)
        n += s->oom.end_ns[k] <= first_ns;
    return n;
}

/* Counts processes that SIGKILL ended after the last reading of the counter, for example because the group was removed:
 * it does not include them. */
static uint64_t ended_after(const struct baro_summary *s, uint64_t last_ns)
{
    uint64_t n = 0;
    for (size_t k = 0; k < s->oom.n; k++)
        n += s->oom.end_ns[k] > last_ns;
    return n;
}

/* Processes that began and ended between two scans, or while events were lost, have no exit record. */
static bool any_unknown(const struct baro_summary *s)
{
    return s->oom.status_unknown || !s->subject.event_source[0] || s->incidents.lossy_samples;
}

static void bound(const struct baro_summary *s, uint64_t counted, uint64_t likely, uint64_t before,
                  struct summary_oom_kills *ret)
{
    const struct summary_oom *o = &s->oom;
    ret->likely = likely;
    ret->least = 0;
    ret->most = any_unknown(s) ? counted + before : min_u64(counted + before, o->ended);
    if (o->logged)
        ret->likely = ret->least = ret->most = o->log_own;
}

/* Uses the machine's count if no group of the job has one. */
static int by_machine(const struct baro_summary *s, int absent, struct summary_oom_kills *ret)
{
    const struct fold_cell *g = &s->fold.cell[FOLD_HOST_OOM_KILLS];
    *ret = (struct summary_oom_kills){0};
    if (!g->seen || g->to_ns == g->from_ns) {
        bound(s, 0, 0, 0, ret);
        return s->oom.logged ? BARO_PRESENT : absent;
    }
    const struct fold_rise whole = {g->from_ns, g->to_ns, g->grown};
    bound(s, g->grown, matched(s, &whole, g->grown != 0), ended_before(s, g->from_ns), ret);
    return BARO_PRESENT;
}

/* The job is alone in its groups, which counted kills up to their last reading. For what ended later the kernel's log
 * decides, if it was read. Example: read at 2.0 s with 0 kills, SIGKILL ended a process at 2.3 s, and the group was
 * removed at 2.4 s: 1 if the log names that process, 0 if it names none, else 0 to 1. */
static int by_own_groups(const struct baro_summary *s, uint64_t counted, struct summary_oom_kills *ret)
{
    uint64_t last_ns = groups_oom(s, s->fold.groups.chains)->cell[CGROUP_oom_kills].to_ns,
             after = ended_after(s, last_ns);
    uint64_t logged = s->oom.log_own > counted ? s->oom.log_own - counted : 0;
    ret->likely = ret->least = counted + (s->oom.logged ? min_u64(logged, after) : 0);
    ret->most = s->oom.logged ? ret->least : counted + after;
    bool unknown = !s->oom.logged && s->oom.unknown_ns > last_ns;
    return unknown && !ret->most ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
}

int summary_oom_kills(const struct baro_summary *s, struct summary_oom_kills *ret)
{
    uint64_t counted;
    const struct fold_group *first;
    int absent = summary_group_oom_kills(s, &counted);
    *ret = (struct summary_oom_kills){0};
    if (s->subject.is_machine && s->fold.cell[FOLD_HOST_OOM_KILLS].seen) {
        ret->likely = ret->least = ret->most = s->fold.cell[FOLD_HOST_OOM_KILLS].grown;
        return BARO_PRESENT;
    }
    if (absent == BARO_PRESENT && groups_oom_alone(s))
        return by_own_groups(s, counted, ret);
    if (absent == BARO_ABSENT_UNSUPPORTED || absent == BARO_ABSENT_NOT_ASKED)
        return by_machine(s, absent, ret);
    first = groups_oom(s, 1);
    if (absent != BARO_PRESENT) {
        /* There is only one reading. The kills that it counted may be the job's, if SIGKILL ended one of its
         * processes. */
        bool none = first && first->cell[CGROUP_oom_kills].seen && !s->oom.ended && !any_unknown(s);
        bound(s, 0, 0, 0, ret);
        return none || s->oom.logged ? BARO_PRESENT : absent;
    }
    uint64_t likely = 0;
    for (uint32_t chain = 1; chain <= s->fold.groups.chains; chain++) {
        const struct fold_group *g = groups_oom(s, chain);
        if (g)
            likely += matched(s, g->oom_rise, g->n_oom_rises);
    }
    bound(s, counted, min_u64(likely, counted), first ? ended_before(s, first->cell[CGROUP_oom_kills].from_ns) : 0,
          ret);
    return absent;
}

void oom_ends(const struct baro_summary *s, bool ret[OOM_TIMES])
{
    uint64_t counted;
    const struct fold_cell *of_host = &s->fold.cell[FOLD_HOST_OOM_KILLS];
    const struct fold_rise whole = {of_host->from_ns, of_host->to_ns, of_host->grown};
    int absent = summary_group_oom_kills(s, &counted);
    for (size_t i = 0; i < OOM_TIMES; i++)
        ret[i] = false;
    if (absent == BARO_ABSENT_UNSUPPORTED || absent == BARO_ABSENT_NOT_ASKED) {
        match(s, &whole, of_host->seen && of_host->grown, ret);
        return;
    }
    for (uint32_t chain = 1; chain <= s->fold.groups.chains; chain++) {
        const struct fold_group *g = groups_oom(s, chain);
        if (!g)
            continue;
        /* A group made for the job starts at 0, so its count in the first reading is the job's. */
        const struct fold_cell *c = &g->cell[CGROUP_oom_kills];
        const struct fold_rise first = {0, c->from_ns, c->first};
        match(s, &first, s->subject.own_cgroup && groups_oom_alone(s) && c->seen && first.by, ret);
        match(s, g->oom_rise, g->n_oom_rises, ret);
        if (groups_oom_alone(s) && s->oom.logged && s->oom.log_own > counted) {
            const struct fold_rise late = {c->to_ns, UINT64_MAX - ENDS_WITHIN, s->oom.log_own - counted};
            match(s, &late, 1, ret);
        }
    }
}
