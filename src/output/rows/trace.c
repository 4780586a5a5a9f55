/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fmt.h"
#include "output/rows/csv_json.h"
#include "output/rows/trace_parts.h"

/* ---- counters ---- */

/*
 * Values as counters. A viewer draws a counter as steps: a value holds until the next one. So a gauge is written with
 * the time of its sample. A rate holds for the time up to a sample, so it is written with the beginning of that time. A
 * value that has not changed is not written again. A sum that lacks the value of a process is not written: a viewer has
 * no mark for a lower bound, and 41 MB of one process would look like the job's.
 */

enum from { FROM_END, FROM_JOB, FROM_SUM, FROM_HOST, FROM_BUSY, FROM_RECORDER };

static const struct trace_counter {
    enum from from;
    bool rate;
    const char *metric, *name, *unit;
    double scale; /* factor of the value, or of its growth in a second */
} counters[] = {
    {FROM_JOB, true, "cpu", "cpu", "cores", 1e-9},
    {FROM_JOB, true, "run_delay", "waiting for a core", "threads", 1e-9},
    {FROM_SUM, false, "rss", "memory rss", "bytes", 1},
    {FROM_SUM, false, "pss", "memory pss", "bytes", 1},
    {FROM_SUM, false, "uss", "memory uss", "bytes", 1},
    {FROM_JOB, false, "processes", "processes", "processes", 1},
    {FROM_JOB, true, "io_rchar", "i/o read", "bytes per second", 1},
    {FROM_JOB, true, "io_wchar", "i/o wrote", "bytes per second", 1},
    {FROM_JOB, true, "io_read", "i/o storage read", "bytes per second", 1},
    {FROM_JOB, true, "io_write", "i/o storage wrote", "bytes per second", 1},
    {FROM_JOB, true, "faults_major", "page faults with i/o", "per second", 1},
    {FROM_BUSY, true, NULL, "cpu busy", "cores", 1e-9},
    {FROM_HOST, true, "cpu_steal", "cpu stolen", "cores", 1e-9},
    {FROM_HOST, false, "load_1m", "load 1 min", "threads", 1e-6},
    {FROM_HOST, false, "memory_used", "memory used", "bytes", 1},
    {FROM_HOST, false, "memory_cached", "page cache", "bytes", 1},
    {FROM_HOST, false, "swap_used", "swap used", "bytes", 1},
    {FROM_HOST, true, "disk_read", "disks read", "bytes per second", 1},
    {FROM_HOST, true, "disk_write", "disks wrote", "bytes per second", 1},
    {FROM_HOST, true, "net_receive", "network received", "bytes per second", 1},
    {FROM_HOST, true, "net_transmit", "network sent", "bytes per second", 1},
    {FROM_HOST, true, "pressure_cpu_some", "pressure cpu", "percent", 1e-7},
    {FROM_HOST, true, "pressure_memory_some", "pressure memory", "percent", 1e-7},
    {FROM_HOST, true, "pressure_io_some", "pressure i/o", "percent", 1e-7},
    {FROM_RECORDER, true, "cpu", "cpu", "cores", 1e-9},
    {FROM_END, false, NULL, NULL, NULL, 0},
};

static int kind_of_counter(enum from from)
{
    return from == FROM_JOB        ? BARO_KIND_JOB
           : from == FROM_SUM      ? BARO_KIND_PROCESS
           : from == FROM_RECORDER ? BARO_KIND_RECORDER
                                   : BARO_KIND_HOST;
}

static unsigned trace_group(enum from from)
{
    return from == FROM_JOB || from == FROM_SUM ? GROUP_JOB : from == FROM_RECORDER ? GROUP_RECORDER : GROUP_HOST;
}

static void trace_counters_init(struct trace_counters *c, const struct baro_header *header)
{
    _Static_assert(sizeof(counters) / sizeof(*counters) <= TRACE_COUNTERS_MAX, "more counters");
    c->from_start = baro_header_has_start(header);
    for (size_t i = 0; counters[i].from; i++) {
        const char *name = counters[i].metric;
        c->course[i].metric = name ? baro_metric_find(kind_of_counter(counters[i].from), name) : 0;
        c->course[i].growth.has =
            c->from_start && counters[i].rate && trace_group(counters[i].from) == GROUP_JOB; /* 0, at 0 */
    }
}

