/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the helper process: a queue of requests, answered in order; helpers that come and go.
 *
 * The key of the request at which a helper hung is barred, and the other unanswered requests go to a new helper.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "recorder/helper/wire.h"

#define STUCK_AFTER NS_PER_SEC
#define BARRED_MAX 256u

struct pending {
    struct helper_request request;
    uint8_t failed; /* enum baro_absent: answered with this and never sent */
};

struct helper {
    struct worker *worker;
    struct helper_setup setup;

    struct pending *queue; /* [first, n) is unanswered, [first, sent) was sent */
    size_t first, sent, n, cap;
    uint64_t serial; /* of queue[0] */

    struct baro_key barred[BARRED_MAX];
    size_t n_barred;

    unsigned char packet[HELPER_PACKET_BYTES];
};

int helper_new(struct helper **ret, int root_fd, bool want_cmdline, struct baro_error *err)
{
    struct helper *h = calloc(1, sizeof(*h));
    if (!h)
        return error_set(err, -ENOMEM, "out of memory");
    h->setup = (struct helper_setup){{root_fd, -1}, want_cmdline};
    h->serial = 1;
    const struct worker_options o = {.shared_bytes = sizeof(struct helper_progress),
                                     .stuck_after_ns = STUCK_AFTER,
                                     .live = helper_live,
                                     .context = &h->setup,
                                     .kept = h->setup.kept,
                                     .n_kept = 2};
    int code = worker_new(&h->worker, &o, err);
    *ret = code < 0 ? NULL : h;
    if (code < 0)
        free(h);
    return code;
}

void helper_use_sys(struct helper *h, int sys_fd)
{
    h->setup.kept[1] = sys_fd;
}

/* Drops a request. If it was sent, it keeps its place in the queue, because the helper answers in order. If not, it
 * counts as answered. */
static void drop_request(struct helper *h, struct pending *p)
{
    p->request.what = 0;
    p->request.path = NULL;
    if (p >= h->queue + h->sent && !p->failed)
        p->failed = BARO_ABSENT_UNKNOWN;
}

void helper_forget(struct helper *h, const void *context)
{
    for (size_t i = h->first; i < h->n; i++) {
        if (h->queue[i].request.context == context)
            drop_request(h, &h->queue[i]);
    }
}

/* The requests that were sent and not answered are sent to the next helper, except those that were dropped. */
static void close_helper(struct helper *h)
{
    worker_kill(h->worker);
    h->sent = h->first;
    for (size_t i = h->first; i < h->n; i++) {
        if (!h->queue[i].request.what)
            drop_request(h, &h->queue[i]);
    }
}

void helper_start(struct helper *h)
{
    worker_start(h->worker); /* if no helper can be started, the first request will say so */
}

/* ---- the queue ---- */

static bool barred(const struct helper *h, struct baro_key key)
{
    size_t n = h->n_barred < BARRED_MAX ? h->n_barred : BARRED_MAX;
    for (size_t i = 0; i < n; i++) {
        if (baro_key_equal(h->barred[i], key))
            return true;
    }
    return false;
}

static int enqueue(struct helper *h, const struct helper_request *requests, size_t n)
{
    if (h->first == h->n) {
        h->serial += h->n;
        h->first = h->sent = h->n = 0;
    }
    if (array_reserve(&h->queue, h->n + n, &h->cap, sizeof(*h->queue)) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint8_t failed = barred(h, requests[i].key) ? BARO_ABSENT_TIMEOUT : BARO_PRESENT;
        if (requests[i].path && strlen(requests[i].path) >= HELPER_PATH_MAX)
            failed = BARO_ABSENT_UNKNOWN;
        h->queue[h->n++] = (struct pending){requests[i], failed};
    }
    return 0;
}

static void deliver(struct helper *h, struct helper_reply *reply, helper_reply_fn *fn, void *context)
{
    const struct pending *p = &h->queue[h->first++];
    reply->key = p->request.key;
    reply->what = p->request.what;
    if (h->sent < h->first)
        h->sent = h->first;
    if (!reply->what)
        return;
    if (p->request.fn)
        p->request.fn(p->request.context, reply);
    else
        fn(context, reply);
}

/* Answers the requests at the head that no helper will answer. */
static int deliver_failed(struct helper *h, helper_reply_fn *fn, void *context)
{
    int n = 0;
    while (h->first < h->n && h->queue[h->first].failed) {
        uint8_t why = h->queue[h->first].failed;
        struct helper_reply reply = {
            .smaps_absent = why, .name_absent = why, .cmdline_absent = why, .host_absent = why};
        deliver(h, &reply, fn, context);
        n++;
    }
    return n;
}

static void fail_all(struct helper *h, enum baro_absent why)
{
    for (size_t i = h->first; i < h->n; i++) {
        if (!h->queue[i].failed)
            h->queue[i].failed = (uint8_t)why;
    }
}

/* The helper hangs or was killed. Answers the request that it was working on with a reason for absence, so that the
 * next helper goes on with the request after it. */
static void fail_current(struct helper *h, enum baro_absent why)
{
    const struct helper_progress *progress = worker_shared(h->worker);
    uint64_t serial = atomic_load(&progress->serial);
    size_t i = serial >= h->serial + h->first && serial < h->serial + h->sent ? (size_t)(serial - h->serial) : h->first;
    if (i >= h->n)
        return;
    h->queue[i].failed = (uint8_t)why;
    if (why == BARO_ABSENT_TIMEOUT)
        h->barred[h->n_barred++ % BARRED_MAX] = h->queue[i].request.key;
}

