/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline: its items, and the public functions that make and read it. include/baro/timeline.h has the rules. */
#include "libbaro/timeline/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fmt.h"
#include "base/json.h"
#include "libbaro/sample/row.h"

/* ---- limits that were hit ---- */

/*
 * Intervals in which something held the job back: the readings between which counters of its control groups grew.
 * Example: readings at 1, 2, 3 and 9 s with 0, 0.4, 0.9 and 0.9 s throttled make one interval, from 1 to 3 s,
 * "throttled 900 ms".
 */

static const struct {
    const char *name;
    enum cgroup_metric metric;
} of_group[HELD_MAX] = {
    [HELD_CPU] = {"throttled", CGROUP_cpu_throttled},
    [HELD_MEMORY_LIMIT] = {"memory_limit", CGROUP_memory_limit_hits},
    [HELD_MEMORY_HIGH] = {"memory_high", CGROUP_memory_high_hits},
    [HELD_FORKS] = {"fork_limit", CGROUP_pids_limit_hits},
};

static void describe_item(struct baro_timeline *t, struct timeline_item *i, int what)
{
    struct buf text = {0};
    if (what == HELD_CPU) {
        buf_str(&text, "throttled ");
        fmt_duration(&text, i->amount);
        buf_str(&text, " by its CPU quota");
        timeline_set_text(t, i, &text);
        return;
    }
    if (what == HELD_FORKS)
        buf_str(&text, "limit of processes reached");
    else
        buf_str(&text, what == HELD_MEMORY_LIMIT ? "memory limit reached" : "memory.high reached");
    if (i->amount > 1) {
        buf_str(&text, ", ");
        fmt_count(&text, i->amount);
        buf_str(&text, " times");
    }
    timeline_set_text(t, i, &text);
}

/* Adds growth to the last interval, or begins a new one. An interval goes on over one reading without growth. */
static void extend(struct baro_timeline *t, int what, uint64_t from_ns, uint64_t to_ns, uint64_t amount)
{
    struct timeline_item *i = t->held[what].item;
    if (!i || from_ns > i->view.end_ns + (to_ns - from_ns)) {
        i = t->held[what].item = timeline_append(t, BARO_TIMELINE_EVENT, of_group[what].name, from_ns);
        if (!i)
            return;
        i->view.is_problem = true;
    }
    i->view.end_ns = to_ns;
    i->amount += amount;
    describe_item(t, i, what);
}

/* Returns how much a counter grew in the last reading. Groups that are above each other count the same events, so the
 * largest growth is taken. */
static uint64_t largest(const struct fold_groups *groups, enum cgroup_metric metric)
{
    uint64_t most = 0;
    for (size_t i = 0; i < groups->n; i++) {
        const struct fold_group *g = &groups->at[i];
        uint64_t more = g->cell[metric].to_ns == groups->read_ns ? fold_group_rose(g, metric) : 0;
        most = more > most ? more : most;
    }
    return most;
}

static void timeline_add_sample(struct baro_timeline *t)
{
    const struct fold *f = &t->summary->fold;
    uint64_t before_ns = t->held_ns;
    t->held_ns = f->row.host_ns;
    if (t->held_ns <= before_ns)
        return;
    for (int what = 0; what < HELD_MAX; what++) {
        uint64_t amount = largest(&f->groups, of_group[what].metric);
        if (amount)
            extend(t, what, before_ns, t->held_ns, amount);
    }
}

/* ---- items ---- */

static bool make_item_room(struct baro_timeline *t)
{
    if (array_reserve(&t->all, t->n_all + 1, &t->cap_all, sizeof(*t->all)) < 0)
        return false;
    return true;
}

static void free_item(struct timeline_item *i)
{
    free(i->block);
    free(i->usage);
    free(i);
}

