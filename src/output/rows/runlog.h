/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases and marks as the JSON lines of RunLog (pytyche.diagnostics.run_monitor), as json.dumps() writes them:
 *
 *     {"ts": "2026-11-22T09:44:37.564+00:00", "type": "phase", "name": "fit", "seconds": 1.25, "loss": 0.12}
 *     {"ts": "2026-11-22T09:44:38.112+00:00", "type": "event", "event": "checkpoint", "data": {"epoch": 3}}
 *
 * "ts" of a phase is when it ended. Lines that the job itself wrote in this form (recorder/marks/mark.h) come back with
 * the values that it wrote, "ts" and "seconds" too. A phase that is open when the recording has ended has "is_open":
 * true.
 */
#ifndef OUTPUT_ROWS_RUNLOG_H
#define OUTPUT_ROWS_RUNLOG_H

#include "baro/timeline.h"
#include "base/buf.h"

struct runlog;

/* tape: NULL: times are by the header. */
int runlog_new(struct runlog **ret, const struct baro_header *header, struct baro_tape *tape, struct baro_error *err);
void runlog_free(struct runlog *r); /* NULL allowed */
/* Takes each record, in the order of the tape. */
void runlog_record(struct runlog *r, const struct baro_record *record);
/* Writes phases that ended and marks since the last call, in the order of "ts". all_read: also those phases that are
 * still open. Returns 0 or -ENOMEM. */
int runlog_write(struct runlog *r, bool all_read, struct buf *ret);

#endif
