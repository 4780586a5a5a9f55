/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/dialect_gpu.h"
#include "output/rows/row.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"

struct dialect_gpu {
    enum dialect_gpu_rows rows;
    const struct baro_header *header;
    struct baro_tape *tape; /* NULL: times are by the header */
    int kind;
    struct gpu_before {
        uint32_t id;
        uint64_t read_ns, busy[4];
        int absent[4];
    } * before;
    size_t n, cap;
};

void dialect_gpu_tape(struct dialect_gpu *d, struct baro_tape *tape)
{
    d->tape = tape;
}

struct dialect_gpu *dialect_gpu_new(enum dialect_gpu_rows rows, const struct baro_header *header)
{
    struct dialect_gpu *d = calloc(1, sizeof(*d));
    if (d)
        *d = (struct dialect_gpu){.rows = rows, .header = header, .kind = BARO_KIND_GPU};
    return d;
}

void dialect_gpu_free(struct dialect_gpu *d)
{
    if (d)
        free(d->before);
    free(d);
}

/* Writes the header: none for `--query-gpu ... --format=csv,nounits,noheader`, two lines for dmon. */
void dialect_gpu_header(const struct dialect_gpu *d, struct buf *ret)
{
    if (d->rows == DIALECT_GPU_DMON)
        buf_str(ret, "# gpu     sm    mem    enc    dec     fb \n# Idx      %      %      %      %     MB \n");
}

static int get(const struct dialect_gpu *d, const struct baro_row *e, const char *stem, uint64_t *ret)
{
    return baro_row_value(e, baro_metric_find(d->kind, stem), ret);
}

static struct gpu_before *before_of(struct dialect_gpu *d, uint32_t id)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->before[i].id == id)
            return &d->before[i];
    }
    struct gpu_before *at = array_room(d->before, d->n, &d->cap, sizeof(*at));
    if (!at)
        return NULL;
    d->before = at;
    d->before[d->n] = (struct gpu_before){.id = id};
    return &d->before[d->n++];
}

/* Writes a time as nvidia-smi does: local time, without a zone. */
static void put_time(const struct dialect_gpu *d, uint64_t t_ns, struct buf *b)
{
    int64_t ns = row_realtime_ns(d->tape, d->header, t_ns);
    time_t s = (time_t)(ns / (int64_t)NS_PER_SEC);
    struct tm t;
    char text[32];
    localtime_r(&s, &t);
    strftime(text, sizeof(text), "%Y/%m/%d %H:%M:%S", &t);
    buf_printf(b, "%s.%03d", text, (int)(ns % (int64_t)NS_PER_SEC / (int64_t)NS_PER_MS));
}

static void put_decimal(struct buf *b, int digits, int absent, double v)
{
    buf_str(b, ", ");
    if (absent == BARO_PRESENT)
        buf_printf(b, "%.*f", digits, v);
    else
        buf_str(b, "[N/A]");
}

static void put_number_cell(struct buf *b, int absent, double v)
{
    if (absent == BARO_PRESENT)
        buf_printf(b, " %6.0f", v);
    else
        buf_str(b, "      -");
}

/* Returns the device's number, which follows "gpu" in its name. */
static unsigned index_of(const struct baro_row *e)
{
    const char *name = baro_row_name(e);
    unsigned n = 0;
    for (name += strlen(name) < 3 ? strlen(name) : 3; *name >= '0' && *name <= '9' && n < 1000; name++)
        n = 10 * n + (unsigned)(*name - '0');
    return n;
}

static void put_smi(const struct dialect_gpu *d, const struct baro_row *e, uint64_t t_ns, const double *percent,
                    const int *absent, struct buf *b)
{
    static const struct {
        const char *stem;
        int digits;
        double unit;
    } columns[] = {{"memory_used", 0, 1 << 20}, {"memory_total", 0, 1 << 20},
                   {"power", 2, 1e6},           {"temperature", 0, 1e3},
                   {"clock", 0, 1e6},           {"memory_clock", 0, 1e6}};
    put_time(d, t_ns, b);
    for (size_t i = 0; i < 2; i++)
        put_decimal(b, 0, absent[i], percent[i]);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        uint64_t v = 0;
        int why = get(d, e, columns[i].stem, &v);
        put_decimal(b, columns[i].digits, why, (double)v / columns[i].unit);
    }
    buf_byte(b, '\n');
}

static void put_dmon(const struct dialect_gpu *d, const struct baro_row *e, const double *percent, const int *absent,
                     struct buf *b)
{
    uint64_t used = 0;
    int why = get(d, e, "memory_used", &used);
    buf_printf(b, "%5u", index_of(e));
    for (size_t i = 0; i < 4; i++)
        put_number_cell(b, absent[i], percent[i]);
    put_number_cell(b, why, (double)used / (1 << 20));
    buf_str(b, " \n");
}

/* A device has no row at its first reading: how busy it was is known only between two readings. */
static bool put_gpu_row(struct dialect_gpu *d, const struct baro_row *e, struct buf *ret)
{
    static const char *const stems[] = {"busy", "memory_busy", "encoder_busy", "decoder_busy"};
    struct gpu_before now = {.id = baro_row_id(e)}, *before = before_of(d, now.id);
    double percent[4] = {0};
    int absent[4];
    if (!before || get(d, e, "read_at", &now.read_ns) != BARO_PRESENT || now.read_ns <= before->read_ns)
        return false;
    for (size_t i = 0; i < 4; i++) {
        now.absent[i] = get(d, e, stems[i], &now.busy[i]);
        absent[i] = now.absent[i] ? now.absent[i] : before->absent[i];
        if (!absent[i] && now.busy[i] >= before->busy[i])
            percent[i] = 100.0 * (double)(now.busy[i] - before->busy[i]) / (double)(now.read_ns - before->read_ns);
        percent[i] = percent[i] > 100 ? 100 : percent[i];
    }
    bool first = !before->read_ns;
    *before = now;
    if (first)
        return false;
    if (d->rows == DIALECT_GPU_DMON)
        put_dmon(d, e, percent, absent, ret);
    else
        put_smi(d, e, now.read_ns, percent, absent, ret);
    return true;
}

bool dialect_gpu_sample(struct dialect_gpu *d, const struct baro_sample *s, struct buf *ret)
{
    bool any = false;
    for (size_t i = 0; i < baro_sample_rows(s, d->kind); i++) {
        const struct baro_row *e = baro_sample_row(s, d->kind, i);
        if (baro_row_owner(e) == BARO_OWNER_NONE) /* no MIG instances */
            any = put_gpu_row(d, e, ret) || any;
    }
    return any;
}
