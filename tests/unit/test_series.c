/* SPDX-License-Identifier: Apache-2.0 */
/* Rates, sums and series through the public API, on samples typed by hand. */
#include "unit.h"
#include "baro/baro.h"
#include "libbaro/series/series.h"
#include "tape_file.h"

#define SECOND 1000000000ull

static void near(double a, double b)
{
    double off = a > b ? a - b : b - a;
    if (off > 1e-9 * (1 + (b < 0 ? -b : b)))
        fail_msg("%.17g is not %.17g", a, b);
}

/*
 * Four samples, at 1, 2, 4 and 8 s. "make" uses half a core throughout; "cc" begins after 1 s, uses 0.5 s up to 2 s and
 * 1 s more up to its end at 3 s; the exit record of "ld", which is in no sample, has 0.2 s. Memory of make: 10, 30, 20,
 * 20.
 */
static void write_job(void)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_process make = {.id = 1, .key = {100, 7}, .name = (char *)"make"},
                        cc = {.id = 2, .key = {101, 8}, .name = (char *)"cc"};
    struct baro_process *both[] = {&make, &cc};
    struct baro_sample s = {.t_ns = 1 * SECOND, .n = 1, .processes = both};
    make.absent[PROCESS_pss] = BARO_ABSENT_DENIED;
    make.read_ns = s.t_ns;
    make.value[PROCESS_cpu] = SECOND / 2;
    make.value[PROCESS_rss] = 10;
    s.job[JOB_cpu] = SECOND / 2;
    tape_add(w, &s);
    s.t_ns = make.read_ns = cc.read_ns = 2 * SECOND;
    s.n = 2;
    make.value[PROCESS_cpu] = 1 * SECOND;
    make.value[PROCESS_rss] = 30;
    cc.value[PROCESS_cpu] = SECOND / 2;
    cc.value[PROCESS_rss] = 5;
    s.job[JOB_cpu] = SECOND * 3 / 2;
    tape_add(w, &s);
    struct baro_exit end = {.t_ns = 3 * SECOND, .id = 2, .key = cc.key, .sampled = true, .name = "cc"};
    end.value[EXIT_cpu] = SECOND * 3 / 2;
    tape_writer_exit(w, &end);
    end = (struct baro_exit){.t_ns = 3 * SECOND, .id = 3, .key = {102, 9}, .name = "ld"};
    end.value[EXIT_cpu] = SECOND / 5;
    tape_writer_exit(w, &end);
    s.t_ns = make.read_ns = 4 * SECOND;
    s.n = 1;
    make.value[PROCESS_cpu] = 2 * SECOND;
    make.value[PROCESS_rss] = 20;
    s.job[JOB_cpu] = SECOND * 37 / 10;
    tape_add(w, &s);
    s.t_ns = make.read_ns = 8 * SECOND;
    make.value[PROCESS_cpu] = 4 * SECOND;
    s.job[JOB_cpu] = SECOND * 57 / 10;
    tape_add(w, &s);
    tape_ended(w);
}

TEST(rates)
{
    struct baro_sample *a, *b;
    uint64_t sum;
    size_t lacking;
    double rate;
    write_job();
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_at(t, 2 * SECOND, BARO_AT_EXACT, &a, NULL), 1);
    assert_int_equal(baro_tape_at(t, 4 * SECOND, BARO_AT_EXACT, &b, NULL), 1);
    baro_tape_close(t);
    const struct baro_row *p = baro_sample_find(a, 100, 7), *q = baro_sample_find(b, 100, 0);
    assert_int_equal(baro_row_rate(p, q, PROCESS_cpu, &rate), 0);
    near(rate, 5e8);
    assert_int_equal(baro_row_rate(q, p, PROCESS_cpu, &rate), BARO_ABSENT_UNKNOWN);
    assert_int_equal(baro_row_rate(p, q, PROCESS_rss, &rate), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_row_rate(p, q, 1000, &rate), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(
        baro_row_rate(baro_sample_row(a, BARO_KIND_JOB, 0), baro_sample_row(b, BARO_KIND_JOB, 0), JOB_cpu, &rate), 0);
    near(rate, 1.1e9);
    assert_int_not_equal(baro_row_rate(baro_sample_row(a, BARO_KIND_HOST, 0), baro_sample_row(b, BARO_KIND_HOST, 0),
                                       HOST_cpu_user, &rate),
                         0);
    assert_gives(baro_sample_sum(a, PROCESS_rss, &sum, NULL), sum, 35);
    assert_gives(baro_sample_sum(a, PROCESS_pss, &sum, &lacking), lacking, 1);
    assert_int_equal(baro_sample_sum(a, PROCESS_cpu, &sum, &lacking), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_sample_sum(b, PROCESS_pss, &sum, NULL), BARO_ABSENT_DENIED);
    baro_sample_free(a);
    baro_sample_free(b);
}

