/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/clients.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define HEADER_NS (10 * NS_PER_SEC)  /* for all of a header, however slowly it comes */
#define ANSWER_NS (120 * NS_PER_SEC) /* for making an answer and taking it */
#define IDLE_NS (30 * NS_PER_SEC)
#define CROWDED_NS (NS_PER_SEC / 4)  /* for a header and for idling, where most connections are taken */

int clients_init(struct clients *c, size_t most)
{
    *c = (struct clients){.most = most, .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
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
    pthread_mutex_unlock(&c->lock);
    free(one);
}

void clients_phase(struct clients *c, struct client *one, enum client_phase phase)
{
    if (!one)
        return;
    pthread_mutex_lock(&c->lock);
    one->phase = phase;
    one->since_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&c->lock);
}

static uint64_t allowed_ns(enum client_phase phase, bool crowded)
{
    switch (phase) {
    case CLIENT_HEADER:
        return crowded ? CROWDED_NS : HEADER_NS;
    case CLIENT_IDLE:
        return crowded ? CROWDED_NS : IDLE_NS;
    case CLIENT_ANSWER:
        return ANSWER_NS;
    case CLIENT_STREAM:
        break;
    }
    return UINT64_MAX;
}

size_t clients_check(struct clients *c)
{
    pthread_mutex_lock(&c->lock);
    uint64_t now_ns = clock_monotonic_ns();
    bool crowded = is_crowded(c);
    for (struct client *one = c->first; one; one = one->next) {
        if (now_ns - one->since_ns > allowed_ns(one->phase, crowded))
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
        busy = busy || one->phase == CLIENT_ANSWER;
    pthread_mutex_unlock(&c->lock);
    return busy;
}
