/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the event sources say, turned into members and exits.
 *
 * One source tells who was forked, executed and ended (forks), one tells what the ended had used (usage); perf can be both. Each drain has three
 * steps: first all of forks, then all of usage, then a look at every member that was spoken of. The kernel reports the usage of a process before its
 * end (taskstats_exit() runs before proc_exit_connector() in do_exit()), so when forks has told an end, usage has it by the time it is read after forks.
 * The other way round usage can be ahead: what it tells of unknown processes is stashed until forks names them.
 *
 * Draining waits a little after the first event, so that a storm is read in batches: as long as a quarter of the buffer can't fill.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/recorder.h"

#define EVENTS_PER_MS 12u          /* a fork, an exec and an exit every 250 us on each of two cores: worse was not seen */
#define DELAY_LEAST (1 * NS_PER_MS)
#define DELAY_MOST (50 * NS_PER_MS)
#define PERF_AFTER (20 * NS_PER_MS) /* the first perf_event_open() of a boot can take 5 to 35 ms */
#define PERF_CPUS 16u              /* one event and ring per CPU: 128 of them double the cost of a fork */
#define FOREIGN_MOST 6u            /* drains in a row that brought nothing of ours: each doubles the delay */
#define SETTLE_AT 128u             /* gone members that may wait */
#define START_SLACK (20 * NS_PER_MS) /* start times are cut to 10 ms */

static void touch(struct recorder *r, struct member *m)
{
    if (m->touched)
        return;
    m->touched = true;
    m->touched_next = NULL;
    if (r->touched)
        r->touched_last->touched_next = m;
    else
        r->touched = m;
    r->touched_last = m;
}

/* Opening takes 0.15 to 0.9 ms: off the start path, and before the children of the first drain are old. */
static void open_taskstats(struct recorder *r)
{
    struct exits_source *source;
    r->taskstats_tried = true;
    if (geteuid() != 0 || r->usage)
        return;
    r->job.ends_told = exits_taskstats_open(&source, NULL) == 0;
    if (r->job.ends_told)
        r->usage = source;
    else
        r->perf_due_ns = clock_monotonic_ns() + PERF_AFTER;
}

/* ---- forks ---- */

/* Was its pid given to another, which was forked at t? One that a scan found may have been forked just before. */
static bool another(const struct member *known, uint64_t t)
{
    uint64_t begin = known->begin_ns ? known->begin_ns : known->row.first_ns;
    return begin + START_SLACK < t || (known->ended && known->end_ns < t);
}

static struct member *member_of(const struct recorder *r, int32_t pid);

static void on_fork(struct recorder *r, const struct exits_event *e)
{
    uint64_t t = recorder_since(r, e->t_ns);
    struct member *parent = member_of(r, e->ppid), *gone = NULL;
    if (parent && parent->gone) { /* found gone before this was read: it left an orphan, whom nobody has told of yet */
        gone = parent;
        parent = NULL;
    }
    struct member *known = tree_find(&r->job.tree, e->pid);
    if (known && another(known, t)) {
        sampler_gone(&r->sampler, known, t);
        known = NULL;
    }
    if (known) {
        known->begin_ns = t;
        return;
    }
    if ((!parent && !gone) || !r->options->children)
        return;
    struct member *m = job_add(&r->job, e->pid, parent, BARO_ORIGIN_EVENT, t);
    if (!m)
        return;
    if (!r->taskstats_tried)
        open_taskstats(r);
    m->begin_ns = t;
    if (gone) {
        m->row.parent = gone->row.key;
        m->heir = gone;
        m->heir_epoch = r->job.tree.epoch;
        parent = gone;
    }
    m->row.uid = parent->row.uid;
    member_set_name(m, parent->row.name); /* until it executes something, it is what its parent is */
    touch(r, m);
}

static void on_end(struct recorder *r, struct member *m, const struct exits_event *e)
{
    job_ended(&r->job, m, recorder_since(r, e->t_ns));
    m->end_told = true;
    if (e->has_status) {
        m->status_known = true;
        m->status = e->status;
    }
    touch(r, m);
}

