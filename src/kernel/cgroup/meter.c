/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of a job that is a control group. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "kernel/cgroup/meter.h"

static int open_below(int root_fd, const struct cgroup_location *p, const char *name)
{
    char path[CGROUP_DIR_MAX + 32];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    return openat(root_fd, path, O_RDONLY | O_CLOEXEC);
}

int cgroup_meter_open(struct cgroup_meter *m, int root_fd, const struct cgroup_hierarchies *places,
                      uint64_t ns_per_tick)
{
    const struct cgroup_location *p = cgroup_location_of(places, CGROUP_AT_UNIFIED);
    *m = (struct cgroup_meter){.fd = -1, .split_fd = -1, .ns_per_tick = ns_per_tick};
    if (p && !p->root) {
        m->fd = open_below(root_fd, p, "cpu.stat");
        m->v2 = m->fd >= 0;
    }
    p = cgroup_location_of(places, CGROUP_AT_CPUACCT);
    if (m->fd < 0 && p && !p->root && !p->v2) {
        m->fd = open_below(root_fd, p, "cpuacct.usage");
        m->split_fd = open_below(root_fd, p, "cpuacct.stat");
    }
    return m->fd < 0 ? -ENOENT : 0;
}

void cgroup_meter_close(struct cgroup_meter *m)
{
    m->fd = fd_close(m->fd);
    m->split_fd = fd_close(m->split_fd);
}

/* cpuacct.usage is in nanoseconds, user and system in ticks, so the ticks are only used to divide usage. Example: usage
 * 100 ms, 6 and 3 ticks: user 66.7 ms, system 33.3 ms. */
static void split(const struct cgroup_meter *m, uint64_t usage, struct cgroup_reading *ret)
{
    struct cgroup_cpu c;
    char text[256];
    uint64_t user = usage;
    ssize_t n = m->split_fd < 0 ? -1 : fd_pread_all(m->split_fd, text, sizeof(text));
    if (n > 0 && cgroup_cpuacct_stat_parse(span_of(text, (size_t)n), m->ns_per_tick, &c) == 0) {
        double both = (double)c.value[CGCPU_USER] + (double)c.value[CGCPU_SYSTEM];
        user = both > 0 ? (uint64_t)((double)usage * ((double)c.value[CGCPU_USER] / both)) : usage;
    }
    user = user < usage ? user : usage;
    *ret = (struct cgroup_reading){user, usage - user};
}

int cgroup_meter_read(const struct cgroup_meter *m, struct cgroup_reading *ret)
{
    struct cgroup_cpu c;
    char text[2048];
    uint64_t usage;
    ssize_t n = m->fd < 0 ? -1 : fd_pread_all(m->fd, text, sizeof(text));
    if (n <= 0)
        return -ENODEV;
    if (!m->v2) {
        if (cgroup_value_parse(span_of(text, (size_t)n), &usage) < 0)
            return -ENODEV;
        split(m, usage, ret);
        return 0;
    }
    if (cgroup_cpu_stat_parse(span_of(text, (size_t)n), &c) < 0 || !(c.valid & 1u << CGCPU_USAGE))
        return -ENODEV;
    usage = c.value[CGCPU_USAGE];
    uint64_t user = c.value[CGCPU_USER] < usage ? c.value[CGCPU_USER] : usage;
    *ret = (struct cgroup_reading){user, usage - user};
    return 0;
}

void cgroup_reading_advance(struct cgroup_reading *last, const struct cgroup_reading *now)
{
    uint64_t sum = now->user_ns + now->system_ns, user = now->user_ns;
    if (sum < last->user_ns + last->system_ns)
        return;
    if (user > sum - last->system_ns)
        user = sum - last->system_ns;
    if (user < last->user_ns)
        user = last->user_ns;
    *last = (struct cgroup_reading){user, sum - user};
}
