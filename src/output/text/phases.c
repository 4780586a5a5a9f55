/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases as a small table, used if they are not drawn under curves. Phases of one name are one row. Example:
 * "epoch" from 1 to 3 s and from 4 to 5 s with 2 and 1 s of CPU time is a row that begins at 1 s, took 3 s and used 3
 * s. If phases of one name overlap, the CPU time of the job in that time would be counted twice: it is not shown.
 */
#include <string.h>

#include "base/fmt.h"
#include "base/escape.h"
#include "output/text/cells.h"
#include "output/text/parts.h"

#define ROWS 5u
#define NAMES_MOST 64u /* phases of further names are counted */

struct named_phases {
    const struct baro_timeline_item *first;
    size_t n;
    uint64_t took_ns, end_ns, cpu_ns, rss_bytes;
    unsigned cpu_flags, rss_flags;
    bool is_open, has_cpu, has_rss;
};

struct phase_names {
    struct named_phases at[NAMES_MOST];
    size_t n, left_out; /* n: phases in the table; left_out: phases in no row */
};

static struct named_phases *named_of(struct phase_names *names, const struct baro_timeline_item *v)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->at[i].first->name, v->name) == 0)
            return &names->at[i];
    }
    if (names->n == NAMES_MOST)
        return NULL;
    names->at[names->n] = (struct named_phases){.first = v, .has_cpu = true};
    return &names->at[names->n++];
}

static void add_phase(struct named_phases *d, const struct baro_timeline *t, size_t i)
{
    const struct baro_timeline_item *v = baro_timeline_get(t, i);
    struct baro_value cpu, rss;
    bool has_cpu = baro_timeline_value(t, i, baro_timeline_fact_find("cpu_ns"), &cpu) == BARO_PRESENT,
         has_rss = baro_timeline_value(t, i, baro_timeline_fact_find("rss_peak_bytes"), &rss) == BARO_PRESENT;
    uint64_t from = v->begin_ns > d->end_ns ? v->begin_ns : d->end_ns;
    d->has_cpu = d->has_cpu && has_cpu && v->begin_ns >= d->end_ns;
    d->cpu_ns += cpu.u64;
    d->cpu_flags |= cpu.flags;
    if (has_rss && (!d->has_rss || rss.u64 > d->rss_bytes)) {
        d->rss_bytes = rss.u64;
        d->rss_flags = rss.flags;
    }
    d->has_rss = d->has_rss || has_rss;
    d->is_open = d->is_open || v->is_open;
    d->took_ns += v->end_ns > from ? v->end_ns - from : 0;
    d->end_ns = v->end_ns > d->end_ns ? v->end_ns : d->end_ns;
    d->n++;
}

static void collect(struct phase_names *names, const struct baro_timeline *t)
{
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *v = baro_timeline_get(t, i);
        struct named_phases *d = v->kind == BARO_TIMELINE_PHASE ? named_of(names, v) : NULL;
        if (d)
            add_phase(d, t, i);
        else
            names->left_out += v->kind == BARO_TIMELINE_PHASE;
    }
}

/* Keeps the ROWS longest ones, in their order, unless there is only one too many. */
static void keep_longest(struct phase_names *names)
{
    while (names->n > ROWS + 1 || (names->left_out && names->n > ROWS)) {
        size_t least = 0;
        for (size_t i = 1; i < names->n; i++)
            least = names->at[i].took_ns < names->at[least].took_ns ? i : least;
        names->left_out += names->at[least].n;
        names->n--;
        memmove(&names->at[least], &names->at[least + 1], (names->n - least) * sizeof(names->at[0]));
    }
}

static void fill_cells(const struct lines *l, const struct named_phases *d, unsigned name_width, struct cells *ret)
{
    struct buf b = {0}, times = {0};
    if (d->n > 1)
        buf_printf(&times, " %s%zu", lines_times(l), d->n);
    lines_name(l, &b, d->n > 1 ? d->first->name : d->first->text,
               name_width - (unsigned)utf8_columns((const char *)times.at, times.len));
    buf_add(&b, times.at, times.len);
    cells_put(ret, 0, &b);
    fmt_moment(&b, d->first->begin_ns);
    cells_put(ret, 1, &b);
    buf_str(&b, baro_value_prefix(d->is_open ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
    fmt_duration(&b, d->took_ns);
    cells_put(ret, 2, &b);
    buf_str(&b, d->has_cpu ? baro_value_prefix(d->cpu_flags, BARO_PREFIX_SYMBOL) : "-");
    if (d->has_cpu)
        fmt_duration(&b, d->cpu_ns);
    cells_put(ret, 3, &b);
    buf_str(&b, d->has_rss ? baro_value_prefix(d->rss_flags, BARO_PREFIX_SYMBOL) : "-");
    if (d->has_rss)
        fmt_bytes(&b, d->rss_bytes);
    cells_put(ret, 4, &b);
    buf_done(&times);
    buf_done(&b);
}

static void put_explanation(struct lines *l, struct buf *part, bool *begun)
{
    if (part->len && !*begun)
        lines_begin(l, "", TONE_FAINT);
    *begun = *begun || part->len;
    lines_part(l, part);
}

/* Explains the signs, and says where the remaining phases are. */
static void put_legend(struct lines *l, const struct phase_names *names)
{
    struct buf b = {0};
    unsigned flags = 0;
    bool is_open = false, is_grouped = false, begun = false;
    for (size_t i = 0; i < names->n; i++) {
        flags |= (names->at[i].has_cpu ? names->at[i].cpu_flags : 0) | names->at[i].rss_flags;
        is_open = is_open || names->at[i].is_open;
        is_grouped = is_grouped || names->at[i].n > 1;
    }
    if (flags & BARO_VALUE_ESTIMATE)
        buf_str(&b, "≈ about");
    put_explanation(l, &b, &begun);
    if (is_open || (flags & BARO_VALUE_LOWER_BOUND))
        buf_str(&b, "≥ at least, or not ended");
    put_explanation(l, &b, &begun);
    if (names->left_out) {
        fmt_count(&b, names->left_out);
        buf_str(&b, " more: baro summary --by phase");
    } else if (is_grouped) {
        buf_str(&b, "each: baro summary --by phase");
    }
    put_explanation(l, &b, &begun);
    if (begun)
        lines_end(l);
    buf_done(&b);
}

void report_phases(struct lines *l, const struct baro_timeline *t)
{
    static const struct cells titles = {{"phase", "begin", "took", "cpu", "peak rss"}};
    static const unsigned char first_to_go[] = {1, 4, 0};
    struct cells rows[ROWS + 2] = {0};
    struct phase_names names = {.n = 0};
    unsigned n = 0, name_width = cells_name_width(l);
    collect(&names, t);
    if (!names.n)
        return;
    keep_longest(&names);
    rows[n++] = titles;
    for (size_t i = 0; i < names.n; i++)
        fill_cells(l, &names.at[i], name_width, &rows[n++]);
    cells_print(l, "phases", rows, n, first_to_go);
    put_legend(l, &names);
}
