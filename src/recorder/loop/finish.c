/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a recording: last events, survivors, the last sample. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

#define SURVIVORS_MOST 100u
#define EXITS_WITHIN (3 * NS_PER_MS)

static void put_survivor(struct recorder *r, const struct member *m)
{
    bool is_limit = r->enforce.step == ENFORCE_OVER;
    const struct baro_attribute reason = {
        .name = ATTRIBUTE_REASON,
        .type = BARO_ATTRIBUTE_TEXT,
        .text = is_limit ? end_job_reason(m->row.key.pid, (char)m->row.value[PROCESS_state]) : ""};
    const struct baro_event e = {.t_ns = sampler_now(&r->sampler),
                                 .kind = BARO_EVENT_SURVIVOR,
                                 .key = m->row.key,
                                 .text = m->row.name,
                                 .n_attributes = is_limit,
                                 .attribute = &reason};
    r->job.sink.event(r->job.sink.context, &e);
}

static void report_survivors(struct recorder *r)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->job.tree.n && n < SURVIVORS_MOST; i++) {
        struct member *m = r->job.tree.at[i];
        uint64_t clock_ns;
        if (!m || member_has_ended(m) || process_clock(m, &clock_ns) < 0 || m->other.is ||
            (!*m->row.name && sampler_read_member(&r->sampler, m) < 0))
            continue;
        put_survivor(r, m);
        n++;
    }
}

static void put_end(struct recorder *r)
{
    const char *by = enforce_ended_by(r);
    const struct baro_attribute ended_by = {.name = ATTRIBUTE_ENDED_BY, .type = BARO_ATTRIBUTE_TEXT, .text = by};
    const struct baro_event e = {.t_ns = r->end.t_ns ? r->end.t_ns : sampler_now(&r->sampler),
                                 .kind = BARO_EVENT_END,
                                 .number = (uint64_t)(uint32_t)r->end.status,
                                 .text = r->end.status_known ? ""
                                         : r->end.detached   ? "detached"
                                                             : "unknown",
                                 .n_attributes = by != NULL,
                                 .attribute = &ended_by};
    r->job.sink.event(r->job.sink.context, &e);
}

static bool exit_is_unreported(const struct member *m)
{
    uint64_t clock_ns;
    return !m->life.end_reported && !member_is_reap_pending(m) &&
           (member_is_gone(m) || clock_process_cpu_ns(m->row.key.pid, &clock_ns) == -EINVAL);
}

static bool any_exit_unreported(const struct recorder *r)
{
    for (size_t i = 0; i < r->job.tree.n && i < SURVIVORS_MOST; i++) {
        if (r->job.tree.at[i] && exit_is_unreported(r->job.tree.at[i]))
            return true;
    }
    for (const struct member *m = r->job.settling.gone; m; m = m->links.list_next) {
        if (exit_is_unreported(m))
            return true;
    }
    return false;
}

/* A parent can reap its child before the connector reports the exit (do_exit() calls exit_notify() first, and may be
 * preempted in between). The recorder waits for the exit events of the last processes, but only briefly. */
static void wait_for_exits(struct recorder *r)
{
    uint64_t until = clock_monotonic_ns() + EXITS_WITHIN;
    while (r->all->events.forks && exits_fd(r->all->events.forks) >= 0 && any_exit_unreported(r) &&
           clock_monotonic_ns() < until) {
        struct pollfd p = {.fd = exits_fd(r->all->events.forks), .events = POLLIN};
        poll(&p, 1, 1);
        event_drain(r->all);
    }
}

/* Reports the zombies of a control group in which no process is alive any more. Their parents are outside of the group
 * and have not waited for them yet. /proc shows the last values of the zombies, and it does not matter to the job who
 * reaps them. Example: a supervisor waits for its children once a second. Its child used 300 ms, and gets an exit
 * record with 300 ms. */
static void report_zombies(struct recorder *r)
{
    if (!r->options->attach.cgroup || r->end.leaves || tree_count(&r->job.tree) > r->job.counts.ended_members)
        return;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        if (m && member_has_ended(m) && !member_is_reap_pending(m) && sampler_read_member(&r->sampler, m) == 0 &&
            member_is_zombie(m) && !member_is_gone(m))
            sampler_gone(&r->sampler, m, m->life.end_ns);
    }
}

static void report_cut(const struct recorder *r)
{
    struct baro_error line = BARO_ERROR_INIT;
    uint64_t bytes = tape_writer_cut(r->writer);
    if (!bytes || !r->options->on.error)
        return;
    error_set(&line, -1, "the tape was cut off while it was written: %llu bytes of it are gone",
              (unsigned long long)bytes);
    r->options->on.error(r->options->observer.context, line.text);
}

void recorder_finish(struct recorder *r)
{
    r->end.finishing = true;                                              /* from now on every read is done at once */
    r->end.leaves |= r->options->attach.all && r->options->segments.next; /* the next recorder goes on with the tape */
    if (r->wrapper.started) {
        event_drain(r->all);
        wait_for_exits(r);
        tasks_look(r);
        if (r->options->scope.children)
            sampler_scan_wrapper(&r->sampler); /* finds orphans whose fork was not reported */
        event_verify(r);
        if (r->wrapper.pid && !r->wrapper.is_lost)
            r->job.wrapper.pid = 0; /* no more messages will come: what has ended can be accounted */
        r->job.settling.closing = true;
        report_zombies(r);
        sampler_close_sockets(&r->sampler);
        sampler_settle(&r->sampler);
        event_check_survivors(r);
        enforce_finish(r);
        if (!r->end.leaves && !r->end.detached) /* else the recording ended, and not the job */
            report_survivors(r);
        limits_find(r);
        marks_finish(r);
        sampler_advance(&r->sampler); /* the time is that of the last tick, which may have been long ago */
        targets_finish(r);
        if (r->job.all_task && r->end.status_known)
            job_task_status(&r->job, r->job.all_task, r->end.status);
        if (!r->end.leaves)
            put_end(r);
        recorder_last_tick(r);
    }
    collectors_finish(&r->sampler.sampling.collectors);
    if (r->wrapper.started && r->options->on.error)
        collectors_trouble(&r->sampler.sampling.collectors, r->options->on.error, r->options->observer.context);
    recorder_writes(r, true);
    tape_writer_finish(r->writer, NULL);
    recorder_writes(r, false);
    report_cut(r);
}
