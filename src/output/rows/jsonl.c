/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/csv_json.h"

static void put_cell_value(struct json *j, const struct cell *c)
{
    switch (c->kind) {
    case CELL_ABSENT: json_null(j); break;
    case CELL_U64: json_u64(j, c->u64); break;
    case CELL_I64: json_i64(j, c->i64); break;
    case CELL_REAL: json_double(j, c->real); break;
    case CELL_BOOL: json_bool(j, c->u64 != 0); break;
    case CELL_JSON: json_raw(j, c->text, c->len); break;
    case CELL_TEXT: json_text_n(j, c->text, c->len); break;
    }
}

void json_row(const struct columns *c, const struct output_row *r, struct json *json)
{
    struct cell cell;
    bool any = false;
    row_read(r, c);
    json_begin(json, '{');
    for (size_t i = 0; i < c->n; i++) {
        row_cell(r, c, i, &cell);
        json_key(json, c->at[i]->name);
        put_cell_value(json, &cell);
        any = any || (cell.kind == CELL_ABSENT && cell.absent != BARO_PRESENT);
    }
    if (any) {
        json_key_begin(json, "absent", '{');
        for (size_t i = 0; i < c->n; i++) {
            row_cell(r, c, i, &cell);
            if (cell.kind != CELL_ABSENT || cell.absent == BARO_PRESENT)
                continue;
            json_key_text(json, c->at[i]->name, baro_absent_name((enum baro_absent)cell.absent));
        }
        json_end(json, '}');
    }
    json_end(json, '}');
}

int json_put_row(void *json, const struct columns *c, const struct output_row *r)
{
    json_row(c, r, json);
    return 0;
}

void jsonl_row(const struct columns *c, const struct output_row *r, struct buf *ret)
{
    struct json json = {.out = ret};
    json_row(c, r, &json);
}
