/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections, and until when each may do what it does: send a header, wait between requests, take an answer. One
 * user or address has at most half of them. The answers that were made and not yet taken have a budget of bytes.
 */
#ifndef PROGRAMS_BARO_SERVE_CLIENTS_H
#define PROGRAMS_BARO_SERVE_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/baro-serve/peer.h"

enum client_phase {
    CLIENT_HEADER, /* of its first request nothing, or not all, has come */
    CLIENT_WORK,   /* its request is worked on */
    CLIENT_ANSWER, /* it takes the answer */
    CLIENT_STREAM, /* it takes events; it may do so for ever, if it goes on taking them */
    CLIENT_IDLE    /* between two requests */
};

/* A user or address that has connections. */
struct holder {
    struct peer peer;
    size_t n, n_ended; /* of them, and of those that were shut down and wait for their end */
    struct holder *next;
};

struct client {
    int fd;
    enum client_phase phase;
    uint64_t since_ns; /* in this phase */
    bool is_ended;     /* it was shut down */
    bool is_over;      /* one too many of its holder: it gets an error */
    size_t unsent;     /* bytes of its answer that are in the budget */
    struct holder *holder;
    struct pace {
        uint64_t sent;                  /* bytes of its answers that the kernel was given */
        uint64_t begin_ns, begin_taken; /* of the time in which its speed is measured: when, and what it had taken */
    } pace;
    struct client *next, *before;
};

/* An answer that is being made. */
struct making {
    struct clients *clients;
    struct peer peer;
    size_t bytes;    /* of it that are in the budget */
    bool is_refused; /* there was no room for more */
    struct making *next, *before;
};

struct clients {
    pthread_mutex_t lock;
    struct client *first;
    struct holder *holders;
    struct making *makings;
    size_t n, most;
    size_t unsent, unsent_most; /* bytes of all answers that are made or were not taken: held, and allowed */
    int wake_fd;                /* eventfd: written when the first one has come, or many */
};

int clients_init(struct clients *c, size_t most, size_t unsent_most);
void clients_done(struct clients *c);
/*
 * A connection of a user or address. Where these have all places that they may have, or few are free, the oldest
 * connection that does nothing is shut down for it, of those who have most; else the new one is over, and if there are
 * many of these, shut down. NULL: memory ran out, and it is shut down.
 */
struct client *clients_add(struct clients *c, int fd, const struct peer *peer);
/* Called before its descriptor is closed. */
void clients_remove(struct clients *c, struct client *one);
/* Ending an answer gives back what was held for it. */
void clients_phase(struct clients *c, struct client *one, enum client_phase phase);
/*
 * An answer is made. It holds memory as it grows (clients_grow(), for struct buf), while there is room for that, among
 * all and among those of this user or address. A small one always has room: the number of connections bounds these.
 */
void clients_make(struct clients *c, struct making *m, struct client *one);
bool clients_grow(void *making, size_t bytes);
/* It is made, and the client takes what is left of it; NULL: nobody does. */
void clients_made(struct making *m, struct client *one, size_t bytes);
/* Is so much memory held, in all or for this user or address, that no large answer to it should be begun? */
bool clients_full(struct clients *c, struct client *one);
/* Has the client closed its connection, or its half of it? Expensive answers are not made for one that has. */
bool client_has_left(const struct client *one);
/* The kernel was given a part of its answer. */
void clients_sent(struct clients *c, struct client *one, size_t bytes);
/* Shuts down those that have taken too long, or are too slow; if there are many, or much is held, sooner. Returns how
 * many connections there are. */
size_t clients_check(struct clients *c);
size_t clients_count(struct clients *c);
/* Are there some that an answer is owed? */
bool clients_busy(struct clients *c);

#endif
