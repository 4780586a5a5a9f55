/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of one device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "programs/baro-gpu/unit.h"

#define MHZ 1000000ull
#define WINDOW_MOST_US 1000000ull /* a value of utilisation covers a second at most */
#define SAMPLES_MOST 1024u
#define PPM_PER_PERCENT 10000ull
#define FIELD_SCOPE_ALL UINT32_MAX
#define LOST_AGAIN (60 * NS_PER_SEC)

int reason_of(int code)
{
    switch (code) {
    case NVML_OK: return BARO_PRESENT;
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_ARGUMENT_VERSION: return BARO_ABSENT_UNSUPPORTED;
    case NVML_NO_PERMISSION: return BARO_ABSENT_DENIED;
    case NVML_GPU_IS_LOST:
    case NVML_RESET_REQUIRED: return BARO_ABSENT_GONE;
    case NVML_TIMEOUT: return BARO_ABSENT_TIMEOUT;
    case NVML_NOT_FOUND:
    case NVML_NO_DATA: return BARO_ABSENT_NOT_YET;
    default: return BARO_ABSENT_UNKNOWN;
    }
}

static bool is_final(int code)
{
    return code == NVML_NOT_SUPPORTED || code == NVML_FUNCTION_NOT_FOUND || code == NVML_ARGUMENT_VERSION ||
           code == NVML_NO_PERMISSION;
}

int ask_before(struct helper *h, struct unit *u, enum nvml_function f)
{
    struct gpu_shared *s = h->shared;
    int code = u ? (u->lost ? u->lost : u->code[f]) : 0;
    if (!code && u && atomic_load(&s->device_not_before_ns[u->out.slot]) > clock_monotonic_ns())
        code = NVML_TIMEOUT;
    if (code)
        return code;
    snprintf(s->call, sizeof(s->call), "%s", nvml_names[f]);
    h->out->calls++;
    atomic_store(&s->at, u ? u->out.slot + 1 : 0);
    worker_progress(&s->worker);
    return 0;
}

int ask_after(struct unit *u, enum nvml_function f, int code)
{
    if (!u)
        return code;
    if (code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED) {
        u->lost = (uint16_t)code;
        u->out.state = code == NVML_GPU_IS_LOST ? GPU_LOST : GPU_NEEDS_RESET;
        u->out.state_ns = u->lost_ns = clock_monotonic_ns();
    } else if (is_final(code)) {
        u->code[f] = (uint16_t)code;
    }
    return code;
}

static void put_u(struct unit *u, int metric, int code, uint64_t v)
{
    if (code == NVML_OK)
        unit_put(u, metric, v);
    else
        unit_lack(u, metric, reason_of(code));
}

static void put_peak(struct helper *h, struct unit *u, int metric, uint64_t v)
{
    bool begins = h->peaks_taken || u->out.absent[metric] != BARO_PRESENT;
    unit_put(u, metric, begins || v > u->out.value[metric] ? v : u->out.value[metric]);
}

static uint64_t multiplied(uint64_t v, uint64_t factor)
{
    return v > UINT64_MAX / factor ? UINT64_MAX : v * factor;
}

/* ---- values over time ---- */

/* A value of the buffer; UINT64_MAX: it is none. */
static uint64_t sample_number(unsigned type, const struct nvml_sample *s)
{
    if (type == NVML_TYPE_DOUBLE)
        return s->value.real >= 0 && s->value.real <= UINT32_MAX ? (uint64_t)s->value.real : UINT64_MAX;
    return type == NVML_TYPE_U64 ? s->value.u64 : s->value.u32;
}

/* Percentages over time. The buffer has a value for each part of a second, also for the time between two readings.
 * Returns false if there is none, or nothing new in it. */
