/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of baro-gpu from a driver that a test is: what it says once, and what becomes of it. */
#include <sys/stat.h>
#include <unistd.h>

#define UNIT_EACH setup, teardown
#include "unit.h"
#include "files.h"
#include "programs/baro-gpu/gpu_helper.h"

/* ---- the driver ---- */

static struct {
    int energy_code, power_code;
    unsigned long long mj;
    unsigned mw;
    unsigned field, field_type; /* the one that it has */
    uint64_t field_value;
    unsigned percent; /* utilisation, where it has no buffer */
    struct nvml_sample sample[64];
    unsigned n_samples;
    struct nvml_process_24 process[8];
    struct nvml_process_use use[8];
    unsigned n_processes, n_uses;
} says;

static int energy(nvml_device d, unsigned long long *mj)
{
    *mj = says.mj;
    return says.energy_code;
}

static int power(nvml_device d, unsigned *mw)
{
    *mw = says.mw;
    return says.power_code;
}

static int fields(nvml_device d, int n, struct nvml_field *f)
{
    for (int i = 0; i < n; i++) {
        f[i].code = f[i].id == says.field ? NVML_OK : NVML_NO_DATA;
        f[i].type = says.field_type;
        f[i].value.u64 = says.field_value;
    }
    return NVML_OK;
}

static int utilization(nvml_device d, struct nvml_utilization *u)
{
    *u = (struct nvml_utilization){says.percent, 0};
    return NVML_OK;
}

static int samples(nvml_device d, unsigned type, unsigned long long since, unsigned *value_type, unsigned *n,
                   struct nvml_sample *at)
{
    if (type != NVML_SAMPLES_GPU || !says.n_samples)
        return NVML_NOT_FOUND;
    *value_type = NVML_TYPE_U32;
    memcpy(at, says.sample, says.n_samples * sizeof(*at));
    *n = says.n_samples;
    return NVML_OK;
}

static int compute(nvml_device d, unsigned *n, void *at)
{
    memcpy(at, says.process, says.n_processes * sizeof(*says.process));
    *n = says.n_processes;
    return NVML_OK;
}

static int process_use(nvml_device d, struct nvml_process_use *at, unsigned *n, unsigned long long since)
{
    memcpy(at, says.use, says.n_uses * sizeof(*at));
    *n = says.n_uses;
    return NVML_OK;
}

/* ---- the helper ---- */

static struct gpu_helper h;
static struct unit *u;

static int setup(void **state)
{
    memset(&says, 0, sizeof(says));
    h = (struct gpu_helper){.peaks_taken = true};
    h.shared = calloc(1, sizeof(*h.shared));
    h.unit = calloc(GPU_DEVICES_MOST, sizeof(*h.unit));
    h.out = calloc(1, sizeof(*h.out));
    assert_true(h.shared && h.unit && h.out);
    u = unit_add(&h, NULL, 0, GPU_NONE);
    return 0;
}

static int teardown(void **state)
{
    free(h.list);
    free(h.shared);
    free(h.unit);
    free(h.out);
    return 0;
}