static int read_value(const struct baro_sample *s, enum from from, int metric, uint64_t *ret)
{
    size_t lacking = 0;
    int absent;
    switch (from) {
    case FROM_JOB: return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), metric, ret);
    case FROM_RECORDER: return baro_row_value(baro_sample_row(s, BARO_KIND_RECORDER, 0), metric, ret);
    case FROM_HOST: return baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), metric, ret);
    case FROM_BUSY: return baro_row_busy_ns(baro_sample_row(s, BARO_KIND_HOST, 0), ret);
    default: absent = baro_sample_sum(s, metric, ret, &lacking); return lacking ? BARO_ABSENT_UNKNOWN : absent;
    }
}

static void put_counter(struct trace_course *course, const struct trace_counter *counter, uint64_t t_ns, double value,
                        struct trace_out *o)
{
    if (course->shown && course->last == value)
        return;
    course->shown = true;
    course->last = value;
    trace_open(o, "C", trace_group(counter->from), 0, counter->name);
    trace_time(o, "ts", t_ns);
    json_key_begin(&o->json, "args", '{');
    json_key_double(&o->json, counter->unit, value);
    json_end(&o->json, '}');
    trace_close(o);
}

static void put_rate(struct trace_course *course, const struct trace_counter *counter, uint64_t t_ns, uint64_t value,
                     struct trace_out *o)
{
    uint64_t begin_ns, by;
    if (growth_take(&course->growth, t_ns, value, GROWTH_SHORT_NS, &begin_ns, &by))
        put_counter(course, counter, begin_ns, (double)by * counter->scale * 1e9 / (double)(t_ns - begin_ns), o);
}

/* The machine is not read with every sample. */
static bool host_was_read(struct trace_counters *c, const struct baro_sample *s)
{
    uint64_t at_ns;
    if (baro_sample_read_ns(s, BARO_KIND_HOST, &at_ns) != BARO_PRESENT || (c->host_read && at_ns == c->host_ns))
        return false;
    c->host_read = true;
    c->host_ns = at_ns;
    return true;
}

static void trace_counters_sample(struct trace_counters *c, const struct baro_sample *s, struct trace_out *o)
{
    bool host = host_was_read(c, s);
    for (size_t i = 0; counters[i].from; i++) {
        bool of_host = trace_group(counters[i].from) == GROUP_HOST;
        uint64_t value, t_ns = of_host ? c->host_ns : baro_sample_t_ns(s);
        if ((of_host && !host) || read_value(s, counters[i].from, c->course[i].metric, &value) != BARO_PRESENT)
            continue;
        if (counters[i].rate)
            put_rate(&c->course[i], &counters[i], t_ns, value, o);
        else
            put_counter(&c->course[i], &counters[i], t_ns, (double)value * counters[i].scale, o);
    }
}

/* Ends each rate at the time at which its counter was read last. */
static void trace_counters_end(struct trace_counters *c, uint64_t end_ns, struct trace_out *o)
{
    for (size_t i = 0; counters[i].from; i++) {
        struct trace_course *course = &c->course[i];
        if (counters[i].rate && course->shown)
            put_counter(course, &counters[i], course->growth.since_ns < end_ns ? course->growth.since_ns : end_ns, 0,
                        o);
    }
}

/* ---- the timeline ---- */

/*
 * Phases as bars, one row for each lane; marks as instants; events as instants or, if they took time, as asynchronous
 * events, which may overlap others of their row.
 */

static void arguments(struct trace_out *o, const struct baro_timeline *t, size_t i)
{
    const struct baro_timeline_item *item = baro_timeline_get(t, i);
    struct json *j = &o->json;
    json_key_begin(j, "args", '{');
    json_key_text(j, "text", item->text);
    if (item->pid) {
        json_key_i64(j, "pid", item->pid);
        json_key_u64(j, "start_ticks", item->start_ticks);
    }
    if (item->attribute_count) {
        json_key(j, "attributes");
        json_attributes(item, j);
    }
    if (item->kind == BARO_TIMELINE_PHASE) {
        json_key_bool(j, "is_open", item->is_open);
        json_phase_facts(t, i, j);
    }
    json_end(j, '}');
}

