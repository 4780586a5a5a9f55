/* SPDX-License-Identifier: Apache-2.0 */
/* Usage of tasks: values computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "recorder/job/task.h"

#define MS NS_PER_MS

struct recording {
    struct job job;
    size_t exits;
    struct baro_exit last;
    uint64_t value[2][TASK_MAX];
    uint8_t absent[2][TASK_MAX];
};

static void on_exit_record(void *context, const struct baro_exit *e)
{
    struct recording *r = context;
    r->exits++;
    r->last = *e;
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
    int code = job_init(&r.job, &sink, true, 0, 100);
    code = code < 0 ? code : job_use_tasks(&r.job, 2, true);
    for (size_t i = 0; i < r.job.n_tasks; i++)
        r.job.tasks[i].has_rules = true;
    return code;
}

static int end(void **state)
{
    struct recording *r = *state;
    job_done(&r->job);
    return 0;
}

static void put(struct member *m, enum process_metric id, uint64_t v)
{
    m->row.value[id] = v;
    m->row.absent[id] = BARO_PRESENT;
    member_moved(m);
}

static struct member *join(struct recording *r, int32_t pid, unsigned task, uint64_t begin_ns)
{
    struct member *m = job_add(&r->job, pid, NULL, BARO_ORIGIN_EVENT, begin_ns);
    m->life.begin_ns = begin_ns;
    m->reading.stat_was_read = true;
    job_join(&r->job, m, task, begin_ns);
    put(m, PROCESS_threads, 1);
    return m;
}

static void use(struct member *m, uint64_t user_ms, uint64_t system_ms)
{
    put(m, PROCESS_cpu_user, user_ms * MS);
    put(m, PROCESS_cpu_system, system_ms * MS);
    put(m, PROCESS_cpu, (user_ms + system_ms) * MS);
}

static void gone(struct recording *r, struct member *m, uint64_t t_ns)
{
    job_ended(&r->job, m, t_ns);
    job_gone(&r->job, m, t_ns, t_ns);
    job_settle(&r->job, t_ns, read_again, r);
}

static void sample(struct recording *r, uint64_t now_ns)
{
    job_task_values(&r->job, now_ns, r->value, r->absent);
}

static uint64_t job_cpu(struct recording *r)
{
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    job_totals(&r->job, value, absent);
    assert_int_equal(value[JOB_cpu_user] + value[JOB_cpu_system], value[JOB_cpu]);
    return value[JOB_cpu];
}

static void test_sums(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 100 * MS), *b = join(r, 12, 1, 200 * MS), *c = join(r, 13, 2, 300 * MS);
    use(a, 30, 10);
    use(b, 5, 5);
    use(c, 1, 0);
    put(a, PROCESS_children_cpu_user, 500 * MS); /* of children that are in no task */
    put(a, PROCESS_rss, 4096);
    put(b, PROCESS_rss, 8192);
    put(a, PROCESS_uss, 1000);
    put(b, PROCESS_rss_peak, 9000);
    sample(r, 400 * MS);
    assert_int_equal(r->value[0][TASK_cpu], 50 * MS);
    assert_int_equal(r->value[0][TASK_cpu_user], 35 * MS);
    assert_int_equal(r->value[0][TASK_cpu_system], 15 * MS);
    assert_int_equal(r->value[1][TASK_cpu], 1 * MS);
    assert_int_equal(job_cpu(r), 51 * MS);
    assert_int_equal(r->value[0][TASK_rss], 12288);
    assert_int_equal(r->value[0][TASK_uss], 1000);
    assert_int_equal(r->absent[0][TASK_uss], BARO_PRESENT);
    assert_int_equal(r->value[0][TASK_memory_unread], 1); /* b */
    assert_int_equal(r->absent[1][TASK_uss], BARO_ABSENT_NOT_YET);
    assert_int_equal(r->value[0][TASK_process_rss_peak], 9000);
    assert_int_equal(r->value[0][TASK_process_uss_peak], 1000);
    assert_int_equal(r->value[0][TASK_processes], 2);
    assert_int_equal(r->value[0][TASK_process_samples], 2);
    assert_int_equal(r->value[0][TASK_begin], 100 * MS);
    assert_int_equal(r->value[0][TASK_active], 300 * MS);
}

