/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/machine/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/proc/machine.h"
#include "recorder/collectors/processes/births.h"

#define FIRST_NAMESPACE 0xeffffffcu  /* PROC_PID_INIT_INO of include/linux/proc_ns.h */
#define LIST_EVERY (30 * NS_PER_SEC) /* in case events were lost, and for threads of the kernel */

/* ---- the kernel's count ---- */

static void take_all(void *context, const struct proc_cpu *cpu)
{
    struct machine_cpu *at = context;
    const uint64_t *ticks = cpu->ticks;
    if (cpu->number != PROC_CPU_ALL)
        return;
    at->user_ns = ticks[MODE_USER] + ticks[MODE_NICE] + ticks[MODE_GUEST] + ticks[MODE_GUEST_NICE];
    at->system_ns = ticks[MODE_SYSTEM] + ticks[MODE_IRQ] + ticks[MODE_SOFTIRQ];
}

static bool read_cpu(const struct sampling *g, struct machine_cpu *ret)
{
    char text[512]; /* the line of all CPUs comes first */
    struct proc_stat st;
    struct machine_cpu now = {0};
    ssize_t n = fd_read_record(g->options.proc_fd, "stat", text, sizeof(text));
    if (n <= 0 || proc_stat_parse(span_of(text, (size_t)n), &st, take_all, &now) < 0)
        return false;
    ret->user_ns = now.user_ns * g->job->ns_per_tick;
    ret->system_ns = now.system_ns * g->job->ns_per_tick;
    return true;
}

static void count(struct machine *m)
{
    struct machine_cpu now;
    struct job_group *group = &m->sampling->job->group;
    if (!m->counts || !read_cpu(m->sampling, &now))
        return;
    group->known = group->is_new = true;
    group->user_ns = now.user_ns > m->base.user_ns ? now.user_ns - m->base.user_ns : 0;
    group->system_ns = now.system_ns > m->base.system_ns ? now.system_ns - m->base.system_ns : 0;
    group->read_ns = m->sampling->now_ns;
}

/* In a PID namespace of its own /proc has the processes of the namespace, and /proc/stat counts the whole machine. */
static bool sees_all(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_NAMESPACE;
}

/* ---- members ---- */

static bool found(void *context, int32_t pid)
{
    struct machine *m = context;
    struct sampling *g = m->sampling;
    if (tree_find(&g->job->tree, pid) || sampling_is_own(g, pid) || kernel_threads_take(&m->kernel, pid))
        return true;
    job_add(g->job, pid, NULL, BARO_ORIGIN_SCAN, g->now_ns);
    return true;
}

static void list_processes(struct machine *m)
{
    proc_each_process(m->sampling->options.proc_fd, found, m);
    m->listed_ns = m->sampling->now_ns;
}

bool machine_takes_fork(struct machine *m, const struct member *parent, int32_t pid)
{
    if (!parent || !parent->is_kernel)
        return false;
    kernel_threads_born(&m->kernel, pid);
    return true;
}

int machine_begin(struct machine *m)
{
    struct sampling *g = m->sampling;
    m->is_on = true;
    g->job->whole = true;
    kernel_threads_init(&m->kernel, g);
    list_processes(m);
    kernel_threads_read(&m->kernel);
    m->counts = sees_all() && read_cpu(g, &m->base);
    brief_init(&m->brief, g);
    return machine_groups_init(&m->groups, g);
}

void machine_init(struct machine *m, struct sampling *sampling, const struct host_row *host)
{
    *m = (struct machine){.sampling = sampling, .host = host};
}

/* ---- the rows ---- */

static bool tick_machine(void *state, const struct collector_tick *t)
{
    struct machine *m = state;
    const struct job *job = m->sampling->job;
    bool is_blind = !job->source.events && !job->source.polled;
    if (!m->is_on)
        return false;
    if (is_blind || t->now_ns >= m->listed_ns + LIST_EVERY)
        list_processes(m);
    kernel_threads_read(&m->kernel);
    machine_groups_find(&m->groups);
    count(m);
    return true;
}

static bool tick_briefs(void *state, const struct collector_tick *t)
{
    struct machine *m = state;
    if (!m->is_on)
        return false;
    brief_fill(&m->brief, t->sample);
    return true;
}

/* Groups are on the tape with the machine, and read together with it. */
static bool tick_groups(void *state, const struct collector_tick *t)
{
    struct machine *m = state;
    struct baro_sample *sample = t->sample;
    if (!m->is_on)
        return false;
    machine_groups_read(&m->groups, t->last);
    if (m->groups.is_new && sample->host_ns != t->now_ns)
        collectors_hurry(&m->sampling->collectors, &host_collector);
    else
        m->groups.is_new = false;
    sample->entities[BARO_KIND_CGROUP] = entity_view(&m->groups.table);
    return true;
}

static bool is_quiet(void *state, uint64_t now_ns)
{
    const struct machine *m = state;
    (void)now_ns;
    return !m->is_on;
}

static void close_machine(void *state)
{
    struct machine *m = state;
    if (m->is_on)
        machine_groups_done(&m->groups);
    kernel_threads_done(&m->kernel);
    brief_done(&m->brief);
    m->is_on = false;
}

const struct collector machine_collector = {
    .name = "machine",
    .kinds = COLLECTOR_KIND(BARO_KIND_JOB),
    .sources = BARO_SOURCE_CLOCK,
    .tick = tick_machine,
    .is_quiet = is_quiet,
    .close = close_machine,
};

const struct collector machine_briefs_collector = {
    .name = "briefs",
    .kinds = COLLECTOR_KIND(KIND_brief),
    .tick = tick_briefs,
};

const struct collector machine_groups_collector = {
    .name = "groups",
    .kinds = COLLECTOR_KIND(BARO_KIND_CGROUP),
    .tick = tick_groups,
};
