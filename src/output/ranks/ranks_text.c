/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/block_chars.h"
#include "base/escape.h"
#include "base/fmt.h"
#include "output/ranks/nodes.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "output/text/lines.h"

#define DRAWN_MOST 16u /* rows of the picture: with more ranks each is the mean of several */
#define PHASES_MOST 6u /* rows of phases in the table: those that cost most */
#define LABEL_COLUMNS 16u

static const struct {
    const char *label, *fact;
} shown[] = {
    {"wall", "wall_ns"},
    {"cpu", "cpu_ns"},
    {"memory", "rss_peak_bytes"},
    {"read()", "io_rchar_bytes"},
    {"write()", "io_wchar_bytes"},
    {"disk read", "io_read_bytes"},
    {"disk write", "io_write_bytes"},
    {"processes", "processes_started"},
};

void ranks_put_number(const struct baro_fact *fact, double v, struct buf *b)
{
    if (fact->unit == BARO_UNIT_NS)
        fmt_duration(b, (uint64_t)v);
    else if (fact->unit == BARO_UNIT_BYTES)
        fmt_bytes(b, (uint64_t)v);
    else
        fmt_count(b, (uint64_t)v);
}

/* The sign before a value. */
static void put_mark(unsigned flags, struct buf *b)
{
    buf_str(b, flags & BARO_VALUE_ESTIMATE      ? "≈"
               : flags & BARO_VALUE_UPPER_BOUND ? "≤"
               : flags & BARO_VALUE_LOWER_BOUND ? "≥"
                                                : "");
}

void ranks_put_all(const struct baro_fact *fact, const struct baro_spread *s, struct buf *b)
{
    if (s->all.absent)
        return;
    put_mark(s->all.flags, b);
    ranks_put_number(fact, s->all.real, b);
}

static size_t job_row(const struct ranks *r, const char *fact)
{
    size_t i = 0;
    for (; i < baro_runset_rows(r->set); i++) {
        const struct baro_runset_row *is = baro_runset_row(r->set, i);
        if (!*is->name && strcmp(is->scope, "job") == 0 && strcmp(is->fact->name, fact) == 0)
            break;
    }
    return i;
}

/* Nothing for a fact of which no rank has a value, or all have 0. */
static void visit_row(const struct ranks *r, size_t row, const char *label, ranks_visit *visit, void *context)
{
    struct baro_spread s = {.size = sizeof(s)};
    if (ranks_spread(r, row, &s) == 0 && s.n && s.most > 0)
        visit(context, label, baro_runset_row(r->set, row)->fact, &s);
}

/* The phases in which ranks differ most. */
static void visit_phases(const struct ranks *r, ranks_visit *visit, void *context)
{
    struct {
        size_t row;
        double cost;
    } best[PHASES_MOST] = {{0, 0}};
    struct baro_spread s = {.size = sizeof(s)};
    for (size_t i = 0; i < baro_runset_rows(r->set); i++) {
        const struct baro_runset_row *is = baro_runset_row(r->set, i);
        if (strcmp(is->scope, "phase") != 0 || strcmp(is->fact->name, "wall_ns") != 0 || ranks_spread(r, i, &s) < 0)
            continue;
        double cost = (s.most - s.mean) * (double)s.n;
        for (size_t k = 0; k < PHASES_MOST; k++) {
            if (cost <= best[k].cost)
                continue;
            memmove(&best[k + 1], &best[k], (PHASES_MOST - k - 1) * sizeof(*best));
            best[k].row = i;
            best[k].cost = cost;
            break;
        }
    }
    for (size_t k = 0; k < PHASES_MOST && best[k].cost > 0; k++) {
        struct buf label = {0};
        buf_printf(&label, "phase %s", baro_runset_row(r->set, best[k].row)->name);
        buf_byte(&label, 0);
        visit_row(r, best[k].row, label.failed ? "phase" : (const char *)label.at, visit, context);
        buf_done(&label);
    }
}

void ranks_each_row(const struct ranks *r, ranks_visit *visit, void *context)
{
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        visit_row(r, job_row(r, shown[i].fact), shown[i].label, visit, context);
    visit_phases(r, visit, context);
}

/* ---- the table ---- */

struct text_table {
    const struct ranks *r;
    struct table t;
};

static void put_of_rank(const struct ranks *r, const struct baro_fact *fact, double v, size_t rank, struct buf *b)
{
    ranks_put_number(fact, v, b);
    buf_printf(b, " (%u)", r->at[rank].number);
}

