/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's data about a TCP socket (sock_diag(7), linux/inet_diag.h). Pure. */
#ifndef RECORDER_COLLECTORS_SOCKETS_DIAG_H
#define RECORDER_COLLECTORS_SOCKETS_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct diag_socket {
    uint64_t netns;      /* network namespace; set by who received the message */
    uint64_t cookie;     /* unique among all sockets since boot */
    uint8_t address[16]; /* its own; all 0: any */
    uint16_t port;       /* its own */
    uint8_t family;      /* AF_INET, AF_INET6; that of the socket that has accepted it */
    uint32_t inode;      /* 0: no process has it open any more */
    uint8_t state;       /* TCP_ESTABLISHED, ... */
    bool has_bytes;
    uint64_t sent, received; /* payload; retransmitted bytes count once */
};

/* Parses the payload of a message of type SOCK_DIAG_BY_FAMILY. Returns false if it is not a socket. */
bool diag_parse(struct span payload, struct diag_socket *ret);

#endif
