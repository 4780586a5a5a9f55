/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which event sources this user can open here, in order of preference, and why better ones can't be used.
 *
 * To know the members: the connector (the whole machine), then perf (attached processes and their descendants; only
 * with few CPUs), then scanning /proc. To know what ended processes had used: taskstats (CPU, memory, I/O of each),
 * then perf (CPU), then only wait4(2) and the last sample.
 */
#ifndef KERNEL_EVENTS_POLICY_H
#define KERNEL_EVENTS_POLICY_H

#include <stdbool.h>

#include "kernel/events/events.h"

/* With perf, each process has an event and a ring per CPU: 128 of them more than double the cost of a fork. */
#define EXITS_PERF_CPUS 16u

enum exits_membership { MEMBERSHIP_CONNECTOR, MEMBERSHIP_PERF, MEMBERSHIP_SCAN };
enum exits_usage { USAGE_TASKSTATS, USAGE_PERF, USAGE_NONE };

struct exits_probe {
    bool works;
    int code;       /* 0 or -errno */
    char text[256]; /* one line: what the source reports, or why it can't be used and what would allow it */
};

struct exits_policy {
    enum exits_membership membership;
    enum exits_usage usage;
    struct exits_probe probes[3]; /* by enum exits_source_kind */
};

/* Opens a source and closes it again; perf is attached to the calling process. The first perf event after boot may take
 * tens of milliseconds. */
void exits_probe(enum exits_source_kind kind, struct exits_probe *ret);
/*
 * What refuses perf, if perf_event_open(2) fails with this code; NULL if it fails for another reason. The tape has this
 * word, and output/text/notes.c says what would allow perf:
 *
 *   perf_event_paranoid          the kernel: above 2, those of Debian and Ubuntu refuse it without CAP_SYS_ADMIN
 *                                (CAP_PERFMON is not enough: tried with Debian's 6.1.192)
 *   seccomp                      the profile of a container's engine, which may allow it together with CAP_PERFMON
 *   seccomp despite CAP_PERFMON  a profile that does not know that capability, such as that of podman 4.3
 */
const char *exits_perf_refusal(int code);
/* Pure: chooses among the sources that work. */
void exits_rank(struct exits_policy *policy);
/* Probes all and ranks them. */
void exits_choose(struct exits_policy *ret);

const char *exits_membership_name(enum exits_membership m); /* "connector", "perf", "scan" */
const char *exits_usage_name(enum exits_usage u);           /* "taskstats", "perf", "none" */

#endif
