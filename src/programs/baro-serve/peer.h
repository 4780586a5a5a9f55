/* SPDX-License-Identifier: Apache-2.0 */
/* Who a client is, for limits of what one may hold: a user of this machine, or an address. */
#ifndef PROGRAMS_BARO_SERVE_PEER_H
#define PROGRAMS_BARO_SERVE_PEER_H

#include <stdbool.h>
#include <stdint.h>

struct peer {
    enum { PEER_UNKNOWN, PEER_USER, PEER_ADDRESS } is;
    uint32_t uid;
    unsigned char address[16]; /* IPv4: the first four bytes; IPv6: the first eight, as one host may have all others */
};

/* The other side of a connected socket. It makes system calls. */
struct peer peer_of(int fd);
bool peer_same(const struct peer *a, const struct peer *b);

#endif
