/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/cgroup/walk.h"
#include "recorder/collectors/processes/group_job.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/proc/procfs.h"

#define REWALK NS_PER_SEC
/* At the beginning its processes are listed in each tick: an engine moves the container's first process into the group
 * when others of its own have been there. */
#define BEGINS NS_PER_SEC
#define WALK_PARTS 4u /* of the budget: whoever owns the group can make thousands below it */

void group_job_init(struct group_job *w, struct sampling *sampling)
{
    *w = (struct group_job){.sampling = sampling, .meter = {.fd = -1, .split_fd = -1}};
}

void group_job_done(struct group_job *w)
{
    if (!w->is_on)
        return;
    cgroup_meter_close(&w->meter);
    cgroup_walk_done(&w->walk);
    w->is_on = false;
}

/* Returns which of options.groups it is; their number if it is none of them. */
static size_t place_of(const struct group_job *w)
{
    const struct cgroup_hierarchies *p = w->sampling->options.groups;
    size_t i = 0;
    while (p && i < p->n && strcmp(p->at[i].dir, w->walk.dir) != 0)
        i++;
    return i;
}

/* Whoever owns the group can make any number of groups below it. Example: 20,000, of which one has a process. */
static void walk_groups(struct group_job *w)
{
    const struct sampling *g = w->sampling;
    size_t i = place_of(w);
    if (w->is_large)
        return;
    w->walk_error = cgroup_walk_groups(&w->walk);
    if (w->walk_error < 0 || !w->walk.left_out || !g->options.groups || i == g->options.groups->n)
        return;
    w->is_large = true;
    cgroup_walk_done(&w->walk);
    cgroup_walk_init(&w->walk, g->options.root_fd, &g->options.groups->at[i]);
}

int group_job_begin(struct group_job *w, const struct cgroup_location *place, bool since_now)
{
    struct sampling *g = w->sampling;
    w->is_on = true;
    w->is_target = since_now;
    g->options.children &= !since_now; /* children need not be followed: the group's list has them, unless they were
                                          moved to another group */
    g->job->open = since_now;          /* processes may be moved into the group */
    cgroup_walk_init(&w->walk, g->options.root_fd, place);
    walk_groups(w);
    if (w->walk_error < 0)
        return w->walk_error;
    g->job->group.cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (cgroup_meter_open(&w->meter, g->options.root_fd, g->options.groups, g->job->ns_per_tick) == 0 && since_now)
        cgroup_meter_read(&w->meter, &w->base);
    return 0;
}

void group_job_count(struct group_job *w)
{
    struct cgroup_reading now;
    struct job_group *group = &w->sampling->job->group;
    if (!w->is_on || w->meter.fd < 0)
        return;
    group->is_gone = cgroup_meter_read(&w->meter, &now) < 0;
    if (group->is_gone)
        return; /* it was removed: its last values stay */
    uint64_t user = now.user_ns - w->base.user_ns, sum = user + now.system_ns - w->base.system_ns;
    w->grew = now.user_ns + now.system_ns != w->counted_ns;
    w->counted_ns = now.user_ns + now.system_ns;
    if (now.user_ns < w->base.user_ns)
        user = 0; /* the split between user and system may change a little; the sum never falls */
    group->known = group->is_new = true;
    group->user_ns = user < sum ? user : sum;
    group->system_ns = sum - group->user_ns;
    group->read_ns = w->sampling->now_ns;
}

bool group_job_is_counted(const struct group_job *w)
{
    return w->is_on && w->meter.fd >= 0;
}

bool group_job_is_quiet(const struct group_job *w)
{
    struct cgroup_reading now;
    bool same = group_job_is_counted(w) && cgroup_meter_read(&w->meter, &now) == 0 &&
                now.user_ns + now.system_ns == w->counted_ns;
    if (same)
        w->sampling->job->group.read_ns = w->sampling->now_ns;
    return same;
}

