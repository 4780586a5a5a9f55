/* SPDX-License-Identifier: Apache-2.0 */
/* GPM, since Hopper: means between two samples. */
#include "programs/baro-gpu/gpu_helper.h"

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

void gpm_read(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
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
