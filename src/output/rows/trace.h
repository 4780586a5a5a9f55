/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tape as a trace for Perfetto and chrome://tracing, in the JSON of the Trace Event Format: an object whose last
 * member, "traceEvents", has one event a line, so that it can be written as the tape is read. docs/trace.md says what
 * stands for what. Memory is bounded by the processes that live at once, however long the tape is.
 */
#ifndef OUTPUT_ROWS_TRACE_H
#define OUTPUT_ROWS_TRACE_H

#include "baro/baro.h"
#include "base/buf.h"

struct trace;

/* The tape must outlive it. Returns 0 or a negative code. */
int trace_new(struct trace **ret, const struct baro_tape *tape, struct baro_error *err);
void trace_free(struct trace *t); /* NULL allowed */

void trace_begin(struct trace *t, struct buf *ret);
/* Takes each record, in the order of the tape, and adds what it makes of it. */
void trace_record(struct trace *t, const struct baro_record *record, struct buf *ret);
/* last: the last sample of the tape, for the bars of processes that live at its end; NULL if there is none. */
void trace_end(struct trace *t, const struct baro_sample *last, struct buf *ret);

#endif
