/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/cgroup/discover.h"
#include "recorder/sampling/own_cost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Memory is read after half of the elapsed time, within these limits: opening its three files takes as long as a tick
 * of a small job. */
#define CHECK_LEAST (10 * NS_PER_SEC)
#define CHECK_MOST (30 * NS_PER_SEC)

/* Reads the CPU time that one of our processes has used for us. If the wrapper was killed and another process has its
 * pid, that may be less than the wrapper had used before. */
static int read_own_cpu(const struct own_cost *o, int32_t pid, uint64_t *ret_ns)
{
    const struct clock_before *before = &o->sampling->options.before;
    uint64_t ns, less = pid == before->pid ? before->cpu_ns : 0;
    int code = clock_process_cpu_ns(pid, &ns);
    if (code == 0)
        *ret_ns = ns > less ? ns - less : 0;
    return code;
}

void own_cost_init(struct own_cost *o, struct sampling *sampling)
{
    *o = (struct own_cost){.sampling = sampling};
    if (!sampling_is_shared(sampling))
        return;
    read_own_cpu(o, o->sampling->options.self[0], &o->own_cpu_ns);
    o->shared_seen_ns = account_shared_ns(sampling->account, o->own_cpu_ns);
}

/* ---- CPU ---- */

void own_cost_begin(struct own_cost *o)
{
    read_own_cpu(o, o->sampling->options.self[0], &o->own_cpu_ns);
    o->began_cpu_ns = o->own_cpu_ns;
}

void own_cost_charge(struct own_cost *o, bool sampled)
{
    uint64_t own = o->own_cpu_ns, rest = o->cpu_ns > own ? o->cpu_ns - own : 0, now = own;
    read_own_cpu(o, o->sampling->options.self[0], &now);
    struct account *a = o->sampling->account;
    uint64_t sample = sampled ? now - o->began_cpu_ns : 0, all = now - a->charged_own_ns;
    uint64_t helpers = rest > o->charged_rest_ns ? rest - o->charged_rest_ns : 0;
    o->charged_rest_ns += helpers;
    a->charged_own_ns = now;
    budget_spend(&a->budget, sampling_account_ns(o->sampling, sampling_clock_ns(o->sampling)), sample,
                 helpers + account_take_helper(a), all > sample ? all - sample : 0);
}

/* Adds the cost of this recording's tick, and an equal share of the costs that all recordings share. */
static void add_share(struct own_cost *o, uint64_t tick_ns)
{
    struct account *a = o->sampling->account;
    a->ticks_ns += tick_ns;
    uint64_t shared = account_shared_ns(a, o->own_cpu_ns);
    o->share_ns += shared > o->shared_seen_ns ? (shared - o->shared_seen_ns) / a->recordings : 0;
    o->shared_seen_ns = shared;
}

/* Updates the CPU time. That of helpers since the last sample counts for this one. */
static void add_cpu(struct own_cost *o)
{
    const int32_t *self = o->sampling->options.self;
    const struct collectors *c = &o->sampling->collectors;
    uint64_t began = o->own_cpu_ns, helpers = 0, unbudgeted = 0, sum, one;
    for (size_t i = 0; i < c->n; i++)
        *(c->row[i].is->is_unbudgeted ? &unbudgeted : &helpers) += worker_cpu_ns(collectors_worker(c, i));
    read_own_cpu(o, o->sampling->options.self[0], &o->own_cpu_ns);
    if (helpers < o->helpers_cpu_ns)
        helpers = o->helpers_cpu_ns; /* a helper is being reaped: the sum must not fall */
    o->sample_cpu_ns += o->own_cpu_ns - began + helpers - o->helpers_cpu_ns;
    o->helpers_cpu_ns = helpers;
    sum = o->own_cpu_ns + helpers;
    for (size_t i = 1; i < sizeof(o->sampling->options.self) / sizeof(*self); i++) {
        if (self[i] && read_own_cpu(o, self[i], &one) == 0)
            sum += one;
    }
    if (sum > o->cpu_ns)
        o->cpu_ns = sum;
    if (unbudgeted > o->unbudgeted_ns)
        o->unbudgeted_ns = unbudgeted;
    if (sampling_is_shared(o->sampling))
        add_share(o, o->own_cpu_ns - began);
}

/* ---- forks that were refused ---- */

/* Is this process in the control group that counts the job's threads? */
static bool is_counted_with_job(const struct own_cost *o)
{
    const struct sampler_options *options = &o->sampling->options;
    struct cgroup_hierarchies *own = options->groups ? malloc(sizeof(*own)) : NULL;
    const struct cgroup_location *ours, *theirs;
    bool same = false;
    if (own && cgroup_find(options->root_fd, 0, own) == 0) {
        ours = cgroup_location_of(own, CGROUP_AT_PIDS);
        theirs = cgroup_location_of(options->groups, CGROUP_AT_PIDS);
        same = ours && theirs && strcmp(ours->dir, theirs->dir) == 0;
    }
    free(own);
    return same;
}

