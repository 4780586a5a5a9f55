/* SPDX-License-Identifier: Apache-2.0 */
/* What barograph itself costs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "collect/sampler.h"

/* Memory is looked at once in this time, at first: three files opened take as long as a tick of a small job. */
#define CHECK_LEAST (10 * NS_PER_SEC)
#define CHECK_MOST (30 * NS_PER_SEC)

static uint64_t helpers_cpu(const struct sampler *s)
{
    uint64_t sum = (s->slow ? helper_cpu_ns(s->slow) : 0) + (s->machine ? host_helper_cpu_ns(s->machine) : 0);
    return sum + (s->groups_helper ? helper_cpu_ns(s->groups_helper) : 0);
}

void self_begin(struct sampler *s)
{
    clock_process_cpu_ns(0, &s->own_cpu_ns);
    s->began_cpu_ns = s->own_cpu_ns;
}

void sampler_charge(struct sampler *s, bool sampled)
{
    uint64_t own = s->own_cpu_ns, rest = s->self_cpu_ns > own ? s->self_cpu_ns - own : 0, now = s->own_cpu_ns;
    clock_process_cpu_ns(0, &now);
    uint64_t sample = sampled ? now - s->began_cpu_ns : 0, all = now - s->charged_own_ns;
    uint64_t helpers = rest > s->charged_rest_ns ? rest - s->charged_rest_ns : 0;
    s->charged_rest_ns += helpers;
    s->charged_own_ns = now;
    budget_spend(&s->budget, sampler_now(s), sample, helpers, all > sample ? all - sample : 0);
}

/* What helpers did since the last sample is this one's, whenever they did it. */
void self_end(struct sampler *s)
{
    uint64_t began = s->own_cpu_ns, helpers = helpers_cpu(s), sum, one;
    clock_process_cpu_ns(0, &s->own_cpu_ns);
    if (helpers < s->helpers_cpu_ns)
        helpers = s->helpers_cpu_ns; /* one is just being reaped */
    s->sample_cpu_ns += s->own_cpu_ns - began + helpers - s->helpers_cpu_ns;
    s->helpers_cpu_ns = helpers;
    sum = s->own_cpu_ns + helpers;
    for (size_t i = 1; i < sizeof(s->options.self) / sizeof(*s->options.self); i++) {
        if (s->options.self[i] && clock_process_cpu_ns(s->options.self[i], &one) == 0)
            sum += one;
    }
    if (sum > s->self_cpu_ns)
        s->self_cpu_ns = sum;
}

/* Are we in the group that counts the job's threads? */
static bool counted_with_job(const struct sampler *s)
{
    struct cgroup_hierarchies *own = s->options.groups ? malloc(sizeof(*own)) : NULL;
    const struct cgroup_location *ours, *theirs;
    bool same = false;
    if (own && cgroup_find(s->options.root_fd, 0, own) == 0) {
        ours = cgroup_location_of(own, CGROUP_AT_PIDS);
        theirs = cgroup_location_of(s->options.groups, CGROUP_AT_PIDS);
        same = ours && theirs && strcmp(ours->dir, theirs->dir) == 0;
    }
    free(own);
    return same;
}

uint64_t sampler_self_refused(struct sampler *s)
{
    uint64_t sum = (s->slow ? helper_refused(s->slow) : 0) + (s->machine ? host_helper_refused(s->machine) : 0);
    sum += s->groups_helper ? helper_refused(s->groups_helper) : 0;
    if (sum > s->refused && counted_with_job(s))
        s->refused_here += sum - s->refused;
    s->refused = sum;
    return s->refused_here;
}

/* Who has ended uses nothing; who can't be asked leaves the sum unknown. */
static void add_rss(struct sampler *s, int32_t pid, uint64_t *sum, uint8_t *absent)
{
    struct pid_stat st;
    ssize_t n = pid ? proc_read_record(s->options.proc_fd, pid, "stat", s->text, 2048) : -ESRCH;
    if (n > 0 && pid_stat_parse(span_of(s->text, (size_t)n), &st) == 0)
        *sum += st.rss * s->options.page_size;
    else if (pid && ((n != -ESRCH && n != -ENOENT) || pid == s->options.self[0]))
        *absent = n == -EACCES || n == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN;
}

static void check_memory(struct sampler *s)
{
    uint64_t rss = 0;
    uint8_t absent = BARO_PRESENT;
    add_rss(s, s->slow ? helper_pid(s->slow) : 0, &rss, &absent);
    add_rss(s, s->machine ? host_helper_pid(s->machine) : 0, &rss, &absent);
    add_rss(s, s->groups_helper ? helper_pid(s->groups_helper) : 0, &rss, &absent);
    for (size_t i = 0; i < sizeof(s->options.self) / sizeof(*s->options.self); i++)
        add_rss(s, s->options.self[i], &rss, &absent);
    s->self_rss = rss;
    s->self_rss_absent = absent;
    if (!absent && rss > s->self_rss_peak)
        s->self_rss_peak = rss;
    s->self_checked_ns = s->now_ns;
}

static uint64_t check_after(uint64_t elapsed_ns)
{
    uint64_t half = elapsed_ns / 2;
    return half < CHECK_LEAST ? CHECK_LEAST : half > CHECK_MOST ? CHECK_MOST : half;
}

void self_fill(struct sampler *s)
{
    uint64_t *v = s->sample.self;
    memset(s->sample.self_absent, 0, sizeof(s->sample.self_absent));
    if (!s->self_checked_ns || s->now_ns >= s->self_checked_ns + check_after(s->now_ns))
        check_memory(s);
    v[RECORDER_cpu] = s->self_cpu_ns;
    s->sample.self_absent[RECORDER_rss] = s->self_rss_absent;
    s->sample.self_absent[RECORDER_rss_peak] = s->self_rss_peak ? BARO_PRESENT : s->self_rss_absent;
    v[RECORDER_rss] = s->self_rss_absent ? 0 : s->self_rss;
    v[RECORDER_rss_peak] = s->self_rss_peak;
    v[RECORDER_samples] = s->ticks;
    v[RECORDER_process_samples] = s->process_samples;
    v[RECORDER_missed] = s->missed;
    v[RECORDER_sample_time] = s->sample_time_ns;
    v[RECORDER_sample_cpu] = s->sample_cpu_ns;
    v[RECORDER_lossy_intervals] = s->lossy;
    v[RECORDER_thinned] = s->thinned;
    v[RECORDER_left_out] = s->left_out;
    v[RECORDER_forks_refused] = s->refused_at_look;
}
