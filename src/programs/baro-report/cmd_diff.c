/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two runs, or two groups of runs. */
#include <stdlib.h>
#include <string.h>

#include "baro/fold.h"
#include "base/array.h"
#include "base/span.h"
#include "programs/baro-report/diff.h"
#include "programs/common/moment.h"
#include "programs/common/output.h"
#include "programs/common/rank_tapes.h"
#include "programs/common/tape_args.h"
#include "programs/common/tape_list.h"

struct diff {
    const struct cli *cli;
    const struct settings *settings;
    struct baro_runset *set;
    char **path; /* of each run */
    size_t room, before;
};

int diff_add_tape(const struct cli *cli, struct baro_runset *set, const char *path, const char *name)
{
    struct baro_tape *tape;
    struct baro_fold *fold = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path found;
    int status = reader_open(cli, path, &tape, &found);
    if (status)
        return status;
    if (baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, &err) < 0 || baro_runset_add(set, name, fold, &err) < 0)
        status = cli_fail(cli, &err);
    baro_fold_free(fold);
    baro_tape_close(tape);
    return status;
}

static int add_tape(struct diff *d, const char *path, const char *name)
{
    size_t n = baro_runset_runs(d->set);
    char **at = array_room(d->path, n, &d->room, sizeof(*at)), *copy = strdup(path);
    d->path = at ? at : d->path;
    int status = at && copy ? diff_add_tape(d->cli, d->set, path, name) : cli_failf(d->cli, "out of memory");
    if (status)
        free(copy);
    else
        at[n] = copy;
    return status;
}

/* Adds the ranks of a job, as one run. */
static int add_ranks(struct diff *d, const struct rank_tapes *ranks, const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    size_t from = baro_runset_runs(d->set);
    int status = 0;
    for (size_t i = 0; i < ranks->n && !status; i++)
        status = add_tape(d, ranks->at[i].path, ranks->at[i].path);
    bool is_part = ranks->n < ranks->ranks;
    if (!status && baro_runset_merge(d->set, from, name, is_part, &err) < 0)
        status = cli_fail(d->cli, &err);
    if (!status && is_part)
        cli_note(d->cli, "%s: %u of %u ranks are missing, so its sums are lower bounds", name,
                 ranks->ranks - (unsigned)ranks->n, ranks->ranks);
    for (size_t i = from + 1; i < from + ranks->n && !status; i++)
        free(d->path[i]); /* the first stands for all */
    return status;
}

static int add_list(struct diff *d, const struct tape_list *list, const char *pattern)
{
    struct rank_tapes ranks;
    struct baro_error err = BARO_ERROR_INIT;
    int found = rank_tapes_find(list, false, &ranks, &err), status = found < 0 ? cli_fail(d->cli, &err) : 0;
    if (found > 0)
        status = add_ranks(d, &ranks, pattern);
    for (size_t k = 0; k < list->n && !status && !found; k++)
        status = list->at[k].is_unread ? cli_fail(d->cli, &list->at[k].reason)
                                       : add_tape(d, list->at[k].path, *pattern == '@' ? pattern : list->at[k].path);
    rank_tapes_done(&ranks);
    return status;
}

/* Adds the tapes of one side. Each pattern has to name some. */
static int add_side(struct diff *d, const char *const *patterns, size_t n)
{
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) {
        struct tape_list list = {0};
        struct baro_error err = BARO_ERROR_INIT;
        char *one[] = {(char *)patterns[i], NULL};
        status = tape_list_read(&list, one, &err) < 0 ? cli_fail(d->cli, &err) : add_list(d, &list, patterns[i]);
        tape_list_done(&list);
    }
    return status;
}

enum diff_form { DIFF_TEXT, DIFF_MARKDOWN, DIFF_JSON, DIFF_PAGE };

/* The end of the output's name says what it is, as that of `report`. */
static int choose_form(const struct diff *d, enum diff_form *ret)
{
    static const char *const endings[] = {
        [DIFF_TEXT] = ".txt", [DIFF_MARKDOWN] = ".md", [DIFF_JSON] = ".json", [DIFF_PAGE] = ".html"};
    const struct settings *s = d->settings;
    *ret = s->json ? DIFF_JSON : s->markdown ? DIFF_MARKDOWN : DIFF_TEXT;
    if (!s->output || strcmp(s->output, "-") == 0)
        return 0;
    for (enum diff_form form = DIFF_TEXT; form <= DIFF_PAGE; form++) {
        if (!span_ends(span_str(s->output), endings[form]))
            continue;
        if ((s->json || s->markdown) && form != *ret)
            return cli_failf(d->cli, "--%s and -o %s exclude each other", s->json ? "json" : "markdown", s->output);
        *ret = form;
        return 0;
    }
    if (*ret != DIFF_TEXT)
        return 0;
    return cli_failf(d->cli, "what %s should be is not clear from its name: it ends with .html, .md, .json or .txt",
                     s->output);
}

static struct report_style style_of(const struct cli *cli, bool is_file)
{
    return (struct report_style){.width = cli->table_width && !is_file ? cli->width : 100,
                                 .whole_names = is_file || !cli->table_width,
                                 .utf8 = cli->utf8,
                                 .color = cli->color && !is_file};
}

static int write_diff(const struct diff *d, enum diff_form form)
{
    struct buf text = {0};
    const struct cli *cli = d->cli;
    bool is_file = d->settings->output && strcmp(d->settings->output, "-") != 0;
    int status = 0;
    if (form == DIFF_PAGE)
        status = diff_page(cli, d->set, (const char *const *)d->path, d->before, &text);
    else if (form == DIFF_JSON)
        diff_json(d->set, d->before, &text);
    else if (form == DIFF_MARKDOWN)
        diff_markdown(d->set, d->before, &text);
    else
        diff_text(d->set, d->before, style_of(cli, is_file), &text);
    if (!status)
        status = is_file ? output_whole(cli, d->settings->output, d->settings->force, &text) : cli_out(cli, &text);
    buf_done(&text);
    return status;
}

