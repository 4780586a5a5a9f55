/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, task files, and the process that selects. */
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
#include "recorder/select/job_wire.h"
#include "libbaro/rules/rule.h"
#include "libbaro/rules/task_lines.h"
#include "recorder/select/watch.h"

/* ---- rules ---- */

#define COMMAND(cmdline, exe, comm, exe_name, argv_name)                                                               \
    {                                                                                                                  \
        cmdline, exe, comm, exe_name, argv_name, true, 1000, NULL                                                      \
    }
#define REGEX(name, regex)                                                                                             \
    {                                                                                                                  \
        .task = name, .text = regex                                                                                    \
    }
#define NAMED(name)                                                                                                    \
    {                                                                                                                  \
        .text = name, .is_name = true                                                                                  \
    }

static const struct known_command gulpy = COMMAND("/usr/bin/python3 /opt/gulpy -a 1", "/usr/bin/python3.11", "gulpy",
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
    const struct rule_request requests[] = {REGEX("gul", "\\bgulpy\\b"), REGEX(NULL, "python3"),
                                            REGEX("gul", "^-bash$")};
    struct rules r = made(MATCH_CMDLINE, requests, 3);
    assert_int_equal(r.n_tasks, 2); /* rules of one name are one task */
    assert_string_equal(r.task[1].name, "python3");
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
    struct known_command c = COMMAND("", "/bin/dash", "nightly-build-a", "dash", "sh");
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
    for (unsigned i = 0; i < RULES_STEPS_MOST / 9000; i++)
        assert_int_equal(rules_add(&r, &(struct rule_request)REGEX("wide", "(a{99}){90}"), &err), 0);
    assert_true(rules_add(&r, &(struct rule_request)REGEX("wide", "(a{99}){90}"), &err) < 0);
    assert_non_null(strstr(err.text, "the regular expressions are too large together"));
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

/* ---- task files ---- */

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
    assert_true(f.rules.task[0].whole && !f.rules.task[1].whole);
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

/* For a program whose command was not read, the kernel reports a name of 15 bytes and the user. */
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
        {"make", true, 0, 0, "1001"},  {"make", true, 65534, 0, "1011"},
        {"make", false, 0, 0, "1011"}, {NULL, false, 0, 0, "1111"},
    };
    struct rules r = {0};
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
        assert_int_equal(rules_add(&r, &requests[i], NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool may[TASKS_MOST];
        const struct known_command c = {.comm = cases[i].comm, .has_uid = cases[i].has_uid, .uid = cases[i].uid};
        assert_int_equal(rules_judge(&r, &c, may), cases[i].task);
        for (size_t t = 0; t < r.n_tasks; t++)
            assert_int_equal(may[t], cases[i].may[t] == '1');
    }
    rules_done(&r);
}

/* A job as it is sent to the process. */
static void test_job_in_bytes(void **state)
{
    (void)state;
    static struct cgroup_location place = {.v2 = true, .dir = "sys/fs/cgroup/x"};
    const struct rule_request requests[] = {
        {.task = "b", .text = "^gul", .on = MATCH_EXE, .has_uid = true, .uid = 7},
        {.task = "c", .text = "tool", .is_name = true},
    };
    const struct pin pins[] = {
        {.kind = PIN_PID, .task = 1, .pid = 12, .start = 99},
        {.kind = PIN_FILE, .task = 3, .path = "/run/a.pid"},
        {.kind = PIN_GROUP, .task = 4, .path = "x", .place = &place},
    };
    struct rules rules = {0};
    assert_int_equal(rules_task(&rules, "a", NULL), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(rules_add(&rules, &requests[i], NULL), 0);
    assert_int_equal(rules_task(&rules, "d", NULL), 3);
    rules.task[2].whole = true;
    const struct select_options options = {.rules = &rules, .pins = pins, .n_pins = 3, .under = 5};
    struct buf bytes = {0};
    struct select_job *j;
    select_job_encode(&bytes, &options);
    assert_int_equal(select_job_decode(&j, 9, span_of(bytes.at, bytes.len)), 0);
    assert_true(j->watch.id == 9 && j->watch.under == 5 && j->watch.first_rule == 2);
    assert_true(j->watch.whole[1] && !j->watch.whole[2] && j->watch.whole[3] && j->watch.whole[4]);
    assert_true(j->watch.firm[4] && !j->watch.firm[3]);
    assert_true(j->rules.n == 2 && j->rules.n_tasks == 4 && j->rules.at[0].on == MATCH_EXE);
    assert_true(j->rules.at[0].has_uid && j->rules.at[0].uid == 7 && j->rules.at[1].is_name);
    assert_string_equal(j->rules.at[1].text, "tool");
    assert_true(j->pins.n == 3 && j->pin[0].pid == 12 && j->pin[0].start == 99);
    assert_string_equal(j->pin[1].path, "/run/a.pid");
    assert_true(j->pin[2].place->v2);
    assert_string_equal(j->pin[2].place->dir, "sys/fs/cgroup/x");
    select_job_free(j);
    for (size_t n = 0; n < bytes.len; n++)
        assert_true(select_job_decode(&j, 9, span_of(bytes.at, n)) < 0);
    buf_done(&bytes);
    rules_done(&rules);
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

static void on_joined(void *context, void *owner, const struct watch_change *c)
{
    struct joined *j = owner;
    assert_null(context);
    j->ready |= c->what == WATCH_READY;
    j->pids |= c->what == WATCH_JOIN ? UINT64_C(1) << c->pid : 0;
}

/* Until the job is ready and has these members. */
static void turns(struct selector *s, struct joined *j, uint64_t pids, struct baro_key *hung,
                  enum worker_trouble *trouble)
{
    for (int i = 0; i < 6000 && !(j->ready && (j->pids & pids) == pids); i++) { /* a minute at most */
        enum worker_trouble now = select_turn(s, hung);
        *trouble = now ? now : *trouble;
        select_read(s, on_joined, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

/* Reading the command of 11 hangs: 11 is barred, and another process selects all others. Later it is tried again, and
 * is there. */
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
    const struct select_setup setup = {.proc_fd = root, .no_events = true, .barred_ns = 2000000000};
    const struct select_options options = {.rules = &rules};
    const uint64_t others = UINT64_C(1) << 10 | UINT64_C(1) << 12;
    uint32_t id = 0;
    struct selector *s;
    struct joined j = {0};
    struct baro_key hung = {0};
    enum worker_trouble trouble = WORKER_FINE;
    assert_int_equal(select_new(&s, &setup, NULL), 0);
    assert_int_equal(select_add(s, &options, &j, &id, NULL), 0);
    turns(s, &j, others, &hung, &trouble);
    assert_true(j.ready);
    assert_int_equal(trouble, WORKER_HUNG);
    assert_int_equal(hung.pid, 11);
    assert_true(select_is_barred(s, hung));
    assert_int_equal(worker_starts(select_worker(s)), 2);
    assert_int_equal(j.pids, others);
    assert_false(select_reports_unread(s));
    remove_process(root, 11);
    make_process(root, 11, false);
    turns(s, &j, others | UINT64_C(1) << 11, &hung, &trouble);
    assert_int_equal(j.pids, others | UINT64_C(1) << 11);
    assert_false(select_is_barred(s, hung));
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
        cmocka_unit_test(test_task_file),
        cmocka_unit_test(test_bad_task_files),
        cmocka_unit_test(test_judged_by_name_and_user),
        cmocka_unit_test(test_job_in_bytes),
        cmocka_unit_test(test_hung_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
