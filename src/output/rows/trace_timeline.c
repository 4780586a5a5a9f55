/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases as bars, one row for each lane; marks as instants; events as instants or, if they took time, as asynchronous
 * events, which may overlap others of their row.
 */
#include "output/rows/csv_json.h"
#include "output/rows/trace_parts.h"

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

void trace_timeline(const struct baro_timeline *t, struct trace_out *o)
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
