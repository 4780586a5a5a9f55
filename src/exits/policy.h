/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sources of events this user can have here, in order of preference, and why not the better ones.
 *
 * Who is there: the connector (all of the machine, cheapest), then perf (what was attached to, and what that forks;
 * only with few CPUs), then scanning. What the ended had used: taskstats (CPU, memory, I/O of each), then perf (CPU),
 * then nothing but wait4(2) and last looks.
 */
#ifndef EXITS_POLICY_H
#define EXITS_POLICY_H

#include <stdbool.h>

#include "exits/events.h"

#define EXITS_PERF_CPUS                                                                                                \
    16u /* an event and a ring per CPU and process: 128 of them more than double the cost of a fork */

enum exits_membership { MEMBERSHIP_CONNECTOR, MEMBERSHIP_PERF, MEMBERSHIP_SCAN };
enum exits_usage { USAGE_TASKSTATS, USAGE_PERF, USAGE_NONE };

struct exits_probe {
    bool works;
    int code;       /* 0 or -errno */
    char text[256]; /* one line: what it gives, or what is in the way and what would grant it */
};

struct exits_policy {
    enum exits_membership membership;
    enum exits_usage usage;
    struct exits_probe probes[3]; /* by enum exits_source_kind */
};

/* Opens a source and closes it again; perf on the calling process. Takes up to tens of milliseconds for the first perf
 * event of a boot. */
void exits_probe(enum exits_source_kind kind, struct exits_probe *ret);
/* Pure: what is used where these work. */
void exits_rank(struct exits_policy *policy);
/* Probes all and ranks them. */
void exits_choose(struct exits_policy *ret);

const char *exits_membership_name(enum exits_membership m); /* "connector", "perf", "scan" */
const char *exits_usage_name(enum exits_usage u);           /* "taskstats", "perf", "none" */

#endif
