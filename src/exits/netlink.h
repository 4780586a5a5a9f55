/* SPDX-License-Identifier: Apache-2.0 */
/* Raw netlink sockets: opening with a large buffer, and walking what a datagram holds. */
#ifndef EXITS_NETLINK_H
#define EXITS_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/span.h"

/* Opens a non-blocking socket, bound to the groups. Returns a descriptor or -errno; *ret_step says what failed. */
int netlink_open(int protocol, uint32_t groups, const char **ret_step);
/* Asks for a receive buffer of want bytes: by force if allowed, else up to net.core.rmem_max. */
void netlink_grow(int fd, int want);
/* The receive buffer that was granted, in bytes as the kernel charges them. */
uint64_t netlink_granted(int fd);
/* Bytes that wait in it now. */
uint64_t netlink_waiting(int fd);
/* Sends one message to the kernel. Returns 0 or -errno. */
int netlink_send(int fd, const void *at, size_t len);

/* Many datagrams with one call. A datagram that did not come from the kernel, or was cut, has length 0. */
#define NETLINK_BATCH 32
struct netlink_batch {
    size_t slot; /* bytes per datagram */
    unsigned most; /* datagrams at once; 0: NETLINK_BATCH */
    unsigned char *at;
    size_t len[NETLINK_BATCH];
};
/* Returns how many came, 0 if none waits, -ENOBUFS if some were lost, or another -errno. */
int netlink_receive(int fd, struct netlink_batch *b);

/* Pure. The next message of a datagram: its type and payload. Returns false at the end or where lengths lie. */
struct netlink_message {
    uint16_t type;
    struct span payload;
};
bool netlink_next(struct span *datagram, struct netlink_message *ret);
/* Pure. The next attribute of a payload; nested and byte order flags are masked off. */
bool netlink_attribute(struct span *payload, uint16_t *ret_type, struct span *ret_value);

#endif
