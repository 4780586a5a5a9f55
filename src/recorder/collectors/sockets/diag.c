/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sockets/diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <string.h>

#include "kernel/events/netlink.h"

static bool read_counter(struct span info, size_t at, uint64_t *ret)
{
    if (at + sizeof(*ret) > info.len)
        return false;
    memcpy(ret, info.at + at, sizeof(*ret));
    return true;
}

/* Kernels add members at the end of struct tcp_info: bytes_acked came with 4.1, bytes_sent with 4.19. */
static void take_info(struct span info, struct diag_socket *ret)
{
    uint64_t again = 0;
    ret->has_bytes = read_counter(info, offsetof(struct tcp_info, tcpi_bytes_acked), &ret->sent) &&
                     read_counter(info, offsetof(struct tcp_info, tcpi_bytes_received), &ret->received);
    if (read_counter(info, offsetof(struct tcp_info, tcpi_bytes_retrans), &again) &&
        read_counter(info, offsetof(struct tcp_info, tcpi_bytes_sent), &ret->sent))
        ret->sent = ret->sent > again ? ret->sent - again : 0;
}

bool diag_parse(struct span payload, struct diag_socket *ret)
{
    struct inet_diag_msg m;
    struct span value;
    uint16_t type;
    if (payload.len < sizeof(m))
        return false;
    memcpy(&m, payload.at, sizeof(m));
    *ret = (struct diag_socket){.cookie = (uint64_t)m.id.idiag_cookie[1] << 32 | m.id.idiag_cookie[0],
                                .inode = m.idiag_inode,
                                .port = ntohs(m.id.idiag_sport),
                                .family = m.idiag_family,
                                .state = m.idiag_state};
    memcpy(ret->address, m.id.idiag_src, sizeof(ret->address));
    payload = span_of(payload.at + sizeof(m), payload.len - sizeof(m));
    while (netlink_attribute(&payload, &type, &value)) {
        if (type == INET_DIAG_INFO)
            take_info(value, ret);
    }
    return true;
}
