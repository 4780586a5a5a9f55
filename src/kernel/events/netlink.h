/* SPDX-License-Identifier: Apache-2.0 */
/* Raw netlink sockets: opening one with a large buffer, and walking the messages of a datagram. */
#ifndef KERNEL_EVENTS_NETLINK_H
#define KERNEL_EVENTS_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/span.h"

/* Opens a non-blocking socket that is bound to the groups. buffer: the receive buffer in bytes, beyond
 * net.core.rmem_max if the process is allowed to, else up to it; 0: the default. It is set before the socket is
 * bound: if a message does not fit, the kernel sends nothing more, not even the reply to a request, until all queued
 * messages have been read. Returns a descriptor or -errno; *ret_step names the system call that failed. */
int netlink_open(int protocol, uint32_t groups, int buffer, const char **ret_step);
/* The size of the receive buffer that was granted, in the bytes that the kernel charges per message. */
uint64_t netlink_granted(int fd);
/* Ends the membership in a group: no more of its messages come, even if another process has the descriptor, too. */
void netlink_leave(int fd, int group);
/* Sends one message to the kernel. Returns 0 or -errno. */
int netlink_send(int fd, const void *at, size_t len);

/* Receives many datagrams with one system call. A datagram that is truncated or not from the kernel gets length 0. */
#define NETLINK_BATCH 32
struct netlink_batch {
    size_t slot;   /* bytes per datagram */
    unsigned most; /* largest number of datagrams; 0: NETLINK_BATCH */
    unsigned char *at;
    size_t len[NETLINK_BATCH];
};
/* Returns the number of datagrams, 0 if none is queued, -ENOBUFS if some were lost, or another -errno. */
int netlink_receive(int fd, struct netlink_batch *b);

/* Pure. The next message of a datagram: its type and payload. Returns false at the end or if a length is invalid. */
struct netlink_message {
    uint16_t type;
    struct span payload;
};
bool netlink_next(struct span *datagram, struct netlink_message *ret);
/* Pure. The next attribute of a payload. The flags for nesting and byte order are masked off its type. */
bool netlink_attribute(struct span *payload, uint16_t *ret_type, struct span *ret_value);

#endif
