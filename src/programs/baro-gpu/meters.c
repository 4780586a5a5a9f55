/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of the meters of energy and power. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/sys/sysfs.h"
#include "programs/baro-gpu/meters.h"

#define WATTS_MOST 1000ull    /* W that a domain takes at most: within range_uj / 1000 us it wraps at most once */
#define POWERCAP_UW_MOST 25e8 /* uW of one domain: growth that means more power than this is no wrap */
#define SENSOR_UW_MOST 1e12   /* a megawatt, more than any machine takes */

/* Reads the power that a battery supplies while it discharges. */
static int battery_power(const struct meter *one, uint64_t *ret_uw)
{
    char path[sizeof(one->file) + 16], status[24];
    uint64_t ua, uv;
    snprintf(path, sizeof(path), "%s/status", one->file);
    if (sys_text(-1, path, status, sizeof(status)) <= 0)
        return -ENODEV;
    if (strcmp(status, "Discharging") != 0) {
        *ret_uw = 0;
        return 0;
    }
    snprintf(path, sizeof(path), "%s/power_now", one->file);
    if (sys_number(-1, path, ret_uw) == 0)
        return 0;
    snprintf(path, sizeof(path), "%s/current_now", one->file);
    int code = sys_number(-1, path, &ua);
    snprintf(path, sizeof(path), "%s/voltage_now", one->file);
    if (code == 0)
        code = sys_number(-1, path, &uv);
    if (code < 0 || (double)ua * (double)uv / 1e6 > SENSOR_UW_MOST)
        return code < 0 ? code : -EINVAL;
    *ret_uw = (uint64_t)((double)ua * (double)uv / 1e6);
    return 0;
}

static void lack_meter(struct meter *one, int why)
{
    one->out.absent[ENERGY_energy] = (uint8_t)why;
    one->out.absent[ENERGY_wraps] = (uint8_t)(one->of == OF_POWERCAP ? why : BARO_ABSENT_UNSUPPORTED);
}

static void read_one(struct meter *one, uint64_t now_ns)
{
    uint64_t now = 0, growth = 0;
    int code = one->is_bad ? -EINVAL : sys_number(-1, one->file, &now);
    if (code < 0) {
        lack_meter(one, code == -EACCES || code == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN);
        return;
    }
    if (one->range_uj && now > one->range_uj) { /* seen with zones that are switched off */
        one->is_bad = true;
        lack_meter(one, BARO_ABSENT_UNKNOWN);
        return;
    }
    /* After a pause in which the counter may have wrapped more than once, its growth is not known. */
    bool is_lost = one->is_known && one->range_uj && (now_ns - one->read_ns) / 1000 * WATTS_MOST > one->range_uj;
    if (is_lost)
        one->counter.known = false;
    bool had_gap = one->counter.has_gap, wraps = one->counter.known && now < one->counter.before;
    double most = one->of == OF_POWERCAP ? POWERCAP_UW_MOST : SENSOR_UW_MOST;
    bool is_taken = counter_take(&one->counter, now, now_ns, one->range_uj, most, &growth);
    if (is_taken) {
        one->is_known = true;
        one->before_uj = now;
        one->read_ns = now_ns;
        one->out.value[ENERGY_wraps] += wraps && one->counter.has_gap == had_gap;
    }
    if (!is_taken || is_lost) { /* it is absent once: the summary then marks the sum as a lower bound */
        lack_meter(one, BARO_ABSENT_UNKNOWN);
        return;
    }
    one->out.value[ENERGY_energy] += growth;
    one->out.value[ENERGY_read_at] = now_ns;
    lack_meter(one, BARO_PRESENT);
    one->out.absent[ENERGY_read_at] = BARO_PRESENT;
}

/* The kernel keeps these from wrapping. */
static void read_pmu(struct meter *one, uint64_t now_ns)
{
    uint64_t count;
    if (read(one->fd, &count, sizeof(count)) != (ssize_t)sizeof(count)) {
        one->out.absent[ENERGY_energy] = BARO_ABSENT_UNKNOWN;
        return;
    }
    one->first_uj = one->is_known ? one->first_uj : count;
    one->is_known = true;
    one->out.value[ENERGY_energy] = (uint64_t)((double)(count - one->first_uj) * one->joules * 1e6);
    one->out.value[ENERGY_read_at] = now_ns;
    one->out.absent[ENERGY_energy] = one->out.absent[ENERGY_read_at] = BARO_PRESENT;
}

/* Dies of one socket may show the same counter (Zen 1 and 2): it counts once. */
static void find_mirrors(struct meters *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        struct meter *a = &m->at[i];
        for (uint32_t k = 0; k < i; k++) {
            const struct meter *b = &m->at[k];
            if (a->is_known && b->is_known && a->before_uj == b->before_uj && a->before_uj &&
                b->out.value[ENERGY_counted] && a->of == OF_POWERCAP && b->of == OF_POWERCAP &&
                strncmp(a->out.name, "package", 7) == 0)
                a->out.value[ENERGY_counted] = 0;
        }
    }
}

/* Reads a meter that reports power: energy is the mean of two readings, multiplied by the time between them. */
static void read_power(struct meter *one, uint64_t now_ns)
{
    uint64_t uw = 0;
    int code = one->of == OF_BATTERY ? battery_power(one, &uw) : sys_number(-1, one->file, &uw);
    if (code == 0 && uw > SENSOR_UW_MOST)
        code = -EINVAL;
    int why = code == -EACCES || code == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN;
    one->out.absent[ENERGY_power] = one->out.absent[ENERGY_energy] = (uint8_t)(code < 0 ? why : BARO_PRESENT);
    if (code < 0) {
        one->is_known = false;
        return;
    }
    if (one->is_known)
        one->out.value[ENERGY_energy] +=
            (uint64_t)(((double)one->before_uj + (double)uw) / 2 * (double)(now_ns - one->read_ns) / 1e9);
    one->out.value[ENERGY_power] = one->before_uj = uw;
    one->out.value[ENERGY_read_at] = one->read_ns = now_ns;
    one->out.absent[ENERGY_read_at] = BARO_PRESENT;
    one->is_known = true;
}

void meters_read(struct meters *m, struct gpu_reading *out, uint64_t now_ns)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->at[i].of == OF_POWER || m->at[i].of == OF_BATTERY)
            read_power(&m->at[i], now_ns);
        else if (m->at[i].of == OF_PMU)
            read_pmu(&m->at[i], now_ns);
        else
            read_one(&m->at[i], now_ns);
    }
    find_mirrors(m);
    for (uint32_t i = 0; i < m->n; i++)
        out->meter[i] = m->at[i].out;
    out->n_meters = m->n;
    if (m->left_out)
        snprintf(out->trouble, sizeof(out->trouble), "%u meters of energy found no room: they are not recorded",
                 m->left_out);
}
