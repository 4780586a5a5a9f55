/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event source of an observer, used by another recorder (share_wire.h has the messages, record/share.c the
 * observer's side). It costs a recorder a message now and then, whatever the machine forks, and gives an ordinary user
 * what only root can hear: what each process of his job had used when it ended.
 *
 * The observer sends what ended processes had used before it sends their exits, so that a drain that reads an exit has
 * the usage as well. One that does not reply in time is given up.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "exits/share_wire.h"
#include "exits/source.h"

#define DEFAULT_PATH "/run/barograph/events"
#define LOOK_AFTER_NS (100 * NS_PER_MS)
#define SOON_LEAST (20 * NS_PER_MS)
#define SOON_MOST NS_PER_SEC
#define MESSAGES_PER_DRAIN 256u
#define CAPACITY 4096u /* events that the observer keeps for a recorder that does not read */

struct observed {
    struct exits_source base;
    uint64_t asked, done; /* numbers of the last request and of the last reply */
    uint64_t asked_ns;    /* since then a reply is outstanding */
    uint64_t took_ns;     /* the last reply */
    bool has_usage, over;
    unsigned char text[SHARE_MESSAGE];
};

const char *exits_observer_path(void)
{
    const char *path = getenv("BARO_OBSERVER");
    return path ? path : DEFAULT_PATH;
}

/* ---- requests ---- */

static int ask(int fd, uint64_t number, bool self, const struct exits_pid *pids, size_t n)
{
    unsigned char text[SHARE_HEAD + SHARE_PID * SHARE_PIDS_MOST];
    const struct exits_pid own = {0};
    const struct share_head h = {SHARE_FOLLOW, (uint32_t)(n + self), number, 0};
    size_t len = SHARE_HEAD;
    share_head_encode(&h, text);
    for (size_t i = 0; i < n + self; i++, len += SHARE_PID)
        share_pid_encode(i < n ? &pids[i] : &own, text + len);
    return send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len ? 0 : -errno;
}

/* Only root's observer, or one of this user, is believed. */
static bool is_trusted(int fd)
{
    struct ucred c;
    socklen_t len = sizeof(c);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) == 0 && (c.uid == 0 || c.uid == geteuid());
}

static int connect_to(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof(a.sun_path))
        return -ENOENT;
    memcpy(a.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int code = connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : is_trusted(fd) ? 0 : -EPERM;
    if (code == 0)
        return fd;
    fd_close(fd);
    return code;
}

int exits_observer_connect(bool self, struct baro_error *err)
{
    const char *path = exits_observer_path();
    int fd = connect_to(path), code = fd < 0 ? fd : ask(fd, 1, self, NULL, 0);
    if (code >= 0)
        return fd;
    fd_close(fd);
    if (!*path)
        return error_set(err, code, "BARO_OBSERVER is empty: no observer is used");
    return error_set(err, code, "no baro observe of root shares its events (%s): %s", path, strerror(-code));
}

static void request(struct observed *o, bool self, const struct exits_pid *pids, size_t n)
{
    if (o->done == o->asked)
        o->asked_ns = clock_monotonic_ns();
    o->over = ask(o->base.fd, ++o->asked, self, pids, n) < 0;
}

void exits_observer_follow(struct exits_source *s, bool self, const struct exits_pid *pids, size_t n)
{
    struct observed *o = (struct observed *)s;
    while ((n || self) && !o->over) {
        size_t some = n < SHARE_PIDS_MOST - 1 ? n : SHARE_PIDS_MOST - 1;
        request(o, self, pids, some);
        self = false;
        pids += some;
        n -= some;
    }
}

/* ---- events ---- */

static int take_message(struct observed *o, struct span message, exits_event_fn *fn, void *context)
{
    struct share_head h;
    struct exits_event e;
    int events = 0;
    if (!share_head_decode(&message, &h)) {
        o->over = true;
        return 0;
    }
    if (h.kind == SHARE_DONE) {
        o->done = h.number;
        o->took_ns = clock_monotonic_ns() - o->asked_ns;
        o->has_usage = h.flags & SHARE_HAS_USAGE;
        o->over |= h.count > 0;
    }
    while (h.kind == SHARE_EVENTS && fn && share_event_decode(&message, &e)) {
        fn(context, &e);
        events++;
    }
    o->over |= h.kind == SHARE_EVENTS && fn && (uint32_t)events != h.count;
    return events;
}

