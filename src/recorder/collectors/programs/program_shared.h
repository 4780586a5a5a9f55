/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder and the helper process of a collector program share. Both are one binary. */
#ifndef RECORDER_COLLECTORS_PROGRAMS_PROGRAM_SHARED_H
#define RECORDER_COLLECTORS_PROGRAMS_PROGRAM_SHARED_H

#include <stdatomic.h>

#include "recorder/collectors/programs/program.h"

/*
 * A mailbox with room for one reading: a newer one takes the place of one that was not taken, and neither side ever
 * waits. Three slots change hands: the writer fills its own and swaps it for the one in the middle, the reader swaps
 * its own for that one if it is fresh.
 */
#define MAILBOX_FRESH 4u
struct mailbox {
    _Atomic uint32_t middle; /* index of a slot, and MAILBOX_FRESH if it was not taken yet */
    struct reading slot[3];
};

struct program_shared {
    _Atomic uint32_t turn; /* odd while status is written */
    struct program_status status;
    _Atomic uint64_t children_cpu_ns; /* of commands that have ended, and of what they waited for */
    _Atomic int32_t group;            /* process group of the command, 0: none */
    struct mailbox mailbox;
};

/* The writer's slot is 0 at first, the reader's 2. Each returns the slot that is the caller's now. */
uint32_t mailbox_put(struct mailbox *m, uint32_t slot);
/* Sets *ret_fresh if there was a new one. */
uint32_t mailbox_take(struct mailbox *m, uint32_t slot, bool *ret_fresh);

struct program_child_options {
    const struct program_options *options;
    int32_t pid; /* of the job's first process; 0: none */
    struct program_shared *shared;
    int control_fd; /* whose other end the recorder has: it ends with the recorder */
    pid_t parent;
};

/* program_child.c: the helper process's whole life. */
_Noreturn void program_child(const struct program_child_options *options);

#endif
