/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job: the command and its child are found gone in one tick or in the next, and the wrapper's report about
 * them comes after that. */
#include "pair.h"

/* The wrapper reaped the command, and its totals since the start are `total_ns`. */
static void end_command(struct job *j, struct member *command, uint64_t total_ns)
{
    job_reaped(j, command, 20 * MS);
    job_settle(j, 21 * MS, is_there, NULL);
    j->wrapper.total[LEDGER_CPU_USER] = total_ns;
    j->wrapper.reaped = 1;
    job_gone(j, command, 20 * MS, 22 * MS);
}

static void close_pair(struct job *j, uint64_t value[JOB_MAX])
{
    uint8_t absent[JOB_MAX];
    j->wrapper.pid = 0;
    j->settling.closing = true;
    job_settle(j, 23 * MS, is_there, NULL);
    job_totals(j, value, absent);
    assert_int_equal(j->settling.n_gone, 0);
    assert_int_equal(j->counts.ended, 2);
}

/* A tick finds the child gone and the command a zombie that shows what it took over; the wrapper's report comes later.
 * The child waits for that report, and its usage counts once. */
TEST(child_of_a_zombie_counts_once)
{
    static struct job j;
    struct member *command, *child;
    uint64_t value[JOB_MAX];
    begin_pair(&j, &command, &child);
    job_gone(&j, child, 10 * MS, 11 * MS);
    command->life.end_ns = 12 * MS;
    put(command, PROCESS_state, 'Z');
    put(command, PROCESS_children_cpu_user, 80 * MS);
    put(command, PROCESS_children_faults_minor, 57);
    job_settle(&j, 13 * MS, is_there, NULL);
    assert_int_equal(j.settling.n_held, 1);
    job_settled(command);
    end_command(&j, command, 80 * MS);
    close_pair(&j, value);
    assert_int_equal(value[JOB_cpu], 80 * MS);
    assert_int_equal(value[JOB_io_is_lower_bound], 0);
    job_done(&j);
}

/* perf reported 88 ms for the child, of which 12 may be a hypervisor's. The wrapper's wait4(2) has 82 ms. If it has
 * none, the child was added to no process: 80 ms were read, and 88 - 12 are sure. If the command was seen to ignore
 * SIGCHLD, what perf reported is the best that is known. */
TEST(stolen_time_is_not_of_the_job)
{
    static struct job j;
    uint64_t value[JOB_MAX];
    for (int way = 0; way < 3; way++) {
        bool waited = way == 1, settled_before = way == 2;
        struct member *command, *child;
        begin_pair(&j, &command, &child);
        member_make_usage(child)->has_cpu = true;
        member_make_usage(child)->cpu_ns = 88 * MS;
        member_make_usage(child)->cpu_unsure_ns = 12 * MS;
        if (!waited && !settled_before)
            job_absorbed(&j, child);
        job_gone(&j, child, 10 * MS, 19 * MS);
        if (settled_before) {
            job_ignores_children(&j, command);
            job_settle(&j, 20 * MS, is_there, NULL);
        }
        put(command, PROCESS_state, 'Z');
        put(command, PROCESS_children_faults_minor, waited ? 60 : 0);
        end_command(&j, command, waited ? 82 * MS : 0);
        close_pair(&j, value);
        assert_int_equal(value[JOB_cpu], waited ? 82 * MS : settled_before ? 88 * MS : 80 * MS);
        assert_int_equal(value[JOB_cpu_excess], settled_before ? 8 * MS : 0); /* it had 80 when it was read last */
        assert_int_equal(value[JOB_cpu_is_lower_bound], !waited && !settled_before);
        assert_int_equal(value[JOB_cpu_counted], value[JOB_cpu]);
        job_done(&j);
    }
}

/* What a parent took over shows in ticks. taskstats has 80 ms of the child, the parent 90, and the 10 ms are taken for
 * the child's teardown. wait4(2) has 81 ms in the end: that is the total, and no process is missing from it. */