struct drawing {
    enum { VALUE, RATE, DERIVED, COUNT } how;
    int kind;
    uint32_t id;
    const char *name;
    int metric;
    const char *derived;
};

static const struct drawing all_rss = {VALUE, BARO_KIND_PROCESS, 0, NULL, PROCESS_rss, NULL};
static const struct drawing all_pss = {VALUE, BARO_KIND_PROCESS, 0, NULL, PROCESS_pss, NULL};
static const struct drawing task_uss = {VALUE, BARO_KIND_TASK, 0, "web", TASK_uss, NULL};
static const struct drawing task_cpu = {RATE, BARO_KIND_TASK, 0, "web", TASK_cpu, NULL};
static const struct drawing all_cpu = {RATE, BARO_KIND_PROCESS, 0, NULL, PROCESS_cpu, NULL};
static const struct drawing cc_cpu = {RATE, BARO_KIND_PROCESS, 0, "cc", PROCESS_cpu, NULL};
static const struct drawing ld_cpu = {RATE, BARO_KIND_PROCESS, 0, "ld", PROCESS_cpu, NULL};
static const struct drawing make_cpu = {RATE, BARO_KIND_PROCESS, 1, NULL, PROCESS_cpu, NULL};
static const struct drawing job_cpu = {RATE, BARO_KIND_JOB, 0, NULL, JOB_cpu, NULL};
static const struct drawing make_cores = {DERIVED, BARO_KIND_PROCESS, 0, "make", 0, "cores"};
static const struct drawing count_of_all = {COUNT, BARO_KIND_PROCESS, 0, NULL, 0, NULL};
static const struct drawing count_of_cc = {COUNT, BARO_KIND_PROCESS, 0, "cc", 0, NULL};
static const struct drawing busy = {DERIVED, BARO_KIND_HOST, 0, NULL, 0, "cpu_busy_ratio"};
static const struct drawing pressure = {DERIVED, BARO_KIND_HOST, 0, NULL, 0, "pressure_cpu_some_ratio"};
static const struct drawing steal = {DERIVED, BARO_KIND_HOST, 0, NULL, 0, "cpu_steal_ratio"};

static struct baro_series *drawn; /* the last one; freed with the next one */
static int curve;

/* The curve of the tape, from and to such a time in so many buckets. */
static void draw(const struct drawing *c, uint64_t from, uint64_t to, size_t n)
{
    struct baro_tape *t = tape_opened(tape_path);
    baro_series_free(drawn);
    assert_int_equal(baro_series_new(&drawn, from, to, n, NULL), 0);
    switch (c->how) {
    case VALUE: curve = baro_series_add_value(drawn, c->kind, c->id, c->name, c->metric, NULL); break;
    case RATE: curve = baro_series_add_rate(drawn, c->kind, c->id, c->name, c->metric, NULL); break;
    case COUNT: curve = baro_series_add_count(drawn, c->kind, c->name, NULL); break;
    case DERIVED:
        curve = baro_series_add_derived(drawn, c->kind, c->id, c->name, baro_derived_find(c->kind, c->derived), NULL);
        break;
    }
    assert_true(curve >= 0);
    assert_int_equal(baro_series_read(drawn, t, NULL), 0);
    baro_tape_close(t);
}

static const struct baro_bucket *at(size_t i)
{
    return baro_series_bucket(drawn, curve, i);
}

__attribute__((destructor)) static void drawn_free(void)
{
    baro_series_free(drawn);
}

