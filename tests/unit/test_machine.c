/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of files in /proc and /sys about the machine. Values are typed by hand from proc(5), iostats.rst and
 * kernel output. */
#include "unit.h"
#include "cut.h"
#include "kernel/proc/machine.h"
#include "kernel/sys/sysfs.h"

#define MOST "18446744073709551615"

static void each_beginning(struct span text, void (*check)(struct span cut, bool whole))
{
    for (size_t len = 0; len <= text.len; len++) {
        struct span cut = cut_of(text, len);
        check(cut, len == text.len);
        cut_free(cut);
    }
}

/* ---- stat ---- */

struct cpus {
    size_t n;
    struct proc_cpu at[8];
};

static void add_cpu(void *context, const struct proc_cpu *cpu)
{
    struct cpus *c = context;
    assert_true(c->n < 8);
    c->at[c->n++] = *cpu;
}

/* CPU 1 was unplugged. 7 of 100 ticks of user are a guest's, 2 of 5 of nice. */
static const char stat_text[] =
    "cpu  300 5 250 1165306 1259 1 400 57 7 2\ncpu0 200 5 150 587356 147 1 89 22 7 2\ncpu2 100 0 100 577950 1112 0 311 "
    "35 0 0\n"
    "intr 2239901 0 9 17 0 1\nctxt 6002834\nnew_key 5 6\nbtime 1795233600\nprocesses 619651\nprocs_running 2\n"
    "procs_blocked 1\nsoftirq 1552009 0 176951 4\n";

static void check_stat(struct span cut, bool whole)
{
    struct cpus c = {0};
    struct proc_stat st;
    if (proc_stat_parse(cut, &st, add_cpu, &c) < 0) {
        assert_int_equal(c.n, 0);
        return;
    }
    static const uint64_t values[PROC_STAT_MAX] = {6002834, 2239901, 1795233600, 619651, 2, 1};
    for (int i = 0; i < PROC_STAT_MAX; i++)
        assert_int_equal(st.value[i], st.valid >> i & 1 ? values[i] : 0);
    assert_int_equal(st.cpus, c.n ? c.n - 1 : 0);
    if (!whole)
        return;
    assert_int_equal(st.valid, (1u << PROC_STAT_MAX) - 1);
    assert_int_equal(c.n, 3);
    assert_true(c.at[0].number == PROC_CPU_ALL && c.at[1].number == 0 && c.at[2].number == 2);
    assert_true(c.at[0].valid == (1u << MODE_MAX) - 1 && c.at[0].ticks[MODE_USER] == 293 &&
                c.at[0].ticks[MODE_NICE] == 3);
    assert_true(c.at[0].ticks[MODE_GUEST] == 7 && c.at[0].ticks[MODE_GUEST_NICE] == 2 &&
                c.at[0].ticks[MODE_IDLE] == 1165306);
    assert_true(c.at[1].ticks[MODE_USER] == 193 && c.at[2].ticks[MODE_STEAL] == 35 &&
                c.at[2].ticks[MODE_SOFTIRQ] == 311);
}

TEST(stat_cut_anywhere)
{
    each_beginning(TEXT(stat_text), check_stat);
}

TEST(stat_of_other_kernels)
{
    struct cpus c = {0};
    struct proc_stat st;
    /* 2.4 had four modes, 2.6.0 seven; a future one has more than ten. A guest value that was read later than its user
     * value must not wrap; with one that can't be true the other is not known. */
    assert_int_equal(proc_stat_parse(TEXT("cpu 1 2 3 4\ncpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7 8 9 " MOST
                                          " 11 12\ncpu2 " MOST " 2 3 4\n"),
                                     &st, add_cpu, &c),
                     0);
    assert_true(c.n == 4 && c.at[0].valid == 0xf && c.at[1].valid == 0x7f && c.at[2].valid == 0x3ff);
    assert_true(c.at[2].ticks[MODE_USER] == 0 && c.at[2].ticks[MODE_NICE] == UINT64_MAX &&
                c.at[3].ticks[MODE_USER] == UINT64_MAX);
    c.n = 0;
    /* Invalid lines: too few fields, a number too large, no number, a name that only begins like a valid one. */
    assert_int_equal(proc_stat_parse(TEXT("cpu 1 2 3\ncpu0 1 18446744073709551616 3 4\ncpu1 a b c d\ncpux 1 2 3 "
                                          "4\ncpu99999999999 1 2 3 4\nbtime 5\n"),
                                     &st, add_cpu, &c),
                     0);
    assert_true(c.n == 0 && st.cpus == 0 && st.valid == 1u << PROC_STAT_BTIME);
    assert_int_equal(proc_stat_parse(TEXT("nothing\n"), &st, add_cpu, &c), BARO_E_SYNTAX);
}

