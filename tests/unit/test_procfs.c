/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of /proc. Values are typed by hand from proc(5) and from kernel output. */
#include "unit.h"
#include "cut.h"
#include "kernel/proc/procfs.h"

/* ---- stat ---- */

static const char stat_6_18[] = "7618 (cat) R 7616 7615 3861 34816 7615 4194304 105 106 107 108 109 110 111 112 20 -5 "
                                "3 0 421183 3133440 361 18446744073709551615 "
                                "94261730230272 94261730250153 140734221825584 0 0 0 0 69632 0 0 0 0 17 0 0 0 0 0 0 "
                                "94261730266160 94261730267776 94262133002240 "
                                "140734221826482 140734221826579 140734221826579 140734221828075 256\n";

static void check_stat_6_18(const struct pid_stat *st)
{
    char all[256];
    snprintf(all, sizeof(all), "%d %s %c %d %d %d %u %lu %lu %lu %lu %lu %lu %lu %lu %ld %lu %lu %lu %lu", st->pid,
             st->comm, st->state, st->ppid, st->pgrp, st->session, st->flags, st->minflt, st->cminflt, st->majflt,
             st->cmajflt, st->utime, st->stime, st->cutime, st->cstime, st->nice, st->num_threads, st->starttime,
             st->vsize, st->rss);
    assert_string_equal(all,
                        "7618 cat R 7616 7615 3861 4194304 105 106 107 108 109 110 111 112 -5 3 421183 3133440 361");
}

TEST(stat_whole)
{
    struct pid_stat st;
    assert_int_equal(pid_stat_parse(TEXT(stat_6_18), &st), 0);
    check_stat_6_18(&st);
    assert_int_equal(st.sigignore, 69632); /* SIGPIPE (13), 4096, and SIGCHLD (17), 65536 */
    assert_true(st.has_exit_code);
    assert_int_equal(st.exit_code, 256);
}

static void check_stat_cut(struct span cut)
{
    struct pid_stat st;
    memset(&st, 0x5a, sizeof(st));
    if (pid_stat_parse(cut, &st) == 0) {
        check_stat_6_18(&st);
        assert_true(st.sigignore == 0 || st.sigignore == 69632);
        assert_true(!st.has_exit_code || (st.exit_code == 256 && cut.len == sizeof(stat_6_18) - 1));
        return;
    }
    for (size_t i = 0; i < sizeof(st); i++)
        assert_int_equal(((unsigned char *)&st)[i], 0x5a);
}

TEST(stat_cut_anywhere)
{
    each_cut(TEXT(stat_6_18), check_stat_cut);
}

/* 2.6.32 ends with field 44, before exit_code was added; a future kernel has more than 52. */
TEST(stat_of_other_kernels)
{
    struct pid_stat st;
    assert_int_equal(pid_stat_parse(TEXT("1 (init) S 0 1 1 0 -1 4202752 12 34 5 6 7 8 9 10 20 0 1 0 2 19767296 380 "
                                         "18446744073709551615 1 1 0 0 0 0 0 4096 "
                                         "536962595 18446744073709551615 0 0 0 0 0 0 16 0 0\n"),
                                    &st),
                     0);
    assert_int_equal(st.rss, 380);
    assert_int_equal(st.cstime, 10);
    assert_int_equal(st.sigignore, 4096);
    assert_false(st.has_exit_code);
    assert_int_equal(st.exit_code, 0);
    assert_gives(pid_stat_parse(TEXT("1 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4\n"), &st), st.rss, 4);
    assert_int_equal(pid_stat_parse(TEXT("1 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3\n"), &st), BARO_E_SYNTAX);
    assert_int_equal(pid_stat_parse(TEXT("1 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5 6 7 8 9 30 1 2 3 4 5 6 "
                                         "7 8 9 40 1 2 3 4 5 6 7 8 9 50 51 "
                                         "-9 53 new 55\n"),
                                    &st),
                     0);
    assert_int_equal(st.sigignore, 3);
    assert_true(st.has_exit_code);
    assert_int_equal(st.exit_code, -9);
}

