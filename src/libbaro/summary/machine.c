/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/machine.h"

#include <string.h>

#include "libbaro/sample/sample.h"

static const enum host_metric of_counter[MACHINE_COUNTERS] = {
    [MACHINE_STEAL] = HOST_cpu_steal,
    [MACHINE_IDLE] = HOST_cpu_idle,
    [MACHINE_OOM_KILLS] = HOST_oom_kills,
    [MACHINE_SWAP_IN] = HOST_swap_in,
    [MACHINE_SWAP_OUT] = HOST_swap_out,
    [MACHINE_DISK_READ] = HOST_disk_read,
    [MACHINE_DISK_WRITE] = HOST_disk_write,
    [MACHINE_NET_RECEIVE] = HOST_net_receive,
    [MACHINE_NET_TRANSMIT] = HOST_net_transmit,
    [MACHINE_CPU_SOME] = HOST_pressure_cpu_some,
    [MACHINE_MEMORY_SOME] = HOST_pressure_memory_some,
    [MACHINE_MEMORY_FULL] = HOST_pressure_memory_full,
    [MACHINE_IO_SOME] = HOST_pressure_io_some,
    [MACHINE_IO_FULL] = HOST_pressure_io_full,
};
static const enum host_metric of_gauge[MACHINE_GAUGES] = {
    [MACHINE_MEMORY_USED] = HOST_memory_used,
    [MACHINE_MEMORY_AVAILABLE] = HOST_memory_available,
    [MACHINE_SWAP_USED] = HOST_swap_used,
    [MACHINE_LOAD] = HOST_load_1m,
    [MACHINE_CPUS] = HOST_cpus,
    [MACHINE_MEMORY_TOTAL] = HOST_memory_total,
};

/* ---- one reading ---- */

int machine_all(const struct baro_sample *s, uint64_t *ret)
{
    static const enum host_metric rest[] = {HOST_cpu_idle, HOST_cpu_iowait, HOST_cpu_steal};
    int absent = derive_host_busy(s, ret);
    if (absent == BARO_PRESENT)
        absent = s->host_absent[HOST_cpu_idle];
    /* A counter that an older kernel lacks counts as 0. */
    for (size_t i = 0; i < sizeof(rest) / sizeof(*rest) && absent == BARO_PRESENT; i++)
        *ret += s->host_absent[rest[i]] == BARO_PRESENT ? s->host[rest[i]] : 0;
    return absent;
}

/* Adds up time in user mode. A counter that an older kernel lacks counts as 0. */
static uint64_t user_time(const struct baro_sample *s)
{
    static const enum host_metric parts[] = {HOST_cpu_user, HOST_cpu_nice, HOST_cpu_guest, HOST_cpu_guest_nice};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        sum += s->host_absent[parts[i]] == BARO_PRESENT ? s->host[parts[i]] : 0;
    return sum;
}

/* Is a counter a metric as it stands? */
static bool is_metric(enum machine_counter c)
{
    return c != MACHINE_BUSY && c != MACHINE_ALL && c != MACHINE_USER && c != MACHINE_JOB && c != MACHINE_SELF;
}

/* ---- over many ---- */

static void grow_counter(struct growth *g, uint64_t t_ns, int absent, uint64_t value)
{
    if (absent != BARO_PRESENT) {
        if (!g->seen)
            g->absent = (uint8_t)absent;
        return;
    }
    if (!g->seen)
        g->from_ns = t_ns;
    else if (value > g->last)
        g->grown += value - g->last;
    g->seen = true;
    g->absent = BARO_PRESENT;
    g->last = value;
    g->to_ns = t_ns;
}

static void raise_extreme(struct extreme *e, int absent, uint64_t value, bool least)
{
    if (absent != BARO_PRESENT) {
        if (!e->seen)
            e->absent = (uint8_t)absent;
        return;
    }
    if (!e->seen || (least ? value < e->value : value > e->value))
        e->value = value;
    e->seen = true;
    e->absent = BARO_PRESENT;
}

void machine_init(struct machine *m)
{
    *m = (struct machine){0};
    for (int i = 0; i < MACHINE_COUNTERS; i++)
        m->counter[i].absent = BARO_ABSENT_NOT_YET;
    for (int i = 0; i < MACHINE_GAUGES; i++)
        m->gauge[i].absent = BARO_ABSENT_NOT_YET;
}

