/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sockets/owners.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "base/array.h"

/* ---- holders ---- */

static void holders_done(struct holders *h)
{
    map_done(&h->by_inode);
    free(h->held);
    free(h->at);
}

static void holders_clear(struct holders *h)
{
    map_clear(&h->by_inode);
    h->n_held = h->n = 0;
}

static struct held *held_of(struct holders *h, uint32_t owner, uint32_t inode)
{
    uint64_t *known = map_find(&h->by_inode, inode);
    if (known)
        return &h->held[*known];
    if (array_reserve(&h->held, h->n_held + 1, &h->cap_held, sizeof(*h->held)) < 0)
        return NULL;
    if (!map_add(&h->by_inode, inode, h->n_held))
        return NULL;
    h->held[h->n_held] = (struct held){.first = owner};
    return &h->held[h->n_held++];
}

/* In the order in which the processes started. Returns -ENOMEM, or 0. */
static int holders_add(struct holders *h, uint32_t owner, uint32_t inode)
{
    if (array_reserve(&h->at, h->n + 1, &h->cap, sizeof(*h->at)) < 0)
        return -ENOMEM;
    struct held *held = held_of(h, owner, inode);
    if (!held)
        return -ENOMEM;
    if (held->last && h->at[held->last - 1].owner == owner)
        return 0; /* by another descriptor */
    h->at[h->n++] = (struct holder){owner, held->last};
    held->last = (uint32_t)h->n;
    return 0;
}

/* Returns NULL if no process holds the socket. */
static const struct held *holders_find(const struct holders *h, uint32_t inode)
{
    const uint64_t *known = inode ? map_find(&h->by_inode, inode) : NULL;
    return known ? &h->held[*known] : NULL;
}

static bool holders_are_several(const struct holders *h, const struct held *held)
{
    return h->at[held->last - 1].next != 0;
}

#define SIZE_FIRST 256u
#define UNSEEN_MOST 3u /* readings: the report of a socket's end comes a little later than the end */

int owners_init(struct owners *o)
{
    *o = (struct owners){.at = calloc(OWNERS_MOST, sizeof(*o->at)),
                         .next = calloc(OWNERS_MOST, sizeof(*o->next)),
                         .moved_to = calloc(OWNERS_MOST, sizeof(*o->moved_to)),
                         .listeners = calloc(1, sizeof(*o->listeners))};
    return o->at && o->next && o->moved_to && o->listeners ? 0 : -ENOMEM;
}

void owners_done(struct owners *o)
{
    free(o->at);
    free(o->next);
    free(o->moved_to);
    free(o->listeners);
    free(o->socket);
    holders_done(&o->holders);
}

