/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/clients.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define HEADER_NS (10 * NS_PER_SEC)  /* for all of a header, however slowly it comes */
#define ANSWER_NS (120 * NS_PER_SEC) /* for making an answer and taking it */
#define IDLE_NS (30 * NS_PER_SEC)
#define CROWDED_NS (NS_PER_SEC / 4) /* for a header and for idling, where most connections are taken */
#define STUCK_NS                                                                                                       \
    (2 * NS_PER_SEC)       /* for taking nothing of an answer, where most connections are taken, or a quarter          \
                              of the budget and it is a large one */
#define SMALL_BYTES 65536u /* of an answer that needs no budget */

int clients_init(struct clients *c, size_t most, size_t unsent_most)
{
    *c = (struct clients){.most = most, .unsent_most = unsent_most, .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_mutex_init(&c->lock, NULL);
    return c->wake_fd < 0 ? -errno : 0;
}

void clients_done(struct clients *c)
{
    c->wake_fd = fd_close(c->wake_fd);
    pthread_mutex_destroy(&c->lock);
}

static bool is_crowded(const struct clients *c)
{
    return c->n > c->most - c->most / 4;
}

static void give_back(struct clients *c, struct client *one)
{
    c->unsent -= one->unsent;
    one->unsent = 0;
}

struct client *clients_add(struct clients *c, int fd)
{
    struct client *one = malloc(sizeof(*one));
    if (!one)
        return NULL;
    pthread_mutex_lock(&c->lock);
    *one = (struct client){.fd = fd, .since_ns = clock_monotonic_ns(), .next = c->first};
    if (c->first)
        c->first->before = one;
    c->first = one;
    c->n++;
    bool wakes = c->n == 1 || is_crowded(c);
    pthread_mutex_unlock(&c->lock);
    if (wakes)
        eventfd_write(c->wake_fd, 1);
    return one;
}

void clients_remove(struct clients *c, struct client *one)
{
    if (!one)
        return;
    pthread_mutex_lock(&c->lock);
    if (one->before)
        one->before->next = one->next;
    else
        c->first = one->next;
    if (one->next)
        one->next->before = one->before;
    c->n--;
    give_back(c, one);
    pthread_mutex_unlock(&c->lock);
    free(one);
}

void clients_phase(struct clients *c, struct client *one, enum client_phase phase)
{
    if (!one)
        return;
    pthread_mutex_lock(&c->lock);
    one->phase = phase;
    one->since_ns = one->taken_ns = clock_monotonic_ns();
    if (phase == CLIENT_IDLE)
        give_back(c, one);
    pthread_mutex_unlock(&c->lock);
}

/* What is held for one user or address. Called with the lock. */
static size_t held_by(const struct clients *c, const struct peer *peer)
{
    size_t bytes = 0;
    for (const struct client *one = c->first; one; one = one->next)
        bytes += one->unsent && peer_same(&one->peer, peer) ? one->unsent : 0;
    for (const struct making *m = c->makings; m; m = m->next)
        bytes += m->bytes && peer_same(&m->peer, peer) ? m->bytes : 0;
    return bytes;
}

/* Called for a client whose request a worker has: no other thread changes it, and its descriptor stays open. */
static void know_peer(struct client *one)
{
    if (one->peer.is == PEER_UNKNOWN)
        one->peer = peer_of(one->fd);
}

void clients_make(struct clients *c, struct making *m, struct client *one)
{
    if (one)
        know_peer(one);
    pthread_mutex_lock(&c->lock);
    *m = (struct making){.clients = c, .next = c->makings};
    if (one)
        m->peer = one->peer;
    if (m->next)
        m->next->before = m;
    c->makings = m;
    pthread_mutex_unlock(&c->lock);
}

bool clients_grow(void *making, size_t bytes)
{
    struct making *m = making;
    struct clients *c = m->clients;
    if (bytes <= SMALL_BYTES)
        return true;
    pthread_mutex_lock(&c->lock);
    size_t others = c->unsent - m->bytes, own = held_by(c, &m->peer) - m->bytes;
    bool holds = (!others || others + bytes <= c->unsent_most) && /* one alone may be larger than the budget */
                 (!own || own + bytes <= c->unsent_most / 2);
    if (holds) {
        c->unsent = others + bytes;
        m->bytes = bytes;
    }
    m->is_refused = !holds;
    pthread_mutex_unlock(&c->lock);
    return holds;
}

void clients_made(struct making *m, struct client *one, size_t bytes)
{
    struct clients *c = m->clients;
    pthread_mutex_lock(&c->lock);
    if (m->before)
        m->before->next = m->next;
    else
        c->makings = m->next;
    if (m->next)
        m->next->before = m->before;
    c->unsent -= m->bytes;
    if (one && bytes > SMALL_BYTES) {
        one->unsent = bytes;
        c->unsent += bytes;
    }
    pthread_mutex_unlock(&c->lock);
}

bool clients_full(struct clients *c, struct client *one)
{
    if (!one)
        return true;
    know_peer(one);
    pthread_mutex_lock(&c->lock);
    bool full = c->unsent > c->unsent_most / 4 * 3 || held_by(c, &one->peer) > c->unsent_most / 8 * 3;
    pthread_mutex_unlock(&c->lock);
    return full;
}

bool client_has_left(const struct client *one)
{
    struct pollfd left = {.fd = one ? one->fd : -1, .events = POLLRDHUP};
    return poll(&left, 1, 0) > 0;
}

void clients_took(struct clients *c, struct client *one)
{
    if (!one)
        return;
    pthread_mutex_lock(&c->lock);
    one->taken_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&c->lock);
}

static uint64_t allowed_ns(enum client_phase phase, bool crowded)
{
    switch (phase) {
    case CLIENT_HEADER: return crowded ? CROWDED_NS : HEADER_NS;
    case CLIENT_IDLE: return crowded ? CROWDED_NS : IDLE_NS;
    case CLIENT_WORK:
    case CLIENT_ANSWER: return ANSWER_NS;
    case CLIENT_STREAM: break;
    }
    return UINT64_MAX;
}

size_t clients_check(struct clients *c)
{
    pthread_mutex_lock(&c->lock);
    uint64_t now_ns = clock_monotonic_ns();
    bool crowded = is_crowded(c), much = c->unsent > c->unsent_most / 4;
    for (struct client *one = c->first; one; one = one->next) {
        bool is_stuck =
            one->phase == CLIENT_ANSWER && (crowded || (much && one->unsent)) && now_ns - one->taken_ns > STUCK_NS;
        if (is_stuck || now_ns - one->since_ns > allowed_ns(one->phase, crowded))
            shutdown(one->fd, SHUT_RDWR);
    }
    size_t n = c->n;
    pthread_mutex_unlock(&c->lock);
    return n;
}

bool clients_busy(struct clients *c)
{
    bool busy = false;
    pthread_mutex_lock(&c->lock);
    for (struct client *one = c->first; one; one = one->next)
        busy = busy || one->phase == CLIENT_WORK || one->phase == CLIENT_ANSWER;
    pthread_mutex_unlock(&c->lock);
    return busy;
}
