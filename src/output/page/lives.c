/* SPDX-License-Identifier: Apache-2.0 */
#include "output/page/lives.h"

#include <stdlib.h>
#include <string.h>

#include "baro/interval.h"
#include "base/array.h"

static int metric(int kind, const char *name)
{
    return baro_metric_find(kind, name);
}

void lives_init(struct lives *l, const struct baro_header *header)
{
    *l = (struct lives){.header = header, .thin_at = LIVES_THIN, .thin_at_bytes = LIVES_THIN_BYTES};
    l->metric.process_cpu = metric(BARO_KIND_PROCESS, "cpu_ns");
    l->metric.process_rss = metric(BARO_KIND_PROCESS, "rss_bytes");
    l->metric.process_rss_peak = metric(BARO_KIND_PROCESS, "rss_peak_bytes");
    l->metric.process_read = metric(BARO_KIND_PROCESS, "io_read_bytes");
    l->metric.process_write = metric(BARO_KIND_PROCESS, "io_write_bytes");
    l->metric.process_children = metric(BARO_KIND_PROCESS, "children_faults_minor");
    l->metric.exit_cpu = metric(BARO_KIND_EXIT, "cpu_ns");
    l->metric.exit_rss_peak = metric(BARO_KIND_EXIT, "rss_peak_bytes");
    l->metric.exit_rss_is_bound = metric(BARO_KIND_EXIT, "rss_peak_is_lower_bound");
    l->metric.exit_read = metric(BARO_KIND_EXIT, "own_io_read_bytes");
    l->metric.exit_write = metric(BARO_KIND_EXIT, "own_io_write_bytes");
    l->metric.exit_io_is_bound = metric(BARO_KIND_EXIT, "own_io_is_lower_bound");
    l->metric.exit_elapsed = metric(BARO_KIND_EXIT, "elapsed_ns");
}

void lives_done(struct lives *l)
{
    free(l->at);
    free(l->order);
    names_done(&l->names);
    map_done(&l->by_id);
    *l = (struct lives){0};
}

uint32_t lives_find(const struct lives *l, uint32_t id)
{
    const uint64_t *i = id ? map_find(&l->by_id, id) : NULL;
    return i ? (uint32_t)*i : LIFE_NONE;
}

static struct life *born(struct lives *l, uint32_t id)
{
    uint32_t i = lives_find(l, id);
    if (i != LIFE_NONE)
        return &l->at[i];
    if (!id) /* no process has it */
        return NULL;
    if (l->n == LIVES_MOST) {
        l->left_out++;
        return NULL;
    }
    struct life *at = array_room(l->at, l->n, &l->room, sizeof(*at));
    l->at = at ? at : l->at;
    if (!at || !map_add(&l->by_id, id, l->n)) {
        l->failed = true;
        return NULL;
    }
    l->at[l->n] = (struct life){
        .parent = LIFE_NONE, .name = NAMES_NONE, .cmdline = NAMES_NONE, .label = NAMES_NONE, .begin_ns = UINT64_MAX};
    return &l->at[l->n++];
}

static void name_it(struct lives *l, struct life *life, const struct baro_row *row)
{
    const char *name = baro_row_name(row), *cmdline;
    if (life->name == NAMES_NONE || strcmp(names_at(&l->names, life->name), name) != 0) {
        life->name = names_add(&l->names, name, strlen(name));
        l->failed = l->failed || life->name == NAMES_NONE;
        life->has &= ~(unsigned)LIFE_CMDLINE;
    }
    if (!(life->has & LIFE_CMDLINE) && baro_row_cmdline(row, &cmdline) == BARO_PRESENT) {
        life->cmdline = names_add(&l->names, cmdline, strnlen(cmdline, LIVES_CMDLINE));
        life->has |= LIFE_CMDLINE;
    }
}

static void set_value(struct life *life, unsigned has, int absent, uint64_t value, uint64_t *ret)
{
    if (absent)
        return;
    life->has |= has;
    *ret = value > *ret ? value : *ret;
}

static uint64_t growth_since(uint64_t base, uint64_t value)
{
    return value > base ? value - base : 0;
}

/* Adds the I/O of a process. The kernel adds the I/O of a child that was waited for to that of its parent, and does
 * not report the two separately. */
