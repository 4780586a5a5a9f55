/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the reader API in any order, on a tape with any bytes in it.
 *
 * The input: a byte of flags, 4 bytes from which a mutant is made, a byte that says how many calls there are, three
 * bytes for each call (which, and a number for its arguments), and the tape. Flags: 1 the tape is a mutant (mutate.h),
 * 2 all its checksums are made right, 4 it is read from memory, 8 it grows while it is read. A call may cut the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "catalogue.h"
#include "mutate.h"
#include "seal.h"
#include "touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRONT = 6, CALL = 3, HELD = 4, MANY = 1 << 20 };
enum { MUTANT = 1, SEALED = 2, IN_MEMORY = 4, GROWS = 8 };

struct reading {
    const uint8_t *bytes; /* the tape */
    size_t size, written; /* written: so much is in the file so far */
    unsigned flags;
    int fd;
    struct baro_tape *tape;
    const struct baro_sample *now;  /* the record that the cursor read last, if it has not moved since */
    struct baro_sample *held[HELD]; /* copies: they outlive the cursor */
    uint64_t first_ns, last_ns;
    struct baro_error err;
};

static uint64_t sink;

static int discard(void *context, const char *text, size_t len)
{
    (void)context;
    sink += len ? (uint8_t)text[len - 1] : 0;
    return 0;
}

/* ---- sources ---- */
static void write_more(struct reading *x, size_t upto)
{
    if (upto > x->size)
        upto = x->size;
    if (x->fd < 0 || upto <= x->written)
        return;
    if (pwrite(x->fd, x->bytes + x->written, upto - x->written, (off_t)x->written) != (ssize_t)(upto - x->written))
        abort();
    x->written = upto;
}

static bool open_tape(struct reading *x, unsigned how)
{
    char path[64];
    x->now = NULL;
    baro_tape_close(x->tape);
    x->tape = NULL;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", x->fd);
    int r = x->flags & IN_MEMORY ? baro_tape_open_memory(&x->tape, x->bytes, x->size, &x->err)
            : how % 2            ? baro_tape_open_fd(&x->tape, x->fd, "t", &x->err)
                                 : baro_tape_open(&x->tape, path, &x->err);
    if (r < 0)
        x->tape = NULL;
    return r == 0;
}

/* ---- times ---- */
static uint64_t time_of(const struct reading *x, unsigned n)
{
    if (n % 16 == 0)
        return n & 16 ? UINT64_MAX : 0;
    if (n % 16 == 1)
        return x->last_ns + n;
    return x->first_ns + (uint64_t)((double)(x->last_ns - x->first_ns) * n / 65536);
}

static void find_range(struct reading *x)
{
    uint64_t first, last;
    if (baro_tape_range(x->tape, &first, &last, &x->err) == 1) {
        x->first_ns = first;
        x->last_ns = last > first ? last : first;
    }
}

/* ---- moving the cursor ---- */
static void moved(struct reading *x, int code, const struct baro_record *record)
{
    x->now = NULL;
    if (code <= 0)
        return;
    sink += touch_record(x->tape, record);
    if (record->kind == BARO_RECORD_SAMPLE) {
        x->now = record->u.sample;
        if (baro_sample_t_ns(x->now) != record->t_ns)
            abort();
    }
}

static void next(struct reading *x, unsigned n)
{
    struct baro_record record;
    for (unsigned i = 0; i <= n % 64; i++)
        moved(x, baro_tape_next(x->tape, &record, &x->err), &record);
}

static void seek(struct reading *x, unsigned n)
{
    struct baro_record record;
    moved(x, baro_tape_seek(x->tape, time_of(x, n), &record, &x->err), &record);
}

static void previous(struct reading *x, unsigned n)
{
    struct baro_record record;
    for (unsigned i = 0; i <= n % 4; i++)
        moved(x, baro_tape_previous(x->tape, &record, &x->err), &record);
}

