/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric of the machine and of control groups: the collectors look once as they would for a recording, and what
 * they found or not is told row by row. What would grant a row follows from why it is missing, from where it comes and
 * from what the registry says of it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/span.h"
#include "cli/doctor.h"
#include "cgroup/cgroup.h"
#include "host/host.h"
#include "metric/ids.h"

#define PATIENCE (2 * NS_PER_SEC) /* a mount that hangs is given up after one */
#define PAUSE (20 * NS_PER_MS)
#define SINCE "; since Linux "

struct tried {
    int proc_fd, sys_fd, root_fd;
    uint32_t ids;
    uint64_t kernel;            /* as version_of() has it */
    struct baro_sample sample;
    struct host *host;
    struct cgroups *groups;
    struct cgroup_hierarchies places;
};

/* "5.19.0-rc1" as 5 * 1000 + 19. 0: none */
static uint64_t version_of(const char *text)
{
    struct span rest = span_str(text);
    uint64_t major, minor;
    return scan_u64(&rest, &major) && scan_char(&rest, '.') && scan_u64(&rest, &minor) ? major * 1000 + minor : 0;
}

/* ---- a look ---- */

static bool outstanding(const struct baro_sample *s)
{
    for (int k = BARO_KIND_CPU; k <= BARO_KIND_SENSOR; k++) {
        for (size_t i = 0; i < s->entities[k].n; i++) {
            if (memchr(s->entities[k].at[i]->absent, BARO_ABSENT_NOT_YET, (size_t)baro_metric_count((enum baro_kind)k)))
                return true;
        }
    }
    return s->host_absent[HOST_temperature] == BARO_ABSENT_NOT_YET ||
           s->host_absent[HOST_cpu_frequency] == BARO_ABSENT_NOT_YET;
}

static void look_at_machine(struct tried *t)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    const struct host_options o = {.proc_fd = t->proc_fd,
                                   .sys_fd = t->sys_fd,
                                   .clk_tck = (uint32_t)sysconf(_SC_CLK_TCK),
                                   .page_size = (uint64_t)sysconf(_SC_PAGESIZE),
                                   .helper = true,
                                   .entity_ids = &t->ids};
    uint64_t begin = clock_monotonic_ns();
    if (t->proc_fd < 0 || host_new(&t->host, &o, NULL) < 0)
        return;
    for (uint64_t now = 0; now == 0 || (outstanding(&t->sample) && now < PATIENCE);
         now = clock_monotonic_ns() - begin) {
        if (now)
            nanosleep(&pause, NULL);
        host_read(t->host, now + 1, BUDGET_ALL);
        host_fill(t->host, &t->sample);
    }
}

static void look_at_groups(struct tried *t)
{
    const struct cgroups_options o = {
        .root_fd = t->root_fd, .ns_per_tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK), .ids = &t->ids};
    if (t->root_fd >= 0 && cgroup_find(t->root_fd, 0, &t->places) == 0 && cgroups_new(&t->groups, &o, &t->places) == 0)
        cgroups_tick(t->groups, 1, false, &t->sample);
}

/* ---- what became of a row ---- */

struct row {
    const struct baro_metric *metric;
    enum baro_kind kind;
    int id;
    size_t entities, there;     /* of how many, and which have it */
    uint8_t why;                /* of one that has it not */
};

static struct row row_of(const struct tried *t, enum baro_kind kind, int id)
{
    struct row r = {.metric = baro_metric_get(kind, id), .kind = kind, .id = id};
    if (kind == BARO_KIND_HOST) {
        r.entities = 1;
        r.why = t->sample.has_host ? t->sample.host_absent[id] : (uint8_t)BARO_ABSENT_UNKNOWN;
        r.there = !r.why;
        return r;
    }
    const struct baro_entities *all = &t->sample.entities[kind];
    r.entities = all->n;
    for (size_t i = 0; i < all->n; i++) {
        r.there += !all->at[i]->absent[id];
        r.why = all->at[i]->absent[id] ? all->at[i]->absent[id] : r.why;
    }
    return r;
}

/* Whose hierarchy has the file of this row. */
static const struct cgroup_location *place_of(const struct tried *t, const struct row *r)
{
    static const struct {
        const char *part;
        enum cgroup_controller which;
    } rows[] = {{".pressure", CGROUP_AT_UNIFIED}, {"cpuacct", CGROUP_AT_CPUACCT}, {"cpuset", CGROUP_AT_CPUSET},
                {"cpu.", CGROUP_AT_CPU},          {"memory.", CGROUP_AT_MEMORY},  {"io.", CGROUP_AT_IO},
                {"pids.", CGROUP_AT_PIDS}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (strstr(r->metric->file, rows[i].part))
            return cgroup_location_of(&t->places, rows[i].which);
    }
    return NULL;
}

/* The group is there, and so is what stands beside the limit: it has none. */
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
        const struct cgroup_location *p = place_of(t, r);
        if (r->id == (int)rows[i].limit && p && (p->v2 || !strstr(r->metric->file, "not in v1")))
            return row_of(t, r->kind, (int)rows[i].beside).there > 0;
    }
    return false;
}

