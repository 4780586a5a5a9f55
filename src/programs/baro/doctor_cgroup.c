/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: which hierarchies exist, what they report for this process's groups, which limit applies, and whether
 * a job may have a group of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fmt.h"
#include "kernel/cgroup/discover.h"
#include "libbaro/metric/ids.h"
#include "programs/baro/doctor.h"
#include "recorder/collectors/cgroups/bounds.h"
#include "recorder/collectors/cgroups/cgroup.h"
#include "recorder/wrapper/own_cgroup.h"

#define TOPIC "control groups"

static bool there(const struct cgroup_location *p, const char *file, int mode)
{
    char path[CGROUP_DIR_MAX + 64];
    snprintf(path, sizeof(path), "/%s/%s", p->dir, file);
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

static void hierarchies(struct findings *f, const struct cgroup_hierarchies *p)
{
    bool v1 = false, v2 = false;
    for (size_t i = 0; i < p->n; i++) {
        v1 = v1 || !p->at[i].v2;
        v2 = v2 || p->at[i].v2;
    }
    if (!p->n) {
        finding_grant(findings_add(f, TOPIC, "hierarchies", FOUND_NO,
                                   "none is to be seen: limits above this process are not known"),
                      "a container with /sys/fs/cgroup mounted (read-only will do)");
        return;
    }
    const struct cgroup_location *own = cgroup_location_of(p, v2 ? CGROUP_AT_UNIFIED : CGROUP_AT_MEMORY);
    findings_add(f, TOPIC, "hierarchies", FOUND_FACT, "%s; this process is in %.200s",
                 v1 && v2 ? "v1 and v2 (hybrid)"
                 : v2     ? "v2"
                          : "v1",
                 own ? own->path : p->at[0].path);
}

#define SHOWN 100u /* bytes of the names of metrics that are shown; `baro doctor --metrics` has all */

/* The metrics that a controller has in this version, from the registry: "9 metrics: memory, memory_peak, ...". In v2
 * CPU time is cpu's, in v1 cpuacct's. */
static void metrics_of(enum cgroup_controller which, bool v2, char *ret, size_t cap)
{
    struct buf names = {0};
    unsigned n = 0;
    bool is_cut = false;
    for (int id = 0; id < CGROUP_MAX; id++) {
        enum cgroup_controller is = cgroups_controller_of((enum cgroup_metric)id);
        bool is_its = is == which || (v2 && which == CGROUP_AT_CPU && is == CGROUP_AT_CPUACCT);
        if (!is_its || !baro_metric_cgroup_file(BARO_KIND_CGROUP, id, v2 ? 2 : 1))
            continue;
        n++;
        is_cut = is_cut || names.len > SHOWN;
        if (!is_cut)
            buf_printf(&names, "%s%s", names.len ? ", " : "", baro_metric_get(BARO_KIND_CGROUP, id)->stem);
    }
    snprintf(ret, cap, "%u metrics: %.*s%s", n, (int)names.len, names.len ? (const char *)names.at : "",
             is_cut ? ", ..." : "");
    buf_done(&names);
}

static void controller(struct findings *f, const struct cgroup_hierarchies *p, enum cgroup_controller which)
{
    const struct cgroup_location *place = cgroup_location_of(p, which);
    const char *name = cgroup_controller_name(which, which != CGROUP_AT_CPUACCT);
    char metrics[SHOWN + 100];
    if (which == CGROUP_AT_CPUACCT && (!place || place->v2))
        return;
    metrics_of(which, !place || place->v2, metrics, sizeof(metrics));
    if (!place)
        finding_grant(findings_add(f, TOPIC, name, FOUND_NO, "no hierarchy with it is visible (%s)", metrics),
                      "v2: +%s in cgroup.subtree_control of the groups above; v1: mounting it; memory may need "
                      "cgroup_enable=memory",
                      name);
    else if (place->root)
        findings_add(f, TOPIC, name, FOUND_PARTLY,
                     "this process is in the root group, which is the whole machine: its values are not the job's");
    else
        findings_add(f, TOPIC, name, FOUND_YES, "%s, %s", place->v2 ? "v2" : "v1", metrics);
}

static void controllers(struct findings *f, const struct cgroup_hierarchies *p)
{
    for (int c = 0; p->n && c < CGROUP_AT_UNIFIED; c++)
        controller(f, p, (enum cgroup_controller)c);
}

static void bound(struct buf *b, const char *what, const struct cgroup_bound *of, bool bytes, bool cores)
{
    if (of->value == CGROUP_NO_LIMIT)
        return;
    buf_printf(b, "%s%s ", b->len ? "; " : "", what);
    if (bytes)
        fmt_bytes(b, of->value);
    else if (cores)
        fmt_decimal(b, (double)of->value / 1e6, 2);
    else
        fmt_count(b, of->value);
    buf_printf(b, " by %s", of->source);
}

static void check_limits(struct findings *f, const struct cgroup_hierarchies *p, int root)
{
    struct cgroup_bounds bounds;
    struct buf b = {0};
    cgroup_bounds_read(root, p, &bounds);
    bound(&b, "memory", &bounds.memory, true, false);
    bound(&b, "cores", &bounds.quota, false, true);
    bound(&b, "CPUs", &bounds.cpus, false, false);
    bound(&b, "threads", &bounds.pids, false, false);
    buf_byte(&b, 0);
    bool seen = !bounds.memory.unseen && !bounds.quota.unseen && !bounds.pids.unseen;
    findings_add(f, TOPIC, "limits", FOUND_FACT, "%s%s",
                 b.len > 1 && !b.failed ? (const char *)b.at
                 : seen                 ? "none in any group from here up"
                                        : "none to be seen",
                 seen ? "" : "; of others above nothing is known");
    buf_done(&b);
}

static bool word_in(const struct cgroup_location *p, const char *file, const char *word)
{
    char dir[CGROUP_DIR_MAX + 2], text[256];
    snprintf(dir, sizeof(dir), "/%s", p->dir);
    return span_has_word(own_read(dir, file, text, sizeof(text)), word);
}

/* Names the memory values that a group below this one would have. Other processes of this group are not considered:
 * one of them is the caller of doctor. */
static const char *memory_of_own(const struct cgroup_hierarchies *all, const struct cgroup_location *p)
{
    const struct cgroup_location *memory = cgroup_location_of(all, CGROUP_AT_MEMORY);
    if (memory && !memory->v2)
        return there(memory, ".", W_OK) && there(memory, "cgroup.procs", W_OK)
                   ? "CPU time, and of v1 memory and its peak"
                   : "CPU time";
    if (!p->v2)
        return "CPU time";
    if (word_in(p, "cgroup.subtree_control", "memory"))
        return "CPU time, memory and its peak";
    if (p->root)
        return "CPU time; no memory, as this is the root of the machine's";
    if (word_in(p, "cgroup.controllers", "memory") && there(p, "cgroup.subtree_control", W_OK))
        return "CPU time; memory and its peak, too, where baro is alone in this group (systemd-run --scope -p "
               "Delegate=yes baro run ...)";
    return "CPU time; no memory, as this group has no memory controller to hand on";
}

/* v1 needs --cgroup own. */
static bool auto_memory_of_own(const struct cgroup_hierarchies *p)
{
    const struct cgroup_location *memory = cgroup_location_of(p, CGROUP_AT_MEMORY);
    return !memory || memory->v2;
}

/* A group can be made if the directory and the cgroup.procs of its parent are writable. */
static void delegated(struct findings *f, const struct cgroup_hierarchies *p)
{
    static const char grant[] = "systemd-run --user --scope -p Delegate=yes baro run ..., or root";
    const struct cgroup_location *v2 = cgroup_location_of(p, CGROUP_AT_UNIFIED),
                                 *at = v2 ? v2 : cgroup_location_of(p, CGROUP_AT_CPUACCT);
    char path[CGROUP_DIR_MAX + 2];
    if (!at) {
        if (p->n)
            finding_grant(findings_add(f, TOPIC, "own group", FOUND_NO,
                                       "a job can't be given one: there is no hierarchy that counts CPU time"),
                          "v2 mounted, beside v1 or alone");
        return;
    }
    const char *version = v2 ? "v2" : "v1", *what = memory_of_own(p, at);
    snprintf(path, sizeof(path), "/%s", at->dir);
    if (!there(at, ".", W_OK) || !there(at, "cgroup.procs", W_OK))
        finding_grant(findings_add(f, TOPIC, "own group", FOUND_NO,
                                   "a job can't be given one: this one is not delegated to this user"),
                      "%s", grant);
    else if (v2 && own_is_delegated(path))
        findings_add(f, TOPIC, "own group", FOUND_YES, "every job is given one (v2): %s",
                     auto_memory_of_own(p) ? what : "CPU time");
    else
        finding_grant(findings_add(f, TOPIC, "own group", FOUND_PARTLY, "with --cgroup own a job is given one (%s): %s",
                                   version, what),
                      "user.delegate or trusted.delegate = 1 of this group of v2, as systemd sets with Delegate=yes, "
                      "for every job");
}

static void check_group_pressure(struct findings *f, const struct cgroup_hierarchies *p)
{
    const struct cgroup_location *v2 = cgroup_location_of(p, CGROUP_AT_UNIFIED);
    if (v2 && there(v2, "cpu.pressure", R_OK))
        findings_add(f, TOPIC, "pressure", FOUND_YES, "time that its processes spent waiting for CPU, memory, I/O");
    else if (p->n)
        finding_grant(findings_add(f, TOPIC, "pressure", FOUND_NO, "time that its processes spent waiting: %s",
                                   v2 ? "not reported here" : "v1 does not report it"),
                      "v2 on a kernel of 4.20 or later, with psi=1");
}

void doctor_cgroup(struct findings *f)
{
    int root CLEANUP(fd_closep) = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct cgroup_hierarchies *p = malloc(sizeof(*p));
    int code = p && root >= 0 ? cgroup_find(root, 0, p) : -ENOMEM;
    if (code < 0) {
        finding_grant(findings_add(f, TOPIC, "hierarchies", FOUND_NO,
                                   "limits and use are not known: /proc/self/cgroup: %s", strerror(-code)),
                      "a kernel with CONFIG_CGROUPS, outside of a sandbox");
    } else {
        hierarchies(f, p);
        controllers(f, p);
        check_group_pressure(f, p);
        if (p->n) /* groups that are not visible are not known */
            check_limits(f, p, root);
        delegated(f, p);
    }
    free(p);
}
