/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of GPUs as entities: counters across helper processes, whose a process is, and what is not valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/collectors/gpu/gpus.h"

#define START 1000ull

static struct gpu_tables t;
static struct gpu_reading *r;
static uint32_t ids;
static char said[512];

static const char *is_member(void *context, int32_t pid, uint64_t start, struct baro_key *ret)
{
    *ret = (struct baro_key){pid, start};
    return pid == 40 && start == 4 ? "train" : NULL;
}

static void say(void *context, const char *line, uint64_t number)
{
    strncat(said, line, sizeof(said) - strlen(said) - 2);
    strcat(said, "\n");
}

static int setup(void **state)
{
    ids = 0;
    *said = 0;
    r = calloc(1, sizeof(*r));
    assert_non_null(r);
    *r = (struct gpu_reading){.epoch = 1, .read_ns = START + 100, .n_devices = 1};
    strcpy(r->device[0].name, "gpu0");
    strcpy(r->device[0].model, "H100");
    strcpy(r->device[0].uuid, "GPU-1");
    r->device[0].parent = GPU_NONE;
    r->device[0].value[GPU_read_at] = START + 100;
    return gpu_tables_init(&t);
}

static int teardown(void **state)
{
    gpu_tables_done(&t);
    free(r);
    return 0;
}

static const struct baro_entity *take(void)
{
    gpu_tables_take(&t, r, START, &ids, is_member, say, NULL);
    return t.devices.n ? t.devices.at[0] : NULL;
}

static struct gpu_process *add(int32_t host_pid, int32_t pid, uint64_t start, uint64_t memory, uint64_t busy)
{
    struct gpu_process *p = &r->process[r->n_processes++];
    *p = (struct gpu_process){.host_pid = host_pid, .pid = pid, .start = start};
    p->value[GPU_PROCESS_memory] = memory;
    p->value[GPU_PROCESS_busy] = busy;
    return p;
}

static void counters_go_on(void **state)
{
    r->device[0].value[GPU_energy] = 70;
    assert_int_equal(take()->value[GPU_energy], 70);
    r->epoch = 2; /* another helper process begins at 0 */
    r->device[0].value[GPU_energy] = 5;
    assert_int_equal(take()->value[GPU_energy], 75);
    r->device[0].value[GPU_energy] = 8;
    assert_int_equal(take()->value[GPU_energy], 78);
    assert_int_equal(take()->value[GPU_read_at], 100);
    assert_int_equal(take()->value[GPU_energy_estimated], 1); /* what it used between the two is not known */
}

/* The joules between two helper processes are in no reading: the first one of the new process says so. */
static void a_meter_of_another_helper_lacks_some(void **state)
{
    r->n_meters = 1;
    strcpy(r->meter[0].name, "package-0");
    r->meter[0].value[ENERGY_energy] = 70;
    take();
    const struct baro_entity *e = t.meters.at[0];
    assert_int_equal(e->absent[ENERGY_energy], BARO_PRESENT);
    r->epoch = 2;
    r->meter[0].value[ENERGY_energy] = 5;
    take();
    assert_int_equal(e->absent[ENERGY_energy], BARO_ABSENT_UNKNOWN);
    take();
    assert_int_equal(e->absent[ENERGY_energy], BARO_PRESENT);
    assert_int_equal(e->value[ENERGY_energy], 75);
}

static void goes_on(uint64_t ns)
{
    r->read_ns += ns;
    r->device[0].value[GPU_read_at] += ns;
}

/* The file of a meter can't be read any more, or another one is found: neither is a gap. */
static void a_meter_of_another_helper_says_why_it_is_absent(void **state)
{
    r->n_meters = 1;
    strcpy(r->meter[0].name, "package-0");
    take();
    r->epoch = 2;
    r->meter[0].absent[ENERGY_energy] = BARO_ABSENT_DENIED;
    r->n_meters = 2;
    strcpy(r->meter[1].name, "dram-0");
    take();
    assert_int_equal(t.meters.at[0]->absent[ENERGY_energy], BARO_ABSENT_DENIED);
    assert_int_equal(t.meters.at[1]->absent[ENERGY_energy], BARO_PRESENT);
}

