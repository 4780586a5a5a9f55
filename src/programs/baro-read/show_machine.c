/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/show_machine.h"

#include "base/clock.h"
#include "base/fmt.h"
#include "programs/common/tape_args.h"

#define READINGS_BACK 8 /* a reading may have a time a little later than its sample */

static bool machine_row(const struct baro_tape *tape, const struct baro_record *record, struct baro_previous *memory,
                        struct output_row *ret)
{
    *ret = (struct output_row){
        .kind = BARO_KIND_HOST, .header = baro_tape_header(tape), .sample = record->u.sample, .memory = memory};
    return baro_sample_read_ns(record->u.sample, BARO_KIND_HOST, &ret->t_ns) == BARO_PRESENT;
}

int show_machine_before(struct baro_tape *tape, uint64_t t_ns, struct baro_previous *memory, struct baro_error *err)
{
    struct baro_record record;
    struct output_row row;
    int code = baro_tape_seek(tape, t_ns, &record, err);
    if (code <= 0 || !machine_row(tape, &record, NULL, &row))
        return code < 0 ? code : 0;
    uint64_t read_ns = row.t_ns, at = read_ns < record.t_ns ? read_ns : record.t_ns;
    for (int i = 0; i < READINGS_BACK && at > 0; i++) {
        code = baro_tape_seek(tape, at - 1, &record, err);
        if (code <= 0 || record.t_ns >= at || !machine_row(tape, &record, memory, &row))
            return code < 0 ? code : 0;
        if (row.t_ns < read_ns) {
            row_begin(&row);
            return 0;
        }
        at = record.t_ns;
    }
    return 0;
}

static int host_value(const struct baro_sample *s, const char *stem, uint64_t *ret)
{
    return baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), baro_metric_find(BARO_KIND_HOST, stem), ret);
}

static void bytes(struct buf *b, const struct baro_sample *s, const char *stem)
{
    uint64_t v;
    if (host_value(s, stem, &v) == BARO_PRESENT)
        fmt_bytes(b, v);
    else
        buf_byte(b, '?');
}

void show_machine_line(const struct baro_tape *tape, const struct baro_record *record, struct baro_previous *memory,
                       struct buf *b)
{
    const struct baro_sample *s = record->u.sample;
    struct output_row row;
    uint64_t v;
    if (!machine_row(tape, record, memory, &row))
        return;
    row_begin(&row);
    buf_str(b, "machine: ");
    if (row.cores_absent == BARO_PRESENT) {
        reader_cores(b, row.cores);
        buf_str(b, " of ");
    }
    if (host_value(s, "cpus", &v) != BARO_PRESENT)
        v = baro_header_cpus(row.header);
    fmt_count(b, v);
    buf_str(b, row.cores_absent == BARO_PRESENT ? " cores busy" : v == 1 ? " core" : " cores");
    if (host_value(s, "load_1m", &v) == BARO_PRESENT) {
        buf_str(b, ", load ");
        fmt_decimal(b, (double)v / 1e6, 2);
    }
    buf_str(b, ", ");
    bytes(b, s, "memory_used");
    buf_str(b, " of ");
    bytes(b, s, "memory_total");
    buf_str(b, " memory used");
    if (host_value(s, "swap_used", &v) == BARO_PRESENT && v) {
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

int show_machine_json(struct baro_tape *tape, const struct baro_record *record, struct baro_previous *memory,
                      struct json *j, struct baro_error *err)
{
    struct columns columns;
    struct output_row row;
    if (!machine_row(tape, record, memory, &row)) {
        json_null(j);
        return 0;
    }
    int code = columns_choose(&columns, BARO_KIND_HOST, NULL, tape, NULL, err);
    if (code < 0)
        return code;
    row_begin(&row);
    json_row(&columns, &row, j);
    columns_done(&columns);
    return 0;
}
