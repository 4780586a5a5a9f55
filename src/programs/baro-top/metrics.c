/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/metrics.h"

#include "baro/baro.h"

static int find_metric(int kind, const char *name)
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
        .process = {.cpu = find_metric(process, "cpu"),
                    .state = find_metric(process, "state"),
                    .rss = find_metric(process, "rss"),
                    .pss = find_metric(process, "pss"),
                    .uss = find_metric(process, "uss"),
                    .threads = find_metric(process, "threads"),
                    .fds = find_metric(process, "fds"),
                    .tcp_sent = find_metric(process, "tcp_sent"),
                    .tcp_received = find_metric(process, "tcp_received"),
                    .children_faults = find_metric(process, "children_faults_minor"),
                    .cores = derived(process, "cores"),
                    .read_rate = derived(process, "io_read_bytes_per_second"),
                    .write_rate = derived(process, "io_write_bytes_per_second")},
        .job = {.cpu = find_metric(job, "cpu"),
                .io_read = find_metric(job, "io_read"),
                .io_write = find_metric(job, "io_write"),
                .processes = find_metric(job, "processes"),
                .processes_started = find_metric(job, "processes_started"),
                .pss_stale = find_metric(job, "pss_stale"),
                .tcp_sent = find_metric(job, "tcp_sent"),
                .cores = derived(job, "cores"),
                .read_rate = derived(job, "io_read_bytes_per_second"),
                .write_rate = derived(job, "io_write_bytes_per_second")},
        .host = {.pressure_cpu = find_metric(host, "pressure_cpu_some"),
                 .pressure_memory = find_metric(host, "pressure_memory_some"),
                 .pressure_io = find_metric(host, "pressure_io_some"),
                 .cpu_some = derived(host, "pressure_cpu_some_ratio"),
                 .memory_some = derived(host, "pressure_memory_some_ratio"),
                 .io_some = derived(host, "pressure_io_some_ratio")},
        .group = {.memory = find_metric(BARO_KIND_CGROUP, "memory")},
    };
}
