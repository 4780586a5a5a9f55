/* SPDX-License-Identifier: Apache-2.0 */
/* Which recorders an event is sent to, and when. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "record/share_state.h"

#define FLUSH_AFTER (100 * NS_PER_MS) /* a recorder that needs them earlier asks */
#define RETRY_AFTER (20 * NS_PER_MS)  /* its socket was full */
#define FULL (24u << 10)              /* bytes that are worth a message */

/* ---- queues ---- */

static size_t kept_of(const struct share *s, uint32_t uid)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->n; i++)
        bytes += s->at[i]->uid == uid ? s->at[i]->usage.cap + s->at[i]->forks.cap : 0;
    return bytes;
}

static bool reserve(const struct share *s, uint32_t uid, struct share_queue *q)
{
    if (q->cap - q->len >= SHARE_EVENT_MOST)
        return true;
    size_t cap = q->cap ? q->cap * 2 : 4096;
    bool room = cap <= SHARE_QUEUE_MOST && (uid == 0 || kept_of(s, uid) + cap <= SHARE_QUEUES_OF_USER);
    unsigned char *grown = room ? realloc(q->at, cap) : NULL;
    if (!grown)
        return false;
    q->at = grown;
    q->cap = cap;
    return true;
}

/* The recorder has to name its processes again: what they forked meanwhile it was not told. */
static void lose(struct share *s, struct share_client *c, uint64_t times)
{
    c->lost += times;
    c->forks.len = c->usage.len = 0;
    share_forget_all(s, c);
    c->oldest_ns = 1;
    s->due_ns = 0;
}

static void put(struct share *s, struct share_client *c, struct share_queue *q, const struct exits_event *e)
{
    struct exits_event out = *e;
    if (c->lost)
        return; /* until it was told */
    if (!reserve(s, c->uid, q)) {
        lose(s, c, 1);
        return;
    }
    out.of_usage = q == &c->usage;
    if (out.has_io && c->uid && out.uid != c->uid) { /* ended as another user's */
        out.has_io = false;
        out.io_read = out.io_write = out.io_rchar = out.io_wchar = 0;
    }
    q->len += share_event_encode(&out, q->at + q->len);
    if (!c->oldest_ns)
        c->oldest_ns = clock_monotonic_ns();
    uint64_t due = q->len >= FULL ? 0 : c->oldest_ns + FLUSH_AFTER;
    s->due_ns = due < s->due_ns ? due : s->due_ns;
}

/* ---- events ---- */

void share_forget_older(struct share *s, int32_t pid, uint64_t began_ns)
{
    for (struct share_entry *e = share_table_first(&s->table, pid), *next; e; e = next) {
        next = share_table_next(e);
        if (e->since_ns + SHARE_SLACK < began_ns)
            share_forget(s, e->client, e);
    }
}

static void on_fork(struct share *s, const struct exits_event *e, const struct exits_event *stashed)
{
    share_forget_older(s, e->pid, e->t_ns);
    share_table_make_room(&s->table);
    for (struct share_entry *p = share_table_first(&s->table, e->ppid), *next; p; p = next) {
        struct share_client *c = p->client;
        const bool foreign = p->foreign;
        next = share_table_next(p); /* of another recorder: it stays when the events of this one are lost */
        if (e->t_ns + SHARE_SLACK < p->since_ns)
            continue;
        struct share_entry *own = share_table_find(&s->table, e->pid, c);
        bool room = own || (c->n_entries < SHARE_PIDS_OF_CLIENT && s->table.n < SHARE_PIDS_IN_ALL &&
                            share_table_add(&s->table, e->pid, e->t_ns, c, &c->entries));
        if (!room) {
            c->over = true;
            continue;
        }
        c->n_entries += !own;
        put(s, c, &c->forks, e);
        own = share_table_find(&s->table, e->pid, c);
        if (own)
            own->foreign = foreign;
        own = stashed ? share_table_find(&s->table, e->pid, c) : NULL;
        if (own) {
            own->counted = true;
            put(s, c, &c->usage, stashed);
        }
    }
}

static void on_uid(struct share *s, const struct exits_event *e)
{
    for (struct share_entry *p = share_table_first(&s->table, e->pid); p; p = share_table_next(p))
        p->foreign = p->client->uid && e->uid != p->client->uid;
}

/* A process is forgotten when both its exit and what it had used were reported. */
static void on_other(struct share *s, const struct exits_event *e)
{
    for (struct share_entry *p = share_table_first(&s->table, e->pid), *next; p; p = next) {
        next = share_table_next(p);
        struct share_client *c = p->client;
        if (e->t_ns + SHARE_SLACK < p->since_ns)
            continue;
        struct exits_event out = *e;
        out.has_status &= !p->foreign; /* /proc does not show it either */
        p->ended |= e->kind == EVENT_EXIT;
        if (p->ended && (p->counted || !s->has_usage))
            share_forget(s, c, p);
        put(s, c, &c->forks, &out);
    }
}

