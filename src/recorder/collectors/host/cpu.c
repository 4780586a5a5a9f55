/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs. A CPU that is taken offline has no line in /proc/stat: its entity ends, and it gets a new one when it comes
 * back. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/sys/sysfs.h"
#include "recorder/collectors/host/state.h"

#define CPUS_MOST 65536u

static const enum host_metric host_modes[MODE_MAX] = {
    HOST_cpu_user, HOST_cpu_nice,    HOST_cpu_system, HOST_cpu_idle,  HOST_cpu_iowait,
    HOST_cpu_irq,  HOST_cpu_softirq, HOST_cpu_steal,  HOST_cpu_guest, HOST_cpu_guest_nice,
};
static const enum cpu_metric cpu_modes[MODE_MAX] = {
    CPU_user, CPU_nice, CPU_system, CPU_idle, CPU_iowait, CPU_irq, CPU_softirq, CPU_steal, CPU_guest, CPU_guest_nice,
};

/* Is any counter above 0? In a sandbox (gVisor) the file has only zeros: a machine whose CPUs were never busy nor idle
 * does not exist, so these zeros are not values. */
static bool has_counts(const struct proc_cpu *c)
{
    for (int i = 0; i < MODE_MAX; i++) {
        if (c->ticks[i])
            return true;
    }
    return false;
}

static struct baro_entity *entity_of(struct host *h, uint32_t number)
{
    char name[16];
    if (number >= CPUS_MOST)
        return NULL;
    size_t cap = h->cap_cpus;
    if (!host_grow((void **)&h->cpu, &cap, number, sizeof(struct baro_entity *)))
        return NULL;
    if (cap != h->cap_cpus && !host_grow((void **)&h->cpu_seen_tick, &h->cap_cpus, number, sizeof(*h->cpu_seen_tick)))
        return NULL;
    h->cpu_seen_tick[number] = h->ticks;
    if (!h->cpu[number]) {
        snprintf(name, sizeof(name), "cpu%u", number);
        h->cpu[number] = entity_add(&h->table[BARO_KIND_CPU], h->o.entity_ids, name, "");
        h->new_cpus = true;
    }
    return h->cpu[number];
}

static void on_cpu(void *context, const struct proc_cpu *c)
{
    struct host *h = context;
    uint64_t tick = NS_PER_SEC / (h->o.clk_tck ? h->o.clk_tck : 100);
    bool any = has_counts(c);
    if (c->number == PROC_CPU_ALL) {
        h->stat_is_empty = !any;
        for (int i = 0; i < MODE_MAX; i++) {
            if (any && (c->valid >> i & 1))
                host_put_times(h, host_modes[i], c->ticks[i], tick);
            else
                host_lack(h, host_modes[i], BARO_ABSENT_UNSUPPORTED);
        }
        return;
    }
    struct baro_entity *e = entity_of(h, c->number);
    for (int i = 0; e && i < MODE_MAX; i++) {
        if (any && (c->valid >> i & 1))
            entity_put_times(e, cpu_modes[i], c->ticks[i], tick);
        else
            entity_lack(e, cpu_modes[i], BARO_ABSENT_UNSUPPORTED);
    }
}

/* ---- what does not change: the NUMA node of a CPU ---- */

struct node {
    struct host *h;
    uint64_t number;
};

static void on_range(void *context, uint32_t first, uint32_t last)
{
    struct node *n = context;
    for (uint32_t i = first; i <= last && i < n->h->cap_cpus; i++) {
        if (n->h->cpu[i])
            entity_put(n->h->cpu[i], CPU_node, n->number);
    }
}

static bool on_node(void *context, const char *name, size_t len)
{
    struct node n = {.h = context};
    struct span rest = span_of(name, len);
    char path[96], list[4096];
    if (!span_starts(rest, "node"))
        return true;
    rest = span_of(name + 4, len - 4);
    if (!scan_u64(&rest, &n.number) || rest.len)
        return true;
    snprintf(path, sizeof(path), "devices/system/node/%.*s/cpulist", (int)len, name);
    ssize_t got = sys_text(n.h->o.sys_fd, path, list, sizeof(list));
    if (got > 0)
        sys_list_parse(span_of(list, (size_t)got), on_range, &n);
    return true;
}

