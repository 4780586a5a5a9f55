/* SPDX-License-Identifier: Apache-2.0 */
/* How many processes were there at once: never more than there were, and marked where there may have been more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/job/task.h"

struct recording {
    struct job job;
    uint64_t peak, is_bound, exits;
};

static void on_exit_record(void *context, const struct baro_exit *e)
{
    struct recording *r = context;
    (void)e;
    r->exits++;
}

static void on_event_record(void *context, const struct baro_event *e)
{
    (void)context;
    (void)e;
}

static bool read_again(void *context, struct member *m)
{
    (void)context;
    (void)m;
    return true;
}

static int begin(void **state)
{
    static struct recording r;
    r = (struct recording){0};
    const struct job_sink sink = {on_exit_record, on_event_record, &r};
    *state = &r;
    return job_init(&r.job, &sink, false, 0, 100);
}

static int end(void **state)
{
    struct recording *r = *state;
    job_done(&r->job);
    return 0;
}

static void sample(struct recording *r)
{
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    job_totals(&r->job, value, absent);
    r->peak = value[JOB_processes_peak];
    r->is_bound = value[JOB_processes_peak_is_lower_bound];
}

static void gone(struct recording *r, struct member *m, uint64_t t_ns)
{
    job_gone(&r->job, m, t_ns, t_ns);
    job_settle(&r->job, t_ns, read_again, r);
}

static struct member *command(struct recording *r)
{
    return job_add(&r->job, 10, NULL, BARO_ORIGIN_TARGET, 0);
}

/* Twelve that followed each other are twelve zombies when they are listed. */
static void test_zombies_that_are_listed(void **state)
{
    struct recording *r = *state;
    struct member *sh = command(r), *m[12];
    for (int i = 0; i < 12; i++)
        m[i] = job_add(&r->job, 11 + i, sh, BARO_ORIGIN_SCAN, 5);
    for (int i = 0; i < 12; i++)
        job_ended(&r->job, m[i], 5);
    sample(r);
    assert_int_equal(r->peak, 2); /* each lived together with its parent */
    assert_int_equal(r->is_bound, 1);
}

/* All of them were found alive: there were no others. */
static void test_a_list_of_the_living(void **state)
{
    struct recording *r = *state;
    struct member *sh = command(r), *last = NULL;
    for (int i = 0; i < 5; i++)
        last = job_add(&r->job, 11 + i, sh, BARO_ORIGIN_SCAN, 5);
    sample(r);
    assert_int_equal(r->peak, 6);
    gone(r, last, 7);
    sample(r);
    assert_int_equal(r->peak, 6);
    assert_int_equal(r->is_bound, 0);
}

/* Six were there at 5; two of them ended before they were read. */
static void test_one_that_ends_before_all_were_read(void **state)
{
    struct recording *r = *state;
    struct member *sh = command(r), *m[5];
    for (int i = 0; i < 5; i++)
        m[i] = job_add(&r->job, 11 + i, sh, BARO_ORIGIN_SCAN, 5);
    job_ended(&r->job, m[1], 6);
    gone(r, m[3], 6);
    sample(r);
    assert_int_equal(r->peak, 4);
    assert_int_equal(r->is_bound, 1);
    for (int i = 0; i < 2; i++) /* six are counted at once: there never were more */
        job_add(&r->job, 21 + i, sh, BARO_ORIGIN_SCAN, 9);
    sample(r);
    assert_int_equal(r->peak, 6);
    assert_int_equal(r->is_bound, 1); /* one of the first five may have lived when these began */
    r->job.source.events = true;
    for (int i = 0; i < 4; i++)
        job_add(&r->job, 31 + i, sh, BARO_ORIGIN_EVENT, 20);
    sample(r);
    assert_int_equal(r->peak, 10);
    assert_int_equal(r->is_bound, 0);
}

/* All have ended when they are read, and then come the events: three forks, and after them the ends. */
static void test_ends_that_are_seen_before_forks(void **state)
{
    struct recording *r = *state;
    struct member *sh, *m[4];
    r->job.source.events = true;
    sh = command(r);
    for (int i = 0; i < 4; i++)
        m[i] = job_add(&r->job, 11 + i, sh, BARO_ORIGIN_EVENT, 5);
    for (int i = 0; i < 3; i++)
        job_ended(&r->job, m[i], 30);
    gone(r, m[3], 30);
    sample(r);
    for (int i = 0; i < 3; i++)
        m[3] = job_add(&r->job, 21 + i, sh, BARO_ORIGIN_EVENT, 10);
    sample(r);
    assert_int_equal(r->peak, 8); /* the one that is gone is not reported until its end was read */
    for (int i = 0; i < 3; i++)
        job_end_reported(&r->job, m[i]);
    job_add(&r->job, 31, sh, BARO_ORIGIN_EVENT, 40);
    sample(r);
    assert_int_equal(r->peak, 8);
}

