/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/min_max.h"
#include "base/sorted.h"
#include "libbaro/summary/together.h"

#include <stdlib.h>

#define FAULT_MOST (2u << 20) /* bytes that one page fault maps at most: a huge page */

static uint64_t grown(uint64_t bytes, uint64_t times, uint64_t each)
{
    return times > (UINT64_MAX / 4) / each ? UINT64_MAX / 4 : bytes + times * each;
}

static bool make_list_room(struct together *t, void *at, size_t *cap, size_t n, size_t size)
{
    bool made = array_reserve(at, n, cap, size) == 0;
    t->failed |= !made;
    return made;
}

static struct together_row *find_row(const struct together *t, uint32_t id)
{
    return t->n_rows ? bsearch(&id, t->row, t->n_rows, sizeof(*t->row), compare_u32) : NULL;
}

void together_add_life(struct together *t, const struct together_life *l)
{
    if (make_list_room(t, &t->life, &t->cap_lives, t->n_lives + 1, sizeof(*t->life)))
        t->life[t->n_lives++] = *l;
}

/* Notes a child that began since the last sample: it began with a copy of its parent's memory. The parent is not
 * found if it began since then, too. */
static void note_copy(struct together *t, int32_t ppid, uint64_t mark)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        if (t->row[i].pid == ppid && t->row[i].mark > mark)
            t->copies = grown(t->copies, 1, t->row[i].mark - mark);
    }
}

/* ---- processes that ended ---- */

static bool has_value(const struct baro_exit *e, enum exit_metric m)
{
    return e->absent[m] == BARO_PRESENT;
}

/* Returns an upper bound of the CPU time that a process used after its last reading. */
static uint64_t ran_ns(const struct together *t, const struct baro_exit *e, const struct together_row *row,
                       bool attached)
{
    bool is_whole = has_value(e, EXIT_cpu) && e->source != BARO_EXIT_LAST_SAMPLE && e->source != BARO_EXIT_EVENT;
    uint64_t before = row ? row->cpu_ns : 0;
    if (is_whole && !attached)
        return e->value[EXIT_cpu] > before ? e->value[EXIT_cpu] - before : 0;
    return e->t_ns > t->sampled_ns ? e->t_ns - t->sampled_ns : 0;
}

void together_add_exit(struct together *t, const struct baro_exit *e, bool is_final, bool attached)
{
    struct together_row *row = find_row(t, e->id);
    uint64_t rss = row ? row->rss : 0;
    struct together_life l = {.begin_ns = row ? 0 : t->sampled_ns, .end_ns = e->t_ns};
    if (row && row->is_zombie)
        return; /* the process was counted when it ended */
    if (row)
        row->is_zombie = true; /* until its parent waits for it, samples have it as a zombie */
    if (has_value(e, EXIT_elapsed) && e->value[EXIT_elapsed] <= e->t_ns)
        l.begin_ns = e->t_ns - e->value[EXIT_elapsed];
    if (is_final) {
        uint64_t faults = e->value[EXIT_faults_minor] + e->value[EXIT_faults_major];
        l.known = e->value[EXIT_rss_peak];
        if (row && !attached && has_value(e, EXIT_faults_minor) && faults >= row->faults)
            l.known = min_u64(l.known, grown(rss, faults - row->faults, FAULT_MOST));
        if (!row && e->source != BARO_EXIT_WAIT4)
            note_copy(t, e->parent.pid, l.known);
    } else {
        l.unsure = grown(rss, ran_ns(t, e, row, attached), TOGETHER_GROWTH_MOST);
    }
    together_add_life(t, &l);
}

/* ---- the processes of a sample ---- */

/* Is the process ending? It has given up its memory and is no zombie yet, so its mark is that of an earlier reading.
 * Example: 45 MB at the last sample, 126 MB before it ended; now its rss is 0, and its mark still 45 MB. */
static bool is_emptied(const struct baro_process *p)
{
    return p->absent[PROCESS_rss] == BARO_PRESENT && p->value[PROCESS_rss] == 0;
}

/* Does the process share its memory with another one, whose mark counts? If it executes a program and ends before
 * the next sample, its exit counts, as for a process that held nothing before. */
static bool is_sharing(const struct baro_process *p)
{
    return p->absent[PROCESS_rss] == BARO_ABSENT_SHARED;
}