static void on_name(struct recorder *r, struct member *m, const struct exits_event *e, bool executed)
{
    sampler_renamed(m);
    m->executed |= executed;
    if (e->has_comm) {
        member_note_comm(m, e->comm);
        member_set_name(m, e->comm);
        m->named = true;
    }
    touch(r, m);
}

static void on_lost(struct recorder *r, const struct exits_event *e)
{
    r->job.lossy = true;
    r->sampler.lossy_now = true;
    r->sampler.scan_once = true; /* what forked meanwhile and lives is found again */
    recorder_event(r, BARO_EVENT_LOSSY, NULL, e->count, exits_name(r->forks));
}

static void take_usage(struct recorder *r, struct member *m, const struct exits_event *e)
{
    struct member_usage *u = member_tell(m);
    member_moved(m);
    bool perf = e->kind == EVENT_USAGE;
    u->has_cpu = true;
    u->source = perf ? BARO_EXIT_PERF : BARO_EXIT_TASKSTATS;
    if (perf) {
        u->cpu_ns += e->cpu_ns; /* one record per thread */
        touch(r, m);
        return;
    }
    u->cpu_ns = e->cpu_ns;
    u->user_ns = e->user_ns;
    u->system_ns = e->system_ns;
    u->has_split = e->user_ns + e->system_ns > 0;
    u->has_memory = e->rss_peak_bytes > 0;
    u->rss_peak = e->rss_peak_bytes;
    u->has_io = e->has_io;
    u->io_read = e->io_read;
    u->io_write = e->io_write;
    u->io_rchar = e->io_rchar;
    u->io_wchar = e->io_wchar;
    u->faults_minor = e->faults_minor;
    u->faults_major = e->faults_major;
    u->has_delay = e->has_delay;
    u->run_delay_ns = e->run_delay_ns;
    if (e->has_comm && strncmp(m->row.name, e->comm, strlen(e->comm)) != 0)
        member_set_name(m, e->comm);
    m->named |= e->has_comm;
    if (e->uid != UINT32_MAX)
        m->row.uid = e->uid;
    touch(r, m);
}

/* One whose end is told may have been found gone already, in the tick that is under way. */
static struct member *member_of(const struct recorder *r, int32_t pid)
{
    struct member *m = tree_find(&r->job.tree, pid);
    for (struct member *g = m ? NULL : r->job.gone; g; g = g->list_next) {
        if (g->row.key.pid == pid)
            return g;
    }
    return m;
}

static void on_forks(void *context, const struct exits_event *e)
{
    struct recorder *r = context;
    if (e->kind == EVENT_FORK) {
        on_fork(r, e);
        return;
    }
    if (e->kind == EVENT_LOST) {
        on_lost(r, e);
        return;
    }
    struct member *m = member_of(r, e->pid);
    if (!m)
        return;
    if (e->kind == EVENT_EXIT) {
        on_end(r, m, e);
        if (e->has_usage)
            take_usage(r, m, e);
    } else if (e->kind == EVENT_USAGE) {
        take_usage(r, m, e);
    } else {
        on_name(r, m, e, e->kind == EVENT_EXEC);
    }
}

/* ---- usage ---- */

static void stash_put(struct recorder *r, const struct exits_event *e)
{
    if (!r->stash)
        r->stash = calloc(STASH_MAX, sizeof(*r->stash));
    if (!r->stash)
        return;
    r->stash[r->stash_at++ % STASH_MAX] = (struct stash){e->pid, *e};
}

static void stash_take(struct recorder *r, struct member *m)
{
    if (!r->stash)
        return;
    for (size_t i = 0; i < STASH_MAX; i++) {
        struct stash *st = &r->stash[(r->stash_at + STASH_MAX - 1 - i) % STASH_MAX];
        if (st->pid != m->row.key.pid)
            continue;
        uint64_t t = recorder_since(r, st->event.t_ns);
        if (t + START_SLACK >= m->begin_ns)
            take_usage(r, m, &st->event);
        st->pid = 0;
        return;
    }
}

