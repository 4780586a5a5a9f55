/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which interfaces lead out of a machine that has no hardware: a container, whose bytes are to be counted once as well.
 * docs/metrics.md tells the rule
 * ("net"); sysfs/net.c says of each interface by itself what it may be. Asked when the set of interfaces changes, and
 * now and then, for routes come later.
 */
#include <string.h>

#include "base/fd.h"
#include "host/state.h"

#define ROUTES_MOST 16384u /* default routes stand first; of many thousands the first will do */

typedef bool next_fn(struct span *text, struct proc_route *ret);

static void read_routes(struct host *h, const char *path, next_fn *next)
{
    char text[ROUTES_MOST];
    struct proc_route r;
    ssize_t n = fd_read_file(h->o.proc_fd, path, text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    while (next(&rest, &r)) {
        for (size_t i = 0; i < h->nets.n; i++) {
            struct device *d = &h->nets.at[i];
            if (!span_equal(r.name, d->name))
                continue;
            d->route |= r.network;
            d->route_all |= r.all;
        }
    }
}

/*
 * Two that name each other are the two ends of a pair, and what goes through goes nowhere. But numbers are each
 * namespace's own: a veth whose other end has the number 5 outside may meet another here that has it, whose other end
 * has its number elsewhere. The way out is then the one that the default route takes.
 */
static void leave_out_pairs(struct devices *all)
{
    for (size_t i = 0; i < all->n; i++) {
        struct device *d = &all->at[i];
        for (size_t k = 0; k < all->n && d->way >= SYS_NET_PORT; k++) {
            const struct device *o = &all->at[k];
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

/* Ports of a bridge: one is how the bridge leads out, of several nobody can tell which. */
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
        struct device *d = &all->at[i];
        d->route = d->route_all = false;
        d->link = 0;
        d->way = d->known ? sys_net_way(h->o.sys_fd, d->name, &d->link)
                          : SYS_NET_NO_WAY; /* of a bond's member the link is of use */
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
