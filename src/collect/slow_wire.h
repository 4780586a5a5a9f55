/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder and its helper process say to each other: packets of a SOCK_SEQPACKET pair, each with as many requests or
 * replies as fit. Both ends are one binary, so structs travel as they are; lengths are checked all the same, for the helper
 * handles bytes of other processes.
 */
#ifndef COLLECT_SLOW_WIRE_H
#define COLLECT_SLOW_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/slow.h"

#define SLOW_PACKET_REQUESTS 64u
#define SLOW_PACKET_BYTES 16384u
#define SLOW_NAME_MAX 256u     /* with its NUL */
#define SLOW_CMDLINE_MAX 4096u /* without */

struct slow_wire_request {
    uint64_t serial; /* grows by one with each request; from 1 */
    struct baro_key key;
    uint32_t what, padding;
};

/* Followed by the name and the command line, each with a NUL, padded to 8 bytes. */
struct slow_wire_reply {
    uint64_t serial;
    uint64_t pss, uss, spent_ns;
    uint32_t name_len, cmdline_len; /* with their NUL; 0: none */
    uint8_t smaps_absent, name_absent, cmdline_absent, padding[5];
};

#define SLOW_REPLY_MOST (sizeof(struct slow_wire_reply) + SLOW_NAME_MAX + SLOW_CMDLINE_MAX + 16u)

/* A page that both see: what the helper is reading, and since when. So the recorder knows what a helper hangs in without a
 * packet for each read. */
struct slow_progress {
    _Atomic uint64_t serial; /* 0: none */
    _Atomic uint64_t since_ns;
};

/* Takes the first reply off a packet; text is borrowed from it. Returns false where the packet ends or its lengths lie. Pure. */
bool slow_wire_next(const unsigned char **at, size_t *len, uint64_t *ret_serial, struct slow_reply *ret);

/* slow_child.c: the helper's whole life; returns never. All descriptors but these two are closed first. */
_Noreturn void slow_child(int socket_fd, int root_fd, bool want_cmdline, struct slow_progress *progress, pid_t parent);

#endif
