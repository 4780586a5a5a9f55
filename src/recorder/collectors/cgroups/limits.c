/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/cgroups/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "kernel/proc/procfs.h"
#include "recorder/collectors/cgroups/bounds.h"

#define MIB (UINT64_C(1) << 20)
#define CORE UINT64_C(1000000)

/* If two limits are equal, the first source is kept: an affinity that follows from a cpuset is reported as the cpuset.
 */
static void tighten(uint64_t *value, char source[128], uint64_t v, const char *why)
{
    if (v >= *value)
        return;
    *value = v;
    snprintf(source, 128, "%s", why);
}

static ssize_t read_of(const struct limits_place *p, const char *file, char *text, size_t cap)
{
    char path[64];
    if (p->pid)
        snprintf(path, sizeof(path), "proc/%d/%s", (int)p->pid, file);
    else
        snprintf(path, sizeof(path), "proc/self/%s", file);
    return fd_read_record(p->root_fd, path, text, cap);
}

/* ---- control groups ---- */

static uint8_t limit_absent(int error)
{
    return error == -EACCES || error == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN;
}

/* If a limit was found, it applies, whatever there is above. If none was found, there may be one that is not visible.
 */
static uint8_t unseen(const struct cgroup_bound *b)
{
    return b->unseen && b->value == CGROUP_NO_LIMIT ? limit_absent(b->unseen) : BARO_PRESENT;
}

static void by_groups(const struct limits_place *p, struct baro_limits *l)
{
    struct cgroup_bounds read;
    const struct cgroup_bounds *b = p->bounds;
    if (!b && !p->groups) {
        l->memory_absent = l->cores_absent = l->pids_absent = limit_absent(p->groups_error);
        return;
    }
    if (!b) {
        cgroup_bounds_read(p->root_fd, p->groups, &read);
        b = &read;
    }
    tighten(&l->memory_bytes, l->memory_source, b->memory.value, b->memory.source);
    tighten(&l->cores_ppm, l->cores_source, b->quota.value, b->quota.source);
    if (b->cpus.value < UINT64_MAX / CORE)
        tighten(&l->cores_ppm, l->cores_source, b->cpus.value * CORE, b->cpus.source);
    tighten(&l->pids, l->pids_source, b->pids.value, b->pids.source);
    l->memory_absent = unseen(&b->memory);
    l->cores_absent = unseen(&b->quota); /* a hidden cpuset shows in the affinity */
    l->pids_absent = unseen(&b->pids);
}

/* ---- the process: affinity, ulimits ---- */

/* The text after the key up to the end of its line; empty if the line is missing or truncated. */
static struct span line_of(struct span text, const char *key)
{
    struct span line;
    const char *end = text.at + text.len;
    while (scan_line(&text, &line)) {
        if (!span_starts(line, key) || line.at + line.len == end)
            continue;
        size_t n = strlen(key);
        line = span_of(line.at + n, line.len + 1 - n);
        scan_blanks(&line);
        return line;
    }
    return span_of("", 0);
}

static bool status_of(struct span status, uint64_t *cpus, uint64_t *uid)
{
    struct span allowed = line_of(status, "Cpus_allowed_list:"), uids = line_of(status, "Uid:");
    if (!*cpus && allowed.len)
        cgroup_cpus_parse(allowed, cpus);
    return scan_u64(&uids, uid) && *cpus;
}

/* Affinity and user. Before them there may be a line with all groups of the user: up to 65,536 of ten digits each. */
static void from_status(const struct limits_place *p, uint64_t *cpus, uint64_t *uid)
{
    static const size_t sizes[] = {4096, 65536, 1u << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char *text = malloc(sizes[i]);
        ssize_t n = text ? read_of(p, "status", text, sizes[i]) : -ENOMEM;
        bool done = n < 0 || status_of(span_of(text, (size_t)n), cpus, uid) || (size_t)n < sizes[i];
        free(text);
        if (done)
            return;
    }
}

static bool ulimits(const struct limits_place *p, struct pid_limits *ret)
{
    char text[4096];
    if (p->ulimits) {
        *ret = *p->ulimits;
        return true;
    }
    ssize_t n = read_of(p, "limits", text, sizeof(text));
    return n > 0 && pid_limits_parse(span_of(text, (size_t)n), ret) == 0;
}

static void by_process(const struct limits_place *p, struct baro_limits *l)
{
    struct pid_limits limits;
    uint64_t cpus = p->affinity, uid = p->ulimits ? p->uid : 0, of_status = 0;
    if (!cpus || !p->ulimits)
        from_status(p, &cpus, p->ulimits ? &of_status : &uid);
    if (cpus)
        tighten(&l->cores_ppm, l->cores_source, cpus * CORE, "affinity");
    if (!ulimits(p, &limits))
        return;
    if (limits.valid & 1u << PID_LIMIT_AS)
        tighten(&l->memory_bytes, l->memory_source, limits.value[PID_LIMIT_AS], "RLIMIT_AS");
    if (limits.valid & 1u << PID_LIMIT_DATA)
        tighten(&l->memory_bytes, l->memory_source, limits.value[PID_LIMIT_DATA], "RLIMIT_DATA");
    if (uid != 0 && (limits.valid & 1u << PID_LIMIT_NPROC)) /* does not apply to root */
        tighten(&l->pids, l->pids_source, limits.value[PID_LIMIT_NPROC], "RLIMIT_NPROC");
}

