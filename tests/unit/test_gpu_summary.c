/* SPDX-License-Identifier: Apache-2.0 */
/* What the summary makes of GPUs: of all together, of instances, and the job's share of the energy. */

#define UNIT_EACH setup, teardown
#include "unit.h"
#include "baro/summary.h"
#include "base/clock.h"
#include "libbaro/summary/facts.h"
#include "libbaro/summary/summary.h"

#define MOST 4

static struct baro_summary *s;
static struct baro_entity gpu[MOST], *at[MOST];
static uint64_t value[MOST][GPU_MAX];
static uint8_t absent[MOST][GPU_MAX];

static int setup(void **state)
{
    struct baro_header h = {0};
    s = summary_new(&h);
    assert_non_null(s);
    memset(value, 0, sizeof(value));
    memset(absent, 0, sizeof(absent));
    for (uint32_t i = 0; i < MOST; i++) {
        gpu[i] = (struct baro_entity){
            .id = 10 + i, .kind = KIND_gpu, .name = "gpu", .label = "H100", .value = value[i], .absent = absent[i]};
        at[i] = &gpu[i];
    }
    return 0;
}

static int teardown(void **state)
{
    summary_free(s);
    return 0;
}

static void take(size_t n, uint64_t seconds)
{
    struct baro_sample sample = {0};
    for (size_t i = 0; i < n; i++)
        value[i][GPU_read_at] = seconds * NS_PER_SEC;
    sample.entities[KIND_gpu] = (struct baro_entities){.at = at, .n = n};
    sample.t_ns = seconds * NS_PER_SEC;
    summary_add_sample(s, &sample);
}

static struct baro_value fact(const char *section, const char *name, size_t row)
{
    struct baro_value v = {0};
    int id = baro_summary_fact_find(section, name);
    assert_true(id >= 0);
    baro_summary_value(s, id, row, &v);
    return v;
}

/* A device that lists the processes of its two instances, too; one that lists none; one without instances. */
TEST(an_instance_and_its_parent_count_once)
{
    static const uint64_t parents[] = {5000, 0, 2000};
    for (size_t i = 0; i < 3; i++) {
        teardown(NULL);
        setup(NULL);
        for (size_t k = 1; k < 3; k++) {
            gpu[k].owner = (struct baro_entity_owner){.kind = BARO_OWNER_ENTITY, .id = 10};
            value[k][GPU_memory_job] = value[k][GPU_memory_job_peak] = 1000 + k * 1000;
        }
        value[0][GPU_memory_job] = value[0][GPU_memory_job_peak] = parents[i];
        absent[0][GPU_memory_job] = absent[0][GPU_memory_job_peak] = parents[i] ? 0 : BARO_ABSENT_DENIED;
        absent[0][GPU_processes_job] = absent[0][GPU_busy_job] = BARO_ABSENT_DENIED;
        value[3][GPU_memory_job] = value[3][GPU_memory_job_peak] = 70;
        take(4, 1);
        assert_int_equal(fact("gpu", "memory_job_peak_bytes", 0).u64, 5070);
        assert_int_equal(fact("gpu", "used", 0).u64, 2);
        assert_int_equal(fact("gpus", "is_used", 0).u64, 1);
        assert_int_equal(fact("gpu", "used", 0).flags, 0);
    }
}

/* A hostile tape: its times of reading fall. */
TEST(watched_time_does_not_wrap)
{
    take(1, 9);
    value[0][GPU_energy] = 300000000;
    take(1, 5);
    assert_int_equal(gpu_watched_ns(&s->fold.gpus.at[0]), 0);
}

/* 300 J: of the GPU time the job had 20 s and others 40 s. Alone it has all; where it used nothing, none. */
TEST(the_jobs_share_of_the_energy)
{
    static const struct {
        uint64_t job_s, others_s, unattributed_s, others;
        uint8_t lacks_others;
        int absent;
        double joules;
        unsigned flags;
    } cases[] = {{20, 40, 0, 1, 0, 0, 100, BARO_VALUE_ESTIMATE},
                 {20, 30, 10, 1, 0, 0, 100, BARO_VALUE_ESTIMATE | BARO_VALUE_LOWER_BOUND},
                 {0, 0, 10, 1, 0, BARO_ABSENT_UNKNOWN, 0, 0},
                 {20, 0, 0, 0, 0, 0, 300, 0},
                 {0, 40, 0, 1, 0, 0, 0, 0},
                 {20, 0, 0, 0, BARO_ABSENT_UNSUPPORTED, BARO_ABSENT_UNSUPPORTED, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        teardown(NULL);
        setup(NULL);
        absent[0][GPU_busy_others] = cases[i].lacks_others;
        take(1, 1);
        value[0][GPU_energy] = 300 * 1000000;
        value[0][GPU_busy_job] = cases[i].job_s * NS_PER_SEC;
        value[0][GPU_busy_others] = cases[i].others_s * NS_PER_SEC;
        value[0][GPU_busy_unattributed] = cases[i].unattributed_s * NS_PER_SEC;
        value[0][GPU_processes_others] = cases[i].others;
        take(1, 100);
        struct baro_value one = fact("gpus", "job_energy_joules", 0), all = fact("gpu", "job_energy_joules", 0);
        assert_int_equal(one.absent, cases[i].absent);
        assert_int_equal(one.absent ? 0 : one.flags, cases[i].flags);
        if (!one.absent)
            assert_true(one.real > cases[i].joules - 1e-6 && one.real < cases[i].joules + 1e-6);
        assert_true(!all.absent == !one.absent && (all.absent || all.real == one.real));
    }
}

/* In a container that has PIDs of its own all processes are unattributed: no word that the job did not use it. */
TEST(use_that_may_be_the_jobs_is_not_none)
{
    value[0][GPU_memory_unattributed] = 5000;
    take(2, 1);
    assert_int_equal(fact("gpus", "is_used", 0).absent, BARO_ABSENT_UNKNOWN);
    assert_int_equal(fact("gpus", "is_used", 1).absent, BARO_PRESENT);
    assert_int_equal(fact("gpu", "used", 0).flags, BARO_VALUE_LOWER_BOUND);
    assert_int_equal(fact("gpu", "busy_job_ns", 0).flags, BARO_VALUE_LOWER_BOUND);
    assert_int_equal(fact("gpu", "memory_job_peak_bytes", 0).flags, BARO_VALUE_LOWER_BOUND);
    teardown(NULL);
    setup(NULL);
    value[0][GPU_memory_unattributed] = 5000;
    take(1, 1);
    assert_int_equal(fact("gpu", "used", 0).absent, BARO_ABSENT_UNSUPPORTED);
}

/* A device that was lost at the end had used more than it said. */
TEST(what_a_lost_device_used_is_a_lower_bound)
{
    take(1, 1);
    value[0][GPU_energy] = 5000000;
    take(1, 2);
    assert_int_equal(fact("gpu", "energy_joules", 0).flags, 0);
    absent[0][GPU_energy] = BARO_ABSENT_GONE;
    take(1, 2);
    assert_true(fact("gpu", "energy_joules", 0).real > 4.9);
    assert_int_equal(fact("gpu", "energy_joules", 0).flags, BARO_VALUE_LOWER_BOUND);
}
