/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/steps/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/min_max.h"
#include "libbaro/sample/sample.h"
#include "libbaro/summary/facts.h"

int baro_steps_new(struct baro_steps **ret, const struct baro_header *header, struct baro_error *err)
{
    struct baro_steps *s = calloc(1, sizeof(*s));
    *ret = s;
    if (s)
        s->life = calloc(s->room = 64, sizeof(*s->life));
    if (!s || !s->life) {
        baro_steps_free(s);
        *ret = NULL;
        return error_set(err, -ENOMEM, "out of memory");
    }
    s->ticks = derive_ticks_of(header);
    s->is_attached = baro_header_mode(header) == BARO_MODE_ATTACH || header_begins_within(header);
    s->life[s->n++] = (struct life){.name = NAMES_NONE, .cmdline = NAMES_NONE, .parent = STEPS_NONE};
    return 0;
}

void baro_steps_free(struct baro_steps *s)
{
    if (!s)
        return;
    free(s->life);
    map_done(&s->by_id);
    names_done(&s->names);
    free(s->order);
    free(s->by_begin);
    free(s->by_end);
    free(s->row);
    free(s->link);
    free(s->by_pid);
    free(s);
}

void baro_steps_add(struct baro_steps *s, const struct baro_record *record)
{
    steps_lives_add(s, record);
}

int baro_steps_of_tape(struct baro_tape *tape, struct baro_steps **ret, struct baro_error *err)
{
    struct baro_record record;
    int code = baro_steps_new(ret, baro_tape_header(tape), err);
    if (code < 0)
        return code;
    code = baro_tape_rewind(tape, err);
    while (code >= 0 && (code = baro_tape_next(tape, &record, err)) > 0)
        baro_steps_add(*ret, &record);
    if (code >= 0)
        code = baro_steps_finish(*ret, err);
    if (code < 0) {
        baro_steps_free(*ret);
        *ret = NULL;
    }
    return code;
}

/* ---- the rows ---- */

static void fill_row(const struct baro_steps *s, struct step_row *r)
{
    const struct life *top = &s->life[r->top], *lead = &s->life[r->lead];
    r->is.name = names_at(&s->names, lead->name);
    r->is.cmdline = lead->cmdline == NAMES_NONE ? NULL : names_at(&s->names, lead->cmdline);
    r->is.pid = lead->is.pid;
    r->is.start_ticks = lead->is.start;
    r->is.begin_ns = top->from_ns;
    r->is.end_ns = top->to_ns;
    r->is.has_ended = true;
    r->is.has_status = top->has_status;
    r->is.status = top->status;
}

static void find_ends(struct baro_steps *s)
{
    for (uint32_t i = 1; i < s->n; i++) {
        struct baro_step *is = &s->row[s->life[i].step].is;
        is->end_ns = s->life[i].to_ns > is->end_ns ? s->life[i].to_ns : is->end_ns;
        is->has_ended = is->has_ended && s->life[i].has_ended;
    }
}

static int by_share(const void *a, const void *b)
{
    const struct step_row *x = a, *y = b;
    if (x->share_ns != y->share_ns)
        return x->share_ns < y->share_ns ? 1 : -1;
    if (x->is.begin_ns != y->is.begin_ns)
        return x->is.begin_ns < y->is.begin_ns ? -1 : 1;
    return (x->top > y->top) - (x->top < y->top);
}

