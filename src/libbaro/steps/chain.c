/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain of last finishers, backwards from the end of the job. At a time t in a process: of its children that had
 * ended by t, it waited for the one that ended last; what is between is its own time. Within that child the same, down
 * to its beginning, which is the next t in its parent. Each process is taken once, so all of it is O(n log n).
 *
 * Example: make runs a from 0 to 3 s, b from 0 to 1 s, c from 1 to 9 s, and d from 9.001 to 10 s: d, before it c, which
 * took the slot that b had left, before it b. a is not in it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/min_max.h"
#include "libbaro/steps/steps.h"

/* Siblings that are compared with the one that ended last; if there are more, it is not known. */
#define OTHERS_MOST 256
#define FREE_LEAST_NS (10ull * STEPS_GRAIN_NS) /* a slot that is free for less may be between two steps */
#define WORKING 0.1                            /* a step that used less of its time for computing slept */

struct part {
    uint64_t from_ns, to_ns;
    uint32_t step; /* STEPS_NONE: not known */
    enum baro_link_after after;
};

struct frame {
    uint32_t i, left; /* left: children in by_end that were not tried yet */
    bool is_known;
};

struct chain {
    struct baro_steps *s;
    struct frame *frame;
    uint32_t depth;
    struct part *part; /* the latest first */
    size_t n, room;
    uint64_t t_ns, slack_ns; /* slack_ns: t_ns is a begin that may have been later by so much */
    uint32_t popped;         /* the life that was left last; STEPS_NONE: one was entered since */
    bool failed;
};

static const struct life *child_by_end(const struct chain *c, const struct life *l, uint32_t k)
{
    return &c->s->life[c->s->by_end[l->first + k]];
}

static void add_part(struct chain *c, const struct frame *f, uint64_t from_ns)
{
    if (from_ns >= c->t_ns)
        return;
    struct part *at = array_room(c->part, c->n, &c->room, sizeof(*at));
    c->failed |= !at;
    if (!at)
        return;
    c->part = at;
    at[c->n++] = (struct part){from_ns, c->t_ns, f->is_known ? c->s->life[f->i].step : STEPS_NONE, BARO_LINK_FIRST};
    c->t_ns = from_ns;
}

/* The earliest time at which it may have ended. Example: the sample at 2.8 s had it, a scan at 3.0 s did not: 2.8 s. */
static uint64_t earliest_end(const struct life *l)
{
    return max_u64(excess(l->to_ns, l->end_error_ns), l->from_ns);
}

/* Did this child end last, whatever the exact times are? Not if another one may have ended after it, and before t.
 * Children of the same step count as one, and those that were short do not count. */
static bool is_last(const struct chain *c, const struct frame *f, const struct life *child)
{
    uint64_t low = earliest_end(child);
    if (child->end_error_ns <= STEPS_GRAIN_NS)
        low = child->to_ns;
    for (uint32_t k = f->left, tried = 0; k; k--) {
        const struct life *other = child_by_end(c, &c->s->life[f->i], k - 1);
        if (other->to_ns <= low)
            return true;
        if (++tried > OTHERS_MOST)
            return false;
        if (!other->is_idle && other->step != child->step && life_length(other) > STEPS_GRAIN_NS &&
            other->end_error_ns > STEPS_GRAIN_NS && earliest_end(other) <= c->t_ns)
            return false;
    }
    return true;
}

/* Takes the child that ended last before t. Returns false if there is none. */
static bool enter_child(struct chain *c)
{
    struct frame *f = &c->frame[c->depth - 1];
    const struct life *l = &c->s->life[f->i];
    for (; f->left; f->left--) {
        const struct life *child = child_by_end(c, l, f->left - 1);
        if (!child->is_idle && child->from_ns < c->t_ns && earliest_end(child) <= c->t_ns + c->slack_ns)
            break;
    }
    if (!f->left)
        return false;
    uint32_t i = c->s->by_end[l->first + --f->left];
    const struct life *child = &c->s->life[i];
    bool is_known = f->is_known && is_last(c, f, child);
    if (c->n && c->popped != STEPS_NONE && excess(c->t_ns, child->to_ns) <= STEPS_GRAIN_NS + c->slack_ns)
        c->part[c->n - 1].after = child->at_once <= 1         ? BARO_LINK_NEXT
                                  : child->at_once == l->most ? BARO_LINK_SLOT
                                                              : BARO_LINK_LAST;
    add_part(c, f, min_u64(child->to_ns, c->t_ns));
    c->frame[c->depth++] = (struct frame){i, child->n, is_known};
    c->popped = STEPS_NONE;
    c->slack_ns = 0;
    return true;
}

