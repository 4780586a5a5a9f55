/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of control groups' files. Values are typed by hand from the kernel's admin-guide/cgroup-v2.rst and
 * cgroup-v1/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cut.h"
#include "kernel/cgroup/cgroup.h"
#include "kernel/proc/procfs.h"

/* ---- cpu ---- */

static const char cpu_v2[] =
    "usage_usec 3000001\nuser_usec 2000000\nsystem_usec 1000001\nnice_usec 5\ncore_sched.force_idle_usec 0\n"
    "nr_periods 20\nnr_throttled 3\nthrottled_usec 400\nnr_bursts 0\nburst_usec 0\n";

static void check_cpu_cut(struct span cut)
{
    static const uint64_t whole[CGCPU_MAX] = {3000001000, 2000000000, 1000001000, 20, 3, 400000};
    struct cgroup_cpu cpu;
    memset(&cpu, 0x5a, sizeof(cpu));
    if (cgroup_cpu_stat_parse(cut, &cpu) < 0) {
        assert_int_equal(cpu.valid, 0x5a5a5a5a);
        return;
    }
    for (int i = 0; i < CGCPU_MAX; i++) {
        if (cpu.valid >> i & 1)
            assert_int_equal(cpu.value[i], whole[i]);
    }
    assert_true(cut.len < sizeof(cpu_v2) - 1 || cpu.valid == (1u << CGCPU_MAX) - 1);
}

static void cpu_stat(void **state)
{
    struct cgroup_cpu cpu;
    each_cut(TEXT(cpu_v2), check_cpu_cut);
    assert_int_equal(cgroup_cpu_stat_parse(TEXT("nr_periods 9\nnr_throttled 4\nthrottled_time 123456789\n"), &cpu), 0);
    assert_int_equal(cpu.valid, 1u << CGCPU_PERIODS | 1u << CGCPU_THROTTLED_PERIODS | 1u << CGCPU_THROTTLED);
    assert_int_equal(cpu.value[CGCPU_THROTTLED], 123456789);
    assert_int_equal(cgroup_cpu_stat_parse(TEXT("usage_usec 18446744073709551615\nuser_usec 7\n"), &cpu), 0);
    assert_int_equal(cpu.valid, 1u << CGCPU_USER); /* it does not fit in nanoseconds */
    assert_int_equal(cgroup_cpu_stat_parse(TEXT("usage_usec -1\nusage_usec\nusage_usec 1 2\nusage_usecs 1\n"), &cpu),
                     BARO_E_SYNTAX);
    assert_int_equal(cgroup_cpuacct_stat_parse(TEXT("user 12\nsystem 34\n"), 10000000, &cpu), 0);
    assert_int_equal(cpu.value[CGCPU_USER], 120000000);
    assert_int_equal(cpu.value[CGCPU_SYSTEM], 340000000);
    assert_int_equal(cgroup_cpuacct_stat_parse(TEXT("user 12\n"), 10000000, &cpu), BARO_E_SYNTAX);
    assert_int_equal(cgroup_cpuacct_stat_parse(TEXT("user 12\nsystem 18446744073709551615\n"), 10000000, &cpu),
                     BARO_E_SYNTAX);
}

static void cpu_quota(void **state)
{
    static const struct {
        const char *text;
        uint64_t ppm;
    } good[] = {{"max 100000\n", CGROUP_NO_LIMIT},
                {"50000 100000\n", 500000},
                {"250000 100000\n", 2500000},
                {"1000 1000000\n", 1000},
                {"0 1\n", 0}};
    static const char *const bad[] = {
        "",        "max\n",       "max 100000", "50000 10000", "50000 0\n",
        "50000\n", "-1 100000\n", "1 2 3\n",    "mix 1\n",     "18446744073709551615 1\n"};
    uint64_t ppm;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(cgroup_cpu_max_parse(span_str(good[i].text), &ppm), 0);
        assert_int_equal(ppm, good[i].ppm);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(cgroup_cpu_max_parse(span_str(bad[i]), &ppm), BARO_E_SYNTAX);
    assert_int_equal(cgroup_cpu_cfs_parse(TEXT("-1\n"), TEXT("100000\n"), &ppm), 0);
    assert_true(ppm == CGROUP_NO_LIMIT);
    assert_int_equal(cgroup_cpu_cfs_parse(TEXT("150000\n"), TEXT("100000\n"), &ppm), 0);
    assert_int_equal(ppm, 1500000);
    assert_int_equal(cgroup_cpu_cfs_parse(TEXT("15000"), TEXT("100000\n"), &ppm), BARO_E_SYNTAX);
    assert_int_equal(cgroup_cpu_cfs_parse(TEXT("150000\n"), TEXT("0\n"), &ppm), BARO_E_SYNTAX);
}

