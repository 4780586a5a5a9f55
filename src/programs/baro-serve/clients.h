/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections, and the time limits of their phases: sending a header, waiting between requests, taking an answer.
 * One user or address has at most half of the connections. Answers that clients have not taken yet have a budget of
 * bytes.
 */
#ifndef PROGRAMS_BARO_SERVE_CLIENTS_H
#define PROGRAMS_BARO_SERVE_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/baro-serve/peer.h"

enum client_phase {
    CLIENT_HEADER, /* it is sending its first request */
    CLIENT_WORK,   /* its request is being worked on */
    CLIENT_ANSWER, /* it is taking the answer */
    CLIENT_STREAM, /* it is taking events, for which there is no time limit as long as it takes them */
    CLIENT_IDLE    /* it is between two requests */
};

/* A user or address that has connections. */
struct holder {
    struct peer peer;
    size_t n, n_ended; /* number of its connections; how many of them were shut down and are not closed yet */
    struct holder *next;
};

struct client {
    int fd;
    enum client_phase phase;
    uint64_t since_ns; /* when this phase began */
    bool is_ended;     /* it was shut down */
    bool is_over;      /* its holder has too many connections: it gets an error */
    size_t unsent;     /* bytes of its answer that count for the budget */
    struct holder *holder;
    struct pace {
        uint64_t sent;                  /* bytes of its answers that were given to the kernel */
        uint64_t begin_ns, begin_taken; /* when the measurement of its speed began; bytes that it had taken by then */
    } pace;
    struct client *next, *before;
};

/* An answer that is being made. */
struct making {
    struct clients *clients;
    struct peer peer;
    size_t bytes;    /* its bytes that count for the budget */
    bool is_refused; /* the budget had no room for more */
    struct making *next, *before;
};

struct clients {
    pthread_mutex_t lock;
    struct client *first;
    struct holder *holders;
    struct making *makings;
    size_t n, most;
    size_t unsent, unsent_most; /* bytes of all answers that are being made or taken, and the budget for them */
    int wake_fd;                /* eventfd: written when the first connection has come, or many have */
};

int clients_init(struct clients *c, size_t most, size_t unsent_most);
void clients_done(struct clients *c);
/*
 * Adds a connection. If its user or address has as many as allowed, or few places are free, an older connection that
 * does nothing is shut down for it, one of those who have most. If there is none, the new one gets an error (is_over),
 * or, if there are many such ones, is shut down. Returns NULL if memory ran out; then it is shut down.
 */
struct client *clients_add(struct clients *c, int fd, const struct peer *peer);
/* Removes a connection. Call it before the descriptor is closed. */
void clients_remove(struct clients *c, struct client *one);
/* Sets the phase of a connection. The end of an answer frees its part of the budget. */
void clients_phase(struct clients *c, struct client *one, enum client_phase phase);
/*
 * Begins an answer. It takes its part of the budget as it grows (clients_grow(), for struct buf), if there is room in
 * that of all and in that of its user or address. A small answer always has room: the number of connections limits
 * these.
 */
void clients_make(struct clients *c, struct making *m, struct client *one);
bool clients_grow(void *making, size_t bytes);
/* The answer is complete, and the client begins to take it; NULL: no client does. */
void clients_made(struct making *m, struct client *one, size_t bytes);
/* Is the budget, of all or of this user or address, so full that no large answer should be begun? */
bool clients_full(struct clients *c, struct client *one);
/* Has the client closed its connection, or its half of it? If so, no expensive answer is made for it. */
bool client_has_left(const struct client *one);
/* A part of the answer was given to the kernel. */
void clients_sent(struct clients *c, struct client *one, size_t bytes);
/* Shuts down connections that exceed their time limits or are too slow; limits are lower if there are many connections,
 * or the budget is nearly full. Returns how many connections there are. */
size_t clients_check(struct clients *c);
size_t clients_count(struct clients *c);
/* Does a client wait for an answer? */
bool clients_busy(struct clients *c);

#endif
