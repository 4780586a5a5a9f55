/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All values that the collectors report for each machine in tests/fixtures/machines, or the reason why one is absent,
 * against tests/golden/machines; and values computed by hand from the machine's files, in
 * tests/lib/machines_by_hand.h. A machine without a golden file fails, and so does a golden file without a machine.
 * Filesystems are only listed: their sizes come from the kernel that runs the test, which has other ones.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "golden.h"
#include "kernel/sys/sysfs.h"
#include "machines_by_hand.h"
#include "recorder/collectors/cgroups/cgroup.h"
#include "recorder/collectors/cgroups/limits.h"
#include "recorder/collectors/host/state.h"

#define MACHINES_MOST 64

struct fixture {
    const char *name;
    int root_fd, proc_fd, sys_fd;
    int32_t pid; /* whose control groups and limits; 0: /proc/self */
    uint64_t page_size, clk_tck;
    uint64_t memory_total; /* as in sysinfo(2), which no container changes; 0: as in meminfo */
    uint32_t ids;
    struct host *host;
    struct cgroup_hierarchies places;
    struct cgroups *groups;
    struct baro_sample sample;
    struct baro_limits limits;
};

/* ---- the machine ---- */

#define REQUIRED UINT64_MAX

static uint64_t of_machine(struct span text, const char *key, uint64_t otherwise)
{
    struct span line;
    uint64_t v;
    size_t n = strlen(key);
    while (scan_line(&text, &line)) {
        if (line.len < n + 2 || memcmp(line.at, key, n) != 0 || memcmp(line.at + n, ": ", 2) != 0)
            continue;
        line = span_of(line.at + n + 2, line.len - n - 2);
        if (scan_u64(&line, &v))
            return v;
    }
    if (otherwise == REQUIRED)
        fail_msg("MACHINE says no %s", key);
    return otherwise;
}

