/* SPDX-License-Identifier: Apache-2.0 */
/* Fork events of processes that a scan found first: when such an event is about the process that is known, and when
 * about another one with its pid. The same of what the process that selects reports, and of the kernel's log, which has
 * pids of processes that were OOM-killed. */
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

#include "base/clock.h"
#include "files.h"
#include "recorder/job/counters.h"
#include "recorder/loop/recorder.h"
#include "sink.h"

#define MS NS_PER_MS

enum { PARENT = 4000, KNOWN = 5300 };

/* The tape began at tick 1000 of the machine, so that tick 1123 is 1,230 ms after that. */
enum { BEGAN = 1000, START = 1123 };

struct recording {
    struct recorder r;
    struct recorders all;
    struct record_options options;
    char dir[sizeof(FILES_NAME)];
};

/* There is a process KNOWN, which a scan finds, and whose start time is read. */
static int begin(void **state)
{
    static struct recording g;
    g = (struct recording){.options = {.scope.children = true}, .all = {.events.usage_tried = true}};
    assert_int_equal(job_init(&g.r.job, &sink_drops, true, BEGAN * 10 * MS, 100), 0);
    files_make(g.dir);
    g.r.proc_fd = open(g.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    g.r.all = &g.all;
    g.r.options = &g.options;
    g.r.sampler.processes.sampling = &g.r.sampler.sampling;
    g.r.sampler.sampling.job = &g.r.job;
    struct member *parent = job_add(&g.r.job, PARENT, NULL, BARO_ORIGIN_TARGET, 0);
    struct member *known = job_add(&g.r.job, KNOWN, parent, BARO_ORIGIN_SCAN, 1250 * MS);
    assert_non_null(known);
    known->row.key.start = START;
    known->reading.stat_was_read = true;
    *state = &g;
    return 0;
}

static int end(void **state)
{
    struct recording *g = *state;
    job_done(&g->r.job);
    close(g->r.proc_fd);
    files_remove(g->dir);
    return 0;
}

static void proc_has(const struct recording *g, int start)
{
    char text[256];
    snprintf(text, sizeof(text), "%d (work) R %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 16261120 2709\n", KNOWN, PARENT,
             start);
    files_put(g->dir, "5300/stat", text);
}

static uint64_t started_after_fork_at(struct recording *g, uint64_t t_ns)
{
    const struct exits_event e = {.kind = EVENT_FORK, .pid = KNOWN, .ppid = PARENT, .t_ns = t_ns};
    event_apply(&g->r, &e);
    return g->r.job.counts.started;
}

static void fork_of_the_process_that_is_known(void **state)
{
    assert_int_equal(started_after_fork_at(*state, 1236 * MS), 2);
}

/* Its parent's CPU was taken between the start time and the event. */
static void fork_is_reported_late(void **state)
{
    proc_has(*state, START);
    assert_int_equal(started_after_fork_at(*state, 1290 * MS), 2);
}

static void fork_is_reported_late_and_the_process_has_gone(void **state)
{
    assert_int_equal(started_after_fork_at(*state, 1290 * MS), 2);
}

static void another_process_has_the_pid(void **state)
{
    proc_has(*state, START + 6);
    assert_int_equal(started_after_fork_at(*state, 1290 * MS), 3);
}

/* Pids wrapped: what forks is no member any more, but another process that has the pid of one that ended. */
static void another_process_has_the_pid_of_the_parent(void **state)
{
    struct recording *g = *state;
    struct member *known = tree_find(&g->r.job.tree, KNOWN);
    struct exits_event e = {.kind = EVENT_EXIT, .pid = KNOWN, .t_ns = 1400 * MS};
    event_apply(&g->r, &e);
    e = (struct exits_event){.kind = EVENT_FORK, .pid = 6000, .ppid = KNOWN, .t_ns = 1390 * MS};
    event_apply(&g->r, &e); /* read late, and its own */
    assert_non_null(tree_find(&g->r.job.tree, 6000));
    e = (struct exits_event){.kind = EVENT_FORK, .pid = 6001, .ppid = KNOWN, .t_ns = 1900 * MS};
    event_apply(&g->r, &e);
    assert_null(tree_find(&g->r.job.tree, 6001));
    assert_true(known == tree_find(&g->r.job.tree, KNOWN));
}

/* In a storm of forks the parent is found gone, and its exit is reported, before the last of its forks is read. */
static void fork_is_read_after_the_exit_of_its_parent(void **state)
{
    struct recording *g = *state;
    struct member *known = tree_find(&g->r.job.tree, KNOWN);
    known->life.begin_ns = 1236 * MS;
    job_gone(&g->r.job, known, 1400 * MS, 1400 * MS);
    exits_report(&g->r.job, 1410 * MS);
    static const struct {
        uint64_t t_ns;
        bool is_its_child;
    } forks[] = {{1230 * MS, false}, {1300 * MS, true}, {1399 * MS, true}, {1401 * MS, false}};
    for (int32_t i = 0; i < 4; i++) {
        event_apply(&g->r,
                    &(struct exits_event){.kind = EVENT_FORK, .pid = 6000 + i, .ppid = KNOWN, .t_ns = forks[i].t_ns});
        assert_int_equal(tree_find(&g->r.job.tree, 6000 + i) != NULL, forks[i].is_its_child);
    }
    assert_int_equal(g->r.job.counts.started, 4);
    event_apply(&g->r, &(struct exits_event){.kind = EVENT_EXIT, .pid = 6001, .t_ns = 1402 * MS});
    assert_true(member_has_ended(tree_find(&g->r.job.tree, 6001)));
}

/* Then the end of the first one may not have been reported. */
static void events_were_lost(void **state)
{
    struct recording *g = *state;
    g->r.job.source.lossy = true;
    assert_int_equal(started_after_fork_at(g, 1290 * MS), 3);
}

/* The scan that found it began at 1,250 ms, and so did the tick that found it gone. */
static void fork_is_read_after_the_process_has_gone(void **state)
{
    struct recording *g = *state;
    struct member *known = tree_find(&g->r.job.tree, KNOWN);
    g->r.sampler.sampling.now_ns = 1250 * MS;
    g->r.sampler.sampling.options.start_monotonic_ns = clock_monotonic_ns() - 1290 * MS;
    sampler_gone(&g->r.sampler, known, 1250 * MS);
    assert_int_equal(started_after_fork_at(g, 1260 * MS), 2);
    assert_int_equal(known->life.begin_ns, 1260 * MS);
    exits_report(&g->r.job, 1300 * MS);
    assert_int_equal(g->r.job.counts.ended, 1);
    assert_int_equal(started_after_fork_at(g, 1260 * MS), 2); /* as another source repeats it */
}

static void another_process_gets_the_pid_of_one_that_ended(void **state)
{
    struct recording *g = *state;
    g->r.sampler.sampling.options.start_monotonic_ns = clock_monotonic_ns() - 1290 * MS;
    struct member *known = tree_find(&g->r.job.tree, KNOWN);
    const struct exits_event ended = {.kind = EVENT_EXIT, .pid = KNOWN, .t_ns = 1255 * MS};
    event_apply(&g->r, &ended);
    sampler_gone(&g->r.sampler, known, 1280 * MS);
    assert_int_equal(started_after_fork_at(g, 1260 * MS), 3);
}

static void another_process_gets_the_pid_much_later(void **state)
{
    struct recording *g = *state;
    g->r.sampler.sampling.options.start_monotonic_ns = clock_monotonic_ns() - 1290 * MS;
    sampler_gone(&g->r.sampler, tree_find(&g->r.job.tree, KNOWN), 1250 * MS);
    assert_int_equal(started_after_fork_at(g, 5000 * MS), 3);
}

static void note_killed(struct recording *g, int32_t pid)
{
    char name[16];
    snprintf(name, sizeof(name), "p%d", pid);
    const struct baro_exit e = {.key = {pid, 1}, .status_known = true, .status = 9, .name = name};
    oom_note_exit(&g->r, &e);
}

static void log_has(struct oom_log *l, const struct recording *g, uint64_t t_us, int32_t pid)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "3,1,%llu,-;Out of memory: Killed process %d (x)\n", (unsigned long long)t_us,
                     pid);
    oom_log_take(l, &g->r.oom, span_of(text, (size_t)n));
}