TEST(stat_hostile_names)
{
    static const char tail[] = " S 1 7 7 0 -1 4194304 105 0 0 0 3 4 5 6 20 0 1 0 421183 3133440 361 0\n";
    static const struct span names[] = {
        {") S 1 1\n\xff\xfe(x", 12},
        {"", 0},
        {")", 1},
        {"(", 1},
        {")))) R 2 3 4", 12},
        {"\n\n\n", 3},
        {" ", 1},
        {"\xff\xff", 2},
        {"kworker/u257:12+flush-btrfs-compressed-writeback-of-63-bytes-ab", 63},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct pid_stat st;
        struct buf b = {0};
        buf_str(&b, "42 (");
        buf_add(&b, names[i].at, names[i].len);
        buf_str(&b, ")");
        buf_str(&b, tail);
        assert_int_equal(pid_stat_parse(span_of(b.at, b.len), &st), 0);
        assert_int_equal(strlen(st.comm), names[i].len);
        assert_memory_equal(st.comm, names[i].at, names[i].len);
        assert_int_equal(st.ppid, 1);
        assert_int_equal(st.utime, 3);
        assert_int_equal(st.rss, 361);
        for (size_t len = 0; len < b.len; len++)
            if (pid_stat_parse(span_of(b.at, len), &st) == 0)
                assert_true(st.rss == 361 && st.utime == 3 && strlen(st.comm) == names[i].len);
        buf_done(&b);
    }
}