/* ---- loadavg, uptime ---- */

static void check_loadavg(struct span cut, bool whole)
{
    struct proc_loadavg l = {.threads = 1};
    bool ok = proc_loadavg_parse(cut, &l) == 0;
    assert_true(ok ? l.load_1m == 280000 && l.load_5m == 12050000 && l.load_15m == 3000000 && l.running == 2 &&
                         l.threads == 891
                   : l.threads == 1);
    assert_true(ok || !whole);
    assert_true(!ok || l.last_pid == (whole ? 11735 : 0));
}

static void check_uptime(struct span cut, bool whole)
{
    uint64_t ns = 7;
    bool ok = proc_uptime_parse(cut, &ns) == 0;
    assert_int_equal(ns, ok ? 350735470000000 : 7);
    assert_true(ok || !whole);
}

TEST(load_and_uptime)
{
    struct proc_loadavg l;
    uint64_t ns;
    each_beginning(TEXT("0.28 12.05 3.00 2/891 11735\n"), check_loadavg);
    each_beginning(TEXT("350735.47 234388.90\n"), check_uptime);
    assert_gives(proc_loadavg_parse(TEXT("0.28 12.05 3.00 2/891 11735\n"), &l), l.last_pid, 11735);
    assert_gives(proc_loadavg_parse(TEXT("0.28 12.05 3.00 2/891\n"), &l), l.last_pid, 0); /* not in the file */
    assert_int_equal(proc_loadavg_parse(TEXT("0.28 0.38 0.88 1 89\n"), &l), BARO_E_SYNTAX);
    assert_int_equal(proc_loadavg_parse(TEXT("18446744073709551615.0 0.38 0.88 1/89 1\n"), &l), BARO_E_SYNTAX);
    assert_then(proc_uptime_parse(TEXT("18446744073.709551615999 1\n"), &ns), ns == UINT64_MAX);
    assert_int_equal(proc_uptime_parse(TEXT("18446744073.709551616 1\n"), &ns), BARO_E_SYNTAX);
    assert_int_equal(proc_uptime_parse(TEXT("-1.0 1\n"), &ns), BARO_E_SYNTAX);
}

/* ---- meminfo, vmstat ---- */

static const char meminfo_text[] = "MemTotal:       24684092 kB\nMemFree:        23029752 kB\nNew:   5 "
                                   "kB\nMemAvailable:   24263528 kB\nCached: 7 kB\nSwapCached: 9 kB\n"
                                   "Active: 11 kB\nActive(anon): 3 kB\nSwapTotal: 100 kB\nSwapFree: 60 "
                                   "kB\nHugePages_Total:      10\nHugePages_Free:       4\n"
                                   "HugePages_Rsvd:        0\nHugepagesize:       2048 kB\n";

static void check_meminfo(struct span cut, bool whole)
{
    struct proc_meminfo m;
    if (proc_meminfo_parse(cut, &m) < 0)
        return;
    for (int i = 0; i < MEM_MAX; i++)
        assert_true(m.valid >> i & 1 || m.value[i] == 0);
    assert_true(m.value[MEM_TOTAL] == 24684092ull * 1024);
    assert_true(m.value[MEM_CACHED] == (m.valid >> MEM_CACHED & 1 ? 7168 : 0)); /* not SwapCached */
    assert_true(m.value[MEM_HUGE_FREE] == (m.valid >> MEM_HUGE_FREE & 1 ? 4ull << 21 : 0));
    if (!whole)
        return;
    assert_true(m.value[MEM_AVAILABLE] == 24263528ull * 1024 && m.value[MEM_ACTIVE] == 11 * 1024 &&
                m.value[MEM_ACTIVE_ANON] == 3 * 1024);
    assert_true(m.value[MEM_HUGE_TOTAL] == 10ull << 21 && m.value[MEM_SWAP_FREE] == 60 * 1024);
    assert_false(m.valid >> MEM_ZSWAP & 1 || m.valid >> MEM_BUFFERS & 1);
}

