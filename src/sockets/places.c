/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces: that of the recorder, and those of the job's processes, where they may be entered. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "exits/netlink.h"
#include "sockets/state.h"

#ifndef SO_NETNS_COOKIE /* headers before Linux 5.14 */
#define SO_NETNS_COOKIE 71
#endif

#define ENDS_BUFFER (4 << 20) /* receive buffer; memory is taken as it fills */
#define ENDS_GROUPS (1u << (SKNLGRP_INET_TCP_DESTROY - 1) | 1u << (SKNLGRP_INET6_TCP_DESTROY - 1))

static void open_here(struct place *p)
{
    const char *step;
    socklen_t len = sizeof(p->cookie);
    p->ask_fd = netlink_open(NETLINK_SOCK_DIAG, 0, 0, &step);
    if (p->ask_fd < 0 || getsockopt(p->ask_fd, SOL_SOCKET, SO_NETNS_COOKIE, &p->cookie, &len) < 0)
        p->cookie = 0;
    p->ends_fd = netlink_open(NETLINK_SOCK_DIAG, ENDS_GROUPS, ENDS_BUFFER, &step);
    p->ends_known = p->ends_fd >= 0;
}

uint64_t places_inode(const struct places *p, int32_t pid)
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
    places_list_before(p);
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
static void open_dev(struct places *p, struct place *place, int32_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "%d/net/dev", pid);
    place->dev_fd = openat(p->proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (places_inode(p, pid) != place->inode) /* it went elsewhere, or has ended */
        place->dev_fd = fd_close(place->dev_fd);
}

static void add(struct places *p, int32_t pid, uint64_t inode, uint32_t reading)
{
    struct place *place = &p->at[p->n++];
    *place = (struct place){.inode = inode, .reading = reading};
    open_dev(p, place, pid);
    enter(p, place, pid);
}

void places_note(struct places *p, int32_t pid, uint32_t reading)
{
    uint64_t inode = places_inode(p, pid);
    size_t i = 0;
    if (!inode) /* it may not be seen, or the process has ended */
        return;
    while (i < p->n && p->at[i].inode != inode)
        i++;
    if (i < p->n) {
        p->at[i].reading = reading;
        if (i && p->at[i].dev_fd < 0)
            open_dev(p, &p->at[i], pid);
    } else if (p->n < PLACES_MOST) {
        add(p, pid, inode, reading);
    } else {
        p->denied = p->net_is_bound = true;
    }
}

/* ---- what their interfaces have counted ---- */

static struct left_place *find_left(struct places *p, const struct place *place)
{
    for (size_t i = 0; i < p->n_left; i++) {
        struct left_place *one = &p->left[i];
        if (one->inode == place->inode && (!one->cookie || !place->cookie || one->cookie == place->cookie))
            return one;
    }
    return NULL;
}

/* Returns whether what a namespace has counted so far was before. Without its cookie, one that processes of the job
 * were in before may be another one: what that had counted until the first reading may be missing. */
static bool begin(struct places *p, struct place *place, bool base)
{
    struct left_place *left = find_left(p, place);
    if (left) {
        p->net_is_bound = p->net_is_bound || !left->cookie || !place->cookie;
        place->interfaces = left->interfaces;
        *left = p->left[--p->n_left];
        return false;
    }
    return base || p->forgot || places_is_before(p, place->inode);
}

/* Returns false if they can't be read. */
static bool take_net(struct places *p, struct place *place, bool base)
{
    char text[65536];
    ssize_t n = place->dev_fd < 0 ? -1 : fd_pread_all(place->dev_fd, text, sizeof(text));
    if (n <= 0)
        return false;
    bool before = !place->counted && begin(p, place, base);
    int code = interfaces_take(&place->interfaces, span_of(text, (size_t)n), before);
    bool unknown = before && !base && interfaces_any(&place->interfaces); /* what the job did there since it came */
    p->net_is_bound = p->net_is_bound || code < 0 || unknown || (size_t)n == sizeof(text);
    p->net_any = place->counted = true;
    return true;
}

static void forget_left(struct places *p)
{
    struct interfaces *t = &p->left[0].interfaces;
    p->forgotten[0] += t->total[0];
    p->forgotten[1] += t->total[1];
    free(t->at);
    p->left[0] = p->left[--p->n_left];
    p->forgot = true;
}

static void leave(struct places *p, size_t i)
{
    struct place *place = &p->at[i];
    if (place->counted && p->n_left == LEFT_MOST)
        forget_left(p);
    if (place->counted)
        p->left[p->n_left++] = (struct left_place){place->inode, place->cookie, place->interfaces};
    fd_close(place->ask_fd);
    fd_close(place->ends_fd);
    fd_close(place->dev_fd);
    *place = p->at[--p->n];
}

void places_net(struct places *p, uint32_t reading, bool base, struct sockets_totals *ret)
{
    bool unread = false;
    for (size_t i = p->n; i-- > 1;) {
        bool is_read = take_net(p, &p->at[i], base), is_left = p->at[i].reading != reading;
        unread = unread || !is_read;
        p->net_is_bound = p->net_is_bound || (is_left && !is_read); /* and never will be */
        if (is_left)
            leave(p, i);
    }
    uint64_t sum[2] = {p->forgotten[0], p->forgotten[1]};
    for (int k = 0; k < 2; k++) {
        for (size_t i = 1; i < p->n; i++)
            sum[k] += p->at[i].interfaces.total[k];
        for (size_t i = 0; i < p->n_left; i++)
            sum[k] += p->left[i].interfaces.total[k];
    }
    /* Else all processes of the job are in the recorder's. */
    ret->net_absent = p->net_any ? BARO_PRESENT : BARO_ABSENT_UNSUPPORTED;
    ret->net_received = sum[0];
    ret->net_sent = sum[1];
    ret->net_is_bound = p->net_is_bound || unread;
}
