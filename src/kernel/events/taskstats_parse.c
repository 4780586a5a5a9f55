/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct taskstats is read by offset: the header on the build machine may be older or newer than the running kernel.
 * Every version except one only appended fields. Version 15 (6.14) inserted maxima and minima of delays, and version 16
 * moved them to the end. The pid is known from another attribute of the message, so the offset at which it is found
 * shows how far the fields were moved.
 */
#include <linux/genetlink.h>
#include <linux/taskstats.h>

#include "base/error.h"
#include "kernel/events/netlink.h"
#include "kernel/events/taskstats_parse.h"

enum offset {
    AT_VERSION = 0,
    AT_EXITCODE = 4,
    AT_FLAG = 8,
    AT_CPU_COUNT = 16,
    AT_CPU_DELAY = 24,
    /* after the first delays: moved by shift */
    AT_RUN_VIRTUAL = 72,
    AT_COMM = 80,
    AT_UID = 120,
    AT_PID = 128,
    AT_ETIME = 144,
    AT_UTIME = 152,
    AT_STIME = 160,
    AT_MINFLT = 168,
    AT_MAJFLT = 176,
    AT_HIWATER_RSS = 200,
    AT_READ_CHAR = 216,
    AT_WRITE_CHAR = 224,
    AT_READ_BYTES = 248,
    AT_WRITE_BYTES = 256,
    AT_SWITCHES_VOLUNTARY = 272,
    END_VERSION_8 = 328,
    /* after all delays: moved by twice the shift */
    AT_TGID = 368,
    AT_TGETIME = 376,
    END_VERSION_12 = 400,
};

#define FLAG_GROUP 0x20u /* AGROUP of <linux/acct.h>, since version 12 */
#define COMM_BYTES 32u
#define NS_PER_US 1000u
#define KIB 1024u

/* How far version 15 moved the fields: by three maxima, or by three maxima and three minima. */
static int find_shift(struct span stats, int32_t pid, size_t *ret)
{
    static const size_t candidates[] = {0, 24, 48};
    for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
        if (END_VERSION_8 + candidates[i] <= stats.len && span_u32(stats, AT_PID + candidates[i]) == (uint32_t)pid) {
            *ret = candidates[i];
            return 0;
        }
    }
    return BARO_E_SYNTAX;
}

#define TICK_MOST 10000000u        /* ns: HZ is at least 100 */
#define LIFE_MOST (10 * TICK_MOST) /* the longest life of a process whose CPU time is corrected */

/* The scheduler adds to the CPU time at each tick and when a time slice ends. The last slice has not ended when the
 * record is made, so a process that ran without a break for less than a tick has 0. But a thread that never slept
 * was always either running or waiting for a CPU, and the kernel reports its lifetime and its run delay. Example:
 * lived 3 ms, waited 1 ms, counted 0: it ran for 2 ms. Time is also lost to a hypervisor and to interrupts, and
 * nothing reports how much. So the correction is at most one tick, and only processes with a short life are
 * corrected. Example: of 400 ms a hypervisor took 6 and the last slice had 2: it was counted as 392, ran for 394,
 * and the difference would be 400. */
static uint64_t exact_cpu(struct span s, size_t shift)
{
    uint64_t counted = span_u64(s, AT_RUN_VIRTUAL + shift);
    uint64_t lived = span_u64(s, AT_ETIME + shift) * NS_PER_US, waited = span_u64(s, AT_CPU_DELAY);
    bool never_slept = span_u64(s, AT_SWITCHES_VOLUNTARY + shift) == 0 && span_u64(s, AT_CPU_COUNT) > 0;
    uint64_t ran = never_slept && lived <= LIFE_MOST && lived > waited ? lived - waited : 0;
    if (ran > counted + TICK_MOST)
        ran = counted + TICK_MOST;
    return ran > counted ? ran : counted;
}

static void parse_usage(struct span s, size_t shift, struct taskstats_usage *u)
{
    u->delays = span_u64(s, AT_CPU_COUNT);
    u->run_delay_ns = span_u64(s, AT_CPU_DELAY);
    u->cpu_ns = exact_cpu(s, shift);
    u->cpu_unsure_ns = u->cpu_ns - span_u64(s, AT_RUN_VIRTUAL + shift);
    u->user_ns = span_u64(s, AT_UTIME + shift) * NS_PER_US;
    u->system_ns = span_u64(s, AT_STIME + shift) * NS_PER_US;
    u->faults_minor = span_u64(s, AT_MINFLT + shift);
    u->faults_major = span_u64(s, AT_MAJFLT + shift);
    u->io_read = span_u64(s, AT_READ_BYTES + shift);
    u->io_write = span_u64(s, AT_WRITE_BYTES + shift);
    u->io_rchar = span_u64(s, AT_READ_CHAR + shift);
    u->io_wchar = span_u64(s, AT_WRITE_CHAR + shift);
    u->rss_peak_bytes = span_u64(s, AT_HIWATER_RSS + shift) * KIB;
}

