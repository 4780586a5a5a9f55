/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/host/host_row.h"

#include "recorder/helper/helper.h"

#define SHORT_JOB (30 * NS_PER_MS) /* a job that ends before this has no samples of the machine */
#define PERIOD_LEAST (100 * NS_PER_MS)

void host_row_init(struct host_row *r, struct sampling *sampling)
{
    *r = (struct host_row){.sampling = sampling};
}

bool host_row_is_wanted(const struct host_row *r)
{
    return r->sampling->options.host && !r->failed;
}

static bool have_host(struct host_row *r)
{
    const struct sampler_options *o = &r->sampling->options;
    if (r->host)
        return true;
    if (!host_row_is_wanted(r) || (!o->host_at_once && r->sampling->now_ns < SHORT_JOB))
        return false;
    struct host_options options = {
        .proc_fd = o->proc_fd,
        .sys_fd = o->sys_fd,
        .clk_tck = o->clk_tck,
        .page_size = o->page_size,
        .helper = o->helper,
        .helper_after_ns = o->host_at_once ? 0 : SAMPLING_HELPER_AFTER,
        .entity_ids = &r->sampling->entity_ids,
    };
    r->failed = host_new(&r->host, &options, NULL) < 0; /* the recording of the job goes on without it */
    return r->host != NULL;
}

/* ---- the row ---- */

static void prepare_host(void *state)
{
    struct host_row *r = state;
    if (have_host(r))
        host_prepare(r->host);
}

static bool tick_host(void *state, const struct collector_tick *t)
{
    struct host_row *r = state;
    if (!have_host(r))
        return false;
    host_tick(r->host, t->now_ns, t->level, t->last);
    host_fill(r->host, t->sample);
    return true;
}

static struct worker *worker_of_host(const void *state)
{
    const struct host_row *r = state;
    return r->host ? helper_worker(host_helper(r->host)) : NULL;
}

static void close_host(void *state)
{
    struct host_row *r = state;
    host_free(r->host);
    r->host = NULL;
}

const struct collector host_collector = {
    .name = "host",
    .kinds = COLLECTOR_KIND(BARO_KIND_HOST) | COLLECTOR_KIND(BARO_KIND_CPU) | COLLECTOR_KIND(BARO_KIND_DISK) |
             COLLECTOR_KIND(BARO_KIND_FS) | COLLECTOR_KIND(BARO_KIND_NET) | COLLECTOR_KIND(BARO_KIND_SENSOR),
    .period_ns = PERIOD_LEAST,
    .prepare = prepare_host,
    .tick = tick_host,
    .worker = worker_of_host,
    .close = close_host,
};
