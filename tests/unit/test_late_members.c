/* SPDX-License-Identifier: Apache-2.0 */
/* Members that ran before they were known: the cores of tasks and of their processes, and the CPU time of commands.
 * Values computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "baro/summary.h"
#include "base/clock.h"
#include "libbaro/summary/summary.h"

#define SECOND NS_PER_SEC
#define MS NS_PER_MS
#define MB 1000000u

/* The machine had been up for 1000 s when the tape began, so its tick 100000 is the tape's 0. */
static const struct baro_header header = {
    .mode = BARO_MODE_ATTACH, .clk_tck = 100, .start_boottime_ns = 1000 * SECOND, .cpus = 4, .targets = &(int32_t){0}};

struct recording {
    struct baro_summary *s;
    uint64_t value[TASK_MAX];
    uint8_t absent[TASK_MAX];
    struct baro_entity task;
    struct baro_process process;
};

static int begin(void **state)
{
    static struct recording r;
    r = (struct recording){
        .s = summary_new(&header),
        .task = {.id = 9, .kind = BARO_KIND_TASK, .name = (char *)"web", .label = (char *)"", .n_values = TASK_MAX},
        .process = {.id = 1, .key = {100, 5000}, .name = (char *)"web", .origin = BARO_ORIGIN_SCAN}};
    r.task.value = r.value;
    r.task.absent = r.absent;
    r.process.value[PROCESS_task] = 9;
    *state = &r;
    return r.s ? 0 : -1;
}

static int end(void **state)
{
    struct recording *r = *state;
    summary_free(r->s);
    return 0;
}

/* A sample with what the task and its only process have used. Without a process the task has none so far. */
static void sample(struct recording *r, uint64_t t_ns, uint64_t task_cpu_ns, bool has_process, uint64_t cpu_ns)
{
    struct baro_process *processes[] = {&r->process};
    struct baro_entity *tasks[] = {&r->task};
    struct baro_sample s = {.t_ns = t_ns, .n = has_process, .processes = processes};
    s.entities[BARO_KIND_TASK] = (struct baro_entities){1, tasks, t_ns};
    r->value[TASK_cpu] = task_cpu_ns;
    r->value[TASK_active] = has_process ? t_ns : 0;
    r->process.value[PROCESS_cpu] = cpu_ns;
    summary_add_sample(r->s, &s);
}

static void assert_fact(struct recording *r, const char *name, double expected)
{
    struct baro_value v;
    int fact = baro_summary_fact_find("tasks", name);
    assert_true(fact >= 0);
    assert_int_equal(baro_summary_value(r->s, fact, 0, &v), BARO_PRESENT);
    if (fabs(v.real - expected) > 1e-9)
        fail_msg("%s is %g, not %g", name, v.real, expected);
}

/* It had used 90 s before the recording, and none since. */
static void test_a_process_that_ran_before(void **state)
{
    struct recording *r = *state;
    r->process.first_ns = 20 * MS;
    sample(r, 10 * MS, 0, false, 0);
    sample(r, 30 * MS, 0, true, 90 * SECOND);
    sample(r, 500 * MS, 0, true, 90 * SECOND);
    sample(r, 1000 * MS, 0, true, 90 * SECOND);
    assert_fact(r, "process_cores_peak", 0);
    assert_fact(r, "process_cores_mean", 0);
    assert_fact(r, "cores_peak", 0);
}

/* It ran another program for 90 s before it executed the one that a rule fits: an event named it then. */
static void test_a_process_that_ran_another_program(void **state)
{
    struct recording *r = *state;
    r->process.origin = BARO_ORIGIN_EVENT;
    r->process.first_ns = 120 * MS;
    sample(r, 100 * MS, 0, false, 0);
    sample(r, 200 * MS, 0, true, 90 * SECOND);
    sample(r, 1200 * MS, 500 * MS, true, 90500 * MS);
    assert_fact(r, "process_cores_peak", 0.5);
    assert_fact(r, "cores_peak", 0.5);
}

/* Forked at 5.50 s, found by a scan at 5.99 s: 0.49 s of CPU time at 6.00 s are 0.98 cores. */
static void test_a_process_that_a_scan_found(void **state)
{
    struct recording *r = *state;
    r->process.key.start = 100550;
    r->process.first_ns = 5990 * MS;
    sample(r, 5000 * MS, 0, false, 0);
    sample(r, 6000 * MS, 490 * MS, true, 490 * MS);
    assert_fact(r, "process_cores_peak", 0.98);
}

