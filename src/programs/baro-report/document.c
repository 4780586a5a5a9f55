/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/document.h"

int document_read(struct document *d, const struct report_input *in, struct baro_error *err)
{
    *d = (struct document){.in = in, .header = baro_tape_header(in->tape)};
    int r = baro_fold_of_tape(in->tape, BARO_FOLD_VERDICTS, &d->fold, err);
    if (r >= 0)
        r = baro_tape_rewind(in->tape, err);
    if (r >= 0) {
        d->summary = baro_fold_summary(d->fold);
        d->timeline = baro_fold_timeline(d->fold);
        d->verdicts = baro_fold_verdicts(d->fold);
    }
    if (r < 0)
        document_done(d);
    return r < 0 ? r : 0;
}

void document_done(struct document *d)
{
    baro_fold_free(d->fold);
    *d = (struct document){0};
}

struct baro_value document_phase(const struct document *d, size_t item, const char *name)
{
    struct baro_value v;
    baro_timeline_value(d->timeline, item, baro_timeline_fact_find(name), &v);
    return v;
}
