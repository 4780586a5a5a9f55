/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/dialect_each.h"
#include "output/rows/row.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "output/rows/csv_json.h"
#include "output/rows/dialect_form.h"

struct process_place {
    uint32_t id;
    const struct baro_row *process;
};

struct dialect_each {
    const struct dialect_table *table;
    const struct baro_header *header;
    struct baro_tape *tape;          /* NULL: times are by the header */
    int of_process[DIALECT_COLUMNS]; /* ids of the columns' metrics; -1: none */
    int state, task, exit_task, process_user, process_system, exit_user, exit_system;
    struct row_names names;
    struct baro_sample *before;   /* NULL: there was none */
    struct process_place *places; /* by id: the place of each process in `before` */
    size_t n_places;
    struct baro_row **ended; /* exits since that sample */
    size_t n_ended, cap_ended;
    bool has_tasks; /* if so, processes without a task have no rows */
};

/* The subject of a row: a living process, or the exit of one. */
struct subject {
    int32_t pid;
    uint64_t start_ticks;
    const struct baro_row *process, *before; /* before: the same in the previous sample, or NULL */
    const struct baro_row *end;
};

static int metric_by_stem(enum baro_kind kind, const char *stem)
{
    return stem ? baro_metric_find(kind, stem) : -1;
}

void dialect_each_tape(struct dialect_each *d, struct baro_tape *tape)
{
    d->tape = tape;
}

struct dialect_each *dialect_each_new(const struct dialect_table *table, const struct baro_header *header)
{
    struct dialect_each *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->table = table;
    d->header = header;
    for (size_t i = 0; i < table->n; i++) {
        const struct dialect_column *c = &table->columns[i];
        d->of_process[i] = c->from == FROM_CORES ? baro_derived_find(BARO_KIND_PROCESS, c->metric)
                                                 : metric_by_stem(BARO_KIND_PROCESS, c->metric);
    }
    d->state = metric_by_stem(BARO_KIND_PROCESS, "state");
    d->task = metric_by_stem(BARO_KIND_PROCESS, "task");
    d->exit_task = metric_by_stem(BARO_KIND_EXIT, "task");
    d->process_user = metric_by_stem(BARO_KIND_PROCESS, "cpu_user");
    d->process_system = metric_by_stem(BARO_KIND_PROCESS, "cpu_system");
    d->exit_user = metric_by_stem(BARO_KIND_EXIT, "cpu_user");
    d->exit_system = metric_by_stem(BARO_KIND_EXIT, "cpu_system");
    return d;
}

static void forget_ended(struct dialect_each *d)
{
    for (size_t i = 0; i < d->n_ended; i++)
        baro_row_free(d->ended[i]);
    d->n_ended = 0;
}

void dialect_each_free(struct dialect_each *d)
{
    if (!d)
        return;
    forget_ended(d);
    free(d->ended);
    free(d->places);
    baro_sample_free(d->before);
    free(d);
}

/* ---- the sample before ---- */

static bool pair(int user_absent, int system_absent)
{
    return user_absent == BARO_PRESENT && system_absent == BARO_PRESENT;
}

static const struct baro_row *process_before(const struct dialect_each *d, uint32_t id)
{
    const struct process_place key = {.id = id};
    const struct process_place *found =
        d->n_places ? bsearch(&key, d->places, d->n_places, sizeof(key), compare_u32) : NULL;
    return found ? found->process : NULL;
}

static bool process_cpu(const struct dialect_each *d, const struct baro_row *p, uint64_t *ret_user,
                        uint64_t *ret_system)
{
    return pair(baro_row_value(p, d->process_user, ret_user), baro_row_value(p, d->process_system, ret_system));
}

static bool keep_processes(struct dialect_each *d, const struct baro_sample *s)
{
    struct baro_sample *copy;
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    struct process_place *places = realloc(d->places, (n ? n : 1) * sizeof(*places));
    d->places = places ? places : d->places;
    if (!places || baro_sample_copy(s, &copy, NULL) < 0) {
        d->n_places = 0; /* they may have been moved */
        return false;
    }
    baro_sample_free(d->before);
    d->before = copy;
    d->n_places = n;
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *p = baro_sample_row(copy, BARO_KIND_PROCESS, i);
        places[i] = (struct process_place){baro_row_id(p), p};
    }
    if (n)
        qsort(places, n, sizeof(*places), compare_u32);
    return true;
}

