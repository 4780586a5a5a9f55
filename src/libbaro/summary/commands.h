/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes by the name of their command. Names are kept once, in a table of at most COMMANDS_MAX; the processes of
 * further ones count together under COMMANDS_OTHER, so that a job in which each process calls itself differently can't
 * eat the recorder's memory.
 */
#ifndef LIBBARO_SUMMARY_COMMANDS_H
#define LIBBARO_SUMMARY_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define COMMANDS_MAX 4096u
#define COMMANDS_OTHER "(others)"

/* What is kept of a process by name. All but the peak add up. */
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
    uint64_t processes;
    uint64_t value[COMMAND_MAX];
    uint64_t covered[COMMAND_MAX]; /* processes that had it */
    uint8_t absent[COMMAND_MAX];   /* reason of the last process that lacked the value */
    uint64_t cpu_unsure_ns;        /* the part of their CPU time that may be too much */
    uint64_t teardown_ns;          /* of those that ended, what freeing their memory takes, which taskstats lacks */
    bool split_is_fitted;          /* finish.c: a part of their CPU time was more than the job's */
    bool cpu_is_of_perf;           /* of one that ended perf reported it */
    bool cpu_is_short;             /* of one that ended only the CPU time up to its last reading is known */
    bool io_is_short;              /* of one that ended it is not known all that it had read and written */
    bool tcp_is_short;             /* the same of the traffic of its sockets */
    bool rss_is_short;             /* of one that ended only the high-water mark of its last reading is known */
    uint64_t held;                 /* scratch: memory at this moment */
    uint32_t holders;              /* scratch: of how many processes */
};

struct commands {
    struct command *at;
    uint32_t n;
    size_t cap;
    struct map by_name;
    bool overflowed;
};

/* Is what they read and wrote a lower bound? */
static inline bool command_io_is_bound(const struct command *c)
{
    return c->covered[COMMAND_IO_READ] && (c->io_is_short || c->covered[COMMAND_IO_READ] < c->processes);
}

/* Index of the command with this name, which is added if need be. Without memory: that of COMMANDS_OTHER, which is 0.
 */
uint32_t commands_find(struct commands *c, const char *name);
void command_add(struct command *c, const uint64_t value[COMMAND_MAX], const uint8_t absent[COMMAND_MAX]);
int commands_init(struct commands *c);
void commands_done(struct commands *c);

#endif
