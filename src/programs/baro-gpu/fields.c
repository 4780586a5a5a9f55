/* SPDX-License-Identifier: Apache-2.0 */
/* Fields: many values with one call, each with a code of its own. Also counts throttling if no field has it. */
#include "programs/baro-gpu/gpu_helper.h"

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

void fields_read(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
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
void reasons_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
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