TEST(values)
{
    write_job();
    draw(&all_rss, 0, 8 * SECOND, 4);
    const struct baro_bucket *b = at(0);
    assert_int_equal(b->covered_ns, SECOND); /* nothing is known before the first sample */
    near(b->mean, 10);
    b = at(1); /* 2 to 4 s: 35 */
    assert_int_equal(b->covered_ns, 2 * SECOND);
    assert_int_equal(b->points, 1);
    near(b->min, 35);
    near(b->max, 35);
    b = at(3); /* no sample lies in it; the value of 4 s holds */
    assert_int_equal(b->points, 0);
    near(b->mean, 20);
    near(b->last, 20);
    assert_null(at(4));
    assert_null(baro_series_bucket(drawn, curve + 1, 0));
    /* One bucket: no peak is lost, the mean is weighted by time. */
    draw(&all_rss, 0, 9 * SECOND, 1);
    b = at(0);
    near(b->max, 35);
    near(b->min, 10);
    near(b->mean, (10 * 1 + 35 * 2 + 20 * 4) / 7.0);
    assert_int_equal(b->points, 4);
}

/* At 1 s "make" has a pss of 40 and "cc", which has just begun, none yet, of 25 resident; at 2 s both have one; at 3 s
 * that of make is older than the end of cc. */
TEST(bounds_of_a_sum)
{
    struct baro_process make = {.id = 1, .key = {100, 7}, .name = (char *)"make"},
                        cc = {.id = 2, .key = {101, 8}, .name = (char *)"cc"};
    struct baro_process *both[] = {&make, &cc};
    struct baro_sample s = {.t_ns = 1 * SECOND, .n = 2, .processes = both};
    struct tape_writer *w = new_tape(tape_path, NULL);
    make.value[PROCESS_pss] = 40;
    make.value[PROCESS_rss] = 50;
    cc.value[PROCESS_rss] = 25;
    cc.absent[PROCESS_pss] = BARO_ABSENT_NOT_YET;
    tape_add(w, &s);
    s.t_ns = 2 * SECOND;
    cc.absent[PROCESS_pss] = BARO_PRESENT;
    cc.value[PROCESS_pss] = 20;
    tape_add(w, &s);
    s.t_ns = 3 * SECOND;
    s.n = 1;
    s.job[JOB_pss_stale] = 1;
    tape_add(w, &s);
    s.t_ns = 4 * SECOND;
    tape_add(w, &s);
    tape_ended(w);
    draw(&all_pss, 1 * SECOND, 4 * SECOND, 3);
    const struct baro_bucket *b = at(0);
    assert_int_equal(b->covered_ns, 0);
    assert_int_equal(b->unsure_ns, SECOND);
    near(b->low, 40);
    near(b->high, 40 + 25);
    near(b->at_least, 40);
    b = at(1);
    assert_int_equal(b->covered_ns, SECOND);
    assert_int_equal(b->unsure_ns, 0);
    near(b->max, 60);
    b = at(2);
    assert_int_equal(b->unsure_ns, SECOND);
    near(b->low, 40);
    near(b->high, 40);
    near(b->at_least, 0);                      /* it may be less */
    draw(&all_pss, 1 * SECOND, 3 * SECOND, 1); /* one bucket: the whole part counts */
    b = at(0);
    assert_int_equal(b->covered_ns, SECOND);
    assert_int_equal(b->unsure_ns, SECOND);
    near(b->min, 60);
}

/* A curve of a sum is the sum of the summary: a zombie has no thread, and a pss that was read before memory was given
 * back counts as the rss. What the only process with that name lacks as a zombie is 0. */