/* A meter lacks some in a reading that is passed over: the next one that is taken says so, once. */
static void a_gap_of_a_meter_in_what_was_passed(void **state)
{
    r->n_meters = 1;
    strcpy(r->meter[0].name, "package-0");
    take();
    const struct baro_entity *e = t.meters.at[0];
    r->meter[0].absent[ENERGY_energy] = BARO_ABSENT_UNKNOWN;
    gpu_tables_pass(&t, r);
    r->meter[0].absent[ENERGY_energy] = BARO_PRESENT;
    gpu_tables_pass(&t, r);
    take();
    assert_int_equal(e->absent[ENERGY_energy], BARO_ABSENT_UNKNOWN);
    take();
    assert_int_equal(e->absent[ENERGY_energy], BARO_PRESENT);
}

/* Two processes, each on an engine of its own, use no more than the device's time together: 100 since the beginning,
 * half of it each, in whatever order they are. */
static void all_processes_are_no_more_than_the_time(void **state)
{
    add(41, 41, 9, 200, 80);
    add(40, 40, 4, 1000, 80);
    const struct baro_entity *e = take();
    assert_int_equal(e->value[GPU_busy_job], 50);
    assert_int_equal(e->value[GPU_busy_others], 50);
}

/* The time in which nobody used it is over: 100 that were idle, then two engines for 100, then one for 60. */
static void idle_time_is_not_used_later(void **state)
{
    add(40, 40, 4, 1000, 0);
    add(42, 40, 4, 1000, 0);
    take();
    goes_on(100);
    r->process[0].value[GPU_PROCESS_busy] = r->process[1].value[GPU_PROCESS_busy] = 100;
    assert_int_equal(take()->value[GPU_busy_job], 100);
    goes_on(100);
    r->process[0].value[GPU_PROCESS_busy] = 160;
    assert_int_equal(take()->value[GPU_busy_job], 160);
}

static void each_process_is_somebodys(void **state)
{
    add(40, 40, 4, 1000, 10);
    add(41, 41, 9, 200, 20); /* another one's */
    add(42, 0, 0, 30, 40);   /* not found */
    add(43, 40, 5, 7, 0);    /* another process with the number of a member */
    add(44, 0, 0, 9, 0);
    const struct baro_entity *e = take();
    assert_int_equal(e->value[GPU_memory_job], 1000);
    assert_int_equal(e->value[GPU_memory_others], 207);
    assert_int_equal(e->value[GPU_memory_unattributed], 39);
    assert_int_equal(e->value[GPU_processes_job], 1);
    assert_int_equal(e->value[GPU_processes_others], 4);
    assert_int_equal(e->value[GPU_busy_job], 10);
    assert_int_equal(t.processes.n, 1);
    assert_string_equal(t.processes.at[0]->label, "train");
    assert_int_equal(t.processes.at[0]->owner.process.pid, 40);
    assert_int_equal(t.processes.at[0]->value[GPU_PROCESS_gpu], e->id);

    goes_on(100);
    r->process[0].value[GPU_PROCESS_memory] = 600;
    r->process[0].value[GPU_PROCESS_busy] = 25;
    e = take();
    assert_int_equal(e->value[GPU_memory_job], 600);
    assert_int_equal(e->value[GPU_memory_job_peak], 1000);
    assert_int_equal(e->value[GPU_busy_job], 25);

    goes_on(100);
    r->epoch = 2;
    r->process[0].value[GPU_PROCESS_busy] = 3;
    assert_int_equal(take()->value[GPU_busy_job], 28);
    assert_int_equal(t.processes.at[0]->value[GPU_PROCESS_busy], 28);

    r->n_processes = 0;
    e = take();
    assert_int_equal(t.processes.n, 0);
    assert_int_equal(e->value[GPU_memory_job], 0);
    assert_int_equal(e->value[GPU_busy_job], 28);
}

