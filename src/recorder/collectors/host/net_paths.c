/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which interfaces connect a machine without network hardware, a container, to the outside: their bytes are counted,
 * each once. docs/metrics.md has the rule ("net"); kernel/sys/net.c decides for a single interface what it may be.
 * Checked when the set of interfaces changes, and from time to time, as routes are set later.
 */

#include "base/fd.h"
#include "recorder/collectors/host/state.h"

#define ROUTES_MOST 16384u /* default routes come first; of many thousands the first ones suffice */

typedef bool next_fn(struct span *text, struct proc_route *ret);

static void read_routes(struct host *h, const char *path, next_fn *next)
{
    char text[ROUTES_MOST];
    struct proc_route r;
    ssize_t n = fd_read_file(h->o.proc_fd, path, text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    while (next(&rest, &r)) {
        for (size_t i = 0; i < h->nets.n; i++) {
            struct host_device *d = &h->nets.at[i];
            if (!span_equal(r.name, d->name))
                continue;
            d->route |= r.network;
            d->route_all |= r.all;
        }
    }
}

/*
 * If the iflink of two interfaces is the ifindex of the other, they are the two ends of a veth pair, and its traffic
 * stays inside. But an ifindex is unique only within its namespace: the other end of a veth may have ifindex 5 outside,
 * and an unrelated interface may have 5 here. So an interface with the default route is kept.
 */
static void leave_out_pairs(struct devices *all)
{
    for (size_t i = 0; i < all->n; i++) {
        struct host_device *d = &all->at[i];
        for (size_t k = 0; k < all->n && d->way >= SYS_NET_PORT; k++) {
            const struct host_device *o = &all->at[k];
            if (k != i && o->identity && o->identity == d->link && o->link == d->identity && !d->route_all)
                d->way = SYS_NET_NO_WAY;
        }
    }
}

static enum sys_net_way best_way(const struct devices *all, bool with_route)
{
    enum sys_net_way best = SYS_NET_NO_WAY;
    for (size_t i = 0; i < all->n; i++) {
        if (all->at[i].way > best && (all->at[i].route || !with_route))
            best = all->at[i].way;
    }
    return best;
}

/* A bridge with one port is connected through it; of several ports it is not known which one. */
static bool one_of_many_ports(const struct devices *all, enum sys_net_way best)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        n += all->at[i].way == best;
    return best == SYS_NET_PORT && n > 1;
}

void host_ways_out(struct host *h)
{
    struct devices *all = &h->nets;
    size_t ways = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct host_device *d = &all->at[i];
        d->route = d->route_all = false;
        d->link = 0;
        d->way = d->known ? sys_net_way(h->o.sys_fd, d->name, &d->link)
                          : SYS_NET_NO_WAY; /* the link of a bond's member is needed, too */
        d->way = d->may_lead ? d->way : SYS_NET_NO_WAY;
        ways += d->way != SYS_NET_NO_WAY;
    }
    h->many_ways = ways > 1;
    if (h->many_ways) {
        read_routes(h, "net/route", proc_route_next);
        read_routes(h, "net/ipv6_route", proc_route6_next);
    }
    leave_out_pairs(all);
    enum sys_net_way best = best_way(all, true);
    bool with_route = best != SYS_NET_NO_WAY;
    best = with_route ? best : best_way(all, false);
    if (best == SYS_NET_NO_WAY || one_of_many_ports(all, best))
        return;
    for (size_t i = 0; i < all->n; i++)
        all->at[i].counted |= all->at[i].way == best && (all->at[i].route || !with_route);
}