static bool add_buffer(struct helper *h, struct unit *u, unsigned type, int metric, int peak)
{
    static struct nvml_sample at[SAMPLES_MOST];
    struct stamps *s = &u->samples[type];
    unsigned n = SAMPLES_MOST, value_type = 0;
    uint64_t busy_us = 0, most = 0;
    int code = ASK(h, u, samples, u->handle, type, s->last_us, &value_type, &n, at);
    if (code != NVML_OK || !n)
        return false;
    bool first = !s->last_us, is_new = false;
    for (unsigned i = 0; i < n && i < SAMPLES_MOST; i++) {
        uint64_t v = sample_number(value_type, &at[i]);
        uint64_t from = s->last_us > s->covered_us ? s->last_us : s->covered_us;
        if (at[i].stamp_us <= s->last_us || v > (type == NVML_SAMPLES_POWER ? PLAUSIBLE_WATTS_MOST * 1000 : 100))
            continue;
        is_new = true;
        uint64_t window = at[i].stamp_us > from ? at[i].stamp_us - from : 0;
        if (!first)
            busy_us += v * (window < WINDOW_MOST_US ? window : WINDOW_MOST_US);
        s->last_us = at[i].stamp_us;
        most = first ? v : v > most ? v : most;
    }
    if (!is_new) /* after rubbish the next value counts for its time as well */
        return false;
    if (metric >= 0)                        /* at first all values in the buffer are of the time before the recording */
        unit_grow(u, metric, busy_us * 10); /* percents of microseconds */
    if (peak >= 0)
        put_peak(h, u, peak, type == NVML_SAMPLES_POWER ? most * 1000 : most * PPM_PER_PERCENT);
    return true;
}

/* The same from one value per reading, if there is no buffer, or it has nothing new. */
static void add_utilisation(struct unit *u, unsigned type, int metric, int code, unsigned percent, uint64_t since_ns)
{
    struct stamps *s = &u->samples[type];
    if (code != NVML_OK || percent > 100) {
        unit_lack(u, metric, code ? reason_of(code) : BARO_ABSENT_UNKNOWN);
        return;
    }
    unit_grow(u, metric, since_ns / 100 * percent);
    if (s->last_us)
        s->covered_us = (s->last_us > s->covered_us ? s->last_us : s->covered_us) + since_ns / 1000;
}

static void read_use(struct helper *h, struct unit *u, uint64_t since_ns)
{
    struct nvml_utilization now = {0};
    unsigned percent = 0, us;
    int code = ASK(h, u, utilization, u->handle, &now);
    if (!add_buffer(h, u, NVML_SAMPLES_GPU, GPU_busy, GPU_busy_peak)) {
        add_utilisation(u, NVML_SAMPLES_GPU, GPU_busy, code, now.gpu, since_ns);
        if (code == NVML_OK && now.gpu <= 100)
            put_peak(h, u, GPU_busy_peak, now.gpu * PPM_PER_PERCENT);
        else
            unit_lack(u, GPU_busy_peak, reason_of(code));
    }
    if (!add_buffer(h, u, NVML_SAMPLES_MEMORY, GPU_memory_busy, -1))
        add_utilisation(u, NVML_SAMPLES_MEMORY, GPU_memory_busy, code, now.memory, since_ns);
    if (!add_buffer(h, u, NVML_SAMPLES_ENCODER, GPU_encoder_busy, -1)) {
        code = ASK(h, u, encoder, u->handle, &percent, &us);
        add_utilisation(u, NVML_SAMPLES_ENCODER, GPU_encoder_busy, code, percent, since_ns);
    }
    if (!add_buffer(h, u, NVML_SAMPLES_DECODER, GPU_decoder_busy, -1)) {
        code = ASK(h, u, decoder, u->handle, &percent, &us);
        add_utilisation(u, NVML_SAMPLES_DECODER, GPU_decoder_busy, code, percent, since_ns);
    }
}

/* ---- memory ---- */

