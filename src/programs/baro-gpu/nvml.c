/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-gpu/nvml.h"

#include <dlfcn.h>
#include <string.h>

#define NAMES_MOST 2

static const struct {
    const char *name[NAMES_MOST];
    size_t at;
} table[] = {
#define F(member, arguments, ...) {{__VA_ARGS__}, offsetof(struct nvml, member)},
    NVML_FUNCTIONS(F)
#undef F
};

_Static_assert(sizeof(struct nvml_utilization) == 8 && sizeof(struct nvml_memory_v1) == 24 &&
                   sizeof(struct nvml_memory_v2) == 40 && sizeof(struct nvml_process_24) == 24 &&
                   sizeof(struct nvml_process_32) == 32 && sizeof(struct nvml_process_use) == 32 &&
                   sizeof(struct nvml_sample) == 16 && sizeof(struct nvml_field) == 40 &&
                   sizeof(struct nvml_accounting) == 56 && sizeof(struct nvml_event) == 32 &&
                   sizeof(struct nvml_pci) == 68 && sizeof(struct nvml_gpm_metric) == 40 &&
                   offsetof(struct nvml_gpm_get, metric) == 24,
               "the library's binary interface");

/* The name without .1 may be a stub that a linker needs. WSL and NixOS have it where their loader need not look. */
bool nvml_load(struct nvml *n)
{
    static const char *const files[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1",
                                        "/run/opengl-driver/lib/libnvidia-ml.so.1"};
    *n = (struct nvml){.library = NULL};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !n->library; i++)
        n->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return false;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        void *f = NULL;
        for (size_t k = 0; k < NAMES_MOST && table[i].name[k] && !f; k++)
            f = dlsym(n->library, table[i].name[k]);
        memcpy((char *)n + table[i].at, &f, sizeof(f));
    }
    /* Drivers 535 wrote a longer struct under the same name; these are the ones with the first of these functions and
     * without the second. */
    n->has_32 = dlsym(n->library, "nvmlDeviceGetConfComputeMemSizeInfo") &&
                !dlsym(n->library, "nvmlDeviceGetRunningProcessDetailList");
    return true;
}
