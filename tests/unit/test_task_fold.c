/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks have used, by records of a tape: values computed by hand. */
#include "unit.h"

#include "base/clock.h"
#include "libbaro/rules/task_fold.h"

#define MS NS_PER_MS
#define MOST 8

struct tape {
    struct task_fold *fold;
    struct rules rules;
    struct baro_header header;
    struct baro_process row[MOST];
    struct baro_process *rows[MOST];
    size_t n;
    struct baro_sample sample;
};

static struct tape begin(const struct rule_request *requests, size_t n)
{
    struct tape t = {.header = {.mode = BARO_MODE_RUN}};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rules_add(&t.rules, &requests[i], NULL), 0);
        t.rules.task[t.rules.n_tasks - 1].whole = requests[i].on == MATCH_EITHER;
    }
    return t;
}

static void end(struct tape *t)
{
    task_fold_free(t->fold);
    rules_done(&t->rules);
}

/* A process of the next samples; its id is its pid. */
static struct baro_process *add(struct tape *t, int32_t pid, int32_t parent, const char *name, const char *cmdline)
{
    struct baro_process *p = &t->row[t->n];
    *p = (struct baro_process){.id = (uint32_t)pid,
                               .key = {pid, 0},
                               .parent = {parent, 0},
                               .uid = 7,
                               .first_ns = t->sample.t_ns,
                               .name = (char *)(uintptr_t)name,
                               .cmdline = (char *)(uintptr_t)cmdline};
    p->absent[PROCESS_task] = p->absent[PROCESS_tcp_sent] = BARO_ABSENT_NOT_ASKED;
    t->rows[t->n++] = p;
    return p;
}

static void use(struct baro_process *p, uint64_t user_ms, uint64_t system_ms)
{
    p->value[PROCESS_cpu] = (user_ms + system_ms) * MS;
    p->value[PROCESS_cpu_user] = user_ms * MS;
}

static const struct baro_entity *task(struct tape *t, size_t i)
{
    assert_true(i < t->sample.entities[KIND_task].n);
    return t->sample.entities[KIND_task].at[i];
}

static uint64_t value(struct tape *t, size_t i, enum task_metric m)
{
    return task(t, i)->value[m];
}

static void sample(struct tape *t, uint64_t t_ms)
{
    if (!t->fold)
        assert_int_equal(task_fold_new(&t->fold, &t->header, t->rules.n ? &t->rules : NULL, 0), 0);
    task_fold_restore(t->fold, t->rows, t->n);
    t->sample.t_ns = t_ms * MS;
    t->sample.n = t->n;
    t->sample.processes = t->rows;
    assert_int_equal(task_fold_sample(t->fold, &t->sample), 0);
}

/* Of the process that was added last, or of one without a row. */
static struct baro_exit exit_of(struct tape *t, int32_t pid, int32_t parent, const char *name, uint64_t cpu_ms,
                                uint64_t t_ms)
{
    struct baro_exit e = {.t_ns = t_ms * MS,
                          .id = (uint32_t)pid,
                          .key = {pid, 0},
                          .parent = {parent, 0},
                          .uid = 7,
                          .source = BARO_EXIT_TASKSTATS,
                          .name = name};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    e.absent[EXIT_cpu] = e.absent[EXIT_cpu_user] = e.absent[EXIT_elapsed] = e.absent[EXIT_io_rchar] = BARO_PRESENT;
    e.value[EXIT_cpu] = e.value[EXIT_cpu_user] = cpu_ms * MS;
    e.value[EXIT_elapsed] = 10 * MS;
    for (size_t i = 0; i < t->n; i++) {
        if (t->rows[i]->key.pid != pid)
            continue;
        t->n--;
        memmove(&t->rows[i], &t->rows[i + 1], (t->n - i) * sizeof(t->rows[0]));
    }
    return e;
}

static void ends(struct tape *t, struct baro_exit e)
{
    assert_int_equal(task_fold_exit(t->fold, &e), 0);
}

static const struct rule_request cc = {.task = "cc", .text = "^cc1", .on = MATCH_EITHER};
static const struct rule_request unit = {.task = "unit", .text = "pytest unit", .on = MATCH_EITHER};

/* A process that has ended still has a row: its exit waits for its last sockets, and is written after that row. What it
 * sent counts once. */
