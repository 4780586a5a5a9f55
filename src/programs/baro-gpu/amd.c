/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of AMD's driver, by the files of /sys/class/drm/cardN/device. They have no counters: utilisation and energy
 * are the values at each reading, multiplied by time. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/span.h"
#include "kernel/sys/sysfs.h"
#include "programs/baro-gpu/gpu_helper.h"

#define KFD_NODES_MOST 256u

/* Is this the node of the GPU in the kernel's compute driver? Its text has "location_id 768\n": bus, device and
 * function as on PCI. The node is needed for the memory that processes of ROCm hold. */
static bool is_node_of(const struct unit *u, struct span text)
{
    struct span line;
    uint64_t location = UINT64_MAX, domain = 0;
    char bus[32];
    while (scan_line(&text, &line)) {
        struct span rest = line;
        if (span_starts(line, "location_id ")) {
            rest = span_of(line.at + 12, line.len - 12);
            scan_u64(&rest, &location);
        } else if (span_starts(line, "domain ")) {
            rest = span_of(line.at + 7, line.len - 7);
            scan_u64(&rest, &domain);
        }
    }
    if (location > 0xffff)
        return false;
    snprintf(bus, sizeof(bus), "%04x:%02x:%02x.%x", (unsigned)domain & 0xffffffff, (unsigned)location >> 8,
             (unsigned)location >> 3 & 0x1f, (unsigned)location & 7);
    return strcmp(bus, u->out.bus) == 0;
}

void amd_find_kfd(const char *root, struct unit *u)
{
    for (unsigned i = 0; i < KFD_NODES_MOST && !u->kfd_id; i++) {
        char path[GPU_PATH + 96], text[4096];
        snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes/%u/properties", root, i);
        ssize_t n = fd_read_file(-1, path, text, sizeof(text));
        if (n < 0)
            return;
        if (!is_node_of(u, span_of(text, (size_t)n)))
            continue;
        uint64_t id;
        snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes/%u/gpu_id", root, i);
        if (sys_number(-1, path, &id) == 0 && id <= UINT32_MAX)
            u->kfd_id = (uint32_t)id;
    }
}

static void add_share(struct gpu_helper *h, struct unit *u, int metric, int peak, const char *file, uint64_t since_ns)
{
    uint64_t percent;
    if (!card_number(u, "device/", file, &percent) || percent > 100) {
        unit_lack(u, metric, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    unit_grow(u, metric, since_ns / 100 * percent);
    if (peak >= 0)
        unit_put_peak(h, u, peak, percent * PPM_PER_PERCENT);
}

void amd_read(struct gpu_helper *h, struct unit *u, uint64_t since)
{
    add_share(h, u, GPU_busy, GPU_busy_peak, "gpu_busy_percent", since);
    add_share(h, u, GPU_memory_busy, -1, "mem_busy_percent", since);
    card_gauge(u, GPU_memory_used, "device/", "mem_info_vram_used", 1);
    card_gauge(u, GPU_memory_total, "device/", "mem_info_vram_total", 1);
    card_gauge(u, GPU_system_memory, "device/", "mem_info_gtt_used", 1);
    if (!u->out.absent[GPU_memory_used])
        unit_put_most(u, GPU_memory_used_peak, u->out.value[GPU_memory_used]);
    card_power(h, u);
    card_gauge(u, GPU_power_limit, u->hwmon, "power1_cap", 1);
    card_gauge(u, GPU_temperature, u->hwmon, "temp1_input", 1);
    card_gauge(u, GPU_memory_temperature, u->hwmon, "temp3_input", 1);
    card_gauge(u, GPU_clock, u->hwmon, "freq1_input", 1);
    card_gauge(u, GPU_memory_clock, u->hwmon, "freq2_input", 1);
}