static struct together_row row_of_process(const struct baro_process *p)
{
    bool threads = p->absent[PROCESS_threads] == BARO_PRESENT && p->value[PROCESS_threads] > 1;
    struct together_row r = {.id = p->id,
                             .pid = p->key.pid,
                             .is_zombie = (p->value[PROCESS_state] == 'Z' && !threads) || is_emptied(p),
                             .rss = is_sharing(p) ? 0 : p->value[PROCESS_rss],
                             .mark = is_sharing(p) ? 0 : p->value[PROCESS_rss_peak],
                             .faults = p->value[PROCESS_faults_minor] + p->value[PROCESS_faults_major],
                             .cpu_ns = p->value[PROCESS_cpu]};
    r.mark = max_u64(r.mark, r.rss);
    return r;
}

/* Returns the most that a process held since the last sample. If its mark fell, it executed another program. */
static uint64_t held_most(const struct together_row *now, const struct together_row *before)
{
    if (!before)
        return now->mark;
    if (now->mark < before->mark || now->faults < before->faults)
        return max_u64(now->mark, before->mark);
    return min_u64(now->mark, grown(max_u64(now->rss, before->rss), now->faults - before->faults, FAULT_MOST));
}

/* Returns the most that a process held before it ended; t_ns is the sample that has it as a zombie. Memory needs
 * page faults, which a zombie's stat still counts to the end; if they are not known, it needs time. That is
 * wall-clock time, because the CPU time in the row may have been read before the end. Example: the CPU time was read
 * at 40 ms; then the process ran for 60 ms, grew by 40 MB and ended, and its parent waited for it before its CPU
 * time could be read again. */
static uint64_t ended_most(const struct together *t, const struct together_row *now, const struct together_row *before,
                           uint64_t t_ns)
{
    static const struct together_row none;
    const struct together_row *had = before ? before : &none;
    if (now->faults && now->faults >= had->faults)
        return grown(had->rss, now->faults - had->faults, FAULT_MOST);
    return grown(had->rss, t_ns > t->sampled_ns ? t_ns - t->sampled_ns : 0, TOGETHER_GROWTH_MOST);
}

/* Returns the most that the process held, if it was alive during the whole interval; otherwise adds it to the list
 * of lives. */
static uint64_t take_mark(struct together *t, const struct baro_process *p, const struct together_row *now,
                          const struct together_row *before, const struct derive_ticks *ticks, uint64_t t_ns)
{
    uint64_t begin_ns = before ? 0 : derive_begin_ns(ticks, p->key.start, p->first_ns);
    struct together_life l = {.begin_ns = begin_ns, .end_ns = UINT64_MAX};
    if (now->is_zombie && before && before->is_zombie)
        return 0;
    if (now->is_zombie) {
        l.end_ns = t_ns;
        l.unsure = ended_most(t, now, before, t_ns);
        together_add_life(t, &l);
        return 0;
    }
    l.known = held_most(now, before);
    t->is_unread |= p->absent[PROCESS_rss_peak] != BARO_PRESENT && !derive_adds_nothing(p, PROCESS_rss_peak);
    if (begin_ns <= t->sampled_ns)
        return l.known;
    if (!is_sharing(p))
        note_copy(t, p->parent.pid, now->mark);
    together_add_life(t, &l);
    return 0;
}

/* ---- the largest sum at one moment ---- */

static int by_time(const void *a, const void *b)
{
    const struct together_edge *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (int)x->is_end - (int)y->is_end;
}

static size_t list_edges(struct together *t)
{
    size_t n = 0;
    if (!make_list_room(t, &t->edge, &t->cap_edges, 2 * t->n_lives, sizeof(*t->edge)))
        return 0;
    for (uint32_t i = 0; i < t->n_lives; i++) {
        t->edge[n++] = (struct together_edge){t->life[i].begin_ns, i, false};
        if (t->life[i].end_ns != UINT64_MAX)
            t->edge[n++] = (struct together_edge){t->life[i].end_ns, i, true};
    }
    if (n > 1)
        qsort(t->edge, n, sizeof(*t->edge), by_time);
    return n;
}

static uint64_t life_at_most(const struct together_life *l, uint64_t mark)
{
    return l->known + min_u64(l->unsure, mark);
}

/* Returns the time at which most was held, if no process held more than `mark`. */
static uint64_t best_time(const struct together *t, size_t n_edges, uint64_t mark)
{
    uint64_t sum = 0, best = 0, best_ns = 0;
    for (size_t i = 0; i < n_edges; i++) {
        const struct together_edge *e = &t->edge[i];
        uint64_t bytes = life_at_most(&t->life[e->life], mark);
        sum = e->is_end ? sum - min_u64(sum, bytes) : sum + bytes;
        if (sum > best) {
            best = sum;
            best_ns = e->t_ns;
        }
    }
    return best_ns;
}

