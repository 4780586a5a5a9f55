/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel for sockets, and trying what else can be had. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sched.h>

#include "base/fd.h"
#include "kernel/events/netlink.h"
#include "recorder/collectors/sockets/state.h"

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

void sockets_probe(struct sockets_probe *ret)
{
    struct job_namespaces p;
    job_namespaces_init(&p, -1);
    ret->ends = p.at[0].ends_known ? 0 : p.at[0].ends_fd < 0 ? p.at[0].ends_fd : -EPERM;
    ret->enter = p.own_fd >= 0 && setns(p.own_fd, CLONE_NEWNET) == 0 ? 0 : -errno;
    fd_close(p.at[0].ask_fd);
    fd_close(p.at[0].ends_fd);
    fd_close(p.own_fd);
}
