/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/dialect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/dialect_each.h"
#include "output/rows/dialect_form.h"
#include "output/rows/dialect_gpu.h"
#include "output/rows/dialect_share.h"
#include "output/rows/dialect_table.h"
#include "output/rows/row.h"

#define FS_WAIT_NS (2 * NS_PER_SEC)

struct dialect_value {
    uint64_t v;
    int absent;
};

/* The state of a row, which the next row is compared with. */
struct instant {
    uint64_t t_ns;
    struct dialect_value column[DIALECT_COLUMNS], all; /* all: CPU time of the machine */
    double gpu_share; /* between the last two readings of each, which are at other times */
    int gpu_absent;
};

struct dialect {
    const struct dialect_table *table;
    const struct baro_header *header;
    struct baro_tape *tape;    /* NULL: times are by the header */
    struct dialect_gpu *gpu;   /* NULL: its rows are not of GPUs */
    struct dialect_each *each; /* NULL: its rows are not of single processes */
    struct shares shares;      /* of GPUs */
    bool as_smi;               /* values of GPUs are rounded as nvidia-smi does */
    struct instant before;
    bool begun; /* there is one before */
    bool ended; /* where the original would have ended */
    bool silent;
    uint64_t vague_samples;
    uint64_t first_ns;      /* when the machine was read first */
    bool left_out;          /* the last row was, and the next one has its growth */
    struct instant waiting; /* that row: if there is no other one, it is written at the end */
    int32_t pid;
    uint64_t tick_ns;
    int metric[DIALECT_COLUMNS];      /* ids of the columns' metrics */
    int fs_total, fs_available, idle; /* ids of other metrics that are used in calculations */
};

static int metric_by_stem(enum baro_kind kind, const char *stem)
{
    return baro_metric_find(kind, stem);
}

static enum baro_kind kind_of_source(enum dialect_from from)
{
    switch (from) {
    case FROM_JOB: return BARO_KIND_JOB;
    case FROM_SUM: return BARO_KIND_PROCESS;
    case FROM_FS: return BARO_KIND_FS;
    case FROM_DISK: return BARO_KIND_DISK;
    case FROM_NET: return BARO_KIND_NET;
    case FROM_GPU:
    case FROM_GPUS_USED: return (enum baro_kind)baro_kind_find("gpu");
    default: return BARO_KIND_HOST;
    }
}

static void find_metrics(struct dialect *d)
{
    for (size_t i = 0; i < d->table->n; i++) {
        const struct dialect_column *c = &d->table->columns[i];
        d->metric[i] = c->metric ? metric_by_stem(kind_of_source(c->from), c->metric) : -1;
    }
    d->fs_total = metric_by_stem(BARO_KIND_FS, "total");
    d->fs_available = metric_by_stem(BARO_KIND_FS, "available");
    d->idle = metric_by_stem(BARO_KIND_HOST, "cpu_idle");
}

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
    d->pid = baro_header_target(header, 0);
    d->tick_ns = NS_PER_SEC / (baro_header_clock_ticks(header) ? baro_header_clock_ticks(header) : 100);
    find_metrics(d);
    if (table->gpu && !(d->gpu = dialect_gpu_new(table->gpu, header))) {
        free(d);
        return error_set(err, -ENOMEM, "out of memory");
    }
    if (table->each && !(d->each = dialect_each_new(table, header))) {
        free(d);
        return error_set(err, -ENOMEM, "out of memory");
    }
    d->begun = table->kind == BARO_KIND_PROCESS; /* a job's counters begin at nothing, with the tape */
    *ret = d;
    return 0;
}

void dialect_as_smi(struct dialect *d)
{
    d->as_smi = true;
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

/* What marks pss and uss in our own rows: pss_stale, and lower_bounds. */
static bool is_vague(const struct baro_sample *s)
{
    static const char *const stems[] = {"pss", "uss"};
    uint64_t stale;
    if (baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), metric_by_stem(BARO_KIND_JOB, "pss_stale"), &stale) ==
            BARO_PRESENT &&
        stale)
        return true;
    for (size_t i = 0; i < 2; i++) {
        uint64_t sum;
        size_t lacking;
        if (baro_sample_sum(s, metric_by_stem(BARO_KIND_PROCESS, stems[i]), &sum, &lacking) == BARO_PRESENT && lacking)
            return true;
    }
    return false;
}