static void found(void *context, int32_t pid)
{
    struct group_job *w = context;
    struct sampling *g = w->sampling;
    if (sampling_is_own(g, pid))
        return;
    struct member *m = tree_find(&g->job->tree, pid);
    w->members++;
    if (m)
        m->group.missing = 0;
    else if ((m = job_add(g->job, pid, NULL, BARO_ORIGIN_SCAN, g->now_ns)) != NULL)
        m->group.moved_in = g->job->open;
    if (m)
        m->group.listed = true;
}

static bool found_if_in(void *context, int32_t pid)
{
    struct group_job *w = context;
    struct sampling *g = w->sampling;
    ssize_t n = proc_read(g->options.proc_fd, pid, "cgroup", g->text, SAMPLING_TEXT);
    if (n > 0 && cgroup_holds(g->options.groups, place_of(w), span_of(g->text, (size_t)n)))
        found(w, pid);
    return true;
}

static int list_processes(struct group_job *w)
{
    struct sampling *g = w->sampling;
    if (w->is_large)
        return proc_each_process(g->options.proc_fd, found_if_in, w);
    return cgroup_walk_processes(&w->walk, g->text, SAMPLING_TEXT, found, w);
}

/* The groups are listed one by one, so a process that moves between two of them may be missing once. */
static bool has_left(const struct member *m)
{
    return m->group.missing > m->group.listed;
}

static void count_list(struct group_job *w)
{
    struct tree *tree = &w->sampling->job->tree;
    for (size_t i = 0; i < tree->n; i++) {
        struct member *m = tree->at[i];
        if (m && !member_has_ended(m) && !member_is_zombie(m) && !has_left(m)) /* in version 2 no zombie is listed */
            m->group.missing++;
    }
}

/* Finds out whether a member has left. A member that is missing in this list is checked with another list at the next
 * tick. */
static void find_left(struct group_job *w)
{
    const struct tree *tree = &w->sampling->job->tree;
    bool all = w->walk_error == 0 && !w->walk.left_out;
    for (size_t i = 0; i < w->walk.n; i++)
        all &= !w->walk.at[i].gone; /* removed, or it could not be read */
    w->any_left = false;
    for (size_t i = 0; i < tree->n && all; i++) {
        if (!tree->at[i] || !tree->at[i]->group.missing)
            continue;
        w->any_left |= has_left(tree->at[i]);
        w->walked_ns = 0;
    }
}

struct member *group_job_next_left(const struct group_job *w, size_t *i)
{
    const struct tree *tree = &w->sampling->job->tree;
    while (w->any_left && *i < tree->n) {
        struct member *m = tree->at[(*i)++];
        if (m && has_left(m))
            return m;
    }
    return NULL;
}

bool group_job_has_come(const struct group_job *w, const struct member *m)
{
    return m->group.moved_in && job_began_before(w->sampling->job, m->row.key.start, w->before_ns);
}

size_t group_job_find(struct group_job *w)
{
    struct sampling *g = w->sampling;
    w->members = 0;
    if (!w->is_on)
        return 0;
    w->before_ns = w->read_ns;
    w->read_ns = g->now_ns;
    bool walks = g->now_ns >= w->walked_ns + REWALK;
    if (walks) {
        walk_groups(w);
        w->walked_ns = g->now_ns;
    }
    if (w->is_target && walks)
        count_list(w);
    if (w->walk_error == 0)
        w->walk_error = list_processes(w) < 0 ? -1 : 0;
    if (w->is_target && walks)
        find_left(w);
    return w->members;
}

void group_job_find_if_due(struct group_job *w, bool at_once)
{
    if (!w->is_on)
        return;
    const struct sampling *g = w->sampling;
    uint64_t before = 0, after = 0;
    if (g->now_ns >= w->free_ns && (at_once || g->now_ns < BEGINS || g->now_ns >= w->walked_ns + REWALK)) {
        clock_process_cpu_ns(0, &before);
        group_job_find(w);
        clock_process_cpu_ns(0, &after);
        w->free_ns = g->now_ns + budget_pause(&g->account->budget, after - before, WALK_PARTS);
    }
}
