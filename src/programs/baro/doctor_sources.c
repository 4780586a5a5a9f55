/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collectors read here. They take samples of this process, and of a process of another user, as in a
 * recording. Each value that is absent has a reason, and one table (advice) says what would enable it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespace.h"
#include "base/span.h"
#include "kernel/proc/procfs.h"
#include "libbaro/metric/ids.h"
#include "programs/baro/doctor.h"
#include "recorder/collectors/cgroups/cgroup.h"
#include "recorder/collectors/sampler.h"

#define PATIENCE (2 * NS_PER_SEC) /* a mount that hangs is given up after one second */
#define PAUSE (20 * NS_PER_MS)

struct tried {
    int proc_fd, sys_fd, root_fd;
    bool has_proc, is_own_proc; /* is it that of this PID namespace? */
    int kernel;                 /* as returned by baro_metric_since(); 0: not known */
    int32_t self, other;        /* other: a process of another user; 0: none is to be seen */
    uint32_t other_uid;
    unsigned seen; /* processes */
    struct job job;
    struct sampler sampler;
    struct baro_sample sample;
    struct cgroup_hierarchies places;
};

/* ---- why a value is absent ---- */

enum { /* more exact than enum baro_absent */
       WHY_NO_PROC = ABSENT_COUNT,
       WHY_OLD_KERNEL,
       WHY_NOTHING,
       WHY_ROOT_GROUP,
       WHY_NO_CONTROLLER,
       WHY_NOT_IN_V1,
       WHY_IDLE_IN_V1,
       WHY_NO_LIMIT, /* nothing is missing */
       WHY_COUNT
};

static const char *const words[WHY_COUNT] = {
    [BARO_ABSENT_UNSUPPORTED] = "not supported here",
    [BARO_ABSENT_DENIED] = "this user may not read it",
    [BARO_ABSENT_UNKNOWN] = "empty, or can't be read: a container may hide it",
    [BARO_ABSENT_TIMEOUT] = "no reply in time",
    [BARO_ABSENT_NOT_YET] = "no reply so far",
    [BARO_ABSENT_GONE] = "gone",
    [WHY_NO_PROC] = "/proc of this PID namespace is not mounted",
    [WHY_OLD_KERNEL] = "this kernel does not have it",
    [WHY_NOTHING] = "there is none here",
    [WHY_ROOT_GROUP] = "this process is in the root group, which is the whole machine",
    [WHY_NO_CONTROLLER] = "no hierarchy with this controller is visible",
    [WHY_NOT_IN_V1] = "not in v1",
    [WHY_IDLE_IN_V1] = "v1 does not count it here",
    [WHY_NO_LIMIT] = "no limit is set",
};

struct row {
    const struct baro_metric *metric;
    enum baro_kind kind;
    int id;
    size_t entities, there; /* how many entities there are, and how many have the value */
    bool is_outstanding;    /* a helper has not replied yet, for some entity */
    uint8_t why;            /* the reason if it is absent */
};

/* What a collector can't know of a control group: whether there is such a hierarchy, and where this process is in it.
 */
static uint8_t why_in_group(const struct tried *t, const struct row *r)
{
    const struct cgroup_location *p = cgroups_location_of(&t->places, (enum cgroup_metric)r->id);
    enum cgroup_controller controller = cgroups_controller_of((enum cgroup_metric)r->id);
    bool is_here = p && baro_metric_cgroup_file(r->kind, r->id, p->v2 ? 2 : 1);
    if (!t->places.n)
        return WHY_NOTHING;
    if (p && p->root)
        return WHY_ROOT_GROUP;
    if (p ? !is_here : controller == CGROUP_AT_UNIFIED)
        return WHY_NOT_IN_V1;
    if (!p)
        return WHY_NO_CONTROLLER;
    if (strstr(r->metric->stem, "_limit") || r->id == CGROUP_memory_high) /* the file is there, and says "max" */
        return WHY_NO_LIMIT;
    return !p->v2 && controller == CGROUP_AT_IO ? WHY_IDLE_IN_V1 : (uint8_t)BARO_ABSENT_UNSUPPORTED;
}