static ssize_t receive(struct observed *o)
{
    ssize_t n;
    do
        n = recv(o->base.fd, o->text, sizeof(o->text), MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    o->over |= n == 0 || (n < 0 && errno != EAGAIN);
    return n;
}

static int observer_drain(struct exits_source *s, exits_event_fn *fn, void *context)
{
    struct observed *o = (struct observed *)s;
    ssize_t n;
    int events = 0;
    for (unsigned i = 0; i < MESSAGES_PER_DRAIN && !o->over && (n = receive(o)) > 0; i++)
        events += take_message(o, span_of(o->text, (size_t)n), fn, context);
    return events;
}

/* Waits until a message can be read. Returns false if none came in time. */
static bool await_message(struct observed *o, uint64_t until_ns)
{
    struct pollfd p = {.fd = o->base.fd, .events = POLLIN};
    uint64_t now;
    int n;
    do {
        now = clock_monotonic_ns();
        n = poll(&p, 1, now < until_ns ? (int)((until_ns - now) / NS_PER_MS) + 1 : 0);
    } while (n <= 0 && now < until_ns && (n == 0 || errno == EINTR));
    return n > 0;
}

static int sync_soon(struct observed *o, uint64_t most_ns, exits_event_fn *fn, void *context)
{
    uint64_t now = clock_monotonic_ns(), wait = 2 * o->took_ns;
    int events = observer_drain(&o->base, fn, context);
    if (o->done == o->asked && !o->over) {
        request(o, false, NULL, 0);
        wait = wait < SOON_LEAST ? SOON_LEAST : wait > SOON_MOST ? SOON_MOST : wait;
        while (!o->over && o->done != o->asked && await_message(o, now + wait))
            events += observer_drain(&o->base, fn, context);
    }
    o->over |= o->done != o->asked && clock_monotonic_ns() > o->asked_ns + most_ns;
    return events;
}

int exits_observer_sync(struct exits_source *s, const struct exits_patience *p, exits_event_fn *fn, void *context)
{
    struct observed *o = (struct observed *)s;
    uint64_t now = clock_monotonic_ns(), until = now + p->most_ns;
    int events = 0;
    if (o->over)
        return observer_drain(s, fn, context);
    if (p->soon)
        return sync_soon(o, p->most_ns, fn, context);
    request(o, false, NULL, 0);
    while (!o->over && o->done != o->asked) {
        if (await_message(o, until < now + LOOK_AFTER_NS ? until : now + LOOK_AFTER_NS)) {
            events += observer_drain(s, fn, context);
            continue;
        }
        now = clock_monotonic_ns();
        o->over = now >= until;
        if (p->pid && until > now + p->at_end_ns && kill(p->pid, 0) < 0 && errno == ESRCH)
            until = now + p->at_end_ns;
    }
    return events;
}

/* ---- life ---- */

bool exits_observer_has_usage(const struct exits_source *s)
{
    return ((const struct observed *)s)->has_usage;
}

bool exits_observer_owes(const struct exits_source *s)
{
    const struct observed *o = (const struct observed *)s;
    return o->done != o->asked && !o->over;
}

bool exits_observer_is_over(const struct exits_source *s)
{
    return ((const struct observed *)s)->over;
}

static uint64_t observer_capacity(const struct exits_source *s)
{
    (void)s;
    return CAPACITY;
}

static uint64_t observer_memory(const struct exits_source *s)
{
    (void)s;
    return 0;
}

static void observer_close(struct exits_source *s)
{
    shutdown(s->fd, SHUT_RDWR); /* a helper process may have the descriptor as well */
    free(s);
}

int exits_observer_take(struct exits_source **ret, int fd)
{
    struct observed *o = calloc(1, sizeof(*o));
    if (!o) {
        fd_close(fd);
        return -ENOMEM;
    }
    o->base = (struct exits_source){EXITS_OBSERVER,  fd, observer_drain, observer_capacity, observer_memory,
                                    observer_close, 0, false};
    o->asked = 1;
    o->asked_ns = clock_monotonic_ns();
    *ret = &o->base;
    return 0;
}

int exits_observer_await(struct exits_source *s, uint64_t most_ns)
{
    struct observed *o = (struct observed *)s;
    ssize_t n = o->done || o->over || !await_message(o, clock_monotonic_ns() + most_ns) ? 0 : receive(o);
    if (n > 0)
        take_message(o, span_of(o->text, (size_t)n), NULL, NULL);
    return o->over ? -ECONNREFUSED : o->done ? 0 : -EAGAIN;
}
