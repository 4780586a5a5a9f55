/* SPDX-License-Identifier: Apache-2.0 */
/* How a recording begins, and what is released at its end. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespace.h"
#include "libbaro/tape/header_fields.h"
#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"
#include "recorder/marks/marks_file.h"
#include "recorder/wrapper/own_cgroup.h"

/* ---- tasks that are named by pid ---- */

/*
 * A job of an observer whose tasks are processes that are named by pid: no command is matched, and no process joins
 * later, so no selector is needed. The named processes and their descendants are members, as with --pid. The
 * descendants of a named process belong to its task.
 */

static int place_error(const struct recorder *r, const struct pin *pin, const struct baro_error *why,
                       struct baro_error *err)
{
    return error_set(err, why->code, "%s:%u:%u: %s", r->options->attach.task_file, pin->line, pin->column, why->text);
}

static int add_pinned(struct recorder *r, const struct pin *pin, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    struct member *m = targets_add(r, pin->pid, &why);
    if (m && pin->start && m->row.key.start != pin->start) {
        error_set(&why, -ESRCH, "process %d ended before it could be read", (int)pin->pid);
        m = NULL;
    }
    if (!m)
        return place_error(r, pin, &why, err);
    job_label(m, &r->job, pin->task);
    job_label_below(&r->job, m, pin->task);
    return 0;
}

static int pinned_open(struct recorder *r, struct baro_error *err)
{
    const struct select_options *o = r->options->attach.pinned;
    int code = task_row_use(&r->sampler.tasks, o, r->root_fd, false, err);
    if (code == 0)
        code = record_sandboxes(r, o, err);
    for (size_t i = 0; i < o->n_pins && code == 0; i++)
        code = add_pinned(r, &o->pins[i], err);
    return code;
}

#define FIRST_WITHIN (30 * NS_PER_SEC)
#define DESCRIPTORS_FOR_THE_MACHINE 64u
#define SWEEP_AFTER_NS (50 * NS_PER_MS) /* a short command is not kept waiting */

void recorder_report_finished(struct recorder *r)
{
    recorder_writes(r, true);
    if (r->options->on.finished)
        r->options->on.finished(r->options->observer.context, r->wrapper.started);
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
    limits_close(r);
    if (r->options->run.own_group)
        own_remove(r->options->run.own_group);
    head_done(&r->header);
}

/* Closes only what must be closed, because the wrapper waits for the end of this process. Memory and descriptors are
 * left to the kernel, which saves 0.4 ms for a short command. */
static void close_for_wrapper(struct recorder *r)
{
    sampler_end_helpers(&r->sampler);
    if (r->options->run.own_group)
        own_remove(r->options->run.own_group);
    if (r->wrapper.is_lost)
        marks_file_remove(r->options->marks);
    if (sampler_now(&r->sampler) > SWEEP_AFTER_NS)
        marks_file_sweep(r->options->marks);
}

/* If only few descriptors are allowed, the recorder uses them for the processes. It does not record the machine and the
 * control groups then, which keep a dozen files open each. */
static bool descriptors_left(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS_FOR_THE_MACHINE;
}

const char *recorder_lacks_proc(void)
{
    return access("/proc/version", F_OK) == 0 ? "/proc is that of another PID namespace" : "/proc is not mounted";
}

static int open_proc(struct recorder *r, const struct record_options *o, struct baro_error *err)
{
    r->proc_fd = r->all->only ? open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC) : r->all->proc_fd;
    bool is_absent = r->proc_fd < 0 && errno == ENOENT && !o->attach.host_alone;
    if (r->proc_fd < 0 && !is_absent)
        return error_set(err, -errno, "can't open /proc: %s", strerror(errno));
    /* The same pid is another process in the /proc of another namespace. */
    if (is_absent || (!o->attach.host_alone && !namespace_proc_is_own(r->proc_fd))) {
        r->foreign_proc = true;
        r->proc_fd = fd_close(r->proc_fd);
        if (!r->wrapper.pid)
            return error_set(err, -ENOENT, "%s: mount this one's (mount -t proc proc /proc)", recorder_lacks_proc());
    }
    return 0;
}

