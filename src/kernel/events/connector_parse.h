/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the process connector (drivers/connector/cn_proc.c). Pure. */
#ifndef KERNEL_EVENTS_CONNECTOR_PARSE_H
#define KERNEL_EVENTS_CONNECTOR_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum connector_what {
    CONNECTOR_ACK, /* reply to a request to listen: status and ack are valid */
    CONNECTOR_FORK,
    CONNECTOR_EXEC,
    CONNECTOR_COMM,
    CONNECTOR_EXIT,
    CONNECTOR_OTHER, /* not used, but it counts in the sequence numbers of its CPU */
};

struct connector_event {
    enum connector_what what;
    uint32_t cpu, seq, ack;
    uint64_t t_ns;     /* CLOCK_MONOTONIC: ktime_get_ns() */
    int32_t tid, tgid; /* fork: of the child */
    /* fork: of the task that forked (with CLONE_PARENT: of the child's real parent) */
    int32_t parent_tgid;
    uint32_t status; /* exit: wait status; ack: errno */
    char comm[16];   /* not NUL-terminated if all 16 bytes are used */
};

/* Parses one connector message, the payload of a netlink message. Returns 0, or BARO_E_SYNTAX if it is truncated or of
 * another connector user. */
int connector_parse(struct span payload, struct connector_event *ret);

#endif
