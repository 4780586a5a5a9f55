/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as counters. A viewer draws a counter as steps: a value holds until the next one. So a gauge is written with
 * the time of its sample. A rate holds for the time up to a sample, so it is written with the beginning of that time. A
 * value that has not changed is not written again. A sum that lacks the value of a process is not written: a viewer has
 * no mark for a lower bound, and 41 MB of one process would look like the job's.
 */

#include "output/rows/trace_parts.h"

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

void trace_counters_init(struct trace_counters *c, const struct baro_header *header)
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

void trace_counters_sample(struct trace_counters *c, const struct baro_sample *s, struct trace_out *o)
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
void trace_counters_end(struct trace_counters *c, uint64_t end_ns, struct trace_out *o)
{
    for (size_t i = 0; counters[i].from; i++) {
        struct trace_course *course = &c->course[i];
        if (counters[i].rate && course->shown)
            put_counter(course, &counters[i], course->growth.since_ns < end_ns ? course->growth.since_ns : end_ns, 0,
                        o);
    }
}
