/* SPDX-License-Identifier: Apache-2.0 */
/* The ticks of a recording. */
#include "recorder/loop/recorder.h"

#include <malloc.h>

#include "base/clock.h"
#include "base/min_max.h"
#include "recorder/sampling/schedule.h"

#define STEP_NS (100 * (int64_t)NS_PER_MS)
#define SUSPEND_NS (100 * NS_PER_MS)
#define HOST_ALONE_LEAST (100 * NS_PER_MS)
#define CHECK_GRID (250 * NS_PER_MS)
#define GRID_PART 8u /* of the interval: so much earlier may a sample be to come together with those of other jobs */
#define CHECKS_OF_A_CHARGE 16u
#define WITHOUT_ZSTD (60 * NS_PER_SEC) /* when a block would end anyway: the next one begins with all rows */
#define FILL_STEP (4 * NS_PER_MS)
#define BEGUN_NS (2 * NS_PER_SEC) /* the recording has reached its steady state */

uint64_t recorder_since(const struct recorder *r, uint64_t absolute_ns)
{
    uint64_t start = r->header.start_monotonic_ns;
    return absolute_ns > start ? absolute_ns - start : 0;
}

/* If the wall clock is set or the machine sleeps, the distance between that clock and the monotonic clock changes. */
static void check_clocks(struct recorder *r)
{
    uint64_t monotonic = clock_monotonic_ns();
    int64_t wall = clock_realtime_ns() - (int64_t)monotonic;
    uint64_t boot = clock_boottime_ns() - monotonic;
    int64_t step = wall - r->wall_offset_ns;
    uint64_t slept = boot > r->boot_offset_ns ? boot - r->boot_offset_ns : 0;
    if (r->wall_offset_ns && slept > SUSPEND_NS)
        recorder_event(r, BARO_EVENT_SUSPEND, NULL, slept, "the machine slept");
    else if (r->wall_offset_ns && (step > STEP_NS || step < -STEP_NS))
        recorder_event(r, BARO_EVENT_CLOCK_STEP, NULL, (uint64_t)step, "the wall clock was set");
    r->wall_offset_ns = wall;
    r->boot_offset_ns = boot;
}

void recorder_flush(struct recorder *r)
{
    if (r->writes.pending)
        writes_commit(r, NULL);
}

static void take_sample(struct recorder *r)
{
    r->marks.edge = false;
    check_clocks(r);
    const struct baro_sample *s = sampler_tick(&r->sampler);
    writes_commit(r, s);
    writes_observe(r, s);
    enforce_sample(r, s);
    oom_note_sample(r, s);
    writes_next_segment(r, s->t_ns);
}

static void note_missed(struct recorder *r, uint64_t missed)
{
    if (!missed)
        return;
    own_cost_missed(&r->sampler.own, missed);
    recorder_event(r, BARO_EVENT_MISSED, NULL, missed, "");
}

/* Counts the samples that were missed at the end. The last sample takes the place of the first one that was due; the
 * others that were due before the job ended are missed. Example: samples are due every 20 ms, the next one at 1.00 s.
 * The recorder was stopped, and the command ended at 1.41 s: 20 samples are missed. */
static void count_missed_at_end(struct recorder *r)
{
    uint64_t missed, end = r->end.t_ns ? r->end.t_ns : sampler_now(&r->sampler);
    if (r->pace.is_resting || end < r->pace.tick_due_ns)
        return;
    schedule_next(r->options->pace.interval_ns, r->pace.tick_due_ns, end, &missed);
    note_missed(r, missed);
}

void recorder_last_tick(struct recorder *r)
{
    check_clocks(r);
    count_missed_at_end(r);
    const struct baro_sample *s = sampler_tick(&r->sampler);
    writes_observe(r, s);
    oom_report(r);
    recorder_writes(r, true);
    if (r->options->on.summed_up)
        r->options->on.summed_up(r->options->observer.context);
    recorder_writes(r, false);
    writes_commit(r, s);
    recorder_flush(r);
}

/* Jobs of an observer are sampled together, as waking up costs more than a check of an idle job: a time is moved to
 * the last one before it that all jobs share, if that is still to come. Example: with a grid of 125 ms, due at 7.700 s
 * becomes 7.625 s. */
