/* SPDX-License-Identifier: Apache-2.0 */
/* Derived metrics: the table, and values worked out by hand. */
#include "unit.h"
#include "baro/interval.h"
#include "libbaro/sample/row.h"

#define SECOND 1000000000ull

static int find(int kind, const char *name)
{
    int i = baro_derived_find(kind, name);
    assert_true(i >= 0);
    return i;
}

static void check_counters(const struct baro_derived *d, const int *id, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct baro_metric *m = baro_metric_get(d->kind, id[i]);
        assert_non_null(m);
        assert_int_equal(m->semantics, BARO_SEM_COUNTER);
        assert_int_equal(m->unit, baro_metric_get(d->kind, id[0])->unit); /* else they can't be added up */
    }
}

TEST(table)
{
    int all = 0;
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (int i = 0; i < baro_derived_count(kind); i++, all++) {
            const struct baro_derived *d = baro_derived_get(kind, i);
            assert_int_equal(d->kind, kind);
            assert_int_equal(find(kind, d->name), i); /* no two have one name */
            assert_int_equal(baro_metric_find(kind, d->name), -1);
            assert_true(d->help[0] && d->n_from >= 1 && !d->per == !d->n_per);
            check_counters(d, d->from, d->n_from);
            check_counters(d, d->per, d->n_per);
        }
        assert_null(baro_derived_get(kind, baro_derived_count(kind)));
        assert_null(baro_derived_get(kind, -1));
    }
    assert_true(all > 0);
    assert_int_equal(baro_derived_count(BARO_KIND_EXIT), 0);
    assert_int_equal(baro_derived_count(-1), 0);
    assert_int_equal(baro_derived_count(baro_kind_count()), 0);
    assert_null(baro_derived_get(baro_kind_count(), 0));
    assert_int_equal(baro_derived_find(BARO_KIND_PROCESS, "core"), -1);
}

/* The unit follows from the units of numerator and denominator. */
TEST(base_units)
{
    static const struct {
        enum baro_unit unit;
        const char *base, *ucum;
    } expected[] = {{BARO_UNIT_NS, "seconds", "s"},        {BARO_UNIT_BYTES, "bytes", "By"},
                    {BARO_UNIT_RATIO, "ratio", "1"},       {BARO_UNIT_HERTZ, "hertz", "Hz"},
                    {BARO_UNIT_CELSIUS, "celsius", "Cel"}, {BARO_UNIT_JOULES, "joules", "J"},
                    {BARO_UNIT_WATTS, "watts", "W"},       {BARO_UNIT_NONE, "", "1"}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        assert_string_equal(baro_unit_base(expected[i].unit), expected[i].base);
        assert_string_equal(baro_unit_ucum(expected[i].unit), expected[i].ucum);
    }
}

TEST(units)
{
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (int i = 0; i < baro_derived_count(kind); i++) {
            const struct baro_derived *d = baro_derived_get(kind, i);
            enum baro_unit from = baro_metric_get(kind, d->from[0])->unit;
            enum baro_unit per = d->per ? baro_metric_get(kind, d->per[0])->unit : BARO_UNIT_NONE;
            if (!d->per && from == BARO_UNIT_BYTES)
                assert_string_equal(d->unit, "bytes per second");
            else if (!d->per && from == BARO_UNIT_NONE)
                assert_string_equal(d->unit, "per second");
            else if (d->per && from == BARO_UNIT_NS && per == BARO_UNIT_NONE)
                assert_string_equal(d->unit, "ns");
            else if (d->per)
                assert_string_equal(d->unit, "ratio");
            else
                assert_true(strcmp(d->unit, "cores") == 0 || strcmp(d->unit, "ratio") == 0 || !*d->unit);
        }
    }
}

/* 500 ms of CPU time in 250 ms are 2 cores; 3 MB in 250 ms are 12 MB a second. */
TEST(process)
{
    struct baro_process before = {.read_ns = SECOND}, now = {.read_ns = SECOND + SECOND / 4};
    double v = -1;
    int cores = find(BARO_KIND_PROCESS, "cores");
    before.value[PROCESS_cpu] = 7 * SECOND;
    now.value[PROCESS_cpu] = 7 * SECOND + SECOND / 2;
    before.value[PROCESS_io_read] = 1000000;
    now.value[PROCESS_io_read] = 4000000;
    assert_then(baro_row_derived(ROW(&before), ROW(&now), cores, &v), v == 2);
    int io_read = find(BARO_KIND_PROCESS, "io_read_bytes_per_second");
    assert_then(baro_row_derived(ROW(&before), ROW(&now), io_read, &v), v == 12000000);

    v = -1;
    now.absent[PROCESS_io_read] = BARO_ABSENT_DENIED;
    before.absent[PROCESS_io_read] = BARO_ABSENT_NOT_YET;
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), io_read, &v), BARO_ABSENT_DENIED); /* the later reason */
    now.absent[PROCESS_io_read] = BARO_PRESENT;
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), io_read, &v), BARO_ABSENT_NOT_YET);
    assert_int_equal(baro_row_derived(ROW(&now), ROW(&before), cores, &v), BARO_ABSENT_UNKNOWN); /* it fell */
    assert_int_equal(baro_row_derived(ROW(&now), ROW(&now), cores, &v), BARO_ABSENT_UNKNOWN);    /* no time passed */
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), -1, &v), BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), baro_derived_count(BARO_KIND_PROCESS), &v),
                     BARO_ABSENT_UNSUPPORTED);
    assert_true(v == -1); /* not changed */
}

