/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that is the whole machine: each process is a member, whoever started it. Members are found by a list of /proc
 * at the beginning, then by events (recorder/loop), or by the pids that were given out (births.c).
 *
 * The job's CPU time is the kernel's count in /proc/stat: all but idle, iowait and steal. What single processes are
 * known to have used is part of it, and so are interrupts; the rest is attributed to nothing.
 */
#ifndef RECORDER_COLLECTORS_MACHINE_MACHINE_H
#define RECORDER_COLLECTORS_MACHINE_MACHINE_H

#include "recorder/collectors/host/host_row.h"
#include "recorder/collectors/machine/brief.h"
#include "recorder/collectors/machine/groups.h"
#include "recorder/collectors/machine/kernel_threads.h"

struct machine {
    struct sampling *sampling;
    const struct host_row *host;
    bool is_on;
    bool counts; /* /proc/stat counts the processes that can be seen here, and no others */
    bool hides;  /* /proc is mounted with hidepid: processes of other users are not in it */
    uint64_t listed_ns;
    struct machine_cpu {
        uint64_t user_ns, system_ns;
    } base;
    struct kernel_threads kernel;
    struct machine_groups groups;
    struct brief brief;
};

void machine_init(struct machine *m, struct sampling *sampling, const struct host_row *host);
/* Makes all processes members. Returns 0 or -ENOMEM. */
int machine_begin(struct machine *m);
/* A process was forked by a thread of the kernel: is it one itself? Then it is no member. */
bool machine_takes_fork(struct machine *m, const struct member *parent, int32_t pid);

extern const struct collector machine_collector, machine_briefs_collector, machine_groups_collector;

#endif
