/* SPDX-License-Identifier: Apache-2.0 */
/* The process that selects: reads commands, receives events or scans /proc, and reports changes to the recorder. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/proc/procfs.h"
#include "recorder/select/child.h"

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
