/* SPDX-License-Identifier: Apache-2.0 */
/* The collector of control groups: values that v1 does not have (tests/fixtures/machines), and a group that is removed
 * during the recording (where the test may make one). */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "files.h"
#include "kernel/cgroup/meter.h"
#include "kernel/proc/machine.h"
#include "recorder/collectors/cgroups/bounds.h"
#include "recorder/collectors/cgroups/state.h"

/* A machine that is a folder, with the groups of its process 7. */
static struct {
    char dir[sizeof(FILES_NAME)];
    int fd;
    struct cgroup_hierarchies places;
    struct cgroup_bounds bounds;
    struct cgroups *groups;
    struct baro_sample s;
    uint32_t ids;
} m;

static int make(void **state)
{
    memset(&m, 0, sizeof(m));
    files_make(m.dir);
    return 0;
}

static void put(const char *path, const char *text)
{
    files_put(m.dir, path, text);
}

/* A machine of v2, or of v1 with one controller, and the group of process 7. */
static void put_v2(const char *group)
{
    char path[300];
    put("proc/self/mountinfo", "31 23 0:31 / /cg rw - cgroup2 cgroup2 rw\n");
    snprintf(path, sizeof(path), "0::%s\n", group);
    put("proc/7/cgroup", path);
    snprintf(path, sizeof(path), "cg%s/cgroup.events", group);
    put(path, "populated 1\n");
}

static void put_v1(const char *group)
{
    char text[300];
    put("proc/self/mountinfo", "31 23 0:31 / /cg rw - cgroup cgroup rw,memory\n");
    put("cg/release_agent", "\n");
    snprintf(text, sizeof(text), "4:memory:%s\n", group);
    put("proc/7/cgroup", text);
}

static void look(const char *dir, int32_t pid)
{
    m.fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(m.fd >= 0 && cgroup_find(m.fd, pid, &m.places) == 0);
}

static void collect(bool helper)
{
    const struct cgroups_options o = {
        .root_fd = m.fd, .ns_per_tick = NS_PER_SEC / 100, .helper = helper, .patient = helper, .ids = &m.ids};
    cgroups_free(m.groups);
    assert_int_equal(cgroups_new(&m.groups, &o, &m.places), 0);
}

/* Reads the groups, and returns one of them. */
static const struct baro_entity *tick(uint64_t now_ns, bool last, size_t i)
{
    cgroups_tick(m.groups, now_ns, last, &m.s);
    assert_true(i < m.s.entities[BARO_KIND_CGROUP].n);
    return m.s.entities[BARO_KIND_CGROUP].at[i];
}

static int done(void **state)
{
    cgroups_free(m.groups);
    close(m.fd);
    files_remove(m.dir);
    return 0;
}

static void again(void)
{
    done(NULL);
    make(NULL);
}

static void is(const struct baro_entity *e, enum cgroup_metric metric, uint64_t value)
{
    assert_int_equal(e->absent[metric], BARO_PRESENT);
    assert_int_equal(e->value[metric], value);
}

/* All memory values that v1 has at this path, and "unsupported", not "not yet", for those that no file of v1 has. */
static void what_v1_does_not_have(void **state)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/machines/6.18-x86_64-hybrid-cgroups", getenv("BARO_FIXTURES"));
    look(path, 4000);
    collect(false);
    const struct baro_entity *e = tick(0, false, 0);
    assert_int_equal(m.s.entities[BARO_KIND_CGROUP].n, 1);
    assert_string_equal(e->name, "/batch/job7");
    assert_int_equal(e->kind, BARO_KIND_CGROUP);
    is(e, CGROUP_memory, 41943040);
    is(e, CGROUP_memory_working_set, 41943040 - 2097152);
    is(e, CGROUP_memory_limit_hits, 3);
    is(e, CGROUP_oom_kills, 2);
    for (int i = 0; i < CGROUP_MAX; i++)
        assert_true(e->absent[i] == BARO_PRESENT || e->absent[i] == BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(e->absent[CGROUP_ooms], BARO_ABSENT_UNSUPPORTED);
    assert_int_equal(e->absent[CGROUP_memory_high_hits], BARO_ABSENT_UNSUPPORTED);
}

