/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine on a tape: as in tests/tape/v1-machine.baro, which is never written again (`make_golden` shows how it was
 * made); as a reader sees it that lacks some of its kinds; and how old its values are in samples that did not read it.
 */

#include <zstd.h>

#include "unit.h"
#include "libbaro/tape/format.h"
#include "libbaro/tape/row_encoding.h"
#include "tape_file.h"

/* Every number follows from the tick, the entity's id and the metric. */
static uint64_t value_at(unsigned tick, unsigned id, unsigned metric)
{
    uint64_t base = (uint64_t)(metric + 1) * 10000000 + id * 4096;
    switch (metric % 4) {
    case 0: return base + (uint64_t)tick * 10000000 * (id + 1);
    case 1: return base + (uint64_t)(tick / 3) * 4096;
    case 2: return base;
    default: return tick % 2 ? 0 - (uint64_t)tick * 125 : tick;
    }
}

static uint8_t absent_at(unsigned tick, unsigned id, unsigned metric)
{
    if ((metric + id) % 7 != 0 || tick < metric % 5)
        return 0;
    return (uint8_t)(1 + (metric + tick / 4) % 8 /* reasons as of format 1 */);
}

/* The kinds as of this tape: later libraries may have more columns, and more kinds. Two entities of each, of which the
 * first is removed at tick 6; disks appear at tick 3. */
static const struct {
    enum baro_kind kind;
    unsigned columns;
} kinds[] = {
    {BARO_KIND_CPU, 13}, {BARO_KIND_DISK, 14},  {BARO_KIND_FS, 6},
    {BARO_KIND_NET, 9},  {BARO_KIND_SENSOR, 3}, {BARO_KIND_CGROUP, 41},
};
enum { KINDS = sizeof kinds / sizeof *kinds, V1_HOST = 70, TICKS = 12 };

/* Ticks 1, 4, 7, ... did not read the machine, nor did the first. */
static bool is_read(unsigned tick)
{
    return tick > 0 && tick % 3 != 1;
}

static unsigned last_read(unsigned tick)
{
    while (tick > 0 && !is_read(tick))
        tick--;
    return tick;
}

static unsigned count_at(unsigned reading, unsigned k)
{
    if (reading == 0 || (kinds[k].kind == BARO_KIND_DISK && reading < 3))
        return 0;
    return reading < 6 ? 2 : 1;
}

static unsigned id_at(unsigned reading, unsigned k, unsigned i)
{
    return 2 * k + i + (reading < 6 ? 1 : 2);
}

static uint64_t host_ns_at(unsigned reading)
{
    return 1000000007ull * reading + 105;
}

static void fill(uint64_t *value, uint8_t *absent, unsigned n, unsigned tick, unsigned id)
{
    for (unsigned m = 0; m < n; m++) {
        absent[m] = absent_at(tick, id, m);
        value[m] = absent[m] ? 0 : value_at(tick, id, m);
    }
}

struct room {
    struct baro_entity entity[KINDS][2], *at[KINDS][2];
    uint64_t value[KINDS][2][COLUMNS_MAX];
    uint8_t absent[KINDS][2][COLUMNS_MAX];
    char name[KINDS][2][16];
};

static void fill_reading(struct baro_sample *s, struct room *room, unsigned reading)
{
    s->has_host = true;
    s->host_ns = host_ns_at(reading);
    fill(s->host, s->host_absent, V1_HOST, reading, 0);
    for (unsigned k = 0; k < KINDS; k++) {
        unsigned n = count_at(reading, k);
        for (unsigned i = 0; i < n; i++) {
            unsigned id = id_at(reading, k, i);
            snprintf(room->name[k][i], sizeof room->name[k][i], "%s %u", baro_kind_name(kinds[k].kind), id);
            room->entity[k][i] = (struct baro_entity){
                .id = id,
                .kind = kinds[k].kind,
                .name = room->name[k][i],
                .label = reading < 8 ? "" : "later \xff",
                .info_version = reading < 8 ? 1 : 2,
                .value = room->value[k][i],
                .absent = room->absent[k][i],
            };
            fill(room->value[k][i], room->absent[k][i], kinds[k].columns, reading, id);
            room->at[k][i] = &room->entity[k][i];
        }
        s->entities[kinds[k].kind] = (struct baro_entities){.n = n, .at = room->at[k]};
    }
}

