/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who listens where. A connection that came and went between two readings has no inode any more when its end is
 * reported, but it has the address at which it was accepted: it counts for the process that listens there. Example: a
 * web server is asked 200 times a second, and its sockets are read ten times a second. Pure.
 */
#ifndef SOCKETS_LISTENERS_H
#define SOCKETS_LISTENERS_H

#include "sockets/diag.h"

#define LISTENERS_MOST 512u
#define LISTENERS_HASH 128u

#define OWNER_NONE UINT32_MAX          /* a process that has ended */
#define OWNER_FOREIGN (UINT32_MAX - 1) /* no process of the job */
#define OWNER_UNSURE (UINT32_MAX - 2)  /* the same, but it may have been opened after descriptors were read */

struct listener {
    uint64_t place, cookie;
    uint8_t address[16];
    uint16_t port;
    uint16_t next;  /* index + 1 of another one with the same hash; 0: none */
    uint32_t owner; /* index, or OWNER_... */
    uint32_t reading;
};

struct listeners {
    struct listener at[LISTENERS_MOST];
    size_t n;
    uint16_t of[LISTENERS_HASH]; /* by port: index + 1 of the first */
    bool is_full;                /* there are more */
};

/* A socket that listens, as this reading has it. */
void listeners_note(struct listeners *l, const struct diag_socket *s, uint32_t owner, uint32_t reading);
/* Owners have other indexes from now on. */
void listeners_move(struct listeners *l, const uint32_t *moved_to);
/* Forgets those that this reading did not have. */
void listeners_keep(struct listeners *l, uint32_t reading);
/* Who has accepted this socket: an index or OWNER_NONE; OWNER_FOREIGN: not known, or no process of the job. */
uint32_t listeners_find(const struct listeners *l, const struct diag_socket *s);

#endif
