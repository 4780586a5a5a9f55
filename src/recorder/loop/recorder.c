/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/loop/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespace.h"
#include "recorder/marks/marks_file.h"
#include "recorder/sampler/schedule.h"
#include "recorder/wrapper/own.h"

#define PENDING_MOST 512u /* exits and events that are collected between two ticks before they are written */
#define FIRST_WITHIN (30 * NS_PER_SEC)
#define STEP_NS (100 * (int64_t)NS_PER_MS)
#define HANGS_NS (30 * NS_PER_MS)
#define SUSPEND_NS (100 * NS_PER_MS)
#define DESCRIPTORS_FOR_THE_MACHINE 64u
#define HOST_ALONE_LEAST (100 * NS_PER_MS)
#define SWEEP_AFTER_NS (50 * NS_PER_MS) /* a short command is not kept waiting */
#define CHECK_GRID (250 * NS_PER_MS)
#define CHECKS_OF_A_CHARGE 16u
#define BEGUN_NS (2 * NS_PER_SEC) /* the recording has reached its steady state */

uint64_t recorder_since(const struct recorder *r, uint64_t absolute_ns)
{
    uint64_t start = r->header.start_monotonic_ns;
    return absolute_ns > start ? absolute_ns - start : 0;
}

/* ---- to the tape, and to the observer ---- */

/* A file server, or the process behind a FUSE mount, may never answer, so the wrapper gets a deadline: 30 ms, or four
 * times the longest write so far. Example: if writes took up to 40 ms, one counts as hanging after 160 ms. A local disk
 * answers at some time: the wrapper waits for it as long as it waits for the recorder. */
void recorder_writes(struct recorder *r, bool begins)
{
    uint64_t now = clock_monotonic_ns(), took = now - r->writes.began_ns, patience = HANGS_NS;

    if (begins)
        r->writes.began_ns = now;
    else if (took > r->writes.longest_ns)
        r->writes.longest_ns = took;
    if (4 * r->writes.longest_ns > patience)
        patience = 4 * r->writes.longest_ns;
    if (r->writes.hangs_at)
        *r->writes.hangs_at = begins && !r->writes.is_local ? now + patience : 0;
}

static void begun(struct recorder *r)
{
    recorder_writes(r, true);
    if (!r->writes.begun && r->options->begun)
        r->options->begun(r->options->observer.context);
    recorder_writes(r, false);
    r->writes.begun = true;
}

static void observe(struct recorder *r, const struct baro_sample *s)
{
    recorder_writes(r, true); /* the observer checks whether the tape is still there */
    if (r->options->observer.sample)
        r->options->observer.sample(r->options->observer.context, s);
    recorder_writes(r, false);
}

static void commit(struct recorder *r, const struct baro_sample *s)
{
    struct baro_error err = BARO_ERROR_INIT;
    r->writes.pending = 0;
    recorder_writes(r, true);
    int code = tape_writer_commit(r->writer, s, &err);
    recorder_writes(r, false);
    if (s)
        tasks_written(r, s);
    if (code == 0) {
        begun(r);
        return;
    }
    if (!r->writes.error_reported++ && r->options->on_error)
        r->options->on_error(r->options->observer.context, err.text);
}

/* For a tape in segments. All samples are on the tape by now, so a reader that finds the new segment has all of this
 * one (libbaro/tape/segment_read.c). */
static void next_segment(struct recorder *r, uint64_t t_ns)
{
    struct baro_error err = BARO_ERROR_INIT;
    if (!r->options->next_segment || tape_writer_failing(r->writer))
        return;
    recorder_writes(r, true);
    int fd = r->options->next_segment(r->options->observer.context, t_ns, tape_writer_bytes(r->writer));
    if (fd >= 0) {
        r->header.segment++;
        if (tape_writer_next(r->writer, fd, &r->header, &err) < 0) {
            r->header.segment--;
            r->options->no_segment(r->options->observer.context);
        }
    }
    recorder_writes(r, false);
    if (err.text[0] && !r->writes.error_reported++ && r->options->on_error)
        r->options->on_error(r->options->observer.context, err.text);
}

static void on_exit_record(void *context, const struct baro_exit *e)
{
    struct recorder *r = context;
    if (!tasks_hold_exit(r, e))
        tape_writer_exit(r->writer, e);
    oom_note_exit(r, e);
    if (r->options->observer.exit)
        r->options->observer.exit(r->options->observer.context, e);
    if (++r->writes.pending >= PENDING_MOST)
        commit(r, NULL);
}