/* ---- values ---- */

static struct dialect_value host_of(const struct baro_sample *s, int metric)
{
    struct dialect_value v = {0, BARO_PRESENT};
    v.absent = baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), metric, &v.v);
    return v;
}

/* The first one decides whether the sum is known: others are not counted by each kernel. */
static struct dialect_value sum_of_host(const struct baro_sample *s, const char *const *stems, size_t n)
{
    struct dialect_value sum = host_of(s, metric_by_stem(BARO_KIND_HOST, stems[0]));
    for (size_t i = 1; i < n && sum.absent == BARO_PRESENT; i++)
        sum.v += host_of(s, metric_by_stem(BARO_KIND_HOST, stems[i])).v;
    return sum;
}

static struct dialect_value user_time(const struct baro_sample *s)
{
    static const char *const of[] = {"cpu_user", "cpu_nice", "cpu_guest", "cpu_guest_nice"};
    return sum_of_host(s, of, sizeof(of) / sizeof(*of));
}

static struct dialect_value system_of(const struct baro_sample *s)
{
    static const char *const of[] = {"cpu_system", "cpu_irq", "cpu_softirq"};
    return sum_of_host(s, of, sizeof(of) / sizeof(*of));
}

static struct dialect_value cached_of(const struct baro_sample *s)
{
    static const char *const of[] = {"memory_cached", "memory_slab_reclaimable"};
    return sum_of_host(s, of, sizeof(of) / sizeof(*of));
}

static struct dialect_value taken_of(const struct baro_sample *s)
{
    static const char *const of[] = {"memory_free", "memory_buffers", "memory_cached"};
    struct dialect_value total = host_of(s, metric_by_stem(BARO_KIND_HOST, "memory_total"));
    struct dialect_value rest = sum_of_host(s, of, sizeof(of) / sizeof(*of));
    if (total.absent != BARO_PRESENT || rest.absent != BARO_PRESENT)
        return (struct dialect_value){0, total.absent ? total.absent : rest.absent};
    total.v = total.v > rest.v ? total.v - rest.v : 0;
    return total;
}

/* All CPU time of the machine: busy, idle, waiting for I/O, stolen. Busy time has guests in it. */
static struct dialect_value all_of(const struct dialect *d, const struct baro_sample *s)
{
    static const char *const rest[] = {"cpu_idle", "cpu_iowait", "cpu_steal"};
    struct dialect_value all = {0, BARO_PRESENT};
    all.absent = baro_row_busy_ns(baro_sample_row(s, BARO_KIND_HOST, 0), &all.v);
    if (all.absent == BARO_PRESENT)
        all.absent = host_of(s, d->idle).absent;
    if (all.absent == BARO_PRESENT)
        all.v += sum_of_host(s, rest, sizeof(rest) / sizeof(*rest)).v;
    return all;
}

/* Do dialects with sums leave this entity out: is it the loopback interface, or a mount without a disk? */
static bool left_out(const struct baro_row *e)
{
    static const char *const places[] = {"/proc", "/sys", "/dev", "/run"};
    const char *name = baro_row_name(e);
    if (baro_row_kind(e) == BARO_KIND_NET)
        return strcmp(name, "lo") == 0;
    if (baro_row_owner(e) == BARO_OWNER_ENTITY) /* a MIG instance of one that counts */
        return true;
    for (size_t i = 0; baro_row_kind(e) == BARO_KIND_FS && i < sizeof(places) / sizeof(*places); i++) {
        size_t n = strlen(places[i]);
        if (strncmp(name, places[i], n) == 0 && (name[n] == 0 || name[n] == '/'))
            return true;
    }
    return false;
}

/* Over those that have it. Each is a multiple of step, downwards. */
static struct dialect_value sum_over(const struct baro_sample *s, enum baro_kind kind, int metric, uint64_t step)
{
    struct dialect_value sum = {0, BARO_ABSENT_UNKNOWN};
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        const struct baro_row *e = baro_sample_row(s, kind, i);
        uint64_t v;
        if (left_out(e))
            continue;
        int absent = baro_row_value(e, metric, &v);
        if (absent == BARO_PRESENT)
            sum = (struct dialect_value){sum.v + v / step * step, BARO_PRESENT};
        else if (sum.absent != BARO_PRESENT)
            sum.absent = absent;
    }
    return sum;
}