static void make_tape(const char *name)
{
    char *argv[] = {"true", NULL};
    static struct room room;
    struct baro_header h = {
        .version = "0.1.0",
        .host = "golden",
        .argv = argv,
        .cpu_model = "Made-up 9000",
        .numa_nodes = 2,
        .cgroup_mode = "own",
        .limits = {.memory_bytes = 1ull << 33,
                   .memory_source = "cgroup /pod",
                   .cores_ppm = 1500000,
                   .cores_source = "cgroup /pod/a",
                   .pids = 4096,
                   .pids_source = "RLIMIT_NPROC"},
    };
    struct baro_process p = {
        .id = 100, .key = {100, 5000}, .info_version = 1, .name = "true", .cmdline_absent = BARO_ABSENT_DENIED};
    struct baro_process *list[] = {&p};
    struct baro_sample s = {.n = 1, .processes = list};
    struct tape_writer *w = tape_begun(name, &h);
    for (unsigned tick = 0; tick < TICKS; tick++) {
        s.t_ns = 1000000007ull * tick + 5;
        p.read_ns = s.t_ns;
        p.value[PROCESS_cpu] = 1000 * tick;
        if (is_read(tick))
            fill_reading(&s, &room, tick);
        tape_add(w, &s);
    }
    tape_ended(w);
}

static void expect(int got, const uint64_t *value, unsigned tick, unsigned id, unsigned metric)
{
    assert_int_equal(got, absent_at(tick, id, metric));
    if (got == 0)
        assert_true(*value == value_at(tick, id, metric));
}

/* kind: its number for this reader */
static void expect_kind(const struct baro_sample *s, unsigned reading, unsigned k, int kind)
{
    uint64_t v = 0;
    char name[16];
    assert_int_equal(baro_sample_rows(s, kind), count_at(reading, k));
    assert_null(baro_sample_row(s, kind, count_at(reading, k)));
    for (unsigned i = 0; i < count_at(reading, k); i++) {
        const struct baro_row *e = baro_sample_row(s, kind, i);
        unsigned id = id_at(reading, k, i);
        snprintf(name, sizeof name, "%s %u", baro_kind_name(kinds[k].kind), id);
        assert_int_equal(baro_row_id(e), id);
        assert_int_equal(baro_row_kind(e), kind);
        assert_int_equal(baro_row_owner(e), BARO_OWNER_NONE);
        assert_int_equal(baro_row_attribute_count(e), 0);
        assert_string_equal(baro_row_name(e), name);
        assert_string_equal(baro_row_label(e), reading < 8 ? "" : "later \xff");
        for (unsigned m = 0; m < kinds[k].columns; m++)
            expect(baro_row_value(e, (int)m, &v), &v, reading, id, m);
        assert_int_equal(baro_row_value(e, -1, &v), BARO_ABSENT_UNSUPPORTED);
        assert_int_equal(baro_row_value(e, baro_metric_count(kinds[k].kind), &v), BARO_ABSENT_UNKNOWN);
    }
}

static void expect_host(const struct baro_sample *s, unsigned reading)
{
    uint64_t v = 0;
    if (reading == 0) {
        assert_int_equal(baro_sample_read_ns(s, BARO_KIND_HOST, &v), BARO_ABSENT_UNKNOWN);
        assert_int_equal(baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), HOST_cpus, &v), BARO_ABSENT_UNKNOWN);
        return;
    }
    assert_then(baro_sample_read_ns(s, BARO_KIND_HOST, &v), v == host_ns_at(reading));
    for (unsigned m = 0; m < V1_HOST; m++)
        expect(baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), (int)m, &v), &v, reading, 0, m);
}

/* unknown: a kind that the tape has under another name, which this library does not know; KINDS: none. */
static void expect_sample(const struct baro_tape *t, const struct baro_sample *s, unsigned tick, unsigned unknown,
                          const char *renamed)
{
    uint64_t v = 0;
    assert_true(s->t_ns == 1000000007ull * tick + 5);
    assert_int_equal(baro_sample_rows(s, BARO_KIND_PROCESS), 1);
    assert_then(baro_row_value(baro_sample_row(s, BARO_KIND_PROCESS, 0), PROCESS_cpu, &v), v == 1000 * tick);
    expect_host(s, last_read(tick));
    for (unsigned k = 0; k < KINDS; k++)
        expect_kind(s, last_read(tick), k, k == unknown ? baro_tape_kind_find(t, renamed) : (int)kinds[k].kind);
    if (unknown < KINDS)
        assert_int_equal(baro_sample_rows(s, kinds[unknown].kind), 0);
    assert_int_equal(baro_sample_rows(s, BARO_KIND_EXIT), 0);
    assert_int_equal(baro_sample_rows(s, baro_tape_kind_count(t)), 0);
}

