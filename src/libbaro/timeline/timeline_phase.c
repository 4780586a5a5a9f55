/* SPDX-License-Identifier: Apache-2.0 */
/* Marks and phases: which end belongs to which begin, the order of the list, and the lanes that phases are drawn in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/timeline/timeline.h"

#define LANES_MAX 64      /* deeper phases share the last lane */
#define ANCESTORS_MAX 256 /* ancestors that are searched for a phase: a tape can have any number of them */

static uint64_t given_ns(const struct baro_event *e, const char *name)
{
    const struct baro_attribute *a = timeline_meaning(e, name);
    return a && a->type == BARO_ATTRIBUTE_UNSIGNED ? a->u64 : 0;
}

static const char *given_id(const struct baro_event *e)
{
    const struct baro_attribute *a = timeline_meaning(e, ATTRIBUTE_PHASE_ID);
    return a && a->type == BARO_ATTRIBUTE_TEXT ? a->text : "";
}

static struct timeline_item *append_item(struct baro_timeline *t, enum baro_timeline_kind kind,
                                         const struct baro_event *e)
{
    struct timeline_item *i = timeline_append(t, kind, "", e->t_ns);
    if (!i)
        return NULL;
    i->view.pid = e->key.pid;
    i->view.start_ticks = e->key.start;
    i->view.error_ns = given_ns(e, ATTRIBUTE_TIME_ERROR);
    i->reporter = e->key.start ? reporters_add(&t->reporters, e->key) : REPORTER_NONE;
    timeline_describe(t, i, e);
    return i;
}

/* ---- begin and end ---- */

static uint32_t hash_name(const char *name, const char *id)
{
    return chains_hash(chains_hash(0, name, strlen(name) + 1), id, strlen(id));
}

static uint32_t hash_pid(int32_t pid)
{
    return chains_hash(0, &pid, sizeof(pid));
}

/*
 * Is this the exit of the process that began the phase? A process too short to be sampled has an exit without a start
 * time. It lived when the phase began, so the first exit of its pid after that is its own. Example: phase of pid 499
 * from 0.97 ms on, exits of pid 499 at 0.20 ms (another one) and at 2.20 ms (its own).
 */
static bool is_exit_of(const struct timeline_item *i, struct baro_key key, uint64_t exit_ns)
{
    return i->view.pid == key.pid && (key.start ? i->view.start_ticks == key.start : exit_ns >= i->view.begin_ns);
}

static struct timeline_item *find_open(const struct baro_timeline *t, const char *name, const char *id)
{
    const struct timeline_chains *c = &t->open[CHAIN_NAME];
    uint32_t hash = hash_name(name, id);
    struct timeline_item *i = c->size ? c->bucket[hash & (c->size - 1)] : NULL;
    while (i && (i->hash[CHAIN_NAME] != hash || strcmp(i->view.name, name) != 0 || strcmp(i->id, id) != 0))
        i = i->next[CHAIN_NAME];
    return i;
}

static struct timeline_item *find_process(const struct baro_timeline *t, struct baro_key key, uint64_t exit_ns)
{
    const struct timeline_chains *c = &t->open[CHAIN_PROCESS];
    struct timeline_item *i = c->n ? c->bucket[hash_pid(key.pid) & (c->size - 1)] : NULL;
    while (i && !is_exit_of(i, key, exit_ns))
        i = i->next[CHAIN_PROCESS];
    return i;
}

/* A phase that was reported with its process ends with that process at the latest. */
static bool ends_with_process(const struct timeline_item *i)
{
    return i->view.pid && i->view.start_ticks;
}

static void open_phase(struct baro_timeline *t, struct timeline_item *i)
{
    i->view.is_open = true;
    i->hash[CHAIN_NAME] = hash_name(i->view.name, i->id);
    i->hash[CHAIN_PROCESS] = hash_pid(i->view.pid);
    if (!chains_add(&t->open[CHAIN_NAME], CHAIN_NAME, i) ||
        (ends_with_process(i) && !chains_add(&t->open[CHAIN_PROCESS], CHAIN_PROCESS, i)))
        t->failed = true;
}

