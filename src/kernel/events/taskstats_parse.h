/* SPDX-License-Identifier: Apache-2.0 */
/* Exit records of taskstats (kernel/taskstats.c, include/uapi/linux/taskstats.h). Pure. */
#ifndef KERNEL_EVENTS_TASKSTATS_PARSE_H
#define KERNEL_EVENTS_TASKSTATS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* What one thread used, or a group of them. Values of threads add up, except rss_peak. The kernel rounds bytes of I/O
 * down to whole KiB, per thread. */
struct taskstats_usage {
    /* cpu: from the scheduler, without the last time slice of a thread that slept at least once; user, system: sampled
     * by ticks. */
    uint64_t cpu_ns, user_ns, system_ns;
    uint64_t cpu_unsure_ns; /* the part of cpu_ns that exact_cpu() added to the kernel's count */
    uint64_t faults_minor, faults_major, run_delay_ns, delays;
    uint64_t io_read, io_write, io_rchar, io_wchar;
    uint64_t rss_peak_bytes; /* peak of the address space */
};

struct taskstats_record {
    int32_t pid;    /* pid of the thread that ended */
    int32_t tgid;   /* its group; 0: not known (before version 12, unless it was the last thread of several) */
    bool has_group; /* version 12: tgid and last are known */
    bool last;      /* the group ended with it */
    bool has_total; /* total_cpu_ns is that of the whole group */
    uint64_t total_cpu_ns;
    uint32_t version, uid, status;
    uint64_t elapsed_ns; /* that of the group if has_group, else of the thread */
    bool has_comm;       /* comm is the name of the process, which is that of its first thread */
    char comm[32];       /* name of the thread; NUL-terminated */
    struct taskstats_usage usage;
};

/* Parses the payload of one TASKSTATS_CMD_NEW message (which begins with the generic netlink header). Versions below 8
 * and truncated records are refused. Returns 0 or BARO_E_SYNTAX. */
int taskstats_parse(struct span payload, struct taskstats_record *ret);

void taskstats_add(struct taskstats_usage *sum, const struct taskstats_usage *one);

/* Parses the reply to CTRL_CMD_GETFAMILY. Returns the id of the family, or BARO_E_SYNTAX. */
int taskstats_family_parse(struct span payload);

#endif