/* ---- memory ---- */

static const char memory_v2[] = "anon 100\nfile 200\nkernel 50\nkernel_stack 7\nshmem 30\nfile_mapped 1\ninactive_anon "
                                "9\ninactive_file 80\nslab_reclaimable 1\nslab 20\n"
                                "pgfault 1000\npgmajfault 5\nworkingset_refault_file 3\n";

static void check_memory_cut(struct span cut)
{
    static const uint64_t whole[CGMEM_MAX] = {
        [CGMEM_ANON] = 100,           [CGMEM_FILE] = 200,    [CGMEM_INACTIVE_FILE] = 80,
        [CGMEM_SHMEM] = 30,           [CGMEM_KERNEL] = 50,   [CGMEM_SLAB] = 20,
        [CGMEM_SLAB_RECLAIMABLE] = 1, [CGMEM_FAULTS] = 1000, [CGMEM_FAULTS_MAJOR] = 5};
    struct cgroup_memory m;
    if (cgroup_memory_stat_parse(cut, false, &m) < 0)
        return;
    for (int i = 0; i < CGMEM_MAX; i++) {
        if (m.valid >> i & 1)
            assert_int_equal(m.value[i], whole[i]);
    }
}

static void memory_stat(void **state)
{
    struct cgroup_memory m;
    each_cut(TEXT(memory_v2), check_memory_cut);
    assert_int_equal(cgroup_memory_stat_parse(TEXT(memory_v2), false, &m), 0);
    assert_int_equal(m.valid, (1u << CGMEM_MAX) - 1 - (1u << CGMEM_SWAP) - (1u << CGMEM_HIERARCHICAL_LIMIT));
    static const char v1[] = "cache 1\nrss 2\nshmem 3\ninactive_file 4\nhierarchical_memory_limit "
                             "9223372036854771712\nhierarchical_memsw_limit 9\ntotal_cache 10\n"
                             "total_rss 20\ntotal_rss_huge 21\ntotal_shmem 30\ntotal_swap 40\ntotal_pgfault "
                             "50\ntotal_pgmajfault 60\ntotal_inactive_file 70\n";
    assert_int_equal(cgroup_memory_stat_parse(TEXT(v1), true, &m), 0);
    assert_int_equal(m.value[CGMEM_FILE], 10);
    assert_int_equal(m.value[CGMEM_ANON], 20);
    assert_int_equal(m.value[CGMEM_SHMEM], 30);
    assert_int_equal(m.value[CGMEM_SWAP], 40);
    assert_int_equal(m.value[CGMEM_FAULTS], 50);
    assert_int_equal(m.value[CGMEM_FAULTS_MAJOR], 60);
    assert_int_equal(m.value[CGMEM_INACTIVE_FILE], 70);
    assert_true(m.value[CGMEM_HIERARCHICAL_LIMIT] == CGROUP_NO_LIMIT);
    assert_int_equal(m.valid & (1u << CGMEM_KERNEL | 1u << CGMEM_SLAB), 0);
    assert_int_equal(cgroup_memory_stat_parse(TEXT("unknown 1\n"), false, &m), BARO_E_SYNTAX);
}

