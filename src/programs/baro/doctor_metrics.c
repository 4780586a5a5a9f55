/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row for each metric that the collectors serve. The collectors take samples of this process as in a recording, and
 * each row says whether the value is available. What would enable an absent one follows from the reason, from its file,
 * and from the registry: the first kernel version, and the version of control groups.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/span.h"
#include "libbaro/metric/ids.h"
#include "programs/baro/doctor.h"
#include "recorder/collectors/cgroups/cgroup.h"
#include "recorder/collectors/sampler.h"

#define PATIENCE (2 * NS_PER_SEC) /* a mount that hangs is given up after one second */
#define PAUSE (20 * NS_PER_MS)

struct tried {
    int proc_fd, sys_fd, root_fd;
    int kernel; /* as returned by baro_metric_since(); 0: not known */
    struct job job;
    struct sampler sampler;
    struct baro_sample sample;
    struct cgroup_hierarchies places;
};

/* "5.19.0-rc1" as 5019; 0: none */
static int version_of(const char *text)
{
    struct span rest = span_str(text);
    uint64_t major, minor;
    bool ok = scan_u64(&rest, &major) && scan_char(&rest, '.') && scan_u64(&rest, &minor) && major < 1000;
    return ok && minor < 1000 ? (int)(major * 1000 + minor) : 0;
}

/* ---- a row ---- */

struct row {
    const struct baro_metric *metric;
    enum baro_kind kind;
    int id;
    size_t entities, there; /* how many entities there are, and how many have the value */
    bool outstanding;       /* a helper has not replied yet, for some entity */
    uint8_t why;            /* the reason if it is absent */
};

static struct row tried_row(const struct tried *t, enum baro_kind kind, int id)
{
    struct row r = {.metric = baro_metric_get(kind, id), .kind = kind, .id = id};
    if (kind == BARO_KIND_HOST || kind == BARO_KIND_PROCESS) {
        r.entities = 1;
        r.why = kind == BARO_KIND_HOST ? t->sample.host_absent[id]
                : t->sample.n          ? t->sample.processes[0]->absent[id]
                                       : (uint8_t)BARO_ABSENT_UNKNOWN;
        if (kind == BARO_KIND_HOST && !t->sample.has_host)
            r.why = BARO_ABSENT_UNKNOWN;
        r.there = !r.why;
        r.outstanding = r.why == BARO_ABSENT_NOT_YET;
        return r;
    }
    const struct baro_entities *all = &t->sample.entities[kind];
    r.entities = all->n;
    for (size_t i = 0; i < all->n; i++) {
        r.there += !all->at[i]->absent[id];
        r.outstanding = r.outstanding || all->at[i]->absent[id] == BARO_ABSENT_NOT_YET;
        r.why = all->at[i]->absent[id] ? all->at[i]->absent[id] : r.why;
    }
    return r;
}

/* ---- samples ---- */

/* Is the metric one that a collector reads? Totals of the job and of tasks are sums over processes, and tasks and
 * directories exist only with options. */
static bool is_served(const struct collectors *c, int kind, int id)
{
    if (kind == BARO_KIND_JOB || kind == KIND_task || kind == BARO_KIND_DIRECTORY ||
        (kind == BARO_KIND_PROCESS && id == PROCESS_task))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        if (collector_serves(c->row[i].is, (enum baro_kind)kind, id))
            return true;
    }
    return false;
}

static bool any_outstanding(const struct tried *t)
{
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (int id = 0; id < baro_metric_count(kind); id++) {
            if (is_served(&t->sampler.sampling.collectors, kind, id) &&
                tried_row(t, (enum baro_kind)kind, id).outstanding)
                return true;
        }
    }
    return false;
}

static void ignore_exit(void *context, const struct baro_exit *e)
{
    (void)context;
    (void)e;
}

static void ignore_event(void *context, const struct baro_event *e)
{
    (void)context;
    (void)e;
}

static void take_samples(struct tried *t)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    const struct job_sink sink = {ignore_exit, ignore_event, NULL};
    const struct sampler_options o = {.proc_fd = t->proc_fd,
                                      .sys_fd = t->sys_fd,
                                      .root_fd = t->root_fd,
                                      .wanted = UINT64_MAX >> (64 - PROCESS_MAX),
                                      .clk_tck = (uint32_t)sysconf(_SC_CLK_TCK),
                                      .page_size = (uint64_t)sysconf(_SC_PAGESIZE),
                                      .start_monotonic_ns = clock_monotonic_ns(),
                                      .self = {getpid()},
                                      .wake_fd = -1,
                                      .helper = true,
                                      .host = true,
                                      .host_at_once = true,
                                      .groups = t->places.n ? &t->places : NULL};
    if (job_init(&t->job, &sink, true, clock_boottime_ns(), o.clk_tck) < 0)
        return;
    if (sampler_init(&t->sampler, &t->job, &o, NULL) < 0)
        return;
    sampler_add_target(&t->sampler, getpid(), NULL);
    do {
        if (t->sample.t_ns)
            nanosleep(&pause, NULL);
        t->sample = *sampler_tick(&t->sampler);
    } while (any_outstanding(t) && t->sample.t_ns < PATIENCE);
}

