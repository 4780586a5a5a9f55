/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the wrapper's messages; see recorder/wrapper/messages.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "recorder/loop/recorder.h"
#include "recorder/redact/redact.h"
#include "recorder/wrapper/own_cgroup.h"

#define MESSAGES_AT_ONCE 16u
static void take_totals(struct recorder *r, const struct link_message *l)
{
    struct job_wrapper *w = &r->job.wrapper;
    w->total[LEDGER_CPU_USER] = l->total_user_ns;
    w->total[LEDGER_CPU_SYSTEM] = l->total_system_ns;
    w->total[LEDGER_FAULTS_MINOR] = l->total_faults_minor;
    w->total[LEDGER_FAULTS_MAJOR] = l->total_faults_major;
    w->total[LEDGER_IO_READ] = l->total_io.read_bytes;
    w->total[LEDGER_IO_WRITE] = l->total_io.write_bytes;
    w->total[LEDGER_IO_RCHAR] = l->total_io.rchar_bytes;
    w->total[LEDGER_IO_WCHAR] = l->total_io.wchar_bytes;
    w->total[LEDGER_IO_CANCELLED_WRITE] = l->total_io.cancelled_write_bytes;
    w->switches_voluntary = l->total_switches_voluntary;
    w->switches_involuntary = l->total_switches_involuntary;
    w->maxrss = l->total_maxrss_bytes;
    w->floor_rss = l->floor_rss_bytes;
    w->reaped = l->total_reaped;
    w->io_unknown = l->total_io_unknown;
    static const enum job_metric from_wait4[] = {
        JOB_cpu,          JOB_cpu_user,           JOB_cpu_system,          JOB_faults_minor,
        JOB_faults_major, JOB_switches_voluntary, JOB_switches_involuntary};
    for (size_t i = 0; w->reaped && i < sizeof(from_wait4) / sizeof(*from_wait4); i++)
        r->job.seen.known |= UINT64_C(1) << from_wait4[i];
    static const enum ledger_counter io[] = {LEDGER_IO_READ, LEDGER_IO_WRITE, LEDGER_IO_RCHAR, LEDGER_IO_WCHAR,
                                             LEDGER_IO_CANCELLED_WRITE};
    static const enum job_metric io_metric[] = {JOB_io_read, JOB_io_write, JOB_io_rchar, JOB_io_wchar,
                                                JOB_io_cancelled_write};
    for (size_t i = 0; i < sizeof(io) / sizeof(*io); i++) {
        if (w->total[io[i]] || w->reaped > w->io_unknown)
            r->job.seen.known |= UINT64_C(1) << io_metric[i];
    }
}

static char *joined(char *const *argv)
{
    struct buf raw = {0}, line = {0};
    for (; argv && *argv; argv++)
        buf_add(&raw, *argv, strlen(*argv) + 1);
    pid_cmdline_format(span_of(raw.at, raw.len), 4096, &line);
    buf_byte(&line, 0);
    char *text = raw.failed || line.failed ? NULL : strdup((const char *)line.at);
    buf_done(&raw);
    buf_done(&line);
    return text;
}

/* The kernel counts the group's CPU time and lists its processes from the command's first instruction on. */
static void begin_group(struct recorder *r, const struct link_message *l)
{
    const struct own_group *own = r->options->run.own_group;
    if (!own || !own->n || !r->places)
        return;
    const struct cgroup_location *p =
        cgroup_location_of(r->places, own->at[0].v2 ? CGROUP_AT_UNIFIED : CGROUP_AT_CPUACCT);
    if (!(l->number & 1) || strcmp(r->header.cgroup_mode, "own") != 0 || !p ||
        sampler_groups_begin(&r->sampler, p, false) < 0)
        recorder_event(r, BARO_EVENT_WARNING, NULL, 0, "the command could not be put into its own control group");
}

