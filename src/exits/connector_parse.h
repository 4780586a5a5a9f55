/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the process connector (drivers/connector/cn_proc.c). Pure. */
#ifndef EXITS_CONNECTOR_PARSE_H
#define EXITS_CONNECTOR_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum connector_what {
    CONNECTOR_ACK, /* answer to a request to listen: error and ack are valid */
    CONNECTOR_FORK,
    CONNECTOR_EXEC,
    CONNECTOR_COMM,
    CONNECTOR_EXIT,
    CONNECTOR_OTHER, /* of no interest, but it has a number in the row of its CPU */
};

struct connector_event {
    enum connector_what what;
    uint32_t cpu, seq, ack;
    uint64_t t_ns;        /* CLOCK_MONOTONIC: ktime_get_ns() */
    int32_t tid, tgid;    /* fork: of the child */
    int32_t parent_tgid;  /* fork: of the task that forked (its real parent, with CLONE_PARENT) */
    uint32_t status;      /* exit: wait status; ack: errno */
    char comm[16];        /* not NUL-terminated if all are used */
};

/* Parses one connector message, the payload of a netlink message. Returns 0, or BARO_E_SYNTAX if it is cut short or of
 * another subsystem. */
int connector_parse(struct span payload, struct connector_event *ret);

#endif
