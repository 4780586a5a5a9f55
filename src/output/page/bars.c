/* SPDX-License-Identifier: Apache-2.0 */
#include "output/page/bars.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct build {
    const struct lives *l;
    uint32_t *row_of; /* for each life, its row: its own, or that of the merged processes that it belongs to; LIFE_NONE:
                         none yet */
    struct bar_row *row; /* rows of single processes first, then of merged ones */
    uint32_t n, singles;
    size_t room;
    struct map merged; /* rows by parent row and name */
};

/* ---- which processes have a row of their own ---- */

struct score {
    double v;
    uint32_t i;
};

static int higher(const void *a, const void *b)
{
    const struct score *x = a, *y = b;
    return x->v != y->v ? (x->v < y->v ? 1 : -1) : (x->i > y->i) - (x->i < y->i);
}

static void single(struct build *b, uint32_t i)
{
    const struct life *life = &b->l->at[i];
    b->row_of[i] = b->n;
    b->row[b->n++] = (struct bar_row){.life = i,
                                      .parent = LIFE_NONE,
                                      .name = life->name,
                                      .n = 1,
                                      .begin_ns = life->begin_ns,
                                      .end_ns = life->end_ns,
                                      .cpu_ns = life->cpu_ns};
}

/* Gives a row to a process and to its ancestors without one, if there is room for all of them. */
static void single_with_parents(struct build *b, uint32_t i)
{
    uint32_t need = 0;
    for (uint32_t k = i; k != LIFE_NONE && b->row_of[k] == LIFE_NONE; k = b->l->at[k].parent)
        need++;
    if (b->n + need > BARS_SINGLE)
        return;
    for (uint32_t k = i; k != LIFE_NONE && b->row_of[k] == LIFE_NONE; k = b->l->at[k].parent)
        single(b, k);
}

static int choose_singles(struct build *b)
{
    const struct lives *l = b->l;
    uint64_t cpu = 1 + l->left_out_cpu_ns, rss = 1, span = l->end_ns + 1; /* cpu is the total */
    if (l->n <= BARS_MOST) {
        for (uint32_t k = 0; k < l->n; k++)
            single(b, l->order[k]);
        b->singles = b->n;
        return 0;
    }
    struct score *score = malloc(l->n * sizeof *score);
    if (!score)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->n; i++) {
        cpu += l->at[i].cpu_ns;
        rss = l->at[i].rss_peak_bytes > rss ? l->at[i].rss_peak_bytes : rss;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        const struct life *life = &l->at[i];
        double lived = (double)(life->end_ns - life->begin_ns) / (double)span,
               c = 4 * (double)life->cpu_ns / (double)cpu, m = (double)life->rss_peak_bytes / (double)rss;
        /* Memory counts only for processes that lived for a while: all compilers of a build hold much for a moment. */
        score[i] = (struct score){lived + c + m * (lived > 0.02 ? 1 : 0), i};
    }
    qsort(score, l->n, sizeof *score, higher);
    for (uint32_t k = 0; k < l->n && k < 4 * BARS_SINGLE && b->n < BARS_SINGLE; k++) {
        if (score[k].v < 0.05 && b->n)
            break;
        if (b->row_of[score[k].i] == LIFE_NONE)
            single_with_parents(b, score[k].i);
    }
    free(score);
    b->singles = b->n;
    return 0;
}

/* ---- the others ---- */

static uint32_t shown_parent(const struct build *b, uint32_t i)
{
    uint32_t parent = b->l->at[i].parent;
    while (parent != LIFE_NONE && (b->row_of[parent] == LIFE_NONE || b->row_of[parent] >= b->singles))
        parent = b->l->at[parent].parent;
    return parent == LIFE_NONE ? LIFE_NONE : b->row_of[parent];
}

