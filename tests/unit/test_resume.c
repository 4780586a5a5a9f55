/* SPDX-License-Identifier: Apache-2.0 */
/* Going on with a job that another recorder has recorded so far: totals worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "recorder/job/task.h"
#include "sink.h"

#define MS NS_PER_MS

struct totals {
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
};

static void begin(struct job *j)
{
    assert_int_equal(job_init(j, &sink_drops, true, 0, 100), 0);
}

static void put(struct member *m, enum process_metric id, uint64_t v)
{
    m->row.value[id] = v;
    m->row.absent[id] = BARO_PRESENT;
    member_moved(m);
}

/* A process as it is found when the recorder starts; start: in hundredths of a second. */
static struct member *find(struct job *j, int32_t pid, uint64_t start, struct member *parent, uint64_t user_ms,
                           uint64_t children_ms)
{
    struct member *m = job_add(j, pid, parent, BARO_ORIGIN_SCAN, 20000 * MS);
    assert_non_null(m);
    m->row.key.start = start;
    m->reading.stat_was_read = true;
    put(m, PROCESS_cpu_user, user_ms * MS);
    put(m, PROCESS_cpu_system, 0);
    put(m, PROCESS_cpu, user_ms * MS);
    put(m, PROCESS_children_cpu_user, children_ms * MS);
    put(m, PROCESS_children_cpu_system, 0);
    put(m, PROCESS_threads, 1);
    job_rebase(m);
    job_settled(j, m);
    return m;
}

static struct totals totals_of(struct job *j)
{
    struct totals t;
    job_totals(j, t.value, t.absent);
    return t;
}

/* At 10 s: A with child B, and C, whose parent is no member. Twelve have started so far and used one second. */
static struct baro_process *a = &(struct baro_process){.id = 3, .key = {10, 100}, .first_ns = 5},
                           *b = &(struct baro_process){.id = 5, .key = {20, 200}, .parent = {10, 100}},
                           *c = &(struct baro_process){.id = 7, .key = {30, 300}, .parent = {1, 1}};

static struct baro_sample last_sample(struct baro_process **rows)
{
    struct baro_sample s = {.t_ns = 10000 * MS, .n = 3, .processes = rows};
    a->value[PROCESS_cpu_user] = a->value[PROCESS_cpu] = 300 * MS;
    b->value[PROCESS_cpu_user] = b->value[PROCESS_cpu] = 50 * MS;
    c->value[PROCESS_cpu_user] = c->value[PROCESS_cpu] = 40 * MS;
    s.job[JOB_cpu] = s.job[JOB_cpu_user] = 1000 * MS;
    s.job[JOB_processes_started] = 12;
    s.job[JOB_processes_ended] = 9;
    s.job[JOB_processes_peak] = 9;
    s.job[JOB_process_rss_peak] = 1 << 20;
    return s;
}

/* Since then A has used 200 ms more and reaped B, which had used 60 ms by its end; C has ended, and its pid is that of
 * E, which, like D, began at 15 s. 1000 + 200 + (60 - 50) + 70 + 20: what C used after the sample is not known. */
static void what_was_used_in_between(void **state)
{
    (void)state;
    struct job j = {0};
    struct baro_process *rows[] = {a, b, c};
    const struct baro_sample last = last_sample(rows);
    begin(&j);
    struct member *m = find(&j, 10, 100, NULL, 500, 60), *d = find(&j, 40, 1500, m, 70, 0),
                  *e = find(&j, 30, 1501, NULL, 20, 0);
    assert_int_equal(job_resume(&j, &last), 0);
    struct totals t = totals_of(&j);
    assert_int_equal(t.value[JOB_cpu_user], 1300 * MS);
    assert_int_equal(t.value[JOB_cpu], 1300 * MS);
    assert_int_equal(t.value[JOB_processes_started], 14);
    assert_int_equal(t.value[JOB_processes_ended], 11);
    assert_int_equal(t.value[JOB_processes], 3);
    assert_int_equal(t.value[JOB_processes_peak], 9);
    assert_int_equal(t.value[JOB_process_rss_peak], 1 << 20);
    /* A is the process that the tape has; the others have ids that no process on the tape can have */
    assert_true(m->row.id == 3 && m->row.first_ns == 5);
    assert_true(d->row.id > 65536 && e->row.id > 65536 && d->row.id != e->row.id);
    /* and the job goes on from there */
    put(m, PROCESS_cpu_user, 510 * MS);
    put(m, PROCESS_cpu, 510 * MS);
    assert_int_equal(totals_of(&j).value[JOB_cpu_user], 1310 * MS);
    job_done(&j);
}