static void fixture_open(struct fixture *f, const char *name)
{
    char path[512], text[4096];
    *f = (struct fixture){.name = name};
    snprintf(path, sizeof(path), "%s/machines/%s", getenv("BARO_FIXTURES"), name);
    f->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    f->proc_fd = openat(f->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->sys_fd = openat(f->root_fd, "sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* -1: the machine has none */
    ssize_t n = fd_read_file(f->root_fd, "MACHINE", text, sizeof(text));
    if (f->proc_fd < 0 || n < 0)
        fail_msg("%s: no proc, or no MACHINE", path);
    struct span said = span_of(text, (size_t)n);
    f->pid = (int32_t)of_machine(said, "pid", REQUIRED);
    f->page_size = of_machine(said, "page_size", REQUIRED);
    f->clk_tck = of_machine(said, "clk_tck", REQUIRED);
    f->memory_total = of_machine(said, "sysinfo_memory", 0);
}

static void fixture_done(struct fixture *f)
{
    cgroups_free(f->groups);
    host_free(f->host);
    fd_close(f->sys_fd);
    fd_close(f->proc_fd);
    fd_close(f->root_fd);
}

/* The helper's values have arrived. */
static bool settled(const struct baro_sample *s)
{
    const struct baro_entities *cpus = &s->entities[BARO_KIND_CPU], *sensors = &s->entities[BARO_KIND_SENSOR];
    for (size_t i = 0; i < cpus->n; i++) {
        if (cpus->at[i]->absent[CPU_frequency] == BARO_ABSENT_NOT_YET)
            return false;
    }
    for (size_t i = 0; i < sensors->n; i++) {
        if (sensors->at[i]->absent[SENSOR_temperature] == BARO_ABSENT_NOT_YET)
            return false;
    }
    return true;
}

static void read_host(struct fixture *f)
{
    uint64_t now_ns = 0;
    struct host_options o = {.proc_fd = f->proc_fd,
                             .sys_fd = f->sys_fd,
                             .clk_tck = (uint32_t)f->clk_tck,
                             .page_size = f->page_size,
                             .helper = true,
                             .entity_ids = &f->ids};
    assert_int_equal(host_new(&f->host, &o, NULL), 0);
    do {
        if (now_ns)
            usleep(5000);
        now_ns += 100 * NS_PER_MS;
        host_read(f->host, now_ns, BUDGET_ALL);
        host_fill(f->host, &f->sample);
    } while (!settled(&f->sample) && now_ns < 1000 * NS_PER_SEC);
}

static void read_groups(struct fixture *f)
{
    const struct baro_sample *s = &f->sample;
    uint64_t total = f->memory_total ? f->memory_total : s->host[HOST_memory_total];
    int found = cgroup_find(f->root_fd, f->pid, &f->places);
    struct limits_place p = {.root_fd = f->root_fd,
                             .pid = f->pid,
                             .cpus = (uint32_t)s->host[HOST_cpus],
                             .memory_total = total,
                             .groups = found == 0 ? &f->places : NULL,
                             .groups_error = found};
    limits_read(&p, &f->limits);
    struct cgroups_options o = {
        .root_fd = f->root_fd, .ns_per_tick = NS_PER_SEC / f->clk_tck, .memory_total = total, .ids = &f->ids};
    if (found == 0)
        assert_int_equal(cgroups_new(&f->groups, &o, &f->places), 0);
    cgroups_tick(f->groups, NS_PER_SEC, false, &f->sample);
}

/* ---- as text ---- */

static void value_of(char text[32], enum baro_kind kind, int metric, uint64_t value, uint8_t absent)
{
    enum baro_unit unit = baro_metric_get(kind, metric)->unit;
    bool has_sign = unit == BARO_UNIT_CELSIUS || unit == BARO_UNIT_SIGNED;
    if (absent)
        snprintf(text, 32, "%s", baro_absent_name(absent));
    else if (has_sign)
        snprintf(text, 32, "%lld", (long long)value);
    else
        snprintf(text, 32, "%llu", (unsigned long long)value);
}

/* When a helper read it depends on how long that took. */
static bool is_moment(enum baro_kind kind, int metric)
{
    return kind == BARO_KIND_SENSOR && metric == SENSOR_read_at;
}

/* Those of which there are many values: a line each, and one for each reason why others are absent. */
static void put_values(struct buf *b, const char *before, enum baro_kind kind, const uint64_t *value,
                       const uint8_t *absent)
{
    char text[32];
    int metrics = baro_metric_count(kind);
    for (int m = 0; m < metrics; m++) {
        value_of(text, kind, m, value[m], absent[m]);
        if (!absent[m])
            buf_printf(b, "%s %s %s\n", before, baro_metric_get(kind, m)->name, text);
    }
    for (int why = BARO_PRESENT + 1; why < ABSENT_COUNT; why++) {
        bool any = false;
        for (int m = 0; m < metrics; m++) {
            if (absent[m] != why)
                continue;
            if (!any)
                buf_printf(b, "%s %s:", before, baro_absent_name((enum baro_absent)why));
            buf_printf(b, " %s", baro_metric_get(kind, m)->name);
            any = true;
        }
        buf_str(b, any ? "\n" : "");
    }
}

static int by_name(const void *a, const void *b)
{
    const struct baro_entity *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Of all kinds but control groups: a table, with a line for each. Sensors by name: they come in the order of a
 * directory, which is not defined. */
static void put_entities(struct buf *b, enum baro_kind kind, const struct baro_entities *all)
{
    const struct baro_entity *at[256];
    char text[32];
    int metrics = baro_metric_count(kind);
    assert_true(all->n < 256);
    for (size_t i = 0; i < all->n; i++)
        at[i] = all->at[i];
    if (kind == BARO_KIND_SENSOR && all->n)
        qsort(at, all->n, sizeof(*at), by_name);
    if (all->n && kind != BARO_KIND_CGROUP) {
        buf_printf(b, "%s:", baro_kind_name(kind));
        for (int m = 0; m < metrics; m++)
            buf_printf(b, " %s", baro_metric_get(kind, m)->name);
        buf_str(b, "\n");
    }
    for (size_t i = 0; i < all->n; i++) {
        buf_printf(b, "%s \"%s\"", at[i]->name, at[i]->label);
        if (kind == BARO_KIND_CGROUP) {
            buf_str(b, "\n");
            put_values(b, " ", kind, at[i]->value, at[i]->absent);
            continue;
        }
        for (int m = 0; m < metrics; m++) {
            value_of(text, kind, m, at[i]->value[m], at[i]->absent[m]);
            buf_printf(b, " %s", is_moment(kind, m) && !at[i]->absent[m] ? "(a moment)" : text);
        }
        buf_str(b, "\n");
    }
}

/* By a collector of its own that does not read sizes: whether two mounts are the same file system is known by their
 * sizes, which would be those of the machine that runs the test. */
static void put_filesystems(struct buf *b, struct fixture *f)
{
    struct host *h;
    struct host_options o = {
        .proc_fd = f->proc_fd, .sys_fd = f->sys_fd, .clk_tck = 100, .page_size = 4096, .entity_ids = &f->ids};
    assert_int_equal(host_new(&h, &o, NULL), 0);
    host_mounts(h);
    for (size_t i = 0; i < h->table[BARO_KIND_FS].n; i++)
        buf_printf(b, "fs %s \"%s\"\n", h->table[BARO_KIND_FS].at[i]->name, h->table[BARO_KIND_FS].at[i]->label);
    host_free(h);
}

static void put_model(struct buf *b, const struct fixture *f)
{
    static char text[65536];
    char list[256];
    struct proc_cpuinfo info;
    ssize_t n = fd_read_file(f->proc_fd, "cpuinfo", text, sizeof(text));
    if (n > 0 && proc_cpuinfo_parse(span_of(text, (size_t)n), &info, NULL, NULL) == 0)
        buf_printf(b, "model \"%.*s\" implementer \"%.*s\" part \"%.*s\"\n", (int)info.model.len, info.model.at,
                   (int)info.implementer.len, info.implementer.len ? info.implementer.at : "", (int)info.part.len,
                   info.part.len ? info.part.at : "");
    n = f->sys_fd < 0 ? -1 : sys_text(f->sys_fd, "devices/system/node/online", list, sizeof(list));
    buf_printf(b, "nodes %lld\n", n > 0 ? (long long)sys_list_parse(span_of(list, (size_t)n), NULL, NULL) : 0);
}

static void put_limit(struct buf *b, const char *name, uint64_t value, const char *source, uint8_t absent)
{
    buf_printf(b, "limit %s %llu \"%s\"", name, (unsigned long long)value, source);
    buf_printf(b, absent ? " %s\n" : "\n", baro_absent_name((enum baro_absent)absent));
}

static void put_limits(struct buf *b, const struct baro_limits *l)
{
    put_limit(b, "memory_bytes", l->memory_bytes, l->memory_source, l->memory_absent);
    put_limit(b, "cores_ppm", l->cores_ppm, l->cores_source, l->cores_absent);
    put_limit(b, "pids", l->pids, l->pids_source, l->pids_absent);
}

/* ---- values by hand ---- */

static bool is_it(const struct by_hand *k, const struct fixture *f, char found[32])
{
    const struct baro_sample *s = &f->sample;
    uint64_t value = k->kind == BARO_KIND_HOST ? s->host[k->metric] : 0;
    uint8_t absent = k->kind == BARO_KIND_HOST ? s->host_absent[k->metric] : ABSENT_COUNT;
    for (size_t i = 0; k->kind != BARO_KIND_HOST && i < s->entities[k->kind].n; i++) {
        const struct baro_entity *e = s->entities[k->kind].at[i];
        if (strcmp(e->name, k->entity) != 0)
            continue;
        value = e->value[k->metric];
        absent = e->absent[k->metric];
    }
    if (absent == ABSENT_COUNT)
        snprintf(found, 32, "no such thing");
    else
        value_of(found, k->kind, k->metric, value, absent);
    return absent == k->absent && value == k->value;
}

static void check_by_hand(const struct fixture *f)
{
    char found[32];
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof(by_hand) / sizeof(*by_hand); i++) {
        const struct by_hand *k = &by_hand[i];
        if (strcmp(k->machine, f->name) != 0 || is_it(k, f, found))
            continue;
        print_message("%s: %s %s: by hand %llu (%s), found %s\n", f->name, k->entity,
                      baro_metric_get(k->kind, k->metric)->name, (unsigned long long)k->value,
                      baro_absent_name(k->absent), found);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* ---- the tests ---- */

static void one(void **state)
{
    struct fixture f;
    struct buf b = {0};
    char golden[160];
    fixture_open(&f, *state);
    buf_printf(&b, "%s\n", f.name);
    read_host(&f);
    read_groups(&f);
    put_model(&b, &f);
    put_limits(&b, &f.limits);
    put_values(&b, "host", BARO_KIND_HOST, f.sample.host, f.sample.host_absent);
    put_entities(&b, BARO_KIND_CPU, &f.sample.entities[BARO_KIND_CPU]);
    put_entities(&b, BARO_KIND_DISK, &f.sample.entities[BARO_KIND_DISK]);
    put_filesystems(&b, &f);
    for (int k = BARO_KIND_NET; k < KIND_COUNT; k++)
        put_entities(&b, (enum baro_kind)k, &f.sample.entities[k]);
    check_by_hand(&f);
    snprintf(golden, sizeof(golden), "machines/%s.txt", f.name);
    expect_golden(golden, &b);
    buf_done(&b);
    fixture_done(&f);
}

/* Each value by hand belongs to an existing machine. */
static void none_is_missing(void **state)
{
    char path[512];
    for (size_t i = 0; i < sizeof(by_hand) / sizeof(*by_hand); i++) {
        snprintf(path, sizeof(path), "%s/machines/%s/MACHINE", getenv("BARO_FIXTURES"), by_hand[i].machine);
        if (access(path, R_OK) < 0)
            fail_msg("%s is not there", path);
    }
}

static int shown(const struct dirent *e)
{
    return *e->d_name != '.';
}

int main(void)
{
    static struct CMUnitTest tests[MACHINES_MOST + 1] = {{.name = "none_is_missing", .test_func = none_is_missing}};
    struct dirent **list;
    char path[512];
    snprintf(path, sizeof(path), "%s/machines", getenv("BARO_FIXTURES"));
    int n = scandir(path, &list, shown, alphasort);
    if (n <= 0 || n > MACHINES_MOST)
        return 1;
    for (int i = 0; i < n; i++)
        tests[i + 1] = (struct CMUnitTest){.name = list[i]->d_name, .test_func = one, .initial_state = list[i]->d_name};
    int failed = cmocka_run_group_tests(tests, NULL, NULL); /* tests without a function are left out */
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    return failed;
}
