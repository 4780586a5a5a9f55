/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "baro/baro.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/span.h"
#include "programs/baro-tape/copying.h"
#include "programs/common/moment.h"
#include "programs/common/settings.h"
#include "programs/common/tape_args.h"

/* ---- the stretch ---- */

/* The stretch of a tape that baro trim copies. */

struct stretch {
    uint64_t from_ns, to_ns; /* both included */
    bool begins_later;       /* samples before the stretch are left out */
    size_t phases;           /* if the stretch is a phase: how many phases have that name */
};

/* Parses a time as baro plot does, except that "10s" means "+10s". */
static int parse_time(const char *text, struct baro_tape *tape, uint64_t last_ns, struct moment *ret,
                      struct baro_error *err)
{
    char since_start[64];
    uint64_t ns;
    if (strcmp(text, "0") != 0 && parse_duration(text, &ns, NULL) == 0 && strlen(text) < sizeof(since_start) - 1) {
        snprintf(since_start, sizeof(since_start), "+%s", text);
        text = since_start;
    }
    int code = moment_on_tape(text, tape, 0, last_ns, ret, err);
    if (code == 0 && ret->kind == MOMENT_PEAK)
        return error_set(err, BARO_E_SYNTAX, "peak is a moment, no edge of a stretch");
    return code;
}

static int by_time(struct stretch *ret, struct baro_tape *tape, const struct settings *s, uint64_t last_ns,
                   struct baro_error *err)
{
    struct moment from = {.kind = MOMENT_START}, to = {.kind = MOMENT_END};
    int code = s->from ? parse_time(s->from, tape, last_ns, &from, err) : 0;
    if (code == 0 && s->to)
        code = parse_time(s->to, tape, last_ns, &to, err);
    if (code == 0 && from.ns > 0)
        code = moment_outside(s->from, &from, baro_tape_header(tape), last_ns, err);
    if (code == 0 && to.ns < 0)
        code = moment_outside(s->to, &to, baro_tape_header(tape), last_ns, err);
    if (code < 0)
        return code;
    if (from.kind == MOMENT_TIME && from.ns > 0)
        ret->from_ns = (uint64_t)from.ns;
    if (from.kind == MOMENT_END)
        ret->from_ns = last_ns;
    if (to.kind == MOMENT_START || (to.kind == MOMENT_TIME && to.ns < 0))
        ret->to_ns = 0;
    else if (to.kind == MOMENT_TIME)
        ret->to_ns = (uint64_t)to.ns + moment_tolerance(&to);
    return 0;
}

static int by_phase(struct stretch *ret, const struct baro_timeline *timeline, const char *name, struct baro_error *err)
{
    for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
        if (item->kind != BARO_TIMELINE_PHASE || strcmp(item->name, name) != 0 || ret->phases++)
            continue;
        ret->from_ns = item->begin_ns;
        ret->to_ns = item->is_open ? UINT64_MAX : item->end_ns;
    }
    return ret->phases ? 0
                       : error_set(err, BARO_E_RANGE, "the tape has no phase '%s'; `baro summary` lists them", name);
}

/* "100:200", "100:", ":200"; from 1 on, both included. */
static bool parse_samples(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    struct span s = span_str(text);
    *ret_first = 1;
    *ret_last = UINT64_MAX;
    if (s.len && *s.at != ':' && !scan_u64(&s, ret_first))
        return false;
    if (!s.len || *s.at != ':')
        return false;
    s = span_of(s.at + 1, s.len - 1);
    if (s.len && !scan_u64(&s, ret_last))
        return false;
    return s.len == 0 && *ret_first > 0 && *ret_first <= *ret_last;
}

static int by_samples(struct stretch *ret, struct baro_tape *tape, const char *text, struct baro_error *err)
{
    uint64_t first, last, n = 0;
    struct baro_record record;
    if (!parse_samples(text, &first, &last))
        return error_set(err, BARO_E_SYNTAX, "invalid samples '%s': write 100:200, from 1 on", text);
    int code = baro_tape_rewind(tape, err);
    while (code >= 0 && n < last && (code = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind != BARO_RECORD_SAMPLE)
            continue;
        n++;
        if (n == first && first > 1)
            ret->from_ns = record.t_ns;
        if (n == last)
            ret->to_ns = record.t_ns;
    }
    if (code < 0)
        return code;
    return n >= first ? 0 : error_set(err, BARO_E_RANGE, "the tape has %llu samples", (unsigned long long)n);
}

/* Reads the options. timeline: of the tape. Returns 0 or a negative code. The cursor is moved. */
static int stretch_find(struct stretch *ret, struct baro_tape *tape, const struct baro_timeline *timeline,
                        const struct settings *s, struct baro_error *err)
{
    uint64_t first_ns = 0, last_ns = 0;
    *ret = (struct stretch){.to_ns = UINT64_MAX};
    int code = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (code <= 0)
        return code < 0 ? code : error_set(err, BARO_E_RANGE, "the tape has no sample");
    code = s->phase     ? by_phase(ret, timeline, s->phase, err)
           : s->samples ? by_samples(ret, tape, s->samples, err)
                        : by_time(ret, tape, s, last_ns, err);
    if (code < 0)
        return code;
    ret->begins_later = ret->from_ns > first_ns;
    if (!ret->begins_later)
        ret->from_ns = 0;
    if (ret->from_ns > last_ns || ret->to_ns < first_ns || ret->from_ns > ret->to_ns)
        return error_set(err, BARO_E_RANGE, "the tape has no sample there");
    return 0;
}

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
