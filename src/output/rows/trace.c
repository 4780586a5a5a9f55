/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fmt.h"
#include "output/rows/trace_parts.h"

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