/* ---- packets ---- */

/* Returns how many bytes the request takes; 0 if there is no room for them. */
static size_t put_request(unsigned char *out, size_t room, uint64_t serial, const struct helper_request *r)
{
    size_t path = r->path ? strlen(r->path) + 1 : 0, padded = (path + 7) & ~(size_t)7;
    struct helper_wire_request w = {.serial = serial, .key = r->key, .what = r->what, .path_len = (uint32_t)path};
    if (sizeof(w) + padded > room)
        return 0;
    memcpy(out, &w, sizeof(w));
    if (path)
        memcpy(out + sizeof(w), r->path, path);
    return sizeof(w) + padded;
}

/* Returns 0, or -EPIPE if the helper is gone. */
static int send_more(struct helper *h)
{
    _Alignas(8) unsigned char out[HELPER_REQUESTS_BYTES];
    while (h->sent < h->n) {
        size_t n = 0, at = h->sent, used = 1;
        for (; at < h->n && used; at++) {
            const struct pending *p = &h->queue[at];
            used = p->failed ? 1 : put_request(out + n, sizeof(out) - n, h->serial + at, &p->request);
            if (!used)
                break;
            n += p->failed ? 0 : used;
        }
        if (n && send(worker_fd(h->worker), out, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -EPIPE;
        h->sent = at;
    }
    return 0;
}

/* *ret_sound: the packet has only replies to requests that were sent, in their order. */
static int take_packet(struct helper *h, size_t len, bool *ret_sound, helper_reply_fn *fn, void *context)
{
    const unsigned char *at = h->packet;
    struct helper_reply reply;
    uint64_t serial;
    int n = 0;
    *ret_sound = true;
    while (len && *ret_sound) {
        n += deliver_failed(h, fn, context);
        *ret_sound =
            h->first < h->sent && helper_wire_next(&at, &len, &serial, &reply) && serial == h->serial + h->first;
        if (*ret_sound) {
            deliver(h, &reply, fn, context);
            n++;
        }
    }
    return n;
}

/* Returns the number of replies delivered; *ret_gone tells whether the helper has ended, or has to: what it sends is
 * damaged, and what it would send next can't be told to belong to any request. */
static int receive_all(struct helper *h, bool *ret_gone, helper_reply_fn *fn, void *context)
{
    int delivered = 0;
    unsigned tries = 0;
    *ret_gone = false;
    for (;;) {
        ssize_t n = recv(worker_fd(h->worker), h->packet, sizeof(h->packet), MSG_DONTWAIT);
        bool sound = true;
        if (n > 0)
            delivered += take_packet(h, (size_t)n, &sound, fn, context);
        if (!sound) {
            *ret_gone = true;
            return delivered;
        }
        if (n > 0 || (n < 0 && fd_again(&tries)))
            continue;
        *ret_gone = n == 0 || errno != EAGAIN;
        return delivered;
    }
}

/* Does one round: sends and receives everything that is possible without waiting. Returns how many replies were
 * delivered. */
static int exchange_packets(struct helper *h, helper_reply_fn *fn, void *context)
{
    bool gone = false;
    int n = deliver_failed(h, fn, context);
    if (h->first == h->n)
        return n;
    int code = worker_start(h->worker);
    if (code < 0) {
        fail_all(h, code == -EBUSY ? BARO_ABSENT_TIMEOUT : code == -EAGAIN ? BARO_ABSENT_NOT_YET : BARO_ABSENT_UNKNOWN);
        return n + deliver_failed(h, fn, context);
    }
    bool full = send_more(h) < 0;
    n += receive_all(h, &gone, fn, context);
    if (h->first < h->n && (gone || full || !worker_patience(h->worker))) {
        fail_current(h, gone || full ? BARO_ABSENT_UNKNOWN : BARO_ABSENT_TIMEOUT);
        close_helper(h);
    } else if (gone) {
        close_helper(h);
    }
    return n + deliver_failed(h, fn, context);
}

/* Waits for the helper. Returns true if wake_fd is readable, so the caller has other work. */
static bool wait_for(struct helper *h, uint64_t ns, int wake_fd)
{
    struct pollfd p[] = {{.fd = worker_fd(h->worker), .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    uint64_t most = worker_patience(h->worker);
    if (ns > most)
        ns = most;
    struct timespec t = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};
    return ppoll(p, 2, &t, NULL) > 0 && p[1].revents;
}

int helper_ask(struct helper *h, const struct helper_request *requests, size_t n, uint64_t deadline_ns, int wake_fd,
               helper_reply_fn *fn, void *context)
{
    uint64_t until = clock_monotonic_ns() + deadline_ns;
    int code = enqueue(h, requests, n), delivered = 0;
    if (code < 0)
        return code;
    for (;;) {
        delivered += exchange_packets(h, fn, context);
        uint64_t now = clock_monotonic_ns();
        if (h->first == h->n || now >= until)
            return delivered;
        if (worker_pid(h->worker) && wait_for(h, until - now, wake_fd))
            return delivered;
    }
}

int helper_collect(struct helper *h, helper_reply_fn *fn, void *context)
{
    int delivered = 0, n;
    do
        delivered += n = exchange_packets(h, fn, context);
    while (n > 0 && helper_busy(h));
    return delivered;
}

bool helper_busy(const struct helper *h)
{
    return h->first < h->n;
}

struct worker *helper_worker(const struct helper *h)
{
    return h ? h->worker : NULL;
}

void helper_free(struct helper *h)
{
    if (!h)
        return;
    worker_free(h->worker);
    free(h->queue);
    free(h);
}