static int derived_of(const struct baro_sample *before, const struct baro_sample *now, int kind, int id, double *ret)
{
    return (int)baro_row_derived(baro_sample_row(before, kind, 0), baro_sample_row(now, kind, 0), id, ret);
}

TEST(job_and_recorder)
{
    struct baro_sample before = {.t_ns = SECOND}, now = {.t_ns = 3 * SECOND};
    double v = -1;
    now.job[JOB_cpu] = 3 * SECOND;
    now.self[RECORDER_cpu] = SECOND / 250; /* 4 ms in 2 s */
    assert_then(derived_of(&before, &now, BARO_KIND_JOB, find(BARO_KIND_JOB, "cores"), &v), v == 1.5);
    assert_then(derived_of(&before, &now, BARO_KIND_RECORDER, find(BARO_KIND_RECORDER, "cores"), &v), v == 0.002);
    v = -1;
    const struct baro_row *job = baro_sample_row(&now, BARO_KIND_JOB, 0);
    assert_int_equal(baro_row_derived(NULL, job, 0, &v), BARO_ABSENT_NOT_YET);
    assert_int_equal(baro_row_derived(job, NULL, 0, &v), BARO_ABSENT_UNKNOWN);
    assert_int_equal(baro_row_derived(baro_sample_row(&before, BARO_KIND_RECORDER, 0), job, 0, &v),
                     BARO_ABSENT_UNKNOWN);
    assert_int_equal(derived_of(&before, &now, BARO_KIND_CPU, 0, &v), BARO_ABSENT_UNKNOWN);  /* there is none */
    assert_int_equal(derived_of(&before, &now, BARO_KIND_HOST, 0, &v), BARO_ABSENT_UNKNOWN); /* never read */
    assert_true(v == -1);
}

static double host(const struct baro_sample *before, const struct baro_sample *now, const char *name)
{
    double v = -1;
    assert_int_equal(baro_row_derived(baro_sample_row(before, BARO_KIND_HOST, 0),
                                      baro_sample_row(now, BARO_KIND_HOST, 0), find(BARO_KIND_HOST, name), &v),
                     0);
    return v;
}

/* Four CPUs over 2 s, 8 s in all: user 3 s, system 1 s, guests 1 s are busy; idle 2.5 s, stolen 0.5 s. */
TEST(host)
{
    struct baro_sample before = {.has_host = true, .host_ns = 5 * SECOND};
    struct baro_sample now = {.has_host = true, .host_ns = 7 * SECOND};
    before.host[HOST_cpu_user] = 100 * SECOND;
    now.host[HOST_cpu_user] = 103 * SECOND;
    now.host[HOST_cpu_system] = SECOND;
    now.host[HOST_cpu_guest] = SECOND;
    now.host[HOST_cpu_idle] = 5 * SECOND / 2;
    now.host[HOST_cpu_steal] = SECOND / 2;
    now.host[HOST_pressure_io_some] = SECOND / 2;
    now.host[HOST_disk_write] = 1 << 20;
    assert_true(host(&before, &now, "cores") == 2.5);
    assert_true(host(&before, &now, "cpu_busy_ratio") == 0.625);
    assert_true(host(&before, &now, "cpu_steal_ratio") == 0.0625);
    assert_true(host(&before, &now, "pressure_io_some_ratio") == 0.25);
    assert_true(host(&before, &now, "disk_write_bytes_per_second") == 1 << 19);
    /* iowait fell by 0.5 s: the sum still grew. 5 s of 7.5 s were busy */
    before.host[HOST_cpu_iowait] = SECOND;
    now.host[HOST_cpu_iowait] = SECOND / 2;
    assert_true(host(&before, &now, "cpu_busy_ratio") == 5 / 7.5);
    now.host[HOST_cpu_iowait] = SECOND;
    /* A kernel that does not count guests, in one of the samples: left out of both. 4 s of 7 s, and 2 cores. */
    before.host_absent[HOST_cpu_guest] = BARO_ABSENT_UNSUPPORTED;
    assert_true(host(&before, &now, "cores") == 2);
    assert_true(host(&before, &now, "cpu_busy_ratio") == 4.0 / 7);
    /* Without idle time the total is not known, without user time the busy part is not known. */
    double v;
    now.host_absent[HOST_cpu_idle] = BARO_ABSENT_DENIED;
    assert_int_equal(derived_of(&before, &now, BARO_KIND_HOST, find(BARO_KIND_HOST, "cpu_busy_ratio"), &v),
                     BARO_ABSENT_DENIED);
    now.host_absent[HOST_cpu_user] = BARO_ABSENT_TIMEOUT;
    assert_int_equal(derived_of(&before, &now, BARO_KIND_HOST, find(BARO_KIND_HOST, "cores"), &v), BARO_ABSENT_TIMEOUT);
}

