/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs of Intel's drivers i915 and xe: clocks, and of discrete ones a counter of energy, temperatures and a limit. Busy
 * time of its engines is in its performance counters and in the fdinfo of its clients alone: the time in states of low
 * power is not the idle time.
 */
#include <stdio.h>
#include <string.h>

#include "programs/baro-gpu/gpu_helper.h"

#define UJ_PER_NS_TO_UW 1e9

/* The first of two counters is that of the card; some chips have only the second, that of the package. It has 64
 * bits: the kernel extends a counter of 32 bits, which it reads at least once a minute. */
static void read_energy(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
{
    uint64_t uj;
    if (!*u->hwmon ||
        (!card_number(u, u->hwmon, "energy1_input", &uj) && !card_number(u, u->hwmon, "energy2_input", &uj))) {
        unit_lack(u, GPU_energy, BARO_ABSENT_UNSUPPORTED);
        unit_lack(u, GPU_energy_estimated, BARO_ABSENT_UNSUPPORTED);
        unit_lack(u, GPU_power, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    uint64_t growth = 0, since = u->energy.known ? now_ns - u->energy.before_ns : 0;
    if (!counter_take(&u->energy, uj, now_ns, 0, (double)PLAUSIBLE_WATTS_MOST * 1e6, &growth)) {
        unit_lack(u, GPU_energy, BARO_ABSENT_UNKNOWN);
        unit_lack(u, GPU_power, BARO_ABSENT_UNKNOWN);
        return;
    }
    unit_grow(u, GPU_energy, growth);
    unit_put(u, GPU_energy_estimated, u->energy.has_gap);
    if (!since) {
        unit_lack(u, GPU_power, BARO_ABSENT_NOT_YET);
        return;
    }
    uint64_t uw = (uint64_t)((double)growth / (double)since * UJ_PER_NS_TO_UW);
    unit_put(u, GPU_power, uw);
    unit_put_peak(h, u, GPU_power_peak, uw);
}

static void read_others(struct gpu_helper *h, struct unit *u)
{
    read_energy(h, u, u->read_ns);
    unit_lack(u, GPU_busy_peak, BARO_ABSENT_UNSUPPORTED);
    if (!*u->hwmon)
        return;
    card_gauge(u, GPU_power_limit, u->hwmon, "power1_max", 1);
    card_gauge(u, GPU_temperature, u->hwmon, "temp1_input", 1);
    if (u->out.absent[GPU_temperature]) /* for xe, temp2 is the package's, temp3 the memory's */
        card_gauge(u, GPU_temperature, u->hwmon, "temp2_input", 1);
    card_gauge(u, GPU_memory_temperature, u->hwmon, "temp3_input", 1);
}

void i915_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
{
    (void)since_ns;
    card_gauge(u, GPU_clock, "", "gt_act_freq_mhz", MHZ); /* 0 while it is parked; older kernels lack the file */
    card_gauge(u, GPU_clock_most, "", "gt_max_freq_mhz", MHZ);
    if (u->out.absent[GPU_clock])
        card_gauge(u, GPU_clock, "", "gt_cur_freq_mhz", MHZ);
    read_others(h, u);
}

void xe_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
{
    (void)since_ns;
    card_gauge(u, GPU_clock, "device/tile0/gt0/freq0/", "act_freq", MHZ);
    card_gauge(u, GPU_clock_most, "device/tile0/gt0/freq0/", "max_freq", MHZ);
    read_others(h, u);
}
