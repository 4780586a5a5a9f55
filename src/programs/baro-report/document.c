/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/document.h"

#include "programs/common/zone.h"

int document_open(struct document *d, struct baro_error *err)
{
    int r = baro_tape_open(&d->tape, d->path, err);
    if (r < 0)
        return r;
    d->header = baro_tape_header(d->tape);
    d->zone = zone_east(baro_header_start_realtime_ns(d->header));
    return 0;
}

int document_read(struct document *d, struct baro_error *err)
{
    int r = document_open(d, err);
    if (r >= 0)
        r = baro_summary_new(&d->summary, d->header, err);
    if (r >= 0)
        r = baro_verdicts_new(&d->verdicts, d->header, err);
    if (r >= 0)
        r = baro_verdicts_add_tape(d->verdicts, d->summary, d->tape, err);
    if (r >= 0) {
        baro_summary_finish(d->summary);
        r = baro_verdicts_finish(d->verdicts, d->summary, err);
    }
    if (r >= 0)
        r = baro_tape_rewind(d->tape, err);
    if (r >= 0)
        r = baro_timeline_of_tape(d->tape, &d->timeline, err);
    if (r >= 0)
        r = baro_tape_rewind(d->tape, err);
    return r < 0 ? r : 0;
}

void document_done(struct document *d)
{
    baro_timeline_free(d->timeline);
    baro_verdicts_free(d->verdicts);
    baro_summary_free(d->summary);
    baro_tape_close(d->tape);
    *d = (struct document){0};
}
