/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes by the name of their command. Each name is stored once, in a table of at most COMMANDS_MAX. Processes with
 * further names are counted together as COMMANDS_OTHER, so that a job whose processes all have different names cannot
 * exhaust the recorder's memory.
 */
#ifndef LIBBARO_SUMMARY_COMMANDS_H
#define LIBBARO_SUMMARY_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define COMMANDS_MAX 4096u
#define COMMANDS_OTHER "(others)"

/* The values that are kept for a command. All but the peak are sums over its processes. */
enum command_value {
    COMMAND_CPU,
    COMMAND_CPU_USER,
    COMMAND_CPU_SYSTEM,
    COMMAND_IO_READ,
    COMMAND_IO_WRITE,
    COMMAND_RSS_PEAK,
    COMMAND_TCP_SENT,
    COMMAND_TCP_RECEIVED,
    COMMAND_MAX
};

struct command {
    char *name;
    uint64_t processes; /* that had the name at any time */
    uint64_t earlier;   /* of these, the ones that had it before they executed another program */
    uint64_t value[COMMAND_MAX];
    uint64_t covered[COMMAND_MAX]; /* how many processes had the value */
    uint8_t absent[COMMAND_MAX];   /* reason of the last process that lacked the value */
    uint64_t cpu_unsure_ns;        /* the part of their CPU time that may not be theirs */
    uint64_t teardown_ns; /* estimated CPU time for freeing their memory, which taskstats and perf do not report */
    bool split_is_fitted; /* finish.c changed its split, because the parts of all commands exceeded those of the job */
    bool cpu_is_of_perf;  /* perf reported the CPU time of at least one that ended */
    bool cpu_is_short;    /* for at least one that ended, only the CPU time up to its last reading is known */
    bool io_is_short;     /* for at least one that ended, not all of its I/O is known */
    bool tcp_is_short;    /* the same for the TCP traffic */
    bool rss_is_short;    /* for at least one that ended, only the high-water mark of its last reading is known */
    uint64_t held;        /* work variable: memory in the sample that is being added */
    uint32_t holders;     /* work variable: the number of processes that hold it */
};

struct commands {
    struct command *at;
    uint32_t n;
    size_t cap;
    struct map by_name;
    bool overflowed;
};

/* Is the I/O of the command a lower bound? */
static inline bool command_io_is_bound(const struct command *c)
{
    return c->covered[COMMAND_IO_READ] && (c->io_is_short || c->covered[COMMAND_IO_READ] < c->processes);
}

/* Returns the index of the command with this name; adds it if it is new. If out of memory: 0, the index of
 * COMMANDS_OTHER. */
uint32_t commands_find(struct commands *c, const char *name);
void command_add(struct command *c, const uint64_t value[COMMAND_MAX], const uint8_t absent[COMMAND_MAX]);
int commands_init(struct commands *c);
void commands_done(struct commands *c);

#endif