TEST(sent_by_an_exit_beside_its_row)
{
    struct tape t = begin(&cc, 1);
    struct baro_process *c = add(&t, 2, 1, "cc1", "/usr/lib/cc1 -quiet");
    c->absent[PROCESS_tcp_sent] = c->absent[PROCESS_tcp_received] = BARO_PRESENT;
    c->value[PROCESS_tcp_sent] = 3000;
    sample(&t, 100);
    assert_int_equal(value(&t, 0, TASK_tcp_sent), 3000);
    task_fold_restore(t.fold, t.rows, t.n);
    struct baro_exit e = exit_of(&t, 2, 1, "cc1", 10, 150);
    e.absent[EXIT_tcp_sent] = e.absent[EXIT_tcp_received] = BARO_PRESENT;
    e.value[EXIT_tcp_sent] = 5000;
    ends(&t, e);
    t.rows[t.n++] = c;
    sample(&t, 200);
    assert_int_equal(value(&t, 0, TASK_tcp_sent), 5000);
    end(&t);
}

/* make's child cc1 fits, and as has it from its parent. The shell is of no task. */
TEST(sums)
{
    struct tape t = begin(&cc, 1);
    struct baro_process *make = add(&t, 1, 0, "make", "make -j2"), *c = add(&t, 2, 1, "cc1", "/usr/lib/cc1 -quiet"),
                        *as = add(&t, 3, 2, "as", NULL);
    use(make, 100, 0);
    use(c, 30, 10);
    use(as, 5, 5);
    c->value[PROCESS_rss] = 4096;
    as->value[PROCESS_rss] = 8192;
    as->absent[PROCESS_uss] = BARO_ABSENT_NOT_YET;
    sample(&t, 100);
    assert_int_equal(t.sample.entities[KIND_task].n, 1);
    assert_string_equal(task(&t, 0)->name, "cc");
    assert_int_equal(value(&t, 0, TASK_cpu), 50 * MS);
    assert_int_equal(value(&t, 0, TASK_cpu_user), 35 * MS);
    assert_int_equal(value(&t, 0, TASK_cpu_system), 15 * MS);
    assert_int_equal(value(&t, 0, TASK_rss), 12288);
    assert_int_equal(value(&t, 0, TASK_memory_unread), 1);
    assert_int_equal(value(&t, 0, TASK_processes), 2);
    assert_int_equal(c->value[PROCESS_task], task(&t, 0)->id);
    assert_int_equal(make->absent[PROCESS_task], BARO_ABSENT_NOT_ASKED);
    task_fold_restore(t.fold, t.rows, t.n);
    assert_int_equal(c->absent[PROCESS_task], BARO_ABSENT_NOT_ASKED);
    ends(&t, exit_of(&t, 3, 2, "as", 14, 150));
    sample(&t, 200);
    assert_int_equal(value(&t, 0, TASK_cpu), 54 * MS);
    assert_int_equal(value(&t, 0, TASK_processes_started), 2);
    assert_int_equal(value(&t, 0, TASK_processes_ended), 1);
    assert_int_equal(value(&t, 0, TASK_processes_unread), 0);
    assert_int_equal(value(&t, 0, TASK_process_samples), 3);
    end(&t);
}

/* No sample has them. The child is reported before its parent, whose task it has. Both lived at once, for 10 ms. */
TEST(short_processes)
{
    struct tape t = begin(&cc, 1);
    add(&t, 1, 0, "make", "make");
    sample(&t, 10);
    ends(&t, exit_of(&t, 3, 2, "as", 3, 50));
    ends(&t, exit_of(&t, 2, 1, "cc1", 7, 51));
    ends(&t, exit_of(&t, 4, 1, "expr", 90, 70));
    sample(&t, 100);
    assert_int_equal(value(&t, 0, TASK_cpu), 10 * MS);
    assert_int_equal(value(&t, 0, TASK_processes_started), 2);
    assert_int_equal(value(&t, 0, TASK_processes_peak), 2);
    assert_int_equal(value(&t, 0, TASK_active), 11 * MS);
    assert_int_equal(value(&t, 0, TASK_begin), 40 * MS);
    assert_int_equal(value(&t, 0, TASK_end), 51 * MS);
    assert_int_equal(value(&t, 0, TASK_commands_unread), 0);
    end(&t);
}

