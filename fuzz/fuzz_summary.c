/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary records: samples, exits and events made from the input go through the summary, its texts and the dialects
 * of rows. */
#include <stdlib.h>
#include <string.h>

#include "libbaro/summary/summary.h"
#include "output/rows/csv_json.h"
#include "output/rows/dialect.h"
#include "output/text/summary_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t len;
};

static uint8_t byte(struct input *in)
{
    if (!in->len)
        return 0;
    in->len--;
    return *in->at++;
}

static uint64_t number(struct input *in)
{
    static const uint64_t steep[] = {0, 1, 1000000, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 1ull << 53, 100000000};
    uint8_t how = byte(in);
    return how < 128 ? how * 10000000ull : steep[how & 7] + (how >> 3 & 3);
}

static void values(struct input *in, uint64_t *value, uint8_t *absent, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t how = byte(in);
        absent[i] = how < 200 ? BARO_PRESENT : how % (ABSENT_COUNT + 1);
        value[i] = absent[i] ? 0 : number(in);
    }
}

static void text(struct input *in, char *ret, size_t cap)
{
    size_t n = byte(in) % cap;
    for (size_t i = 0; i < n; i++)
        ret[i] = (char)(in->len ? byte(in) : 'x');
    ret[n] = 0;
}

#define ROWS 4
#define PARTS 2 /* of the machine, of each kind */
#define VALUES 64
#define DIALECTS 5

struct moment {
    struct baro_process p[ROWS], *rows[ROWS];
    char name[ROWS][24], line[ROWS][40];
    struct baro_sample s;
    struct baro_entity part[KIND_COUNT][PARTS], *parts[KIND_COUNT][PARTS];
    uint64_t value[KIND_COUNT][PARTS][VALUES];
    uint8_t absent[KIND_COUNT][PARTS][VALUES];
    char part_name[KIND_COUNT][PARTS][24];
    struct dialect *dialect[DIALECTS];
    struct buf rows_text;
};

static void one_look(struct input *in, struct moment *m)
{
    static const enum baro_kind kinds[] = {BARO_KIND_DISK, BARO_KIND_FS, BARO_KIND_NET, BARO_KIND_CGROUP};
    m->s.has_host = true;
    m->s.host_ns = m->s.t_ns - byte(in);
    values(in, m->s.host, m->s.host_absent, HOST_MAX);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        enum baro_kind kind = kinds[k];
        size_t n = byte(in) % (PARTS + 1);
        for (size_t i = 0; i < n; i++) {
            text(in, m->part_name[kind][i], sizeof(m->part_name[kind][i]));
            m->part[kind][i] = (struct baro_entity){.id = byte(in),
                                                    .kind = kind,
                                                    .name = m->part_name[kind][i],
                                                    .value = m->value[kind][i],
                                                    .absent = m->absent[kind][i]};
            m->parts[kind][i] = &m->part[kind][i];
            values(in, m->value[kind][i], m->absent[kind][i], (size_t)baro_metric_count(kind));
        }
        m->s.entities[kind] = (struct baro_entities){.n = n, .at = m->parts[kind]};
    }
}

static void in_dialects(struct moment *m, const struct baro_record *r)
{
    for (int i = 0; i < DIALECTS; i++) {
        if (m->dialect[i])
            dialect_record(m->dialect[i], r, &m->rows_text);
    }
}

static void one_sample(struct input *in, struct moment *m, struct baro_summary *s)
{
    m->s.t_ns += number(in);
    m->s.n = byte(in) % (ROWS + 1);
    m->s.processes = m->rows;
    values(in, m->s.job, m->s.job_absent, JOB_MAX);
    values(in, m->s.self, m->s.self_absent, RECORDER_MAX);
    for (size_t i = 0; i < m->s.n; i++) {
        m->rows[i] = &m->p[i];
        m->p[i] = (struct baro_process){
            .id = byte(in), .key = {byte(in), number(in)}, .name = m->name[i], .cmdline = m->line[i]};
        text(in, m->name[i], sizeof(m->name[i]));
        text(in, m->line[i], sizeof(m->line[i]));
        values(in, m->p[i].value, m->p[i].absent, PROCESS_MAX);
    }
    if (byte(in) & 1)
        one_look(in, m);
    summary_add_sample(s, &m->s);
    in_dialects(m, &(struct baro_record){.kind = BARO_RECORD_SAMPLE, .t_ns = m->s.t_ns, .u.sample = &m->s});
}