void share_forks(struct share *s, const struct exits_event *e, const struct exits_event *stashed)
{
    if (!s)
        return;
    if (e->t_ns >= s->read_ns) /* a request that was sent before this event may be waiting */
        share_read(s);
    for (size_t i = 0; e->kind == EVENT_LOST && i < s->n; i++)
        lose(s, s->at[i], e->count);
    s->lost |= e->kind == EVENT_LOST;
    if (e->kind == EVENT_FORK)
        on_fork(s, e, stashed);
    else if (e->kind == EVENT_UID)
        on_uid(s, e);
    else if (e->kind != EVENT_LOST)
        on_other(s, e);
}

void share_drained(struct share *s)
{
    for (size_t i = 0; s && s->lost && i < s->n; i++) {
        if (!s->at[i]->lost)
            lose(s, s->at[i], 1);
    }
    if (s)
        s->lost = false;
}

static void lose_usage(struct share *s, struct share_client *c, uint64_t times)
{
    c->lost_usage += times;
    for (struct share_entry *e = c->entries, *next; e; e = next) {
        next = e->after;
        if (e->ended) /* nothing more will come */
            share_forget(s, c, e);
    }
    c->oldest_ns = c->oldest_ns ? c->oldest_ns : 1;
    s->due_ns = 0;
}

bool share_usage(struct share *s, const struct exits_event *e)
{
    bool any = false;
    if (!s)
        return false;
    for (size_t i = 0; e->kind == EVENT_LOST && i < s->n; i++)
        lose_usage(s, s->at[i], e->count);
    if (e->kind == EVENT_LOST)
        return true;
    for (struct share_entry *p = share_table_first(&s->table, e->pid), *next; p; p = next) {
        next = share_table_next(p);
        struct share_client *c = p->client;
        any = p->counted = true;
        if (p->ended)
            share_forget(s, c, p);
        put(s, c, &c->usage, e);
    }
    return any;
}

/* ---- sending ---- */

static bool send_message(struct share_client *c, const unsigned char *at, size_t len)
{
    if (send(c->fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
        return true;
    c->over |= errno != EAGAIN && errno != ENOBUFS && errno != EINTR;
    return false;
}

void share_reply(struct share *s, struct share_client *c)
{
    unsigned char head[SHARE_HEAD];
    const struct share_head h = {SHARE_DONE, c->refused, c->asked, s->has_usage ? SHARE_HAS_USAGE : 0};
    share_head_encode(&h, head);
    if (send_message(c, head, sizeof(head)))
        c->asked = c->refused = 0;
}

/* Returns false if not all of it was sent. */
static bool send_queue(struct share_client *c, struct share_queue *q)
{
    unsigned char message[SHARE_MESSAGE];
    size_t sent = 0;
    while (sent < q->len) {
        struct share_head h = {.kind = SHARE_EVENTS};
        size_t len = 0;
        for (size_t one; sent + len < q->len; len += one, h.count++) {
            one = share_event_length(q->at + sent + len);
            if (SHARE_HEAD + len + one > sizeof(message))
                break;
        }
        share_head_encode(&h, message);
        memcpy(message + SHARE_HEAD, q->at + sent, len);
        if (!send_message(c, message, SHARE_HEAD + len))
            break;
        sent += len;
    }
    q->len -= sent;
    memmove(q->at, q->at + sent, q->len);
    return q->len == 0;
}

static bool send_lost(struct share_client *c, uint64_t *count, bool of_usage)
{
    unsigned char message[SHARE_HEAD + SHARE_EVENT_MOST];
    const struct share_head h = {SHARE_EVENTS, 1, 0, 0};
    const struct exits_event e = {.kind = EVENT_LOST, .t_ns = clock_monotonic_ns(), .uid = UINT32_MAX,
                                  .count = *count, .of_usage = of_usage};
    if (!*count)
        return true;
    share_head_encode(&h, message);
    if (!send_message(c, message, SHARE_HEAD + share_event_encode(&e, message + SHARE_HEAD)))
        return false;
    *count = 0;
    return true;
}

static void flush(struct share *s, struct share_client *c)
{
    bool done = send_lost(c, &c->lost_usage, true) && (!c->usage.len || send_queue(c, &c->usage)) &&
                send_lost(c, &c->lost, false) && (!c->forks.len || send_queue(c, &c->forks));
    if (done && c->asked)
        share_reply(s, c);
    if (done && !c->asked)
        c->oldest_ns = 0;
}

/* When it is to be flushed. */
static uint64_t due_of(const struct share_client *c)
{
    bool full = c->forks.len >= FULL || c->usage.len >= FULL || c->lost || c->lost_usage || c->asked || c->over;
    return full ? 0 : c->oldest_ns ? c->oldest_ns + FLUSH_AFTER : UINT64_MAX;
}

void share_flush(struct share *s)
{
    uint64_t now = s ? clock_monotonic_ns() : 0, due = UINT64_MAX;
    bool over = false;
    for (size_t i = 0; s && i < s->n; i++) {
        struct share_client *c = s->at[i];
        if (due_of(c) <= now && !c->over)
            flush(s, c);
        over |= c->over;
        uint64_t next = due_of(c) <= now ? now + RETRY_AFTER : due_of(c);
        due = next < due ? next : due;
    }
    if (over)
        share_drop(s);
    if (s)
        s->due_ns = due;
}
