/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of the files of /proc about the machine; rules as in procfs.h. Names point into the parsed text. Counters are
 * the kernel's own: some wrap at 32 bits, some decrease; readers of tapes compute differences.
 */
#ifndef KERNEL_PROC_MACHINE_H
#define KERNEL_PROC_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* /proc/stat, fields of a "cpu" line in the kernel's order. */
enum cpu_mode {
    MODE_USER,
    MODE_NICE,
    MODE_SYSTEM,
    MODE_IDLE,
    MODE_IOWAIT,
    MODE_IRQ,
    MODE_SOFTIRQ,
    MODE_STEAL,
    MODE_GUEST,
    MODE_GUEST_NICE,
    MODE_MAX
};
#define PROC_CPU_ALL UINT32_MAX

struct proc_cpu {
    uint32_t number; /* PROC_CPU_ALL: the kernel's sum of all */
    uint32_t valid;  /* bit per enum cpu_mode: old kernels have fewer */
    /* The kernel counts guest in user as well, and guest_nice in nice; both are subtracted here. */
    uint64_t ticks[MODE_MAX];
};

enum proc_stat_field {
    PROC_STAT_SWITCHES,
    PROC_STAT_INTERRUPTS,
    PROC_STAT_BTIME,
    PROC_STAT_FORKS,
    PROC_STAT_RUNNING,
    PROC_STAT_BLOCKED,
    PROC_STAT_MAX
};
struct proc_stat {
    uint32_t valid;
    uint64_t value[PROC_STAT_MAX];
    uint32_t cpus; /* number of lines of single CPUs, which are those online */
};
typedef void proc_cpu_fn(void *context, const struct proc_cpu *cpu);
/* Calls fn (may be NULL) for each cpu line, the sum first. CPUs that are offline have no line. Only the sum of the
 * interrupts is parsed. */
int proc_stat_parse(struct span text, struct proc_stat *ret, proc_cpu_fn *fn, void *context);

/* /proc/loadavg: averages in millionths; last_pid is the pid assigned last in the reader's pid namespace, 0 if it is
 * missing. */
struct proc_loadavg {
    uint64_t load_1m, load_5m, load_15m, running, threads, last_pid;
};
int proc_loadavg_parse(struct span text, struct proc_loadavg *ret);

/* /proc/uptime, the first number. */
int proc_uptime_parse(struct span text, uint64_t *ret_ns);

/* /proc/meminfo, bytes. */
enum meminfo_field {
    MEM_TOTAL,
    MEM_FREE,
    MEM_AVAILABLE,
    MEM_BUFFERS,
    MEM_CACHED,
    MEM_ACTIVE,
    MEM_INACTIVE,
    MEM_ACTIVE_ANON,
    MEM_INACTIVE_ANON,
    MEM_ACTIVE_FILE,
    MEM_INACTIVE_FILE,
    MEM_SWAP_TOTAL,
    MEM_SWAP_FREE,
    MEM_ZSWAP,
    MEM_ZSWAPPED,
    MEM_DIRTY,
    MEM_WRITEBACK,
    MEM_ANON,
    MEM_SHMEM,
    MEM_SLAB,
    MEM_SLAB_RECLAIMABLE,
    MEM_HUGE_TOTAL,
    MEM_HUGE_FREE,
    MEM_MAX
};
struct proc_meminfo {
    uint32_t valid;
    uint64_t value[MEM_MAX];
};
int proc_meminfo_parse(struct span text, struct proc_meminfo *ret);

/* /proc/vmstat: events and pages. */
enum vmstat_field {
    VM_SWAP_IN,
    VM_SWAP_OUT,
    VM_FAULTS,
    VM_FAULTS_MAJOR,
    VM_STEAL_KSWAPD,
    VM_STEAL_DIRECT,
    VM_SCAN_KSWAPD,
    VM_SCAN_DIRECT,
    VM_OOM_KILLS,
    VM_MAX
};
struct proc_vmstat {
    uint32_t valid;
    uint64_t value[VM_MAX];
    size_t end; /* offset of the end of the last line that is used */
};
int proc_vmstat_parse(struct span text, struct proc_vmstat *ret);

