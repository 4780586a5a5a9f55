/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time and quota. Every v2 group has usage, user and system in cpu.stat, with or without the cpu controller
 * (kernel/cgroup/rstat.c, cgroup_base_stat_cputime_show); the other keys come with the controller (kernel/sched/core.c,
 * cpu_extra_stat_show). In v1 cpu.stat has only the quota, and cpuacct has the usage.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/cgroup/flat.h"

static const struct flat_key keys[] = {
    FLAT_KEY("usage_usec", CGCPU_USAGE, 1000),
    FLAT_KEY("user_usec", CGCPU_USER, 1000),
    FLAT_KEY("system_usec", CGCPU_SYSTEM, 1000),
    FLAT_KEY("nr_periods", CGCPU_PERIODS, 1),
    FLAT_KEY("nr_throttled", CGCPU_THROTTLED_PERIODS, 1),
    FLAT_KEY("throttled_usec", CGCPU_THROTTLED, 1000),
    FLAT_KEY("throttled_time", CGCPU_THROTTLED, 1),
};

int cgroup_cpu_stat_parse(struct span text, struct cgroup_cpu *ret)
{
    struct cgroup_cpu cpu = {0};
    cpu.valid = flat_parse(text, keys, sizeof(keys) / sizeof(*keys), cpu.value);
    if (!cpu.valid)
        return BARO_E_SYNTAX;
    *ret = cpu;
    return 0;
}

int cgroup_cpuacct_stat_parse(struct span text, uint64_t ns_per_tick, struct cgroup_cpu *ret)
{
    static const struct flat_key ticks[] = {FLAT_KEY("user", 0, 1), FLAT_KEY("system", 1, 1)};
    struct cgroup_cpu cpu = {.valid = 1u << CGCPU_USER | 1u << CGCPU_SYSTEM};
    uint64_t value[2];
    if (flat_parse(text, ticks, 2, value) != 3)
        return BARO_E_SYNTAX;
    if (__builtin_mul_overflow(value[0], ns_per_tick, &cpu.value[CGCPU_USER]) ||
        __builtin_mul_overflow(value[1], ns_per_tick, &cpu.value[CGCPU_SYSTEM]))
        return BARO_E_SYNTAX;
    *ret = cpu;
    return 0;
}

/* A newline must follow, because a truncated number would be a smaller number. */
static bool whole_line(struct span *text)
{
    if (!text->len || text->at[text->len - 1] != '\n')
        return false;
    text->len--;
    return true;
}

static int quotient(uint64_t quota, uint64_t period, uint64_t *ret_ppm)
{
    uint64_t scaled;
    if (!period || __builtin_mul_overflow(quota, (uint64_t)1000000, &scaled))
        return BARO_E_SYNTAX;
    *ret_ppm = scaled / period;
    return 0;
}

int cgroup_cpu_max_parse(struct span text, uint64_t *ret_ppm)
{
    uint64_t quota, period;
    struct span word;
    if (!whole_line(&text))
        return BARO_E_SYNTAX;
    bool limited = scan_u64(&text, &quota);
    if (!limited && (!scan_word(&text, &word) || !span_equal(word, "max")))
        return BARO_E_SYNTAX;
    if (!scan_char(&text, ' ') || !scan_u64(&text, &period) || text.len)
        return BARO_E_SYNTAX;
    if (limited)
        return quotient(quota, period, ret_ppm);
    *ret_ppm = CGROUP_NO_LIMIT;
    return 0;
}

int cgroup_cpu_cfs_parse(struct span quota, struct span period, uint64_t *ret_ppm)
{
    int64_t us;
    uint64_t every;
    if (!whole_line(&quota) || !whole_line(&period) || !scan_i64(&quota, &us) || quota.len ||
        !scan_u64(&period, &every) || period.len)
        return BARO_E_SYNTAX;
    if (us >= 0)
        return quotient((uint64_t)us, every, ret_ppm);
    *ret_ppm = CGROUP_NO_LIMIT;
    return 0;
}
