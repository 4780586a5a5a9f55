/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/cgroups/cgroup_row.h"

#include "recorder/collectors/cgroups/cgroup.h"
#include "recorder/helper/helper.h"

#define LEAST_AGE NS_PER_SEC /* between two reads if the machine, which otherwise sets the period, is not sampled */
#define JITTER 16u           /* samples may come a 16th of the period too early */

static void open_groups(struct cgroup_row *r)
{
    struct sampling *g = r->sampling;
    const struct cgroups_options o = {.root_fd = g->options.root_fd,
                                      .ns_per_tick = g->job->ns_per_tick,
                                      .memory_total = g->options.memory_total,
                                      .helper = g->options.helper,
                                      .patient = !sampling_is_shared(g),
                                      .ids = &g->entity_ids};
    r->opened = true;
    cgroups_new(&r->groups, &o, g->options.groups);
}

/* The helper of the machine; if the machine is not sampled, a helper of this row. */
static struct helper *helper_of(struct cgroup_row *r)
{
    const struct sampler_options *o = &r->sampling->options;
    if (r->host->host)
        return host_helper(r->host->host);
    if (sampling_is_shared(r->sampling)) /* a helper for each job would be too many */
        return o->helper ? account_files(r->sampling->account, o->proc_fd) : NULL;
    if (!r->helper && o->helper && r->sampling->now_ns >= (o->host_at_once ? 0 : SAMPLING_HELPER_AFTER))
        helper_new(&r->helper, o->proc_fd, false, NULL);
    return r->helper;
}

/* The one that is there already. */
static struct helper *helper_now(const struct cgroup_row *r)
{
    if (r->host->host)
        return host_helper(r->host->host);
    return sampling_is_shared(r->sampling) ? r->sampling->account->files : r->helper;
}

/* The groups are read together with the machine; if that is not sampled, with a period of their own. If the job ends
 * before the machine was sampled, groups that were read early are read once more at the end. */
static bool is_due(const struct cgroup_row *r, const struct collector_tick *t)
{
    const struct baro_sample *sample = t->sample;
    if (r->host->host)
        return sample->has_host && sample->host_ns == t->now_ns;
    if (host_row_is_wanted(r->host))
        return r->groups && t->last;
    return !sample->has_host || t->now_ns >= sample->host_ns + LEAST_AGE - LEAST_AGE / JITTER || t->last || r->is_near;
}

/* Marks the machine's values in the sample as absent. */
static void fill_no_host(struct cgroup_row *r, enum baro_absent why)
{
    struct baro_sample *sample = &r->sampling->sample;
    for (int i = 0; !sample->has_host && i < HOST_MAX; i++)
        sample->host_absent[i] = (uint8_t)why;
    sample->has_host = true;
    sample->host_ns = r->sampling->now_ns;
}

bool cgroup_row_is_early(const struct cgroup_row *r)
{
    const struct sampling *g = r->sampling;
    return g->options.groups && host_row_is_wanted(r->host) && !g->options.host_at_once && !r->opened &&
           !g->sample.has_host && !g->job->settling.closing;
}

void cgroup_row_early(struct cgroup_row *r)
{
    open_groups(r);
    if (!r->groups)
        return;
    fill_no_host(r, BARO_ABSENT_NOT_YET);
    own_cost_note_refused(r->own);
    cgroups_tick(r->groups, r->sampling->now_ns, false, &r->sampling->sample);
}

/* Replies to requests for the old groups are dropped, and the sample borrows nothing from them any more. The new
 * groups, if there are any, are read in the next turn. */
void cgroup_row_renew(struct cgroup_row *r)
{
    struct cgroups *before = r->groups;
    struct helper *helper = helper_now(r);
    if (!r->opened)
        return;
    r->groups = NULL;
    open_groups(r);
    if (helper && before)
        helper_forget(helper, before);
    cgroups_use(r->groups, helper);
    cgroups_free(before);
    r->sampling->sample.entities[BARO_KIND_CGROUP] = (struct baro_entities){0};
}

bool cgroup_row_watch(struct cgroup_row *r)
{
    r->is_near = cgroups_watch(r->groups, r->sampling->now_ns, &r->near_ns);
    return r->is_near;
}

void cgroup_row_read_end(struct cgroup_row *r)
{
    cgroups_read_end(r->groups);
}

uint64_t cgroup_row_oom_kills(const struct cgroup_row *r)
{
    return cgroups_oom_kills(r->groups);
}

/* ---- the row ---- */

void cgroup_row_init(struct cgroup_row *r, struct sampling *sampling, const struct host_row *host, struct own_cost *own)
{
    *r = (struct cgroup_row){.sampling = sampling, .host = host, .own = own, .near_ns = UINT64_MAX};
}

static void prepare_cgroups(void *state)
{
    struct cgroup_row *r = state;
    if (!r->sampling->options.groups || r->host->host)
        return;
    if (!r->opened)
        open_groups(r);
    struct helper *helper = cgroups_need_helper(r->groups) ? helper_of(r) : NULL;
    if (helper)
        helper_start(helper);
}

static bool tick_cgroups(void *state, const struct collector_tick *t)
{
    struct cgroup_row *r = state;
    if (!r->sampling->options.groups || !is_due(r, t))
        return false;
    if (!r->opened)
        open_groups(r);
    if (!r->groups)
        return false;
    if (!r->host->host)
        fill_no_host(r, BARO_ABSENT_NOT_ASKED);
    cgroups_use(r->groups, helper_of(r));
    if (!r->host->host)
        cgroups_collect(r->groups);
    own_cost_note_refused(r->own);
    cgroups_tick(r->groups, t->now_ns, t->last, t->sample);
    return true;
}

static struct worker *worker_of_cgroups(const void *state)
{
    const struct cgroup_row *r = state;
    return helper_worker(r->helper);
}

static void close_groups(void *state)
{
    struct cgroup_row *r = state;
    helper_free(r->helper); /* first, because its requests borrow paths from the groups */
    r->helper = NULL;
    if (sampling_is_shared(r->sampling) && r->sampling->account->files && r->groups)
        helper_forget(r->sampling->account->files, r->groups);
    cgroups_free(r->groups);
    r->groups = NULL;
}

const struct collector cgroup_collector = {
    .name = "cgroups",
    .kinds = COLLECTOR_KIND(BARO_KIND_CGROUP),
    .prepare = prepare_cgroups,
    .tick = tick_cgroups,
    .worker = worker_of_cgroups,
    .close = close_groups,
};
