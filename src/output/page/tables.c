/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: phases, commands, processes, exits, events. Scripts make them sortable and searchable, and add rows that
 * exist only in the data. */
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/text/lines.h"
#include "output/text/phase_names.h"
#include "output/text/read_fact.h"
#include "output/text/tasks.h"

#define COMMANDS_MOST 200u
#define TASKS_MOST 200u
#define PROCESSES_SHOWN 60u
#define EXITS_SHOWN 100u
#define EVENTS_SHOWN 200u

void page_begin_table(struct page *p, const char *id, const char *title, const char *columns)
{
    struct buf *html = &p->html;
    page_begin_section(p, id, title);
    buf_printf(html,
               "<div class=\"tw\" tabindex=\"0\" role=\"region\" aria-labelledby=\"h-%s\"><table "
               "data-table=\"%s\"><thead><tr>",
               id, id);
    while (*columns) {
        size_t n = strcspn(columns, "|");
        bool is_number = n && columns[n - 1] == '>';
        buf_printf(html, "<th scope=\"col\"%s>%.*s</th>", is_number ? " class=\"n\"" : "", (int)(n - is_number),
                   columns);
        columns += columns[n] ? n + 1 : n;
    }
    buf_str(html, "</tr></thead><tbody>\n");
}

void page_end_table(struct page *p, uint64_t shown, uint64_t all, const char *what)
{
    struct buf *html = &p->html;
    buf_str(html, "</tbody></table></div>\n");
    if (shown < all)
        buf_printf(html,
                   "<p class=\"hint\" data-more>%s of %s %s are shown; <code>baro export</code> has all of "
                   "them.</p>\n",
                   COUNT(shown), COUNT(all), what);
    page_end_section(p);
}

static void number_cell(struct page *p, bool has, uint64_t v, void (*format)(struct buf *, uint64_t))
{
    if (!has) {
        buf_str(&p->html, "<td class=\"n\"></td>");
        return;
    }
    buf_printf(&p->html, "<td class=\"n\" data-v=\"%llu\">", (unsigned long long)v);
    format(&p->html, v);
    buf_str(&p->html, "</td>");
}

static void moment_cell(struct page *p, uint64_t t_ns)
{
    buf_printf(&p->html, "<td class=\"n\" data-v=\"%llu\">", (unsigned long long)t_ns);
    page_moment(p, &p->html, t_ns);
    buf_str(&p->html, "</td>");
}

/* ---- phases ---- */

static void phases(struct page *p)
{
    static const char *const names[] = {"cpu_ns",         "cores_mean",    "rss_peak_bytes",
                                        "pss_peak_bytes", "io_read_bytes", "io_write_bytes"};
    size_t n = 0, count = baro_timeline_count(p->timeline);
    for (size_t i = 0; i < count; i++)
        n += baro_timeline_get(p->timeline, i)->kind == BARO_TIMELINE_PHASE;
    if (!n)
        return;
    page_begin_table(p, "phases", "Phases", "phase|begin>|lasted>|cpu>|cores>|peak rss>|peak pss>|read>|written>");
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < EVENTS_SHOWN; i++) {
        const struct baro_timeline_item *item = baro_timeline_get(p->timeline, i);
        if (item->kind != BARO_TIMELINE_PHASE)
            continue;
        shown++;
        buf_printf(&p->html, "<tr%s><td class=\"d%d\">", phase_status(p->timeline, i) ? " class=\"problem\"" : "",
                   item->depth < 12 ? item->depth : 12);
        page_string(&p->html, item->text);
        buf_str(&p->html, item->is_open ? " <span class=\"absent\">not ended</span></td>" : "</td>");
        moment_cell(p, item->begin_ns);
        number_cell(p, true, item->end_ns - item->begin_ns, fmt_duration);
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
            int fact = baro_timeline_fact_find(names[k]);
            struct baro_value v;
            baro_timeline_value(p->timeline, i, fact, &v);
            page_value_cell(&p->html, baro_timeline_fact(fact), &v);
        }
        buf_str(&p->html, "</tr>\n");
    }
    page_end_table(p, shown, n, "phases");
}

/* ---- tasks and commands: a row has a name, and a cell for each fact ---- */

struct fact_column {
    const char *title, *fact;
};