static size_t hash_slot(uint64_t key, size_t cap)
{
    return (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (cap - 1);
}

static bool is_foreign(const struct owners_socket *s)
{
    return s->owner == OWNER_FOREIGN || s->owner == OWNER_UNSURE;
}

/* ---- sockets, by cookie ---- */

static struct owners_socket *socket_at(const struct owners *o, uint64_t cookie)
{
    size_t i = hash_slot(cookie, o->cap_sockets);
    while (o->socket[i].cookie && o->socket[i].cookie != cookie)
        i = (i + 1) & (o->cap_sockets - 1);
    return &o->socket[i];
}

static struct owners_socket *find_socket(const struct owners *o, uint64_t cookie)
{
    struct owners_socket *s = o->cap_sockets ? socket_at(o, cookie) : NULL;
    return s && s->cookie ? s : NULL;
}

static struct owners_socket *add_socket(struct owners *o, uint64_t cookie)
{
    if (2 * (o->n_sockets + 1) > o->cap_sockets) {
        struct owners more = {.cap_sockets = o->cap_sockets ? 2 * o->cap_sockets : SIZE_FIRST};
        more.socket = calloc(more.cap_sockets, sizeof(*more.socket));
        if (!more.socket)
            return NULL;
        for (size_t i = 0; i < o->cap_sockets; i++) {
            if (o->socket[i].cookie)
                *socket_at(&more, o->socket[i].cookie) = o->socket[i];
        }
        free(o->socket);
        o->socket = more.socket;
        o->cap_sockets = more.cap_sockets;
    }
    struct owners_socket *s = socket_at(o, cookie);
    *s = (struct owners_socket){.cookie = cookie, .owner = OWNER_NONE};
    o->n_sockets++;
    return s;
}

/* Moves up sockets that stood further back because this place was taken. */
static void drop_socket(struct owners *o, struct owners_socket *s)
{
    size_t i = (size_t)(s - o->socket);
    s->cookie = 0;
    o->n_sockets--;
    for (;;) {
        i = (i + 1) & (o->cap_sockets - 1);
        struct owners_socket moved = o->socket[i];
        if (!moved.cookie)
            return;
        o->socket[i].cookie = 0;
        *socket_at(o, moved.cookie) = moved;
    }
}

static void count_growth(struct owners *o, struct owners_socket *s, const struct diag_socket *now, bool counts)
{
    uint64_t sent = now->sent > s->sent ? now->sent - s->sent : 0;
    uint64_t received = now->received > s->received ? now->received - s->received : 0;
    s->sent += sent;
    s->received += received;
    if (!counts)
        return;
    o->sent += sent;
    o->received += received;
    if (s->owner >= o->n) /* it has ended */
        return;
    o->at[s->owner].sent += sent;
    o->at[s->owner].received += received;
}

void owners_ended(struct owners *o, const struct diag_socket *now)
{
    struct owners_socket *s = find_socket(o, now->cookie);
    bool is_known = s && s->owner != OWNER_UNSURE;
    if (!now->has_bytes)
        return;
    if (is_known && s->owner != OWNER_FOREIGN)
        count_growth(o, s, now, true);
    if (s)
        drop_socket(o, s);
    if (is_known)
        return;
    struct listener *l = listeners_find(o->listeners, now);
    if (l) {
        o->sent += now->sent;
        o->received += now->received;
        l->now.sent += now->sent;
        l->now.received += now->received;
        l->now.until_ns = o->ends_ns;
        return;
    }
    o->unattributed_sent += now->sent;
    o->unattributed_received += now->received;
    o->is_bound = o->is_bound || now->sent || now->received;
}

/* ---- a reading ---- */

static int by_start(const void *a, const void *b)
{
    const struct owner *one = a, *other = b;
    if (one->key.start != other->key.start)
        return one->key.start < other->key.start ? -1 : 1;
    return (one->key.pid > other->key.pid) - (one->key.pid < other->key.pid);
}

static struct owner begin_owner(const struct owner_asked *a)
{
    return (struct owner){.key = a->key,
                          .sent = a->sent,
                          .received = a->received,
                          .parent = a->parent,
                          .forks = a->forks,
                          .is_blind = a->is_blind,
                          .is_new = true,
                          .has_forked = a->forks > 0};
}

static void continue_owner(struct owner *o, const struct owner *before)
{
    o->sent = before->sent;
    o->received = before->received;
    o->is_new = false;
    o->has_forked = o->forks != before->forks;
    o->is_short = before->is_short;
    o->shared = before->shared;
}

/* Separates the unsettled connections: this reading settles those that were reported before known_ns, up to
 * which it knows the forks, and a later reading settles the others. */
static void part_unsettled(struct owners *o)
{
    for (size_t i = 0; i < o->listeners->n; i++) {
        struct listener *l = &o->listeners->at[i];
        if (listeners_unsettled(&l->before) || l->now.until_ns > o->known_ns)
            continue;
        l->before = l->now;
        l->now = (struct unsettled){0};
    }
}

int owners_begin(struct owners *o, const struct owner_asked *asked, size_t n)
{
    o->is_bound = o->is_bound || n > OWNERS_MOST;
    n = n < OWNERS_MOST ? n : OWNERS_MOST;
    for (size_t i = 0; i < n; i++)
        o->next[i] = begin_owner(&asked[i]);
    qsort(o->next, n, sizeof(*o->next), by_start);
    for (size_t old = 0, new = 0; old < o->n; old++) {
        while (new < n && by_start(&o->next[new], &o->at[old]) < 0)
            new ++;
        bool is_there = new < n &&by_start(&o->next[new], &o->at[old]) == 0;
        o->moved_to[old] = is_there ? (uint32_t) new : OWNER_NONE;
        if (is_there)
            continue_owner(&o->next[new], &o->at[old]);
    }
    for (size_t i = 0; i < o->cap_sockets; i++) {
        if (o->socket[i].cookie && o->socket[i].owner < OWNER_SHARED)
            o->socket[i].owner = o->moved_to[o->socket[i].owner];
    }
    listeners_move(o->listeners, o->moved_to);
    part_unsettled(o);
    struct owner *swap = o->at;
    o->at = o->next;
    o->next = swap;
    o->n = n;
    holders_clear(&o->holders);
    o->reading++;
    return 0;
}

int owners_hold(struct owners *o, size_t owner, uint32_t inode)
{
    return holders_add(&o->holders, (uint32_t)owner, inode);
}

static uint64_t bit_of(const struct listener *l)
{
    return UINT64_C(1) << l->cookie % 64;
}

static void note_listener(struct owners *o, const struct diag_socket *now, const struct held *held)
{
    bool is_shared = held && holders_are_several(&o->holders, held);
    listeners_note(o->listeners, now, is_shared ? OWNER_SHARED : held ? held->first : OWNER_FOREIGN, o->reading);
    for (size_t i = is_shared ? held->last : 0; i; i = o->holders.at[i - 1].next)
        o->at[o->holders.at[i - 1].owner].shared |= UINT64_C(1) << now->cookie % 64;
}

/* Notes a foreign socket: its bytes so far are not the job's, even if a process of the job has it open later. */
static void see_foreign(const struct owners *o, struct owners_socket *s, const struct diag_socket *now, bool is_new)
{
    s->owner = is_new || o->unsure ? OWNER_UNSURE : OWNER_FOREIGN;
    s->sent = now->sent;
    s->received = now->received;
}

int owners_socket(struct owners *o, const struct diag_socket *now)
{
    const struct held *held = holders_find(&o->holders, now->inode);
    bool is_held = held;
    struct owners_socket *s = find_socket(o, now->cookie);
    bool is_new = !s;
    if (now->state == TCP_LISTEN)
        note_listener(o, now, held);
    if (!s && !is_held && !now->inode)
        return 0; /* it was not accepted yet */
    if (!s)
        s = add_socket(o, now->cookie);
    if (!s)
        return -ENOMEM;
    s->reading = o->reading;
    if (!is_held && (is_new || is_foreign(s))) {
        see_foreign(o, s, now, is_new);
        return 0;
    }
    o->any |= is_held;
    if (is_held && s->owner == OWNER_UNSURE)
        s->sent = s->received = 0; /* it was the job's from its beginning */
    if (is_held)
        s->owner = held->first;
    if (now->has_bytes) /* a socket that a process outside of the job holds is not counted further */
        count_growth(o, s, now, (is_held || !now->inode) && !(is_new && o->base));
    if (!is_held)
        return 0;
    o->at[s->owner].listening += now->state == TCP_LISTEN;
    o->at[s->owner].connections += now->state == TCP_ESTABLISHED || now->state == TCP_CLOSE_WAIT ||
                                   now->state == TCP_FIN_WAIT1 || now->state == TCP_FIN_WAIT2;
    return 0;
}

/* ---- connections that were not seen ---- */

static bool may_have_held(const struct owners *o, const struct owner *one, const struct listener *l)
{
    size_t i = (size_t)(one - o->at);
    if (i == l->owner || i == l->owner_before || one->shared & bit_of(l))
        return true;
    const struct baro_key parent = one->is_new ? one->parent : (struct baro_key){0};
    return (l->owner < o->n && baro_key_equal(parent, o->at[l->owner].key)) ||
           (l->owner_before < o->n && baro_key_equal(parent, o->at[l->owner_before].key));
}

static void each_that_may_have(struct owners *o, const struct listener *l, bool is_settled)
{
    const struct listener *same = NULL;
    while ((same = listeners_same(o->listeners, l, same))) {
        for (size_t i = 0; i < o->n; i++) {
            bool may = may_have_held(o, &o->at[i], same);
            o->at[i].is_short |= may && is_settled;
            o->at[i].is_unsettled |= may && !is_settled;
        }
    }
}

static bool may_have_forked(const struct owner *one)
{
    return one->has_forked || (one->is_blind && one->absent == BARO_ABSENT_GONE);
}

/* Those that held it at the last reading and at this one are known. */
static void settle_one(struct owners *o, const struct listener *l, struct unsettled *u)
{
    if (!listeners_unsettled(u))
        return;
    uint32_t holder = listeners_holder(o->listeners, l);
    u->is_nobodys |= holder >= o->n || may_have_forked(&o->at[holder]);
    if (u->is_nobodys)
        each_that_may_have(o, l, true);
    if (u->until_ns > o->known_ns) {
        each_that_may_have(o, l, false);
        return;
    }
    if (!u->is_nobodys) {
        o->at[holder].sent += u->sent;
        o->at[holder].received += u->received;
    }
    *u = (struct unsettled){0};
}

static void settle(struct owners *o)
{
    for (size_t i = 0; i < o->n; i++)
        o->at[i].is_unsettled = false;
    for (size_t i = 0; i < o->listeners->n; i++) {
        struct listener *l = &o->listeners->at[i];
        settle_one(o, l, &l->before);
        settle_one(o, l, &l->now);
    }
}

void owners_end(struct owners *o)
{
    settle(o);
    uint32_t most = o->ends_known ? UNSEEN_MOST : 0;
    o->base = false;
    for (size_t i = 0; i < o->cap_sockets;) {
        struct owners_socket *s = &o->socket[i];
        if (!s->cookie || o->reading - s->reading <= most) {
            i++;
            continue;
        }
        o->is_bound |= !is_foreign(s); /* what it did after its last reading is not known */
        drop_socket(o, s);             /* another socket may have its place now */
    }
    listeners_keep(o->listeners, o->reading);
}

size_t owners_pending(const struct owners *o)
{
    size_t n = 0;
    for (size_t i = 0; i < o->cap_sockets; i++)
        n += o->socket[i].cookie && o->socket[i].reading != o->reading && !is_foreign(&o->socket[i]);
    return n;
}

void owners_look(struct owners *o)
{
    settle(o);
    for (size_t i = 0; i < o->n; i++)
        o->at[i].whole = o->ends_known && !o->at[i].is_unsettled;
    for (size_t i = 0; i < o->cap_sockets; i++) {
        if (o->socket[i].cookie && o->socket[i].owner < o->n)
            o->at[o->socket[i].owner].whole = false;
    }
}