/* ---- what is missing ---- */

/* For a metric of control groups: the hierarchy that has its file, and the name of the file there, or NULL. */
static const struct cgroup_location *file_of_metric(const struct tried *t, const struct row *r, const char **ret_file)
{
    const struct cgroup_location *p = cgroups_location_of(&t->places, (enum cgroup_metric)r->id);
    *ret_file = p ? baro_metric_cgroup_file(r->kind, r->id, p->v2 ? 2 : 1) : NULL;
    return p;
}

/* Is the metric that of a limit which is not set? That is so if the group exists and has the value to which the
 * limit would apply. */
static bool is_unlimited(const struct tried *t, const struct row *r)
{
    static const struct {
        enum cgroup_metric limit, beside;
    } rows[] = {{CGROUP_memory_limit, CGROUP_memory},
                {CGROUP_memory_high, CGROUP_memory},
                {CGROUP_swap_limit, CGROUP_swap},
                {CGROUP_pids_limit, CGROUP_pids},
                {CGROUP_cpu_limit, CGROUP_cpu_periods}};
    for (size_t i = 0; r->kind == BARO_KIND_CGROUP && i < sizeof(rows) / sizeof(*rows); i++) {
        const char *file;
        if (r->id == (int)rows[i].limit && file_of_metric(t, r, &file) && file)
            return tried_row(t, r->kind, (int)rows[i].beside).there > 0;
    }
    return false;
}

static void grant_unsupported(struct doctor_finding *f, const struct tried *t, const struct row *r)
{
    int since = baro_metric_since(r->kind, r->id);
    if (t->kernel && t->kernel < since)
        finding_grant(f, "a kernel of %d.%d or later", since / 1000, since % 1000);
    else if (r->metric->source == BARO_SOURCE_PRESSURE)
        finding_grant(f, r->id == HOST_pressure_irq_full ? "a kernel with CONFIG_IRQ_TIME_ACCOUNTING"
                                                         : "a kernel with CONFIG_PSI, and psi=1 on its command line");
    else if (r->metric->source == BARO_SOURCE_SYS_CPUFREQ)
        finding_grant(f, "a driver of cpufreq, on a machine of one's own");
    else if (r->metric->source == BARO_SOURCE_HWMON)
        finding_grant(f, "the driver of its chips, on a machine of one's own");
    else if (r->metric->source == BARO_SOURCE_MEMINFO && since)
        finding_grant(f, "a kernel that was built with it");
    else if (r->metric->source == BARO_SOURCE_SYS_BLOCK || r->metric->source == BARO_SOURCE_SYS_NET ||
             r->metric->source == BARO_SOURCE_PROC_STAT)
        finding_grant(f, "running baro outside of the container or sandbox");
}

#define V2 "v2 (systemd.unified_cgroup_hierarchy=1 on the kernel's command line)"

/* The reason for the process's control groups: there is no hierarchy, the process is in the root group, the hierarchy
 * is v1, or the kernel is too old. */
static void missing_in_group(struct findings *all, const char *topic, const struct tried *t, const struct row *r)
{
    enum cgroup_controller controller = cgroups_controller_of((enum cgroup_metric)r->id);
    const char *here, *v1 = baro_metric_cgroup_file(r->kind, r->id, 1);
    const char *v2 = baro_metric_cgroup_file(r->kind, r->id, 2); /* each has one */
    const struct cgroup_location *p = file_of_metric(t, r, &here);
    const char *name = r->metric->name, *word = cgroup_controller_name(controller, true);
    int first = (int)strcspn(v2, ","); /* the value may be made from several files */
    bool pressure = controller == CGROUP_AT_UNIFIED && !v1;
    if ((p && !p->root && !here) || (!p && pressure))
        finding_grant(findings_add(all, topic, name, FOUND_NO, "%.*s: not in v1", first, v2), V2);
    else if (!p)
        finding_grant(
            findings_add(all, topic, name, FOUND_NO, "%.*s: there is no hierarchy with this controller", first, v2),
            "v2: +%s in cgroup.subtree_control of the groups above; v1: mounting it", word ? word : "cpu");
    else if (p->root)
        finding_grant(findings_add(all, topic, name, FOUND_NO,
                                   "%.*s: this process is in the root group, which is the machine", first, v2),
                      "a group below it, such as that of systemd-run --scope baro ...");
    else {
        struct doctor_finding *f = findings_add(all, topic, name, FOUND_NO, "%s: not supported here", r->metric->file);
        if (!p->v2 && controller == CGROUP_AT_IO)
            finding_grant(f, V2 ", or a limit on its I/O: since 6.9 the kernel counts in v1 where there was one");
        else if (pressure)
            finding_grant(f, "a kernel of 4.20 or later with CONFIG_PSI, and psi=1 on its command line");
        else if (p->v2 || !v1)
            grant_unsupported(f, t, r);
    }
}