static const char *since_of(const struct baro_metric *m)
{
    const char *at = strstr(m->help, SINCE);
    return at ? at + sizeof(SINCE) - 1 : NULL;
}

static void grant_unsupported(struct finding *f, const struct tried *t, const struct row *r)
{
    const char *since = since_of(r->metric);
    if (since && t->kernel && t->kernel < version_of(since))
        finding_grant(f, "a kernel of %.*s or later", (int)strcspn(since, " "), since);
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

/* Of the process's groups: the hierarchy can't be seen, it is in the root of it, it is of v1, or the kernel is too old.
 */
static void missing_in_group(struct findings *all, const char *topic, const struct tried *t, const struct row *r)
{
    const struct cgroup_location *p = place_of(t, r);
    const char *file = r->metric->file, *name = r->metric->name;
    int word = (int)strcspn(file, "."), first = (int)strcspn(file, ";,");
    bool only_v2 = strstr(file, "not in v1");
    if (!p && strstr(file, ".pressure"))
        finding_grant(findings_add(all, topic, name, FOUND_NO, "%.*s: v1 does not tell", first, file), V2);
    else if (!p)
        finding_grant(findings_add(all, topic, name, FOUND_NO, "%.*s: no hierarchy with this controller is to be seen",
                                   first, file),
                      "v2: +%.*s in cgroup.subtree_control of the groups above; v1: mounting it", word, file);
    else if (p->root)
        finding_grant(findings_add(all, topic, name, FOUND_NO,
                                   "%.*s: this process is in the root group, which is the machine", first, file),
                      "a group below it, such as that of systemd-run --scope baro ...");
    else if (only_v2 && !p->v2)
        finding_grant(findings_add(all, topic, name, FOUND_NO, "%.*s: v1 does not tell", first, file), V2);
    else {
        struct finding *f = findings_add(all, topic, name, FOUND_NO, "%s: not told here", file);
        if (!p->v2 && strstr(file, "blkio"))
            finding_grant(f, V2 ", or a limit on its I/O: since 6.9 the kernel counts in v1 where there was one");
        else if (strstr(file, ".pressure"))
            finding_grant(f, "a kernel of 4.20 or later with CONFIG_PSI, and psi=1 on its command line");
        else
            grant_unsupported(f, t, r);
    }
}

static void missing(struct findings *all, const char *topic, const struct tried *t, const struct row *r)
{
    static const char *const words[BARO_ABSENT_MAX] = {
        [BARO_ABSENT_UNSUPPORTED] = "not told here",
        [BARO_ABSENT_DENIED] = "this user may not read it",
        [BARO_ABSENT_UNKNOWN] = "empty, or can't be read: a container may hide it",
        [BARO_ABSENT_TIMEOUT] = "did not answer",
        [BARO_ABSENT_NOT_YET] = "no answer so far",
        [BARO_ABSENT_GONE] = "gone",
    };
    bool io = r->kind == BARO_KIND_CGROUP &&
              strstr(r->metric->file, "blkio"); /* a file of v1 that is there and counts nothing */
    if (io || (r->kind == BARO_KIND_CGROUP && r->why == BARO_ABSENT_UNSUPPORTED)) {
        missing_in_group(all, topic, t, r);
        return;
    }
    struct finding *f =
        findings_add(all, topic, r->metric->name, FOUND_NO, "%s: %s", r->metric->file,
                     r->why < BARO_ABSENT_MAX && words[r->why] ? words[r->why] : baro_absent_name(r->why));
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
        [BARO_KIND_CPU] = {"no CPU is to be seen", "running baro outside of the container"},
        [BARO_KIND_DISK] = {"no disk is to be seen", NULL},
        [BARO_KIND_FS] = {"no filesystem is to be seen", NULL},
        [BARO_KIND_NET] = {"no interface is to be seen", "running baro outside of the container"},
        [BARO_KIND_SENSOR] = {"no sensor is to be seen, as in a virtual machine",
                              "the driver of its chips, on a machine of one's own"},
        [BARO_KIND_CGROUP] = {"no group but the root, which is the machine, is to be seen",
                              "a group: systemd-run --scope baro ...; in a container /sys/fs/cgroup"},
    };
    struct finding *f = findings_add(all, topic, r->metric->name, FOUND_NO, "%s", of[r->kind].what);
    if (of[r->kind].grant)
        finding_grant(f, "%s", of[r->kind].grant);
}

static void tell(struct findings *all, const struct tried *t, const struct row *r)
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
    look_at_machine(t);
    look_at_groups(t);
    for (int k = BARO_KIND_HOST; k <= BARO_KIND_CGROUP; k++) {
        for (int id = 0; id < baro_metric_count((enum baro_kind)k); id++) {
            struct row r = row_of(t, (enum baro_kind)k, id);
            tell(f, t, &r);
        }
    }
    host_free(t->host);
    cgroups_free(t->groups);
    fd_close(t->proc_fd);
    fd_close(t->sys_fd);
    fd_close(t->root_fd);
    free(t);
}