static int begin_job(struct recorder *r, const struct record_options *o, struct baro_error *err)
{
    struct job_sink sink = writes_sink(r);
    int code = job_init(&r->job, &sink, !r->wrapper.pid, r->header.start_boottime_ns, r->header.clk_tck);
    if (code < 0)
        return error_set(err, code, "out of memory");
    r->job.tree.member_index = r->all->only ? NULL : &r->all->members;
    r->job.tree.owner = r;
    r->job.wrapper.pid = r->wrapper.pid;
    for (size_t i = 0; i < r->wrapper.n_others && r->proc_fd >= 0; i++)
        r->wrapper.earlier[i] =
            (struct baro_key){r->wrapper.other[i], proc_read_start(r->proc_fd, r->wrapper.other[i])};
    r->job.adopts = r->wrapper.pid && o->run.adopts;
    r->job.alone = !o->scope.children && !r->wrapper.pid;
    return 0;
}

static int begin_sampler(struct recorder *r, const struct record_options *o, uint64_t start_ns, bool host,
                         struct baro_error *err)
{
    struct sampler_options so = {
        .proc_fd = r->proc_fd,
        .wanted = o->scope.wanted,
        .overhead_ppm = o->pace.overhead_ppm,
        .cmdline = o->scope.cmdline,
        .children = o->scope.children && !recorder_selects(o),
        .helper = !o->scope.no_helpers,
        .start_monotonic_ns = start_ns,
        .page_size = r->header.page_size,
        .self = {getpid(), r->wrapper.pid},
        .earlier = r->wrapper.earlier,
        .n_earlier = r->wrapper.n_others,
        .before = o->before,
        .starter = o->attach.starter,
        .wake_fd = r->wrapper.link_fd,
        .host = host,
        .host_at_once = !r->wrapper.pid,
        .host_alone = o->attach.host_alone,
        .whole = o->attach.all,
        .sys_fd = r->sys_fd,
        .clk_tck = r->header.clk_tck,
        .catch_up = event_catch_up,
        .catch_up_context = r,
        .root_fd = r->root_fd,
        .groups = limits_placed(r) ? r->places : NULL,
        .memory_total = r->header.memory_total,
        .account = r->all->only ? NULL : &r->all->account,
        .namespaces = o->run.namespaces,
        .gpu = o->scope.gpu,
        .gpu_interval_ns = o->pace.interval_ns,
        .become = o->scope.become,
    };
    if (stat("/proc/self/exe", &so.own_exe) < 0)
        so.own_exe.st_ino = 0;
    int code = sampler_init(&r->sampler, &r->job, &so, err);
    if (code == 0)
        code = record_directories(r, err);
    if (code < 0)
        return code;
    r->header.wanted = r->sampler.sampling.options.wanted;
    return 0;
}

static int prepare_recorder(struct recorder *r, const struct record_options *o, struct baro_error *err)
{
    uint64_t now = o->run.start_ns ? o->run.start_ns : clock_monotonic_ns();
    r->options = o;
    for (size_t i = 0; i < TARGETS_MAX; i++)
        r->targets.fd[i] = -1;
    r->targets.group_fd = r->targets.last_fd = -1;
    r->selection.under_fd = r->sys_fd = r->root_fd = -1;
    int code = open_proc(r, o, err);
    if (code < 0)
        return code;
    marks_open(r);
    code = r->all->only ? loop_open(r->all, r->wrapper.link_fd, err) : 0;
    if (code < 0)
        return code;
    bool room = descriptors_left();
    if (o->scope.host && room)
        r->sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC); /* a container may have none */
    code = header_fill(&r->header, o, now);
    if (code < 0)
        return error_set(err, code, "out of memory");
    code = limits_prepare(r, err);
    if (code < 0)
        return code;
    if (!room && !o->attach.cgroup)
        limits_without_groups(r);
    code = begin_job(r, o, err);
    if (code < 0)
        return code;
    return begin_sampler(r, o, now, o->scope.host && room, err);
}