static void add_io(struct lives *l, struct life *life, const struct baro_row *p, bool is_base)
{
    uint64_t children = 1, read = 0, write = 0;
    int read_absent = baro_row_value(p, l->metric.process_read, &read);
    int write_absent = baro_row_value(p, l->metric.process_write, &write);
    if (is_base) {
        life->base_read_bytes = read;
        life->base_write_bytes = write;
    }
    if (baro_row_value(p, l->metric.process_children, &children) != BARO_PRESENT || children) {
        life->has &= ~(unsigned)(LIFE_READ | LIFE_WRITE);
        life->read_bytes = life->write_bytes = 0;
        return;
    }
    set_value(life, LIFE_READ, read_absent, growth_since(life->base_read_bytes, read), &life->read_bytes);
    set_value(life, LIFE_WRITE, write_absent, growth_since(life->base_write_bytes, write), &life->write_bytes);
}

static void add_living(struct lives *l, const struct baro_row *p)
{
    struct life *life = born(l, baro_row_id(p));
    uint64_t v = 0;
    int absent;
    if (!life)
        return;
    bool is_base = life->begin_ns == UINT64_MAX && baro_header_mode(l->header) == BARO_MODE_ATTACH &&
                   !baro_row_began_after(l->header, p, 0);
    if (life->begin_ns == UINT64_MAX) {
        life->pid = baro_row_pid(p);
        life->start_ticks = baro_row_start_ticks(p);
        baro_row_begin_ns(l->header, p, &life->begin_ns);
    }
    if (!life->ppid) { /* keeps the first parent: an orphan gets the wrapper as its parent later */
        life->ppid = baro_row_ppid(p);
        life->parent_start_ticks = baro_row_parent_start_ticks(p);
    }
    baro_row_read_ns(p, &life->read_ns);
    name_it(l, life, p);
    absent = baro_row_value(p, l->metric.process_cpu, &v);
    life->base_cpu_ns = is_base && !absent ? v : life->base_cpu_ns;
    set_value(life, LIFE_CPU, absent, growth_since(life->base_cpu_ns, v), &life->cpu_ns);
    absent = baro_row_value(p, l->metric.process_rss, &v);
    set_value(life, LIFE_RSS, absent, v, &life->rss_peak_bytes);
    absent = baro_row_value(p, l->metric.process_rss_peak, &v);
    set_value(life, LIFE_RSS, absent, v, &life->rss_peak_bytes);
    add_io(l, life, p, is_base);
}

static void add_exit(struct lives *l, const struct baro_row *e)
{
    struct life *life = born(l, baro_row_id(e));
    uint64_t v = 0;
    int status, absent;
    if (!life)
        return;
    life->pid = baro_row_pid(e);
    life->start_ticks = baro_row_start_ticks(e);
    baro_row_end_ns(e, &life->end_ns);
    life->has |= LIFE_ENDED;
    if (life->begin_ns == UINT64_MAX)
        baro_row_begin_ns(l->header, e, &life->begin_ns);
    if (baro_row_value(e, l->metric.exit_elapsed, &v) == BARO_PRESENT)
        life->begin_ns = v < life->end_ns ? life->end_ns - v : 0;
    if (!life->ppid) {
        life->ppid = baro_row_ppid(e);
        life->parent_start_ticks = baro_row_parent_start_ticks(e);
    }
    name_it(l, life, e);
    if (baro_row_status(e, &status) == 0) {
        life->status = status;
        life->has |= LIFE_STATUS;
    }
    absent = baro_row_value(e, l->metric.exit_cpu, &v);
    set_value(life, LIFE_CPU, absent, v, &life->cpu_ns);
    absent = baro_row_value(e, l->metric.exit_rss_peak, &v);
    set_value(life, LIFE_RSS, absent, v, &life->rss_peak_bytes);
    if (baro_row_value(e, l->metric.exit_rss_is_bound, &v) == BARO_PRESENT && v)
        life->has |= LIFE_RSS_IS_BOUND;
    if (baro_row_value(e, l->metric.exit_io_is_bound, &v) != BARO_PRESENT || v)
        life->has |= LIFE_IO_IS_BOUND;
    absent = baro_row_value(e, l->metric.exit_read, &v);
    set_value(life, LIFE_READ, absent, v, &life->read_bytes);
    absent = baro_row_value(e, l->metric.exit_write, &v);
    set_value(life, LIFE_WRITE, absent, v, &life->write_bytes);
}

void lives_add(struct lives *l, const struct baro_record *r)
{
    l->end_ns = r->t_ns > l->end_ns ? r->t_ns : l->end_ns;
    if (r->kind == BARO_RECORD_EXIT)
        add_exit(l, r->u.exit);
    if (r->kind != BARO_RECORD_SAMPLE)
        return;
    const struct baro_sample *s = r->u.sample;
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    for (size_t i = baro_sample_next_changed(s, 0); i < n; i = baro_sample_next_changed(s, i + 1))
        add_living(l, baro_sample_row(s, BARO_KIND_PROCESS, i));
}

