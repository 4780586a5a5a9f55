/* SPDX-License-Identifier: Apache-2.0 */
/* The helper's own state, and the functions that its files share. */
#ifndef PROGRAMS_BARO_GPU_UNIT_H
#define PROGRAMS_BARO_GPU_UNIT_H

#include "base/clock.h"
#include "programs/baro-gpu/nvml.h"
#include "recorder/collectors/gpu/gpu_shared.h"

#define UNIT_FIELDS 16u
#define PLAUSIBLE_BYTES_MOST (1ull << 50) /* what no device has: plausible.c */
#define PLAUSIBLE_WATTS_MOST 100000ull

/* A counter of the driver, of which only the growth counts. */
struct grown {
    bool known;
    uint64_t before;
};

/* A buffer of the driver, whose values have times of their own. */
struct stamps {
    uint64_t last_us;    /* the newest value seen: the next query begins after it */
    uint64_t covered_us; /* time up to here is already counted */
};

enum unit_vendor { VENDOR_NVIDIA, VENDOR_AMD, VENDOR_I915, VENDOR_XE, VENDOR_DRM, VENDOR_SMI };

struct unit { /* a device or a MIG instance */
    nvml_device handle;
    uint32_t index; /* of the driver */
    bool is_mig;
    enum unit_vendor vendor;
    char card[GPU_PATH];          /* of DRM: its folder /sys/class/drm/cardN; "": it is NVIDIA's */
    bool has_fdinfo;              /* its driver says what its clients use */
    char hwmon[48];               /* relative to that; "": it has none */
    uint32_t kfd_id;              /* of the kernel's compute driver (ROCm); 0: none */
    uint64_t energy_ns;           /* when energy was read */
    uint16_t code[NVML_FN_COUNT]; /* a call that is not to be made again, and what it said */
    uint16_t field_code[UNIT_FIELDS];
    uint16_t lost;    /* enum nvml_code */
    uint64_t lost_ns; /* when that was, or was looked at again */
    uint64_t read_ns;
    struct stamps samples[NVML_SAMPLES_DECODER + 1];
    bool has_buffer;
    struct grown field[UNIT_FIELDS], energy;
    uint64_t power_uw; /* as read last, for energy without a counter */
    uint64_t process_stamp_us, process_read_ns;
    bool has_process_stamp;
    nvml_gpm_sample gpm[2];
    uint64_t gpm_ns; /* when gpm[0] was taken; 0: it was not */
    bool gpm_off;
    struct gpu_device out;
    uint64_t checked[GPU_MAX], checked_ns; /* the reading before, as it was checked */
    uint64_t present_ns[GPU_MAX];          /* when a value was there last: a counter may have been absent since then */
    uint8_t checked_absent[GPU_MAX];
};

struct helper {
    struct gpu_shared *shared;
    struct nvml nv;
    bool has_cards;          /* of DRM: looked for */
    struct smi *smi;         /* nvidia-smi in the place of the library */
    bool smi_found;          /* its devices were found, and chosen from */
    struct drm *drm;         /* NULL: there are none */
    char proc[GPU_PATH + 8]; /* where the job's processes are */
    bool has_library, is_up; /* loaded; nvmlInit succeeded */
    uint64_t init_again_ns;
    nvml_event_set events;
    struct unit *unit; /* GPU_DEVICES_MOST */
    uint32_t n_units;
    uint64_t turns; /* readings so far */
    struct gpu_reading *out;
    struct meters *meters;
    bool peaks_taken;       /* the recorder has the reading before: peaks begin again */
    uint32_t process_guess; /* where the next process is looked for first */
    void *list;             /* room for lists of processes */
    size_t list_bytes;
    const char *host_proc; /* NULL: PIDs of the driver mean nothing in this namespace */
};

/* Values of a reading. */
static inline void unit_put(struct unit *u, int metric, uint64_t v)
{
    u->out.value[metric] = v;
    u->out.absent[metric] = BARO_PRESENT;
}

static inline void unit_lack(struct unit *u, int metric, int why)
{
    u->out.absent[metric] = (uint8_t)why;
    if (baro_metric_get(KIND_gpu, metric)->semantics != BARO_SEM_COUNTER)
        u->out.value[metric] = 0;
}

static inline void unit_grow(struct unit *u, int metric, uint64_t growth)
{
    u->out.value[metric] += growth;
    u->out.absent[metric] = BARO_PRESENT;
}

int reason_of(int nvml_code); /* enum baro_absent */

/* Calls of the driver: a call that it did not support or allow is not made again, a lost device is not asked, and the
 * recorder sees which call is running. */
int ask_before(struct helper *h, struct unit *u, enum nvml_function f);
int ask_after(struct unit *u, enum nvml_function f, int code);
#define ASK(h, u, f, ...)                                                                                              \
    ({                                                                                                                 \
        int ask_code = (h)->nv.f ? ask_before(h, u, NVML_FN_##f) : NVML_FUNCTION_NOT_FOUND;                            \
        ask_code ? ask_code : ask_after(u, NVML_FN_##f, (h)->nv.f(__VA_ARGS__));                                       \
    })

/* device.c */
void device_read(struct helper *h, struct unit *u);
void device_events(struct helper *h);
/* plausible.c: what no device can have is absent */
void unit_check(struct unit *u);
/* processes.c: adds the processes of this device to the reading. lists: read the lists, too; false: only what processes
 * used */
void processes_read(struct helper *h, struct unit *u, uint32_t at, bool lists);
/* cards.c: GPUs of DRM. Files are of the card's folder, or of a folder below it that ends with a slash. */
void cards_find(struct helper *h);
void card_read(struct helper *h, struct unit *u);
bool card_text(const struct unit *u, const char *folder, const char *file, char *ret, size_t cap);
bool card_number(const struct unit *u, const char *folder, const char *file, uint64_t *ret);
void card_gauge(struct unit *u, int metric, const char *folder, const char *file, uint64_t factor);
void card_power(struct helper *h, struct unit *u, uint64_t since_ns); /* of hwmon; energy is power by time */
/* amd.c, intel.c */
void amd_find_kfd(const char *root, struct unit *u);
void amd_read(struct helper *h, struct unit *u, uint64_t since_ns);
void intel_read(struct helper *h, struct unit *u, uint64_t now_ns, uint64_t since_ns);
/* drm.c: what the job's processes use of them */
struct drm *drm_new(void); /* NULL without memory */
void drm_read(struct helper *h);
/* smi.c: all devices by nvidia-smi */
void smi_read(struct helper *h);
/* find.c: all devices that are to be read */
struct unit *unit_add(struct helper *h, nvml_device handle, uint32_t index, uint32_t parent);
void devices_find(struct helper *h);
void devices_choose(struct helper *h, uint32_t count);
bool gpu_is_chosen(const char *list, uint32_t index, uint32_t count, const char *uuid);
/* pids.c: returns our process for a PID of the host */
const char *pids_host_proc(void);
bool pids_find(const char *host_proc, int32_t host_pid, int32_t *ret_pid, uint64_t *ret_start);
/* meters.c */
struct meters *meters_new(const char *root);
void meters_read(struct meters *m, struct gpu_reading *out, uint64_t now_ns);

#endif
