/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/document.h"

#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

int document_open(struct document *d, struct baro_error *err)
{
    int r = reader_open_path(d->settings, d->path, &d->tape, err);
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
        r = baro_fold_of_tape(d->tape, BARO_FOLD_VERDICTS, &d->fold, err);
    if (r >= 0) {
        d->summary = baro_fold_summary(d->fold);
        d->timeline = baro_fold_timeline(d->fold);
        d->verdicts = baro_fold_verdicts(d->fold);
        r = baro_tape_rewind(d->tape, err);
    }
    return r < 0 ? r : 0;
}

void document_done(struct document *d)
{
    baro_fold_free(d->fold);
    baro_tape_close(d->tape);
    *d = (struct document){0};
}