static struct row row_of(const struct tried *t, enum baro_kind kind, int id, int32_t pid)
{
    struct row r = {.metric = baro_metric_get(kind, id), .kind = kind, .id = id, .entities = 1};
    r.why = BARO_ABSENT_UNKNOWN;
    if (kind == BARO_KIND_PROCESS) {
        for (size_t i = 0; i < t->sample.n; i++) {
            if (t->sample.processes[i]->key.pid == pid)
                r.why = t->sample.processes[i]->absent[id];
        }
        if (r.metric->source & BARO_SOURCE_SOCK_DIAG && !r.why) /* 0 where the kernel refuses to list sockets */
            r.why = t->sample.job_absent[JOB_tcp_unattributed_sent];
    } else if (kind == BARO_KIND_HOST) {
        r.why = t->sample.has_host ? t->sample.host_absent[id] : r.why;
    } else {
        const struct baro_entities *all = &t->sample.entities[kind];
        r.why = (r.entities = all->n) ? BARO_PRESENT : WHY_NOTHING;
        for (size_t i = 0; i < all->n; i++) {
            r.there += !all->at[i]->absent[id];
            r.is_outstanding = r.is_outstanding || all->at[i]->absent[id] == BARO_ABSENT_NOT_YET;
            r.why = all->at[i]->absent[id] ? all->at[i]->absent[id] : r.why;
        }
    }
    if (kind == BARO_KIND_PROCESS || kind == BARO_KIND_HOST) {
        r.there = !r.why;
        r.is_outstanding = r.why == BARO_ABSENT_NOT_YET;
    }
    if (r.there)
        return r;
    /* The files of blkio may exist and count nothing. */
    bool is_io = kind == BARO_KIND_CGROUP && cgroups_controller_of((enum cgroup_metric)id) == CGROUP_AT_IO;
    if (kind == BARO_KIND_CGROUP && (!r.entities || is_io || r.why == BARO_ABSENT_UNSUPPORTED))
        r.why = why_in_group(t, &r);
    if (r.why == BARO_ABSENT_UNSUPPORTED && t->kernel && t->kernel < baro_metric_since(kind, id))
        r.why = WHY_OLD_KERNEL;
    bool is_of_proc = strstr(r.metric->file, "/proc") || kind == BARO_KIND_FS;
    if (kind == BARO_KIND_PROCESS ? !t->is_own_proc : !t->has_proc && is_of_proc)
        r.why = WHY_NO_PROC;
    return r;
}

/* ---- what would enable it ---- */

#define V2 "v2 (systemd.unified_cgroup_hierarchy=1 on the kernel's command line)"
#define OUTSIDE "running baro outside of the container or sandbox, or in one with /proc and /sys"
#define PSI "a kernel of 4.20 or later with CONFIG_PSI, and psi=1 on its command line"
#define PTRACE "CAP_SYS_PTRACE (root, or setcap cap_sys_ptrace+ep on baro), or being the user of the process"
#define OF_PROCESS                                                                                                     \
    (BARO_SOURCE_CLOCK | BARO_SOURCE_STAT | BARO_SOURCE_STATUS | BARO_SOURCE_IO | BARO_SOURCE_FD |                     \
     BARO_SOURCE_SCHEDSTAT | BARO_SOURCE_SMAPS | BARO_SOURCE_TASKS | BARO_SOURCE_SOCK_DIAG)
#define WHY(reason) (1u << (reason))