static void close_phase(struct baro_timeline *t, struct timeline_item *i, uint64_t t_ns)
{
    if (ends_with_process(i))
        chains_remove(&t->open[CHAIN_PROCESS], CHAIN_PROCESS, i);
    i->view.is_open = false;
    i->view.end_ns = t_ns > i->view.begin_ns ? t_ns : i->view.begin_ns;
    if (i->usage)
        windows_end(&t->windows, i->usage, i->view.end_ns);
}

static void measure(struct baro_timeline *t, struct timeline_item *i, uint64_t end_ns)
{
    i->usage = malloc(sizeof(*i->usage));
    if (!i->usage) {
        t->failed = true;
        return;
    }
    window_init(i->usage, i->view.begin_ns, end_ns);
    if (!t->is_measured_later && !windows_activate(&t->windows, i->usage))
        t->failed = true;
}

void timeline_add_mark(struct baro_timeline *t, const struct baro_event *e)
{
    append_item(t, BARO_TIMELINE_MARK, e);
}

static const struct timeline_ended *find_ended(const struct baro_timeline *t, const struct timeline_item *phase)
{
    for (size_t i = 0; i < TIMELINE_ENDED && i < t->n_ended; i++) {
        if (is_exit_of(phase, t->ended[i].key, t->ended[i].t_ns))
            return &t->ended[i];
    }
    return NULL;
}

void timeline_add_begin(struct baro_timeline *t, const struct baro_event *e)
{
    struct timeline_item *i = append_item(t, BARO_TIMELINE_PHASE, e);
    if (!i)
        return;
    open_phase(t, i);
    measure(t, i, WINDOW_OPEN);
    const struct timeline_ended *gone = ends_with_process(i) ? find_ended(t, i) : NULL;
    if (gone) {
        reporters_set_parent(&t->reporters, e->key, gone->parent);
        close_phase(t, i, gone->t_ns);
    }
}

static void add_whole(struct baro_timeline *t, const struct baro_event *e, uint64_t duration_ns)
{
    struct timeline_item *i = append_item(t, BARO_TIMELINE_PHASE, e);
    if (!i)
        return;
    i->view.duration_ns = duration_ns;
    i->view.begin_ns = duration_ns < e->t_ns ? e->t_ns - duration_ns : 0;
    i->view.end_ns = e->t_ns;
    measure(t, i, e->t_ns);
}

/* It has begun before what the tape has of the recording. */
static void add_earlier(struct baro_timeline *t, const struct baro_event *e)
{
    struct timeline_item *i = append_item(t, BARO_TIMELINE_PHASE, e);
    if (!i)
        return;
    i->view.begins_before = true;
    i->view.begin_ns = t->first_ns < e->t_ns ? t->first_ns : e->t_ns;
    measure(t, i, e->t_ns);
}

static void add_unmatched(struct baro_timeline *t, const struct baro_event *e)
{
    struct timeline_item *i = timeline_append(t, BARO_TIMELINE_EVENT, "unmatched_end", e->t_ns);
    struct buf text = {0};
    if (!i)
        return;
    buf_printf(&text, "end of phase %s, which was not begun", e->text);
    timeline_set_text(t, i, &text);
}

void timeline_add_end(struct baro_timeline *t, const struct baro_event *e)
{
    const struct baro_attribute *duration = timeline_meaning(e, ATTRIBUTE_DURATION);
    struct timeline_item *i = find_open(t, e->text, given_id(e));
    if (duration && duration->type == BARO_ATTRIBUTE_UNSIGNED)
        add_whole(t, e, duration->u64);
    else if (!i && t->begins_later)
        add_earlier(t, e);
    else if (!i)
        add_unmatched(t, e);
    if (!i || duration)
        return;
    chains_remove(&t->open[CHAIN_NAME], CHAIN_NAME, i);
    close_phase(t, i, e->t_ns);
    timeline_describe(t, i, e);
}

