/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces: that of the recorder, and those of the job's processes, where they may be entered. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "exits/netlink.h"
#include "procfs/machine.h"
#include "sockets/state.h"

#define ENDS_BUFFER (4 << 20) /* receive buffer; memory is taken as it fills */
#define ENDS_GROUPS (1u << (SKNLGRP_INET_TCP_DESTROY - 1) | 1u << (SKNLGRP_INET6_TCP_DESTROY - 1))

static void open_here(struct place *p)
{
    const char *step;
    p->ask_fd = netlink_open(NETLINK_SOCK_DIAG, 0, 0, &step);
    p->ends_fd = netlink_open(NETLINK_SOCK_DIAG, ENDS_GROUPS, ENDS_BUFFER, &step);
    p->ends_known = p->ends_fd >= 0;
}

static uint64_t namespace_of(const struct places *p, int32_t pid)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof(path), "%d/ns/net", pid);
    return fstatat(p->proc_fd, path, &st, 0) == 0 ? (uint64_t)st.st_ino : 0;
}

void places_init(struct places *p, int proc_fd)
{
    struct stat st;
    *p = (struct places){.proc_fd = proc_fd, .own_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)};
    if (p->own_fd >= 0 && fstat(p->own_fd, &st) == 0)
        p->at[0].inode = (uint64_t)st.st_ino;
    open_here(&p->at[0]);
    p->n = 1;
}

static void enter(struct places *p, struct place *place, int32_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "%d/ns/net", pid);
    int fd = openat(p->proc_fd, path, O_RDONLY | O_CLOEXEC);
    bool in = fd >= 0 && p->own_fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    place->ask_fd = place->ends_fd = -1;
    if (in)
        open_here(place);
    if (in && setns(p->own_fd, CLONE_NEWNET) < 0)
        p->own_fd = fd_close(p->own_fd); /* no other one is entered: there would be no way back */
    p->denied = p->denied || !in;
    fd_close(fd);
}

/* What its interfaces have counted is read even if it can't be entered. */
static void add(struct places *p, int32_t pid, uint64_t inode, uint32_t reading)
{
    char path[32];
    struct place *place = &p->at[p->n++];
    *place = (struct place){.inode = inode, .reading = reading};
    snprintf(path, sizeof(path), "%d/net/dev", pid);
    place->dev_fd = openat(p->proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (namespace_of(p, pid) != inode) /* it went elsewhere, or has ended */
        place->dev_fd = fd_close(place->dev_fd);
    enter(p, place, pid);
}

void places_note(struct places *p, int32_t pid, uint32_t reading)
{
    uint64_t inode = namespace_of(p, pid);
    size_t i = 0;
    if (!inode) /* it may not be seen, or the process has ended */
        return;
    while (i < p->n && p->at[i].inode != inode)
        i++;
    if (i < p->n)
        p->at[i].reading = reading;
    else if (p->n < PLACES_MOST)
        add(p, pid, inode, reading);
    else
        p->denied = true;
}

static bool read_net(const struct place *place, uint64_t ret[2])
{
    char text[16384];
    struct proc_net net;
    ssize_t n = place->dev_fd < 0 ? -1 : fd_pread_all(place->dev_fd, text, sizeof(text));
    ret[0] = ret[1] = 0;
    for (struct span rest = span_of(text, n > 0 ? (size_t)n : 0); proc_net_next(&rest, &net);) {
        if (net.name.len == 2 && !memcmp(net.name.at, "lo", 2))
            continue;
        ret[0] += net.receive[NET_BYTES];
        ret[1] += net.transmit[NET_BYTES];
    }
    return n > 0;
}

static void take_net(struct place *place, bool base)
{
    uint64_t now[2];
    if (!read_net(place, now))
        return;
    if (!place->has_base && base)
        memcpy(place->base, now, sizeof(now));
    place->has_base = true;
    memcpy(place->last, now, sizeof(now));
}

static uint64_t growth(const struct place *place, int which)
{
    return place->last[which] > place->base[which] ? place->last[which] - place->base[which] : 0;
}

static void leave(struct places *p, size_t i)
{
    struct place *place = &p->at[i];
    p->any_gone = p->any_gone || place->has_base;
    p->gone[0] += growth(place, 0);
    p->gone[1] += growth(place, 1);
    fd_close(place->ask_fd);
    fd_close(place->ends_fd);
    fd_close(place->dev_fd);
    *place = p->at[--p->n];
}

void places_net(struct places *p, uint32_t reading, bool base, struct sockets_totals *ret)
{
    bool any = false;
    uint64_t sum[2] = {0, 0};
    for (size_t i = p->n; i-- > 1;) {
        take_net(&p->at[i], base);
        if (p->at[i].reading != reading)
            leave(p, i);
    }
    for (size_t i = 1; i < p->n; i++) {
        any |= p->at[i].has_base;
        sum[0] += growth(&p->at[i], 0);
        sum[1] += growth(&p->at[i], 1);
    }
    /* Else all processes of the job are in the recorder's. */
    ret->net_absent = any || p->any_gone ? BARO_PRESENT : BARO_ABSENT_UNSUPPORTED;
    ret->net_received = p->gone[0] + sum[0];
    ret->net_sent = p->gone[1] + sum[1];
}
