/* SPDX-License-Identifier: Apache-2.0 */
/* What of the totals is marked when a child ends that lives beside its parent: how much CPU time run delay covers, and
 * what is a lower bound; whether it had used up its limit of CPU time; and what a process gets whose clock was polled.
 */
#include "pair.h"

/* The child read 1000 bytes, and had page faults. */
static void begin_reading_pair(struct job *j, struct member **ret_command, struct member **ret_child)
{
    begin_pair(j, ret_command, ret_child);
    put(*ret_child, PROCESS_faults_minor, 57);
    put(*ret_child, PROCESS_io_rchar, 1000);
}

/* The child ends. If the command waits for it, it takes over what the child used. */
static void end_child(struct job *j, struct member *command, struct member *child, bool is_waited_for, uint64_t *value,
                      uint8_t *absent)
{
    job_gone(j, child, 10 * MS, 11 * MS);
    put(command, PROCESS_children_cpu_user, is_waited_for ? 80 * MS : 0);
    put(command, PROCESS_children_faults_minor, is_waited_for ? 57 : 0);
    put(command, PROCESS_io_rchar, is_waited_for ? 1000 : 0);
    job_settle(j, 12 * MS, is_there, NULL);
    job_totals(j, value, absent);
}

/* The child had used 50 ms when its run delay was read, and 80 ms when it ended. If taskstats reports its run delay,
 * that covers all of its CPU time; if not, 30 ms of it are not covered. */
TEST(run_delay_covers_what_was_used_when_it_was_read)
{
    static struct job j;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    for (int reported = 0; reported < 2; reported++) {
        struct member *command, *child;
        begin_reading_pair(&j, &command, &child);
        put(child, PROCESS_run_delay, 4 * MS);
        put(child, PROCESS_run_delay_lag, 30 * MS);
        job_totals(&j, value, absent);
        assert_int_equal(value[JOB_run_delay_lag], 30 * MS);
        member_make_usage(child)->has_delay = reported;
        member_make_usage(child)->run_delay_ns = 6 * MS;
        end_child(&j, command, child, true, value, absent);
        assert_int_equal(value[JOB_cpu], 80 * MS);
        assert_int_equal(value[JOB_run_delay], (reported ? 6 : 4) * MS);
        assert_int_equal(absent[JOB_run_delay_lag], BARO_PRESENT);
        assert_int_equal(value[JOB_run_delay_lag], reported ? 0 : 30 * MS);
        job_done(&j);
    }
}

/* The command does not ignore SIGCHLD, but it has SA_NOCLDWAIT, which no file in /proc shows: the kernel adds the child
 * to no process. The page faults of reaped children show it: they did not grow. What the child read after it was read
 * last is lost. */
TEST(a_child_that_nobody_reaped_shows_in_the_faults)
{
    static struct job j;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    for (int is_waited_for = 0; is_waited_for < 2; is_waited_for++) {
        struct member *command, *child;
        begin_reading_pair(&j, &command, &child);
        end_child(&j, command, child, is_waited_for, value, absent);
        assert_int_equal(value[JOB_io_rchar], 1000);
        assert_int_equal(absent[JOB_io_is_lower_bound], BARO_PRESENT);
        assert_int_equal(value[JOB_io_is_lower_bound], !is_waited_for);
        job_done(&j);
    }
}

/* The limit is 1 s, by ticks: as many as would be 0.99 s had hit the process when its clock was at 0.88 s. */
TEST(ticks_reach_the_limit_of_cpu_time)
{
    static const struct {
        uint64_t cpu_ms, limit_ms; /* limit_ms 0: it was not read */
        float ratio;
        uint64_t reached_ms, absent;
    } cases[] = {{880, 1000, 1.125f, 1000, 0},     {880, 1000, 0, 0, 0},
                 {1000, 1000, 0.9f, 0, 0},         {980, 1000, 0, 1000, 0},
                 {980, 0, 0, 0, BARO_ABSENT_GONE}, {880, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static struct job j;
        struct baro_exit e = {0};
        struct member *command, *child;
        begin_reading_pair(&j, &command, &child);
        j.sink = (struct job_sink){.exit = keep_exit, .context = &e};
        put(child, PROCESS_cpu, cases[i].cpu_ms * MS);
        child->limit.cpu_limit_ns = child->limit.limit_at_ns = cases[i].limit_ms * MS;
        child->limit.ticks_ratio = cases[i].ratio;
        job_gone(&j, child, 10 * MS, 11 * MS);
        job_settle(&j, 12 * MS, is_there, NULL);
        assert_int_equal(e.absent[EXIT_cpu_limit_reached], cases[i].absent);
        assert_int_equal(e.value[EXIT_cpu_limit_reached], cases[i].reached_ms * MS);
        job_done(&j);
    }
}

/* The clock of the child was polled: found at 100 ms, 8 ms at 109 ms, and the parent gained 11 ms until it was gone at
 * 112 ms. 8/9 of the 3 ms since, 2.67 ms, and 0.2 ms for its end are expected, and it gets that. All of it is unsure.
 */
TEST(a_share_of_a_polled_process)
{
    static struct job j;
    struct baro_exit e = {0};
    struct member *command, *child;
    begin_reading_pair(&j, &command, &child);
    const struct job_sink sink = {.exit = keep_exit, .context = &e};
    j.sink = sink;
    j.source.events = false;
    j.source.polled = true;
    child->life.end_reported = false;
    put(child, PROCESS_cpu, 2 * MS);
    put(child, PROCESS_cpu_user, 2 * MS);
    member_make_usage(child)->has_cpu = true;
    member_make_usage(child)->cpu_ns = 8 * MS;
    child->polled.found_ns = 100 * MS;
    child->polled.polled_ns = child->polled.ran_ns = 109 * MS;
    job_gone(&j, child, 112 * MS, 112 * MS);
    put(command, PROCESS_children_cpu_user, 11 * MS);
    put(command, PROCESS_children_faults_minor, 60);
    job_settle(&j, 113 * MS, is_there, NULL);
    assert_int_equal(e.key.pid, 401);
    assert_int_equal(e.value[EXIT_cpu], 8 * MS + 2666666 + 200000);
    assert_int_equal(e.value[EXIT_cpu_unsure], 2666666 + 200000);
    job_done(&j);
}
