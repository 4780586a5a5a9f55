/* SPDX-License-Identifier: Apache-2.0 */
/* The machine around a job, and the job's limits: computed by hand, the same live and from a tape, and as printed. */
#include <unistd.h>

#include "unit.h"
#include "expect_facts.h"
#include "baro/summary.h"
#include "base/json.h"
#include "golden.h"
#include "libbaro/summary/groups.h"
#include "libbaro/summary/limits.h"
#include "machine_story.h"
#include "output/rows/dialect.h"
#include "output/text/summary_text.h"
#include "receivers.h"

#define NEAR(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

static int most(const struct baro_summary *s, uint64_t *ret, enum memory_measure *ret_measure)
{
    struct summary_memory m;
    summary_memory(s, &m);
    *ret = m.bytes;
    *ret_measure = m.measure;
    return m.absent;
}

static void own(struct baro_header *h)
{
    memcpy(h->cgroup_mode, "own", 4);
}

static struct baro_summary *told_with(void (*change)(struct baro_header *h))
{
    struct baro_header h;
    struct machine_story *m = calloc(1, sizeof(*m));
    machine_story_header(&h);
    if (change)
        change(&h);
    static struct baro_summary *s; /* the last one; freed with the next one */
    summary_free(s);
    s = summary_new(&h);
    assert_non_null(s);
    m->inner = change == own ? "/pod/baro-100-01234567" : NULL;
    machine_story_play(m, &(struct story_sink){to_summary_sample, to_summary_exit, to_summary_event, s});
    summary_finish(s);
    free(m);
    return s;
}

/* Perf's count is all there is of some processes, and the hypervisor took 1.2 s meanwhile: the job's CPU time may be
 * too large, if what may be too much is not negligible. */
TEST(stolen_time_makes_the_jobs_an_estimate)
{
    struct baro_summary *s = told_with(NULL);
    assert_false(summary_job_cpu_is_estimate(s));
    s->rows.job_absent[JOB_cpu] = s->rows.job_absent[JOB_cpu_excess] = BARO_PRESENT;
    s->rows.job[JOB_cpu] = 1400 * MS;
    s->rows.job[JOB_cpu_excess] = 20 * MS;
    assert_true(summary_job_cpu_is_estimate(s));
    s->rows.job[JOB_cpu_excess] = 10 * MS;
    assert_false(summary_job_cpu_is_estimate(s));
    s->rows.job[JOB_cpu] = 300000 * MS; /* 1.2 s are little of it */
    s->rows.job[JOB_cpu_excess] = 4000 * MS;
    assert_false(summary_job_cpu_is_estimate(s));
    s->fold.cell[FOLD_HOST_STEAL].seen = false; /* --no-host: it may have been more */
    s->fold.cell[FOLD_HOST_STEAL].absent = BARO_ABSENT_NOT_ASKED;
    assert_true(summary_job_cpu_is_estimate(s));
    for (const char *const *name = (const char *const[]){"cpu_ns", "cores_mean", NULL}; *name; name++) {
        struct baro_value v;
        assert_gives(baro_summary_value(s, baro_summary_fact_find("job", *name), 0, &v), v.flags, BARO_VALUE_ESTIMATE);
    }
}

/* 24.6 MB were written to disks: more than the job is charged with, or less; and less than it passed to write(2), or
 * not. */
TEST(writes_of_whole_folios)
{
    static const struct {
        uint64_t charged, passed;
        bool is_estimate;
    } of[] = {{240 * MB, 17 * MB, true}, {240 * MB, 230 * MB, false}, {20 * MB, 1 * MB, false}, {9 * MB, 0, false}};
    struct baro_summary *s = told_with(NULL);
    int id = baro_summary_fact_find("job", "io_write_bytes");
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct baro_value v;
        s->rows.job[JOB_io_write] = of[i].charged;
        s->rows.job[JOB_io_wchar] = of[i].passed;
        s->rows.job[JOB_io_is_lower_bound] = 1;
        s->rows.job_absent[JOB_io_write] = s->rows.job_absent[JOB_io_wchar] =
            s->rows.job_absent[JOB_io_is_lower_bound] = BARO_PRESENT;
        assert_int_equal(summary_writes_are_estimate(s), of[i].is_estimate);
        assert_int_equal(baro_summary_value(s, id, 0, &v), BARO_PRESENT);
        assert_int_equal(v.flags, of[i].is_estimate ? BARO_VALUE_ESTIMATE : BARO_VALUE_LOWER_BOUND);
    }
}

