/* SPDX-License-Identifier: Apache-2.0 */
/* What a report as Markdown folds away: verdicts in full with their evidence, curves, all figures, each phase, commands
 * and notes. The figures are those of the lines of `baro summary -v`, word for word. */
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "output/text/lines.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/baro-report/markdown.h"
#include "programs/baro-report/markdown_cells.h"
#include "programs/baro-report/markdown_text.h"

#define COMMANDS_SHOWN 10u
#define PHASES_SHOWN 40u
#define CURVES_WIDTH 88u

static void begin_details(const struct markdown *p, const char *summary)
{
    buf_printf(p->out, "<details><summary>%s</summary>\n\n", summary);
}

static void end_details(const struct markdown *p)
{
    buf_str(p->out, "</details>\n\n");
}

/* ---- verdicts in full ---- */

static void evidence(struct markdown *p, size_t n)
{
    buf_str(p->out, "| rule | figure | value |\n|---|---|--:|\n");
    for (size_t i = 0; i < n; i++) {
        const struct baro_verdict *v = baro_verdicts_get(p->d->verdicts, i);
        for (size_t k = 0; k < v->evidence_count; k++) {
            const struct baro_evidence *e = &v->evidence[k];
            buf_str(p->out, "| ");
            markdown_text(p->out, v->rule, strlen(v->rule));
            if (v->phase) {
                buf_str(p->out, " in ");
                markdown_code(p->out, v->phase, strlen(v->phase), true);
            }
            buf_str(p->out, " | ");
            markdown_code(p->out, e->name, strlen(e->name), true);
            buf_str(p->out, " | ");
            markdown_text(p->out, e->text, strlen(e->text));
            buf_str(p->out, " |\n");
        }
    }
    buf_str(p->out, "\n");
}

static void put_sentence(struct markdown *p, size_t i)
{
    const struct baro_verdict *v = baro_verdicts_get(p->d->verdicts, i);
    markdown_begin_verdict(p, i);
    if (v->phase)
        markdown_phases_alike(p, i, false, "; with figures of their own in ");
    buf_str(p->out, ": ");
    markdown_text(p->out, v->title, strlen(v->title));
    buf_str(p->out, *v->advice ? " " : "");
    markdown_text(p->out, v->advice, strlen(v->advice));
    buf_byte(p->out, '\n');
}

static void verdicts_in_full(struct markdown *p)
{
    size_t n = baro_verdicts_count(p->d->verdicts);
    if (!n)
        return;
    begin_details(p, "Verdicts in full, and what they rest on");
    for (size_t i = 0; i < n; i++) {
        if (markdown_is_first(p->d->verdicts, i))
            put_sentence(p, i);
    }
    buf_byte(p->out, '\n');
    evidence(p, n);
    end_details(p);
}

/* ---- curves and figures ---- */

static void put_curves(struct markdown *p)
{
    struct buf b = {0};
    struct report_style style = p->style;
    style.width = CURVES_WIDTH;
    style.timeline = p->d->timeline;
    report_course(p->s, style, &b);
    if (b.len) {
        buf_str(p->out, "```text\n");
        buf_add(p->out, b.at, b.len);
        buf_str(p->out, "```\n\n");
    }
    p->out->failed = p->out->failed || b.failed;
    buf_done(&b);
}

static void one_part(void *context, const char *label, const char *part, size_t len)
{
    struct markdown *p = context;
    if ((strcmp(label, "note") == 0) != p->in_notes)
        return;
    if (p->in_notes) {
        buf_str(p->out, "- ");
        markdown_escaped_text(p->out, part, len);
        buf_byte(p->out, '\n');
        p->any = true;
        return;
    }
    if (strcmp(label, p->label) != 0) {
        buf_str(p->out, p->any ? " |\n| " : "| ");
        markdown_escaped_text(p->out, label, strlen(label));
        buf_str(p->out, " | ");
        snprintf(p->label, sizeof(p->label), "%s", label);
        p->any = true;
    } else {
        buf_str(p->out, "<br>");
    }
    markdown_escaped_text(p->out, part, len);
}

static void figures(struct markdown *p)
{
    struct buf title = {0};
    p->any = p->in_notes = false;
    p->label[0] = 0;
    buf_str(p->out, "| what | figures |\n|---|---|\n");
    report_words(p->s, p->style, one_part, p);
    buf_str(p->out, p->any ? " |\n" : "");
    if (p->is_cut) {
        report_title(p->s, &title);
        buf_str(p->out, "| command | ");
        markdown_code(p->out, (const char *)title.at, title.failed ? 0 : title.len, true);
        buf_str(p->out, " |\n");
    }
    buf_byte(p->out, '\n');
    buf_done(&title);
}