static void on_event_record(void *context, const struct baro_event *e)
{
    struct recorder *r = context;
    tape_writer_event(r->writer, e);
    if (r->options->observer.event)
        r->options->observer.event(r->options->observer.context, e);
    if (++r->writes.pending >= PENDING_MOST)
        commit(r, NULL);
}

void recorder_event(struct recorder *r, enum baro_event_kind kind, const struct member *m, uint64_t number,
                    const char *text)
{
    job_event(&r->job, sampler_now(&r->sampler), kind, m, number, text);
}

/* ---- ticks ---- */

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
        commit(r, NULL);
}

void recorder_tick(struct recorder *r)
{
    r->marks.edge = false;
    check_clocks(r);
    const struct baro_sample *s = sampler_tick(&r->sampler);
    commit(r, s);
    observe(r, s);
    next_segment(r, s->t_ns);
}

static void note_missed(struct recorder *r, uint64_t missed)
{
    if (!missed)
        return;
    sampler_missed(&r->sampler, missed);
    recorder_event(r, BARO_EVENT_MISSED, NULL, missed, "");
}

/* The last sample takes the place of the one that was due first; the others that were due before the job ended are
 * missed. Example: every 20 ms, the next one due at 1.00 s; the recorder was stopped, and the command ended at 1.41 s:
 * 20 are missed. */
static void count_missed_at_end(struct recorder *r)
{
    uint64_t missed, end = r->end.t_ns ? r->end.t_ns : sampler_now(&r->sampler);
    if (r->pace.is_resting || end < r->pace.tick_due_ns)
        return;
    schedule_next(r->options->interval_ns, r->pace.tick_due_ns, end, &missed);
    note_missed(r, missed);
}

void recorder_last_tick(struct recorder *r)
{
    check_clocks(r);
    count_missed_at_end(r);
    const struct baro_sample *s = sampler_tick(&r->sampler);
    observe(r, s);
    oom_report(r);
    recorder_writes(r, true);
    if (r->options->summed_up)
        r->options->summed_up(r->options->observer.context);
    recorder_writes(r, false);
    commit(r, s);
    recorder_flush(r);
}

/* Without processes there is nothing that needs the dense samples at the beginning of a recording. */
static void thin_out(struct recorder *r)
{
    uint64_t least = sampler_tick_ns(&r->sampler) + HOST_ALONE_LEAST;
    if (r->options->host_alone && !r->options->interval_ns && r->pace.tick_due_ns < least)
        r->pace.tick_due_ns = least;
}

void recorder_first_tick(struct recorder *r)
{
    r->pace.is_first_due = false;
    recorder_tick(r);
    sampler_charge(&r->sampler, false); /* the cost of starting is not that of a sample */
    r->pace.tick_due_ns =
        sampler_tick_ns(&r->sampler) + schedule_interval(r->options->interval_ns, sampler_tick_ns(&r->sampler));
    r->pace.sampled_ns = r->pace.quiet_ns = sampler_tick_ns(&r->sampler);
    thin_out(r);
}

/* A process that slept until the last idle check and ran after it must not seem to have run slowly since the last
 * sample. So the last check is written as a sample. Example: sampled at 1.0 s, last check at 9.8 s, busy from 9.8 s to
 * 10.0 s: the CPU time of 0.2 s belongs to 0.2 s, not to 9 s. */
static void end_rest(struct recorder *r)
{
    const struct baro_sample *s = r->pace.is_resting ? sampler_repeat(&r->sampler, r->pace.checked_ns) : NULL;
    r->pace.is_resting = false;
    if (!s)
        return;
    commit(r, s);
    observe(r, s);
}

/* Idle jobs of an observer are checked together, as waking up costs more than a check. */
static uint64_t on_grid(const struct recorder *r, uint64_t now_ns, uint64_t due_ns)
{
    uint64_t start = r->header.start_monotonic_ns, grid = (due_ns + start) / CHECK_GRID * CHECK_GRID;
    return grid > now_ns + start ? grid - start : due_ns;
}

/* With interval auto, an idle job is only checked, and sampled rarely, for the machine around it. Returns true if the
 * check was all there is to do. */
