/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with lines of "key value" (cpu.stat, memory.stat, memory.events, pids.events), and files with one value.
 *
 * cpu.stat: every v2 group has usage, user and system, with or without the cpu controller (kernel/cgroup/rstat.c,
 * cgroup_base_stat_cputime_show); the other keys come with the controller (kernel/sched/core.c, cpu_extra_stat_show).
 * In v1 it has only the quota, and cpuacct has the usage.
 *
 * memory.stat (mm/memcontrol.c, memory_stat_format; mm/memcontrol-v1.c, memcg1_stat_format): the keys "shmem",
 * "inactive_file" and "pgfault" are those of this group alone in v1, and include the groups below in v2, so the caller
 * must say which version it is.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/proc/text.h"

/* ---- lines of "key value" ---- */

struct flat_key {
    const char *text; /* followed by a blank in the file */
    uint8_t len, field;
    uint32_t scale; /* the value is multiplied by this */
};

#define FLAT_KEY(text, field, scale)                                                                                   \
    {                                                                                                                  \
        text, sizeof(text) - 1, field, scale                                                                           \
    }

static bool flat_number(struct span line, size_t key_len, uint64_t scale, uint64_t *ret)
{
    const char *end = line.at + line.len;
    uint64_t v;
    const char *p = text_digits(line.at + key_len + 1, end, &v);
    return p == end && !__builtin_mul_overflow(v, scale, ret);
}

/* Fills value[] and returns the mask of the fields that were found. If a key comes twice, the last one counts. */
static uint32_t flat_parse(struct span text, const struct flat_key *keys, size_t n, uint64_t *value)
{
    const char *p = text.at, *end = p + text.len;
    uint32_t valid = 0;
    struct span line;
    while (text_line(&p, end, &line)) {
        for (size_t i = 0; i < n; i++) {
            const struct flat_key *k = &keys[i];
            if (line.len <= k->len || line.at[k->len] != ' ' || memcmp(line.at, k->text, k->len) != 0)
                continue;
            if (flat_number(line, k->len, k->scale, &value[k->field]))
                valid |= 1u << k->field;
            break;
        }
    }
    return valid;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct flat_key cpu_keys[] = {
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
    cpu.valid = flat_parse(text, cpu_keys, COUNT(cpu_keys), cpu.value);
    *ret = cpu.valid ? cpu : *ret;
    return cpu.valid ? 0 : BARO_E_SYNTAX;
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

static const struct flat_key keys_v2[] = {
    FLAT_KEY("anon", CGMEM_ANON, 1),      FLAT_KEY("file", CGMEM_FILE, 1),
    FLAT_KEY("kernel", CGMEM_KERNEL, 1), /* 5.18+ */
    FLAT_KEY("slab", CGMEM_SLAB, 1),      FLAT_KEY("slab_reclaimable", CGMEM_SLAB_RECLAIMABLE, 1),
    FLAT_KEY("shmem", CGMEM_SHMEM, 1),    FLAT_KEY("inactive_file", CGMEM_INACTIVE_FILE, 1),
    FLAT_KEY("pgfault", CGMEM_FAULTS, 1), FLAT_KEY("pgmajfault", CGMEM_FAULTS_MAJOR, 1),
};

static const struct flat_key keys_v1[] = {
    FLAT_KEY("total_rss", CGMEM_ANON, 1), /* anonymous memory and swap cache; not the sum of the processes' RSS */
    FLAT_KEY("total_cache", CGMEM_FILE, 1),
    FLAT_KEY("total_shmem", CGMEM_SHMEM, 1),
    FLAT_KEY("total_inactive_file", CGMEM_INACTIVE_FILE, 1),
    FLAT_KEY("total_swap", CGMEM_SWAP, 1),
    FLAT_KEY("total_pgfault", CGMEM_FAULTS, 1),
    FLAT_KEY("total_pgmajfault", CGMEM_FAULTS_MAJOR, 1),
    FLAT_KEY("hierarchical_memory_limit", CGMEM_HIERARCHICAL_LIMIT, 1),
};

int cgroup_memory_stat_parse(struct span text, bool v1, struct cgroup_memory *ret)
{
    struct cgroup_memory m = {0};
    m.valid = flat_parse(text, v1 ? keys_v1 : keys_v2, v1 ? COUNT(keys_v1) : COUNT(keys_v2), m.value);
    if (m.value[CGMEM_HIERARCHICAL_LIMIT] >= CGROUP_V1_NO_LIMIT)
        m.value[CGMEM_HIERARCHICAL_LIMIT] = CGROUP_NO_LIMIT;
    *ret = m.valid ? m : *ret;
    return m.valid ? 0 : BARO_E_SYNTAX;
}

int cgroup_memory_events_parse(struct span text, struct cgroup_events *ret)
{
    static const struct flat_key keys[] = {
        FLAT_KEY("high", CGEVENT_HIGH_HITS, 1),
        FLAT_KEY("max", CGEVENT_MAX_HITS, 1),
        FLAT_KEY("oom", CGEVENT_OOMS, 1),
        FLAT_KEY("oom_kill", CGEVENT_OOM_KILLS, 1),
    };
    struct cgroup_events e = {0};
    e.valid = flat_parse(text, keys, COUNT(keys), e.value);
    *ret = e.valid ? e : *ret;
    return e.valid ? 0 : BARO_E_SYNTAX;
}

int cgroup_pids_events_parse(struct span text, uint64_t *ret)
{
    static const struct flat_key key = FLAT_KEY("max", 0, 1);
    uint64_t hits;
    if (!flat_parse(text, &key, 1, &hits))
        return BARO_E_SYNTAX;
    *ret = hits;
    return 0;
}

/* ---- single values ---- */

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

int cgroup_value_parse(struct span text, uint64_t *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct span line;
    uint64_t v;
    if (!text_line(&p, end, &line))
        return BARO_E_SYNTAX;
    if (span_equal(line, "max") || span_equal(line, "-1")) {
        *ret = CGROUP_NO_LIMIT;
        return 0;
    }
    if (text_digits(line.at, line.at + line.len, &v) != line.at + line.len)
        return BARO_E_SYNTAX;
    *ret = v >= CGROUP_V1_NO_LIMIT ? CGROUP_NO_LIMIT : v;
    return 0;
}

int cgroup_cpus_parse(struct span text, uint64_t *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct span list;
    uint64_t count;
    if (!text_line(&p, end, &list) || !scan_ranges(&list, NULL, NULL, &count) || list.len)
        return BARO_E_SYNTAX;
    *ret = count;
    return 0;
}
