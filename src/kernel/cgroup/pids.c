/* SPDX-License-Identifier: Apache-2.0 */
/* pids.events and cgroup.events; pids.current, pids.peak and pids.max are single values. */
#include "kernel/cgroup/cgroup.h"
#include "kernel/cgroup/flat.h"

static int parse_one_key(struct span text, const struct flat_key *key, uint64_t *ret)
{
    uint64_t v;
    if (!flat_parse(text, key, 1, &v))
        return BARO_E_SYNTAX;
    *ret = v;
    return 0;
}

int cgroup_pids_events_parse(struct span text, uint64_t *ret)
{
    static const struct flat_key key = FLAT_KEY("max", 0, 1);
    return parse_one_key(text, &key, ret);
}