static void walk(struct chain *c)
{
    c->frame[c->depth++] = (struct frame){0, c->s->life[0].n, true};
    c->t_ns = c->s->to_ns;
    while (c->depth && !c->failed) {
        if (enter_child(c))
            continue;
        const struct frame *f = &c->frame[--c->depth];
        const struct life *l = &c->s->life[f->i];
        add_part(c, f, l->from_ns);
        c->slack_ns = l->begin_error_ns;
        c->popped = f->i;
    }
}

/* Did it begin when its driver had run one other process alone for a while? Then it waited for that one, not for a
 * slot. Examples: the link after the last compile. But where two end 1 ms apart, and the driver then starts two, no
 * slot was left free on purpose. */
static bool began_after_one(const struct baro_steps *s, const struct life *driver, const struct life *top)
{
    const uint32_t *by_end = &s->by_end[driver->first];
    uint32_t low = 0, high = driver->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (s->life[by_end[mid]].to_ns <= top->from_ns)
            low = mid + 1;
        else
            high = mid;
    }
    while (low && s->life[by_end[low - 1]].is_idle)
        low--;
    if (!low || s->life[by_end[low - 1]].at_once > 1)
        return false;
    for (low--; low && s->life[by_end[low - 1]].is_idle; low--)
        ;
    return !low || s->life[by_end[low - 1]].to_ns + FREE_LEAST_NS < top->from_ns;
}

/* What it saves at most if a step that computes is begun as the first of its driver. */
static uint64_t saving(const struct baro_steps *s, const struct step_row *r)
{
    const struct life *top = &s->life[r->top];
    if (r->is.is_driver || top->parent == STEPS_NONE || s->life[top->parent].most < 2)
        return 0;
    const struct life *driver = &s->life[top->parent];
    if (began_after_one(s, driver, top))
        return 0;
    uint32_t k = 0;
    while (k + 1 < driver->n && s->life[s->by_begin[driver->first + k]].is_idle)
        k++;
    uint64_t later = excess(top->from_ns, s->life[s->by_begin[driver->first + k]].from_ns);
    double wall = (double)life_length(top);
    uint64_t least = min_u64(later, (uint64_t)r->alone_ns);
    return (double)r->cpu_ns < WORKING * wall || least < STEPS_GRAIN_NS ? 0 : least;
}

static bool is_short_driver(const struct baro_steps *s, const struct part *p)
{
    return p->to_ns - p->from_ns < STEPS_GRAIN_NS && p->step != STEPS_NONE && s->row[p->step].is.is_driver;
}

/* The parts of one step, one after the other, are a link. The moments in which a driver forks belong to the link that
 * follows. */
static int make_links(struct baro_steps *s, const struct chain *c)
{
    const struct part *pending = NULL;
    s->n_links = 0;
    for (size_t k = c->n; k-- > 0;) {
        const struct part *p = &c->part[k];
        struct baro_step_link *last = s->n_links ? &s->link[s->n_links - 1] : NULL;
        ptrdiff_t step = p->step == STEPS_NONE ? -1 : (ptrdiff_t)p->step;
        if (last && last->step == step && !pending) {
            last->end_ns = p->to_ns;
            continue;
        }
        if (is_short_driver(s, p) && k) {
            pending = pending ? pending : p;
            continue;
        }
        if (last && ((last->step == step) || (is_short_driver(s, p) && !k))) {
            last->end_ns = p->to_ns;
            pending = NULL;
            continue;
        }
        struct baro_step_link *at = array_room(s->link, s->n_links, &s->room_links, sizeof(*at));
        if (!at)
            return -ENOMEM;
        s->link = at;
        at[s->n_links++] = (struct baro_step_link){.step = step,
                                                   .begin_ns = pending ? pending->from_ns : p->from_ns,
                                                   .end_ns = p->to_ns,
                                                   .after = p->after,
                                                   .saving_most_ns = step < 0 ? 0 : saving(s, &s->row[step])};
        pending = NULL;
    }
    return 0;
}

int steps_chain(struct baro_steps *s)
{
    struct chain c = {.s = s, .frame = malloc(((size_t)s->n + 1) * sizeof(*c.frame)), .popped = STEPS_NONE};
    int code = -ENOMEM;
    if (c.frame) {
        walk(&c);
        code = c.failed ? -ENOMEM : make_links(s, &c);
    }
    free(c.frame);
    free(c.part);
    return code;
}
