/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "output/rows/dialect.h"
#include "baro/tape.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/dialect_each.h"
#include "output/rows/dialect_form.h"
#include "output/rows/dialect_share.h"
#include "output/rows/dialect_table.h"
#include "output/rows/dialect_value.h"
#include "output/rows/row.h"

/* ---- GPUs ---- */

/* Rows of GPUs as nvidia-smi writes them, one for each device at each reading. */

struct dialect_gpu; /* with the values of the reading before */

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

static void dialect_gpu_tape(struct dialect_gpu *d, struct baro_tape *tape)
{
    d->tape = tape;
}

/* NULL: no memory */
static struct dialect_gpu *dialect_gpu_new(enum dialect_gpu_rows rows, const struct baro_header *header)
{
    struct dialect_gpu *d = calloc(1, sizeof(*d));
    if (d)
        *d = (struct dialect_gpu){.rows = rows, .header = header, .kind = BARO_KIND_GPU};
    return d;
}

static void dialect_gpu_free(struct dialect_gpu *d)
{
    if (d)
        free(d->before);
    free(d);
}

/* Writes the header: none for `--query-gpu ... --format=csv,nounits,noheader`, two lines for dmon. */
static void dialect_gpu_header(const struct dialect_gpu *d, struct buf *ret)
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
    if (array_reserve(&d->before, d->n + 1, &d->cap, sizeof(*d->before)) < 0)
        return NULL;
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

/* Returns whether it added a row. */
static bool dialect_gpu_sample(struct dialect_gpu *d, const struct baro_sample *s, struct buf *ret)
{
    bool any = false;
    for (size_t i = 0; i < baro_sample_rows(s, d->kind); i++) {
        const struct baro_row *e = baro_sample_row(s, d->kind, i);
        if (baro_row_owner(e) == BARO_OWNER_NONE) /* no MIG instances */
            any = put_gpu_row(d, e, ret) || any;
    }
    return any;
}

#define FS_WAIT_NS (2 * NS_PER_SEC)

/* The values of a row, with which those of the next row are compared. */
struct dialect_instant {
    uint64_t t_ns;
    struct dialect_value column[DIALECT_COLUMNS], all; /* all: CPU time of the machine */
    double gpu_share;                                  /* share of the time between the last two readings of each GPU */
    uint64_t gpus_used;                                /* of how many it is above 0 */
    int gpu_absent;
};

struct dialect {
    const struct dialect_table *table;
    const struct baro_header *header;
    struct baro_tape *tape;    /* NULL: wall-clock times are computed from the header */
    struct dialect_gpu *gpu;   /* NULL: its rows are not about GPUs */
    struct dialect_each *each; /* NULL: its rows are not about single processes */
    struct shares shares;      /* shares of GPUs */
    struct dialect_instant before;
    bool begun; /* `before` is valid */
    bool ended; /* the original program would have ended by now */
    bool silent;
    uint64_t vague_samples;
    uint64_t first_ns;              /* when the machine was read first */
    bool left_out;                  /* the last row was left out, and the next one includes its growth */
    struct dialect_instant waiting; /* the row that was left out: it is written at the end if no other row follows */
    struct dialect_source source;
    uint64_t tick_ns;
};

static const struct dialect_table *find_dialect(const char *name, int kind, bool *ret_named)
{
    *ret_named = false;
    for (size_t i = 0; i < dialect_table_count; i++) {
        const struct dialect_table *t = &dialect_tables[i];
        if (strcmp(t->name, name) != 0)
            continue;
        *ret_named = true;
        if (kind == DIALECT_ANY || (int)t->kind == kind)
            return t;
    }
    return NULL;
}

int dialect_new(struct dialect **ret, const char *name, int kind, const struct baro_header *header,
                struct baro_error *err)
{
    bool named;
    *ret = NULL;
    const struct dialect_table *table = find_dialect(name, kind, &named);
    if (!named)
        return error_set(err, BARO_E_SYNTAX, "there is no dialect '%s'", name);
    if (!table)
        return error_set(err, BARO_E_SYNTAX, "%s has no rows of this entity", name);
    struct dialect *d = calloc(1, sizeof(*d));
    if (!d)
        return error_set(err, -ENOMEM, "out of memory");
    d->table = table;
    d->header = header;
    d->silent = true;
    d->tick_ns = NS_PER_SEC / (baro_header_clock_ticks(header) ? baro_header_clock_ticks(header) : 100);
    dialect_source_init(&d->source, table, baro_header_target(header, 0));
    if (table->gpu && !(d->gpu = dialect_gpu_new(table->gpu, header))) {
        free(d);
        return error_set(err, -ENOMEM, "out of memory");
    }
    if (table->each && !(d->each = dialect_each_new(table, header))) {
        free(d);
        return error_set(err, -ENOMEM, "out of memory");
    }
    d->begun = table->kind == BARO_KIND_PROCESS; /* the counters of a job are 0 when the tape begins */
    *ret = d;
    return 0;
}