static struct machine_group *find_machine_group(struct machine *m, uint32_t id)
{
    for (size_t i = 0; i < m->n_groups; i++) {
        if (m->group[i].id == id)
            return &m->group[i];
    }
    return NULL;
}

/* Copies the beginning; the rest becomes zeros. */
static void copy_beginning(char *to, size_t cap, const char *from)
{
    memcpy(to, from, strnlen(from, cap - 1));
}

static void copy_end(char *to, size_t cap, const char *from, size_t n)
{
    size_t left_out = n < cap ? 0 : n + 1 - cap;
    memcpy(to, from + left_out, n - left_out);
}

static struct machine_group *find_or_add_group(struct machine *m, const struct baro_entity *e)
{
    struct machine_group *g = find_machine_group(m, e->id);
    if (g || m->n_groups == MACHINE_GROUPS)
        return g;
    const char *name = e->name ? e->name : "", *slash = strrchr(name, '/');
    g = &m->group[m->n_groups++];
    *g = (struct machine_group){.id = e->id, .chain = m->chains, .length = strlen(name)};
    copy_end(g->end, sizeof(g->end), name, g->length);
    copy_beginning(g->last, sizeof(g->last), slash ? slash + 1 : name);
    copy_beginning(g->label, sizeof(g->label), e->label ? e->label : "");
    return g;
}

/* A mark that rose between two readings was reached between them, even if both readings are lower. */
static void reach_mark(struct machine_group *g, int absent, uint64_t mark)
{
    if (absent == BARO_PRESENT && g->memory_mark.seen && mark > g->memory_mark.value && !g->reading_is_due)
        raise_extreme(&g->memory, absent, mark, false);
    g->reading_is_due = false;
    raise_extreme(&g->memory_mark, absent, mark, false);
}

static void note_oom_rise(struct machine_group *g, uint64_t t_ns, int absent, uint64_t value)
{
    const struct growth *of = &g->oom_kills;
    if (absent != BARO_PRESENT || !of->seen || value <= of->last)
        return;
    if (g->n_oom_rises < MACHINE_RISES) {
        g->oom_rise[g->n_oom_rises++] = (struct growth_rise){of->to_ns, t_ns, value - of->last};
        return;
    }
    struct growth_rise *last = &g->oom_rise[MACHINE_RISES - 1];
    last->to_ns = t_ns;
    last->by += value - of->last;
}

/* Page cache is not needed: the kernel drops it when memory is short. */
static void note_needed(struct machine_group *g, const struct baro_entity *e)
{
    int absent = e->absent[CGROUP_memory_anon] ? e->absent[CGROUP_memory_anon] : e->absent[CGROUP_memory_shmem];
    uint64_t kernel = e->value[CGROUP_memory_kernel], spare = e->value[CGROUP_memory_slab_reclaimable];
    bool has_kernel = !e->absent[CGROUP_memory_kernel] && !e->absent[CGROUP_memory_slab_reclaimable] && kernel >= spare;
    uint64_t shared = e->value[CGROUP_memory_shmem], file = e->value[CGROUP_memory_file];
    uint64_t sum = e->value[CGROUP_memory_anon] + shared + (has_kernel ? kernel - spare : 0), before = g->needed.value;
    raise_extreme(&g->needed, absent, sum, false);
    if (absent == BARO_PRESENT && (sum > before || !before)) {
        g->needed_has_kernel = has_kernel;
        g->needed_shared = shared;
        g->needed_cache = !e->absent[CGROUP_memory_file] && file > shared ? file - shared : 0;
    }
}

