/* SPDX-License-Identifier: Apache-2.0 */
/* The membership of processes as they fork, execute programs and end: of one job, and of two. */

#define UNIT_EACH begin, end
#include "unit.h"
#include "base/clock.h"
#include "recorder/select/watch.h"

#define PIDS 64
#define CHANGES 32
#define JOBS 2
/* The machine: what each pid's command fits in the first job and in the second one, and what was reported. */
struct machine {
    struct watch watch;
    struct watch_job job[JOBS];
    struct watch_fit fits[JOBS];
    uint8_t task[PIDS], other[PIDS];
    int32_t ppid[PIDS];
    bool dead[PIDS];
    uint64_t start[PIDS], looks;
    struct watch_change change[CHANGES];
    size_t n;
};

static struct machine m;

static bool look(void *context, int32_t pid, struct watch_reading *ret)
{
    const uint8_t fits[JOBS] = {m.task[pid], m.other[pid]};
    m.looks++;
    *ret = (struct watch_reading){.ppid = m.ppid[pid], .start = m.start[pid] + 1, .fits = m.fits};
    for (size_t i = 0; i < m.watch.n_jobs; i++) {
        if (fits[i] && watch_wants(&m.watch, &m.job[i]))
            m.fits[ret->n_fits++] = (struct watch_fit){&m.job[i], fits[i]};
    }
    return !m.dead[pid];
}

static void note(void *context, const struct watch_change *c)
{
    assert_true(m.n < CHANGES);
    m.change[m.n++] = *c;
}

/* The members of all tasks. */
static void make_whole(void)
{
    memset(m.job[0].whole + 1, true, sizeof(m.job[0].whole) - 1);
    m.job[0].any_whole = m.watch.any_whole = true;
}

static int begin(void **state)
{
    m = (struct machine){.job = {{.id = 7, .first_rule = 1}, {.id = 8, .first_rule = 1}}};
    assert_int_equal(watch_init(&m.watch, look, note, &m), 0);
    return watch_add(&m.watch, &m.job[0]);
}

static int end(void **state)
{
    watch_done(&m.watch);
    return 0;
}

static void execs(int32_t pid, uint8_t task, uint64_t t_ns)
{
    m.task[pid] = task;
    watch_exec(&m.watch, pid, t_ns);
    watch_settle(&m.watch);
}

static void expect(enum watch_what what, int32_t pid, unsigned task)
{
    assert_int_equal(m.n, 1);
    assert_int_equal(m.change[0].what, what);
    assert_int_equal(m.change[0].pid, pid);
    assert_int_equal(m.change[0].task, task);
    m.n = 0;
}

/* A shell forks, and the child executes a tool. */
TEST(fork_and_exec)
{
    watch_fork(&m.watch, 11, 10, 1 * NS_PER_SEC);
    execs(11, 1, 1 * NS_PER_SEC + 400);
    assert_true(m.change[0].begin_ns == 1 * NS_PER_SEC && !m.change[0].is_late);
    expect(WATCH_JOIN, 11, 1);
    execs(11, 1, 2 * NS_PER_SEC); /* `nice gulpy`: the same task */
    assert_int_equal(m.n, 0);
    execs(11, 2, 3 * NS_PER_SEC);
    expect(WATCH_JOIN, 11, 2);
    execs(11, 0, 4 * NS_PER_SEC);
    expect(WATCH_LEAVE, 11, 0);
    watch_exit(&m.watch, 11, 5 * NS_PER_SEC, true, 0);
    assert_int_equal(m.n, 0);
    assert_int_equal(m.watch.n, 0);
}

/* What it used as a member of the first task is counted there, and not a second time. */
TEST(from_task_to_task)
{
    watch_fork(&m.watch, 11, 10, NS_PER_SEC);
    execs(11, 1, NS_PER_SEC + 400);
    expect(WATCH_JOIN, 11, 1);
    execs(11, 2, NS_PER_SEC + 1000);
    assert_true(m.change[0].is_late);
    expect(WATCH_JOIN, 11, 2);
    execs(11, 0, NS_PER_SEC + 2000);
    expect(WATCH_LEAVE, 11, 0);
    execs(11, 1, NS_PER_SEC + 3000);
    assert_true(m.change[0].is_late);
    expect(WATCH_JOIN, 11, 1);
}

TEST(program_after_an_hour)
{
    watch_fork(&m.watch, 11, 10, NS_PER_SEC);
    execs(11, 1, 3600 * NS_PER_SEC);
    assert_true(m.change[0].is_late);
    expect(WATCH_JOIN, 11, 1);
}