int record_run(const struct record_options *options, const struct link_end *link, struct baro_error *err)
{
    struct recorders all;
    struct recorder r = {.all = &all,
                         .wrapper = {.link_fd = link->fd,
                                     .pid = link->wrapper,
                                     .limit_word = link->limit_word,
                                     .other = link->other,
                                     .n_others = link->n_others},
                         .writes = {.hangs_at = link->write_hangs_at}};
    recorders_init(&all, &r);
    int code = prepare_recorder(&r, options, err);
    if (code == 0) {
        event_open(&r); /* first: the wrapper is starting the command at the same time */
        limits_settle(&r);
        code = writes_begin(&r, err);
    }
    if (code == 0) {
        tasks_begin(&r);
        enforce_begin(&r);
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
    for (size_t i = 0; i < r->options->attach.n_targets; i++) {
        struct member *m = tree_find(&r->job.tree, r->options->attach.targets[i]);
        recorder_event(r, BARO_EVENT_START, m,
                       m && m->account.base ? m->account.base[LEDGER_CPU_USER] + m->account.base[LEDGER_CPU_SYSTEM] : 0,
                       "attached");
    }
    uint64_t before_ns;
    sampler_group_counts(&r->sampler, &before_ns);
    if (r->options->attach.cgroup || r->options->attach.all || r->options->attach.pinned ||
        recorder_selects(r->options))
        recorder_event(r, BARO_EVENT_START, NULL, before_ns, "attached");
}

static void report_hidden(struct recorder *r)
{
    if (r->options->attach.all && r->sampler.machine.hides)
        recorder_event(r, BARO_EVENT_WARNING, NULL, 0,
                       "processes of other users are hidden (hidepid of /proc), and are not recorded");
}

/* How many processes were never seen while nobody recorded is not known. */
static void report_gap(struct recorder *r)
{
    if (!r->options->attach.before)
        return;
    if (!r->job.whole) { /* that of a machine is a stretch without a recording, and no figure includes it */
        job_lose(&r->job);
        sampler_lost_events(&r->sampler, true);
    }
    recorder_event(r, BARO_EVENT_GAP, NULL, r->options->attach.before->gap_ns, GAP_NEXT_PART);
}

/* Plans the first sample. In the next part of a tape it has all members that were there: readers count a process that
 * is in the last sample of the part before once. So it waits for the process that selects. */
static void plan_first(struct recorder *r)
{
    if (!r->options->attach.before || !r->selection.selector) {
        recorder_first_tick(r);
        return;
    }
    r->pace.is_first_due = true;
    r->pace.tick_due_ns = sampler_now(&r->sampler) + FIRST_WITHIN;
}

int recorder_begin(struct recorder *r, const struct record_options *options, struct baro_error *err)
{
    int code = prepare_recorder(r, options, err);
    if (code == 0 && options->on.accepted) {
        code = targets_accept(r, err);
        if (code == 0)
            options->on.accepted(options->observer.context);
    }
    if (code == 0) {
        event_open(r);
        code = recorder_selects(options) ? 0 : targets_open(r, err);
    }
    if (code == 0 && options->attach.pinned)
        code = pinned_open(r, err);
    if (code == 0 && options->attach.select)
        code = record_select_open(r, err);
    else if (code == 0)
        code = record_watch_under(r, options->attach.under, err);
    if (code == 0)
        code = writes_begin(r, err);
    if (code < 0)
        return code;
    limits_find(r);
    sampler_discover(&r->sampler);
    report_gap(r);
    report_attached(r);
    report_hidden(r);
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