/* The first row that fits. */
static const struct {
    uint64_t sources;
    uint32_t reasons;
    const char *stem; /* how the names of its metrics begin; NULL: all */
    const char *text;
} advice[] = {
    {UINT64_MAX, WHY(WHY_NO_PROC), NULL, "mount -t proc proc /proc"},
    {OF_PROCESS, WHY(BARO_ABSENT_DENIED), NULL, PTRACE},
    {BARO_SOURCE_SMAPS, WHY(BARO_ABSENT_UNSUPPORTED), NULL, "a kernel with CONFIG_PROC_PAGE_MONITOR"},
    {BARO_SOURCE_IO, WHY(BARO_ABSENT_UNSUPPORTED), NULL, "a kernel with CONFIG_TASK_IO_ACCOUNTING"},
    {BARO_SOURCE_SOCK_DIAG, WHY(BARO_ABSENT_UNSUPPORTED), NULL,
     "a kernel with CONFIG_INET_DIAG, and a container that allows NETLINK_SOCK_DIAG"},
    {OF_PROCESS, WHY(BARO_ABSENT_UNSUPPORTED), NULL, "a kernel that has this file"},
    {BARO_SOURCE_PRESSURE, WHY(BARO_ABSENT_UNSUPPORTED), "pressure_irq",
     "a kernel of 6.1 or later with CONFIG_IRQ_TIME_ACCOUNTING"},
    {BARO_SOURCE_PRESSURE | BARO_SOURCE_CGROUP, WHY(BARO_ABSENT_UNSUPPORTED), "pressure", PSI},
    {BARO_SOURCE_SYS_CPUFREQ, WHY(BARO_ABSENT_UNSUPPORTED), NULL, "a driver of cpufreq, on a machine of one's own"},
    {BARO_SOURCE_HWMON, WHY(BARO_ABSENT_UNSUPPORTED) | WHY(WHY_NOTHING), NULL,
     "the driver of its chips, such as coretemp, k10temp, nvme or drivetemp, on a machine of one's own"},
    {BARO_SOURCE_MEMINFO | BARO_SOURCE_VMSTAT, WHY(BARO_ABSENT_UNSUPPORTED), NULL,
     "a kernel that was built with it, outside of a container or sandbox that makes up its own"},
    {BARO_SOURCE_CGROUP, WHY(WHY_NOTHING), NULL,
     "a group: systemd-run --scope baro ...; in a container /sys/fs/cgroup (read-only will do)"},
    {BARO_SOURCE_CGROUP, WHY(WHY_ROOT_GROUP), NULL, "a group below it, such as that of systemd-run --scope baro ..."},
    {BARO_SOURCE_CGROUP, WHY(WHY_NO_CONTROLLER), NULL,
     "v2: it with + in cgroup.subtree_control of the groups above; v1: mounting it; memory may need "
     "cgroup_enable=memory"},
    {BARO_SOURCE_CGROUP, WHY(WHY_NOT_IN_V1), NULL, V2},
    {BARO_SOURCE_CGROUP, WHY(WHY_IDLE_IN_V1), NULL,
     V2 ", or a limit on its I/O: since 6.9 the kernel counts in v1 where there was one"},
    {BARO_SOURCE_CGROUP, WHY(BARO_ABSENT_UNSUPPORTED), NULL,
     "a kernel that has this file; v2: its controller with + in cgroup.subtree_control of the groups above"},
    {UINT64_MAX, WHY(BARO_ABSENT_DENIED), NULL, "a container or a policy that lets this user read it"},
    {UINT64_MAX & ~(BARO_SOURCE_STATVFS | BARO_SOURCE_DISKSTATS | BARO_SOURCE_SYS_BLOCK), WHY(WHY_NOTHING), NULL,
     OUTSIDE},
    {UINT64_MAX, WHY(BARO_ABSENT_UNSUPPORTED) | WHY(BARO_ABSENT_UNKNOWN), NULL, OUTSIDE},
};

/* Writes "" if nothing would. */
static void advise(const struct row *r, char *ret, size_t cap)
{
    int since = baro_metric_since(r->kind, r->id);
    ret[0] = 0;
    if (r->why == WHY_OLD_KERNEL) {
        snprintf(ret, cap, "a kernel of %d.%d or later", since / 1000, since % 1000);
        return;
    }
    for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++) {
        const char *stem = advice[i].stem;
        if (r->metric->source & advice[i].sources && advice[i].reasons >> r->why & 1 &&
            (!stem || strncmp(r->metric->stem, stem, strlen(stem)) == 0)) {
            snprintf(ret, cap, "%s", advice[i].text);
            return;
        }
    }
}

static const char *reason(const struct row *r)
{
    return r->why < WHY_COUNT && words[r->why] ? words[r->why] : baro_absent_name(r->why);
}

/* ---- samples ---- */

/* Is the metric one that a collector reads? Totals of the job and of tasks are sums over processes, and tasks and
 * directories exist only with options. */