static uint64_t on_grid(const struct recorder *r, uint64_t now_ns, uint64_t due_ns, uint64_t grid_ns)
{
    uint64_t start = r->header.start_monotonic_ns, grid = (due_ns + start) / grid_ns * grid_ns;
    return !r->all->only && grid > now_ns + start ? grid - start : due_ns;
}

/* Without processes there is nothing that needs the dense samples at the beginning of a recording. */
static void thin_out(struct recorder *r)
{
    uint64_t least = sampler_tick_ns(&r->sampler) + HOST_ALONE_LEAST;
    if (r->options->attach.host_alone && !r->options->pace.interval_ns && r->pace.tick_due_ns < least)
        r->pace.tick_due_ns = least;
}

void recorder_first_tick(struct recorder *r)
{
    r->pace.is_first_due = false;
    take_sample(r);
    sampler_charge(&r->sampler, false); /* the cost of starting is not that of a sample */
    uint64_t now = sampler_tick_ns(&r->sampler), interval = schedule_interval(r->options->pace.interval_ns, now);
    r->pace.tick_due_ns = on_grid(r, now, now + interval, interval / GRID_PART);
    r->pace.sampled_ns = r->pace.quiet_ns = now; /* the next one is a sample */
    thin_out(r);
}

/* If a process slept until the last idle check and ran after it, its CPU time must not be spread over the whole time
 * since the last sample. So the last check is written as a sample. Example: sampled at 1.0 s, last check at 9.8 s, busy
 * from 9.8 s to 10.0 s: the CPU time of 0.2 s belongs to 0.2 s, not to 9 s. */
static void end_rest(struct recorder *r)
{
    const struct baro_sample *s = r->pace.is_resting ? sampler_repeat(&r->sampler, r->pace.checked_ns) : NULL;
    r->pace.is_resting = false;
    if (s) {
        writes_commit(r, s);
        writes_observe(r, s);
    }
    tape_writer_wake(r->writer);
}

/* When an idle job is checked next. With a fixed interval that is when its next sample would be. */
static uint64_t next_check(const struct recorder *r, uint64_t now_ns, uint64_t sample_ns)
{
    uint64_t missed, fixed = r->options->pace.interval_ns, check_ns = schedule_check(r->pace.quiet_ns, now_ns);
    if (fixed)
        return schedule_next(fixed, r->pace.tick_due_ns, now_ns, &missed);
    return on_grid(r, now_ns, min_u64(check_ns, sample_ns), CHECK_GRID);
}

/* An idle job is only checked, and sampled rarely, for the machine around it. With a fixed interval this holds for the
 * jobs of an observer alone. Returns true if the check was all there is to do. */
static bool only_check(struct recorder *r)
{
    bool is_fixed = r->options->pace.interval_ns, was_busy = r->pace.sampled_ns == r->pace.quiet_ns;
    if (is_fixed && (r->all->only || r->options->scope.host || was_busy))
        return false; /* the check of a job that was busy just now would find that it still is */
    if (!sampler_is_quiet(&r->sampler) || r->marks.edge) {
        end_rest(r);
        return false;
    }
    bool alone = !r->all->only && !r->options->scope.host;
    uint64_t now = sampler_tick_ns(&r->sampler),
             sample_ns = r->pace.sampled_ns + schedule_quiet(r->pace.quiet_ns, now, alone),
             next_ns = next_check(r, now, sample_ns);
    if (now >= sample_ns && alone && now >= r->pace.quiet_ns + WITHOUT_ZSTD)
        tape_writer_rest(r->writer);
    if (now >= sample_ns)
        return false;
    if (r->all->only || ++r->all->checks % CHECKS_OF_A_CHARGE == 0)
        sampler_charge(&r->sampler, false); /* includes the checks of other jobs since the last one */
    r->pace.is_resting = true;
    r->pace.is_held = false;
    r->pace.checked_ns = now;
    r->pace.tick_due_ns = r->all->only ? sampler_wait(&r->sampler, now, next_ns, NS_PER_SEC) : next_ns;
    return true;
}

void recorder_place(struct recorder *r)
{
    if (!r->all->only)
        recorders_place(r->all, r);
}

