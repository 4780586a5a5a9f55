/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "output/rows/row.h"

#define NAME_MOST 256   /* bytes of an escaped name */
#define ITEMS_MOST 1024 /* of a timeline: beyond, phases are left out, because all are sorted each time */
#define ITEMS_FEW 128   /* beyond, phases that begin and end are looked at as seldom as those that go on */
#define PHASES_EVERY_NS (5 * NS_PER_SEC)
#define MOVED_MOST_MS 10
#define SERIES_MOST 100000u /* of a tape: entities come and go */
#define INFO_EVERY_NS (60 * NS_PER_SEC)

int points_init(struct points *p, struct baro_tape *tape, bool wants_info, struct baro_error *err)
{
    *p = (struct points){.tape = tape, .wants_info = wants_info};
    return baro_fold_new(&p->fold, baro_tape_header(tape), BARO_FOLD_TIMELINE, err);
}

void points_done(struct points *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->at[i].entity);
    free(p->at);
    map_done(&p->by_key);
    baro_fold_free(p->fold);
    *p = (struct points){0};
}

/* ---- series ---- */

/* Escaped; a long one is truncated, at a character. */
static void name_entity(const char *name, char ret[NAME_MOST])
{
    size_t len = 0, left = strlen(name);
    while (left) {
        char next[BARO_TEXT_NEXT_SIZE];
        size_t n = baro_text_next(name, left, next), out = strlen(next);
        if (!n || len + out >= NAME_MOST)
            break;
        memcpy(ret + len, next, out);
        len += out;
        name += n;
        left -= n;
    }
    ret[len] = 0;
}

static bool is_series(const struct series *s, enum measure_group group, int id, const char *entity)
{
    return s->group == group && s->id == id && (entity ? s->entity && strcmp(s->entity, entity) == 0 : !s->entity);
}

/* Returns its position; -1: there is none, and it was not made. entity: escaped; NULL: none. */
static ptrdiff_t find_series(struct points *p, enum measure_group group, int id, const char *entity, bool makes)
{
    uint64_t key = map_hash(entity ? entity : "", entity ? strlen(entity) : 0) ^
                   ((uint64_t)group * 1000 + (uint64_t)id + 1) * 0x9e3779b97f4a7c15u;
    key = key ? key : 1;
    for (uint64_t *i = map_find(&p->by_key, key); i; i = map_next(&p->by_key, key, i)) {
        if (is_series(&p->at[*i], group, id, entity))
            return (ptrdiff_t)*i;
    }
    if (!makes || p->n == SERIES_MOST)
        return -1;
    struct series *room = array_room(p->at, p->n, &p->cap, sizeof(*p->at));
    char *copy = entity ? strdup(entity) : NULL;
    if (room)
        p->at = room;
    if (!room || (entity && !copy) || !map_add(&p->by_key, key, p->n)) {
        free(copy);
        p->failed = true;
        return -1;
    }
    p->at[p->n] = (struct series){.group = group, .id = id, .entity = copy, .last_ms = INT64_MIN};
    return (ptrdiff_t)p->n++;
}

/* ---- points ---- */

struct adding {
    struct points *p;
    struct point_list *list; /* NULL: they were sent */
    uint64_t read_ns;        /* when the values were read */
    int64_t t_ns, start_ns;  /* the same, since 1970; when counters were 0 */
};

static void put_point(struct points *p, struct point_list *list, struct point point)
{
    struct point *room = array_room(list->at, list->n, &list->cap, sizeof(*list->at));
    if (!room) {
        p->failed = true;
        return;
    }
    list->at = room;
    list->at[list->n++] = point;
}

/* Two points of a series have different milliseconds, the later one the larger: stores refuse the others. Sets the time
 * of a point. Example: samples at 5.3041 and 5.3048 s become points at 5.304 and 5.305 s. If the clock was set back by
 * 2 s, the points of two seconds have no time, and are left out. */
static bool set_time(struct series *s, int64_t *t_ns)
{
    int64_t ms = *t_ns / 1000000;
    if (ms <= s->last_ms) {
        if (s->last_ms - ms > MOVED_MOST_MS)
            return false;
        ms = s->last_ms + 1;
        *t_ns = ms * 1000000;
    }
    s->last_ms = ms;
    return true;
}

/* Adds a value, unless it is the reading of a sample before. */
static void add_value(const struct adding *a, enum measure_group group, int id, const char *entity, uint64_t raw)
{
    struct points *p = a->p;
    ptrdiff_t at = find_series(p, group, id, entity, true);
    if (at < 0) {
        p->left_out += a->list != NULL;
        return;
    }
    struct series *s = &p->at[at];
    int64_t t_ns = a->t_ns;
    bool is_known = s->is_live && s->read_ns == a->read_ns, is_second = s->round == p->round;
    s->round = p->round;
    if (is_known || is_second) /* is_second: another entity has the same name */
        return;
    s->read_ns = a->read_ns;
    if (!set_time(s, &t_ns)) {
        p->left_out += a->list != NULL;
        return;
    }
    s->is_live = true;
    /* Example: all samples up to 10 s were sent and then removed (--keep), and the machine was read at 9.8 s. The
     * sample of 10.5 s, the first that is left, has that reading as well. */
    bool was_sent = a->read_ns <= p->sent_ns;
    if (a->list && !was_sent)
        put_point(p, a->list,
                  (struct point){.series = (uint32_t)at, .t_ns = t_ns, .start_ns = a->start_ns, .raw = raw});
}

