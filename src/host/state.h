/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the machine's collector, for its own files. */
#ifndef HOST_STATE_H
#define HOST_STATE_H

#include "base/span.h"
#include "entity/entity.h"
#include "host/host.h"
#include "helper/helper.h"
#include "procfs/machine.h"
#include "sysfs/sysfs.h"

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
 * A total over devices that come and go never falls: it grows by what each counted device grew by. A counter that fell
 * (a driver was loaded anew, 32 bits wrapped) adds nothing at that look. A disk that appears adds all that it shows,
 * for its counters began with it; an interface that appears adds what it grows by from then on, for it may have come
 * from another namespace with a past.
 */
enum { TOTAL_READ, TOTAL_WRITE, TOTAL_READS, TOTAL_WRITES, DEVICE_TOTALS };

struct device {
    char name[64];
    uint32_t major, minor;       /* of a disk */
    uint64_t identity;           /* diskseq, ifindex; 0: not known */
    uint64_t master;             /* sys_net_master() */
    struct baro_entity *entity;  /* NULL: a partition, or an unused loop device and the like */
    bool unused;                 /* no medium and no I/O so far */
    bool known;                  /* /sys told of it */
    bool counted;
    bool may_lead;               /* of an interface: struct sys_net */
    uint32_t link;               /* sys_net_way(), where that was asked */
    enum sys_net_way way;
    bool route, route_all; /* a route leads through it to a network, to everywhere; looked at where there is a choice */
    bool primed;                 /* last[] holds something */
    uint64_t last[DEVICE_TOTALS];
    uint64_t looked;             /* the look that saw it last */
};

struct devices {
    struct device *at;           /* in the file's order */
    size_t n, cap, next;         /* next: where the one to come is expected */
    uint64_t total[DEVICE_TOTALS];
    bool unknown;                /* of some device nobody can tell whether it counts */
};

#define FS_PARTS_MOST 64u

struct fs_part {
    char *point;                 /* where it is mounted: what is asked */
    uint64_t used, available, id;
    bool answered;
};

/* A filesystem, or all datasets of a ZFS pool, each of which is a part. */
struct fs {
    uint32_t major, minor;
    char *source, *type;
    bool pool, by_source;        /* grouped by the name of the source: btrfs, ZFS */
    bool local;                  /* on a device: it won't hang for want of a server */
    bool asked, hung, twin;      /* twin: another entry shows the same filesystem */
    uint32_t tries;
    uint64_t due_ns;
    struct fs_part *part;
    size_t n_parts, outstanding;
    struct baro_entity *entity;
    bool seen;                   /* in the mount table as it was read last */
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
    char *text;                  /* what was read; grows with the largest file */
    size_t cap;

    uint64_t now_ns, read_ns, looks;
    uint32_t vmstat_valid;       /* what of /proc/vmstat there was when it was read whole */
    size_t vmstat_end;           /* and how much of it was needed */
    uint64_t value[HOST_MAX];
    uint8_t absent[HOST_MAX];
    struct entity_table table[KIND_COUNT];

    struct baro_entity **cpu;    /* by number */
    uint64_t *cpu_looked;
    size_t cap_cpus;
    bool new_cpus;               /* what is said of them in /sys was not read yet */
    bool stat_is_empty;          /* its CPUs never did anything, not even idle: no zero in it is a value */
    struct devices disks, nets;
    uint64_t masters_due_ns, ways_due_ns;
    bool many_ways;              /* out of a machine without hardware: routes tell which, and may change */

    struct helper *slow;
    struct helper_request *requests;
    size_t n_requests, cap_requests;
    uint64_t helper_due_ns, frequency_due_ns, frequency_every_ns;
    bool frequency_moves;        /* since it was asked: changed, or has a governor, which may change it at any moment */
    struct fs *fs;
    size_t n_fs, cap_fs;
    bool mounts_read;
    bool last;                   /* no look follows: what is asked now is waited for, but not for long */
    struct sensor *sensor;
    size_t n_sensors, cap_sensors;
    uint64_t chips;              /* a sum over the names of what there is, to see changes by */
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

/* value times factor, or absent where that is more than 64 bits hold */
void host_put_times(struct host *h, enum host_metric m, uint64_t value, uint64_t factor);
void entity_put_times(struct baro_entity *e, int m, uint64_t value, uint64_t factor);

/* host.c: reads a file of /proc whole. False, with the reason in file_absent, if it can't be read. */
bool host_file(struct host *h, enum host_file which, struct span *ret);
/* No more than its first bytes. */
bool host_file_begin(struct host *h, enum host_file which, size_t most, struct span *ret);
/* Grows an array of size-byte elements to hold more than n. False without memory. */
bool host_grow(void **at, size_t *cap, size_t n, size_t size);

/* host_proc.c */
void host_memory(struct host *h);
void host_events(struct host *h);
void host_load(struct host *h);
void host_pressure(struct host *h);
/* host_cpu.c */
void host_cpus(struct host *h);
void host_frequencies(struct host *h, uint32_t first, const struct helper_reply *reply);
/* host_devices.c */
typedef void device_read_fn(struct host *h, struct device *d);
struct device *devices_find(struct devices *all, struct span name, uint32_t major, uint32_t minor, bool *ret_new);
/* What it grew by, onto the totals. from_start: of one that is new, all that it shows. */
void devices_count(struct devices *all, struct device *d, const uint64_t now[DEVICE_TOTALS], bool from_start);
void devices_sweep(struct host *h, struct devices *all, struct entity_table *t);
/* host_disk.c, host_net.c, host_ways.c */
void host_disks(struct host *h);
void host_nets(struct host *h);
void host_ways_out(struct host *h);
/* host_fs.c */
void host_mounts(struct host *h);
void fs_request(struct host *h);
void fs_reply(struct host *h, const struct helper_reply *reply);
void fs_done(struct host *h);
/* host_sensor.c */
void host_sensors(struct host *h);
void sensors_request(struct host *h);
void sensor_reply(struct host *h, const struct helper_reply *reply);
/* helper.c */
bool host_ask(struct host *h, struct helper_request request);
void host_ask_helper(struct host *h, enum budget_level level);

#endif