static void put_row(void *context, const char *label, const struct baro_fact *fact, const struct baro_spread *s)
{
    struct text_table *to = context;
    struct buf b = {0};
    text_escaped(&b, label, strlen(label));
    table_take(&to->t, &b);
    ranks_put_all(fact, s, &b);
    table_take(&to->t, &b);
    put_of_rank(to->r, fact, s->least, s->least_run, &b);
    table_take(&to->t, &b);
    ranks_put_number(fact, s->median, &b);
    table_take(&to->t, &b);
    put_of_rank(to->r, fact, s->most, s->most_run, &b);
    table_take(&to->t, &b);
    buf_printf(&b, "+%.0f %%", s->mean > 0 ? 100 * (s->most / s->mean - 1) : 0);
    table_take(&to->t, &b);
    buf_done(&b);
}

static void put_table(const struct ranks *r, struct report_style style, struct buf *ret)
{
    static const char *const titles[] = {"", "all ranks", "least (rank)", "median", "most (rank)", "over mean"};
    struct text_table to = {.r = r,
                            .t = {.columns = 6,
                                  .right = {false, true, true, true, true, true},
                                  .ascii = !style.utf8,
                                  .drop = {3, 2},
                                  .n_drop = 2}};
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        table_text(&to.t, titles[i]);
    ranks_each_row(r, put_row, &to);
    table_print(&to.t, style.whole_names ? 0 : style.width, ret);
    table_done(&to.t);
}

/* ---- the head ---- */

static void put_result(const struct ranks *r, struct buf *b)
{
    size_t failed = 0, first = 0, unknown = 0;
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < r->n; i++) {
        const struct rank *at = &r->at[i];
        int64_t end_ns = rank_end_ns(at);
        unknown += at->status < 0;
        failed += at->status > 0;
        if (at->status > 0 && end_ns < first_ns) { /* the launcher ends the others after it */
            first_ns = end_ns;
            first = i;
        }
    }
    if (failed) {
        buf_printf(b, "%zu rank%s failed: %srank %u ", failed, failed == 1 ? "" : "s", failed == 1 ? "" : "first ",
                   r->at[first].number);
        report_status(r->at[first].status, b);
    } else if (unknown) {
        buf_printf(b, "%zu without an end", unknown);
    } else {
        buf_str(b, "exit 0");
    }
}

/* The node whose ranks held most memory at one moment. */
static void put_fullest(const struct ranks *r, struct buf *b)
{
    const struct rank_node *fullest = r->node;
    for (size_t i = 1; i < r->n_nodes; i++)
        fullest = r->node[i].memory_most > fullest->memory_most ? &r->node[i] : fullest;
    buf_printf(b, ", ≈%s of it on ", BYTES((uint64_t)fullest->memory_most));
    text_escaped(b, fullest->name, strlen(fullest->name));
}

static void put_end(const struct ranks *r, struct buf *b)
{
    put_result(r, b);
    buf_printf(b, " after %s", DURATION(ranks_wall_ns(r)));
}

static void put_at_once(const struct ranks *r, struct buf *b)
{
    if (!isnan(r->cores_most))
        buf_printf(b, "%s cores", CORES(r->cores_most));
    if (!(r->memory_most > 0))
        return;
    buf_printf(b, "%s≈%s", b->len ? " and " : "", BYTES((uint64_t)r->memory_most));
    if (r->n_nodes > 1)
        put_fullest(r, b);
}

static void put_slowest(const struct ranks *r, struct buf *b)
{
    const struct rank_slowest *s = &r->slowest;
    if (!s->by)
        return;
    const struct rank *at = &r->at[s->rank];
    buf_printf(b, "rank %u on ", at->number);
    text_escaped(b, rank_node(r, s->rank), strlen(rank_node(r, s->rank)));
    if (s->by == SLOWEST_PHASE) {
        buf_str(b, ": phase ");
        text_escaped(b, s->phase ? s->phase : "", s->phase ? strlen(s->phase) : 0);
        buf_printf(b, " took it %s, all ranks %s on average", DURATION((uint64_t)s->took), DURATION((uint64_t)s->mean));
    } else {
        buf_printf(b, " %s %s, all ranks %s on average", s->by == SLOWEST_CPU ? "computed" : "waited for a core for",
                   DURATION((uint64_t)s->took), DURATION((uint64_t)s->mean));
    }
    if (s->by == SLOWEST_PHASE && s->of > 1)
        buf_printf(b, " (the slowest in %zu of %zu phases)", s->phases, s->of);
    buf_printf(b, "; if all wait for it, that is %s of their time together", DURATION((uint64_t)s->cost));
}

static void put_missing(const struct ranks *r, struct buf *b)
{
    struct buf names = {0};
    uint64_t n = ranks_missing(r, &names);
    if (n) {
        buf_printf(b, "%llu of %u ranks: ", (unsigned long long)n, r->count);
        buf_add(b, names.at, names.len);
        buf_str(b, "; all sums lack them");
    }
    buf_done(&names);
}