TEST(a_share_shows_no_missing_process)
{
    static struct job j;
    uint64_t value[JOB_MAX];
    struct member *command, *child;
    begin_pair(&j, &command, &child);
    put(child, PROCESS_rss_peak, 80u << 20);
    struct member_usage *u = member_make_usage(child);
    u->has_cpu = true;
    u->source = BARO_EXIT_TASKSTATS;
    u->cpu_ns = 80 * MS;
    job_gone(&j, child, 10 * MS, 19 * MS);
    put(command, PROCESS_children_cpu_user, 90 * MS);
    put(command, PROCESS_children_faults_minor, 60);
    job_settle(&j, 20 * MS, is_there, NULL);
    assert_int_equal(j.past.counted_ns, 90 * MS);
    put(command, PROCESS_state, 'Z');
    end_command(&j, command, 81 * MS);
    close_pair(&j, value);
    assert_int_equal(value[JOB_cpu], 81 * MS);
    assert_int_equal(value[JOB_cpu_is_lower_bound], 0);
    assert_int_equal(value[JOB_io_is_lower_bound], 0);
    assert_int_equal(value[JOB_counts_are_lower_bounds], 0);
    job_done(&j);
}

/* taskstats has 80 ms of the child, and the parent gained 110. The 30 ms are taken for the child's teardown. 4.3 ms are
 * expected for its 80 MB; the rest may be of a process that ended beside it unseen. The record of its exit says so. */
TEST(a_share_is_unsure)
{
    static struct job j;
    struct baro_exit e = {0};
    struct member *command, *child;
    begin_pair(&j, &command, &child);
    const struct job_sink sink = {.exit = keep_exit, .context = &e};
    j.sink = sink;
    put(child, PROCESS_rss_peak, 80u << 20); /* 20,480 pages */
    struct member_usage *u = member_make_usage(child);
    u->has_cpu = true;
    u->source = BARO_EXIT_TASKSTATS;
    u->cpu_ns = 81 * MS;
    u->cpu_unsure_ns = 500000;
    job_gone(&j, child, 10 * MS, 19 * MS);
    put(command, PROCESS_children_cpu_user, 111 * MS);
    put(command, PROCESS_children_faults_minor, 60);
    job_settle(&j, 20 * MS, is_there, NULL);
    assert_int_equal(e.key.pid, 401);
    assert_int_equal(e.value[EXIT_cpu], 111 * MS);
    assert_int_equal(e.absent[EXIT_cpu_unsure], BARO_PRESENT);
    assert_int_equal(e.value[EXIT_cpu_unsure], 500000 + 30 * MS - (200000 + 20480 * 200));
    /* what perf may have counted too much is another thing: a share was in the total already */
    assert_int_equal(j.past.unsure_ns, 500000);
    job_done(&j);
}

/* The child was read last with 57 page faults, 10 ms of children and a peak of 80 MB, and is gone: there may be more.
 * Not if it was read as a zombie, which shows no peak, nor of the faults and the peak if taskstats reports them, nor of
 * children if it had none. */