/* Returns the row of the merged processes of a name below a row; adds it if it is new. LIFE_NONE: out of memory. */
static uint32_t merged_row(struct build *b, uint32_t parent, uint32_t name)
{
    uint64_t key = UINT64_C(1) << 63 | (uint64_t)parent << 32 | name; /* rows have positions below 2^31 */
    uint64_t *known = map_find(&b->merged, key);
    if (known)
        return (uint32_t)*known;
    if (array_reserve(&b->row, b->n + 1, &b->room, sizeof(*b->row)) < 0)
        return LIFE_NONE;
    if (!map_add(&b->merged, key, b->n))
        return LIFE_NONE;
    b->row[b->n] = (struct bar_row){.life = LIFE_NONE, .parent = parent, .name = name, .begin_ns = UINT64_MAX};
    return b->n++;
}

static bool merge(struct build *b, uint32_t i)
{
    const struct life *life = &b->l->at[i];
    uint32_t r = merged_row(b, shown_parent(b, i), life->name);
    if (r == LIFE_NONE)
        return false;
    struct bar_row *row = &b->row[r];
    row->n++;
    row->begin_ns = life->begin_ns < row->begin_ns ? life->begin_ns : row->begin_ns;
    row->end_ns = life->end_ns > row->end_ns ? life->end_ns : row->end_ns;
    row->cpu_ns += life->cpu_ns;
    b->row_of[i] = r;
    return true;
}

/* Keeps as many merged rows as fit; the smallest become one row at the end. */
static int limit_merged(struct build *b)
{
    uint32_t merged = b->n - b->singles, most = BARS_MOST - b->singles;
    if (merged <= most)
        return 0;
    struct score *score = malloc(merged * sizeof *score);
    uint32_t *to = malloc(b->n * sizeof *to);
    if (!score || !to) {
        free(score);
        free(to);
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < merged; k++) {
        const struct bar_row *row = &b->row[b->singles + k];
        score[k] = (struct score){(double)row->cpu_ns / 1e6 + row->n, b->singles + k};
    }
    qsort(score, merged, sizeof *score, higher);
    struct bar_row rest = {.life = LIFE_NONE, .parent = LIFE_NONE, .name = NAMES_NONE, .begin_ns = UINT64_MAX};
    struct bar_row kept[BARS_MOST];
    uint32_t last = b->singles + most - 1;
    for (uint32_t r = 0; r < b->singles; r++)
        to[r] = r;
    for (uint32_t k = 0; k < merged; k++) {
        const struct bar_row *row = &b->row[score[k].i];
        to[score[k].i] = k < most - 1 ? b->singles + k : last;
        if (k < most - 1) {
            kept[k] = *row;
            continue;
        }
        rest.n += row->n;
        rest.cpu_ns += row->cpu_ns;
        rest.begin_ns = row->begin_ns < rest.begin_ns ? row->begin_ns : rest.begin_ns;
        rest.end_ns = row->end_ns > rest.end_ns ? row->end_ns : rest.end_ns;
    }
    memcpy(&b->row[b->singles], kept, (most - 1) * sizeof *kept);
    b->row[last] = rest;
    b->n = last + 1;
    for (uint32_t i = 0; i < b->l->n; i++)
        b->row_of[i] = to[b->row_of[i]];
    free(score);
    free(to);
    return 0;
}

/* Counts how many processes of a row lived at once: +1 where one begins, -1 after its end, summed up along the buckets.
 * A process that begins and ends in one bucket counts as the share of the bucket that it lived for; all such processes
 * together count as at least one. */
