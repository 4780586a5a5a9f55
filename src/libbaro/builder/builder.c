/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/builder/builder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "libbaro/sample/row.h"
#include "libbaro/summary/summary.h"
#include "libbaro/tape/tail.h"
#include "libbaro/timeline/timeline.h"
#include "libbaro/verdict/verdict.h"

int baro_fold_new(struct baro_fold **ret, const struct baro_header *header, enum baro_fold_part most,
                  struct baro_error *err)
{
    struct baro_fold *f = calloc(1, sizeof(*f));
    *ret = f;
    if (f)
        f->summary = summary_new(header);
    if (f && f->summary && most >= BARO_FOLD_TIMELINE)
        f->timeline = timeline_new(f->summary, header);
    if (f && f->timeline && most >= BARO_FOLD_VERDICTS)
        f->verdicts = verdicts_new();
    if (f && f->summary && (f->timeline || most < BARO_FOLD_TIMELINE) && (f->verdicts || most < BARO_FOLD_VERDICTS))
        return 0;
    baro_fold_free(f);
    *ret = NULL;
    return error_set(err, -ENOMEM, "out of memory");
}

void builder_keep_summary(struct baro_fold *f)
{
    verdicts_free(f->verdicts);
    timeline_free(f->timeline);
    f->verdicts = NULL;
    f->timeline = NULL;
}

void baro_fold_free(struct baro_fold *fold)
{
    if (!fold)
        return;
    builder_keep_summary(fold);
    summary_free(fold->summary);
    free(fold);
}

void builder_add_to_summary(struct baro_fold *f, const struct baro_record *record)
{
    switch (record->kind) {
    case BARO_RECORD_SAMPLE: summary_add_sample(f->summary, record->u.sample); break;
    case BARO_RECORD_EXIT: summary_add_exit(f->summary, row_exit(record->u.exit)); break;
    case BARO_RECORD_EVENT: summary_add_event(f->summary, record->u.event); break;
    case BARO_RECORD_LIMITS: summary_add_limits(f->summary, record->u.limits, record->t_ns); break;
    default: break;
    }
}

void baro_fold_add(struct baro_fold *fold, const struct baro_record *record)
{
    builder_add_to_summary(fold, record);
    if (fold->timeline)
        timeline_add(fold->timeline, record);
    if (fold->verdicts)
        verdicts_add(fold->verdicts, record);
}

int baro_fold_add_tape(struct baro_fold *fold, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_summary *s = fold->summary;
    struct baro_record record;
    int code;
    while ((code = baro_tape_next(tape, &record, err)) > 0)
        baro_fold_add(fold, &record);
    s->extent.damaged_bytes = baro_tape_damage(tape);
    s->extent.cut_off = code == 0 && baro_tape_state(tape) == BARO_TAPE_CUT_OFF;
    if (!s->life.ended)
        s->life.detached = code == 0 && tape_is_stopped(tape, false);
    return code;
}

int baro_fold_finish(struct baro_fold *fold, enum baro_fold_part most, struct baro_error *err)
{
    summary_finish(fold->summary);
    int code = fold->timeline && most >= BARO_FOLD_TIMELINE ? timeline_finish(fold->timeline) : 0;
    if (code >= 0 && fold->verdicts && most >= BARO_FOLD_VERDICTS)
        code = verdicts_finish(fold->verdicts, fold->summary, fold->timeline, NULL);
    return code < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* Measures all phases once more, now that it is known when each began. */
static int measure_phases(struct baro_fold *f, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_record record;
    struct fold rows;
    fold_init(&rows);
    int code = timeline_measure_again(f->timeline, baro_tape_header(tape));
    if (code < 0)
        error_set(err, code, "out of memory");
    else
        code = baro_tape_rewind(tape, err);
    while (code >= 0 && (code = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE)
            fold_add(&rows, record.u.sample);
        else if (record.kind == BARO_RECORD_EXIT)
            fold_add_exit(&rows, row_exit(record.u.exit));
        timeline_measure(f->timeline, &record, &rows.row);
    }
    fold_done(&rows);
    return code;
}

/* Judges once more, now with the steps of the job. */
static int judge_with_steps(struct baro_fold *f, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_steps *steps;
    int code = baro_steps_of_tape(tape, &steps, err);
    if (code < 0)
        return code;
    code = verdicts_finish(f->verdicts, f->summary, f->timeline, steps);
    baro_steps_free(steps);
    return code < 0 ? error_set(err, code, "out of memory") : 0;
}

int baro_fold_of_tape(struct baro_tape *tape, enum baro_fold_part most, struct baro_fold **ret, struct baro_error *err)
{
    struct baro_fold *f = NULL;
    *ret = NULL;
    int code = baro_tape_rewind(tape, err);
    if (code >= 0)
        code = baro_fold_new(&f, baro_tape_header(tape), most, err);
    if (code >= 0) {
        if (f->timeline)
            f->timeline->is_measured_later = true;
        code = baro_fold_add_tape(f, tape, err);
    }
    if (code >= 0)
        code = baro_fold_finish(f, most, err);
    if (f && f->timeline)
        f->timeline->is_measured_later = false;
    if (code >= 0 && f->timeline && baro_timeline_lanes(f->timeline))
        code = measure_phases(f, tape, err);
    if (code >= 0 && f->verdicts && verdicts_want_steps(f->verdicts))
        code = judge_with_steps(f, tape, err);
    if (code < 0) {
        baro_fold_free(f);
        return code;
    }
    *ret = f;
    return 0;
}

struct baro_summary *baro_fold_summary(const struct baro_fold *fold)
{
    return fold->summary;
}

const struct baro_timeline *baro_fold_timeline(const struct baro_fold *fold)
{
    return fold->timeline;
}

const struct baro_verdicts *baro_fold_verdicts(const struct baro_fold *fold)
{
    return fold->verdicts;
}

int baro_fold_need(const struct baro_fold *fold, struct baro_need *ret)
{
    if (!fold->verdicts || ret->size != sizeof(*ret) || !verdicts_need(fold->verdicts)->size)
        return BARO_E_RANGE;
    *ret = *verdicts_need(fold->verdicts);
    return 0;
}
