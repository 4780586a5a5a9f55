/* SPDX-License-Identifier: Apache-2.0 */
/* Reads how a recording ended from the last blocks of its tape (include/baro/runs.h). */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "baro/runs.h"
#include "base/error.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/tail.h"

/* The first version of the struct has the members up to `complete`. */
#define SIZE_LEAST offsetof(struct baro_tape_end, command_end_ns)

static void take_event(const struct baro_event *e, struct baro_tape_end *ret)
{
    uint64_t t_ns = baro_event_t_ns(e);
    const char *how = baro_event_text(e);
    struct baro_attribute a;
    if (baro_event_kind_of(e) == BARO_EVENT_START && !ret->command_start_ns)
        ret->command_start_ns = t_ns;
    if (baro_event_kind_of(e) != BARO_EVENT_END)
        return;
    ret->ended = true;
    ret->command_end_ns = t_ns;
    ret->end_ns = t_ns > ret->end_ns ? t_ns : ret->end_ns;
    ret->status_known = !*how;
    ret->detached = strcmp(how, "detached") == 0;
    ret->status = (int)(uint32_t)baro_event_number(e);
    if (baro_event_attribute_find(e, ATTRIBUTE_ENDED_BY, &a) == 0 && a.type == BARO_ATTRIBUTE_TEXT)
        snprintf(ret->ended_by, sizeof(ret->ended_by), "%s", a.text);
}

bool tape_is_stopped(const struct baro_tape *tape, bool ended)
{
    return baro_tape_complete(tape) && !ended && baro_tape_damage(tape) == 0;
}

/* Reads to the end of the tape. The recorder writes the end of the command with the last sample. */
static int read_on(struct baro_tape *tape, struct baro_tape_end *ret, bool *ret_sample, struct baro_error *err)
{
    struct baro_record record;
    int code;
    while ((code = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE) {
            *ret_sample = true;
            ret->last_ns = record.t_ns;
            ret->end_ns = record.t_ns > ret->end_ns ? record.t_ns : ret->end_ns;
        } else if (record.kind == BARO_RECORD_EVENT) {
            take_event(record.u.event, ret);
        }
    }
    ret->complete = baro_tape_complete(tape);
    if (tape_is_stopped(tape, ret->ended))
        ret->detached = true;
    return code;
}

/* Reads the last block; if it has no sample, the one before it, too; if that has none, all of the tape. */
int baro_tape_read_end(struct baro_tape *tape, struct baro_tape_end *ret, struct baro_error *err)
{
    struct baro_tape_end end = {.size = ret->size};
    bool sample = false;
    int code = 0;
    if (ret->size < SIZE_LEAST)
        return error_set(err, BARO_E_RANGE, "struct baro_tape_end: its size was not set");
    for (unsigned n = 0; code >= 0 && !sample && n < 3; n++) {
        code = n < 2 ? tape_seek_tail(tape, n, err) : baro_tape_rewind(tape, err);
        if (code == 0)
            n = 2; /* the cursor is at the beginning */
        if (code >= 0)
            code = read_on(tape, &end, &sample, err);
    }
    if (code < 0)
        return code;
    memcpy(ret, &end, end.size < sizeof(end) ? end.size : sizeof(end));
    return 0;
}