static bool keep_exit(struct dialect_each *d, const struct baro_row *e)
{
    if (array_reserve(&d->ended, d->n_ended + 1, &d->cap_ended, sizeof(*d->ended)) < 0)
        return false;
    if (baro_row_copy(e, &d->ended[d->n_ended], NULL) < 0)
        return false;
    d->n_ended++;
    return true;
}

/* ---- a row ---- */

/* Writes the number with which the original says that it does not have a value. */
static void put_unknown(struct buf *b)
{
    buf_str(b, "-1");
}

static void put_task(const struct dialect_each *d, const struct baro_sample *s, const struct subject *of, struct buf *b)
{
    uint64_t id;
    int absent = of->end ? baro_row_value(of->end, d->exit_task, &id) : baro_row_value(of->process, d->task, &id);
    const char *name = absent == BARO_PRESENT ? row_task_name(&d->names, s, id) : NULL;
    if (!name)
        name = of->end ? baro_row_name(of->end) : baro_row_name(of->process);
    csv_text(b, name, strlen(name), false);
}

/* Writes the cores of a process. Its first row has 0, as in the original, unless it is known what the process used
 * since the previous sample. */
static void put_process_cores(const struct dialect_each *d, const struct baro_sample *s, const struct subject *of,
                              int derived, struct buf *b)
{
    const struct baro_interval between = {d->header, d->before, s};
    struct baro_use use = {0};
    int absent = of->end ? baro_interval_derived(&between, of->before, of->end, derived, &use)
                         : baro_interval_derived(&between, of->before, of->process, derived, &use);
    form_float(b, absent == BARO_PRESENT ? use.rate * 100 : 0, 1);
}

/* Finds user and system time at the end of a process. Exits have another split (raw ticks) than samples, and the
 * original's report takes the largest user time and the largest system time of a process. So neither part may fall,
 * and their sum is that of the exit. Example: samples have 1.36 s and 0.02 s, the exit has 1.34 s and 0.05 s: the
 * result is 1.36 s and 0.03 s. */
static bool cpu_at_end(const struct dialect_each *d, const struct subject *of, uint64_t *ret_user, uint64_t *ret_system)
{
    uint64_t user, system, user_before, system_before;
    bool known = pair(baro_row_value(of->end, d->exit_user, &user), baro_row_value(of->end, d->exit_system, &system));
    bool read = of->before && process_cpu(d, of->before, &user_before, &system_before);
    if (read && (!known || user + system < user_before + system_before)) {
        user = user_before;
        system = system_before;
    } else if (read) {
        uint64_t sum = user + system, most = sum - system_before;
        user = user < user_before ? user_before : user > most ? most : user;
        system = sum - user;
    }
    if (known || read) {
        *ret_user = user;
        *ret_system = system;
    }
    return known || read;
}

/* Writes a column of seconds, which is CPU time. */
static bool put_seconds(const struct dialect_each *d, const struct subject *of, size_t column, struct buf *b)
{
    uint64_t user, system;
    bool is_user = d->of_process[column] == d->process_user;
    bool known = of->end ? cpu_at_end(d, of, &user, &system) : process_cpu(d, of->process, &user, &system);
    if (known)
        form_float(b, (double)(is_user ? user : system) / 1e9, 3);
    return known;
}

/* Writes memory; 0 for a process that has ended, which holds none. */
static void put_memory(const struct dialect_each *d, const struct subject *of, size_t column, struct buf *b)
{
    uint64_t v = 0;
    if (!of->end && baro_row_value(of->process, d->of_process[column], &v) != BARO_PRESENT)
        put_unknown(b);
    else
        buf_u64(b, v / 1024);
}