TEST(what_was_read_last_may_be_too_little)
{
    enum { READ_LAST, ZOMBIE, TASKSTATS, CHILDLESS, WAYS };
    static struct job j;
    for (int way = 0; way < WAYS; way++) {
        struct baro_exit e = {0};
        struct member *command, *child;
        begin_pair(&j, &command, &child);
        const struct job_sink sink = {.exit = keep_exit, .context = &e};
        j.sink = sink;
        put(child, PROCESS_faults_minor, 57);
        put(child, PROCESS_children_cpu_user, way == CHILDLESS ? 0 : 10 * MS);
        put(child, PROCESS_children_faults_minor, way == CHILDLESS ? 0 : 30);
        put(child, PROCESS_state, way == ZOMBIE ? 'Z' : 'S');
        put(child, PROCESS_rss_peak, 80u << 20);
        if (way == TASKSTATS) {
            member_make_usage(child)->has_io = member_make_usage(child)->has_memory = true;
            member_make_usage(child)->rss_peak = 90u << 20;
            member_make_usage(child)->own[LEDGER_FAULTS_MINOR] = 60;
        }
        job_gone(&j, child, 10 * MS, 11 * MS);
        put(command, PROCESS_children_cpu_user, 90 * MS);
        put(command, PROCESS_children_faults_minor, 90);
        job_settle(&j, 12 * MS, is_there, NULL);
        assert_int_equal(e.key.pid, 401);
        assert_int_equal(e.value[EXIT_faults_minor], way == TASKSTATS ? 60 : 57);
        assert_int_equal(e.absent[EXIT_faults_is_lower_bound], BARO_PRESENT);
        assert_int_equal(e.value[EXIT_faults_is_lower_bound], way == READ_LAST || way == CHILDLESS);
        assert_int_equal(e.value[EXIT_children_cpu_is_lower_bound], way == READ_LAST || way == TASKSTATS);
        assert_int_equal(e.value[EXIT_rss_peak], (way == TASKSTATS ? 90u : 80u) << 20);
        assert_int_equal(e.absent[EXIT_rss_peak_is_lower_bound], BARO_PRESENT);
        assert_int_equal(e.value[EXIT_rss_peak_is_lower_bound], way != TASKSTATS);
        job_done(&j);
    }
}

/* perf reported 200 ms for the child, far more than it may be wrong by as assumed: 80 were read, and wait4(2) has 82.
 * The page faults show that it was waited for. So 82 ms is the total. `seen_by`: its parent, while that lives, or the
 * wrapper. */
TEST(much_stolen_time_is_not_of_the_job)
{
    enum { PARENT, WRAPPER, WAYS };
    static struct job j;
    uint64_t value[JOB_MAX];
    for (int seen_by = 0; seen_by < WAYS; seen_by++) {
        struct member *command, *child;
        begin_pair(&j, &command, &child);
        put(child, PROCESS_faults_minor, 57);
        struct member_usage *u = member_make_usage(child);
        u->has_cpu = true;
        u->source = BARO_EXIT_PERF;
        u->cpu_ns = 200 * MS;
        u->cpu_unsure_ns = 12 * MS;
        if (seen_by == WRAPPER)
            job_absorbed(&j, child);
        job_gone(&j, child, 10 * MS, 19 * MS);
        put(command, PROCESS_children_cpu_user, 80 * MS);
        put(command, PROCESS_children_faults_minor, 60);
        if (seen_by == PARENT)
            job_settle(&j, 20 * MS, is_there, NULL);
        put(command, PROCESS_state, 'Z');
        j.wrapper.total[LEDGER_FAULTS_MINOR] = 60;
        end_command(&j, command, 82 * MS);
        close_pair(&j, value);
        assert_int_equal(value[JOB_cpu], 82 * MS);
        assert_int_equal(value[JOB_cpu_is_lower_bound], 0);
        assert_int_equal(value[JOB_counts_are_lower_bounds], 0);
        job_done(&j);
    }
}

/* The recorder is late: the command and its child are found gone at the same time. The command ignored SIGCHLD, so the
 * kernel added the counters of the child to no process. The values known of it are added to the job, and the rest is
 * marked. */
TEST(ignored_child_found_at_the_end)
{
    static struct job j;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    for (int whole = 0; whole < 2; whole++) {
        struct member *command, *child;
        begin_pair(&j, &command, &child);
        job_totals(&j, value, absent); /* from now on it is known that io can be read */
        if (whole) {
            member_make_usage(child)->has_io = true;
            member_make_usage(child)->own[LEDGER_IO_RCHAR] = 30000000;
        }
        job_absorbed(&j, child);
        job_gone(&j, child, 10 * MS, 19 * MS);
        put(command, PROCESS_state, 'Z');
        end_command(&j, command, 0);
        close_pair(&j, value);
        assert_int_equal(value[JOB_cpu], 80 * MS);
        assert_int_equal(value[JOB_cpu_is_lower_bound], 1); /* what it used after it was read last is lost */
        assert_int_equal(value[JOB_io_is_lower_bound], !whole);
        if (whole)
            assert_int_equal(value[JOB_io_rchar], 30000000);
        job_done(&j);
    }
}

