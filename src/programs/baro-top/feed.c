/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/feed.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/growth.h"
#include "programs/common/tape_args.h"

#define RECORDS_A_CHECK 64 /* this many records are read before the clock is checked */

int feed_open(struct feed *f, struct baro_error *err)
{
    f->metric = metrics_find();
    f->rates_over_ns = FEED_STEP_NS;
    curves_init(&f->curves);
    int code = reader_open_path(f->settings, f->path, &f->tape, err);
    if (code < 0)
        return code;
    code = reader_open_path(f->settings, f->path, &f->other, err);
    if (code >= 0)
        code = baro_fold_new(&f->fold, baro_tape_header(f->tape),
                             f->is_judged ? BARO_FOLD_VERDICTS : BARO_FOLD_TIMELINE, err);
    if (code >= 0) {
        f->summary = baro_fold_summary(f->fold);
        f->timeline = baro_fold_timeline(f->fold);
    }
    f->state = code < 0 ? BARO_TAPE_CUT_OFF : baro_tape_state(f->tape);
    if (code < 0)
        feed_close(f);
    return code < 0 ? code : 0;
}

void feed_close(struct feed *f)
{
    baro_fold_free(f->fold);
    baro_tape_close(f->other);
    baro_tape_close(f->tape);
    instant_done(&f->newest);
    instant_done(&f->next);
    f->tape = f->other = NULL;
    f->fold = NULL;
    f->summary = NULL;
    f->timeline = NULL;
    f->verdicts = NULL;
}

/* ---- curves ---- */

static uint64_t job_value(const struct baro_sample *s, int metric)
{
    uint64_t v;
    return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), metric, &v) == BARO_PRESENT ? v : UINT64_MAX;
}

static uint64_t host_value(const struct baro_sample *s, int metric)
{
    uint64_t v;
    return baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), metric, &v) == BARO_PRESENT ? v : UINT64_MAX;
}

static struct feed_base base_of(const struct feed *f, const struct baro_sample *s, uint64_t t_ns)
{
    struct feed_base b = {.is_set = true, .t_ns = t_ns, .pressure = {NAN, NAN, NAN}, .rss = NAN, .processes = NAN};
    if (baro_sample_read_ns(s, BARO_KIND_HOST, &b.host_ns) != BARO_PRESENT)
        b.host_ns = 0;
    b.cpu_ns = job_value(s, f->metric.job.cpu);
    b.read_bytes = job_value(s, f->metric.job.io_read);
    b.write_bytes = job_value(s, f->metric.job.io_write);
    b.pressure_ns[0] = host_value(s, f->metric.host.pressure_cpu);
    b.pressure_ns[1] = host_value(s, f->metric.host.pressure_memory);
    b.pressure_ns[2] = host_value(s, f->metric.host.pressure_io);
    return b;
}

/* Returns the growth per nanosecond; NaN if one of the values is absent, or if the counter fell. */
static float growth(uint64_t before, uint64_t now, uint64_t ns)
{
    uint64_t by;
    if (before == UINT64_MAX || now == UINT64_MAX || !growth_between(before, now, &by) || !ns)
        return NAN;
    return (float)((double)by / (double)ns);
}

/* Takes over the pressure of the last sample: until the machine is read again, it counts as unchanged. */
static void take_pressure(const struct feed_base *was, struct feed_base *now)
{
    bool is_read = now->host_ns > was->host_ns;
    for (int i = 0; i < 3; i++) {
        now->pressure[i] =
            is_read ? growth(was->pressure_ns[i], now->pressure_ns[i], now->host_ns - was->host_ns) : was->pressure[i];
        now->pressure_ns[i] = is_read ? now->pressure_ns[i] : was->pressure_ns[i];
    }
    now->host_ns = is_read ? now->host_ns : was->host_ns;
}

bool feed_has_job(const struct feed *f, const struct baro_sample *s)
{
    uint64_t n;
    return baro_sample_rows(s, BARO_KIND_PROCESS) ||
           baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), f->metric.job.processes, &n) != BARO_ABSENT_NOT_ASKED;
}

/* Reads the sum of rss and the number of processes; NaN: not known. */
static void read_levels(const struct feed *f, const struct baro_sample *s, struct feed_base *ret)
{
    uint64_t processes = job_value(s, f->metric.job.processes), rows = baro_sample_rows(s, BARO_KIND_PROCESS), rss;
    if (!feed_has_job(f, s))
        return;
    ret->processes = processes == UINT64_MAX ? (float)rows : (float)processes;
    if (baro_sample_sum(s, f->metric.process.rss, &rss, NULL) == BARO_PRESENT)
        ret->rss = (float)rss;
    else if (!rows)
        ret->rss = 0; /* no process is alive */
}