static void add_group(struct machine *m, const struct baro_entity *e, const struct baro_sample *s)
{
    struct machine_group *g = find_or_add_group(m, e);
    uint64_t t_ns = s->host_ns;
    if (!g)
        return;
    grow_counter(&g->throttled, t_ns, e->absent[CGROUP_cpu_throttled], e->value[CGROUP_cpu_throttled]);
    note_oom_rise(g, t_ns, e->absent[CGROUP_oom_kills], e->value[CGROUP_oom_kills]);
    grow_counter(&g->oom_kills, t_ns, e->absent[CGROUP_oom_kills], e->value[CGROUP_oom_kills]);
    grow_counter(&g->fork_refusals, t_ns, e->absent[CGROUP_pids_limit_hits], e->value[CGROUP_pids_limit_hits]);
    grow_counter(&g->self_refusals, t_ns, s->self_absent[RECORDER_forks_refused], s->self[RECORDER_forks_refused]);
    grow_counter(&g->limit_hits, t_ns, e->absent[CGROUP_memory_limit_hits], e->value[CGROUP_memory_limit_hits]);
    g->counts_memory = g->counts_memory || e->absent[CGROUP_memory] == BARO_PRESENT;
    raise_extreme(&g->memory, e->absent[CGROUP_memory], e->value[CGROUP_memory], false);
    reach_mark(g, e->absent[CGROUP_memory_peak], e->value[CGROUP_memory_peak]);
    note_needed(g, e);
}

/* Notes where the job is now. If it was moved, all its groups are new. */
static void add_groups(struct machine *m, const struct baro_sample *s)
{
    const struct baro_entities *all = &s->entities[BARO_KIND_CGROUP];
    m->chains += all->n && !find_machine_group(m, all->at[0]->id) && m->n_groups < MACHINE_GROUPS;
    for (size_t i = 0; i < all->n; i++)
        add_group(m, all->at[i], s);
}

void machine_add(struct machine *m, const struct baro_sample *s)
{
    uint64_t busy, all;
    if (!s->has_host || (m->readings && s->host_ns <= m->read_ns))
        return;
    uint64_t t = m->read_ns = s->host_ns;
    m->readings++;
    int no_busy = derive_host_busy(s, &busy), no_all = machine_all(s, &all);
    grow_counter(&m->counter[MACHINE_BUSY], t, no_busy, busy);
    grow_counter(&m->counter[MACHINE_ALL], t, no_all, all);
    grow_counter(&m->counter[MACHINE_USER], t, no_all ? no_all : s->host_absent[HOST_cpu_user], user_time(s));
    /* The first reading may be of the control groups alone. */
    grow_counter(&m->counter[MACHINE_JOB], t, no_busy ? no_busy : s->job_absent[JOB_cpu], s->job[JOB_cpu]);
    grow_counter(&m->counter[MACHINE_SELF], t, no_busy ? no_busy : s->self_absent[RECORDER_cpu], s->self[RECORDER_cpu]);
    for (int i = 0; i < MACHINE_COUNTERS; i++) {
        if (is_metric((enum machine_counter)i))
            grow_counter(&m->counter[i], t, s->host_absent[of_counter[i]], s->host[of_counter[i]]);
    }
    for (int i = 0; i < MACHINE_GAUGES; i++)
        raise_extreme(&m->gauge[i], s->host_absent[of_gauge[i]], s->host[of_gauge[i]], i == MACHINE_MEMORY_AVAILABLE);
    if (no_busy == BARO_PRESENT)
        derive_peak_add(&m->cores, t, m->counter[MACHINE_BUSY].grown);
    add_groups(m, s);
}

void machine_limit_changed(struct machine *m)
{
    for (size_t i = 0; i < m->n_groups; i++) {
        struct machine_group *g = &m->group[i];
        g->memory = (struct extreme){.absent = g->memory.seen ? BARO_ABSENT_NOT_YET : g->memory.absent};
        g->limit_hits = (struct growth){.absent = g->limit_hits.seen ? BARO_ABSENT_NOT_YET : g->limit_hits.absent};
        g->needed = (struct extreme){.absent = g->needed.seen ? BARO_ABSENT_NOT_YET : g->needed.absent};
        g->outlived_limit = g->reading_is_due = true;
    }
}

int machine_share(const struct machine *m, enum machine_counter counter, double *ret)
{
    const struct growth *g = &m->counter[counter];
    *ret = 0;
    if (!g->seen)
        return g->absent;
    if (g->to_ns <= g->from_ns)
        return BARO_ABSENT_UNKNOWN; /* seen once: nothing to compare with */
    *ret = (double)g->grown / (double)(g->to_ns - g->from_ns);
    return BARO_PRESENT;
}