/* Counts the devices that were in use at the last reading: utilisation above 0, or processes of the job. */
static struct dialect_value gpus_used(const struct baro_sample *s, enum baro_kind kind, int metric)
{
    struct dialect_value n = {0, BARO_ABSENT_UNKNOWN};
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        uint64_t v;
        const struct baro_row *e = baro_sample_row(s, kind, i);
        if (!left_out(e) && baro_row_value(e, metric, &v) == BARO_PRESENT)
            n = (struct dialect_value){n.v + (v > 0), BARO_PRESENT};
    }
    return n;
}

static struct dialect_value fs_taken_of(const struct dialect *d, const struct baro_sample *s)
{
    struct dialect_value total = sum_over(s, BARO_KIND_FS, d->fs_total, 1);
    struct dialect_value left = sum_over(s, BARO_KIND_FS, d->fs_available, 1);
    if (total.absent == BARO_PRESENT && left.absent == BARO_PRESENT)
        total.v = total.v > left.v ? total.v - left.v : 0;
    return total.absent ? total : (struct dialect_value){total.v, left.absent};
}

static struct dialect_value job_of(const struct baro_sample *s, int metric)
{
    struct dialect_value v = {0, BARO_PRESENT};
    v.absent = baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), metric, &v.v);
    return v;
}

/* The sum of pss. A process that was not read so far has its rss at most: a row has no place for a mark, and without it
 * two young compilers of 113 MB beside `cargo` with 41 MB would not count at all. */
static struct dialect_value sum_of(const struct baro_sample *s, int metric)
{
    uint64_t sum = 0;
    size_t lacking = 0;
    int absent = baro_sample_sum(s, metric, &sum, &lacking), rss = metric_by_stem(BARO_KIND_PROCESS, "rss");
    for (size_t i = 0; lacking && i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        uint64_t v;
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (baro_row_value(p, metric, &v) != BARO_ABSENT_NOT_YET || baro_row_value(p, rss, &v) != BARO_PRESENT)
            continue;
        sum += v;
        absent = BARO_PRESENT;
    }
    return (struct dialect_value){sum, absent};
}

static struct dialect_value column_value(const struct dialect *d, size_t column, const struct baro_sample *s)
{
    enum dialect_from from = d->table->columns[column].from;
    int metric = d->metric[column];
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    switch (from) {
    case FROM_PID: return (struct dialect_value){(uint64_t)d->pid, d->pid ? BARO_PRESENT : BARO_ABSENT_UNKNOWN};
    case FROM_CHILDREN: return (struct dialect_value){n ? n - 1 : 0, BARO_PRESENT};
    case FROM_JOB: return job_of(s, metric);
    case FROM_SUM: return sum_of(s, metric);
    case FROM_HOST: return host_of(s, metric);
    case FROM_USER: return user_time(s);
    case FROM_SYSTEM: return system_of(s);
    case FROM_CACHED: return cached_of(s);
    case FROM_TAKEN: return taken_of(s);
    case FROM_FS_TAKEN: return fs_taken_of(d, s);
    case FROM_GPUS_USED: return gpus_used(s, kind_of_source(from), metric);
    case FROM_GPU: return sum_over(s, kind_of_source(from), metric, d->as_smi ? 1 << 20 : 1);
    case FROM_FS:
    case FROM_DISK:
    case FROM_NET: return sum_over(s, kind_of_source(from), metric, 1);
    case FROM_TIME:
    case FROM_NOTHING:
    case FROM_TASK: /* of single processes */
    case FROM_PROCESS:
    case FROM_CORES: break;
    }
    return (struct dialect_value){0, BARO_ABSENT_UNSUPPORTED};
}

static void take_share(struct dialect *d, const struct baro_sample *s, int metric, struct instant *ret)
{
    const enum baro_kind kind = kind_of_source(FROM_GPU);
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        const struct baro_row *e = baro_sample_row(s, kind, i);
        if (!left_out(e))
            shares_take(&d->shares, e, metric);
    }
    ret->gpu_absent = shares_sum(&d->shares, d->as_smi, &ret->gpu_share);
}

