/* SPDX-License-Identifier: Apache-2.0 */
/* The head of the page: what was recorded, how it ended, when and where; and the key figures. */
#include <string.h>

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"

void page_meta(struct page *p, const char *label, const char *text)
{
    if (!*text)
        return;
    buf_printf(&p->html, "<div><dt>%s</dt><dd>", label);
    page_string(&p->html, text);
    buf_str(&p->html, "</dd></div>\n");
}

/* What the control group is called that was recorded. */
static void names_of_group(struct page *p)
{
    static const struct {
        const char *fact, *label;
    } names[] = {{"container", "container"},
                 {"image", "image"},
                 {"pod", "pod"},
                 {"pod_namespace", "namespace"},
                 {"unit", "unit"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        page_meta(p, names[i].label, report_header(p->header, names[i].fact).text);
}

static void when_and_where(struct page *p)
{
    struct buf *html = &p->html;
    const struct baro_summary *s = p->summary;
    buf_str(html, "<dl class=\"meta\">\n<div><dt>started</dt><dd>");
    fmt_time_zone(html, report_fact(s, "", "start").i64, p->options->zone, false);
    buf_str(html, "</dd></div>\n");
    page_meta(p, "host", report_text(s, "host", "name"));
    page_meta(p, "kernel", report_text(s, "host", "kernel"));
    page_meta(p, "CPU", report_text(s, "host", "cpu_model"));
    page_meta(p, "in", report_header(p->header, "cwd").text);
    names_of_group(p);
    page_meta(p, "batch job", baro_header_job_id(p->header));
    page_meta(p, "step", report_header(p->header, "step_id").text);
    page_meta(p, "rank", report_header(p->header, "rank").text);
    page_meta(p, "tape", p->options->tape_name);
    buf_str(html, "</dl>\n");
}

void page_begin_head(struct page *p, const char *title, size_t len)
{
    struct buf *html = &p->html;
    buf_str(
        html,
        "<header>\n<div class=\"bar\"><span class=\"brand\">barograph</span><span class=\"tools\">"
        "<button type=\"button\" id=\"theme\" hidden>dark</button>"
        "<button type=\"button\" id=\"help\" aria-haspopup=\"dialog\" hidden>keys <kbd>?</kbd></button></span></div>\n"
        "<h1><code>");
    chart_xml_text(html, title, len);
    buf_str(html, "</code></h1>\n");
}

void page_head(struct page *p)
{
    static const char *const classes[] = {
        [REPORT_GOOD] = "good", [REPORT_BAD] = "bad", [REPORT_CUT_OFF] = "warn", [REPORT_OTHER] = "plain"};
    struct buf title = {0}, end = {0};
    struct buf *html = &p->html;
    enum report_result result = report_result(p->summary, p->is_running, &end);
    report_title(p->summary, &title);
    page_begin_file(p, (const char *)title.at, title.len);
    page_begin_head(p, (const char *)title.at, title.len);
    buf_printf(html, "<p class=\"result\"><span class=\"pill %s\">", classes[result]);
    chart_xml_escaped(html, (const char *)end.at, end.len);
    buf_str(html, "</span>");
    if (report_is(p->summary, "", "is_stretch")) {
        buf_clear(&end);
        report_stretch(p->summary, p->options->zone, &end);
        buf_str(html, " <span class=\"stretch\">");
        chart_xml_escaped(html, (const char *)end.at, end.len);
        buf_str(html, "</span>");
    }
    buf_str(html, " <span class=\"wall\" data-fact=\"wall_ns\">");
    page_duration(html, report_u64(p->summary, "", "wall_ns"));
    buf_str(html, "</span></p>\n");
    when_and_where(p);
    buf_str(html, "</header>\n<main>\n");
    html->failed = html->failed || title.failed || end.failed;
    buf_done(&title);
    buf_done(&end);
}

/* ---- key figures ---- */

/* A large figure: a fact, with details in small print, a share as a bar, and the small curve of a chart. */
struct key_figure {
    const char *label;
    const char *section, *fact;
    const char *chart, *curve;         /* NULL: no curve; the total, or the first one */
    const char *ratio_section, *ratio; /* NULL: no bar */
    struct {
        const char *before, *section, *fact, *after;
    } beside[3];
};

#define FIGURE(label, section, fact, chart, curve, ratio_section, ratio, ...)                                          \
    {                                                                                                                  \
        label, section, fact, chart, curve, ratio_section, ratio,                                                      \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

static const struct key_figure of_job[] = {
    FIGURE("CPU time", "job", "cpu_ns", "cpu", NULL, "limits", "cores_peak_ratio",
           {"", "job", "cores_mean", " cores on average"}, {"peak ", "job", "cores_peak", ""},
           {"of ", "limits", "cores", ""}),
    FIGURE("memory needed", "limits", "memory_peak_bytes", "memory", NULL, "limits", "memory_peak_ratio",
           {"rss ", "job", "rss_peak_bytes", ""}, {"pss ", "job", "pss_peak_bytes", ""},
           {"limit ", "limits", "memory_bytes", ""}),
    FIGURE("read()", "job", "io_rchar_bytes", "io", "read", NULL, NULL, {"from storage ", "job", "io_read_bytes", ""}),
    FIGURE("write()", "job", "io_wchar_bytes", "io", "written", NULL, NULL,
           {"to storage ", "job", "io_write_bytes", ""}),
    FIGURE("processes", "job", "processes_started", "processes", NULL, NULL, NULL,
           {"peak ", "job", "processes_peak", " at once"},
           {"", "job", "processes_unsampled", " too short for a sample"}),
    FIGURE("waited for a core", "job", "run_delay_ns", NULL, NULL, NULL, NULL,
           {"throttled ", "limits", "throttled_ns", ""}),
};

static const struct key_figure of_host[] = {
    FIGURE("CPUs busy", "host", "cpu_mean_cores", "host_cpu", NULL, NULL, NULL, {"peak ", "host", "cpu_peak_cores", ""},
           {"of ", "host", "cores", ""}),
    FIGURE("memory in use", "host", "memory_used_peak_bytes", "host_memory", NULL, NULL, NULL,
           {"of ", "host", "memory_total_bytes", ""}, {"swap ", "host", "swap_used_peak_bytes", ""}),
    FIGURE("disks read", "host", "disk_read_bytes", "disk", "read", NULL, NULL,
           {"wrote ", "host", "disk_write_bytes", ""}),
    FIGURE("networks received", "host", "net_receive_bytes", "net", "received", NULL, NULL,
           {"sent ", "host", "net_transmit_bytes", ""}),
    FIGURE("load", "host", "load_peak", NULL, NULL, NULL, NULL, {0}),
};

/* Shown after the others, if there are GPUs. */
static const struct key_figure of_gpus =
    FIGURE("GPU time", "gpu", "busy_job_ns", NULL, NULL, NULL, NULL, {"", "gpu", "used", " used"},
           {"of ", "gpu", "visible", ""}, {"memory ", "gpu", "memory_job_peak_bytes", ""});

static void put_fact(struct page *p, const char *section, const char *name)
{
    int id = baro_summary_fact_find(section, name);
    struct baro_value v;
    if (id < 0)
        return;
    baro_summary_value(p->summary, id, 0, &v);
    buf_printf(&p->html, "<span data-fact=\"%s%s%s\">", section, *section ? "." : "", name);
    page_value(&p->html, baro_summary_fact(id), &v);
    buf_str(&p->html, "</span>");
}

static void share_bar(struct page *p, const char *section, const char *name)
{
    double ratio;
    if (!name || !report_has_real(p->summary, section, name, &ratio))
        return;
    double percent = ratio < 0 ? 0 : ratio > 1 ? 100 : ratio * 100;
    buf_printf(&p->html,
               "<svg class=\"meter%s\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
               ratio > 0.95  ? " full"
               : ratio > 0.8 ? " high"
                             : "");
    fmt_decimal(&p->html, ratio * 100, 0);
    buf_printf(&p->html,
               "\302\240%% of the limit\"><rect width=\"1000\" height=\"10\"/><rect class=\"part\" width=\"%d\" "
               "height=\"10\"/></svg>",
               (int)(percent * 10));
}

static const struct chart_curve *spark_of(const struct chart *c, const char *name)
{
    for (size_t i = 0; c && i < c->n_curves; i++) {
        if (name ? strcmp(c->curves[i].name, name) == 0 : c->curves[i].shape == CHART_TOTAL)
            return &c->curves[i];
    }
    return c && c->n_curves && !name ? &c->curves[0] : NULL;
}

/* A sum of pss that lacks processes says little beside a sum of rss, and "0 too short for a sample" nothing. */
static bool says_little(const char *fact, struct baro_value v)
{
    return strcmp(fact, "pss_peak_bytes") == 0
               ? v.flags & BARO_VALUE_LOWER_BOUND
               : !v.u64 && (strcmp(fact, "processes_unsampled") == 0 || strcmp(fact, "throttled_ns") == 0);
}

static void card(struct page *p, const struct key_figure *k)
{
    struct buf *html = &p->html;
    buf_printf(html, "<div class=\"card\"><h3>%s</h3><p class=\"big\">", k->label);
    put_fact(p, k->section, k->fact);
    buf_str(html, "</p><p class=\"small\">");
    bool any = false;
    for (size_t i = 0; i < 3 && k->beside[i].fact; i++) {
        struct baro_value v = report_fact(p->summary, k->beside[i].section, k->beside[i].fact);
        if (v.absent || report_says_nothing(v) || says_little(k->beside[i].fact, v))
            continue;
        buf_str(html, any ? ", " : "");
        buf_str(html, k->beside[i].before);
        put_fact(p, k->beside[i].section, k->beside[i].fact);
        buf_str(html, k->beside[i].after);
        any = true;
    }
    buf_str(html, "</p>");
    share_bar(p, k->ratio_section, k->ratio);
    if (k->chart && p->figures) {
        const struct chart *c = figures_find(p->figures, k->chart);
        page_spark(p, c, spark_of(c, k->curve));
    }
    buf_str(html, "</div>\n");
}

void page_key_figures(struct page *p)
{
    const struct key_figure *k = p->is_host_only ? of_host : of_job;
    size_t n = p->is_host_only ? sizeof(of_host) / sizeof(*of_host) : sizeof(of_job) / sizeof(*of_job);
    buf_str(&p->html, "<section class=\"cards\" aria-label=\"key figures\">\n");
    for (size_t i = 0; i < n; i++)
        card(p, &k[i]);
    if (!report_fact(p->summary, of_gpus.section, of_gpus.fact).absent)
        card(p, &of_gpus);
    page_end_section(p);
}