/* Reads the steps of the one tape of a side. */
static int read_steps(const struct cli *cli, const char *const *patterns, size_t n, struct baro_steps **ret)
{
    struct baro_tape *tape;
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path found;
    if (n != 1)
        return cli_failf(cli, "--by step compares one tape before with one after");
    int status = reader_open(cli, patterns[0], &tape, &found);
    if (status)
        return status;
    if (baro_steps_of_tape(tape, ret, &err) < 0)
        status = cli_fail(cli, &err);
    baro_tape_close(tape);
    return status;
}

static int print_steps(const struct cli *cli, const struct settings *s, const char *const *before, size_t n_before,
                       const char *const *after, size_t n_after)
{
    struct baro_steps *a = NULL, *b = NULL;
    struct buf text = {0};
    int status = s->markdown ? cli_failf(cli, "--by step and --markdown: one of them") : 0;
    status = status ? status : read_steps(cli, before, n_before, &a);
    status = status ? status : read_steps(cli, after, n_after, &b);
    if (!status && !diff_steps(a, b, s->json, style_of(cli, false), &text))
        status = cli_failf(cli, "out of memory");
    if (!status)
        status = cli_out(cli, &text);
    buf_done(&text);
    baro_steps_free(a);
    baro_steps_free(b);
    return status;
}

/* ---- two stretches of one tape ---- */

#define STRETCH_SIZE 128

/* Divides "11:30-12:30" and "2026-11-28T12:31..2026-11-28T12:40". Returns false if it is no stretch. */
static bool divide(const char *text, char *copy, size_t size, struct settings *ret)
{
    struct moment m;
    size_t n = strlen(text);
    for (size_t i = 1; i + 1 < n && n < size; i++) {
        size_t gap = text[i] == '-' ? 1 : strncmp(text + i, "..", 2) == 0 ? 2 : 0;
        memcpy(copy, text, n + 1);
        copy[i] = 0;
        if (!gap || moment_parse(copy, 0, 0, &m, NULL) < 0 || moment_parse(copy + i + gap, 0, 0, &m, NULL) < 0)
            continue;
        ret->from = copy;
        ret->to = copy + i + gap;
        return true;
    }
    return false;
}

static bool is_stretch(const char *text)
{
    char copy[STRETCH_SIZE];
    struct settings unused;
    return divide(text, copy, sizeof(copy), &unused);
}

static int diff_stretches(const struct cli *cli, const struct settings *s, const char *name)
{
    const char *const texts[2] = {s->diff.before[0], s->diff.after[0]};
    char copies[2][STRETCH_SIZE];
    struct diff all = {.cli = cli, .settings = s, .before = 1};
    struct baro_error err = BARO_ERROR_INIT;
    enum diff_form form;
    int status = choose_form(&all, &form);
    if (!status && form == DIFF_PAGE)
        status = cli_failf(cli, "two stretches of a tape are compared as text, Markdown or JSON, not as a page");
    if (!status && baro_runset_new(&all.set, &err) < 0)
        status = cli_fail(cli, &err);
    for (int i = 0; i < 2 && !status; i++) {
        struct settings side = *s;
        struct cli own = *cli;
        own.settings = &side;
        divide(texts[i], copies[i], sizeof(copies[i]), &side);
        status = diff_add_tape(&own, all.set, name, texts[i]);
    }
    if (!status && baro_runset_compare(all.set, 1, &err) < 0)
        status = cli_fail(cli, &err);
    if (!status)
        status = write_diff(&all, form);
    baro_runset_free(all.set);
    return status;
}

int cmd_diff(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    const struct diff_settings *d = &s->diff;
    const char *before[SIDES_MOST], *after[SIDES_MOST];
    size_t n_before = d->n_before, n_after = d->n_after;
    if (s->at && (argv[1] || n_before || n_after || s->by >= 0 || s->output || s->markdown))
        return cli_failf(cli, "--at is of one tape: `baro diff TAPE --at 12:31`");
    if (s->at)
        return diff_at(cli, s, argv[0]);
    if (argv[0] && !argv[1] && n_before == 1 && n_after == 1 && is_stretch(d->before[0]) && is_stretch(d->after[0]))
        return diff_stretches(cli, s, argv[0]);
    memcpy(before, d->before, sizeof(before));
    memcpy(after, d->after, sizeof(after));
    if (!n_before && !n_after) { /* two operands; without one the run before the last, and the last */
        before[n_before++] = argv[0] ? argv[0] : "@2";
        after[n_after++] = argv[0] && argv[1] ? argv[1] : "@1";
    } else if (argv[0] || !n_before || !n_after) {
        return cli_failf(cli, "name two tapes, or some with --before and some with --after");
    }
    if (s->by >= 0)
        return print_steps(cli, s, before, n_before, after, n_after);
    struct diff all = {.cli = cli, .settings = s};
    enum diff_form form;
    int status = choose_form(&all, &form);
    if (status)
        return status;
    if (baro_runset_new(&all.set, &err) < 0)
        return cli_fail(cli, &err);
    status = add_side(&all, before, n_before);
    all.before = baro_runset_runs(all.set);
    if (!status)
        status = add_side(&all, after, n_after);
    if (!status && baro_runset_compare(all.set, all.before, &err) < 0)
        status = cli_fail(cli, &err);
    if (!status)
        status = write_diff(&all, form);
    for (size_t i = 0; i < baro_runset_runs(all.set); i++)
        free(all.path[i]);
    free(all.path);
    baro_runset_free(all.set);
    return status;
}