/* Inserts an unsure value among the largest ones; the smallest of these moves to the rest. */
static void add_unsure(struct together_sum *s, uint64_t bytes)
{
    for (size_t i = 0; i < TOGETHER_SINGLE && bytes; i++) {
        uint64_t had = s->single[i];
        if (bytes > had) {
            s->single[i] = bytes;
            bytes = had;
        }
    }
    s->rest += bytes;
    s->n_rest += bytes > 0;
}

static uint64_t sum_most(const struct together_sum *s, uint64_t mark)
{
    uint64_t sum = s->known, alive = s->at_once ? s->at_once : UINT64_MAX;
    for (size_t i = 0; i < TOGETHER_SINGLE && i < alive; i++)
        sum += min_u64(s->single[i], mark);
    uint64_t n = min_u64(s->n_rest, excess(alive, TOGETHER_SINGLE));
    uint64_t each = min_u64(s->single[TOGETHER_SINGLE - 1], mark);
    return sum + min_u64(s->rest, n && each > UINT64_MAX / 4 / n ? UINT64_MAX / 4 : n * each);
}

static void sum_at(const struct together *t, uint64_t always, uint64_t t_ns, struct together_sum *ret)
{
    *ret = (struct together_sum){.known = always};
    for (size_t i = 0; i < t->n_lives; i++) {
        const struct together_life *l = &t->life[i];
        if (l->begin_ns > t_ns || l->end_ns < t_ns)
            continue;
        ret->known += l->known;
        add_unsure(ret, l->unsure);
    }
}

void together_end_interval(struct together *t, uint64_t always, uint64_t mark)
{
    const uint64_t marks[2] = {UINT64_MAX, mark};
    size_t n = t->n_lives ? list_edges(t) : 0;
    for (int i = 0; i < 2; i++) {
        struct together_sum sum;
        sum_at(t, always, best_time(t, n, marks[i]), &sum);
        sum.at_once = t->at_once;
        if (sum_most(&sum, marks[i]) > sum_most(&t->most[i], marks[i]))
            t->most[i] = sum;
    }
    t->n_lives = 0;
    t->copies_most = max_u64(t->copies_most, t->copies);
    t->copies = 0;
}

/* Finds the process in the last sample; at: where to start. Both lists are in the order of ids, unless the tape is
 * damaged. */
static const struct together_row *last_row(const struct together *t, uint32_t id, size_t *at)
{
    while (*at < t->n_rows && t->row[*at].id < id)
        ++*at;
    return *at < t->n_rows && t->row[*at].id == id ? &t->row[*at] : find_row(t, id);
}

static void keep_rows(struct together *t, size_t n)
{
    struct together_row *rows = t->next;
    size_t cap = t->cap_next;
    bool sorted = true;
    for (size_t i = 1; i < n; i++)
        sorted = sorted && rows[i - 1].id < rows[i].id;
    if (!sorted)
        qsort(rows, n, sizeof(*rows), compare_u32);
    t->next = t->row;
    t->cap_next = t->cap_rows;
    t->row = rows;
    t->cap_rows = cap;
    t->n_rows = n;
}

void together_add_sample(struct together *t, const struct baro_sample *s, const struct derive_ticks *ticks,
                         uint64_t mark)
{
    uint64_t always = 0;
    size_t n = 0, at = 0;
    bool has_room = make_list_room(t, &t->next, &t->cap_next, s->n, sizeof(*t->next));
    for (size_t i = 0; i < s->n && has_room; i++) {
        const struct baro_process *p = s->processes[i];
        struct together_row now = row_of_process(p);
        always += take_mark(t, p, &now, last_row(t, p->id, &at), ticks, s->t_ns);
        t->next[n++] = now;
    }
    together_end_interval(t, always, mark);
    keep_rows(t, n);
    t->sampled_ns = s->t_ns;
}

uint64_t together_most(const struct together *t, uint64_t mark, bool *ret_unsure)
{
    uint64_t most[2] = {sum_most(&t->most[0], mark), sum_most(&t->most[1], mark)};
    int best = most[1] > most[0];
    *ret_unsure = t->most[best].single[0] > 0 || t->is_unread || max_u64(t->copies_most, t->copies) > most[best] / 32;
    return most[best];
}

void together_done(struct together *t)
{
    free(t->row);
    free(t->next);
    free(t->life);
    free(t->edge);
    *t = (struct together){0};
}