static bool is_served(const struct tried *t, int kind, int id)
{
    const struct collectors *c = &t->sampler.sampling.collectors;
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
            if (is_served(t, kind, id) && (row_of(t, (enum baro_kind)kind, id, t->self).is_outstanding ||
                                           row_of(t, (enum baro_kind)kind, id, t->other).is_outstanding))
                return true;
        }
    }
    return false;
}

/* Finds a process of another user that has memory: a kernel thread would prove nothing. */
static bool look(void *context, int32_t pid)
{
    struct tried *t = context;
    struct pid_status st;
    if (proc_read_status(t->proc_fd, pid, &st) < 0)
        return true;
    t->seen++;
    if (!(st.valid & 1u << STATUS_UID) || !(st.valid & 1u << STATUS_VM_RSS) || st.value[STATUS_UID] == getuid())
        return true;
    t->other = pid;
    t->other_uid = (uint32_t)st.value[STATUS_UID];
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
                                      .self = {t->self},
                                      .wake_fd = -1,
                                      .helper = true,
                                      .host = true,
                                      .host_at_once = true,
                                      .groups = t->places.n ? &t->places : NULL};
    if (job_init(&t->job, &sink, true, clock_boottime_ns(), o.clk_tck) < 0)
        return;
    if (sampler_init(&t->sampler, &t->job, &o, NULL) < 0)
        return;
    if (t->is_own_proc)
        sampler_add_target(&t->sampler, t->self, NULL);
    if (t->other)
        sampler_add_target(&t->sampler, t->other, NULL);
    /* Sockets are only asked for where a process has one. */
    int listener CLEANUP(fd_closep) = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0)
        listen(listener, 1);
    do {
        if (t->sample.t_ns)
            nanosleep(&pause, NULL);
        t->sample = *sampler_tick(&t->sampler);
    } while (any_outstanding(t) && t->sample.t_ns < PATIENCE);
}

/* "5.19.0-rc1" as 5019; 0: none */
static int version_of(const char *text)
{
    struct span rest = span_str(text);
    uint64_t major, minor;
    bool ok = scan_u64(&rest, &major) && scan_char(&rest, '.') && scan_u64(&rest, &minor) && major < 1000;
    return ok && minor < 1000 ? (int)(major * 1000 + minor) : 0;
}

struct tried *doctor_try(void)
{
    struct tried *t = calloc(1, sizeof(*t));
    struct utsname u;
    if (!t)
        return NULL;
    t->self = (int32_t)getpid();
    t->kernel = uname(&u) == 0 ? version_of(u.release) : 0;
    t->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t->sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t->root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t->has_proc = access("/proc/version", F_OK) == 0;
    t->is_own_proc = t->has_proc && namespace_proc_is_own(t->proc_fd);
    memset(t->places.of, -1, sizeof(t->places.of));
    if (t->root_fd >= 0)
        cgroup_find(t->root_fd, 0, &t->places);
    if (t->is_own_proc)
        proc_each_process(t->proc_fd, look, t);
    take_samples(t);
    return t;
}

void doctor_tried_free(struct tried *t)
{
    if (!t)
        return;
    sampler_done(&t->sampler);
    job_done(&t->job);
    fd_close(t->proc_fd);
    fd_close(t->sys_fd);
    fd_close(t->root_fd);
    free(t);
}

/* ---- a row for each metric ---- */

void doctor_metrics(struct findings *f, const struct tried *t)
{
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        const char *topic = baro_kind_name(kind);
        for (int id = 0; id < baro_metric_count(kind); id++) {
            if (!is_served(t, kind, id))
                continue;
            struct row r = row_of(t, (enum baro_kind)kind, id, t->self);
            const char *name = r.metric->name, *file = r.metric->file;
            if (r.there && r.there < r.entities && kind != BARO_KIND_CGROUP) {
                findings_add(f, topic, name, FOUND_PARTLY, "%s: of %zu of %zu", file, r.there, r.entities);
            } else if (r.there) {
                findings_add(f, topic, name, FOUND_YES, "%s", file);
            } else {
                struct doctor_finding *one = findings_add(f, topic, name, r.why == WHY_NO_LIMIT ? FOUND_YES : FOUND_NO,
                                                          "%s: %s", file, reason(&r));
                advise(&r, one->grant, sizeof(one->grant));
            }
        }
    }
}