TEST(sum_is_that_of_the_fold)
{
    static const struct drawing threads = {VALUE, BARO_KIND_PROCESS, 0, NULL, PROCESS_threads, NULL},
                                threads_of_cc = {VALUE, BARO_KIND_PROCESS, 0, "cc", PROCESS_threads, NULL},
                                pss_of_cc = {VALUE, BARO_KIND_PROCESS, 0, "cc", PROCESS_pss, NULL},
                                one = {VALUE, BARO_KIND_PROCESS, 2, NULL, PROCESS_threads, NULL},
                                nobody = {VALUE, BARO_KIND_PROCESS, 0, "ld", PROCESS_threads, NULL};
    struct baro_process make = {.id = 1, .key = {100, 7}, .name = (char *)"make", .read_ns = 2},
                        cc = {.id = 2, .key = {101, 8}, .name = (char *)"cc", .read_ns = 2};
    struct baro_process *both[] = {&make, &cc};
    struct baro_sample s = {.t_ns = 1 * SECOND, .n = 2, .processes = both};
    struct tape_writer *w = new_tape(tape_path, NULL);
    make.value[PROCESS_threads] = 3;
    make.value[PROCESS_pss] = 100;
    make.value[PROCESS_rss] = 50;
    make.value[PROCESS_smaps_at] = 1;
    cc.value[PROCESS_threads] = 1;
    cc.value[PROCESS_state] = 'Z';
    cc.absent[PROCESS_pss] = BARO_ABSENT_DENIED;
    tape_add(w, &s);
    s.t_ns = 2 * SECOND;
    tape_add(w, &s);
    tape_ended(w);
    static const struct {
        const struct drawing *curve;
        double value;
    } want[] = {{&threads, 3}, {&all_pss, 50}, {&threads_of_cc, 0}, {&pss_of_cc, 0}, {&one, 1}};
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        draw(want[i].curve, 1 * SECOND, 2 * SECOND, 1);
        assert_int_equal(at(0)->covered_ns, SECOND);
        near(at(0)->max, want[i].value);
    }
    draw(&nobody, 1 * SECOND, 2 * SECOND, 1);
    assert_int_equal(at(0)->covered_ns, 0);
}

static struct baro_entity web_task(uint64_t value[TASK_MAX], uint8_t absent[TASK_MAX])
{
    struct baro_entity web = {.kind = BARO_KIND_TASK, .n_values = TASK_MAX, .value = value, .absent = absent};
    web.id = 9, web.name = (char *)"web", web.label = (char *)"";
    return web;
}

/* As above for a task: at 1 s it has the uss of one of its two processes; at 2 s a process of no task has none; at 3 s
 * what was read is old. */
TEST(bounds_of_a_task)
{
    struct baro_process web = {.id = 1, .key = {100, 7}, .name = (char *)"web"},
                        worker = {.id = 2, .key = {101, 8}, .name = (char *)"web"};
    struct baro_process *both[] = {&web, &worker};
    uint64_t value[TASK_MAX] = {[TASK_uss] = 40};
    uint8_t absent[TASK_MAX] = {0};
    struct baro_entity task = web_task(value, absent);
    struct baro_entity *tasks[] = {&task};
    struct baro_sample s = {.t_ns = 1 * SECOND, .n = 2, .processes = both};
    struct tape_writer *w = new_tape(tape_path, NULL);
    s.entities[BARO_KIND_TASK] = (struct baro_entities){.at = tasks, .n = 1, .read_ns = 1 * SECOND};
    web.value[PROCESS_task] = worker.value[PROCESS_task] = 9;
    web.value[PROCESS_uss] = 40;
    worker.value[PROCESS_rss] = 25;
    worker.absent[PROCESS_uss] = BARO_ABSENT_NOT_YET;
    tape_add(w, &s);
    s.t_ns = s.entities[BARO_KIND_TASK].read_ns = 2 * SECOND;
    worker.absent[PROCESS_task] = BARO_ABSENT_UNKNOWN;
    tape_add(w, &s);
    s.t_ns = s.entities[BARO_KIND_TASK].read_ns = 3 * SECOND;
    s.job[JOB_pss_stale] = 1;
    tape_add(w, &s);
    s.t_ns = s.entities[BARO_KIND_TASK].read_ns = 4 * SECOND;
    tape_add(w, &s);
    tape_ended(w);
    draw(&task_uss, 1 * SECOND, 4 * SECOND, 3);
    const struct baro_bucket *b = at(0);
    assert_int_equal(b->unsure_ns, SECOND);
    near(b->low, 40);
    near(b->high, 40 + 25);
    near(b->at_least, 40);
    assert_int_equal(at(1)->covered_ns, SECOND);
    b = at(2);
    near(b->at_least, 0);
}

/* A task had used 0.4 s when it was read for the first time, at 1 s: since the tape began. Another one, which is
 * on the tape from 2 s on, had used 0.1 s since 1 s. */
