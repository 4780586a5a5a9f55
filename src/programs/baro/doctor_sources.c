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
        if (metric_source(kind, id) & BARO_SOURCE_SOCK_DIAG && !r.why) /* 0 where the kernel refuses to list sockets */
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

struct advice {
    char text[200]; /* "": nothing would */
};

static struct advice advice_on(const struct row *r)
{
    int since = baro_metric_since(r->kind, r->id);
    struct advice ret = {""};
    if (r->why == WHY_OLD_KERNEL)
        snprintf(ret.text, sizeof(ret.text), "a kernel of %d.%d or later", since / 1000, since % 1000);
    for (size_t i = 0; !ret.text[0] && i < sizeof(advice) / sizeof(*advice); i++) {
        const char *stem = advice[i].stem ? advice[i].stem : "";
        if (metric_source(r->kind, r->id) & advice[i].sources && advice[i].reasons >> r->why & 1 &&
            strncmp(r->metric->stem, stem, strlen(stem)) == 0)
            snprintf(ret.text, sizeof(ret.text), "%s", advice[i].text);
    }
    return ret;
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
static bool find_other(void *context, int32_t pid)
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
        proc_each_process(t->proc_fd, find_other, t);
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
                findings_add(f, topic, name, FOUND_PARTLY, NULL, "%s: of %zu of %zu", file, r.there, r.entities);
            } else if (r.there) {
                findings_add(f, topic, name, FOUND_YES, NULL, "%s", file);
            } else {
                findings_add(f, topic, name, r.why == WHY_NO_LIMIT ? FOUND_YES : FOUND_NO, advice_on(&r).text, "%s: %s",
                             file, reason(&r));
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

struct list {
    char text[200];
};

/* Adds a word that is not in the list, nor a part of one that is: a total has "disk_read", each disk "read". A list of
 * more than `most` bytes gets "..." in its place. */
static void list_add(struct list *l, const char *separator, const char *word, size_t most)
{
    size_t len = strlen(l->text);
    const char *added = len > most ? "..." : word;
    if (!strstr(l->text, added))
        snprintf(l->text + len, sizeof(l->text) - len, "%s%s", len ? separator : "", added);
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
    return metric_source(kind, id) & s->sources && !s->controllers && (kind == BARO_KIND_PROCESS) == is_of_processes;
}

/* Adds a row for a source. That there are no entities is said only where nothing else is known of it. */
static enum finding_state add_source(struct findings *f, const struct tried *t, const struct source *s, int32_t pid)
{
    struct list have = {""}, lack = {""}, why = {""}, grant = {""};
    struct row nothing = {0};
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (int id = 0; id < baro_metric_count(kind); id++) {
            if (!is_served(t, kind, id) || !is_of(s, (enum baro_kind)kind, id))
                continue;
            struct row r = row_of(t, (enum baro_kind)kind, id, pid);
            bool is_there = r.there || r.why == WHY_NO_LIMIT;
            if (r.why == WHY_NOTHING) {
                nothing = r;
                continue;
            }
            list_add(is_there ? &have : &lack, ", ", r.metric->stem, SHOWN);
            if (!is_there) {
                list_add(&why, "; ", reason(&r), sizeof(why));
                list_add(&grant, "; ", advice_on(&r).text, sizeof(grant));
            }
        }
    }
    const char *h = have.text, *l = lack.text;
    if (!*h && !*l && nothing.metric) {
        list_add(&why, "", reason(&nothing), sizeof(why));
        list_add(&grant, "", advice_on(&nothing).text, sizeof(grant));
    }
    enum finding_state state = !*h ? FOUND_NO : *l ? FOUND_PARTLY : FOUND_YES;
    if (f)
        findings_add(f, s->topic, s->what, state, grant.text, "%s%s%s%s%s%s", h, *h && *l ? "; not " : "", l,
                     *l ? ": " : "", why.text,
                     *h && s->sources == BARO_SOURCE_SOCK_DIAG ? "; recorded with --metrics default,tcp" : "");
    return state;
}

void doctor_sources(struct findings *f, const struct tried *t, const char *topic)
{
    bool is_groups = strcmp(topic, CONTROL_GROUPS) == 0;
    if (is_groups)
        doctor_cgroup(f, &t->places, t->root_fd);
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && (!is_groups || t->places.n); i++) {
        if (strcmp(sources[i].topic, topic) == 0)
            add_source(f, t, &sources[i], t->self);
    }
}

void doctor_others(struct findings *f, const struct tried *t)
{
    static const char topic[] = "other users";
    struct list have = {""}, lack = {""};
    char text[32768];
    /* A mount option: since 5.8 each mount of proc has its own. It is shown where it is not off. */
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    const char *option = strstr(text, "hidepid=");
    if (option && t->is_own_proc)
        findings_add(f, topic, "hidepid", FOUND_PARTLY, "the group of gid=, or mount -o remount,hidepid=0 /proc",
                     "/proc is mounted with %.*s, which hides others' processes", (int)strcspn(option, ", \n"), option);
    for (size_t i = 0; t->other && i < sizeof(sources) / sizeof(*sources); i++) {
        if (strcmp(sources[i].topic, OWN_PROCESSES) == 0)
            list_add(add_source(NULL, t, &sources[i], t->other) == FOUND_NO ? &lack : &have, ", ", sources[i].what,
                     SHOWN);
    }
    if (t->other)
        findings_add(f, topic, "files", *lack.text ? FOUND_PARTLY : FOUND_YES, PTRACE, "%s%s%s (process %d of user %u)",
                     have.text, *lack.text ? "; not " : "", lack.text, t->other, t->other_uid);
    else if (t->is_own_proc)
        findings_add(f, topic, "files", FOUND_FACT, NULL, "no process of another user is to be seen among %u", t->seen);
}
