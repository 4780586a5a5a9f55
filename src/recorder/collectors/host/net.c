/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: counters from /proc/net/dev, properties from /sys/class/net. Properties are read when the set of
 * interfaces changes, when one gets another master, and when counters fall. */

#include "base/clock.h"
#include "kernel/sys/sysfs.h"
#include "recorder/collectors/host/state.h"

#define MASTERS_EVERY NS_PER_SEC
#define ROUTES_EVERY (10 * NS_PER_SEC)

static const struct {
    enum net_metric receive, transmit;
    enum net_field field;
} rows[] = {
    {NET_receive, NET_transmit, NET_BYTES},
    {NET_receive_packets, NET_transmit_packets, NET_PACKETS},
    {NET_receive_errors, NET_transmit_errors, NET_ERRORS},
    {NET_receive_drops, NET_transmit_drops, NET_DROPS},
};

static void totals_of(const struct proc_net *p, uint64_t ret[DEVICE_TOTALS])
{
    ret[TOTAL_READ] = p->receive[NET_BYTES];
    ret[TOTAL_WRITE] = p->transmit[NET_BYTES];
    ret[TOTAL_READS] = p->receive[NET_PACKETS];
    ret[TOTAL_WRITES] = p->transmit[NET_PACKETS];
}

/* Decides for each interface whether its bytes count in the totals. That can change while it exists: it becomes part of
 * a bond, or is the only one left. So all are checked when the set changes. */
static void check_counted(struct host *h)
{
    bool hardware = false;
    struct sys_net n;
    for (size_t i = 0; i < h->nets.n; i++) {
        struct host_device *d = &h->nets.at[i];
        d->known = h->o.sys_fd >= 0 && sys_net_read(h->o.sys_fd, d->name, &n) == 0;
        d->counted = d->known && n.own;
        d->may_lead = d->known && n.may_lead;
        d->identity = d->known ? n.index : 0;
        d->master = d->known ? sys_net_master(h->o.sys_fd, d->name) : 0;
        hardware |= d->known && n.hardware;
    }
    h->many_ways = false;
    if (!hardware)
        host_ways_out(h);
    for (size_t i = 0; i < h->nets.n; i++) {
        struct host_device *d = &h->nets.at[i];
        if (!d->entity)
            continue;
        if (d->known)
            entity_put(d->entity, NET_counted, d->counted);
        else
            entity_lack(d->entity, NET_counted, BARO_ABSENT_UNKNOWN);
    }
}

static bool replaced(const struct host *h, const struct host_device *d, const uint64_t now[DEVICE_TOTALS])
{
    struct sys_net n;
    if (!d->primed || !d->identity ||
        (now[TOTAL_READ] >= d->last[TOTAL_READ] && now[TOTAL_WRITE] >= d->last[TOTAL_WRITE]))
        return false;
    return sys_net_read(h->o.sys_fd, d->name, &n) == 0 && n.index != d->identity;
}

/* Was an interface added to a bond or removed from it? Without a check, the same bytes would count twice or not at all.
 */
static bool masters_changed(struct host *h)
{
    if (h->now_ns < h->masters_due_ns)
        return false;
    h->masters_due_ns = h->now_ns + MASTERS_EVERY;
    for (size_t i = 0; i < h->nets.n; i++) {
        const struct host_device *d = &h->nets.at[i];
        if (d->known && (d->counted || d->master) && sys_net_master(h->o.sys_fd, d->name) != d->master)
            return true;
    }
    return false;
}

/* The routes of an interface are set some time after it appears. */
static bool routes_may_have_changed(struct host *h)
{
    if (!h->many_ways || h->now_ns < h->ways_due_ns)
        return false;
    h->ways_due_ns = h->now_ns + ROUTES_EVERY;
    return true;
}

/* Returns whether the set of interfaces changed. */
static bool meet(struct host *h, const struct proc_net *p)
{
    struct entity_table *t = &h->table[BARO_KIND_NET];
    uint64_t now[DEVICE_TOTALS];
    bool added;
    struct host_device *d = devices_find(&h->nets, p->name, 0, 0, &added);
    if (!d)
        return false;
    d->seen_tick = h->ticks;
    totals_of(p, now);
    if (!added && replaced(h, d, now)) {
        entity_remove(t, d->entity);
        d->primed = false;
        added = true;
    }
    if (added)
        d->entity = entity_add(t, h->o.entity_ids, d->name, "");
    return added;
}

static void fill_interface(struct host *h, const struct proc_net *p)
{
    uint64_t now[DEVICE_TOTALS];
    bool added;
    struct host_device *d = devices_find(&h->nets, p->name, 0, 0, &added);
    if (!d || added)
        return;
    totals_of(p, now);
    h->nets.unknown |= !d->known;
    devices_count(&h->nets, d, now, h->ticks == 1);
    for (size_t i = 0; d->entity && i < sizeof(rows) / sizeof(*rows); i++) {
        entity_put(d->entity, rows[i].receive, p->receive[rows[i].field]);
        entity_put(d->entity, rows[i].transmit, p->transmit[rows[i].field]);
    }
}

void host_nets(struct host *h)
{
    static const enum host_metric totals[DEVICE_TOTALS] = {HOST_net_receive, HOST_net_transmit,
                                                           HOST_net_receive_packets, HOST_net_transmit_packets};
    struct span text, rest;
    struct proc_net p;
    uint8_t why = BARO_PRESENT;
    bool changed = false, any = false;
    if (!host_file(h, HOST_FILE_NETDEV, &text)) {
        why = h->file_absent[HOST_FILE_NETDEV];
        text = span_of("", 0);
    }
    for (rest = text; proc_net_next(&rest, &p); any = true)
        changed |= meet(h, &p);
    if (!why && !any) /* every network namespace has a loopback device: this file is hidden or made up */
        why = BARO_ABSENT_UNKNOWN;
    size_t before = h->nets.n;
    if (!why) /* a failed read does not mean that interfaces are gone */
        devices_sweep(h, &h->nets, &h->table[BARO_KIND_NET]);
    if (changed || h->nets.n != before || masters_changed(h) || routes_may_have_changed(h))
        check_counted(h);
    h->nets.unknown = false;
    for (rest = text; proc_net_next(&rest, &p);)
        fill_interface(h, &p);
    h->nets.next = 0;
    if (!why && h->nets.unknown)
        why = BARO_ABSENT_UNKNOWN;
    for (int i = 0; i < DEVICE_TOTALS; i++) {
        if (why)
            host_lack(h, totals[i], why);
        else
            host_put(h, totals[i], h->nets.total[i]);
    }
}
