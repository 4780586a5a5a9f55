/* SPDX-License-Identifier: Apache-2.0 */
/* The wall clock of a tape, from its events clock_step and suspend. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "libbaro/tape/cursor.h"

/* From t_ns on, the wall clock is ahead by this much of the time that baro_header_realtime_ns() returns. */
struct tape_step {
    uint64_t t_ns;
    int64_t ahead_ns;
};

/* The events of one segment, whose header says what came before it; or those of the whole tape. */
struct tape_clock {
    struct baro_tape *events; /* a cursor of its own, after the last event that was read */
    size_t segment;           /* position in the list; SIZE_MAX: the whole tape */
    uint64_t from_ns;         /* time of its first sample */
    uint64_t shift_ns;        /* from the time of the tape to that of the cursor */
    int64_t base_ns;          /* how far the wall clock was ahead at the beginning */
    uint64_t read_ns;         /* time of the newest sample that it has read: all events up to then are known */
    bool any;
    struct tape_step *at;
    size_t n, cap;
};

void realtime_done(struct baro_tape *t)
{
    if (!t->clock)
        return;
    baro_tape_close(t->clock->events);
    free(t->clock->at);
    free(t->clock);
    t->clock = NULL;
}

/* How far the wall clock was ahead at the beginning of segment i, by its header, and when its part began. Returns false
 * if the header does not say so. */
static bool read_base(struct baro_tape *t, size_t i, const struct baro_header *h, uint64_t *ret_shift_ns, int64_t *ret)
{
    size_t part;
    if (!h->ahead_known || series_find(t, i, h, &part) < 0)
        return false;
    *ret_shift_ns = t->segments->parts[part].shift_ns;
    *ret = (int64_t)((uint64_t)h->start_realtime_ns - *ret_shift_ns - (uint64_t)t->header.start_realtime_ns +
                     (uint64_t)h->ahead_ns);
    return true;
}

/* Begins to read the events of segment i (SIZE_MAX: of the whole tape). Returns 1; 0 if the segment does not say how
 * far the clock was ahead; or a negative code. */
static int open_clock(struct baro_tape *t, size_t i, struct baro_error *err)
{
    struct tape_clock *c = t->clock;
    if (c && (c->segment == i || c->segment == SIZE_MAX))
        return 1;
    if (!c && !(c = t->clock = calloc(1, sizeof *c)))
        return error_set(err, -ENOMEM, "out of memory");
    baro_tape_close(c->events);
    *c = (struct tape_clock){.segment = i, .at = c->at, .cap = c->cap};
    int r = i == SIZE_MAX ? tape_open_again(&c->events, t, PART_EVENTS, err) : segment_open(t, i, &c->events);
    if (r < 0)
        c->events = NULL;
    else if (i != SIZE_MAX) {
        c->events->part = PART_EVENTS;
        c->from_ns = segments_first_ns(t, i);
        r = read_base(t, i, &c->events->header, &c->shift_ns, &c->base_ns);
    } else
        r = 1;
    if (r <= 0)
        realtime_done(t);
    return r;
}

/* Opens the clock of the segment that find() returns, or of the whole tape. */
static int clock_for(struct baro_tape *t, size_t i, struct baro_error *err)
{
    int r = i == SIZE_MAX ? 0 : open_clock(t, i, err);
    return r > 0 ? 1 : open_clock(t, SIZE_MAX, err); /* also where the segment was removed meanwhile */
}

static int add_step(struct tape_clock *c, const struct baro_event *e)
{
    if (array_reserve(&c->at, c->n + 1, &c->cap, sizeof(*c->at)) < 0)
        return -ENOMEM;
    int64_t before = c->n ? c->at[c->n - 1].ahead_ns : c->base_ns;
    c->at[c->n++] = (struct tape_step){e->t_ns + c->shift_ns, (int64_t)((uint64_t)before + e->number)};
    return 0;
}

/* Reads until all events up to t_ns are known, or until the segment or the tape has no more. */
static int read_steps(struct baro_tape *t, uint64_t t_ns, struct baro_error *err)
{
    struct baro_record r;
    struct tape_clock *c = t->clock;
    int code = 0;
    c->events->cpu_until_ns = t->cpu_until_ns;
    while (code >= 0 && !(c->any && t_ns <= c->read_ns) && (code = baro_tape_next(c->events, &r, err)) > 0) {
        if (r.kind == BARO_RECORD_SAMPLE && r.t_ns + c->shift_ns >= c->read_ns) {
            c->read_ns = r.t_ns + c->shift_ns;
            c->any = true;
        }
        if (r.kind == BARO_RECORD_EVENT &&
            (r.u.event->kind == BARO_EVENT_CLOCK_STEP || r.u.event->kind == BARO_EVENT_SUSPEND) &&
            (code = add_step(c, r.u.event)) < 0)
            return error_set(err, code, "out of memory");
    }
    return code < 0 ? code : 0;
}