TEST(growth_of_a_task)
{
    uint64_t value[2][TASK_MAX] = {{[TASK_cpu] = SECOND * 4 / 10}, {[TASK_cpu] = SECOND / 10}};
    uint8_t absent[TASK_MAX] = {0};
    struct baro_entity web = web_task(value[0], absent), late = web;
    struct baro_entity *tasks[] = {&web, &late};
    struct baro_sample s = {.t_ns = 1 * SECOND};
    struct tape_writer *w = new_tape(tape_path, NULL);
    late.id = 10;
    late.value = value[1];
    s.entities[BARO_KIND_TASK] = (struct baro_entities){.at = tasks, .n = 1, .read_ns = 1 * SECOND};
    tape_add(w, &s);
    s.t_ns = s.entities[BARO_KIND_TASK].read_ns = 2 * SECOND;
    s.entities[BARO_KIND_TASK].n = 2;
    tape_add(w, &s);
    tape_ended(w);
    draw(&task_cpu, 0, 2 * SECOND, 2);
    assert_int_equal(at(0)->covered_ns, SECOND);
    near(at(0)->mean / 1e9, 0.4);
    near(at(1)->mean / 1e9, 0.1);
}

static double total(size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const struct baro_bucket *b = at(i);
        sum += b->mean * (double)b->covered_ns / 1e9;
    }
    return sum;
}

/* Whatever the buckets, the area under the curve is what was used: no usage is lost of processes that ended or that are
 * in no sample. */
TEST(growth)
{
    static const struct {
        const struct drawing *curve;
        double seconds;
    } want[] = {{&all_cpu, 5.7}, {&job_cpu, 5.7}, {&cc_cpu, 1.5}, {&ld_cpu, 0.2}, {&make_cpu, 4.0}};
    write_job();
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        for (size_t n = 1; n < 200; n += 13) {
            draw(want[i].curve, 0, 8 * SECOND, n);
            near(total(n), want[i].seconds * 1e9);
        }
    }
    draw(&make_cpu, 0, 8 * SECOND, 8);
    for (size_t i = 0; i < 8; i++)
        near(at(i)->max, 5e8);
    draw(&job_cpu, 4 * SECOND, 8 * SECOND, 2); /* a part of the tape */
    near(at(0)->mean, 5e8);
    near(at(1)->mean, 5e8);
}

/* record --all: "true" has no rows and no exits, but sums. One is 0.3 s at 2 s, and has left by 4 s, where another one
 * has 0.1 s. */
TEST(growth_of_brief_lives)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    uint64_t value[BRIEF_MAX] = {0};
    uint8_t absent[BRIEF_MAX] = {0};
    struct baro_entity brief = {.id = 1,
                                .kind = KIND_brief,
                                .name = (char *)"ld",
                                .label = (char *)"sh",
                                .info_version = 1,
                                .n_values = BRIEF_MAX,
                                .value = value,
                                .absent = absent},
                       *briefs[] = {&brief};
    struct baro_process make = {.id = 1, .key = {100, 7}, .name = (char *)"make"}, *rows[] = {&make};
    struct baro_sample s = {.t_ns = SECOND, .n = 1, .processes = rows};
    tape_add(w, &s);
    for (uint64_t i = 1; i <= 2; i++) {
        s.t_ns = make.read_ns = 2 * i * SECOND;
        brief.id = (uint32_t)i;
        value[BRIEF_cpu] = i == 1 ? SECOND * 3 / 10 : SECOND / 10;
        s.entities[KIND_brief] = (struct baro_entities){.n = 1, .at = briefs, .read_ns = s.t_ns};
        tape_add(w, &s);
    }
    tape_ended(w);
    draw(&ld_cpu, 0, 4 * SECOND, 8);
    near(total(8), 0.4e9);
    draw(&all_cpu, 0, 4 * SECOND, 8);
    near(total(8), 0.4e9);
    draw(&make_cpu, 0, 4 * SECOND, 8);
    near(total(8), 0);
}

TEST(derived_and_counts)
{
    write_job();
    draw(&make_cores, 0, 8 * SECOND, 8);
    for (size_t i = 0; i < 8; i++)
        near(at(i)->mean, 0.5);
    draw(&count_of_all, 0, 8 * SECOND, 8);
    static const double all[] = {0, 1, 2, 2, 1, 1, 1, 1}, cc[] = {0, 0, 1, 1, 0, 0, 0, 0};
    assert_int_equal(at(0)->covered_ns, 0);
    for (size_t i = 1; i < 8; i++)
        near(at(i)->mean, all[i]);
    draw(&count_of_cc, 0, 8 * SECOND, 8);
    for (size_t i = 1; i < 8; i++)
        near(at(i)->mean, cc[i]);
}