/* No sum falls when a process ends, and its exit record has more than its last sample. */
static void test_ends(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 100 * MS), *b = join(r, 12, 1, 200 * MS);
    use(a, 30, 10);
    use(b, 8, 2);
    sample(r, 300 * MS);
    struct member_usage *u = member_make_usage(a);
    *u = (struct member_usage){.has_cpu = true, .cpu_ns = 44 * MS, .source = BARO_EXIT_TASKSTATS};
    put(a, PROCESS_io_rchar, 700);
    gone(r, a, 350 * MS);
    assert_int_equal(r->exits, 1);
    assert_int_equal(r->last.absent[EXIT_task], BARO_PRESENT);
    sample(r, 400 * MS);
    assert_int_equal(r->value[0][TASK_cpu], 54 * MS);
    assert_int_equal(r->value[0][TASK_io_rchar], 700);
    assert_int_equal(job_cpu(r), 54 * MS);
    assert_int_equal(r->value[0][TASK_processes], 1);
    assert_int_equal(r->value[0][TASK_processes_started], 2);
    assert_int_equal(r->value[0][TASK_processes_ended], 1);
    gone(r, b, 500 * MS);
    join(r, 13, 1, 900 * MS);
    sample(r, 1000 * MS);
    assert_int_equal(r->value[0][TASK_cpu], 54 * MS);
    assert_int_equal(r->value[0][TASK_active], 500 * MS); /* 100 to 500 and 900 to 1000 ms */
    assert_int_equal(r->value[0][TASK_processes_peak], 2);
}

/* What has ended waits until job_settle() knows who took it over. Nothing falls meanwhile. */
static void test_ended_and_not_settled(void **state)
{
    struct recording *r = *state;
    struct member *m = join(r, 10, 1, 0);
    use(m, 30, 10);
    put(m, PROCESS_io_rchar, 1000);
    sample(r, 100 * MS);
    assert_int_equal(r->value[0][TASK_cpu], 40 * MS);
    use(m, 40, 20);
    job_ended(&r->job, m, 150 * MS);
    job_gone(&r->job, m, 150 * MS, 150 * MS);
    sample(r, 200 * MS);
    assert_int_equal(r->value[0][TASK_cpu], 60 * MS);
    assert_int_equal(r->value[0][TASK_cpu_user], 40 * MS);
    assert_int_equal(r->value[0][TASK_io_rchar], 1000);
    job_settle(&r->job, 300 * MS, read_again, r);
    sample(r, 300 * MS);
    assert_int_equal(r->value[0][TASK_cpu], 60 * MS);
    assert_int_equal(r->value[0][TASK_cpu_user], 40 * MS);
}

/* A process was forked in another group, and it took a while until that was known: of the 57 ms that are known by name
 * the kernel's count for the group has 40. */
static void test_ended_outside_of_the_group(void **state)
{
    struct recording *r = *state;
    struct job_task *t = &r->job.tasks[0];
    t->is_group = true;
    t->group_now = (struct job_group){.known = true, .user_ns = 30 * MS, .system_ns = 10 * MS};
    struct member *inside = join(r, 10, 1, 0), *outside = join(r, 11, 1, 0);
    use(inside, 30, 10);
    use(outside, 10, 7);
    sample(r, 100 * MS);
    assert_int_equal(job_cpu(r), 40 * MS);
    job_leave(&r->job, outside);
    job_ended(&r->job, outside, 150 * MS);
    job_gone(&r->job, outside, 150 * MS, 150 * MS);
    sample(r, 200 * MS);
    assert_int_equal(job_cpu(r), 40 * MS);
    job_settle(&r->job, 300 * MS, read_again, r);
    sample(r, 300 * MS);
    assert_int_equal(job_cpu(r), 40 * MS);
}

/* The kernel adds the I/O of a child to its parent, which is of the same task: it counts once. */
static void test_io_of_a_child(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 0), *b = join(r, 12, 1, 0);
    tree_set_parent(b, a);
    put(a, PROCESS_io_rchar, 100);
    put(b, PROCESS_io_rchar, 50);
    gone(r, b, 10 * MS);
    put(a, PROCESS_io_rchar, 150);
    sample(r, 20 * MS);
    assert_int_equal(r->value[0][TASK_io_rchar], 150);
}

/* What it has used by then stays, and what it uses later is not the task's. There is no exit record: it is alive. */
static void test_leaves(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 0);
    use(a, 20, 0);
    job_leave(&r->job, a);
    job_gone(&r->job, a, 50 * MS, 50 * MS);
    job_settle(&r->job, 50 * MS, read_again, r);
    assert_int_equal(r->exits, 0);
    struct member *again = join(r, 11, 2, 50 * MS);
    use(again, 20, 0);
    job_rebase(again);
    use(again, 29, 0);
    sample(r, 100 * MS);
    assert_int_equal(r->value[0][TASK_cpu], 20 * MS);
    assert_int_equal(r->value[0][TASK_processes], 0);
    assert_int_equal(r->value[1][TASK_cpu], 9 * MS);
    assert_int_equal(job_cpu(r), 29 * MS);
}