void own_cost_note_refused(struct own_cost *o)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < o->sampling->collectors.n; i++)
        sum += worker_refused(collectors_worker(&o->sampling->collectors, i));
    if (sum > o->refused && is_counted_with_job(o))
        o->refused_here += sum - o->refused;
    o->refused = sum;
    o->refused_noted = o->refused_here;
}

/* ---- memory ---- */

/* The memory of barograph's processes. They are forks of one program and share its pages, so only the largest amount of
 * file pages counts. Example: four processes have 1.2, 0.7, 0.3 and 0.1 MB of their own, and 1.9, 1.3, 1.2 and 1.6 MB
 * of files: 2.3 + 1.9 = 4.2 MB, and not 8.3. */
struct memory_sum {
    uint64_t own, files;
    uint8_t absent;
};

/* A process that has ended uses no memory; if the file of a living process can't be read, the sum is absent. */
static void add_memory(struct sampling *g, int32_t pid, struct memory_sum *sum)
{
    struct pid_status st;
    ssize_t n = pid ? proc_read(g->options.proc_fd, pid, "status", g->text, SAMPLING_TEXT) : -ESRCH;
    if (n >= 0 && pid_status_parse(span_of(g->text, (size_t)n), &st) == 0 && (st.valid & 1u << STATUS_TGID)) {
        bool split = st.valid & 1u << STATUS_RSS_ANON; /* before Linux 4.5 there is only VmRSS; a zombie has neither */
        uint64_t files = split ? st.value[STATUS_RSS_FILE] + st.value[STATUS_RSS_SHMEM] : 0;
        sum->own += split ? st.value[STATUS_RSS_ANON] : st.valid & 1u << STATUS_VM_RSS ? st.value[STATUS_VM_RSS] : 0;
        sum->files = files > sum->files ? files : sum->files;
    } else if (pid && ((n != -ESRCH && n != -ENOENT) || pid == g->options.self[0])) {
        sum->absent = n == -EACCES || n == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN;
    }
}

static void read_memory(struct own_cost *o)
{
    struct sampling *g = o->sampling;
    struct memory_sum sum = {.absent = BARO_PRESENT};
    for (size_t i = 0; i < g->collectors.n; i++)
        add_memory(g, worker_pid(collectors_worker(&g->collectors, i)), &sum);
    for (size_t i = 0; i < g->account->n_workers; i++)
        add_memory(g, worker_pid(g->account->worker[i]), &sum);
    for (size_t i = 0; i < sizeof(g->options.self) / sizeof(*g->options.self); i++)
        add_memory(g, g->options.self[i], &sum);
    o->rss = (sum.own + sum.files) / (sampling_is_shared(g) ? g->account->recordings : 1);
    o->rss_absent = sum.absent;
    if (!sum.absent && o->rss > o->rss_peak)
        o->rss_peak = o->rss;
    o->memory_read_ns = g->now_ns;
}

static uint64_t check_after(uint64_t elapsed_ns)
{
    uint64_t half = elapsed_ns / 2;
    return half < CHECK_LEAST ? CHECK_LEAST : half > CHECK_MOST ? CHECK_MOST : half;
}

void own_cost_fill(struct own_cost *o)
{
    struct sampling *g = o->sampling;
    uint64_t *v = g->sample.self;
    memset(g->sample.self_absent, 0, sizeof(g->sample.self_absent));
    if (!o->memory_read_ns || g->now_ns >= o->memory_read_ns + check_after(g->now_ns))
        read_memory(o);
    g->sample.self_absent[RECORDER_rss] = o->rss_absent;
    g->sample.self_absent[RECORDER_rss_peak] = o->rss_peak ? BARO_PRESENT : o->rss_absent;
    v[RECORDER_rss] = o->rss_absent ? 0 : o->rss;
    v[RECORDER_rss_peak] = o->rss_peak;
    v[RECORDER_cpu] = (sampling_is_shared(g) ? o->sample_cpu_ns + o->share_ns : o->cpu_ns) + o->unbudgeted_ns;
    v[RECORDER_samples] = g->ticks;
    v[RECORDER_missed] = o->missed;
    v[RECORDER_sample_time] = o->sample_time_ns;
    v[RECORDER_sample_cpu] = o->sample_cpu_ns;
    v[RECORDER_thinned] = g->thinned;
    v[RECORDER_left_out] = o->left_out;
    v[RECORDER_forks_refused] = o->refused_noted;
    v[RECORDER_others_cpu] = g->job->others.used[BASE_CPU];
    v[RECORDER_others_rss_peak] = g->job->others.rss_peak;
}

void own_cost_end(struct own_cost *o, uint64_t process_samples, uint64_t lossy)
{
    o->sample_time_ns += sampling_clock_ns(o->sampling) - o->sampling->now_ns;
    add_cpu(o);
    own_cost_fill(o);
    o->sampling->sample.self[RECORDER_process_samples] = process_samples;
    o->sampling->sample.self[RECORDER_lossy_intervals] = lossy;
}

void own_cost_missed(struct own_cost *o, uint64_t n)
{
    o->missed += n;
}

void own_cost_left_out(struct own_cost *o, uint64_t n)
{
    o->left_out += n;
}