/* The end of a long path is kept, as much as there is room for: it identifies the group. */
static void long_path(void **state)
{
    static const char pod[] = "/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice";
    static const char name[] = "/cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope";
    char path[200], text[256];
    snprintf(path, sizeof(path), "%s%s", pod, name);
    put_v1(path);
    snprintf(text, sizeof(text), "cg%s/memory.limit_in_bytes", path);
    put(text, "3000000\n");
    look(m.dir, 7);
    cgroup_bounds_read(m.fd, &m.places, &m.bounds);
    snprintf(text, sizeof(text), "cgroup ...def.slice%s memory.limit_in_bytes", name);
    assert_string_equal(m.bounds.memory.source, text);
    assert_int_equal(strlen(text), sizeof(m.bounds.memory.source) - 1);
}

/* Before 5.11 a group of v1 could count its own processes only: its limit does not apply to groups below. */
static void memory_without_a_hierarchy(void **state)
{
    put_v1("/a/b/c");
    put("cg/memory.use_hierarchy", "0\n");
    put("cg/a/memory.limit_in_bytes", "1000000\n");
    put("cg/a/memory.use_hierarchy", "0\n");
    put("cg/a/b/memory.limit_in_bytes", "3000000\n");
    put("cg/a/b/memory.use_hierarchy", "1\n");
    put("cg/a/b/c/memory.limit_in_bytes", "9223372036854771712\n");
    put("cg/a/b/c/memory.use_hierarchy", "1\n");
    put("cg/a/b/c/memory.usage_in_bytes", "4096\n");
    put("cg/a/b/c/below/memory.use_hierarchy", "1\n");
    look(m.dir, 7);
    cgroup_bounds_read(m.fd, &m.places, &m.bounds);
    assert_int_equal(m.bounds.memory.value, 3000000);
    assert_string_equal(m.bounds.memory.source, "cgroup /a/b memory.limit_in_bytes");
    collect(false);
    is(tick(0, false, 0), CGROUP_memory, 4096);
    assert_int_equal(m.s.entities[BARO_KIND_CGROUP].n, 2);
    assert_string_equal(m.s.entities[BARO_KIND_CGROUP].at[1]->name, "/a/b");
    /* A limit of its own applies to it alone, and its usage does not include the groups below it. */
    put("cg/a/b/memory.use_hierarchy", "0\n");
    put("cg/a/b/c/memory.use_hierarchy", "0\n");
    put("cg/a/b/c/memory.limit_in_bytes", "5000000\n");
    cgroup_bounds_read(m.fd, &m.places, &m.bounds);
    assert_int_equal(m.bounds.memory.value, 5000000);
    collect(false);
    is(tick(0, false, 0), CGROUP_memory_limit, 5000000);
    assert_int_equal(m.s.entities[BARO_KIND_CGROUP].n, 1);
    assert_int_equal(m.s.entities[BARO_KIND_CGROUP].at[0]->absent[CGROUP_memory], BARO_ABSENT_UNKNOWN);
}

/* A group above the job's own is shown if it sets a limit of any kind, be it the only one. "max" is none. */
static void each_kind_of_limit(void **state)
{
    static const struct {
        const char *file, *limit, *none;
    } v2[] = {{"memory.max", "8000000\n", "max\n"},
              {"memory.high", "8000000\n", "max\n"},
              {"memory.swap.max", "0\n", "max\n"},
              {"pids.max", "100\n", "max\n"},
              {"cpu.max", "150000 100000\n", "max 100000\n"}};
    for (size_t i = 0; i < sizeof(v2) / sizeof(*v2); i++) {
        char path[64];
        again();
        put_v2("/a/b/c");
        put("cg/a/cgroup.events", "populated 1\n");
        put("cg/a/b/cgroup.events", "populated 1\n");
        for (size_t k = 0; k < sizeof(v2) / sizeof(*v2); k++) {
            snprintf(path, sizeof(path), "cg/a/b/%s", v2[k].file);
            put(path, v2[k].none);
        }
        snprintf(path, sizeof(path), "cg/a/%s", v2[i].file);
        put(path, v2[i].limit);
        look(m.dir, 7);
        collect(false);
        assert_string_equal(tick(0, false, 0)->name, "/a/b/c");
        assert_string_equal(tick(0, false, 1)->name, "/a");
        assert_int_equal(m.s.entities[BARO_KIND_CGROUP].n, 2);
    }
}

