/* SPDX-License-Identifier: Apache-2.0 */
/* The table of runs and facts. */
#include "libbaro/runset/runset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fmt.h"
#include "libbaro/timeline/timeline.h"

const struct compared compared_facts[] = {
#define COMPARED(scope, section, fact, relative, absolute, relative_one, absolute_one, exact)                          \
    {scope, section, #fact, relative, absolute, relative_one, absolute_one, exact, false},
#define KEPT(scope, section, fact, relative, absolute) {scope, section, #fact, 0, 0, relative, absolute, false, true},
#include "libbaro/runset/compared.def"
};
const size_t compared_count = sizeof(compared_facts) / sizeof(*compared_facts);

/* What may differ between two sides besides the values, and be their cause. */
static const struct {
    const char *what, *section, *fact;
} circumstances[] = {
    {"machine", "host", "name"},
    {"CPU model", "host", "cpu_model"},
    {"architecture", "host", "machine"},
    {"kernel", "host", "kernel"},
    {"cores allowed", "limits", "cores_at_most"},
    {"memory allowed", "limits", "memory_at_most_bytes"},
    {"control group", "", "cgroup"},
    {"event source", "accounting", "event_source"},
    {"limit reached", "exit", "ended_by"},
};
_Static_assert(sizeof(circumstances) / sizeof(*circumstances) == CIRCUMSTANCES, "one text for each");

int baro_runset_new(struct baro_runset **ret, struct baro_error *err)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : error_set(err, -ENOMEM, "out of memory");
}

void runset_run_done(struct set_run *run)
{
    free(run->name);
    for (size_t k = 0; k < CIRCUMSTANCES; k++)
        free(run->text[k]);
}

void baro_runset_free(struct baro_runset *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->n_runs; i++)
        runset_run_done(&set->run[i]);
    for (size_t i = 0; i < set->n_rows; i++) {
        free(set->row[i].cell);
        free((char *)set->row[i].is.name);
    }
    map_done(&set->by_name);
    free(set->difference);
    free(set->run);
    free(set->row);
    free(set);
}

/* ---- adding ---- */

static bool is_row(const struct set_row *row, const struct compared *how, const char *name)
{
    return row->how == how && strcmp(row->is.name, name) == 0;
}

static uint64_t key_of(const struct compared *how, const char *name)
{
    uint64_t key = map_hash(name, strlen(name)) ^ (uint64_t)(uintptr_t)how;
    return key ? key : 1;
}

bool runset_index(struct baro_runset *set, size_t row)
{
    return map_add(&set->by_name, key_of(set->row[row].how, set->row[row].is.name), row);
}

struct set_row *runset_find(const struct baro_runset *set, const struct compared *how, const char *name)
{
    uint64_t key = key_of(how, name);
    for (uint64_t *i = map_find(&set->by_name, key); i; i = map_next(&set->by_name, key, i)) {
        if (is_row(&set->row[*i], how, name))
            return &set->row[*i];
    }
    return NULL;
}

/* Returns the row of a fact and a name, a new one if there is none yet; NULL if out of memory. */
static struct set_row *row_of(struct baro_runset *set, const struct compared *how, const struct baro_fact *fact,
                              const char *name)
{
    struct set_row *found = runset_find(set, how, name);
    if (found)
        return found;
    struct set_row *more = array_room(set->row, set->n_rows, &set->room_rows, sizeof(*more));
    char *copy = strdup(name);
    set->row = more ? more : set->row;
    if (more && copy)
        more[set->n_rows] = (struct set_row){.is = {how->scope, copy, fact}, .how = how};
    if (!more || !copy || !runset_index(set, set->n_rows)) {
        free(copy);
        return NULL;
    }
    return &set->row[set->n_rows++];
}

/* Puts a value into the column of a run. Several of one name are added up (phases that repeat), or the largest
 * counts (peaks). */