/* The job began 5,000 s after the machine. The clocks differ by 6 s at most: 1 s, and a thousandth of that. A kill
 * before that was of a process that had the pid earlier. */
static void older_lines_of_the_log_are_of_other_processes(void **state)
{
    struct recording *g = *state;
    struct oom_log l = oom_log_of(5000 * NS_PER_SEC, 5000 * NS_PER_SEC);
    note_killed(g, KNOWN);
    log_has(&l, g, 4994000000, KNOWN);
    assert_false(oom_log_is_whole(&l, &g->r.oom, 0)); /* there may have been more before its first line */
    assert_int_equal(l.kills_noted, 1);
    log_has(&l, g, 4993999999, KNOWN);
    assert_int_equal(l.kills, 1);
    assert_int_equal(l.kills_noted, 1);
    assert_string_equal(l.names, "p5300");
    assert_true(oom_log_is_whole(&l, &g->r.oom, 1));
    assert_false(oom_log_is_whole(&l, &g->r.oom, 2));
}

/* One more than are kept has ended: the log may name the one that is not kept. */
static void the_last_processes_that_were_killed_are_kept(void **state)
{
    struct recording *g = *state;
    struct oom_log l = oom_log_of(NS_PER_SEC, NS_PER_SEC);
    l.begins_before = true;
    for (int i = 1; i <= (int)OOM_ENDED_MAX; i++)
        note_killed(g, i);
    log_has(&l, g, 1000000, 1);
    assert_int_equal(l.kills_noted, 1);
    assert_true(oom_log_is_whole(&l, &g->r.oom, 1));
    note_killed(g, OOM_ENDED_MAX + 1);
    log_has(&l, g, 1000000, OOM_ENDED_MAX + 1);
    assert_int_equal(l.kills_noted, 2);
    log_has(&l, g, 1000000, 1);
    assert_int_equal(l.kills_noted, 2);
    assert_false(oom_log_is_whole(&l, &g->r.oom, 3));
}

