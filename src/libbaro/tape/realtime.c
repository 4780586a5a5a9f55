/* SPDX-License-Identifier: Apache-2.0 */
/* The wall clock of a tape, from its events clock_step and suspend. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "libbaro/tape/cursor.h"

/* From t_ns on, the wall clock is ahead by this much of the time that baro_header_realtime_ns() returns. */
struct tape_step {
    uint64_t t_ns;
    int64_t ahead_ns;
};

struct tape_clock {
    struct baro_tape *events; /* a cursor of its own, after the last event that was read */
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

static int open_clock(struct baro_tape *t, struct baro_error *err)
{
    if (t->clock)
        return 0;
    t->clock = calloc(1, sizeof *t->clock);
    if (!t->clock)
        return error_set(err, -ENOMEM, "out of memory");
    int r = tape_open_again(&t->clock->events, t, PART_EVENTS, err);
    if (r < 0)
        realtime_done(t);
    return r;
}

static int add_step(struct tape_clock *c, const struct baro_event *e)
{
    if (array_reserve(&c->at, c->n + 1, &c->cap, sizeof(*c->at)) < 0)
        return -ENOMEM;
    int64_t before = c->n ? c->at[c->n - 1].ahead_ns : 0;
    c->at[c->n++] = (struct tape_step){e->t_ns, (int64_t)((uint64_t)before + e->number)};
    return 0;
}

/* Reads until all events up to t_ns are known, or until the tape has no more. */
static int read_steps(struct baro_tape *t, uint64_t t_ns, struct baro_error *err)
{
    struct baro_record r;
    int code = open_clock(t, err);
    if (code == 0)
        t->clock->events->cpu_until_ns = t->cpu_until_ns;
    while (code >= 0 && !(t->clock->any && t_ns <= t->clock->read_ns) &&
           (code = baro_tape_next(t->clock->events, &r, err)) > 0) {
        if (r.kind == BARO_RECORD_SAMPLE && r.t_ns >= t->clock->read_ns) {
            t->clock->read_ns = r.t_ns;
            t->clock->any = true;
        }
        if (r.kind == BARO_RECORD_EVENT &&
            (r.u.event->kind == BARO_EVENT_CLOCK_STEP || r.u.event->kind == BARO_EVENT_SUSPEND) &&
            (code = add_step(t->clock, r.u.event)) < 0)
            return error_set(err, code, "out of memory");
    }
    return code < 0 ? code : 0;
}

/* Moves the cursor to a time, and computes what the wall clock showed then by the block that has the time. Returns 1, 0
 * if the tape does not say it there (an older tape), or a negative code. */
static int shown_there(struct baro_tape *events, uint64_t t_ns, int64_t *ret, struct baro_error *err)
{
    struct baro_record record;
    int code = baro_tape_seek(events, t_ns, &record, err);
    const struct series_part *p = series_part(events);
    if (code <= 0 || !events->ahead_known)
        return code < 0 ? code : 0;
    uint64_t start = p ? (uint64_t)p->start_realtime_ns - p->shift_ns : (uint64_t)events->header.start_realtime_ns;
    *ret = (int64_t)(start + t_ns + (uint64_t)events->ahead_ns);
    return 1;
}

static int shown_at_once(const struct baro_tape *t, uint64_t t_ns, int64_t *ret, struct baro_error *err)
{
    struct baro_tape *events;
    int code = tape_open_again(&events, t, PART_EVENTS, err);
    if (code < 0)
        return code;
    code = shown_there(events, t_ns, ret, err);
    baro_tape_close(events);
    return code;
}

/* CLOCK_MONOTONIC does not count the time in which the machine is suspended, and does not change when the wall clock
 * is set. */
int baro_tape_realtime_ns(struct baro_tape *t, uint64_t t_ns, int64_t *ret, struct baro_error *err)
{
    const uint64_t far_ns = 600000000000ull; /* so much is read on rather than looked up */
    uint64_t read_ns = t->clock ? t->clock->read_ns : 0;
    int code = t->segments && t_ns > read_ns && t_ns - read_ns > far_ns ? shown_at_once(t, t_ns, ret, err) : 0;
    if (code != 0)
        return code < 0 ? code : 0;
    code = read_steps(t, t_ns, err);
    if (code < 0)
        return code;
    size_t i = t->clock->n;
    while (i > 0 && t->clock->at[i - 1].t_ns > t_ns)
        i--;
    *ret = baro_header_realtime_ns(&t->header, t_ns) + (i ? t->clock->at[i - 1].ahead_ns : 0);
    return 0;
}

/* Returns when the wall clock showed a time, by the first `step` steps alone. A damaged tape may have any numbers,
 * so the arithmetic is unsigned and wraps. */
static int64_t shown_at(const struct tape_clock *c, size_t step, uint64_t since)
{
    return (int64_t)(since - (step ? (uint64_t)c->at[step - 1].ahead_ns : 0));
}

int realtime_ahead(const struct baro_tape *t, int64_t *ret, struct baro_error *err)
{
    struct baro_tape *other;
    struct baro_record r = {.kind = BARO_RECORD_DAMAGE};
    int code = tape_open_again(&other, t, PART_EVENTS, err);
    if (code < 0)
        return code;
    code = baro_tape_next(other, &r, err);
    bool moves = code > 0 && r.kind == BARO_RECORD_EVENT && event_moves_clock(r.u.event);
    *ret = other->ahead_known ? (int64_t)((uint64_t)other->ahead_ns - (moves ? r.u.event->number : 0)) : 0;
    baro_tape_close(other);
    return code < 0 ? code : 0;
}

int realtime_at(const struct baro_tape *t, uint64_t t_ns, int64_t *ret, struct baro_error *err)
{
    struct baro_tape *other;
    int code = shown_at_once(t, t_ns, ret, err);
    if (code != 0 || (code = tape_open_again(&other, t, PART_EVENTS, err)) < 0)
        return code < 0 ? code : 0;
    code = baro_tape_realtime_ns(other, t_ns, ret, err);
    baro_tape_close(other);
    return code;
}

/* Finds a time in a folder of segments without reading all of it: goes to where it would be if the clock had not been
 * set, and from there by as much as the clock there is off, until it is right. Returns 1; 0: read all of it, because
 * the clock was set over this time, or an older recorder wrote the tape. */
static int find_quickly(const struct baro_tape *t, int64_t realtime_ns, int64_t *ret, struct baro_error *err)
{
    enum { TRIES = 6 };
    struct baro_tape *events;
    uint64_t at = (uint64_t)realtime_ns - (uint64_t)t->header.start_realtime_ns;
    int code = tape_open_again(&events, t, PART_EVENTS, err);
    if (code < 0)
        return code;
    code = 1;
    for (int i = 0; code > 0 && i < TRIES; i++) {
        int64_t shown, from = (int64_t)at > 0 ? (int64_t)at : 0;
        code = shown_there(events, (uint64_t)from, &shown, err);
        at = (uint64_t)from + (uint64_t)realtime_ns - (uint64_t)shown;
        if (code > 0 && ((int64_t)at == from || ((int64_t)at < 0 && from == 0))) {
            *ret = (int64_t)at;
            baro_tape_close(events);
            return 1;
        }
    }
    baro_tape_close(events);
    return code < 0 ? code : 0;
}

int baro_tape_find_realtime(struct baro_tape *t, int64_t realtime_ns, int64_t *ret, struct baro_error *err)
{
    int found = t->segments ? find_quickly(t, realtime_ns, ret, err) : 0;
    if (found)
        return found < 0 ? found : 0;
    int code = read_steps(t, UINT64_MAX, err);
    if (code < 0)
        return code;
    const struct tape_clock *c = t->clock;
    uint64_t since = (uint64_t)realtime_ns - (uint64_t)t->header.start_realtime_ns;
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
