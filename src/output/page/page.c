/* SPDX-License-Identifier: Apache-2.0 */
/* The page from its first to its last byte: reads the tape, and calls each part. */
#include "output/page/page.h"

#include <errno.h>

#include "base/error.h"
#include "output/page/parts.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define BUCKETS 800u /* buckets of a chart: about a pixel each on a large screen */

/* One walk for the summary, the timeline, the verdicts and the processes. */
static int walk_tape(struct page *p, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_record r;
    int code;
    while ((code = baro_tape_next(tape, &r, err)) > 0) {
        baro_fold_add(p->fold, &r);
        baro_steps_add(p->steps, &r);
        moments_add(&p->moments, &r);
        kinds_add(&p->kinds, tape, &r);
        p->lives.end_ns = r.t_ns > p->lives.end_ns ? r.t_ns : p->lives.end_ns;
    }
    if (code < 0)
        return code;
    code = baro_fold_finish(p->fold, BARO_FOLD_VERDICTS, err);
    if (code >= 0)
        code = baro_steps_finish(p->steps, err);
    if (code < 0)
        return code;
    bool ok = !p->moments.failed && moments_take_lives(&p->moments, p->steps, &p->lives) &&
              lives_label(&p->lives) == 0 && bars_make(&p->bars, &p->lives) == 0;
    return ok ? 0 : error_set(err, -ENOMEM, "out of memory");
}

/* Makes charts from the tape of the machine, if the job's own has nothing of it. The page has the job also if that tape
 * cannot be read. */
static int make_machine_figures(struct page *p, const struct figure_options *options, struct baro_error *err)
{
    const struct chart *own = figures_find(p->figures, "host_memory");
    if (!p->options->machine || !own || !own->absent)
        return 0;
    int code = figures_beside(p->figures, p->header, p->options->machine, options, &p->machine, err);
    return code == -ENOMEM ? code : 0;
}

static int make_figures(struct page *p, struct baro_tape *tape, struct baro_error *err)
{
    struct figure_options options = {.buckets = BUCKETS, .summary = p->summary, .timeline = p->timeline};
    p->from_ns = 0;
    p->to_ns = p->lives.end_ns ? p->lives.end_ns : 1;
    p->start_ns = report_u64(p->summary, "", "start_ns");
    int code = figures_of_tape(tape, &options, &p->figures, err);
    if (code == BARO_E_RANGE) /* the tape has nothing but a header, so there are no charts */
        return 0;
    if (code == 0 && figures_count(p->figures)) {
        const struct chart *c = figures_chart(p->figures, 0);
        p->from_ns = c->from_ns;
        p->to_ns = c->to_ns > c->from_ns ? c->to_ns : c->from_ns + 1;
        p->start_ns = c->start_ns;
        options.from_ns = c->from_ns;
        options.to_ns = c->to_ns;
        code = figures_of_kinds(tape, &p->kinds, &options, &p->devices, err);
        if (code >= 0)
            code = make_machine_figures(p, &options, err);
        if (code >= 0)
            code = figures_of_marks(p->timeline, c, NULL, &p->numbers, err);
    }
    return code;
}

void page_begin_file(struct page *p, const char *title, size_t len)
{
    struct buf *html = &p->html;
    buf_printf(html,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta name=\"generator\" content=\"barograph " BARO_VERSION "\">\n<title>",
               page_csp);
    chart_xml_text(html, title, len < 80 ? len : 80);
    buf_str(html, " - barograph</title>\n<style>");
    buf_str(html, page_css);
    buf_str(html, "</style>\n</head>\n<body>\n");
}

void page_end_file(struct page *p, bool has_script)
{
    buf_str(&p->html, has_script ? "<script>" : "");
    buf_str(&p->html, has_script ? page_js : "");
    buf_str(&p->html, has_script ? "</script>\n" : "");
    buf_str(&p->html, "</body>\n</html>\n");
    page_flush(p, true);
}

static void in_short(struct page *p, const struct baro_verdicts *verdicts)
{
    page_begin_section(p, "verdict", "In short");
    bool has_phases = page_has_phases(p);
    buf_printf(&p->html, "<div class=\"short%s\"><div><h3>Verdict</h3>\n", has_phases ? " two" : "");
    page_verdicts(p, verdicts);
    if (has_phases) {
        buf_str(&p->html, "</div>\n<div><h3>Phases</h3>\n");
        page_gantt(p);
    }
    buf_str(&p->html, "</div>\n<details class=\"used\"><summary>What it used, in words</summary>\n");
    page_words(p, false);
    buf_str(&p->html, "</details></div>\n");
    page_end_section(p);
}

static void over_time(struct page *p)
{
    if (!p->figures)
        return;
    page_begin_section(p, "time", "Over time");
    buf_str(&p->html, "<div class=\"tracks\">\n");
    page_axis(p);
    page_charts(p);
    page_bars(p);
    buf_str(&p->html, "</div>\n");
    page_end_section(p);
}

static int write_page(struct page *p, const struct baro_verdicts *verdicts, struct baro_error *err)
{
    page_head(p);
    page_key_figures(p);
    in_short(p, verdicts);
    over_time(p);
    page_tree(p);
    page_steps(p);
    page_tables(p);
    page_facts(p);
    buf_str(&p->html, "</main>\n<footer><p>Made by barograph " BARO_VERSION " from a tape of version ");
    page_string(&p->html, baro_header_version(p->header));
    buf_str(&p->html,
            ". This file asks for nothing over a network.</p>\n<p>≥ at least, ≤ at most, ≈ about; in tables such "
            "values are underlined, and their titles say which it is.</p></footer>\n");
    int code = page_data(p);
    page_end_file(p, true);
    if (code < 0 || p->html.failed)
        return error_set(err, -ENOMEM, "out of memory");
    return p->code;
}

int page_write(struct baro_tape *tape, const struct page_options *options, baro_sink *sink, void *context,
               struct baro_error *err)
{
    struct page p = {.options = options, .header = baro_tape_header(tape), .sink = sink, .context = context};
    uint64_t first, last = 0;
    int code = baro_tape_range(tape, &first, &last, err);
    if (code >= 0)
        code = baro_fold_new(&p.fold, p.header, BARO_FOLD_VERDICTS, err);
    if (code >= 0)
        code = baro_steps_new(&p.steps, p.header, err);
    if (code >= 0) {
        p.summary = baro_fold_summary(p.fold);
        p.timeline = baro_fold_timeline(p.fold);
        moments_init(&p.moments, p.header, p.steps, last);
        code = walk_tape(&p, tape, err);
    }
    p.is_running = code >= 0 && baro_tape_state(tape) == BARO_TAPE_RUNNING;
    p.is_host_only = code >= 0 && (report_is_host_only(p.summary) || report_is_machine(p.summary));
    if (code >= 0)
        code = make_figures(&p, tape, err);
    if (code >= 0)
        code = write_page(&p, baro_fold_verdicts(p.fold), err);
    figures_free(p.devices);
    figures_free(p.numbers);
    figures_free(p.machine);
    figures_free(p.figures);
    bars_done(&p.bars);
    kinds_done(&p.kinds);
    moments_done(&p.moments);
    lives_done(&p.lives);
    baro_steps_free(p.steps);
    baro_fold_free(p.fold);
    buf_done(&p.html);
    return code;
}