static bool put(struct set_row *row, size_t run, double value, unsigned flags, enum baro_absent absent)
{
    if (!row)
        return false;
    if (run >= row->n) {
        struct cell *more = realloc(row->cell, (run + 1) * sizeof(*more));
        if (!more)
            return false;
        row->cell = more;
        for (; row->n <= run; row->n++)
            more[row->n] = (struct cell){.absent = BARO_ABSENT_NONE};
    }
    struct cell *c = &row->cell[run];
    if (c->absent == BARO_ABSENT_NONE)
        *c = (struct cell){absent ? 0 : value, flags, absent};
    else if (absent || c->absent)
        c->flags |= BARO_VALUE_LOWER_BOUND;
    else if (row->is.fact->semantics == BARO_FACT_PEAK)
        c->value = value > c->value ? value : c->value;
    else
        c->value += value;
    c->flags |= flags;
    return true;
}

double runset_number(const struct baro_fact *fact, const struct baro_value *v)
{
    return fact->type == BARO_FACT_REAL ? v->real : fact->type == BARO_FACT_SIGNED ? (double)v->i64 : (double)v->u64;
}

static const char *name_of(const struct baro_summary *s, const char *section, size_t i)
{
    struct baro_value name;
    baro_summary_value(s, baro_summary_fact_find(section, "name"), i, &name);
    return name.text ? name.text : "";
}

static bool is_of_phases(const struct compared *how)
{
    return strcmp(how->scope, "phase") == 0;
}

static baro_fact_id fact_id(const struct compared *how)
{
    return is_of_phases(how) ? baro_timeline_fact_find(how->fact) : baro_summary_fact_find(how->section, how->fact);
}

static bool add_summary(struct baro_runset *set, const struct baro_summary *s, size_t run)
{
    for (size_t k = 0; k < compared_count; k++) {
        const struct compared *how = &compared_facts[k];
        if (is_of_phases(how))
            continue;
        baro_fact_id id = fact_id(how);
        const struct baro_fact *fact = baro_summary_fact(id);
        bool is_job = strcmp(how->scope, "job") == 0;
        size_t rows = is_job ? 1 : baro_summary_rows(s, baro_summary_section_find(how->section));
        for (size_t i = 0; i < rows; i++) {
            struct baro_value v;
            baro_summary_value(s, id, i, &v);
            if (!put(row_of(set, how, fact, is_job ? "" : name_of(s, how->section, i)), run, runset_number(fact, &v),
                     v.flags, v.absent))
                return false;
        }
    }
    return true;
}

/* The facts of phases are those of the timeline, and how long the phase took. */
static bool add_phase(struct baro_runset *set, const struct baro_timeline *t, size_t i, const char *path, size_t run)
{
    const struct baro_timeline_item *item = baro_timeline_get(t, i);
    for (size_t k = 0; k < compared_count; k++) {
        const struct compared *how = &compared_facts[k];
        if (!is_of_phases(how))
            continue;
        struct baro_value v;
        baro_fact_id id = fact_id(how);
        const struct baro_fact *fact = baro_timeline_fact(id);
        baro_timeline_value(t, i, id, &v);
        if (item->is_open && fact->semantics == BARO_FACT_SUM)
            v.flags |= BARO_VALUE_LOWER_BOUND;
        if (!put(row_of(set, how, fact, path), run, runset_number(fact, &v), v.flags, v.absent))
            return false;
    }
    return true;
}

static bool add_phases(struct baro_runset *set, const struct baro_timeline *t, size_t run)
{
    struct buf path = {0};
    bool fits = true;
    for (size_t i = 0; fits && t && i < baro_timeline_count(t); i++) {
        if (baro_timeline_get(t, i)->kind != BARO_TIMELINE_PHASE)
            continue;
        buf_clear(&path);
        timeline_put_path(t, i, &path);
        buf_byte(&path, 0);
        fits = !path.failed && add_phase(set, t, i, (const char *)path.at, run);
    }
    buf_done(&path);
    return fits;
}

/* ---- circumstances ---- */

const char *circumstance_name(size_t i)
{
    return circumstances[i].what;
}

