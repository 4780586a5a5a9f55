/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collectors have to report for tests/fixtures/machines, computed by hand from the machine's files: a number
 * of the file, times its unit. Not taken from any output. Include after "libbaro/sample/sample.h".
 */
#ifndef TESTS_MACHINES_BY_HAND_H
#define TESTS_MACHINES_BY_HAND_H

#include "libbaro/sample/sample.h"

struct by_hand {
    const char *machine;
    enum baro_kind kind;
    const char *entity; /* "": the host */
    int metric;
    uint64_t value;
    uint8_t absent;
};

#define KB 1024ull
#define TICK 10000000ull /* ns: 100 Hz */
#define SECTOR 512ull
#define PAGE 4096ull
#define MS 1000000ull
#define US 1000ull
#define HOST(machine, stem, value)                                                                                     \
    {                                                                                                                  \
        machine, BARO_KIND_HOST, "", HOST_##stem, value, BARO_PRESENT                                                  \
    }
#define HOST_NONE(machine, stem, why)                                                                                  \
    {                                                                                                                  \
        machine, BARO_KIND_HOST, "", HOST_##stem, 0, BARO_ABSENT_##why                                                 \
    }
#define OF(machine, KIND, name, stem, value)                                                                           \
    {                                                                                                                  \
        machine, BARO_KIND_##KIND, name, KIND##_##stem, value, BARO_PRESENT                                            \
    }
#define NONE(machine, KIND, name, stem, why)                                                                           \
    {                                                                                                                  \
        machine, BARO_KIND_##KIND, name, KIND##_##stem, 0, BARO_ABSENT_##why                                           \
    }

#define VM "6.18-x86_64-vm-hybrid"
#define QEMU "6.1-x86_64-qemu-v2"
#define RHEL "4.18-x86_64-rhel8-1cpu"
#define BIG "5.14-x86_64-192cpu-2nodes"
#define CRYPT "6.1-x86_64-nvme-crypt-lvm"
#define BTRFS "6.6-x86_64-btrfs-raid1"
#define ZFS "6.8-x86_64-zfs"
#define DOCKER1 "4.19-x86_64-docker-v1"
#define DOCKER2 "5.15-x86_64-docker-v2"
#define POD "5.15-x86_64-kubernetes-v2"
#define LXCFS "6.8-x86_64-lxcfs"
#define WSL "5.15-x86_64-wsl2"
#define GVISOR "4.4-x86_64-gvisor"
#define PI "6.6-aarch64-raspberry-pi"
#define MD "6.5-x86_64-md-bond-zram"
#define SESSION5 "/user.slice/user-1000.slice/session-5.scope"
#define SESSION3 "/user.slice/user-1000.slice/session-3.scope"
#define ID "3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a"
#define POD1 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice"

