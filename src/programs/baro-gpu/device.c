/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of one device. */
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "programs/baro-gpu/gpu_helper.h"

#define LOST_AGAIN (60 * NS_PER_SEC)

static void read_memory(struct gpu_helper *h, struct unit *u)
{
    struct nvml_memory_v2 m = {.version = sizeof(m) | 2u << 24};
    struct nvml_memory_v1 old = {0};
    int code = ASK(h, u, memory_v2, u->handle, &m);
    if (code == NVML_OK) {
        unit_put(u, GPU_memory_reserved, m.reserved);
    } else {
        code = ASK(h, u, memory_v1, u->handle, &old);
        m.used = old.used;
        m.total = old.total;
        unit_lack(u, GPU_memory_reserved, code ? reason_of(code) : BARO_ABSENT_UNSUPPORTED);
    }
    unit_lack(u, GPU_system_memory, BARO_ABSENT_UNSUPPORTED);
    unit_put_code(u, GPU_memory_used, code, m.used);
    unit_put_code(u, GPU_memory_total, code, m.total);
    if (code == NVML_OK)
        unit_put_most(u, GPU_memory_used_peak, m.used);
    else if (u->out.absent[GPU_memory_used_peak])
        unit_lack(u, GPU_memory_used_peak, reason_of(code));
}

static void read_small(struct gpu_helper *h, struct unit *u)
{
    unsigned v = 0;
    int code = ASK(h, u, temperature, u->handle, 0, &v);
    if (code == NVML_OK || u->out.absent[GPU_temperature]) /* newer drivers have a field, and need not have the call */
        unit_put_code(u, GPU_temperature, code, v * 1000ull);
    code = ASK(h, u, clock, u->handle, NVML_CLOCK_SM, &v);
    unit_put_code(u, GPU_clock, code, v * MHZ);
    code = ASK(h, u, clock, u->handle, NVML_CLOCK_MEMORY, &v);
    unit_put_code(u, GPU_memory_clock, code, v * MHZ);
    code = ASK(h, u, pstate, u->handle, &v);
    unit_put_code(u, GPU_performance_state, code, v);
    code = ASK(h, u, fan, u->handle, &v);
    unit_put_code(u, GPU_fan, code, v * PPM_PER_PERCENT);
    code = ASK(h, u, generation, u->handle, &v);
    unit_put_code(u, GPU_pcie_generation, code, v);
    code = ASK(h, u, width, u->handle, &v);
    unit_put_code(u, GPU_pcie_width, code, v);
    if (u->out.absent[GPU_clock_most]) {
        code = ASK(h, u, clock_most, u->handle, NVML_CLOCK_SM, &v);
        unit_put_code(u, GPU_clock_most, code, v * MHZ);
        code = ASK(h, u, clock_most, u->handle, NVML_CLOCK_MEMORY, &v);
        unit_put_code(u, GPU_memory_clock_most, code, v * MHZ);
    }
}

static void lack_all(struct unit *u, int why)
{
    for (int i = 0; i < GPU_MAX; i++) {
        if (i != GPU_memory_used_peak && i != GPU_xid_errors && i != GPU_xid_last && i != GPU_read_at)
            unit_lack(u, i, why);
    }
    u->power_ns = 0; /* a later reading of power must not count for the time in which it was not known */
}

static uint64_t again_ns(void)
{
    struct span s = span_str(getenv("BARO_GPU_AGAIN_MS") ? getenv("BARO_GPU_AGAIN_MS") : ""); /* for tests */
    uint64_t ms;
    return scan_u64(&s, &ms) && ms ? ms * NS_PER_MS : LOST_AGAIN;
}

/* Tries to reach a lost device again. It may have been reset, and its counters begin anew then: their growth in
 * between is not known. */
static void look_again(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
{
    const struct unit *up = u->is_mig ? &h->unit[u->out.parent] : NULL;
    nvml_device handle = NULL;
    uint16_t lost = u->lost;
    char uuid[GPU_TEXT] = "";
    if (now_ns - u->lost_ns < again_ns() || (up && up->lost))
        return;
    u->lost = 0;
    u->lost_ns = now_ns;
    int code = up ? ASK(h, u, mig_device, up->handle, u->index, &handle) : ASK(h, u, by_index, u->index, &handle);
    if (code == NVML_OK)
        code = ASK(h, u, uuid, handle, uuid, sizeof(uuid));
    u->lost = u->lost ? u->lost : lost;
    if (code != NVML_OK || strncmp(uuid, u->out.uuid, sizeof(uuid) - 1) != 0)
        return;
    u->handle = handle;
    u->lost = 0;
    u->out.state = GPU_FINE;
    u->read_ns = u->gpm_ns = 0;
    u->energy = (struct grown){.has_gap = true};
    u->has_process_stamp = false;
    memset(u->field, 0, sizeof(u->field));
    memset(u->samples, 0, sizeof(u->samples));
}

void device_read(struct gpu_helper *h, struct unit *u)
{
    if (*u->card) {
        card_read(h, u);
        return;
    }
    uint64_t now = clock_monotonic_ns(), since = u->read_ns ? now - u->read_ns : 0;
    uint64_t barred = atomic_load(&h->shared->device_not_before_ns[u->out.slot]);
    if (barred > now) {
        lack_all(u, BARO_ABSENT_TIMEOUT);
        u->out.state = GPU_HANGS;
        u->read_ns = now;
        return;
    }
    if (u->out.state == GPU_HANGS)
        u->out.state = GPU_FINE;
    if (u->lost) {
        look_again(h, u, now);
        since = 0;
    }
    if (u->lost) { /* read_at is unchanged: it says since when the device is lost */
        lack_all(u, reason_of(u->lost));
        return;
    }
    power_read(h, u, now, since); /* counters first: they are over the time until now */
    fields_read(h, u, now);
    use_read(h, u, since);
    read_memory(h, u);
    reasons_read(h, u, since);
    read_small(h, u);
    gpm_read(h, u, now);
    u->read_ns = now;
    if (u->lost)
        lack_all(u, BARO_ABSENT_GONE);
    else
        unit_put(u, GPU_read_at, now);
}

void device_events(struct gpu_helper *h)
{
    struct nvml_event e;
    if (!h->events)
        return;
    for (int i = 0; i < 64 && ASK(h, NULL, event_wait, h->events, &e, 0) == NVML_OK; i++) {
        for (uint32_t k = 0; k < h->n_units; k++) {
            if (h->unit[k].handle != e.device || !(e.type & NVML_EVENT_XID))
                continue;
            unit_grow(&h->unit[k], GPU_xid_errors, 1);
            unit_put(&h->unit[k], GPU_xid_last, e.data);
        }
    }
}