/* /proc/diskstats: a line has 3 + 11 fields, + 4 since 4.18 (discards), + 2 since 5.5 (flushes); partitions had 3 + 4
 * before 2.6.25. Times in ms. */
enum disk_field {
    DISKSTAT_READS,
    DISKSTAT_READS_MERGED,
    DISKSTAT_READ_SECTORS,
    DISKSTAT_READ_MS,
    DISKSTAT_WRITES,
    DISKSTAT_WRITES_MERGED,
    DISKSTAT_WRITE_SECTORS,
    DISKSTAT_WRITE_MS,
    DISKSTAT_IN_FLIGHT,
    DISKSTAT_BUSY_MS,
    DISKSTAT_QUEUE_MS,
    DISKSTAT_DISCARDS,
    DISKSTAT_DISCARDS_MERGED,
    DISKSTAT_DISCARD_SECTORS,
    DISKSTAT_DISCARD_MS,
    DISKSTAT_FLUSHES,
    DISKSTAT_FLUSH_MS,
    DISKSTAT_MAX
};
#define DISK_SECTOR 512u /* the unit of the counters, whatever the sectors of the device */
struct proc_disk {
    uint32_t major, minor;
    struct span name;
    uint32_t valid;
    uint64_t value[DISKSTAT_MAX];
};
/* The next device; malformed lines are skipped. Returns false at the end, and at a truncated line. */
bool proc_disk_next(struct span *text, struct proc_disk *ret);

/* /proc/net/dev: 8 numbers for each direction. */
enum net_field { NET_BYTES, NET_PACKETS, NET_ERRORS, NET_DROPS, NET_FIELDS = 8 };
struct proc_net {
    struct span name;
    uint64_t receive[NET_FIELDS], transmit[NET_FIELDS];
};
bool proc_net_next(struct span *text, struct proc_net *ret);

/* /proc/net/route and /proc/net/ipv6_route: the next route that is up and does not reject. */
struct proc_route {
    struct span name;
    bool all;     /* a default route */
    bool network; /* to more than one address; not IPv6 link-local and multicast, which every interface has */
};
bool proc_route_next(struct span *text, struct proc_route *ret);
bool proc_route6_next(struct span *text, struct proc_route *ret);

/* /proc/pressure/X, and X.pressure of a control group: total stall times. "full" is missing for cpu before 5.13, "some"
 * for irq. */
struct proc_pressure {
    bool has_some, has_full;
    uint64_t some_ns, full_ns;
};
int proc_pressure_parse(struct span text, struct proc_pressure *ret);

/* A record of /dev/kmsg. */
struct kmsg_record {
    uint64_t t_us;       /* on the clock of the log */
    uint64_t oom_killed; /* the pid in the initial PID namespace; 0: the record is of something else */
    uint64_t oom_chosen; /* the same, of a record that names the group before that one; 0: it is another record */
    uint64_t oom_limit;  /* the memory limit of a group that ran out, in a record before these; 0: it is another one */
    struct span oom_group; /* the control group whose limit was hit */
};
int kmsg_parse(struct span text, struct kmsg_record *ret);

/* /proc/self/mountinfo. Texts are not unescaped: blank, tab, newline and backslash are octal escapes. */
struct proc_mount {
    uint32_t id, parent, major, minor;
    struct span root, point, type, source, options; /* options: those of the superblock */
};
bool proc_mount_next(struct span *text, struct proc_mount *ret);
/* Resolves the escapes; writes at most cap bytes with a NUL. Returns the length without it, or -ENAMETOOLONG. */
int proc_mount_unescape(struct span text, char *to, size_t cap);

/* /proc/cpuinfo, which differs by architecture: the name of the first CPU, and the frequency of each if it is there. */
struct proc_cpuinfo {
    struct span model, implementer, part; /* arm64 has no name but two numbers */
};
int proc_cpuinfo_parse(struct span text, struct proc_cpuinfo *ret,
                       void (*fn)(void *context, uint32_t cpu, uint64_t hertz), void *context);

#endif
