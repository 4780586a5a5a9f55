/* SPDX-License-Identifier: Apache-2.0 */
/* What /sys says of devices. sys_fd is a directory descriptor of /sys; nothing here allocates, and nothing here asks
 * hardware. */
#ifndef SYSFS_SYSFS_H
#define SYSFS_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"

/* ---- read.c: small files; paths are relative to dir_fd ---- */
/* The text without the blanks and newlines at its end, NUL-terminated, cut at cap - 1. Returns its length or -errno. */
ssize_t sys_text(int dir_fd, const char *path, char *to, size_t cap);
/* A number alone. Returns 0, -errno or BARO_E_SYNTAX. */
int sys_number(int dir_fd, const char *path, uint64_t *ret);
int sys_signed(int dir_fd, const char *path, int64_t *ret);
bool sys_exists(int dir_fd, const char *path);
/* Calls fn for each name in a directory but those that begin with a dot. Returns 0 or -errno. */
int sys_each(int dir_fd, const char *path, bool (*fn)(void *context, const char *name, size_t len), void *context);

/* ---- list.c: pure ---- */
/* "0-3,8,10-11": calls fn for each range. Returns how many numbers these are, or BARO_E_SYNTAX. An empty list has none.
 */
int64_t sys_list_parse(struct span text, void (*fn)(void *context, uint32_t first, uint32_t last), void *context);

/* ---- block.c ---- */
struct sys_block {
    bool partition;
    bool counted;       /* a disk whose I/O is no other disk's too: it has hardware below it, and no disk */
    uint64_t size;      /* bytes */
    uint64_t sequence;  /* diskseq (5.15+): no other disk of this boot has it; 0 where not known */
    char label[96];     /* model; or what it lies over */
};
/* Returns 0, or -errno if there is no such device in /sys. */
int sys_block_read(int sys_fd, const char *name, struct sys_block *ret);

/* ---- net.c ---- */
/* What a virtual interface over nothing that is in this namespace may be as a way out of it; the better, the higher. */
enum sys_net_way {
    SYS_NET_NO_WAY,
    SYS_NET_TUNNEL,     /* its packets leave through another interface as well */
    SYS_NET_OTHER,      /* a tap, which may be a guest's; a dummy */
    SYS_NET_PORT,       /* of a bridge, with its other end elsewhere */
    SYS_NET_ELSEWHERE,  /* its other end is elsewhere, or at another one here that names it */
};
struct sys_net {
    uint32_t index;     /* no other interface of this namespace's life has it; 0 where not known */
    bool hardware;      /* it has a device below it */
    bool own;           /* what it carries no other interface is told of as well, as far as can be seen from itself */
    bool may_lead;      /* neither hardware, nor a bond or a team, nor in one: sys_net_way() tells */
};
int sys_net_read(int sys_fd, const char *name, struct sys_net *ret);
/* Of one that may lead; of any other the link alone is to be believed. Some ten files, of use where no hardware is. The
 * link is the index of its other end, in whatever namespace that is; its own, or 0, if there is none. */
enum sys_net_way sys_net_way(int sys_fd, const char *name, uint32_t *ret_link);
/* Another number for another master; 0: it has none. One system call. */
uint64_t sys_net_master(int sys_fd, const char *name);

/* ---- hwmon.c ---- */
struct sys_sensor {
    char name[64];      /* chip/label */
    char path[96]; /* hwmon: ".../temp1", which "_input" and "_crit" are to be added to; zone: of the thermal zone */
    bool zone;
};
/* Calls fn for each temperature sensor of hwmon, and for thermal zones that are none of these. Returns how many. */
int sys_sensors(int sys_fd, void (*fn)(void *context, const struct sys_sensor *sensor), void *context);
/* Its value in millidegrees; this asks the hardware and may take long. Returns 0 or -errno. */
int sys_sensor_read(int sys_fd, const char *path, int64_t *ret_temperature);
int sys_sensor_critical(int sys_fd, const char *path, int64_t *ret_temperature);

#endif
