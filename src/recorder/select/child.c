/* SPDX-License-Identifier: Apache-2.0 */
/* The process that selects: reads commands, receives events or scans /proc, and reports changes to the recorder. */
#include "recorder/select/child.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"

/* ---- jobs ---- */

/* Jobs of the process that selects: they come and go by orders of the recorder. Their pins are read here. */

#define NEW_PAUSE 20u /* the pause after processes were matched for new jobs, in multiples of the time that it took */
#define NEW_PAUSE_MOST (5 * NS_PER_SEC)
#define PINS_EVERY (200 * NS_PER_MS) /* period of reading files and groups; longer if there are more than PINS_FEW */
#define PINS_FEW 100u

static void count_needs(struct child *c)
{
    c->needs_cmdline = c->needs_exe = c->needs_user = false;
    c->n_read_pins = 0;
    for (size_t i = 0; i < c->n_jobs; i++) {
        const struct select_job *j = c->jobs[i];
        c->needs_cmdline |= rules_need(&j->rules, MATCH_CMDLINE);
        c->needs_exe |= rules_need(&j->rules, MATCH_EXE);
        c->needs_user |= rules_need_user(&j->rules);
        c->n_read_pins += j->pins.is_read ? j->pins.n : 0;
    }
    c->pins_due_ns = !c->n_read_pins ? UINT64_MAX : c->pins_due_ns == UINT64_MAX ? 0 : c->pins_due_ns;
}

static bool reserve_buffers(struct child *c)
{
    if (c->n_jobs < c->cap_jobs)
        return true;
    size_t cap = 2 * c->cap_jobs + 4;
    struct select_job **jobs = realloc(c->jobs, cap * sizeof(*jobs));
    c->jobs = jobs ? jobs : c->jobs;
    struct watch_fit *fits = realloc(c->fits, cap * sizeof(*fits));
    c->fits = fits ? fits : c->fits;
    c->cap_jobs = jobs && fits ? cap : c->cap_jobs;
    return jobs && fits;
}

/* Returns a negative code if memory runs out: then this process ends, and the recorder starts another one. */
static int add_job(struct child *c, uint32_t id, struct span bytes)
{
    struct select_job *j;
    int code = reserve_buffers(c) ? select_job_decode(&j, id, bytes) : -ENOMEM;
    if (code < 0)
        return code;
    j->pins.job = &j->watch;
    code = pins_init(&j->pins, c->setup->root_fd);
    free(j->places);
    j->places = NULL;
    for (size_t i = 0; code == 0 && i < j->pins.n; i++)
        j->pins.state[i].is_barred = child_is_barred(c->of, -(int32_t)i - 1, id);
    code = code < 0 ? code : watch_add(&c->watch, &j->watch);
    if (code < 0) {
        select_job_free(j);
        return code;
    }
    c->jobs[c->n_jobs++] = j;
    c->n_new++;
    count_needs(c);
    return 0;
}

static void remove_job(struct child *c, uint32_t id)
{
    size_t i = 0;
    while (i < c->n_jobs && c->jobs[i]->watch.id != id)
        i++;
    if (i == c->n_jobs)
        return;
    struct select_job *j = c->jobs[i];
    c->n_new -= j->watch.is_new;
    watch_remove(&c->watch, &j->watch);
    select_job_free(j);
    c->jobs[i] = c->jobs[--c->n_jobs];
    count_needs(c);
}

/* Reads a job from a file in memory (memfd_create(2)). */
static int read_job(struct child *c, uint32_t id, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size <= 0)
        return -EINVAL;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    int code = add_job(c, id, span_of(at, (size_t)st.st_size));
    munmap(at, (size_t)st.st_size);
    return code;
}

/* Returns false if there is none. */
static bool take_order(struct child *c)
{
    struct select_order order;
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&order, sizeof(order)};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n != sizeof(order))
        _exit(0); /* the recorder is gone */
    const struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    int fd = -1;
    if (h && h->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    if (order.is_over)
        remove_job(c, order.job);
    else if (read_job(c, order.job, fd) < 0)
        _exit(1);
    fd_close(fd);
    return true;
}