/* order: the rows to be shown, of all that the section has; NULL: the first ones. */
static void section_table(struct page *p, const char *section, const char *title, const struct fact_column *columns,
                          size_t n_columns, const size_t *order, size_t shown,
                          unsigned (*color)(const struct page *p, const char *name))
{
    struct buf *html = &p->html, titles = {0};
    size_t n = report_rows(p->summary, section);
    if (!n)
        return;
    buf_printf(&titles, "%.*s", (int)strlen(section) - 1, section);
    for (size_t k = 0; k < n_columns; k++)
        buf_printf(&titles, "|%s>", columns[k].title);
    buf_byte(&titles, 0);
    page_begin_table(p, section, title, titles.failed ? "" : (const char *)titles.at);
    buf_done(&titles);
    shown = shown < n ? shown : n;
    for (size_t i = 0; i < shown; i++) {
        size_t row = order ? order[i] : i;
        struct baro_value v = report_row(p->summary, section, "name", row);
        const char *name = v.text ? v.text : "";
        buf_str(html, "<tr data-k=\"");
        page_string(html, name);
        buf_printf(html, "\"><td><i class=\"k%u\"></i>", color(p, name));
        page_string(html, name);
        buf_str(html, "</td>");
        for (size_t k = 0; k < n_columns; k++) {
            v = report_row(p->summary, section, columns[k].fact, row);
            page_value_cell(html, baro_summary_fact(baro_summary_fact_find(section, columns[k].fact)), &v);
        }
        buf_str(html, "</tr>\n");
    }
    page_end_table(p, shown, n, section);
}

static void tasks(struct page *p)
{
    static const struct fact_column columns[] = {
        {"processes", "processes_started"},
        {"cpu", "cpu_ns"},
        {"user", "cpu_user_ns"},
        {"system", "cpu_system_ns"},
        {"cores", "cores_mean"},
        {"peak cores", "cores_peak"},
        {"peak rss", "rss_peak_bytes"},
        {"peak pss", "pss_peak_bytes"},
        {"peak uss", "uss_peak_bytes"},
        {"uss of one", "process_uss_peak_bytes"},
        {"read", "io_read_bytes"},
        {"written", "io_write_bytes"},
        {"active", "active_ns"},
    };
    size_t order[TASKS_MOST], n = report_tasks_order(p->summary, order, TASKS_MOST);
    section_table(p, "tasks", "Tasks", columns, sizeof(columns) / sizeof(*columns), order, n, page_task_color);
}

/* Columns for TCP exist only if there was TCP. */
static void commands(struct page *p)
{
    static const struct fact_column columns[] = {
        {"processes", "processes"},
        {"cpu", "cpu_ns"},
        {"user", "cpu_user_ns"},
        {"system", "cpu_system_ns"},
        {"peak rss", "rss_peak_bytes"},
        {"read", "io_read_bytes"},
        {"written", "io_write_bytes"},
        {"tcp sent", "tcp_sent_bytes"},
        {"tcp received", "tcp_received_bytes"},
    };
    size_t n = sizeof(columns) / sizeof(*columns) - 2;
    for (size_t i = 0; i < report_rows(p->summary, "commands"); i++) {
        if (report_row(p->summary, "commands", "tcp_sent_bytes", i).u64 ||
            report_row(p->summary, "commands", "tcp_received_bytes", i).u64)
            n = sizeof(columns) / sizeof(*columns);
    }
    section_table(p, "commands", "Commands", columns, n, NULL, COMMANDS_MOST, page_color);
}

/* ---- processes and exits ---- */

struct by_cpu {
    uint64_t v;
    uint32_t i;
};

static int most_first(const void *a, const void *b)
{
    const struct by_cpu *x = a, *y = b;
    return x->v != y->v ? (x->v < y->v ? 1 : -1) : (x->i > y->i) - (x->i < y->i);
}

static void bytes_cell(struct page *p, const struct life *life, enum life_has has, enum life_has bound, uint64_t bytes)
{
    if (!(life->has & has) || !(life->has & bound)) {
        number_cell(p, life->has & has, bytes, fmt_bytes);
        return;
    }
    if (!bytes) { /* at least nothing */
        page_unknown_cell(&p->html);
        return;
    }
    page_begin_number(&p->html, BARO_VALUE_LOWER_BOUND);
    buf_printf(&p->html, " data-v=\"%llu\">", (unsigned long long)bytes);
    fmt_bytes(&p->html, bytes);
    buf_str(&p->html, "</td>");
}

