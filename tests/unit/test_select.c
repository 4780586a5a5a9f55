/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, and the membership of processes as they fork, execute programs and end. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "select/rule.h"
#include "select/select.h"
#include "select/task_file.h"
#include "select/watch.h"

/* ---- rules ---- */

#define COMMAND(cmdline, exe, comm, exe_name, argv_name) {cmdline, exe, comm, exe_name, argv_name, true, 1000, NULL}
#define REGEX(name, regex) {.task = name, .text = regex}
#define NAMED(name) {.text = name, .is_name = true}

static const struct command gulpy = COMMAND("/usr/bin/python3 /opt/gulpy -a 1", "/usr/bin/python3.11", "gulpy",
                                            "python3.11", "python3"),
                            vi = COMMAND("vi gulpy.c", "/usr/bin/vi", "vi", "vi", "vi"),
                            shell = COMMAND("-bash", "/bin/bash", "bash", "bash", "bash"),
                            nothing = COMMAND("", "", "", "", "");

static struct rules made(enum match_on on, const struct rule_request *requests, size_t n)
{
    struct rules r = {0};
    for (size_t i = 0; i < n; i++) {
        struct rule_request request = requests[i];
        request.on = on;
        assert_int_equal(rules_add(&r, &request, NULL), 0);
    }
    return r;
}

static void test_first_rule_wins(void **state)
{
    (void)state;
    const struct rule_request requests[] = {
        REGEX("gul", "\\bgulpy\\b"), REGEX(NULL, "python3"), REGEX("gul", "^-bash$")};
    struct rules r = made(MATCH_CMDLINE, requests, 3);
    assert_int_equal(r.n_tasks, 2); /* rules of one name are one task */
    assert_string_equal(r.task[1], "python3");
    assert_int_equal(rules_match(&r, &gulpy), 1);
    assert_int_equal(rules_match(&r, &vi), 1); /* an editor that mentions it */
    assert_int_equal(rules_match(&r, &shell), 1);
    assert_int_equal(rules_match(&r, &nothing), 0);
    assert_false(rules_need(&r, MATCH_EXE));
    rules_done(&r);
}

static void test_what_is_matched(void **state)
{
    (void)state;
    const struct rule_request request = REGEX(NULL, "^gulpy$"), path = REGEX(NULL, "bin/vi$");
    struct rules comm = made(MATCH_COMM, &request, 1), exe = made(MATCH_EXE, &path, 1);
    assert_int_equal(rules_match(&comm, &gulpy), 1);
    assert_int_equal(rules_match(&comm, &vi), 0);
    assert_int_equal(rules_match(&exe, &vi), 1);
    assert_int_equal(rules_match(&exe, &gulpy), 0);
    assert_false(rules_need(&comm, MATCH_CMDLINE));
    rules_done(&comm);
    rules_done(&exe);
}

static void test_exact_names(void **state)
{
    (void)state;
    const struct rule_request requests[] = {NAMED("gulpy"), NAMED("bash"), NAMED("python3")};
    struct rules r = made(MATCH_CMDLINE, requests, 3);
    assert_int_equal(rules_match(&r, &gulpy), 1);
    assert_int_equal(rules_match(&r, &vi), 0); /* its argument is no program */
    assert_int_equal(rules_match(&r, &shell), 2);
    assert_true(rules_need(&r, MATCH_EXE) && rules_need(&r, MATCH_CMDLINE));
    rules_done(&r);
}

