/* SPDX-License-Identifier: Apache-2.0 */
/* Several tapes as Markdown: a table with a row for each, what they used together, and a section for each. */
#include <string.h>

#include "base/fmt.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "programs/baro-report/markdown_cells.h"
#include "programs/baro-report/markdown_text.h"
#include "programs/baro-report/several.h"

static void put_title(struct buf *b, const struct baro_summary *s)
{
    struct buf title = {0};
    report_title(s, &title);
    markdown_title(b, &title, true);
    buf_done(&title);
}

void several_row(const struct document *d, struct buf *b)
{
    struct buf cell = {0};
    put_title(b, d->summary);
    buf_str(b, " | ");
    fmt_time_zone(&cell, report_fact(d->summary, "", "start").i64, d->zone, false);
    markdown_unbroken(b, &cell);
    markdown_fact(b, d->summary, "", "wall_ns", 0);
    markdown_fact(b, d->summary, "job", "cpu_ns", 0);
    markdown_fact(b, d->summary, "job", "rss_peak_bytes", 0);
    markdown_fact(b, d->summary, "job", "processes_started", 0);
    buf_str(b, " | ");
    buf_clear(&cell);
    report_result(d->summary, baro_tape_state(d->tape) == BARO_TAPE_RUNNING, &cell);
    if (!cell.failed)
        markdown_escaped_text(b, (const char *)cell.at, cell.len);
    buf_str(b, " |\n");
    buf_done(&cell);
}

/* Peaks were at different times, so they are not added. */
static void put_sums(const struct several *s, struct buf *b)
{
    size_t unread = s->list.n - s->read;
    if (unread)
        buf_printf(b, "\n%zu of %zu tapes could not be read, and the sums are without %s.", unread, s->list.n,
                   unread == 1 ? "it" : "them");
    if (s->running)
        buf_printf(b, "%s%zu %s still being recorded.", unread ? " " : "\n", s->running,
                   s->running == 1 ? "is" : "are");
    buf_str(b, unread || s->running ? "\n" : "");
    if (s->cpu.known) {
        buf_str(b, "\nTogether: **");
        report_marked(b, s->cpu.value, fmt_duration);
        buf_str(b, "** of CPU time");
        if (s->processes.known) {
            buf_str(b, ", ");
            report_marked(b, s->processes.value, fmt_count);
            buf_str(b, " processes");
        }
        buf_byte(b, '.');
    }
    if (s->rss.known) {
        buf_str(b, s->cpu.known ? " The highest peak of memory (rss): " : "\nThe highest peak of memory (rss): ");
        report_marked(b, s->rss.value, fmt_bytes);
        buf_str(b, ", of ");
        markdown_code(b, s->rss_name, strlen(s->rss_name), false);
        buf_str(b, "; peaks are not added, as they may be at different times.");
    }
    buf_str(b, s->cpu.known || s->rss.known ? "\n" : "");
}

void several_markdown(const struct several *s, struct buf *ret)
{
    buf_printf(ret,
               "# %zu %s\n\n| | tape | command | started | took | cpu | peak rss | processes | result |\n"
               "|--:|---|---|---|--:|--:|--:|--:|---|\n",
               s->list.n, s->list.n == 1 ? "tape" : "tapes");
    size_t from = ret->len;
    for (size_t i = 0; i < s->list.n; i++) {
        const struct listed_tape *t = &s->list.at[i];
        buf_printf(ret, "| %zu | ", i + 1);
        markdown_code(ret, t->name, strlen(t->name), true);
        buf_str(ret, t->is_unread ? " | not read: " : " | ");
        if (t->is_unread) {
            markdown_text(ret, t->reason.text, strlen(t->reason.text));
            buf_str(ret, " | | | | | | |\n");
        } else {
            buf_add(ret, t->row.at, t->row.len);
        }
    }
    markdown_legend(ret, from);
    put_sums(s, ret);
    for (size_t i = 0; i < s->list.n; i++) {
        const struct listed_tape *t = &s->list.at[i];
        if (!t->is_unread) {
            buf_byte(ret, '\n');
            buf_add(ret, t->section.at, t->section.len);
        }
    }
}