static void a_sum_that_lacks_a_process_is_absent(void **state)
{
    static const int memory[] = {GPU_memory_job, GPU_memory_others, GPU_memory_unattributed};
    add(40, 40, 4, 1000, 10); /* the job's */
    add(41, 41, 9, 200, 20);  /* another one's */
    add(42, 0, 0, 30, 40);    /* not found */
    add(45, 45, 9, 6, 0);
    add(46, 0, 0, 8, 0);
    for (size_t lacks = 0; lacks < 5; lacks++) {
        for (size_t i = 0; i < 5; i++)
            r->process[i].absent[GPU_PROCESS_memory] = i == lacks ? BARO_ABSENT_UNSUPPORTED : BARO_PRESENT;
        const struct baro_entity *e = take();
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(e->absent[memory[i]], i == (lacks < 3 ? lacks : lacks - 2) ? BARO_ABSENT_UNSUPPORTED : 0);
    }
    r->process[4].is_gone = true; /* it holds nothing any more */
    assert_int_equal(take()->value[GPU_memory_unattributed], 30);
}

/* A helper process without the driver's library finds no device: the values of before are not those of now. */
static void devices_that_are_not_found_any_more(void **state)
{
    r->device[0].value[GPU_power] = 300;
    r->device[0].absent[GPU_power] = BARO_PRESENT;
    const struct baro_entity *e = take();
    assert_int_equal(e->absent[GPU_power], BARO_PRESENT);
    uint32_t n = r->n_devices;
    r->epoch++;
    r->n_devices = 0;
    take();
    assert_int_equal(e->absent[GPU_power], BARO_ABSENT_GONE);
    r->epoch++;
    r->n_devices = n;
    e = take();
    assert_int_equal(e->absent[GPU_power], BARO_PRESENT);
    assert_int_equal(e->value[GPU_power], 300);
}

