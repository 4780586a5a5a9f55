/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "programs/baro-tape/copying.h"
#include "programs/baro-tape/stretch.h"
#include "programs/common/tape_args.h"

#define LATE_NS 2000000000u /* a record is on the tape at most this long after its time */

struct trimming {
    struct stretch stretch;
    const struct baro_timeline *timeline;
    size_t samples;
};

/* Position of the first item that begins at t_ns or later. */
static size_t first_item_at(const struct baro_timeline *timeline, uint64_t t_ns)
{
    size_t from = 0, to = baro_timeline_count(timeline);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (baro_timeline_get(timeline, middle)->begin_ns < t_ns)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Does the event begin a phase that reaches into the stretch? */
static bool reaches_in(const struct trimming *t, const struct baro_event *e)
{
    const struct baro_timeline_item *item;
    size_t i = first_item_at(t->timeline, baro_event_t_ns(e));
    while ((item = baro_timeline_get(t->timeline, i++)) && item->begin_ns == baro_event_t_ns(e))
        if (item->kind == BARO_TIMELINE_PHASE && (item->is_open || item->end_ns >= t->stretch.from_ns) &&
            strcmp(item->name, baro_event_text(e)) == 0)
            return true;
    return false;
}

/* Is an event from before the stretch needed to read it? It may change the wall clock, begin a phase that reaches
 * into the stretch, or say what is not known in the recording: after "kcmp(2) is refused ..." sums of memory are
 * upper bounds. */
static bool is_needed_later(const struct trimming *t, const struct baro_event *e)
{
    switch (baro_event_kind_of(e)) {
    case BARO_EVENT_SOURCE:
    case BARO_EVENT_CLOCK_STEP:
    case BARO_EVENT_SUSPEND:
    case BARO_EVENT_WARNING: return true;
    case BARO_EVENT_PHASE_BEGIN: return reaches_in(t, e);
    default: return false;
    }
}

/* Chooses the records to copy. Exits and events are written before the sample that follows them. A few are written
 * after it: a mark that was read late, or an exit that waited a second for its sockets (recorder/job/late.c). So the
 * tape is read a little beyond the end of the stretch. */
static int choose(void *context, const struct baro_record *record)
{
    struct trimming *t = context;
    const struct stretch *s = &t->stretch;
    if (record->kind == BARO_RECORD_SAMPLE && record->t_ns > s->to_ns && record->t_ns - s->to_ns > LATE_NS)
        return BARO_E_ENDED;
    if (record->t_ns > s->to_ns)
        return 0;
    if (record->kind == BARO_RECORD_LIMITS)
        return 1;
    if (record->t_ns < s->from_ns)
        return record->kind == BARO_RECORD_EVENT && is_needed_later(t, record->u.event);
    t->samples += record->kind == BARO_RECORD_SAMPLE;
    return 1;
}

static int trim(const struct cli *cli, const struct settings *s, struct baro_tape *tape)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    struct baro_fold *fold;
    if (baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, &err) < 0)
        return cli_fail(cli, &err);
    const struct baro_timeline *timeline = baro_fold_timeline(fold);
    struct trimming t = {.timeline = timeline};
    int status = stretch_find(&t.stretch, tape, timeline, s, &err) < 0 ? cli_fail(cli, &err) : 0;
    if (!status && t.stretch.phases > 1)
        cli_note(cli, "there are %zu phases '%s'; this is the first", t.stretch.phases, s->phase);
    options.from_ns = t.stretch.begins_later ? t.stretch.from_ns : 0;
    options.force = s->force;
    if (!status)
        status = copy_tape(cli, tape, s->output, &options, choose, &t);
    if (!status && t.samples == 0)
        cli_note(cli, "the stretch has no sample");
    baro_fold_free(fold);
    return status;
}

int cmd_trim(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_tape *tape;
    struct reader_path path;
    bool by_time = s->from || s->to;
    if (!s->output)
        return cli_failf(cli, "-o FILE is missing");
    if (by_time + !!s->phase + !!s->samples != 1)
        return cli_failf(cli, "which stretch? Give --from and --to, or --phase, or --samples");
    int status = reader_open(cli, argv[0], &tape, &path);
    if (status)
        return status;
    status = trim(cli, s, tape);
    baro_tape_close(tape);
    return status;
}
