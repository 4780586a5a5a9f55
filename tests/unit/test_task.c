/* SPDX-License-Identifier: Apache-2.0 */
/* The totals of a job whose members are selected, each of a task. */
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
        r.job.tasks[i].id = 41 + (uint32_t)i;
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
    job_label(m, &r->job, task);
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

static uint64_t job_cpu(struct recording *r)
{
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    job_count_groups(&r->job);
    job_totals(&r->job, value, absent);
    assert_int_equal(value[JOB_cpu_user] + value[JOB_cpu_system], value[JOB_cpu]);
    return value[JOB_cpu];
}

/* No sum falls when a process ends, and its exit record has more than its last sample. */
static void test_ends(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 100 * MS), *b = join(r, 12, 1, 200 * MS);
    use(a, 30, 10);
    use(b, 8, 2);
    put(a, PROCESS_children_cpu_user, 500 * MS); /* of children that are in no task */
    assert_int_equal(job_cpu(r), 50 * MS);
    struct member_usage *u = member_make_usage(a);
    *u = (struct member_usage){.has_cpu = true, .cpu_ns = 44 * MS, .source = BARO_EXIT_TASKSTATS};
    gone(r, a, 350 * MS);
    assert_int_equal(r->exits, 1);
    assert_true(!r->last.absent[EXIT_task] && r->last.value[EXIT_task] == r->job.tasks[0].id);
    assert_int_equal(job_cpu(r), 54 * MS);
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
    assert_int_equal(job_cpu(r), 40 * MS);
    job_leave(outside);
    job_ended(&r->job, outside, 150 * MS);
    job_gone(&r->job, outside, 150 * MS, 150 * MS);
    assert_int_equal(job_cpu(r), 40 * MS);
    job_settle(&r->job, 300 * MS, read_again, r);
    assert_int_equal(job_cpu(r), 40 * MS);
}

/* What it has used by then stays, and what it uses later is not the task's. There is no exit record: it is alive. */
static void test_leaves(void **state)
{
    struct recording *r = *state;
    struct member *a = join(r, 11, 1, 0);
    use(a, 20, 0);
    job_leave(a);
    job_gone(&r->job, a, 50 * MS, 50 * MS);
    job_settle(&r->job, 50 * MS, read_again, r);
    assert_int_equal(r->exits, 0);
    struct member *again = join(r, 11, 2, 50 * MS);
    use(again, 20, 0);
    job_rebase(again);
    use(again, 29, 0);
    assert_int_equal(job_cpu(r), 29 * MS);
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
    gone(r, all[0], 300 * MS);
    assert_int_equal(r->exits, 0);
    gone(r, all[1], 300 * MS);
    assert_int_equal(r->exits, 1);
    assert_int_equal(r->last.key.pid, 12);
    assert_int_equal(r->last.value[EXIT_tcp_is_lower_bound], 1);
    gone(r, all[2], 400 * MS);
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ends, begin, end),
        cmocka_unit_test_setup_teardown(test_ended_outside_of_the_group, begin, end),
        cmocka_unit_test_setup_teardown(test_leaves, begin, end),
        cmocka_unit_test_setup_teardown(test_sockets, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
