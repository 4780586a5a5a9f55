/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of AMD's driver: files of /sys/class/drm/cardN/device. Without counters: utilisation and energy are what the
 * files say at each reading, by time. Which process it was is not known from them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "programs/baro-gpu/unit.h"

#define CARDS_MOST 64u

static bool read_text(const struct unit *u, const char *folder, const char *file, char *ret, size_t cap)
{
    char path[GPU_PATH + 128];
    snprintf(path, sizeof(path), "%s/%s%s", u->sysfs, folder, file);
    ssize_t n = fd_read_file(-1, path, ret, cap - 1);
    if (n <= 0)
        return false;
    ret[n] = 0;
    ret[strcspn(ret, "\n")] = 0;
    return true;
}

static bool read_number(const struct unit *u, const char *folder, const char *file, uint64_t *ret)
{
    char text[64];
    if (!read_text(u, folder, file, text, sizeof(text)))
        return false;
    struct span s = span_str(text);
    return scan_u64(&s, ret);
}

/* "hwmon/hwmon3/" */
static void find_hwmon(struct unit *u)
{
    char path[GPU_PATH + 32];
    snprintf(path, sizeof(path), "%s/hwmon", u->sysfs);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, "hwmon", 5) == 0)
            snprintf(u->hwmon, sizeof(u->hwmon), "hwmon/%.32s/", e->d_name);
    }
    if (dir)
        closedir(dir);
}

static bool is_wanted(const struct helper *h, const char *name, uint32_t index, uint32_t count)
{
    const char *select = h->shared->select, *visible = getenv("ROCR_VISIBLE_DEVICES");
    if (strcmp(select, "auto") != 0)
        return gpu_is_chosen(select, GPU_NONE, 0, name);
    visible = visible ? visible : getenv("HIP_VISIBLE_DEVICES");
    return !visible || gpu_is_chosen(visible, index, count, name);
}

void amd_find(struct helper *h)
{
    char path[GPU_PATH + 64];
    uint32_t found[CARDS_MOST], n = 0;
    for (uint32_t i = 0; i < CARDS_MOST; i++) {
        snprintf(path, sizeof(path), "%s/sys/class/drm/card%u/device/gpu_busy_percent", h->shared->root, i);
        if (access(path, F_OK) == 0)
            found[n++] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "card%u", found[i]);
        if (h->n_units == GPU_DEVICES_MOST || !is_wanted(h, name, i, n))
            continue;
        struct unit *u = unit_add(h, NULL, i, GPU_NONE);
        memcpy(u->out.name, name, sizeof(name));
        snprintf(u->sysfs, sizeof(u->sysfs), "%.400s/sys/class/drm/%s/device", h->shared->root, name);
        if (!read_text(u, "", "product_name", u->out.model, sizeof(u->out.model)))
            snprintf(u->out.model, sizeof(u->out.model), "AMD");
        if (!read_text(u, "", "unique_id", u->out.uuid, sizeof(u->out.uuid)))
            u->out.uuid[0] = 0;
        snprintf(u->out.driver, sizeof(u->out.driver), "amdgpu");
        find_hwmon(u);
    }
}

static void put_gauge(struct unit *u, int metric, const char *folder, const char *file, uint64_t factor)
{
    uint64_t v;
    if (read_number(u, folder, file, &v))
        unit_put(u, metric, v * factor);
    else
        unit_lack(u, metric, BARO_ABSENT_UNSUPPORTED);
}

static void add_share(struct helper *h, struct unit *u, int metric, int peak, const char *file, uint64_t since_ns)
{
    uint64_t percent;
    if (!read_number(u, "", file, &percent) || percent > 100) {
        unit_lack(u, metric, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    unit_grow(u, metric, since_ns / 100 * percent);
    bool begins = peak >= 0 && (h->peaks_taken || u->out.absent[peak]);
    if (peak >= 0 && (begins || percent * 10000 > u->out.value[peak]))
        unit_put(u, peak, percent * 10000);
}

static void read_power(struct helper *h, struct unit *u, uint64_t since_ns)
{
    uint64_t uw;
    if (!read_number(u, u->hwmon, "power1_average", &uw) && !read_number(u, u->hwmon, "power1_input", &uw)) {
        unit_lack(u, GPU_power, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    unit_put(u, GPU_power, uw);
    if (h->peaks_taken || u->out.absent[GPU_power_peak] || uw > u->out.value[GPU_power_peak])
        unit_put(u, GPU_power_peak, uw);
    unit_grow(u, GPU_energy, (uint64_t)((double)(u->power_uw + uw) / 2 * (double)since_ns / 1e9));
    unit_put(u, GPU_energy_estimated, 1);
    u->power_uw = uw;
}

/* A card that sleeps would be woken by being read. */
void amd_read(struct helper *h, struct unit *u)
{
    uint64_t now = clock_monotonic_ns(), since = u->read_ns ? now - u->read_ns : 0, used;
    char status[32];
    u->read_ns = now;
    worker_progress(&h->shared->worker);
    for (int m = 0; m < GPU_MAX; m++) {
        if (u->out.absent[m] == BARO_ABSENT_NOT_YET && m != GPU_busy_peak && m != GPU_power_peak)
            unit_lack(u, m, BARO_ABSENT_UNSUPPORTED);
    }
    unit_put(u, GPU_read_at, now);
    if (read_text(u, "", "power/runtime_status", status, sizeof(status)) && strcmp(status, "suspended") == 0) {
        u->out.state = GPU_SLEEPS;
        return;
    }
    u->out.state = GPU_FINE;
    add_share(h, u, GPU_busy, GPU_busy_peak, "gpu_busy_percent", since);
    add_share(h, u, GPU_memory_busy, -1, "mem_busy_percent", since);
    put_gauge(u, GPU_memory_used, "", "mem_info_vram_used", 1);
    put_gauge(u, GPU_memory_total, "", "mem_info_vram_total", 1);
    if (!u->out.absent[GPU_memory_used]) {
        used = u->out.value[GPU_memory_used];
        if (u->out.absent[GPU_memory_used_peak] || used > u->out.value[GPU_memory_used_peak])
            unit_put(u, GPU_memory_used_peak, used);
    }
    read_power(h, u, since);
    put_gauge(u, GPU_power_limit, u->hwmon, "power1_cap", 1);
    put_gauge(u, GPU_temperature, u->hwmon, "temp1_input", 1);
    put_gauge(u, GPU_memory_temperature, u->hwmon, "temp3_input", 1);
    put_gauge(u, GPU_clock, u->hwmon, "freq1_input", 1);
    put_gauge(u, GPU_memory_clock, u->hwmon, "freq2_input", 1);
}