/* Workers that a member forks belong to the task; commands that it runs don't. */
TEST(children_of_a_member)
{
    watch_fork(&m.watch, 11, 10, NS_PER_SEC);
    execs(11, 1, NS_PER_SEC);
    expect(WATCH_JOIN, 11, 1);
    watch_fork(&m.watch, 12, 11, 2 * NS_PER_SEC); /* `ls` */
    execs(12, 0, 2 * NS_PER_SEC + 300);
    watch_exit(&m.watch, 12, 2 * NS_PER_SEC + 900, true, 0);
    assert_int_equal(m.n, 0);
    watch_fork(&m.watch, 13, 11, 3 * NS_PER_SEC); /* a worker */
    assert_true(watch_turn(&m.watch, 3 * NS_PER_SEC + 1) == 3 * NS_PER_SEC + WATCH_PENDING);
    assert_int_equal(m.n, 0);
    watch_turn(&m.watch, 3 * NS_PER_SEC + WATCH_PENDING);
    expect(WATCH_JOIN, 13, 1);
    watch_fork(&m.watch, 14, 11, 4 * NS_PER_SEC); /* one that lives shorter */
    watch_exit(&m.watch, 14, 4 * NS_PER_SEC + 500, true, 3 << 8);
    assert_true(m.change[0].has_ended && m.change[0].has_status && m.change[0].status == 3 << 8);
    assert_true(m.change[0].end_ns == 4 * NS_PER_SEC + 500);
    expect(WATCH_JOIN, 14, 1);
}

/* All of it is in one batch: a tool that forks before its own exec was matched. */
TEST(fork_within_a_batch)
{
    m.task[11] = 1;
    watch_fork(&m.watch, 11, 10, 1000);
    watch_exec(&m.watch, 11, 2000);
    watch_fork(&m.watch, 12, 11, 3000);
    watch_settle(&m.watch);
    expect(WATCH_JOIN, 11, 1);
    watch_turn(&m.watch, 3000 + WATCH_PENDING);
    expect(WATCH_JOIN, 12, 1);
}

/* What has ended by the end of a batch is not read. */
TEST(ended_within_a_batch)
{
    m.task[11] = 1;
    watch_fork(&m.watch, 11, 10, 1000);
    watch_exec(&m.watch, 11, 2000);
    watch_exit(&m.watch, 11, 3000, true, 0);
    watch_settle(&m.watch);
    assert_int_equal(m.looks, 0);
    expect(WATCH_UNREAD, 11, 0);
    m.dead[12] = true; /* it ends while it is matched */
    watch_fork(&m.watch, 12, 10, 4000);
    execs(12, 1, 5000);
    expect(WATCH_UNREAD, 12, 0);
}

TEST(with_children)
{
    make_whole();
    watch_fork(&m.watch, 11, 10, NS_PER_SEC);
    execs(11, 2, NS_PER_SEC);
    expect(WATCH_JOIN, 11, 2);
    watch_fork(&m.watch, 12, 11, 2 * NS_PER_SEC);
    execs(12, 0, 2 * NS_PER_SEC); /* ls */
    expect(WATCH_JOIN, 12, 2);
    execs(12, 3, 3 * NS_PER_SEC); /* the first rule that fits is that of its parent */
    assert_int_equal(m.n, 0);
    execs(12, 1, 4 * NS_PER_SEC);
    expect(WATCH_JOIN, 12, 1);
    watch_fork(&m.watch, 13, 11, 5 * NS_PER_SEC); /* `true`: it has ended before it was matched */
    watch_exec(&m.watch, 13, 5 * NS_PER_SEC + 100);
    watch_exit(&m.watch, 13, 5 * NS_PER_SEC + 200, true, 0);
    watch_settle(&m.watch);
    expect(WATCH_JOIN, 13, 2);
}

static void scan(bool anew, const int32_t *pids, size_t n, uint64_t t_ns)
{
    watch_scan_begin(&m.watch, anew);
    for (size_t i = 0; i < n; i++)
        watch_scan(&m.watch, pids[i], t_ns);
    watch_scan_end(&m.watch);
}