/* A rule needs the command line, and one python has none: it may belong to the task. true has its parent's. */
TEST(undecided)
{
    struct tape t = begin(&unit, 1);
    add(&t, 1, 0, "sh", "sh all.sh");
    use(add(&t, 2, 1, "python3", "python3 -m 'pytest' unit"), 20, 0);
    sample(&t, 10);
    assert_int_equal(value(&t, 0, TASK_cpu), 20 * MS);
    ends(&t, exit_of(&t, 3, 1, "python3", 9, 50));
    ends(&t, exit_of(&t, 4, 2, "true", 1, 60));
    sample(&t, 100);
    assert_int_equal(value(&t, 0, TASK_cpu), 21 * MS);
    assert_int_equal(value(&t, 0, TASK_commands_unread), 1);
    assert_int_equal(value(&t, 0, TASK_commands_unread_cpu), 9 * MS);
    assert_int_equal(value(&t, 0, TASK_processes_unread), 1); /* 9 of 21 ms may be missing */
    end(&t);
}

/* What may be missing makes the sums lower bounds if it is more than 2 % of them, or if it is not known. */
TEST(undecided_of_2_percent)
{
    for (uint64_t more = 0; more < 3; more++) {
        struct tape t = begin(&unit, 1);
        add(&t, 1, 0, "sh", "sh all.sh");
        use(add(&t, 2, 1, "python3", "python3 -m 'pytest' unit"), 200, 0);
        sample(&t, 10);
        struct baro_exit e = exit_of(&t, 3, 1, "python3", 4 + more % 2, 50);
        e.source = more == 2 ? BARO_EXIT_LAST_SAMPLE : e.source;
        ends(&t, e);
        sample(&t, 100);
        assert_int_equal(value(&t, 0, TASK_commands_unread), 1);
        assert_int_equal(value(&t, 0, TASK_processes_unread), more > 0);
        assert_int_equal(task(&t, 0)->absent[TASK_commands_unread_cpu], more == 2 ? BARO_ABSENT_UNKNOWN : BARO_PRESENT);
        end(&t);
    }
}

/* Without events processes may never have been seen: how many commands were not read is not known. */
TEST(scanned)
{
    struct tape t = begin(&unit, 1);
    snprintf(t.header.event_source, sizeof(t.header.event_source), "scan");
    add(&t, 1, 0, "sh", "sh all.sh");
    sample(&t, 10);
    assert_int_equal(task(&t, 0)->absent[TASK_commands_unread], BARO_ABSENT_UNKNOWN);
    assert_int_equal(task(&t, 0)->absent[TASK_commands_unread_cpu], BARO_ABSENT_UNKNOWN);
    end(&t);
}

/* What was read last of the first one was read after its end, which its page faults show; and a zombie has no thread
 * any more, whatever stat says. */
TEST(last_read_as_a_zombie)
{
    struct tape t = begin(&cc, 1);
    struct baro_process *whole = add(&t, 1, 0, "cc1", "cc1 a.c"), *part = add(&t, 2, 0, "cc1", "cc1 b.c");
    use(whole, 7, 0);
    use(part, 7, 0);
    whole->value[PROCESS_threads] = 1;
    whole->value[PROCESS_state] = 'Z';
    part->value[PROCESS_threads] = 3;
    part->value[PROCESS_state] = 'R';
    sample(&t, 10);
    assert_int_equal(value(&t, 0, TASK_threads), 3);
    struct baro_exit e = exit_of(&t, 2, 0, "cc1", 7, 50);
    e.source = BARO_EXIT_LAST_SAMPLE;
    e.absent[EXIT_faults_is_lower_bound] = BARO_PRESENT;
    e.value[EXIT_faults_is_lower_bound] = 1;
    ends(&t, e);
    sample(&t, 60);
    assert_int_equal(value(&t, 0, TASK_processes_unread), 1);
    e = exit_of(&t, 1, 0, "cc1", 7, 70);
    e.source = BARO_EXIT_LAST_SAMPLE;
    e.absent[EXIT_faults_is_lower_bound] = BARO_PRESENT;
    ends(&t, e);
    sample(&t, 100);
    assert_int_equal(value(&t, 0, TASK_processes_unread), 1);
    assert_int_equal(value(&t, 0, TASK_processes_ended), 2);
    end(&t);
}

/* More than are held until the next sample. */
TEST(a_flood_of_exits)
{
    struct tape t = begin(&cc, 1);
    add(&t, 1, 0, "make", "make");
    sample(&t, 10);
    for (int i = 0; i < 20000; i++)
        ends(&t, exit_of(&t, 2 + i, 1, i % 2 ? "cc1" : "as", 1, 20 + (uint64_t)i));
    sample(&t, 30000);
    assert_int_equal(value(&t, 0, TASK_cpu), 10000 * MS);
    assert_int_equal(value(&t, 0, TASK_processes_ended), 10000);
    end(&t);
}

