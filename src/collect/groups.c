/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler's side of control groups: those that the job is in, and a job that is one. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "collect/sampler.h"

#define LEAST_AGE NS_PER_SEC    /* where the machine is not looked at, which else sets the pace */
#define JITTER 16u              /* ticks of the same period come a little early or late */
#define REWALK NS_PER_SEC       /* who was moved into the group is told by no event */

static uint64_t ns_per_tick(const struct sampler *s)
{
    return s->job->ns_per_tick;
}

/* ---- what the groups say ---- */

static void open_groups(struct sampler *s)
{
    const struct cgroups_options o = {.root_fd = s->options.root_fd,
                                      .ns_per_tick = ns_per_tick(s),
                                      .memory_total = s->options.memory_total,
                                      .helper = s->options.helper,
                                      .ids = &s->entity_ids};
    s->groups_tried = true;
    cgroups_new(&s->groups, &o, s->options.groups);
}

/* That of the machine; where the machine is not looked at, one of their own. */
static struct helper *helper_of(struct sampler *s)
{
    if (s->machine)
        return host_helper(s->machine);
    if (!s->groups_helper && s->options.helper && s->now_ns >= (s->options.host_at_once ? 0 : SAMPLER_HELPER_AFTER))
        helper_new(&s->groups_helper, s->options.proc_fd, false, NULL);
    return s->groups_helper;
}

void sampler_groups_prepare(struct sampler *s)
{
    if (!s->options.groups || s->machine)
        return;
    if (!s->groups_tried)
        open_groups(s);
    struct helper *helper = cgroups_need_helper(s->groups) ? helper_of(s) : NULL;
    if (helper)
        helper_start(helper);
}

/* With each look at the machine; where there is none, at their own pace. A job that is over before the machine was
 * looked at, and whose groups were, has a last look at these. */
static bool groups_due(const struct sampler *s)
{
    const struct baro_sample *sample = &s->sample;
    if (s->options.host && s->machine)
        return sample->has_host && sample->host_ns == s->now_ns;
    if (s->options.host)
        return s->groups && s->job->closing;
    return !sample->has_host || s->now_ns >= sample->host_ns + LEAST_AGE - LEAST_AGE / JITTER || s->job->closing;
}

/* Without the machine. */
static void look_alone(struct sampler *s, enum baro_absent why)
{
    struct baro_sample *sample = &s->sample;
    for (int i = 0; !sample->has_host && i < HOST_MAX; i++)
        sample->host_absent[i] = why;
    sample->has_host = true;
    sample->host_ns = s->now_ns;
}

void sampler_groups_tick(struct sampler *s)
{
    if (!s->options.groups || !groups_due(s))
        return;
    if (!s->groups_tried)
        open_groups(s);
    if (!s->groups)
        return;
    if (!s->machine)
        look_alone(s, BARO_ABSENT_NOT_ASKED);
    cgroups_use(s->groups, helper_of(s));
    if (!s->machine)
        cgroups_collect(s->groups);
    s->refused_at_look = sampler_self_refused(s);
    cgroups_tick(s->groups, s->now_ns, s->job->closing, &s->sample);
}

/* The machine is left alone until the job has lived for a while, but what a limit refuses may be refused at once:
 * growth of it is from the first look on. The next tick has it. */
void sampler_groups_early(struct sampler *s)
{
    if (!s->options.groups || !s->options.host || s->options.host_at_once || s->groups_tried || s->sample.has_host ||
        s->job->closing)
        return;
    sampler_advance(s);
    open_groups(s);
    if (!s->groups)
        return;
    look_alone(s, BARO_ABSENT_NOT_YET);
    s->refused_at_look = sampler_self_refused(s);
    cgroups_tick(s->groups, s->now_ns, false, &s->sample);
}

/* What was asked for of the old ones comes to nobody any more, and borrows nothing of them; of the new ones, if there
 * are any, the next look tells. */