/* 10 is named; 11 is its child already, 12 is forked later; 20 is in the control group of task 3. */
TEST(pins)
{
    struct watch *w = &m.watch;
    make_whole();
    struct watch_job *j = &m.job[0];
    j->whole[1] = false;
    j->firm[3] = true;
    m.ppid[11] = 10;
    m.ppid[20] = 10;
    for (int32_t pid = 10; pid <= 11; pid++)
        watch_scan(w, pid, 0);
    watch_pin(w, &(struct watch_pinned){j, 2, 10, m.start[10] + 2, false}); /* another process has the pid */
    assert_int_equal(m.n, 0);
    watch_pin(w, &(struct watch_pinned){j, 2, 10, m.start[10] + 1, false});
    assert_int_equal(m.n, 2);
    assert_true(m.change[0].task == 2 && m.change[0].pid == 10 && m.change[0].start == m.start[10] + 1);
    assert_true(m.change[1].task == 2 && m.change[1].pid == 11);
    watch_fork(w, 12, 10, 1);
    m.task[12] = 1; /* fits a rule of an earlier task */
    watch_exec(w, 12, 2);
    watch_settle(w);
    assert_true(m.n == 3 && m.change[2].task == 1 && m.change[2].pid == 12);
    m.task[12] = 0;
    watch_exec(w, 12, 3);
    watch_settle(w); /* falls back to what it is pinned to */
    assert_true(m.n == 4 && m.change[3].task == 2 && m.change[3].is_late);
    watch_fork(w, 20, 10, 4);
    watch_pin_seen(w, j, 20, 3, 5);
    j->is_walked = true;
    watch_pins_unseen(w);
    assert_true(m.n == 5 && m.change[4].task == 3 && m.change[4].pid == 20);
    m.task[20] = 1;
    watch_exec(w, 20, 6);
    watch_settle(w);      /* a process of a group belongs to no other task */
    watch_pins_unseen(w); /* its groups were not read */
    assert_int_equal(m.n, 5);
    j->is_walked = true;
    watch_pins_unseen(w); /* it left the group */
    assert_true(m.n == 6 && m.change[5].task == 1);
}

TEST(scan)
{
    const int32_t both[] = {12, 11}, one[] = {11};
    make_whole();
    m.task[11] = 1;
    m.ppid[12] = 11; /* listed before its parent */
    scan(false, both, 2, 0);
    assert_int_equal(m.n, 2);
    assert_int_equal(m.change[1].pid, 12);
    assert_int_equal(m.change[1].task, 1);
    m.n = 0;
    scan(false, both, 2, NS_PER_SEC);
    assert_int_equal(m.looks, 2); /* once for each process */
    scan(false, one, 1, 2 * NS_PER_SEC);
    assert_int_equal(m.watch.n, 1);
    watch_fork(&m.watch, 11, 10, 1); /* it was queued before the scan */
    assert_int_equal(m.n, 0);
    assert_int_equal(m.watch.n, 1);
}

/* Without events: an exec shows when the process is matched again, and so does a pid that was reused. */
TEST(matched_again)
{
    const int32_t one[] = {11};
    m.watch.scans = true;
    scan(false, NULL, 0, 0); /* the first one; what comes later is new */
    scan(false, one, 1, NS_PER_SEC);
    assert_int_equal(m.n, 0);
    m.task[11] = 1;
    uint64_t due = watch_turn(&m.watch, NS_PER_SEC);
    assert_true(due > NS_PER_SEC && due < 2 * NS_PER_SEC);
    due = watch_turn(&m.watch, due);
    expect(WATCH_JOIN, 11, 1);
    m.start[11] = 99;
    watch_turn(&m.watch, due);
    expect(WATCH_JOIN, 11, 1); /* another process of the same task */
}

/* A program that has ended when its turn comes is reported: it may have fitted. */
TEST(unread_commands)
{
    watch_fork(&m.watch, 11, 10, 1);
    watch_exec(&m.watch, 11, 2);
    watch_exit(&m.watch, 11, 3, true, 0);
    assert_true(m.change[0].begin_ns == 1 && m.change[0].end_ns == 3);
    expect(WATCH_UNREAD, 11, 0);
    m.dead[12] = true;
    watch_exec(&m.watch, 12, 4);
    watch_settle(&m.watch);
    expect(WATCH_UNREAD, 12, 0);
    watch_exit(&m.watch, 12, 5, true, 0); /* not again */
    watch_exec(&m.watch, 13, 5);
    watch_settle(&m.watch);
    watch_exit(&m.watch, 13, 6, true, 0);
    assert_int_equal(m.n, 0);
}

/* It can't have belonged to a task if it was not below the process that all are below. */
TEST(unread_elsewhere)
{
    m.job[0].under = 10;
    m.watch.any_under = true;
    m.ppid[20] = 1;
    watch_fork(&m.watch, 20, 1, 1);
    watch_fork(&m.watch, 21, 20, 1);
    watch_fork(&m.watch, 11, 10, 1);
    watch_fork(&m.watch, 12, 11, 1);
    watch_fork(&m.watch, 31, 30, 1); /* what is above 30 is not known */
    for (int i = 0; i < 3; i++) {
        static const int32_t pids[] = {21, 12, 31};
        watch_exec(&m.watch, pids[i], 2);
        watch_exit(&m.watch, pids[i], 3, true, 0);
    }
    assert_true(m.n == 2 && m.change[0].pid == 12 && m.change[1].pid == 31);
}

/* ---- two jobs ---- */

