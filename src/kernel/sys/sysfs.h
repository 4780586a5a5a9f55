/* SPDX-License-Identifier: Apache-2.0 */
/* Devices from /sys. sys_fd is a directory descriptor of /sys. Nothing here allocates; only sys_sensor_read() and
 * sys_sensor_critical() access hardware. */
#ifndef KERNEL_SYS_SYSFS_H
#define KERNEL_SYS_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"

/* ---- read.c: small files; paths are relative to dir_fd ---- */
/* Reads a text, NUL-terminated, truncated to cap - 1 bytes, without blanks and newlines at its end. Returns its length
 * or -errno.
 */
ssize_t sys_text(int dir_fd, const char *path, char *to, size_t cap);
/* Reads a file that is one number. Returns 0, -errno or BARO_E_SYNTAX. */
int sys_number(int dir_fd, const char *path, uint64_t *ret);
int sys_signed(int dir_fd, const char *path, int64_t *ret);
bool sys_exists(int dir_fd, const char *path);
/* Calls fn for each name in a directory that does not begin with a dot. Returns 0 or -errno. */
int sys_each(int dir_fd, const char *path, bool (*fn)(void *context, const char *name, size_t len), void *context);

/* ---- ranges.c: pure ---- */
/* "0-3,8,10-11": calls fn for each range. Returns how many numbers there are, or BARO_E_SYNTAX. The list may be empty.
 */
int64_t sys_list_parse(struct span text, void (*fn)(void *context, uint32_t first, uint32_t last), void *context);

/* ---- block_device.c ---- */
struct sys_block {
    bool partition;
    bool counted;      /* hardware without another disk below it: no other disk counts its I/O */
    uint64_t size;     /* bytes */
    uint64_t sequence; /* diskseq (5.15+), unique since boot; 0: not known */
    char label[96];    /* model, or the devices below it */
};
/* Returns 0, or -errno if there is no such device in /sys. */
int sys_block_read(int sys_fd, const char *name, struct sys_block *ret);

/* ---- net.c ---- */
/* For a machine without network hardware in this namespace: how likely a virtual interface leads out of it. Higher
 * values are preferred. */
enum sys_net_way {
    SYS_NET_NO_WAY,
    SYS_NET_TUNNEL,    /* its packets leave through another interface as well */
    SYS_NET_OTHER,     /* a tap, which may be a guest's; a dummy */
    SYS_NET_PORT,      /* a port of a bridge whose other end is in another namespace */
    SYS_NET_ELSEWHERE, /* its other end is in another namespace, or is an interface here that refers to it */
};
struct sys_net {
    uint32_t index; /* unique in the life of this namespace; 0: not known */
    bool hardware;  /* it has a device below it */
    bool own;       /* as far as its own files show, no other interface counts its bytes, too */
    bool may_lead;  /* neither hardware, nor a bond or team, nor a member of one: call sys_net_way() */
};
int sys_net_read(int sys_fd, const char *name, struct sys_net *ret);
/* Call it for an interface with may_lead; for others only *ret_link is valid. It reads about ten files, and is
 * needed only if there is no hardware. *ret_link: the index of the other end, in the namespace of that end; if there
 * is no other end, the interface's own index or 0. */
enum sys_net_way sys_net_way(int sys_fd, const char *name, uint32_t *ret_link);
/* A number that changes when the interface gets another master; 0: it has none. One system call. */
uint64_t sys_net_master(int sys_fd, const char *name);

/* ---- hwmon.c ---- */
struct sys_sensor {
    char name[64]; /* chip/label */
    char path[96]; /* hwmon: ".../temp1", to which "_input" or "_crit" is appended; or the thermal zone */
    bool zone;
};
/* Calls fn for each temperature sensor of hwmon, and for each thermal zone that is not in hwmon. Returns how many. */
int sys_sensors(int sys_fd, void (*fn)(void *context, const struct sys_sensor *sensor), void *context);
/* Reads its value in millidegrees. This accesses the hardware and may take long. Returns 0 or -errno. */
int sys_sensor_read(int sys_fd, const char *path, int64_t *ret_temperature);
int sys_sensor_critical(int sys_fd, const char *path, int64_t *ret_temperature);

/* ---- drm.c ---- */
struct sys_gpu {
    uint32_t number;
    char name[16];   /* "card0" */
    char driver[24]; /* the name that DRM has for it: "amdgpu", "i915", "xe", ... */
    char device[32]; /* "0000:03:00.0"; if it is not on PCI, its name on its own bus */
    bool has_fdinfo; /* its driver reports in fdinfo what each client uses */
};
bool sys_is_gpu_driver(const char *name); /* as a driver of the device: "amdgpu", "msm_dpu", ... */
/* Calls fn, which may be NULL, for each GPU in DRM whose driver is known, in no particular order. Returns how many. */
int sys_gpus(int sys_fd, void (*fn)(void *context, const struct sys_gpu *gpu), void *context);

#endif
