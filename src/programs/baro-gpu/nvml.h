/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library, as far as we call it: our own declarations of its binary interface, since it is loaded
 * while the program runs and its header need not be there. tests/e2e/test_gpu_interface.py compares sizes and numbers
 * with that header where it can be had.
 */
#ifndef PROGRAMS_BARO_GPU_NVML_H
#define PROGRAMS_BARO_GPU_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
enum nvml_code {
    NVML_OK = 0, NVML_UNINITIALIZED = 1, NVML_INVALID_ARGUMENT = 2, NVML_NOT_SUPPORTED = 3, NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6, NVML_INSUFFICIENT_SIZE = 7, NVML_DRIVER_NOT_LOADED = 9, NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13, NVML_GPU_IS_LOST = 15, NVML_RESET_REQUIRED = 16, NVML_VERSION_MISMATCH = 18,
    NVML_NO_DATA = 21, NVML_ARGUMENT_VERSION = 25, NVML_UNKNOWN = 999
};
/* clang-format on */

typedef struct nvml_handle *nvml_device;
typedef struct nvml_events *nvml_event_set;
typedef struct nvml_gpm *nvml_gpm_sample;

struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory_v1 {
    uint64_t total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    uint64_t total, reserved, free, used;
};
struct nvml_process_24 { /* since driver 510 */
    unsigned pid;
    uint64_t memory;
    unsigned gpu_instance, compute_instance;
};
struct nvml_process_32 { /* drivers 535 and some 536 */
    unsigned pid;
    uint64_t memory;
    unsigned gpu_instance, compute_instance;
    uint64_t protected_memory;
};
struct nvml_process_use {
    unsigned pid;
    uint64_t stamp_us;
    unsigned sm, memory, encoder, decoder;
};
struct nvml_sample {
    uint64_t stamp_us;
    union {
        unsigned u32;
        uint64_t u64;
        double real;
    } value;
};
struct nvml_field {
    unsigned id, scope;
    int64_t stamp_us, latency_us;
    unsigned type, code;
    union nvml_value {
        double real;
        unsigned u32;
        unsigned long ulong;
        uint64_t u64;
        int64_t s64;
        int s32;
        uint16_t u16;
    } value;
};
struct nvml_accounting {
    unsigned gpu, memory;
    uint64_t memory_most, time_ms, start_us;
    unsigned is_running, reserved[5];
};
struct nvml_event {
    nvml_device device;
    uint64_t type, data;
    unsigned gpu_instance, compute_instance;
};
struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, ids, subsystem;
    char id[32];
};
struct nvml_gpm_metric {
    unsigned id, code;
    double value;
    char *names[3];
};
#define NVML_GPM_METRICS 512 /* the library's array ends earlier: it reads and writes as many as it is told */
struct nvml_gpm_get {
    unsigned version, n;
    nvml_gpm_sample first, second;
    struct nvml_gpm_metric metric[NVML_GPM_METRICS];
};
struct nvml_gpm_support {
    unsigned version, is_supported;
};

/* clang-format off */
enum { NVML_SAMPLES_POWER = 0, NVML_SAMPLES_GPU, NVML_SAMPLES_MEMORY, NVML_SAMPLES_ENCODER, NVML_SAMPLES_DECODER };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY };
enum {
    NVML_FIELD_MEMORY_TEMPERATURE = 82, NVML_FIELD_ECC_CORRECTED = 3,
    NVML_FIELD_ECC_UNCORRECTED = 4, NVML_FIELD_RETIRED_SBE = 29, NVML_FIELD_RETIRED_DBE = 30,
    NVML_FIELD_THROTTLED_POWER = 74, NVML_FIELD_THROTTLED_THERMAL = 75, NVML_FIELD_THROTTLED_SYNC = 76,
    NVML_FIELD_THROTTLED_BOARD = 77, NVML_FIELD_THROTTLED_RELIABILITY = 79, NVML_FIELD_PCIE_REPLAYS = 94,
    NVML_FIELD_NVLINK_SENT = 138, NVML_FIELD_NVLINK_RECEIVED = 139,
    NVML_FIELD_REMAPPED_UNCORRECTABLE = 143, NVML_FIELD_PCIE_SENT = 197, NVML_FIELD_PCIE_RECEIVED = 198,
    NVML_FIELD_TEMPERATURE = 308
};
enum { NVML_TYPE_DOUBLE = 0, NVML_TYPE_U32, NVML_TYPE_ULONG, NVML_TYPE_U64, NVML_TYPE_S64, NVML_TYPE_S32,
       NVML_TYPE_U16 };
