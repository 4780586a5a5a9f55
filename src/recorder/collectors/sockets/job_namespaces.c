/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces: that of the recorder, and those of the job's processes, where they may be entered. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "kernel/events/netlink.h"
#include "recorder/collectors/sockets/state.h"

#define ENDS_BUFFER (4 << 20) /* receive buffer; memory is taken as it fills */
#define ENDS_GROUPS (1u << (SKNLGRP_INET_TCP_DESTROY - 1) | 1u << (SKNLGRP_INET6_TCP_DESTROY - 1))

static void open_here(struct job_namespace *p)
{
    const char *step;
    p->ask_fd = netlink_open(NETLINK_SOCK_DIAG, 0, 0, &step);
    p->cookie = namespace_cookie(p->ask_fd);
    p->ends_fd = netlink_open(NETLINK_SOCK_DIAG, ENDS_GROUPS, ENDS_BUFFER, &step);
    p->ends_known = p->ends_fd >= 0;
}

void job_namespaces_init(struct job_namespaces *p, int proc_fd)
{
    struct stat st;
    *p = (struct job_namespaces){.proc_fd = proc_fd, .own_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)};
    if (p->own_fd >= 0 && fstat(p->own_fd, &st) == 0)
        p->at[0].inode = (uint64_t)st.st_ino;
    open_here(&p->at[0]);
    p->n = 1;
}

enum entered { ENTERED, REFUSED, GONE };

/* GONE: the process has ended, or moved. The next process in that namespace can be tried in its stead. */
static enum entered go_in(const struct job_namespaces *p, int32_t pid, uint64_t inode)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof(path), "%d/ns/net", pid);
    int fd = openat(p->proc_fd, path, O_RDONLY | O_CLOEXEC);
    bool is_it = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_ino == inode;
    bool in = is_it && p->own_fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    fd_close(fd);
    return in ? ENTERED : is_it ? REFUSED : GONE;
}

/* If this fails, no other namespace is entered: there would be no way back. */
static void go_back(struct job_namespaces *p)
{
    if (setns(p->own_fd, CLONE_NEWNET) < 0)
        p->own_fd = fd_close(p->own_fd);
}

static void enter(struct job_namespaces *p, struct job_namespace *netns, int32_t pid)
{
    enum entered found = go_in(p, pid, netns->inode);
    if (found == ENTERED) {
        open_here(netns);
        go_back(p);
    }
    netns->refused = found == REFUSED || (found == ENTERED && netns->ask_fd < 0);
    p->denied = p->denied || found != ENTERED;
}

void job_namespaces_theirs(struct job_namespaces *p, const struct namespaces *theirs)
{
    enum entered found = ENTERED;
    p->theirs = *theirs;
    for (size_t i = 0; i < theirs->n && found != REFUSED; i++) {
        found = theirs->at[i].pid ? go_in(p, theirs->at[i].pid, theirs->at[i].inode) : GONE;
        if (found != ENTERED)
            continue;
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        p->theirs.at[i].cookie = namespace_cookie(fd);
        fd_close(fd);
        go_back(p);
    }
}

/* The counts of its interfaces are read even if the namespace cannot be entered. */
static void open_dev(struct job_namespaces *p, struct job_namespace *netns, int32_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "%d/net/dev", pid);
    netns->dev_fd = openat(p->proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (namespace_of(p->proc_fd, pid) != netns->inode) /* it moved to another namespace, or has ended */
        netns->dev_fd = fd_close(netns->dev_fd);
}

static void add_namespace(struct job_namespaces *p, int32_t pid, uint64_t inode, uint32_t reading)
{
    struct job_namespace *netns = &p->at[p->n++];
    *netns = (struct job_namespace){.inode = inode, .reading = reading, .ask_fd = -1, .ends_fd = -1};
    open_dev(p, netns, pid);
    enter(p, netns, pid);
}

void job_namespaces_note(struct job_namespaces *p, int32_t pid, uint32_t reading)
{
    uint64_t inode = namespace_of(p->proc_fd, pid);
    size_t i = 0;
    if (!inode) /* it may not be seen, or the process has ended */
        return;
    while (i < p->n && p->at[i].inode != inode)
        i++;
    if (i < p->n) {
        p->at[i].reading = reading;
        if (i && p->at[i].dev_fd < 0)
            open_dev(p, &p->at[i], pid);
        if (i && p->at[i].ask_fd < 0 && !p->at[i].refused)
            enter(p, &p->at[i], pid);
    } else if (p->n < JOB_NAMESPACES_MOST) {
        add_namespace(p, pid, inode, reading);
    } else {
        p->denied = p->net_is_bound = true;
    }
}