/* It executes another program: what it has used by then stays. The third program fits no rule: it is its parent's. */
TEST(executes)
{
    const struct rule_request both[] = {cc, unit};
    struct tape t = begin(both, 2);
    struct baro_process *p = add(&t, 1, 0, "cc1", "cc1");
    use(p, 10, 0);
    sample(&t, 10);
    p->name = (char *)(uintptr_t) "python3";
    p->cmdline = (char *)(uintptr_t) "python3 -m pytest unit";
    p->info_version++;
    use(p, 40, 0);
    sample(&t, 20);
    assert_int_equal(value(&t, 0, TASK_cpu), 10 * MS);
    assert_int_equal(value(&t, 0, TASK_processes_ended), 1);
    assert_int_equal(value(&t, 1, TASK_cpu), 30 * MS);
    p->name = p->cmdline = (char *)(uintptr_t) "sleep";
    p->info_version++;
    use(p, 45, 0);
    sample(&t, 30);
    assert_int_equal(value(&t, 1, TASK_cpu), 30 * MS);
    assert_int_equal(value(&t, 1, TASK_processes), 0);
    end(&t);
}

/* make has read 5 MB, and its counter has the 20 MB of the compiler, too, once it has waited for it. */
TEST(io_of_a_child)
{
    struct tape t = begin(&cc, 1);
    struct baro_process *make = add(&t, 1, 0, "cc1-make", "make"), *c = add(&t, 2, 1, "cc1", "cc1");
    make->value[PROCESS_io_rchar] = 5;
    c->value[PROCESS_io_rchar] = 20;
    sample(&t, 10);
    assert_int_equal(value(&t, 0, TASK_io_rchar), 25);
    struct baro_exit e = exit_of(&t, 2, 1, "cc1", 0, 15);
    e.value[EXIT_io_rchar] = 20;
    ends(&t, e);
    sample(&t, 20);
    assert_int_equal(value(&t, 0, TASK_io_rchar), 25);
    make->value[PROCESS_io_rchar] = 25;
    sample(&t, 30);
    assert_int_equal(value(&t, 0, TASK_io_rchar), 25);
    assert_int_equal(value(&t, 0, TASK_processes_io_unread), 0);
    end(&t);
}

/* taskstats has what the shell read itself, without the compiler that it waited for; its parent's counter has both. */
TEST(io_of_taskstats)
{
    struct tape t = begin(&cc, 1);
    struct baro_process *make = add(&t, 1, 0, "cc1-make", "make");
    sample(&t, 10);
    struct baro_exit c = exit_of(&t, 3, 2, "cc1", 0, 15), sh = exit_of(&t, 2, 1, "cc1-sh", 0, 16);
    c.value[EXIT_io_rchar] = 2000;
    sh.value[EXIT_io_rchar] = 4;
    ends(&t, c);
    ends(&t, sh);
    make->value[PROCESS_io_rchar] = 2009;
    sample(&t, 20);
    assert_int_equal(value(&t, 0, TASK_io_rchar), 2009);
    end(&t);
}

/* record --all: the shell between make and the compiler was brief and is not on the tape; make's row says that 2,004
 * bytes of its 2,009 are of processes below it. */
TEST(io_through_a_brief_life)
{
    struct tape t = begin(&cc, 1);
    struct baro_process *make = add(&t, 1, 0, "cc1-make", "make");
    sample(&t, 10);
    struct baro_exit c = exit_of(&t, 3, 2, "cc1", 0, 15);
    c.value[EXIT_io_rchar] = 2000;
    ends(&t, c);
    make->value[PROCESS_io_rchar] = 2009;
    make->value[PROCESS_children_io_rchar] = 2004;
    sample(&t, 20);
    assert_int_equal(value(&t, 0, TASK_io_rchar), 2005); /* and the shell's 4 are in the sums of brief lives */
    /* Another such shell, and make ends before its next row: 5 bytes of its own were there, and 1 more. */
    c = exit_of(&t, 5, 4, "cc1", 0, 25);
    c.value[EXIT_io_rchar] = 1000;
    ends(&t, c);
    struct baro_exit m = exit_of(&t, 1, 0, "cc1-make", 0, 26);
    m.value[EXIT_io_rchar] = 2009 + 1004 + 1;
    m.value[EXIT_own_io_rchar] = 6;
    m.absent[EXIT_elapsed] = m.absent[EXIT_own_io_rchar] = m.absent[EXIT_own_io_is_lower_bound] = BARO_PRESENT;
    m.value[EXIT_elapsed] = 26 * MS;
    ends(&t, m);
    t.n = 0;
    sample(&t, 30);
    assert_int_equal(value(&t, 0, TASK_io_rchar), 3006);
    end(&t);
}

