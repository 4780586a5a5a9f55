/* SPDX-License-Identifier: Apache-2.0 */
/* The collector of the machine, on trees of files made here, which change between readings. Values typed by hand. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host_tree.h"
#include "libbaro/fold/fold.h"

/* ---- the whole ---- */

static void memory_load_events_pressure(void **state)
{
    put("proc/meminfo",
        "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n");
    put("proc/loadavg", "0.28 12.05 3.00 2/891 11735\n");
    put("proc/uptime", "350735.47 234388.90\n");
    put("proc/vmstat",
        "pswpin 3\npswpout 4\npgfault 1000\npgmajfault 30\npgsteal_kswapd 5\npgsteal_direct 6\npgscan_kswapd "
        "7\npgscan_direct 8\n");
    put("proc/pressure/cpu",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=15\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    put("proc/pressure/io",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    machine_open(false);
    is(HOST_memory_total, 1024000);
    is(HOST_memory_used, 600 * 1024);
    is(HOST_swap_used, 30 * 1024);
    lacks(HOST_memory_dirty, BARO_ABSENT_UNSUPPORTED);
    is(HOST_load_5m, 12050000);
    is(HOST_threads, 891);
    is(HOST_uptime, 350735470000000);
    is(HOST_faults_minor, 970);
    is(HOST_faults_major, 30);
    is(HOST_reclaim_scanned, 15 * 4096);
    is(HOST_reclaim_direct, 8 * 4096);
    is(HOST_reclaimed, 11 * 4096);
    is(HOST_swap_in, 3 * 4096);
    is(HOST_swap_out, 4 * 4096);
    lacks(HOST_oom_kills, BARO_ABSENT_UNSUPPORTED); /* before 4.13 */
    is(HOST_pressure_cpu_some, 15000);
    is(HOST_pressure_io_full, 7000);
    lacks(HOST_pressure_memory_some, BARO_ABSENT_UNSUPPORTED); /* no such file */
    lacks(HOST_cpu_user, BARO_ABSENT_UNSUPPORTED);
    put("proc/meminfo",
        "MemTotal: 1000 kB\nMemFree: 100 kB\nSwapTotal: 50 kB\nSwapFree: 51 kB\n"); /* LXCFS, an old kernel, a race */
    put("proc/loadavg", "");
    host_tree_read();
    lacks(HOST_memory_used, BARO_ABSENT_UNSUPPORTED);
    is(HOST_swap_used, 0);
    lacks(HOST_load_1m, BARO_ABSENT_UNKNOWN);
}

/* Only as much is read as was needed the last time: wanted lines may move backwards, and may go and come. */
static void moving_lines_of_vmstat(void **state)
{
    char text[400], rest[160];
    put("proc/vmstat", "nr_free_pages 1\npgmajfault 30\noom_kill 2\nnuma_hit 5\n");
    machine_open(false);
    for (int i = 0; i < 3; i++)
        host_tree_read();
    is(HOST_oom_kills, 2);
    put("proc/vmstat", "nr_free_pages 10000000000000000000\npgmajfault 31\noom_kill 3\nnuma_hit 5\n");
    host_tree_read();
    is(HOST_oom_kills, 3);
    memset(rest, '1', sizeof(rest)); /* the first reading would have ended in the middle of a number */
    snprintf(text, sizeof(text), "nr_free_pages %.*s\npgmajfault 32\noom_kill 4444444444\n", (int)sizeof(rest), rest);
    put("proc/vmstat", text);
    host_tree_read();
    is(HOST_faults_major, 32);
    is(HOST_oom_kills, 4444444444);
    put("proc/vmstat", "pgmajfault 33\n");
    host_tree_read();
    is(HOST_faults_major, 33);
    lacks(HOST_oom_kills, BARO_ABSENT_UNSUPPORTED);
    put("proc/vmstat", "");
    host_tree_read();
    lacks(HOST_faults_major, BARO_ABSENT_UNKNOWN);
    put("proc/vmstat", "pgmajfault 34\noom_kill 5\n");
    host_tree_read();
    is(HOST_oom_kills, 5);
}

/* ---- CPUs ---- */

static void cpus_come_and_go(void **state)
{
    put("proc/stat",
        "cpu 30 0 0 100 0 0 0 0 10 0\ncpu0 20 0 0 50 0 0 0 0 10 0\ncpu1 10 0 0 50 0 0 0 0 0 0\nintr 7 7\nctxt 5\nbtime "
        "1\nprocesses 9\n"
        "procs_running 2\nprocs_blocked 1\n");
    put("sys/devices/system/node/node0/cpulist", "0\n");
    put("sys/devices/system/node/node1/cpulist", "1-3\n");
    machine_open(false);
    is(HOST_cpu_user, 200000000);
    is(HOST_cpu_guest, 100000000);
    is(HOST_cpus, 2);
    is(HOST_interrupts, 7);
    is(HOST_forks, 9);
    is(HOST_threads_blocked, 1);
    const struct baro_entity *one = named(BARO_KIND_CPU, "cpu1");
    assert_non_null(one);
    uint32_t first = one->id;
    assert_int_equal(one->kind, BARO_KIND_CPU);
    assert_int_equal(one->value[CPU_user], 100000000);
    assert_true(one->value[CPU_node] == 1 && !one->absent[CPU_node]);
    put("proc/stat", "cpu 30 0 0 100\ncpu0 20 0 0 50\nctxt 5\n"); /* unplugged, and an old kernel */
    host_tree_read();
    assert_null(named(BARO_KIND_CPU, "cpu1"));
    is(HOST_cpus, 1);
    lacks(HOST_cpu_steal, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_forks, BARO_ABSENT_UNSUPPORTED);
    put("proc/stat", "cpu 30 0 0 100 0 0 0 0 10 0\ncpu0 20 0 0 50 0 0 0 0 10 0\ncpu1 1 0 0 5 0 0 0 0 0 0\n");
    host_tree_read();
    one = named(BARO_KIND_CPU, "cpu1");
    assert_true(one && one->id > first && one->value[CPU_node] == 1); /* another one */
}

/* A sandbox whose file has lines without values: a CPU of which nothing is known is not shown as one that never
 * worked. */
static void zeros_are_no_values(void **state)
{
    put("proc/stat",
        "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 1795233600\nprocesses 0\n");
    put("proc/loadavg", "0.00 0.00 0.00 0/0 0\n"); /* not even the thread that reads it */
    machine_open(false);
    lacks(HOST_cpu_idle, BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(named(BARO_KIND_CPU, "cpu0")->absent[CPU_user], BARO_ABSENT_UNSUPPORTED);
    is(HOST_cpus, 1);
    lacks(HOST_switches, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_interrupts, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_forks, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_load_15m, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_threads, BARO_ABSENT_UNSUPPORTED);
    put("proc/stat",
        "cpu  0 0 0 7 0 0 0 0 0 0\ncpu0 0 0 0 7 0 0 0 0 0 0\nintr 0\nctxt 3\nbtime 1795233600\nprocesses 0\n");
    put("proc/loadavg", "0.00 0.00 0.00 1/2 2\n");
    host_tree_read(); /* where values are known, zero is a value, too */
    is(HOST_switches, 3);
    is(HOST_forks, 0);
    is(HOST_load_15m, 0);
}

/*
 * Time spent waiting for I/O is the kernel's estimate and may fall (proc(5)); with LXCFS the sum falls when CPUs are
 * taken away from a container. Values are recorded as they are; a fall makes no growth.
 */
static void falling_counters_make_no_growth(void **state)
{
    static const struct {
        const char *stat;
        uint64_t iowait, busy; /* ticks since the first reading */
    } at[] = {
        {"cpu 10 0 0 1000 100 0 0 0 0 0\ncpu0 10 0 0 1000 100 0 0 0 0 0\n", 100, 0},
        {"cpu 15 0 0 1010 80 0 0 0 0 0\ncpu0 15 0 0 1010 80 0 0 0 0 0\n", 80, 5},
        {"cpu 20 0 0 1020 95 0 0 0 0 0\ncpu0 20 0 0 1020 95 0 0 0 0 0\n", 95, 10},
        {"cpu 8 0 0 500 40 0 0 0 0 0\ncpu0 8 0 0 500 40 0 0 0 0 0\n", 40, 10},
        {"cpu 11 0 0 501 40 0 0 0 0 0\ncpu0 11 0 0 501 40 0 0 0 0 0\n", 40, 13},
    };
    const uint64_t tick = 10 * NS_PER_MS;
    put("proc/stat", at[0].stat);
    machine_open(false);
    struct fold seen;
    fold_init(&seen);
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        put("proc/stat", at[i].stat);
        host_tree_read();
        fold_add(&seen, &m.sample);
        is(HOST_cpu_iowait, at[i].iowait * tick);
        assert_int_equal(named(BARO_KIND_CPU, "cpu0")->value[CPU_iowait], at[i].iowait * tick);
        assert_int_equal(seen.cell[FOLD_HOST_BUSY].grown, at[i].busy * tick);
    }
    /* All CPU time: 1110, 1105, 1135, 548, 552 ticks. */
    assert_int_equal(seen.cell[FOLD_HOST_ALL].grown, 34 * tick);
    fold_done(&seen);
}

/* 300 CPUs, of which the last is offline, and interrupts for 100 kB: the lines after that one are read all the same. */
static void a_large_machine(void **state)
{
    enum { CPUS = 300, INTERRUPTS = 50000 };
    char *text = malloc(1 << 20);
    assert_non_null(text);
    for (int cpus = CPUS; cpus >= CPUS - 1; cpus--) {
        char *p = text + sprintf(text, "cpu 18446744073709551615 0 0 7 0 0 0 0 0 0\n");
        for (int i = 0; i < cpus; i++)
            p += sprintf(p, "cpu%d %d 0 0 5 0 0 0 0 0 0\n", i, i);
        p += sprintf(p, "intr 123456789");
        for (int i = 0; i < INTERRUPTS; i++)
            p += sprintf(p, " 0");
        sprintf(p, "\nctxt 77\nbtime 1\nprocesses 9\nprocs_running 2\nprocs_blocked 1\n");
        put("proc/stat", text);
        if (!m.host)
            machine_open(false);
        else
            host_tree_read();
        is(HOST_cpus, (uint64_t)cpus);
        is(HOST_interrupts, 123456789);
        is(HOST_threads_blocked, 1);
        lacks(HOST_cpu_user, BARO_ABSENT_UNKNOWN); /* more nanoseconds than a uint64_t holds */
        is(HOST_cpu_idle, 70000000);
        assert_int_equal(named(BARO_KIND_CPU, "cpu298")->value[CPU_user], 2980000000);
        assert_true(!named(BARO_KIND_CPU, "cpu299") == (cpus < CPUS));
    }
    free(text);
}

/* ---- disks ---- */

/* A disk with a partition, dm-crypt on top of that and LVM on top of that, md on top of uncounted devices, a loop
 * device in use and one that is not. */
static void make_disks(void)
{
    put("sys/class/block/nvme0n1/device/model", "FAST 1TB                  \n");
    put("sys/class/block/nvme0n1/size", "2000409264\n");
    put("sys/class/block/nvme0n1/diskseq", "9\n");
    put("sys/class/block/nvme0n1p1/partition", "1\n");
    put("sys/class/block/dm-0/slaves/nvme0n1p1/x", "");
    put("sys/class/block/dm-0/dm/name", "crypt\n");
    put("sys/class/block/dm-0/size", "1000\n");
    put("sys/class/block/loop0/size", "0\n");
    put("sys/class/block/loop1/size", "8\n");
    put("sys/class/block/loop1/loop/backing_file", "/img/a.img\n");
    put("sys/class/block/sdb/device/model", "USB STICK\n");
    put("sys/class/block/sdb/size", "100\n");
    put("sys/class/block/sdb/diskseq", "17\n");
}

static void bytes_of_disks_count_once(void **state)
{
    make_disks();
    put("proc/diskstats",
        " 259 0 nvme0n1 10 0 100 7 20 0 200 8 1 9 15 3 0 30 4 5 6\n 259 1 nvme0n1p1 10 0 100 7 20 0 200 8 0 9 15\n"
        " 253 0 dm-0 10 0 100 7 20 0 200 8 0 9 15\n 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 7 1 loop1 1 0 8 0 0 0 0 0 0 0 "
        "0\n");
    machine_open(false);
    is(HOST_disk_read, 51200);
    is(HOST_disk_write, 102400);
    is(HOST_disk_reads, 10);
    is(HOST_disk_writes, 20);
    assert_int_equal(m.sample.entities[BARO_KIND_DISK].n, 3);
    const struct baro_entity *d = named(BARO_KIND_DISK, "nvme0n1");
    assert_true(d && strcmp(d->label, "FAST 1TB") == 0 && d->value[DISK_counted] == 1 &&
                d->value[DISK_size] == 2000409264ull * 512);
    assert_true(d->value[DISK_discard] == 15360 && d->value[DISK_flushes] == 5 && d->value[DISK_busy] == 9000000 &&
                d->value[DISK_in_flight] == 1);
    d = named(BARO_KIND_DISK, "dm-0");
    assert_true(d && strcmp(d->label, "crypt over nvme0n1p1") == 0 && d->value[DISK_counted] == 0 &&
                !d->absent[DISK_counted]);
    assert_int_equal(d->absent[DISK_discard], BARO_ABSENT_UNSUPPORTED); /* 14 fields: a kernel before 4.18 */
    d = named(BARO_KIND_DISK, "loop1");
    assert_true(d && strcmp(d->label, "/img/a.img") == 0 && d->value[DISK_counted] == 0);
}

/* /proc/diskstats has a slash where a name in sysfs can't have one. */
static void a_name_with_a_slash_is_found(void **state)
{
    put("sys/class/block/cciss!c0d0/device/model", "LOGICAL VOLUME\n");
    put("sys/class/block/cciss!c0d0/size", "1000\n");
    put("proc/diskstats", " 104 0 cciss/c0d0 10 0 100 7 20 0 200 8 0 9 15\n");
    machine_open(false);
    const struct baro_entity *d = named(BARO_KIND_DISK, "cciss/c0d0");
    assert_true(d && strcmp(d->label, "LOGICAL VOLUME") == 0 && d->value[DISK_size] == 512000);
}

/* A RAM disk has a size from the start. It is shown from its first use on, and its bytes are in no total. */
static void unused_disks_are_not_shown(void **state)
{
    make_disks();
    put("sys/class/block/ram0/size", "131072\n");
    put("proc/diskstats",
        " 1 0 ram0 0 0 0 0 0 0 0 0 0 0 0\n 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 7 1 loop1 0 0 0 0 0 0 0 0 0 0 0\n"
        " 253 0 dm-0 0 0 0 0 0 0 0 0 0 0 0\n 8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n");
    machine_open(false);
    assert_int_equal(m.sample.entities[BARO_KIND_DISK].n, 3);
    assert_true(named(BARO_KIND_DISK, "loop1") && named(BARO_KIND_DISK, "dm-0") && named(BARO_KIND_DISK, "sdb"));
    put("proc/diskstats",
        " 1 0 ram0 1 0 8 0 0 0 0 0 0 0 0\n 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n");
    host_tree_read();
    assert_int_equal(m.sample.entities[BARO_KIND_DISK].n, 2);
    const struct baro_entity *d = named(BARO_KIND_DISK, "ram0");
    assert_true(d && d->value[DISK_read] == 4096 && d->value[DISK_size] == 131072 * 512 && d->value[DISK_counted] == 0);
    is(HOST_disk_read, 0);
}

static void disks_come_and_go(void **state)
{
    make_disks();
    put("proc/diskstats", " 259 0 nvme0n1 10 0 100 7 20 0 200 8 0 9 15\n");
    machine_open(false);
    is(HOST_disk_read, 51200);
    put("proc/diskstats",
        " 259 0 nvme0n1 11 0 104 7 20 0 200 8 0 9 15\n 8 16 sdb 5 0 40 0 0 0 0 0 0 0 0\n"); /* what is plugged in begins
                                                                                               with 0 */
    host_tree_read();
    is(HOST_disk_read, 144 * 512);
    uint32_t first = named(BARO_KIND_DISK, "sdb")->id;
    put("proc/diskstats", " 259 0 nvme0n1 11 0 104 7 20 0 200 8 0 9 15\n"); /* gone: the total stays */
    host_tree_read();
    is(HOST_disk_read, 144 * 512);
    assert_null(named(BARO_KIND_DISK, "sdb"));
    put("proc/diskstats", " 259 0 nvme0n1 11 0 104 7 20 0 200 8 0 9 15\n 8 16 sdb 1 0 10 0 0 0 0 0 0 0 0\n");
    host_tree_read();
    is(HOST_disk_read, 154 * 512);
    uint32_t second = named(BARO_KIND_DISK, "sdb")->id;
    assert_true(second > first);
    /* Replaced between two readings: same name, lower counters, another number in its sequence. */
    put("sys/class/block/sdb/diskseq", "18\n");
    put("proc/diskstats", " 259 0 nvme0n1 11 0 104 7 20 0 200 8 0 9 15\n 8 16 sdb 0 0 6 0 0 0 0 0 0 0 0\n");
    host_tree_read();
    is(HOST_disk_read, 160 * 512);
    assert_true(named(BARO_KIND_DISK, "sdb")->id > second);
    assert_int_equal(m.sample.entities[BARO_KIND_DISK].n, 2);
    /* The same one, and its counter fell (32 bits wrapped): raw in its row, and not subtracted from the total. */
    put("proc/diskstats", " 259 0 nvme0n1 1 0 4 7 20 0 200 8 0 9 15\n 8 16 sdb 0 0 6 0 0 0 0 0 0 0 0\n");
    host_tree_read();
    is(HOST_disk_read, 160 * 512);
    assert_int_equal(named(BARO_KIND_DISK, "nvme0n1")->value[DISK_read], 2048);
}

/* Without /sys a partition can't be distinguished from a disk: their values are there, a total is not. */
static void no_total_without_sys(void **state)
{
    put("proc/diskstats", " 8 0 sda 10 0 100 7 20 0 200 8 0 9 15\n 8 1 sda1 10 0 100 7\n");
    put("proc/net/dev", "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
    machine_open(false);
    lacks(HOST_disk_read, BARO_ABSENT_UNKNOWN);
    lacks(HOST_net_receive, BARO_ABSENT_UNKNOWN);
    const struct baro_entity *d = named(BARO_KIND_DISK, "sda");
    assert_true(d && d->value[DISK_read] == 51200 && d->absent[DISK_counted] == BARO_ABSENT_UNKNOWN &&
                d->absent[DISK_size] == BARO_ABSENT_UNSUPPORTED);
}

/* ---- what the helper reads ---- */

static void wait_for_helper(enum baro_kind kind, const char *name, int metric)
{
    for (int i = 0; i < 400; i++) {
        host_tree_read();
        const struct baro_entity *e = named(kind, name);
        if (e && e->absent[metric] != BARO_ABSENT_NOT_YET)
            return;
        usleep(10000);
    }
    fail();
}

static void sensors_and_frequencies(void **state)
{
    put("proc/stat", "cpu 3 0 0 1\ncpu0 2 0 0 5\ncpu2 2 0 0 5\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1200000\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
    put("sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "1400000\n");
    for (int i = 0; i < 2; i++) {
        char path[96];
        snprintf(path, sizeof(path), "sys/class/hwmon/hwmon%d/name", i);
        put(path, "nvme\n");
        snprintf(path, sizeof(path), "sys/class/hwmon/hwmon%d/temp1_input", i);
        put(path, i ? "-2500\n" : "38850\n");
        snprintf(path, sizeof(path), "sys/class/hwmon/hwmon%d/temp1_label", i);
        put(path, "Composite\n");
    }
    put("sys/class/hwmon/hwmon0/temp1_crit", "84850\n");
    put("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    put("sys/class/thermal/thermal_zone0/temp", "41000\n");
    put("sys/class/thermal/thermal_zone1/type", "nvme\n"); /* a chip of hwmon as well */
    put("sys/class/thermal/thermal_zone1/temp", "99000\n");
    put("sys/class/hwmon/hwmon2/name", "cpu_thermal\n");
    put("sys/class/hwmon/hwmon2/temp1_input", "40000\n");
    put("sys/class/thermal/thermal_zone2/type", "cpu-thermal\n"); /* so is this: hwmon's names have no '-' */
    put("sys/class/thermal/thermal_zone2/temp", "40000\n");
    put("sys/class/thermal/thermal_zone3/type", "cpu-thermal1\n");
    put("sys/class/thermal/thermal_zone3/temp", "40500\n");
    machine_open(true);
    wait_for_helper(BARO_KIND_SENSOR, "x86_pkg_temp/thermal_zone0", SENSOR_temperature);
    assert_int_equal(m.sample.entities[BARO_KIND_SENSOR].n, 5);
    assert_true(named(BARO_KIND_SENSOR, "cpu_thermal/temp1") && named(BARO_KIND_SENSOR, "cpu-thermal1/thermal_zone3"));
    const struct baro_entity *a = named(BARO_KIND_SENSOR, "nvme/Composite"),
                             *b = named(BARO_KIND_SENSOR, "nvme/Composite#2");
    assert_true(a && b);
    if (a->absent[SENSOR_critical]) { /* the order of a directory's entries is not defined */
        const struct baro_entity *swap = a;
        a = b;
        b = swap;
    }
    assert_true(a->value[SENSOR_temperature] == 38850 && a->value[SENSOR_critical] == 84850);
    assert_true((int64_t)b->value[SENSOR_temperature] == -2500 &&
                b->absent[SENSOR_critical] == BARO_ABSENT_UNSUPPORTED);
    is(HOST_temperature, 41000);
    wait_for_helper(BARO_KIND_CPU, "cpu0", CPU_frequency);
    is(HOST_cpu_frequency, 1300000000);
    assert_int_equal(named(BARO_KIND_CPU, "cpu0")->value[CPU_frequency_most], 3500000000);
    assert_int_equal(named(BARO_KIND_CPU, "cpu2")->absent[CPU_frequency_most], BARO_ABSENT_UNSUPPORTED);
}

/* Without a frequency governor, it is read less and less often while it stays the same, and a change is seen all the
 * same. */
static void a_frequency_that_stands_still(void **state)
{
    for (int governed = 0; governed < 2; governed++) {
        machine_again();
        put("proc/stat", "cpu 3 0 0 1\ncpu0 2 0 0 5\n");
        put("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2000.000\n");
        if (governed) {
            put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
            put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
        }
        machine_open(true);
        wait_for_helper(BARO_KIND_CPU, "cpu0", CPU_frequency);
        for (int i = 0; i < 300; i++) {
            host_tree_read();
            is(HOST_cpu_frequency, 2000000000);
            usleep(1000);
        }
        put("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2100.000\n");
        if (governed)
            put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2100000\n");
        for (int i = 0; i < 400 && m.sample.host[HOST_cpu_frequency] != 2100000000; i++) {
            host_tree_read();
            usleep(10000);
        }
        is(HOST_cpu_frequency, 2100000000);
    }
}

/* "/" twice by a bind mount, a subvolume, pseudo filesystems, one that is hidden by another, one that is not there. */
static void filesystems_count_once(void **state)
{
    put("proc/self/mountinfo",
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:20 / /proc rw - proc proc rw\n3 1 8:1 /srv /mnt/bind rw - ext4 "
        "/dev/sda1 rw\n"
        "4 1 0:40 /@ /tmp rw - btrfs /dev/sdb rw,subvol=/@\n5 1 0:41 /@home /var rw - btrfs /dev/sdb rw\n6 1 0:50 / "
        "/usr rw - tmpfs a rw\n"
        "7 6 0:51 / /usr rw - tmpfs b rw\n8 1 0:52 / /run/user/0 rw - tmpfs c rw\n9 1 0:60 / /no\\040such rw - vfat "
        "/dev/sdc rw\n"
        "10 1 0:70 / /etc rw - zfs pool/a rw\n11 1 0:71 / /bin rw - zfs pool/b rw\n12 1 0:80 / /dev rw - tmpfs tmpfs "
        "rw\n");
    machine_open(true);
    wait_for_helper(BARO_KIND_FS, "/etc", FS_total);
    static const char *const names[] = {"/", "/tmp", "/usr", "/no such", "/etc"}, *const labels[] = {
                                                                                      "ext4 /dev/sda1",
                                                                                      "btrfs /dev/sdb", "tmpfs b",
                                                                                      "vfat /dev/sdc", "zfs pool"};
    assert_int_equal(m.sample.entities[BARO_KIND_FS].n, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct baro_entity *e = named(BARO_KIND_FS, names[i]);
        assert_non_null(e);
        assert_string_equal(e->label, labels[i]);
        if (i == 3)
            assert_int_equal(e->absent[FS_total], BARO_ABSENT_GONE);
        else
            assert_true(!e->absent[FS_total] && e->value[FS_total] >= e->value[FS_used] && !e->absent[FS_read_at]);
    }
    const struct baro_entity *pool = named(BARO_KIND_FS, "/etc");
    assert_int_equal(pool->value[FS_total], pool->value[FS_used] + pool->value[FS_available]);
    assert_int_equal(pool->absent[FS_inodes], BARO_ABSENT_UNSUPPORTED);
}

/* In a container the root is an overlay and a file of it is a bind mount of the file system below: both are the same
 * filesystem, as its id and its values show. */
static void file_system_below_an_overlay_is_the_same(void **state)
{
    char mounts[512];
    snprintf(mounts, sizeof(mounts),
             "1 0 0:30 / / rw - overlay overlay rw,lowerdir=/l\n2 1 8:1 /d/hosts %s/proc rw - ext4 /dev/sda1 rw\n3 1 "
             "0:31 / /merged rw - overlay o rw\n",
             m.dir);
    put("proc/self/mountinfo", mounts);
    machine_open(true);
    wait_for_helper(BARO_KIND_FS, "/", FS_total);
    for (int i = 0; i < 400 && m.sample.entities[BARO_KIND_FS].n > 1; i++) {
        usleep(10000);
        host_tree_read();
    }
    struct stat a, b;
    char proc[80];
    snprintf(proc, sizeof(proc), "%s/proc", m.dir);
    assert_true(stat("/", &a) == 0 && stat(proc, &b) == 0);
    if (a.st_dev == b.st_dev)
        assert_int_equal(m.sample.entities[BARO_KIND_FS].n, 1);
    assert_string_equal(m.sample.entities[BARO_KIND_FS].at[0]->label, "overlay overlay");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(memory_load_events_pressure),
        HOST_TEST(moving_lines_of_vmstat),
        HOST_TEST(cpus_come_and_go),
        HOST_TEST(zeros_are_no_values),
        HOST_TEST(falling_counters_make_no_growth),
        HOST_TEST(a_large_machine),
        HOST_TEST(bytes_of_disks_count_once),
        HOST_TEST(a_name_with_a_slash_is_found),
        HOST_TEST(unused_disks_are_not_shown),
        HOST_TEST(disks_come_and_go),
        HOST_TEST(no_total_without_sys),
        HOST_TEST(sensors_and_frequencies),
        HOST_TEST(a_frequency_that_stands_still),
        HOST_TEST(filesystems_count_once),
        HOST_TEST(file_system_below_an_overlay_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