/* A value that can't be read once is absent then, and present again when it can be read. */
static void one_reading_fails(void **state)
{
    static const char *const bad[] = {"", "12", "x\n", "99999999999999999999\n"};
    put_v2("/a");
    put("cg/a/memory.current", "4096\n");
    put("cg/a/pids.current", "3\n");
    look(m.dir, 7);
    collect(false);
    for (uint64_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        put("cg/a/memory.current", "4096\n");
        const struct baro_entity *e = tick(i * 2000 * NS_PER_SEC, false, 0);
        is(e, CGROUP_memory, 4096);
        put("cg/a/memory.current", bad[i]);
        tick((i * 2000 + 1000) * NS_PER_SEC, false, 0);
        assert_int_equal(e->absent[CGROUP_memory], BARO_ABSENT_UNKNOWN);
        assert_int_equal(e->value[CGROUP_memory], 0);
        is(e, CGROUP_pids, 3);
    }
}

/* The kernel may return a file in any number of pieces: here each byte is one. */
static void in_pieces(void **state)
{
    static const struct {
        const char *path, *text;
    } fifo[] = {{"proc/self/mountinfo", "31 23 0:31 / /cg rw - cgroup2 cgroup2 rw\n"},
                {"proc/7/cgroup", "1:name=systemd:/x\n0::/a\n"},
                {"cg/a/memory.max", "1000000\n"}};
    char path[128];
    pid_t writer[3];
    put("cg/a/cgroup.events", "populated 1\n");
    for (size_t i = 0; i < 3; i++) {
        put(fifo[i].path, "");
        snprintf(path, sizeof(path), "%s/%s", m.dir, fifo[i].path);
        assert_true(unlink(path) == 0 && mkfifo(path, 0600) == 0);
        writer[i] = fork();
        if (writer[i])
            continue;
        int to = open(path, O_WRONLY);
        for (const char *c = fifo[i].text; *c; c++) {
            if (write(to, c, 1) != 1)
                _exit(1);
            usleep(100);
        }
        _exit(0);
    }
    look(m.dir, 7);
    assert_int_equal(m.places.n, 1);
    assert_string_equal(m.places.at[0].dir, "cg/a");
    cgroup_bounds_read(m.fd, &m.places, &m.bounds);
    assert_int_equal(m.bounds.memory.value, 1000000);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(waitpid(writer[i], NULL, 0), writer[i]);
}

#define DISKS 200u

/* A line of io.stat each; every other one is dm, on top of the one before. Which device is which is read once. */
static void many_disks(void **state)
{
    static char io[DISKS * 64];
    char path[128];
    size_t at = 0;
    uint64_t sum = 0;
    for (unsigned i = 0; i < DISKS; i++) {
        bool dm = i % 2;
        at += (size_t)snprintf(io + at, sizeof(io) - at, "%u:%u rbytes=%u wbytes=0 rios=0 wios=0 dbytes=0 dios=0\n",
                               dm ? 253u : 8u, i / 2, i + 1);
        sum += dm ? 0 : i + 1;
        snprintf(path, sizeof(path), "sys/dev/block/253:%u/slaves/sd%u", i / 2, i);
        put(path, "");
    }
    put_v2("/a");
    put("cg/a/io.stat", io);
    look(m.dir, 7);
    collect(false);
    for (uint64_t i = 0; i < 3; i++) {
        is(tick(i * 1000 * NS_PER_SEC, false, 0), CGROUP_io_read, sum);
        snprintf(path, sizeof(path), "%s/sys", m.dir);
        assert_true(i > 0 || rename(path, strcat(strcpy(io, path), "-gone")) == 0);
    }
}

