/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a trace that are in files of their own. */
#ifndef OUTPUT_ROWS_TRACE_PARTS_H
#define OUTPUT_ROWS_TRACE_PARTS_H

#include "baro/timeline.h"
#include "base/growth.h"
#include "base/json.h"
#include "base/last_value.h"
#include "output/rows/row.h"

/* The format groups rows by "pid"; these are groups of rows, and no process ids. */
enum trace_group { GROUP_JOB = 1, GROUP_PROCESSES, GROUP_HOST, GROUP_RECORDER };
/* Rows within a group, its "tid": no two groups may use the same one. */
#define ROW_EVENTS 10u
#define ROW_MARKS 11u
#define ROW_PHASES 20000000u
#define ROW_LANES 1000u

/* ---- events of the format: trace.c ---- */
struct trace_out {
    struct buf *to;
    struct json json;
    bool any; /* an event was written */
};

/* Begins an event with its phase ("X", "C", "i", "M"), group, row (0: none) and name; members may be added to o->json
 * until trace_close(). */
void trace_open(struct trace_out *o, const char *phase, unsigned group, unsigned row, const char *name);
void trace_close(struct trace_out *o);
/* A time or a duration: microseconds with three decimals. */
void trace_time(struct trace_out *o, const char *key, uint64_t ns);
/* Names a group of rows or a row of it, and sets its place in the order. */
void trace_name(struct trace_out *o, unsigned group, unsigned row, const char *name, unsigned order);

/* ---- processes as bars: trace_bars.c ---- */
struct trace_life {
    uint64_t begin_ns, seen_ns; /* seen_ns: of the last sample in which it had changed */
    uint32_t id, lane;
    char name[64];
};

struct trace_bars {
    const struct baro_header *header;
    struct columns process, exit; /* columns that are the arguments of a bar */
    struct trace_life *life;      /* the processes that live */
    size_t n, cap;
    struct last_table where; /* id: its index in life */
    uint64_t *free_ns;       /* for each lane: since when it is free; UINT64_MAX: it is not */
    size_t n_lanes, cap_lanes;
};

int trace_bars_init(struct trace_bars *b, const struct baro_tape *tape, struct baro_error *err);
void trace_bars_done(struct trace_bars *b);
void trace_bars_sample(struct trace_bars *b, const struct baro_sample *s, struct trace_out *o);
void trace_bars_exit(struct trace_bars *b, const struct baro_row *e, struct trace_out *o);
void trace_bars_end(struct trace_bars *b, const struct baro_sample *last, struct trace_out *o);

/* ---- values as counters ---- */
#define TRACE_COUNTERS_MAX 32
struct trace_counters {
    struct trace_course {
        int metric;
        bool shown;
        struct growth growth; /* for a rate */
        double last;          /* the value that was written last */
    } course[TRACE_COUNTERS_MAX];
    bool from_start;  /* the tape begins with the job: its counters were 0 then */
    uint64_t host_ns; /* when the machine was read last */
    bool host_read;
};

#endif