/* ---- the environment: the batch system's limits, also if the groups that enforce them are not visible ---- */

static bool env_number(const struct limits_place *p, const char *name, uint64_t *ret)
{
    const char *text = p->env(p->context, name);
    if (!text)
        return false;
    struct span s = span_str(text);
    return scan_u64(&s, ret) && !s.len && *ret > 0;
}

/* SLURM_JOB_CPUS_PER_NODE, "16(x2),8": the value for this node. */
static uint64_t cpus_of_node(const char *text, uint64_t node)
{
    struct span s = span_str(text);
    uint64_t cpus, times;
    while (scan_u64(&s, &cpus)) {
        times = 1;
        if (scan_char(&s, '(') && (!scan_char(&s, 'x') || !scan_u64(&s, &times) || !scan_char(&s, ')')))
            return 0;
        if (node < times)
            return cpus;
        node -= times;
        if (!scan_char(&s, ','))
            return 0;
    }
    return 0;
}

static void by_slurm(const struct limits_place *p, struct baro_limits *l)
{
    uint64_t cpus = 0, v, node = 0;
    const char *per_node = p->env(p->context, "SLURM_JOB_CPUS_PER_NODE"), *why = "SLURM_CPUS_ON_NODE";
    if (!env_number(p, "SLURM_CPUS_ON_NODE", &cpus) && per_node) {
        env_number(p, "SLURM_NODEID", &node);
        cpus = cpus_of_node(per_node, node);
        why = "SLURM_JOB_CPUS_PER_NODE";
    }
    if (cpus) {
        tighten(&l->cores_ppm, l->cores_source, cpus < UINT64_MAX / CORE ? cpus * CORE : UINT64_MAX, why);
        l->cores_absent = BARO_PRESENT;
    }
    /* A batch script may use all that its job has on the node; only what srun starts is limited to a task's share. */
    if (p->env(p->context, "SLURM_STEP_ID") && env_number(p, "SLURM_CPUS_PER_TASK", &v) && v < UINT64_MAX / CORE)
        tighten(&l->cores_ppm, l->cores_source, v * CORE, "SLURM_CPUS_PER_TASK");
    why = "SLURM_MEM_PER_NODE";
    if (!env_number(p, why, &v)) {
        why = "SLURM_MEM_PER_CPU";
        if (!cpus || !env_number(p, why, &v) || __builtin_mul_overflow(v, cpus, &v))
            return;
    }
    if (v >= UINT64_MAX / MIB)
        return;
    tighten(&l->memory_bytes, l->memory_source, v * MIB, why);
    l->memory_absent = BARO_PRESENT;
}

/* "1.5" in millionths. */
static bool decimal(const char *text, uint64_t *ret)
{
    struct span s = span_str(text);
    uint64_t whole, part = 0, unit = CORE;
    if (!scan_u64(&s, &whole) || whole > UINT32_MAX)
        return false;
    if (scan_char(&s, '.')) {
        for (; s.len && *s.at >= '0' && *s.at <= '9'; s = span_of(s.at + 1, s.len - 1)) {
            unit /= 10;
            part += (uint64_t)(*s.at - '0') * unit;
        }
    }
    *ret = whole * CORE + part;
    return !s.len && *ret > 0;
}

/* The downward API has no standard variable names; these are KubeSpawner's, in bytes and cores. */
static void by_kubernetes(const struct limits_place *p, struct baro_limits *l)
{
    const char *cores = p->env(p->context, "CPU_LIMIT");
    uint64_t v;
    if (!p->env(p->context, "KUBERNETES_SERVICE_HOST"))
        return;
    if (env_number(p, "MEM_LIMIT", &v)) {
        tighten(&l->memory_bytes, l->memory_source, v, "MEM_LIMIT");
        l->memory_absent = BARO_PRESENT;
    }
    if (cores && decimal(cores, &v)) {
        tighten(&l->cores_ppm, l->cores_source, v, "CPU_LIMIT");
        l->cores_absent = BARO_PRESENT;
    }
}

/* ---- all ---- */

static void drop_not_below(uint64_t *value, char *source, uint64_t most)
{
    if (*value < most)
        return;
    *value = 0;
    *source = 0;
}

static const struct baro_limits none = {.memory_bytes = UINT64_MAX, .cores_ppm = UINT64_MAX, .pids = UINT64_MAX};

static void finish_limits(const struct limits_place *place, struct baro_limits *l)
{
    drop_not_below(&l->memory_bytes, l->memory_source, place->memory_total ? place->memory_total : UINT64_MAX);
    drop_not_below(&l->cores_ppm, l->cores_source, place->cpus ? place->cpus * CORE : UINT64_MAX);
    drop_not_below(&l->pids, l->pids_source, UINT64_MAX);
}

void limits_read(const struct limits_place *place, struct baro_limits *ret)
{
    struct baro_limits l = none;
    by_groups(place, &l);
    by_process(place, &l);
    if (place->env) {
        by_slurm(place, &l);
        by_kubernetes(place, &l);
    }
    finish_limits(place, &l);
    *ret = l;
}

void limits_read_groups(const struct limits_place *place, struct baro_limits *ret)
{
    struct baro_limits l = none;
    by_groups(place, &l);
    finish_limits(place, &l);
    *ret = l;
}
