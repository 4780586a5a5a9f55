/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/netlink.h>

#include "base/fd.h"
#include "kernel/events/netlink.h"

static void set_buffer(int fd, int want)
{
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof(want)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof(want)); /* limited to rmem_max, without an error */
}

int netlink_open(int protocol, uint32_t groups, int buffer, const char **ret_step)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    *ret_step = "socket";
    int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (fd < 0)
        return -errno;
    if (buffer)
        set_buffer(fd, buffer);
    *ret_step = "bind";
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int error = errno;
        fd_close(fd);
        return -error;
    }
    return fd;
}

uint64_t netlink_granted(int fd)
{
    int granted = 0;
    socklen_t len = sizeof(granted);
    return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &len) == 0 && granted > 0 ? (uint64_t)granted : 0;
}

void netlink_leave(int fd, int group)
{
    setsockopt(fd, SOL_NETLINK, NETLINK_DROP_MEMBERSHIP, &group, sizeof(group));
}

int netlink_send(int fd, const void *at, size_t len)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n = sendto(fd, at, len, 0, (struct sockaddr *)&kernel, sizeof(kernel));
    return n < 0 ? -errno : 0;
}

int netlink_receive(int fd, struct netlink_batch *b)
{
    struct mmsghdr messages[NETLINK_BATCH];
    struct iovec iov[NETLINK_BATCH];
    struct sockaddr_nl from[NETLINK_BATCH];
    for (size_t i = 0; i < NETLINK_BATCH; i++) {
        iov[i] = (struct iovec){b->at + i * b->slot, b->slot};
        messages[i].msg_hdr =
            (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof(from[i]), .msg_iov = &iov[i], .msg_iovlen = 1};
    }
    int n = recvmmsg(fd, messages, b->most ? b->most : NETLINK_BATCH, MSG_DONTWAIT, NULL);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        /* Any process may send to a netlink port number that it guesses. The kernel's port is 0. */
        bool whole = !(messages[i].msg_hdr.msg_flags & MSG_TRUNC) && from[i].nl_pid == 0;
        b->len[i] = whole ? messages[i].msg_len : 0;
    }
    return n;
}
