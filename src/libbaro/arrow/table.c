/* SPDX-License-Identifier: Apache-2.0 */
/* A table that a program has made itself, as a stream of one array. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "libbaro/arrow/build.h"

struct made {
    struct baro_column *is;
    struct column *column;
    size_t n, rows;
    bool is_delivered;
};

static void made_free(struct made *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free((char *)m->is[i].name);
        column_done(&m->column[i]);
    }
    free(m->is);
    free(m->column);
    free(m);
}

static void put_value(struct column *c, const struct baro_arrow_column *of, size_t i)
{
    const char *text = of->type == BARO_FACT_TEXT ? ((const char *const *)of->values)[i] : "";
    double real = of->type == BARO_FACT_REAL ? ((const double *)of->values)[i] : 0;
    if ((of->absent && of->absent[i]) || !text || isnan(real))
        column_null(c);
    else if (of->type == BARO_FACT_TEXT)
        column_text(c, text, strlen(text));
    else if (of->type == BARO_FACT_REAL)
        column_f64(c, real);
    else if (of->type == BARO_FACT_BOOLEAN)
        column_bool(c, ((const uint64_t *)of->values)[i] != 0);
    else
        column_i64(c, ((const int64_t *)of->values)[i]);
}

static bool fill(struct made *m, size_t at, const struct baro_arrow_column *of)
{
    static const enum column_type types[] = {
        [BARO_FACT_UNSIGNED] = TYPE_U64, [BARO_FACT_SIGNED] = TYPE_I64, [BARO_FACT_REAL] = TYPE_F64,
        [BARO_FACT_BOOLEAN] = TYPE_BOOL, [BARO_FACT_TIME] = TYPE_TIME,  [BARO_FACT_TEXT] = TYPE_TEXT};
    struct column *c = &m->column[at];
    m->is[at] = (struct baro_column){.name = strdup(of->name), .kind = BARO_COLUMN_NAME, .id = -1};
    *c = (struct column){.is = &m->is[at], .type = types[of->type]};
    column_begin(c);
    c->failed = !m->is[at].name || !column_reserve(c, m->rows);
    for (size_t i = 0; i < m->rows && !c->failed; i++)
        put_value(c, of, i);
    return !c->failed;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct made *m = stream->private_data;
    return -arrow_schema(m->column, m->n, NULL, -1, NULL, out);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct made *m = stream->private_data;
    *out = (struct ArrowArray){0};
    if (m->is_delivered)
        return 0;
    m->is_delivered = true;
    return -columns_take(m->column, m->n, m->rows, out);
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory";
}

static void release(struct ArrowArrayStream *stream)
{
    made_free(stream->private_data);
    stream->release = NULL;
}

int baro_arrow_table(const struct baro_arrow_column *columns, size_t n, size_t rows, struct ArrowArrayStream *ret,
                     struct baro_error *err)
{
    struct made *m = calloc(1, sizeof(*m));
    bool fits = m && (m->is = calloc(n + 1, sizeof(*m->is))) && (m->column = calloc(n + 1, sizeof(*m->column)));
    if (m)
        m->rows = rows;
    for (size_t i = 0; i < n && fits; i++, m->n++)
        fits = fill(m, i, &columns[i]);
    if (fits) {
        *ret = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, m};
        return 0;
    }
    if (m)
        made_free(m);
    return error_set(err, -ENOMEM, "out of memory");
}
