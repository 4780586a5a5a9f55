/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

struct reply {
    struct nlmsghdr head;
    struct inet_diag_msg body;
};

static bool is_loopback(const union address *a)
{
    return a->any.sa_family == AF_INET ? ntohl(a->four.sin_addr.s_addr) >> 24 == 127
                                       : IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
}

static void set_end(const union address *a, __be16 *port, __be32 address[4])
{
    bool is_four = a->any.sa_family == AF_INET;
    *port = is_four ? a->four.sin_port : a->six.sin6_port;
    memcpy(address, is_four ? (const void *)&a->four.sin_addr : &a->six.sin6_addr, is_four ? 4 : 16);
}

/* Finds the user whose socket is at the other end of a connection within this machine (sock_diag(7)). */
static bool user_of(const union address *peer, const union address *own, uint32_t *ret)
{
    struct question ask = {
        .head = {.nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = (uint8_t)peer->any.sa_family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = UINT32_MAX,
                 .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
    struct timeval patience = {.tv_sec = 1};
    struct reply got;
    set_end(peer, &ask.body.id.idiag_sport, ask.body.id.idiag_src);
    set_end(own, &ask.body.id.idiag_dport, ask.body.id.idiag_dst);
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    bool has = send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask) &&
               recv(fd, &got, sizeof(got), 0) >= (ssize_t)sizeof(got) && got.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
               got.body.idiag_inode; /* 0: it was closed; then the kernel reports user 0, too */
    fd_close(fd);
    if (has)
        *ret = got.body.idiag_uid;
    return has;
}

struct peer peer_of(int fd)
{
    struct peer p = {.is = PEER_UNKNOWN};
    union address peer = {.any.sa_family = AF_UNSPEC}, own;
    socklen_t peer_size = sizeof(peer), own_size = sizeof(own);
    struct ucred user;
    socklen_t user_size = sizeof(user);
    if (getpeername(fd, &peer.any, &peer_size) < 0 || getsockname(fd, &own.any, &own_size) < 0)
        return p;
    if (peer.any.sa_family == AF_UNIX) {
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &user_size) < 0)
            return p;
        p.is = PEER_USER;
        p.uid = user.uid;
    } else if (is_loopback(&peer) && user_of(&peer, &own, &p.uid)) {
        p.is = PEER_USER;
    } else {
        p.is = PEER_ADDRESS;
        if (peer.any.sa_family == AF_INET)
            memcpy(p.address, &peer.four.sin_addr, 4);
        else
            memcpy(p.address, &peer.six.sin6_addr, 8);
    }
    return p;
}

bool peer_same(const struct peer *a, const struct peer *b)
{
    return a->is == b->is && a->uid == b->uid && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}