static void read_tape(const char *name, unsigned unknown, const char *renamed)
{
    struct baro_record r;
    unsigned tick = 0;
    struct baro_tape *t = tape_opened(name);
    assert_int_equal(baro_tape_kind_count(t), baro_kind_count() + (unknown < KINDS));
    if (unknown < KINDS)
        assert_int_equal(baro_tape_kind_find(t, renamed), baro_kind_count());
    while (baro_tape_next(t, &r, NULL) == 1) {
        assert_int_equal(r.kind, BARO_RECORD_SAMPLE);
        expect_sample(t, r.u.sample, tick++, unknown, renamed);
    }
    assert_int_equal(tick, TICKS);
    assert_int_equal(baro_tape_damage(t), 0);
    for (tick = TICKS; tick-- > 0;) {
        assert_int_equal(baro_tape_seek(t, 1000000007ull * tick + 5, &r, NULL), 1);
        expect_sample(t, r.u.sample, tick, unknown, renamed);
    }
    baro_tape_close(t);
}

TEST(golden)
{
    const char *name = kept("tape/v1-machine.baro");
#ifdef MAKE_GOLDEN
    make_tape(name);
#endif
    read_tape(name, KINDS, "");
    struct baro_tape *t = tape_opened(name);
    const struct baro_header *h = baro_tape_header(t);
    assert_true(h->limits.memory_bytes == 1ull << 33 && h->limits.cores_ppm == 1500000 && h->limits.pids == 4096);
    assert_string_equal(h->limits.memory_source, "cgroup /pod");
    assert_string_equal(h->limits.cores_source, "cgroup /pod/a");
    assert_string_equal(h->limits.pids_source, "RLIMIT_NPROC");
    assert_string_equal(h->cpu_model, "Made-up 9000");
    assert_string_equal(h->cgroup_mode, "own");
    assert_int_equal(h->numa_nodes, 2);
    baro_tape_close(t);
}

/* Writes the tape again with a schema in which `from` is called `to`; both have the same length. */
static void rename_in_schema(const char *name, const char *from, const char *to)
{
    struct frame_head head;
    size_t len;
    unsigned char *whole = slurp(name, &len), raw[1 << 16], packed[1 << 16];
    assert_true(frame_head_parse(whole + TAPE_PREAMBLE_SIZE, &head));
    size_t at = TAPE_PREAMBLE_SIZE + FRAME_HEAD_SIZE + head.len;
    assert_true(frame_head_parse(whole + at, &head) && head.type == FRAME_SCHEMA);
    size_t n = ZSTD_decompress(raw, sizeof raw, whole + at + FRAME_HEAD_SIZE, head.len);
    assert_false(ZSTD_isError(n));
    /* A metric of processes has the name of a kind as well; that of a kind is followed by the number of its columns. */
    unsigned char *found = raw;
    while (found && (found == raw || (strcmp(from, "\006cgroup") == 0 && found[7] != CGROUP_MAX)))
        found = memmem(found + 1, n - (size_t)(found + 1 - raw), from, strlen(from));
    assert_non_null(found);
    memcpy(found, to, strlen(to));
    size_t size = ZSTD_compress(packed + FRAME_HEAD_SIZE, sizeof packed - FRAME_HEAD_SIZE, raw, n, 19);
    assert_false(ZSTD_isError(size));
    frame_seal(packed, FRAME_SCHEMA, 0, (uint32_t)size, frame_seed(whole + 12));
    int fd = open(name, O_WRONLY | O_TRUNC);
    size_t rest = at + FRAME_HEAD_SIZE + head.len;
    assert_int_equal(write(fd, whole, at), at);
    assert_int_equal(write(fd, packed, FRAME_HEAD_SIZE + size), FRAME_HEAD_SIZE + size);
    assert_int_equal(write(fd, whole + rest, len - rest), len - rest);
    close(fd);
    free(whole);
}

/* A newer writer has a kind that this reader lacks: it is read by the schema, and so is all else. */
TEST(unknown_kinds)
{
    make_tape(tape_path);
    rename_in_schema(tape_path, "\006cgroup", "\006gzroup");
    read_tape(tape_path, 5, "gzroup");
    make_tape(tape_path);
    rename_in_schema(tape_path, "\004disk", "\004dizk");
    read_tape(tape_path, 1, "dizk");
    make_tape(tape_path);
    read_tape(tape_path, KINDS, "");
}

