/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the machine: their values and names, and what a CPU second is there. Expected text is typed by hand. */
#include "unit.h"
#include "libbaro/interval/derive.h"
#include "output/rows/csv_json.h"
#include "tape_file.h"

#define MS 1000000ull

struct machine_of_two {
    uint64_t cpu[2][CPU_MAX], disk[2][DISK_MAX], sensor[SENSOR_MAX];
    uint8_t cpu_absent[2][CPU_MAX], disk_absent[2][DISK_MAX], sensor_absent[SENSOR_MAX];
    struct baro_entity cpus[2], disks[2], sensors[1];
    struct baro_entity *cpu_at[2], *disk_at[1], *sensor_at[1];
};

static void set(uint64_t *value, uint8_t *absent, int metric, uint64_t v)
{
    value[metric] = v;
    absent[metric] = BARO_PRESENT;
}

static void set_up_machine(struct machine_of_two *m, struct baro_sample *s)
{
    memset(m, 0, sizeof *m);
    memset(s->host_absent, BARO_ABSENT_UNSUPPORTED, sizeof s->host_absent);
    for (unsigned i = 0; i < 2; i++) {
        memset(m->cpu_absent[i], BARO_ABSENT_UNSUPPORTED, CPU_MAX);
        memset(m->disk_absent[i], BARO_ABSENT_DENIED, DISK_MAX);
        m->cpus[i] = (struct baro_entity){.id = i + 1,
                                          .kind = BARO_KIND_CPU,
                                          .name = i ? "cpu1" : "cpu0",
                                          .label = "",
                                          .value = m->cpu[i],
                                          .absent = m->cpu_absent[i]};
        /* Two disks after one another with the same name; the second one's label is hostile. */
        m->disks[i] = (struct baro_entity){.id = i + 3,
                                           .kind = BARO_KIND_DISK,
                                           .name = "sda",
                                           .label = i ? "\x1b[31m,\"" : "old one",
                                           .value = m->disk[i],
                                           .absent = m->disk_absent[i]};
        m->cpu_at[i] = &m->cpus[i];
    }
    memset(m->sensor_absent, BARO_ABSENT_NOT_YET, SENSOR_MAX);
    m->sensors[0] = (struct baro_entity){.id = 5,
                                         .kind = BARO_KIND_SENSOR,
                                         .name = "k10temp/Tctl",
                                         .label = "",
                                         .value = m->sensor,
                                         .absent = m->sensor_absent};
    m->disk_at[0] = &m->disks[0];
    m->sensor_at[0] = &m->sensors[0];
    s->entities[BARO_KIND_CPU] = (struct baro_entities){.n = 2, .at = m->cpu_at};
    s->entities[BARO_KIND_DISK] = (struct baro_entities){.n = 1, .at = m->disk_at};
    s->entities[BARO_KIND_SENSOR] = (struct baro_entities){.n = 1, .at = m->sensor_at};
}

/* Samples at 0, 1, 2 and 3 s, each 1 ms after the machine was read; at 1 s it was not. Between the first and the second
 * reading (2 s) CPU 0 is in user mode for 1 s and in softirq for 0.5 s, CPU 1 loses 2 s to other virtual machines; in
 * the third (1 s) CPU 0 idles and CPU 1's user time falls, as it never should. */
static void write_machine(void)
{
    static struct machine_of_two m;
    struct baro_sample s = {.has_host = true};
    struct tape_writer *w = new_tape(tape_path, NULL);
    set_up_machine(&m, &s);
    for (unsigned tick = 0; tick < 4; tick++) {
        s.t_ns = tick * 1000 * MS + MS;
        s.host_ns = tick == 1 ? 0 : tick * 1000 * MS;
        if (tick == 0) {
            set(s.host, s.host_absent, HOST_cpu_user, 5000 * MS);
            set(s.host, s.host_absent, HOST_load_1m, 250000);
            set(s.host, s.host_absent, HOST_memory_used, UINT64_MAX);
            set(m.cpu[0], m.cpu_absent[0], CPU_user, 5000 * MS);
            set(m.cpu[1], m.cpu_absent[1], CPU_user, 5000 * MS);
            set(m.disk[0], m.disk_absent[0], DISK_read, 512);
            set(m.sensor, m.sensor_absent, SENSOR_temperature, 0 - 1500ull);
        } else if (tick == 2) {
            set(s.host, s.host_absent, HOST_cpu_user, 6000 * MS);
            set(s.host, s.host_absent, HOST_cpu_softirq, 500 * MS);
            set(s.host, s.host_absent, HOST_cpu_steal, 2000 * MS);
            set(m.cpu[0], m.cpu_absent[0], CPU_user, 6000 * MS);
            set(m.cpu[0], m.cpu_absent[0], CPU_softirq, 500 * MS);
            set(m.cpu[1], m.cpu_absent[1], CPU_steal, 2000 * MS);
            m.disk_at[0] = &m.disks[1];
            set(m.disk[1], m.disk_absent[1], DISK_read, 1024);
        } else if (tick == 3) {
            set(m.cpu[1], m.cpu_absent[1], CPU_user, 4000 * MS);
        }
        tape_add(w, &s);
    }
    tape_ended(w);
}