static void put_circumstance(struct buf *b, const struct baro_summary *s, size_t which)
{
    baro_fact_id id = baro_summary_fact_find(circumstances[which].section, circumstances[which].fact);
    const struct baro_fact *fact = baro_summary_fact(id);
    struct baro_value v;
    baro_summary_value(s, id, 0, &v);
    if (v.absent)
        buf_str(b, v.absent == BARO_ABSENT_NONE ? "none" : "not known");
    else if (fact->type == BARO_FACT_TEXT)
        buf_str(b, v.text);
    else if (fact->type == BARO_FACT_REAL)
        fmt_decimal(b, v.real, 2);
    else
        fmt_bytes(b, v.u64);
}

static bool add_circumstances(struct set_run *run, const struct baro_summary *s)
{
    struct buf b = {0};
    bool fits = true;
    for (size_t i = 0; fits && i < CIRCUMSTANCES; i++) {
        buf_clear(&b);
        put_circumstance(&b, s, i);
        buf_byte(&b, 0);
        run->text[i] = b.failed ? NULL : strdup((const char *)b.at);
        fits = run->text[i] != NULL;
    }
    buf_done(&b);
    return fits;
}

int baro_runset_add(struct baro_runset *set, const char *name, const struct baro_fold *fold, struct baro_error *err)
{
    const struct baro_summary *s = baro_fold_summary(fold);
    if (array_reserve(&set->run, set->n_runs + 1, &set->room_runs, sizeof(*set->run)) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    struct set_run *run = &set->run[set->n_runs++];
    struct baro_value tape, command; /* when they began; the command's time counts from the tape's */
    baro_summary_value(s, baro_summary_fact_find("", "start"), 0, &tape);
    baro_summary_value(s, baro_summary_fact_find("", "start_ns"), 0, &command);
    *run = (struct set_run){.name = strdup(name), .start_ns = (int64_t)((uint64_t)tape.i64 + command.u64)};
    if (!run->name || !add_circumstances(run, s) || !add_summary(set, s, set->n_runs - 1) ||
        !add_phases(set, baro_fold_timeline(fold), set->n_runs - 1))
        return error_set(err, -ENOMEM, "out of memory");
    return 0;
}

/* ---- reading ---- */

int baro_runset_fact_count(void)
{
    return (int)compared_count;
}

const struct baro_fact *baro_runset_fact(int i)
{
    if (i < 0 || i >= (int)compared_count)
        return NULL;
    const struct compared *how = &compared_facts[i];
    return is_of_phases(how) ? baro_timeline_fact(fact_id(how)) : baro_summary_fact(fact_id(how));
}

const char *baro_runset_fact_scope(int i)
{
    return i < 0 || i >= (int)compared_count ? NULL : compared_facts[i].scope;
}

double baro_runset_fact_floor(int i, double value)
{
    if (i < 0 || i >= (int)compared_count)
        return NAN;
    double relative = compared_facts[i].relative_one * value, absolute = compared_facts[i].absolute_one;
    return relative > absolute ? relative : absolute;
}

size_t baro_runset_runs(const struct baro_runset *set)
{
    return set->n_runs;
}

const char *baro_runset_name(const struct baro_runset *set, size_t run)
{
    return run < set->n_runs ? set->run[run].name : NULL;
}

const char *baro_runset_circumstance(const struct baro_runset *set, size_t run, const char *what)
{
    for (size_t i = 0; run < set->n_runs && i < CIRCUMSTANCES; i++) {
        if (strcmp(circumstances[i].what, what) == 0)
            return set->run[run].text[i];
    }
    return NULL;
}

size_t baro_runset_rows(const struct baro_runset *set)
{
    return set->n_rows;
}

const struct baro_runset_row *baro_runset_row(const struct baro_runset *set, size_t row)
{
    return row < set->n_rows ? &set->row[row].is : NULL;
}

enum baro_absent baro_runset_value(const struct baro_runset *set, size_t row, size_t run, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_NONE};
    if (row >= set->n_rows || run >= set->n_runs)
        ret->absent = BARO_ABSENT_UNSUPPORTED;
    else if (run < set->row[row].n) {
        const struct cell *c = &set->row[row].cell[run];
        *ret = (struct baro_value){.absent = c->absent, .flags = c->flags, .real = c->value};
    }
    return ret->absent;
}
