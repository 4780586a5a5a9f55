/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of selecting: starts the process that selects, sends it jobs, and reads what it reports. */
#include "recorder/select/job_wire.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"

#define ENDS_WITHIN (20 * NS_PER_MS)
#define STUCK_AFTER NS_PER_SEC
#define RETRY_FIRST NS_PER_SEC
#define CHANGES_MOST 4096u /* in one call: whatever that process sends, the recorder goes on */
#define RETRY_MOST (64 * NS_PER_SEC)

/* A job, in the order of their ids. */
struct added {
    uint32_t id;
    bool is_sent, is_over; /* is_over: the entry is kept until the process that selects knows */
    const struct select_options *options;
    void *owner;
};

struct selector {
    struct select_setup setup;
    struct added *jobs;
    size_t n_jobs, cap_jobs;
    uint32_t last_id;
    bool all_sent;
    struct buf bytes; /* of the job that is being sent */
    struct select_shared *shared;
    pid_t pid; /* 0: none */
    int fd;
    uint64_t cpu_ns, ended_cpu_ns; /* of pid, as read last; of those before */
    uint64_t starts;
    uint64_t stuck_ns, stuck_since_ns; /* when the read that began at stuck_since_ns was first seen to be late; or 0 */
    uint64_t retry_ns, pause_ns;
    struct baro_key barred[SELECT_BARRED_MOST];
    size_t n_barred;
    pid_t left[SELECT_LEFT_MOST]; /* killed, not reaped yet */
    size_t n_left;
    bool given_up;
};

/* ---- processes come and go ---- */

static bool is_reaped(pid_t pid)
{
    pid_t got = waitpid(pid, NULL, WNOHANG);
    return got == pid || (got < 0 && errno == ECHILD);
}

static void reap_left(struct selector *s)
{
    for (size_t i = 0; i < s->n_left;) {
        if (is_reaped(s->left[i]))
            s->left[i] = s->left[--s->n_left];
        else
            i++;
    }
}

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
    return sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
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
    int code = s->fd < 0 ? -EPIPE : 0;
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

/* Makes all jobs be sent again, because a new process knows no job. */
static void send_all_again(struct selector *s)
{
    for (size_t i = 0; i < s->n_jobs; i++)
        s->jobs[i].is_sent = false;
    s->all_sent = false;
    send_orders(s);
}

static int start_selecting(struct selector *s)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    atomic_store(&s->shared->since_ns, 0);
    s->fd = pair[0];
    send_all_again(s); /* now, so that they are matched in the process's first scan */
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        select_child(&(struct select_child){&s->setup, pair[1], self, s->shared, s->barred, s->n_barred});
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        s->fd = fd_close(s->fd);
        return -error;
    }
    s->pid = pid;
    s->starts++;
    return 0;
}

static void close_process(struct selector *s)
{
    select_cpu_ns(s);
    kill(s->pid, SIGKILL);
    s->fd = fd_close(s->fd);
    if (!is_reaped(s->pid))
        s->left[s->n_left++] = s->pid; /* select_turn() gives up when there is no room for another */
    s->ended_cpu_ns += s->cpu_ns;
    s->cpu_ns = 0;
    s->pid = 0;
    s->stuck_ns = 0;
}

static void delay_start(struct selector *s, uint64_t now)
{
    s->pause_ns = !s->pause_ns ? RETRY_FIRST : s->pause_ns < RETRY_MOST ? 2 * s->pause_ns : RETRY_MOST;
    s->retry_ns = now + s->pause_ns;
}

int select_new(struct selector **ret, const struct select_setup *setup, struct baro_error *err)
{
    struct selector *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->setup = *setup;
    s->fd = -1;
    s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->shared == MAP_FAILED) {
        free(s);
        return error_set(err, -ENOMEM, "out of memory");
    }
    *ret = s;
    return 0;
}