TEST(meminfo)
{
    struct proc_meminfo m;
    each_beginning(TEXT(meminfo_text), check_meminfo);
    assert_int_equal(
        proc_meminfo_parse(
            TEXT("MemTotal: 18014398509481983 kB\nMemFree: 18014398509481984 kB\nDirty: 5\nSlab: x kB\n"), &m),
        0);
    assert_true(m.valid == 1u << MEM_TOTAL && m.value[MEM_TOTAL] == 18014398509481983ull * 1024);
    /* Pages of a size that is not in the file, and more of them than fit. */
    assert_int_equal(proc_meminfo_parse(TEXT("MemFree: 1 kB\nHugePages_Total: 5\nHugePages_Free: 0\n"), &m), 0);
    assert_int_equal(m.valid, 1u << MEM_FREE);
    assert_int_equal(
        proc_meminfo_parse(TEXT("HugePages_Total: 9223372036854775808\nHugePages_Free: 1\nHugepagesize: 2 kB\n"), &m),
        0);
    assert_true(m.valid == 1u << MEM_HUGE_FREE && m.value[MEM_HUGE_FREE] == 2048);
    assert_int_equal(proc_meminfo_parse(TEXT("New: 1 kB\n"), &m), BARO_E_SYNTAX);
}

static void check_vmstat(struct span cut, bool whole)
{
    struct proc_vmstat vm;
    static const uint64_t values[VM_MAX] = {1, 2, 1000, 30, 4, 5, 6, 7, 8};
    if (proc_vmstat_parse(cut, &vm) < 0)
        return;
    for (int i = 0; i < VM_MAX; i++)
        assert_int_equal(vm.value[i], vm.valid >> i & 1 ? values[i] : 0);
    assert_true(!whole || vm.valid == (1u << VM_MAX) - 1);
}

TEST(vmstat)
{
    struct proc_vmstat vm;
    each_beginning(TEXT("nr_free_pages 77\npswpin 1\npswpout 2\npgfault 1000\npgmajfault 30\npgsteal_kswapd "
                        "4\npgsteal_direct 5\npgsteal_khugepaged 99\n"
                        "pgscan_kswapd 6\npgscan_direct 7\npgscan_direct_throttle 99\noom_kill 8\nunknown 9\n"),
                   check_vmstat);
    assert_int_equal(proc_vmstat_parse(TEXT("pgfault " MOST "\npgmajfault 18446744073709551616\n"), &vm), 0);
    assert_true(vm.valid == 1u << VM_FAULTS && vm.value[VM_FAULTS] == UINT64_MAX);
    assert_int_equal(proc_vmstat_parse(TEXT("nr_free_pages 5\n"), &vm), BARO_E_SYNTAX);
    assert_int_equal(proc_vmstat_parse(TEXT("pgfault 5\nnuma_hit 6\noom_kill 7\nthp_swpout 8\npgfree 9\n"), &vm), 0);
    assert_int_equal(vm.end, sizeof("pgfault 5\nnuma_hit 6\noom_kill 7\n") - 1);
}

/* ---- diskstats ---- */

static const char disk_text[] = " 254       0 vda 899866 78178 34900482 1278130 240075 217617 21716184 114014 3 144080 "
                                "1429778 323702 103 17020168 36456 34105 1177\n"
                                "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n   8 16 sdb 1 2 3 4 5 6 7 8 9 "
                                "10 11\n   8 17 sdb1 21 22 23 24\n"
                                " 104 0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11\n";

