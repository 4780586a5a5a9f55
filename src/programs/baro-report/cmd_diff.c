/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two runs, or two groups of runs. */
#include <errno.h>
#include <string.h>

#include "baro/fold.h"
#include "programs/baro-report/diff.h"
#include "programs/common/tape_list.h"
#include "programs/common/tape_args.h"

static int add_tape(const struct cli *cli, struct baro_runset *set, const char *path, const char *name)
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

/* Adds the tapes of one side. Each pattern has to name some. */
static int add_side(const struct cli *cli, struct baro_runset *set, const char *const *patterns, size_t n)
{
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) {
        struct tape_list list = {0};
        struct baro_error err = BARO_ERROR_INIT;
        char *one[] = {(char *)patterns[i], NULL};
        if (tape_list_read(&list, one, &err) < 0)
            status = cli_fail(cli, &err);
        for (size_t k = 0; k < list.n && !status; k++)
            status = list.at[k].is_unread
                         ? cli_fail(cli, &list.at[k].reason)
                         : add_tape(cli, set, list.at[k].path, *patterns[i] == '@' ? patterns[i] : list.at[k].path);
        tape_list_done(&list);
    }
    return status;
}

static struct report_style style_of(const struct cli *cli)
{
    return (struct report_style){.width = cli->tty ? cli->width : 100, .utf8 = cli->utf8, .color = cli->color};
}

static int print_diff(const struct cli *cli, const struct settings *s, const struct baro_runset *set, size_t before)
{
    struct buf text = {0};
    if (s->json)
        diff_json(set, before, &text);
    else if (s->markdown)
        diff_markdown(set, before, &text);
    else
        diff_text(set, before, style_of(cli), &text);
    int status = cli_out(cli, &text);
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
    if (!status && !diff_steps(a, b, s->json, style_of(cli), &text))
        status = cli_failf(cli, "out of memory");
    if (!status)
        status = cli_out(cli, &text);
    buf_done(&text);
    baro_steps_free(a);
    baro_steps_free(b);
    return status;
}

int cmd_diff(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_runset *set;
    struct baro_error err = BARO_ERROR_INIT;
    const struct diff_settings *d = &s->diff;
    const char *before[SIDES_MOST], *after[SIDES_MOST];
    size_t n_before = d->n_before, n_after = d->n_after;
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
    if (baro_runset_new(&set, &err) < 0)
        return cli_fail(cli, &err);
    int status = add_side(cli, set, before, n_before);
    size_t runs = baro_runset_runs(set);
    if (!status)
        status = add_side(cli, set, after, n_after);
    if (!status && baro_runset_compare(set, runs, &err) < 0)
        status = cli_fail(cli, &err);
    if (!status)
        status = print_diff(cli, s, set, runs);
    baro_runset_free(set);
    return status;
}
