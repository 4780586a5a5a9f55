/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the devices, and chooses which are read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "programs/baro-gpu/gpu_helper.h"

#define INIT_AGAIN (60 * NS_PER_SEC)

struct unit *unit_add(struct gpu_helper *h, nvml_device handle, uint32_t index, uint32_t parent)
{
    if (h->n_units == GPU_DEVICES_MOST) {
        snprintf(h->out->trouble, sizeof(h->out->trouble), "only the first %u GPUs and instances are recorded",
                 GPU_DEVICES_MOST);
        return NULL;
    }
    struct unit *u = &h->unit[h->n_units];
    *u = (struct unit){.handle = handle, .index = index, .is_mig = parent != GPU_NONE};
    u->out.parent = parent;
    u->out.slot = h->n_units;
    memset(u->out.absent, BARO_ABSENT_NOT_YET, sizeof(u->out.absent));
    unit_put(u, GPU_xid_errors, 0);
    h->n_units++;
    return u;
}

static void name_it(struct gpu_helper *h, struct unit *u)
{
    struct nvml_pci pci = {0};
    if (ASK(h, u, name, u->handle, u->out.model, sizeof(u->out.model)) != NVML_OK)
        u->out.model[0] = 0;
    if (ASK(h, u, uuid, u->handle, u->out.uuid, sizeof(u->out.uuid)) != NVML_OK)
        u->out.uuid[0] = 0;
    if (!u->is_mig && ASK(h, u, pci, u->handle, &pci) == NVML_OK)
        snprintf(u->out.bus, sizeof(u->out.bus), "%.31s", pci.id);
    u->out.model[GPU_TEXT - 1] = u->out.uuid[GPU_TEXT - 1] = 0;
}

/* Adds the MIG instances that exist at the start. An administrator may add and remove instances at any time. */
static void add_instances(struct gpu_helper *h, uint32_t parent)
{
    struct unit *up = &h->unit[parent];
    unsigned most = 0, on = 0, pending;
    if (ASK(h, up, mig_mode, up->handle, &on, &pending) != NVML_OK || !on ||
        ASK(h, up, mig_most, up->handle, &most) != NVML_OK)
        return;
    for (unsigned i = 0; i < most && i < 64; i++) {
        nvml_device handle = NULL;
        unsigned instance = i;
        /* an instance that is not found leaves a gap in the numbers */
        if (ask_before(h, up, NVML_FN_mig_device) || !h->nv.mig_device || h->nv.mig_device(up->handle, i, &handle))
            continue;
        struct unit *u = unit_add(h, handle, i, parent);
        if (!u)
            return;
        ASK(h, u, mig_instance, handle, &instance);
        snprintf(u->out.name, sizeof(u->out.name), "%.20s/mig%u", up->out.name, instance);
        name_it(h, u);
        memcpy(u->out.source, up->out.source, sizeof(u->out.source));
    }
}

/* May CUDA number the devices differently? By default it counts the fastest first, so its numbers are the driver's
 * only if all devices are alike. */
static bool has_other_order(const struct gpu_helper *h, const char *list)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    if (!list || list[strspn(list, "0123456789, -")] || (order && strcmp(order, "PCI_BUS_ID") == 0))
        return false;
    for (uint32_t i = 1; i < h->n_units; i++) {
        if (h->unit[i].out.parent == GPU_NONE && strcmp(h->unit[i].out.model, h->unit[0].out.model) != 0)
            return true;
    }
    return false;
}

