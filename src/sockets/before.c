/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network namespaces that there are already: what their interfaces have counted is not the job's, if it enters one
 * (`ip netns exec`, nsenter). A namespace has no time of its own, so they are listed: those that processes are in, and
 * those that are mounted (ip-netns(8), containers).
 */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "procfs/machine.h"
#include "procfs/procfs.h"
#include "sockets/state.h"

#define MOUNTINFO_MOST (1u << 20)

bool places_is_before(const struct places *p, uint64_t inode)
{
    for (size_t i = 0; i < p->n_before; i++) {
        if (p->before[i] == inode)
            return true;
    }
    return false;
}

static void add(struct places *p, uint64_t inode)
{
    if (!inode || places_is_before(p, inode))
        return;
    if ((p->n_before & (p->n_before - 1)) == 0) { /* as many as there is room for: 0, 1, 2, 4, 8 ... */
        uint64_t *at = realloc(p->before, (p->n_before ? 2 * p->n_before : 1) * sizeof(*at));
        if (!at)
            return;
        p->before = at;
    }
    p->before[p->n_before++] = inode;
}

static bool on_process(void *context, int32_t pid)
{
    struct places *p = context;
    add(p, places_inode(p, pid));
    return true;
}

/* "net:[4026532281]", of type nsfs */
static void on_mount(struct places *p, const struct proc_mount *m)
{
    static const char prefix[] = "net:[";
    size_t skip = sizeof(prefix) - 1;
    uint64_t inode;
    if (m->root.len <= skip || memcmp(m->root.at, prefix, skip))
        return;
    struct span digits = span_of(m->root.at + skip, m->root.len - skip);
    if (scan_u64(&digits, &inode))
        add(p, inode);
}

void places_list_before(struct places *p)
{
    char *text = malloc(MOUNTINFO_MOST);
    ssize_t n = text ? fd_read_file(p->proc_fd, "self/mountinfo", text, MOUNTINFO_MOST) : 0;
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    struct proc_mount m;
    while (proc_mount_next(&rest, &m))
        on_mount(p, &m);
    free(text);
    proc_each_process(p->proc_fd, on_process, p);
}
