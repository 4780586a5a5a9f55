/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/metrics.h"

#include "baro/baro.h"

struct metrics metrics_find(void)
{
    const int process = BARO_KIND_PROCESS, job = BARO_KIND_JOB, host = BARO_KIND_HOST;
    return (struct metrics){
        .process = {.cpu = baro_metric_find(process, "cpu"),
                    .state = baro_metric_find(process, "state"),
                    .rss = baro_metric_find(process, "rss"),
                    .pss = baro_metric_find(process, "pss"),
                    .uss = baro_metric_find(process, "uss"),
                    .threads = baro_metric_find(process, "threads"),
                    .fds = baro_metric_find(process, "fds"),
                    .tcp_sent = baro_metric_find(process, "tcp_sent"),
                    .tcp_received = baro_metric_find(process, "tcp_received"),
                    .children_faults = baro_metric_find(process, "children_faults_minor"),
                    .cores = baro_derived_find(process, "cores"),
                    .read_rate = baro_derived_find(process, "io_read_bytes_per_second"),
                    .write_rate = baro_derived_find(process, "io_write_bytes_per_second")},
        .job = {.cpu = baro_metric_find(job, "cpu"),
                .io_read = baro_metric_find(job, "io_read"),
                .io_write = baro_metric_find(job, "io_write"),
                .processes = baro_metric_find(job, "processes"),
                .processes_started = baro_metric_find(job, "processes_started"),
                .pss_stale = baro_metric_find(job, "pss_stale"),
                .tcp_sent = baro_metric_find(job, "tcp_sent"),
                .cores = baro_derived_find(job, "cores"),
                .read_rate = baro_derived_find(job, "io_read_bytes_per_second"),
                .write_rate = baro_derived_find(job, "io_write_bytes_per_second")},
        .host = {.pressure_cpu = baro_metric_find(host, "pressure_cpu_some"),
                 .pressure_memory = baro_metric_find(host, "pressure_memory_some"),
                 .pressure_io = baro_metric_find(host, "pressure_io_some"),
                 .cpu_some = baro_derived_find(host, "pressure_cpu_some_ratio"),
                 .memory_some = baro_derived_find(host, "pressure_memory_some_ratio"),
                 .io_some = baro_derived_find(host, "pressure_io_some_ratio")},
        .group = {.memory = baro_metric_find(BARO_KIND_CGROUP, "memory")},
    };
}
