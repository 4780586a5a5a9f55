/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/folder_page.h"

#include <string.h>

#include "output/text/read_fact.h"
#include "output/text/tasks.h"
#include "programs/baro-report/markdown_cells.h"
#include "programs/baro-report/markdown_text.h"

/* ---- the table of commands ---- */

static const struct chart_curve *curve_of(const struct folder_page *p, const char *figure, const char *name,
                                          const char *suffix)
{
    const struct chart *c = figures_find(p->figures, figure);
    size_t n = strlen(name);
    for (size_t i = 0; c && i < c->n_curves; i++) {
        const char *title = c->curves[i].name;
        if (strncmp(title, name, n) == 0 && strcmp(title + n, suffix) == 0)
            return &c->curves[i];
    }
    return NULL;
}

/* The highest value of a curve, or its mean. */
static void curve_cell(const struct folder_page *p, const char *figure, const char *name, const char *suffix, bool mean,
                       struct buf *ret)
{
    const struct chart *c = figures_find(p->figures, figure);
    const struct chart_curve *curve = curve_of(p, figure, name, suffix);
    buf_str(ret, " | ");
    if (curve && !mean && curve->max_is_bound)
        buf_str(ret, baro_value_prefix(BARO_VALUE_LOWER_BOUND, BARO_PREFIX_SYMBOL));
    if (curve)
        chart_value_text(c->unit, mean ? curve->mean : curve->max, ret);
    else
        buf_str(ret, baro_absent_name(BARO_ABSENT_UNKNOWN));
}

static void commands(const struct folder_page *p, struct buf *ret)
{
    int section = baro_summary_section_find("commands"), name = baro_summary_fact_find("commands", "name");
    size_t shown = 0;
    buf_str(ret, "| command | processes | CPU time | user | system | peak CPU | mean CPU | peak USS | peak RSS | "
                 "peak RSS of one |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    size_t from = ret->len;
    for (size_t row = 0; row < baro_summary_rows(p->summary, section); row++) {
        struct baro_value v;
        if (baro_summary_value(p->summary, name, row, &v) != BARO_PRESENT ||
            (!curve_of(p, "aggregate_cpu", v.text, "") && !curve_of(p, "aggregate_uss", v.text, "")))
            continue;
        buf_str(ret, "| ");
        markdown_code(ret, v.text, strlen(v.text), true);
        markdown_fact(ret, p->summary, "commands", "processes", row);
        markdown_fact(ret, p->summary, "commands", "cpu_ns", row);
        markdown_fact(ret, p->summary, "commands", "cpu_user_ns", row);
        markdown_fact(ret, p->summary, "commands", "cpu_system_ns", row);
        curve_cell(p, "aggregate_cpu", v.text, "", false, ret);
        curve_cell(p, "aggregate_cpu", v.text, "", true, ret);
        curve_cell(p, "aggregate_uss", v.text, "", false, ret);
        curve_cell(p, "rss_vs_uss", v.text, " RSS", false, ret);
        markdown_fact(ret, p->summary, "commands", "rss_peak_bytes", row);
        buf_str(ret, " |\n");
        shown++;
    }
    markdown_legend(ret, from);
    size_t rest = baro_summary_rows(p->summary, section) - shown;
    if (rest)
        buf_printf(ret, "\n%zu more %s smaller.\n", rest, rest == 1 ? "is" : "are");
    buf_byte(ret, '\n');
}

/* ---- the page ---- */

static void pictures(const struct folder_page *p, enum figure_set set, struct buf *ret)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct chart *c = p->picture[i].chart;
        const struct figure_info *info = figure_get((size_t)figure_find(c->id));
        if (info->set != set)
            continue;
        buf_printf(ret, "### %s\n\n%s.\n\n![%s](%s)\n\n", c->title, c->help, c->title, p->picture[i].name);
    }
}

void folder_page(const struct folder_page *p, struct buf *ret)
{
    buf_str(ret, "\n## Figures\n\n");
    pictures(p, FIGURE_PAGE, ret);
    if (p->number) /* one of several: the others are in a report of its own */
        return;
    if (report_tasks_count(p->summary)) {
        buf_str(ret, "## By task\n\nA figure of a task is the sum over its processes; CPU of 100 % is one core. USS is "
                     "memory that no other process shares; RSS counts shared memory in each process. The table of "
                     "tasks is above.\n\n");
        pictures(p, FIGURE_SEED, ret);
        return;
    }
    buf_str(ret, "## By command\n\nPeaks and means of CPU, USS and RSS are those of all processes of the command "
                 "together, at the samples; CPU of 100 % is one core. USS is memory that no other process shares; RSS "
                 "counts shared memory in each process.\n\n");
    commands(p, ret);
    pictures(p, FIGURE_SEED, ret);
}