struct timeline_item *timeline_append(struct baro_timeline *t, enum baro_timeline_kind kind, const char *name,
                                      uint64_t t_ns)
{
    struct timeline_item *i = make_item_room(t) ? calloc(1, sizeof(*i)) : NULL;
    if (!i) {
        t->failed = true;
        return NULL;
    }
    i->view = (struct baro_timeline_item){
        .kind = kind, .name = name, .text = name, .begin_ns = t_ns, .end_ns = t_ns, .parent = -1, .id = t->n_all};
    i->id = "";
    t->all[t->n_all++] = i;
    return i;
}

/* ---- texts and attributes: copies in one block per item ---- */

static void text_of_attribute(struct buf *b, const struct baro_attribute *a)
{
    buf_printf(b, " %s=", a->name);
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: buf_u64(b, a->u64); break;
    case BARO_ATTRIBUTE_SIGNED: buf_printf(b, "%lld", (long long)a->i64); break;
    case BARO_ATTRIBUTE_TEXT:
    case BARO_ATTRIBUTE_JSON: buf_str(b, a->text); break;
    case BARO_ATTRIBUTE_REAL: json_double(&(struct json){.out = b}, a->real); break;
    case BARO_ATTRIBUTE_BOOLEAN: buf_str(b, a->u64 ? "true" : "false"); break;
    }
}

/* The status with which the command of a phase (`baro phase`) ended; 0 is left out. */
static void text_of_status(struct buf *b, const struct baro_attribute *a)
{
    long long status = a->type == BARO_ATTRIBUTE_SIGNED ? (long long)a->i64 : (long long)a->u64;
    if (status != 0)
        buf_printf(b, " (status %lld)", status);
}

static bool is_status(const struct timeline_item *i, const struct baro_attribute *a)
{
    return i->view.kind == BARO_TIMELINE_PHASE && strcmp(a->name, "status") == 0 &&
           (a->type == BARO_ATTRIBUTE_UNSIGNED || a->type == BARO_ATTRIBUTE_SIGNED);
}

/* Does the attribute have a meaning of its own? The recorder gives none of them as JSON: one with that type is the
 * job's. */
static bool has_meaning(const struct baro_attribute *a)
{
    static const char *const names[] = {ATTRIBUTE_PHASE_ID, ATTRIBUTE_DURATION, ATTRIBUTE_TIME_ERROR};
    for (size_t i = 0; a->type != BARO_ATTRIBUTE_JSON && i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(a->name, names[i]) == 0)
            return true;
    }
    return false;
}

const struct baro_attribute *timeline_meaning(const struct baro_event *e, const char *name)
{
    for (size_t i = 0; i < e->n_attributes; i++) {
        if (has_meaning(&e->attribute[i]) && strcmp(e->attribute[i].name, name) == 0)
            return &e->attribute[i];
    }
    return NULL;
}