/* A level holds from its sample to the next one: a point has the larger of both. */
static void add_point(struct feed *f, const struct baro_sample *s, uint64_t t_ns)
{
    struct feed_base now = base_of(f, s, t_ns), *was = &f->base;
    read_levels(f, s, &now);
    was->rss = fmaxf(was->rss, now.rss);
    was->processes = fmaxf(was->processes, now.processes);
    if (!was->is_set) {
        *was = now;
        return;
    }
    uint64_t ns = t_ns - was->t_ns;
    if (ns < GROWTH_SHORT_NS)
        return;
    float value[CURVES];
    value[CURVE_CORES] = growth(was->cpu_ns, now.cpu_ns, ns);
    value[CURVE_RSS] = was->rss;
    value[CURVE_READ] = growth(was->read_bytes, now.read_bytes, ns) * 1e9f;
    value[CURVE_WRITE] = growth(was->write_bytes, now.write_bytes, ns) * 1e9f;
    value[CURVE_PROCESSES] = was->processes;
    take_pressure(was, &now);
    for (int i = 0; i < 3; i++)
        value[CURVE_PRESSURE_CPU + i] = now.pressure[i];
    curves_add(&f->curves, t_ns, value);
    *was = now;
}

/* The last samples are often too close to each other for a growth; memory and processes have values all the same. */
static void end_curves(struct feed *f)
{
    float value[CURVES];
    if (!f->base.is_set || f->base.t_ns >= f->last_ns)
        return;
    for (int i = 0; i < CURVES; i++)
        value[i] = NAN;
    value[CURVE_RSS] = f->base.rss;
    value[CURVE_PROCESSES] = f->base.processes;
    curves_add(&f->curves, f->last_ns, value);
    f->base.t_ns = f->last_ns;
}

/* ---- reading on ---- */

/* Returns when the first GPU of a sample was read; 0 if there is none. */
static uint64_t gpus_read_ns(const struct baro_sample *s)
{
    const struct baro_row *first = s ? baro_sample_row(s, BARO_KIND_GPU, 0) : NULL;
    uint64_t t_ns = 0;
    return first && baro_row_value(first, baro_metric_find(BARO_KIND_GPU, "read_at_ns"), &t_ns) == BARO_PRESENT ? t_ns
                                                                                                                : 0;
}

/* Keeps the sample with which the GPUs of the newest one are compared. If the newest sample has a new reading of
 * GPUs, it is the sample before; otherwise it stays the same. */
static int take_earlier(struct baro_sample **earlier, const struct baro_sample *last, const struct baro_sample *now,
                        struct baro_error *err)
{
    uint64_t before_ns = gpus_read_ns(last);
    if (!before_ns || before_ns == gpus_read_ns(now))
        return 0;
    baro_sample_free(*earlier);
    *earlier = NULL;
    return baro_sample_copy(last, earlier, err);
}

/* Makes the sample the newest instant. Its rates are computed from the sample that was the newest one before. */
static int take_newest(struct feed *f, const struct baro_sample *s, struct baro_error *err)
{
    struct baro_sample *copy;
    int code = baro_sample_copy(s, &copy, err);
    if (code < 0)
        return code;
    code = take_earlier(&f->newest.earlier, f->newest.now, s, err);
    if (code < 0) {
        baro_sample_free(copy);
        return code;
    }
    baro_sample_free(f->newest.before);
    struct instant last = f->newest;
    f->newest = f->next;
    f->newest.before = last.now;
    f->newest.earlier = last.earlier;
    f->newest.now = copy;
    instant_forget_exits(&last);
    f->next = (struct instant){.ended = last.ended, .cap_ended = last.cap_ended};
    return 0;
}

static int take_sample(struct feed *f, const struct baro_record *r, struct baro_error *err)
{
    const struct baro_sample *s = r->u.sample;
    uint64_t n = job_value(s, f->metric.job.processes);
    if (!f->has_sample)
        f->first_ns = r->t_ns;
    f->has_sample = true;
    f->last_ns = r->t_ns;
    if (n == UINT64_MAX ? baro_sample_rows(s, BARO_KIND_PROCESS) > 0 : n > 0)
        f->work_ns = r->t_ns;
    add_point(f, s, r->t_ns);
    bool is_due = !f->newest.now || r->t_ns >= baro_sample_t_ns(f->newest.now) + FEED_STEP_NS;
    return f->is_read && is_due ? take_newest(f, s, err) : 0;
}

