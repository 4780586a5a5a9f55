/* SPDX-License-Identifier: Apache-2.0 */
/* One process: decides which of its files to read, and puts their values into its row. */
#ifndef RECORDER_COLLECTORS_PROCESSES_PROCESS_H
#define RECORDER_COLLECTORS_PROCESSES_PROCESS_H

#include <errno.h>

#include "recorder/collectors/processes/processes.h"

/* Reads the member's CPU clock. Returns 0, or -ESRCH if the process is no longer there. */
static inline int process_clock(const struct member *m, uint64_t *ret_ns)
{
    *ret_ns = 0;
    return clock_process_cpu_ns(m->row.key.pid, ret_ns) == -EINVAL ? -ESRCH : 0;
}

enum process_depth {
    PROCESS_STAT,    /* only stat */
    PROCESS_LEDGER,  /* only the counters of the ledger */
    PROCESS_REFRESH, /* the values that can change while the process sleeps */
    PROCESS_WHOLE    /* all wanted metrics */
};

/* Returns the time from which on the next read of the member reads all wanted values. */
uint64_t process_due_ns(const struct processes *p, const struct member *m);

/* Does the process use the address space of another member, where its memory is counted? Sets reading.memory_owner. */
bool memory_is_shared(struct processes *p, struct member *m, const struct pid_stat *st);

/* Returns the part of cpu_ns in user mode, as near as the whole ticks of stat allow. */
uint64_t process_user_of(uint64_t cpu_ns, uint64_t utime, uint64_t stime, uint64_t tick_ns);

int process_read(struct processes *p, struct member *m, uint64_t clock_ns, enum process_depth depth);
/* Takes the stat of a new member, which was read before it was known as one. */
void process_begin(struct processes *p, struct member *m, const struct pid_stat *st, uint64_t clock_ns);

/* Reads what the member took over from reaped children into reaped_io.now, if it fits the row's values. Returns false
 * if it can't be determined. */
bool process_reaped_io(struct processes *p, struct member *m);

/* What the wrapper read of a zombie: the text of its stat, its CPU clock and its I/O. 0 or empty: not known. */
struct process_zombie {
    struct span stat;
    uint64_t cpu_ns;
    struct pid_io io;
    bool io_known;        /* io is complete, up to its end */
    struct pid_io own_io; /* the part of io that the process itself used, without its children */
    bool own_io_known;
};

/* Puts a zombie's values into the row. The row's memory values stay: they were read while the process was alive. */
void process_take_zombie(struct processes *p, struct member *m, const struct process_zombie *z);

/* Sets the member's name to its comm, with secrets removed (prctl(PR_SET_NAME) takes any text). */
void process_set_name(struct member *m, const char *comm);
/* Sets rss, and raises the peak to it. */
void process_set_rss(struct member *m, uint64_t rss);

/* The process executed another program: its name and command line are requested again. */
void process_renamed(struct member *m);

#endif