/* Makes the steps up to t_ns known. Most callers ask for one time after the other, so the clock that is open is tried
 * first. */
static int read_until(struct baro_tape *t, uint64_t t_ns, struct baro_error *err)
{
    struct tape_clock *c = t->clock;
    size_t i = SIZE_MAX;
    int code = c && t_ns >= c->from_ns ? read_steps(t, t_ns, err) : 0;
    if (code < 0 || (c && (c->segment == SIZE_MAX || (t_ns >= c->from_ns && c->any && t_ns <= c->read_ns))))
        return code;
    code = t->segments ? segments_find(t, t_ns, &i) : 0;
    if (code < 0)
        return error_set(err, code, "can't read the tape: %s", strerror(-code));
    code = clock_for(t, i, err);
    return code < 0 ? code : read_steps(t, t_ns, err);
}

/* CLOCK_MONOTONIC does not count the time in which the machine is suspended, and does not change when the wall clock
 * is set. */
int baro_tape_realtime_ns(struct baro_tape *t, uint64_t t_ns, int64_t *ret, struct baro_error *err)
{
    int code = read_until(t, t_ns, err);
    if (code < 0)
        return code;
    size_t n = t->clock->n;
    while (n > 0 && t->clock->at[n - 1].t_ns > t_ns)
        n--;
    *ret = baro_header_realtime_ns(&t->header, t_ns) + (n ? t->clock->at[n - 1].ahead_ns : t->clock->base_ns);
    return 0;
}

/* Returns when the wall clock showed a time, by the first `step` steps alone. A damaged tape may have any numbers,
 * so the arithmetic is unsigned and wraps. */
static int64_t shown_at(const struct tape_clock *c, size_t step, uint64_t since)
{
    return (int64_t)(since - (uint64_t)(step ? c->at[step - 1].ahead_ns : c->base_ns));
}

/* Does segment i begin at or before a time, which is given since the beginning of the tape, by the wall clock? Returns
 * 1, 0, or -1 if that is not known. */
static int begins_by(struct baro_tape *t, size_t i, int64_t since_ns)
{
    struct baro_tape *other;
    uint64_t shift_ns;
    int64_t base_ns;
    uint64_t first_ns = segments_first_ns(t, i);
    if (first_ns == UINT64_MAX || segment_open(t, i, &other) < 0)
        return -1;
    bool known = read_base(t, i, &other->header, &shift_ns, &base_ns);
    baro_tape_close(other);
    return known ? (int64_t)(first_ns + (uint64_t)base_ns) <= since_ns : -1;
}

/* Finds the last segment that begins at or before a time by the wall clock; else the first one. SIZE_MAX: the segments
 * do not say when they begin. */
static int find_by_wall(struct baro_tape *t, int64_t since_ns, size_t *ret)
{
    struct tape_segments *s = t->segments;
    size_t found = SIZE_MAX, from = 0;
    int r = segments_list(s->dir_fd, &s->list);
    for (size_t to = s->list.n; r >= 0 && from < to;) {
        size_t middle = from + (to - from) / 2, i = middle;
        int begins = begins_by(t, i, since_ns);
        while (begins < 0 && i > from)
            begins = begins_by(t, --i, since_ns);
        if (begins == 0) {
            to = i;
            continue;
        }
        found = begins > 0 ? i : found;
        from = middle + 1;
    }
    *ret = found;
    return r >= 0 && found == SIZE_MAX ? segments_find(t, 0, ret) : r < 0 ? r : 0;
}

int baro_tape_find_realtime(struct baro_tape *t, int64_t realtime_ns, int64_t *ret, struct baro_error *err)
{
    uint64_t since = (uint64_t)realtime_ns - (uint64_t)t->header.start_realtime_ns;
    size_t segment = SIZE_MAX;
    int code = t->segments ? find_by_wall(t, (int64_t)since, &segment) : 0;
    if (code < 0)
        return error_set(err, code, "can't read the tape: %s", strerror(-code));
    code = clock_for(t, segment, err);
    if (code >= 0)
        code = read_steps(t, UINT64_MAX, err);
    if (code < 0)
        return code;
    const struct tape_clock *c = t->clock;
    int64_t over_ns = (int64_t)since; /* if no stretch between two steps has the time: the step that jumped over it */
    for (size_t i = 0; i <= c->n; i++) {
        int64_t at_ns = shown_at(c, i, since), from_ns = i ? (int64_t)c->at[i - 1].t_ns : 0;
        if (at_ns >= from_ns && (i == c->n || at_ns < (int64_t)c->at[i].t_ns)) {
            *ret = at_ns;
            return 0;
        }
        if (i && at_ns < from_ns && shown_at(c, i - 1, since) >= from_ns)
            over_ns = from_ns;
    }
    *ret = over_ns;
    return 0;
}
