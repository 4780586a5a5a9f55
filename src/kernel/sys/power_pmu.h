/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PMU "power" of perf (arch/x86/events/rapl.c): energy of a package, of its memory, ... as counters of 64 bits,
 * which the kernel keeps from wrapping. An event counts for a package or die, and is opened on one CPU of each
 * (cpumask). Opening needs CAP_PERFMON, or perf_event_paranoid of at most 0.
 */
#ifndef KERNEL_SYS_POWER_PMU_H
#define KERNEL_SYS_POWER_PMU_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define POWER_PMU_CPUS 16u
#define POWER_PMU_EVENTS 6u

struct power_event {
    char name[16]; /* "pkg", "cores", "ram", "gpu", "psys" */
    uint64_t config;
    double joules; /* energy of one count */
};

struct power_pmu {
    uint32_t type;
    struct {
        uint32_t cpu, package;
        unsigned die; /* among those of its package: from 0 on */
    } place[POWER_PMU_CPUS];
    size_t n_places;
    uint32_t places_left_out;
    struct power_event event[POWER_PMU_EVENTS];
    size_t n_events;
};

/* "2.3283064365386962890625e-10", "1e-9", "0.5". Returns 0 or BARO_E_SYNTAX. */
int power_scale_parse(struct span text, double *ret);
/* "event=0x02". Returns 0 or BARO_E_SYNTAX. */
int power_event_parse(struct span text, uint64_t *ret);
/* Returns 0; -ENOENT if there is no such PMU, or if it does not know packages; or another -errno. */
int power_pmu_read(int sys_fd, struct power_pmu *ret);
/* Returns a descriptor, from which the count is read as a uint64_t; or -errno. */
int power_pmu_open(const struct power_pmu *p, size_t event, size_t place);

#endif