static void events(void **state)
{
    struct cgroup_events e;
    uint64_t hits;
    assert_int_equal(cgroup_memory_events_parse(
                         TEXT("low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\nsock_throttled 7\n"), &e),
                     0);
    assert_int_equal(e.valid, 15);
    assert_int_equal(e.value[CGEVENT_HIGH_HITS], 2);
    assert_int_equal(e.value[CGEVENT_MAX_HITS], 3);
    assert_int_equal(e.value[CGEVENT_OOMS], 4);
    assert_int_equal(e.value[CGEVENT_OOM_KILLS], 5);
    assert_int_equal(cgroup_memory_events_parse(TEXT("oom_kill_disable 0\nunder_oom 1\noom_kill 9\n"), &e), 0);
    assert_int_equal(e.valid, 1u << CGEVENT_OOM_KILLS);
    assert_int_equal(e.value[CGEVENT_OOM_KILLS], 9);
    assert_int_equal(cgroup_memory_events_parse(TEXT("oom_kill_disable 0\nunder_oom 1\n"), &e),
                     BARO_E_SYNTAX); /* before 4.13 */
    assert_int_equal(cgroup_pids_events_parse(TEXT("max 12\n"), &hits), 0);
    assert_int_equal(hits, 12);
    assert_int_equal(cgroup_pids_events_parse(TEXT("max 12"), &hits), BARO_E_SYNTAX);
}

/* ---- io ---- */

static bool not_253(void *context, uint32_t major, uint32_t minor)
{
    *(uint32_t *)context += minor;
    return major != 253;
}

static void io(void **state)
{
    static const char v2[] =
        "8:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=5 dios=6\n253:1 rbytes=100 wbytes=200 rios=3 wios=4\n"
        "259:2 rbytes=1 wbytes=2 rios=1 wios=1 cost.usage=9\n7:0 \n(unknown) rbytes=1\n";
    static const char v1[] = "8:0 Read 10\n8:0 Write 20\n8:0 Sync 1\n8:0 Async 29\n8:0 Discard 0\n8:0 Total 30\n253:0 "
                             "Read 10\n253:0 Write 20\nTotal 30\n";
    struct cgroup_io all;
    uint32_t asked = 0;
    assert_int_equal(cgroup_io_stat_parse(TEXT(v2), not_253, &asked, &all), 0);
    assert_int_equal(asked, 3);
    assert_int_equal(all.value[CGIO_READ_BYTES], 101);
    assert_int_equal(all.value[CGIO_WRITE_BYTES], 202);
    assert_int_equal(all.value[CGIO_READS], 4);
    assert_int_equal(all.value[CGIO_WRITES], 5);
    assert_int_equal(cgroup_io_stat_parse(TEXT(v2), NULL, NULL, &all), 0);
    assert_int_equal(all.value[CGIO_READ_BYTES], 201);
    assert_int_equal(cgroup_blkio_parse(TEXT(v1), true, not_253, &asked, &all), 0);
    assert_int_equal(all.value[CGIO_READ_BYTES], 10);
    assert_int_equal(all.value[CGIO_WRITE_BYTES], 20);
    assert_int_equal(all.value[CGIO_READS], 0);
    assert_int_equal(cgroup_blkio_parse(TEXT(v1), false, not_253, &asked, &all), 0);
    assert_int_equal(all.value[CGIO_READS], 10);
    assert_int_equal(cgroup_io_stat_parse(TEXT(""), NULL, NULL, &all), 0); /* nothing so far */
    assert_int_equal(all.value[CGIO_READ_BYTES], 0);
    assert_int_equal(cgroup_blkio_parse(TEXT("Total 0\n"), true, NULL, NULL, &all), 0);
    assert_int_equal(cgroup_io_stat_parse(TEXT("8:0 rbytes=100 wby"), NULL, NULL, &all), BARO_E_SYNTAX);
    assert_int_equal(cgroup_blkio_parse(TEXT("8:0 Read 1"), true, NULL, NULL, &all), BARO_E_SYNTAX);
}

/* ---- single values ---- */

