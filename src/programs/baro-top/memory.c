/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/memory.h"

#include <string.h>

/* The job's group is the innermost one on the tape; those above it are there for their limits. */
int memory_of_group(const struct baro_sample *s, const struct metrics *m, uint64_t *ret)
{
    int absent = BARO_ABSENT_UNKNOWN;
    size_t n = baro_sample_rows(s, BARO_KIND_CGROUP), deepest = 0;
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *e = baro_sample_row(s, BARO_KIND_CGROUP, i);
        size_t length = strlen(baro_row_name(e));
        uint64_t bytes;
        if (length < deepest || baro_row_value(e, m->group.memory, &bytes) != BARO_PRESENT)
            continue;
        deepest = length;
        *ret = bytes;
        absent = BARO_PRESENT;
    }
    return absent;
}

bool memory_pss_is_stale(const struct baro_sample *s, const struct metrics *m)
{
    uint64_t v;
    return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), m->job.pss_stale, &v) == BARO_PRESENT && v;
}

struct memory memory_of(const struct baro_sample *s, const struct metrics *m, bool by_group)
{
    struct memory ret = {.absent = BARO_ABSENT_NOT_YET};
    size_t lacking = 0, without_pss = 0;
    if (!s)
        return ret;
    ret.absent = baro_sample_sum(s, m->process.rss, &ret.bytes, &lacking);
    ret.flags = lacking ? BARO_VALUE_LOWER_BOUND : 0;
    ret.has_held = (by_group && memory_of_group(s, m, &ret.held) == BARO_PRESENT) ||
                   (baro_sample_sum(s, m->process.pss, &ret.held, &without_pss) == BARO_PRESENT && ret.held &&
                    !without_pss && !memory_pss_is_stale(s, m));
    if (!ret.has_held && !ret.absent && !lacking && baro_sample_rows(s, BARO_KIND_PROCESS) == 1) {
        ret.has_held = true;
        ret.held = ret.bytes;
    }
    return ret;
}