static void one_exit(struct input *in, struct baro_summary *s)
{
    char name[24];
    struct baro_exit e = {.id = byte(in), .name = name};
    text(in, name, sizeof(name));
    values(in, e.value, e.absent, EXIT_MAX);
    summary_add_exit(s, &e);
}

static void one_event(struct input *in, struct moment *m, struct baro_summary *s)
{
    char words[200];
    struct baro_event e = {.kind = (enum baro_event_kind)(byte(in) % (EVENT_KIND_COUNT + 1)), .text = words};
    e.t_ns = number(in);
    e.number = number(in);
    text(in, words, sizeof(words));
    summary_add_event(s, &e);
    in_dialects(m, &(struct baro_record){.kind = BARO_RECORD_EVENT, .t_ns = e.t_ns, .u.event = &e});
}

static void tell(const struct baro_summary *s, uint8_t how)
{
    struct buf b = {0};
    struct json j = {.out = &b, .pretty = how & 1};
    summary_json(s, "t", &j);
    report_block(s, "t", (struct report_style){.width = how, .utf8 = how & 2, .color = how & 4}, &b);
    /* No byte may reach a terminal that could do harm there: no control bytes except line ends and our own colours. */
    for (size_t i = 0; i < b.len && !(how & 4); i++) {
        if (b.at[i] < 0x20 && b.at[i] != '\n')
            abort();
    }
    buf_done(&b);
}

static void dialects_begin(struct moment *m, const struct baro_header *h)
{
    static const struct {
        const char *name;
        int kind;
    } all[DIALECTS] = {{"spare-cores", BARO_KIND_PROCESS},
                       {"spare-cores", BARO_KIND_HOST},
                       {"spare-cores-mended", BARO_KIND_PROCESS},
                       {"spare-cores-mended", BARO_KIND_HOST},
                       {"pytyche-cpu", DIALECT_ANY}};
    for (int i = 0; i < DIALECTS; i++)
        dialect_new(&m->dialect[i], all[i].name, all[i].kind, h, NULL);
}

/* Numbers, nan, commas, quotes: no text of the tape is in there. */
static void dialects_end(struct moment *m)
{
    static const char allowed[] = "0123456789nan.,-+:T\"\r\n";
    for (int i = 0; i < DIALECTS; i++)
        dialect_free(m->dialect[i]);
    for (size_t i = 0; i < m->rows_text.len; i++) {
        if (!memchr(allowed, m->rows_text.at[i], sizeof(allowed) - 1))
            abort();
    }
    buf_done(&m->rows_text);
}

static void limits(struct input *in, struct baro_limits *ret)
{
    ret->memory_bytes = number(in);
    ret->cores_ppm = number(in);
    ret->pids = number(in);
    text(in, ret->memory_source, sizeof(ret->memory_source));
    text(in, ret->cores_source, sizeof(ret->cores_source));
    text(in, ret->pids_source, sizeof(ret->pids_source));
    uint8_t why = byte(in);
    ret->memory_absent = why % ABSENT_COUNT;
    ret->cores_absent = why / 8 % ABSENT_COUNT;
    ret->pids_absent = why / 64;
}

static void new_limits(struct input *in, struct baro_summary *s)
{
    struct baro_limits l = {0};
    limits(in, &l);
    summary_add_limits(s, &l, number(in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    static const struct moment nothing;
    struct moment m = nothing;
    char command[40], *argv[] = {command, NULL};
    uint8_t how = byte(&in);
    text(&in, command, sizeof(command));
    struct baro_header h = {.mode = how & 8 ? BARO_MODE_ATTACH : BARO_MODE_RUN,
                            .argv = argv,
                            .cpus = how,
                            .start_realtime_ns = (int64_t)number(&in)};
    if (how & 16)
        limits(&in, &h.limits);
    if (how & 32)
        memcpy(h.cgroup_mode, "own", 4);
    struct baro_summary *s = summary_new(&h);
    if (!s)
        return 0;
    dialects_begin(&m, &h);
    while (in.len) {
        uint8_t what = byte(&in), kind = what % 3;
        if (what >= 252)
            new_limits(&in, s);
        else if (kind == 0)
            one_sample(&in, &m, s);
        else if (kind == 1)
            one_exit(&in, s);
        else
            one_event(&in, &m, s);
    }
    summary_finish(s);
    tell(s, how);
    dialects_end(&m);
    summary_free(s);
    return 0;
}
