/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies a client for limits: a user of this machine, or an address. */
#ifndef PROGRAMS_BARO_SERVE_PEER_H
#define PROGRAMS_BARO_SERVE_PEER_H

#include <stdbool.h>
#include <stdint.h>

struct peer {
    enum { PEER_UNKNOWN, PEER_USER, PEER_ADDRESS } is;
    uint32_t uid;
    unsigned char
        address[16]; /* IPv4: four bytes; IPv6: the first eight bytes, because one host may have a whole /64 */
};

/* Returns who is at the other end of a connected socket. Makes system calls. */
struct peer peer_of(int fd);
bool peer_same(const struct peer *a, const struct peer *b);

#endif