static void end_series(struct points *p, size_t i, int64_t t_ns, struct point_list *list)
{
    struct series *s = &p->at[i];
    s->is_live = false;
    if (!set_time(s, &t_ns))
        p->left_out += list != NULL;
    else if (list)
        put_point(p, list, (struct point){.series = (uint32_t)i, .is_end = true, .t_ns = t_ns});
}

/* ---- the groups of a sample ---- */

static int64_t realtime_of(struct points *p, uint64_t t_ns)
{
    return row_realtime_ns(p->tape, baro_tape_header(p->tape), t_ns);
}

/* When the counters of a row were 0: disks, interfaces and groups count since the boot, or later. */
static int64_t start_of(const struct points *p, const struct baro_row *row)
{
    const struct baro_header *h = baro_tape_header(p->tape);
    int64_t since_ns;
    enum baro_absent absent = baro_row_since_ns(h, row, &since_ns);
    if (absent == BARO_PRESENT)
        return (int64_t)((uint64_t)baro_header_start_realtime_ns(h) +
                         (uint64_t)since_ns); /* of hostile tapes it wraps */
    return absent == BARO_ABSENT_UNSUPPORTED ? p->boot_ns : 0;
}

static void add_row(const struct adding *sample, enum measure_group group, const struct baro_row *row,
                    const char *entity)
{
    struct adding own = *sample, *a = &own;
    uint64_t v, read_ns;
    if (baro_row_read_ns(row, &read_ns) == BARO_PRESENT && read_ns != a->read_ns) {
        a->read_ns = read_ns;
        a->t_ns = realtime_of(a->p, read_ns);
    }
    a->start_ns = start_of(a->p, row);
    if (group == GROUP_HOST)
        a->p->boot_ns = a->start_ns;
    for (int id = 0; id < measure_count(group); id++) {
        if (measure_get(group, id)->is_there && baro_row_value(row, id, &v) == BARO_PRESENT)
            add_value(a, group, id, entity, v);
    }
}

static void add_rows(const struct adding *a, enum measure_group group, const struct baro_sample *s)
{
    const struct measure_of *of = &measure_groups[group];
    size_t all = baro_sample_rows(s, of->kind), n = all < of->most ? all : of->most;
    char entity[NAME_MOST];
    if (group == GROUP_CGROUP && !family_group_is_job(baro_tape_header(a->p->tape)))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *row = baro_sample_row(s, of->kind, i);
        if (of->label)
            name_entity(baro_row_name(row), entity);
        add_row(a, group, row, of->label ? entity : NULL);
    }
    if (of->label && a->list)
        a->p->left_out += (all - n) * (uint64_t)measure_count(group);
}

static void add_sums(struct adding *a, const struct baro_sample *s)
{
    uint64_t v;
    a->start_ns = start_of(a->p, baro_sample_row(s, BARO_KIND_JOB, 0));
    for (int id = 0; id < measure_count(GROUP_SUM); id++) {
        const struct measure *m = measure_get(GROUP_SUM, id);
        size_t lacking = 0;
        if (!m->is_there || baro_sample_sum(s, id, &v, &lacking) != BARO_PRESENT)
            continue;
        add_value(a, GROUP_SUM, id, NULL, v);
        if (lacking)
            add_value(a, GROUP_MISSING, 0, m->metric->name, lacking);
    }
}

/* ---- phases ---- */

static void add_phase(struct adding *a, const struct baro_timeline *t, size_t item)
{
    const struct baro_timeline_item *phase = baro_timeline_get(t, item);
    char path[NAME_MOST], entity[NAME_MOST];
    struct baro_value v;
    baro_timeline_path(t, item, path, sizeof(path));
    name_entity(path, entity);
    size_t before = a->p->n;
    ptrdiff_t at = find_series(a->p, GROUP_PHASE, 0, entity, a->p->n_phases < measure_groups[GROUP_PHASE].most);
    a->p->n_phases += a->p->n > before;
    bool is_second = at >= 0 && a->p->at[at].round == a->p->round;
    if (is_second && phase->is_open)
        a->p->at[at].is_closed = false; /* it goes on in the next sample that has phases */
    if (at < 0 || is_second) {
        a->p->left_out += a->list ? (uint64_t)measure_count(GROUP_PHASE) : 0;
        return;
    }
    a->p->at[at].is_closed = !phase->is_open;
    a->start_ns = realtime_of(a->p, phase->begin_ns);
    for (int id = 0; id < measure_count(GROUP_PHASE); id++) {
        const struct measure *m = measure_get(GROUP_PHASE, id);
        if (m->is_there && baro_timeline_value(t, item, m->fact, &v) == BARO_PRESENT) {
            uint64_t raw = v.u64;
            if (m->is_real)
                memcpy(&raw, &v.real, sizeof(raw));
            add_value(a, GROUP_PHASE, id, entity, raw);
        }
    }
}