/* Machine at 1, 2 and 3 s: of 2 s of all CPUs 0.5 s busy, then of 2 s all. PSI of 0.25 s, then 0. */
static void write_machine(void)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_sample s = {.t_ns = 1 * SECOND, .has_host = true, .host_ns = 1 * SECOND};
    for (int i = 0; i < HOST_MAX; i++)
        s.host_absent[i] = BARO_ABSENT_UNKNOWN;
    s.host_absent[HOST_cpu_user] = s.host_absent[HOST_cpu_idle] = s.host_absent[HOST_pressure_cpu_some] = 0;
    s.host[HOST_cpu_user] = 7 * SECOND;
    s.host[HOST_cpu_idle] = 9 * SECOND;
    tape_add(w, &s);
    s.t_ns = s.host_ns = 2 * SECOND;
    s.host[HOST_cpu_user] += SECOND / 2;
    s.host[HOST_cpu_idle] += SECOND * 3 / 2;
    s.host[HOST_pressure_cpu_some] += SECOND / 4;
    tape_add(w, &s);
    s.t_ns = s.host_ns = 3 * SECOND;
    s.host[HOST_cpu_user] += 2 * SECOND;
    tape_add(w, &s);
    tape_ended(w);
}

TEST(shares)
{
    write_machine();
    draw(&busy, 1 * SECOND, 3 * SECOND, 2);
    near(at(0)->mean, 0.25);
    near(at(1)->mean, 1);
    draw(&pressure, 1 * SECOND, 3 * SECOND, 2);
    near(at(0)->mean, 0.25);
    near(at(1)->mean, 0);
    draw(&steal, 1 * SECOND, 3 * SECOND, 2); /* its counter is absent */
    assert_int_equal(at(0)->covered_ns, 0);
}

/* Nothing was recorded from 2 to 4 s: rss was 10 before, and is 20 after that; CPU time grew by 3 s in these 3 s. */
TEST(gap)
{
    struct baro_process make = {.id = 1, .key = {100, 7}, .name = (char *)"make", .read_ns = SECOND};
    struct baro_process *one[] = {&make};
    struct baro_sample s = {.t_ns = 1 * SECOND, .n = 1, .processes = one};
    struct baro_event gap = {.t_ns = 4 * SECOND, .kind = BARO_EVENT_GAP, .number = 2 * SECOND, .text = (char *)""};
    struct tape_writer *w = new_tape(tape_path, NULL);
    make.value[PROCESS_rss] = 10;
    tape_add(w, &s);
    tape_writer_event(w, &gap);
    s.t_ns = make.read_ns = 4 * SECOND;
    make.value[PROCESS_rss] = 20;
    make.value[PROCESS_cpu] = 3 * SECOND;
    tape_add(w, &s);
    s.t_ns = make.read_ns = 5 * SECOND;
    tape_add(w, &s);
    tape_ended(w);
    draw(&all_rss, 1 * SECOND, 5 * SECOND, 4);
    near(at(0)->mean, 10);
    assert_int_equal(at(0)->covered_ns, SECOND);
    assert_int_equal(at(1)->covered_ns, 0);
    assert_int_equal(at(2)->covered_ns, 0);
    near(at(3)->mean, 20);
    draw(&all_cpu, 1 * SECOND, 5 * SECOND, 4);
    for (size_t i = 0; i < 3; i++)
        near(at(i)->mean, 1e9);
}

/* If samples are 100 ms apart or more, cores_peak of the summary equals the highest value of the job's curve. */
static double expect_same_peak(uint64_t end_ns)
{
    struct baro_summary *summary = summary_of_file(tape_path);
    struct baro_value v;
    double most = 0;
    baro_summary_value(summary, baro_summary_fact_find("job", "cores_peak"), 0, &v);
    draw(&job_cpu, 0, end_ns, 104);
    for (size_t i = 0; i < 104; i++)
        most = at(i)->max > most ? at(i)->max : most;
    near(most / 1e9, v.real);
    summary_free(summary);
    return most / 1e9;
}

