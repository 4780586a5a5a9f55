/* SPDX-License-Identifier: Apache-2.0 */
/* What is around the job, into the sample. */
#include <string.h>

#include "base/clock.h"
#include "collect/sampler.h"

#define SHORT_JOB (30 * NS_PER_MS)   /* one that is over by then never pays for a look at the machine */

static bool have_host(struct sampler *s)
{
    const struct sampler_options *o = &s->options;
    if (s->machine)
        return true;
    if (!o->host || (!o->host_at_once && s->now_ns < SHORT_JOB))
        return false;
    struct host_options options = {
        .proc_fd = o->proc_fd,
        .sys_fd = o->sys_fd,
        .clk_tck = o->clk_tck,
        .page_size = o->page_size,
        .helper = o->helper,
        .overhead_ppm = o->overhead_ppm,
        .helper_after_ns = o->host_at_once ? 0 : SAMPLER_HELPER_AFTER,
        .entity_ids = &s->entity_ids,
    };
    s->options.host = host_new(&s->machine, &options, NULL) == 0; /* if not, not: the job is what matters */
    return s->machine != NULL;
}

void machine_prepare(struct sampler *s)
{
    if (have_host(s))
        host_prepare(s->machine);
}

void machine_tick(struct sampler *s)
{
    if (s->options.host_alone) {
        memset(s->sample.job, 0, sizeof(s->sample.job));
        memset(s->sample.job_absent, BARO_ABSENT_NOT_ASKED, sizeof(s->sample.job_absent));
    }
    if (have_host(s) && host_tick(s->machine, s->now_ns, s->budget.level, s->job->closing))
        host_fill(s->machine, &s->sample);
    sampler_groups_tick(s);
}