TEST(stat_numbers_at_their_ends)
{
    struct pid_stat st;
    /* Every counter at 2^64-1; rss, cutime and cstime below zero, and as 2^64 less one. */
    assert_int_equal(
        pid_stat_parse(
            TEXT("2147483647 (x) Z -1 -1 -1 0 -1 4294967295 18446744073709551615 18446744073709551615 "
                 "18446744073709551615 "
                 "18446744073709551615 18446744073709551615 18446744073709551615 -3 18446744073709551615 20 -20 1 0 "
                 "18446744073709551615 18446744073709551615 -12 0\n"),
            &st),
        0);
    assert_int_equal(st.pid, INT32_MAX);
    assert_int_equal(st.ppid, -1);
    assert_true(st.flags == UINT32_MAX && st.minflt == UINT64_MAX && st.utime == UINT64_MAX &&
                st.starttime == UINT64_MAX);
    assert_true(st.vsize == UINT64_MAX && st.cutime == 0 && st.cstime == 0 && st.rss == 0);
    assert_int_equal(st.nice, -20);
    static const char *const bad[] = {
        "\n",
        "x (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5\n",
        "1 (x) S 99999999999 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5\n",          /* ppid beyond 31 bits */
        "1 (x) S 1 1 1 0 -1 0 18446744073709551616 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5\n", /* 2^64 */
        "1 (x) S 1 1 1 0 -1 0 0 0 0 0 -5 0 0 0 20 0 1 0 2 3 4 5\n",                   /* utime below zero */
        "1 (x) S 1 1 1 0 -1 4294967296 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5\n",           /* flags beyond 32 bits */
        "1 (x) S 1 1 1 0 - 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5\n",
        "1 (x) S 1 1 1 0 -1 0 0 0 0 0 1a 0 0 0 20 0 1 0 2 3 4 5\n",
        "99999999999 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5\n",
        "1 (x)  S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 3 4 5\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(pid_stat_parse(span_str(bad[i]), &st), BARO_E_SYNTAX);
    for (size_t len = 0; len <= 7; len++)
        assert_int_equal(pid_stat_parse(span_of("1 (x) S", len), &st), BARO_E_SYNTAX);
}

/* A kernel thread; a zombie; and a group whose leader ended while a thread lives: like a zombie, but two threads. */
TEST(stat_special_processes)
{
    struct pid_stat st;
    assert_int_equal(pid_stat_parse(TEXT("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 9 0 0 20 0 1 0 1 0 0 "
                                         "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 0 "
                                         "1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"),
                                    &st),
                     0);
    assert_true(st.flags & PROC_PF_KTHREAD);
    assert_true(st.vsize == 0 && st.rss == 0);
    assert_int_equal(pid_stat_parse(TEXT("812 (sleep) Z 800 812 800 0 -1 4227084 90 0 0 0 1 2 0 0 20 0 1 0 5000 0 0 "
                                         "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 "
                                         "0 0 0 0 0 0 0 0 0 0 0 0 9\n"),
                                    &st),
                     0);
    assert_int_equal(st.state, 'Z');
    assert_false(st.flags & PROC_PF_KTHREAD);
    assert_true(st.has_exit_code && st.exit_code == 9);
    assert_int_equal(pid_stat_parse(TEXT("813 (worker) Z 800 813 800 0 -1 4227084 90 0 0 0 150 2 0 0 20 0 2 0 5000 0 0 "
                                         "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 "
                                         "0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"),
                                    &st),
                     0);
    assert_true(st.state == 'Z' && st.num_threads == 2 && st.utime == 150);
}

/* ---- status ---- */

static const char status_6_18[] =
    "Name:\tcat\\nVmRSS:\nUmask:\t0022\nState:\tR "
    "(running)\nTgid:\t7618\nNgid:\t0\nPid:\t7618\nPPid:\t7616\nTracerPid:\t0\n"
    "Uid:\t1000\t1001\t1002\t1003\nGid:\t0\t0\t0\t0\nFDSize:\t256\nGroups:\t \nKthread:\t0\nVmPeak:\t    3060 "
    "kB\nVmSize:\t    3060 kB\n"
    "VmHWM:\t    1661 kB\nVmRSS:\t    1660 kB\nRssAnon:\t     108 kB\nRssFile:\t    1552 kB\nRssShmem:\t       4 "
    "kB\nVmData:\t     360 kB\n"
    "VmPTE:\t      44 kB\nVmSwap:\t      12 "
    "kB\nHugetlbPages:\t    2048 "
    "kB\nTHP_enabled:\t1\nThreads:\t3\nSigQ:\t0/96365\nCpus_allowed:\t3\nvoluntary_ctxt_switches:\t17\n"
    "nonvoluntary_ctxt_switches:\t18\n";
static const uint64_t status_values[STATUS_MAX] = {
    [STATUS_VM_HWM] = 1661 * 1024,
    [STATUS_VM_RSS] = 1660 * 1024,
    [STATUS_VM_SWAP] = 12 * 1024,
    [STATUS_VM_PTE] = 44 * 1024,
    [STATUS_HUGETLB] = 2048 * 1024,
    [STATUS_RSS_ANON] = 108 * 1024,
    [STATUS_RSS_FILE] = 1552 * 1024,
    [STATUS_RSS_SHMEM] = 4 * 1024,
    [STATUS_THREADS] = 3,
    [STATUS_SWITCHES_VOLUNTARY] = 17,
    [STATUS_SWITCHES_INVOLUNTARY] = 18,
    [STATUS_TGID] = 7618,
    [STATUS_PPID] = 7616,
    [STATUS_UID] = 1000,
    [STATUS_KTHREAD] = 0,
};

static void check_values(uint32_t valid, const uint64_t *value, const uint64_t *expected, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_true(value[i] == (valid & 1u << i ? expected[i] : 0));
}

static void check_status_cut(struct span cut)
{
    struct pid_status st;
    if (pid_status_parse(cut, &st) == 0) {
        check_values(st.valid, st.value, status_values, STATUS_MAX);
        assert_true(cut.len == sizeof(status_6_18) - 1 ? st.valid == (1u << STATUS_MAX) - 1
                                                       : st.valid < (1u << STATUS_MAX));
    }
}

TEST(status_cut_anywhere)
{
    each_cut(TEXT(status_6_18), check_status_cut);
}

/* 2.6.32 has neither Rss* nor VmSwap nor Kthread; a zombie has no memory at all. */
TEST(status_of_other_kernels)
{
    struct pid_status st;
    assert_int_equal(
        pid_status_parse(
            TEXT("Name:\tinit\nState:\tS "
                 "(sleeping)\nTgid:\t1\nPid:\t1\nPPid:\t0\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nVmPeak:\t   19304 kB\n"
                 "VmHWM:\t    1520 kB\nVmRSS:\t    1516 "
                 "kB\nThreads:\t1\nvoluntary_ctxt_switches:\t1012\nnonvoluntary_ctxt_switches:\t9\n"),
            &st),
        0);
    assert_int_equal(st.valid, 1u << STATUS_TGID | 1u << STATUS_PPID | 1u << STATUS_UID | 1u << STATUS_VM_HWM |
                                   1u << STATUS_VM_RSS | 1u << STATUS_THREADS | 1u << STATUS_SWITCHES_VOLUNTARY |
                                   1u << STATUS_SWITCHES_INVOLUNTARY);
    assert_int_equal(st.value[STATUS_VM_RSS], 1516 * 1024);
    assert_int_equal(
        pid_status_parse(
            TEXT("Name:\tx\nState:\tZ (zombie)\nTgid:\t5\nPPid:\t4\nUid:\t4294967295\t0\t0\t0\nThreads:\t1\n"), &st),
        0);
    assert_false(st.valid & (1u << STATUS_VM_RSS | 1u << STATUS_RSS_ANON | 1u << STATUS_VM_HWM));
    assert_true(st.value[STATUS_UID] == UINT32_MAX);
}

TEST(status_odd_lines)
{
    struct pid_status st;
    assert_int_equal(
        pid_status_parse(
            TEXT("VmRSS:\t18446744073709551615 kB\nVmHWM:\t 18014398509481983 kB\nVmSwap:\t12 "
                 "MB\nThreads:\t18446744073709551615\n"
                 "RssAnon:\t-4 kB\nTgid:\t\nPPid:\tx\nUid:\n\n\nRssFile:\t4\nVmRSSx:\t1 kB\nthreads:\t9\n"),
            &st),
        0);
    assert_int_equal(st.valid, 1u << STATUS_VM_HWM | 1u << STATUS_THREADS);
    assert_true(st.value[STATUS_VM_HWM] == 18014398509481983u * 1024 && st.value[STATUS_THREADS] == UINT64_MAX);
    memset(&st, 0x5a, sizeof(st));
    assert_int_equal(pid_status_parse(TEXT(""), &st), BARO_E_SYNTAX);
    assert_int_equal(pid_status_parse(TEXT("Name:\tx\nFuture:\t1\n"), &st), BARO_E_SYNTAX);
    assert_int_equal(st.valid, 0x5a5a5a5a);
}

/* ---- io, smaps_rollup, schedstat ---- */

static const char io_6_18[] =
    "rchar: 8379\nwchar: 1403\nsyscr: 12\nsyscw: 18446744073709551615\nread_bytes: 4097\nwrite_bytes: 4096\n"
    "cancelled_write_bytes: 7\n";
static const uint64_t io_values[IO_MAX] = {8379, 1403, 12, UINT64_MAX, 4097, 4096, 7};

static void check_io_cut(struct span cut)
{
    struct pid_io io;
    if (pid_io_parse(cut, &io) == 0) {
        check_values(io.valid, io.value, io_values, IO_MAX);
        assert_true((cut.len == sizeof(io_6_18) - 1) == (io.valid == (1u << IO_MAX) - 1));
    }
}

TEST(io_cut_anywhere)
{
    struct pid_io io;
    each_cut(TEXT(io_6_18), check_io_cut);
    assert_int_equal(pid_io_parse(TEXT(""), &io), BARO_E_SYNTAX);
    assert_int_equal(
        pid_io_parse(TEXT("read_bytes: 1\nnew_bytes: 9\nrchar: 3\nwchar: x\nwrite_bytes: 18446744073709551616\n"), &io),
        0);
    assert_int_equal(io.valid, 1u << IO_READ_BYTES | 1u << IO_RCHAR);
    assert_true(io.value[IO_READ_BYTES] == 1 && io.value[IO_RCHAR] == 3);
}

static const char smaps_6_18[] =
    "55bb04f22000-7fff3d4cc000 ---p 00000000 00:00 0                          "
    "[rollup]\nRss:                1660 kB\nPss:                 353 kB\n"
    "Pss_Dirty:           108 kB\nPss_Anon:            108 kB\nPss_File:            238 kB\n"
    "Pss_Shmem:             7 kB\nShared_Clean:       1476 "
    "kB\nPrivate_Clean:        76 kB\nPrivate_Dirty:       108 kB\n"
    "Referenced:         1660 kB\nPrivate_Hugetlb:    2048 kB\nSwap:                  5 "
    "kB\nSwapPss:               3 kB\nLocked:                0 kB\n";
static const uint64_t smaps_values[SMAPS_MAX] = {1660 * 1024, 353 * 1024, (76 + 108 + 2048) * 1024, 5 * 1024, 3 * 1024,
                                                 108 * 1024,  7 * 1024};

static void check_smaps_cut(struct span cut)
{
    struct pid_smaps sm;
    if (pid_smaps_parse(cut, &sm) == 0)
        check_values(sm.valid, sm.value, smaps_values, SMAPS_MAX);
}

TEST(smaps_cut_anywhere)
{
    struct pid_smaps sm;
    each_cut(TEXT(smaps_6_18), check_smaps_cut);
    assert_gives(pid_smaps_parse(TEXT(smaps_6_18), &sm), sm.valid, (1u << SMAPS_MAX) - 1);
    /* Without hugetlb in the kernel; and a zombie's, which is empty. */
    assert_int_equal(pid_smaps_parse(TEXT("Rss: 8 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 2 kB\nSwap: 0 kB\n"), &sm),
                     0);
    assert_int_equal(sm.value[SMAPS_USS], 3 * 1024);
    assert_false(sm.valid & 1u << SMAPS_PSS);
    assert_int_equal(pid_smaps_parse(TEXT("Rss: 8 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 2 kB\n"), &sm), 0);
    assert_false(sm.valid & 1u << SMAPS_USS);
    assert_int_equal(
        pid_smaps_parse(TEXT("Private_Clean: 18014398509481983 kB\nPrivate_Dirty: 18014398509481983 kB\nSwap: 0 kB\n"),
                        &sm),
        0);
    assert_int_equal(sm.valid, 1u << SMAPS_SWAP);
    assert_int_equal(pid_smaps_parse(TEXT(""), &sm), BARO_E_SYNTAX);
}

TEST(schedstat_cut_anywhere)
{
    static const char text[] = "1213285 42 7\n";
    struct pid_schedstat ss = {1, 1, 1};
    for (size_t len = 0; len < sizeof(text) - 1; len++)
        assert_int_equal(pid_schedstat_parse(span_of(text, len), &ss), BARO_E_SYNTAX);
    assert_int_equal(ss.run_ns, 1);
    assert_then(pid_schedstat_parse(TEXT(text), &ss), ss.run_ns == 1213285 && ss.delay_ns == 42 && ss.slices == 7);
    assert_int_equal(pid_schedstat_parse(TEXT("18446744073709551615 18446744073709551615 18446744073709551615\n"), &ss),
                     0);
    assert_true(ss.run_ns == UINT64_MAX && ss.slices == UINT64_MAX);
    assert_int_equal(pid_schedstat_parse(TEXT("1 -2 3\n"), &ss), BARO_E_SYNTAX);
}

/* ---- children, /proc/stat, meminfo ---- */

struct list {
    int n, stop;
    int32_t pid[8];
};

static bool note(void *context, int32_t pid)
{
    struct list *l = context;
    assert_true(l->n < 8);
    l->pid[l->n++] = pid;
    return l->n != l->stop;
}

TEST(children)
{
    static const char text[] = "12 13 2147483647 ";
    static const int32_t pids[] = {12, 13, INT32_MAX};
    for (size_t len = 0; len < sizeof(text); len++) {
        struct list l = {0};
        int n = pid_children_parse(span_of(text, len), note, &l);
        assert_int_equal(n, l.n);
        assert_int_equal(l.n, (len >= 3) + (len >= 6) + (len >= 17));
        for (int i = 0; i < l.n; i++)
            assert_int_equal(l.pid[i], pids[i]);
    }
    struct list one = {.stop = 1};
    assert_int_equal(pid_children_parse(TEXT("5 6 7 "), note, &one), 1);
    struct list l = {0};
    assert_int_equal(pid_children_parse(TEXT("5 0 7 \n"), note, &l), 2);
    assert_int_equal(pid_children_parse(TEXT("-5 "), note, &l), BARO_E_SYNTAX);
    assert_int_equal(pid_children_parse(TEXT("2147483648 "), note, &l), BARO_E_SYNTAX);
    assert_int_equal(pid_children_parse(TEXT("x"), note, &l), BARO_E_SYNTAX);
}

TEST(machine_files)
{
    static const char text[] = "cpu  2367 0 2610 835301 355 0 51 15 0 0\nintr 230277 0 0 0\nctxt 446481\nbtime "
                               "1795233600\nprocesses 7621\nprocs_running 1\n";
    struct proc_stat st;
    for (size_t len = 0; len < sizeof(text); len++)
        if (proc_stat_parse(span_of(text, len), &st, NULL, NULL) == 0)
            assert_true(st.value[PROC_STAT_BTIME] == (st.valid >> PROC_STAT_BTIME & 1 ? 1795233600 : 0) &&
                        st.value[PROC_STAT_FORKS] == (st.valid >> PROC_STAT_FORKS & 1 ? 7621 : 0));
    assert_then(proc_stat_parse(TEXT(text), &st, NULL, NULL), st.valid >> PROC_STAT_FORKS & 1);
    static const char meminfo[] = "MemTotal:       24689528 kB\nMemFree:        1000 kB\n";
    for (size_t len = 0; len < sizeof(meminfo); len++) {
        struct proc_meminfo m = {.value = {5}};
        int r = proc_meminfo_parse(span_of(meminfo, len), &m);
        assert_true(len >= 28 ? r == 0 && m.value[MEM_TOTAL] == 24689528ull * 1024
                              : r == BARO_E_SYNTAX && m.value[MEM_TOTAL] == 5);
    }
}

/* ---- names ---- */

static void is_named(const char *comm, const char *exe, struct span cmdline, const char *expected)
{
    struct buf b = {0};
    pid_name(span_str(comm), span_str(exe), cmdline, &b);
    buf_byte(&b, 0);
    assert_string_equal((const char *)b.at, expected);
    buf_done(&b);
}

TEST(names)
{
    is_named("cat", "/usr/bin/busybox", TEXT("cat\0"), "cat");
    is_named("gnome-keyring-d", "/usr/bin/gnome-keyring-daemon", TEXT(""), "gnome-keyring-daemon");
    is_named("gnome-keyring-d", "/usr/bin/gnome-keyring-daemon (deleted)", TEXT(""), "gnome-keyring-daemon");
    is_named("gnome-keyring-d", "", TEXT("/usr/bin/gnome-keyring-daemon\0--login\0"), "gnome-keyring-daemon");
    is_named("my-long-script-", "/usr/bin/python3.11", TEXT("python3\0-u\0/opt/my-long-script-name.py\0x\0"),
             "my-long-script-name.py");
    is_named("my-long-script-", "/bin/dash", TEXT("/bin/sh\0./my-long-script-name\0"), "my-long-script-name");
    is_named("exactly-15-byte", "/bin/exactly-15-byte", TEXT(""), "exactly-15-byte");
    is_named("renamed-by-prct", "/usr/bin/other", TEXT("other\0x\0"), "renamed-by-prct");
    is_named("title-is-longer", "", TEXT("title-is-longer-than: --password x /a/b"), "title-is-longer-than:");
    is_named("long-name-token", "", TEXT("run\0long-name-token=abcdef\0"), "long-name-token");
    is_named("", "", TEXT(""), "");
    is_named("kworker/u257:12-events_unbound", "", TEXT(""), "kworker/u257:12-events_unbound");
}
