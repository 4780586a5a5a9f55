/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes values absent that no device can have: a driver returns garbage when a device fails, and the library may be
 * that of another driver. If a counter jumps, its previous value is kept, and it continues from there once it is
 * plausible again.
 */
#include "programs/baro-gpu/gpu_helper.h"

#define SLACK_NS NS_PER_SEC /* a reading takes time, and the driver's own clock is another one */

/* Returns the largest plausible value of a gauge; 0: any value. */
static uint64_t most_of(int metric)
{
    switch (metric) {
    case GPU_busy_peak: return 1000000;
    case GPU_performance_state:
    case GPU_pcie_generation: return 15;
    case GPU_pcie_width: return 64;
    case GPU_retired_pages: return 1000000;
    default: break;
    }
    switch (baro_metric_get(KIND_gpu, metric)->unit) {
    case BARO_UNIT_BYTES: return PLAUSIBLE_BYTES_MOST;
    case BARO_UNIT_RATIO: return 10 * 1000000ull; /* fans are said to turn faster than they can */
    case BARO_UNIT_WATTS: return PLAUSIBLE_WATTS_MOST * 1000000;
    case BARO_UNIT_HERTZ: return 100 * 1000000000ull;
    case BARO_UNIT_CELSIUS: return 250 * 1000ull;
    default: return 0;
    }
}

double counter_most(int metric)
{
    switch (baro_metric_get(KIND_gpu, metric)->unit) {
    case BARO_UNIT_NS: return 1e9;
    case BARO_UNIT_JOULES: return (double)PLAUSIBLE_WATTS_MOST * 1e6;
    case BARO_UNIT_BYTES: return 1e14;
    default: return 1e9;
    }
}

/* Can the counter have made this step? */
static bool is_step(uint64_t from, uint64_t from_ns, uint64_t to, uint64_t to_ns, uint64_t range, double most_a_second,
                    uint64_t *ret_growth)
{
    if (to < from && (!range || from <= range / 2))
        return false;
    uint64_t growth = to >= from ? to - from : range - from + to;
    if ((double)growth > most_a_second * (double)(to_ns - from_ns + SLACK_NS) / 1e9)
        return false;
    *ret_growth = growth;
    return true;
}

bool counter_take(struct grown *g, uint64_t now, uint64_t now_ns, uint64_t range, double most_a_second,
                  uint64_t *ret_growth)
{
    bool goes_on = g->known && is_step(g->before, g->before_ns, now, now_ns, range, most_a_second, ret_growth);
    bool is_anew = !goes_on && g->is_odd && is_step(g->odd, g->odd_ns, now, now_ns, range, most_a_second, ret_growth);
    if (g->known && !goes_on && !is_anew) {
        g->is_odd = true;
        g->odd = now;
        g->odd_ns = now_ns;
        return false;
    }
    *ret_growth = g->known ? *ret_growth : 0;
    *g = (struct grown){.known = true, .has_gap = g->has_gap || is_anew, .before = now, .before_ns = now_ns};
    return true;
}

static bool is_plausible(const struct unit *u, int metric, uint64_t since_ns)
{
    uint64_t v = u->out.value[metric], before = u->checked[metric], most = most_of(metric);
    uint64_t total = u->out.absent[GPU_memory_total] ? 0 : u->out.value[GPU_memory_total];
    if (baro_metric_get(KIND_gpu, metric)->semantics == BARO_SEM_COUNTER)
        return v >= before && (double)(v - before) <= counter_most(metric) * (double)(since_ns + SLACK_NS) / 1e9;
    if ((metric == GPU_memory_used || metric == GPU_memory_used_peak) && total && v > total)
        return false;
    return !most || v <= most;
}

static bool is_checked(int metric)
{
    return metric != GPU_read_at && (metric < GPU_memory_job || metric > GPU_processes_others);
}

void unit_check(struct unit *u)
{
    for (int m = 0; m < GPU_MAX; m++) {
        uint64_t since = u->present_ns[m] ? u->read_ns - u->present_ns[m] : 0;
        bool is_peak = m == GPU_memory_used_peak || m == GPU_busy_peak || m == GPU_power_peak;
        if (is_checked(m) && u->out.absent[m] == BARO_PRESENT && !is_plausible(u, m, since)) {
            bool is_counter = baro_metric_get(KIND_gpu, m)->semantics == BARO_SEM_COUNTER;
            unit_lack(u, m, is_peak ? u->checked_absent[m] : BARO_ABSENT_UNKNOWN);
            if (is_peak || is_counter)
                u->out.value[m] = u->checked[m];
        }
        if (u->out.absent[m] == BARO_PRESENT)
            u->present_ns[m] = u->read_ns;
        u->checked[m] = u->out.value[m];
        u->checked_absent[m] = u->out.absent[m];
    }
    u->checked_ns = u->read_ns;
}