static void process(struct page *p, uint32_t i)
{
    const struct life *life = &p->lives.at[i];
    buf_str(&p->html, "<tr data-k=\"");
    page_string(&p->html, names_at(&p->lives.names, life->name));
    buf_str(&p->html, "\"><td>");
    page_life_name(p, &p->html, life);
    page_life_label(p, &p->html, life);
    buf_printf(&p->html, "</td><td class=\"n\" data-v=\"%d\">%d</td>", life->pid, life->pid);
    moment_cell(p, life->begin_ns);
    number_cell(p, true, life->end_ns - life->begin_ns, fmt_duration);
    number_cell(p, life->has & LIFE_CPU, life->cpu_ns, fmt_duration);
    bytes_cell(p, life, LIFE_RSS, LIFE_RSS_IS_BOUND, life->rss_peak_bytes);
    bytes_cell(p, life, LIFE_READ, LIFE_IO_IS_BOUND, life->read_bytes);
    bytes_cell(p, life, LIFE_WRITE, LIFE_IO_IS_BOUND, life->write_bytes);
    buf_str(&p->html, (life->has & LIFE_STATUS) && life->status ? "<td class=\"fail\">" : "<td>");
    page_status(&p->html, life);
    buf_str(&p->html, life->has & LIFE_ENDED ? "</td>" : "<span class=\"absent\">not ended</span></td>");
    page_command_cell(p, &p->html, life);
    buf_str(&p->html, "</tr>\n");
}

#define PROCESS_COLUMNS "name|pid>|begin>|lived>|cpu>|peak rss>|read>|written>|exit|command line"

static void processes(struct page *p)
{
    struct by_cpu *sorted = malloc(((size_t)p->lives.n + 1) * sizeof *sorted);
    uint32_t n = p->lives.n, shown = n < PROCESSES_SHOWN ? n : PROCESSES_SHOWN;
    if (!sorted) {
        p->html.failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct by_cpu){p->lives.at[i].cpu_ns, i};
    qsort(sorted, n, sizeof *sorted, most_first);
    if (n) {
        page_begin_table(p, "processes", "Processes", PROCESS_COLUMNS);
        for (uint32_t k = 0; k < shown; k++)
            process(p, sorted[k].i);
        page_end_table(p, shown, n + p->lives.left_out, "processes, those with most CPU time,");
    }
    free(sorted);
}

static void exits(struct page *p)
{
    uint64_t n = p->lives.left_out_failed, shown = 0;
    for (uint32_t i = 0; i < p->lives.n; i++)
        n += life_has_failed(&p->lives.at[i]);
    if (!n)
        return;
    page_begin_table(p, "exits", "Exits other than 0", PROCESS_COLUMNS);
    for (uint32_t i = 0; i < p->lives.n && shown < EXITS_SHOWN; i++) {
        if (life_has_failed(&p->lives.at[i])) {
            process(p, i);
            shown++;
        }
    }
    page_end_table(p, shown, n, "exits");
}

/* ---- events ---- */

static void events(struct page *p)
{
    size_t n = 0, shown = 0, count = baro_timeline_count(p->timeline);
    for (size_t i = 0; i < count; i++)
        n += baro_timeline_get(p->timeline, i)->kind != BARO_TIMELINE_PHASE;
    if (!n)
        return;
    page_begin_table(p, "events", "Marks and events", "when>|lasted>|kind|what");
    for (size_t i = 0; i < count && shown < EVENTS_SHOWN; i++) {
        const struct baro_timeline_item *item = baro_timeline_get(p->timeline, i);
        if (item->kind == BARO_TIMELINE_PHASE)
            continue;
        shown++;
        buf_str(&p->html, item->is_problem ? "<tr class=\"problem\">" : "<tr>");
        moment_cell(p, item->begin_ns);
        number_cell(p, item->end_ns > item->begin_ns, item->end_ns - item->begin_ns, fmt_duration);
        buf_str(&p->html, "<td>");
        page_string(&p->html, item->kind == BARO_TIMELINE_MARK ? "mark" : item->name);
        buf_str(&p->html, "</td><td>");
        page_string(&p->html, item->text);
        buf_str(&p->html, "</td></tr>\n");
    }
    page_end_table(p, shown, n, "marks and events");
}

void page_tables(struct page *p)
{
    if (p->timeline)
        phases(p);
    tasks(p);
    commands(p);
    processes(p);
    exits(p);
    if (p->timeline)
        events(p);
}