/* What wait4(2) reports at the end of a job covers more than the last moment. */
TEST(end_of_job)
{
    static const struct {
        uint64_t last_ns, cpu_ns; /* of the last sample, after 1 s of 0.6 cores in steps of 0.1 s */
        double peak, first;
    } cases[] = {
        {SECOND + 40000000, 700000000, 0.16 / 0.14, 0.6}, /* with the 0.1 s before: 0.16 s in 0.14 s */
        {SECOND + 100000000, 900000000, 2, 0.6},          /* 3 cores: at most all there is */
        {SECOND + 40000000, 602000000, 0.6, 0.6},         /* less than before */
    };
    static char *argv[] = {"make", NULL};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct baro_header h = {
            .version = "0", .host = "h", .clk_tck = 100, .wanted = UINT32_MAX, .argv = argv, .cpus = 2};
        struct tape_writer *w = tape_begun(tape_path, &h);
        struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"make"}, *all[] = {&p};
        struct baro_sample s = {.n = 1, .processes = all};
        for (s.t_ns = SECOND / 10; s.t_ns <= SECOND; s.t_ns += SECOND / 10) {
            s.job[JOB_cpu] = p.value[PROCESS_cpu] = s.t_ns * 6 / 10;
            tape_add(w, &s);
        }
        s.t_ns = cases[i].last_ns;
        s.n = 0;
        s.job[JOB_processes_ended] = 1;
        s.job[JOB_cpu] = cases[i].cpu_ns;
        tape_add(w, &s);
        tape_ended(w);
        near(expect_same_peak(cases[i].last_ns), cases[i].peak);
        draw(&job_cpu, 0, cases[i].last_ns, 104);
        near(at(0)->min, cases[i].first * 1e9);
        near(total(104), (double)cases[i].cpu_ns);
    }
}

/* A process "sh" executes "cc1" after 2 s: all of its CPU time and memory are counted for cc1, also what it used as
 * "sh". */
TEST(last_name)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"sh"}, *all[] = {&p};
    struct baro_sample sample = {.n = 1, .processes = all};
    struct baro_series *s;
    for (uint64_t second = 1; second <= 4; second++) {
        p.name = (char *)(second <= 2 ? "sh" : "cc1");
        p.info_version = second <= 2 ? 0 : 1;
        sample.t_ns = p.read_ns = second * SECOND;
        p.value[PROCESS_cpu] = second * SECOND;
        p.value[PROCESS_rss] = 10;
        sample.job[JOB_cpu] = second * SECOND;
        tape_add(w, &sample);
    }
    tape_ended(w);
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_series_new(&s, 0, 4 * SECOND, 4, NULL), 0);
    int cc1 = baro_series_add_rate(s, BARO_KIND_PROCESS, 0, "cc1", PROCESS_cpu, NULL);
    int rss = baro_series_add_value(s, BARO_KIND_PROCESS, 0, "cc1", PROCESS_rss, NULL);
    int sh = baro_series_add_rate(s, BARO_KIND_PROCESS, 0, "sh", PROCESS_cpu, NULL);
    int count = baro_series_add_count(s, BARO_KIND_PROCESS, "sh", NULL);
    assert_int_equal(baro_series_read(s, t, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        near(baro_series_bucket(s, cc1, i)->mean, 1e9);
        near(baro_series_bucket(s, sh, i)->mean, 0);
        assert_true(i == 0 || baro_series_bucket(s, rss, i)->mean == 10);
        assert_true(baro_series_bucket(s, count, i)->max == 0);
    }
    baro_series_free(s);
    baro_tape_close(t);
}