void dialect_as_smi(struct dialect *d)
{
    d->source.as_smi = true;
}

void dialect_free(struct dialect *d)
{
    if (d) {
        dialect_each_free(d->each);
        dialect_gpu_free(d->gpu);
        shares_done(&d->shares);
    }
    free(d);
}

enum baro_kind dialect_kind(const struct dialect *d)
{
    return d->table->kind;
}

bool dialect_silent(const struct dialect *d)
{
    return d->silent;
}

uint64_t dialect_vague_samples(const struct dialect *d)
{
    return d->vague_samples;
}

/* ---- instants ---- */

/* Takes the share of the time between the last two readings of each GPU. It holds until the next reading. */
static void take_share(struct dialect *d, const struct baro_sample *s, int metric, struct dialect_instant *ret)
{
    const enum baro_kind kind = dialect_kind_of(FROM_GPU);
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        const struct baro_row *e = baro_sample_row(s, kind, i);
        if (!dialect_leaves_out(e))
            shares_take(&d->shares, e, metric);
    }
    ret->gpu_absent = shares_sum(&d->shares, d->source.as_smi, &ret->gpu_share, &ret->gpus_used);
}

static void take_instant(struct dialect *d, const struct baro_sample *s, uint64_t t_ns, struct dialect_instant *ret)
{
    *ret = (struct dialect_instant){.t_ns = t_ns, .all = dialect_all_cpu(&d->source, s)};
    for (size_t i = 0; i < d->table->n; i++) {
        ret->column[i] = dialect_column_value(&d->source, i, s);
        if (d->table->columns[i].form == FORM_SHARE)
            take_share(d, s, d->source.metric[i].id[0], ret);
    }
}

/* ---- forms ---- */

static int growth(const struct dialect_value *now, const struct dialect_value *before, uint64_t *ret)
{
    *ret = now->v > before->v ? now->v - before->v : 0;
    return now->absent ? now->absent : before->absent;
}

/* Converts the growth of a time to clock ticks. Both values are rounded down first, so that the column adds up to
 * the total. */
static int ticks(const struct dialect *d, const struct dialect_value *now, const struct dialect_value *before,
                 uint64_t *ret)
{
    struct dialect_value a = {before->v / d->tick_ns, before->absent}, b = {now->v / d->tick_ns, now->absent};
    return growth(&b, &a, ret);
}

static int put_cores_column(const struct dialect *d, const struct dialect_instant *now, struct buf *b)
{
    double sum = 0;
    for (size_t i = 0; i < d->table->n; i++) {
        uint64_t v;
        if (d->table->columns[i].form != FORM_TICKS && d->table->columns[i].form != FORM_GROWN_S)
            continue;
        int absent = growth(&now->column[i], &d->before.column[i], &v);
        if (absent != BARO_PRESENT)
            return absent;
        sum += (double)v;
    }
    if (now->t_ns <= d->before.t_ns)
        return BARO_ABSENT_UNKNOWN;
    double cores = sum / (double)(now->t_ns - d->before.t_ns);
    if (cores > 0)
        form_float(b, cores, 4);
    else
        buf_byte(b, '0'); /* the original writes max(0, 0.0), which is the integer 0 */
    return BARO_PRESENT;
}

static int put_percent(const struct dialect *d, const struct dialect_instant *now, size_t i, struct buf *b)
{
    uint64_t part, all;
    int absent = growth(&now->column[i], &d->before.column[i], &part);
    if (absent == BARO_PRESENT)
        absent = growth(&now->all, &d->before.all, &all);
    if (absent == BARO_PRESENT && !all)
        absent = BARO_ABSENT_UNKNOWN;
    if (absent == BARO_PRESENT)
        fmt_decimal(b, 100.0 * (double)part / (double)all, 1);
    return absent;
}