/* Forked at 5.504 s, as an event said. */
static void test_a_process_that_an_event_named(void **state)
{
    struct recording *r = *state;
    r->process.origin = BARO_ORIGIN_EVENT;
    r->process.key.start = 100550;
    r->process.first_ns = 5504 * MS;
    sample(r, 5000 * MS, 0, false, 0);
    sample(r, 6000 * MS, 248 * MS, true, 248 * MS);
    assert_fact(r, "process_cores_peak", 0.5);
}

/* The ends of processes that had used 3 s were reported together, between two samples. */
static void test_not_more_than_the_machine_has(void **state)
{
    struct recording *r = *state;
    sample(r, 1000 * MS, 0, true, 0);
    sample(r, 1200 * MS, 3000 * MS, true, 0);
    assert_fact(r, "cores_peak", 4);
}

/* A process with 90 s from before the recording is moved into the job's control group after the first sample, and
 * another one is forked there. Both use 0.5 s. */
static void test_commands(void **state)
{
    struct recording *r = *state;
    struct baro_process sh = {.id = 2, .key = {101, 100040}, .name = (char *)"sh"};
    struct baro_process *processes[] = {&r->process, &sh};
    struct baro_sample s = {.t_ns = 10 * MS, .processes = processes};
    summary_add_sample(r->s, &s);
    s.n = 2;
    for (int i = 0; i < 2; i++) {
        s.t_ns += 500 * MS;
        processes[0]->value[PROCESS_cpu] = 90 * SECOND + i * 500 * MS;
        processes[1]->value[PROCESS_cpu] = i * 500 * MS;
        summary_add_sample(r->s, &s);
    }
    summary_finish(r->s);
    assert_int_equal(r->s->finished.n_order, 2);
    assert_int_equal(summary_command(r->s, 0)->value[COMMAND_CPU], 500 * MS);
    assert_int_equal(summary_command(r->s, 1)->value[COMMAND_CPU], 500 * MS);
}

/* The job's peak with a process of 10 MB whose mark was `before` in the first sample. It had the mark `after` in the
 * second one, or in its exit record; began: the process began during the recording. */
static uint64_t peak_of(bool began, uint8_t absent, uint64_t before, uint64_t after, bool ended)
{
    struct baro_process p = {.id = 1, .key = {100, began ? 100040 : 5000}, .name = (char *)"web"};
    struct baro_process *processes[] = {&p};
    struct baro_sample s = {.t_ns = 500 * MS, .n = 1, .processes = processes};
    struct baro_sample first = {.t_ns = 10 * MS};
    struct baro_exit e = {.id = 1, .name = (char *)"web", .value = {[EXIT_rss_peak] = after}};
    struct summary_rss rss;
    struct baro_summary *of = summary_new(&header);
    assert_non_null(of);
    p.value[PROCESS_rss] = 10 * MB;
    p.value[PROCESS_rss_peak] = before;
    p.absent[PROCESS_rss_peak] = absent;
    summary_add_sample(of, &first);
    summary_add_sample(of, &s);
    s.t_ns += 500 * MS;
    p.value[PROCESS_rss_peak] = ended ? before : after;
    summary_add_sample(of, &s);
    e.absent[EXIT_elapsed] = began ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
    if (ended)
        summary_add_exit(of, &e);
    summary_finish(of);
    summary_rss_peak(of, &rss);
    summary_free(of);
    return rss.value;
}

/* A mark of a process that ran before is the recording's if it grew in it. */
static void test_marks(void **state)
{
    for (int ended = 0; ended < 2; ended++) {
        assert_int_equal(peak_of(false, BARO_PRESENT, 400 * MB, 400 * MB, ended), 10 * MB);
        assert_int_equal(peak_of(false, BARO_PRESENT, 400 * MB, 500 * MB, ended), 500 * MB);
        assert_int_equal(peak_of(true, BARO_PRESENT, 400 * MB, 400 * MB, ended), 400 * MB);
    }
    assert_int_equal(peak_of(false, BARO_ABSENT_NOT_ASKED, 0, 500 * MB, true), 10 * MB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_process_that_ran_before, begin, end),
        cmocka_unit_test_setup_teardown(test_a_process_that_ran_another_program, begin, end),
        cmocka_unit_test_setup_teardown(test_a_process_that_a_scan_found, begin, end),
        cmocka_unit_test_setup_teardown(test_a_process_that_an_event_named, begin, end),
        cmocka_unit_test_setup_teardown(test_not_more_than_the_machine_has, begin, end),
        cmocka_unit_test_setup_teardown(test_commands, begin, end),
        cmocka_unit_test(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
