/* SPDX-License-Identifier: Apache-2.0 */
/* baro plot: one figure or metric of one or several tapes; CPU and memory in the terminal, if none is named. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/span.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/plotted.h"
#include "programs/common/output.h"

#define TAPES_MAX ((size_t)CHART_COLORS)
#define WIDTH_PIXELS 900u
#define HEIGHT_PIXELS 320u
#define WIDTH_LEAST 200u /* pixels of a picture */
#define HEIGHT_LEAST 80u

enum plot_format { PLOT_TEXT, PLOT_SVG, PLOT_PNG };

struct plot_job {
    const struct cli *cli;
    const struct settings *s;
    struct plotted one[TAPES_MAX];
    size_t n;
    struct chart_picture picture;
    struct chart_terminal terminal;
    enum plot_format format;
    size_t buckets;
};

static int open_one(struct plot_job *p, const char *name)
{
    if (p->n == TAPES_MAX)
        return cli_failf(p->cli, "at most %zu tapes can be drawn in one plot", TAPES_MAX);
    return plotted_open(&p->one[p->n++], p->cli, name);
}

/* The same time for all tapes, counted from the start of each. */
static int find_axis(const struct plot_job *p, uint64_t *ret_from, uint64_t *ret_to)
{
    *ret_to = 1;
    *ret_from = UINT64_MAX;
    for (size_t i = 0; i < p->n; i++) {
        const struct plotted *one = &p->one[i];
        uint64_t length = one->end_ns - one->start_ns, removed = report_u64(one->summary, "", "removed_ns");
        uint64_t first = removed > one->start_ns ? removed - one->start_ns : 0;
        *ret_to = length > *ret_to ? length : *ret_to;
        *ret_from = first < *ret_from ? first : *ret_from;
    }
    return *ret_to > *ret_from ? 0 : cli_failf(p->cli, "the stretch of time is empty");
}

/* what: the figure or metric; NULL: the default figures. */
static int make_figures(struct plot_job *p, const char *what)
{
    uint64_t from, to;
    int status = find_axis(p, &from, &to);
    bool host_only = report_is_host_only(p->one[0].summary);
    const char *const ids[] = {what        ? what
                               : host_only ? "host_cpu"
                                           : "cpu",
                               what        ? NULL
                               : host_only ? "host_memory"
                                           : "memory",
                               NULL};
    for (size_t i = 0; i < p->n && !status; i++) {
        struct plotted *one = &p->one[i];
        struct baro_error err = BARO_ERROR_INIT;
        struct figure_options options = {.from_ns = one->start_ns + from,
                                         .to_ns = one->start_ns + to,
                                         .buckets = p->buckets,
                                         .ids = ids,
                                         .summary = one->summary,
                                         .timeline = baro_fold_timeline(one->fold)};
        int r = figure_find(ids[0]) >= 0 ? figures_of_tape(one->tape, &options, &one->figures, &err)
                                         : figures_of_metric(one->tape, what, &options, &one->figures, &err);
        status = r < 0 ? cli_fail(p->cli, &err) : 0;
    }
    return status;
}

/* ---- several tapes in one chart ---- */

static int overlay(const struct plot_job *p, size_t figure, struct chart *ret)
{
    const struct chart *first = figures_chart(p->one[0].figures, figure);
    *ret = (struct chart){.id = strdup(first->id),
                          .title = strdup(first->title),
                          .help = strdup(first->help),
                          .unit = first->unit,
                          .from_ns = first->from_ns,
                          .to_ns = first->to_ns,
                          .start_ns = first->start_ns,
                          .buckets = first->buckets};
    if (!ret->id || !ret->title || !ret->help)
        return cli_failf(p->cli, "out of memory");
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        const struct chart *c = figures_chart(p->one[i].figures, figure);
        const struct chart_curve *from = plotted_main_curve(c);
        struct chart_curve *to = chart_add_curve(ret, path_base_name(p->one[i].path.at), CHART_LINE, (unsigned)i);
        if (!to)
            return cli_failf(p->cli, "out of memory");
        for (size_t k = 0; from && k < c->buckets && k < ret->buckets; k++)
            to->at[k] = from->at[k];
        any = any || from;
    }
    if (!any)
        ret->absent = strdup("no sample has the values");
    chart_finish(ret);
    return 0;
}

/* ---- drawing ---- */

static int draw_chart(const struct plot_job *p, const struct chart *c, struct buf *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    int code = 0;
    if (p->format == PLOT_PNG)
        code = chart_png(c, &p->picture, ret, &err);
    else if (p->format == PLOT_SVG)
        chart_svg(c, &p->picture, ret);
    else
        chart_text(c, &p->terminal, ret);
    if (code >= 0 && ret->failed)
        code = error_set(&err, -12, "out of memory");
    return code < 0 ? cli_fail(p->cli, &err) : 0;
}

static int draw_figure(const struct plot_job *p, size_t figure, struct buf *ret)
{
    struct chart c = {0};
    if (figure)
        buf_byte(ret, '\n');
    if (p->n == 1)
        return draw_chart(p, figures_chart(p->one[0].figures, figure), ret);
    int status = overlay(p, figure, &c);
    if (!status)
        status = draw_chart(p, &c, ret);
    chart_done(&c);
    return status;
}

