/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses the parser of a file about the machine; the rest is the text, copied to its exact size so that
 * a read beyond it is found. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "kernel/proc/machine.h"
#include "kernel/sys/sysfs.h"

static void on_cpu(void *context, const struct proc_cpu *cpu)
{
    (void)context;
    for (int i = 0; i < MODE_MAX; i++) {
        if (!(cpu->valid >> i & 1) && cpu->ticks[i])
            abort();
    }
}

static void on_clock(void *context, uint32_t cpu, uint64_t hertz)
{
    (void)context;
    if (cpu == PROC_CPU_ALL || !hertz)
        abort();
}

static void on_range(void *context, uint32_t first, uint32_t last)
{
    (void)context;
    if (first > last)
        abort();
}

/* Each takes at least a byte, else it would never end. */
static void lists(unsigned which, struct span text)
{
    struct proc_disk disk;
    struct proc_net net;
    struct proc_mount mount;
    struct proc_route route;
    char point[64];
    for (size_t before = text.len + 1;;) {
        bool more = which == 0   ? proc_disk_next(&text, &disk)
                    : which == 1 ? proc_net_next(&text, &net)
                    : which == 2 ? proc_mount_next(&text, &mount)
                    : which == 3 ? proc_route_next(&text, &route)
                                 : proc_route6_next(&text, &route);
        if (!more)
            return;
        if (text.len >= before)
            abort();
        before = text.len;
        if (which == 2 && proc_mount_unescape(mount.point, point, sizeof(point)) >= (int)sizeof(point))
            abort();
    }
}

static void parse(unsigned which, struct span text)
{
    union {
        struct proc_stat stat;
        struct proc_loadavg load;
        struct proc_meminfo mem;
        struct proc_vmstat vm;
        struct proc_pressure pressure;
        struct proc_cpuinfo cpu;
        struct kmsg_record record;
        uint64_t number;
    } u;
    switch (which) {
    case 0: proc_stat_parse(text, &u.stat, on_cpu, NULL); return;
    case 1: proc_loadavg_parse(text, &u.load); return;
    case 2: proc_uptime_parse(text, &u.number); return;
    case 3: proc_meminfo_parse(text, &u.mem); return;
    case 4: proc_vmstat_parse(text, &u.vm); return;
    case 5: proc_pressure_parse(text, &u.pressure); return;
    case 6: proc_cpuinfo_parse(text, &u.cpu, on_clock, NULL); return;
    case 7: sys_list_parse(text, on_range, NULL); return;
    case 13: kmsg_parse(text, &u.record); return;
    default: lists(which - 8, text); return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in;
    if (!fuzz_input(data, size, 14, &in))
        return 0;
    parse(in.which, in.text);
    fuzz_done(&in);
    return 0;
}
