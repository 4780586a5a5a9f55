/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/observe/observer.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/loop/recorder.h"
#include "recorder/sampling/schedule.h"

#define TICKS_MOST 32u /* ticks in a row before events are read */
#define SELECT_EVERY (500 * NS_PER_MS)
#define TRIM_EVERY (60 * NS_PER_SEC) /* what idle jobs have freed lies between what others still have */

struct observer {
    struct recorders all;
    const struct observe_options *options;
    uint64_t turn_due_ns;   /* CLOCK_MONOTONIC */
    uint64_t held_until_ns; /* the budget allows no tick before this time */
    uint64_t selected_ns;   /* when the process that selects was last checked */
    uint64_t trimmed_ns;    /* when free memory was last given back to the kernel */
    bool stopping;
};

/* Removes all references of events to a recorder. */
static void forget(struct recorders *a, const struct recorder *r)
{
    struct recorder **at = &a->events.active;
    size_t kept = 0;
    while (*at && *at != r)
        at = &(*at)->events.next_active;
    if (*at)
        *at = r->events.next_active;
    for (size_t i = 0; i < a->events.n_deferred_execs; i++) {
        if (a->events.deferred_execs[i].recorder != r)
            a->events.deferred_execs[kept++] = a->events.deferred_execs[i];
    }
    a->events.n_deferred_execs = kept;
}

static void share_equally(struct recorders *a)
{
    a->account.recordings = a->n ? a->n : 1;
}

static void end(struct observer *o, struct recorder *r)
{
    void *job = r->options->observer.context;
    recorder_finish(r);
    recorder_report_finished(r);
    forget(&o->all, r);
    recorders_remove(&o->all, r);
    recorder_close(r);
    free(r);
    share_equally(&o->all);
    o->options->ended(o->options->context, job);
}

int observe_begin(struct observer *o, const struct record_options *job, struct recorder **ret, struct baro_error *err)
{
    struct recorder *r = calloc(1, sizeof(*r));
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    r->all = &o->all;
    r->wrapper.link_fd = -1;
    int code = recorder_begin(r, job, err);
    if (code == 0 && recorders_add(&o->all, r) < 0)
        code = error_set(err, -ENOMEM, "out of memory");
    share_equally(&o->all);
    if (code == 0) {
        *ret = r;
        return 0;
    }
    forget(&o->all, r);
    if (!r->writer)
        fd_close(job->tape_fd);
    recorder_close(r);
    free(r);
    return code;
}

void observe_end(struct observer *o, struct recorder *job)
{
    job->end.detached = true;
    end(o, job);
}

uint64_t observe_pause(const struct observer *o, uint64_t cost_ns, unsigned parts)
{
    return budget_pause(&o->all.account.budget, cost_ns, parts);
}

/* ---- the loop ---- */

static uint64_t select_due(const struct observer *o)
{
    return o->all.select.first ? o->selected_ns + SELECT_EVERY : UINT64_MAX;
}

static uint64_t next_due(const struct observer *o)
{
    const struct recorders *a = &o->all;
    uint64_t due = a->n ? a->due[0].ns : UINT64_MAX;
    if (due < o->held_until_ns)
        due = o->held_until_ns;
    if (a->events.drain_due_ns && a->events.drain_due_ns < due)
        due = a->events.drain_due_ns;
    if (select_due(o) < due)
        due = select_due(o);
    if (a->empty_due_ns < due)
        due = a->empty_due_ns;
    return o->turn_due_ns < due ? o->turn_due_ns : due;
}

/* Returns when the budget allows the tick that is due. A delay below one interval is ignored. */
static uint64_t paid_ns(struct recorder *r, uint64_t now_ns)
{
    uint64_t now = recorder_since(r, now_ns), due = r->pace.tick_due_ns;
    uint64_t interval = schedule_interval(r->options->pace.interval_ns, due);
    uint64_t next = now < due + interval ? now : due;
    return r->header.start_monotonic_ns + sampler_wait(&r->sampler, now, next, interval);
}

static void tick(struct observer *o, struct recorder *r)
{
    recorder_scheduled_tick(r);
    if (!r->pace.is_resting)
        limits_turn(r);
    targets_check(r);
    recorders_place(&o->all, r);
    if (loop_is_over(r))
        end(o, r);
}