static void notes(struct markdown *p)
{
    p->any = false;
    p->in_notes = true;
    report_words(p->s, p->style, one_part, p);
    buf_str(p->out, p->any ? "\n" : "");
}

/* ---- tables ---- */

static void phase_row(struct markdown *p, size_t i, const struct baro_timeline_item *item)
{
    static const char *const facts[] = {"cpu_ns", "cores_mean", "rss_peak_bytes", "io_rchar_bytes", "io_wchar_bytes"};
    struct buf b = {0};
    buf_str(p->out, "| ");
    for (int k = 0; k < item->depth && k < 8; k++)
        buf_str(p->out, "&nbsp;&nbsp;");
    markdown_code(p->out, item->name, strlen(item->name), true);
    buf_str(p->out, " | ");
    fmt_moment(&b, item->begin_ns);
    markdown_unbroken(p->out, &b);
    buf_clear(&b);
    buf_str(p->out, " | ");
    fmt_duration(&b, item->end_ns - item->begin_ns);
    buf_str(&b, item->is_open ? ", open" : "");
    markdown_unbroken(p->out, &b);
    for (size_t k = 0; k < sizeof(facts) / sizeof(*facts); k++) {
        struct baro_value v;
        int fact = baro_timeline_fact_find(facts[k]);
        baro_timeline_value(p->d->timeline, i, fact, &v);
        markdown_cell(p->out, baro_timeline_fact(fact), v);
    }
    buf_str(p->out, " |\n");
    buf_done(&b);
}

static void each_phase(struct markdown *p)
{
    size_t n = 0, shown = 0;
    for (size_t i = 0; i < baro_timeline_count(p->d->timeline); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(p->d->timeline, i);
        if (item->kind != BARO_TIMELINE_PHASE || ++n > PHASES_SHOWN)
            continue;
        if (!shown++)
            buf_str(p->out, "### Each phase\n\n| phase | began | took | cpu | cores | peak rss | read() | write() |\n"
                            "|---|--:|--:|--:|--:|--:|--:|--:|\n");
        phase_row(p, i, item);
    }
    if (n > shown)
        buf_printf(p->out, "| %zu more | | | | | | | |\n", n - shown);
    buf_str(p->out, shown ? "\n" : "");
}

static void command_row(struct markdown *p, size_t i)
{
    const char *name = report_row(p->s, "commands", "name", i).text;
    uint64_t total = report_u64(p->s, "job", "cpu_ns");
    struct baro_value cpu = report_row(p->s, "commands", "cpu_ns", i);
    buf_str(p->out, "| ");
    markdown_code(p->out, name, strlen(name), true);
    markdown_fact(p->out, p->s, "commands", "processes", i);
    markdown_fact(p->out, p->s, "commands", "cpu_ns", i);
    buf_str(p->out, " | ");
    if (!cpu.absent && total)
        lines_percent(p->out, (double)cpu.u64 / (double)total);
    markdown_fact(p->out, p->s, "commands", "rss_peak_bytes", i);
    markdown_fact(p->out, p->s, "commands", "io_read_bytes", i);
    markdown_fact(p->out, p->s, "commands", "io_write_bytes", i);
    buf_str(p->out, " |\n");
}

static void commands(struct markdown *p)
{
    size_t n = report_rows(p->s, "commands");
    if (!n)
        return;
    buf_str(p->out, "### Commands\n\n| command | processes | cpu | share | peak rss | storage read | storage wrote |\n"
                    "|---|--:|--:|--:|--:|--:|--:|\n");
    size_t from = p->out->len;
    for (size_t i = 0; i < n && i < COMMANDS_SHOWN; i++)
        command_row(p, i);
    if (n > COMMANDS_SHOWN)
        buf_printf(p->out, "| %zu more | | | | | | |\n", n - COMMANDS_SHOWN);
    markdown_legend(p->out, from);
    buf_byte(p->out, '\n');
}

void markdown_rest(struct markdown *p)
{
    verdicts_in_full(p);
    if (report_tasks_count(p->s)) {
        begin_details(p, "Tasks");
        markdown_tasks(p->s, p->out);
        end_details(p);
    }
    begin_details(p, "Curves, all figures, phases and commands");
    put_curves(p);
    figures(p);
    each_phase(p);
    commands(p);
    notes(p);
    buf_str(p->out, "`≥` at least, `≈` about, `≤` at most.\n\n");
    end_details(p);
}
