/* SPDX-License-Identifier: Apache-2.0 */
/* The connections, and until when each may do what it does: send a header, wait between requests, take an answer. */
#ifndef SERVE_CLIENTS_H
#define SERVE_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum client_phase {
    CLIENT_HEADER,  /* of its first request nothing, or not all, has come */
    CLIENT_ANSWER,  /* its request is worked on, or it takes the answer */
    CLIENT_STREAM,  /* it takes events; it may do so for ever, if it goes on taking them */
    CLIENT_IDLE     /* between two requests */
};

struct client {
    int fd;
    enum client_phase phase;
    uint64_t since_ns; /* in this phase */
    struct client *next, *before;
};

struct clients {
    pthread_mutex_t lock;
    struct client *first;
    size_t n, most;
    int wake_fd; /* eventfd: written when the first one has come, or many */
};

int clients_init(struct clients *c, size_t most);
void clients_done(struct clients *c);
struct client *clients_add(struct clients *c, int fd);
/* Called before its descriptor is closed. */
void clients_remove(struct clients *c, struct client *one);
void clients_phase(struct clients *c, struct client *one, enum client_phase phase);
/* Shuts down those that have taken too long; if there are many, sooner. Returns how many connections there are. */
size_t clients_check(struct clients *c);
/* Are there some that an answer is owed? */
bool clients_busy(struct clients *c);

#endif