/* perf does not report the end of a process that it was not attached to: it may have ended when others are forked. */
static void test_an_end_that_no_event_reports(void **state)
{
    struct recording *r = *state;
    struct member *sh, *m[2];
    sh = command(r);
    for (int i = 0; i < 2; i++)
        m[i] = job_add(&r->job, 11 + i, sh, BARO_ORIGIN_SCAN, 5);
    r->job.source.events = r->job.source.attaches = true;
    job_end_unseen(&r->job, sh, false);
    m[0]->events.covered = true;
    job_end_unseen(&r->job, m[0], false);
    job_add(&r->job, 21, sh, BARO_ORIGIN_EVENT, 8);
    assert_int_equal(r->job.counts.peak, 3); /* the command, the one that perf is attached to, and the new one */
    job_ended(&r->job, m[1], 9);
    sample(r);
    assert_int_equal(r->peak, 3);
    assert_int_equal(r->is_bound, 1);
}

/* The command has started four, whose ends perf reports. They are found ended at 30, before events are read. Returns
 * the command. */
static struct member *four_found_ended(struct recording *r)
{
    struct member *sh, *m[4];
    r->job.source.events = r->job.source.attaches = true;
    sh = command(r);
    sh->events.covered = true;
    for (int i = 0; i < 4; i++)
        m[i] = job_add(&r->job, 11 + i, sh, BARO_ORIGIN_EVENT, 5);
    for (int i = 0; i < 4; i++)
        job_ended(&r->job, m[i], 30);
    sample(r);
    return sh;
}

/* perf was inherited from the parent, so the ends are reported, also of processes that caused no event themselves. */
static void test_ends_that_perf_reports_after_forks(void **state)
{
    struct recording *r = *state;
    struct member *sh = four_found_ended(r);
    for (int i = 0; i < 3; i++)
        job_add(&r->job, 21 + i, sh, BARO_ORIGIN_EVENT, 10);
    sample(r);
    assert_int_equal(r->peak, 8);
    assert_int_equal(r->is_bound, 0);
}

/* Four ended, as they were read; then the forks of three are read that happened before. The end of the first of these
 * may not be reported, so it is not counted at the forks that follow: there may have been eight. */
static void test_an_unsure_end_beside_awaited_ones(void **state)
{
    struct recording *r = *state;
    struct member *sh = four_found_ended(r);
    for (int i = 0; i < 3; i++)
        job_end_unseen(&r->job, job_add(&r->job, 21 + i, sh, BARO_ORIGIN_EVENT, 10), i == 0);
    sample(r);
    assert_int_equal(r->peak, 7);
    assert_int_equal(r->is_bound, 1);
}

/* The end of one that a list has found is not reported. Whether it was there at a fork that is read later is not
 * known; it was not at forks after it was found ended. */
static void test_an_unreported_end_before_forks(void **state)
{
    struct recording *r = *state;
    struct member *sh = command(r), *m;
    m = job_add(&r->job, 11, sh, BARO_ORIGIN_SCAN, 5);
    r->job.source.events = r->job.source.attaches = true;
    job_end_unseen(&r->job, sh, false);
    job_ended(&r->job, m, 30);
    sample(r);
    assert_int_equal(r->peak, 2);
    job_add(&r->job, 21, sh, BARO_ORIGIN_EVENT, 10);
    sample(r);
    assert_int_equal(r->peak, 2);
    assert_int_equal(r->is_bound, 1);
    job_add(&r->job, 31, sh, BARO_ORIGIN_EVENT, 40);
    sample(r);
    assert_int_equal(r->peak, 3);
    assert_int_equal(r->is_bound, 0);
}

/* A list found it, and it was ending when perf was to be attached to it: it forks no more, so it is covered, but its
 * end is not reported. Without that it counts as alive at all forks that follow. */
static void test_one_that_was_ending_when_perf_came(void **state)
{
    struct recording *r = *state;
    struct member *sh = command(r), *m;
    m = job_add(&r->job, 11, sh, BARO_ORIGIN_SCAN, 5);
    r->job.source.events = r->job.source.attaches = true;
    job_end_unseen(&r->job, sh, false);
    m->events.covered = true;
    job_ended(&r->job, m, 6);
    job_add(&r->job, 21, sh, BARO_ORIGIN_EVENT, 10);
    sample(r);
    assert_int_equal(r->peak, 2);
}

/* A process that was selected joins late. One that had ended by then was no longer there, or it was. */
static void test_processes_that_are_selected(void **state)
{
    struct recording *r = *state;
    assert_int_equal(job_use_tasks(&r->job, 1, true), 0);
    r->job.source.events = true;
    struct member *a = job_add(&r->job, 11, NULL, BARO_ORIGIN_EVENT, 10);
    job_label(a, &r->job, 1);
    job_note_late(&r->job, 10);
    gone(r, a, 20);
    struct member *b = job_add(&r->job, 12, NULL, BARO_ORIGIN_EVENT, 30);
    job_label(b, &r->job, 1);
    job_note_late(&r->job, 25); /* after the end of the first one */
    job_note_peak(&r->job);
    sample(r);
    assert_int_equal(r->peak, 1);
    assert_int_equal(r->is_bound, 0);
    gone(r, b, 40);
    job_add(&r->job, 13, NULL, BARO_ORIGIN_EVENT, 50);
    job_note_late(&r->job, 35);
    sample(r);
    assert_int_equal(r->peak, 1);
    assert_int_equal(r->is_bound, 1);
}