/* All phases are sorted to know what each used so far: not for each sample, but if one has begun or ended, and every 5
 * s of the tape's time. Example: of a day with 1 phase and a sample per second, 17,280 of 86,400 samples have points of
 * it. */
static bool is_time_for_phases(const struct points *p, const struct baro_timeline *t, uint64_t t_ns)
{
    return t_ns - p->phases_ns >= PHASES_EVERY_NS || (p->has_changed && baro_timeline_count(t) <= ITEMS_FEW);
}

/* Adds what the open phases have used so far, and those used that ended since this was done last. Of two that have the
 * same name at once, the first has the series. Returns false if this sample has no points of phases. */
static bool add_phases(struct adding *a, uint64_t t_ns)
{
    struct points *p = a->p;
    const struct baro_timeline *t = p->fold ? baro_fold_timeline(p->fold) : NULL;
    uint64_t before_ns = p->phases_ns;
    if (!p->fold) {
        p->left_out += a->list != NULL;
        return true;
    }
    if (!p->has_phases || !t || !is_time_for_phases(p, t, t_ns))
        return false;
    p->phases_ns = t_ns;
    p->has_changed = false;
    if (baro_timeline_count(t) > ITEMS_MOST) {
        p->left_out += a->list != NULL;
        baro_fold_free(p->fold); /* which would have all of them in memory */
        p->fold = NULL;
        return true;
    }
    if (baro_fold_finish(p->fold, BARO_FOLD_TIMELINE, NULL) < 0) {
        p->failed = true;
        return true;
    }
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        if (item->kind == BARO_TIMELINE_PHASE && (item->is_open || item->end_ns > before_ns))
            add_phase(a, t, i);
    }
    return true;
}

/* Does a series that this sample has no value of go on? */
static bool goes_on(const struct series *s, bool has_phases)
{
    return s->group == GROUP_INFO || s->group == GROUP_STATE ||
           (s->group == GROUP_PHASE && !has_phases && !s->is_closed);
}

/* ---- records ---- */

static void add_sample(struct points *p, const struct baro_sample *s, struct point_list *list)
{
    uint64_t t_ns = baro_sample_t_ns(s), before_ns = p->last_ns;
    struct adding now = {.p = p, .list = list, .read_ns = t_ns, .t_ns = realtime_of(p, t_ns)};
    p->round++;
    for (enum measure_group g = 0; g < MEASURE_GROUPS; g++) {
        if (measure_groups[g].kind >= 0 && g != GROUP_SUM)
            add_rows(&now, g, s);
    }
    struct adding sums = now, phases = now, info = now;
    add_sums(&sums, s);
    bool has_phases = add_phases(&phases, t_ns);
    now.start_ns = 0;
    add_value(&now, GROUP_STATE, STATE_RUNNING, NULL, 1);
    add_value(&now, GROUP_STATE, STATE_SAMPLE_TIME, NULL, (uint64_t)now.t_ns);
    if (p->wants_info && (p->round == 1 || t_ns / INFO_EVERY_NS != before_ns / INFO_EVERY_NS))
        add_value(&info, GROUP_INFO, 0, NULL, 1);
    for (size_t i = 0; i < p->n; i++) {
        if (p->at[i].is_live && p->at[i].round != p->round && !goes_on(&p->at[i], has_phases))
            end_series(p, i, now.t_ns, list);
    }
    p->last_ns = t_ns;
}

int points_add(struct points *p, const struct baro_record *record, struct point_list *list)
{
    size_t before = list ? list->n : 0;
    if (p->fold)
        baro_fold_add(p->fold, record);
    if (record->kind == BARO_RECORD_EVENT) {
        enum baro_event_kind kind = baro_event_kind_of(record->u.event);
        bool is_phase = kind == BARO_EVENT_PHASE_BEGIN || kind == BARO_EVENT_PHASE_END;
        p->has_phases = p->has_phases || is_phase;
        p->has_changed = p->has_changed || is_phase;
    }
    if (record->kind == BARO_RECORD_SAMPLE)
        add_sample(p, record->u.sample, list);
    if (list && list->n > before)
        list->at[before].is_first = true;
    return p->failed ? -ENOMEM : 0;
}

int points_end(struct points *p, int status, struct point_list *list)
{
    int64_t t_ns = realtime_of(p, p->last_ns);
    const struct adding now = {.p = p, .list = list, .read_ns = p->last_ns + 1, .t_ns = t_ns};
    p->round++;
    add_value(&now, GROUP_STATE, STATE_RUNNING, NULL, 0);
    if (status >= 0)
        add_value(&now, GROUP_STATE, STATE_EXIT_STATUS, NULL, (uint64_t)status);
    for (size_t i = 0; i < p->n; i++) {
        if (p->at[i].is_live)
            end_series(p, i, t_ns, list);
    }
    return p->failed ? -ENOMEM : 0;
}
