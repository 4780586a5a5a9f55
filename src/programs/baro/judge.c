/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/judge.h"

#include <fcntl.h>
#include <stddef.h>

#include "base/clock.h"
#include "libbaro/tape/tail.h"
#include "libbaro/timeline/timeline.h"
#include "libbaro/verdict/verdict.h"

#define JUDGED_FROM NS_PER_SEC         /* rules do not judge the course of a shorter job */
#define CATCH_UP_MOST (30 * NS_PER_MS) /* CPU time; 216 samples of 843 processes took 2 ms */
#define ITEMS_MOST 2000u               /* items of the timeline; a phase takes about 2 kB */

static void give_up(struct judge *j)
{
    baro_verdicts_free(j->verdicts);
    j->verdicts = NULL;
    j->gave_up = true;
}

/* Marks are in no verdict, and a job may write a thousand a second. */
static void judge_record(struct judge *j, const struct baro_record *record)
{
    if (record->kind == BARO_RECORD_EVENT && baro_event_kind_of(record->u.event) == BARO_EVENT_MARK)
        return;
    baro_verdicts_add(j->verdicts, record);
    if (timeline_size(judge_timeline(j)) > ITEMS_MOST)
        give_up(j);
}

static int add_tape(struct judge *j, struct baro_tape *tape)
{
    struct baro_record record;
    int code = 0;
    while (j->verdicts && (code = baro_tape_next(tape, &record, NULL)) > 0)
        judge_record(j, &record);
    return code;
}

void judge_tape(struct judge *j, int tape_fd)
{
    struct baro_tape *tape = NULL;
    if (j->verdicts || j->gave_up)
        return;
    int fd = fcntl(tape_fd, F_DUPFD_CLOEXEC, 3);
    int code = fd < 0 ? -1 : tape_open_fd(&tape, fd, "the tape", CATCH_UP_MOST, NULL);
    if (code >= 0)
        code = baro_verdicts_new(&j->verdicts, baro_tape_header(tape), NULL);
    if (code >= 0)
        code = add_tape(j, tape);
    if (code < 0)
        give_up(j);
    baro_tape_close(tape);
}

static void note_event(struct judge *j, enum baro_event_kind kind)
{
    j->has_phases = j->has_phases || kind == BARO_EVENT_PHASE_BEGIN || kind == BARO_EVENT_PHASE_END;
    j->has_ended = j->has_ended || kind == BARO_EVENT_END;
}

void judge_add(struct judge *j, const struct baro_record *record, int tape_fd)
{
    if (record->kind == BARO_RECORD_EVENT)
        note_event(j, baro_event_kind_of(record->u.event));
    if (j->verdicts)
        judge_record(j, record);
    else if (record->kind == BARO_RECORD_SAMPLE && !j->has_ended && (record->t_ns >= JUDGED_FROM || j->has_phases))
        judge_tape(j, tape_fd);
}

int judge_finish(struct judge *j, const struct baro_summary *summary)
{
    return j->verdicts ? baro_verdicts_finish(j->verdicts, summary, NULL) : -1;
}

const struct baro_timeline *judge_timeline(const struct judge *j)
{
    return j->verdicts ? verdicts_timeline(j->verdicts) : NULL;
}

void judge_done(struct judge *j)
{
    baro_verdicts_free(j->verdicts);
    j->verdicts = NULL;
}
