/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys/class/drm/cardN: GPUs of the drivers that say in fdinfo what each client used. Others, such as the graphics of a
 * server's management controller (ast, mgag200) and those of virtual machines, compute nothing; NVIDIA's says nothing
 * there.
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

static const char *const drivers[] = {"amdgpu",  "i915", "xe",   "msm",     "msm_dpu", "panfrost",
                                      "panthor", "v3d",  "lima", "etnaviv", "asahi"};

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
    char path[96];
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
    base_of_link(c->sys_fd, path, gpu.driver, sizeof(gpu.driver));
    snprintf(path, sizeof(path), "class/drm/%s/device", gpu.name);
    base_of_link(c->sys_fd, path, gpu.device, sizeof(gpu.device));
    for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++) {
        if (strcmp(gpu.driver, drivers[i]) != 0)
            continue;
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
