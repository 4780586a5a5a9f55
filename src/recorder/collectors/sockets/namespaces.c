/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the network namespaces that exist before the job. If the job enters one (`ip netns exec`, nsenter), what its
 * interfaces have counted so far is not the job's. A namespace has no time of creation, so the existing ones are
 * listed: those that processes are in, and those that are mounted here (ip-netns(8), containers).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "kernel/proc/machine.h"
#include "kernel/proc/procfs.h"
#include "recorder/collectors/sockets/state.h"

#ifndef SO_NETNS_COOKIE /* headers before Linux 5.14 */
#define SO_NETNS_COOKIE 71
#endif
#define MOUNTINFO_MOST (1u << 20)

bool namespaces_have(const struct namespaces *n, uint64_t inode, uint64_t cookie)
{
    for (size_t i = 0; i < n->n; i++) {
        bool both = cookie && n->at[i].cookie;
        if (both ? n->at[i].cookie == cookie : n->at[i].inode == inode)
            return true;
    }
    return false;
}

void namespaces_add(struct namespaces *n, uint64_t inode, uint64_t cookie, int32_t pid)
{
    if (!inode || namespaces_have(n, inode, cookie))
        return;
    if (array_reserve(&n->at, n->n + 1, &n->cap, sizeof(*n->at)) < 0)
        return;
    n->at[n->n].inode = inode;
    n->at[n->n].cookie = cookie;
    n->at[n->n++].pid = pid;
}

uint64_t namespace_cookie(int socket_fd)
{
    uint64_t cookie = 0;
    socklen_t len = sizeof(cookie);
    return socket_fd >= 0 && getsockopt(socket_fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0 ? cookie : 0;
}

uint64_t namespace_of(int proc_fd, int32_t pid)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof(path), "%d/ns/net", pid);
    return fstatat(proc_fd, path, &st, 0) == 0 ? (uint64_t)st.st_ino : 0;
}

struct listing {
    struct namespaces *to;
    int proc_fd;
};

static bool on_process(void *context, int32_t pid)
{
    const struct listing *l = context;
    namespaces_add(l->to, namespace_of(l->proc_fd, pid), 0, pid);
    return true;
}

/* "net:[4026532281]", of type nsfs */
static void on_mount(struct namespaces *to, const struct proc_mount *m)
{
    static const char prefix[] = "net:[";
    size_t skip = sizeof(prefix) - 1;
    uint64_t inode;
    if (m->root.len <= skip || memcmp(m->root.at, prefix, skip) != 0)
        return;
    struct span digits = span_of(m->root.at + skip, m->root.len - skip);
    if (scan_u64(&digits, &inode))
        namespaces_add(to, inode, 0, 0);
}

void namespaces_list(struct namespaces *ret, int proc_fd)
{
    char *text = malloc(MOUNTINFO_MOST);
    ssize_t n = text ? fd_read_file(proc_fd, "self/mountinfo", text, MOUNTINFO_MOST) : 0;
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    struct proc_mount m;
    *ret = (struct namespaces){0};
    proc_each_process(proc_fd, on_process, &(struct listing){ret, proc_fd});
    while (proc_mount_next(&rest, &m))
        on_mount(ret, &m);
    free(text);
}