/* Reads it as if `seconds` had passed since the reading before. */
static void read_after(double seconds)
{
    uint64_t ns = (uint64_t)(seconds * 1e9);
    uint64_t *const times[] = {&u->read_ns,         &u->checked_ns,       &u->power_ns,
                               &u->process_read_ns, &u->energy.before_ns, &u->energy.odd_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        *times[i] -= *times[i] ? ns : 0;
    for (size_t i = 0; i < UNIT_FIELDS; i++) {
        u->field[i].before_ns -= u->field[i].before_ns ? ns : 0;
        u->field[i].odd_ns -= u->field[i].odd_ns ? ns : 0;
    }
    for (size_t i = 0; i < GPU_MAX; i++)
        u->present_ns[i] -= u->present_ns[i] ? ns : 0;
    device_read(&h, u);
    unit_check(u);
    processes_read(&h, u, 0, true);
}

static void assert_about(uint64_t value, double expected)
{
    assert_true((double)value >= expected * 0.99 && (double)value <= expected * 1.01);
}

/* ---- counters ---- */

/* 100, a value of rubbish, 103: it has grown by 3. Without a rubbish value one near the largest wraps. */
TEST(a_field_of_32_bits_wraps_and_rubbish_does_not)
{
    static const struct {
        uint64_t value[3];
        int absent;
        uint64_t growth;
    } cases[] = {{{100, 4294967290, 103}, 1, 3},
                 {{100, UINT32_MAX, 103}, 1, 3},
                 {{4294967290, 4294967295 - 1, 10}, 0, 16},
                 {{100, 0, 103}, 1, 3},
                 {{100, 5, 7}, 1, 2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        teardown(NULL);
        setup(NULL);
        h.nv.fields = fields;
        says.field = NVML_FIELD_PCIE_REPLAYS;
        says.field_type = NVML_TYPE_U32;
        for (size_t k = 0; k < 3; k++) {
            says.field_value = cases[i].value[k];
            read_after(1);
            if (k == 1)
                assert_int_equal(u->out.absent[GPU_pcie_replays] != BARO_PRESENT, cases[i].absent);
        }
        assert_int_equal(u->out.absent[GPU_pcie_replays], BARO_PRESENT);
        assert_int_equal(u->out.value[GPU_pcie_replays], cases[i].growth);
    }
}

/* ---- energy ---- */

TEST(energy_of_a_call_that_fails_once_counts_once)
{
    h.nv.energy = energy;
    h.nv.power = power;
    says.mw = 200000;
    says.mj = 1000000;
    read_after(1);
    says.energy_code = NVML_UNKNOWN;
    read_after(1);
    assert_int_equal(u->out.absent[GPU_energy], BARO_ABSENT_UNKNOWN);
    says.energy_code = NVML_OK;
    says.mj += 400000;
    read_after(1);
    assert_int_equal(u->out.value[GPU_energy], 400 * 1000000);
    assert_int_equal(u->out.value[GPU_energy_estimated], 0);
}

TEST(energy_that_began_anew_stays_an_estimate)
{
    h.nv.energy = energy;
    says.mj = 5000000;
    read_after(1);
    says.mj = 7000;
    read_after(1); /* one value alone may be rubbish */
    assert_int_equal(u->out.absent[GPU_energy], BARO_ABSENT_UNKNOWN);
    says.mj = 107000;
    read_after(1);
    assert_int_equal(u->out.value[GPU_energy], 100 * 1000000);
    assert_int_equal(u->out.value[GPU_energy_estimated], 1);
    says.energy_code = NVML_TIMEOUT;
    read_after(1);
    says.energy_code = NVML_OK;
    read_after(1);
    assert_int_equal(u->out.value[GPU_energy_estimated], 1);
}

TEST(energy_without_a_counter_is_power_by_time)
{
    h.nv.power = power;
    says.mw = 100000;
    read_after(1);
    says.mw = 300000;
    read_after(2);
    assert_about(u->out.value[GPU_energy], 400e6);
    says.power_code = NVML_UNKNOWN; /* its time counts with the next reading */
    read_after(1);
    says.power_code = NVML_OK;
    read_after(1);
    assert_about(u->out.value[GPU_energy], 1000e6);
    says.mw = UINT32_MAX - 1;
    read_after(1);
    assert_int_equal(u->out.absent[GPU_power], BARO_ABSENT_UNKNOWN);
    says.mw = 300000;
    read_after(1);
    assert_about(u->out.value[GPU_energy], 1600e6);
    assert_int_equal(u->out.value[GPU_energy_estimated], 1);
}

/* ---- utilisation ---- */

TEST(utilisation_above_100_is_absent)
{
    h.nv.utilization = utilization;
    says.percent = 4000;
    read_after(1);
    assert_int_equal(u->out.absent[GPU_busy], BARO_ABSENT_UNKNOWN);
    assert_int_equal(u->out.absent[GPU_busy_peak], BARO_ABSENT_UNKNOWN);
}

/* Values of 1.8 s for each second are no more than a second of each. */
TEST(a_clock_that_is_too_fast)
{
    uint64_t stamp = 1000000000, busy_ns = 0, before = 0;
    h.nv.utilization = utilization;
    h.nv.samples = samples;
    for (unsigned i = 0; i < 11; i++) {
        says.n_samples = 11;
        for (unsigned k = 0; k < 11; k++) {
            stamp += 166667;
            says.sample[k] = (struct nvml_sample){.stamp_us = stamp, .value.u32 = 100};
        }
        read_after(1);
        assert_int_equal(u->out.absent[GPU_busy], BARO_PRESENT);
        assert_true(u->out.value[GPU_busy] - busy_ns <= u->read_ns - before);
        busy_ns = u->out.value[GPU_busy];
        before = u->read_ns - NS_PER_SEC; /* as read_after() moves it */
    }
    assert_about(busy_ns, 10e9);
}

/* ---- gauges ---- */

TEST(temperature_of_a_newer_driver)
{
    (void)state; /* it has a field, and the call that is deprecated no longer */
    h.nv.fields = fields;
    says.field = NVML_FIELD_TEMPERATURE;
    says.field_type = NVML_TYPE_U32;
    says.field_value = 57;
    read_after(1);
    assert_int_equal(u->out.value[GPU_temperature], 57000);
    assert_int_equal(u->out.absent[GPU_temperature], BARO_PRESENT);
}

/* Of one without rows to remap, as before Ampere: pages. */
TEST(pages_of_an_older_device)
{
    h.nv.fields = fields;
    says.field = NVML_FIELD_RETIRED_SBE;
    says.field_type = NVML_TYPE_U32;
    says.field_value = 3;
    read_after(1);
    assert_int_equal(u->out.absent[GPU_retired_pages], BARO_PRESENT);
    assert_int_equal(u->out.value[GPU_retired_pages], 3);
}

/* ---- processes ---- */

TEST(shares_of_processes_are_no_more_than_the_device)
{
    h.nv.compute = compute;
    h.nv.process_use = process_use;
    says.n_processes = says.n_uses = 3;
    for (unsigned i = 0; i < 3; i++) {
        says.process[i] = (struct nvml_process_24){.pid = 101 + i, .memory = 1000};
        says.use[i] = (struct nvml_process_use){.pid = 101 + i, .stamp_us = 1, .sm = i ? 100 : 50, .memory = 20};
    }
    read_after(1);
    for (unsigned i = 0; i < 3; i++)
        says.use[i].stamp_us = 2;
    read_after(10);
    assert_about(h.out->process[0].value[GPU_PROCESS_busy], 2e9);
    assert_about(h.out->process[1].value[GPU_PROCESS_busy], 4e9);
    assert_about(h.out->process[2].value[GPU_PROCESS_busy], 4e9);
    assert_about(h.out->process[0].value[GPU_PROCESS_memory_busy], 2e9);
}

/* ---- meters ---- */

#define ZONE "sys/class/powercap/intel-rapl:0/"
#define CHIP "sys/class/hwmon/hwmon0/"

/* Each case: the counter at four readings, in microjoules, and what it has grown by. A value of 0 between two others is
 * passed over; a counter that wraps near its range is followed; one that began anew goes on from there. */
TEST(a_meter_passes_over_what_cannot_be)
{
    static const struct {
        const char *value[4];
        uint64_t growth, wraps;
    } cases[] = {{{"100000000", "0", "103000000", "104000000"}, 4000000, 0},
                 {{"200000000000", "0", "200003000000", "200004000000"}, 4000000, 0},
                 {{"262143000000", "1671150", "1671151", "2671151"}, 3000001, 1},
                 {{"100000000", "5000000", "6000000", "7000000"}, 2000000, 0},
                 {{"100000000", "999999999999999", "100000001", "100000002"}, 0, 0},
                 {{"100000000", "x", "", "101000000"}, 1000000, 0}};
    char root[sizeof(FILES_NAME)];
    files_make(root);
    files_put(root, ZONE "name", "package-0\n");
    files_put(root, ZONE "max_energy_range_uj", "262143328850\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t now = NS_PER_SEC;
        files_put(root, ZONE "energy_uj", cases[i].value[0]);
        struct meters *m = meters_new(root);
        for (size_t k = 0; k < 4; k++, now += 10 * NS_PER_SEC) {
            files_put(root, ZONE "energy_uj", cases[i].value[k]);
            meters_read(m, h.out, now);
        }
        const struct gpu_meter *one = &h.out->meter[0];
        assert_int_equal(one->value[ENERGY_energy], cases[i].growth);
        assert_int_equal(one->value[ENERGY_wraps], cases[i].wraps);
        free(m);
    }
    files_put(root, ZONE "energy_uj", "5");
    struct meters *m = meters_new(root); /* a pause in which it can have begun again twice is not known */
    meters_read(m, h.out, NS_PER_SEC);
    meters_read(m, h.out, 1000 * NS_PER_SEC);
    assert_int_equal(h.out->meter[0].absent[ENERGY_energy], BARO_ABSENT_UNKNOWN);
    free(m);
    files_remove(root);
}

/* A sensor: what it grew by while it leapt counts when it is plausible again; one that stays where it leapt goes on. */
TEST(a_sensor_that_leaps_once_loses_nothing)
{
    static const struct {
        const char *value;
        int absent;
        uint64_t energy;
    } steps[] = {{"1000", 0, 0},
                 {"9223372036854775808", BARO_ABSENT_UNKNOWN, 0},
                 {"3001000", 0, 3000000},
                 {"9223372036854775808", BARO_ABSENT_UNKNOWN, 3000000},
                 {"9223372036854775808", 0, 3000000},
                 {"9223372036858775808", 0, 7000000}};
    char root[sizeof(FILES_NAME)];
    uint64_t now = NS_PER_SEC;
    files_make(root);
    files_put(root, CHIP "name", "a\n");
    files_put(root, CHIP "energy1_input", "1000");
    struct meters *m = meters_new(root);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++, now += NS_PER_SEC) {
        files_put(root, CHIP "energy1_input", steps[i].value);
        meters_read(m, h.out, now);
        assert_int_equal(h.out->meter[0].absent[ENERGY_energy], steps[i].absent);
        assert_int_equal(h.out->meter[0].value[ENERGY_energy], steps[i].energy);
    }
    free(m);
    files_remove(root);
}

/* What a process that began a moment ago had used when it was found is no more than it can have used since. */
TEST(a_new_client_used_no_more_than_its_time)
{
    static const char *const texts[][2] = {
        {"drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\ndrm-cycles-rcs:\t28257900\n"
         "drm-total-cycles-rcs:\t7655183225\n",
         "drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\ndrm-cycles-rcs:\t28257910\n"
         "drm-total-cycles-rcs:\t7655184225\n"},
        {"drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\ndrm-engine-render:\t18446744073709551615 ns\n",
         "drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\ndrm-engine-render:\t18446744073709551615 ns\n"}};
    static struct drm *kept[2]; /* it has no end but the program's */
    for (size_t i = 0; i < 2; i++) {
        char folder[sizeof(FILES_NAME)], fd[64];
        teardown(NULL);
        setup(NULL);
        files_make(folder);
        files_put(folder, "7/fd/.keep", "");
        snprintf(fd, sizeof(fd), "%s/7/fd/5", folder);
        assert_int_equal(symlink("/dev/dri/renderD128", fd), 0);
        snprintf(u->card, sizeof(u->card), "/nowhere");
        snprintf(u->out.bus, sizeof(u->out.bus), "0000:03:00.0");
        snprintf(h.proc, sizeof(h.proc), "%s", folder);
        u->has_fdinfo = true;
        kept[i] = h.drm = drm_new();
        assert_non_null(kept[i]);
        uint64_t began = clock_boottime_ns();
        h.shared->last = true;
        h.shared->n_members = 1;
        h.shared->member[0] =
            (struct gpu_member){.pid = 7, .start = began / (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK))};
        h.shared->members_turn = 2;
        for (size_t k = 0; k < 2; k++) {
            files_put(folder, "7/fdinfo/5", texts[i][k]);
            usleep(30000);
            drm_read(&h);
        }
        uint64_t most = clock_boottime_ns() - began + 2 * (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
        assert_int_equal(h.out->n_processes, 1);
        assert_true(h.out->process[0].value[GPU_PROCESS_busy] > 0);
        assert_true(h.out->process[0].value[GPU_PROCESS_busy] <= most);
        files_remove(folder);
    }
}

/* ---- lists of devices ---- */

TEST(which_are_listed)
{
    static const struct {
        const char *list, *chosen; /* of card1, which has no UUID, and card10 */
    } cases[] = {{"card1", "10"},    {"card10", "01"}, {"1,card1", "10"},  {"card1,0", "10"},
                 {"5f1c2ab3", "01"}, {"5F1C", "01"},   {"GPU-5f1c", "01"}, {"7,GPU-5f,card1", "11"},
                 {"0000", "00"},     {"all", "11"},    {"1", "00"},        {"GPU-", "00"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *list = cases[i].list;
        assert_int_equal(gpu_is_listed(list, GPU_NONE, "card1", ""), cases[i].chosen[0] == '1');
        assert_int_equal(gpu_is_listed(list, GPU_NONE, "card10", "5f1c2ab34dd70b3e"), cases[i].chosen[1] == '1');
    }
    assert_true(gpu_is_listed("7,1", 1, "gpu1", "GPU-1"));
    assert_true(gpu_is_listed("12345678", GPU_NONE, "card0", "123456789abcdef0"));
    assert_false(gpu_is_listed("GPU-2", 1, "gpu1", "GPU-1"));
}

/* As CUDA has it: what stands after a number that is no device is none, and the beginning of a UUID is enough. */
TEST(which_are_visible)
{
    static const struct {
        const char *list, *chosen; /* of three */
    } cases[] = {{"2", "001"},          {"1,7,0", "010"}, {"GPU-00000001-1111", "010"},
                 {"0,-1,2", "100"},     {"", "000"},      {"2,1", "011"},
                 {"NoDevFiles", "000"}, {"MIG-5", "000"}, {" 1 , 2", "011"}};
    char uuid[] = "GPU-00000000-1111-2222-3333-444444444444";
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (uint32_t k = 0; k < 3; k++) {
            uuid[11] = (char)('0' + k);
            assert_int_equal(gpu_is_chosen(cases[i].list, k, 3, uuid), cases[i].chosen[k] == '1');
        }
    }
    assert_true(gpu_is_chosen("MIG-GPU-5/1/0", GPU_NONE, 3, "MIG-GPU-5/1/0"));
}