static void read_memory(struct helper *h, struct unit *u)
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
    put_u(u, GPU_memory_used, code, m.used);
    put_u(u, GPU_memory_total, code, m.total);
    if (code == NVML_OK && (u->out.absent[GPU_memory_used_peak] || m.used > u->out.value[GPU_memory_used_peak]))
        unit_put(u, GPU_memory_used_peak, m.used);
    else if (code != NVML_OK && u->out.absent[GPU_memory_used_peak])
        unit_lack(u, GPU_memory_used_peak, reason_of(code));
}

/* ---- power and energy ---- */

static void read_energy(struct helper *h, struct unit *u, int power_code, uint64_t power_uw, uint64_t since_ns)
{
    unsigned long long mj = 0;
    int code = ASK(h, u, energy, u->handle, &mj);
    if (code == NVML_OK) {
        /* The counter begins again when the driver is loaded again: what was used in between is not known. */
        unit_grow(u, GPU_energy,
                  u->energy.known && mj >= u->energy.before ? multiplied(mj - u->energy.before, 1000) : 0);
        unit_put(u, GPU_energy_estimated, u->out.absent[GPU_energy_estimated] ? 0 : u->out.value[GPU_energy_estimated]);
        if (u->energy.known && mj < u->energy.before)
            unit_put(u, GPU_energy_estimated, 1);
        u->energy = (struct grown){true, mj};
    } else if (power_code == NVML_OK) {
        unit_grow(u, GPU_energy, (uint64_t)((double)(u->power_uw + power_uw) / 2 * (double)since_ns / 1e9));
        unit_put(u, GPU_energy_estimated, 1);
    } else {
        unit_lack(u, GPU_energy, reason_of(code));
        unit_lack(u, GPU_energy_estimated, reason_of(code));
    }
}

static void read_power(struct helper *h, struct unit *u, uint64_t since_ns)
{
    unsigned mw = 0, limit = 0;
    int code = ASK(h, u, power, u->handle, &mw);
    put_u(u, GPU_power, code, mw * 1000ull);
    if (!add_buffer(h, u, NVML_SAMPLES_POWER, -1, GPU_power_peak)) {
        if (code == NVML_OK)
            put_peak(h, u, GPU_power_peak, mw * 1000ull);
        else
            unit_lack(u, GPU_power_peak, reason_of(code));
    }
    read_energy(h, u, code, mw * 1000ull, since_ns);
    u->power_uw = mw * 1000ull;
    code = ASK(h, u, power_limit, u->handle, &limit);
    put_u(u, GPU_power_limit, code, limit * 1000ull);
}

/* ---- fields: many values with one call, each with a code of its own ---- */

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
    case NVML_TYPE_U32: *ret = f->value.u32; break;
    case NVML_TYPE_ULONG: *ret = f->value.ulong; break;
    case NVML_TYPE_S32: *ret = (uint64_t)(int64_t)f->value.s32; break;
    case NVML_TYPE_U16: *ret = f->value.u16; break;
    default: *ret = f->value.u64; /* negative ones of 64 bits are too large */
    }
    return *ret < FIELD_MOST;
}

static uint64_t field_growth(struct grown *g, unsigned type, uint64_t now)
{
    uint64_t growth = 0;
    if (g->known && now >= g->before)
        growth = now - g->before;
    else if (g->known && type == NVML_TYPE_U32 && g->before > UINT32_MAX / 2)
        growth = (uint64_t)UINT32_MAX + 1 - g->before + now;
    *g = (struct grown){true, now};
    return growth;
}

static void read_fields(struct helper *h, struct unit *u)
{
    struct nvml_field at[FIELDS];
    size_t which[FIELDS], n = 0;
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
            unit_grow(u, fields[i].metric, multiplied(field_growth(&u->field[i], at[k].type, v), fields[i].factor));
        else
            put_u(u, fields[i].metric, one, multiplied(v, fields[i].factor));
        if (!code && (is_final(one) || one == NVML_INVALID_ARGUMENT))
            u->field_code[i] = NVML_NOT_SUPPORTED;
    }
}

/* ---- the rest ---- */

/* Counts the time of a state without a counter of its own: if it is on at a reading, it counts as on since the reading
 * before. */