static void rewind_tape(struct reading *x, unsigned n)
{
    (void)n;
    x->now = NULL;
    baro_tape_rewind(x->tape, &x->err);
}

static void go_on(struct reading *x, unsigned n)
{
    write_more(x, x->written + n);
    sink += (uint64_t)baro_tape_wait(x->tape, 0, &x->err) + baro_tape_damage(x->tape);
    sink += (uint64_t)baro_tape_state(x->tape) + baro_tape_complete(x->tape) + (uint64_t)baro_tape_poll_fd(x->tape);
}

/* Another process cuts the file, or writes something else into it, and may complete it later (go_on). */
static void spoil(struct reading *x, unsigned n)
{
    size_t keep = x->written * (n % 256) / 255;
    if (x->fd < 0)
        return;
    if (n & 256) {
        if (pwrite(x->fd, x->bytes, x->written - keep, (off_t)keep) < 0)
            abort();
    } else {
        if (ftruncate(x->fd, (off_t)keep) < 0)
            abort();
        x->written = keep;
    }
}

static void open_again(struct reading *x, unsigned n)
{
    if (!open_tape(x, n))
        x->tape = NULL;
}

/* ---- samples that the caller owns ---- */
static void hold(struct reading *x, unsigned n, struct baro_sample *s)
{
    baro_sample_free(x->held[n % HELD]);
    x->held[n % HELD] = s;
}

static void at(struct reading *x, unsigned n)
{
    struct baro_sample *s = NULL;
    uint64_t t_ns = time_of(x, n);
    enum baro_at how = (enum baro_at)(n / 7 % (BARO_AT_INTERPOLATE + 1));
    x->now = NULL;
    if (baro_tape_at(x->tape, t_ns, how, &s, &x->err) != 1) {
        if (s) /* it is left alone */
            abort();
        return;
    }
    if ((how == BARO_AT_EXACT || how == BARO_AT_INTERPOLATE) && baro_sample_t_ns(s) != t_ns)
        abort();
    sink += touch_sample(x->tape, s);
    hold(x, n, s);
}

static void copy(struct reading *x, unsigned n)
{
    struct baro_sample *s;
    if (x->now && baro_sample_copy(x->now, &s, &x->err) == 0)
        hold(x, n, s);
}

static void compare_entities(const struct baro_sample *a, const struct baro_sample *b, int kind, unsigned n)
{
    const struct baro_row *x = baro_sample_row(a, kind, n % 8), *y = baro_sample_row(b, kind, n / 8 % 8);
    double v = 0;
    for (int i = -1; x && y && i <= baro_derived_count(kind); i++)
        sink += (uint64_t)baro_row_derived(x, y, i, &v) + (v > 1);
    for (int i = -1; x && y && i < 12; i++)
        sink += (uint64_t)baro_row_rate(x, y, i, &v) + (v > 1);
}

static void compare(struct reading *x, unsigned n)
{
    const struct baro_sample *a = x->held[n % HELD], *b = n & 4 && x->now ? x->now : x->held[n / 8 % HELD];
    double v = 0;
    if (!a || !b)
        return;
    const struct baro_row *p = baro_sample_row(a, BARO_KIND_PROCESS, n / 32 % 8),
                          *q = baro_sample_row(b, BARO_KIND_PROCESS, n / 256 % 8);
    for (int i = -1; p && q && i <= baro_derived_count(BARO_KIND_PROCESS); i++)
        sink += (uint64_t)baro_row_derived(p, q, i, &v) + (v > 1) + (uint64_t)baro_row_rate(p, q, i, &v);
    for (int kind = -1; kind <= baro_tape_kind_count(x->tape); kind++) {
        for (int i = -1; i <= baro_derived_count(kind); i++)
            sink +=
                (uint64_t)baro_row_derived(baro_sample_row(a, kind, 0), baro_sample_row(b, kind, 0), i, &v) + (v > 1);
        compare_entities(a, b, kind, n);
    }
    for (int i = -1; i < 12; i++)
        sink +=
            (uint64_t)baro_row_rate(baro_sample_row(a, BARO_KIND_JOB, 0), baro_sample_row(b, BARO_KIND_JOB, 0), i, &v) +
            (uint64_t)baro_row_rate(baro_sample_row(a, BARO_KIND_HOST, 0), baro_sample_row(b, BARO_KIND_HOST, 0), i,
                                    &v);
}