/* Rows say whose they are. The recorder has the count of a control group, which includes what it never saw; and a
 * second recorder gave the other task another id. */
TEST(of_the_recorder)
{
    struct tape t = begin(NULL, 0);
    uint64_t v[2][TASK_MAX] = {{0}};
    uint8_t absent[2][TASK_MAX];
    memset(absent, TASK_OF_READERS, sizeof(absent));
    v[0][TASK_cpu] = 99 * MS;
    absent[0][TASK_cpu] = BARO_PRESENT;
    struct baro_entity e[] = {{.id = 5, .name = "web", .value = v[0], .absent = absent[0]},
                              {.id = 6, .name = "db", .value = v[1], .absent = absent[1]}};
    struct baro_entity *const all[] = {&e[0], &e[1]};
    struct baro_process *web = add(&t, 1, 0, "nginx", NULL), *db = add(&t, 2, 0, "postgres", NULL);
    db->key.start = 77;
    for (int i = 0; i < 2; i++) {
        web->value[PROCESS_task] = 5;
        db->value[PROCESS_task] = e[1].id;
        web->absent[PROCESS_task] = db->absent[PROCESS_task] = BARO_PRESENT;
        use(web, 40, 0);
        use(db, 10 + 5 * (uint64_t)i, 0);
        t.sample.entities[KIND_task] = (struct baro_entities){.n = 2, .at = all};
        assert_true(task_fold_is_needed(&t.sample));
        sample(&t, 10 + 10 * (uint64_t)i);
        assert_int_equal(value(&t, 0, TASK_cpu), 99 * MS);
        assert_int_equal(value(&t, 0, TASK_processes), 1);
        assert_int_equal(value(&t, 1, TASK_cpu), (10 + 5 * (uint64_t)i) * MS);
        assert_int_equal(value(&t, 1, TASK_processes_started), 1);
        e[1].id = 7; /* as another recorder that goes on numbers tasks and processes */
        db->id = 70;
    }
    end(&t);
}

/* A recorder attaches to a process whose run delay and I/O are not in its first row: what they have when they are first
 * read is of before the recording, too. */
TEST(attached)
{
    struct tape t = begin(&cc, 1);
    t.header = (struct baro_header){.mode = BARO_MODE_ATTACH, .start_boottime_ns = 10 * NS_PER_SEC, .clk_tck = 100};
    struct baro_process *c = add(&t, 2, 1, "cc1", "/usr/lib/cc1 -quiet");
    c->key.start = 500; /* 5 s after boot */
    use(c, 3000, 0);
    c->absent[PROCESS_run_delay] = c->absent[PROCESS_io_read] = BARO_ABSENT_NOT_YET;
    sample(&t, 10);
    use(c, 3010, 0);
    c->absent[PROCESS_run_delay] = c->absent[PROCESS_io_read] = BARO_PRESENT;
    c->value[PROCESS_run_delay] = 700 * MS;
    c->value[PROCESS_io_read] = 5000;
    sample(&t, 30);
    assert_int_equal(value(&t, 0, TASK_cpu), 10 * MS);
    assert_int_equal(value(&t, 0, TASK_run_delay), 0);
    assert_int_equal(value(&t, 0, TASK_io_read), 0);
    c->value[PROCESS_run_delay] = 702 * MS;
    c->value[PROCESS_io_read] = 5300;
    sample(&t, 40);
    assert_int_equal(value(&t, 0, TASK_run_delay), 2 * MS);
    assert_int_equal(value(&t, 0, TASK_io_read), 300);
    end(&t);
}

/* A stretch of a recording. I/O that the first sample does not have, since it was not read by then, is in no sample
 * before. */
