/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/metrics.h"

#include <string.h>

#include "baro/baro.h"

static int find(int kind, const char *name)
{
    return baro_metric_find(kind, name);
}

static int derived(int kind, const char *name)
{
    return baro_derived_find(kind, name);
}

struct metrics metrics_find(void)
{
    const int process = BARO_KIND_PROCESS, job = BARO_KIND_JOB, host = BARO_KIND_HOST;
    return (struct metrics){
        .process = {.cpu = find(process, "cpu"),
                    .state = find(process, "state"),
                    .rss = find(process, "rss"),
                    .pss = find(process, "pss"),
                    .uss = find(process, "uss"),
                    .threads = find(process, "threads"),
                    .fds = find(process, "fds"),
                    .tcp_sent = find(process, "tcp_sent"),
                    .tcp_received = find(process, "tcp_received"),
                    .children_faults = find(process, "children_faults_minor"),
                    .cores = derived(process, "cores"),
                    .read_rate = derived(process, "io_read_bytes_per_second"),
                    .write_rate = derived(process, "io_write_bytes_per_second")},
        .job = {.cpu = find(job, "cpu"),
                .io_read = find(job, "io_read"),
                .io_write = find(job, "io_write"),
                .processes = find(job, "processes"),
                .processes_started = find(job, "processes_started"),
                .pss_stale = find(job, "pss_stale"),
                .tcp_sent = find(job, "tcp_sent"),
                .cores = derived(job, "cores"),
                .read_rate = derived(job, "io_read_bytes_per_second"),
                .write_rate = derived(job, "io_write_bytes_per_second")},
        .host = {.pressure_cpu = find(host, "pressure_cpu_some"),
                 .pressure_memory = find(host, "pressure_memory_some"),
                 .pressure_io = find(host, "pressure_io_some"),
                 .cpu_some = derived(host, "pressure_cpu_some_ratio"),
                 .memory_some = derived(host, "pressure_memory_some_ratio"),
                 .io_some = derived(host, "pressure_io_some_ratio")},
        .group = {.memory = find(BARO_KIND_CGROUP, "memory")},
    };
}