static bool only_check(struct recorder *r)
{
    if (r->options->interval_ns)
        return false;
    if (!sampler_is_quiet(&r->sampler) || r->marks.edge) {
        end_rest(r);
        return false;
    }
    bool alone = !r->all->only && !r->options->host;
    uint64_t now = sampler_tick_ns(&r->sampler),
             sample_ns = r->pace.sampled_ns + schedule_quiet(r->pace.quiet_ns, now, alone),
             check_ns = schedule_check(r->pace.quiet_ns, now), next_ns = check_ns < sample_ns ? check_ns : sample_ns;
    if (now >= sample_ns)
        return false;
    if (r->all->only || ++r->all->checks % CHECKS_OF_A_CHARGE == 0)
        sampler_charge(&r->sampler, false); /* includes the checks of other jobs since the last one */
    r->pace.is_resting = true;
    r->pace.is_held = false;
    r->pace.checked_ns = now;
    r->pace.tick_due_ns = r->all->only ? sampler_wait(&r->sampler, now, next_ns, NS_PER_SEC) : on_grid(r, now, next_ns);
    return true;
}

void recorder_wake(struct recorder *r)
{
    if (r->all->only || !r->pace.is_resting || !sampler_is_stirred(&r->sampler))
        return;
    r->pace.tick_due_ns = sampler_now(&r->sampler);
    recorders_place(r->all, r);
}

/* So that what is used on one side of the edge is known apart from what is used on the other: also of a phase of some
 * milliseconds, for which a sample that waits for the budget would come after its end. With a fixed interval all
 * samples are on its grid. */
void recorder_sample_soon(struct recorder *r)
{
    if (!r->marks.edge || !r->wrapper.started || r->options->interval_ns)
        return;
    uint64_t now = sampler_now(&r->sampler), due = sampler_wait_edge(&r->sampler, now);
    if (due < r->pace.tick_due_ns)
        r->pace.tick_due_ns = due;
}

/* Plans the next sample for when the budget allows it; planned samples that are left out are counted. */
static void plan(struct recorder *r, uint64_t due_ns)
{
    uint64_t missed = 0, fixed = r->options->interval_ns, now = sampler_now(&r->sampler);
    uint64_t next = schedule_next(fixed, due_ns, now, &missed);
    uint64_t interval = schedule_interval(fixed, due_ns);
    /* An observer asks the budget when the sample is due (observe.c). */
    uint64_t paid = r->all->only ? sampler_wait(&r->sampler, now, next, interval) : next;
    uint64_t late = (paid - next + (fixed ? interval - 1 : 0)) / interval;
    sampler_left_out(&r->sampler, late + (r->pace.is_held ? missed : 0));
    r->pace.tick_due_ns = fixed ? next + late * interval : paid;
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
    recorder_tick(r);
    r->pace.sampled_ns = sampler_tick_ns(&r->sampler);
    r->pace.is_resting = false;
    if (sampler_any_moved(&r->sampler))
        r->pace.quiet_ns = r->pace.sampled_ns;
    if (due >= BEGUN_NS && !r->pace.trimmed && r->all->only) {
        malloc_trim(0);
        r->pace.trimmed = true;
    }
    sampler_charge(&r->sampler, true);
    plan(r, rested ? r->pace.sampled_ns : due);
}

/* ---- the end ---- */

void recorder_report_finished(struct recorder *r)
{
    recorder_writes(r, true);
    if (r->options->finished)
        r->options->finished(r->options->observer.context, r->wrapper.started);
    recorder_writes(r, false);
}

void recorder_close(struct recorder *r)
{
    targets_close(r);
    record_select_close(r);
    sampler_done(&r->sampler);
    job_done(&r->job);
    tape_writer_free(r->writer);
    if (r->all->only)
        fd_close(r->proc_fd);
    fd_close(r->sys_fd);
    marks_close(r);
    tasks_close(r);
    label_close(r);
    limits_close(r);
    if (r->options->own_group)
        own_remove(r->options->own_group);
    header_free(&r->header);
}

/* The wrapper waits for the end of this process. Memory and descriptors are left to the kernel, which saves 0.4 ms for
 * a short command. */
static void close_for_wrapper(struct recorder *r)
{
    sampler_end_helpers(&r->sampler);
    if (r->options->own_group)
        own_remove(r->options->own_group);
    if (r->wrapper.is_lost)
        marks_file_remove(r->options->marks);
    if (sampler_now(&r->sampler) > SWEEP_AFTER_NS)
        marks_file_sweep(r->options->marks);
}

/* ---- the beginning ---- */

