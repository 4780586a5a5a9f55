/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a perf ring (include/uapi/linux/perf_event.h), in the layout that the events of perf.c ask for. Pure. */
#ifndef KERNEL_EVENTS_PERF_PARSE_H
#define KERNEL_EVENTS_PERF_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum perf_what { PERF_OTHER, PERF_FORKED, PERF_EXITED, PERF_NAMED, PERF_EXECUTED, PERF_USED, PERF_MISSED };

struct perf_record {
    enum perf_what what;
    uint64_t t_ns; /* CLOCK_MONOTONIC; 0 if the record has no time */
    int32_t pid, tid, ppid;
    uint64_t id;      /* id of the perf event that wrote it; an inherited event has that of the opened one */
    uint64_t value;   /* PERF_USED: the counter in nanoseconds; PERF_MISSED: number of records */
    struct span comm; /* PERF_NAMED, PERF_EXECUTED: points into the record */
};

/* Each record other than a sample ends with ids and time: PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID. */
#define PERF_TRAILER 24u

/* Parses one whole record with its header. Returns 0, or BARO_E_SYNTAX if its length is wrong for its type. */
int perf_parse(struct span record, struct perf_record *ret);

/* Parses a list of CPUs as in /sys/devices/system/cpu/online ("0-3,8") and stores at most cap numbers in ret. Returns
 * how many there are, which may be more than cap, or BARO_E_SYNTAX. */
int cpu_list_parse(struct span text, int *ret, int cap);

#endif