void recorder_wake(struct recorder *r)
{
    if (r->all->only || !r->pace.is_resting || r->options->pace.interval_ns || !sampler_is_stirred(&r->sampler))
        return;
    r->pace.tick_due_ns = sampler_now(&r->sampler);
    recorder_place(r);
}

/* Takes a sample soon after the edge of a phase, so that the use before the edge and the use after it are known
 * separately. This holds also for a phase of some milliseconds, which would be over before a sample that waits for the
 * budget. With a fixed interval all samples are on its grid. */
void recorder_sample_soon(struct recorder *r)
{
    if (!r->marks.edge || !r->wrapper.started || r->options->pace.interval_ns)
        return;
    uint64_t now = sampler_now(&r->sampler), due = sampler_wait_edge(&r->sampler, now);
    if (due < r->pace.tick_due_ns)
        r->pace.tick_due_ns = due;
}

/* A control group of the job that fills its memory gets a sample before it is full: the kernel may then kill the job,
 * and this process with it (memory.oom.group). So does a limit of --limit before it is reached. Each sample comes after
 * half of the time that is left at the present growth, within the limits of those at the edges of phases. Example: nine
 * tenths of the limit are reached in 400 ms, and samples are due every second: they come after 200, 300, 350 ms ... */
static uint64_t before_full(struct recorder *r, uint64_t now_ns, uint64_t due_ns)
{
    uint64_t near_ns = r->sampler.cgroups.near_ns;
    if (r->options->run.limits.is_set)
        near_ns = min_u64(near_ns, r->enforce.near_ns);
    if (r->options->pace.interval_ns || near_ns >= due_ns)
        return due_ns;
    bool is_free = r->enforce.is_close && near_ns == r->enforce.near_ns;
    uint64_t left_ns = near_ns > now_ns ? near_ns - now_ns : 0;
    uint64_t allowed_ns = is_free ? now_ns : sampler_wait_edge(&r->sampler, now_ns);
    uint64_t at_ns = now_ns + (left_ns > 2 * FILL_STEP ? left_ns / 2 : left_ns > FILL_STEP ? left_ns : FILL_STEP);
    at_ns = at_ns > allowed_ns ? at_ns : allowed_ns;
    return at_ns < due_ns ? at_ns : due_ns;
}

/* Plans the next sample for when the budget allows it; planned samples that are left out are counted. */
static void plan(struct recorder *r, uint64_t due_ns)
{
    uint64_t missed = 0, fixed = r->options->pace.interval_ns, now = sampler_now(&r->sampler);
    uint64_t next = schedule_next(fixed, due_ns, now, &missed);
    uint64_t interval = schedule_interval(fixed, due_ns);
    /* An observer asks the budget when the sample is due (recorder/observe). */
    uint64_t paid = r->enforce.is_close ? next
                    : r->all->only      ? sampler_wait(&r->sampler, now, next, interval)
                    : fixed             ? next
                                        : on_grid(r, now, next, interval / GRID_PART);
    uint64_t late = paid < next ? 0 : (paid - next + (fixed ? interval - 1 : 0)) / interval;
    own_cost_left_out(&r->sampler.own, late + (r->pace.is_held ? missed : 0));
    r->pace.tick_due_ns = before_full(r, now, fixed ? next + late * interval : paid);
    thin_out(r);
    note_missed(r, r->pace.is_held ? 0 : missed);
    r->pace.is_held = false;
}

void recorder_scheduled_tick(struct recorder *r)
{
    uint64_t due = r->pace.tick_due_ns;
    bool rested = r->pace.is_resting;
    if (r->pace.is_first_due) {
        recorder_first_tick(r);
        return;
    }
    if (only_check(r))
        return;
    take_sample(r);
    r->pace.sampled_ns = sampler_tick_ns(&r->sampler);
    r->pace.is_resting = false;
    if (job_row_any_moved(&r->sampler.job))
        r->pace.quiet_ns = r->pace.sampled_ns;
    if (due >= BEGUN_NS && !r->pace.trimmed && r->all->only) {
        malloc_trim(0);
        r->pace.trimmed = true;
    }
    sampler_charge(&r->sampler, true);
    plan(r, rested && !r->options->pace.interval_ns ? r->pace.sampled_ns : due);
}