static void take_instant(struct dialect *d, const struct baro_sample *s, uint64_t t_ns, struct instant *ret)
{
    *ret = (struct instant){.t_ns = t_ns, .all = all_of(d, s)};
    for (size_t i = 0; i < d->table->n; i++) {
        ret->column[i] = column_value(d, i, s);
        if (d->table->columns[i].form == FORM_SHARE)
            take_share(d, s, d->metric[i], ret);
    }
}

/* ---- forms ---- */

static int growth(const struct dialect_value *now, const struct dialect_value *before, uint64_t *ret)
{
    *ret = now->v > before->v ? now->v - before->v : 0;
    return now->absent ? now->absent : before->absent;
}

/* Whole ticks on either side, so that the sum of a column is the total. */
static int ticks(const struct dialect *d, const struct dialect_value *now, const struct dialect_value *before,
                 uint64_t *ret)
{
    struct dialect_value a = {before->v / d->tick_ns, before->absent}, b = {now->v / d->tick_ns, now->absent};
    return growth(&b, &a, ret);
}

static int put_cores_column(const struct dialect *d, const struct instant *now, struct buf *b)
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
        buf_byte(b, '0'); /* the original's max(0, 0.0) is the integer */
    return BARO_PRESENT;
}

static int put_percent(const struct dialect *d, const struct instant *now, size_t i, struct buf *b)
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
static int put_column(const struct dialect *d, const struct instant *now, size_t i, struct buf *b)
{
    const struct dialect_value *v = &now->column[i];
    int64_t realtime_ns = row_realtime_ns(d->tape, d->header, now->t_ns);
    uint64_t n;
    int absent;
    enum dialect_from from = d->table->columns[i].from;
    if (v->absent && d->table->nan && (from == FROM_GPU || from == FROM_GPUS_USED)) {
        buf_str(b, "nan");
        return BARO_PRESENT;
    }
    switch (d->table->columns[i].form) {
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
    case FORM_TEXT: /* of single processes */
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

static void put_dialect_row(struct dialect *d, const struct instant *now, struct buf *ret)
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

/* Readers of the original take no row without a number. What is not read yet, such as the PSS of a job that began a
 * moment ago, is read soon: until then there is no row, and the next one has the growth. Example: rows at 0, 10 and
 * 20 ms, PSS from 20 ms on: one row, with the CPU time of 20 ms. Filesystems are asked once the machine was read: they
 * are waited for at the beginning alone, as one may never answer. */
static bool is_complete(const struct dialect *d, const struct instant *now)
{
    for (size_t i = 0; i < d->table->n; i++) {
        enum dialect_from from = d->table->columns[i].from;
        bool waits = from == FROM_SUM || from == FROM_JOB;
        bool is_fs = (from == FROM_FS || from == FROM_FS_TAKEN) && d->silent && now->t_ns < d->first_ns + FS_WAIT_NS;
        if ((waits || is_fs) && now->column[i].absent == BARO_ABSENT_NOT_YET)
            return false;
    }
    return true;
}

static bool leave_out_row(struct dialect *d, const struct instant *now)
{
    d->left_out = !is_complete(d, now);
    if (d->left_out)
        d->waiting = *now;
    return d->left_out;
}

static void of_processes(struct dialect *d, const struct baro_sample *s, struct buf *ret)
{
    struct instant now;
    bool any = baro_sample_rows(s, BARO_KIND_PROCESS) > 0;
    d->ended = d->ended || (!any && !d->silent && !d->table->last);
    if (d->ended || (!any && d->silent && !(d->left_out && d->table->last)))
        return;
    if (!d->pid && any)
        d->pid = baro_row_pid(baro_sample_row(s, BARO_KIND_PROCESS, 0));
    take_instant(d, s, baro_sample_t_ns(s), &now);
    if (any && leave_out_row(d, &now))
        return;
    put_dialect_row(d, &now, ret);
    d->before = now;
}

static void of_machine(struct dialect *d, const struct baro_sample *s, struct buf *ret)
{
    struct instant now;
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
        d->vague_samples += is_vague(record->u.sample);
    if (d->each) {
        if (dialect_each_record(d->each, record, ret))
            d->silent = false;
        return;
    }
    if (record->kind == BARO_RECORD_EVENT && baro_event_kind_of(record->u.event) == BARO_EVENT_START && d->silent &&
        d->table->kind == BARO_KIND_PROCESS) {
        d->before.t_ns = record->t_ns;
        d->pid = d->pid ? d->pid : baro_event_pid(record->u.event);
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