static void on_usage(void *context, const struct exits_event *e)
{
    struct recorder *r = context;
    if (e->kind == EVENT_LOST) {
        r->sampler.lossy_now = true;
        recorder_event(r, BARO_EVENT_LOSSY, NULL, e->count, exits_name(r->usage));
        return;
    }
    struct member *m = member_of(r, e->pid);
    if (e->kind == EVENT_COMM || e->kind == EVENT_EXEC) {
        if (m && e->has_comm)
            on_name(r, m, e, false);
        return;
    }
    bool tells = e->kind == EVENT_USAGE || (e->kind == EVENT_EXIT && e->has_usage);
    if (!tells)
        return;
    if (m)
        take_usage(r, m, e);
    else
        stash_put(r, e);
}

/* ---- after a drain ---- */

static void tell_exec(struct recorder *r, struct member *m)
{
    m->executed = false;
    if (*m->row.name)
        recorder_event(r, BARO_EVENT_EXEC, m, 0, m->row.name);
}

static void look_at(struct recorder *r, struct member *m)
{
    uint64_t clock_ns;
    if (m->gone)
        return;
    if (!m->ended) {
        /* Gone already: its end is in the queue, with the status, and comes with the next drain. */
        if (m->executed && process_clock(&r->sampler, m, &clock_ns) == 0 && sampler_look(&r->sampler, m) == 0)
            tell_exec(r, m);
        return;
    }
    if (r->usage && !member_usage(m)->has_cpu)
        stash_take(r, m);
    if (m->executed && !m->looked_at && !m->named)
        member_set_name(m, ""); /* it executed something, and nobody saw what */
    if (m->executed)
        tell_exec(r, m);
    if (!m->parent && r->job.wrapper.pid)
        return; /* the wrapper reads it whole before it reaps it */
    if (process_clock(&r->sampler, m, &clock_ns) < 0) {
        sampler_gone(&r->sampler, m, m->end_ns);
        return;
    }
    /* Still a zombie: its counters are final. */
    if (sampler_look(&r->sampler, m) == 0)
        member_wake(m);
}

/* In the order of the events, so that a child that its parent waited for is gone before its parent is. */
static void look_at_touched(struct recorder *r)
{
    while (r->touched) {
        struct member *m = r->touched;
        r->touched = m->touched_next;
        m->touched = false;
        look_at(r, m);
    }
}

static int read_events(struct recorder *r)
{
    int events = exits_drain(r->forks, on_forks, r);
    if (r->usage && r->usage != r->forks)
        exits_drain(r->usage, on_usage, r);
    return events;
}

void follow_catch_up(void *recorder)
{
    struct recorder *r = recorder;
    if (!r->forks)
        return;
    read_events(r);
    for (struct member *m = r->job.gone; r->usage && m; m = m->list_next) {
        if (!member_usage(m)->has_cpu)
            stash_take(r, m);
    }
    look_at_touched(r);
}

void follow_drain(struct recorder *r)
{
    r->drain_due_ns = 0;
    if (!r->forks)
        return;
    if (!r->started) {
        /* Who the command is has not been told yet: what it forked would be nobody's. The buffer holds far more than this takes. */
        follow_ready(r);
        return;
    }
    sampler_advance(&r->sampler);
    int events = read_events(r);
    if (r->touched)
        r->foreign = 0;
    else if (events > 0)
        r->foreign += r->foreign < FOREIGN_MOST;
    look_at_touched(r);
    if (r->job.n_gone >= r->job.n_held + SETTLE_AT)
        sampler_settle(&r->sampler);
    if (r->job.tree.holes > tree_count(&r->job.tree) + SETTLE_AT)
        tree_compact(&r->job.tree); /* else it would grow with all that lived since the last tick */
    int fd = exits_fd(r->forks);
    /* Quiet: the next event wakes us. In a storm the timer alone does, once for many. */
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)fd};
    if (fd >= 0 && !r->deaf && events == 0 && !r->listening)
        r->listening = epoll_ctl(r->epoll_fd, EPOLL_CTL_MOD, fd, &e) == 0;
    if (fd < 0 || r->deaf || events > 0 || !r->listening)
        follow_ready(r);
}