/* The kernel keeps 15 bytes of a name. */
static void test_scripts_with_long_names(void **state)
{
    (void)state;
    static const struct {
        const char *cmdline;
        size_t len;
        const char *comm, *name;
    } cases[] = {
#define CASE(cmdline, comm, name) {cmdline, sizeof(cmdline), comm, name}
        CASE("/bin/sh\0/opt/nightly-build-all.sh\0-v", "nightly-build-a", "nightly-build-all.sh"),
        CASE("/bin/sh\0-e\0nightly-build-all.sh", "nightly-build-a", "nightly-build-all.sh"),
        CASE("/bin/sh\0-e\0-x\0nightly-build-all.sh", "nightly-build-a", ""),
        CASE("vi\0nightly-build-all.sh", "vi", ""),
        CASE("/bin/sh\0/opt/nightly-build-a", "nightly-build-a", ""), /* comm is the whole name */
        CASE("nightly-build-all.sh\0x", "nightly-build-a", ""),
        CASE("", "nightly-build-a", ""),
#undef CASE
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char name[64];
        assert_int_equal(command_script(cases[i].cmdline, cases[i].len, cases[i].comm, name, sizeof(name)),
                         *cases[i].name != 0);
        assert_string_equal(name, cases[i].name);
    }
    char name[20]; /* not enough for the name and its NUL */
    assert_false(command_script(cases[0].cmdline, cases[0].len, cases[0].comm, name, sizeof(name)));
    const struct rule_request request = NAMED("nightly-build-all.sh");
    struct rules r = made(MATCH_CMDLINE, &request, 1);
    struct command c = COMMAND("", "/bin/dash", "nightly-build-a", "dash", "sh");
    assert_int_equal(rules_match(&r, &c), 0);
    c.script_name = "nightly-build-all.sh";
    assert_int_equal(rules_match(&r, &c), 1);
    rules_done(&r);
}

