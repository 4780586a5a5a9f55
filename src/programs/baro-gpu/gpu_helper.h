/* SPDX-License-Identifier: Apache-2.0 */
/* The helper's own state, and the functions that its files share. */
#ifndef PROGRAMS_BARO_GPU_GPU_HELPER_H
#define PROGRAMS_BARO_GPU_GPU_HELPER_H

#include "base/clock.h"
#include "programs/baro-gpu/nvml.h"
#include "recorder/collectors/gpu/gpu_shared.h"

#define UNIT_FIELDS 17u
#define PLAUSIBLE_BYTES_MOST (1ull << 50) /* more than any device has: plausible.c */
#define PLAUSIBLE_WATTS_MOST 100000ull
#define PPM_PER_PERCENT 10000ull
#define MHZ 1000000ull

/* A counter of the driver. Only its growth is used. */
struct grown {
    bool known, is_odd; /* is_odd: the last value was not plausible and is kept aside */
    bool has_gap;       /* the counter began anew, or was not read: a part of its growth is not known */
    uint64_t before, odd;
    uint64_t before_ns, odd_ns;
};

/* A buffer of the driver, whose values each have a time. */
struct stamps {
    uint64_t last_us;    /* the newest value seen: the next query begins after it */
    uint64_t covered_us; /* time up to here is already counted */
    uint64_t waits;      /* use that is left for the next reading, in percents of microseconds */
    uint64_t lacks_us;   /* time for which no use was counted yet */
    bool was_empty;      /* the buffer had no value at a reading: those that come later are newer */
};

struct unit;
struct gpu_helper;

/* A driver of DRM: a row of the table in cards.c. */
struct card_driver {
    const char *name, *model;                       /* model: of cards that do not say it; NULL: the driver's name */
    const char *visible[2];                         /* variables of the environment that choose devices; NULL: none */
    void (*find)(const char *root, struct unit *u); /* what else is found once; NULL: nothing */
    void (*read)(struct gpu_helper *h, struct unit *u, uint64_t since_ns);
};

struct unit { /* a device or a MIG instance */
    nvml_device handle;
    uint32_t index; /* the driver's number of the device */
    bool is_mig;
    const struct card_driver *driver; /* NULL: it is read with NVIDIA's library */
    char card[GPU_PATH];              /* folder /sys/class/drm/cardN of a GPU in DRM; "": it is read with the library */
    bool has_fdinfo;                  /* its driver says what its clients use */
    char hwmon[48];                   /* hwmon folder, relative to the card's folder; "": it has none */
    uint32_t kfd_id;                  /* id in the kernel's compute driver (ROCm); 0: none */
    uint16_t code[NVML_FN_COUNT];     /* codes of calls that are not made again; 0: the call is made */
    uint16_t field_code[UNIT_FIELDS];
    uint16_t lost;    /* enum nvml_code */
    uint64_t lost_ns; /* when the device was lost, or when it was last tried again */
    uint64_t read_ns;
    struct stamps samples[NVML_SAMPLES_DECODER + 1];
    struct grown field[UNIT_FIELDS], energy;
    uint64_t power_uw, power_ns; /* the last reading of power and its time, for energy without a counter; 0: none yet */
    uint64_t process_stamp_us, process_read_ns;
    bool has_process_stamp;
    nvml_gpm_sample gpm[2];
    uint64_t gpm_ns; /* when gpm[0] was taken; 0: it was not taken */
    bool gpm_off;
    struct gpu_device out;
    uint64_t checked[GPU_MAX], checked_ns; /* the previous reading, as plausible.c left it */
    uint64_t present_ns[GPU_MAX];          /* when a value was there last: a counter may have been absent since then */
    uint8_t checked_absent[GPU_MAX];
};