static void on_started(struct recorder *r, const struct link_message *l)
{
    r->wrapper.command = l->pid;
    r->job.wrapper.floor_rss = l->floor_rss_bytes;
    r->job.wrapper.pid = r->wrapper.pid;
    event_count_pids(r, l->pid);
    begin_group(r, l);
    struct member *m = sampler_add_target(&r->sampler, l->pid, NULL);
    if (!m)
        m = tree_find(&r->job.tree, l->pid);
    job_event(&r->job, recorder_since(r, l->t_ns), BARO_EVENT_START, m, 0, r->header.argv[0] ? r->header.argv[0] : "");
    if (m) {
        m->life.begin_ns = recorder_since(r, l->t_ns) | 1; /* not 0, which means: before the tape, or not known */
        char *line = r->options->scope.cmdline ? joined(r->options->run.argv) : NULL;
        if (line)
            member_set_cmdline(m, line);
        free(line);
        if (r->options->scope.children && !member_is_gone(m) && !r->all->events.forks)
            sampler_scan_children(&r->sampler, m);
    }
    if (r->foreign_proc) {
        char text[128];
        snprintf(text, sizeof(text), "%s: only the processes that the wrapper reaps are known", recorder_lacks_proc());
        recorder_event(r, BARO_EVENT_WARNING, NULL, 0, text);
    }
    if (r->options->scope.no_helpers)
        recorder_event(r, BARO_EVENT_WARNING, NULL, 0, r->options->scope.no_helpers);
    r->wrapper.started = true;
    event_drain(r->all);
    recorder_first_tick(r);
}

/* ru_maxrss of wait4() is the maximum of the process and of all children that it has waited for. It is the process's
 * own peak if it had no children, or if a read of the process itself showed as much. A child inherits the wrapper's
 * high-water mark until it executes a program, so a value that is not above the wrapper's own is ignored. */
static void take_memory(const struct link_message *l, struct member *m)
{
    const struct baro_process *row = &m->row;
    bool leaf = !row->value[PROCESS_children_faults_minor] && !row->value[PROCESS_children_cpu_user];
    bool reached = row->absent[PROCESS_rss_peak] == BARO_PRESENT && row->value[PROCESS_rss_peak] >= l->maxrss_bytes;
    if (!(leaf || reached) || l->maxrss_bytes <= l->floor_rss_bytes)
        return;
    member_make_usage(m)->has_memory = true;
    member_make_usage(m)->rss_peak = l->maxrss_bytes;
}

/* If the process's own I/O count is not known, the last value read while it lived is added to the job. */
static void carry_io(struct recorder *r, const struct link_message *l, const struct member *m)
{
    static const enum ledger_counter lost[] = {LEDGER_IO_RCHAR, LEDGER_IO_WCHAR, LEDGER_IO_CANCELLED_WRITE};
    for (size_t i = 0; r->job.adopts && !l->io_known && i < sizeof(lost) / sizeof(*lost); i++)
        r->job.carried[lost[i]] += job_ledger(m, lost[i]);
}

static struct pid_io io_of(const struct link_io *used, bool known)
{
    struct pid_io io = {.value = {[IO_RCHAR] = used->rchar_bytes,
                                  [IO_WCHAR] = used->wchar_bytes,
                                  [IO_READ_BYTES] = used->read_bytes,
                                  [IO_WRITE_BYTES] = used->write_bytes,
                                  [IO_CANCELLED_WRITE_BYTES] = used->cancelled_write_bytes}};
    for (int i = 0; i < IO_MAX; i++)
        io.valid |= known || io.value[i] ? 1u << i : 0;
    return io;
}

static void fill_reaped(struct recorder *r, struct member *m, const struct link_message *l)
{
    const struct process_zombie z = {.stat = span_of(l->stat, l->stat_len),
                                     .cpu_ns = l->cpu_ns,
                                     .io = io_of(&l->io_used, l->io_known),
                                     .io_known = l->io_known,
                                     .own_io = io_of(&l->own_io, l->own_io_known),
                                     .own_io_known = l->own_io_known};
    process_take_zombie(&r->sampler.processes, m, &z);
    job_reaped(&r->job, m, recorder_since(r, l->t_ns));
    m->life.end_reported = true;
    m->life.status_known = true;
    m->life.status = l->status;
    if (l->cpu_ns) {
        member_make_usage(m)->has_cpu = true;
        member_make_usage(m)->cpu_ns = l->cpu_ns;
        member_make_usage(m)->cpu_unsure_ns = 0;
    }
    if (l->cpu_limit_ns) {
        m->limit.limit_at_ns = l->cpu_ns;
        m->limit.cpu_limit_ns = l->cpu_limit_ns;
        m->limit.ticks_ratio = (float)l->ticks_ns / (float)l->cpu_ns;
    }
    if (l->stat_len)
        member_make_usage(m)->source = BARO_EXIT_WAIT4;
    take_memory(l, m);
}