static void add_other(void)
{
    assert_int_equal(watch_add(&m.watch, &m.job[1]), 0);
    m.job[0].is_new = m.job[1].is_new = false;
}

static const struct watch_change *change_of(uint32_t job)
{
    for (size_t i = 0; i < m.n; i++) {
        if (m.change[i].job == job)
            return &m.change[i];
    }
    return NULL;
}

/* A process of both: its command is read once, and what it executes next matters to each job apart. */
TEST(two_jobs_share_a_process)
{
    add_other();
    m.other[11] = 2;
    watch_fork(&m.watch, 11, 10, NS_PER_SEC);
    execs(11, 1, NS_PER_SEC + 400);
    assert_int_equal(m.looks, 1);
    assert_int_equal(m.n, 2);
    assert_true(change_of(7)->what == WATCH_JOIN && change_of(7)->task == 1 && !change_of(7)->is_late);
    assert_true(change_of(8)->what == WATCH_JOIN && change_of(8)->task == 2 && !change_of(8)->is_late);
    m.n = 0;
    m.other[11] = 0;
    execs(11, 1, 2 * NS_PER_SEC);
    assert_int_equal(m.change[0].job, 8);
    expect(WATCH_LEAVE, 11, 0);
    watch_fork(&m.watch, 12, 11, 3 * NS_PER_SEC); /* it inherits only what its parent is in now */
    watch_exit(&m.watch, 12, 4 * NS_PER_SEC, true, 0);
    assert_int_equal(m.change[0].job, 7);
    expect(WATCH_JOIN, 12, 1);
    watch_remove(&m.watch, &m.job[0]);
    watch_exit(&m.watch, 11, 5 * NS_PER_SEC, true, 0);
    assert_int_equal(m.n, 0);
}

/* A new job is matched with what is known already. The other job's processes are not matched again. */
TEST(a_job_is_added)
{
    m.job[0].is_new = false;
    const int32_t pids[] = {11, 12, 13};
    m.task[11] = 1;
    m.other[11] = 1;
    m.other[12] = 2;
    m.ppid[13] = 12;
    scan(false, pids, 3, 0);
    assert_int_equal(m.change[0].job, 7);
    expect(WATCH_JOIN, 11, 1);
    m.task[11] = 3; /* not seen before it executes a program */
    memset(m.job[1].whole + 1, true, sizeof(m.job[1].whole) - 1);
    assert_int_equal(watch_add(&m.watch, &m.job[1]), 0);
    watch_match_new(&m.watch);
    assert_int_equal(m.n, 3); /* 13 with its parent */
    for (size_t i = 0; i < m.n; i++) {
        assert_int_equal(m.change[i].job, 8);
        assert_int_equal(m.change[i].task, m.change[i].pid == 11 ? 1 : 2);
    }
    m.n = 0;
    watch_match_new(&m.watch);
    assert_int_equal(m.n, 0);
}

/* What was not read may be of any job, but not of those in which it is a member. */
TEST(unread_of_two_jobs)
{
    add_other();
    watch_fork(&m.watch, 11, 10, 1);
    watch_exec(&m.watch, 11, 2);
    watch_exit(&m.watch, 11, 3, true, 0);
    assert_int_equal(m.change[0].job, WATCH_ALL);
    expect(WATCH_UNREAD, 11, 0);
    watch_fork(&m.watch, 12, 10, 4);
    execs(12, 1, 5);
    expect(WATCH_JOIN, 12, 1);
    watch_exec(&m.watch, 12, 6);
    watch_exit(&m.watch, 12, 7, true, 0);
    assert_int_equal(m.change[0].job, 8);
    expect(WATCH_UNREAD, 12, 0);
}

/* A process that is pinned in one job can still fit a rule of the other one. */
TEST(pin_of_one_job)
{
    struct watch *w = &m.watch;
    add_other();
    m.job[0].whole[1] = m.job[0].firm[1] = true;
    watch_scan(w, 20, 0);
    watch_pin_seen(w, &m.job[0], 20, 1, 5);
    assert_int_equal(m.change[0].job, 7);
    expect(WATCH_JOIN, 20, 1);
    m.other[20] = 3;
    watch_exec(w, 20, 6);
    watch_settle(w);
    assert_int_equal(m.change[0].job, 8);
    expect(WATCH_JOIN, 20, 3);
    m.job[1].is_walked = true;
    watch_pins_unseen(w);
    assert_int_equal(m.n, 0);
    m.job[0].is_walked = true;
    watch_pins_unseen(w);
    assert_int_equal(m.n, 0);
    m.job[0].is_walked = true;
    watch_pins_unseen(w); /* it was not seen again */
    assert_int_equal(m.change[0].job, 7);
    expect(WATCH_LEAVE, 20, 0);
}