/* Returns false if there is no value: then the process has no row. */
static bool put_column(const struct dialect_each *d, const struct baro_sample *s, uint64_t t_ns,
                       const struct subject *of, size_t i, struct buf *b)
{
    switch (d->table->columns[i].form) {
    case FORM_EPOCH: form_epoch(b, row_realtime_ns(d->tape, d->header, t_ns)); return true;
    case FORM_TEXT: put_task(d, s, of, b); return true;
    case FORM_COUNT: buf_u64(b, (uint64_t)of->pid); return true;
    case FORM_OF_CORE: put_process_cores(d, s, of, d->of_process[i], b); return true;
    case FORM_SECONDS: return put_seconds(d, of, i, b);
    case FORM_KIB: put_memory(d, of, i, b); return true;
    default: return false;
    }
}

static bool put_process_row(const struct dialect_each *d, const struct baro_sample *s, uint64_t t_ns,
                            const struct subject *of, struct buf *ret)
{
    size_t from = ret->len;
    for (size_t i = 0; i < d->table->n; i++) {
        if (i)
            buf_byte(ret, ',');
        if (!put_column(d, s, t_ns, of, i, ret)) {
            ret->len = from;
            return false;
        }
    }
    buf_str(ret, d->table->end);
    return true;
}

/* ---- the rows of a sample ---- */

static int compare_pids(const void *a, const void *b)
{
    const struct subject *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->start_ticks < y->start_ticks ? -1 : x->start_ticks > y->start_ticks;
}

/* Has the process ended without its parent having waited for it? Then nothing more can be read for it. */
static bool is_zombie(const struct dialect_each *d, const struct baro_row *p)
{
    uint64_t state;
    return baro_row_value(p, d->state, &state) == BARO_PRESENT && (state == 'Z' || state == 'X');
}

/* Is the process left out? If tasks were named, other recorded processes (--pid with --task) have no rows. */
static bool is_left_out(const struct dialect_each *d, const struct subject *of)
{
    uint64_t id;
    return d->has_tasks && (of->end ? baro_row_value(of->end, d->exit_task, &id)
                                    : baro_row_value(of->process, d->task, &id)) != BARO_PRESENT;
}

/* Writes the rows of a sample. s: NULL if no sample follows the exits. */
static bool rows(struct dialect_each *d, const struct baro_sample *s, uint64_t t_ns, struct buf *ret)
{
    size_t living = s ? baro_sample_rows(s, BARO_KIND_PROCESS) : 0, n = 0;
    struct subject *all = calloc(living + d->n_ended + 1, sizeof(*all));
    bool any = false;
    if (!all) {
        ret->failed = true;
        return false;
    }
    for (size_t i = 0; i < living; i++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (!is_zombie(d, p))
            all[n++] = (struct subject){baro_row_pid(p), baro_row_start_ticks(p), .process = p,
                                        .before = process_before(d, baro_row_id(p))};
    }
    for (size_t i = 0; i < d->n_ended; i++) {
        const struct baro_row *e = d->ended[i];
        all[n++] = (struct subject){baro_row_pid(e), baro_row_start_ticks(e), .end = e,
                                    .before = process_before(d, baro_row_id(e))};
    }
    qsort(all, n, sizeof(*all), compare_pids);
    d->has_tasks |= s && baro_sample_rows(s, baro_kind_find("task")) > 0;
    for (size_t i = 0; i < n; i++)
        any |= !is_left_out(d, &all[i]) && put_process_row(d, s, t_ns, &all[i], ret);
    free(all);
    forget_ended(d);
    return any;
}

bool dialect_each_record(struct dialect_each *d, const struct baro_record *record, struct buf *ret)
{
    if (record->kind == BARO_RECORD_EXIT && !keep_exit(d, record->u.exit))
        ret->failed = true;
    if (record->kind != BARO_RECORD_SAMPLE)
        return false;
    const struct baro_sample *s = record->u.sample;
    row_names_note(&d->names, s);
    bool any = rows(d, s, baro_sample_t_ns(s), ret);
    if (!keep_processes(d, s))
        ret->failed = true;
    return any;
}

bool dialect_each_end(struct dialect_each *d, struct buf *ret)
{
    uint64_t t_ns = d->before ? baro_sample_t_ns(d->before) : 0;
    for (size_t i = 0; i < d->n_ended; i++) {
        uint64_t end_ns = 0;
        baro_row_end_ns(d->ended[i], &end_ns);
        t_ns = end_ns > t_ns ? end_ns : t_ns;
    }
    return d->n_ended && rows(d, NULL, t_ns, ret);
}
