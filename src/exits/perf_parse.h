/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a perf ring (include/uapi/linux/perf_event.h), as the events of perf.c make them write. Pure. */
#ifndef EXITS_PERF_PARSE_H
#define EXITS_PERF_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum perf_what { PERF_OTHER, PERF_FORKED, PERF_EXITED, PERF_NAMED, PERF_EXECUTED, PERF_USED, PERF_MISSED };

struct perf_record {
    enum perf_what what;
    uint64_t t_ns;      /* clock of the event: CLOCK_MONOTONIC; 0 where the record has none */
    int32_t pid, tid, ppid;
    uint64_t id;        /* of the event that wrote it; one that was inherited has the id of the one that was opened */
    uint64_t value;     /* used: the count, nanoseconds; missed: how many records */
    struct span comm;   /* named, executed: borrowed from the record */
};

/* The ring's clock and identity, at the end of each record that is no sample: PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
 * PERF_SAMPLE_ID. */
#define PERF_TRAILER 24u

/* Parses one whole record with its header. Returns 0, or BARO_E_SYNTAX where its length is wrong for its type. */
int perf_parse(struct span record, struct perf_record *ret);

/* A list of CPUs as in /sys/devices/system/cpu/online, "0-3,8": the numbers into ret, at most cap. Returns how many
 * there are, which may be more than cap, or BARO_E_SYNTAX. */
int cpu_list_parse(struct span text, int *ret, int cap);

#endif
