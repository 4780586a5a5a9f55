/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/baro-report/report_folder.h"
#include "baro/summary.h"
#include "base/fd.h"
#include "output/chart/figure.h"
#include "output/text/tasks.h"
#include "programs/baro-report/markdown_cells.h"
#include "programs/baro-report/markdown_text.h"

/* ---- the page: the facts, and the pictures with descriptions ---- */

#define FOLDER_PICTURES 40u

struct folder_picture {
    const struct chart *chart;
    char name[64];
};

struct folder_page {
    size_t number; /* number of the tape in a report of several; 0: a report of one */
    const struct baro_summary *summary;
    const struct chart_set *figures;
    struct folder_picture picture[FOLDER_PICTURES];
    size_t n;
};

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

static void folder_page(const struct folder_page *p, struct buf *ret)
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

#define WIDTH 900u /* CSS pixels; a PNG has twice as many: 1800 */
#define HEIGHT 375u
#define HEIGHT_LOW 300u
#define SCALE 2

struct folder {
    bool force;
    char path[4096];      /* without a slash at its end */
    char temporary[4128]; /* made beside it */
    int fd;               /* the temporary folder; -1: there is none */
    struct baro_error *err;
};

static int fail_folder(const struct folder *f, int code)
{
    return error_set(f->err, code, "can't write %s/: %s", f->path, strerror(-code));
}

/* ---- files ---- */

static int write_whole(const struct folder *f, const char *name, const struct buf *b)
{
    if (b->failed)
        return error_set(f->err, -ENOMEM, "out of memory");
    int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_folder(f, -errno);
    int code = fd_write_all(fd, b->at, b->len, NULL);
    if (close(fd) < 0 && code >= 0)
        code = -errno;
    return code < 0 ? fail_folder(f, code) : 0;
}

static int write_picture(const struct folder *f, const struct chart *c, size_t number, struct folder_picture *ret)
{
    bool png = chart_has_png(), low = strcmp(c->id, "instance_count") == 0;
    struct chart_picture p = {.width = WIDTH,
                              .height = low ? HEIGHT_LOW : HEIGHT,
                              .scale = SCALE,
                              .has_title = true,
                              .has_time = true,
                              .has_legend = true,
                              .has_spans = true};
    struct buf b = {0};
    char before[24];
    int code = 0;
    snprintf(before, sizeof(before), "%zu_", number);
    snprintf(ret->name, sizeof(ret->name), "%s%s.%s", number ? before : "", c->id, png ? "png" : "svg");
    ret->chart = c;
    if (png)
        code = chart_png(c, &p, &b, f->err);
    else
        chart_svg(c, &p, &b);
    if (code >= 0)
        code = write_whole(f, ret->name, &b);
    buf_done(&b);
    return code;
}

/* Finds figures with something to show, first those of the report. */
static int write_pictures(const struct folder *f, const struct chart_set *figures, struct folder_page *page)
{
    int code = 0;
    for (size_t i = 0; i < figures_count(figures) && code >= 0; i++) {
        const struct chart *c = figures_chart(figures, i);
        const struct figure_info *info = figure_get((size_t)figure_find(c->id));
        /* The six plots always exist, because their users expect them. */
        if (info->set != FIGURE_SEED && (c->absent || chart_top(c) <= 0))
            continue;
        if (page->n < FOLDER_PICTURES)
            code = write_picture(f, c, page->number, &page->picture[page->n++]);
    }
    return code;
}

/* What each of several tapes has: all figures of hundreds of tapes take minutes, and nobody looks at most of them. */
static const char *const few[] = {"cpu", "memory", "io", NULL};

/* Writes the report as Markdown, and the figures after it. */
static int fill_page(const struct document *d, void *context, struct buf *text, struct baro_error *err)
{
    struct folder *f = context;
    struct chart_set *figures = NULL;
    struct figure_options options = {
        .buckets = WIDTH / 2, .sets = FIGURE_PAGE | FIGURE_SEED, .summary = d->summary, .timeline = d->timeline};
    options.ids = d->number ? few : NULL;
    int code = figures_of_tape(d->tape, &options, &figures, err);
    f->err = err;
    if (code < 0)
        return code;
    struct folder_page page = {.number = d->number, .summary = d->summary, .figures = figures};
    code = write_pictures(f, figures, &page);
    if (code >= 0)
        code = document_markdown(d, NULL, text, err);
    folder_page(&page, text);
    figures_free(figures);
    return code < 0 ? DOCUMENT_STOP : 0;
}

/* ---- the folder ---- */

/* Moves the files of the temporary folder to the folder, or removes them (to NULL). */
static int move_files(const struct folder *f, const char *to)
{
    DIR *dir = fdopendir(dup(f->fd));
    int code = dir ? 0 : -errno;
    struct dirent *entry;
    while (code >= 0 && (entry = readdir(dir))) {
        char name[4096 + 300];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", to ? to : "", entry->d_name);
        if ((to ? renameat(f->fd, entry->d_name, AT_FDCWD, name) : unlinkat(f->fd, entry->d_name, 0)) < 0)
            code = -errno;
    }
    if (dir)
        closedir(dir);
    return code;
}

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    size_t n = 0;
    while (dir && (entry = readdir(dir)))
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return dir && n == 0;
}

/* Makes the temporary folder, if the folder is not there or may be filled. */
static int begin_folder(struct folder *f, const char *path)
{
    struct stat st;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n >= sizeof(f->path))
        return error_set(f->err, -ENAMETOOLONG, "the name of the folder is too long");
    memcpy(f->path, path, n);
    bool is_there = lstat(f->path, &st) == 0;
    if (!is_there && errno != ENOENT)
        return fail_folder(f, -errno);
    if (is_there && !S_ISDIR(st.st_mode))
        return error_set(f->err, -ENOTDIR, "%s is not a folder; it is not replaced", f->path);
    if (is_there && !f->force && !is_empty(f->path))
        return error_set(f->err, -EEXIST, "%s/ exists and is not empty; --force replaces the files of a report in it",
                         f->path);
    snprintf(f->temporary, sizeof(f->temporary), "%s.%d.part", f->path, (int)getpid());
    if (mkdir(f->temporary, 0777) < 0)
        return fail_folder(f, -errno);
    f->fd = open(f->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return f->fd < 0 ? fail_folder(f, -errno) : 0;
}

static int commit(const struct folder *f)
{
    if (rename(f->temporary, f->path) == 0)
        return 0;
    if (!f->force || (errno != EEXIST && errno != ENOTEMPTY))
        return fail_folder(f, -errno);
    int code = move_files(f, f->path);
    return code < 0 ? fail_folder(f, code) : 0;
}

int report_folder(struct several *s, const char *path, bool force, struct baro_error *err)
{
    struct folder f = {.force = force, .fd = -1, .err = err};
    struct buf text = {0};
    int code = begin_folder(&f, path);
    s->has_all = true; /* with the pictures of each */
    if (code >= 0)
        code = several_write(s, fill_page, &f, several_markdown, &text, err);
    f.err = err;
    if (code >= 0)
        code = write_whole(&f, "report.md", &text);
    if (code >= 0)
        code = commit(&f);
    if (f.fd >= 0) {
        /* After a commit nothing has the temporary name any more. */
        struct stat st;
        if (stat(f.temporary, &st) == 0)
            move_files(&f, NULL);
        close(f.fd);
        rmdir(f.temporary);
    }
    buf_done(&text);
    return code;
}