static int strips(struct build *b, uint64_t end_ns)
{
    uint32_t merged = b->n - b->singles;
    int32_t *change = calloc((size_t)merged * (BARS_BUCKETS + 1) + 1, sizeof *change);
    double *part = calloc((size_t)merged * BARS_BUCKETS + 1, sizeof *part);
    bool ok = change && part;
    for (uint32_t i = 0; ok && i < b->l->n; i++) {
        const struct life *life = &b->l->at[i];
        if (b->row_of[i] < b->singles)
            continue;
        size_t r = b->row_of[i] - b->singles;
        double scale = (double)BARS_BUCKETS / (double)(end_ns ? end_ns : 1);
        size_t from = (size_t)((double)life->begin_ns * scale), to = (size_t)((double)life->end_ns * scale);
        from = from < BARS_BUCKETS ? from : BARS_BUCKETS - 1;
        to = to < BARS_BUCKETS ? to : BARS_BUCKETS - 1;
        if (from == to) {
            part[r * BARS_BUCKETS + from] += (double)(life->end_ns - life->begin_ns) * scale;
            continue;
        }
        change[r * (BARS_BUCKETS + 1) + from]++;
        change[r * (BARS_BUCKETS + 1) + to + 1]--;
    }
    for (uint32_t r = 0; ok && r < merged; r++) {
        struct bar_row *row = &b->row[b->singles + r];
        int32_t alive = 0;
        row->alive = calloc(BARS_BUCKETS, sizeof *row->alive);
        ok = row->alive != NULL;
        for (uint32_t k = 0; ok && k < BARS_BUCKETS; k++) {
            alive += change[r * (BARS_BUCKETS + 1) + k];
            double p = part[r * BARS_BUCKETS + k];
            uint32_t n = (uint32_t)alive + (p > 0 ? 1 + (uint32_t)p : 0);
            row->alive[k] = (uint16_t)(n < UINT16_MAX ? n : UINT16_MAX);
            row->most = n > row->most ? n : row->most;
        }
    }
    free(change);
    free(part);
    return ok ? 0 : -ENOMEM;
}

/* ---- the order ---- */

/* A row follows its parent, and siblings are ordered by their begin. There are few rows: each pass reads all of
 * them. */
static void put_children(struct build *b, struct bars *out, uint32_t parent, uint32_t depth, bool *done)
{
    for (;;) {
        uint32_t next = LIFE_NONE;
        for (uint32_t r = 0; r < b->n; r++) {
            if (!done[r] && b->row[r].parent == parent && b->row[r].name != NAMES_NONE &&
                (next == LIFE_NONE || b->row[r].begin_ns < b->row[next].begin_ns))
                next = r;
        }
        if (next == LIFE_NONE)
            return;
        done[next] = true;
        struct bar_row row = b->row[next];
        row.depth = depth;
        out->row[out->n++] = row;
        if (next < b->singles)
            put_children(b, out, next, depth + 1, done);
    }
}

/* A merged row with a single process becomes the row of that process. */
static void unmerge(struct build *b)
{
    for (uint32_t i = 0; i < b->l->n; i++) {
        struct bar_row *row = &b->row[b->row_of[i]];
        if (row->n == 1 && row->life == LIFE_NONE) {
            row->life = i;
            row->name = b->l->at[i].name;
        }
    }
}

static int order(struct build *b, struct bars *out)
{
    bool done[BARS_MOST] = {false};
    out->row = calloc(BARS_MOST + 1, sizeof *out->row);
    if (!out->row)
        return -ENOMEM;
    for (uint32_t r = 0; r < b->singles; r++)
        b->row[r].parent = shown_parent(b, b->row[r].life);
    unmerge(b);
    put_children(b, out, LIFE_NONE, 0, done);
    for (uint32_t r = 0; r < b->n; r++) {
        if (!done[r]) /* the last row, with several names */
            out->row[out->n++] = b->row[r];
    }
    return 0;
}

int bars_make(struct bars *out, const struct lives *l)
{
    struct build b = {.l = l, .room = 2 * BARS_MOST};
    int code = -ENOMEM;
    *out = (struct bars){.end_ns = l->end_ns};
    b.row_of = malloc(((size_t)l->n + 1) * sizeof *b.row_of);
    b.row = malloc(b.room * sizeof *b.row);
    if (b.row_of && b.row) {
        memset(b.row_of, 0xff, ((size_t)l->n + 1) * sizeof *b.row_of);
        code = choose_singles(&b);
        for (uint32_t k = 0; code == 0 && k < l->n; k++) {
            if (b.row_of[l->order[k]] == LIFE_NONE && !merge(&b, l->order[k]))
                code = -ENOMEM;
        }
        code = code ? code : limit_merged(&b);
        code = code ? code : strips(&b, l->end_ns);
        code = code ? code : order(&b, out);
    }
    for (uint32_t r = b.singles; code && b.row && r < b.n; r++)
        free(b.row[r].alive);
    free(b.row_of);
    free(b.row);
    map_done(&b.merged);
    return code;
}

void bars_done(struct bars *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        free(b->row[i].alive);
    free(b->row);
}