/* Which of its name a step is. */
struct turn {
    uint64_t begin_ns;
    uint32_t name, row;
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void number_rows(struct baro_steps *s, struct turn *turn)
{
    for (uint32_t k = 0; k < s->n_rows; k++)
        turn[k] = (struct turn){s->row[k].is.begin_ns, s->life[s->row[k].lead].name, k};
    qsort(turn, s->n_rows, sizeof(*turn), compare_turns);
    for (uint32_t k = 0, n; k < s->n_rows; k += n) {
        for (n = 1; k + n < s->n_rows && turn[k + n].name == turn[k].name; n++)
            ;
        for (uint32_t i = 0; i < n; i++) {
            s->row[turn[k + i].row].is.occurrence = i + 1;
            s->row[turn[k + i].row].is.occurrences = n;
        }
    }
}

static int compare_pids(const void *a, const void *b)
{
    const struct pid_of_life *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static void index_lives(struct baro_steps *s)
{
    for (uint32_t i = 1; i < s->n; i++)
        s->by_pid[i - 1] = (struct pid_of_life){s->life[i].is.start, s->life[i].is.pid, s->life[i].step};
    qsort(s->by_pid, s->n - 1, sizeof(*s->by_pid), compare_pids);
}

/* Sorts the rows; lives and links have the new positions then. to: room for a position of each row. */
static void sort_rows(struct baro_steps *s, uint32_t *to)
{
    qsort(s->row, s->n_rows, sizeof(*s->row), by_share);
    for (uint32_t k = 0; k < s->n_rows; k++)
        to[s->life[s->row[k].top].step] = k;
    for (uint32_t i = 0; i < s->n; i++)
        s->life[i].step = to[s->life[i].step];
    for (size_t k = 0; k < s->n_links; k++)
        s->link[k].step = s->link[k].step < 0 ? -1 : (ptrdiff_t)to[s->link[k].step];
    for (uint32_t k = 0; k < s->n_rows; k++)
        s->row[k].is.driver = s->row[k].is.driver < 0 ? -1 : (ptrdiff_t)to[s->row[k].is.driver];
}

int baro_steps_finish(struct baro_steps *s, struct baro_error *err)
{
    bool ok =
        !s->failed && steps_make_tree(s) == 0 && steps_choose(s) == 0 && steps_share(s) == 0 && steps_chain(s) == 0;
    uint32_t *to = ok ? malloc(s->n * sizeof(*to)) : NULL;
    struct turn *turn = ok ? malloc(s->n * sizeof(*turn)) : NULL;
    struct pid_of_life *by_pid = ok ? realloc(s->by_pid, s->n * sizeof(*by_pid)) : NULL;
    s->by_pid = by_pid ? by_pid : s->by_pid;
    ok = to && turn && by_pid;
    if (ok) {
        for (uint32_t k = 0; k < s->n_rows; k++)
            fill_row(s, &s->row[k]);
        find_ends(s);
        sort_rows(s, to);
        number_rows(s, turn);
        index_lives(s);
    }
    free(to);
    free(turn);
    return ok ? 0 : error_set(err, -ENOMEM, "out of memory");
}

uint64_t baro_steps_begin_ns(const struct baro_steps *s)
{
    return s->from_ns;
}

uint64_t baro_steps_end_ns(const struct baro_steps *s)
{
    return s->to_ns;
}

uint64_t baro_steps_left_out(const struct baro_steps *s)
{
    return s->left_out;
}

size_t baro_steps_count(const struct baro_steps *s)
{
    return s->n_rows;
}

const struct baro_step *baro_steps_get(const struct baro_steps *s, size_t step)
{
    return step < s->n_rows ? &s->row[step].is : NULL;
}

ptrdiff_t baro_steps_find(const struct baro_steps *s, int32_t pid, uint64_t start_ticks)
{
    const struct pid_of_life key = {.pid = pid, .start = start_ticks}, *found = NULL;
    if (s->n_rows && s->n > 1)
        found = bsearch(&key, s->by_pid, s->n - 1, sizeof(key), compare_pids);
    return found ? (ptrdiff_t)found->step : -1;
}

size_t baro_steps_processes(const struct baro_steps *s)
{
    return s->n - 1;
}

ptrdiff_t baro_steps_process_of_id(const struct baro_steps *s, uint32_t id)
{
    const uint64_t *i = id ? map_find(&s->by_id, id) : NULL;
    return i ? (ptrdiff_t)*i - 1 : -1;
}

static struct baro_value value_of(bool is_known, uint64_t v, bool is_bound)
{
    struct baro_value value = {.absent = is_known ? BARO_PRESENT : BARO_ABSENT_UNKNOWN, .u64 = is_known ? v : 0};
    value_flag(&value, BARO_VALUE_LOWER_BOUND, is_bound);
    return value;
}

const struct baro_steps_process *baro_steps_process(struct baro_steps *s, size_t process)
{
    if (process >= s->n - 1)
        return NULL;
    const struct life *l = &s->life[process + 1];
    uint64_t end_ns = l->has_ended ? l->end_ns : s->last_ns;
    s->process =
        (struct baro_steps_process){.name = names_at(&s->names, l->name),
                                    .cmdline = l->cmdline == NAMES_NONE ? NULL : names_at(&s->names, l->cmdline),
                                    .pid = l->is.pid,
                                    .start_ticks = l->is.start,
                                    .parent = (ptrdiff_t)l->parent - 1, /* life 0 is no process */
                                    .begin_ns = min_u64(l->begin_ns, end_ns),
                                    .end_ns = end_ns,
                                    .has_ended = l->has_ended,
                                    .has_status = l->has_status,
                                    .status = l->status,
                                    .cpu_ns = value_of(l->has_cpu, l->cpu_ns, l->cpu_is_bound),
                                    .rss_peak_bytes = value_of(l->has_rss, l->rss_bytes, l->rss_is_bound),
                                    .io_read_bytes = value_of(l->read.is_known, l->read.bytes, l->io_is_bound),
                                    .io_write_bytes = value_of(l->write.is_known, l->write.bytes, l->io_is_bound)};
    return &s->process;
}

size_t baro_steps_links(const struct baro_steps *s)
{
    return s->n_links;
}

const struct baro_step_link *baro_steps_link(const struct baro_steps *s, size_t link)
{
    return link < s->n_links ? &s->link[link] : NULL;
}

/* ---- facts ---- */

enum { FACT_WALL, FACT_RESPONSIBLE, FACT_ALONE, FACT_CPU, FACT_DELAY, FACT_RSS, FACT_PROCESSES, FACTS };

#define OF_STEP(name, unit, semantics, trend, help) FACT_ROW(-1, name, UNSIGNED, unit, semantics, trend, true, help)
static const struct baro_fact facts[FACTS] = {
    [FACT_WALL] = OF_STEP("wall_ns", NS, SUM, WORSE, "from its begin to its end; of one that runs so far"),
    [FACT_RESPONSIBLE] = OF_STEP("responsible_ns", NS, SUM, WORSE,
                                 "its share of the wall time of the job: each moment is divided among the processes "
                                 "that lived and had no living descendant; of all steps it adds up to the wall time"),
    [FACT_ALONE] = OF_STEP("alone_ns", NS, SUM, WORSE, "the part of it that it shared with no other step"),
    [FACT_CPU] = OF_STEP("cpu_ns", NS, SUM, WORSE, "CPU time of its processes"),
    [FACT_DELAY] = OF_STEP("run_delay_ns", NS, SUM, WORSE,
                           "time in which its threads could run and waited for a core; always a lower bound"),
    [FACT_RSS] = OF_STEP("rss_peak_bytes", BYTES, PEAK, WORSE, "the largest high-water mark of one of its processes"),
    [FACT_PROCESSES] = OF_STEP("processes", NONE, SUM, NONE, "its processes"),
};

int baro_steps_fact_count(void)
{
    return FACTS;
}

const struct baro_fact *baro_steps_fact(baro_fact_id fact)
{
    return fact >= 0 && fact < FACTS ? &facts[fact] : NULL;
}

baro_fact_id baro_steps_fact_find(const char *name)
{
    for (int i = 0; i < FACTS; i++) {
        if (strcmp(facts[i].name, name) == 0)
            return i;
    }
    return -1;
}

enum baro_absent baro_steps_value(const struct baro_steps *s, size_t step, baro_fact_id fact, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_UNSUPPORTED};
    if (step >= s->n_rows || fact < 0 || fact >= FACTS)
        return ret->absent;
    const struct step_row *r = &s->row[step];
    uint64_t wall = r->is.end_ns - r->is.begin_ns;
    int unknown = BARO_ABSENT_UNKNOWN;
    bool is_nothing = !r->n;
    switch (fact) {
    case FACT_WALL: value_u64(ret, BARO_PRESENT, wall); break;
    case FACT_RESPONSIBLE: value_u64(ret, BARO_PRESENT, (uint64_t)(r->share_ns + 0.5)); break;
    case FACT_ALONE: value_u64(ret, BARO_PRESENT, (uint64_t)(r->alone_ns + 0.5)); break;
    case FACT_CPU: value_u64(ret, r->cpu_is_bound && !r->cpu_ns ? unknown : 0, r->cpu_ns); break;
    case FACT_DELAY: value_u64(ret, r->n_wait || is_nothing ? 0 : unknown, r->wait_ns); break;
    case FACT_RSS: value_u64(ret, r->has_rss ? 0 : is_nothing ? BARO_ABSENT_NONE : unknown, r->rss_bytes); break;
    default: value_u64(ret, BARO_PRESENT, r->n); break;
    }
    /* Times that are off by more than 2 % of it. */
    value_flag(ret, BARO_VALUE_ESTIMATE, fact <= FACT_ALONE && r->error_ns > wall / 50);
    value_flag(ret, BARO_VALUE_LOWER_BOUND,
               (fact == FACT_CPU && r->cpu_is_bound) || (fact == FACT_DELAY && r->n) ||
                   (fact == FACT_RSS && r->rss_is_bound) || (fact == FACT_WALL && !r->is.has_ended));
    return ret->absent;
}