/* ---- a row for each source ---- */

#define AT(controller) (1u << (controller))

static const struct source {
    uint64_t sources;
    unsigned controllers; /* of control groups */
    const char *topic, *what;
} sources[] = {
    {BARO_SOURCE_CLOCK, 0, OWN_PROCESSES, "clock"},
    {BARO_SOURCE_STAT, 0, OWN_PROCESSES, "stat"},
    {BARO_SOURCE_SCHEDSTAT, 0, OWN_PROCESSES, "schedstat"},
    {BARO_SOURCE_STATUS | BARO_SOURCE_TASKS, 0, OWN_PROCESSES, "status"},
    {BARO_SOURCE_SMAPS, 0, OWN_PROCESSES, "smaps_rollup"},
    {BARO_SOURCE_FD, 0, OWN_PROCESSES, "fd"},
    {BARO_SOURCE_IO, 0, OWN_PROCESSES, "io"},
    {BARO_SOURCE_SOCK_DIAG, 0, TCP, "sockets"},
    {BARO_SOURCE_PROC_STAT, 0, MACHINE, "cpu"},
    {BARO_SOURCE_SYS_CPUFREQ, 0, MACHINE, "frequency"},
    {BARO_SOURCE_LOADAVG | BARO_SOURCE_UPTIME, 0, MACHINE, "load"},
    {BARO_SOURCE_MEMINFO, 0, MACHINE, "memory"},
    {BARO_SOURCE_VMSTAT, 0, MACHINE, "paging"},
    {BARO_SOURCE_PRESSURE, 0, MACHINE, "pressure"},
    {BARO_SOURCE_DISKSTATS | BARO_SOURCE_SYS_BLOCK, 0, MACHINE, "disks"},
    {BARO_SOURCE_STATVFS, 0, MACHINE, "filesystems"},
    {BARO_SOURCE_NETDEV | BARO_SOURCE_SYS_NET, 0, MACHINE, "network"},
    {BARO_SOURCE_HWMON, 0, MACHINE, "temperatures"},
    {BARO_SOURCE_CGROUP, AT(CGROUP_AT_CPU) | AT(CGROUP_AT_CPUACCT), CONTROL_GROUPS, "cpu"},
    {BARO_SOURCE_CGROUP, AT(CGROUP_AT_CPUSET), CONTROL_GROUPS, "cpuset"},
    {BARO_SOURCE_CGROUP, AT(CGROUP_AT_MEMORY), CONTROL_GROUPS, "memory"},
    {BARO_SOURCE_CGROUP, AT(CGROUP_AT_IO), CONTROL_GROUPS, "io"},
    {BARO_SOURCE_CGROUP, AT(CGROUP_AT_PIDS), CONTROL_GROUPS, "pids"},
    {BARO_SOURCE_CGROUP, AT(CGROUP_AT_HUGETLB), CONTROL_GROUPS, "hugetlb"},
    {BARO_SOURCE_CGROUP, AT(CGROUP_AT_UNIFIED), CONTROL_GROUPS, "pressure"},
};

#define SHOWN 100u /* bytes of a list of names; `baro doctor --metrics` has all */

static void list_add(char *list, size_t cap, const char *separator, const char *word)
{
    size_t len = strlen(list);
    snprintf(list + len, cap - len, "%s%s", len ? separator : "", word);
}

static void name_add(char *list, size_t cap, const char *stem)
{
    if (strlen(list) <= SHOWN)
        list_add(list, cap, ", ", stem);
    else if (!strstr(list, ", ..."))
        list_add(list, cap, ", ", "...");
}

static bool is_of(const struct source *s, enum baro_kind kind, int id)
{
    const struct baro_metric *m = baro_metric_get(kind, id);
    if (kind == BARO_KIND_CGROUP) {
        enum cgroup_controller c = cgroups_controller_of((enum cgroup_metric)id);
        bool is_cpu = c == CGROUP_AT_UNIFIED && strncmp(m->stem, "cpu", 3) == 0; /* cpu.stat */
        return s->controllers >> (is_cpu ? CGROUP_AT_CPU : c) & 1;
    }
    bool is_of_processes = strcmp(s->topic, MACHINE) != 0;
    return m->source & s->sources && !s->controllers && (kind == BARO_KIND_PROCESS) == is_of_processes;
}

