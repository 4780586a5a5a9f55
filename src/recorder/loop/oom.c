/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of the job were OOM-killed, from the kernel's log (kernel/proc/kmsg.c). It is read once, at the end,
 * and only if SIGKILL ended a process of the job or its control group counted a kill. Nothing is reported if the log
 * can't be read (CAP_SYSLOG if kernel.dmesg_restrict is set, no /dev/kmsg in most containers), in a PID namespace other
 * than the initial one, whose pids the log does not have, or if the log begins after the job.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/min_max.h"
#include "kernel/proc/machine.h"
#include "recorder/loop/recorder.h"
#include "recorder/redact/redact.h"

#define FIRST_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO */
#define LINES_MOST 65536u
#define READ_WITHIN (20 * NS_PER_MS)
#define LOG_WITHIN (10 * NS_PER_MS)   /* the kernel writes the line after it has sent SIGKILL */
#define ENDS_WITHIN (30 * NS_PER_SEC) /* of a machine: how far the end of a process may be from its line in the log */
#define SLACK_US 1000000u             /* the log's clock (sched_clock) runs a little faster or slower than ours */

static void report_kill(struct recorder *r, const struct oom_ended *e, const struct oom_victim *v)
{
    struct baro_attribute of[2] = {{.name = ATTRIBUTE_OOM_GROUP, .type = BARO_ATTRIBUTE_TEXT, .text = v->group},
                                   {.name = ATTRIBUTE_OOM_LIMIT, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = v->limit}};
    struct baro_event kill = {
        .t_ns = e->t_ns, .kind = BARO_EVENT_OOM, .key = e->key, .number = 1, .text = e->name, .attribute = of};
    kill.n_attributes = !*v->group ? 0 : v->limit ? 2 : 1;
    r->job.sink.event(r->job.sink.context, &kill);
}

static void report_awaited(struct recorder *r, const struct oom_ended *e)
{
    struct oom_watch *w = &r->oom;
    for (uint32_t i = 0; i < w->n_awaited; i++) {
        if (w->awaited[i].pid != e->key.pid)
            continue;
        report_kill(r, e, &w->awaited[i]);
        w->awaited[i] = w->awaited[--w->n_awaited];
        return;
    }
}

void oom_note_exit(struct recorder *r, const struct baro_exit *e)
{
    struct oom_watch *w = &r->oom;
    bool killed = e->status_known && WIFSIGNALED(e->status) && WTERMSIG(e->status) == SIGKILL;
    if (!killed && (e->status_known || r->job.whole))
        return;
    struct oom_ended *at = &w->at[w->n++ % OOM_ENDED_MAX]; /* the latest ones */
    w->killed += killed;
    *at = (struct oom_ended){.key = e->key, .t_ns = e->t_ns};
    snprintf(at->name, sizeof(at->name), "%s", e->name ? e->name : "");
    report_awaited(r, at);
}

static bool in_first_namespace(const struct recorder *r)
{
    char name[64];
    ssize_t n = readlinkat(r->proc_fd, "self/ns/pid", name, sizeof(name));
    return n == sizeof(FIRST_PID_NAMESPACE) - 1 && memcmp(name, FIRST_PID_NAMESPACE, (size_t)n) == 0;
}

struct oom_log oom_log_of(uint64_t start_ns, uint64_t now_ns)
{
    uint64_t start_us = start_ns / 1000;
    uint64_t slack = SLACK_US + now_ns / 1000 / 1000; /* plus a thousandth of the uptime, for drift of the clocks */
    return (struct oom_log){.since_us = start_us > slack ? start_us - slack : 0};
}

static const struct oom_ended *ended_as(const struct oom_watch *w, uint64_t pid)
{
    size_t n = w->n < OOM_ENDED_MAX ? w->n : OOM_ENDED_MAX;
    for (size_t i = 0; i < n; i++) {
        if ((uint64_t)w->at[i].key.pid == pid && w->at[i].t_ns >= w->recent_ns)
            return &w->at[i];
    }
    return NULL;
}

