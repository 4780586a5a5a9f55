/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of this library. tools/pack_schema.c compresses it while building, and compiles this for the machine that
 * builds. */
#include <string.h>

#include "libbaro/tape/schema.h"

static void put_terminated(struct buf *out, const char *text)
{
    size_t len = strnlen(text, METRIC_TEXT_MAX);
    buf_varint(out, len);
    buf_add(out, text, len);
}

void column_write(struct buf *out, const struct baro_metric *m, const struct tape_column *c, bool texts)
{
    put_terminated(out, m->stem);
    put_terminated(out, m->name);
    put_terminated(out, texts ? m->help : "");
    put_terminated(out, texts ? m->file : "");
    buf_byte(out, (uint8_t)m->unit);
    buf_byte(out, (uint8_t)m->semantics);
    buf_byte(out, c->scale);
    buf_byte(out, c->with);
    buf_byte(out, c->without);
}

void schema_write(struct buf *out)
{
    struct buf row = {0};
    buf_varint(out, KIND_COUNT);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct tape_columns columns;
        columns_of_kind((enum baro_kind)kind, &columns);
        put_terminated(out, baro_kind_name((enum baro_kind)kind));
        buf_varint(out, columns.n);
        for (unsigned i = 0; i < columns.n; i++) {
            buf_clear(&row);
            /* Every reader has help and file in its own table. Here they would be two thirds of the schema. */
            column_write(&row, baro_metric_get(kind, (int)i), &columns.at[i], false);
            buf_varint(out, row.len);
            buf_add(out, row.at, row.len);
        }
    }
    out->failed |= row.failed;
    buf_done(&row);
}