/* A process that began a phase has ended. The end of the phase that it reported itself may come later: its exit
 * event is faster than a line that is read at the next tick. */
void timeline_process_ended(struct baro_timeline *t, const struct baro_exit *e)
{
    t->ended[t->n_ended++ % TIMELINE_ENDED] = (struct timeline_ended){e->key, e->parent, e->t_ns};
    reporters_set_parent(&t->reporters, e->key, e->parent);
    for (struct timeline_item *i; (i = find_process(t, e->key, e->t_ns)) != NULL;)
        close_phase(t, i, e->t_ns);
}

/* ---- order ---- */

/* Orders items by their begin. Of those that begin together, longer ones come first, and a phase comes before what
 * lies in it. */
static int compare_items(const void *a, const void *b)
{
    const struct timeline_item *x = *(struct timeline_item *const *)a, *y = *(struct timeline_item *const *)b;
    if (x->view.begin_ns != y->view.begin_ns)
        return x->view.begin_ns < y->view.begin_ns ? -1 : 1;
    bool is_phase[2] = {x->view.kind == BARO_TIMELINE_PHASE, y->view.kind == BARO_TIMELINE_PHASE};
    if (is_phase[0] && is_phase[1] && x->view.end_ns != y->view.end_ns)
        return x->view.end_ns > y->view.end_ns ? -1 : 1;
    if (is_phase[0] != is_phase[1])
        return is_phase[0] ? -1 : 1;
    return (x->view.id > y->view.id) - (x->view.id < y->view.id); /* the order on the tape */
}

static void end_open(struct baro_timeline *t)
{
    uint64_t end_ns = t->end_ns ? t->end_ns : t->last_ns;
    for (size_t i = 0; i < t->n_all; i++) {
        struct baro_timeline_item *v = &t->all[i]->view;
        if (v->is_open)
            v->end_ns = end_ns > v->begin_ns ? end_ns : v->begin_ns;
    }
}