void oom_log_take(struct oom_log *l, const struct oom_watch *w, struct span text)
{
    struct kmsg_record record;
    if (kmsg_parse(text, &record) != 0)
        return;
    l->begins_before |= record.t_us < l->since_us;
    if (record.oom_limit)
        l->chosen = (struct oom_victim){.limit = record.oom_limit};
    if (record.oom_chosen && record.oom_group.len < OOM_GROUP_MAX) {
        char group[OOM_GROUP_MAX] = "";
        memcpy(group, record.oom_group.at, record.oom_group.len);
        l->chosen.pid = (int32_t)record.oom_chosen;
        redact_name_to(group, l->chosen.group, sizeof(l->chosen.group));
    }
    if (record.t_us < l->since_us || !record.oom_killed)
        return;
    l->kills++;
    const struct oom_ended *e = ended_as(w, record.oom_killed);
    struct oom_victim victim = {.pid = (int32_t)record.oom_killed};
    if (l->chosen.pid == victim.pid)
        victim = l->chosen;
    if (!e) {
        uint64_t others = l->kills - l->kills_noted - 1;
        if (others < OOM_NOTED_MAX)
            l->others[others] = victim;
        return;
    }
    size_t len = strlen(l->names);
    if (l->kills_noted < OOM_NOTED_MAX) {
        l->noted[l->kills_noted] = *e;
        l->noted_as[l->kills_noted] = victim;
    }
    l->kills_noted++;
    snprintf(l->names + len, sizeof(l->names) - len, "%s%s", len ? ", " : "", e->name);
}

bool oom_log_is_whole(const struct oom_log *l, const struct oom_watch *w, uint64_t counted)
{
    return !l->lost && l->begins_before && l->kills >= counted && w->n <= OOM_ENDED_MAX;
}

static void read_log(int fd, const struct oom_watch *w, struct oom_log *l)
{
    char text[8192]; /* a line of the log has at most 1 KiB, plus its continuation */
    uint64_t until = clock_monotonic_ns() + READ_WITHIN;
    unsigned tries = 0;
    while (!l->lost) {
        ssize_t n = read(fd, text, sizeof(text));
        if (n < 0 && fd_again(&tries))
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        l->lost = n <= 0 || l->lines++ >= LINES_MOST || clock_monotonic_ns() > until; /* EPIPE: overwritten */
        if (!l->lost)
            oom_log_take(l, w, span_of(text, (size_t)n));
    }
}

/* Each kill that the kernel's log names is an event of that process, at its end; of the others only their number is
 * known. */
static void report_kills(struct recorder *r)
{
    struct oom_watch *w = &r->oom;
    struct oom_log l = oom_log_of(r->header.start_monotonic_ns, clock_monotonic_ns());
    if (w->log_fd >= 0)
        read_log(w->log_fd, w, &l);
    uint64_t named = min_u64(l.kills_noted, OOM_NOTED_MAX), others = min_u64(l.kills - l.kills_noted, OOM_NOTED_MAX);
    for (uint64_t i = 0; i < named; i++)
        report_kill(r, &l.noted[i], &l.noted_as[i]);
    w->n_awaited = (uint32_t)others;
    w->awaited_ns = sampler_now(&r->sampler);
    memcpy(w->awaited, l.others, sizeof(w->awaited));
    if (w->pending > named + others)
        recorder_event(r, BARO_EVENT_OOM, NULL, w->pending - named - others, "");
}

/* What it says from now on: the log may have so many lines that reading all of them takes too long. */
static int open_log_at_end(const struct recorder *r)
{
    int fd = in_first_namespace(r) ? open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0)
        lseek(fd, 0, SEEK_END);
    return fd;
}

/* The kernel counts a kill before it writes to its log, so the log is read at the next sample. */
void oom_note_sample(struct recorder *r, const struct baro_sample *s)
{
    struct oom_watch *w = &r->oom;
    if (!r->job.whole || s->host_absent[HOST_oom_kills] || !s->has_host)
        return;
    uint64_t now = s->host[HOST_oom_kills];
    if (!w->is_counted)
        w->log_fd = open_log_at_end(r);
    w->recent_ns = s->t_ns > ENDS_WITHIN ? s->t_ns - ENDS_WITHIN : 0;
    if (w->pending)
        report_kills(r);
    else if (w->awaited_ns < w->recent_ns)
        w->n_awaited = 0;
    w->pending = w->is_counted && now > w->counted ? now - w->counted : 0;
    w->counted = now;
    w->is_counted = true;
}

void oom_report(struct recorder *r)
{
    if (r->job.whole) {
        if (r->oom.is_counted)
            fd_close(r->oom.log_fd);
        return;
    }
    uint64_t counted = cgroup_row_oom_kills(&r->sampler.cgroups), now = clock_monotonic_ns();
    struct oom_log l = oom_log_of(r->header.start_monotonic_ns, now);
    const struct timespec pause = {0, NS_PER_MS};
    if ((!r->oom.killed && !counted) || !r->oom.n || !in_first_namespace(r))
        return;
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    for (uint64_t until = now + LOG_WITHIN;;) {
        read_log(fd, &r->oom, &l);
        if (l.lost || l.kills >= counted || clock_monotonic_ns() > until)
            break;
        nanosleep(&pause, NULL);
    }
    fd_close(fd);
    if (oom_log_is_whole(&l, &r->oom, counted))
        recorder_event(r, BARO_EVENT_OOM, NULL, l.kills_noted, l.names);
}