static const struct by_hand by_hand[] = {
    /* captured; eth0 and vda are the only hardware, loop0 was used and is not counted */
    HOST(VM, cpus, 2),
    HOST(VM, cpu_user, 607118 * TICK),
    HOST(VM, cpu_steal, 1257 * TICK),
    OF(VM, CPU, "cpu1", nice, 110162 * TICK),
    HOST(VM, switches, 36822759),
    HOST(VM, interrupts, 13976760),
    HOST(VM, uptime, 27996150 * MS),
    HOST(VM, load_15m, 2860000),
    HOST(VM, memory_used, (24684092 - 24080664) * KB),
    HOST(VM, faults_minor, 565577066 - 59361),
    HOST(VM, pressure_cpu_some, 2587048693 * US),
    HOST(VM, pressure_io_full, 48092141 * US),
    HOST_NONE(VM, pressure_irq_full, UNSUPPORTED),
    HOST(VM, disk_read, 44838770 * SECTOR),
    HOST(VM, disk_write, 32825136 * SECTOR),
    OF(VM, DISK, "vda", discard, 26210680 * SECTOR),
    OF(VM, DISK, "vda", flushes, 34965),
    OF(VM, DISK, "vda", size, 536870912 * SECTOR),
    OF(VM, DISK, "loop0", counted, 0),
    HOST(VM, net_receive, 701475575),
    HOST_NONE(VM, temperature, UNSUPPORTED),
    OF(VM, CPU, "cpu0", frequency, 2596120000),
    OF(VM, CGROUP, "/batch/job", memory, 149704704),
    OF(VM, CGROUP, "/batch/job", memory_working_set, 149704704 - 47742976),
    OF(VM, CGROUP, "/batch/job", faults_minor, 2796558 - 1080),
    NONE(VM, CGROUP, "/batch/job", memory_limit, UNSUPPORTED),
    NONE(VM, CGROUP, "/batch/job", cpu, UNSUPPORTED),

    HOST(QEMU, cpus, 2),
    HOST(QEMU, cpu_system, 218 * TICK),
    OF(QEMU, CPU, "cpu0", idle, 87 * TICK),
    HOST(QEMU, forks, 101),
    HOST(QEMU, uptime, 3730 * MS),
    HOST(QEMU, threads, 54),
    HOST(QEMU, zswap, 0),
    HOST(QEMU, oom_kills, 0),
    HOST(QEMU, pressure_cpu_some, 879586 * US),
    HOST(QEMU, disk_read, 0),
    HOST(QEMU, net_receive, 0),
    OF(QEMU, CGROUP, "/job/inner", memory, 925696),
    OF(QEMU, CGROUP, "/job/inner", memory_peak, 1122304),
    OF(QEMU, CGROUP, "/job/inner", cpu_system, 1955626 * US),
    OF(QEMU, CGROUP, "/job/inner", cpu_throttled_periods, 50),
    OF(QEMU, CGROUP, "/job/inner", cpu_limit, 500000),
    OF(QEMU, CGROUP, "/job/inner", pids_limit, 60),
    OF(QEMU, CGROUP, "/job/inner", pressure_cpu_full, 1913311 * US),
    OF(QEMU, CGROUP, "/job", memory_limit, 99999744),
    NONE(QEMU, CGROUP, "/job", pids_limit, UNSUPPORTED),

    /* one CPU; 18 fields in diskstats; sda1, sda2, dm-0 and dm-1 are on sda, sr0 did nothing; no pressure, no zswap */
    HOST(RHEL, cpus, 1),
    HOST(RHEL, cpu_user, 10000 * TICK),
    HOST(RHEL, cpu_steal, 700 * TICK),
    HOST(RHEL, cpu_iowait, 1500 * TICK),
    HOST(RHEL, uptime, 9174550 * MS),
    HOST(RHEL, load_1m, 80000),
    HOST(RHEL, threads, 137),
    HOST(RHEL, memory_used, (1860000 - 1250000) * KB),
    HOST(RHEL, swap_used, (2097148 - 2090000) * KB),
    HOST_NONE(RHEL, zswap, UNSUPPORTED),
    HOST(RHEL, faults_minor, 5000000 - 4000),
    HOST(RHEL, reclaim_scanned, (33000 + 700) * PAGE),
    HOST(RHEL, swap_out, 1800 * PAGE),
    HOST(RHEL, oom_kills, 2),
    HOST_NONE(RHEL, pressure_cpu_some, UNSUPPORTED),
    HOST_NONE(RHEL, pressure_irq_full, UNSUPPORTED),
    HOST(RHEL, disk_read, 1600000 * SECTOR),
    HOST(RHEL, disk_writes, 30000),
    OF(RHEL, DISK, "sda", discard, 8000 * SECTOR),
    NONE(RHEL, DISK, "sda", flushes, UNSUPPORTED),
    OF(RHEL, DISK, "sda", size, 41943040 * SECTOR),
    OF(RHEL, DISK, "dm-0", counted, 0),
    HOST(RHEL, net_receive, 880000000),
    OF(RHEL, NET, "ens192", receive_drops, 321),
    HOST_NONE(RHEL, temperature, UNSUPPORTED),
    OF(RHEL, CPU, "cpu0", frequency, 2095078000),
    OF(RHEL, CGROUP, SESSION5, memory, 700000000),
    OF(RHEL, CGROUP, SESSION5, memory_working_set, 700000000 - 300000000),
    OF(RHEL, CGROUP, SESSION5, faults_minor, 123456 - 456),
    OF(RHEL, CGROUP, SESSION5, oom_kills, 1),
    OF(RHEL, CGROUP, "/user.slice/user-1000.slice", memory_limit, 805306368),
    OF(RHEL, CGROUP, "/user.slice", cpu, 98765432100),
    OF(RHEL, CGROUP, "/user.slice", cpu_user, 7000 * TICK),
    OF(RHEL, CGROUP, "/user.slice", io_read, 409600),
    OF(RHEL, CGROUP, "/user.slice", io_writes, 180), /* on 8:0; 253:0 is on top of it */

    /* sums over 0..190 of the series in MACHINE: i is 18145; 500 + 2 i; 10 guests at 0, 64, 128 that are in user as
       well */
    HOST(BIG, cpus, 191),
    HOST(BIG, cpu_user, (191 * 1000 + 18145 - 30) * TICK),
    HOST(BIG, cpu_guest, 30 * TICK),
    HOST(BIG, cpu_system, (191 * 500 + 2 * 18145) * TICK),
    HOST(BIG, cpu_idle, (191 * 100000 - 10 * 18145) * TICK),
    OF(BIG, CPU, "cpu64", user, 1054 * TICK),
    OF(BIG, CPU, "cpu190", node, 1),
    OF(BIG, CPU, "cpu96", node, 0),
    OF(BIG, CPU, "cpu190", frequency, 2190000000),
    HOST(BIG, cpu_frequency, 2095000000),
    HOST(BIG, switches, 987654321098),
    HOST(BIG, interrupts, 123456789012),
    HOST(BIG, threads_running, 97),
    HOST(BIG, threads_blocked, 3),
    HOST(BIG, hugepages_total, 64 * 1048576 * KB),
    HOST(BIG, hugepages_free, 60 * 1048576 * KB),
    HOST(BIG, disk_read, 48000 * SECTOR),
    OF(BIG, DISK, "nvme0c0n1", counted, 1), /* and no nvme0n1, which has no numbers of its own before 6.3 */
    HOST(BIG, net_receive, 18446744073709551500u),
    HOST(BIG, net_transmit, 7600),
    OF(BIG, CGROUP, "/system.slice/slurmstepd.scope/job_42", cpuset, 32),
    OF(BIG, CGROUP, "/system.slice/slurmstepd.scope/job_42", memory_limit, 64ull << 30),

    /* the same bytes at nvme0n1, its third partition, the crypt over that and the volumes over that; cpu1 has guests,
       300 of user and 4 of nice */
    HOST(CRYPT, cpu_user, (4000 + 600 - 300) * TICK),
    HOST(CRYPT, cpu_nice, (0 + 10 + 20 + 30 - 4) * TICK),
    OF(CRYPT, CPU, "cpu1", user, 800 * TICK),
    HOST(CRYPT, cpu_guest, 300 * TICK),
    HOST(CRYPT, disk_read, 100000 * SECTOR),
    HOST(CRYPT, disk_write, 300000 * SECTOR),
    HOST(CRYPT, disk_reads, 1000),
    OF(CRYPT, DISK, "nvme0n1", flushes, 50),
    OF(CRYPT, DISK, "nvme0n1", discard, 81920 * SECTOR),
    OF(CRYPT, DISK, "nvme0n1", busy, 2500 * MS),
    OF(CRYPT, DISK, "nvme0n1", queue_time, 4700 * MS),
    OF(CRYPT, DISK, "nvme0n1", in_flight, 3),
    OF(CRYPT, DISK, "dm-3", write, 3920 * SECTOR),
    OF(CRYPT, DISK, "dm-0", counted, 0),
    OF(CRYPT, DISK, "dm-1", counted, 0),
    HOST(CRYPT, net_receive, 7000000 + 50000),
    HOST(CRYPT, net_transmit_packets, 3000 + 200),
    OF(CRYPT, NET, "docker0", counted, 0),
    OF(CRYPT, NET, "veth1a2b3c4", counted, 0),
    HOST(CRYPT, cpu_frequency, 1500000000),
    OF(CRYPT, CPU, "cpu3", frequency, 2400000000),
    OF(CRYPT, CPU, "cpu3", frequency_most, 3000000000),
    HOST(CRYPT, temperature, 52000),
    OF(CRYPT, SENSOR, "nvme/Composite", temperature, 38850),
    OF(CRYPT, SENSOR, "nvme/Composite", critical, 84850),
    NONE(CRYPT, SENSOR, "acpitz/temp1", critical, UNSUPPORTED),
    HOST(CRYPT, pressure_io_full, 70000 * US),
    HOST_NONE(CRYPT, pressure_irq_full, UNSUPPORTED),
    HOST(CRYPT, hugepages_free, 5 * 2048 * KB),
    HOST(CRYPT, reclaim_direct, 50000 * PAGE),
    HOST(CRYPT, load_15m, 3750000),
    OF(CRYPT, CGROUP, SESSION3, io_read, 1000000),
    OF(CRYPT, CGROUP, SESSION3, io_writes, 200),
    OF(CRYPT, CGROUP, SESSION3, memory_working_set, 1600000000),
    OF(CRYPT, CGROUP, "/user.slice/user-1000.slice", pids_limit, 13000),

    /* zram0 has no hardware, the three others have; wg0 is a tunnel */
    HOST(BTRFS, disk_read, (8000 + 7000 + 56) * SECTOR),
    HOST(BTRFS, disk_write, (16000 + 16000 + 72) * SECTOR),
    OF(BTRFS, DISK, "zram0", counted, 0),
    OF(BTRFS, DISK, "zram0", write, 200000 * SECTOR),
    HOST(BTRFS, net_receive, 123456),
    OF(BTRFS, NET, "wg0", counted, 0),
    HOST(BTRFS, pressure_irq_full, 44 * US),
    HOST(BTRFS, cpu_frequency, 2400250000),
    HOST(BTRFS, swap_used, 100000 * KB),

    /* a zvol is on top of its pool, which nothing shows but its lack of hardware */
    HOST(ZFS, disk_read, (400000 + 56000) * SECTOR),
    HOST(ZFS, disk_reads, 5700),
    OF(ZFS, DISK, "zd0", counted, 0),
    OF(ZFS, DISK, "zd0", write, 4800 * SECTOR),
    OF(ZFS, DISK, "sda", in_flight, 1),
    HOST(ZFS, pressure_io_some, 50000 * US),
    HOST(ZFS, pressure_memory_full, 0),
    HOST(ZFS, memory_slab, 9600000 * KB),

    /* a container: CPUs and disks are the host's, the interface with the route is its own and is counted because no
     * interface has hardware */
    HOST(DOCKER1, cpus, 16),
    HOST(DOCKER1, cpu_user, (16 * 1000 + 120) * TICK),
    HOST(DOCKER1, disk_write, 56000 * SECTOR),
    HOST(DOCKER1, net_receive, 5555),
    OF(DOCKER1, NET, "eth0", transmit_drops, 1),
    HOST_NONE(DOCKER1, pressure_io_some, UNSUPPORTED),
    HOST_NONE(DOCKER1, zswap, UNSUPPORTED),
    OF(DOCKER1, CGROUP, "/docker/" ID, cpu_limit, 1500000),
    OF(DOCKER1, CGROUP, "/docker/" ID, cpu_throttled, 2500000),
    OF(DOCKER1, CGROUP, "/docker/" ID, io_write, 8192),
    OF(DOCKER1, CGROUP, "/docker/" ID, memory_working_set, 1000000 - 250000),
    OF(DOCKER1, CGROUP, "/docker/" ID, memory_peak, 2000000),
    NONE(DOCKER1, CGROUP, "/docker/" ID, pressure_cpu_some, UNSUPPORTED),

    OF(DOCKER2, CGROUP, "/", cpu, 1000000 * US),
    OF(DOCKER2, CGROUP, "/", cpu_throttled, 350000 * US),
    OF(DOCKER2, CGROUP, "/", cpuset, 3),
    OF(DOCKER2, CGROUP, "/", memory_limit_hits, 12),
    OF(DOCKER2, CGROUP, "/", pids_limit_hits, 2),
    OF(DOCKER2, CGROUP, "/", io_reads, 2),
    OF(DOCKER2, CGROUP, "/", pressure_cpu_some, 300000 * US),
    NONE(DOCKER2, CGROUP, "/", pressure_cpu_full, UNSUPPORTED),
    NONE(DOCKER2, CGROUP, "/", memory_peak, UNSUPPORTED),
    HOST(DOCKER2, pressure_cpu_some, 900 * US),
    HOST(DOCKER2, net_transmit, 4444),

    OF(POD, CGROUP, POD1, memory_limit, 1073741824),
    OF(POD, CGROUP, POD1, cpu_limit, 2000000),
    OF(POD, CGROUP, POD1, cpu_throttled_periods, 123),
    OF(POD, CGROUP, POD1, oom_kills, 2),
    OF(POD, CGROUP, POD1 "/cri-containerd-" ID ".scope", memory, 950000000),
    NONE(POD, CGROUP, POD1 "/cri-containerd-" ID ".scope", memory_limit, UNSUPPORTED),
    HOST(POD, net_receive, 70000),
    OF(POD, NET, "flannel.1", counted, 0),
    OF(POD, NET, "cni0", counted, 0),
    HOST(POD, disk_read, 720000 * SECTOR),
    OF(POD, DISK, "vda", in_flight, 2),

    /* made up by lxcfs: 2 CPUs, 2 GiB; vmstat and pressure are the machine's */
    HOST(LXCFS, cpus, 2),
    HOST(LXCFS, memory_total, 2097152 * KB),
    HOST(LXCFS, oom_kills, 7),
    HOST(LXCFS, pressure_cpu_some, 123456789 * US),
    NONE(LXCFS, DISK, "nvme0n1", discard, UNSUPPORTED),
    HOST(LXCFS, disk_write, 4000 * SECTOR),
    HOST(LXCFS, net_receive, 80000),
    OF(LXCFS, CPU, "cpu1", node, 0),
    OF(LXCFS, CGROUP, "/init.scope", memory_peak, 350000000),
    OF(LXCFS, CGROUP, "/", memory_limit, 2147483648),

    /* three drives; bond0 has no traffic and no member: all is eth0's */
    HOST(WSL, cpus, 8),
    HOST(WSL, disk_read, (24000 + 1000 + 500000) * SECTOR),
    HOST(WSL, disk_writes, 2 + 3000),
    OF(WSL, DISK, "sdc", discard, 900000 * SECTOR),
    HOST(WSL, net_receive, 400000),
    OF(WSL, NET, "sit0", counted, 0),
    HOST_NONE(WSL, pressure_cpu_some, UNSUPPORTED),
    HOST_NONE(WSL, temperature, UNSUPPORTED),

    /* zeros that mean "unknown" are no values; known values stay */
    HOST_NONE(GVISOR, cpu_user, UNSUPPORTED),
    HOST_NONE(GVISOR, switches, UNSUPPORTED),
    HOST_NONE(GVISOR, forks, UNSUPPORTED),
    HOST_NONE(GVISOR, threads, UNSUPPORTED),
    HOST_NONE(GVISOR, faults_major, UNSUPPORTED),
    HOST_NONE(GVISOR, disk_read, UNSUPPORTED),
    HOST_NONE(GVISOR, hugepages_total, UNSUPPORTED),
    HOST(GVISOR, cpus, 2),
    HOST(GVISOR, memory_used, (2097152 - 2000000) * KB),
    HOST(GVISOR, uptime, 77010 * MS),
    HOST_NONE(GVISOR, net_receive, UNKNOWN),
    OF(GVISOR, NET, "eth0", receive, 3000),
    OF(GVISOR, CPU, "cpu1", frequency, 2200000000),

    /* pages of 16 KiB; one policy for all CPUs; a zone is the only sensor; unused ram and loop devices are not shown */
    HOST(PI, reclaim_scanned, (5 + 2) * 16384),
    HOST(PI, reclaimed, (3 + 1) * 16384),
    HOST(PI, swap_out, 2 * 16384),
    HOST(PI, temperature, 48686),
    OF(PI, SENSOR, "cpu-thermal/thermal_zone0", critical, 110000),
    HOST(PI, cpu_frequency, 1500000000),
    OF(PI, CPU, "cpu2", frequency_most, 2400000000),
    HOST(PI, disk_read, 300000 * SECTOR),
    OF(PI, DISK, "mmcblk0", size, 62333952 * SECTOR),
    HOST(PI, net_receive, 123000),
    OF(PI, NET, "wlan0", receive_drops, 17),
    NONE(PI, CPU, "cpu0", node, UNSUPPORTED),
    OF(PI, CGROUP, "/user.slice/user-1000.slice/session-1.scope", pids, 9),
    NONE(PI, CGROUP, "/user.slice/user-1000.slice/session-1.scope", memory, UNSUPPORTED),

    /* md0 and zram0 are on top of others; the bond is counted, its members are not, nor what is on top of it; eth2 is
     * none of its members */
    HOST(MD, disk_read, (80000 + 90000) * SECTOR),
    HOST(MD, disk_write, 480000 * SECTOR),
    OF(MD, DISK, "md0", counted, 0),
    OF(MD, DISK, "md0", read, 168000 * SECTOR),
    HOST(MD, net_receive, 40000 + 500),
    HOST(MD, net_transmit, 60000 + 600),
    HOST(MD, net_receive_packets, 405),
    OF(MD, NET, "eth0", counted, 0),
    OF(MD, NET, "bond0", counted, 1),
    OF(MD, NET, "eth2", counted, 1),
    OF(MD, NET, "bond0.100", counted, 0),
    OF(MD, NET, "br0", counted, 0),
    OF(MD, NET, "veth77", counted, 0),
    OF(MD, NET, "eth0", receive_errors, 1),
    HOST(MD, zswap, 300000 * KB),
    HOST(MD, zswapped, 900000 * KB),
    HOST(MD, swap_in, 50000 * PAGE),
    HOST(MD, reclaim_direct, 100000 * PAGE),
    HOST(MD, oom_kills, 5),
    HOST(MD, pressure_memory_full, 600000000),
    HOST(MD, temperature, 31000),
    OF(MD, SENSOR, "drivetemp/temp1#2", critical, 60000),
};

#endif