static void test_bad_rules(void **state)
{
    (void)state;
    struct rules r = {0};
    struct baro_error err = BARO_ERROR_INIT;
    char wide[TASK_NAME_MOST + 1];
    memset(wide, 'x', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = 0;
    assert_true(rules_add(&r, &(struct rule_request)REGEX(NULL, "a("), &err) < 0);
    assert_non_null(strstr(err.text, "'a(' is not a regular expression"));
    assert_true(rules_add(&r, &(struct rule_request)REGEX(NULL, ""), &err) < 0);
    assert_true(rules_add(&r, &(struct rule_request)REGEX(NULL, wide), &err) < 0);
    assert_int_equal(rules_add(&r, &(struct rule_request)REGEX("short", wide), &err), 0);
    for (unsigned i = 0; i < RULES_STATES_MOST / 9000; i++)
        assert_int_equal(rules_add(&r, &(struct rule_request)REGEX("wide", "(a{99}){90}"), &err), 0);
    assert_true(rules_add(&r, &(struct rule_request)REGEX("wide", "(a{99}){90}"), &err) < 0);
    assert_string_equal(err.text, "the regular expressions repeat too much together");
    for (size_t i = r.n; i < RULES_MOST; i++)
        assert_int_equal(rules_add(&r, &(struct rule_request)NAMED("a"), &err), 0);
    assert_true(rules_add(&r, &(struct rule_request)NAMED("b"), &err) < 0);
    rules_done(&r);
}

static void test_command_line(void **state)
{
    (void)state;
    char text[32] = "python3\0-c\0x  y\0\0";
    command_join(text, 17);
    assert_string_equal(text, "python3 -c x  y");
    command_join(text, 0);
    assert_string_equal(text, "");
}

/* ---- membership ---- */

#define PIDS 64
#define CHANGES 32
/* The machine: what each pid's command fits, and what was reported. */
struct machine {
    struct watch watch;
    uint8_t task[PIDS];
    int32_t ppid[PIDS];
    bool dead[PIDS];
    uint64_t start[PIDS], looks;
    struct watch_change change[CHANGES];
    size_t n;
};

static bool look(void *context, int32_t pid, struct watch_look *ret)
{
    struct machine *m = context;
    m->looks++;
    *ret = (struct watch_look){m->ppid[pid], m->start[pid] + 1, m->task[pid]};
    return !m->dead[pid];
}

static void note(void *context, const struct watch_change *c)
{
    struct machine *m = context;
    assert_true(m->n < CHANGES);
    m->change[m->n++] = *c;
}

/* Of all tasks. */
static void make_whole(struct machine *m)
{
    memset(m->watch.whole + 1, true, sizeof(m->watch.whole) - 1);
    m->watch.any_whole = true;
}

static int begin(void **state)
{
    static struct machine m;
    m = (struct machine){0};
    *state = &m;
    return watch_init(&m.watch, look, note, &m);
}

static int end(void **state)
{
    struct machine *m = *state;
    watch_done(&m->watch);
    return 0;
}

static void execs(struct machine *m, int32_t pid, uint8_t task, uint64_t t_ns)
{
    m->task[pid] = task;
    watch_exec(&m->watch, pid, t_ns);
    watch_settle(&m->watch);
}

static void expect(struct machine *m, enum watch_what what, int32_t pid, unsigned task)
{
    assert_int_equal(m->n, 1);
    assert_int_equal(m->change[0].what, what);
    assert_int_equal(m->change[0].pid, pid);
    assert_int_equal(m->change[0].task, task);
    m->n = 0;
}

/* A shell forks, and the child executes a tool. */
static void test_fork_and_exec(void **state)
{
    struct machine *m = *state;
    watch_fork(&m->watch, 11, 10, 1 * NS_PER_SEC);
    execs(m, 11, 1, 1 * NS_PER_SEC + 400);
    assert_true(m->change[0].begin_ns == 1 * NS_PER_SEC && !m->change[0].is_late);
    expect(m, WATCH_JOIN, 11, 1);
    execs(m, 11, 1, 2 * NS_PER_SEC); /* `nice gulpy`: the same task */
    assert_int_equal(m->n, 0);
    execs(m, 11, 2, 3 * NS_PER_SEC);
    expect(m, WATCH_JOIN, 11, 2);
    execs(m, 11, 0, 4 * NS_PER_SEC);
    expect(m, WATCH_LEAVE, 11, 0);
    watch_exit(&m->watch, 11, 5 * NS_PER_SEC, true, 0);
    assert_int_equal(m->n, 0);
    assert_int_equal(m->watch.n, 0);
}

/* What it used as a member of the first task is counted there, and not a second time. */
static void test_from_task_to_task(void **state)
{
    struct machine *m = *state;
    watch_fork(&m->watch, 11, 10, NS_PER_SEC);
    execs(m, 11, 1, NS_PER_SEC + 400);
    expect(m, WATCH_JOIN, 11, 1);
    execs(m, 11, 2, NS_PER_SEC + 1000);
    assert_true(m->change[0].is_late);
    expect(m, WATCH_JOIN, 11, 2);
    execs(m, 11, 0, NS_PER_SEC + 2000);
    expect(m, WATCH_LEAVE, 11, 0);
    execs(m, 11, 1, NS_PER_SEC + 3000);
    assert_true(m->change[0].is_late);
    expect(m, WATCH_JOIN, 11, 1);
}

static void test_program_after_an_hour(void **state)
{
    struct machine *m = *state;
    watch_fork(&m->watch, 11, 10, NS_PER_SEC);
    execs(m, 11, 1, 3600 * NS_PER_SEC);
    assert_true(m->change[0].is_late);
    expect(m, WATCH_JOIN, 11, 1);
}

/* Of what a member forks workers belong, and commands that it runs don't. */
static void test_children_of_a_member(void **state)
{
    struct machine *m = *state;
    watch_fork(&m->watch, 11, 10, NS_PER_SEC);
    execs(m, 11, 1, NS_PER_SEC);
    expect(m, WATCH_JOIN, 11, 1);
    watch_fork(&m->watch, 12, 11, 2 * NS_PER_SEC); /* `ls` */
    execs(m, 12, 0, 2 * NS_PER_SEC + 300);
    watch_exit(&m->watch, 12, 2 * NS_PER_SEC + 900, true, 0);
    assert_int_equal(m->n, 0);
    watch_fork(&m->watch, 13, 11, 3 * NS_PER_SEC); /* a worker */
    assert_true(watch_turn(&m->watch, 3 * NS_PER_SEC + 1) == 3 * NS_PER_SEC + WATCH_PENDING);
    assert_int_equal(m->n, 0);
    watch_turn(&m->watch, 3 * NS_PER_SEC + WATCH_PENDING);
    expect(m, WATCH_JOIN, 13, 1);
    watch_fork(&m->watch, 14, 11, 4 * NS_PER_SEC); /* one that lives shorter */
    watch_exit(&m->watch, 14, 4 * NS_PER_SEC + 500, true, 3 << 8);
    assert_true(m->change[0].has_ended && m->change[0].has_status && m->change[0].status == 3 << 8);
    assert_true(m->change[0].end_ns == 4 * NS_PER_SEC + 500);
    expect(m, WATCH_JOIN, 14, 1);
}

/* All of it is in one batch: a tool that forks before its own exec was matched. */
static void test_fork_within_a_batch(void **state)
{
    struct machine *m = *state;
    m->task[11] = 1;
    watch_fork(&m->watch, 11, 10, 1000);
    watch_exec(&m->watch, 11, 2000);
    watch_fork(&m->watch, 12, 11, 3000);
    watch_settle(&m->watch);
    expect(m, WATCH_JOIN, 11, 1);
    watch_turn(&m->watch, 3000 + WATCH_PENDING);
    expect(m, WATCH_JOIN, 12, 1);
}

/* What has ended by the end of a batch is not read. */
static void test_ended_within_a_batch(void **state)
{
    struct machine *m = *state;
    m->task[11] = 1;
    watch_fork(&m->watch, 11, 10, 1000);
    watch_exec(&m->watch, 11, 2000);
    watch_exit(&m->watch, 11, 3000, true, 0);
    watch_settle(&m->watch);
    assert_int_equal(m->looks, 0);
    expect(m, WATCH_UNREAD, 11, 0);
    m->dead[12] = true; /* it ends while it is matched */
    watch_fork(&m->watch, 12, 10, 4000);
    execs(m, 12, 1, 5000);
    expect(m, WATCH_UNREAD, 12, 0);
}

static void test_with_children(void **state)
{
    struct machine *m = *state;
    make_whole(m);
    watch_fork(&m->watch, 11, 10, NS_PER_SEC);
    execs(m, 11, 2, NS_PER_SEC);
    expect(m, WATCH_JOIN, 11, 2);
    watch_fork(&m->watch, 12, 11, 2 * NS_PER_SEC);
    execs(m, 12, 0, 2 * NS_PER_SEC); /* ls */
    expect(m, WATCH_JOIN, 12, 2);
    execs(m, 12, 3, 3 * NS_PER_SEC); /* the first rule that fits is that of its parent */
    assert_int_equal(m->n, 0);
    execs(m, 12, 1, 4 * NS_PER_SEC);
    expect(m, WATCH_JOIN, 12, 1);
    watch_fork(&m->watch, 13, 11, 5 * NS_PER_SEC); /* `true`: it has ended before it was matched */
    watch_exec(&m->watch, 13, 5 * NS_PER_SEC + 100);
    watch_exit(&m->watch, 13, 5 * NS_PER_SEC + 200, true, 0);
    watch_settle(&m->watch);
    expect(m, WATCH_JOIN, 13, 2);
}

static void scan(struct machine *m, bool anew, const int32_t *pids, size_t n, uint64_t t_ns)
{
    watch_scan_begin(&m->watch, anew);
    for (size_t i = 0; i < n; i++)
        watch_scan(&m->watch, pids[i], t_ns);
    watch_scan_end(&m->watch);
}

/* 10 is named; 11 is its child already, 12 is forked later; 20 is in the control group of task 3. */
static void test_pins(void **state)
{
    struct machine *m = *state;
    struct watch *w = &m->watch;
    make_whole(m);
    w->whole[1] = false;
    w->firm[3] = true;
    w->first_rule = 1;
    m->ppid[11] = 10;
    m->ppid[20] = 10;
    for (int32_t pid = 10; pid <= 11; pid++)
        watch_scan(w, pid, 0);
    watch_pin(w, 10, m->start[10] + 2, 2, false); /* another process has the pid */
    assert_int_equal(m->n, 0);
    watch_pin(w, 10, m->start[10] + 1, 2, false);
    assert_int_equal(m->n, 2);
    assert_true(m->change[0].task == 2 && m->change[0].pid == 10 && m->change[0].start == m->start[10] + 1);
    assert_true(m->change[1].task == 2 && m->change[1].pid == 11);
    watch_fork(w, 12, 10, 1);
    m->task[12] = 1; /* fits a rule of an earlier task */
    watch_exec(w, 12, 2);
    watch_settle(w);
    assert_true(m->n == 3 && m->change[2].task == 1 && m->change[2].pid == 12);
    m->task[12] = 0;
    watch_exec(w, 12, 3);
    watch_settle(w); /* falls back to what it is pinned to */
    assert_true(m->n == 4 && m->change[3].task == 2 && m->change[3].is_late);
    watch_fork(w, 20, 10, 4);
    watch_pin_seen(w, 20, 3, 5);
    watch_pins_unseen(w);
    assert_true(m->n == 5 && m->change[4].task == 3 && m->change[4].pid == 20);
    m->task[20] = 1;
    watch_exec(w, 20, 6);
    watch_settle(w); /* a process of a group belongs to no other task */
    assert_int_equal(m->n, 5);
    watch_pins_unseen(w); /* it left the group */
    assert_true(m->n == 6 && m->change[5].task == 1);
}

static const char task_lines[] = "{\"job\":\"nightly\"}\n"
                                 "{\"task\":\"a\",\"line\":3,\"column\":3,\"on\":\"exe\",\"children\":true,\"uid\":7}\n"
                                 "{\"match\":\"\\\\bgul\\\"\",\"line\":4,\"column\":10}\n"
                                 "{\"pid\":\"12\",\"line\":5,\"column\":10}\n"
                                 "{\"task\":\"b\",\"line\":6,\"column\":3}\n"
                                 "{\"cgroup\":\"x/y\",\"line\":7,\"column\":10}\n"
                                 "{\"sandbox\":\"/tmp\",\"line\":8,\"column\":10}\n";

static void test_task_file(void **state)
{
    static struct task_file f;
    (void)state;
    assert_int_equal(task_file_parse(&f, "f", span_str(task_lines), NULL), 0);
    assert_string_equal(f.job, "nightly");
    assert_int_equal(f.rules.n_tasks, 2);
    assert_true(f.rules.whole[0] && !f.rules.whole[1]);
    assert_int_equal(f.rules.n, 1);
    assert_string_equal(f.rules.at[0].text, "\\bgul\"");
    assert_true(f.rules.at[0].on == MATCH_EXE && f.rules.at[0].has_uid && f.rules.at[0].uid == 7);
    assert_true(f.n_pins == 2 && f.pin[0].kind == PIN_PID && f.pin[0].pid == 12 && f.pin[0].task == 1);
    assert_true(f.pin[1].kind == PIN_GROUP && f.pin[1].task == 2 && f.pin[1].line == 7);
    assert_string_equal(f.pin[1].path, "x/y");
    assert_true(f.n_sandboxes == 1 && f.sandbox[0].task == 1);
    task_file_done(&f);
    /* Cut off anywhere it is an error, or the whole lines before. */
    for (size_t n = 0; n < sizeof(task_lines) - 1; n++) {
        task_file_parse(&f, "f", span_of(task_lines, n), NULL);
        task_file_done(&f);
    }
}

static void test_bad_task_files(void **state)
{
    static struct task_file f;
    static const struct {
        const char *lines, *error;
    } bad[] = {
        {"", "baro-tasks found no task in f"},
        {"{\"error\":\"f:1:2: 'a\\\\(' what\"}\n", "f:1:2: 'a\\(' what"},
        {"{\"task\":\"a\"}\n{\"match\":\"a(\",\"line\":4,\"column\":10}\n", "f:4:10: 'a(' is not a regular expression"},
        {"{\"task\":\"a\"}\n{\"color\":\"red\"}\n", "baro-tasks is of another version"},
        {"{\"task\":7}\n", "baro-tasks is of another version"},
        {"no JSON\n", "baro-tasks wrote what is not understood"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct baro_error err = BARO_ERROR_INIT;
        assert_true(task_file_parse(&f, "f", span_str(bad[i].lines), &err) < 0);
        assert_non_null(strstr(err.text, bad[i].error));
        task_file_done(&f);
    }
}

static void test_scan(void **state)
{
    struct machine *m = *state;
    const int32_t both[] = {12, 11}, one[] = {11};
    make_whole(m);
    m->task[11] = 1;
    m->ppid[12] = 11; /* listed before its parent */
    scan(m, false, both, 2, 0);
    assert_int_equal(m->n, 2);
    assert_int_equal(m->change[1].pid, 12);
    assert_int_equal(m->change[1].task, 1);
    m->n = 0;
    scan(m, false, both, 2, NS_PER_SEC);
    assert_int_equal(m->looks, 2); /* once for each process */
    scan(m, false, one, 1, 2 * NS_PER_SEC);
    assert_int_equal(m->watch.n, 1);
    watch_fork(&m->watch, 11, 10, 1); /* it was queued before the scan */
    assert_int_equal(m->n, 0);
    assert_int_equal(m->watch.n, 1);
}

/* Without events: an exec shows when the process is matched again, and so does a pid that was reused. */
static void test_matched_again(void **state)
{
    struct machine *m = *state;
    const int32_t one[] = {11};
    m->watch.scans = true;
    scan(m, false, NULL, 0, 0); /* the first one; what comes later is new */
    scan(m, false, one, 1, NS_PER_SEC);
    assert_int_equal(m->n, 0);
    m->task[11] = 1;
    uint64_t due = watch_turn(&m->watch, NS_PER_SEC);
    assert_true(due > NS_PER_SEC && due < 2 * NS_PER_SEC);
    due = watch_turn(&m->watch, due);
    expect(m, WATCH_JOIN, 11, 1);
    m->start[11] = 99;
    watch_turn(&m->watch, due);
    expect(m, WATCH_JOIN, 11, 1); /* another process of the same task */
}

/* A program that has ended when its turn comes is reported: it may have fitted. */
static void test_unread_commands(void **state)
{
    struct machine *m = *state;
    watch_fork(&m->watch, 11, 10, 1);
    watch_exec(&m->watch, 11, 2);
    watch_exit(&m->watch, 11, 3, true, 0);
    assert_true(m->change[0].begin_ns == 1 && m->change[0].end_ns == 3);
    expect(m, WATCH_UNREAD, 11, 0);
    m->dead[12] = true;
    watch_exec(&m->watch, 12, 4);
    watch_settle(&m->watch);
    expect(m, WATCH_UNREAD, 12, 0);
    watch_exit(&m->watch, 12, 5, true, 0); /* not again */
    watch_exec(&m->watch, 13, 5);
    watch_settle(&m->watch);
    watch_exit(&m->watch, 13, 6, true, 0);
    assert_int_equal(m->n, 0);
}

/* It can't have belonged to a task if it was not below the process that all are below. */
static void test_unread_elsewhere(void **state)
{
    struct machine *m = *state;
    m->watch.under = 10;
    m->ppid[20] = 1;
    watch_fork(&m->watch, 20, 1, 1);
    watch_fork(&m->watch, 21, 20, 1);
    watch_fork(&m->watch, 11, 10, 1);
    watch_fork(&m->watch, 12, 11, 1);
    watch_fork(&m->watch, 31, 30, 1); /* what is above 30 is not known */
    for (int i = 0; i < 3; i++) {
        static const int32_t pids[] = {21, 12, 31};
        watch_exec(&m->watch, pids[i], 2);
        watch_exit(&m->watch, pids[i], 3, true, 0);
    }
    assert_true(m->n == 2 && m->change[0].pid == 12 && m->change[1].pid == 31);
}

/* Of a program whose command was not read the kernel reports a name of 15 bytes and the user. */
static void test_judged_by_name_and_user(void **state)
{
    (void)state;
    const struct rule_request requests[] = {
        {.task = "name", .text = "gulpy", .is_name = true},
        {.task = "comm", .text = "^fmpy$", .on = MATCH_COMM},
        {.task = "nobody", .text = "x", .on = MATCH_CMDLINE, .has_uid = true, .uid = 65534},
        {.task = "line", .text = "x", .on = MATCH_CMDLINE},
    };
    static const struct {
        const char *comm;
        bool has_uid;
        uint32_t uid;
        unsigned task;
        const char *may; /* a digit for each task */
    } cases[] = {
        {"gulpy", true, 0, 1, "0000"}, /* it fits */
        {"fmpy", true, 0, 0, "1100"},  /* its executable may be called gulpy; else it is the second one's */
        {"make", true, 0, 0, "1001"},
        {"make", true, 65534, 0, "1011"},
        {"make", false, 0, 0, "1011"},
        {NULL, false, 0, 0, "1111"},
    };
    struct rules r = {0};
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
        assert_int_equal(rules_add(&r, &requests[i], NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool may[TASKS_MOST];
        const struct command c = {.comm = cases[i].comm, .has_uid = cases[i].has_uid, .uid = cases[i].uid};
        assert_int_equal(rules_judge(&r, &c, may), cases[i].task);
        for (size_t t = 0; t < r.n_tasks; t++)
            assert_int_equal(may[t], cases[i].may[t] == '1');
    }
    rules_done(&r);
}

/* ---- the process ---- */

/* A made-up /proc, in which a FIFO that nobody writes to stands for a command line whose read never returns. */
static void make_process(int root, int32_t pid, bool hangs)
{
    char path[64], stat[256];
    snprintf(path, sizeof(path), "%d", pid);
    assert_int_equal(mkdirat(root, path, 0700), 0);
    snprintf(path, sizeof(path), "%d/stat", pid);
    snprintf(stat, sizeof(stat),
             "%d (x) S 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 77 1000 10 184467 1 1 1 1 1 0 0 0 0 0 0 0 17 "
             "0 0 0\n",
             pid);
    int fd = openat(root, path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(fd_write_all(fd, stat, strlen(stat), NULL), 0);
    close(fd);
    snprintf(path, sizeof(path), "%d/cmdline", pid);
    if (hangs) {
        assert_int_equal(mkfifoat(root, path, 0600), 0);
        return;
    }
    fd = openat(root, path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(fd_write_all(fd, "gul", 4, NULL), 0);
    close(fd);
}

static void remove_process(int root, int32_t pid)
{
    char path[64];
    static const char *const names[] = {"stat", "cmdline"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%d/%s", pid, names[i]);
        unlinkat(root, path, 0);
    }
    snprintf(path, sizeof(path), "%d", pid);
    unlinkat(root, path, AT_REMOVEDIR);
}

struct joined {
    uint64_t pids; /* bit per pid */
    bool ready;
};

static void on_joined(void *context, const struct watch_change *c)
{
    struct joined *j = context;
    j->ready |= c->what == WATCH_READY;
    j->pids |= c->what == WATCH_JOIN ? UINT64_C(1) << c->pid : 0;
}

static void turns(struct selector *s, struct joined *j, struct baro_key *hung, enum select_trouble *trouble)
{
    for (int i = 0; i < 6000 && !j->ready; i++) { /* a minute at most */
        enum select_trouble now = select_turn(s, hung);
        *trouble = now ? now : *trouble;
        select_read(s, on_joined, j);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

/* Reading the command of 11 hangs: 11 is barred, and another process selects all others. */
static void test_hung_command(void **state)
{
    (void)state;
    char dir[] = "/tmp/baro-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int32_t pid = 10; pid < 13; pid++)
        make_process(root, pid, pid == 11);
    const struct rule_request request = REGEX(NULL, "gul");
    struct rules rules = made(MATCH_CMDLINE, &request, 1);
    const struct select_options options = {.rules = &rules, .proc_fd = root, .no_events = true};
    struct selector *s;
    struct joined j = {0};
    struct baro_key hung = {0};
    enum select_trouble trouble = SELECT_FINE;
    assert_int_equal(select_start(&s, &options, NULL), 0);
    turns(s, &j, &hung, &trouble);
    assert_true(j.ready);
    assert_int_equal(trouble, SELECT_HUNG);
    assert_int_equal(hung.pid, 11);
    assert_true(select_is_barred(s, hung));
    assert_int_equal(select_starts(s), 2);
    assert_int_equal(j.pids, UINT64_C(1) << 10 | UINT64_C(1) << 12);
    assert_false(select_reports_unread(s));
    select_free(s);
    rules_done(&rules);
    for (int32_t pid = 10; pid < 13; pid++)
        remove_process(root, pid);
    close(root);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_rule_wins),
        cmocka_unit_test(test_what_is_matched),
        cmocka_unit_test(test_exact_names),
        cmocka_unit_test(test_scripts_with_long_names),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_command_line),
        cmocka_unit_test_setup_teardown(test_fork_and_exec, begin, end),
        cmocka_unit_test_setup_teardown(test_from_task_to_task, begin, end),
        cmocka_unit_test_setup_teardown(test_program_after_an_hour, begin, end),
        cmocka_unit_test_setup_teardown(test_children_of_a_member, begin, end),
        cmocka_unit_test_setup_teardown(test_fork_within_a_batch, begin, end),
        cmocka_unit_test_setup_teardown(test_ended_within_a_batch, begin, end),
        cmocka_unit_test_setup_teardown(test_with_children, begin, end),
        cmocka_unit_test_setup_teardown(test_pins, begin, end),
        cmocka_unit_test(test_task_file),
        cmocka_unit_test(test_bad_task_files),
        cmocka_unit_test_setup_teardown(test_scan, begin, end),
        cmocka_unit_test_setup_teardown(test_matched_again, begin, end),
        cmocka_unit_test_setup_teardown(test_unread_commands, begin, end),
        cmocka_unit_test_setup_teardown(test_unread_elsewhere, begin, end),
        cmocka_unit_test(test_judged_by_name_and_user),
        cmocka_unit_test(test_hung_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
