/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses the parser of control groups' files; what follows is the text, copied to its exact size. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "kernel/cgroup/cgroup.h"
#include "kernel/proc/procfs.h"

static bool even(void *context, uint32_t major, uint32_t minor)
{
    *(uint64_t *)context += minor;
    return major % 2 == 0;
}

static void memberships(struct span text)
{
    const char *end = text.at + text.len;
    struct cgroup_membership m;
    while (cgroup_membership_next(&text, &m)) {
        if (!m.path.len || *m.path.at != '/' || m.path.at + m.path.len > end || text.at + text.len != end)
            abort();
        cgroup_listed(m.controllers, "memory");
    }
}

static void files(unsigned which, struct span text)
{
    union {
        struct cgroup_cpu cpu;
        struct cgroup_memory memory;
        struct cgroup_events events;
        struct cgroup_io io;
        struct pid_limits limits;
    } u;
    uint64_t sum = 0;
    switch (which) {
    case 0: cgroup_cpu_stat_parse(text, &u.cpu); return;
    case 1: cgroup_cpuacct_stat_parse(text, 10000000, &u.cpu); return;
    case 2:
    case 3: cgroup_memory_stat_parse(text, which == 3, &u.memory); return;
    case 4: cgroup_memory_events_parse(text, &u.events); return;
    case 5: cgroup_io_stat_parse(text, even, &sum, &u.io); return;
    case 6: cgroup_blkio_parse(text, true, even, &sum, &u.io); return;
    default: pid_limits_parse(text, &u.limits); return;
    }
}

static void single(unsigned which, struct span text)
{
    uint64_t v = 0;
    switch (which) {
    case 8:
        if (cgroup_value_parse(text, &v) == 0 && v > CGROUP_V1_NO_LIMIT && v != CGROUP_NO_LIMIT)
            abort();
        return;
    case 9: cgroup_cpus_parse(text, &v); return;
    case 10: cgroup_cpu_max_parse(text, &v); return;
    case 11: cgroup_pids_events_parse(text, &v); return;
    case 12: cgroup_cpu_cfs_parse(text, span_str("100000\n"), &v); return;
    default: memberships(text); return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in;
    if (!fuzz_input(data, size, 14, &in))
        return 0;
    if (in.which < 8)
        files(in.which, in.text);
    else
        single(in.which, in.text);
    fuzz_done(&in);
    return 0;
}