static void missing(struct findings *all, const char *topic, const struct tried *t, const struct row *r)
{
    static const char *const words[ABSENT_COUNT] = {
        [BARO_ABSENT_UNSUPPORTED] = "not supported here",
        [BARO_ABSENT_DENIED] = "this user may not read it",
        [BARO_ABSENT_UNKNOWN] = "empty, or can't be read: a container may hide it",
        [BARO_ABSENT_TIMEOUT] = "no reply in time",
        [BARO_ABSENT_NOT_YET] = "no reply so far",
        [BARO_ABSENT_GONE] = "gone",
    };
    /* the blkio files of v1 may exist and count nothing */
    bool is_io = r->kind == BARO_KIND_CGROUP && cgroups_controller_of((enum cgroup_metric)r->id) == CGROUP_AT_IO;
    if (r->kind == BARO_KIND_CGROUP && (is_io || r->why == BARO_ABSENT_UNSUPPORTED)) {
        missing_in_group(all, topic, t, r);
        return;
    }
    struct doctor_finding *f =
        findings_add(all, topic, r->metric->name, FOUND_NO, "%s: %s", r->metric->file,
                     r->why < ABSENT_COUNT && words[r->why] ? words[r->why] : baro_absent_name(r->why));
    if (r->why == BARO_ABSENT_UNSUPPORTED)
        grant_unsupported(f, t, r);
    else if (r->why == BARO_ABSENT_DENIED)
        finding_grant(f, "a container or a policy that lets this user read it");
    else if (r->why == BARO_ABSENT_UNKNOWN)
        finding_grant(f, "running baro outside of the container, or a container with /proc and /sys");
}

static void nothing_of_the_kind(struct findings *all, const char *topic, const struct row *r)
{
    static const struct {
        const char *what, *grant;
    } of[KIND_COUNT] = {
        [BARO_KIND_CPU] = {"there is no CPU", "running baro outside of the container"},
        [BARO_KIND_DISK] = {"there is no disk", NULL},
        [BARO_KIND_FS] = {"there is no filesystem", NULL},
        [BARO_KIND_NET] = {"there is no interface", "running baro outside of the container"},
        [BARO_KIND_SENSOR] = {"there is no sensor, as in a virtual machine",
                              "the driver of its chips, on a machine of one's own"},
        [BARO_KIND_CGROUP] = {"there is no group but the root, which is the machine",
                              "a group: systemd-run --scope baro ...; in a container /sys/fs/cgroup"},
    };
    const char *what = of[r->kind].what ? of[r->kind].what : "there is none";
    struct doctor_finding *f = findings_add(all, topic, r->metric->name, FOUND_NO, "%s", what);
    if (of[r->kind].grant)
        finding_grant(f, "%s", of[r->kind].grant);
}

static void add_row(struct findings *all, const struct tried *t, const struct row *r)
{
    const char *topic = baro_kind_name(r->kind);
    if (!r->entities)
        nothing_of_the_kind(all, topic, r);
    else if (!r->there && is_unlimited(t, r))
        findings_add(all, topic, r->metric->name, FOUND_YES, "%s: no limit is set", r->metric->file);
    else if (!r->there)
        missing(all, topic, t, r);
    else if (r->there < r->entities && r->kind != BARO_KIND_CGROUP)
        findings_add(all, topic, r->metric->name, FOUND_PARTLY, "%s: of %zu of %zu", r->metric->file, r->there,
                     r->entities);
    else
        findings_add(all, topic, r->metric->name, FOUND_YES, "%s", r->metric->file);
}

void doctor_metrics(struct findings *f)
{
    struct tried *t = calloc(1, sizeof(*t));
    struct utsname u;
    if (!t)
        return;
    t->kernel = uname(&u) == 0 ? version_of(u.release) : 0;
    t->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t->sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t->root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memset(t->places.of, -1, sizeof(t->places.of));
    if (t->root_fd >= 0)
        cgroup_find(t->root_fd, 0, &t->places);
    take_samples(t);
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (int id = 0; id < baro_metric_count(kind); id++) {
            struct row r = tried_row(t, (enum baro_kind)kind, id);
            if (is_served(&t->sampler.sampling.collectors, kind, id))
                add_row(f, t, &r);
        }
    }
    sampler_done(&t->sampler);
    job_done(&t->job);
    fd_close(t->proc_fd);
    fd_close(t->sys_fd);
    fd_close(t->root_fd);
    free(t);
}