static void target(struct baro_header *h)
{
    memcpy(h->cgroup_mode, "target", 7);
}

static void of_address_space(struct baro_header *h)
{
    memcpy(h->limits.memory_source, "RLIMIT_AS", 10);
}

static void of_data(struct baro_header *h)
{
    memcpy(h->limits.memory_source, "RLIMIT_DATA", 12);
}

static void out_of_sight(struct baro_header *h)
{
    h->limits = (struct baro_limits){.cores_ppm = 2000000,
                                     .cores_source = "affinity",
                                     .memory_absent = BARO_ABSENT_UNKNOWN,
                                     .cores_absent = BARO_ABSENT_UNKNOWN,
                                     .pids_absent = BARO_ABSENT_DENIED};
}

static void free_of_limits(struct baro_header *h)
{
    h->limits = (struct baro_limits){0};
}

TEST(facts)
{
    struct baro_summary *s = told_with(NULL);
    expect_facts(
        s, "host.cores 4", "host.watched_ns 3000000000", "host.cpu_mean_cores 2", "host.cpu_peak_cores 2",
        "host.cpu_others_mean_cores 1.52933" /* 2 - 1.4 / 3 - 0.012 / 3 */, "host.cpu_steal_ratio 0.1",
        "host.pressure.cpu_some_ratio 0.3", "host.pressure.io_full_ratio unsupported",
        "host.memory_available_least_bytes 2252800000" /* 2560 MB - 3 * 102.4 MB */, "host.load_peak 3.25",
        "host.oom_kills 1", "host.disk_write_bytes 24576000" /* 3 * 8192 kB */, "limits.memory_bytes 500000000",
        "limits.memory_source cgroup /pod memory.max", "limits.cores 0.5",
        "limits.cores_source cgroup /pod/job cpu.max", "limits.pids 100", "limits.cores_is_hidden 0",
        "limits.memory_peak_of processes", "limits.throttled_ns 2100000000", "limits.oom_kills_in_group 1",
        "limits.forks_refused 0",
        /* 126 * 1024000; and for two processes and three threads in one of them 2 * 48 + 2 * 23 KiB */
        "limits.memory_peak_bytes 129169408", "limits.memory_peak_ratio 0.258339",
        "limits.memory_group_ratio 0.98" /* the neighbour's share is in it */,
        /* 302 ms from 1502 to 2002 ms: over half a second, which touches more periods of a quota than fit in */
        "limits.cores_peak_ratio 1.208");
    s = told_with(own);
    expect_facts(s, "limits.memory_peak_of cgroup",
                 /* 150 MB; v2 before Linux 5.18 does not say what is the kernel's: 2 * 48 + 2 * 23 KiB */
                 "limits.memory_peak_bytes at least 150145408",
                 "limits.throttled_ns 11100000000" /* the group is the job's own: */,
                 "limits.oom_kills_in_group 3" /* from nothing */);
    s = told_with(target);
    expect_facts(s, "limits.memory_peak_of cgroup", "limits.memory_peak_bytes at least 150145408");
    s = told_with(of_data);
    expect_facts(s, "limits.memory_peak_bytes unsupported", "limits.memory_peak_ratio unsupported",
                 "limits.memory_group_ratio unsupported");
    s = told_with(free_of_limits); /* the kernel's value now, not the header's */
    expect_facts(s, "limits.memory_bytes 8192000000", "limits.memory_source machine", "limits.cores 4",
                 "limits.pids unknown", "limits.memory_peak_of processes");
    s = told_with(out_of_sight);
    expect_facts(s, "limits.memory_bytes unknown", "limits.memory_is_hidden 1",
                 "limits.memory_at_most_bytes 8192000000", "limits.memory_at_most_source machine",
                 "limits.memory_peak_ratio unknown", "limits.cores unknown", "limits.cores_is_hidden 1",
                 "limits.cores_at_most 2", "limits.cores_at_most_source affinity", "limits.cores_peak_ratio unknown",
                 "limits.pids denied");
}