static void turn_pins(struct child *c, bool first)
{
    c->pins.now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct select_job *j = c->jobs[i];
        if (first ? j->watch.is_new : j->pins.is_read)
            pins_turn(&j->pins, &c->pins, first);
    }
    watch_pins_unseen(&c->watch);
}

/* Begins the new jobs, for which all processes have been matched. */
static void child_begin_new(struct child *c)
{
    turn_pins(c, true);
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct watch_job *j = &c->jobs[i]->watch;
        if (!j->is_new)
            continue;
        j->is_new = false;
        child_report_change(c, &(struct watch_change){.what = WATCH_READY, .job = j->id});
    }
    c->n_new = 0;
}

/* Matches all processes for new jobs. That reads all commands, so jobs that come soon after each other are matched
 * together. */
static void child_match_new(struct child *c)
{
    uint64_t begin = clock_monotonic_ns();
    if (!c->n_new || begin < c->new_due_ns)
        return;
    watch_match_new(&c->watch);
    child_begin_new(c);
    uint64_t end = clock_monotonic_ns(), pause = NEW_PAUSE * (end - begin);
    c->new_due_ns = end + (pause < NEW_PAUSE_MOST ? pause : NEW_PAUSE_MOST);
}

/* Reads the pins that change: PID files and control groups. */
static void child_follow_pins(struct child *c)
{
    uint64_t now = clock_monotonic_ns();
    if (now < c->pins_due_ns)
        return;
    turn_pins(c, false);
    c->pins_due_ns = now + PINS_EVERY * (c->n_read_pins > PINS_FEW ? c->n_read_pins / PINS_FEW : 1);
}

static void child_take_orders(struct child *c)
{
    while (take_order(c))
        ;
}

#define BURST (20 * NS_PER_MS) /* CPU time that may be used at once */
#define WAIT_MOST NS_PER_SEC   /* longest wait for the account: the buffer of the connector must not overflow in it */
#define SCAN_WAIT_MOST (10 * NS_PER_SEC)
#define SCAN_EVERY (100 * NS_PER_MS)
#define BATCH (2 * NS_PER_MS) /* pause between two drains in a burst of events */

#define FIRST_PAUSE (200 * NS_PER_MS) /* the first scan begins after this time without a new job */
#define FIRST_WITHIN (2 * NS_PER_SEC)

/* ---- reporting ---- */

void child_report_change(void *context, const struct watch_change *change)
{
    const struct child *c = context;
    if (send(c->fd, change, sizeof(*change), MSG_NOSIGNAL) < 0 && errno != EINTR)
        _exit(0); /* the recorder is gone */
}

/* ---- the account ---- */

static void pay(struct child *c, bool charged)
{
    uint64_t now = clock_monotonic_ns(), cpu = 0;
    clock_process_cpu_ns(0, &cpu);
    uint64_t share = c->setup->overhead_ppm / 2; /* the other half is for sampling */
    c->account_ns += (int64_t)((double)(now - c->paid_ns) * ((double)share / 1e6));
    c->account_ns -= charged ? (int64_t)(cpu - c->paid_cpu_ns) : 0;
    if (c->account_ns > (int64_t)BURST)
        c->account_ns = (int64_t)BURST;
    c->paid_ns = now;
    c->paid_cpu_ns = cpu;
    worker_idle(&c->of->shared->worker); /* a step that makes its clock be read */
}

/* Returns how long to wait until the account is not negative. Example: with 0.5 % of a core, -1 ms takes 200 ms. */
static uint64_t debt_ns(const struct child *c)
{
    double share = (double)c->setup->overhead_ppm / 2 / 1e6;
    if (c->account_ns >= 0 || share <= 0)
        return 0;
    double wait = (double)-c->account_ns / share;
    uint64_t most = c->events ? WAIT_MOST : SCAN_WAIT_MOST;
    return wait < (double)most ? (uint64_t)wait : most;
}

/* ---- the loop ---- */

static bool scan_one(void *context, int32_t pid)
{
    struct child *c = context;
    watch_scan(&c->watch, pid, clock_monotonic_ns());
    return true;
}

static void scan(struct child *c, bool anew)
{
    watch_scan_begin(&c->watch, anew);
    proc_each_process(c->setup->proc_fd, scan_one, c);
    watch_scan_end(&c->watch);
}

