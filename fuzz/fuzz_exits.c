/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All parsers of kernel records in src/exits: the first byte chooses the parser, the rest is its input.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/events/connector_parse.h"
#include "kernel/events/thread_groups.h"
#include "kernel/events/netlink.h"
#include "kernel/events/perf_parse.h"
#include "kernel/events/taskstats_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_datagram(struct span datagram)
{
    struct netlink_message m;
    while (netlink_next(&datagram, &m)) {
        struct connector_event e;
        struct taskstats_record r;
        connector_parse(m.payload, &e);
        taskstats_parse(m.payload, &r);
        taskstats_family_parse(m.payload);
    }
}

/* Records as in a ring: each header has the distance to the next one. */
static void fuzz_ring(struct span s)
{
    while (s.len >= 8) {
        struct perf_record r;
        uint16_t size;
        memcpy(&size, s.at + 6, sizeof(size));
        if (size < 8 || size > s.len)
            break;
        if (perf_parse(span_of(s.at, size), &r) == 0 && r.comm.len && r.comm.at + r.comm.len > s.at + size)
            abort();
        s = span_of(s.at + size, s.len - size);
    }
    struct perf_record r;
    perf_parse(s, &r);
}

/* Two bytes are an operation: the counts may be wrong, the table must stay consistent. */
static void fuzz_groups(struct span s)
{
    struct groups g = {0};
    for (size_t i = 0; i + 1 < s.len; i += 2) {
        int32_t tgid = 1 + (uint8_t)s.at[i];
        bool known;
        uint32_t status;
        switch ((uint8_t)s.at[i + 1] % 5) {
        case 0: groups_process(&g, tgid); break;
        case 1:
        case 2: groups_thread(&g, tgid); break;
        default: groups_end(&g, tgid, s.at[i + 1] & 1, 0, &known, &status);
        }
        if (g.n > 256)
            abort();
    }
    groups_done(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int cpus[16];
    if (size == 0)
        return 0;
    struct span rest = span_of(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0: fuzz_datagram(rest); break;
    case 1: fuzz_ring(rest); break;
    case 2: fuzz_groups(rest); break;
    default: cpu_list_parse(rest, cpus, 16);
    }
    return 0;
}