static void check_disks(struct span cut, bool whole)
{
    static const char *const names[] = {"vda", "sda", "sdb", "sdb1", "cciss/c0d0"};
    static const uint32_t valid[] = {
        0x1ffff, 0x7fff, 0x7ff,
        1 << DISKSTAT_READS | 1 << DISKSTAT_READ_SECTORS | 1 << DISKSTAT_WRITES | 1 << DISKSTAT_WRITE_SECTORS, 0x7ff};
    struct proc_disk d;
    size_t n = 0;
    for (; proc_disk_next(&cut, &d); n++) {
        assert_true(n < 5 && span_equal(d.name, names[n]) && d.valid == valid[n]);
        if (n == 0)
            assert_true(d.major == 254 && d.minor == 0 && d.value[DISKSTAT_READ_SECTORS] == 34900482 &&
                        d.value[DISKSTAT_FLUSH_MS] == 1177 && d.value[DISKSTAT_IN_FLIGHT] == 3);
        if (n == 1)
            assert_true(d.value[DISKSTAT_DISCARD_SECTORS] == 14 && d.value[DISKSTAT_FLUSHES] == 0 &&
                        d.value[DISKSTAT_QUEUE_MS] == 11);
        if (n == 3)
            assert_true(d.value[DISKSTAT_READS] == 21 && d.value[DISKSTAT_READ_SECTORS] == 22 &&
                        d.value[DISKSTAT_WRITES] == 23 && d.value[DISKSTAT_WRITE_SECTORS] == 24 &&
                        d.value[DISKSTAT_READS_MERGED] == 0);
    }
    assert_true(!whole || n == 5);
}

TEST(disks)
{
    struct proc_disk d;
    struct span text = TEXT("junk\n 8 0 sda\n 8 0 sda x\n 4294967296 0 a 1 2 3 4\n 8 1 b " MOST
                            " 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n");
    each_beginning(TEXT(disk_text), check_disks);
    assert_true(proc_disk_next(&text, &d) && span_equal(d.name, "b") && d.value[DISKSTAT_READS] == UINT64_MAX &&
                d.valid == (1u << DISKSTAT_MAX) - 1);
    assert_false(proc_disk_next(&text, &d));
}

/* ---- net/dev ---- */

static void check_net(struct span cut, bool whole)
{
    static const char *const names[] = {"lo", "eth0", "eth0:1"};
    struct proc_net net;
    size_t n = 0;
    for (; proc_net_next(&cut, &net); n++) {
        assert_true(n < 3 && span_equal(net.name, names[n]));
        if (n == 1)
            assert_true(net.receive[NET_BYTES] == 468716553 && net.receive[NET_PACKETS] == 10372 &&
                        net.receive[NET_ERRORS] == 3 && net.receive[NET_DROPS] == 4 &&
                        net.transmit[NET_BYTES] == 512036 && net.transmit[NET_PACKETS] == 6284 &&
                        net.transmit[NET_ERRORS] == 11 && net.transmit[NET_DROPS] == 12);
    }
    assert_true(!whole || n == 3);
}

