/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel for sockets, and trying whether it answers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "kernel/events/netlink.h"
#include "recorder/collectors/sockets/state.h"

#define DATAGRAM 32768u

int probe_ask(int fd, uint8_t family, uint32_t states)
{
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } ask = {.header = {.nlmsg_len = sizeof(ask),
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
             .request = {.sdiag_family = family,
                         .sdiag_protocol = IPPROTO_TCP,
                         .idiag_ext = 1u << (INET_DIAG_INFO - 1),
                         .idiag_states = states}};
    return netlink_send(fd, &ask, sizeof(ask));
}

/* A socket that must be found again: it listens on the loopback interface. */
static int listen_here(uint64_t *ret_cookie)
{
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(*ret_cookie);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0 || listen(fd, 1) < 0 ||
                    getsockopt(fd, SOL_SOCKET, SO_COOKIE, ret_cookie, &len) < 0))
        fd = fd_close(fd);
    return fd < 0 ? -errno : fd;
}

/* Returns whether the datagrams are the last ones; *ret is 0 once the socket was among them, with its counters. */
static bool find_probe_socket(struct netlink_batch *batch, int n, uint64_t cookie, int *ret)
{
    struct netlink_message m;
    struct diag_socket s;
    bool last = n <= 0;
    *ret = n < 0 ? n : *ret;
    for (int i = 0; i < n; i++) {
        struct span datagram = span_of((const char *)batch->at + (size_t)i * batch->slot, batch->len[i]);
        while (netlink_next(&datagram, &m)) {
            last = last || m.type == NLMSG_DONE || m.type == NLMSG_ERROR;
            if (m.type == SOCK_DIAG_BY_FAMILY && diag_parse(m.payload, &s) && s.cookie == cookie)
                *ret = s.has_bytes ? 0 : -ENODATA;
        }
    }
    return last;
}

static int try_bytes(void)
{
    const char *step;
    uint64_t cookie = 0;
    struct netlink_batch batch = {.slot = DATAGRAM, .most = 1, .at = malloc(DATAGRAM)};
    int own CLEANUP(fd_closep) = listen_here(&cookie);
    int fd CLEANUP(fd_closep) = netlink_open(NETLINK_SOCK_DIAG, 0, 0, &step);
    int code = !batch.at ? -ENOMEM : own < 0 ? own : fd < 0 ? fd : probe_ask(fd, AF_INET, 1u << TCP_LISTEN);
    if (!code) {
        code = -ENOENT;
        while (!find_probe_socket(&batch, netlink_receive(fd, &batch), cookie, &code))
            continue;
    }
    free(batch.at);
    return code;
}

void sockets_probe(struct sockets_probe *ret)
{
    struct job_namespaces p;
    ret->bytes = try_bytes();
    job_namespaces_init(&p, -1);
    ret->ends = p.at[0].ends_known ? 0 : p.at[0].ends_fd < 0 ? p.at[0].ends_fd : -EPERM;
    ret->enter = p.own_fd >= 0 && setns(p.own_fd, CLONE_NEWNET) == 0 ? 0 : -errno;
    fd_close(p.at[0].ask_fd);
    fd_close(p.at[0].ends_fd);
    fd_close(p.own_fd);
}
