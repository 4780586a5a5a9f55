/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/show_kinds.h"

#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "programs/baro-read/show_gpus.h"

#define ENTITIES_MOST 8 /* lines of a kind; `baro export` has all */
#define METRICS_MOST 8  /* values of a line */

static bool has_any(const struct baro_tape *tape, const struct baro_sample *s)
{
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(tape); kind++) {
        if (baro_sample_rows(s, kind))
            return true;
    }
    return false;
}

static void escaped(struct buf *b, const char *text)
{
    text_escaped(b, text, strlen(text));
}

static void real(struct buf *b, double v)
{
    if (v == (double)(int64_t)v && v > -1e15 && v < 1e15)
        buf_printf(b, "%lld", (long long)v);
    else
        buf_printf(b, "%.6g", v);
}

/* "requests_total 17", "resident_bytes 4.20 MB". Returns false if the value is absent. */
static bool put_metric(const struct baro_row *e, const struct baro_metric *m, int id, struct buf *b)
{
    uint64_t v;
    if (baro_row_value(e, id, &v) != BARO_PRESENT)
        return false;
    escaped(b, m->name);
    buf_byte(b, ' ');
    if (m->unit == BARO_UNIT_BYTES)
        fmt_bytes(b, v);
    else if (m->unit == BARO_UNIT_NS)
        fmt_duration(b, v);
    else
        real(b, baro_metric_real(m, v));
    return true;
}

/* "http (code="200", method="get"): requests_total 17, ..." */
static void put_entity_line(const struct baro_tape *tape, const struct baro_record *record, const struct baro_row *e,
                            struct buf *b)
{
    int kind = baro_row_kind(e), n = 0, left = 0;
    uint64_t read_ns;
    escaped(b, baro_tape_kind_name(tape, kind));
    if (*baro_row_name(e)) {
        buf_byte(b, ' ');
        escaped(b, baro_row_name(e));
    } else if (baro_row_owner(e) == BARO_OWNER_PROCESS) {
        buf_printf(b, " of %d", (int)baro_row_owner_pid(e));
    }
    buf_str(b, ":");
    for (int id = 0; id < baro_tape_metric_count(tape, kind); id++) {
        size_t before = b->len;
        buf_str(b, n ? ", " : " ");
        bool present = put_metric(e, baro_tape_metric(tape, kind, id), id, b);
        if (!present || n == METRICS_MOST)
            b->len = before;
        left += present && n == METRICS_MOST;
        n += present && n < METRICS_MOST;
    }
    if (!n)
        buf_str(b, " no values");
    if (left)
        buf_printf(b, ", %d more", left);
    if (baro_row_read_ns(e, &read_ns) == BARO_PRESENT && read_ns + NS_PER_MS < record->t_ns) {
        buf_str(b, "; ");
        fmt_duration(b, record->t_ns - read_ns);
        buf_str(b, " before");
    }
    buf_byte(b, '\n');
}

void show_kinds_text(const struct baro_tape *tape, const struct baro_record *record, struct buf *b)
{
    const struct baro_sample *s = record->u.sample;
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(tape); kind++) {
        size_t n = show_is_of_gpus(kind) ? 0 : baro_sample_rows(s, kind);
        for (size_t i = 0; i < n && i < ENTITIES_MOST; i++)
            put_entity_line(tape, record, baro_sample_row(s, kind, i), b);
        if (n > ENTITIES_MOST) {
            escaped(b, baro_tape_kind_name(tape, kind));
            buf_printf(b, ": %zu more rows (baro export --entity ", n - ENTITIES_MOST);
            escaped(b, baro_tape_kind_name(tape, kind));
            buf_str(b, ")\n");
        }
    }
}

int show_kind_json(const struct baro_tape *tape, const struct baro_record *record, int kind, const char *only,
                   struct baro_previous *memory, struct json *j, struct baro_error *err)
{
    const struct baro_sample *s = record->u.sample;
    struct buf attributes = {0};
    struct output_row row = {.kind = kind,
                             .header = baro_tape_header(tape),
                             .t_ns = record->t_ns,
                             .sample = s,
                             .attributes = &attributes,
                             .memory = memory};
    struct columns columns;
    int code = columns_choose(&columns, kind, NULL, tape, NULL, err);
    if (code < 0)
        return code;
    json_begin(j, '[');
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        row.entity = baro_sample_row(s, kind, i);
        if (only && strcmp(only, baro_row_name(row.entity)) != 0)
            continue;
        if (baro_row_read_ns(row.entity, &row.t_ns) != BARO_PRESENT)
            row.t_ns = record->t_ns;
        row_begin(&row);
        json_row(&columns, &row, j);
    }
    json_end(j, ']');
    columns_done(&columns);
    buf_done(&attributes);
    return 0;
}

int show_kinds_json(const struct baro_tape *tape, const struct baro_record *record, struct json *j,
                    struct baro_error *err)
{
    int code = 0;
    if (!has_any(tape, record->u.sample))
        return 0;
    json_key_begin(j, "entities", '{');
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(tape) && code == 0; kind++) {
        if (!baro_sample_rows(record->u.sample, kind))
            continue;
        json_key(j, baro_tape_kind_name(tape, kind));
        code = show_kind_json(tape, record, kind, NULL, NULL, j, err);
    }
    json_end(j, '}');
    return code;
}