/* A group of v2 made for this test: its path in the file system. False where the test may not make one. */
static bool make_group(char path[512])
{
    static char text[65536];
    char point[256];
    struct proc_mount mount;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text));
    for (struct span rest = span_of(text, n > 0 ? (size_t)n : 0); proc_mount_next(&rest, &mount);) {
        if (!span_equal(mount.type, "cgroup2") || proc_mount_unescape(mount.point, point, sizeof(point)) < 0)
            continue;
        snprintf(path, 512, "%s/baro-unit-%d", point, (int)getpid());
        if (mkdir(path, 0755) == 0)
            return true;
    }
    return false;
}

static void one_vanishes(void **state)
{
    char path[512];
    uint8_t before[CGROUP_MAX];
    if (!make_group(path))
        skip();
    m.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(cgroup_find_path(m.fd, path, &m.places), 1);
    collect(false);
    const struct baro_entity *e = tick(NS_PER_SEC, false, 0);
    is(e, CGROUP_cpu, 0); /* it never had a process */
    memcpy(before, e->absent, sizeof(before));
    assert_int_equal(rmdir(path), 0);
    for (uint64_t i = 2; i < 5; i++) { /* removed, and made again with the same name: that is another one */
        e = tick(i * 10 * NS_PER_SEC, false, 0);
        assert_int_equal(m.s.entities[BARO_KIND_CGROUP].n, 1);
        assert_int_equal(e->id, 1);
        for (int k = 0; k < CGROUP_MAX; k++) {
            assert_int_equal(e->value[k], 0);
            assert_int_equal(e->absent[k], before[k] == BARO_PRESENT ? BARO_ABSENT_GONE : before[k]);
        }
        assert_true(i > 2 || mkdir(path, 0755) == 0);
    }
    assert_int_equal(rmdir(path), 0);
}

/* After a read that was preempted a file is not read for seconds; the last reading has what ended the job all the
 * same. */
