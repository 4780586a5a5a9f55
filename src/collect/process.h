/* SPDX-License-Identifier: Apache-2.0 */
/* One process: which of its files are worth reading now, and their values put into its row. */
#ifndef COLLECT_PROCESS_H
#define COLLECT_PROCESS_H

#include <errno.h>

#include "collect/processes.h"

/* Reads the CPU clock of the member. Returns 0, or -ESRCH if it is no longer there. */
static inline int process_clock(const struct member *m, uint64_t *ret_ns)
{
    *ret_ns = 0;
    return clock_process_cpu_ns(m->row.key.pid, ret_ns) == -EINVAL ? -ESRCH : 0;
}

enum process_depth {
    PROCESS_STAT,    /* stat alone */
    PROCESS_LEDGER,  /* what the ledger adds up */
    PROCESS_REFRESH, /* what can change without the process running */
    PROCESS_WHOLE    /* everything that is wanted */
};

int process_read(struct processes *p, struct member *m, uint64_t clock_ns, enum process_depth depth);

/* What it took over from children that it had reaped, as of the row, into reaped_io.now. Returns false if that can't be
 * known. */
bool process_reaped_io(struct processes *p, struct member *m);

/* Of a zombie, read by the wrapper: the raw text of its stat file, its CPU clock, and what it had read and written, as
 * far as that is known. 0 and empty: not known. */
struct process_zombie {
    struct span stat;
    uint64_t cpu_ns;
    struct pid_io io;
    bool io_known;        /* all of it, to the end */
    struct pid_io own_io; /* of that, what it did itself */
    bool own_io_known;
};

/* Puts it into the row. The memory that the row has stays: it was read while the process was alive. */
void process_take_zombie(struct processes *p, struct member *m, const struct process_zombie *z);

/* The name that the kernel has for it, with secrets removed (prctl(PR_SET_NAME) takes any text). */
void process_set_name(struct member *m, const char *comm);

/* It executed another program: its name and command line are asked for again. */
void process_renamed(struct member *m);

#endif
