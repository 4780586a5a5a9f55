/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifiers of metrics, made from the registry. Code refers to a metric by these alone; its public name stands in
 * the .def file and nowhere else.
 */
#ifndef METRIC_IDS_H
#define METRIC_IDS_H

#include "baro/metric.h"

enum process_metric {
#define METRIC(stem, unit, semantics, source, help) PROCESS_##stem,
#include "metric/process.def"
#undef METRIC
    PROCESS_MAX
};

enum job_metric {
#define METRIC(stem, unit, semantics, source, help) JOB_##stem,
#include "metric/job.def"
#undef METRIC
    JOB_MAX
};

enum exit_metric {
#define METRIC(stem, unit, semantics, source, help) EXIT_##stem,
#include "metric/exit.def"
#undef METRIC
    EXIT_MAX
};

enum recorder_metric {
#define METRIC(stem, unit, semantics, source, help) RECORDER_##stem,
#include "metric/recorder.def"
#undef METRIC
    RECORDER_MAX
};

enum host_metric {
#define METRIC(stem, unit, semantics, source, help) HOST_##stem,
#include "metric/host.def"
#undef METRIC
    HOST_MAX
};

enum cpu_metric {
#define METRIC(stem, unit, semantics, source, help) CPU_##stem,
#include "metric/cpu.def"
#undef METRIC
    CPU_MAX
};

enum disk_metric {
#define METRIC(stem, unit, semantics, source, help) DISK_##stem,
#include "metric/disk.def"
#undef METRIC
    DISK_MAX
};

enum fs_metric {
#define METRIC(stem, unit, semantics, source, help) FS_##stem,
#include "metric/fs.def"
#undef METRIC
    FS_MAX
};

enum net_metric {
#define METRIC(stem, unit, semantics, source, help) NET_##stem,
#include "metric/net.def"
#undef METRIC
    NET_MAX
};

enum sensor_metric {
#define METRIC(stem, unit, semantics, source, help) SENSOR_##stem,
#include "metric/sensor.def"
#undef METRIC
    SENSOR_MAX
};

enum cgroup_metric {
#define METRIC(stem, unit, semantics, source, help) CGROUP_##stem,
#include "metric/cgroup.def"
#undef METRIC
    CGROUP_MAX
};

/* Masks of these metrics are one word. */
_Static_assert(PROCESS_MAX <= 64 && JOB_MAX <= 64 && EXIT_MAX <= 64 && RECORDER_MAX <= 64, "a mask is 64 bits");

/** The union of enum baro_source bits that the process metrics in @p wanted (bit = enum process_metric) need. */
unsigned metric_need(uint64_t wanted);

/**
 * Parses a list such as "cpu,rss,pss" or "all" or "default,-pss" into a mask of process metrics. Names and stems both
 * do; a leading '-' takes away; a list that starts with '-' starts from "default" (which is "all").
 * @return 0, or BARO_E_SYNTAX with the unknown word in @p err.
 */
int metric_parse_list(const char *text, uint64_t *ret_wanted, struct baro_error *err);

#endif