/* ---- members of another recording ---- */

#define MS 1000000u

static void put(struct member *m, enum process_metric id, uint64_t v)
{
    member_moved(m);
    m->row.value[id] = v;
    m->row.absent[id] = BARO_PRESENT;
}

/* processes: as many as there have been, and at once */
static void expect_job(struct job *j, uint64_t cpu_ns, uint64_t others_ns, uint64_t living, uint64_t processes)
{
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    job_totals(j, value, absent);
    assert_int_equal(value[JOB_cpu], cpu_ns);
    assert_int_equal(value[JOB_cpu_counted], cpu_ns);
    assert_int_equal(j->others.used[BASE_CPU], others_ns);
    assert_int_equal(value[JOB_processes], living);
    assert_int_equal(value[JOB_processes_started], processes);
    assert_int_equal(value[JOB_processes_peak], processes);
}

/* The command used 30 ms. Its child used 5 ms, is the wrapper of another recording from then on, uses 7 ms as such and
 * ends: the job has used 35 ms, although the command's counters have all 12. A third process is taken for another
 * recording's and then executes something else: only what it used meanwhile is not the job's. */
static void another_recorder_is_not_of_the_job(void **state)
{
    struct recording *r = *state;
    struct job *j = &r->job;
    j->wrapper.pid = 4000;
    j->adopts = j->source.events = true;
    struct member *command = job_add(j, 400, NULL, BARO_ORIGIN_TARGET, 5), *third;
    struct member *wrapper = job_add(j, 401, command, BARO_ORIGIN_EVENT, 6);
    put(command, PROCESS_cpu, 30 * MS);
    put(wrapper, PROCESS_cpu, 5 * MS);
    expect_job(j, 35 * MS, 0, 2, 2);
    job_set_other(j, wrapper, true);
    put(wrapper, PROCESS_cpu, 12 * MS);
    put(wrapper, PROCESS_rss, 1 << 20);
    expect_job(j, 35 * MS, 7 * MS, 1, 1);
    assert_int_equal(j->others.rss_peak, 1 << 20);
    assert_int_equal(job_rss(j), 0);
    wrapper->life.end_reported = true;
    job_gone(j, wrapper, 10 * MS, 11 * MS);
    put(command, PROCESS_children_cpu_user, 10 * MS); /* 12 ms, in whole ticks */
    put(command, PROCESS_children_faults_minor, 57);
    job_settle(j, 13 * MS, read_again, NULL);
    expect_job(j, 35 * MS, 7 * MS, 1, 1);
    third = job_add(j, 402, command, BARO_ORIGIN_EVENT, 14 * MS);
    job_set_other(j, third, true);
    put(third, PROCESS_cpu, 2 * MS);
    expect_job(j, 35 * MS, 9 * MS, 1, 1);
    job_set_other(j, third, false);
    put(third, PROCESS_cpu, 50 * MS);
    expect_job(j, 83 * MS, 9 * MS, 2, 2);
    struct member *follower = job_add(j, 403, command, BARO_ORIGIN_EVENT, 15 * MS);
    follower->other.was_started = true; /* by a recorder: what it starts is none of the job's either */
    job_set_other(j, follower, true);
    put(job_add(j, 404, follower, BARO_ORIGIN_EVENT, 15 * MS), PROCESS_cpu, 4 * MS);
    expect_job(j, 83 * MS, 13 * MS, 2, 2);
    assert_int_equal(r->exits, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_zombies_that_are_listed, begin, end),
        cmocka_unit_test_setup_teardown(test_a_list_of_the_living, begin, end),
        cmocka_unit_test_setup_teardown(test_one_that_ends_before_all_were_read, begin, end),
        cmocka_unit_test_setup_teardown(test_ends_that_are_seen_before_forks, begin, end),
        cmocka_unit_test_setup_teardown(test_an_end_that_no_event_reports, begin, end),
        cmocka_unit_test_setup_teardown(test_ends_that_perf_reports_after_forks, begin, end),
        cmocka_unit_test_setup_teardown(test_an_unsure_end_beside_awaited_ones, begin, end),
        cmocka_unit_test_setup_teardown(test_an_unreported_end_before_forks, begin, end),
        cmocka_unit_test_setup_teardown(test_one_that_was_ending_when_perf_came, begin, end),
        cmocka_unit_test_setup_teardown(test_processes_that_are_selected, begin, end),
        cmocka_unit_test_setup_teardown(another_recorder_is_not_of_the_job, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
