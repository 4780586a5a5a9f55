/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/show_machine.h"

#include "base/clock.h"
#include "base/fmt.h"
#include "cli/reader.h"
#include "derive/machine.h"

#define LOOKS_BACK 8 /* a look may be stamped a little later than its sample */

static bool row_of(const struct baro_tape *tape, const struct baro_record *record, struct row_memory *memory,
                   struct row *ret)
{
    *ret = (struct row){
        .entity = ROW_HOST, .header = baro_tape_header(tape), .sample = record->u.sample, .memory = memory};
    return machine_looked_at(record->u.sample) && baro_sample_host_ns(record->u.sample, &ret->t_ns) == BARO_PRESENT;
}

int show_machine_before(struct baro_tape *tape, uint64_t t_ns, struct row_memory *memory, struct baro_error *err)
{
    struct baro_record record;
    struct row row;
    int code = baro_tape_seek(tape, t_ns, &record, err);
    if (code <= 0 || !row_of(tape, &record, NULL, &row))
        return code < 0 ? code : 0;
    uint64_t look_ns = row.t_ns, at = look_ns < record.t_ns ? look_ns : record.t_ns;
    for (int i = 0; i < LOOKS_BACK && at > 0; i++) {
        code = baro_tape_seek(tape, at - 1, &record, err);
        if (code <= 0 || record.t_ns >= at || !row_of(tape, &record, memory, &row))
            return code < 0 ? code : 0;
        if (row.t_ns < look_ns) {
            row_begin(&row);
            return 0;
        }
        at = record.t_ns;
    }
    return 0;
}

static void bytes(struct buf *b, const struct baro_sample *s, enum host_metric metric)
{
    uint64_t v;
    if (baro_sample_host(s, metric, &v) == BARO_PRESENT)
        fmt_bytes(b, v);
    else
        buf_byte(b, '?');
}

void show_machine_line(const struct baro_tape *tape, const struct baro_record *record, struct row_memory *memory,
                       struct buf *b)
{
    const struct baro_sample *s = record->u.sample;
    struct row row;
    uint64_t v;
    if (!row_of(tape, record, memory, &row))
        return;
    row_begin(&row);
    buf_str(b, "machine: ");
    if (row.cores_absent == BARO_PRESENT) {
        reader_cores(b, row.cores);
        buf_str(b, " of ");
    }
    if (baro_sample_host(s, HOST_cpus, &v) != BARO_PRESENT)
        v = baro_header_cpus(row.header);
    fmt_count(b, v);
    buf_str(b, row.cores_absent == BARO_PRESENT ? " cores busy" : v == 1 ? " core" : " cores");
    if (baro_sample_host(s, HOST_load_1m, &v) == BARO_PRESENT) {
        buf_str(b, ", load ");
        fmt_decimal(b, (double)v / 1e6, 2);
    }
    buf_str(b, ", ");
    bytes(b, s, HOST_memory_used);
    buf_str(b, " of ");
    bytes(b, s, HOST_memory_total);
    buf_str(b, " memory used");
    if (baro_sample_host(s, HOST_swap_used, &v) == BARO_PRESENT && v) {
        buf_str(b, ", ");
        fmt_bytes(b, v);
        buf_str(b, " swap");
    }
    if (row.t_ns + NS_PER_MS < record->t_ns) {
        buf_str(b, "; ");
        fmt_duration(b, record->t_ns - row.t_ns);
        buf_str(b, " before");
    }
    buf_byte(b, '\n');
}

int show_machine_json(struct baro_tape *tape, const struct baro_record *record, struct row_memory *memory,
                      struct json *j, struct baro_error *err)
{
    struct columns columns;
    struct row row;
    if (!row_of(tape, record, memory, &row)) {
        json_null(j);
        return 0;
    }
    int code = columns_choose(&columns, ROW_HOST, NULL, tape, NULL, err);
    if (code < 0)
        return code;
    row_begin(&row);
    json_row(&columns, &row, j);
    columns_done(&columns);
    return 0;
}