static void last_reading_has_what_counts(void **state)
{
    put_v1("/a");
    put("cg/a/memory.usage_in_bytes", "4096\n");
    put("cg/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    look(m.dir, 7);
    collect(false);
    const struct baro_entity *e = tick(1, false, 0);
    is(e, CGROUP_oom_kills, 1);
    for (size_t i = 0; i < group_files_n; i++)
        m.groups->at[0].due_ns[i] = UINT64_MAX;
    put("cg/a/memory.usage_in_bytes", "8192\n");
    put("cg/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    tick(2, false, 0);
    is(e, CGROUP_oom_kills, 1);
    assert_int_equal(cgroups_oom_kills(m.groups), 0);
    tick(3, true, 0);
    is(e, CGROUP_oom_kills, 3);
    is(e, CGROUP_memory, 4096);
    assert_int_equal(cgroups_oom_kills(m.groups), 2);
    assert_int_equal(cgroups_oom_kills(NULL), 0);
}

/* A group that fills its memory: when it comes near its limit, and once that it has; then memory.stat is read at once,
 * although it was read a moment ago. v2 and v1 differ in the names of files alone. */
static void group_that_fills_up(void **state)
{
    static const struct {
        uint64_t t_ms;
        const char *used;
        uint64_t near_ms; /* 0: never */
        bool has_come;
        const char *limit; /* that it gets */
    } steps[] = {
        {100, "20\n", 450, false, NULL}, /* it had nothing at 0 ms */
        {200, "60\n", 275, false, NULL},
        {300, "60\n", 0, false, NULL},
        {310, "40\n", 0, false, NULL},
        {320, "41\n", 810, false, NULL},
        {330, "93\n", 0, true, NULL},
        {340, "99\n", 0, false, NULL}, /* only once */
        {350, "85\n", 0, false, NULL},
        {360, "95\n", 0, false, NULL}, /* never far below */
        {370, "70\n", 0, false, NULL},
        {380, "80\n", 390, false, NULL},
        {390, "90\n", 0, true, NULL},
        {10000, "1\n", 0, false, "800000000000\n"}, /* of which 720 GB are left: it is read after 90 s, */
        {10001, "1\n", 0, false, NULL},
        {15000, "1\n", 0, false, "100\n"},
        {15001, "95\n", 0, true, NULL}, /* or now */
    };
    for (size_t v = 0; v < 2; v++) {
        const char *used = v ? "cg/a/memory.usage_in_bytes" : "cg/a/memory.current";
        const char *limit = v ? "cg/a/memory.limit_in_bytes" : "cg/a/memory.max";
        uint64_t near_ns;
        again();
        if (v)
            put_v1("/a");
        else
            put_v2("/a");
        put(limit, "100\n");
        put(used, "1\n");
        put("cg/a/memory.stat", v ? "total_rss 1\n" : "anon 1\n");
        look(m.dir, 7);
        collect(true);
        const struct baro_entity *e = tick(0, false, 0);
        assert_int_equal(e->absent[CGROUP_memory_anon], BARO_ABSENT_NOT_YET); /* there is no helper yet */
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
            char stat[64];
            uint64_t now_ns = steps[i].t_ms * NS_PER_MS, before = e->value[CGROUP_memory_anon];
            put(used, steps[i].used);
            if (steps[i].limit)
                put(limit, steps[i].limit);
            snprintf(stat, sizeof(stat), "%s %zu\n", v ? "total_rss" : "anon", 10 + i);
            put("cg/a/memory.stat", stat);
            assert_int_equal(cgroups_watch(m.groups, now_ns, &near_ns), steps[i].has_come);
            assert_int_equal(near_ns, steps[i].near_ms ? steps[i].near_ms * NS_PER_MS : UINT64_MAX);
            tick(now_ns, false, 0);
            assert_int_equal(e->value[CGROUP_memory_anon], steps[i].has_come ? 10 + i : before);
        }
        assert_false(cgroups_watch(NULL, 0, &near_ns));
        assert_int_equal(near_ns, UINT64_MAX);
    }
}

/* The registry names the files of each metric in its help text; the collector's table names those that are read. They
 * agree. */
static void registry_names_the_files(void **state)
{
    for (size_t i = 0; i < group_files_n; i++) {
        const struct group_file *f = &group_files[i];
        for (size_t k = 0; k < GROUP_METRICS && f->metric[k]; k++) {
            int id = f->metric[k] - 1;
            const char *v2 = baro_metric_cgroup_file(BARO_KIND_CGROUP, id, 2);
            const char *v1 = baro_metric_cgroup_file(BARO_KIND_CGROUP, id, 1);
            bool by_v2 = f->v2 && v2 && strstr(v2, f->v2), by_v1 = f->v1 && v1 && strstr(v1, f->v1);
            if (!by_v2 && !by_v1)
                fail_msg("%s: from %s or %s", baro_metric_get(BARO_KIND_CGROUP, id)->name, f->v2, f->v1);
        }
    }
    assert_null(baro_metric_cgroup_file(BARO_KIND_CGROUP, CGROUP_memory_high, 1));
    assert_string_equal(baro_metric_cgroup_file(BARO_KIND_CGROUP, CGROUP_memory_high, 2), "memory.high");
    assert_string_equal(baro_metric_cgroup_file(BARO_KIND_CGROUP, CGROUP_pids, 1), "pids.current");
    assert_null(baro_metric_cgroup_file(BARO_KIND_CGROUP, CGROUP_pids, 3));
    assert_null(baro_metric_cgroup_file(BARO_KIND_CGROUP, CGROUP_MAX, 2));
    assert_null(baro_metric_cgroup_file(BARO_KIND_HOST, HOST_memory_total, 2));
}

/* Each metric has a controller and a file of v2, which doctor names. Pressure alone has no controller, and no v1. */
static void metrics_have_controllers(void **state)
{
    for (int id = 0; id < CGROUP_MAX; id++) {
        enum cgroup_controller c = cgroups_controller_of((enum cgroup_metric)id);
        assert_int_not_equal(c, CGROUP_AT_MAX);
        assert_non_null(baro_metric_cgroup_file(BARO_KIND_CGROUP, id, 2));
        bool pressure = id >= CGROUP_pressure_cpu_some && id <= CGROUP_pressure_io_full;
        assert_int_equal(c == CGROUP_AT_UNIFIED && !baro_metric_cgroup_file(BARO_KIND_CGROUP, id, 1), pressure);
    }
    assert_int_equal(cgroups_controller_of(CGROUP_cpu), CGROUP_AT_CPUACCT);
    assert_int_equal(cgroups_controller_of(CGROUP_cpu_limit), CGROUP_AT_CPU);
    assert_int_equal(cgroups_controller_of(CGROUP_memory_working_set), CGROUP_AT_MEMORY);
    assert_int_equal(cgroups_controller_of(CGROUP_io_writes), CGROUP_AT_IO);
    assert_int_equal(cgroups_controller_of(CGROUP_pids_limit), CGROUP_AT_PIDS);
    assert_int_equal(cgroups_controller_of(CGROUP_MAX), CGROUP_AT_MAX);
}

/* Some, typed by hand. */
static void registry_knows_since_when(void **state)
{
    assert_int_equal(baro_metric_since(BARO_KIND_HOST, HOST_memory_available), 3014);
    assert_int_equal(baro_metric_since(BARO_KIND_HOST, HOST_pressure_irq_full), 6001);
    assert_int_equal(baro_metric_since(BARO_KIND_CGROUP, CGROUP_memory_peak), 5019);
    assert_int_equal(baro_metric_since(BARO_KIND_DISK, DISK_flushes), 5005);
    assert_int_equal(baro_metric_since(BARO_KIND_HOST, HOST_memory_free), 0);
    assert_int_equal(baro_metric_since(BARO_KIND_HOST, HOST_MAX), 0);
    assert_int_equal(baro_metric_since(-1, 0), 0);
    assert_non_null(strstr(baro_metric_get(BARO_KIND_CGROUP, CGROUP_memory_peak)->help, "; since Linux 5.19 in v2"));
}

/* The sum is the newest one, and neither part falls. */
static void reading_advances(void **state)
{
    static const struct cgroup_reading now[] = {{30, 10}, {35, 8}, {32, 12}, {40, 4}, {33, 9}, {20, 40}};
    static const struct cgroup_reading expected[] = {{30, 10}, {33, 10}, {33, 11}, {33, 11}, {33, 11}, {33, 27}};
    struct cgroup_reading last = {0};
    for (size_t i = 0; i < sizeof(now) / sizeof(*now); i++) {
        cgroup_reading_advance(&last, &now[i]);
        assert_int_equal(last.user_ns, expected[i].user_ns);
        assert_int_equal(last.system_ns, expected[i].system_ns);
    }
}

#define MACHINE(name) cmocka_unit_test_setup_teardown(name, make, done)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reading_advances),
                                       MACHINE(what_v1_does_not_have),
                                       MACHINE(long_path),
                                       MACHINE(memory_without_a_hierarchy),
                                       MACHINE(many_disks),
                                       MACHINE(each_kind_of_limit),
                                       MACHINE(one_reading_fails),
                                       MACHINE(in_pieces),
                                       MACHINE(one_vanishes),
                                       MACHINE(last_reading_has_what_counts),
                                       MACHINE(group_that_fills_up),
                                       cmocka_unit_test(registry_names_the_files),
                                       cmocka_unit_test(metrics_have_controllers),
                                       cmocka_unit_test(registry_knows_since_when)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