static void on_event(void *context, const struct exits_event *e)
{
    struct child *c = context;
    if (e->kind == EVENT_FORK)
        watch_fork(&c->watch, e->pid, e->ppid, e->t_ns);
    else if (e->kind == EVENT_EXEC)
        watch_exec(&c->watch, e->pid, e->t_ns);
    else if (e->kind == EVENT_EXIT)
        watch_exit(&c->watch, e->pid, e->t_ns, e->has_status, e->status);
    else if (e->kind == EVENT_LOST) {
        c->lost = true;
        atomic_fetch_add(&c->of->shared->events_lost, e->count ? e->count : 1);
    }
}

static void take_events(struct child *c)
{
    exits_drain(c->events, on_event, c);
    watch_settle(&c->watch);
    if (c->lost)
        scan(c, true);
    c->lost = false;
}

/* Waits until until_ns or until the recorder has ended. wake: an event or an order ends the wait, too. */
static void wait_until(const struct child *c, uint64_t until_ns, bool wake)
{
    const int events_fd = wake ? exits_fd(c->events) : -1;
    struct pollfd p[2] = {{.fd = c->fd, .events = wake ? POLLIN : 0}, {.fd = events_fd, .events = POLLIN}};
    for (;;) {
        uint64_t now = clock_monotonic_ns();
        uint64_t left = until_ns > now ? until_ns - now : 0;
        struct timespec t = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};
        int n = ppoll(p, 2, until_ns == UINT64_MAX ? NULL : &t, NULL);
        if (p[0].revents & (POLLHUP | POLLERR))
            _exit(0);
        if (n >= 0 || errno != EINTR)
            return;
    }
}

static void run_child(struct child *c)
{
    for (;;) {
        child_take_orders(c);
        child_match_new(c);
        child_follow_pins(c);
        uint64_t due = watch_turn(&c->watch, clock_monotonic_ns());
        due = due < c->pins_due_ns ? due : c->pins_due_ns;
        due = c->n_new && c->new_due_ns < due ? c->new_due_ns : due;
        pay(c, true);
        uint64_t now = c->paid_ns, debt = debt_ns(c);
        if (c->events) {
            wait_until(c, now + (debt > BATCH ? debt : BATCH), false);
            wait_until(c, due, true);
            take_events(c);
        } else {
            wait_until(c, now + (debt > SCAN_EVERY ? debt : SCAN_EVERY), false);
            scan(c, false);
        }
    }
}

static int prepare_child(struct child *c)
{
    const struct select_setup *o = c->setup;
    c->pins = (struct pins_reading){
        .watch = &c->watch, .proc_fd = o->proc_fd, .root_fd = o->root_fd, .shared = c->of->shared};
    c->pins_due_ns = UINT64_MAX;
    return watch_init(&c->watch, child_read_process, child_report_change, c);
}

/* Waits until no more jobs come. An observer begins with several jobs, and one scan, which reads all commands of the
 * machine, is enough for all of them. */
static void await_orders(struct child *c)
{
    uint64_t until = clock_monotonic_ns() + FIRST_WITHIN;
    size_t n;
    do {
        n = c->n_jobs;
        wait_until(c, clock_monotonic_ns() + FIRST_PAUSE, false);
        child_take_orders(c);
    } while (c->n_jobs != n && clock_monotonic_ns() < until);
}

void select_child(const struct select_child *of)
{
    struct child *c = calloc(1, sizeof(*c));
    if (!c)
        return;
    c->of = of;
    c->setup = of->setup;
    c->fd = of->fd;
    child_find_own(c, of->recorder);
    if (!of->setup->no_events)
        exits_connector_open(&c->events, NULL);
    if (prepare_child(c) < 0)
        return;
    c->watch.scans = !c->events;
    atomic_store(&of->shared->scans, !c->events);
    child_take_orders(c); /* takes the orders that were sent before this process was started */
    if (of->setup->many)
        await_orders(c);
    scan(c, false);
    child_begin_new(c);
    pay(c, false);
    c->account_ns = (int64_t)BURST;
    run_child(c);
}