static void open_item(struct trace_out *o, const char *phase, unsigned row, const struct baro_timeline_item *item)
{
    static const char *const categories[] = {"phase", "mark", "event"};
    trace_open(o, phase, GROUP_JOB, row, *item->name ? item->name : "(no name)");
    json_key_text(&o->json, "cat", item->kind <= BARO_TIMELINE_EVENT ? categories[item->kind] : "event");
}

static void put_instant(struct trace_out *o, const struct baro_timeline *t, size_t i, unsigned row)
{
    const struct baro_timeline_item *item = baro_timeline_get(t, i);
    open_item(o, "i", row, item);
    json_key_text(&o->json, "s", "t");
    trace_time(o, "ts", item->begin_ns);
    arguments(o, t, i);
    trace_close(o);
}

static void put_phase_bar(struct trace_out *o, const struct baro_timeline *t, size_t i)
{
    const struct baro_timeline_item *item = baro_timeline_get(t, i);
    open_item(o, "X", ROW_PHASES + (unsigned)item->depth, item);
    trace_time(o, "ts", item->begin_ns);
    trace_time(o, "dur", item->end_ns > item->begin_ns ? item->end_ns - item->begin_ns : 0);
    arguments(o, t, i);
    trace_close(o);
}

static void put_long_event(struct trace_out *o, const struct baro_timeline *t, size_t i)
{
    const struct baro_timeline_item *item = baro_timeline_get(t, i);
    for (int end = 0; end < 2; end++) {
        open_item(o, end ? "e" : "b", ROW_EVENTS, item);
        json_key_u64(&o->json, "id", i + 1);
        trace_time(o, "ts", end ? item->end_ns : item->begin_ns);
        if (!end)
            arguments(o, t, i);
        trace_close(o);
    }
}

static void trace_timeline(const struct baro_timeline *t, struct trace_out *o)
{
    bool marks = false;
    for (int lane = 0; lane < baro_timeline_lanes(t); lane++)
        trace_name(o, GROUP_JOB, ROW_PHASES + (unsigned)lane, "phases", 2 + (unsigned)lane);
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        if (item->kind == BARO_TIMELINE_MARK && !marks)
            trace_name(o, GROUP_JOB, ROW_MARKS, "marks", 1);
        marks = marks || item->kind == BARO_TIMELINE_MARK;
        if (item->kind == BARO_TIMELINE_PHASE)
            put_phase_bar(o, t, i);
        else if (item->kind == BARO_TIMELINE_MARK || item->end_ns <= item->begin_ns)
            put_instant(o, t, i, item->kind == BARO_TIMELINE_MARK ? ROW_MARKS : ROW_EVENTS);
        else
            put_long_event(o, t, i);
    }
}

struct trace {
    const struct baro_header *header;
    struct trace_out out;
    struct trace_bars bars;
    struct trace_counters counters;
    struct baro_fold *fold; /* for the timeline */
    uint64_t end_ns;        /* time of the last record */
};

/* ---- events of the format ---- */

void trace_open(struct trace_out *o, const char *phase, unsigned group, unsigned row, const char *name)
{
    buf_str(o->to, o->any ? ",\n" : "");
    o->any = true;
    o->json = (struct json){.out = o->to};
    json_begin(&o->json, '{');
    json_key_text(&o->json, "ph", phase);
    json_key_u64(&o->json, "pid", group);
    if (row) {
        json_key_u64(&o->json, "tid", row);
    }
    json_key_text(&o->json, "name", name);
}

void trace_close(struct trace_out *o)
{
    json_end(&o->json, '}');
    if (!o->to->failed)
        o->to->len--; /* the end of the line, which follows the comma */
}

void trace_time(struct trace_out *o, const char *key, uint64_t ns)
{
    json_key_u64(&o->json, key, ns / 1000);
    if (ns % 1000)
        buf_printf(o->to, ".%03u", (unsigned)(ns % 1000));
}

static void metadata(struct trace_out *o, const char *what, unsigned group, unsigned row, const char *key,
                     const char *text, unsigned number)
{
    trace_open(o, "M", group, row, what);
    json_key_begin(&o->json, "args", '{');
    json_key(&o->json, key);
    if (text)
        json_text(&o->json, text);
    else
        json_u64(&o->json, number);
    json_end(&o->json, '}');
    trace_close(o);
}

