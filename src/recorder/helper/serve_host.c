/* SPDX-License-Identifier: Apache-2.0 */
/* Answers, in the helper process, the requests about the machine that may block. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/fd.h"
#include "kernel/proc/procfs.h"
#include "kernel/sys/sysfs.h"
#include "recorder/helper/wire.h"

static uint8_t read_absent(int error)
{
    switch (error) {
    case EACCES:
    case EPERM: return BARO_ABSENT_DENIED;
    case ENOENT:
    case ENODEV: return BARO_ABSENT_GONE;
    case ETIMEDOUT:
    case EAGAIN: return BARO_ABSENT_TIMEOUT;
    default: return BARO_ABSENT_UNKNOWN; /* EIO of a server that went away, ENODATA or EINVAL of a sensor that is off */
    }
}

/* statfs(2) rather than statvfs(3): the identity of a filesystem in one word, and no walk through /proc/mounts. */
static void read_fs(const char *path, struct helper_wire_reply *w)
{
    struct statfs st;
    if (statfs(path, &st) < 0) {
        w->host_absent = read_absent(errno);
        return;
    }
    uint64_t unit = (uint64_t)(st.f_frsize ? st.f_frsize : st.f_bsize), id;
    const uint64_t blocks[] = {
        [HELPER_FS_TOTAL] = st.f_blocks, [HELPER_FS_FREE] = st.f_bfree, [HELPER_FS_AVAILABLE] = st.f_bavail};
    w->host_absent = BARO_PRESENT;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        if (__builtin_mul_overflow(blocks[i], unit, &w->host[i]))
            w->host_absent = BARO_ABSENT_UNKNOWN;
    }
    w->host[HELPER_FS_INODES] = st.f_files;
    w->host[HELPER_FS_INODES_FREE] = st.f_ffree;
    memcpy(&id, &st.f_fsid, sizeof(id));
    w->host[HELPER_FS_ID] = id;
}

static void read_sensor(int sys_fd, const char *path, struct helper_wire_reply *w)
{
    int64_t v;
    int code = sys_sensor_read(sys_fd, path, &v);
    w->host_absent = code < 0 ? read_absent(-code) : BARO_PRESENT;
    if (code < 0)
        return;
    w->host[HELPER_SENSOR_NOW] = (uint64_t)v;
    if (sys_sensor_critical(sys_fd, path, &v) == 0) {
        w->host[HELPER_SENSOR_CRITICAL] = (uint64_t)v;
        w->host[HELPER_SENSOR_HAS_CRITICAL] = 1;
    }
}

struct clocks {
    struct helper_frequency *at;
    uint64_t first, n;
    bool any;
};

static void on_clock(void *context, uint32_t cpu, uint64_t hertz)
{
    struct clocks *c = context;
    if (cpu < c->first || cpu - c->first >= c->n || hertz / 1000 > UINT32_MAX)
        return;
    c->at[cpu - c->first].now_khz = (uint32_t)(hertz / 1000);
    c->any = true;
}

static uint32_t kilohertz(int sys_fd, uint64_t cpu, const char *file)
{
    char path[96];
    uint64_t v;
    snprintf(path, sizeof(path), "devices/system/cpu/cpu%llu/cpufreq/%s", (unsigned long long)cpu, file);
    return sys_number(sys_fd, path, &v) == 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* Where there is no cpufreq, as in most virtual machines, x86 and power have the clock in /proc/cpuinfo. */
static size_t read_frequencies(const struct helper_host *host, const struct helper_wire_request *r,
                               struct helper_wire_reply *w)
{
    struct proc_cpuinfo info;
    uint64_t n =
        r->key.pid > 0 && (uint32_t)r->key.pid < HELPER_FREQUENCIES ? (uint64_t)r->key.pid : HELPER_FREQUENCIES;
    struct clocks c = {host->frequencies, (uint32_t)r->key.start, n, false};
    memset(c.at, 0, HELPER_FREQUENCIES * sizeof(*c.at));
    for (uint64_t i = 0; i < c.n; i++) {
        c.at[i].now_khz = kilohertz(host->sys_fd, c.first + i, "scaling_cur_freq");
        c.at[i].most_khz = kilohertz(host->sys_fd, c.first + i, "cpuinfo_max_freq");
        c.any |= c.at[i].now_khz || c.at[i].most_khz;
        if (i == 3 && !c.any)
            break;
    }
    ssize_t len = c.any ? 1 : fd_read_file(host->proc_fd, "cpuinfo", host->text, host->text_cap);
    if (!c.any && len > 0)
        proc_cpuinfo_parse(span_of(host->text, (size_t)len), &info, on_clock, &c);
    if (len < 0 && len != -ENOENT)
        w->host_absent = read_absent((int)-len);
    else /* an empty cpuinfo hides the kernel's file */
        w->host_absent = c.any ? BARO_PRESENT : len == 0 ? BARO_ABSENT_UNKNOWN : BARO_ABSENT_UNSUPPORTED;
    return c.any ? (size_t)n : 0;
}

static struct span serve_file(const struct helper_host *host, const char *path, struct helper_wire_reply *w)
{
    ssize_t n = fd_read_file(AT_FDCWD, path, host->text, host->text_cap);
    w->host_absent = n < 0                                      ? read_absent((int)-n)
                     : n == 0 || (size_t)n > HELPER_CMDLINE_MAX ? BARO_ABSENT_UNKNOWN
                                                                : BARO_PRESENT;
    return span_of(host->text, w->host_absent ? 0 : (size_t)n);
}

struct span helper_host_serve(const struct helper_host *host, const struct helper_wire_request *r, const char *path,
                              struct helper_wire_reply *w)
{
    const char *clocks = (const char *)host->frequencies;
    if (r->what & HELPER_FREQUENCY)
        return span_of(clocks, read_frequencies(host, r, w) * sizeof(*host->frequencies));
    if (r->what & HELPER_FILE)
        return serve_file(host, path, w);
    if (r->what & HELPER_SENSOR)
        read_sensor(host->sys_fd, path, w);
    else
        read_fs(path, w);
    return span_of(clocks, 0);
}