static struct member *find_reaped(struct recorder *r, const struct link_message *l, uint64_t t)
{
    struct pid_stat st;
    bool reported, parsed = l->stat_len && pid_stat_parse(span_of(l->stat, l->stat_len), &st) == 0;
    struct member *m = job_claim(&r->job, l->pid, parsed ? st.starttime : 0, t, &reported);
    if (m || reported)
        return m;
    m = tree_find(&r->job.tree, l->pid);
    if (m && l->pid != r->wrapper.command)
        return NULL; /* the pid has been reused, and the process that was reaped was never seen */
    return job_add(&r->job, l->pid, NULL, BARO_ORIGIN_ADOPTED, t);
}

static void take_reaped(struct recorder *r, const struct link_message *l)
{
    uint64_t t = recorder_since(r, l->t_ns);
    if (l->pid == r->wrapper.command) {
        r->end.status_known = true;
        r->end.status = l->status;
        r->end.t_ns = r->options->run.wait_all ? 0 : t;
    }
    struct member *m = find_reaped(r, l, t);
    if (!m) {
        take_totals(r, l);
        return;
    }
    fill_reaped(r, m, l);
    carry_io(r, l, m);
    if (member_is_gone(m)) { /* it was found gone before; the wrapper became its parent when its former parent ended */
        take_totals(r, l);
        return;
    }
    members_gather(&r->sampler.processes, m, sampler_now(&r->sampler));
    /* Must come before take_totals(): before it, the member's counters can still show what the children that it reaped
     * had used; after it, all that the member used counts as the wrapper's. */
    sampler_settle(&r->sampler);
    take_totals(r, l);
    sampler_gone(&r->sampler, m, t);
}

static void on_reaped(struct recorder *r, const struct link_message *l)
{
    take_reaped(r, l);
    if (l->pid == r->wrapper.command)
        enforce_command_ended(r);
}

static void on_message(struct recorder *r, const struct link_message *l)
{
    struct member *m = tree_find(&r->job.tree, r->wrapper.command);
    switch (l->kind) {
    case LINK_STARTED: on_started(r, l); break;
    case LINK_FAILED:
        r->end.finishing = true;
        recorder_event(r, BARO_EVENT_WARNING, NULL, (uint64_t)l->number, "the command could not be executed");
        break;
    case LINK_REAPED: on_reaped(r, l); break;
    case LINK_SIGNAL:
        recorder_event(r, BARO_EVENT_SIGNAL, m, (uint64_t)l->number, "");
        enforce_hurry(r);
        break;
    case LINK_STOPPED: recorder_event(r, BARO_EVENT_STOP, m, (uint64_t)l->number, ""); break;
    case LINK_CONTINUED: recorder_event(r, BARO_EVENT_CONT, m, 0, ""); break;
    case LINK_ENDED:
        take_totals(r, l);
        /* LINK_REAPED of the command was lost: the socket was full. With a number a limit could not end the command. */
        if (!r->end.status_known && r->wrapper.started && !l->number) {
            r->end.status_known = true;
            r->end.status = l->status;
        }
        r->end.finishing = true;
        break;
    default: break;
    }
}

static void on_wrapper_lost(struct recorder *r)
{
    r->wrapper.is_lost = true;
    epoll_ctl(r->all->epoll_fd, EPOLL_CTL_DEL, r->wrapper.link_fd, NULL);
    r->wrapper.link_fd = -1;
    sampler_forget_wake(&r->sampler);
    r->job.wrapper.pid = 0;
    r->job.adopts = false;
    if (r->wrapper.started)
        recorder_event(r, BARO_EVENT_WRAPPER_LOST, NULL, 0, "the wrapper went away; the job goes on");
    else
        r->end.finishing = true;
}

static bool receive(struct recorder *r, struct link_message *l)
{
    ssize_t n = recv(r->wrapper.link_fd, l, sizeof(*l), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        r->wrapper.link_closed = true;
    return n == (ssize_t)sizeof(*l) && l->stat_len <= sizeof(l->stat);
}

/* Handles a few messages at a time, because samples must be taken even if many orphans end. Events that were queued
 * before a message belong before it; they are read once for all messages. */
void wrapper_drain(struct recorder *r)
{
    struct link_message l[MESSAGES_AT_ONCE];
    unsigned n = 0;
    bool reaped = false;
    if (r->wrapper.link_fd < 0)
        return;
    while (n < MESSAGES_AT_ONCE && receive(r, &l[n]))
        reaped |= l[n++].kind == LINK_REAPED;
    if (reaped)
        event_drain(r->all);
    for (unsigned i = 0; i < n && !r->end.finishing; i++)
        on_message(r, &l[i]);
    if (r->wrapper.link_closed && !r->end.finishing)
        on_wrapper_lost(r);
}