/* A control group's name may hide a secret, wherever it comes from. */
static void group_in_the_log_is_redacted(void **state)
{
    static const char chosen[] =
        "3,1,1000000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
        "oom_memcg=/ci/token=CANARY17,task_memcg=/ci/token=CANARY17,task=x,pid=5300,uid=0\n";
    struct recording *g = *state;
    struct oom_log l = oom_log_of(NS_PER_SEC, NS_PER_SEC);
    note_killed(g, KNOWN);
    oom_log_take(&l, &g->r.oom, span_str(chosen));
    log_has(&l, g, 1000000, KNOWN);
    assert_int_equal(l.kills_noted, 1);
    assert_string_equal(l.noted_as[0].group, "/ci/token=***");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fork_of_the_process_that_is_known, begin, end),
        cmocka_unit_test_setup_teardown(fork_is_reported_late, begin, end),
        cmocka_unit_test_setup_teardown(fork_is_reported_late_and_the_process_has_gone, begin, end),
        cmocka_unit_test_setup_teardown(another_process_has_the_pid, begin, end),
        cmocka_unit_test_setup_teardown(another_process_has_the_pid_of_the_parent, begin, end),
        cmocka_unit_test_setup_teardown(fork_is_read_after_the_exit_of_its_parent, begin, end),
        cmocka_unit_test_setup_teardown(events_were_lost, begin, end),
        cmocka_unit_test_setup_teardown(fork_is_read_after_the_process_has_gone, begin, end),
        cmocka_unit_test_setup_teardown(another_process_gets_the_pid_of_one_that_ended, begin, end),
        cmocka_unit_test_setup_teardown(another_process_gets_the_pid_much_later, begin, end),
        cmocka_unit_test_setup_teardown(older_lines_of_the_log_are_of_other_processes, begin, end),
        cmocka_unit_test_setup_teardown(the_last_processes_that_were_killed_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(group_in_the_log_is_redacted, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