void sampler_groups_renew(struct sampler *s, const struct cgroup_hierarchies *groups)
{
    struct cgroups *before = s->groups;
    struct helper *helper = s->machine ? host_helper(s->machine) : s->groups_helper;
    s->options.groups = groups;
    if (!s->groups_tried)
        return;
    s->groups = NULL;
    open_groups(s);
    if (helper)
        helper_forget(helper, HELPER_GROUP);
    cgroups_use(s->groups, helper);
    cgroups_free(before);
    s->sample.entities[BARO_KIND_CGROUP] = (struct baro_entities){0};
}

void sampler_groups_done(struct sampler *s)
{
    helper_free(s->groups_helper); /* first: it borrows from them */
    s->groups_helper = NULL;
    cgroups_free(s->groups);
    if (s->options.whole_group) {
        cgroup_meter_close(&s->meter);
        cgroup_walk_done(&s->walk);
    }
    s->groups = NULL;
}

/* ---- a job that is a group ---- */

int sampler_groups_begin(struct sampler *s, const struct cgroup_location *place, bool since_now)
{
    const struct cgroup_hierarchies *places = s->options.groups;
    s->meter = (struct cgroup_meter){.fd = -1, .split_fd = -1};
    s->options.whole_group = true;
    s->job->open = since_now; /* whoever is moved in */
    cgroup_walk_init(&s->walk, s->options.root_fd, place);
    s->walk_error = cgroup_walk_groups(&s->walk);
    if (s->walk_error < 0)
        return s->walk_error;
    if (cgroup_meter_open(&s->meter, s->options.root_fd, places, ns_per_tick(s)) == 0 && since_now)
        cgroup_meter_read(&s->meter, &s->meter_base);
    return 0;
}

void sampler_groups_count(struct sampler *s)
{
    struct cgroup_reading now;
    struct job_group *g = &s->job->group;
    if (!s->options.whole_group || s->meter.fd < 0 || cgroup_meter_read(&s->meter, &now) < 0)
        return; /* gone: what was read last stands */
    uint64_t user = now.user_ns - s->meter_base.user_ns, sum = user + now.system_ns - s->meter_base.system_ns;
    if (now.user_ns < s->meter_base.user_ns)
        user = 0; /* the split moves a little, the sum does not */
    *g = (struct job_group){true, user < sum ? user : sum, user < sum ? sum - user : 0};
}

static void found(void *context, int32_t pid)
{
    struct sampler *s = context;
    const int32_t *self = s->options.self;
    if (pid == self[0] || pid == self[1] || pid == self[2] || (s->slow && pid == helper_pid(s->slow)) ||
        (s->machine && pid == host_helper_pid(s->machine)) || (s->groups_helper && pid == helper_pid(s->groups_helper)))
        return;
    s->group_members++;
    if (!tree_find(&s->job->tree, pid))
        job_add(s->job, pid, NULL, BARO_ORIGIN_SCAN, s->now_ns);
}

/* Once: who is in there is found only where an event tells of it. */
static void tell_left_out(struct sampler *s)
{
    char text[128];
    if (!s->walk.left_out || s->groups_left_out)
        return;
    s->groups_left_out = true;
    snprintf(text, sizeof(text), "%zu control groups are not looked into: too many, too deep, or too few descriptors",
             s->walk.left_out);
    job_event(s->job, s->now_ns, BARO_EVENT_WARNING, NULL, s->walk.left_out, text);
}

size_t sampler_groups_find_members(struct sampler *s)
{
    s->group_members = 0;
    if (!s->options.whole_group)
        return 0;
    if (s->now_ns >= s->walked_ns + REWALK) {
        s->walk_error = cgroup_walk_groups(&s->walk);
        s->walked_ns = s->now_ns;
    }
    if (s->walk_error == 0)
        s->walk_error = cgroup_walk_processes(&s->walk, s->text, sizeof(s->text), found, s) < 0 ? -1 : 0;
    return s->group_members;
}

void sampler_groups_members_tick(struct sampler *s)
{
    if (!s->options.whole_group)
        return;
    if (s->scan_always || s->scan_once || s->now_ns >= s->walked_ns + REWALK)
        sampler_groups_find_members(s);
    tell_left_out(s); /* not before the first tick: then there is a tape */
}
