/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds GPUs in /sys/class/drm/cardN by the names of their drivers. Left out are display controllers (ast, mgag200,
 * virtual machines), and NVIDIA's driver, which has no fdinfo.
 */
#include <stdio.h>
#include <unistd.h>

#include "kernel/sys/sysfs.h"

struct cards {
    int sys_fd;
    int n;
    void (*fn)(void *context, const struct sys_gpu *gpu);
    void *context;
};

/* A driver has a name as a driver of the device, and one in DRM, which fdinfo reports. nouveau and asahi never had
 * fdinfo. lima had it in no released kernel: Linux 6.3 removed the scheduler's times that it used. */
static const struct {
    const char *device, *drm;
    bool has_fdinfo;
} drivers[] = {{"amdgpu", "amdgpu", true},    {"i915", "i915", true},   {"xe", "xe", true},
               {"msm", "msm", true},          {"msm_dpu", "msm", true}, {"msm_mdp", "msm", true},
               {"mdp4", "msm", true},         {"adreno", "msm", true},  {"panfrost", "panfrost", true},
               {"panthor", "panthor", true},  {"v3d", "v3d", true},     {"etnaviv", "etnaviv", true},
               {"nouveau", "nouveau", false}, {"lima", "lima", false},  {"asahi", "asahi", false}};

bool sys_is_gpu_driver(const char *name)
{
    for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++) {
        if (strcmp(drivers[i].device, name) == 0)
            return true;
    }
    return false;
}

static void base_of_link(int sys_fd, const char *path, char *to, size_t cap)
{
    char text[512];
    ssize_t n = readlinkat(sys_fd, path, text, sizeof(text));
    struct span name = span_base_name(span_of(text, n > 0 ? (size_t)n : 0));
    snprintf(to, cap, "%.*s", (int)name.len, name.at);
}

static bool card(void *context, const char *name, size_t len)
{
    struct cards *c = context;
    struct sys_gpu gpu = {.number = 0};
    char path[96], driver[sizeof(gpu.driver)];
    uint64_t number;
    struct span rest = span_of(name, len);
    if (!span_starts(rest, "card"))
        return true;
    rest = span_of(name + 4, len - 4);
    if (!scan_u64(&rest, &number) || rest.len || number > UINT32_MAX) /* card0-HDMI-A-1 is a connector */
        return true;
    gpu.number = (uint32_t)number;
    snprintf(gpu.name, sizeof(gpu.name), "card%u", gpu.number);
    snprintf(path, sizeof(path), "class/drm/%s/device/driver", gpu.name);
    base_of_link(c->sys_fd, path, driver, sizeof(driver));
    snprintf(path, sizeof(path), "class/drm/%s/device", gpu.name);
    base_of_link(c->sys_fd, path, gpu.device, sizeof(gpu.device));
    for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++) {
        if (strcmp(driver, drivers[i].device) != 0)
            continue;
        snprintf(gpu.driver, sizeof(gpu.driver), "%s", drivers[i].drm);
        gpu.has_fdinfo = drivers[i].has_fdinfo;
        c->n++;
        if (c->fn)
            c->fn(c->context, &gpu);
        break;
    }
    return true;
}

int sys_gpus(int sys_fd, void (*fn)(void *context, const struct sys_gpu *gpu), void *context)
{
    struct cards c = {.sys_fd = sys_fd, .fn = fn, .context = context};
    sys_each(sys_fd, "class/drm", card, &c);
    return c.n;
}
