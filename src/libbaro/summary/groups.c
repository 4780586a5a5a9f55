/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/groups.h"

#include <string.h>

/* ---- which groups are the job's ---- */

static bool says(const struct fold_group *g, const char *word)
{
    const char *at = strstr(g->label, word);
    size_t n = strlen(word);
    return at && (at[n] == 0 || at[n] == ',') && (at == g->label || at[-1] == ' ');
}

/* Returns the group where CPU time is counted: v2, else cpuacct. If a group was made for the job, it is there. */
static const struct fold_group *counting(const struct baro_summary *s)
{
    static const char *const where[] = {"v2", "cpuacct"};
    const struct fold_group *found = NULL;
    for (size_t k = 0; k < 2 && !found; k++) {
        for (size_t i = 0; i < s->fold.groups.n; i++) {
            const struct fold_group *g = &s->fold.groups.at[i];
            if (says(g, where[k]) && (!found || g->length > found->length))
                found = g;
        }
    }
    return found;
}

/* Was the group made for the job? The groups that a recorder makes have its pid in their names; a group above them
 * may have been made by another recorder. */
static bool is_made(const struct baro_summary *s, const struct fold_group *g)
{
    const struct fold_group *one = s->subject.own_cgroup ? counting(s) : NULL;
    const char *end = one ? strrchr(one->last, '-') : NULL;
    return end && strncmp(one->last, BARO_GROUP_PREFIX, sizeof(BARO_GROUP_PREFIX) - 1) == 0 &&
           strncmp(g->last, one->last, (size_t)(end - one->last) + 1) == 0;
}

/* The target is the group with the target's path; all others are above it. */
static bool is_target(const struct baro_summary *s, const struct fold_group *g)
{
    for (size_t i = 0; i < s->fold.groups.n; i++) {
        if (s->fold.groups.at[i].length > g->length)
            return false;
    }
    return s->subject.is_cgroup && !s->subject.own_cgroup;
}

const struct fold_group *groups_job(const struct baro_summary *s)
{
    for (size_t i = 0; s->subject.is_cgroup && i < s->fold.groups.n; i++) {
        const struct fold_group *g = &s->fold.groups.at[i];
        if (g->cell[CGROUP_memory].seen && (is_made(s, g) || is_target(s, g)))
            return g;
    }
    return NULL;
}

/* Returns 2 if the group has the value; 1 if it could have the value, but it was not read; 0 if it does not have it. */
static int rank(const struct fold_group *g, enum cgroup_metric metric)
{
    const struct fold_cell *of = &g->cell[metric];
    return of->seen ? 2 : of->absent != BARO_ABSENT_UNSUPPORTED;
}

static const struct fold_group *innermost(const struct baro_summary *s, uint32_t chain, enum cgroup_metric metric)
{
    const struct fold_group *found = NULL;
    for (size_t i = 0; i < s->fold.groups.n; i++) {
        const struct fold_group *g = &s->fold.groups.at[i];
        if (g->chain != chain)
            continue;
        int better = found ? rank(g, metric) - rank(found, metric) : 1;
        if (better > 0 || (better == 0 && g->length > found->length))
            found = g;
    }
    return found;
}

/* ---- what was refused ---- */

/* The counters of a group that was made for the job begin at 0: growth before the first reading is the job's, too. */
static int group_grown(const struct baro_summary *s, const struct fold_group *g, enum cgroup_metric metric,
                       uint64_t *ret)
{
    const struct fold_cell *counter = &g->cell[metric];
    bool made = is_made(s, g);
    *ret = !counter->seen ? 0 : made ? counter->first + counter->grown : counter->grown;
    if (counter->seen && !made && counter->to_ns == counter->from_ns)
        return BARO_ABSENT_UNKNOWN; /* seen once: nothing to compare with */
    return counter->seen ? BARO_PRESENT : counter->absent;
}

bool groups_fell(const struct baro_summary *s, enum cgroup_metric metric)
{
    bool fell = false;
    for (size_t i = 0; i < s->fold.groups.n; i++)
        fell |= s->fold.groups.at[i].cell[metric].fell;
    return fell;
}

/* Takes, among groups that are above each other, the group that was throttled most. If a job was moved, the times of
 * its chains are added up. */
