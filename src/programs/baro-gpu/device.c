/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of one device. */
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "programs/baro-gpu/gpu_helper.h"

/* ---- fields ---- */

/* Fields: many values with one call, each with a code of its own. Also counts throttling if no field has it. */

#define FIELD_SCOPE_ALL UINT32_MAX

static const struct {
    unsigned id, scope;
    int metric;
    bool is_counter;
    uint64_t factor;
} fields[] = {
    {NVML_FIELD_TEMPERATURE, 0, GPU_temperature, false, 1000},
    {NVML_FIELD_MEMORY_TEMPERATURE, 0, GPU_memory_temperature, false, 1000},
    {NVML_FIELD_ECC_CORRECTED, 0, GPU_ecc_corrected, true, 1},
    {NVML_FIELD_ECC_UNCORRECTED, 0, GPU_ecc_uncorrected, true, 1},
    {NVML_FIELD_THROTTLED_POWER, 0, GPU_throttled_power, true, 1},
    {NVML_FIELD_THROTTLED_THERMAL, 0, GPU_throttled_thermal, true, 1},
    {NVML_FIELD_THROTTLED_SYNC, 0, GPU_throttled_sync, true, 1},
    {NVML_FIELD_THROTTLED_BOARD, 0, GPU_throttled_board, true, 1},
    {NVML_FIELD_THROTTLED_RELIABILITY, 0, GPU_throttled_reliability, true, 1},
    {NVML_FIELD_PCIE_REPLAYS, 0, GPU_pcie_replays, true, 1},
    {NVML_FIELD_PCIE_SENT, 0, GPU_pcie_sent, true, 1},
    {NVML_FIELD_PCIE_RECEIVED, 0, GPU_pcie_received, true, 1},
    {NVML_FIELD_NVLINK_SENT, FIELD_SCOPE_ALL, GPU_nvlink_sent, true, 1024},
    {NVML_FIELD_NVLINK_RECEIVED, FIELD_SCOPE_ALL, GPU_nvlink_received, true, 1024},
    /* before Ampere there are pages, for errors of either kind; since then rows: their sum counts */
    {NVML_FIELD_RETIRED_SBE, 0, GPU_retired_pages, false, 1},
    {NVML_FIELD_RETIRED_DBE, 0, GPU_retired_pages, false, 1},
    {NVML_FIELD_REMAPPED_UNCORRECTABLE, 0, GPU_retired_pages, false, 1},
};
#define FIELDS (sizeof(fields) / sizeof(*fields))
_Static_assert(FIELDS <= UNIT_FIELDS, "a unit has room for all");

#define FIELD_MOST (1ull << 62)

/* Returns false if it is not a number, negative, or beyond all bounds. */
static bool field_number(const struct nvml_field *f, uint64_t *ret)
{
    switch (f->type) {
    case NVML_TYPE_DOUBLE:
        if (!(f->value.real >= 0 && f->value.real < (double)FIELD_MOST))
            return false;
        *ret = (uint64_t)f->value.real;
        break;
    case NVML_TYPE_U32:
        if (f->value.u32 == UINT32_MAX) /* all bits: not available */
            return false;
        *ret = f->value.u32;
        break;
    case NVML_TYPE_ULONG: *ret = f->value.ulong; break;
    case NVML_TYPE_S32: *ret = (uint64_t)(int64_t)f->value.s32; break;
    case NVML_TYPE_U16: *ret = f->value.u16; break;
    default: *ret = f->value.u64; /* negative ones of 64 bits are too large */
    }
    return *ret < FIELD_MOST;
}

/* Takes a counter of 32 or 64 bits; one of 32 bits begins again at 0 after its largest value. */
static int take_counter(struct unit *u, size_t i, unsigned type, uint64_t v, uint64_t now_ns)
{
    uint64_t growth, range = type == NVML_TYPE_U32 ? (uint64_t)UINT32_MAX + 1 : 0;
    double most = counter_most(fields[i].metric) / (double)fields[i].factor;
    if (!counter_take(&u->field[i], v, now_ns, range, most, &growth))
        return NVML_UNKNOWN;
    unit_grow(u, fields[i].metric, unit_multiplied(growth, fields[i].factor));
    return NVML_OK;
}