/* getrlimit(2): RLIMIT_AS is about virtual memory of one process, resident or not. */
TEST(address_space)
{
    struct baro_header h;
    struct baro_process p[2] = {{.id = 7, .key = {50, 5}, .name = "p"}, {.id = 8, .key = {51, 6}, .name = "q"}};
    struct baro_process *rows[] = {&p[0], &p[1]};
    struct baro_sample sample = {.t_ns = MS, .n = 2, .processes = rows};
    enum memory_measure measure;
    uint64_t v;
    double d;
    story_header(&h);
    h.limits = (struct baro_limits){.memory_bytes = 1000 * MB, .memory_source = "RLIMIT_AS"};
    struct baro_summary *s = summary_new(&h);
    assert_int_equal(most(s, &v, &measure), BARO_ABSENT_NOT_YET);
    static const uint64_t sizes[][2] = {{300, 200}, {100, 400}, {350, 350}};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 2; k++) {
            p[k].value[PROCESS_virtual] = sizes[i][k] * MB;
            p[k].value[PROCESS_rss] = p[k].value[PROCESS_pss] = 10 * MB;
        }
        sample.t_ns += 10 * MS;
        sample.job[JOB_process_rss_peak] = 10 * MB;
        summary_add_sample(s, &sample);
    }
    summary_finish(s);
    assert_gives(most(s, &v, &measure), measure, MEMORY_ADDRESS_SPACE);
    assert_int_equal(v, 400 * MB);
    assert_int_equal(summary_memory_peak_ratio(s, &d), 0);
    NEAR(d, 0.4);
    summary_free(s);
}

static void fill_sample(struct baro_sample *s, uint64_t t_ns, uint64_t mb, struct baro_entity *group, uint64_t kills,
                        uint64_t throttled_ms)
{
    s->t_ns = s->host_ns = t_ns;
    s->has_host = true;
    memset(s->host_absent, BARO_ABSENT_NOT_ASKED, sizeof(s->host_absent));
    s->processes[0]->value[PROCESS_rss] = s->processes[0]->value[PROCESS_pss] = mb * MB;
    s->processes[0]->value[PROCESS_rss_anon] = s->processes[0]->value[PROCESS_pss_anon] = mb * MB;
    if (s->job[JOB_process_rss_peak] < mb * MB)
        s->job[JOB_process_rss_peak] = mb * MB;
    memset(group->absent, BARO_ABSENT_UNSUPPORTED, CGROUP_MAX);
    machine_entity_set(group, CGROUP_oom_kills, kills);
    machine_entity_set(group, CGROUP_cpu_throttled, throttled_ms * MS);
}

