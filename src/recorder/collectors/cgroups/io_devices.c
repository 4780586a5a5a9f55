/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/cgroups/io_devices.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/dir.h"
#include "base/fd.h"

static bool an_entry(void *any, const char *name, size_t len)
{
    *(bool *)any |= len && *name != '.';
    return !*(bool *)any;
}

static bool has_entries(int root_fd, const char *path)
{
    bool any = false;
    int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        dir_each(fd, an_entry, &any);
    fd_close(fd);
    return any;
}

/* The I/O of dm, md, loop or zram is also counted for the devices below, or reaches no device. */
static bool stands_alone(int root_fd, uint32_t major, uint32_t minor)
{
    char path[64];
    snprintf(path, sizeof(path), "sys/dev/block/%u:%u/slaves", major, minor);
    if (has_entries(root_fd, path))
        return false;
    snprintf(path, sizeof(path), "sys/dev/block/%u:%u/loop", major, minor);
    if (faccessat(root_fd, path, F_OK, 0) == 0)
        return false;
    snprintf(path, sizeof(path), "sys/dev/block/%u:%u/mm_stat", major, minor);
    return faccessat(root_fd, path, F_OK, 0) < 0;
}

static void remember(struct io_devices *g, const struct io_device *d)
{
    if (array_reserve(&g->at, g->n + 1, &g->cap, sizeof(*g->at)) < 0)
        return; /* the next read tries again */
    g->at[g->n++] = *d;
}

/* The kernel's files have the devices in the same order each time, so the first comparison mostly hits. */
bool io_devices_count(void *context, uint32_t major, uint32_t minor)
{
    struct io_devices *g = context;
    for (size_t i = 0; i < g->n; i++) {
        size_t at = g->next + i < g->n ? g->next + i : g->next + i - g->n;
        if (g->at[at].major != major || g->at[at].minor != minor)
            continue;
        g->next = at + 1;
        return g->at[at].counts;
    }
    const struct io_device d = {major, minor, stands_alone(g->root_fd, major, minor)};
    remember(g, &d);
    g->next = g->n;
    return d.counts;
}

void io_devices_done(struct io_devices *g)
{
    free(g->at);
    g->at = NULL;
    g->n = g->cap = 0;
}