/* The same, but the command just did not wait for its child: the wrapper reaps it, and reports it after the command. */
TEST(left_child_is_reported_by_the_wrapper)
{
    static struct job j;
    struct member *command, *child;
    bool reported;
    uint64_t value[JOB_MAX];
    begin_pair(&j, &command, &child);
    job_absorbed(&j, child);
    job_gone(&j, child, 10 * MS, 19 * MS);
    put(command, PROCESS_state, 'Z');
    end_command(&j, command, 0);
    job_settle(&j, 22 * MS, is_there, NULL);
    assert_ptr_equal(job_claim(&j, 401, 0, 22 * MS, &reported), child);
    job_reaped(&j, child, 20 * MS);
    child->life.io_final = true;
    j.wrapper.total[LEDGER_CPU_USER] = 80 * MS;
    close_pair(&j, value);
    assert_int_equal(value[JOB_cpu], 80 * MS);
    assert_int_equal(value[JOB_io_is_lower_bound], 0);
    job_done(&j);
}

/* Two children are gone, and the parent shows 130 ms for both. 80 ms were reported of one; of the other no more is
 * known than the 10 ms that were read. The 40 ms that nobody has may all be the other one's, so neither gets a share.
 */
TEST(nothing_is_shared_with_an_unknown_child)
{
    static struct job j;
    struct member *command, *child;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    begin_pair(&j, &command, &child);
    struct member *other = job_add(&j, 402, command, BARO_ORIGIN_EVENT, 6);
    put(other, PROCESS_cpu, 10 * MS);
    put(other, PROCESS_cpu_user, 10 * MS);
    other->life.end_reported = true;
    member_make_usage(child)->has_cpu = true;
    member_make_usage(child)->cpu_ns = 80 * MS;
    job_totals(&j, value, absent);
    job_gone(&j, child, 10 * MS, 11 * MS);
    job_gone(&j, other, 10 * MS, 11 * MS);
    put(command, PROCESS_children_cpu_user, 130 * MS);
    put(command, PROCESS_children_faults_minor, 114);
    job_settle(&j, 13 * MS, is_there, NULL);
    job_totals(&j, value, absent);
    assert_int_equal(value[JOB_cpu], 130 * MS);
    assert_int_equal(value[JOB_cpu_counted], 90 * MS);
    job_done(&j);
}

/* ld, a child of collect2, had read 73 MB; collect2 waited for it and is about to end: its stat shows the faults of ld,
 * and its io could not be read since. cc shows all of it when it has reaped collect2: the 73 MB count once. If collect2
 * shows no faults of ld, it has not waited for it: nobody has the 73 MB. */
TEST(io_that_is_not_read_yet_counts_once)
{
    static struct job j;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    for (int waited = 0; waited < 2; waited++) {
        struct member *cc, *collect2;
        begin_pair(&j, &cc, &collect2);
        put(collect2, PROCESS_threads, 1);
        put(collect2, PROCESS_io_rchar, 4000);
        struct member *ld = job_add(&j, 402, collect2, BARO_ORIGIN_EVENT, 7);
        put(ld, PROCESS_faults_minor, 900);
        put(ld, PROCESS_io_rchar, 73000000);
        ld->life.end_reported = true;
        job_settled(ld);
        job_settled(collect2);
        put(collect2, PROCESS_children_faults_minor, waited ? 900 : 0);
        job_gone(&j, ld, 10 * MS, 11 * MS);
        job_settle(&j, 12 * MS, is_there, NULL);
        job_totals(&j, value, absent);
        job_gone(&j, collect2, 13 * MS, 14 * MS);
        put(cc, PROCESS_children_cpu_user, 80 * MS);
        put(cc, PROCESS_children_faults_minor, 1000);
        put(cc, PROCESS_io_rchar, waited ? 73004000 : 4000);
        cc->account.io_as_of_faults = 1000;
        job_settle(&j, 15 * MS, is_there, NULL);
        job_totals(&j, value, absent);
        assert_int_equal(value[JOB_io_rchar], 73004000);
        job_done(&j);
    }
}