TEST(net)
{
    struct proc_net n;
    struct span bad = TEXT("eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth1: "
                           "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551616\n"
                           "eth2: " MOST " 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
    each_beginning(TEXT("Inter-|   Receive                                                |  Transmit\n"
                        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
                        "fifo colls carrier compressed\n"
                        "    lo: 241083983  222480    0    0    0     0          0         0 241083983  222480    0    "
                        "0    0     0       0          0\n"
                        "  eth0:468716553   10372    3    4    0     0          0         0   512036    6284   11   12 "
                        "   0     0       0          0\n"
                        "eth0:1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"),
                   check_net);
    assert_true(proc_net_next(&bad, &n) && span_equal(n.name, "eth2") && n.receive[NET_BYTES] == UINT64_MAX &&
                n.transmit[NET_FIELDS - 1] == 16);
    assert_false(proc_net_next(&bad, &n));
}

/* ---- pressure ---- */

static void check_pressure(struct span cut, bool whole)
{
    struct proc_pressure p = {.some_ns = 1};
    if (proc_pressure_parse(cut, &p) < 0) {
        assert_int_equal(p.some_ns, 1);
        return;
    }
    assert_true(p.has_some && p.some_ns == 50952626000 && p.full_ns == (p.has_full ? 37730900000 : 0));
    assert_true(!whole || p.has_full);
}

TEST(pressure)
{
    struct proc_pressure p;
    each_beginning(TEXT("some avg10=0.04 avg60=0.12 avg300=0.11 total=50952626\nfull avg10=0.00 avg60=0.08 avg300=0.07 "
                        "total=37730900\n"),
                   check_pressure);
    assert_int_equal(proc_pressure_parse(TEXT("full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"), &p), 0);
    assert_true(!p.has_some && p.has_full && p.full_ns == 5000);
    assert_int_equal(proc_pressure_parse(TEXT("some a total=18446744073709551\nfull a total=18446744073709552\n"), &p),
                     0);
    assert_true(p.has_some && p.some_ns == 18446744073709551000ull && !p.has_full);
}

/* ---- kmsg ---- */

static void check_kmsg(struct span cut, bool whole)
{
    struct kmsg_record r;
    int code = kmsg_parse(cut, &r);
    if (code == 0)
        assert_true(r.t_us == 98765432 && (r.oom_killed == 4711 || (!whole && r.oom_killed == 0)));
    if (whole)
        assert_int_equal(code, 0);
}

TEST(kmsg)
{
    static const struct {
        const char *text;
        uint64_t t_us, killed;
    } records[] = {
        {"3,1,7,-;Out of memory: Killed process 12 (x) total-vm:1kB\n", 7, 12},
        {"6,339,5140900,-;NET: Registered PF_INET6 protocol family\n SUBSYSTEM=net\n", 5140900, 0},
        {"3,1,7,-;Killed process 12 (x)\n", 7, 0},
        {"3,1,7,-;Out of memory (oom_kill_allocating_task): Killed process 12 (x)\n", 7, 12},
        {"3,1,7,-;Out of memory: Killed process (x)\n", 7, 0},
        {"3,1,7,-;Out of memory: Killed process 99999999999999999999 (x)\n", 7, 0},
        {"3,1,7,-;Out of memory: Killed process 12 (: Killed process 1 ) total-vm:1kB\n", 7, 12},
    };
    struct kmsg_record r;
    each_beginning(TEXT("3,1234,98765432,-;Memory cgroup out of memory: Killed process 4711 (cc1) total-vm:1kB\n"),
                   check_kmsg);
    for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
        assert_int_equal(kmsg_parse(span_str(records[i].text), &r), 0);
        assert_true(r.t_us == records[i].t_us && r.oom_killed == records[i].killed);
    }
    assert_int_equal(
        kmsg_parse(TEXT("6,1,7,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed="
                        "0,oom_memcg=/a,b,task_memcg=/a,b/c,task=x,pid=5,u,pid=12,uid=0\n"),
                   &r),
        0);
    assert_true(r.oom_killed == 0 && r.oom_chosen == 12 && span_equal(r.oom_group, "/a,b"));
    assert_int_equal(
        kmsg_parse(TEXT("6,1,7,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,"
                        "global_oom,task_memcg=/c,task=x,pid=12,uid=0\n"),
                   &r),
        0);
    assert_int_equal(r.oom_chosen, 0);
    assert_int_equal(kmsg_parse(TEXT("6,1,7,-;memory: usage 40960kB, limit 40960kB, failcnt 31\n"), &r), 0);
    assert_int_equal(r.oom_limit, 40 << 20);
    assert_int_equal(kmsg_parse(TEXT("6,1,7,-;memory: usage 8kB, limit 9007199254740988kB, failcnt 0\n"), &r), 0);
    assert_int_equal(r.oom_limit, 0);
    assert_int_equal(kmsg_parse(TEXT(""), &r), BARO_E_SYNTAX);
    assert_int_equal(kmsg_parse(TEXT("3,1;Out of memory: Killed process 12 (x)\n"), &r), BARO_E_SYNTAX);
}

/* ---- mountinfo ---- */

static void check_mounts(struct span cut, bool whole)
{
    struct proc_mount m;
    size_t n = 0;
    for (; proc_mount_next(&cut, &m); n++) {
        if (n == 0)
            assert_true(m.id == 36 && m.parent == 35 && m.major == 98 && m.minor == 0 && span_equal(m.root, "/mnt1") &&
                        span_equal(m.point, "/mnt\\0402") && span_equal(m.type, "ext3") &&
                        span_equal(m.source, "/dev/root") && span_equal(m.options, "rw,errors=continue"));
        if (n == 1)
            assert_true(span_equal(m.point, "/") && span_equal(m.type, "overlay") && m.source.len == 0 &&
                        span_equal(m.options, "rw"));
        if (n == 2)
            assert_true(span_equal(m.type, "tmpfs") && span_equal(m.source, "none") && m.options.len == 0);
    }
    assert_true(n <= 3 && (!whole || n == 3));
}

