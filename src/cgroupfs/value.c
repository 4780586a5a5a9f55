/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one value. */
#include "cgroupfs/cgroup.h"
#include "procfs/text.h"

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

/* One of "3" and "0-3". */
static bool range(struct span *list, uint64_t *ret_count)
{
    uint64_t first, last;
    if (!scan_u64(list, &first))
        return false;
    last = first;
    if (scan_char(list, '-') && !scan_u64(list, &last))
        return false;
    if (last < first || last > UINT32_MAX)
        return false;
    *ret_count += last - first + 1;
    return true;
}

int cgroup_cpus_parse(struct span text, uint64_t *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct span list;
    uint64_t count = 0;
    if (!text_line(&p, end, &list))
        return BARO_E_SYNTAX;
    while (list.len) {
        if (!range(&list, &count) || (list.len && (!scan_char(&list, ',') || !list.len)))
            return BARO_E_SYNTAX;
    }
    *ret = count;
    return 0;
}