static void tick_due(struct observer *o)
{
    struct recorders *a = &o->all;
    if (!event_is_silent(a) && a->n && a->due[0].ns <= clock_monotonic_ns())
        event_drain(a);
    if (a->n && a->due[0].ns <= clock_monotonic_ns())
        record_select_ready(a);
    for (unsigned i = 0; i < TICKS_MOST && a->n; i++) {
        struct recorder *r = a->due[0].recorder;
        uint64_t now = clock_monotonic_ns(), paid = now;
        if (a->due[0].ns > now)
            return;
        paid = paid_ns(r, now);
        if (paid > now) {
            r->pace.is_held = true;
            o->held_until_ns = paid;
            return;
        }
        tick(o, r);
    }
}

/* The end of a job waits for no budget. */
static void end_empty(struct observer *o)
{
    struct recorders *a = &o->all;
    a->empty_due_ns = UINT64_MAX;
    for (size_t i = a->n; i-- > 0;) {
        struct recorder *r = i < a->n ? a->due[i].recorder : NULL;
        if (!r || !r->targets.empty_ns)
            continue;
        targets_check(r);
        uint64_t due_ns = recorders_due_ns(r);
        if (loop_is_over(r))
            end(o, r);
        else if (r->targets.empty_ns && due_ns < a->empty_due_ns)
            a->empty_due_ns = due_ns;
    }
}

static void dispatch(struct observer *o, uint64_t fd)
{
    struct recorder *r = targets_of_tag(fd);
    if (r) {
        targets_group_ended(r);
        return;
    }
    if (fd == (uint64_t)o->all.signal_fd) {
        o->stopping = true;
        return;
    }
    if (fd == (uint64_t)o->options->wake_fd) {
        o->turn_due_ns = 0;
        return;
    }
    if (o->all.select.selector && fd == (uint64_t)(unsigned)worker_fd(select_worker(o->all.select.selector))) {
        event_drain(&o->all); /* as in loop.c */
        record_select_ready(&o->all);
        return;
    }
    o->all.events.listening = false; /* EPOLLONESHOT */
    event_ready(&o->all);
}

static void run_loop(struct observer *o)
{
    struct recorders *a = &o->all;
    while (!o->stopping) {
        struct epoll_event events[4];
        int n = loop_wait(a, next_due(o), events, 4);
        if (n < 0 && errno != EINTR)
            return;
        for (int i = 0; i < n; i++)
            dispatch(o, events[i].data.u64);
        uint64_t now = clock_monotonic_ns();
        if (a->events.drain_due_ns && now >= a->events.drain_due_ns)
            event_drain(a);
        if (now >= select_due(o)) {
            record_select_turn(a);
            o->selected_ns = now;
        }
        if (now >= o->turn_due_ns)
            o->turn_due_ns = o->options->turn(o->options->context, o);
        if (now >= a->empty_due_ns)
            end_empty(o);
        tick_due(o);
        if (now >= o->trimmed_ns + TRIM_EVERY) {
            malloc_trim(0);
            o->trimmed_ns = now;
        }
    }
}

/* ---- the beginning and the end ---- */

static void route(void *context, const struct helper_reply *reply)
{
    struct observer *o = context;
    void *const *about;
    size_t n = member_index_find(&o->all.members, reply->key.pid, 0, &about);
    for (size_t i = 0; i < n; i++)
        memory_take_reply(&((struct recorder *)about[i])->sampler.memory, reply);
}

static int open_all(struct observer *o, struct baro_error *err)
{
    struct recorders *a = &o->all;
    recorders_init(a, NULL);
    a->say = o->options->say;
    a->say_context = o->options->context;
    account_init(&a->account, o->options->overhead_ppm, clock_monotonic_ns());
    account_add(&a->account, o->options->worker);
    a->account.route = route;
    a->account.route_context = o;
    a->events.stash_long = true;
    share_equally(a);
    a->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    a->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (a->proc_fd < 0 || a->root_fd < 0)
        return error_set(err, -errno, "can't open /proc: %s", strerror(errno));
    if (member_index_init(&a->members) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    int code = loop_open(a, -1, err);
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u64 = (uint64_t)o->options->wake_fd};
    if (code == 0 && o->options->wake_fd >= 0)
        epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, o->options->wake_fd, &e);
    if (code == 0 && !o->options->no_events)
        event_open_all(a);
    return code;
}

int observe_run(const struct observe_options *options, struct baro_error *err)
{
    struct observer o = {.options = options};
    int code = open_all(&o, err);
    if (code == 0)
        run_loop(&o);
    while (o.all.n) {
        struct recorder *r = o.all.due[o.all.n - 1].recorder;
        r->end.leaves = !r->options->attach.host_alone;
        observe_end(&o, r);
    }
    recorders_done(&o.all);
    return code;
}