/* D had begun before the last sample, and no sample has it: what it used until now can't be told apart from what the
 * totals have. A value that the tape does not have counts from now on. */
static void what_is_not_known(void **state)
{
    (void)state;
    struct job j = {0};
    struct baro_process *rows[] = {a, b, c};
    struct baro_sample last = last_sample(rows);
    begin(&j);
    struct member *m = find(&j, 10, 100, NULL, 300, 0), *d = find(&j, 40, 900, NULL, 70, 0);
    put(m, PROCESS_io_read, 5000);
    job_rebase(m);
    a->absent[PROCESS_io_read] = BARO_ABSENT_DENIED;
    assert_int_equal(job_resume(&j, &last), 0);
    a->absent[PROCESS_io_read] = BARO_PRESENT;
    struct totals t = totals_of(&j);
    assert_int_equal(t.value[JOB_cpu_user], 1000 * MS);
    assert_int_equal(t.value[JOB_io_read], 0);
    put(d, PROCESS_cpu_user, 75 * MS);
    put(d, PROCESS_cpu, 75 * MS);
    put(m, PROCESS_io_read, 5100);
    t = totals_of(&j);
    assert_int_equal(t.value[JOB_cpu_user], 1005 * MS);
    assert_int_equal(t.value[JOB_io_read], 100);
    job_done(&j);
}

/* Again and again, while nothing happens: nothing grows and nothing falls. */
static void many_times(void **state)
{
    (void)state;
    struct baro_process *rows[] = {a, b, c};
    struct baro_sample last = last_sample(rows);
    for (int i = 0; i < 5; i++) {
        struct job j = {0};
        begin(&j);
        struct member *m = find(&j, 10, 100, NULL, 300, 0);
        find(&j, 20, 200, m, 50, 0);
        find(&j, 30, 300, NULL, 40, 0);
        assert_int_equal(job_resume(&j, &last), 0);
        struct totals t = totals_of(&j);
        assert_int_equal(t.value[JOB_cpu], 1000 * MS);
        assert_int_equal(t.value[JOB_processes_started], 12);
        assert_int_equal(t.value[JOB_processes_ended], 9);
        memcpy(last.job, t.value, sizeof(last.job));
        memcpy(last.job_absent, t.absent, sizeof(last.job_absent));
        job_done(&j);
    }
}

/* ---- tasks ---- */

/* At 10 s, as on the tape: A and B are of the first task, C of the second. */
struct tasks_then {
    uint64_t value[2][TASK_MAX];
    uint8_t absent[2][TASK_MAX];
    struct baro_entity row[2];
};

static void fill_tasks(struct tasks_then *t)
{
    *t = (struct tasks_then){0};
    for (uint32_t i = 0; i < 2; i++)
        t->row[i] = (struct baro_entity){.id = 41 + i, .value = t->value[i], .absent = t->absent[i]};
    t->value[0][TASK_cpu] = t->value[0][TASK_cpu_user] = 900 * MS;
    t->value[1][TASK_cpu] = t->value[1][TASK_cpu_user] = 100 * MS;
    a->value[PROCESS_task] = b->value[PROCESS_task] = 41;
    c->value[PROCESS_task] = 42;
}

static void begin_tasks(struct job *j, const struct baro_sample *last, const struct tasks_then *then)
{
    begin(j);
    assert_int_equal(job_use_tasks(j, 2, true), 0);
    for (unsigned i = 0; i < 2; i++) {
        j->tasks[i].id = 1 + i;
        job_task_resume(j, i + 1, &then->row[i]);
    }
    assert_int_equal(job_resume(j, last), 0);
}

static struct member *join(struct job *j, int32_t pid, uint64_t start, unsigned task, uint64_t cpu_ms)
{
    struct member *m = find(j, pid, start, NULL, cpu_ms, 0);
    job_label(m, j, task);
    if (job_resume_knows(j, m))
        job_resume_member(j, m);
    else
        memset(m->account.base, 0, BASE_MAX * sizeof(*m->account.base)); /* as set_base() of recorder/loop/selected.c */
    return m;
}