static void find(struct reading *x, unsigned n)
{
    const struct baro_sample *s = n & 1 && x->now ? x->now : x->held[n / 2 % HELD];
    if (!s)
        return;
    const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, n % 16);
    if (p && baro_sample_find_id(s, BARO_KIND_PROCESS, baro_row_id(p)) == NULL)
        abort();
    if (p && baro_sample_find(s, baro_row_pid(p), baro_row_start_ticks(p)) == NULL)
        abort();
    for (size_t i = n % 64; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        i = baro_sample_next_changed(s, i);
        sink += baro_sample_row(s, BARO_KIND_PROCESS, i) != NULL;
    }
}

/* ---- results for whole tapes ---- */
static void series(struct reading *x, unsigned n)
{
    struct baro_series *s;
    int curves[3];
    int kind = (int)(n % 20) - 1, metric = (int)(n / 20 % 40) - 1;
    if (baro_series_new(&s, time_of(x, n), time_of(x, ~n & 0xffff), n % 100, &x->err) < 0)
        return;
    curves[0] = baro_series_add_value(s, kind, n % 3, NULL, metric, &x->err);
    curves[1] = baro_series_add_rate(s, kind, n % 3, n % 2 ? "sh" : NULL, metric, &x->err);
    curves[2] = baro_series_add_rate(s, BARO_KIND_JOB, 0, NULL, 0, &x->err);
    x->now = NULL;
    if (baro_series_read(s, x->tape, &x->err) == 0) {
        for (int c = 0; c < 3; c++) {
            for (size_t i = 0; i <= n % 100; i++) {
                const struct baro_bucket *b = baro_series_bucket(s, curves[c], i);
                sink += b ? b->points + (b->max > b->min) : baro_series_bucket_ns(s, i);
            }
        }
    }
    baro_series_free(s);
}

static void touch_value(const struct baro_value *v, int absent)
{
    sink += v->u64 + (uint64_t)v->i64 + (v->real > 1) + v->flags + (v->text ? strlen(v->text) : 0) + (uint64_t)absent;
}

static void touch_summary(const struct baro_summary *s)
{
    struct baro_value v;
    for (int f = -1; f <= baro_summary_fact_count(); f++) {
        const struct baro_fact *fact = baro_summary_fact(f);
        size_t rows = fact ? baro_summary_rows(s, fact->section) : 0;
        for (size_t row = 0; row <= rows && row < 64; row++)
            touch_value(&v, baro_summary_value(s, f, row, &v));
    }
    (void)baro_summary_json(s, "t", discard, NULL, NULL);
}

static void touch_timeline(const struct baro_timeline *t, uint64_t t_ns)
{
    struct baro_value v;
    for (size_t i = 0; i <= baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        for (int f = -1; i < 64 && f <= baro_timeline_fact_count(); f++)
            touch_value(&v, baro_timeline_value(t, i, f, &v));
        if (item)
            sink += strlen(item->name) + strlen(item->text) + (uint64_t)item->depth;
        for (size_t k = 0; item && k < item->attribute_count; k++)
            sink += touch_attribute(&item->attribute[k]);
    }
    sink += (uint64_t)baro_timeline_lanes(t) + (uint64_t)baro_timeline_phase_at(t, t_ns);
}

static void touch_verdicts(const struct baro_verdicts *all, const struct baro_summary *s)
{
    for (size_t i = 0; i < baro_verdicts_count(all); i++) {
        const struct baro_verdict *v = baro_verdicts_get(all, i);
        sink += strlen(v->title) + strlen(v->advice) + strlen(v->rule) + (v->phase ? strlen(v->phase) : 0);
    }
    (void)baro_verdicts_json(all, s, "t", discard, NULL, NULL);
}

