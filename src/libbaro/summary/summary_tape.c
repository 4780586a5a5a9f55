/* SPDX-License-Identifier: Apache-2.0 */
/* Making a summary from records: include/baro/summary.h. */
#include <errno.h>

#include "baro/summary.h"
#include "base/error.h"
#include "libbaro/sample/row.h"
#include "libbaro/summary/summary.h"
#include "libbaro/tape/tail.h"

int baro_summary_new(struct baro_summary **ret, const struct baro_header *header, struct baro_error *err)
{
    *ret = summary_new(header);
    return *ret ? 0 : error_set(err, -ENOMEM, "out of memory");
}

void baro_summary_free(struct baro_summary *summary)
{
    summary_free(summary);
}

void baro_summary_add(struct baro_summary *summary, const struct baro_record *record)
{
    switch (record->kind) {
    case BARO_RECORD_SAMPLE: summary_add_sample(summary, record->u.sample); break;
    case BARO_RECORD_EXIT: summary_add_exit(summary, row_exit(record->u.exit)); break;
    case BARO_RECORD_EVENT: summary_add_event(summary, record->u.event); break;
    case BARO_RECORD_LIMITS: summary_add_limits(summary, record->u.limits, record->t_ns); break;
    default: break;
    }
}

int baro_summary_add_tape(struct baro_summary *summary, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_record record;
    int code;
    while ((code = baro_tape_next(tape, &record, err)) > 0)
        baro_summary_add(summary, &record);
    summary->extent.damaged_bytes = baro_tape_damage(tape);
    summary->extent.cut_off = code == 0 && baro_tape_state(tape) == BARO_TAPE_CUT_OFF;
    if (!summary->life.ended)
        summary->life.detached = code == 0 && tape_is_stopped(tape, false);
    return code;
}

void baro_summary_finish(struct baro_summary *summary)
{
    summary_finish(summary);
}

int baro_summary_of_tape(struct baro_tape *tape, struct baro_summary **ret, struct baro_error *err)
{
    struct baro_summary *s = NULL;
    *ret = NULL;
    int code = baro_tape_rewind(tape, err);
    if (code >= 0)
        code = baro_summary_new(&s, baro_tape_header(tape), err);
    if (code >= 0)
        code = baro_summary_add_tape(s, tape, err);
    if (code < 0) {
        baro_summary_free(s);
        return code;
    }
    baro_summary_finish(s);
    *ret = s;
    return 0;
}