/* If only few descriptors are allowed, they are used for the processes. The machine and the control groups, which keep
 * a dozen files open each, are then not recorded. */
static bool descriptors_left(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS_FOR_THE_MACHINE;
}

const char *recorder_lacks_proc(void)
{
    return access("/proc/version", F_OK) == 0 ? "/proc is that of another PID namespace" : "/proc is not mounted";
}

static int add_programs(struct recorder *r, const struct record_options *o, struct baro_error *err)
{
    int code = 0;
    for (size_t i = 0; i < o->n_programs && code == 0; i++) {
        const struct program_request request = {o->programs[i].name, o->programs[i].command, o->cwd, o->interval_ns};
        code = sampler_add_program(&r->sampler, &request, err);
    }
    return code;
}

static int prepare(struct recorder *r, const struct record_options *o, struct baro_error *err)
{
    uint64_t now = o->resume ? o->resume->header->start_monotonic_ns : o->start_ns ? o->start_ns : clock_monotonic_ns();
    r->options = o;
    for (size_t i = 0; i < TARGETS_MAX; i++)
        r->targets.fd[i] = -1;
    r->selection.under_fd = r->sys_fd = r->root_fd = -1;
    r->proc_fd = r->all->only ? open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC) : r->all->proc_fd;
    bool is_absent = r->proc_fd < 0 && errno == ENOENT && !o->host_alone;
    if (r->proc_fd < 0 && !is_absent)
        return error_set(err, -errno, "can't open /proc: %s", strerror(errno));
    /* The same pid is another process in the /proc of another namespace. */
    if (is_absent || (!o->host_alone && !namespace_proc_is_own(r->proc_fd))) {
        r->foreign_proc = true;
        r->proc_fd = fd_close(r->proc_fd);
        if (!r->wrapper.pid)
            return error_set(err, -ENOENT, "%s: mount this one's (mount -t proc proc /proc)", recorder_lacks_proc());
    }
    marks_open(r);
    int code = r->all->only ? loop_open(r->all, r->wrapper.link_fd, err) : 0;
    if (code < 0)
        return code;
    bool room = descriptors_left();
    if (o->host && room)
        r->sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC); /* a container may have none */
    code = header_fill(&r->header, o, now);
    if (code < 0)
        return error_set(err, code, "out of memory");
    code = limits_prepare(r, err);
    if (code < 0)
        return code;
    if (!room && !o->cgroup)
        limits_without_groups(r);
    struct job_sink sink = {on_exit_record, on_event_record, r};
    code = job_init(&r->job, &sink, !r->wrapper.pid, r->header.start_boottime_ns, r->header.clk_tck);
    if (code < 0)
        return error_set(err, code, "out of memory");
    r->job.tree.directory = r->all->only ? NULL : &r->all->members;
    r->job.tree.owner = r;
    r->job.wrapper.pid = r->wrapper.pid;
    r->job.adopts = r->wrapper.pid && o->adopts;
    r->job.alone = !o->children && !r->wrapper.pid;
    struct sampler_options so = {
        .proc_fd = r->proc_fd,
        .wanted = o->wanted,
        .overhead_ppm = o->overhead_ppm,
        .cmdline = o->cmdline,
        .children = o->children && !recorder_selects(o),
        .helper = true,
        .start_monotonic_ns = now,
        .page_size = r->header.page_size,
        .self = {getpid(), r->wrapper.pid},
        .wake_fd = r->wrapper.link_fd,
        .host = o->host && room,
        .host_at_once = !r->wrapper.pid,
        .host_alone = o->host_alone,
        .sys_fd = r->sys_fd,
        .clk_tck = r->header.clk_tck,
        .catch_up = event_catch_up,
        .catch_up_context = r,
        .root_fd = r->root_fd,
        .groups = limits_placed(r) ? r->places : NULL,
        .memory_total = r->header.memory_total,
        .account = r->all->only ? NULL : &r->all->account,
        .namespaces = o->namespaces,
        .gpu = o->gpu,
        .gpu_interval_ns = o->interval_ns,
        .become = o->become,
    };
    code = sampler_init(&r->sampler, &r->job, &so, err);
    if (code < 0)
        return code;
    code = add_programs(r, o, err);
    if (code == 0)
        code = record_directories(r, err);
    if (code < 0)
        return code;
    r->header.wanted = r->sampler.sampling.options.wanted;
    return 0;
}

