/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc over which another file is mounted, as a container hides them: an empty file does not mean that
 * nothing happened on the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "host_tree.h"

static const enum host_metric disk_totals[] = {HOST_disk_read, HOST_disk_write, HOST_disk_reads, HOST_disk_writes};
static const enum host_metric net_totals[] = {HOST_net_receive, HOST_net_transmit, HOST_net_receive_packets,
                                              HOST_net_transmit_packets};

static void expect_disks(enum baro_absent why)
{
    for (int i = 0; i < 4; i++) {
        if (why)
            lacks(disk_totals[i], why);
        else
            is(disk_totals[i], 0);
    }
}

/* A machine may have none. The kernel writes a line for each one in /sys. */
static void disks(void **state)
{
    static const struct {
        const char *block;
        enum baro_absent why;
    } rows[] = {{NULL, BARO_PRESENT}, {"sys/class/block/vda/size", BARO_ABSENT_UNKNOWN}};
    for (int i = 0; i < 2; i++) {
        machine_again();
        put("proc/diskstats", "");
        if (rows[i].block)
            put(rows[i].block, "8\n");
        machine_open(false);
        expect_disks(rows[i].why);
        put("proc/diskstats", "no such line\n");
        host_tree_read();
        expect_disks(rows[i].why);
    }
}

static void disks_without_sys(void **state)
{
    char gone[128];
    put("proc/diskstats", "");
    snprintf(gone, sizeof(gone), "rm -r %s/sys/class", m.dir);
    assert_int_equal(system(gone), 0);
    machine_open(false);
    expect_disks(BARO_ABSENT_UNKNOWN);
}

/* Known devices are not gone because the file is hidden now. */
static void disks_that_were_seen(void **state)
{
    put("sys/class/block/vda/device/model", "A\n");
    put("sys/class/block/vda/size", "8\n");
    put("proc/diskstats", " 254 0 vda 1 0 8 0 2 0 16 0 0 0 0\n");
    machine_open(false);
    is(HOST_disk_read, 4096);
    uint32_t id = named(BARO_KIND_DISK, "vda")->id;
    put("proc/diskstats", "");
    host_tree_read();
    expect_disks(BARO_ABSENT_UNKNOWN);
    put("proc/diskstats", " 254 0 vda 2 0 16 0 2 0 16 0 0 0 0\n");
    host_tree_read();
    is(HOST_disk_read, 8192);
    assert_int_equal(named(BARO_KIND_DISK, "vda")->id, id);
}

/* There is no network namespace without a loopback. */
static void interfaces(void **state)
{
    static const char *const texts[] = {"", "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame "
                                            "compressed multicast|bytes packets\n"};
    for (int t = 0; t < 2; t++) {
        machine_again();
        put("proc/net/dev", texts[t]);
        machine_open(false);
        for (int i = 0; i < 4; i++)
            lacks(net_totals[i], BARO_ABSENT_UNKNOWN);
        put("sys/class/net/lo/type", "772\n");
        put("proc/net/dev", "lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n");
        host_tree_read(); /* alone it is no network, and that is known */
        is(HOST_net_receive, 0);
    }
}

/* Every other file is empty: there is no value, and never "unsupported", which would mean the kernel does not have
 * it. */
static void all_of_them(void **state)
{
    static const char *const paths[] = {"stat",        "loadavg", "uptime",       "meminfo",         "vmstat",
                                        "diskstats",   "net/dev", "pressure/cpu", "pressure/memory", "pressure/io",
                                        "pressure/irq"};
    char path[64];
    put("sys/class/block/vda/size", "8\n");
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        snprintf(path, sizeof(path), "proc/%s", paths[i]);
        put(path, "");
    }
    machine_open(false);
    for (int i = 0; i < HOST_MAX; i++) {
        if (i != HOST_cpu_frequency && i != HOST_temperature) /* from the helper, which was not asked */
            lacks((enum host_metric)i, BARO_ABSENT_UNKNOWN);
    }
}

/* Files that lack one line: the other values stay, and the missing ones are reported as not supported by this
 * kernel. */
static void a_line_is_missing(void **state)
{
    put("proc/stat", "cpu0 1 0 0 1 0 0 0 0 0 0\nctxt 5\n");
    put("proc/meminfo", "MemFree: 100 kB\nDirty: 3 kB\n");
    put("proc/vmstat", "pgfault 1000\n");
    put("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
    machine_open(false);
    lacks(HOST_cpu_user, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_interrupts, BARO_ABSENT_UNSUPPORTED);
    is(HOST_switches, 5);
    lacks(HOST_memory_total, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_memory_used, BARO_ABSENT_UNSUPPORTED);
    is(HOST_memory_dirty, 3072);
    lacks(HOST_faults_minor, BARO_ABSENT_UNSUPPORTED);
    lacks(HOST_oom_kills, BARO_ABSENT_UNSUPPORTED);
    is(HOST_pressure_io_some, 9000);
    lacks(HOST_pressure_io_full, BARO_ABSENT_UNSUPPORTED);
}

/* Without cpufreq: an empty cpuinfo hides the frequency, a cpuinfo without that line has none. */
static void frequencies(void **state)
{
    static const struct {
        const char *text;
        enum baro_absent why;
    } rows[] = {{"", BARO_ABSENT_UNKNOWN}, {"processor\t: 0\n", BARO_ABSENT_UNSUPPORTED}};
    for (int i = 0; i < 2; i++) {
        machine_again();
        put("proc/stat", "cpu 3 0 0 1\ncpu0 2 0 0 5\n");
        put("proc/cpuinfo", rows[i].text);
        machine_open(true);
        for (int k = 0; k < 400; k++) {
            host_tree_read();
            if (m.sample.host_absent[HOST_cpu_frequency] != BARO_ABSENT_NOT_YET)
                break;
            usleep(10000);
        }
        lacks(HOST_cpu_frequency, rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(disks),       HOST_TEST(disks_without_sys), HOST_TEST(disks_that_were_seen), HOST_TEST(interfaces),
        HOST_TEST(all_of_them), HOST_TEST(a_line_is_missing), HOST_TEST(frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