static bool gives(const struct baro_event *e, const char *name)
{
    for (size_t i = 0; i < e->n_attributes; i++) {
        if (!has_meaning(&e->attribute[i]) && strcmp(e->attribute[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Merges the attributes of an item with new ones; a new one replaces an old one of the same name. */
static size_t merge(const struct timeline_item *i, const struct baro_event *e, struct baro_attribute *to)
{
    size_t n = 0;
    for (size_t k = 0; k < i->view.attribute_count; k++) {
        if (!gives(e, i->view.attribute[k].name))
            to[n++] = i->view.attribute[k];
    }
    for (size_t k = 0; k < e->n_attributes; k++) {
        if (!has_meaning(&e->attribute[k]))
            to[n++] = e->attribute[k];
    }
    return n;
}

static const char *pack_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *to = memcpy(*at, text, size);
    *at += size;
    return to;
}

static bool has_text(const struct baro_attribute *a)
{
    return a->type == BARO_ATTRIBUTE_TEXT || a->type == BARO_ATTRIBUTE_JSON;
}

static size_t size_of(const struct baro_attribute *at, size_t n)
{
    size_t size = n * sizeof(*at);
    for (size_t i = 0; i < n; i++)
        size += strlen(at[i].name) + 1 + (has_text(&at[i]) ? strlen(at[i].text) + 1 : 0);
    return size;
}

/* Replaces the block of an item. The arguments may point into the old one. */
static bool set_block(struct timeline_item *i, const char *name, const char *text, const char *id,
                      const struct baro_attribute *from, size_t n)
{
    char *block = malloc(size_of(from, n) + strlen(name) + strlen(text) + strlen(id) + 3);
    if (!block)
        return false;
    struct baro_attribute *to = (struct baro_attribute *)(void *)block;
    char *at = (char *)(to + n);
    for (size_t k = 0; k < n; k++) {
        to[k] = from[k];
        to[k].name = pack_text(&at, from[k].name);
        to[k].text = has_text(&from[k]) ? pack_text(&at, from[k].text) : NULL;
    }
    i->view.name = pack_text(&at, name);
    i->view.text = pack_text(&at, text);
    i->id = pack_text(&at, id);
    i->view.attribute = n ? to : NULL;
    i->view.attribute_count = n;
    free(i->block);
    i->block = block;
    return true;
}

void timeline_set_text(struct baro_timeline *t, struct timeline_item *i, struct buf *text)
{
    buf_byte(text, 0);
    if (text->failed ||
        !set_block(i, i->view.name, (char *)text->at, i->id, i->view.attribute, i->view.attribute_count))
        t->failed = true;
    buf_done(text);
}

void timeline_set_process(struct baro_timeline *t, struct timeline_item *i, const char *name)
{
    const struct baro_attribute process = {.name = "process", .type = BARO_ATTRIBUTE_TEXT, .text = name};
    if (!set_block(i, i->view.name, i->view.text, i->id, &process, 1))
        t->failed = true;
}

void timeline_describe(struct baro_timeline *t, struct timeline_item *i, const struct baro_event *more)
{
    struct baro_attribute all[2 * ATTRIBUTES_MAX];
    size_t n = merge(i, more, all);
    const struct baro_attribute *id = timeline_meaning(more, ATTRIBUTE_PHASE_ID);
    struct buf text = {0};
    buf_str(&text, more->text);
    for (size_t k = 0; k < n; k++)
        (is_status(i, &all[k]) ? text_of_status : text_of_attribute)(&text, &all[k]);
    buf_byte(&text, 0);
    if (text.failed ||
        !set_block(i, more->text, (char *)text.at, id && id->type == BARO_ATTRIBUTE_TEXT ? id->text : i->id, all, n))
        t->failed = true;
    buf_done(&text);
}

/* ---- making ---- */

struct baro_timeline *timeline_new(const struct baro_summary *s, const struct baro_header *header)
{
    struct baro_timeline *t = calloc(1, sizeof(*t));
    if (t) {
        t->summary = s;
        t->first_ns = UINT64_MAX;
        t->begins_later = header->segment > 1;
    }
    if (t && windows_init(&t->windows, !baro_header_has_start(header)) >= 0)
        return t;
    timeline_free(t);
    return NULL;
}

void timeline_free(struct baro_timeline *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_all; i++)
        free_item(t->all[i]);
    for (int i = 0; i < CHAINS; i++)
        chains_done(&t->open[i]);
    windows_done(&t->windows);
    reporters_done(&t->reporters);
    free(t->all);
    free(t->sorted);
    free(t->turn);
    free(t);
}

static void measure(struct baro_timeline *t, const struct baro_record *r, const struct fold_row *row)
{
    if (r->kind == BARO_RECORD_SAMPLE)
        windows_add(&t->windows, row);
    else if (r->kind == BARO_RECORD_EXIT)
        windows_add_exit(&t->windows, row_exit(r->u.exit));
}

void timeline_add(struct baro_timeline *t, const struct baro_record *r)
{
    if (r->t_ns > t->last_ns && r->kind != BARO_RECORD_NONE)
        t->last_ns = r->t_ns;
    switch (r->kind) {
    case BARO_RECORD_SAMPLE:
        t->first_ns = t->first_ns < r->t_ns ? t->first_ns : r->t_ns;
        timeline_add_sample(t);
        reporters_add_sample(&t->reporters, r->u.sample);
        break;
    case BARO_RECORD_EXIT: timeline_add_exit(t, row_exit(r->u.exit)); break;
    case BARO_RECORD_EVENT: timeline_add_event(t, r->u.event); break;
    case BARO_RECORD_DAMAGE: timeline_add_damage(t, t->last_ns); break;
    default: break;
    }
    if (!t->is_measured_later)
        measure(t, r, &t->summary->fold.row);
}

int timeline_finish(struct baro_timeline *t)
{
    timeline_name_kills(t);
    int code = timeline_arrange(t);
    return code < 0 || t->failed ? -ENOMEM : 0;
}

int timeline_measure_again(struct baro_timeline *t, const struct baro_header *header)
{
    windows_done(&t->windows);
    t->n_measured = 0;
    for (size_t i = 0; i < t->n_all; i++) {
        const struct baro_timeline_item *v = &t->all[i]->view;
        if (t->all[i]->usage)
            window_init(t->all[i]->usage, v->begin_ns, v->is_open ? WINDOW_OPEN : v->end_ns);
    }
    return windows_init(&t->windows, !baro_header_has_start(header));
}

/* Phases that have begun by then become active, in order. */
void timeline_measure(struct baro_timeline *t, const struct baro_record *r, const struct fold_row *row)
{
    for (; t->n_measured < t->n_sorted && t->sorted[t->n_measured]->view.begin_ns <= r->t_ns; t->n_measured++) {
        struct timeline_item *i = t->sorted[t->n_measured];
        if (i->usage && !windows_activate(&t->windows, i->usage))
            t->failed = true;
    }
    measure(t, r, row);
}

/* ---- reading ---- */

size_t timeline_size(const struct baro_timeline *t)
{
    return t->n_all;
}

size_t baro_timeline_count(const struct baro_timeline *t)
{
    return t->n_sorted;
}

const struct baro_timeline_item *baro_timeline_get(const struct baro_timeline *t, size_t i)
{
    return i < t->n_sorted ? &t->sorted[i]->view : NULL;
}

int baro_timeline_lanes(const struct baro_timeline *t)
{
    return t->lanes;
}

ptrdiff_t baro_timeline_phase_at(const struct baro_timeline *t, uint64_t t_ns)
{
    size_t from = 0, to = t->n_turns; /* the first turn after t_ns is in [from, to] */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (t->turn[middle].t_ns <= t_ns)
            from = middle + 1;
        else
            to = middle;
    }
    return from ? t->turn[from - 1].phase : -1;
}

enum baro_absent baro_timeline_value(const struct baro_timeline *t, size_t item, int fact, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_UNSUPPORTED};
    if (item >= t->n_sorted || t->sorted[item]->view.kind != BARO_TIMELINE_PHASE || !baro_timeline_fact(fact))
        return ret->absent;
    const struct timeline_item *i = t->sorted[item];
    struct fold_window w;
    ret->absent = BARO_ABSENT_UNKNOWN;
    if (!i->usage || i->usage->is_left)
        return ret->absent;
    *ret = (struct baro_value){0};
    windows_read(&t->windows, i->usage, &w);
    phase_value(&w, i->view.end_ns - i->view.begin_ns, fact, ret);
    if (!ret->absent && i->view.begins_before && baro_timeline_fact(fact)->semantics != BARO_FACT_MEAN)
        ret->flags = BARO_VALUE_LOWER_BOUND; /* by more than an estimate is off */
    return (enum baro_absent)ret->absent;
}
