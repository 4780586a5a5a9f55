/* SPDX-License-Identifier: Apache-2.0 */
/* Files with one value. */
#include "kernel/cgroup/cgroup.h"
#include "kernel/proc/text.h"

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