/* Without a source that tells names with the usage, what is executed must be looked at before it is gone; and the sooner the first fork is seen, the
 * sooner there is such a source. The connector tells of the whole machine: a job that has not forked so far must not pay for each process of others. */
void follow_ready(struct recorder *r)
{
    bool forked = r->taskstats_tried, first = r->started && !forked && geteuid() == 0;
    uint64_t delay = r->usage ? r->drain_delay_ns : first ? 0 : DELAY_LEAST;
    uint64_t patience = forked || !r->foreign ? 0 : DELAY_LEAST << r->foreign;
    patience = patience < r->drain_delay_ns ? patience : r->drain_delay_ns;
    r->drain_due_ns = clock_monotonic_ns() + (delay > patience ? delay : patience);
}

/* ---- opening ---- */

static void use_forks(struct recorder *r, struct exits_source *source)
{
    r->forks = source;
    r->job.events = true;
    uint64_t delay = exits_capacity(source) / 4 / EVENTS_PER_MS * NS_PER_MS;
    r->drain_delay_ns = delay < DELAY_LEAST ? DELAY_LEAST : delay > DELAY_MOST ? DELAY_MOST : delay;
    int fd = exits_fd(source);
    if (fd < 0) {
        follow_ready(r);
        return;
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)fd};
    r->listening = epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
    r->deaf = !r->listening; /* drained by time, then */
}

static void name_source(char *to, size_t cap, const char *name)
{
    snprintf(to, cap, "%s", name);
}

int record_listen(const struct record_options *options)
{
    int fd = options->no_events ? -1 : exits_connector_listen((uint32_t)getpid(), NULL);
    return fd < 0 ? -1 : fd;
}

static int open_connector(struct recorder *r, struct exits_source **ret)
{
    if (!r->wrapper)
        return exits_connector_open(ret, NULL);
    return r->options->events_fd < 0 ? -1 : exits_connector_take(ret, r->options->events_fd, (uint32_t)r->wrapper, NULL);
}

void follow_open(struct recorder *r)
{
    struct exits_source *source;
    name_source(r->header.event_source, sizeof(r->header.event_source), "scan");
    name_source(r->header.exit_source, sizeof(r->header.exit_source), r->wrapper ? "wait4" : "none");
    r->sampler.scan_always = true;
    if (r->options->no_events)
        return;
    if (open_connector(r, &source) == 0) {
        use_forks(r, source);
        r->sampler.scan_always = false;
        name_source(r->header.event_source, sizeof(r->header.event_source), exits_name(source));
    }
    /* Where the usage of the ended comes from is known now, and opened when there is somebody to end: not for a command that forks nothing. */
    if (r->forks && geteuid() == 0)
        name_source(r->header.exit_source, sizeof(r->header.exit_source), "taskstats");
    else
        r->perf_due_ns = clock_monotonic_ns() + PERF_AFTER;
}

void follow_open_late(struct recorder *r)
{
    struct exits_source *source;
    r->perf_due_ns = 0;
    if (exits_perf_open(&source, PERF_CPUS, NULL) < 0)
        return;
    bool any = false;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        uint64_t before;
        if (!m || m->ended || process_clock(&r->sampler, m, &before) < 0 || exits_perf_attach(source, m->row.key.pid, NULL) < 0)
            continue;
        member_moved(m);
        member_tell(m)->cpu_ns = before; /* what it had used already is not in perf's count */
        any = true;
    }
    if (!any) {
        exits_close(source);
        return;
    }
    r->usage = source;
    if (!r->forks) {
        use_forks(r, source);
        r->sampler.scan_always = false;
        r->sampler.scan_once = true;
    }
    recorder_event(r, BARO_EVENT_SOURCE, NULL, r->forks == source, exits_name(source));
}

void follow_close(struct recorder *r)
{
    if (r->usage != r->forks)
        exits_close(r->usage);
    exits_close(r->forks);
    r->usage = r->forks = NULL;
    free(r->stash);
    r->stash = NULL;
}