/* From a group with 1000 MB, of which it held 900, to one with 100 MB, of which it held 40. */
TEST(moved)
{
    static const struct baro_limits before = {.memory_bytes = 1000 * MB, .memory_source = "cgroup /a memory.max"};
    static const struct baro_limits after = {.memory_bytes = 100 * MB,
                                             .memory_source = "cgroup /b memory.max",
                                             .cores_ppm = 500000,
                                             .cores_source = "cgroup /b cpu.max"};
    struct baro_header h;
    struct baro_process p = {.id = 7, .key = {50, 5}, .name = "p"};
    struct baro_process *rows[] = {&p};
    struct baro_sample sample = {.n = 1, .processes = rows};
    uint64_t value[2][CGROUP_MAX] = {0}, v;
    uint8_t absent[2][CGROUP_MAX];
    struct baro_entity a = {
        .id = 100, .kind = BARO_KIND_CGROUP, .name = "/a", .label = "", .value = value[0], .absent = absent[0]};
    struct baro_entity b = {
        .id = 101, .kind = BARO_KIND_CGROUP, .name = "/b", .label = "", .value = value[1], .absent = absent[1]};
    struct baro_entity *of_a[] = {&a}, *of_b[] = {&b};
    const char *source;
    double d;
    story_header(&h);
    h.limits = (struct baro_limits){
        .memory_absent = BARO_ABSENT_NOT_YET, .cores_absent = BARO_ABSENT_NOT_YET, .pids_absent = BARO_ABSENT_NOT_YET};
    struct baro_summary *s = summary_new(&h);
    assert_int_equal(summary_memory_unknown(s), BARO_ABSENT_NOT_YET);
    sample.entities[BARO_KIND_CGROUP] = (struct baro_entities){.n = 1, .at = of_a};
    fill_sample(&sample, 10 * MS, 900, &a, 3, 500);
    summary_add_sample(s, &sample);
    summary_add_limits(s, &before, 11 * MS); /* found late, and held from the start */
    fill_sample(&sample, 1000 * MS, 20, &a, 4, 700);
    summary_add_sample(s, &sample);
    assert_then(summary_memory_peak_ratio(s, &d), d > 0.9 && d < 0.901);
    summary_add_limits(s, &before, 1001 * MS); /* unchanged */
    assert_then(summary_memory_peak_ratio(s, &d), d > 0.9 && d < 0.901);
    summary_add_limits(s, &after, 1002 * MS);
    sample.entities[BARO_KIND_CGROUP] = (struct baro_entities){.n = 1, .at = of_b};
    fill_sample(&sample, 1100 * MS, 40, &b, 7, 50);
    summary_add_sample(s, &sample);
    fill_sample(&sample, 2000 * MS, 30, &b, 9, 350);
    summary_add_sample(s, &sample);
    summary_finish(s);
    assert_int_equal(summary_memory_limit(s, &source), 100 * MB);
    assert_string_equal(source, "cgroup /b memory.max");
    assert_then(summary_memory_peak_ratio(s, &d), d > 0.4 && d < 0.401);
    assert_int_equal(s->peaks.sum[PEAK_RSS].value, 900 * MB); /* the job's value stays */
    assert_gives(summary_group_oom_kills(s, &v), v, (4 - 3) + (9 - 7));
    assert_gives(summary_throttled(s, &v), v, (700 - 500 + 350 - 50) * MS);
    summary_free(s);
}

/* A process that was larger than all of them together at any sample was so between two samples. */
TEST(spike)
{
    struct baro_header h;
    struct baro_process p = {.id = 7, .key = {50, 5}, .name = "p"};
    struct baro_process *rows[] = {&p};
    struct baro_sample sample = {.t_ns = MS, .n = 1, .processes = rows};
    enum memory_measure measure;
    uint64_t v;
    story_header(&h);
    struct baro_summary *s = summary_new(&h);
    p.value[PROCESS_rss] = p.value[PROCESS_rss_anon] = p.value[PROCESS_pss_anon] = 10 * MB;
    sample.job[JOB_process_rss_peak] = 400 * MB;
    summary_add_sample(s, &sample);
    summary_finish(s);
    assert_gives(most(s, &v, &measure), measure, MEMORY_PROCESSES);
    assert_int_equal(v / MB, 10);
    struct summary_memory m;
    summary_memory(s, &m);
    assert_true(m.is_bound && m.doubt == NEEDED_MARKS && m.at_most / MB == 400);
    s->subject.mode = BARO_MODE_ATTACH; /* then it may be older than the recording */
    summary_memory(s, &m);
    assert_int_equal(m.at_most / MB, 10);
    summary_free(s);
}

/* Counters that fall, readings that are missing, nothing at all. */
TEST(odd_readings)
{
    static const uint64_t read[] = {100, 300, 50, 80, 80};
    struct fold f;
    struct baro_sample s = {.t_ns = 1};
    double d;
    fold_init(&f);
    fold_add(&f, &s);
    assert_int_equal(f.readings, 0);
    assert_int_equal(fold_share(&f, FOLD_HOST_STEAL, &d), BARO_ABSENT_NOT_YET);
    s.has_host = true;
    s.host_absent[HOST_cpu_steal] = BARO_ABSENT_DENIED;
    for (size_t i = 0; i < 5; i++) {
        s.host_ns = 10 * (i + 1);
        s.host[HOST_disk_read] = read[i];
        fold_add(&f, &s);
        fold_add(&f, &s); /* the same reading again */
    }
    assert_int_equal(f.readings, 5);
    assert_int_equal(f.cell[FOLD_DISK_READ].grown, 200 + 30);
    assert_int_equal(fold_share(&f, FOLD_HOST_STEAL, &d), BARO_ABSENT_DENIED);
    fold_done(&f);
}