/* A goes on, and has used 200 ms more; B does not come back. C comes back in the first task: what it used since may be
 * of either. D began at 15 s; E had begun before the last sample, and was no member then. */
static void tasks_go_on(void **state)
{
    (void)state;
    struct job j = {0};
    struct baro_process *rows[] = {c, a, b};
    const struct baro_sample last = last_sample(rows);
    struct tasks_then then;
    fill_tasks(&then);
    begin_tasks(&j, &last, &then);
    struct member *d = join(&j, 40, 1500, 1, 70), *m = join(&j, 10, 100, 1, 500);
    join(&j, 30, 300, 1, 45);
    join(&j, 50, 900, 2, 25);
    assert_true(m->row.id == 3 && m->row.first_ns == 5 && d->row.id > 65536);
    size_t i = 0;
    unsigned task = 0;
    assert_int_equal(job_resume_next(&j, &i, &task)->key.pid, b->key.pid);
    assert_int_equal(task, 1);
    assert_null(job_resume_next(&j, &i, &task));
    job_resume_end(&j);
    assert_null(j.before);
    struct totals all = totals_of(&j);
    assert_int_equal(all.value[JOB_cpu], (1000 + 200 + 70) * MS);
    assert_int_equal(all.value[JOB_processes_started], 12 + 3);
    assert_int_equal(all.value[JOB_processes], 4);
    job_done(&j);
}

/* A had ended when it was reported as a member again. Its record has all that it used: 310 ms, of which 300 are on the
 * tape. */
static void one_that_ends_before_it_is_found(void **state)
{
    (void)state;
    struct job j = {0};
    struct baro_process *rows[] = {a, b, c};
    const struct baro_sample last = last_sample(rows);
    struct tasks_then then;
    fill_tasks(&then);
    begin_tasks(&j, &last, &then);
    struct member *m = job_add(&j, 10, NULL, BARO_ORIGIN_SCAN, 20000 * MS);
    job_label(m, &j, 1);
    struct member_usage *u = member_make_usage(m);
    u->has_cpu = u->has_split = true;
    u->cpu_ns = u->user_ns = 310 * MS;
    job_gone(&j, m, 20000 * MS, 20000 * MS);
    job_resume_ended(&j, m, 100);
    job_resume_end(&j);
    job_settle(&j, 20001 * MS, NULL, NULL);
    assert_int_equal(totals_of(&j).value[JOB_cpu], 1010 * MS);
    job_done(&j);
}

/* When the last sample was taken one of the first task had ended, and its end had not been reported: it was in no row,
 * and was not counted as ended. */
static void one_whose_end_was_not_reported(void **state)
{
    (void)state;
    struct job j = {0};
    struct baro_process *rows[] = {a, b, c};
    struct baro_sample last = last_sample(rows);
    struct tasks_then then;
    last.job[JOB_processes_ended] = 8;
    fill_tasks(&then);
    begin_tasks(&j, &last, &then);
    join(&j, 10, 100, 1, 500);
    join(&j, 30, 300, 2, 45);
    job_resume_end(&j);
    struct totals all = totals_of(&j); /* which checks that each process is counted once */
    assert_int_equal(all.value[JOB_processes_started], 12);
    assert_int_equal(all.value[JOB_processes_ended], 10);
    assert_int_equal(all.value[JOB_processes], 2);
    job_done(&j);
}

/* The kernel's count of a control group goes on, whatever is known of its processes. */
static void a_task_that_is_a_group(void **state)
{
    (void)state;
    struct job j = {0};
    struct baro_process *rows[] = {a, b, c};
    const struct baro_sample last = last_sample(rows);
    struct tasks_then then;
    fill_tasks(&then);
    begin_tasks(&j, &last, &then);
    j.tasks[0].is_group = true;
    join(&j, 10, 100, 1, 500);
    job_resume_end(&j);
    j.tasks[0].group_now = (struct job_group){.known = true, .user_ns = 1250 * MS};
    job_count_groups(&j);
    assert_int_equal(totals_of(&j).value[JOB_cpu], (1000 + 350) * MS);
    job_done(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_used_in_between),
        cmocka_unit_test(what_is_not_known),
        cmocka_unit_test(many_times),
        cmocka_unit_test(tasks_go_on),
        cmocka_unit_test(one_that_ends_before_it_is_found),
        cmocka_unit_test(one_whose_end_was_not_reported),
        cmocka_unit_test(a_task_that_is_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
