/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.stat (mm/memcontrol.c, memory_stat_format; mm/memcontrol-v1.c, memcg1_stat_format). The keys "shmem",
 * "inactive_file" and "pgfault" are those of this group alone in v1, and include the groups below in v2, so the caller
 * must say which version it is.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/cgroup/flat.h"

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
    if (v1)
        m.valid = flat_parse(text, keys_v1, sizeof(keys_v1) / sizeof(*keys_v1), m.value);
    else
        m.valid = flat_parse(text, keys_v2, sizeof(keys_v2) / sizeof(*keys_v2), m.value);
    if (m.value[CGMEM_HIERARCHICAL_LIMIT] >= CGROUP_V1_NO_LIMIT)
        m.value[CGMEM_HIERARCHICAL_LIMIT] = CGROUP_NO_LIMIT;
    if (!m.valid)
        return BARO_E_SYNTAX;
    *ret = m;
    return 0;
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
    e.valid = flat_parse(text, keys, sizeof(keys) / sizeof(*keys), e.value);
    if (!e.valid)
        return BARO_E_SYNTAX;
    *ret = e;
    return 0;
}
