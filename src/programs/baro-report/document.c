/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/document.h"

int document_read(struct document *d, const struct report_input *in, struct baro_error *err)
{
    *d = (struct document){.in = in, .header = baro_tape_header(in->tape)};
    int r = baro_summary_new(&d->summary, d->header, err);
    if (r >= 0)
        r = baro_verdicts_new(&d->verdicts, d->header, err);
    if (r >= 0)
        r = baro_verdicts_add_tape(d->verdicts, d->summary, in->tape, err);
    if (r >= 0) {
        baro_summary_finish(d->summary);
        r = baro_verdicts_finish(d->verdicts, d->summary, err);
    }
    if (r >= 0)
        r = baro_tape_rewind(in->tape, err);
    if (r >= 0)
        r = baro_timeline_of_tape(in->tape, &d->timeline, err);
    if (r >= 0)
        r = baro_tape_rewind(in->tape, err);
    if (r < 0)
        document_done(d);
    return r < 0 ? r : 0;
}

void document_done(struct document *d)
{
    baro_timeline_free(d->timeline);
    baro_verdicts_free(d->verdicts);
    baro_summary_free(d->summary);
    *d = (struct document){0};
}

struct baro_value document_phase(const struct document *d, size_t item, const char *name)
{
    struct baro_value v;
    baro_timeline_value(d->timeline, item, baro_timeline_fact_find(name), &v);
    return v;
}