/* It ended before it was read, and no source reports its usage. */
static void test_unread(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 0);
    gone(r, a, 5 * MS);
    sample(r, 10 * MS);
    assert_int_equal(r->value[0][TASK_processes_started], 1);
    assert_int_equal(r->value[0][TASK_processes_unread], 1);
    assert_int_equal(r->value[0][TASK_end], 5 * MS);
    assert_int_equal(r->absent[1][TASK_begin], BARO_ABSENT_NOT_YET);
}

/* Without events: what it used after its last sample is lost. With an event it is complete. */
static void test_lower_bounds(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 0), *b = join(r, 12, 2, 0);
    a->row.value[PROCESS_cpu] = b->row.value[PROCESS_cpu] = 7 * MS;
    a->row.absent[PROCESS_cpu] = b->row.absent[PROCESS_cpu] = BARO_PRESENT;
    sample(r, MS);
    member_make_usage(b)->has_cpu = true;
    member_make_usage(b)->cpu_ns = 9 * MS;
    gone(r, a, 5 * MS);
    gone(r, b, 5 * MS);
    job_task_unread(&r->job, 2, &(uint64_t){4 * MS});
    job_task_unread(&r->job, 2, &(uint64_t){MS});
    job_task_unread(&r->job, 1, NULL);
    sample(r, 10 * MS);
    assert_int_equal(r->value[0][TASK_processes_unread], 1);
    assert_int_equal(r->value[0][TASK_processes_io_unread], 1);
    assert_int_equal(r->value[1][TASK_processes_unread], 0);
    assert_int_equal(r->value[1][TASK_commands_unread], 2);
    assert_int_equal(r->value[1][TASK_commands_unread_cpu], 5 * MS);
    assert_int_equal(r->value[0][TASK_commands_unread], 1);
    assert_int_equal(r->absent[0][TASK_commands_unread_cpu], BARO_ABSENT_UNKNOWN);
    r->job.commands_unknown = true;
    sample(r, 11 * MS);
    assert_int_equal(r->absent[1][TASK_commands_unread], BARO_ABSENT_UNKNOWN);
}

/* The end of its first thread was taken for its own at 100 ms, and at 150 ms it is seen to live on. Its real end, at
 * 400 ms, counts as well: after that the task has no process, and its time stands still. */
static void test_revived(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 0);
    job_ended(&r->job, a, 100 * MS);
    sample(r, 120 * MS);
    assert_int_equal(r->value[0][TASK_processes], 0);
    job_revive(&r->job, a);
    job_revive(&r->job, a);
    sample(r, 150 * MS);
    assert_int_equal(r->value[0][TASK_processes], 1);
    assert_int_equal(r->value[0][TASK_active], 150 * MS);
    gone(r, a, 400 * MS);
    sample(r, 900 * MS);
    assert_int_equal(r->value[0][TASK_processes], 0);
    assert_int_equal(r->value[0][TASK_processes_started], 1);
    assert_int_equal(r->value[0][TASK_processes_ended], 1);
    assert_int_equal(r->value[0][TASK_processes_peak], 1);
    assert_int_equal(r->value[0][TASK_active], 400 * MS);
    assert_int_equal(r->value[0][TASK_end], 400 * MS);
}

/* What is read of a process that has ended, and not been waited for, is all. */
static void test_last_read_as_a_zombie(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 0), *b = join(r, 12, 2, 0);
    a->row.value[PROCESS_cpu] = b->row.value[PROCESS_cpu] = 7 * MS;
    a->row.absent[PROCESS_cpu] = b->row.absent[PROCESS_cpu] = BARO_PRESENT;
    a->life.cpu_final = true;
    sample(r, MS);
    gone(r, a, 5 * MS);
    gone(r, b, 5 * MS);
    sample(r, 10 * MS);
    assert_int_equal(r->value[0][TASK_processes_unread], 0);
    assert_int_equal(r->value[1][TASK_processes_unread], 1);
}

