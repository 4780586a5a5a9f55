/* SPDX-License-Identifier: Apache-2.0 */
/* Power and energy of a device. */
#include "programs/baro-gpu/gpu_helper.h"

/* Computes energy without a counter: the mean of two readings of power, multiplied by the time between them.
 * Example: 100 W, and two seconds later 300 W, are 400 J. */
void power_by_time(struct unit *u, uint64_t uw, uint64_t now_ns)
{
    double since = u->power_ns ? (double)(now_ns - u->power_ns) : 0;
    if (uw > PLAUSIBLE_WATTS_MOST * 1000000) {
        unit_lack(u, GPU_energy, BARO_ABSENT_UNKNOWN);
        return;
    }
    unit_grow(u, GPU_energy, (uint64_t)(((double)u->power_uw + (double)uw) / 2 * since / 1e9));
    unit_put(u, GPU_energy_estimated, 1);
    u->energy.has_gap = true;
    u->power_uw = uw;
    u->power_ns = now_ns;
}

/* Reads the counter of energy. If it fails once, the next reading of the counter includes that time: computing the
 * energy from power would count the same joules twice. */
static void read_energy(struct gpu_helper *h, struct unit *u, int power_code, uint64_t power_uw, uint64_t now_ns)
{
    unsigned long long mj = 0;
    uint64_t growth = 0;
    int code = ASK(h, u, energy, u->handle, &mj);
    if (code == NVML_OK && counter_take(&u->energy, mj, now_ns, 0, (double)PLAUSIBLE_WATTS_MOST * 1e3, &growth)) {
        unit_grow(u, GPU_energy, unit_multiplied(growth, 1000));
        unit_put(u, GPU_energy_estimated, u->energy.has_gap);
    } else if (code && power_code == NVML_OK && (!u->energy.known || code_is_final(code))) {
        power_by_time(u, power_uw, now_ns);
    } else {
        unit_lack(u, GPU_energy, code ? reason_of(code) : BARO_ABSENT_UNKNOWN);
        unit_lack(u, GPU_energy_estimated, code ? reason_of(code) : BARO_ABSENT_UNKNOWN);
    }
}

void power_read(struct gpu_helper *h, struct unit *u, uint64_t now_ns, uint64_t since_ns)
{
    unsigned mw = 0, limit = 0;
    int code = ASK(h, u, power, u->handle, &mw);
    unit_put_code(u, GPU_power, code, mw * 1000ull);
    if (!use_add_buffer(h, u, NVML_SAMPLES_POWER, -1, GPU_power_peak, since_ns)) {
        if (code == NVML_OK)
            unit_put_peak(h, u, GPU_power_peak, mw * 1000ull);
        else
            unit_lack(u, GPU_power_peak, reason_of(code));
    }
    read_energy(h, u, code, mw * 1000ull, now_ns);
    code = ASK(h, u, power_limit, u->handle, &limit);
    unit_put_code(u, GPU_power_limit, code, limit * 1000ull);
}
