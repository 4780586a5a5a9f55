/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of NVIDIA's library: which are made, and what their codes mean. */
#include <stdio.h>

#include "programs/baro-gpu/gpu_helper.h"

#define FIRST(...) FIRST_OF(__VA_ARGS__, )
#define FIRST_OF(first, ...) first
const char *const nvml_names[NVML_FN_COUNT] = {
#define F(member, arguments, ...) FIRST(__VA_ARGS__),
    NVML_FUNCTIONS(F)
#undef F
};

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

bool code_is_final(int code)
{
    return code == NVML_NOT_SUPPORTED || code == NVML_FUNCTION_NOT_FOUND || code == NVML_ARGUMENT_VERSION ||
           code == NVML_NO_PERMISSION;
}

int ask_before(struct gpu_helper *h, struct unit *u, enum nvml_function f)
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
    } else if (code_is_final(code)) {
        u->code[f] = (uint16_t)code;
    }
    return code;
}
