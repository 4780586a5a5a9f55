/* SPDX-License-Identifier: Apache-2.0 */
/* Exit records of taskstats (kernel/taskstats.c, include/uapi/linux/taskstats.h). Pure. */
#ifndef EXITS_TASKSTATS_PARSE_H
#define EXITS_TASKSTATS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* What one thread used, or a group of them: all but rss_peak add up. Bytes of I/O are cut to whole KiB by the kernel,
 * per thread. */
struct taskstats_usage {
    uint64_t cpu_ns, user_ns,
        system_ns; /* cpu: scheduler's, without the last slice of a thread that ever slept; user, system: by ticks */
    uint64_t faults_minor, faults_major, run_delay_ns, delays;
    uint64_t io_read, io_write, io_rchar, io_wchar;
    uint64_t rss_peak_bytes; /* of the address space */
};

struct taskstats_record {
    int32_t pid;      /* of the thread that ended */
    int32_t tgid;     /* of its group; 0: not told (before version 12, and not the last thread of several) */
    bool has_group;  /* version 12: tgid and last are told */
    bool last;        /* the group ended with it */
    bool has_total;   /* total_cpu_ns is the whole group's */
    uint64_t total_cpu_ns;
    uint32_t version, uid, status;
    uint64_t elapsed_ns; /* of the group where has_group, else of the thread */
    bool has_comm; /* comm is the name of the process: of its first thread; other threads have names of their own */
    char comm[32];       /* of the thread; NUL-terminated */
    struct taskstats_usage usage;
};

/* Parses the payload of one TASKSTATS_CMD_NEW message (generic netlink header first). Versions below 8 and records cut
 * short are refused. Returns 0 or BARO_E_SYNTAX. */
int taskstats_parse(struct span payload, struct taskstats_record *ret);

void taskstats_add(struct taskstats_usage *sum, const struct taskstats_usage *one);

/* Finds the id of the family in the answer to CTRL_CMD_GETFAMILY. Returns it, or BARO_E_SYNTAX. */
int taskstats_family_parse(struct span payload);

#endif