static void fields_read(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
{
    struct nvml_field at[FIELDS];
    size_t which[FIELDS], n = 0;
    uint64_t retired = 0;
    bool has_retired = false;
    for (size_t i = 0; i < FIELDS; i++) {
        if (u->field_code[i]) {
            unit_lack(u, fields[i].metric, reason_of(u->field_code[i]));
            continue;
        }
        at[n] = (struct nvml_field){.id = fields[i].id, .scope = fields[i].scope};
        which[n++] = i;
    }
    int code = n ? ASK(h, u, fields, u->handle, (int)n, at) : NVML_OK;
    for (size_t k = 0; k < n; k++) {
        size_t i = which[k];
        int one = code ? code : (int)at[k].code;
        uint64_t v = 0;
        if (one == NVML_OK && !field_number(&at[k], &v))
            one = NVML_UNKNOWN;
        if (one == NVML_OK && fields[i].is_counter)
            one = take_counter(u, i, at[k].type, v, now_ns);
        if (fields[i].metric == GPU_retired_pages && one == NVML_OK) {
            has_retired = true;
            retired += v;
        }
        if (one != NVML_OK || !fields[i].is_counter)
            unit_put_code(u, fields[i].metric, one, unit_multiplied(v, fields[i].factor));
        if (!code && (code_is_final(one) || one == NVML_INVALID_ARGUMENT))
            u->field_code[i] = NVML_NOT_SUPPORTED;
    }
    if (has_retired)
        unit_put(u, GPU_retired_pages, retired);
}

/* Counts the time of states that have no counter of their own: a state that is on at a reading counts as on since
 * the reading before. */
static void reasons_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
{
    static const struct {
        uint64_t mask;
        int metric;
    } own[] = {
        {NVML_REASON_POWER, GPU_throttled_power},
        {NVML_REASON_THERMAL | NVML_REASON_HARDWARE_THERMAL, GPU_throttled_thermal},
        {NVML_REASON_BOARD, GPU_throttled_board},
        {NVML_REASON_SYNC, GPU_throttled_sync},
        {NVML_REASON_RELIABILITY, GPU_throttled_reliability},
        {NVML_REASON_HARDWARE | NVML_REASON_BRAKE, GPU_throttled_hardware},
    };
    unsigned long long mask = 0;
    int code = ASK(h, u, reasons, u->handle, &mask);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        /* A counter that failed at this reading is not replaced: when it is read again, it includes the time until
         * then. */
        bool lacks_counter = own[i].metric == GPU_throttled_hardware || !h->nv.fields || u->code[NVML_FN_fields];
        for (size_t k = 0; k < FIELDS; k++)
            lacks_counter |= fields[k].metric == own[i].metric && u->field_code[k];
        if (!lacks_counter)
            continue;
        if (code == NVML_OK)
            unit_grow(u, own[i].metric, mask & own[i].mask ? since_ns : 0);
        else
            unit_lack(u, own[i].metric, reason_of(code));
    }
}

/* ---- GPM ---- */

/* GPM, since Hopper: means between two samples. */

static void lack_gpm(struct unit *u, int why)
{
    unit_lack(u, GPU_sm_active, why);
    unit_lack(u, GPU_sm_occupied, why);
    unit_lack(u, GPU_tensor_active, why);
    unit_lack(u, GPU_dram_active, why);
}

/* Begins with GPM. A driver that claims to support it may not: a pair of samples must succeed. */
static bool begin_gpm(struct gpu_helper *h, struct unit *u)
{
    struct nvml_gpm_support support = {.version = 1};
    if (u->gpm[1])
        return true;
    if (u->gpm_off)
        return false;
    u->gpm_off = true;
    if (ASK(h, u, gpm_support, u->handle, &support) != NVML_OK || !support.is_supported ||
        ASK(h, u, gpm_alloc, &u->gpm[0]) != NVML_OK || ASK(h, u, gpm_alloc, &u->gpm[1]) != NVML_OK)
        return false;
    u->gpm_off = false;
    return true;
}

static void gpm_read(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
{
    static const int metric[] = {GPU_sm_active, GPU_sm_occupied, GPU_tensor_active, GPU_dram_active};
    static struct nvml_gpm_get get;
    if (!begin_gpm(h, u)) {
        lack_gpm(u, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    int code = ASK(h, u, gpm_sample, u->handle, u->gpm[1]);
    if (code == NVML_OK && u->gpm_ns && now_ns - u->gpm_ns >= 100 * NS_PER_MS) {
        get = (struct nvml_gpm_get){.version = 1, .n = 4, .first = u->gpm[0], .second = u->gpm[1]};
        get.metric[0].id = NVML_GPM_SM_ACTIVE;
        get.metric[1].id = NVML_GPM_SM_OCCUPANCY;
        get.metric[2].id = NVML_GPM_TENSOR;
        get.metric[3].id = NVML_GPM_DRAM;
        code = ASK(h, u, gpm_metrics, &get);
        for (size_t i = 0; code == NVML_OK && i < 4; i++) {
            double percent = get.metric[i].code == NVML_OK ? get.metric[i].value : -1;
            if (percent >= 0 && percent <= 100)
                unit_grow(u, metric[i], (uint64_t)((double)(now_ns - u->gpm_ns) / 100 * percent));
            else
                unit_lack(u, metric[i], BARO_ABSENT_UNKNOWN);
        }
    }
    if (code != NVML_OK) {
        lack_gpm(u, reason_of(code));
        return;
    }
    nvml_gpm_sample newest = u->gpm[1];
    u->gpm[1] = u->gpm[0];
    u->gpm[0] = newest;
    u->gpm_ns = now_ns;
}

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
