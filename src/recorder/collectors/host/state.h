/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the machine's collector; private to this folder. */
#ifndef RECORDER_COLLECTORS_HOST_STATE_H
#define RECORDER_COLLECTORS_HOST_STATE_H

#include "base/span.h"
#include "kernel/proc/machine.h"
#include "kernel/sys/sysfs.h"
#include "recorder/collectors/host/host.h"
#include "recorder/helper/helper.h"
#include "recorder/sampling/entity.h"

enum host_file {
    HOST_FILE_STAT,
    HOST_FILE_LOADAVG,
    HOST_FILE_UPTIME,
    HOST_FILE_MEMINFO,
    HOST_FILE_VMSTAT,
    HOST_FILE_DISKSTATS,
    HOST_FILE_NETDEV,
    HOST_FILE_PRESSURE_CPU,
    HOST_FILE_PRESSURE_MEMORY,
    HOST_FILE_PRESSURE_IO,
    HOST_FILE_PRESSURE_IRQ,
    HOST_FILE_MOUNTINFO,
    HOST_FILE_MAX
};

/*
 * A total over devices that come and go never falls: it grows by the growth of each counted device. A counter that fell
 * adds nothing in that tick (base/growth.h). A disk that appears adds all that its counters
 * show, as they began with it. An interface that appears adds only its growth from then on, as it may have been moved
 * here from another namespace. Example: sda grew by 5 MB, a new sdb shows 2 MB, and sdc was removed: the total grows by
 * 7 MB.
 */
enum { TOTAL_READ, TOTAL_WRITE, TOTAL_READS, TOTAL_WRITES, DEVICE_TOTALS };

struct host_device {
    char name[64];
    uint32_t major, minor;      /* of a disk */
    uint64_t identity;          /* diskseq, ifindex; 0: not known */
    uint64_t master;            /* sys_net_master() */
    struct baro_entity *entity; /* NULL: a partition, or an unused device such as a loop device */
    bool unused;                /* no medium and no I/O so far */
    bool known;                 /* its properties were read from /sys */
    bool counted;
    bool may_lead; /* of an interface: struct sys_net */
    uint32_t link; /* from sys_net_way(), if that was called */
    enum sys_net_way way;
    /* a route to a network, or the default route, uses it; only read if there are several candidates */
    bool route, route_all;
    bool primed; /* last[] is valid */
    uint64_t last[DEVICE_TOTALS];
    uint64_t seen_tick; /* the last tick in which it was found */
};

struct devices {
    struct host_device *at; /* in the order of the file */
    size_t n, cap, next;    /* next: where the next device is expected */
    uint64_t total[DEVICE_TOTALS];
    bool unknown; /* for some device it is not known whether it counts */
};

#define FS_PARTS_MOST 64u

struct fs_part {
    char *point; /* where it is mounted; requested from the helper */
    uint64_t used, available, id;
    bool answered;
};

/* A filesystem, or a ZFS pool, whose parts are its datasets. */
struct fs {
    uint32_t major, minor;
    char *source, *type;
    bool pool, by_source;   /* grouped by the name of the source: btrfs, ZFS */
    bool local;             /* on a local device: it does not hang because of a server */
    bool asked, hung, twin; /* twin: another entry shows the same filesystem */
    uint32_t tries;
    uint64_t due_ns;
    struct fs_part *part;
    size_t n_parts, outstanding;
    struct baro_entity *entity;
    bool seen; /* in the mount table that was read last */
};

struct sensor {
    char path[96];
    uint32_t tries;
    struct baro_entity *entity;
    bool barred, seen;
};

struct host {
    struct host_options o;
    int fd[HOST_FILE_MAX];
    uint8_t file_absent[HOST_FILE_MAX];
    char *text; /* buffer for the file that is read; grows to the largest one */
    size_t cap;

    uint64_t now_ns, read_ns, ticks;
    uint32_t vmstat_valid; /* the fields of /proc/vmstat when it was read whole */
    size_t vmstat_end;     /* how many bytes of it were needed */
    uint64_t value[HOST_MAX];
    uint8_t absent[HOST_MAX];
    struct entity_table table[KIND_COUNT];

    struct baro_entity **cpu; /* by number */
    uint64_t *cpu_seen_tick;
    size_t cap_cpus;
    bool new_cpus;      /* their properties were not read from /sys yet */
    bool stat_is_empty; /* /proc/stat has only zeros, which are not values */
    struct devices disks, nets;
    uint64_t masters_due_ns, ways_due_ns;
    /* a machine without network hardware has several candidates: the routes decide, and they may change */
    bool many_ways;

    struct helper *slow;
    struct helper_request *requests;
    size_t n_requests, cap_requests;
    uint64_t helper_due_ns, frequency_due_ns, frequency_every_ns;
    /* since the last request: it changed, or has a governor, which may change it at any time */
    bool frequency_moves;
    struct fs *fs;
    size_t n_fs, cap_fs;
    bool mounts_read;
    bool last; /* no tick follows: replies are waited for, but not for long */
    struct sensor *sensor;
    size_t n_sensors, cap_sensors;
    uint64_t chips; /* sum of the hashes of the chips' names, to detect changes */
};

static inline void host_put(struct host *h, enum host_metric m, uint64_t value)
{
    h->value[m] = value;
    h->absent[m] = BARO_PRESENT;
}

static inline void host_lack(struct host *h, enum host_metric m, enum baro_absent why)
{
    h->value[m] = 0;
    h->absent[m] = (uint8_t)why;
}

/* Puts value times factor; absent if that does not fit into 64 bits. */
void host_put_times(struct host *h, enum host_metric m, uint64_t value, uint64_t factor);
void entity_put_times(struct baro_entity *e, int m, uint64_t value, uint64_t factor);

/* host.c: reads a whole file of /proc. Returns false if it can't be read; the reason is in file_absent. */
bool host_file(struct host *h, enum host_file which, struct span *ret);
/* The same, but at most its first `most` bytes. */
bool host_file_begin(struct host *h, enum host_file which, size_t most, struct span *ret);
/* Grows an array of elements of `size` bytes to hold more than n. Returns false if out of memory. */
bool host_grow(void **at, size_t *cap, size_t n, size_t size);

/* proc.c */
void host_memory(struct host *h);
void host_events(struct host *h);
void host_load(struct host *h);
void host_pressure(struct host *h);
/* cpu.c */
void host_cpus(struct host *h);
void host_frequencies(struct host *h, uint32_t first, const struct helper_reply *reply);
/* devices.c */
struct host_device *devices_find(struct devices *all, struct span name, uint32_t major, uint32_t minor, bool *ret_new);
/* Adds the growth of d to the totals. from_start: for a new device, all that its counters show. */
void devices_count(struct devices *all, struct host_device *d, const uint64_t now[DEVICE_TOTALS], bool from_start);
void devices_sweep(struct host *h, struct devices *all, struct entity_table *t);
/* disk.c, net.c, net_paths.c */
void host_disks(struct host *h);
void host_nets(struct host *h);
void host_ways_out(struct host *h);
/* fs.c */
void host_mounts(struct host *h);
void fs_request(struct host *h);
void fs_reply(struct host *h, const struct helper_reply *reply);
void fs_done(struct host *h);
/* sensor.c */
void host_sensors(struct host *h);
void sensors_request(struct host *h);
void sensor_reply(struct host *h, const struct helper_reply *reply);
/* ask_helper.c */
bool host_ask(struct host *h, struct helper_request request);
void host_ask_helper(struct host *h, enum budget_level level);

#endif