/* A table of the last values has those that are alive and no more, whatever number has ended. */
TEST(ended_are_not_kept)
{
    const uint32_t MANY = 20000;
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_process p = {.name = (char *)"cc1"}, *all[] = {&p};
    struct baro_sample sample = {.processes = all};
    struct baro_series *s;
    for (uint32_t i = 1; i <= MANY; i++) { /* every other one is in a sample before it ends */
        struct baro_exit e = {.t_ns = i * 1000ull + 500, .id = i, .key = {(int32_t)i, i}, .name = "cc1"};
        e.value[EXIT_cpu] = 700;
        p.id = i;
        p.key = e.key;
        p.value[PROCESS_cpu] = 300;
        sample.n = i % 2;
        sample.t_ns = p.read_ns = i * 1000ull;
        tape_add(w, &sample);
        e.sampled = i % 2;
        tape_writer_exit(w, &e);
    }
    tape_ended(w);
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_series_new(&s, 0, MANY * 1000ull + 1000, 1, NULL), 0);
    int named = baro_series_add_rate(s, BARO_KIND_PROCESS, 0, "cc1", PROCESS_cpu, NULL);
    int any = baro_series_add_rate(s, BARO_KIND_PROCESS, 0, NULL, PROCESS_cpu, NULL);
    assert_int_equal(baro_series_read(s, t, NULL), 0);
    double over = (MANY * 1000.0 + 500) / 1e9; /* from 0 to the last exit */
    near(baro_series_bucket(s, named, 0)->mean * over, MANY * 700.0);
    near(baro_series_bucket(s, any, 0)->mean * over, MANY * 700.0);
    assert_true(s->counter[0].last.size <= 1024);
    assert_true(s->called.n <= MANY / 2);
    baro_series_free(s);
    baro_tape_close(t);
}

TEST(refused)
{
    struct baro_series *s;
    struct baro_error err = BARO_ERROR_INIT;
    assert_int_equal(baro_series_new(&s, 5, 5, 10, NULL), BARO_E_RANGE);
    assert_int_equal(baro_series_new(&s, 0, 5, 0, NULL), BARO_E_RANGE);
    assert_int_equal(baro_series_new(&s, 0, 5, SIZE_MAX, NULL), BARO_E_RANGE);
    assert_int_equal(baro_series_new(&s, 0, 5, 3, NULL), 0);
    assert_int_equal(baro_series_add_rate(s, BARO_KIND_PROCESS, 0, NULL, PROCESS_rss, &err), BARO_E_RANGE);
    assert_string_equal(err.text, "rss_bytes is no counter: it has no rate");
    assert_int_equal(baro_series_add_value(s, BARO_KIND_PROCESS, 0, NULL, PROCESS_cpu, &err), BARO_E_RANGE);
    assert_int_equal(baro_series_add_value(s, BARO_KIND_EXIT, 0, NULL, 0, NULL), BARO_E_RANGE);
    assert_int_equal(baro_series_add_value(s, 9999, 0, NULL, 0, NULL), BARO_E_RANGE);
    assert_int_equal(baro_series_add_derived(s, BARO_KIND_PROCESS, 0, NULL, -1, &err), BARO_E_RANGE);
    assert_string_equal(err.text, "there is no such derived metric");
    assert_int_equal(baro_series_add_count(s, BARO_KIND_JOB, NULL, NULL), BARO_E_RANGE);
    assert_int_equal(baro_series_add_count(s, -1, NULL, NULL), BARO_E_RANGE);
    baro_series_free(s);
    baro_series_free(NULL);
}

/* A GPU that was busy all the time, and was read 0.3 s late once: no second of it has more than a second. */
TEST(growth_is_over_the_time_between_its_own_readings)
{
    static const uint64_t at_ms[] = {1000, 2000, 3300, 4000, 5000};
    static const struct drawing busy_gpu = {RATE, KIND_gpu, 9, NULL, GPU_busy, NULL};
    uint64_t value[GPU_MAX] = {0};
    uint8_t absent[GPU_MAX] = {0};
    struct baro_entity gpu = {.id = 9,
                              .kind = KIND_gpu,
                              .name = (char *)"gpu0",
                              .label = (char *)"",
                              .n_values = GPU_MAX,
                              .value = value,
                              .absent = absent};
    struct baro_entity *gpus[] = {&gpu};
    struct baro_sample s = {.t_ns = 0};
    struct tape_writer *w = new_tape(tape_path, NULL);
    for (uint64_t i = 0; i < 5; i++) {
        s.t_ns = (i + 1) * SECOND + SECOND / 2;
        s.entities[KIND_gpu] = (struct baro_entities){.at = gpus, .n = 1, .read_ns = (i + 1) * SECOND};
        value[GPU_busy] = value[GPU_read_at] = at_ms[i] * (SECOND / 1000);
        tape_add(w, &s);
    }
    tape_ended(w);
    draw(&busy_gpu, 1 * SECOND, 5 * SECOND, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(at(i)->covered_ns, SECOND);
        near(at(i)->mean, 1e9);
        near(at(i)->max, 1e9);
    }
}
