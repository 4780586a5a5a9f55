/* SPDX-License-Identifier: Apache-2.0 */
/* Which process failed first: exits typed by hand, in the order of their ends. */
#include <signal.h>

#define UNIT_EACH begin, NULL
#include "unit.h"
#include "libbaro/sample/row.h"
#include "libbaro/verdict/failure.h"

#define COMMAND 100 /* pid of the job's command */
#define WRAPPER 1
#define SECONDS(s) ((uint64_t)((s)*1e9))

enum { NOT_KNOWN = -1 };

static struct failures f;

static int begin(void **state)
{
    f = (struct failures){.command = {COMMAND, 5}};
    return 0;
}

/* A process from `from` to `to` seconds; status as of wait4(2). */
static void ended(int pid, int ppid, double from, double to, int status, const char *name)
{
    struct baro_exit e = {.t_ns = SECONDS(to),
                          .key = {pid, 5},
                          .parent = {ppid, 5},
                          .status_known = status >= 0,
                          .status = status >= 0 ? status : 0,
                          .name = name};
    e.value[EXIT_elapsed] = SECONDS(to) - SECONDS(from);
    failures_add(&f, ROW(&e));
}

#define STATUS(n) ((n) << 8)

static const struct failure *why(void)
{
    assert_true(f.has_failed);
    return &f.of_command;
}

/* The process that failed first, and what is known of it: `probably` that one, `of a child` of the command, how many
 * failed before, `at least` so many. */
static void expect_first(const char *expected)
{
    char is[128];
    snprintf(is, sizeof(is), "%s%d%s, %s%zu before", why()->is_probable ? "probably " : "", why()->first.process.pid,
             why()->is_of_child ? " of a child" : "", why()->before_is_bound ? "at least " : "",
             (size_t)why()->n_before);
    assert_string_equal(is, expected);
}

/* make -j2: sub-make 101, gcc 102, collect2 103, ld 104; a compiler that went well ran besides. */
TEST(link_error)
{
    ended(105, 101, 0.1, 0.5, 0, "gcc");
    ended(104, 103, 1.0, 1.5, STATUS(1), "ld");
    ended(103, 102, 0.9, 1.51, STATUS(1), "collect2");
    ended(102, 101, 0.8, 1.52, STATUS(1), "gcc");
    ended(106, 101, 0.7, 40, 0, "gcc");
    ended(101, COMMAND, 0.1, 40.1, STATUS(2), "make");
    ended(COMMAND, WRAPPER, 0, 40.2, STATUS(2), "make");
    expect_first("104 of a child, 0 before");
    assert_string_equal(why()->first.name, "ld");
    assert_int_equal(why()->first.status, STATUS(1));
    assert_int_equal(why()->first.t_ns, SECONDS(1.5));
    assert_string_equal(why()->after, "collect2, gcc, make");
    assert_int_equal(why()->n_after, 3);
    assert_int_equal(f.n, 0);
}

/* If two compilers fail while both run, the first is named; after it make started nothing. */
TEST(first_of_two)
{
    ended(101, COMMAND, 0.1, 1.0, STATUS(1), "gcc");
    ended(102, COMMAND, 0.2, 3.5, STATUS(4), "gcc");
    ended(COMMAND, WRAPPER, 0, 3.6, STATUS(2), "make");
    expect_first("101 of a child, 0 before");
}

/* A script: 100,000 probes of configure fail, configure ends well, three probes of the script fail, then make. */
TEST(probes_do_not_count)
{
    for (int i = 0; i < 100000; i++)
        ended(1000 + i, 101, i * 1e-4, i * 1e-4 + 5e-5, STATUS(1), "cc1");
    ended(101, COMMAND, 0, 10.1, 0, "configure");
    for (int i = 0; i < 3; i++)
        ended(110 + i, COMMAND, 11 + i, 11.5 + i, STATUS(1), "grep");
    ended(121, 120, 15, 16, SIGSEGV | 0x80, "cc1plus");
    ended(120, COMMAND, 14, 16.1, STATUS(2), "make");
    ended(COMMAND, WRAPPER, 0, 16.2, STATUS(2), "sh");
    expect_first("121 of a child, 3 before");
    assert_string_equal(why()->after, "make");
    assert_int_equal(f.n, 0);
}

/* grep fails, and ten seconds later the command fails by itself, or after a process that went well. */
TEST(by_itself)
{
    for (int more = 0; more < 2; more++) {
        begin(NULL);
        ended(101, COMMAND, 0.1, 0.2, STATUS(1), "grep");
        if (more)
            ended(102, COMMAND, 9.8, 9.9, 0, "true");
        ended(COMMAND, WRAPPER, 0, 10, STATUS(1), "python3");
        expect_first("100, 1 before");
        assert_string_equal(why()->before.name, "grep");
    }
}

/* A signal ended the command: no child's failure is why, however late it was. */
TEST(killed)
{
    ended(101, COMMAND, 9.8, 9.9, STATUS(1), "grep");
    ended(COMMAND, WRAPPER, 0, 10, SIGKILL, "python3");
    assert_int_equal(why()->first.process.pid, COMMAND);
    assert_false(why()->is_of_child);
}