static void fold(struct reading *x, unsigned n)
{
    struct baro_fold *f;
    enum baro_fold_part most = (enum baro_fold_part)(n / 2 % 3);
    int code;
    x->now = NULL;
    if (n % 2 == 0) {
        code = baro_fold_of_tape(x->tape, most, &f, &x->err);
    } else {
        code = baro_fold_new(&f, baro_tape_header(x->tape), most, &x->err);
        if (code == 0) {
            (void)baro_fold_add_tape(f, x->tape, &x->err); /* from the cursor's position */
            (void)baro_fold_finish(f, most, &x->err);
        }
    }
    if (code < 0)
        return;
    touch_summary(baro_fold_summary(f));
    if (baro_fold_timeline(f))
        touch_timeline(baro_fold_timeline(f), time_of(x, n));
    if (baro_fold_verdicts(f))
        touch_verdicts(baro_fold_verdicts(f), baro_fold_summary(f));
    baro_fold_free(f);
}

static void front(struct reading *x, unsigned n)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    sink += touch_front(x->tape) + n;
    find_range(x);
    if (n % 2)
        return;
    x->now = NULL;
    sink += (uint64_t)baro_tape_read_end(x->tape, &end, &x->err) + end.last_ns;
}

static void kept_runs(struct reading *x, unsigned n)
{
    sink += catalogue_calls(x->bytes, x->size, n);
}

/* ---- inputs ---- */
static void (*const calls[])(struct reading *x, unsigned n) = {
    next,        seek,  at,    previous,   copy,   compare, find, next, seek,      at,
    rewind_tape, go_on, front, open_again, series, fold,    fold, fold, kept_runs, spoil,
};

static void play(struct reading *x, const uint8_t *call, size_t n)
{
    if (!open_tape(x, n & 1))
        return;
    find_range(x);
    for (size_t i = 0; i < n && x->tape; i++, call += CALL)
        calls[call[0] % (sizeof(calls) / sizeof(*calls))](x, call[1] | (unsigned)call[2] << 8);
    for (size_t i = 0; i < HELD; i++) { /* they depend on nothing else */
        struct baro_tape *tape = x->tape;
        if (tape && x->held[i])
            sink += touch_sample(tape, x->held[i]);
    }
    baro_tape_close(x->tape);
    for (size_t i = 0; i < HELD; i++)
        baro_sample_free(x->held[i]);
}

static void make_tape(const uint8_t *data, struct span from, struct buf *ret)
{
    struct rng r = {.state = 88172645463325252u + (data[1] | data[2] << 8 | data[3] << 16 | (uint64_t)data[4] << 24)};
    if (data[0] & MUTANT)
        mutate(from, from, &r, ret);
    else
        buf_add(ret, from.at, from.len);
    if (!ret->failed && (data[0] & SEALED))
        seal_all(ret->at, ret->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = size > FRONT ? data[5] % 64 : 0;
    if (size <= FRONT + n * CALL)
        return 0;
    const uint8_t *from = data + FRONT + n * CALL;
    struct buf tape = {0};
    make_tape(data, span_of((const char *)from, size - FRONT - n * CALL), &tape);
    struct reading x = {.flags = data[0], .fd = -1, .bytes = tape.at, .size = tape.len};
    if (tape.len && tape.len < MANY) {
        if (!(data[0] & IN_MEMORY)) {
            x.fd = memfd_create("tape", MFD_CLOEXEC);
            if (x.fd < 0)
                abort();
            write_more(&x, data[0] & GROWS ? x.size / 2 : x.size);
        }
        play(&x, data + FRONT, n);
        if (x.fd >= 0)
            close(x.fd);
    }
    buf_done(&tape);
    return 0;
}