int summary_throttled(const struct baro_summary *s, uint64_t *ret)
{
    int absent = s->fold.readings ? BARO_ABSENT_UNKNOWN : BARO_ABSENT_NOT_YET;
    bool found = false;
    uint32_t chain = 0;
    uint64_t most = 0, ns;
    *ret = 0;
    for (size_t i = 0; i < s->fold.groups.n; i++) {
        const struct fold_group *g = &s->fold.groups.at[i];
        int why = group_grown(s, g, CGROUP_cpu_throttled, &ns);
        if (g->chain != chain) {
            *ret += most;
            most = 0;
            chain = g->chain;
        }
        if (why == BARO_PRESENT && ns > most)
            most = ns;
        found = found || why == BARO_PRESENT;
        absent = found ? BARO_PRESENT : why;
    }
    *ret += most;
    return absent;
}

/* Adds up a counter over the chains of groups in which the job was, taking of each chain the innermost group that
 * counts it. A controller belongs to one hierarchy, so groups that have the same counter are above each other. */
static int of_innermost(const struct baro_summary *s, enum cgroup_metric metric, uint64_t *ret)
{
    int absent = s->fold.readings ? BARO_ABSENT_UNKNOWN : BARO_ABSENT_NOT_YET;
    bool found = false;
    *ret = 0;
    for (uint32_t chain = 1; chain <= s->fold.groups.chains; chain++) {
        const struct fold_group *g = innermost(s, chain, metric);
        uint64_t n;
        int why = g ? group_grown(s, g, metric, &n) : BARO_ABSENT_UNKNOWN;
        if (why == BARO_PRESENT)
            *ret += n;
        found = found || why == BARO_PRESENT;
        absent = found ? BARO_PRESENT : why;
    }
    return absent;
}

const struct fold_group *groups_oom(const struct baro_summary *s, uint32_t chain)
{
    return innermost(s, chain, CGROUP_oom_kills);
}

bool groups_oom_alone(const struct baro_summary *s)
{
    for (uint32_t chain = 1; chain <= s->fold.groups.chains; chain++) {
        const struct fold_group *g = groups_oom(s, chain);
        if (!s->subject.is_cgroup || !g || !(is_made(s, g) || is_target(s, g)))
            return false;
    }
    return s->fold.groups.chains > 0;
}

int summary_group_oom_kills(const struct baro_summary *s, uint64_t *ret)
{
    return of_innermost(s, CGROUP_oom_kills, ret);
}

int summary_fork_refusals(const struct baro_summary *s, uint64_t *ret)
{
    int absent = of_innermost(s, CGROUP_pids_limit_hits, ret);
    const struct fold_group *first = innermost(s, 1, CGROUP_pids_limit_hits);
    uint64_t ours = first ? first->self_refusals.grown : 0; /* none where the recorder is not in it */
    *ret -= ours < *ret ? ours : *ret;
    return absent;
}

/* ---- memory ---- */

/* Was the group made for the job, and was its own peak read? Then groups_memory() covers all of its life. */
static bool memory_is_exact(const struct baro_summary *s, const struct fold_group *g)
{
    return g->cell[CGROUP_memory_peak].seen && is_made(s, g) && !g->outlived_limit;
}

/* How often the group hit its present limit. A group that was made for the job has no limit of before. */
static uint64_t limit_hits(const struct baro_summary *s, const struct fold_group *g)
{
    const struct fold_cell *hits = &g->limit_hits;
    return is_made(s, g) ? hits->first + hits->grown : hits->grown;
}

uint64_t groups_memory(const struct baro_summary *s, const struct fold_group *g, uint64_t limit)
{
    uint64_t most = g->memory.most, mark = g->cell[CGROUP_memory_peak].most;
    if (!g->cell[CGROUP_memory_peak].seen)
        return most;
    if (memory_is_exact(s, g) && mark > most)
        most = mark;
    /* The group hit its limit, so it held as much as its peak says, up to the limit. In v2 the counter also includes
     * hits of limits further down. */
    bool ran_into = limit && says(g, "memory") && limit_hits(s, g);
    uint64_t there = mark < limit ? mark : limit;
    return ran_into && there > most ? there : most;
}