/* ld was read at 7 ms and ends at 10 ms: its bytes are late until its parent is read. The parent is ending, so its own
 * parent has to be read. A zombie that nobody waits for is left out after a second. */
TEST(bytes_of_the_ended_are_late)
{
    static struct job j;
    struct member *cc, *collect2;
    begin_pair(&j, &cc, &collect2);
    put(collect2, PROCESS_threads, 1);
    put(collect2, PROCESS_io_rchar, 4000);
    cc->reading.io_ns = collect2->reading.io_ns = 8 * MS;
    struct member *ld = job_add(&j, 402, collect2, BARO_ORIGIN_EVENT, 7 * MS);
    put(ld, PROCESS_faults_minor, 900);
    ld->life.end_reported = true;
    ld->life.begin_ns = 7 * MS;
    assert_int_equal(job_io_lag(&j, 9 * MS), 0);
    job_ended(&j, ld, 10 * MS);
    assert_int_equal(job_io_lag(&j, 11 * MS), 4 * MS);
    job_gone(&j, ld, 10 * MS, 11 * MS);
    assert_int_equal(job_io_lag(&j, 12 * MS), 5 * MS);
    job_gone(&j, collect2, 13 * MS, 14 * MS);
    assert_int_equal(job_io_lag(&j, 15 * MS), 8 * MS);
    cc->reading.io_since_ns = 0; /* it was read */
    assert_int_equal(job_io_lag(&j, 16 * MS), 0);
    job_ended(&j, cc, 20 * MS);
    assert_int_equal(job_io_lag(&j, 21 * MS), 13 * MS);
    assert_int_equal(job_io_lag(&j, 1021 * MS), 0);
    job_done(&j);
}

/* A server and its child are there when the recording begins: the child has used 20 ms by then, and ends with 30. The
 * server takes over all of it, or nothing if it ignores SIGCHLD: the job has used 10 ms. So it is at each moment: while
 * the event of the end is awaited, too. */
TEST(what_a_child_used_before_is_left_out)
{
    static const struct job_sink sink = {.exit = ignore_exit};
    static struct job j;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    for (int ignores = 0; ignores < 2; ignores++) {
        assert_int_equal(job_init(&j, &sink, true, 0, 100), 0);
        j.source.events = true;
        struct member *server = job_add(&j, 500, NULL, BARO_ORIGIN_TARGET, 5);
        struct member *child = job_add(&j, 501, server, BARO_ORIGIN_SCAN, 5);
        for (int now = 0; now < 2; now++) {
            put(server, PROCESS_cpu, 50 * MS);
            put(server, PROCESS_cpu_user, 50 * MS);
            put(server, PROCESS_faults_minor, 100);
            put(server, PROCESS_io_rchar, 9000);
            put(child, PROCESS_cpu, (now ? 30 : 20) * MS);
            put(child, PROCESS_cpu_user, (now ? 30 : 20) * MS);
            put(child, PROCESS_faults_minor, now ? 60 : 50);
            put(child, PROCESS_io_rchar, now ? 700 : 300);
            if (!now) {
                job_rebase(server);
                job_rebase(child);
            }
            job_settled(server);
            job_settled(child);
        }
        job_totals(&j, value, absent);
        assert_int_equal(value[JOB_cpu], 10 * MS);
        if (ignores) {
            job_ignores_children(&j, server);
        } else {
            put(server, PROCESS_children_cpu_user, 30 * MS);
            put(server, PROCESS_children_faults_minor, 60);
            put(server, PROCESS_io_rchar, 9700);
            server->account.io_as_of_faults = 60;
        }
        job_gone(&j, child, 10 * MS, 11 * MS);
        for (int reported = 0; reported < 2; reported++) {
            child->life.end_reported = reported;
            job_settle(&j, 12 * MS, is_there, NULL);
            job_totals(&j, value, absent);
            assert_int_equal(j.settling.n_gone, !reported);
            assert_int_equal(value[JOB_cpu], 10 * MS);
            assert_int_equal(value[JOB_io_rchar], 400);
            assert_int_equal(value[JOB_faults_minor], 10);
        }
        job_done(&j);
    }
}