void trace_name(struct trace_out *o, unsigned group, unsigned row, const char *name, unsigned order)
{
    metadata(o, row ? "thread_name" : "process_name", group, row, "name", name, 0);
    metadata(o, row ? "thread_sort_index" : "process_sort_index", group, row, "sort_index", NULL, order);
}

/* ---- the trace ---- */

int trace_new(struct trace **ret, const struct baro_tape *tape, struct baro_error *err)
{
    struct trace *t = calloc(1, sizeof(*t));
    if (!t)
        return error_set(err, -ENOMEM, "out of memory");
    t->header = baro_tape_header(tape);
    int r = trace_bars_init(&t->bars, tape, err);
    if (r == 0)
        r = baro_fold_new(&t->fold, t->header, BARO_FOLD_TIMELINE, err);
    if (r < 0) {
        trace_free(t);
        return r;
    }
    trace_counters_init(&t->counters, t->header);
    *ret = t;
    return 0;
}

void trace_free(struct trace *t)
{
    if (!t)
        return;
    trace_bars_done(&t->bars);
    baro_fold_free(t->fold);
    free(t);
}

static void other_data(const struct trace *t, struct json *j)
{
    const char *const *argv = baro_header_argv(t->header);
    struct buf start = {0};
    struct baro_value booted, kernel;
    baro_header_value(t->header, baro_header_fact_find("start_boottime_ns"), 0, &booted);
    baro_header_value(t->header, baro_header_fact_find("kernel"), 0, &kernel);
    fmt_time_utc(&start, baro_header_start_realtime_ns(t->header));
    json_key_begin(j, "otherData", '{');
    json_key_begin(j, "command", '[');
    for (size_t i = 0; argv[i]; i++)
        json_text(j, argv[i]);
    json_end(j, ']');
    json_key(j, "start");
    json_text_n(j, start.failed ? "" : (const char *)start.at, start.failed ? 0 : start.len);
    json_key_u64(j, "start_boottime_ns", booted.u64);
    json_key_text(j, "host", baro_header_host(t->header));
    json_key_text(j, "kernel", kernel.text ? kernel.text : "");
    json_key_u64(j, "cpus", baro_header_cpus(t->header));
    json_key_u64(j, "memory_bytes", baro_header_memory_bytes(t->header));
    json_key_text(j, "barograph", baro_header_version(t->header));
    json_end(j, '}');
    buf_done(&start);
}

void trace_begin(struct trace *t, struct buf *ret)
{
    struct json j = {.out = ret};
    t->out.to = ret;
    json_begin(&j, '{');
    json_key_text(&j, "displayTimeUnit", "ms");
    other_data(t, &j);
    json_key_begin(&j, "traceEvents", '[');
    buf_byte(ret, '\n');
    trace_name(&t->out, GROUP_JOB, 0, "job", 1);
    trace_name(&t->out, GROUP_JOB, ROW_EVENTS, "events", 1);
    trace_name(&t->out, GROUP_PROCESSES, 0, "processes", 2);
    trace_name(&t->out, GROUP_HOST, 0, "machine", 3);
    trace_name(&t->out, GROUP_RECORDER, 0, "barograph", 4);
}

void trace_record(struct trace *t, const struct baro_record *record, struct buf *ret)
{
    t->out.to = ret;
    t->end_ns = record->t_ns > t->end_ns ? record->t_ns : t->end_ns;
    if (record->kind == BARO_RECORD_SAMPLE) {
        trace_bars_sample(&t->bars, record->u.sample, &t->out);
        trace_counters_sample(&t->counters, record->u.sample, &t->out);
    } else if (record->kind == BARO_RECORD_EXIT) {
        trace_bars_exit(&t->bars, record->u.exit, &t->out);
    }
    baro_fold_add(t->fold, record);
}

void trace_end(struct trace *t, const struct baro_sample *last, struct buf *ret)
{
    t->out.to = ret;
    trace_bars_end(&t->bars, last, &t->out);
    trace_counters_end(&t->counters, t->end_ns, &t->out);
    if (baro_fold_finish(t->fold, BARO_FOLD_TIMELINE, NULL) < 0)
        ret->failed = true;
    else
        trace_timeline(baro_fold_timeline(t->fold), &t->out);
    buf_str(ret, "\n]}\n");
}