static int put_unsigned(struct buf *b, int absent, uint64_t v)
{
    if (absent == BARO_PRESENT)
        buf_u64(b, v);
    return absent;
}

static int put_part(struct buf *b, const struct dialect_value *v, double unit, int digits)
{
    if (v->absent == BARO_PRESENT)
        form_float(b, (double)v->v / unit, digits);
    return v->absent;
}

/* Writes the value of a column. Returns 0, or enum baro_absent with nothing written. */
static int put_column(const struct dialect *d, const struct dialect_instant *now, size_t i, struct buf *b)
{
    const struct dialect_value *v = &now->column[i];
    int64_t realtime_ns = row_realtime_ns(d->tape, d->header, now->t_ns);
    uint64_t n;
    int absent;
    enum dialect_form form = d->table->columns[i].form;
    bool is_share = form == FORM_SHARE || form == FORM_USED;
    if (d->table->nan && d->table->columns[i].from == FROM_GPU && (is_share ? now->gpu_absent : v->absent)) {
        buf_str(b, "nan");
        return BARO_PRESENT;
    }
    switch (form) {
    case FORM_EPOCH: form_epoch(b, realtime_ns); return BARO_PRESENT;
    case FORM_EPOCH_MS: form_epoch_ms(b, realtime_ns); return BARO_PRESENT;
    case FORM_ISO: form_iso(b, realtime_ns); return BARO_PRESENT;
    case FORM_COUNT: return put_unsigned(b, v->absent, v->v);
    case FORM_KIB: return put_unsigned(b, v->absent, v->v / 1024);
    case FORM_GIB: return put_part(b, v, (double)(1u << 30), 2);
    case FORM_MIB: return put_part(b, v, (double)(1u << 20), 4);
    case FORM_GB: return put_part(b, v, 1e9, 2);
    case FORM_GROWN: absent = growth(v, &d->before.column[i], &n); return put_unsigned(b, absent, n);
    case FORM_GROWN_S:
        absent = growth(v, &d->before.column[i], &n);
        return put_part(b, &(struct dialect_value){n, absent}, 1e9, 6);
    case FORM_TICKS: absent = ticks(d, v, &d->before.column[i], &n); return put_unsigned(b, absent, n);
    case FORM_CORES: return put_cores_column(d, now, b);
    case FORM_PERCENT: return put_percent(d, now, i, b);
    case FORM_SHARE:
        if (now->gpu_absent == BARO_PRESENT)
            form_float(b, now->gpu_share, 4);
        return now->gpu_absent;
    case FORM_USED: return put_unsigned(b, now->gpu_absent, now->gpus_used);
    case FORM_TEXT: /* only for single processes */
    case FORM_SECONDS:
    case FORM_OF_CORE: break;
    }
    return BARO_ABSENT_UNSUPPORTED;
}

void dialect_tape(struct dialect *d, struct baro_tape *tape)
{
    d->tape = tape;
    if (d->gpu)
        dialect_gpu_tape(d->gpu, tape);
    if (d->each)
        dialect_each_tape(d->each, tape);
}

void dialect_header(const struct dialect *d, struct buf *ret)
{
    if (d->gpu) {
        dialect_gpu_header(d->gpu, ret);
        return;
    }
    for (size_t i = 0; i < d->table->n; i++)
        buf_printf(ret, d->table->quoted ? "%s\"%s\"" : "%s%s", i ? "," : "", d->table->columns[i].name);
    buf_str(ret, d->table->end);
}

static void put_dialect_row(struct dialect *d, const struct dialect_instant *now, struct buf *ret)
{
    size_t from = ret->len;
    for (size_t i = 0; i < d->table->n; i++) {
        if (i)
            buf_byte(ret, ',');
        if (put_column(d, now, i, ret) == BARO_PRESENT)
            continue;
        if (d->table->whole) {
            ret->len = from;
            return;
        }
        buf_str(ret, d->table->quoted ? "\"\"" : "");
    }
    buf_str(ret, d->table->end);
    d->silent = false;
}