static void read_reasons(struct helper *h, struct unit *u, uint64_t since_ns)
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
        /* One that failed this time is not replaced: it has the time until now when it is read again. */
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

static void read_small(struct helper *h, struct unit *u)
{
    unsigned v = 0;
    int code = ASK(h, u, temperature, u->handle, 0, &v);
    if (code == NVML_OK || u->out.absent[GPU_temperature]) /* newer drivers have a field, and need not have the call */
        put_u(u, GPU_temperature, code, v * 1000ull);
    code = ASK(h, u, clock, u->handle, NVML_CLOCK_SM, &v);
    put_u(u, GPU_clock, code, v * MHZ);
    code = ASK(h, u, clock, u->handle, NVML_CLOCK_MEMORY, &v);
    put_u(u, GPU_memory_clock, code, v * MHZ);
    code = ASK(h, u, pstate, u->handle, &v);
    put_u(u, GPU_performance_state, code, v);
    code = ASK(h, u, fan, u->handle, &v);
    put_u(u, GPU_fan, code, v * PPM_PER_PERCENT);
    code = ASK(h, u, generation, u->handle, &v);
    put_u(u, GPU_pcie_generation, code, v);
    code = ASK(h, u, width, u->handle, &v);
    put_u(u, GPU_pcie_width, code, v);
    if (u->out.absent[GPU_clock_most]) {
        code = ASK(h, u, clock_most, u->handle, NVML_CLOCK_SM, &v);
        put_u(u, GPU_clock_most, code, v * MHZ);
        code = ASK(h, u, clock_most, u->handle, NVML_CLOCK_MEMORY, &v);
        put_u(u, GPU_memory_clock_most, code, v * MHZ);
    }
}

/* ---- GPM: means between two samples ---- */

static void lack_gpm(struct unit *u, int why)
{
    unit_lack(u, GPU_sm_active, why);
    unit_lack(u, GPU_sm_occupied, why);
    unit_lack(u, GPU_tensor_active, why);
    unit_lack(u, GPU_dram_active, why);
}

/* That the driver supports it says little: a pair of samples must succeed. */
static bool begin_gpm(struct helper *h, struct unit *u)
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

static void read_gpm(struct helper *h, struct unit *u, uint64_t now_ns)
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

static void lack_all(struct unit *u, int why)
{
    for (int i = 0; i < GPU_MAX; i++) {
        if (i != GPU_memory_used_peak && i != GPU_xid_errors && i != GPU_xid_last && i != GPU_read_at)
            unit_lack(u, i, why);
    }
}

static uint64_t again_ns(void)
{
    struct span s = span_str(getenv("BARO_GPU_AGAIN_MS") ? getenv("BARO_GPU_AGAIN_MS") : ""); /* for tests */
    uint64_t ms;
    return scan_u64(&s, &ms) && ms ? ms * NS_PER_MS : LOST_AGAIN;
}

/* A device that was lost may have been reset. Its counters begin anew then: of what was between nothing is known. */
static void look_again(struct helper *h, struct unit *u, uint64_t now_ns)
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
    u->energy.known = u->has_process_stamp = false;
    memset(u->field, 0, sizeof(u->field));
    memset(u->samples, 0, sizeof(u->samples));
}

void device_read(struct helper *h, struct unit *u)
{
    if (*u->card) {
        card_read(h, u);
        return;
    }
    if (u->vendor == VENDOR_SMI)
        return;
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
    if (u->lost) { /* read_at stays: it says since when */
        lack_all(u, reason_of(u->lost));
        return;
    }
    read_use(h, u, since);
    read_memory(h, u);
    read_power(h, u, since);
    read_fields(h, u);
    read_reasons(h, u, since);
    read_small(h, u);
    read_gpm(h, u, now);
    u->read_ns = now;
    if (u->lost)
        lack_all(u, BARO_ABSENT_GONE);
    else
        unit_put(u, GPU_read_at, now);
}

void device_events(struct helper *h)
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