/* ---- what their interfaces have counted ---- */

static struct left_namespace *find_left(struct job_namespaces *p, const struct job_namespace *netns)
{
    for (size_t i = 0; i < p->n_left; i++) {
        struct left_namespace *one = &p->left[i];
        if (one->inode == netns->inode && (!one->cookie || !netns->cookie || one->cookie == netns->cookie))
            return one;
    }
    return NULL;
}

/* Without a cookie, the inode may be that of another namespace by now: then what the new one counted until its first
 * reading may be missing. */
static bool resume_left(struct job_namespaces *p, struct job_namespace *netns)
{
    struct left_namespace *left = find_left(p, netns);
    if (!left)
        return false;
    p->net_is_bound = p->net_is_bound || !left->cookie || !netns->cookie;
    netns->interfaces = left->interfaces;
    memmove(left, left + 1, (size_t)(p->left + --p->n_left - left) * sizeof(*left));
    return true;
}

/* Counts up to the first reading belong to others: they may be from before the job entered, or while it was away. */
static bool begins_as_theirs(struct job_namespaces *p, struct job_namespace *netns)
{
    bool is_known = resume_left(p, netns);
    return namespaces_have(&p->theirs, netns->inode, netns->cookie) || (p->all_theirs && !is_known);
}

/* Drops an incomplete last line. */
static struct span whole_lines(const char *text, size_t n)
{
    while (n && text[n - 1] != '\n')
        n--;
    return span_of(text, n);
}

/* Returns false if they can't be read. */
static bool read_interfaces(struct job_namespaces *p, struct job_namespace *netns, bool before)
{
    char text[65536];
    ssize_t n = netns->dev_fd < 0 ? -1 : fd_pread_all(netns->dev_fd, text, sizeof(text));
    if (n <= 0)
        return false;
    bool is_theirs = !netns->counted && (begins_as_theirs(p, netns) || before);
    int code = interfaces_take(&netns->interfaces, whole_lines(text, (size_t)n), is_theirs);
    bool unknown = is_theirs && !before && interfaces_any(&netns->interfaces); /* what the job did there */
    p->net_is_bound = p->net_is_bound || code < 0 || unknown || (size_t)n == sizeof(text);
    p->net_any = netns->counted = true;
    return true;
}

/* If the job enters the namespace again, what was counted by then does not count. */
static void forget_oldest(struct job_namespaces *p)
{
    struct interfaces *t = &p->left[0].interfaces;
    p->forgotten[0] += t->total[0];
    p->forgotten[1] += t->total[1];
    namespaces_add(&p->theirs, p->left[0].inode, p->left[0].cookie, 0);
    free(t->at);
    memmove(p->left, p->left + 1, --p->n_left * sizeof(*p->left));
}

static void leave(struct job_namespaces *p, size_t i)
{
    struct job_namespace *netns = &p->at[i];
    bool has_any = interfaces_any(&netns->interfaces) || netns->interfaces.total[0] || netns->interfaces.total[1];
    if (has_any && p->n_left == LEFT_MOST)
        forget_oldest(p);
    if (has_any)
        p->left[p->n_left++] = (struct left_namespace){netns->inode, netns->cookie, netns->interfaces};
    else
        free(netns->interfaces.at);
    fd_close(netns->ask_fd);
    fd_close(netns->ends_fd);
    fd_close(netns->dev_fd);
    *netns = p->at[--p->n];
}

void job_namespaces_net(struct job_namespaces *p, uint32_t reading, bool is_theirs, struct sockets_totals *ret)
{
    bool unread = false;
    for (size_t i = p->n; i-- > 1;) {
        bool is_read = read_interfaces(p, &p->at[i], is_theirs), is_left = p->at[i].reading != reading;
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
    ret->net_absent = p->net_any ? BARO_PRESENT : BARO_ABSENT_UNSUPPORTED;
    ret->net_received = sum[0];
    ret->net_sent = sum[1];
    ret->net_is_bound = p->net_is_bound || unread;
}