/* A disk over 2 s: 4 reads that took 12 ms together, no write; requests under way for 0.5 s, 3 of them on average. */
TEST(disk)
{
    uint64_t v0[DISK_MAX] = {0}, v1[DISK_MAX] = {0};
    uint8_t absent[DISK_MAX] = {0};
    struct baro_entity before = {.id = 4, .kind = BARO_KIND_DISK, .value = v0, .absent = absent, .read_ns = SECOND};
    struct baro_entity now = {.id = 4, .kind = BARO_KIND_DISK, .value = v1, .absent = absent, .read_ns = 3 * SECOND};
    static const struct {
        const char *name;
        double value;
    } expected[] = {
        {"read_bytes_per_second", 8192},
        {"reads_per_second", 2},
        {"writes_per_second", 0},
        {"busy_ratio", 0.25},
        {"queue_mean", 3},
        {"read_mean_ns", 3000000},
    };
    double v = -1;
    v1[DISK_read] = 16384;
    v1[DISK_reads] = 4;
    v1[DISK_read_time] = 12000000;
    v1[DISK_busy] = SECOND / 2;
    v1[DISK_queue_time] = 6 * SECOND;
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        int id = find(BARO_KIND_DISK, expected[i].name);
        assert_then(baro_row_derived(ROW(&before), ROW(&now), id, &v), v == expected[i].value);
    }
    v = -1;
    int write_mean = find(BARO_KIND_DISK, "write_mean_ns");
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), write_mean, &v), BARO_ABSENT_UNKNOWN);
    now.id = 5; /* another disk */
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), 0, &v), BARO_ABSENT_UNKNOWN);
    now.id = 4;
    now.read_ns = SECOND; /* it was not read since */
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), 0, &v), BARO_ABSENT_UNKNOWN);
    assert_true(v == -1);
}

/* The cores of a process are the rate of its cpu_ns. */
TEST(agrees_with_rates)
{
    struct baro_process before = {.read_ns = 3}, now = {.read_ns = 1000000007};
    double derived, rate;
    before.value[PROCESS_cpu] = 11;
    now.value[PROCESS_cpu] = 123456789;
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), find(BARO_KIND_PROCESS, "cores"), &derived), 0);
    assert_int_equal(baro_row_rate(ROW(&before), ROW(&now), PROCESS_cpu, &rate), 0);
    double difference = derived - rate / 1e9;
    assert_true(difference < 1e-12 && difference > -1e-12);
}

/* Each GPU is read at a time of its own, a little after the reading began: its growth is over the time between these.
 */
TEST(own_times)
{
    uint64_t v0[GPU_MAX] = {0}, v1[GPU_MAX] = {0};
    uint8_t absent[GPU_MAX] = {0};
    struct baro_entity before = {.id = 4, .kind = KIND_gpu, .value = v0, .absent = absent, .read_ns = SECOND};
    struct baro_entity now = {.id = 4, .kind = KIND_gpu, .value = v1, .absent = absent, .read_ns = 2 * SECOND};
    double v = -1;
    int busy = find(KIND_gpu, "busy_ratio");
    v0[GPU_read_at] = SECOND + SECOND / 10;
    v1[GPU_read_at] = 2 * SECOND + SECOND / 2;
    v1[GPU_busy] = SECOND * 7 / 10;
    assert_then(baro_row_derived(ROW(&before), ROW(&now), busy, &v), v > 0.4999 && v < 0.5001);
    assert_then(baro_row_rate(ROW(&before), ROW(&now), GPU_busy, &v), v > 0.4999e9 && v < 0.5001e9);
    v1[GPU_read_at] = v0[GPU_read_at]; /* the kind was read again, this one was not */
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), busy, &v), BARO_ABSENT_UNKNOWN);
    absent[GPU_read_at] = BARO_ABSENT_NOT_YET;
    assert_int_equal(baro_row_derived(ROW(&before), ROW(&now), busy, &v), BARO_ABSENT_NOT_YET);
}
