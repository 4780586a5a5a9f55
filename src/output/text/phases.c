/* SPDX-License-Identifier: Apache-2.0 */
/* The phases as a small table, used if they are not drawn under curves: a row for those of one name. */

#include "base/fmt.h"
#include "base/escape.h"
#include "output/text/cells.h"
#include "output/text/parts.h"
#include "output/text/phase_names.h"

#define ROWS 5u

static void fill_cells(const struct lines *l, const struct named_phases *d, unsigned name_width, struct cells *ret)
{
    struct buf b = {0}, times = {0};
    if (d->n > 1)
        buf_printf(&times, " %s%zu", lines_times(l), d->n);
    lines_name(l, &b, d->n > 1 ? d->path : d->first->text,
               name_width - (unsigned)utf8_columns((const char *)times.at, times.len));
    buf_add(&b, times.at, times.len);
    cells_put(ret, 0, &b);
    fmt_moment(&b, d->first->begin_ns);
    cells_put(ret, 1, &b);
    buf_str(&b, baro_value_prefix(d->is_least ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
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
    bool is_least = false, is_grouped = false, begun = false;
    for (size_t i = 0; i < names->n; i++) {
        flags |= (names->at[i].has_cpu ? names->at[i].cpu_flags : 0) | names->at[i].rss_flags;
        is_least = is_least || names->at[i].is_least;
        is_grouped = is_grouped || names->at[i].n > 1;
    }
    if (flags & BARO_VALUE_ESTIMATE)
        buf_str(&b, "≈ about");
    put_explanation(l, &b, &begun);
    if (is_least || (flags & BARO_VALUE_LOWER_BOUND))
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
        lines_finish(l, &b);
}

void report_phases(struct lines *l, const struct baro_timeline *t)
{
    static const struct cells titles = {{"phase", "begin", "took", "cpu", "peak rss"}};
    static const unsigned char first_to_go[] = {1, 4, 0};
    struct cells rows[ROWS + 2] = {0};
    struct phase_names names = {.n = 0};
    unsigned n = 0, name_width = cells_name_width(l);
    phase_names_collect(&names, t);
    if (!names.n)
        return;
    if (names.n > ROWS + 1 || names.left_out)
        phase_names_keep(&names, ROWS);
    rows[n++] = titles;
    for (size_t i = 0; i < names.n; i++)
        fill_cells(l, &names.at[i], name_width, &rows[n++]);
    cells_print(l, "phases", rows, n, first_to_go);
    put_legend(l, &names);
    phase_names_done(&names);
}