/* Of a kind without entities it is said only if nothing else is known of the source. */
static struct doctor_finding add_source(const struct tried *t, const struct source *s, int32_t pid)
{
    char have[160] = "", lack[160] = "", why[200] = "", grant[200];
    struct doctor_finding ret = {.topic = s->topic, .what = s->what};
    struct row nothing = {0};
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (int id = 0; id < baro_metric_count(kind); id++) {
            if (!is_served(t, kind, id) || !is_of(s, (enum baro_kind)kind, id))
                continue;
            struct row r = row_of(t, (enum baro_kind)kind, id, pid);
            if (r.there || r.why == WHY_NO_LIMIT) {
                name_add(have, sizeof(have), r.metric->stem);
            } else if (r.why == WHY_NOTHING) {
                nothing = r;
            } else {
                name_add(lack, sizeof(lack), r.metric->stem);
                advise(&r, grant, sizeof(grant));
                if (!strstr(why, reason(&r)))
                    list_add(why, sizeof(why), "; ", reason(&r));
                if (!strstr(ret.grant, grant))
                    list_add(ret.grant, sizeof(ret.grant), "; ", grant);
            }
        }
    }
    if (!have[0] && !lack[0] && nothing.metric)
        advise(&nothing, ret.grant, sizeof(ret.grant));
    ret.state = !have[0] ? FOUND_NO : lack[0] ? FOUND_PARTLY : FOUND_YES;
    snprintf(ret.text, sizeof(ret.text), "%s%s%s%s%s%s", have, have[0] && lack[0] ? "; not " : "", lack,
             lack[0] ? ": " : "", have[0] || lack[0] ? why : words[WHY_NOTHING],
             have[0] && s->sources == BARO_SOURCE_SOCK_DIAG ? "; recorded with --metrics default,tcp" : "");
    return ret;
}

void doctor_sources(struct findings *f, const struct tried *t, const char *topic)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        if (strcmp(sources[i].topic, topic) == 0 && (t->places.n || !sources[i].controllers))
            findings_put(f, add_source(t, &sources[i], t->self));
    }
}

/* hidepid is a mount option: since 5.8 each mount of proc has its own. */
static bool is_hidden(char *ret, size_t cap)
{
    char text[32768];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line)) {
        const char *at = memmem(line.at, line.len, "hidepid=", 8);
        if (!at || !memmem(line.at, line.len, " - proc ", 8))
            continue;
        size_t room = (size_t)(line.at + line.len - at);
        snprintf(ret, cap, "%.*s", (int)room, at);
        ret[strcspn(ret, ", ")] = 0;
        return strcmp(ret, "hidepid=0") != 0 && strcmp(ret, "hidepid=off") != 0;
    }
    return false;
}

void doctor_others(struct findings *f, const struct tried *t)
{
    static const char topic[] = "other users";
    char option[32], have[160] = "", lack[160] = "";
    struct doctor_finding one, *add;
    if (!t->is_own_proc)
        return;
    if (is_hidden(option, sizeof(option)))
        finding_grant(findings_add(f, topic, "hidepid", FOUND_PARTLY,
                                   "/proc is mounted with %s, which hides others' processes", option),
                      "the group of gid=, or mount -o remount,hidepid=0 /proc");
    if (!t->other) {
        findings_add(f, topic, "files", FOUND_FACT, "no process of another user is to be seen among %u", t->seen);
        return;
    }
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        if (strcmp(sources[i].topic, OWN_PROCESSES) != 0)
            continue;
        one = add_source(t, &sources[i], t->other);
        bool is_there = one.state != FOUND_NO;
        list_add(is_there ? have : lack, sizeof(have), ", ", sources[i].what);
    }
    add = findings_add(f, topic, "files", lack[0] ? FOUND_PARTLY : FOUND_YES, "%s%s%s (process %d of user %u)", have,
                       lack[0] ? "; not " : "", lack, t->other, t->other_uid);
    if (lack[0])
        finding_grant(add, PTRACE);
}
