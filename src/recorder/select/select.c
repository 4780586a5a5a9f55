/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of selecting: starts the process that selects, sends it jobs, and reads what it reports. */
#include "recorder/select/job_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"

#define STUCK_AFTER NS_PER_SEC
#define BARRED_FIRST (60 * NS_PER_SEC) /* then twice as long, up to an hour */
#define BARRED_LONGEST (3600 * NS_PER_SEC)
#define CHANGES_MOST 4096u /* in one call: whatever that process sends, the recorder goes on */

/* A job, in the order of their ids. */
struct added {
    uint32_t id;
    bool is_sent, is_over; /* is_over: the entry is kept until the process that selects knows */
    const struct select_options *options;
    void *owner;
};

/* A process whose command is not read before due_ns: reading it hung. */
struct bar {
    struct baro_key key;
    uint64_t pause_ns, due_ns; /* due_ns: CLOCK_MONOTONIC; 0: it is read again */
};

struct selector {
    struct select_setup setup;
    struct added *jobs;
    size_t n_jobs, cap_jobs;
    uint32_t last_id;
    bool all_sent;
    struct buf bytes; /* of the job that is being sent */
    struct worker *worker;
    struct select_shared *shared;
    int kept[2]; /* directory descriptors of /proc and "/" */
    struct bar bar[SELECT_BARRED_MOST];
    size_t n_bars;
    struct baro_key hung; /* at which a process hung last */
};

/* ---- orders ---- */

static int send_order(const struct selector *s, const struct select_order *order, int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)order, sizeof(*order)};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = &control;
        m.msg_controllen = sizeof(control);
        control.header =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    }
    return sendmsg(worker_fd(s->worker), &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Sends a job. Its bytes are in a file in memory, so the size of the socket's buffer does not matter. */
static int send_job(struct selector *s, const struct added *a)
{
    const struct select_order order = {.job = a->id};
    buf_clear(&s->bytes);
    select_job_encode(&s->bytes, a->options);
    int fd = s->bytes.failed ? -1 : memfd_create("baro-job", MFD_CLOEXEC);
    if (fd < 0)
        return -ENOMEM;
    int code = fd_write_all(fd, s->bytes.at, s->bytes.len, NULL);
    code = code < 0 ? code : send_order(s, &order, fd);
    fd_close(fd);
    return code;
}

/* Sends the orders that wait. An order that the socket does not accept now is sent in a later turn. */
static void send_orders(struct selector *s)
{
    size_t kept = 0;
    int code = worker_fd(s->worker) < 0 ? -EPIPE : 0;
    bool all = true;
    for (size_t i = 0; !s->all_sent && i < s->n_jobs; i++) {
        struct added *a = &s->jobs[i];
        bool was_sent = a->is_sent;
        if (code == 0 && a->is_over && a->is_sent)
            code = send_order(s, &(struct select_order){a->id, true}, -1);
        else if (code == 0 && !a->is_over && !a->is_sent)
            code = send_job(s, a);
        a->is_sent = a->is_over ? a->is_sent && code < 0 : a->is_sent || code == 0;
        all = all && code == 0;
        if (!a->is_over || (was_sent && a->is_sent))
            s->jobs[kept++] = *a;
    }
    s->n_jobs = s->all_sent ? s->n_jobs : kept;
    s->all_sent = all;
}

static struct added *find_job(const struct selector *s, uint32_t id)
{
    size_t from = 0, to = s->n_jobs;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (s->jobs[mid].id < id)
            from = mid + 1;
        else
            to = mid;
    }
    return from < s->n_jobs && s->jobs[from].id == id ? &s->jobs[from] : NULL;
}

void *select_owner(const struct selector *s, uint32_t id)
{
    const struct added *a = find_job(s, id);
    return a && !a->is_over ? a->owner : NULL;
}

/* Sends all jobs to a new process, which knows none, before it is started: they are matched in its first scan. */
static void send_all_again(void *context)
{
    struct selector *s = context;
    for (size_t i = 0; i < s->n_jobs; i++)
        s->jobs[i].is_sent = false;
    s->all_sent = false;
    send_orders(s);
}

static void live(const struct worker_child *c)
{
    const struct selector *s = c->context;
    struct baro_key barred[SELECT_BARRED_MOST];
    size_t n = 0;
    for (size_t i = 0; i < s->n_bars; i++) {
        if (s->bar[i].due_ns)
            barred[n++] = s->bar[i].key;
    }
    select_child(&(struct select_child){&s->setup, c->fd, getppid(), c->shared, barred, n});
}

int select_new(struct selector **ret, const struct select_setup *setup, struct baro_error *err)
{
    struct selector *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->setup = *setup;
    s->kept[0] = setup->proc_fd;
    s->kept[1] = setup->root_fd;
    const struct worker_options o = {.name = "baro-select",
                                     .shared_bytes = sizeof(struct select_shared),
                                     .stuck_after_ns = STUCK_AFTER,
                                     .live = live,
                                     .begin = send_all_again,
                                     .context = s,
                                     .kept = s->kept,
                                     .n_kept = 2};
    int code = worker_new(&s->worker, &o, err);
    if (code < 0) {
        free(s);
        return code;
    }
    s->shared = worker_shared(s->worker);
    *ret = s;
    return 0;
}