struct gpu_helper {
    struct gpu_shared *shared;
    struct nvml nv;
    bool has_cards;          /* GPUs in DRM were searched for */
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
    bool peaks_taken;       /* the recorder has taken the previous reading: peaks begin again */
    uint32_t process_guess; /* where the next process is looked for first */
    void *list;             /* room for lists of processes */
    size_t list_bytes;
    const char *host_proc; /* NULL: the driver's PIDs mean nothing in this namespace */
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

/* A gauge of which the largest value is kept. */
static inline void unit_put_most(struct unit *u, int metric, uint64_t v)
{
    if (u->out.absent[metric] || v > u->out.value[metric])
        unit_put(u, metric, v);
}

/* The largest value since the reading that the recorder took last. */
static inline void unit_put_peak(struct gpu_helper *h, struct unit *u, int metric, uint64_t v)
{
    if (h->peaks_taken)
        unit_put(u, metric, v);
    else
        unit_put_most(u, metric, v);
}

static inline uint64_t unit_multiplied(uint64_t v, uint64_t factor)
{
    return v > UINT64_MAX / factor ? UINT64_MAX : v * factor;
}

/* Sets a value of a process. */
static inline void process_put(struct gpu_process *p, int metric, uint64_t v)
{
    p->value[metric] = v;
    p->absent[metric] = BARO_PRESENT;
}

/* calls.c */
int reason_of(int nvml_code);      /* enum baro_absent */
bool code_is_final(int nvml_code); /* a further call would return the same code */

static inline void unit_put_code(struct unit *u, int metric, int code, uint64_t v)
{
    if (code == NVML_OK)
        unit_put(u, metric, v);
    else
        unit_lack(u, metric, reason_of(code));
}

/* Calls of the driver: a call that it did not support or allow is not made again, a lost device is not asked, and the
 * recorder sees which call is running. */
int ask_before(struct gpu_helper *h, struct unit *u, enum nvml_function f);
int ask_after(struct unit *u, enum nvml_function f, int code);
#define ASK(h, u, f, ...)                                                                                              \
    ({                                                                                                                 \
        int ask_code = (h)->nv.f ? ask_before(h, u, NVML_FN_##f) : NVML_FUNCTION_NOT_FOUND;                            \
        ask_code ? ask_code : ask_after(u, NVML_FN_##f, (h)->nv.f(__VA_ARGS__));                                       \
    })

/* device.c */
void device_read(struct gpu_helper *h, struct unit *u);
void device_events(struct gpu_helper *h);
/* utilization.c. add_buffer: percentages over time. The buffer has a value for each part of a second, also for the time
 * between two readings. metric and peak: -1 for none. Returns false if there is none, or nothing new in it. */
void use_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns);
bool use_add_buffer(struct gpu_helper *h, struct unit *u, unsigned type, int metric, int peak, uint64_t since_ns);
/* power.c */
void power_read(struct gpu_helper *h, struct unit *u, uint64_t now_ns, uint64_t since_ns);
void power_by_time(struct unit *u, uint64_t uw, uint64_t now_ns); /* energy that no counter has */
/* plausible.c: what no device can have is absent */
void unit_check(struct unit *u);
double counter_most(int metric); /* the most that it can grow in a second */
/* The growth of a counter since the value before. A single impossible value, which is smaller than the previous one
 * or larger than most_a_second allows, is ignored, and the next value is compared with the one before it: 100,
 * 4294967295, 103 have grown by 3. If the next value continues from the impossible one, the counter began anew
 * there: 100, 5, 7 have grown by 2, and has_gap is set. range: the value at which the counter begins again at 0; 0:
 * none. Returns false if the value was ignored. */
bool counter_take(struct grown *g, uint64_t now, uint64_t now_ns, uint64_t range, double most_a_second,
                  uint64_t *ret_growth);
/* processes.c: adds the processes of this device to the reading. lists: read the lists, too; false: only what processes
 * used */
void processes_read(struct gpu_helper *h, struct unit *u, uint32_t at, bool lists);
/* cards.c: GPUs of DRM. Files are of the card's folder, or of a folder below it that ends with a slash. */
void cards_find(struct gpu_helper *h);
void card_read(struct gpu_helper *h, struct unit *u);
bool card_text(const struct unit *u, const char *folder, const char *file, char *ret, size_t cap);
bool card_number(const struct unit *u, const char *folder, const char *file, uint64_t *ret);
void card_gauge(struct unit *u, int metric, const char *folder, const char *file, uint64_t factor);
void card_power(struct gpu_helper *h, struct unit *u); /* power from hwmon; energy is computed from power and time */
/* drm.c: what the job's processes use of them */
struct drm *drm_new(void); /* NULL without memory */
void drm_read(struct gpu_helper *h);
/* devices.c: all devices that are to be read */
struct unit *unit_add(struct gpu_helper *h, nvml_device handle, uint32_t index, uint32_t parent);
void devices_find(struct gpu_helper *h);
/* chosen.c: as CUDA_VISIBLE_DEVICES (count: how many there are), and as --gpu. index: GPU_NONE where it has none */
bool gpu_is_chosen(const char *list, uint32_t index, uint32_t count, const char *uuid);
bool gpu_is_listed(const char *list, uint32_t index, const char *name, const char *uuid);
/* namespaced_pids.c: returns our process for a PID of the host */
const char *pids_host_proc(void);
bool pids_find(const char *host_proc, int32_t host_pid, int32_t *ret_pid, uint64_t *ret_start);
/* meters.c */
struct meters *meters_new(const char *root);
void meters_read(struct meters *m, struct gpu_reading *out, uint64_t now_ns);

#endif