/* The job is one process without its children. A shell wrote 4 kB, then waited for a compiler that wrote 2 MB, then
 * wrote 3 kB: 7 kB are known, and it may have written more between the readings before and after it waited. */
TEST(a_reaped_child_is_not_of_the_process)
{
    static const struct job_sink sink = {.exit = ignore_exit};
    static struct job j;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    assert_int_equal(job_init(&j, &sink, true, 0, 100), 0);
    j.alone = true;
    struct member *shell = job_add(&j, 400, NULL, BARO_ORIGIN_TARGET, 5);
    put(shell, PROCESS_io_rchar, 0);
    put(shell, PROCESS_io_wchar, 1000);
    put(shell, PROCESS_children_faults_minor, 0);
    job_rebase(shell);
    job_totals(&j, value, absent);
    put(shell, PROCESS_io_wchar, 5000);
    job_totals(&j, value, absent);
    assert_int_equal(value[JOB_io_wchar], 4000);
    assert_int_equal(value[JOB_io_is_lower_bound], 0);
    put(shell, PROCESS_children_faults_minor, 57); /* its io is read later */
    job_totals(&j, value, absent);
    put(shell, PROCESS_io_wchar, 5000 + 2000000);
    shell->account.io_as_of_faults = 57;
    job_totals(&j, value, absent);
    put(shell, PROCESS_io_wchar, 5000 + 2000000 + 3000);
    job_totals(&j, value, absent);
    assert_int_equal(value[JOB_io_wchar], 7000);
    assert_int_equal(value[JOB_io_is_lower_bound], 1);
    job_done(&j);
}

/* The command waits for 401, which is the first process of a PID namespace. When 401 ends, the kernel kills its child
 * 402, and adds what that one had used to no process: wait4(2) has the 80 ms of 401, and 300 ms are missing. The ends
 * are reported, by taskstats or perf, or not at all; or it is the page faults alone that show it. */
TEST(child_of_the_first_of_a_namespace)
{
    enum { TASKSTATS, PERF, NOTHING, FAULTS, WAYS };
    static struct job j;
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    for (int way = 0; way < WAYS; way++) {
        struct member *command, *first;
        begin_pair(&j, &command, &first);
        struct member *lost = job_add(&j, 402, first, BARO_ORIGIN_EVENT, 7);
        put(lost, PROCESS_cpu, way == FAULTS ? 0 : 200 * MS);
        put(lost, PROCESS_faults_minor, 900);
        put(lost, PROCESS_io_rchar, 5000);
        if (way <= PERF) {
            struct member_usage *u = member_make_usage(lost);
            u->has_cpu = lost->life.end_reported = true;
            u->source = way == PERF ? BARO_EXIT_PERF : BARO_EXIT_TASKSTATS;
            u->cpu_ns = 300 * MS;
            u->cpu_unsure_ns = way == PERF ? 20 * MS : 0;
            u->has_io = way == TASKSTATS;
            u->own[LEDGER_IO_RCHAR] = 7000;
            member_make_usage(first)->has_cpu = true;
            member_make_usage(first)->source = u->source;
            member_make_usage(first)->cpu_ns = 80 * MS;
        }
        job_absorbed(&j, lost);
        job_absorbed(&j, first);
        job_gone(&j, lost, 10 * MS, 19 * MS);
        job_gone(&j, first, 10 * MS, 19 * MS);
        put(command, PROCESS_children_faults_minor, 300); /* of 401 */
        end_command(&j, command, 80 * MS);
        j.wrapper.total[LEDGER_FAULTS_MINOR] = way == FAULTS ? 899 : 1200;
        j.wrapper.pid = 0;
        j.settling.closing = true;
        job_settle(&j, 23 * MS, is_there, NULL);
        job_totals(&j, value, absent);
        static const uint64_t cpu[] = {380 * MS, 360 * MS, 280 * MS, 80 * MS};
        assert_int_equal(value[JOB_cpu], cpu[way]);
        assert_int_equal(value[JOB_cpu_is_lower_bound], way != TASKSTATS);
        assert_int_equal(value[JOB_io_rchar], way == TASKSTATS ? 7000 : 5000);
        assert_int_equal(value[JOB_io_is_lower_bound], 1);
        assert_int_equal(value[JOB_counts_are_lower_bounds], 1);
        job_done(&j);
    }
}