/* Its exit record was made before it was known that it fits. */
static void test_label_of_an_exit(void **state)
{
    struct recording *r = *state;
    struct baro_exit e = {.t_ns = 9 * MS, .source = BARO_EXIT_TASKSTATS};
    e.absent[EXIT_task] = BARO_ABSENT_NOT_ASKED;
    e.value[EXIT_cpu] = 5 * MS;
    e.value[EXIT_cpu_user] = 3 * MS;
    job_label_exit(&r->job, &e, 2, 2 * MS);
    assert_true(!e.absent[EXIT_task] && e.value[EXIT_task] == r->job.tasks[1].id);
    e.source = BARO_EXIT_LAST_SAMPLE;
    e.t_ns = 12 * MS;
    job_label_exit(&r->job, &e, 2, 8 * MS);
    e.t_ns = 3 * MS;
    job_label_exit(&r->job, &e, 2, 0); /* reported last, and the first one */
    job_label_missed(&r->job, 1);
    sample(r, 20 * MS);
    const uint64_t *v = r->value[1];
    assert_int_equal(v[TASK_cpu], 15 * MS);
    assert_int_equal(v[TASK_cpu_user], 9 * MS);
    assert_int_equal(v[TASK_active], 12 * MS);
    assert_int_equal(v[TASK_begin], 0);
    assert_int_equal(v[TASK_end], 12 * MS);
    assert_int_equal(v[TASK_processes_started], 3);
    assert_int_equal(v[TASK_processes_ended], 3);
    assert_int_equal(v[TASK_processes_unread], 2);
    assert_int_equal(v[TASK_processes_io_unread], 3);
    assert_int_equal(r->value[0][TASK_processes_started], 1);
    assert_int_equal(r->value[0][TASK_processes_unread], 1);
}

/* a ends with an open connection, of which 100 bytes were seen; its exit waits for the next reading of sockets, which
 * finds 150. b has none open: it does not wait. Nothing more is heard of c: after a second it is reported as it is. */
static void test_sockets(void **state)
{
    struct recording *r = *state;
    struct member *all[] = {join(r, 11, 1, 100 * MS), join(r, 12, 1, 100 * MS), join(r, 13, 1, 100 * MS)};
    r->job.settling.sockets = true;
    for (size_t i = 0; i < 3; i++) {
        put(all[i], PROCESS_tcp_sent, 100);
        put(all[i], PROCESS_tcp_received, 10);
        put(all[i], PROCESS_tcp_connections, i != 1);
    }
    sample(r, 200 * MS);
    assert_int_equal(r->value[0][TASK_tcp_sent], 300);
    assert_int_equal(r->value[0][TASK_processes_tcp_unread], 0);
    gone(r, all[0], 300 * MS);
    assert_int_equal(r->exits, 0);
    gone(r, all[1], 300 * MS);
    assert_int_equal(r->exits, 1);
    assert_int_equal(r->last.key.pid, 12);
    assert_int_equal(r->last.value[EXIT_tcp_is_lower_bound], 1);
    gone(r, all[2], 400 * MS);
    sample(r, 400 * MS);
    assert_int_equal(r->value[0][TASK_tcp_sent], 300);
    assert_int_equal(r->value[0][TASK_processes_tcp_unread], 3);
    all[0]->row.value[PROCESS_tcp_sent] = 150;
    all[0]->tcp.whole = true;
    job_late_report(&r->job, 500 * MS);
    assert_int_equal(r->exits, 2);
    assert_int_equal(r->last.key.pid, 11);
    assert_int_equal(r->last.value[EXIT_tcp_sent], 150);
    assert_int_equal(r->last.value[EXIT_tcp_is_lower_bound], 0);
    job_late_report(&r->job, 1500 * MS);
    assert_int_equal(r->exits, 3);
    assert_int_equal(r->last.value[EXIT_tcp_is_lower_bound], 1);
    sample(r, 1600 * MS);
    assert_int_equal(r->value[0][TASK_tcp_sent], 350);
    assert_int_equal(r->value[0][TASK_tcp_received], 30);
    assert_int_equal(r->value[0][TASK_processes_tcp_unread], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums, begin, end),
        cmocka_unit_test_setup_teardown(test_ends, begin, end),
        cmocka_unit_test_setup_teardown(test_ended_and_not_settled, begin, end),
        cmocka_unit_test_setup_teardown(test_ended_outside_of_the_group, begin, end),
        cmocka_unit_test_setup_teardown(test_io_of_a_child, begin, end),
        cmocka_unit_test_setup_teardown(test_leaves, begin, end),
        cmocka_unit_test_setup_teardown(test_unread, begin, end),
        cmocka_unit_test_setup_teardown(test_lower_bounds, begin, end),
        cmocka_unit_test_setup_teardown(test_revived, begin, end),
        cmocka_unit_test_setup_teardown(test_last_read_as_a_zombie, begin, end),
        cmocka_unit_test_setup_teardown(test_label_of_an_exit, begin, end),
        cmocka_unit_test_setup_teardown(test_sockets, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