TEST(counters_of_a_stretch)
{
    struct tape t = begin(&cc, 1);
    t.header = (struct baro_header){.mode = BARO_MODE_RUN, .is_stretch = true, .segment = 2};
    struct baro_process *c = add(&t, 2, 1, "cc1", "/usr/lib/cc1 -quiet");
    use(c, 3000, 0);
    c->absent[PROCESS_io_read] = BARO_ABSENT_NOT_YET;
    c->value[PROCESS_io_rchar] = 70;
    sample(&t, 10);
    use(c, 3010, 0);
    c->absent[PROCESS_io_read] = BARO_PRESENT;
    c->value[PROCESS_io_read] = 5000;
    c->value[PROCESS_io_rchar] = 90;
    sample(&t, 20);
    assert_int_equal(value(&t, 0, TASK_cpu), 10 * MS);
    assert_int_equal(value(&t, 0, TASK_io_read), 5000);
    assert_int_equal(value(&t, 0, TASK_io_rchar), 20);
    end(&t);
}

/* A tape whose rows say which task they are of; "daemon" is one. */
static void sample_of_daemon(struct tape *t, uint64_t t_ms, bool is_known)
{
    static uint64_t none[TASK_MAX];
    static uint8_t absent[TASK_MAX];
    static struct baro_entity daemon = {.id = 5, .kind = KIND_task, .name = (char *)"daemon", .label = (char *)""},
                              *all[] = {&daemon};
    memset(absent, TASK_OF_READERS, sizeof(absent));
    daemon.value = none;
    daemon.absent = absent;
    t->sample.entities[KIND_task] = (struct baro_entities){.n = is_known, .at = all};
    sample(t, t_ms);
}

/* It began before the last sample, and nothing was known of its task then. */
TEST(active_of_a_task_that_is_new)
{
    struct tape t = begin(NULL, 0);
    sample_of_daemon(&t, 8000, false);
    sample_of_daemon(&t, 9000, false);
    struct baro_exit e = exit_of(&t, 2, 1, "sh", 4, 9004); /* of 10 ms */
    e.value[EXIT_task] = 5;
    e.absent[EXIT_task] = BARO_PRESENT;
    ends(&t, e);
    sample_of_daemon(&t, 10000, true);
    assert_int_equal(value(&t, 0, TASK_active), 10 * MS);
    assert_int_equal(value(&t, 0, TASK_cpu_brief), 4 * MS);
    end(&t);
    /* The same in a stretch that begins at 9 s. */
    t = begin(NULL, 0);
    t.header.is_stretch = true;
    t.header.segment = 2;
    sample_of_daemon(&t, 9000, false);
    ends(&t, e);
    sample_of_daemon(&t, 10000, true);
    assert_int_equal(value(&t, 0, TASK_active), 4 * MS);
    end(&t);
}

/* How long it lived is not known: it does not live on. */
TEST(active_of_one_without_a_length)
{
    struct tape t = begin(NULL, 0);
    sample_of_daemon(&t, 8000, true);
    struct baro_exit e = exit_of(&t, 2, 1, "", 0, 8500);
    e.value[EXIT_task] = 5;
    e.absent[EXIT_task] = BARO_PRESENT;
    e.absent[EXIT_elapsed] = BARO_ABSENT_UNKNOWN;
    ends(&t, e);
    sample_of_daemon(&t, 9000, true);
    sample_of_daemon(&t, 10000, true);
    assert_true(value(&t, 0, TASK_active) <= 1);
    assert_int_equal(value(&t, 0, TASK_processes_peak), 1);
    end(&t);
}

/* How long brief lives lasted is known of all together. */
TEST(active_of_brief_lives)
{
    struct tape t = begin(NULL, 0);
    sample_of_daemon(&t, 8000, true);
    uint64_t grown[BRIEF_MAX] = {[BRIEF_processes] = 100, [BRIEF_elapsed] = 300 * MS, [BRIEF_cpu] = 200 * MS};
    assert_int_equal(task_fold_briefs(t.fold, 5, grown, 9000 * MS), 0);
    sample_of_daemon(&t, 9000, true);
    assert_int_equal(value(&t, 0, TASK_active), 300 * MS);
    assert_int_equal(value(&t, 0, TASK_begin), 8000 * MS);
    grown[BRIEF_elapsed] = 3000 * MS; /* beside each other */
    assert_int_equal(task_fold_briefs(t.fold, 5, grown, 10000 * MS), 0);
    sample_of_daemon(&t, 10000, true);
    assert_int_equal(value(&t, 0, TASK_active), 1300 * MS);
    assert_int_equal(value(&t, 0, TASK_end), 10000 * MS);
    assert_int_equal(value(&t, 0, TASK_cpu_brief), 400 * MS);
    end(&t);
}
