/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening sockets and their owners. A connection that began and ended between two readings has no inode any more
 * when its end is reported, but it has the address at which it was accepted. It counts for the process that listens
 * there. Example: a web server is asked 200 times a second, and its sockets are read ten times a second.
 *
 * The bytes of such connections are kept with the listener until a reading shows which processes held the listener
 * meanwhile. Example: a process listens, is read, and forks a server, which accepts; the parent is the client. Both
 * hold the listener at the next reading: the 1.8 MB that the server has sent count for neither of them, and for the
 * job. A reading knows the forks up to some time before it was requested, and may be made much later: it decides only
 * for connections that ended before that time. Pure.
 */
#ifndef RECORDER_COLLECTORS_SOCKETS_LISTENERS_H
#define RECORDER_COLLECTORS_SOCKETS_LISTENERS_H

#include "recorder/collectors/sockets/diag.h"

#define LISTENERS_MOST 512u
#define LISTENERS_HASH 128u

#define OWNER_NONE UINT32_MAX          /* a process that has ended */
#define OWNER_FOREIGN (UINT32_MAX - 1) /* no process of the job */
#define OWNER_UNSURE (UINT32_MAX - 2)  /* none, but it may have been opened after the descriptors were read */
#define OWNER_SHARED (UINT32_MAX - 3)  /* several processes of the job hold it */

/* Bytes of connections that were not seen and count for no process yet. */
struct unsettled {
    uint64_t sent, received;
    uint64_t until_ns; /* when the report of the last one of them was received */
    bool is_nobodys;   /* several processes may have accepted them */
};

struct listener {
    uint64_t netns, cookie;
    uint8_t address[16];
    uint16_t port;
    uint8_t family;
    uint16_t next;         /* index + 1 of another one with the same hash; 0: none */
    uint32_t owner;        /* index, or OWNER_...: at its last reading */
    uint32_t owner_before; /* at the reading before, if it was there */
    uint32_t reading;
    bool is_closed;               /* kept because some connections are not attributed yet */
    struct unsettled before, now; /* that were reported before this reading was asked for, and since */
};

struct listeners {
    struct listener at[LISTENERS_MOST];
    size_t n;
    uint16_t of[LISTENERS_HASH]; /* by port: index + 1 of the first */
    bool is_full;                /* there are more */
};

/* A socket that listens, as this reading has it. */
void listeners_note(struct listeners *l, const struct diag_socket *s, uint32_t owner, uint32_t reading);
/* Another reading begins, and owners have other indexes. */
void listeners_move(struct listeners *l, const uint32_t *moved_to);
/* Forgets listeners that this reading did not have, if all their connections are attributed. */
void listeners_keep(struct listeners *l, uint32_t reading);
/* Which one has accepted this socket, or one of those that share its address (SO_REUSEPORT); NULL: not known, or that
 * of no process of the job. */
struct listener *listeners_find(struct listeners *l, const struct diag_socket *s);
/* Returns the connections that were not seen and count for no process yet. */
bool listeners_unsettled(const struct unsettled *u);
bool listeners_any_unsettled(const struct listeners *l);
/* Who alone has held it, and those that share its address, at both readings: an index, OWNER_NONE or OWNER_SHARED. */
uint32_t listeners_holder(const struct listeners *l, const struct listener *one);
/* Those that share its address, itself among them: the first, and the next one. */
const struct listener *listeners_same(const struct listeners *l, const struct listener *one,
                                      const struct listener *last);

#endif