static int parse_stats(struct span s, struct taskstats_record *r)
{
    size_t shift;
    if (s.len < END_VERSION_8 || find_shift(s, r->pid, &shift) < 0)
        return BARO_E_SYNTAX;
    uint16_t version;
    memcpy(&version, s.at + AT_VERSION, sizeof(version));
    if (version < 8)
        return BARO_E_SYNTAX;
    r->version = version;
    r->status = span_u32(s, AT_EXITCODE);
    r->uid = span_u32(s, AT_UID + shift);
    r->elapsed_ns = span_u64(s, AT_ETIME + shift) * NS_PER_US;
    memcpy(r->comm, s.at + AT_COMM + shift, COMM_BYTES - 1);
    parse_usage(s, shift, &r->usage);
    if (version < 12)
        return 0;
    if (s.len < END_VERSION_12 + 2 * shift)
        return BARO_E_SYNTAX;
    r->has_group = true;
    r->last = (uint8_t)s.at[AT_FLAG] & FLAG_GROUP;
    r->tgid = (int32_t)span_u32(s, AT_TGID + 2 * shift);
    r->elapsed_ns = span_u64(s, AT_TGETIME + 2 * shift) * NS_PER_US;
    return 0;
}

/* An aggregate holds PID or TGID, and STATS. Since 6.12 an attribute without a type pads STATS to 8 bytes. */
static bool take_aggregate(struct span nested, uint16_t id_type, int32_t *ret_id, struct span *ret_stats)
{
    uint16_t type;
    struct span value;
    bool has_id = false, has_stats = false;
    while (netlink_attribute(&nested, &type, &value)) {
        if (type == id_type && value.len >= sizeof(uint32_t)) {
            *ret_id = (int32_t)span_u32(value, 0);
            has_id = true;
        } else if (type == TASKSTATS_TYPE_STATS) {
            *ret_stats = value;
            has_stats = true;
        }
    }
    return has_id && has_stats;
}

int taskstats_parse(struct span payload, struct taskstats_record *ret)
{
    struct taskstats_record r = {0};
    struct span value, stats;
    uint16_t type;
    int32_t tgid = 0;
    bool any = false;
    if (payload.len < GENL_HDRLEN || payload.at[0] != TASKSTATS_CMD_NEW)
        return BARO_E_SYNTAX;
    payload = span_of(payload.at + GENL_HDRLEN, payload.len - GENL_HDRLEN);
    while (netlink_attribute(&payload, &type, &value)) {
        if (type == TASKSTATS_TYPE_AGGR_PID && take_aggregate(value, TASKSTATS_TYPE_PID, &r.pid, &stats)) {
            if (parse_stats(stats, &r) < 0)
                return BARO_E_SYNTAX;
            any = true;
        } else if (type == TASKSTATS_TYPE_AGGR_TGID && take_aggregate(value, TASKSTATS_TYPE_TGID, &tgid, &stats)) {
            /* The kernel sums only delays and, with delay accounting, the CPU time of a group (fill_tgid_exit()). The
             * offset of that sum is not known in version 15. */
            r.has_total = stats.len >= END_VERSION_8 && r.version != 15;
            if (r.has_total)
                r.total_cpu_ns = span_u64(stats, AT_RUN_VIRTUAL);
        }
    }
    if (!any)
        return BARO_E_SYNTAX;
    if (tgid && !r.has_group) {
        r.tgid = tgid;
        r.last = true;
    }
    r.has_comm = !r.tgid || r.tgid == r.pid;
    *ret = r;
    return 0;
}

void taskstats_add(struct taskstats_usage *sum, const struct taskstats_usage *one)
{
    sum->cpu_ns += one->cpu_ns;
    sum->cpu_unsure_ns += one->cpu_unsure_ns;
    sum->user_ns += one->user_ns;
    sum->system_ns += one->system_ns;
    sum->faults_minor += one->faults_minor;
    sum->faults_major += one->faults_major;
    sum->run_delay_ns += one->run_delay_ns;
    sum->delays += one->delays;
    sum->io_read += one->io_read;
    sum->io_write += one->io_write;
    sum->io_rchar += one->io_rchar;
    sum->io_wchar += one->io_wchar;
    if (one->rss_peak_bytes > sum->rss_peak_bytes)
        sum->rss_peak_bytes = one->rss_peak_bytes;
}

int taskstats_family_parse(struct span payload)
{
    uint16_t type, id;
    struct span value;
    if (payload.len < GENL_HDRLEN || payload.at[0] != CTRL_CMD_NEWFAMILY)
        return BARO_E_SYNTAX;
    payload = span_of(payload.at + GENL_HDRLEN, payload.len - GENL_HDRLEN);
    while (netlink_attribute(&payload, &type, &value)) {
        if (type == CTRL_ATTR_FAMILY_ID && value.len >= sizeof(id)) {
            memcpy(&id, value.at, sizeof(id));
            return id;
        }
    }
    return BARO_E_SYNTAX;
}
