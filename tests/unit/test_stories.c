/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stories of tests/fixtures/stories, as the collectors read them: t0 is copied, t1 and the following ones are
 * copied over it in place (open descriptors see the changes), and the files listed in tN/GONE are removed. Expected
 * values are computed by hand from those files.
 */
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/fold/fold.h"
#include "recorder/collectors/cgroups/cgroup.h"
#include "recorder/collectors/cgroups/limits.h"
#include "recorder/collectors/host/host.h"

#define TICK (10 * NS_PER_MS)
#define SECTOR 512ull

struct story {
    const char *name;
    char dir[64];
    int at; /* tN exists */
    uint32_t ids;
    int proc_fd, sys_fd;
    struct host *host;
    struct baro_sample sample;
    struct fold seen; /* by who derives */
};

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
    char command[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static void begin(struct story *s, const char *name)
{
    *s = (struct story){.name = name, .proc_fd = -1, .sys_fd = -1};
    snprintf(s->dir, sizeof(s->dir), "/tmp/baro-test-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    shell("cp -r %s/stories/%s/t0/. %s", getenv("BARO_FIXTURES"), name, s->dir);
    fold_init(&s->seen);
}

static void go_on(struct story *s)
{
    char path[512], line[256];
    snprintf(path, sizeof(path), "%s/stories/%s/t%d", getenv("BARO_FIXTURES"), s->name, ++s->at);
    shell("cp -r %s/. %s", path, s->dir);
    snprintf(path, sizeof(path), "%s/GONE", s->dir);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            shell("rm -r %s/%s", s->dir, line);
    }
    if (f)
        assert_true(fclose(f) == 0 && unlink(path) == 0);
}

static int folder(const struct story *s, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void take_sample(struct story *s)
{
    struct host_options o = {.clk_tck = 100, .page_size = 4096, .entity_ids = &s->ids};
    if (!s->host) {
        o.proc_fd = s->proc_fd = folder(s, "proc");
        o.sys_fd = s->sys_fd = folder(s, "sys");
        assert_int_equal(host_new(&s->host, &o, NULL), 0);
    }
    host_read(s->host, (uint64_t)(s->at + 1) * NS_PER_SEC, BUDGET_ALL);
    host_fill(s->host, &s->sample);
    fold_add(&s->seen, &s->sample);
}

static void end(struct story *s)
{
    fold_done(&s->seen);
    host_free(s->host);
    fd_close(s->proc_fd);
    fd_close(s->sys_fd);
    shell("rm -r %s", s->dir);
}

static void is(const struct story *s, enum host_metric metric, uint64_t value)
{
    assert_int_equal(s->sample.host_absent[metric], BARO_PRESENT);
    assert_int_equal(s->sample.host[metric], value);
}

static const struct baro_entity *named(const struct story *s, enum baro_kind kind, const char *name)
{
    for (size_t i = 0; i < s->sample.entities[kind].n; i++) {
        if (strcmp(s->sample.entities[kind].at[i]->name, name) == 0)
            return s->sample.entities[kind].at[i];
    }
    return NULL;
}

/* ---- the stories ---- */

TEST(iowait_falls)
{
    /* ticks; all: the whole line, 2300 in t0 */
    static const struct {
        uint64_t iowait, idle1, all;
        bool falls;
    } at[] = {{500, 290, 2300, false}, {550, 350, 2450, false}, {480, 340, 2480, true}, {530, 400, 2630, false}};
    struct story s;
    uint64_t before = 0;
    double rate;
    begin(&s, "iowait-falls");
    for (int i = 0; i < 4; i++) {
        take_sample(&s);
        is(&s, HOST_cpu_iowait, at[i].iowait * TICK);
        assert_int_equal(named(&s, BARO_KIND_CPU, "cpu0")->value[CPU_iowait], at[i].iowait * TICK);
        assert_int_equal(named(&s, BARO_KIND_CPU, "cpu1")->value[CPU_idle], at[i].idle1 * TICK);
        uint64_t t = (uint64_t)(i + 1) * NS_PER_SEC, now = s.sample.host[HOST_cpu_iowait];
        assert_int_equal(derive_rate(t - NS_PER_SEC, before, t, now, &rate),
                         at[i].falls ? BARO_ABSENT_UNKNOWN : BARO_PRESENT);
        before = now;
        assert_int_equal(s.seen.cell[FOLD_HOST_ALL].grown, (at[i].all - 2300) * TICK);
        assert_int_equal(s.seen.cell[FOLD_HOST_BUSY].grown, 0); /* 1500 ticks, all the time */
        if (i < 3)
            go_on(&s);
    }
    end(&s);
}

TEST(net_wraps)
{
    /* eth0 and eth1; a fall adds nothing, and a new interface with an old name begins with its own counters */
    static const uint64_t total[] = {4294967000 + 1000, 4294968000 + 100, 4294968100 + 500 + 100, 4294968700 + 100},
                          eth0[] = {4294967000, 204, 704, 50};
    struct story s;
    uint32_t first = 0;
    begin(&s, "net-wraps");
    for (int i = 0; i < 4; i++) {
        take_sample(&s);
        const struct baro_entity *e = named(&s, BARO_KIND_NET, "eth0");
        is(&s, HOST_net_receive, total[i]);
        is(&s, HOST_net_transmit, 14);
        assert_int_equal(e->value[NET_receive], eth0[i]);
        first = i ? first : e->id;
        assert_int_equal(e->id != first, i == 3);
        assert_int_equal(s.seen.cell[FOLD_NET_RECEIVE].grown, total[i] - total[0]);
        if (i < 3)
            go_on(&s);
    }
    assert_int_equal(s.sample.entities[BARO_KIND_NET].n, 3);
    end(&s);
}

TEST(hotplug)
{
    static const uint64_t cpus[] = {3, 2, 3, 3}, user[] = {600, 610, 630, 630};
    /* sectors; of sdb 400 and 500 in t1, 8 and none of the device that follows it */
    static const uint64_t read[] = {1000, 1010 + 400, 1020 + 400, 1020 + 400 + 8}, write[] = {2000, 2500, 2500, 2500},
                          reads[] = {10, 15, 16, 17};
    struct story s;
    uint32_t cpu1 = 0, cpu2 = 0, sdb = 0;
    begin(&s, "hotplug");
    for (int i = 0; i < 4; i++) {
        take_sample(&s);
        const struct baro_entity *one = named(&s, BARO_KIND_CPU, "cpu1"), *two = named(&s, BARO_KIND_CPU, "cpu2"),
                                 *disk = named(&s, BARO_KIND_DISK, "sdb");
        is(&s, HOST_cpus, cpus[i]);
        is(&s, HOST_cpu_user, user[i] * TICK);
        is(&s, HOST_disk_read, read[i] * SECTOR);
        is(&s, HOST_disk_write, write[i] * SECTOR);
        is(&s, HOST_disk_reads, reads[i]);
        assert_true(!one == (i == 1) && !disk == (i == 0 || i == 2));
        cpu2 = i ? cpu2 : two->id;
        assert_int_equal(two->id, cpu2);
        if (i == 0)
            cpu1 = one->id;
        else if (one)
            assert_true(one->id > cpu1 && one->value[CPU_user] == 210 * TICK); /* another, with what the kernel kept */
        if (i == 1)
            sdb = disk->id;
        if (i == 3)
            assert_true(disk->id > sdb && strcmp(disk->label, "ANOTHER") == 0 &&
                        disk->value[DISK_size] == 4096 * SECTOR && disk->value[DISK_read] == 8 * SECTOR);
        if (i < 3)
            go_on(&s);
    }
    end(&s);
}

TEST(cgroup_vanishes)
{
    static const struct {
        uint64_t memory;
        const char *source, *own;
        size_t groups; /* its own, and those above that have a limit */
    } at[] = {
        {268435456, "cgroup /batch/job memory.max", "/batch/job/step", 3},
        {268435456, "cgroup /batch/job memory.max", "/batch/job", 2},
        {1073741824, "cgroup /batch memory.max", "/batch", 1},
        {0, "", NULL, 0},
    };
    struct story s;
    struct cgroup_hierarchies places;
    struct baro_limits l;
    begin(&s, "cgroup-vanishes");
    for (int i = 0; i < 4; i++) {
        int root = folder(&s, ".");
        struct cgroups *groups = NULL;
        const struct cgroups_options o = {.root_fd = root, .ns_per_tick = TICK, .ids = &s.ids};
        assert_int_equal(cgroup_find(root, 50, &places), 0);
        const struct limits_place p = {
            .root_fd = root, .pid = 50, .cpus = 4, .memory_total = 1ull << 36, .groups = &places};
        limits_read_groups(&p, &l);
        assert_int_equal(l.memory_bytes, at[i].memory);
        assert_string_equal(l.memory_source, at[i].source);
        assert_true(l.cores_ppm == 0 && l.pids == 0);
        assert_int_equal(cgroups_new(&groups, &o, &places), 0);
        s.sample.entities[BARO_KIND_CGROUP].n = 0;
        cgroups_tick(groups, 0, false, &s.sample);
        assert_int_equal(s.sample.entities[BARO_KIND_CGROUP].n, at[i].groups);
        if (at[i].own)
            assert_string_equal(s.sample.entities[BARO_KIND_CGROUP].at[0]->name, at[i].own);
        cgroups_free(groups);
        close(root);
        if (i < 3)
            go_on(&s);
    }
    end(&s);
}