/* Does the row have all of its numbers? Programs that read the original's output accept no row without them. A value
 * that was not read yet, such as the PSS of a job that has just begun, is read soon. Until then rows are left out,
 * and the next row includes their growth. Example: samples at 0, 10 and 20 ms, PSS from 20 ms on: one row, with the
 * CPU time of 20 ms. For filesystems, rows wait only at the beginning, because a filesystem may never answer. */
static bool is_complete(const struct dialect *d, const struct dialect_instant *now)
{
    for (size_t i = 0; i < d->table->n; i++) {
        enum dialect_from from = d->table->columns[i].from;
        bool waits = from == FROM_SUM || from == FROM_JOB;
        bool is_fs = from == FROM_FS && d->silent && now->t_ns < d->first_ns + FS_WAIT_NS;
        if ((waits || is_fs) && now->column[i].absent == BARO_ABSENT_NOT_YET)
            return false;
    }
    return true;
}

static bool leave_out_row(struct dialect *d, const struct dialect_instant *now)
{
    d->left_out = !is_complete(d, now);
    if (d->left_out)
        d->waiting = *now;
    return d->left_out;
}

/* The row after the end has what was used since the row before. It keeps the memory that there was last: an ended
 * process has none, and a mean over all rows would fall. Example: 5 rows of 54 MiB and one of 0 are 45 MiB. */
static void keep_memory(const struct dialect *d, struct dialect_instant *now)
{
    const struct dialect_instant *living = d->left_out ? &d->waiting : &d->before;
    for (size_t i = 0; i < d->table->n; i++) {
        if (d->table->columns[i].from == FROM_SUM || d->table->columns[i].from == FROM_CHILDREN)
            now->column[i] = living->column[i];
    }
}

static void of_processes(struct dialect *d, const struct baro_sample *s, struct buf *ret)
{
    struct dialect_instant now;
    bool any = baro_sample_rows(s, BARO_KIND_PROCESS) > 0;
    d->ended = d->ended || (!any && !d->silent && !d->table->last);
    if (d->ended || (!any && d->silent && !(d->left_out && d->table->last)))
        return;
    if (!d->source.pid && any)
        d->source.pid = baro_row_pid(baro_sample_row(s, BARO_KIND_PROCESS, 0));
    take_instant(d, s, baro_sample_t_ns(s), &now);
    if (any && leave_out_row(d, &now))
        return;
    if (!any)
        keep_memory(d, &now);
    put_dialect_row(d, &now, ret);
    d->before = now;
}

static void of_machine(struct dialect *d, const struct baro_sample *s, struct buf *ret)
{
    struct dialect_instant now;
    uint64_t host_ns;
    if (baro_sample_read_ns(s, BARO_KIND_HOST, &host_ns) != BARO_PRESENT || (d->begun && host_ns <= d->before.t_ns))
        return;
    take_instant(d, s, host_ns, &now);
    if (d->begun && leave_out_row(d, &now))
        return;
    if (d->begun)
        put_dialect_row(d, &now, ret);
    else
        d->first_ns = host_ns;
    d->before = now;
    d->begun = true;
}

void dialect_record(struct dialect *d, const struct baro_record *record, struct buf *ret)
{
    if (d->table->kind == BARO_KIND_PROCESS && record->kind == BARO_RECORD_SAMPLE)
        d->vague_samples += dialect_is_vague(record->u.sample);
    if (d->each) {
        if (dialect_each_record(d->each, record, ret))
            d->silent = false;
        return;
    }
    if (record->kind == BARO_RECORD_EVENT && baro_event_kind_of(record->u.event) == BARO_EVENT_START && d->silent &&
        d->table->kind == BARO_KIND_PROCESS) {
        d->before.t_ns = record->t_ns;
        d->source.pid = d->source.pid ? d->source.pid : baro_event_pid(record->u.event);
    }
    if (record->kind != BARO_RECORD_SAMPLE)
        return;
    if (d->gpu) {
        d->silent = !dialect_gpu_sample(d->gpu, record->u.sample, ret) && d->silent;
        return;
    }
    if (d->table->kind == BARO_KIND_PROCESS)
        of_processes(d, record->u.sample, ret);
    else
        of_machine(d, record->u.sample, ret);
}

void dialect_end(struct dialect *d, struct buf *ret)
{
    if (d->each && dialect_each_end(d->each, ret))
        d->silent = false;
    if (d->left_out && d->silent)
        put_dialect_row(d, &d->waiting, ret);
}
