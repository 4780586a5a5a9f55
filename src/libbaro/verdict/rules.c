/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules: verdicts of one weight are listed in this order. docs/verdicts.md has a section for each. */
#include "libbaro/verdict/verdict_rule.h"

#define RULES(RULE)                                                                                                    \
    RULE(limit)                                                                                                        \
    RULE(oom)                                                                                                          \
    RULE(killed)                                                                                                       \
    RULE(failed)                                                                                                       \
    RULE(pids_limit)                                                                                                   \
    RULE(swap)                                                                                                         \
    RULE(memory_limit)                                                                                                 \
    RULE(page_cache)                                                                                                   \
    RULE(gpu_error)                                                                                                    \
    RULE(gpu_shared)                                                                                                   \
    RULE(cpu_quota)                                                                                                    \
    RULE(io_wait)                                                                                                      \
    RULE(lock_contention)                                                                                              \
    RULE(cpu_neighbour)                                                                                                \
    RULE(cpu_steal)                                                                                                    \
    RULE(client)                                                                                                       \
    RULE(gpu_idle)                                                                                                     \
    RULE(gpu_unused)                                                                                                   \
    RULE(gpu_memory)                                                                                                   \
    RULE(gpu_throttled)                                                                                                \
    RULE(near_limit)                                                                                                   \
    RULE(leak)                                                                                                         \
    RULE(one_core)                                                                                                     \
    RULE(serial_tail)                                                                                                  \
    RULE(slow_start)                                                                                                   \
    RULE(many_processes)                                                                                               \
    RULE(few_cores)                                                                                                    \
    RULE(network_wait)                                                                                                 \
    RULE(idle)                                                                                                         \
    RULE(dominates)                                                                                                    \
    RULE(right_size)

#define DECLARE(name) extern const struct verdict_rule rule_##name;
RULES(DECLARE)
#undef DECLARE

#define ADDRESS(name) &rule_##name,
const struct verdict_rule *const verdict_rules[] = {RULES(ADDRESS)};
#undef ADDRESS
const int verdict_rule_count = sizeof(verdict_rules) / sizeof(*verdict_rules);

int baro_verdict_rule_count(void)
{
    return verdict_rule_count;
}

const struct baro_rule *baro_verdict_rule(int i)
{
    return i >= 0 && i < verdict_rule_count ? &verdict_rules[i]->is : NULL;
}

const char *baro_verdict_weight_name(enum baro_verdict_weight weight)
{
    switch (weight) {
    case BARO_VERDICT_PROBLEM: return "problem";
    case BARO_VERDICT_ADVICE: return "advice";
    case BARO_VERDICT_NOTE: return "note";
    }
    return "unknown";
}
