/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "kernel/events/policy.h"

/* kernel.perf_event_paranoid, or -2 if it can't be read, which means that the kernel has no perf events. Debian and
 * Ubuntu add the levels 3 and 4. */
static int paranoid(void)
{
    char text[32];
    int64_t level;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
    struct span s = span_of(text, n > 0 ? (size_t)n : 0);
    return n > 0 && scan_i64(&s, &level) ? (int)level : -2;
}

static void describe_working(const struct exits_source *s, struct exits_probe *p)
{
    static const char *const gives[] = {
        [EXITS_CONNECTOR] = "every fork, exec and exit of the machine",
        [EXITS_PERF] = "forks, execs and exits of what is recorded, and the CPU time of what ended",
        [EXITS_TASKSTATS] = "CPU time, peak memory and I/O of each process that ended",
    };
    p->works = true;
    snprintf(p->text, sizeof(p->text), "%s; %llu can be queued", gives[exits_kind(s)],
             (unsigned long long)exits_capacity(s));
}

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

static bool may_perfmon(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    return syscall(SYS_capget, &header, data) == 0 && data[CAP_PERFMON / 32].effective >> CAP_PERFMON % 32 & 1;
}

/* The kernel and its security modules refuse with EACCES (perf_event_open(2) of Linux 5.8: perf_allow_kernel()),
 * profiles of engines with EPERM, or with ENOSYS, as podman's before the end of 2025. */
const char *exits_perf_refusal(int code)
{
    if (code == -EACCES)
        return "perf_event_paranoid";
    if (code == -EPERM || code == -ENOSYS)
        return may_perfmon() ? "seccomp despite CAP_PERFMON" : "seccomp";
    return NULL;
}

static void describe_perf(struct exits_probe *p, const struct baro_error *err)
{
    int level = paranoid();
    const char *refusal = exits_perf_refusal(p->code);
    if (level == -2)
        snprintf(p->text, sizeof(p->text), "this kernel has no perf events (CONFIG_PERF_EVENTS)");
    else if (refusal)
        snprintf(p->text, sizeof(p->text), "perf_event_open(2) is refused by %s; perf_event_paranoid is %d", refusal,
                 level);
    else
        snprintf(p->text, sizeof(p->text), "%s", err->text);
}

void exits_probe(enum exits_source_kind kind, struct exits_probe *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct exits_source *s = NULL;
    *ret = (struct exits_probe){0};
    if (kind == EXITS_CONNECTOR)
        ret->code = exits_connector_open(&s, &err);
    else if (kind == EXITS_TASKSTATS)
        ret->code = exits_taskstats_open(&s, &err);
    else
        ret->code = exits_perf_open(&s, EXITS_PERF_CPUS, &err);
    if (ret->code == 0 && kind == EXITS_PERF)
        ret->code = exits_perf_attach(s, (int32_t)getpid(), &err);
    if (ret->code == 0)
        describe_working(s, ret);
    else if (kind == EXITS_PERF)
        describe_perf(ret, &err);
    else
        snprintf(ret->text, sizeof(ret->text), "%s", err.text);
    exits_close(s);
}

void exits_rank(struct exits_policy *policy)
{
    const struct exits_probe *p = policy->probes;
    policy->membership = p[EXITS_CONNECTOR].works ? MEMBERSHIP_CONNECTOR
                         : p[EXITS_PERF].works    ? MEMBERSHIP_PERF
                                                  : MEMBERSHIP_SCAN;
    policy->usage = p[EXITS_TASKSTATS].works ? USAGE_TASKSTATS : p[EXITS_PERF].works ? USAGE_PERF : USAGE_NONE;
}

void exits_choose(struct exits_policy *ret)
{
    *ret = (struct exits_policy){0};
    for (int kind = EXITS_CONNECTOR; kind <= EXITS_TASKSTATS; kind++)
        exits_probe((enum exits_source_kind)kind, &ret->probes[kind]);
    exits_rank(ret);
}

const char *exits_membership_name(enum exits_membership m)
{
    static const char *const names[] = {"connector", "perf", "scan"};
    return names[m];
}

const char *exits_usage_name(enum exits_usage u)
{
    static const char *const names[] = {"taskstats", "perf", "none"};
    return names[u];
}
