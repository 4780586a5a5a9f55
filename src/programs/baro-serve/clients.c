/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/clients.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include "base/clock.h"
#include "base/fd.h"

#define HEADER_NS (10 * NS_PER_SEC)  /* for sending a whole header */
#define ANSWER_NS (120 * NS_PER_SEC) /* for making an answer and taking it */
#define IDLE_NS (30 * NS_PER_SEC)
#define CROWDED_NS (NS_PER_SEC / 4) /* for a header and for idling, if most connections are in use */
#define SMALL_BYTES 65536u          /* size of the largest answer that needs no budget */

/* The lowest speed at which a client must take an answer: `bytes` in `ns`. The window of a connection within this
 * machine opens by 64 KiB. */
struct least {
    uint64_t ns, bytes;
};
static const struct least least_ever = {20 * NS_PER_SEC, 65536};
/* The lowest speed if most connections are in use, or for a large answer if a quarter of the budget is. */
static const struct least least_crowded = {2 * NS_PER_SEC, 32768};

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

/* ---- places; all of these need the lock ---- */

static size_t places_of_one(const struct clients *c)
{
    return c->most > 1 ? c->most / 2 : 1;
}

/* How many places are kept free, and how many connections of one user or address get an error at once. */
static size_t spare_places(const struct clients *c)
{
    return c->most >= 16 ? c->most / 16 : c->most >= 4;
}

static struct holder *holder_of(struct clients *c, const struct peer *peer)
{
    struct holder *h = c->holders;
    while (h && !peer_same(&h->peer, peer))
        h = h->next;
    if (!h && (h = malloc(sizeof(*h)))) {
        *h = (struct holder){.peer = *peer, .next = c->holders};
        c->holders = h;
    }
    return h;
}

static void drop_holder(struct clients *c, struct holder *h)
{
    struct holder **at = &c->holders;
    if (h->n + h->n_ended)
        return;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    free(h);
}

static void end_one(struct client *one)
{
    one->holder->n -= !one->is_ended;
    one->holder->n_ended += !one->is_ended;
    one->is_ended = true;
    shutdown(one->fd, SHUT_RDWR);
}