static int plot(struct plot_job *p, char **tapes, size_t n, const char *what)
{
    struct buf b = {0};
    int status = n ? 0 : open_one(p, NULL);
    for (size_t i = 0; i < n && !status; i++)
        status = open_one(p, tapes[i]);
    if (!status)
        status = make_figures(p, what);
    for (size_t i = 0; !status && i < figures_count(p->one[0].figures); i++)
        status = draw_figure(p, i, &b);
    if (!status)
        status = output_whole(p->cli, p->s->output, p->s->force, &b);
    buf_done(&b);
    return status;
}

static int list_figures(const struct cli *cli)
{
    struct buf b = {0};
    for (size_t i = 0; i < figure_count(); i++)
        buf_printf(&b, "%-16s %s\n", figure_get(i)->id, figure_get(i)->title);
    int status = cli_out_text(cli, &b);
    buf_done(&b);
    return status;
}

/* The output decides the format. */
static int choose_format(struct plot_job *p)
{
    const struct settings *s = p->s;
    unsigned width = s->width;
    p->format = PLOT_TEXT;
    if (s->output && span_ends(span_str(s->output), ".svg"))
        p->format = PLOT_SVG;
    else if (s->output && span_ends(span_str(s->output), ".png"))
        p->format = PLOT_PNG;
    else if (s->output && strcmp(s->output, "-") != 0 && !span_ends(span_str(s->output), ".txt"))
        return cli_failf(p->cli, "what %s should be is not clear from its name: it ends with .svg, .png or .txt",
                         s->output);
    if (p->format == PLOT_PNG && !chart_has_png())
        return cli_failf(p->cli, "this baro was built without cairo and can't write PNG: -o FILE.svg");
    p->picture = (struct chart_picture){.width = width ? width : WIDTH_PIXELS,
                                        .height = s->height ? s->height : HEIGHT_PIXELS,
                                        .scale = 2,
                                        .has_title = true,
                                        .has_time = true,
                                        .has_legend = true,
                                        .has_spans = true};
    if (p->format != PLOT_TEXT && (p->picture.width < WIDTH_LEAST || p->picture.height < HEIGHT_LEAST))
        return cli_failf(p->cli, "--width, --height: a picture needs %u by %u pixels or more", WIDTH_LEAST,
                         HEIGHT_LEAST);
    p->terminal = (struct chart_terminal){.width = width ? width : p->cli->width,
                                          .height = s->height,
                                          .utf8 = p->cli->utf8,
                                          .color = p->cli->color && !s->output};
    p->buckets = p->format == PLOT_TEXT ? 2 * (size_t)p->terminal.width : p->picture.width / 2;
    return 0;
}

/* Is it the name of a figure, or of a metric that barograph knows, as figures_of_metric() takes it? */
static bool is_figure(const char *word)
{
    size_t len = strcspn(word, "@");
    const char *dot = memchr(word, '.', len), *name = dot ? dot + 1 : word;
    char metric[128];
    snprintf(metric, sizeof(metric), "%.*s", (int)(len - (size_t)(name - word)), name);
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        const char *of = baro_kind_name(kind);
        if (dot && (strlen(of) != (size_t)(dot - word) || memcmp(of, word, (size_t)(dot - word)) != 0))
            continue;
        if (baro_metric_find(kind, metric) >= 0 || baro_derived_find(kind, metric) >= 0)
            return true;
    }
    return figure_find(word) >= 0 || strncmp(word, "mark.", 5) == 0;
}

/* "@1" is a kept run, "rss@cc1" a metric. An operand that is neither a file nor a figure is a metric of a kind that
 * only the tape has, or misspelt. */
static bool is_tape(const char *word)
{
    return !is_figure(word) && (*word == '@' || access(word, F_OK) == 0);
}

/* Moves the figure after the tapes, where it is expected: `plot cpu TAPE` is understood as well. */
static void put_figure_last(char **argv, size_t n)
{
    char *first = argv[0];
    if (n < 2 || is_figure(argv[n - 1]) || !is_figure(first) || access(first, F_OK) == 0)
        return;
    memmove(argv, argv + 1, (n - 1) * sizeof(*argv));
    argv[n - 1] = first;
}

int cmd_plot(struct cli *cli, const struct settings *s, char **argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    if (s->list)
        return list_figures(cli);
    put_figure_last(argv, n);
    const char *what = n && !is_tape(argv[n - 1]) ? argv[--n] : NULL;
    struct plot_job *p = calloc(1, sizeof(*p));
    if (!p)
        return cli_failf(cli, "out of memory");
    p->cli = cli;
    p->s = s;
    int status = choose_format(p);
    if (!status && !what && p->format != PLOT_TEXT)
        status = cli_failf(cli, "a picture has one figure, and which is missing, such as cpu or memory; `baro plot "
                                "--list` lists them");
    if (!status)
        status = plot(p, argv, n, what);
    for (size_t i = 0; i < p->n; i++)
        plotted_done(&p->one[i]);
    free(p);
    return status;
}