static void choose_devices(struct gpu_helper *h, uint32_t count)
{
    const char *select = h->shared->select, *visible = getenv("CUDA_VISIBLE_DEVICES");
    bool is_auto = strcmp(select, "auto") == 0, keep[GPU_DEVICES_MOST] = {false};
    const char *list = is_auto ? visible : select;
    h->out->visible_unsure = is_auto && has_other_order(h, list);
    if (!list || h->out->visible_unsure)
        return;
    for (uint32_t i = 0; i < h->n_units; i++) {
        const struct unit *u = &h->unit[i];
        bool is_whole = u->out.parent == GPU_NONE;
        if (*u->card) {
            keep[i] = true;
            continue;
        }
        uint32_t index = is_whole ? u->index : GPU_NONE;
        keep[i] = is_auto ? gpu_is_chosen(list, index, count, u->out.uuid)
                          : gpu_is_listed(list, index, u->out.name, u->out.uuid);
        if (!is_whole)
            keep[i] |= keep[u->out.parent];
    }
    for (uint32_t i = 0; i < h->n_units; i++) { /* an instance is listed with its device */
        if (keep[i] && h->unit[i].out.parent != GPU_NONE)
            keep[h->unit[i].out.parent] = true;
    }
    uint32_t to[GPU_DEVICES_MOST], n = 0;
    for (uint32_t i = 0; i < h->n_units; i++) {
        to[i] = n;
        if (!keep[i])
            continue;
        if (n != i)
            h->unit[n] = h->unit[i];
        if (h->unit[n].out.parent != GPU_NONE)
            h->unit[n].out.parent = to[h->unit[n].out.parent];
        n++;
    }
    h->n_units = n;
}

static void listen_to(struct gpu_helper *h)
{
    unsigned long long types;
    if (ASK(h, NULL, event_set, &h->events) != NVML_OK) {
        h->events = NULL;
        return;
    }
    for (uint32_t i = 0; i < h->n_units; i++) {
        struct unit *u = &h->unit[i];
        types = 0;
        if (!u->is_mig && ASK(h, u, event_types, u->handle, &types) == NVML_OK && types & NVML_EVENT_XID)
            ASK(h, u, events, u->handle, NVML_EVENT_XID, h->events);
    }
}

/* Is the card asleep? Then it is not asked, because that would wake it. */
static bool sleeps(const struct gpu_helper *h, const char *bus)
{
    char path[GPU_PATH + 96], text[32];
    const char *tail = strlen(bus) > 12 ? bus + strlen(bus) - 12 : bus; /* 00000000:17:00.0 is 0000:17:00.0 */
    char name[16];
    size_t n = 0;
    for (; tail[n] && n < sizeof(name) - 1; n++)
        name[n] = (char)(tail[n] >= 'A' && tail[n] <= 'F' ? tail[n] + 32 : tail[n]);
    name[n] = 0;
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/power/runtime_status", h->shared->root, name);
    ssize_t got = fd_read_file(-1, path, text, sizeof(text));
    return got >= 9 && memcmp(text, "suspended", 9) == 0;
}

void devices_find(struct gpu_helper *h)
{
    unsigned count = 0;
    uint64_t now = clock_monotonic_ns();
    if (!h->has_library || h->is_up || now < h->init_again_ns || now < atomic_load(&h->shared->library_not_before_ns))
        return;
    h->init_again_ns = now + INIT_AGAIN;
    int code = ASK(h, NULL, init);
    h->out->error = code;
    if (code != NVML_OK)
        return;
    h->is_up = true;
    snprintf(h->out->source, sizeof(h->out->source), "NVML");
    if (ASK(h, NULL, driver, h->out->driver, sizeof(h->out->driver)) != NVML_OK)
        h->out->driver[0] = 0;
    code = ASK(h, NULL, count, &count);
    h->out->error = code;
    for (unsigned i = 0; code == NVML_OK && i < count; i++) {
        nvml_device handle = NULL;
        uint32_t at = h->n_units;
        struct unit *u = unit_add(h, NULL, i, GPU_NONE);
        if (!u)
            break;
        snprintf(u->out.name, sizeof(u->out.name), "gpu%u", i);
        int got = ASK(h, u, by_index, i, &handle);
        u->handle = handle;
        if (got != NVML_OK) { /* the other devices may work */
            u->lost = (uint16_t)got;
            u->out.state = got == NVML_GPU_IS_LOST ? GPU_LOST : u->out.state;
            continue;
        }
        name_it(h, u);
        snprintf(u->out.source, sizeof(u->out.source), "NVML");
        if (sleeps(h, u->out.bus))
            u->out.state = GPU_SLEEPS;
        add_instances(h, at);
    }
    for (uint32_t i = 0; i < h->n_units; i++) {
        if (!*h->unit[i].card)
            snprintf(h->unit[i].out.driver, sizeof(h->unit[i].out.driver), "%s", h->out->driver);
    }
    choose_devices(h, count);
    listen_to(h);
}
