/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several tapes as Markdown: how many failed, what they used together, a table with a row for each that has what tells
 * it from the others, and sections of those that failed. What all have in common, the command or a verdict, is said
 * once.
 */
#include <string.h>

#include "base/fmt.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "programs/baro-report/markdown.h"
#include "programs/baro-report/markdown_cells.h"
#include "programs/baro-report/markdown_text.h"
#include "programs/baro-report/several.h"

#define SECTIONS_SHOWN 5u /* those of more tapes that failed are folded away */
#define RULES_MOST 64
#define SHORT_RESULT 20u

static int number_of_rule(const char *name)
{
    for (int i = 0; i < baro_verdict_rule_count() && i < RULES_MOST; i++) {
        if (strcmp(baro_verdict_rule(i)->name, name) == 0)
            return i;
    }
    return -1;
}

static void take_rules(const struct baro_verdicts *all, struct listed_tape *ret)
{
    ret->end_rule = -1;
    for (size_t i = 0; i < baro_verdicts_count(all); i++) {
        const struct baro_verdict *v = baro_verdicts_get(all, i);
        int rule = v->weight <= BARO_VERDICT_ADVICE ? number_of_rule(v->rule) : -1;
        if (rule >= 0)
            ret->rules |= 1ull << rule;
        if (rule >= 0 && report_is_end(v))
            ret->end_rule = rule;
    }
}

void several_row(const struct document *d, struct listed_tape *ret)
{
    struct buf result = {0}, cell = {0}, *b = &ret->row;
    enum report_result how = report_result(d->summary, baro_tape_state(d->tape) == BARO_TAPE_RUNNING, &result);
    ret->has_failed = how == REPORT_BAD || how == REPORT_CUT_OFF;
    markdown_sign(&cell, how);
    if (!result.failed)
        markdown_escaped_text(&cell, (const char *)result.at, result.len);
    if (result.len <= SHORT_RESULT) /* "exit 0" on one line, however narrow the table is */
        markdown_unbroken(b, &cell);
    else
        buf_add(b, cell.at, cell.len);
    buf_done(&cell);
    markdown_fact(b, d->summary, "", "wall_ns", 0);
    markdown_fact(b, d->summary, "job", "cpu_ns", 0);
    markdown_fact(b, d->summary, "job", "rss_peak_bytes", 0);
    buf_str(b, " | ");
    report_title(d->summary, &ret->title);
    take_rules(d->verdicts, ret);
    buf_done(&result);
}

/* ---- what they have in common ---- */

struct common {
    const struct buf *title; /* of all tapes; NULL: they differ */
    uint64_t rules;          /* of all tapes */
    size_t failed;
};

static struct common find_common(const struct several *s)
{
    struct common c = {.rules = UINT64_MAX};
    bool differ = false;
    for (size_t i = 0; i < s->list.n; i++) {
        const struct listed_tape *t = &s->list.at[i];
        if (t->is_unread)
            continue;
        differ = differ || (c.title && (c.title->len != t->title.len ||
                                        (t->title.len && memcmp(c.title->at, t->title.at, t->title.len) != 0)));
        c.title = &t->title;
        c.rules &= t->rules;
        c.failed += t->has_failed;
    }
    c.title = differ ? NULL : c.title;
    c.rules = s->read > 1 ? c.rules : 0; /* of one tape, nothing is in common */
    return c;
}

/* Writes the names of rules after `before`, that of how it ended in bold. */
static void put_rules(struct buf *b, uint64_t rules, int end_rule, const char *before)
{
    size_t n = 0;
    for (int i = 0; i < baro_verdict_rule_count() && i < RULES_MOST; i++) {
        if (!(rules & 1ull << i))
            continue;
        buf_str(b, n++ ? ", " : before);
        buf_str(b, i == end_rule ? "**" : "");
        markdown_text(b, baro_verdict_rule(i)->name, strlen(baro_verdict_rule(i)->name));
        buf_str(b, i == end_rule ? "**" : "");
    }
}

/* ---- the head ---- */

static void put_head(const struct several *s, const struct common *c, struct buf *b)
{
    size_t unread = s->list.n - s->read;
    buf_printf(b, "# %s%zu %s",
               c->failed || unread ? "✗ "
               : s->running        ? ""
                                   : "✓ ",
               s->list.n, s->list.n == 1 ? "tape" : "tapes");
    if (c->failed)
        buf_printf(b, ", %zu failed", c->failed);
    buf_str(b, "\n\n");
    if (c->title) {
        buf_str(b, "Each: ");
        markdown_title(b, c->title, false);
        buf_str(b, "\n\n");
    }
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

/* ---- the table ---- */

static void put_row(const struct listed_tape *t, size_t number, const struct common *c, struct buf *b)
{
    buf_printf(b, "| %zu | ", number);
    markdown_code(b, t->name, strlen(t->name), true);
    buf_str(b, " | ");
    if (t->is_unread) {
        buf_str(b, "not read: ");
        markdown_text(b, t->reason.text, strlen(t->reason.text));
        buf_str(b, " | | | | ");
    } else {
        buf_add(b, t->row.at, t->row.len);
        put_rules(b, t->rules & ~c->rules, t->end_rule, "");
    }
    if (!c->title) {
        buf_str(b, " | ");
        if (!t->is_unread)
            markdown_title(b, &t->title, true);
    }
    buf_str(b, " |\n");
}

static void put_table(const struct several *s, const struct common *c, struct buf *b)
{
    buf_printf(b, "| # | tape | result | took | cpu | peak rss | verdicts |%s\n|--:|---|---|--:|--:|--:|---|%s\n",
               c->title ? "" : " command |", c->title ? "" : "---|");
    size_t from = b->len;
    for (size_t i = 0; i < s->list.n; i++)
        put_row(&s->list.at[i], i + 1, c, b);
    markdown_legend(b, from);
    put_rules(b, c->rules, -1, "\nVerdicts on all of them: ");
    buf_str(b, c->rules ? "\n" : "");
}

/* ---- sections ---- */

/* Writes the sections of tapes that failed, or of the others, folded away after the first `shown`. */
static void put_sections(const struct several *s, bool failed, size_t shown, const char *folded, struct buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < s->list.n; i++) {
        const struct listed_tape *t = &s->list.at[i];
        if (t->is_unread || t->has_failed != failed)
            continue;
        if (n++ == shown)
            buf_printf(b, "\n<details><summary>%s</summary>\n", folded);
        buf_byte(b, '\n');
        buf_add(b, t->section.at, t->section.len);
    }
    buf_str(b, n > shown ? "\n</details>\n" : "");
}

void several_markdown(const struct several *s, struct buf *ret)
{
    struct common c = find_common(s);
    put_head(s, &c, ret);
    put_table(s, &c, ret);
    put_sums(s, ret);
    put_sections(s, true, SECTIONS_SHOWN, "More that failed", ret);
    if (s->has_all)
        put_sections(s, false, c.failed ? 0 : 1, "The others", ret);
    else if (s->read > c.failed)
        buf_str(ret, "\nOf a tape that did not fail, `baro report TAPE -o FILE.md` has the rest.\n");
}