/* The machine was read once: nothing is known of growth. After the second reading it is 0, or more. */
TEST(one_reading)
{
    struct baro_header h;
    struct baro_sample sample = {.t_ns = MS, .has_host = true, .host_ns = MS};
    struct baro_value v;
    int read = baro_summary_fact_find("host", "disk_read_bytes"), kills = baro_summary_fact_find("host", "oom_kills");
    story_header(&h);
    struct baro_summary *s = summary_new(&h);
    sample.host[HOST_disk_read] = 5000;
    summary_add_sample(s, &sample);
    summary_finish(s);
    assert_int_equal(baro_summary_value(s, read, 0, &v), BARO_ABSENT_UNKNOWN);
    assert_int_equal(baro_summary_value(s, kills, 0, &v), BARO_ABSENT_UNKNOWN);
    sample.t_ns = sample.host_ns = 2 * MS;
    sample.host[HOST_disk_read] = 5700;
    summary_add_sample(s, &sample);
    summary_finish(s);
    assert_gives(baro_summary_value(s, read, 0, &v), v.u64, 700);
    assert_gives(baro_summary_value(s, kills, 0, &v), v.u64, 0);
    summary_free(s);
}

/* An interface goes to another network namespace and comes back with its counters.
 * Nothing was received but 10 + 7 packets. */
TEST(interface_that_comes_back)
{
    static const uint64_t lo[] = {100, 110, 110, 110}, other[] = {1000000, 0, 1000000, 1000007};
    uint64_t value[2][NET_MAX] = {{0}};
    uint8_t absent[NET_MAX] = {0};
    struct baro_entity e[2] = {{.id = 1, .kind = KIND_net, .name = "lo", .value = value[0], .absent = absent},
                               {.id = 2, .kind = KIND_net, .name = "eth0", .value = value[1], .absent = absent}};
    struct baro_entity *const all[] = {&e[0], &e[1]};
    struct fold f;
    struct baro_sample s = {.has_host = true};
    fold_init(&f);
    for (size_t i = 0; i < 4; i++) {
        s.t_ns = s.host_ns = i + 1;
        value[0][NET_receive_packets] = lo[i];
        value[1][NET_receive_packets] = other[i];
        s.entities[KIND_net] = (struct baro_entities){.n = other[i] ? 2 : 1, .at = all};
        fold_add(&f, &s);
    }
    assert_int_equal(f.cell[FOLD_PACKETS].grown, 10 + 7);
    fold_done(&f);
}

static void write_story(void)
{
    struct baro_header h;
    machine_story_header(&h);
    struct machine_story *m = calloc(1, sizeof(*m));
    struct tape_writer *w = tape_begun(tape_path, &h);
    machine_story_play(m, &(struct story_sink){to_tape_sample, to_tape_exit, to_tape_event, w});
    tape_ended(w);
    free(m);
}

TEST(live_is_replay)
{
    struct buf a = {0}, b = {0};
    struct baro_summary *live = told_with(NULL);
    write_story();
    struct baro_summary *replay = summary_of_file(tape_path);
    summary_json(live, "t", &(struct json){.out = &a, .pretty = true});
    summary_json(replay, "t", &(struct json){.out = &b, .pretty = true});
    buf_byte(&a, 0);
    buf_byte(&b, 0);
    assert_string_equal((char *)a.at, (char *)b.at);
    summary_free(replay);
    buf_done(&a);
    buf_done(&b);
}