static void expect_rows(int kind, bool csv, const char *list, const char *expected)
{
    struct buf text = {0};
    struct columns c;
    struct baro_record r;
    uint64_t last = UINT64_MAX, at;
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(columns_choose(&c, kind, list, t, NULL, NULL), 0);
    struct baro_previous *memory = row_previous_new();
    while (baro_tape_next(t, &r, NULL) > 0) {
        assert_int_equal(baro_sample_read_ns(r.u.sample, BARO_KIND_HOST, &at), 0);
        struct output_row row = {
            .kind = kind, .header = baro_tape_header(t), .t_ns = at, .sample = r.u.sample, .memory = memory};
        size_t n = kind == BARO_KIND_HOST ? 1 : baro_sample_rows(r.u.sample, (enum baro_kind)kind);
        for (size_t i = 0; at != last && i < n; i++) {
            row.entity = baro_sample_row(r.u.sample, (enum baro_kind)kind, i);
            row_begin(&row);
            if (csv)
                csv_row(&c, &row, false, &text);
            else
                jsonl_row(&c, &row, &text);
        }
        last = at;
    }
    buf_byte(&text, 0);
    assert_string_equal((char *)text.at, expected);
    baro_previous_free(memory);
    columns_done(&c);
    baro_tape_close(t);
    buf_done(&text);
}

TEST(rows)
{
    write_machine();
    expect_rows(BARO_KIND_HOST, true, "t_ns,cores,load_1m,memory_used,cpu_idle",
                "0,,0.25,18446744073709551615,\n"
                "2000000000,0.75,0.25,18446744073709551615,\n"
                "3000000000,0,0.25,18446744073709551615,\n");
    expect_rows(BARO_KIND_CPU, true, "name,t,cores,user,steal",
                "cpu0,0,,5000000000,\n"
                "cpu1,0,,5000000000,\n"
                "cpu0,2000000000,0.75,6000000000,\n"
                "cpu1,2000000000,0,5000000000,2000000000\n"
                "cpu0,3000000000,0,6000000000,\n"
                "cpu1,3000000000,,4000000000,2000000000\n");
    expect_rows(BARO_KIND_DISK, false, "id,name,label,read,write",
                "{\"id\":3,\"name\":\"sda\",\"label\":\"old "
                "one\",\"read_bytes\":512,\"write_bytes\":null,\"absent\":{\"write_bytes\":\"denied\"}}\n"
                "{\"id\":4,\"name\":\"sda\",\"label\":\"\\\\x1b[31m,\\\"\",\"read_bytes\":1024,\"write_bytes\":null,"
                "\"absent\":{\"write_bytes\":\"denied\"}}\n"
                "{\"id\":4,\"name\":\"sda\",\"label\":\"\\\\x1b[31m,\\\"\",\"read_bytes\":1024,\"write_bytes\":null,"
                "\"absent\":{\"write_bytes\":\"denied\"}}\n");
    expect_rows(BARO_KIND_SENSOR, true, "name,temperature,critical",
                "k10temp/Tctl,-1.5,\nk10temp/Tctl,-1.5,\nk10temp/Tctl,-1.5,\n");
    expect_rows(BARO_KIND_FS, true, NULL, "");
}

TEST(columns)
{
    struct columns c;
    write_machine();
    struct baro_tape *t = tape_opened(tape_path);
    for (int kind = BARO_KIND_HOST; kind <= BARO_KIND_CGROUP; kind++) {
        bool cores = kind == BARO_KIND_HOST || kind == BARO_KIND_CPU || kind == BARO_KIND_CGROUP;
        assert_int_equal(columns_choose(&c, kind, NULL, t, NULL, NULL), 0);
        assert_int_equal(c.n, baro_metric_count((enum baro_kind)kind) + (kind == BARO_KIND_HOST ? 2 : 4) + cores);
        assert_int_equal(c.cores, cores);
        columns_done(&c);
        assert_int_equal(columns_choose(&c, kind, "pid", t, NULL, NULL), BARO_E_SYNTAX);
        columns_done(&c);
    }
    assert_int_equal(columns_choose(&c, BARO_KIND_HOST, "name", t, NULL, NULL), BARO_E_SYNTAX);
    columns_done(&c);
    baro_tape_close(t);
}