int select_add(struct selector *s, const struct select_options *job, void *owner, uint32_t *ret_id,
               struct baro_error *err)
{
    struct added *jobs = array_room(s->jobs, s->n_jobs, &s->cap_jobs, sizeof(*jobs));
    if (!jobs)
        return error_set(err, -ENOMEM, "out of memory");
    s->jobs = jobs;
    s->jobs[s->n_jobs++] = (struct added){.id = ++s->last_id, .options = job, .owner = owner};
    s->all_sent = false;
    *ret_id = s->last_id;
    int code = s->starts ? 0 : start_selecting(s);
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

static uint64_t since_of(const struct selector *s)
{
    return s->pid ? atomic_load(&s->shared->since_ns) : 0;
}

bool select_is_stuck(const struct selector *s)
{
    uint64_t since = since_of(s);
    return since && clock_monotonic_ns() > since + STUCK_AFTER;
}

/* Does the process hang? It must seem so twice, half a second apart: the recorder and this process may both have been
 * stopped until just now. */
static bool is_hung(struct selector *s, uint64_t now)
{
    uint64_t since = since_of(s);
    if (!since || now < since + STUCK_AFTER || since != s->stuck_since_ns) {
        s->stuck_since_ns = since;
        s->stuck_ns = now;
        return false;
    }
    return now >= s->stuck_ns + STUCK_AFTER / 2;
}

/* Bars the process that is being read. If the list is full, the oldest entry is dropped: its process has mostly ended
 * by then. */
static struct baro_key bar(struct selector *s)
{
    struct baro_key key = {atomic_load(&s->shared->pid), atomic_load(&s->shared->start)};
    if (s->n_barred == SELECT_BARRED_MOST) {
        for (size_t i = 1; i < s->n_barred; i++)
            s->barred[i - 1] = s->barred[i];
        s->n_barred--;
    }
    s->barred[s->n_barred++] = key;
    return key;
}

bool select_is_barred(const struct selector *s, struct baro_key key)
{
    for (size_t i = 0; i < s->n_barred; i++) {
        if (baro_key_equal(s->barred[i], key))
            return true;
    }
    return false;
}

enum select_trouble select_turn(struct selector *s, struct baro_key *ret_hung)
{
    enum select_trouble found = SELECT_FINE;
    uint64_t now = clock_monotonic_ns();
    if (s->given_up)
        return SELECT_FINE;
    if (s->pid && is_hung(s, now)) {
        *ret_hung = bar(s);
        close_process(s);
        found = SELECT_HUNG;
    } else if (s->pid && s->fd < 0) {
        close_process(s);
        delay_start(s, now);
        found = SELECT_ENDED;
    }
    if (s->n_left)
        reap_left(s);
    if (s->pid && !s->all_sent)
        send_orders(s);
    if (s->pid || now < s->retry_ns || !s->n_jobs)
        return found;
    if (s->n_left == SELECT_LEFT_MOST) {
        s->given_up = true;
        return SELECT_GIVEN_UP;
    }
    if (start_selecting(s) == 0)
        return found;
    delay_start(s, now);
    return found ? found : SELECT_ENDED;
}

/* ---- what is known of it ---- */

int select_fd(const struct selector *s)
{
    return s->fd;
}

pid_t select_pid(const struct selector *s)
{
    return s->pid;
}

uint64_t select_starts(const struct selector *s)
{
    return s->starts;
}

uint64_t select_cpu_ns(struct selector *s)
{
    uint64_t now;
    if (s->pid > 0 && clock_process_cpu_ns(s->pid, &now) == 0 && now > s->cpu_ns)
        s->cpu_ns = now;
    return s->ended_cpu_ns + s->cpu_ns;
}

uint64_t select_events_lost(const struct selector *s)
{
    return atomic_load(&s->shared->events_lost);
}

bool select_reports_unread(const struct selector *s)
{
    return s->starts == 1 && s->pid && !atomic_load(&s->shared->events_lost) && !atomic_load(&s->shared->scans);
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
    if (!s->pid)
        return 0;
    for (unsigned i = 0; s->fd >= 0; i++) {
        if (i == CHANGES_MOST)
            return 0; /* the descriptor stays readable */
        ssize_t n = recv(s->fd, &c, sizeof(c), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n != sizeof(c) || !select_change_check(&c))
            break;
        void *owner = c.job == WATCH_ALL ? NULL : select_owner(s, c.job);
        if (owner || c.job == WATCH_ALL)
            fn(context, owner, &c);
    }
    s->fd = fd_close(s->fd);
    return -EPIPE;
}

void select_end(struct selector *s)
{
    if (s)
        s->fd = fd_close(s->fd);
}

void select_free(struct selector *s)
{
    if (!s)
        return;
    select_end(s);
    uint64_t until = clock_monotonic_ns() + ENDS_WITHIN;
    bool gone = !s->pid;
    while (!gone && !(gone = is_reaped(s->pid)) && clock_monotonic_ns() < until)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (!gone) { /* the process hangs in a read and is left behind */
        kill(s->pid, SIGKILL);
        is_reaped(s->pid);
    }
    reap_left(s);
    munmap(s->shared, sizeof(*s->shared));
    buf_done(&s->bytes);
    free(s->jobs);
    free(s);
}