TEST(mounts)
{
    static const char *const escaped[][2] = {{"/a\\040b\\011c\\012d\\134e", "/a b\tc\nd\\e"},
                                             {"/a\\04", "/a\\04"},
                                             {"/a\\488", "/a\\488"},
                                             {"/\\303\\244", "/\xc3\xa4"}};
    char out[32];
    struct proc_mount m;
    struct span bad =
        TEXT("1 2 3:4 / / rw ext4 /dev/a rw\n1 2 3-4 / / rw - ext4 a b\n1 2 3:4294967296 / / rw - x y z\n");
    each_beginning(TEXT("36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 propagate_from:3 - ext3 /dev/root "
                        "rw,errors=continue\n"
                        "1 0 0:30 / / rw - overlay  rw\n2 1 0:31 / /tmp rw - tmpfs none\n"),
                   check_mounts);
    assert_false(proc_mount_next(&bad, &m));
    for (size_t i = 0; i < sizeof(escaped) / sizeof(*escaped); i++) {
        assert_int_equal(proc_mount_unescape(span_str(escaped[i][0]), out, sizeof(out)), strlen(escaped[i][1]));
        assert_string_equal(out, escaped[i][1]);
    }
    assert_int_equal(proc_mount_unescape(TEXT("/abc"), out, 5), 4);
    assert_true(proc_mount_unescape(TEXT("/abc"), out, 4) < 0 && proc_mount_unescape(TEXT(""), out, 0) < 0);
}

/* ---- cpuinfo ---- */

struct clocks {
    size_t n;
    uint32_t cpu[4];
    uint64_t hertz[4];
};

static void add_clock(void *context, uint32_t cpu, uint64_t hertz)
{
    struct clocks *c = context;
    assert_true(c->n < 4);
    c->cpu[c->n] = cpu;
    c->hertz[c->n++] = hertz;
}

static void is_cpu(struct span text, const char *model, const char *implementer, size_t n, uint64_t hertz)
{
    struct clocks c = {0};
    struct proc_cpuinfo info;
    for (size_t len = 0; len < text.len; len++) {
        struct clocks some = {0};
        proc_cpuinfo_parse(span_of(text.at, len), &info, add_clock, &some);
        assert_true(some.n <= n && (!some.n || some.hertz[0] == hertz));
    }
    assert_int_equal(proc_cpuinfo_parse(text, &info, add_clock, &c), 0);
    assert_true(span_equal(info.model, model) && span_equal(info.implementer, implementer));
    assert_int_equal(c.n, n);
    if (n)
        assert_true(c.hertz[n - 1] == hertz && c.cpu[0] == 0);
}

TEST(cpuinfo)
{
    struct proc_cpuinfo info;
    is_cpu(TEXT("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD "
                "EPYC\ncpu MHz\t\t: 2596.120\npower management:\n\n"
                "processor\t: 3\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2596.120\n"),
           "AMD EPYC", "", 2, 2596120000);
    is_cpu(TEXT("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: "
                "0x3\nCPU part\t: 0xd0c\n"),
           "", "0x41", 0, 0);
    is_cpu(
        TEXT("processor\t: 0\ncpu\t\t: POWER9 (raw), altivec supported\nclock\t\t: 3425.000000MHz\nrevision\t: 2.2\n"),
        "POWER9 (raw), altivec supported", "", 1, 3425000000);
    is_cpu(TEXT("processor\t: 0\ncpu MHz\t\t: 18446744073710\nmodel name\t: x \n"), "x", "", 0, 0);
    assert_int_equal(proc_cpuinfo_parse(TEXT("no pairs\n"), &info, NULL, NULL), BARO_E_SYNTAX);
}

/* ---- lists of /sys ---- */

static void add_range(void *context, uint32_t first, uint32_t last)
{
    *(uint64_t *)context += (uint64_t)first + last;
}

TEST(lists)
{
    uint64_t sum = 0;
    assert_int_equal(sys_list_parse(TEXT("0-3,8,10-11\n"), add_range, &sum), 7);
    assert_int_equal(sum, 3 + 16 + 21);
    assert_int_equal(sys_list_parse(TEXT("0\n"), NULL, NULL), 1);
    assert_int_equal(sys_list_parse(TEXT("\n"), NULL, NULL), 0);
    assert_int_equal(sys_list_parse(TEXT("0-4294967294"), NULL, NULL), 4294967295);
    static const char *const bad[] = {"3-1", "1,", ",1", "-1", "1-", "x", "0-4294967295", "1 2"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(sys_list_parse(span_of(bad[i], strlen(bad[i])), NULL, NULL), BARO_E_SYNTAX);
}