static int start_tape(struct recorder *r, struct baro_error *err)
{
    struct baro_error write_err = BARO_ERROR_INIT;
    recorder_writes(r, true);
    int code = tape_writer_new(&r->writer, r->options->tape_fd, &r->header, NULL, err);
    r->writes.is_local = code == 0 && !tape_writer_network(r->writer);
    if (code == 0)
        code = tape_writer_start(r->writer, &write_err);
    recorder_writes(r, false);
    if (!r->writer)
        return code;
    if (code == 0)
        begun(r);
    else if (!r->writes.error_reported++ && r->options->on_error)
        r->options->on_error(r->options->observer.context, write_err.text);
    if (r->options->observer.header)
        r->options->observer.header(r->options->observer.context, &r->header);
    return 0;
}

int record_run(const struct record_options *options, const struct link_end *link, struct baro_error *err)
{
    struct recorders all;
    struct recorder r = {.all = &all,
                         .wrapper = {.link_fd = link->fd, .pid = link->wrapper},
                         .writes = {.hangs_at = link->write_hangs_at}};
    recorders_init(&all, &r);
    int code = prepare(&r, options, err);
    if (code == 0) {
        event_open(&r); /* first: the wrapper is starting the command at the same time */
        limits_settle(&r);
        code = start_tape(&r, err);
    }
    if (code == 0) {
        tasks_begin(&r);
        wrapper_drain(&r);
        loop_run(&all);
        recorder_finish(&r);
        code = r.wrapper.started;
        recorder_report_finished(&r);
    }
    close_for_wrapper(&r);
    return code;
}

static void report_attached(struct recorder *r)
{
    for (size_t i = 0; i < r->options->n_targets; i++) {
        struct member *m = tree_find(&r->job.tree, r->options->targets[i]);
        recorder_event(r, BARO_EVENT_START, m,
                       m && m->account.base ? m->account.base[LEDGER_CPU_USER] + m->account.base[LEDGER_CPU_SYSTEM] : 0,
                       "attached");
    }
    uint64_t before_ns;
    sampler_group_counts(&r->sampler, &before_ns);
    if (r->options->cgroup || r->options->pinned || recorder_selects(r->options))
        recorder_event(r, BARO_EVENT_START, NULL, before_ns, "attached");
}

static int resume(struct recorder *r)
{
    const struct baro_sample *last = r->options->resume->last;
    uint64_t now = sampler_now(&r->sampler);
    int code = sampler_resume(&r->sampler, last);
    recorder_event(r, BARO_EVENT_GAP, NULL, now > last->t_ns ? now - last->t_ns : 0, GAP_NO_OBSERVER);
    return code;
}

/* If another recorder goes on with that sample, what it does not have has ended. So there is none before all members
 * have joined that another process selects. */
static void plan_first(struct recorder *r)
{
    if (!r->job.before) {
        recorder_first_tick(r);
        return;
    }
    r->pace.is_first_due = true;
    r->pace.tick_due_ns = sampler_now(&r->sampler) + FIRST_WITHIN;
}

int recorder_begin(struct recorder *r, const struct record_options *options, struct baro_error *err)
{
    int code = prepare(r, options, err);
    if (code == 0) {
        event_open(r);
        code = recorder_selects(options) ? 0 : targets_open(r, err);
    }
    if (code == 0 && options->pinned)
        code = pinned_open(r, err);
    if (code == 0 && options->select)
        code = record_select_open(r, err);
    else if (code == 0)
        code = record_watch_under(r, options->under, err);
    if (code == 0 && task_row_groups(&r->sampler.tasks, &r->header) < 0)
        code = error_set(err, -ENOMEM, "out of memory");
    if (code == 0)
        code = start_tape(r, err);
    if (code < 0)
        return code;
    limits_find(r);
    sampler_discover(&r->sampler);
    if (!options->resume)
        report_attached(r);
    else if (resume(r) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    r->wrapper.started = true;
    plan_first(r);
    return 0;
}

int record_attach(const struct record_options *options, struct record_end *ret, struct baro_error *err)
{
    struct recorders all;
    struct recorder r = {.all = &all, .wrapper = {.link_fd = -1}};
    recorders_init(&all, &r);
    int code = recorder_begin(&r, options, err);
    if (code == 0) {
        loop_run(&all);
        recorder_finish(&r);
        recorder_report_finished(&r);
        *ret = (struct record_end){r.end.status_known, r.end.status, r.end.detached};
    }
    recorder_close(&r);
    recorders_done(&all);
    return code;
}
