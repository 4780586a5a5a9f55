/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses which commands or tasks have a curve of their own, and its colour. */
#include <string.h>

#include "output/chart/figure_parts.h"

#define NAMES_DEFAULT 8u

static void add_name(struct heaviest *h, const char *name, size_t most)
{
    for (size_t i = 0; i < h->n; i++) {
        if (!name || strcmp(h->name[i], name) == 0)
            return;
    }
    if (name && h->n < most)
        h->name[h->n++] = name;
}

static void by_fact(const struct baro_summary *s, struct heaviest *h, const char *fact, size_t most)
{
    size_t n = fact_rows(s, h->section);
    double last = 1e300;
    while (h->n < most) {
        /* Adds the names with the next lower value, in their order. */
        double best = -1;
        for (size_t i = 0; i < n; i++) {
            double v;
            if (fact_number(s, h->section, fact, i, &v) && v < last && v > best)
                best = v;
        }
        if (best < 0)
            return;
        for (size_t i = 0; i < n; i++) {
            double v;
            if (fact_number(s, h->section, fact, i, &v) && v == best)
                add_name(h, fact_text(s, h->section, "name", i), most);
        }
        last = best;
    }
}

struct heaviest heaviest_of(const struct making *m, enum row_order order, bool tasks)
{
    struct heaviest h = {.section = tasks ? "tasks" : "commands"};
    size_t most = m->options->commands ? m->options->commands : NAMES_DEFAULT;
    most = most < CHART_COLORS ? most : CHART_COLORS - 1;
    for (size_t i = 0; order == ORDER_MEMORY && !tasks && i < fact_rows(m->summary, "rss_peak_held_by"); i++)
        add_name(&h, fact_text(m->summary, "rss_peak_held_by", "name", i), most);
    if (order == ORDER_MEMORY)
        by_fact(m->summary, &h, "rss_peak_bytes", most);
    by_fact(m->summary, &h, "cpu_ns", most);
    for (size_t i = 0; i < fact_rows(m->summary, h.section) && h.n < most; i++)
        add_name(&h, fact_text(m->summary, h.section, "name", i), most);
    return h;
}

/* Returns the rank of a name by CPU time; the number of names if there is no such name. */
static size_t rank_of(const struct making *m, const char *section, const char *name)
{
    size_t n = fact_rows(m->summary, section), at = 0, before = 0;
    double cpu = 0, other;
    while (at < n) {
        const char *found = fact_text(m->summary, section, "name", at);
        if (found && strcmp(found, name) == 0)
            break;
        at++;
    }
    if (at == n)
        return n;
    fact_number(m->summary, section, "cpu_ns", at, &cpu);
    for (size_t i = 0; i < n; i++)
        before += fact_number(m->summary, section, "cpu_ns", i, &other) && (other > cpu || (other == cpu && i < at));
    return before;
}

/* Returns the colour of a name, by its rank by CPU time. So a name has the same colour in all figures, as long as
 * there are enough colours. */
unsigned heaviest_color(const struct making *m, const struct heaviest *h, const char *name, unsigned *taken)
{
    size_t place = rank_of(m, h->section, name);
    unsigned color = place < CHART_COLORS ? (unsigned)place : CHART_COLORS;
    if (color >= CHART_COLORS || (*taken & 1u << color)) {
        color = CHART_COLORS - 1;
        while (color > 0 && (*taken & 1u << color))
            color--;
    }
    *taken |= 1u << color;
    return color;
}
