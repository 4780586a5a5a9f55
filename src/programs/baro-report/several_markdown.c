/* SPDX-License-Identifier: Apache-2.0 */
/* Several tapes as Markdown: a table with a row for each, what they used together, and a section for each. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "programs/baro-report/markdown_cells.h"
#include "programs/baro-report/markdown_text.h"
#include "programs/baro-report/several.h"

struct table {
    several_section *section; /* writes the section of a tape */
    void *context;
    struct buf rows;
};

static void put_tape_name(struct buf *b, size_t i, const char *name)
{
    buf_printf(b, "| %zu | ", i + 1);
    markdown_code(b, name, strlen(name), true);
    buf_str(b, " | ");
}

static void put_title(struct buf *b, const struct baro_summary *s)
{
    struct buf title = {0};
    report_title(s, &title);
    markdown_title(b, &title, true);
    buf_done(&title);
}

static void put_row(struct buf *b, const struct document *d)
{
    struct buf cell = {0};
    put_tape_name(b, d->in->number - 1, d->in->name);
    put_title(b, d->summary);
    buf_str(b, " | ");
    fmt_time_zone(&cell, report_fact(d->summary, "", "start").i64, d->in->zone, false);
    markdown_unbroken(b, &cell);
    markdown_cell(b, report_fact(d->summary, "", "wall_ns"), fmt_duration);
    markdown_cell(b, report_fact(d->summary, "job", "cpu_ns"), fmt_duration);
    markdown_cell(b, report_fact(d->summary, "job", "rss_peak_bytes"), fmt_bytes);
    markdown_cell(b, report_fact(d->summary, "job", "processes_started"), fmt_count);
    buf_str(b, " | ");
    buf_clear(&cell);
    report_result(d->summary, baro_tape_state(d->in->tape) == BARO_TAPE_RUNNING, &cell);
    if (!cell.failed)
        markdown_escaped_text(b, (const char *)cell.at, cell.len);
    buf_str(b, " |\n");
    buf_done(&cell);
}

static int read_section(const struct document *d, void *context, struct buf *ret, struct baro_error *err)
{
    struct table *t = context;
    buf_byte(ret, '\n');
    int r = t->section(d, t->context, ret, err);
    if (r == 0)
        put_row(&t->rows, d);
    return r;
}

static void unread_row(struct buf *b, size_t i, const struct listed_tape *t)
{
    put_tape_name(b, i, t->name);
    buf_str(b, "not read: ");
    markdown_text(b, t->reason.text, strlen(t->reason.text));
    buf_str(b, " | | | | | | |\n");
}

static void sum(struct buf *b, const struct several_sum *s, void (*format)(struct buf *, uint64_t))
{
    struct baro_value v = {.u64 = s->value, .flags = s->flags};
    report_marked(b, v, format);
}

/* Peaks were at different times, so they are not added. */
static void together(struct buf *b, const struct several *s)
{
    size_t unread = s->list->n - s->read;
    if (unread)
        buf_printf(b, "\n%zu of %zu tapes could not be read, and the sums are without %s.", unread, s->list->n,
                   unread == 1 ? "it" : "them");
    if (s->running)
        buf_printf(b, "%s%zu %s still being recorded.", unread ? " " : "\n", s->running,
                   s->running == 1 ? "is" : "are");
    buf_str(b, unread || s->running ? "\n" : "");
    if (s->cpu.of) {
        buf_str(b, "\nTogether: **");
        sum(b, &s->cpu, fmt_duration);
        buf_str(b, "** of CPU time");
        if (s->processes.of) {
            buf_str(b, ", ");
            sum(b, &s->processes, fmt_count);
            buf_str(b, " processes");
        }
        buf_byte(b, '.');
    }
    if (s->of_rss) {
        buf_str(b, s->cpu.of ? " The highest peak of memory (rss): " : "\nThe highest peak of memory (rss): ");
        report_marked(b, s->rss, fmt_bytes);
        buf_str(b, ", of ");
        markdown_code(b, s->rss_name, strlen(s->rss_name), false);
        buf_str(b, "; peaks are not added, as they may be at different times.");
    }
    buf_str(b, s->cpu.of || s->of_rss ? "\n" : "");
}

int several_sections(struct several *s, several_section *section, void *context, struct buf *ret,
                     struct baro_error *err)
{
    struct table t = {.section = section, .context = context};
    struct buf sections = {0};
    int r = 0;
    for (size_t i = 0; i < s->list->n && r >= 0; i++) {
        r = several_visit(s, i, read_section, &t, &sections, err);
        if (r >= 0 && s->list->at[i].is_unread)
            unread_row(&t.rows, i, &s->list->at[i]);
    }
    if (r >= 0)
        r = several_finish(s, err);
    if (r >= 0) {
        buf_printf(ret,
                   "# %zu %s\n\n| | tape | command | started | took | cpu | peak rss | processes | result |\n"
                   "|--:|---|---|---|--:|--:|--:|--:|---|\n",
                   s->list->n, s->list->n == 1 ? "tape" : "tapes");
        size_t from = ret->len;
        buf_add(ret, t.rows.at, t.rows.len);
        markdown_legend(ret, from);
        together(ret, s);
        buf_add(ret, sections.at, sections.len);
        if (ret->failed || t.rows.failed || sections.failed)
            r = error_set(err, -ENOMEM, "out of memory");
    }
    buf_done(&t.rows);
    buf_done(&sections);
    return r;
}

static int plain_section(const struct document *d, void *context, struct buf *ret, struct baro_error *err)
{
    (void)context, (void)err;
    document_markdown(d, ret);
    return 0;
}

int several_markdown(struct several *s, baro_sink *sink, void *context, struct baro_error *err)
{
    struct buf out = {0};
    int r = several_sections(s, plain_section, NULL, &out, err);
    if (r >= 0)
        r = sink(context, (const char *)out.at, out.len);
    buf_done(&out);
    return r;
}
