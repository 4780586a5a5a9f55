/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector "processes": finds the members of the job and reads those that have changed.
 *
 * The gate (struct gate): if the CPU clock of a process has not advanced since it was last read, the process has run no
 * instruction, so its own counters have not changed. Processes in state R are always read (the clock of another core
 * advances with the kernel's tick only), and so are those in state D (the parent of a vfork child shares its memory).
 * Values that other processes can change (reclaim, renice, the end of a process that shared memory) are read again in
 * turn, every 30 to 120 s.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_PROCESSES_H
#define RECORDER_COLLECTORS_PROCESSES_PROCESSES_H

#include "recorder/collectors/processes/fd_cache.h"
#include "recorder/collectors/processes/group_job.h"
#include "recorder/collectors/processes/pss.h"
#include "recorder/collectors/processes/scan.h"

struct processes {
    struct sampling *sampling;
    struct memory *memory; /* gets sharing_note_moved() */
    struct group_job *group;
    struct fd_cache cache;
    struct threads threads;
    struct scan scan;
    uint64_t samples; /* number of CPU clocks of members that ticks have read */
    struct {
        struct baro_key parent; /* a member, which has not reaped it so far; pid 0: none */
        uint64_t faults;        /* minor faults of the parent's reaped children before */
        uint64_t used[LEDGER_MAX];
    } starter;             /* the process that started the recorder */
    bool sharing_reported; /* the tape says that memory may count more than once */
};

extern const struct collector processes_collector;

int processes_init(struct processes *p, struct sampling *sampling, struct memory *memory, struct group_job *group);

/* A tick before the first sample: finds the descendants of the targets, and sets the base of all members to what they
 * have used so far. */
void processes_discover(struct processes *p);

/* Returns true if a member that was reported as ended still runs: the thread that ended was not its last. */
bool process_lives_on(const struct member *m, uint64_t now_ns);

#endif