/* After the failure a trap of the shell starts rm, and the shell ends soon: probable. */
TEST(trap)
{
    ended(101, COMMAND, 0.1, 5.0, STATUS(1), "pytest");
    ended(102, COMMAND, 5.1, 5.2, 0, "rm");
    ended(COMMAND, WRAPPER, 0, 5.3, STATUS(1), "bash");
    expect_first("probably 101 of a child, 0 before");
}

TEST(closed_pipe)
{
    for (int pipefail = 0; pipefail < 2; pipefail++) {
        begin(NULL);
        ended(102, COMMAND, 0.1, 0.5, 0, "head");
        ended(101, COMMAND, 0.1, 0.6, SIGPIPE, "yes");
        ended(COMMAND, WRAPPER, 0, 0.7, STATUS(pipefail ? 128 + SIGPIPE : 3), "bash");
        expect_first(pipefail ? "101 of a child, 0 before" : "100, 0 before");
    }
}

TEST(timeout)
{
    ended(102, 101, 0.1, 10, SIGTERM, "sleep");
    ended(101, COMMAND, 0.1, 10.1, STATUS(124), "timeout");
    ended(COMMAND, WRAPPER, 0, 10.2, STATUS(124), "sh");
    expect_first("101 of a child, 0 before");
}

/* Statuses are not known but the command's: the last that ended, unless it was followed by one that went well. */
TEST(not_known)
{
    ended(101, COMMAND, 0.1, 0.5, NOT_KNOWN, "gcc");
    ended(103, 102, 0.7, 1.0, NOT_KNOWN, "cc1");
    ended(102, COMMAND, 0.6, 1.1, NOT_KNOWN, "gcc");
    ended(COMMAND, WRAPPER, 0, 1.2, STATUS(2), "make");
    expect_first("probably 103 of a child, at least 0 before");
    assert_false(why()->first.status_known);
    begin(NULL);
    ended(101, COMMAND, 0.1, 0.5, NOT_KNOWN, "gcc");
    ended(102, COMMAND, 0.6, 1.1, 0, "gcc");
    ended(COMMAND, WRAPPER, 0, 1.2, STATUS(2), "make");
    assert_int_equal(why()->first.process.pid, COMMAND);
}

/* Many processes at once each have a child that failed, and none of them ends: the newest are kept. */
TEST(bounded)
{
    for (int i = 0; i < 5000; i++)
        ended(10000 + i, 20000 + i, i, i + 0.5, STATUS(1), "false");
    assert_int_equal(f.n, FAILURE_FAMILIES);
    ended(24999, COMMAND, 0, 5000, STATUS(1), "sh");
    ended(COMMAND, WRAPPER, 0, 5000.1, STATUS(1), "sh");
    assert_int_equal(why()->first.process.pid, 14999);
}

/* Longer names and commands than there is room for, and a chain of 200. */
TEST(long_texts)
{
    char command[400];
    struct baro_exit e = {.t_ns = 5,
                          .key = {1200, 5},
                          .parent = {1199, 5},
                          .status_known = true,
                          .status = STATUS(1),
                          .name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                          .cmdline = command};
    for (size_t i = 0; i < sizeof(command) - 1; i += 3)
        memcpy(command + i, "\xe2\x82\xac", 3); /* euro signs */
    command[sizeof(command) - 1] = 0;
    failures_add(&f, ROW(&e));
    for (int i = 199; i > 0; i--)
        ended(1000 + i, i == 1 ? COMMAND : 999 + i, 0, 1, STATUS(1), "sh");
    ended(COMMAND, WRAPPER, 0, 1, STATUS(1), "sh");
    assert_int_equal(why()->n_after, 199);
    assert_true(why()->n_named > 20 && why()->n_named < 199);
    assert_true(strlen(why()->after) < FAILURE_AFTER);
    const char *cut = why()->first.command;
    size_t len = strlen(cut);
    assert_true(len > 100 && len < FAILURE_COMMAND && (len - 3) % 3 == 0);
    assert_string_equal(cut + len - 3, "...");
}

/* A process whose parent was lost may be one more that failed. */
TEST(lost_parent)
{
    struct baro_exit e = {.t_ns = SECONDS(1.5),
                          .key = {103, 5},
                          .parent = {COMMAND, 5},
                          .status_known = true,
                          .status = STATUS(1),
                          .name = "cc1",
                          .cmdline = "/usr/lib/gcc/12/cc1 -quiet a.c -o /tmp/a.s"};
    ended(101, COMMAND, 0.1, 0.2, STATUS(1), "false");
    ended(102, 0, 0.3, 0.4, STATUS(1), "false");
    e.value[EXIT_elapsed] = SECONDS(1);
    failures_add(&f, ROW(&e));
    ended(COMMAND, WRAPPER, 0, 1.6, STATUS(1), "sh");
    expect_first("103 of a child, at least 1 before");
    assert_string_equal(why()->first.command, "cc1 -quiet a.c -o /tmp/a.s");
}
