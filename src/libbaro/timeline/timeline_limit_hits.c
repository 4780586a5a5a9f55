/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals in which something held the job back: the readings between which counters of its control groups grew.
 * Example: readings at 1, 2, 3 and 9 s with 0, 0.4, 0.9 and 0.9 s throttled make one interval, from 1 to 3 s,
 * "throttled 900 ms".
 */
#include "base/fmt.h"
#include "libbaro/timeline/timeline.h"

static const struct {
    const char *name;
    enum cgroup_metric metric;
} of_group[HELD_MAX] = {
    [HELD_CPU] = {"throttled", CGROUP_cpu_throttled},
    [HELD_MEMORY_LIMIT] = {"memory_limit", CGROUP_memory_limit_hits},
    [HELD_MEMORY_HIGH] = {"memory_high", CGROUP_memory_high_hits},
    [HELD_FORKS] = {"fork_limit", CGROUP_pids_limit_hits},
};

static void describe_item(struct baro_timeline *t, struct timeline_item *i, int what)
{
    struct buf text = {0};
    if (what == HELD_CPU) {
        buf_str(&text, "throttled ");
        fmt_duration(&text, i->amount);
        buf_str(&text, " by its CPU quota");
        timeline_set_text(t, i, &text);
        return;
    }
    if (what == HELD_FORKS)
        buf_str(&text, "limit of processes reached");
    else
        buf_str(&text, what == HELD_MEMORY_LIMIT ? "memory limit reached" : "memory.high reached");
    if (i->amount > 1) {
        buf_str(&text, ", ");
        fmt_count(&text, i->amount);
        buf_str(&text, " times");
    }
    timeline_set_text(t, i, &text);
}

/* Adds growth to the last interval, or begins a new one. An interval goes on over one reading without growth. */
static void extend(struct baro_timeline *t, int what, uint64_t from_ns, uint64_t to_ns, uint64_t amount)
{
    struct timeline_item *i = t->held[what].item;
    if (!i || from_ns > i->view.end_ns + (to_ns - from_ns)) {
        i = t->held[what].item = timeline_append(t, BARO_TIMELINE_EVENT, of_group[what].name, from_ns);
        if (!i)
            return;
        i->view.is_problem = true;
    }
    i->view.end_ns = to_ns;
    i->amount += amount;
    describe_item(t, i, what);
}

/* Returns how much a counter grew in the last reading. Groups that are above each other count the same events, so the
 * largest growth is taken. */
static uint64_t largest(const struct fold_groups *groups, enum cgroup_metric metric)
{
    uint64_t most = 0;
    for (size_t i = 0; i < groups->n; i++) {
        const struct fold_group *g = &groups->at[i];
        uint64_t more = g->cell[metric].to_ns == groups->read_ns ? fold_group_rose(g, metric) : 0;
        most = more > most ? more : most;
    }
    return most;
}

void timeline_add_sample(struct baro_timeline *t)
{
    const struct fold *f = &t->summary->fold;
    uint64_t before_ns = t->held_ns;
    t->held_ns = f->row.host_ns;
    if (t->held_ns <= before_ns)
        return;
    for (int what = 0; what < HELD_MAX; what++) {
        uint64_t amount = largest(&f->groups, of_group[what].metric);
        if (amount)
            extend(t, what, before_ns, t->held_ns, amount);
    }
}