enum { NVML_GPM_SM_ACTIVE = 2, NVML_GPM_SM_OCCUPANCY = 3, NVML_GPM_TENSOR = 5, NVML_GPM_DRAM = 10 };
#define NVML_EVENT_XID 8ull
#define NVML_REASON_POWER 0x4ull
#define NVML_REASON_HARDWARE 0x8ull
#define NVML_REASON_SYNC 0x10ull
#define NVML_REASON_THERMAL 0x20ull
#define NVML_REASON_HARDWARE_THERMAL 0x40ull
#define NVML_REASON_BRAKE 0x80ull
#define NVML_REASON_BOARD 0x200ull
#define NVML_REASON_RELIABILITY 0x400ull

/* F(member, arguments, names): newest name first. */
#define NVML_FUNCTIONS(F)                                                                                              \
    F(init, (void), "nvmlInit_v2")                                                                                     \
    F(driver, (char *text, unsigned n), "nvmlSystemGetDriverVersion")                                                  \
    F(count, (unsigned *n), "nvmlDeviceGetCount_v2")                                                                   \
    F(by_index, (unsigned i, nvml_device *d), "nvmlDeviceGetHandleByIndex_v2")                                         \
    F(name, (nvml_device d, char *text, unsigned n), "nvmlDeviceGetName")                                              \
    F(uuid, (nvml_device d, char *text, unsigned n), "nvmlDeviceGetUUID")                                              \
    F(pci, (nvml_device d, struct nvml_pci *p), "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2")                  \
    F(utilization, (nvml_device d, struct nvml_utilization *u), "nvmlDeviceGetUtilizationRates")                       \
    F(memory_v2, (nvml_device d, struct nvml_memory_v2 *m), "nvmlDeviceGetMemoryInfo_v2")                              \
    F(memory_v1, (nvml_device d, struct nvml_memory_v1 *m), "nvmlDeviceGetMemoryInfo")                                 \
    F(power, (nvml_device d, unsigned *mw), "nvmlDeviceGetPowerUsage")                                                 \
    F(power_limit, (nvml_device d, unsigned *mw), "nvmlDeviceGetEnforcedPowerLimit")                                   \
    F(energy, (nvml_device d, unsigned long long *mj), "nvmlDeviceGetTotalEnergyConsumption")                          \
    F(temperature, (nvml_device d, unsigned sensor, unsigned *c), "nvmlDeviceGetTemperature")                          \
    F(clock, (nvml_device d, unsigned which, unsigned *mhz), "nvmlDeviceGetClockInfo")                                 \
    F(clock_most, (nvml_device d, unsigned which, unsigned *mhz), "nvmlDeviceGetMaxClockInfo")                         \
    F(encoder, (nvml_device d, unsigned *percent, unsigned *us), "nvmlDeviceGetEncoderUtilization")                    \
    F(decoder, (nvml_device d, unsigned *percent, unsigned *us), "nvmlDeviceGetDecoderUtilization")                    \
    F(reasons, (nvml_device d, unsigned long long *mask), "nvmlDeviceGetCurrentClocksEventReasons",                    \
      "nvmlDeviceGetCurrentClocksThrottleReasons")                                                                     \
    F(fan, (nvml_device d, unsigned *percent), "nvmlDeviceGetFanSpeed")                                                \
    F(pstate, (nvml_device d, unsigned *p), "nvmlDeviceGetPerformanceState")                                           \
    F(generation, (nvml_device d, unsigned *n), "nvmlDeviceGetCurrPcieLinkGeneration")                                 \
    F(width, (nvml_device d, unsigned *n), "nvmlDeviceGetCurrPcieLinkWidth")                                           \
    F(fields, (nvml_device d, int n, struct nvml_field *f), "nvmlDeviceGetFieldValues")                                \
    F(samples, (nvml_device d, unsigned type, unsigned long long since, unsigned *value_type, unsigned *n,             \
      struct nvml_sample *at), "nvmlDeviceGetSamples")                                                                 \
    F(compute, (nvml_device d, unsigned *n, void *at), "nvmlDeviceGetComputeRunningProcesses_v3",                      \
      "nvmlDeviceGetComputeRunningProcesses_v2")                                                                       \
    F(graphics, (nvml_device d, unsigned *n, void *at), "nvmlDeviceGetGraphicsRunningProcesses_v3",                    \
      "nvmlDeviceGetGraphicsRunningProcesses_v2")                                                                      \
    F(mps, (nvml_device d, unsigned *n, void *at), "nvmlDeviceGetMPSComputeRunningProcesses_v3",                       \
      "nvmlDeviceGetMPSComputeRunningProcesses_v2")                                                                    \
    F(process_use, (nvml_device d, struct nvml_process_use *at, unsigned *n, unsigned long long since),                \
      "nvmlDeviceGetProcessUtilization")                                                                               \
    F(accounting_mode, (nvml_device d, unsigned *is_on), "nvmlDeviceGetAccountingMode")                                \
    F(accounting, (nvml_device d, unsigned pid, struct nvml_accounting *a), "nvmlDeviceGetAccountingStats")            \
    F(mig_most, (nvml_device d, unsigned *n), "nvmlDeviceGetMaxMigDeviceCount")                                        \
    F(mig_mode, (nvml_device d, unsigned *now, unsigned *pending), "nvmlDeviceGetMigMode")                             \
    F(mig_device, (nvml_device d, unsigned i, nvml_device *mig), "nvmlDeviceGetMigDeviceHandleByIndex")                \
    F(mig_instance, (nvml_device d, unsigned *id), "nvmlDeviceGetGpuInstanceId")                                       \
    F(event_set, (nvml_event_set *s), "nvmlEventSetCreate")                                                            \
    F(events, (nvml_device d, unsigned long long types, nvml_event_set s), "nvmlDeviceRegisterEvents")                 \
    F(event_types, (nvml_device d, unsigned long long *types), "nvmlDeviceGetSupportedEventTypes")                     \
    F(event_wait, (nvml_event_set s, struct nvml_event *e, unsigned ms), "nvmlEventSetWait_v2")                        \
    F(gpm_support, (nvml_device d, struct nvml_gpm_support *s), "nvmlGpmQueryDeviceSupport")                           \
    F(gpm_alloc, (nvml_gpm_sample *s), "nvmlGpmSampleAlloc")                                                           \
    F(gpm_sample, (nvml_device d, nvml_gpm_sample s), "nvmlGpmSampleGet")                                              \
    F(gpm_metrics, (struct nvml_gpm_get *g), "nvmlGpmMetricsGet")
/* clang-format on */

enum nvml_function {
#define F(member, arguments, ...) NVML_FN_##member,
    NVML_FUNCTIONS(F)
#undef F
        NVML_FN_COUNT
};

struct nvml {
    void *library;
#define F(member, arguments, ...) int(*member) arguments;
    NVML_FUNCTIONS(F)
#undef F
    bool has_32; /* processes are struct nvml_process_32 */
};

extern const char *const nvml_names[NVML_FN_COUNT]; /* the newest of each */

/* Loads the library; functions that it lacks are NULL. Returns false if there is none. */
bool nvml_load(struct nvml *n);

#endif