static void values(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0\n", 0},
                {"max\n", CGROUP_NO_LIMIT},
                {"-1\n", CGROUP_NO_LIMIT},
                {"9223372036854771712\n", CGROUP_NO_LIMIT},
                {"9223372036854710272\n", CGROUP_NO_LIMIT} /* pages of 64 KiB */,
                {"8589934592\n", 8589934592},
                {"18446744073709551615\n", CGROUP_NO_LIMIT}};
    static const char *const bad[] = {
        "", "\n", "12", "max", "12 \n", "-2\n", "maximum\n", "18446744073709551616\n", "0x12\n"};
    uint64_t v;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(cgroup_value_parse(span_str(good[i].text), &v), 0);
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(cgroup_value_parse(span_str(bad[i]), &v), BARO_E_SYNTAX);
}

static void cpus(void **state)
{
    static const struct {
        const char *text;
        uint64_t count;
    } good[] = {{"\n", 0}, {"0\n", 1}, {"0-3\n", 4}, {"0-3,8\n", 5}, {"1,3,5-6,100-127\n", 32}};
    static const char *const bad[] = {"", "0-3", "3-0\n", "0-\n", "0,\n", ",\n", "0 1\n", "a\n", "0-4294967296\n"};
    uint64_t n;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(cgroup_cpus_parse(span_str(good[i].text), &n), 0);
        assert_int_equal(n, good[i].count);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(cgroup_cpus_parse(span_str(bad[i]), &n), BARO_E_SYNTAX);
}

/* ---- membership, ulimits ---- */

static void membership(void **state)
{
    static const char text[] = "11:cpu,cpuacct:/docker/a\nnonsense\n1:name=systemd:/a:b (c)\n0::/user.slice/x "
                               "(deleted)\n2:cpuset:relative\n3:pids:/cut";
    struct span rest = TEXT(text);
    struct cgroup_membership m;
    assert_true(cgroup_membership_next(&rest, &m));
    assert_int_equal(m.hierarchy, 11);
    assert_true(cgroup_listed(m.controllers, "cpuacct"));
    assert_true(cgroup_listed(m.controllers, "cpu"));
    assert_false(cgroup_listed(m.controllers, "cpuac"));
    assert_true(span_equal(m.path, "/docker/a"));
    assert_true(cgroup_membership_next(&rest, &m));
    assert_true(span_equal(m.path, "/a:b (c)"));
    assert_false(m.deleted);
    assert_true(cgroup_membership_next(&rest, &m));
    assert_int_equal(m.hierarchy, 0);
    assert_int_equal(m.controllers.len, 0);
    assert_true(span_equal(m.path, "/user.slice/x"));
    assert_true(m.deleted);
    assert_false(cgroup_membership_next(&rest, &m));
}

static const char ulimits[] = "Limit                     Soft Limit           Hard Limit           Units     \n"
                              "Max cpu time              30                   60                   seconds   \n"
                              "Max data size             1048576              unlimited            bytes     \n"
                              "Max processes             63448                63448                processes \n"
                              "Max address space         unlimited            2097152              bytes     \n";

static void check_limits_cut(struct span cut)
{
    struct pid_limits l;
    if (pid_limits_parse(cut, &l) < 0)
        return;
    if (l.valid & 1u << PID_LIMIT_CPU)
        assert_int_equal(l.value[PID_LIMIT_CPU], 60);
    if (l.valid & 1u << PID_LIMIT_DATA)
        assert_int_equal(l.value[PID_LIMIT_DATA], 1048576);
    if (l.valid & 1u << PID_LIMIT_NPROC)
        assert_int_equal(l.value[PID_LIMIT_NPROC], 63448);
    if (l.valid & 1u << PID_LIMIT_AS)
        assert_true(l.value[PID_LIMIT_AS] == UINT64_MAX);
    assert_true(cut.len < sizeof(ulimits) - 1 || l.valid == 15);
}

static void limits(void **state)
{
    each_cut(TEXT(ulimits), check_limits_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_stat), cmocka_unit_test(cpu_quota),  cmocka_unit_test(memory_stat),
        cmocka_unit_test(events),   cmocka_unit_test(io),         cmocka_unit_test(values),
        cmocka_unit_test(cpus),     cmocka_unit_test(membership), cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