TEST(golden)
{
    static const struct {
        const char *name;
        void (*change)(struct baro_header *h);
        struct report_style style;
    } blocks[] = {
        {"machine-100.txt", NULL, {.width = 100, .utf8 = true}},
        {"machine-60-ascii.txt", NULL, {.width = 60}},
        {"machine-own.txt", own, {.width = 100, .utf8 = true}},
        {"machine-free.txt", free_of_limits, {.width = 100, .utf8 = true}},
        {"machine-address-space.txt", of_address_space, {.width = 100, .utf8 = true}},
        {"machine-data.txt", of_data, {.width = 100, .utf8 = true}},
        {"machine-out-of-sight.txt", out_of_sight, {.width = 100, .utf8 = true}},
    };
    struct buf text = {0};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        struct baro_summary *s = told_with(blocks[i].change);
        buf_clear(&text);
        report_block(s, "/t/x.baro", blocks[i].style, &text);
        expect_golden(blocks[i].name, &text);
    }
    struct baro_summary *s = told_with(NULL);
    buf_clear(&text);
    summary_json(s, "/t/x.baro", &(struct json){.out = &text, .pretty = true});
    expect_golden("machine.json", &text);
    buf_done(&text);
}

static void rows(const char *name, int kind, struct buf *text)
{
    struct baro_record r;
    struct dialect *d;
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(dialect_new(&d, name, kind, baro_tape_header(tape), NULL), 0);
    buf_clear(text);
    dialect_header(d, text);
    while (baro_tape_next(tape, &r, NULL) > 0)
        dialect_record(d, &r, text);
    dialect_end(d, text);
    assert_false(dialect_silent(d));
    dialect_free(d);
    baro_tape_close(tape);
}

TEST(dialects)
{
    static const struct {
        const char *name, *golden;
        int kind;
    } all[] = {
        {"spare-cores", "dialect-spare-cores-process.csv", BARO_KIND_PROCESS},
        {"spare-cores", "dialect-spare-cores-host.csv", BARO_KIND_HOST},
        {"spare-cores-mended", "dialect-spare-cores-mended-process.csv", DIALECT_ANY},
        {"spare-cores-mended", "dialect-spare-cores-mended-host.csv", BARO_KIND_HOST},
        {"pytyche-cpu", "dialect-pytyche-cpu.csv", DIALECT_ANY},
        {"oasislmf", "dialect-oasislmf.csv", DIALECT_ANY},
    };
    struct buf text = {0};
    struct dialect *d;
    write_story();
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        rows(all[i].name, all[i].kind, &text);
        expect_golden(all[i].golden, &text);
    }
    buf_done(&text);
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(dialect_new(&d, "spare", DIALECT_ANY, baro_tape_header(tape), NULL), BARO_E_SYNTAX);
    assert_int_equal(dialect_new(&d, "pytyche-cpu", BARO_KIND_PROCESS, baro_tape_header(tape), NULL), BARO_E_SYNTAX);
    assert_null(d);
    baro_tape_close(tape);
}

/* A value that was not read is empty, never a zero. */
TEST(dialect_absent)
{
    static const char *const names[] = {"spare-cores-mended", "pytyche-cpu"};
    struct buf text = {0};
    write_story();
    struct baro_tape *tape = tape_opened(tape_path);
    for (size_t i = 0; i < 2; i++) {
        struct baro_sample s = {.t_ns = SECOND, .has_host = true, .host_ns = SECOND};
        struct baro_record r = {.kind = BARO_RECORD_SAMPLE, .t_ns = SECOND, .u.sample = &s};
        struct dialect *d;
        memset(s.host_absent, BARO_ABSENT_DENIED, sizeof(s.host_absent));
        s.host_absent[HOST_uptime] = BARO_PRESENT;
        assert_int_equal(dialect_new(&d, names[i], BARO_KIND_HOST, baro_tape_header(tape), NULL), 0);
        dialect_record(d, &r, &text);
        dialect_record(d, &r, &text); /* the same sample */
        assert_true(dialect_silent(d));
        s.host_ns = 2 * SECOND;
        dialect_record(d, &r, &text);
        dialect_free(d);
    }
    static const char want[] = "1795235692.123,\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
                               "\"\",\"\",\"\",\"\",\"\",\"\"\r\n";
    assert_int_equal(text.len, sizeof(want) - 1);
    assert_memory_equal(text.at, want, sizeof(want) - 1);
    buf_done(&text);
    baro_tape_close(tape);
}