static void note_exit(void *context, const struct baro_exit *e)
{
    int32_t **last = context;
    *(*last)++ = e->key.pid;
}

/* Children that have ended since their parent was read last are found gone in the order of its list of children, which
 * begins with the newest. Their exits are reported in the order in which they ended. */
TEST(exits_in_their_order)
{
    static const uint64_t end_ms[] = {10, 15, 12, 12, 11, 18, 17, 9};
    enum { N = sizeof(end_ms) / sizeof(*end_ms) };
    static const int32_t expected[N] = {408, 401, 405, 404, 403, 402, 407, 406};
    static struct job j;
    int32_t got[N + 1], *last = got;
    const struct job_sink sink = {.exit = note_exit, .context = &last};
    assert_int_equal(job_init(&j, &sink, false, 0, 100), 0);
    struct member *parent = job_add(&j, 400, NULL, BARO_ORIGIN_TARGET, 5);
    for (int32_t i = 0; i < N; i++)
        assert_non_null(job_add(&j, 401 + i, parent, BARO_ORIGIN_EVENT, 6));
    while (parent->links.first_child) {
        struct member *m = parent->links.first_child;
        job_gone(&j, m, end_ms[m->row.key.pid - 401] * MS, 20 * MS);
    }
    job_settle(&j, 20 * MS, is_there, NULL);
    assert_int_equal(last - got, N);
    assert_memory_equal(got, expected, sizeof(expected));
    job_done(&j);
}

/* The command's own control group counted 30 ms, and the wrapper 100 ms: the child had moved to another group. */
TEST(what_left_the_own_group_counts)
{
    static struct job j;
    struct member *command, *child;
    uint64_t value[JOB_MAX];
    begin_pair(&j, &command, &child);
    j.group = (struct job_group){.known = true, .user_ns = 20 * MS, .system_ns = 10 * MS};
    job_gone(&j, child, 19 * MS, 20 * MS);
    end_command(&j, command, 100 * MS);
    close_pair(&j, value);
    assert_int_equal(value[JOB_cpu], 100 * MS);
    job_done(&j);
}

/* If a group is the target, its count is the job's, whatever its processes did elsewhere. One that is gone was read at
 * 10 ms, and removed before it was read again: the total is what its processes have used, if that is more. Some
 * milliseconds may be missing, and without events all that others used. At 20 ms it was read after their end. */