/* Returns how many bytes for the client are in the send queue of this machine's kernel. */
static uint64_t queued(const struct client *one)
{
    int n;
    return ioctl(one->fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static uint64_t taken(const struct client *one, uint64_t waits)
{
    return waits < one->pace.sent ? one->pace.sent - waits : 0;
}

static void begin_pace(struct client *one, uint64_t now_ns)
{
    one->pace.begin_ns = now_ns;
    one->pace.begin_taken = taken(one, queued(one));
}

/* Is the client too slow? If nothing is in the send queue, the server is slow. */
static bool is_slow(const struct client *one, const struct least *least, uint64_t now_ns)
{
    if (one->phase != CLIENT_ANSWER || now_ns - one->pace.begin_ns <= least->ns)
        return false;
    uint64_t waits = queued(one);
    return waits && taken(one, waits) < one->pace.begin_taken + least->bytes;
}

/* Ends the connection of a holder that has been inactive longest: it has sent no request, or takes nothing of its
 * answer.
 */
static bool end_oldest(struct clients *c, const struct holder *h, const struct client *but, uint64_t now_ns)
{
    struct client *oldest = NULL;
    for (struct client *one = c->first; one; one = one->next) {
        bool gives_way =
            one->phase == CLIENT_HEADER || one->phase == CLIENT_IDLE || is_slow(one, &least_crowded, now_ns);
        if (one->holder == h && one != but && !one->is_ended && gives_way &&
            (!oldest || one->since_ns <= oldest->since_ns))
            oldest = one;
    }
    if (oldest)
        end_one(oldest);
    return oldest;
}

static const struct holder *largest(const struct clients *c)
{
    const struct holder *most = c->holders;
    for (const struct holder *h = c->holders; h; h = h->next) {
        if (h->n > most->n)
            most = h;
    }
    return most;
}

static void make_place(struct clients *c, struct client *own)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct holder *h = own->holder;
    size_t most = places_of_one(c), all = 0;
    for (const struct holder *one = c->holders; one; one = one->next)
        all += one->n;
    if (h->n > most) {
        own->is_over = !end_oldest(c, h, own, now_ns);
    } else if (all > c->most - spare_places(c)) {
        const struct holder *large = largest(c);
        own->is_over = !end_oldest(c, large, own, now_ns) && large == h;
    }
    if (h->n > most + spare_places(c))
        end_one(own);
}

static void give_back(struct clients *c, struct client *one)
{
    c->unsent -= one->unsent;
    one->unsent = 0;
}

static struct client *add(struct clients *c, int fd, const struct peer *peer)
{
    struct holder *h = holder_of(c, peer);
    struct client *one = h ? malloc(sizeof(*one)) : NULL;
    if (one) {
        *one = (struct client){.fd = fd, .since_ns = clock_monotonic_ns(), .holder = h, .next = c->first};
        if (c->first)
            c->first->before = one;
        c->first = one;
        c->n++;
        h->n++;
        make_place(c, one);
    } else if (h) {
        drop_holder(c, h);
    }
    return one;
}

struct client *clients_add(struct clients *c, int fd, const struct peer *peer)
{
    pthread_mutex_lock(&c->lock);
    struct client *one = add(c, fd, peer);
    bool wakes = c->n == 1 || is_crowded(c);
    pthread_mutex_unlock(&c->lock);
    if (!one)
        shutdown(fd, SHUT_RDWR); /* the connection would have no time limit */
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
    one->holder->n -= !one->is_ended;
    one->holder->n_ended -= one->is_ended;
    drop_holder(c, one->holder);
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
    one->since_ns = clock_monotonic_ns();
    begin_pace(one, one->since_ns);
    if (phase == CLIENT_IDLE)
        give_back(c, one);
    pthread_mutex_unlock(&c->lock);
}

/* Returns the budget that one user or address has in use. Needs the lock. */
static size_t held_by(const struct clients *c, const struct peer *peer)
{
    size_t bytes = 0;
    for (const struct client *one = c->first; one; one = one->next)
        bytes += one->unsent && peer_same(&one->holder->peer, peer) ? one->unsent : 0;
    for (const struct making *m = c->makings; m; m = m->next)
        bytes += m->bytes && peer_same(&m->peer, peer) ? m->bytes : 0;
    return bytes;
}

void clients_make(struct clients *c, struct making *m, struct client *one)
{
    pthread_mutex_lock(&c->lock);
    *m = (struct making){.clients = c, .next = c->makings};
    if (one)
        m->peer = one->holder->peer;
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
    bool holds = (!others || others + bytes <= c->unsent_most) && /* a single answer may exceed the budget */
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
    pthread_mutex_lock(&c->lock);
    bool full = c->unsent > c->unsent_most / 4 * 3 || held_by(c, &one->holder->peer) > c->unsent_most / 8 * 3;
    pthread_mutex_unlock(&c->lock);
    return full;
}

bool client_has_left(const struct client *one)
{
    struct pollfd left = {.fd = one ? one->fd : -1, .events = POLLRDHUP};
    return poll(&left, 1, 0) > 0;
}

void clients_sent(struct clients *c, struct client *one, size_t bytes)
{
    if (!one)
        return;
    pthread_mutex_lock(&c->lock);
    one->pace.sent += bytes;
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

/* Must the connection be ended? If it was fast enough, the measurement of its speed begins again. */
static bool is_too_slow(const struct clients *c, struct client *one, uint64_t now_ns)
{
    bool has_much = one->unsent && c->unsent > c->unsent_most / 4;
    const struct least *least = is_crowded(c) || has_much ? &least_crowded : &least_ever;
    if (is_slow(one, least, now_ns))
        return true;
    if (now_ns - one->pace.begin_ns > least->ns)
        begin_pace(one, now_ns);
    return false;
}

size_t clients_check(struct clients *c)
{
    pthread_mutex_lock(&c->lock);
    uint64_t now_ns = clock_monotonic_ns();
    bool crowded = is_crowded(c);
    for (struct client *one = c->first; one; one = one->next) {
        if (is_too_slow(c, one, now_ns) || now_ns - one->since_ns > allowed_ns(one->phase, crowded || one->is_over))
            end_one(one);
    }
    size_t n = c->n;
    pthread_mutex_unlock(&c->lock);
    return n;
}

size_t clients_count(struct clients *c)
{
    pthread_mutex_lock(&c->lock);
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