void ranks_each_sentence(const struct ranks *r, ranks_say *say, void *context)
{
    static const struct {
        const char *label;
        void (*put)(const struct ranks *r, struct buf *b);
    } sentences[] = {{"end", put_end},
                     {"at once", put_at_once},
                     {"missing", put_missing},
                     {"slowest", put_slowest},
                     {"memory", rank_nodes_near_limit},
                     {"others", rank_nodes_others},
                     {"clocks", rank_nodes_clocks}};
    for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++) {
        struct buf b = {0};
        sentences[i].put(r, &b);
        if (b.len)
            say(context, sentences[i].label, &b);
        buf_done(&b);
    }
}

/* ---- ranks over time ---- */

/* Draws the mean of the ranks from..until in as many cells as there is room. */
static void put_curve(const struct ranks *r, size_t from, size_t until, double full, unsigned cells, bool utf8,
                      struct buf *ret)
{
    for (unsigned c = 0; c < cells; c++) {
        double sum = 0;
        size_t n = 0, first = c * RANK_CELLS / cells, last = (c + 1) * RANK_CELLS / cells;
        for (size_t i = from; i < until; i++) {
            for (size_t k = first; k < (last > first ? last : first + 1); k++) {
                if (r->at[i].cores[k] < 0)
                    continue;
                sum += (double)r->at[i].cores[k];
                n++;
            }
        }
        if (n)
            buf_point(ret, blocks_point(blocks_height(sum / (double)n, full, 1), utf8));
        else
            buf_byte(ret, ' ');
    }
}

/* Draws a row: the ranks at from..until. */
static void put_drawn(const struct ranks *r, struct lines *l, size_t from, size_t until, double full)
{
    struct buf label = {0};
    unsigned room = l->style.width - LABEL_COLUMNS - 1;
    buf_printf(&label, "%u", r->at[from].number);
    if (until - from > 1)
        buf_printf(&label, "-%u", r->at[until - 1].number);
    buf_byte(&label, ' ');
    text_escaped(&label, rank_node(r, from), strlen(rank_node(r, from)));
    size_t start = l->out->len;
    lines_cut(l, l->out, (const char *)label.at, label.len, l->style.whole_names ? UINT_MAX : LABEL_COLUMNS - 1);
    unsigned columns = (unsigned)utf8_columns((const char *)l->out->at + start, l->out->len - start);
    buf_spaces(l->out, columns < LABEL_COLUMNS ? LABEL_COLUMNS - columns : 1);
    put_curve(r, from, until, full, room < RANK_CELLS ? room : RANK_CELLS, l->style.utf8, l->out);
    buf_byte(l->out, '\n');
    buf_done(&label);
}

void ranks_picture(const struct ranks *r, struct report_style style, struct buf *ret)
{
    struct lines lines = {.out = ret, .style = style}, *l = &lines;
    size_t rows = r->n < DRAWN_MOST ? r->n : DRAWN_MOST;
    double full = 0;
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; k < RANK_CELLS; k++)
            full = fmax(full, (double)r->at[i].cores[k]);
    }
    if (!(full > 0) || l->style.width < 40 || r->n < 2)
        return;
    buf_printf(l->out, "cores over %s, a full block is %s\n", DURATION(ranks_wall_ns(r)), CORES(full));
    for (size_t row = 0; row < rows; row++)
        put_drawn(r, l, row * r->n / rows, (row + 1) * r->n / rows, full);
    if (rows < r->n && r->slowest.by)
        put_drawn(r, l, r->slowest.rank, r->slowest.rank + 1, full);
}

static void put_sentence(void *context, const char *label, struct buf *text)
{
    struct lines *l = context;
    buf_printf(l->out, " %-9s ", label);
    wrap_words(l->out, (const char *)text->at, text->len, 11, 11, l->style.width);
    buf_byte(l->out, '\n');
}

void ranks_text(const struct ranks *r, struct report_style style, struct buf *ret)
{
    struct lines l = {.out = ret, .style = lines_fit(style)};
    size_t from = ret->len;
    lines_tone(&l, TONE_STRONG);
    lines_name(&l, ret, r->title, l.style.width / 2);
    lines_tone(&l, TONE_PLAIN);
    buf_printf(ret, ", %zu rank%s on %zu node%s\n", r->n, r->n == 1 ? "" : "s", r->n_nodes, r->n_nodes == 1 ? "" : "s");
    ranks_each_sentence(r, put_sentence, &l);
    put_table(r, l.style, ret);
    ranks_picture(r, l.style, ret);
    if (!style.utf8)
        text_ascii(ret, from);
}