TEST(what_a_target_has_used)
{
    static const struct {
        bool gone, events;
        uint64_t read_ns, counted, used, cpu, is_lower_bound;
    } cases[] = {{false, true, 10 * MS, 30 * MS, 100 * MS, 30 * MS, 0},
                 {true, true, 10 * MS, 30 * MS, 100 * MS, 100 * MS, 1},
                 {true, true, 10 * MS, 30 * MS, 1000 * MS, 1000 * MS, 0},
                 {true, false, 10 * MS, 30 * MS, 1000 * MS, 1000 * MS, 1},
                 {true, false, 20 * MS, 130 * MS, 100 * MS, 130 * MS, 0},
                 {true, true, 10 * MS, 1300 * MS, 1000 * MS, 1300 * MS, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static struct job j;
        struct member *command, *child;
        uint64_t value[JOB_MAX];
        begin_pair(&j, &command, &child);
        j.open = true;
        j.source.events = cases[i].events;
        member_make_usage(child)->has_cpu = cases[i].events;
        member_make_usage(child)->cpu_ns = 80 * MS;
        member_make_usage(child)->source = BARO_EXIT_TASKSTATS;
        j.group = (struct job_group){.known = true,
                                     .is_gone = cases[i].gone,
                                     .cores = 2,
                                     .user_ns = cases[i].counted,
                                     .read_ns = cases[i].read_ns,
                                     .named_ns = 1000 * MS};
        job_gone(&j, child, 19 * MS, 20 * MS);
        end_command(&j, command, cases[i].used);
        close_pair(&j, value);
        assert_int_equal(value[JOB_cpu], cases[i].cpu);
        assert_int_equal(value[JOB_cpu_is_lower_bound], cases[i].is_lower_bound);
        job_done(&j);
    }
}

/* wait4(2) and the child's own stat scale the split from ticks apart: the job has wait4's. */
TEST(the_split_is_that_of_wait4)
{
    static struct job j;
    struct member *command, *child;
    uint64_t value[JOB_MAX];
    begin_pair(&j, &command, &child);
    put(child, PROCESS_cpu_user, 70 * MS);
    put(child, PROCESS_cpu_system, 10 * MS);
    job_gone(&j, child, 19 * MS, 20 * MS);
    end_command(&j, command, 68 * MS);
    j.wrapper.total[LEDGER_CPU_SYSTEM] = 13 * MS;
    close_pair(&j, value);
    assert_int_equal(value[JOB_cpu], 81 * MS);
    assert_int_equal(value[JOB_cpu_user], 68 * MS);
    assert_int_equal(value[JOB_cpu_system], 13 * MS);
    job_done(&j);
}

/* A process that was attached to: the job and the record of its exit have what it used since. */
TEST(an_exit_has_what_was_used_since)
{
    static const struct {
        enum process_metric process;
        enum exit_metric exit;
        uint64_t before, since;
    } used[] = {
        {PROCESS_cpu, EXIT_cpu, 500 * MS, 50 * MS},
        {PROCESS_cpu_user, EXIT_cpu_user, 300 * MS, 20 * MS},
        {PROCESS_cpu_system, EXIT_cpu_system, 200 * MS, 30 * MS},
        {PROCESS_run_delay, EXIT_run_delay, 70 * MS, 7 * MS},
        {PROCESS_faults_minor, EXIT_faults_minor, 1000, 11},
        {PROCESS_faults_major, EXIT_faults_major, 2000, 12},
        {PROCESS_io_read, EXIT_io_read, 3000, 13},
        {PROCESS_io_write, EXIT_io_write, 4000, 14},
        {PROCESS_io_rchar, EXIT_io_rchar, 5000, 15},
        {PROCESS_io_wchar, EXIT_io_wchar, 6000, 16},
    };
    enum { USED = sizeof(used) / sizeof(*used) };
    static struct job j;
    struct baro_exit e = {0};
    const struct job_sink sink = {.exit = keep_exit, .context = &e};
    uint64_t value[JOB_MAX];
    uint8_t absent[JOB_MAX];
    assert_int_equal(job_init(&j, &sink, false, 0, 100), 0);
    struct member *m = job_add(&j, 400, NULL, BARO_ORIGIN_TARGET, 5);
    put(m, PROCESS_threads, 1);
    for (size_t i = 0; i < USED; i++)
        put(m, used[i].process, used[i].before);
    job_rebase(m);
    job_totals(&j, value, absent);
    for (size_t i = 0; i < USED; i++)
        put(m, used[i].process, used[i].before + used[i].since);
    job_totals(&j, value, absent);
    assert_int_equal(value[JOB_cpu_user], 20 * MS);
    assert_int_equal(value[JOB_cpu_system], 30 * MS);
    assert_int_equal(value[JOB_io_read], 13);
    job_gone(&j, m, 19 * MS, 20 * MS);
    j.settling.closing = true;
    job_settle(&j, 23 * MS, is_there, NULL);
    assert_int_equal(e.key.pid, 400);
    for (size_t i = 0; i < USED; i++) {
        assert_int_equal(e.absent[used[i].exit], BARO_PRESENT);
        assert_int_equal(e.value[used[i].exit], used[i].since);
    }
    job_done(&j);
}
