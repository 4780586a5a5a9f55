/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/show_gpus.h"

#include <string.h>

#include "baro/interval.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/lines.h"

#define DEVICES_SHOWN 32u /* `baro export` has all */
#define PROCESSES_SHOWN 8u

static bool is_kind(int kind, const char *name)
{
    return kind >= 0 && kind < baro_kind_count() && strcmp(baro_kind_name(kind), name) == 0;
}

bool show_is_of_gpus(int kind)
{
    return is_kind(kind, "gpu") || is_kind(kind, "gpu_process");
}

int show_gpus_before(struct baro_tape *tape, uint64_t t_ns, struct baro_sample **ret, struct baro_error *err)
{
    struct baro_record record;
    const int kind = baro_kind_find("gpu");
    uint64_t first = UINT64_MAX;
    int code = baro_tape_seek(tape, t_ns, &record, err);
    *ret = NULL;
    if (code <= 0)
        return code;
    for (size_t i = 0; i < baro_sample_rows(record.u.sample, kind); i++) {
        uint64_t at;
        if (baro_row_read_ns(baro_sample_row(record.u.sample, kind, i), &at) == BARO_PRESENT && at < first)
            first = at;
    }
    if (!first || first == UINT64_MAX)
        return 0;
    code = baro_tape_seek(tape, first - 1, &record, err); /* a sample with this reading is not before it */
    if (code <= 0 || record.t_ns >= first)
        return code < 0 ? code : 0;
    return baro_sample_copy(record.u.sample, ret, err);
}

static bool has(const struct baro_row *e, const char *metric, uint64_t *ret)
{
    return baro_row_value(e, baro_metric_find(baro_row_kind(e), metric), ret) == BARO_PRESENT;
}

static bool put_share(const struct baro_row *e, const struct baro_sample *before, const char *derived,
                      const char *prefix, const char *suffix, struct buf *b)
{
    const struct baro_row *then = before ? baro_sample_find_id(before, baro_row_kind(e), baro_row_id(e)) : NULL;
    double v;
    if (!then || baro_row_derived(then, e, baro_derived_find(baro_row_kind(e), derived), &v) != BARO_PRESENT)
        return false;
    buf_str(b, prefix);
    lines_percent(b, v < 1 ? v : 1);
    buf_str(b, suffix);
    return true;
}

static void put_bytes(const struct baro_row *e, const char *metric, const char *prefix, struct buf *b)
{
    uint64_t v;
    if (!has(e, metric, &v))
        return;
    buf_str(b, prefix);
    fmt_bytes(b, v);
}

static void put_number(const struct baro_row *e, const char *metric, double per, const char *prefix, const char *unit,
                       struct buf *b)
{
    uint64_t v;
    if (has(e, metric, &v))
        buf_printf(b, "%s%.0f%s", prefix, (double)v / per, unit);
}

static void put_age(const struct baro_record *record, const struct baro_row *e, struct buf *b)
{
    uint64_t at;
    if (baro_row_read_ns(e, &at) == BARO_PRESENT && at + NS_PER_MS < record->t_ns) {
        buf_str(b, "; ");
        fmt_duration(b, record->t_ns - at);
        buf_str(b, " before");
    }
    buf_byte(b, '\n');
}

/* "gpu0 (NVIDIA L4): 70 % busy, the job 60 %, memory 7.90 GB of 24.2 GB, 34 W of 72 W, 61 °C, 1455 MHz; 884 ms before"
 */
static void put_device(const struct baro_record *record, const struct baro_row *e, const struct baro_sample *before,
                       struct buf *b)
{
    const int kind = baro_row_kind(e);
    uint64_t v;
    text_escaped(b, baro_row_name(e), strlen(baro_row_name(e)));
    if (*baro_row_label(e)) {
        buf_str(b, " (");
        text_escaped(b, baro_row_label(e), strlen(baro_row_label(e)));
        buf_byte(b, ')');
    }
    buf_str(b, ":");
    int absent = baro_row_value(e, baro_metric_find(kind, "memory_used"), &v);
    if (absent == BARO_ABSENT_GONE || absent == BARO_ABSENT_TIMEOUT) {
        buf_str(b, absent == BARO_ABSENT_GONE ? " lost" : " its driver does not answer");
        put_age(record, e, b);
        return;
    }
    size_t from = b->len;
    put_share(e, before, "busy_ratio", ", ", " busy", b);
    put_share(e, before, "busy_job_ratio", ", the job ", "", b);
    put_share(e, before, "busy_others_ratio", ", others ", "", b);
    put_bytes(e, "memory_used", ", memory ", b);
    put_bytes(e, "memory_total", " of ", b);
    put_number(e, "power", 1e6, ", ", " W", b);
    if (has(e, "power", &v))
        put_number(e, "power_limit", 1e6, " of ", " W", b);
    put_number(e, "temperature", 1e3, ", ", " \302\260C", b);
    put_number(e, "clock", 1e6, ", ", " MHz", b);
    if (b->len > from)
        memmove(b->at + from, b->at + from + 1, --b->len - from); /* the first comma */
    else
        buf_str(b, " no values");
    put_age(record, e, b);
}

/* "  4711 python3: 55 % of its time, memory 55.8 GB" */
static void put_process(const struct baro_row *p, const struct baro_sample *before, struct buf *b)
{
    buf_printf(b, "  %d ", (int)baro_row_owner_pid(p));
    text_escaped(b, baro_row_label(p), strlen(baro_row_label(p)));
    buf_str(b, ":");
    size_t from = b->len;
    put_share(p, before, "busy_ratio", " ", " of its time", b);
    put_bytes(p, "memory", b->len > from ? ", memory " : " memory ", b);
    if (b->len == from)
        buf_str(b, " no values");
    buf_byte(b, '\n');
}

static void put_processes(const struct baro_sample *s, const struct baro_row *device, const struct baro_sample *before,
                          struct buf *b)
{
    const int kind = baro_kind_find("gpu_process");
    size_t n = 0;
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        const struct baro_row *p = baro_sample_row(s, kind, i);
        uint64_t of;
        if (has(p, "gpu", &of) && of == baro_row_id(device) && n++ < PROCESSES_SHOWN)
            put_process(p, before, b);
    }
    if (n > PROCESSES_SHOWN)
        buf_printf(b, "  %zu more processes (baro export --entity gpu_process)\n", n - PROCESSES_SHOWN);
}

void show_gpus_text(const struct baro_record *record, const struct baro_sample *before, struct buf *b)
{
    const struct baro_sample *s = record->u.sample;
    const int kind = baro_kind_find("gpu");
    size_t n = baro_sample_rows(s, kind);
    for (size_t i = 0; i < n && i < DEVICES_SHOWN; i++) {
        put_device(record, baro_sample_row(s, kind, i), before, b);
        put_processes(s, baro_sample_row(s, kind, i), before, b);
    }
    if (n > DEVICES_SHOWN)
        buf_printf(b, "%zu more GPUs and instances (baro export --entity gpu)\n", n - DEVICES_SHOWN);
}