static int sort(struct baro_timeline *t)
{
    struct timeline_item **sorted = malloc((t->n_all + 1) * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    free(t->sorted);
    t->sorted = sorted;
    t->n_sorted = 0;
    for (size_t i = 0; i < t->n_all; i++) {
        if (!t->all[i]->is_hidden)
            sorted[t->n_sorted++] = t->all[i];
    }
    qsort(sorted, t->n_sorted, sizeof(*sorted), compare_items);
    return 0;
}

/* ---- lanes and parents: one walk over begins and ends ---- */

/* A stack of the phases that have begun, in the order of their begin. A phase that has ended is removed once no
 * younger one is above it, so each phase is pushed and popped once. */
struct stack {
    ptrdiff_t *at;
    size_t n;
};

static uint64_t end_of(const struct baro_timeline *t, ptrdiff_t i)
{
    return t->sorted[i]->view.is_open ? UINT64_MAX : t->sorted[i]->view.end_ns;
}

static ptrdiff_t innermost(const struct baro_timeline *t, struct stack *s, uint64_t now_ns)
{
    while (s->n && end_of(t, s->at[s->n - 1]) <= now_ns)
        s->n--;
    return s->n ? s->at[s->n - 1] : -1;
}

static void add_turn(struct baro_timeline *t, uint64_t t_ns, ptrdiff_t phase)
{
    if (t->n_turns && t->turn[t->n_turns - 1].phase == phase)
        return;
    if (t->n_turns && t->turn[t->n_turns - 1].t_ns == t_ns)
        t->n_turns--;
    t->turn[t->n_turns++] = (struct timeline_turn){t_ns, phase};
}

/* Pops the phases on top of the stack that end until then; those below become the innermost ones. */
static void reveal_until(struct baro_timeline *t, struct stack *s, uint64_t until_ns)
{
    for (ptrdiff_t top = s->n ? s->at[s->n - 1] : -1; top >= 0 && end_of(t, top) <= until_ns;) {
        uint64_t end_ns = end_of(t, top);
        top = innermost(t, s, end_ns);
        add_turn(t, end_ns, top);
    }
}

static int lane_of(struct baro_timeline *t, uint64_t free_at[LANES_MAX], ptrdiff_t i)
{
    int lane = 0;
    while (lane < LANES_MAX - 1 && free_at[lane] > t->sorted[i]->view.begin_ns)
        lane++;
    free_at[lane] = end_of(t, i);
    t->lanes = lane + 1 > t->lanes ? lane + 1 : t->lanes;
    return lane;
}

static ptrdiff_t innermost_of(const struct baro_timeline *t, uint32_t reporter, uint64_t now_ns)
{
    ptrdiff_t *top = &t->reporters.top[reporter];
    while (*top >= 0 && end_of(t, *top) <= now_ns)
        *top = t->sorted[*top]->below;
    return *top;
}

/*
 * Returns the phase in which one begins: the youngest of its process, or else of the nearest ancestor that is in one;
 * or what was reported without a known process, if it is younger. Example: process 100 loads from 3 to 5 s, and its
 * child 101 trains from 2 to 10 s. The load is not within the training, because 101 is no ancestor of 100. If 100 had
 * reported the training, it would be "train/load". What was reported without a process, or by one whose parent is not
 * on the tape, is within the youngest phase of all.
 */
static ptrdiff_t parent_of(const struct baro_timeline *t, const struct stack *s, uint32_t reporter, uint64_t now_ns)
{
    if (!reporter)
        return s->n ? s->at[s->n - 1] : -1;
    ptrdiff_t own = -1, unknown = innermost_of(t, REPORTER_NONE, now_ns);
    for (int level = 0; own < 0 && reporter && level < ANCESTORS_MAX; level++) {
        own = innermost_of(t, reporter, now_ns);
        reporter = t->reporters.parent[reporter];
    }
    return own > unknown ? own : unknown;
}

static void assign_lane(struct baro_timeline *t, struct stack *s)
{
    uint64_t free_at[LANES_MAX] = {0};
    for (ptrdiff_t i = 0; i < (ptrdiff_t)t->n_sorted; i++) {
        struct baro_timeline_item *v = &t->sorted[i]->view;
        if (v->kind == BARO_TIMELINE_EVENT)
            continue;
        uint32_t reporter = reporters_of(&t->reporters, t->sorted[i]->reporter);
        reveal_until(t, s, v->begin_ns);
        v->parent = parent_of(t, s, reporter, v->begin_ns);
        if (v->kind != BARO_TIMELINE_PHASE)
            continue;
        v->depth = lane_of(t, free_at, i);
        if (v->end_ns <= v->begin_ns && !v->is_open)
            continue;
        s->at[s->n++] = i;
        t->sorted[i]->below = t->reporters.top[reporter];
        t->reporters.top[reporter] = i;
        add_turn(t, v->begin_ns, i);
    }
    reveal_until(t, s, UINT64_MAX - 1);
}

int timeline_arrange(struct baro_timeline *t)
{
    end_open(t);
    if (sort(t) < 0 || reporters_arrange(&t->reporters) < 0)
        return -ENOMEM;
    struct stack s = {.at = malloc((t->n_sorted + 1) * sizeof(*s.at))};
    struct timeline_turn *turns = malloc((2 * t->n_sorted + 1) * sizeof(*turns));
    free(t->turn);
    t->turn = turns;
    t->n_turns = 0;
    t->lanes = 0;
    if (s.at && turns)
        assign_lane(t, &s);
    free(s.at);
    return s.at && turns ? 0 : -ENOMEM;
}