static void absent_is_not_zero(void **state)
{
    add(40, 40, 4, 1000, 10);
    r->device[0].absent[GPU_memory_job] = r->device[0].absent[GPU_busy_job] = BARO_ABSENT_UNSUPPORTED;
    r->device[0].absent[GPU_power] = BARO_ABSENT_DENIED;
    const struct baro_entity *e = take();
    assert_int_equal(e->absent[GPU_memory_job], BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(e->absent[GPU_busy_job], BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(e->absent[GPU_power], BARO_ABSENT_DENIED);
    assert_int_equal(e->value[GPU_memory_job], 0);
}

static void what_is_not_valid_is_left_out(void **state)
{
    r->n_processes = UINT32_MAX;
    r->n_meters = UINT32_MAX;
    r->device[0].parent = 0; /* of itself */
    r->device[0].slot = UINT32_MAX;
    r->device[0].absent[GPU_power] = 255;
    memset(r->device[0].uuid, 'x', sizeof(r->device[0].uuid));
    const struct baro_entity *e = take();
    assert_int_equal(e->absent[GPU_power], BARO_ABSENT_UNKNOWN);
    assert_int_equal(e->owner.kind, BARO_OWNER_NONE);
    assert_int_equal(t.processes.n + t.meters.n, 0);
    add(1, 1, 1, 1, 1)->device = 77;
    r->n_processes = 1;
    take();
    assert_int_equal(t.processes.n, 0);
    r->n_devices = UINT32_MAX;
    take();
}

static void events_come_once(void **state)
{
    take();
    assert_string_equal(said, "");
    r->device[0].state = GPU_LOST;
    r->device[0].value[GPU_xid_errors] = 2;
    r->device[0].value[GPU_xid_last] = 79;
    take();
    take();
    assert_string_equal(said, "GPU lost: gpu0 (H100): the driver says that it is not on the bus any more\n"
                              "gpu0 (H100): Xid error 79\n");
}

static void a_hang_takes_values_away(void **state)
{
    r->device[0].value[GPU_memory_used_peak] = 9;
    take();
    gpu_tables_lack(&t, 0, BARO_ABSENT_TIMEOUT);
    const struct baro_entity *e = t.devices.at[0];
    assert_int_equal(e->absent[GPU_power], BARO_ABSENT_TIMEOUT);
    assert_int_equal(e->absent[GPU_memory_used_peak], BARO_PRESENT);
    assert_string_equal(gpu_tables_name(&t, 0), "gpu0");
    assert_null(gpu_tables_name(&t, 3));
}

static void instances_belong_to_a_device(void **state)
{
    r->n_devices = 2;
    strcpy(r->device[1].name, "gpu0/mig1");
    r->device[1].parent = 0;
    take();
    assert_int_equal(t.devices.at[1]->owner.kind, BARO_OWNER_ENTITY);
    assert_int_equal(t.devices.at[1]->owner.id, t.devices.at[0]->id);
}

/* One of several recordings that share a helper began later than it: what was before does not count. */
static void a_late_one_begins_at_nothing(void **state)
{
    t.is_late = true;
    r->device[0].value[GPU_energy] = 70;
    r->device[0].value[GPU_xid_errors] = 2;
    r->device[0].value[GPU_xid_last] = 79;
    r->device[0].value[GPU_memory_used] = 500;
    r->device[0].value[GPU_memory_used_peak] = 900;
    add(40, 40, 4, 1000, 10);
    add(41, 41, 9, 200, 20);
    const struct baro_entity *e = take();
    assert_int_equal(e->value[GPU_energy], 0);
    assert_int_equal(e->value[GPU_xid_errors], 0);
    assert_int_equal(e->absent[GPU_xid_last], BARO_ABSENT_NOT_YET);
    assert_int_equal(e->value[GPU_memory_used_peak], 500);
    assert_int_equal(e->value[GPU_busy_job], 0);
    assert_int_equal(e->value[GPU_busy_others], 0);
    assert_int_equal(t.processes.at[0]->value[GPU_PROCESS_busy], 0);
    goes_on(100);
    r->device[0].value[GPU_energy] = 75;
    r->process[0].value[GPU_PROCESS_busy] = 13;
    e = take();
    assert_int_equal(e->value[GPU_energy], 5);
    assert_int_equal(e->value[GPU_busy_job], 3);
    assert_int_equal(t.processes.at[0]->value[GPU_PROCESS_busy], 3);
    goes_on(100);
    r->epoch = 2; /* another helper process begins at 0 */
    r->device[0].value[GPU_energy] = 1;
    r->device[0].value[GPU_xid_errors] = 0;
    r->process[0].value[GPU_PROCESS_busy] = 4;
    r->process[1].value[GPU_PROCESS_busy] = 0;
    e = take();
    assert_int_equal(e->value[GPU_energy], 6);
    assert_int_equal(e->value[GPU_busy_job], 7);
    assert_int_equal(*said, 0);
}

/* Peaks of a reading that was not taken are those of the next one that is, and no longer. */
static void peaks_of_what_was_passed(void **state)
{
    take();
    r->device[0].value[GPU_power_peak] = 600;
    r->device[0].value[GPU_busy_peak] = 90;
    gpu_tables_pass(&t, r);
    r->device[0].value[GPU_power_peak] = 100;
    r->device[0].value[GPU_busy_peak] = 95;
    const struct baro_entity *e = take();
    assert_int_equal(e->value[GPU_power_peak], 600);
    assert_int_equal(e->value[GPU_busy_peak], 95);
    e = take();
    assert_int_equal(e->value[GPU_power_peak], 100);
}

/* Of the machine alone there is no job that could have used it. */
static void alone_has_no_job(void **state)
{
    t.is_alone = true;
    add(41, 41, 9, 200, 20);
    const struct baro_entity *e = take();
    assert_int_equal(e->absent[GPU_memory_job], BARO_ABSENT_NOT_ASKED);
    assert_int_equal(e->absent[GPU_busy_job], BARO_ABSENT_NOT_ASKED);
    assert_int_equal(e->value[GPU_memory_others], 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counters_go_on),
        TEST(a_meter_of_another_helper_lacks_some),
        TEST(a_meter_of_another_helper_says_why_it_is_absent),
        TEST(a_gap_of_a_meter_in_what_was_passed),
        TEST(all_processes_are_no_more_than_the_time),
        TEST(idle_time_is_not_used_later),
        TEST(each_process_is_somebodys),
        TEST(a_sum_that_lacks_a_process_is_absent),
        TEST(devices_that_are_not_found_any_more),
        TEST(absent_is_not_zero),
        TEST(what_is_not_valid_is_left_out),
        TEST(events_come_once),
        TEST(a_hang_takes_values_away),
        TEST(instances_belong_to_a_device),
        TEST(a_late_one_begins_at_nothing),
        TEST(peaks_of_what_was_passed),
        TEST(alone_has_no_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