/* ---- when there are too many ---- */

bool lives_are_many(const struct lives *l)
{
    return l->n >= l->thin_at || l->names.text.len >= l->thin_at_bytes;
}

struct rank {
    uint64_t v;
    uint32_t i;
};

static int higher(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return x->v != y->v ? (x->v < y->v ? 1 : -1) : (x->i > y->i) - (x->i < y->i);
}

static uint64_t life_cpu(const struct life *life)
{
    return life->cpu_ns;
}

static uint64_t rss_of(const struct life *life)
{
    return life->rss_peak_bytes;
}

static uint64_t lived_of(const struct life *life)
{
    return life->end_ns > life->begin_ns ? life->end_ns - life->begin_ns : 0;
}

static void keep_highest(const struct lives *l, struct rank *rank, uint64_t (*of)(const struct life *), uint32_t most,
                         bool *keep)
{
    for (uint32_t i = 0; i < l->n; i++)
        rank[i] = (struct rank){of(&l->at[i]), i};
    qsort(rank, l->n, sizeof *rank, higher);
    for (uint32_t i = 0; i < l->n && i < most; i++)
        keep[rank[i].i] = true;
}

bool life_has_failed(const struct life *life)
{
    return (life->has & LIFE_STATUS) && life->status;
}

/* Also keeps those that have not ended, the first that failed, and the parents of all that are kept. */
static void choose_kept(const struct lives *l, struct rank *rank, bool *keep)
{
    uint32_t failed = 0;
    keep_highest(l, rank, life_cpu, LIVES_BY_CPU, keep);
    keep_highest(l, rank, rss_of, LIVES_BY_OTHER, keep);
    keep_highest(l, rank, lived_of, LIVES_BY_OTHER, keep);
    for (uint32_t i = 0; i < l->n; i++) {
        bool is_shown = life_has_failed(&l->at[i]) && failed++ < LIVES_FAILED;
        keep[i] = keep[i] || is_shown || !(l->at[i].has & LIFE_ENDED);
    }
    for (uint32_t i = 0; i < l->n; i++) {
        for (uint32_t k = keep[i] ? l->at[i].parent : LIFE_NONE; k != LIFE_NONE && !keep[k]; k = l->at[k].parent)
            keep[k] = true;
    }
}

static void move_text(struct lives *l, struct names *to, uint32_t *at)
{
    const char *text = names_at(&l->names, *at);
    if (*at != NAMES_NONE)
        *at = names_add(to, text, strlen(text));
}

/* Changes each value of the map to to[value], and removes those that become LIFE_NONE. Returns false if out of
 * memory. */
static bool keep_places(struct map *m, const uint32_t *to)
{
    struct map kept = {0};
    bool has_room = map_reserve(&kept, m->n);
    for (size_t i = 0; has_room && i < m->size; i++) {
        if (m->at[i].key && to[m->at[i].value] != LIFE_NONE)
            map_add(&kept, m->at[i].key, to[m->at[i].value]);
    }
    map_done(m);
    *m = kept;
    return has_room;
}

static void remove_others(struct lives *l, const bool *keep, uint32_t *to)
{
    struct names names = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        to[i] = keep[i] ? n : LIFE_NONE;
        if (keep[i]) {
            l->at[n] = l->at[i];
            move_text(l, &names, &l->at[n].name);
            move_text(l, &names, &l->at[n++].cmdline);
            continue;
        }
        l->left_out++;
        l->left_out_failed += life_has_failed(&l->at[i]);
        l->left_out_cpu_ns += l->at[i].cpu_ns;
    }
    l->n = n;
    names_done(&l->names);
    l->names = names;
    l->failed = !keep_places(&l->by_id, to) || l->failed;
}

uint32_t *lives_thin(struct lives *l, bool *keep)
{
    struct rank *rank = malloc(((size_t)l->n + 1) * sizeof *rank);
    uint32_t *to = malloc(((size_t)l->n + 1) * sizeof *to);
    if (rank && to && lives_find_parents(l) == 0) {
        choose_kept(l, rank, keep);
        remove_others(l, keep, to);
        l->thin_at = 2 * l->n > LIVES_THIN ? 2 * l->n : LIVES_THIN;
        l->thin_at_bytes = 2 * l->names.text.len > LIVES_THIN_BYTES ? 2 * l->names.text.len : LIVES_THIN_BYTES;
    } else {
        free(to);
        to = NULL;
    }
    free(rank);
    return to;
}