static void read_nodes(struct host *h)
{
    const struct entity_table *t = &h->table[BARO_KIND_CPU];
    h->new_cpus = false;
    h->frequency_due_ns = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i]->absent[CPU_node])
            entity_lack(t->at[i], CPU_node, BARO_ABSENT_UNSUPPORTED);
        if (!h->o.helper || h->o.sys_fd < 0) {
            entity_lack(t->at[i], CPU_frequency, BARO_ABSENT_UNSUPPORTED);
            entity_lack(t->at[i], CPU_frequency_most, BARO_ABSENT_UNSUPPORTED);
        }
    }
    if (h->o.sys_fd >= 0)
        sys_each(h->o.sys_fd, "devices/system/node", on_node, h);
}

static void drop_offline(struct host *h)
{
    for (size_t i = 0; i < h->cap_cpus; i++) {
        if (h->cpu[i] && h->cpu_seen_tick[i] != h->ticks) {
            entity_remove(&h->table[BARO_KIND_CPU], h->cpu[i]);
            h->cpu[i] = NULL;
        }
    }
}

void host_cpus(struct host *h)
{
    static const struct {
        enum host_metric metric;
        enum proc_stat_field field;
    } rows[] = {{HOST_switches, PROC_STAT_SWITCHES},
                {HOST_interrupts, PROC_STAT_INTERRUPTS},
                {HOST_forks, PROC_STAT_FORKS},
                {HOST_threads_running, PROC_STAT_RUNNING},
                {HOST_threads_blocked, PROC_STAT_BLOCKED}};
    struct proc_stat st = {.valid = 0};
    struct span text;
    uint8_t why = BARO_ABSENT_UNSUPPORTED;
    for (int i = 0; i < MODE_MAX; i++)
        host_lack(h, host_modes[i], why);
    h->stat_is_empty = false;
    if (!host_file(h, HOST_FILE_STAT, &text))
        why = h->file_absent[HOST_FILE_STAT];
    else if (proc_stat_parse(text, &st, on_cpu, h) < 0)
        why = BARO_ABSENT_UNKNOWN;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if ((st.valid >> rows[i].field & 1) && (st.value[rows[i].field] || !h->stat_is_empty))
            host_put(h, rows[i].metric, st.value[rows[i].field]);
        else
            host_lack(h, rows[i].metric, why);
    }
    for (int i = 0; i < MODE_MAX && why != BARO_ABSENT_UNSUPPORTED; i++)
        host_lack(h, host_modes[i], why);
    if (st.cpus)
        host_put(h, HOST_cpus, st.cpus);
    else
        host_lack(h, HOST_cpus, why);
    drop_offline(h);
    if (h->new_cpus)
        read_nodes(h);
}

/* ---- frequencies: the helper reads them ---- */

static void mean_frequency(struct host *h, uint8_t why)
{
    const struct entity_table *t = &h->table[BARO_KIND_CPU];
    uint64_t sum = 0, n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i]->absent[CPU_frequency])
            continue;
        sum += t->at[i]->value[CPU_frequency];
        n++;
    }
    if (n)
        host_put(h, HOST_cpu_frequency, sum / n);
    else
        host_lack(h, HOST_cpu_frequency, why);
}

void host_frequencies(struct host *h, uint32_t first, const struct helper_reply *reply)
{
    struct helper_frequency f;
    const char *data = reply->data;
    size_t len = reply->host_absent ? 0 : reply->data_len;
    uint8_t why = reply->host_absent ? reply->host_absent : (uint8_t)BARO_ABSENT_UNSUPPORTED;
    for (size_t i = 0; i < HELPER_FREQUENCIES && first + i < h->cap_cpus; i++) {
        struct baro_entity *e = h->cpu[first + i];
        f = (struct helper_frequency){0, 0};
        if ((i + 1) * sizeof(f) <= len)
            memcpy(&f, data + i * sizeof(f), sizeof(f));
        if (!e)
            continue;
        h->frequency_moves |= f.most_khz || e->value[CPU_frequency] != f.now_khz * UINT64_C(1000);
        if (f.now_khz)
            entity_put(e, CPU_frequency, f.now_khz * UINT64_C(1000));
        else
            entity_lack(e, CPU_frequency, why);
        if (f.most_khz)
            entity_put(e, CPU_frequency_most, f.most_khz * UINT64_C(1000));
        else
            entity_lack(e, CPU_frequency_most, why);
    }
    mean_frequency(h, why);
}
