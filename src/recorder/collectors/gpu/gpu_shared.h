/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the recorder and its helper program baro-gpu share, through a descriptor that the helper inherits.
 * Both are built together; the helper ends at once if its size of this struct is another one.
 */
#ifndef RECORDER_COLLECTORS_GPU_GPU_SHARED_H
#define RECORDER_COLLECTORS_GPU_GPU_SHARED_H

#include "libbaro/metric/ids.h"
#include "recorder/helper/worker.h"

#define GPU_DEVICES_MOST 160u    /* with their MIG instances: 16 devices of 7 are 128 */
#define GPU_PROCESSES_MOST 2048u /* processes by device */
#define GPU_METERS_MOST 64u
#define GPU_MEMBERS_MOST 8192u /* processes of the job */
#define GPU_TEXT 96u
#define GPU_PATH 512u
#define GPU_NONE UINT32_MAX

enum gpu_state { GPU_FINE, GPU_LOST, GPU_NEEDS_RESET, GPU_SLEEPS, GPU_HANGS };

/* A device. Counters begin at 0 in each helper process. Absent: enum baro_absent. */
struct gpu_device {
    char name[32]; /* "gpu0", "gpu0/mig1" */
    char model[GPU_TEXT], uuid[GPU_TEXT], bus[32], driver[32];
    char source[16]; /* "NVML", "sysfs" */
    uint32_t slot;   /* number of the device, the same in each helper process, whatever devices are chosen */
    uint32_t parent; /* the device of a MIG instance; else GPU_NONE */
    uint32_t state;  /* enum gpu_state */
    uint64_t state_ns;
    uint64_t value[GPU_MAX];
    uint8_t absent[GPU_MAX];
};

struct gpu_process {
    uint32_t device;
    int32_t host_pid;
    int32_t pid;    /* in the recorder's PID namespace; 0: not known */
    uint64_t start; /* as in struct baro_key */
    bool is_gone;   /* the driver does not list it any more */
    bool drm_gone_before;
    uint64_t value[GPU_PROCESS_MAX];
    uint8_t absent[GPU_PROCESS_MAX];
};

/* A meter of energy or power (kind energy). */
struct gpu_meter {
    char name[GPU_TEXT];
    uint64_t value[ENERGY_MAX];
    uint8_t absent[ENERGY_MAX];
};

/* A process of the job, as in struct baro_key. */
struct gpu_member {
    int32_t pid;
    uint64_t start;
};

/* Times are of CLOCK_MONOTONIC. */
struct gpu_reading {
    uint64_t epoch; /* identifies the helper process: counters of the next one begin at 0 and are added */
    uint64_t read_ns;
    int32_t error;               /* error of nvmlInit, because of which NVIDIA's devices are not read; 0: none */
    uint32_t calls;              /* number of calls of the driver so far */
    char trouble[GPU_TEXT];      /* a message for people, which is reported once; "": none */
    char source[32];             /* "NVML", "" */
    char driver[32];             /* its version */
    uint32_t visible_unsure;     /* CUDA numbers the devices in another order than the driver */
    uint32_t processes_left_out; /* how many processes had no room so far */
    uint32_t n_devices, n_meters, n_processes;
    struct gpu_device device[GPU_DEVICES_MOST];
    struct gpu_meter meter[GPU_METERS_MOST];
    struct gpu_process process[GPU_PROCESSES_MOST];
};

struct gpu_shared {
    struct worker_shared worker;
    /* set by the recorder before the helper starts */
    uint64_t bytes; /* sizeof(struct gpu_shared) */
    uint64_t interval_ns;
    bool devices, meters;  /* what the helper must read */
    char select[GPU_PATH]; /* --gpu: "auto", or a list */
    char root[GPU_PATH];   /* the folder of dev, sys and proc: "", except in tests */
    /* set while the helper is running */
    _Atomic bool last;      /* the recorder asks for one last reading */
    _Atomic uint32_t taken; /* turn of the last reading that the recorder has taken: peaks begin again after it */
    _Atomic uint32_t at;    /* 1 + slot of the device of the present call; 0: none */
    _Atomic uint64_t library_not_before_ns, device_not_before_ns[GPU_DEVICES_MOST]; /* it hung: not read before this */
    char call[64];                                                                  /* name of the present call */
    _Atomic bool wants_members; /* there are devices whose users are found from the job's processes */
    _Atomic uint32_t members_turn;
    uint32_t n_members;
    struct gpu_member member[GPU_MEMBERS_MOST];
    _Atomic uint32_t turn; /* odd while the reading is written */
    struct gpu_reading now;
};

#endif