static int take_record(struct feed *f, const struct baro_record *r, struct baro_error *err)
{
    baro_fold_add(f->fold, r);
    if (r->kind == BARO_RECORD_SAMPLE)
        return take_sample(f, r, err);
    if (r->kind == BARO_RECORD_EXIT && f->is_read)
        return instant_add_exit(&f->next, r->u.exit) == 0 ? 0 : error_set(err, -ENOMEM, "out of memory");
    return 0;
}

int feed_read(struct feed *f, uint64_t most_ns, struct baro_error *err)
{
    struct baro_record record;
    uint64_t until_ns = most_ns ? clock_monotonic_ns() + most_ns : 0;
    int code;
    for (unsigned n = 1; (code = baro_tape_next(f->tape, &record, err)) > 0; n++) {
        code = take_record(f, &record, err);
        if (code < 0)
            return code;
        if (until_ns && n % RECORDS_A_CHECK == 0 && clock_monotonic_ns() >= until_ns)
            return 1;
    }
    if (code < 0)
        return code;
    f->state = baro_tape_state(f->tape);
    bool is_running = f->state == BARO_TAPE_RUNNING;
    if (!is_running) {
        end_curves(f);
        baro_fold_add_tape(f->fold, f->tape, NULL); /* how it ends: all records are in the fold */
    }
    /* When everything has ended, goes to the last moment with processes. */
    uint64_t best_ns = is_running || !f->work_ns ? f->last_ns : f->work_ns;
    bool is_other = f->has_sample && (!f->newest.now || (!is_running && baro_sample_t_ns(f->newest.now) != best_ns));
    if (is_other && (code = feed_at(f, best_ns, &f->newest, err)) < 0)
        return code;
    f->is_read = true;
    return 0;
}

/* ---- moving about ---- */

static int copy_at(struct feed *f, uint64_t t_ns, struct baro_sample **ret, struct baro_error *err)
{
    struct baro_record record;
    int code = baro_tape_seek(f->other, t_ns, &record, err);
    return code > 0 && (code = baro_sample_copy(record.u.sample, ret, err)) >= 0 ? 1 : code;
}

/* Collects the exits from the earlier sample, where the cursor is, to the later one. */
static int collect_exits(struct feed *f, struct instant *ret, struct baro_error *err)
{
    struct baro_record record;
    uint64_t end_ns = baro_sample_t_ns(ret->now);
    int code;
    while ((code = baro_tape_next(f->other, &record, err)) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE && record.t_ns >= end_ns)
            return 1;
        if (record.kind == BARO_RECORD_EXIT && instant_add_exit(ret, record.u.exit) < 0)
            return error_set(err, -ENOMEM, "out of memory");
    }
    return code < 0 ? code : 1;
}

int feed_at(struct feed *f, uint64_t t_ns, struct instant *ret, struct baro_error *err)
{
    struct instant made = {0};
    int code = copy_at(f, t_ns, &made.now, err);
    if (code <= 0)
        return code;
    uint64_t now_ns = baro_sample_t_ns(made.now), gpus_ns = gpus_read_ns(made.now);
    gpus_ns = gpus_ns < now_ns ? gpus_ns : now_ns; /* a job's last reading may be newer than the sample */
    if (gpus_ns > 1 && (code = copy_at(f, gpus_ns - 1, &made.earlier, err)) < 0) {
        instant_done(&made);
        return code;
    }
    code = copy_at(f, now_ns > f->rates_over_ns ? now_ns - f->rates_over_ns : 0, &made.before, err);
    if (code > 0 && baro_sample_t_ns(made.before) < now_ns) {
        code = collect_exits(f, &made, err);
    } else {
        baro_sample_free(made.before);
        made.before = NULL;
    }
    if (code < 0) {
        instant_done(&made);
        return code;
    }
    instant_done(ret);
    *ret = made;
    return 1;
}

uint64_t feed_neighbour(struct feed *f, uint64_t t_ns, bool is_later)
{
    struct baro_record record;
    if (baro_tape_seek(f->other, t_ns, &record, NULL) <= 0)
        return t_ns;
    uint64_t here_ns = record.t_ns;
    if (!is_later)
        return baro_tape_previous(f->other, &record, NULL) > 0 ? record.t_ns : here_ns;
    while (baro_tape_next(f->other, &record, NULL) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE)
            return record.t_ns;
    }
    return here_ns;
}
