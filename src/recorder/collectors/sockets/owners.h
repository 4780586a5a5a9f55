/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose sockets are whose, and how much each process's sockets have sent and received: sums that never fall.
 *
 * A socket that several processes hold, because a child inherited it in fork(2), counts for the one of them that
 * started first. What a socket grows between two readings counts for the process that it belongs to at the second one;
 * of a socket that nobody holds any more, for the one that it belonged to last. Example: a server accepts a connection
 * and forks a child for it, and closes it: what was received until then is the server's, the rest the child's.
 *
 * A socket that ends before it was seen counts for the process that listens at its address, if one of the job does. If
 * several hold what listens there, or its holder had a child meanwhile, which may have held it, it counts for the job
 * alone, and the sums of these processes may be too small (owner.is_short). Until it is known whether there was such a
 * child, it counts for the job alone, too (owner.is_unsettled). One that was seen at two readings, and that
 * no process of the job had open, is not the job's.
 */
#ifndef RECORDER_COLLECTORS_SOCKETS_OWNERS_H
#define RECORDER_COLLECTORS_SOCKETS_OWNERS_H

#include "base/map.h"
#include "libbaro/sample/sample.h"
#include "recorder/collectors/sockets/listeners.h"

/* The processes that hold a socket, by its inode, in one reading. */
struct holder {
    uint32_t owner; /* an index */
    uint32_t next;  /* index + 1 of the one that started before it; 0: none */
};

struct held {
    uint32_t first; /* index of the holder that started first */
    uint32_t last;  /* index + 1, in struct holders, of the holder that started last */
};

struct holders {
    struct map by_inode; /* positions in held */
    struct held *held;
    size_t n_held, cap_held;
    struct holder *at;
    size_t n, cap;
};

#define OWNERS_MOST 8192u

struct owner_asked {
    struct baro_key key;
    uint64_t sent, received; /* by what another worker has counted */
    struct baro_key parent;
    uint64_t forks; /* children that began so far, or what grows with them */
    bool is_blind;  /* known as of its last reading only: a child may have begun since, if the process has ended */
};

/* The recorder reads this from the memory of another process: truth values are bytes, since a bool with any value but 0
 * and 1 is undefined. */
struct owner {
    struct baro_key key;
    uint64_t sent, received;
    uint32_t connections, listening;
    uint8_t absent;       /* enum baro_absent: its descriptors can't be read, or not yet; gone: it has ended */
    uint8_t whole;        /* none of its sockets is left whose end was not reported */
    uint8_t is_new;       /* it was not in the reading before */
    uint8_t has_forked;   /* a child of it began since the reading before */
    uint8_t is_short;     /* connections that it may have accepted count for no process */
    uint8_t is_unsettled; /* connections that it may have accepted do not count for it yet */
    uint8_t is_blind;
    uint64_t forks;
    uint64_t shared; /* listeners that it has held together with others: a bit for each, by cookie % 64 */
    struct baro_key parent;
};

struct owners_socket {
    uint64_t cookie; /* 0: free */
    uint64_t sent, received;
    uint32_t owner;   /* index, or OWNER_... */
    uint32_t reading; /* the reading in which it was seen last */
};

struct owners {
    struct owner *at, *next; /* in the order in which the processes started; next: room for the next reading */
    size_t n;
    uint32_t *moved_to;           /* where each one is in the next reading */
    struct owners_socket *socket; /* by cookie */
    size_t n_sockets, cap_sockets;
    struct holders holders; /* of this reading */
    struct listeners *listeners;
    uint32_t reading;
    uint64_t known_ns; /* when this reading was asked for, all forks until then were known */
    uint64_t ends_ns;  /* ends are received now */
    bool ends_known;   /* the kernel reports what a socket had sent and received when it ended */
    bool unsure;       /* the descriptors of some process cannot be read, so it is not known who holds a socket */
    bool base;         /* what sockets have at this reading was before the recording */
    /* of all sockets so far, those of processes that have ended included */
    uint64_t sent, received;
    uint64_t unattributed_sent, unattributed_received; /* of sockets that ended before it was known whose they were */
    bool is_bound;                                     /* some bytes may be missing */
    bool any;                                          /* some process had a socket */
};

int owners_init(struct owners *o);
void owners_done(struct owners *o);

/* A socket ended; ends_ns is up to date. */
void owners_ended(struct owners *o, const struct diag_socket *now);

/* A reading: owners_begin(), when known_ns is that of the request, with all processes and what is known of them if they
 * are new here, owners_hold() for each socket that one has open, owners_socket() for each socket of the machine,
 * owners_end(). Returns -ENOMEM, or 0. */
int owners_begin(struct owners *o, const struct owner_asked *asked, size_t n);
int owners_hold(struct owners *o, size_t owner, uint32_t inode);
int owners_socket(struct owners *o, const struct diag_socket *now);
void owners_end(struct owners *o);
/* Sockets that disappeared, and whose end was not reported yet. */
size_t owners_pending(const struct owners *o);
/* Sets owner.whole, and attributes connections that were not seen to a process. */
void owners_look(struct owners *o);

#endif