int select_add(struct selector *s, const struct select_options *job, void *owner, uint32_t *ret_id,
               struct baro_error *err)
{
    if (array_reserve(&s->jobs, s->n_jobs + 1, &s->cap_jobs, sizeof(*s->jobs)) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    s->jobs[s->n_jobs++] = (struct added){.id = ++s->last_id, .options = job, .owner = owner};
    s->all_sent = false;
    *ret_id = s->last_id;
    int code = worker_starts(s->worker) ? 0 : worker_start(s->worker);
    if (code < 0)
        return error_set(err, code, "can't start the process that selects: %s", strerror(-code));
    send_orders(s);
    return 0;
}

void select_remove(struct selector *s, uint32_t id)
{
    struct added *a = find_job(s, id);
    if (!a)
        return;
    a->is_over = true;
    s->all_sent = false;
    send_orders(s);
}

/* ---- what hangs ---- */

bool select_is_stuck(const struct selector *s)
{
    uint64_t since = worker_pid(s->worker) ? atomic_load(&s->shared->worker.since_ns) : 0;
    return since & 1 && clock_monotonic_ns() > since + STUCK_AFTER;
}

/* Returns s->n_bars if there is none. */
static size_t find_bar(const struct selector *s, struct baro_key key)
{
    size_t i = 0;
    while (i < s->n_bars && !baro_key_equal(s->bar[i].key, key))
        i++;
    return i;
}

/* If the list is full, the oldest entry is dropped: its process has mostly ended by then. */
static struct bar *add_bar(struct selector *s, struct baro_key key)
{
    if (s->n_bars == SELECT_BARRED_MOST)
        memmove(s->bar, s->bar + 1, --s->n_bars * sizeof(*s->bar));
    s->bar[s->n_bars] = (struct bar){.key = key};
    return &s->bar[s->n_bars++];
}

/* Bars the process that is being read. */
static void bar_hung(void *context)
{
    struct selector *s = context;
    s->hung = (struct baro_key){atomic_load(&s->shared->pid), atomic_load(&s->shared->start)};
    uint64_t first = s->setup.barred_ns ? s->setup.barred_ns : BARRED_FIRST;
    size_t at = find_bar(s, s->hung);
    struct bar *b = at < s->n_bars ? &s->bar[at] : add_bar(s, s->hung);
    b->pause_ns = !b->pause_ns ? first : 2 * b->pause_ns < BARRED_LONGEST ? 2 * b->pause_ns : BARRED_LONGEST;
    b->due_ns = clock_monotonic_ns() + b->pause_ns;
}

/* A disk that was stalled answers again: another process, which the next turn starts, tries what hung. */
static void try_again(struct selector *s)
{
    bool any = false;
    uint64_t now = s->n_bars ? clock_monotonic_ns() : 0;
    for (size_t i = 0; i < s->n_bars; i++) {
        bool is_due = s->bar[i].due_ns && now >= s->bar[i].due_ns;
        any |= is_due;
        s->bar[i].due_ns = is_due ? 0 : s->bar[i].due_ns;
    }
    if (any)
        worker_kill(s->worker);
}

bool select_is_barred(const struct selector *s, struct baro_key key)
{
    size_t at = find_bar(s, key);
    return at < s->n_bars && s->bar[at].due_ns;
}

enum worker_trouble select_turn(struct selector *s, struct baro_key *ret_hung)
{
    if (!worker_pid(s->worker) && !s->n_jobs)
        return WORKER_FINE;
    try_again(s);
    enum worker_trouble found = worker_turn(s->worker, bar_hung, s);
    *ret_hung = s->hung;
    if (!s->all_sent && worker_pid(s->worker))
        send_orders(s);
    return found;
}

/* ---- what is known of it ---- */

struct worker *select_worker(const struct selector *s)
{
    return s ? s->worker : NULL;
}

uint64_t select_events_lost(const struct selector *s)
{
    return atomic_load(&s->shared->events_lost);
}

bool select_reports_unread(const struct selector *s)
{
    return worker_starts(s->worker) == 1 && worker_pid(s->worker) && !atomic_load(&s->shared->events_lost) &&
           !atomic_load(&s->shared->scans);
}

bool select_change_check(const struct watch_change *c)
{
    if (c->what == WATCH_READY)
        return c->job != WATCH_ALL;
    bool joins = c->what == WATCH_JOIN;
    return c->what <= WATCH_UNREAD && c->pid > 0 && (!joins || c->task) && (c->what == WATCH_UNREAD || c->job);
}

int select_read(struct selector *s, select_change_fn *fn, void *context)
{
    struct watch_change c;
    if (!worker_pid(s->worker))
        return 0;
    for (unsigned i = 0; i < CHANGES_MOST; i++) { /* the descriptor stays readable */
        ssize_t n = recv(worker_fd(s->worker), &c, sizeof(c), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n != sizeof(c) || !select_change_check(&c)) {
            worker_drop(s->worker);
            return -EPIPE;
        }
        void *owner = c.job == WATCH_ALL ? NULL : select_owner(s, c.job);
        if (owner || c.job == WATCH_ALL)
            fn(context, owner, &c);
    }
    return 0;
}

void select_free(struct selector *s)
{
    if (!s)
        return;
    worker_free(s->worker);
    buf_done(&s->bytes);
    free(s->jobs);
    free(s);
}