/* ... and one that has a metric more. */
TEST(unknown_metric)
{
    struct baro_record r;
    uint64_t v = 0;
    int cpu = baro_metric_count(BARO_KIND_CPU), host = baro_metric_count(BARO_KIND_HOST);
    make_tape(tape_path);
    rename_in_schema(tape_path, "softirq_ns", "softerr_ns"); /* the host's cpu_softirq_ns comes first */
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_tape_metric_count(t, BARO_KIND_HOST), host + 1);
    assert_int_equal(baro_tape_metric_count(t, BARO_KIND_CPU), cpu);
    assert_string_equal(baro_tape_metric(t, BARO_KIND_HOST, host)->name, "cpu_softerr_ns");
    assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
    assert_int_equal(baro_row_value(baro_sample_row(r.u.sample, BARO_KIND_HOST, 0), HOST_cpu_softirq, &v),
                     BARO_ABSENT_UNKNOWN);
    expect(baro_row_value(baro_sample_row(r.u.sample, BARO_KIND_HOST, 0), host, &v), &v, TICKS - 1, 0,
           HOST_cpu_softirq);
    baro_tape_close(t);
    make_tape(tape_path);
    rename_in_schema(tape_path, "\004busy\007busy_ns", "\004bizy\007bizy_ns");
    t = tape_opened(tape_path);
    assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
    const struct baro_row *e = baro_sample_row(r.u.sample, BARO_KIND_DISK, 0);
    assert_int_equal(baro_row_value(e, DISK_busy, &v), BARO_ABSENT_UNKNOWN);
    expect(baro_row_value(e, DISK_MAX, &v), &v, TICKS - 1, baro_row_id(e), DISK_busy);
    expect(baro_row_value(e, DISK_queue_time, &v), &v, TICKS - 1, baro_row_id(e), DISK_queue_time);
    baro_tape_close(t);
    struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"a", .value[PROCESS_fds] = 5}, *all[] = {&p};
    struct tape_writer *w = new_tape(tape_path, NULL);
    tape_add(w, &(struct baro_sample){.t_ns = 1000, .n = 1, .processes = all});
    tape_ended(w);
    rename_in_schema(tape_path, "\003fds\003fds", "\003fdz\003fdz");
    t = tape_opened(tape_path);
    int process = baro_metric_count(BARO_KIND_PROCESS);
    assert_string_equal(baro_tape_metric(t, BARO_KIND_PROCESS, process)->name, "fdz");
    assert_null(baro_tape_metric(t, BARO_KIND_PROCESS, process + 1));
    assert_int_equal(baro_tape_seek(t, UINT64_MAX, &r, NULL), 1);
    e = baro_sample_row(r.u.sample, BARO_KIND_PROCESS, 0);
    assert_int_equal(baro_row_value(e, PROCESS_fds, &v), BARO_ABSENT_UNKNOWN);
    assert_gives(baro_row_value(e, process, &v), v, 5);
    baro_tape_close(t);
}

/* More entities of a kind than a tape may have: the first ones are kept, and the tape stays valid. */
TEST(too_many)
{
    enum { MANY = (1 << 16) + 10 };
    struct baro_entity *e = calloc(MANY, sizeof *e), **at = calloc(MANY, sizeof *at);
    uint64_t value[SENSOR_MAX] = {40000};
    uint8_t absent[SENSOR_MAX] = {0};
    struct baro_sample s = {.has_host = true};
    struct baro_record r;
    for (uint32_t i = 0; i < MANY; i++) {
        e[i] = (struct baro_entity){
            .id = i + 1, .kind = BARO_KIND_SENSOR, .name = "x", .label = "", .value = value, .absent = absent};
        at[i] = &e[i];
    }
    s.entities[BARO_KIND_SENSOR] = (struct baro_entities){.n = MANY, .at = at};
    struct tape_writer *w = new_tape(tape_path, NULL);
    for (s.t_ns = 0; s.t_ns < 3; s.t_ns++) {
        s.host_ns = s.t_ns;
        value[0] += 1000;
        tape_add(w, &s);
    }
    tape_writer_free(w);
    struct baro_tape *t = tape_opened(tape_path);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(baro_tape_next(t, &r, NULL), 1);
        assert_int_equal(baro_sample_rows(r.u.sample, BARO_KIND_SENSOR), 1 << 16);
    }
    assert_int_equal(baro_row_id(baro_sample_row(r.u.sample, BARO_KIND_SENSOR, 65535)), 65536);
    assert_int_equal(baro_tape_damage(t), 0);
    baro_tape_close(t);
    free(at);
    free(e);
}
