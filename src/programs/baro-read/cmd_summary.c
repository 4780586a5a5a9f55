/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "output/rows/csv_json.h"
#include "output/rows/escaped.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/baro-read/summary_phases.h"
#include "programs/baro-read/summary_steps.h"
#include "programs/baro-read/summary_tasks.h"
#include "programs/common/rank_tapes.h"
#include "programs/common/tape_rows.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

static int print_summary(const struct cli *cli, const struct settings *s, struct baro_tape *tape,
                         const struct baro_fold *fold, const char *path, const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    const struct baro_summary *summary = baro_fold_summary(fold);
    struct buf text = {0};
    if (s->json) {
        int code = json_summary(fold, path, &text, &err),
            failure = code < 0 ? cli_fail(cli, &err) : cli_out(cli, &text);
        buf_done(&text);
        return failure;
    }
    struct report_style style = {.width = cli->width,
                                 .utf8 = cli->utf8,
                                 .color = cli->color,
                                 .curves = cli->tty,
                                 .timeline = baro_fold_timeline(fold),
                                 .running = baro_tape_state(tape) == BARO_TAPE_RUNNING,
                                 .zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(tape)))};
    if (s->verbose) {
        report_block(summary, path, style, &text);
        report_tasks_section(summary, cli->width, cli->utf8, &text);
        report_verdicts(baro_fold_verdicts(fold), style, &text);
    } else {
        report_glance(summary, baro_fold_verdicts(fold), name, style, &text);
    }
    int status = cli_out(cli, &text);
    buf_done(&text);
    return status;
}

/* shown: what the user may call the tape. */
static int summarize_one(struct cli *cli, const struct settings *s, const char *name, const char *shown)
{
    struct baro_tape *tape;
    struct baro_fold *fold = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    int status = reader_open(cli, name, &tape, &path);
    if (status)
        return status;
    if (s->by == BY_PHASE)
        status = summary_phases(cli, s, tape, path.at);
    else if (s->by == BY_TASK)
        status = summary_tasks(cli, s, tape, path.at);
    else if (s->by == BY_STEP)
        status = summary_steps(cli, s, tape, path.at);
    else if (baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, &err) < 0)
        status = cli_fail(cli, &err);
    else {
        baro_summary_set_carbon(baro_fold_summary(fold), s->carbon);
        status = print_summary(cli, s, tape, fold, path.at, shown);
    }
    baro_fold_free(fold);
    baro_tape_close(tape);
    return status;
}

/* Was a tape that can't be read named itself, and not the folder that it is in? */
static bool has_unread_operand(const struct tape_rows *rows, char **argv)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct tape_row *row = &rows->at[i];
        for (size_t k = 0; row->head && row->head->error && argv[k]; k++) {
            if (strcmp(argv[k], row->path) == 0)
                return true;
        }
    }
    return false;
}

/* A line for each of several tapes. What a summary has besides is in a report of them. */
static int list_several(const struct cli *cli, const struct settings *s, const struct tape_list *list, char **argv)
{
    struct tape_rows rows = {0};
    struct buf text = {0};
    struct baro_error err = BARO_ERROR_INIT;
    if (s->json || s->by != BY_NOTHING)
        return cli_failf(cli,
                         "%s is for one tape, and here are %zu: name one, or use `baro report -o FILE.json`, which "
                         "takes several",
                         s->json ? "--json" : "--by", list->n);
    int code = tape_rows_of_list(&rows, list, &err);
    if (code >= 0) {
        tape_rows_table(cli, rows.at, rows.n, &text);
        buf_printf(&text, "%zu tapes; all of them in one report: baro report -o FILE.md", list->n);
        for (size_t i = 0; argv[i] && i < 3; i++) {
            buf_byte(&text, ' ');
            text_escaped(&text, i < 2 ? argv[i] : "...", strlen(i < 2 ? argv[i] : "..."));
        }
        buf_byte(&text, '\n');
    }
    int status = code < 0 ? cli_fail(cli, &err) : cli_out_text(cli, &text);
    if (!status && has_unread_operand(&rows, argv))
        status = 2; /* the table has the reason */
    tape_rows_done(&rows);
    buf_done(&text);
    return status;
}

/* All ranks of a job as one. */
static int summarize_ranks(const struct cli *cli, const struct settings *s, const struct rank_tapes *tapes)
{
    struct ranks r = {0};
    struct buf text = {0};
    struct baro_error err = BARO_ERROR_INIT;
    struct report_style style = {.width = cli->width, .utf8 = cli->utf8, .color = cli->color};
    int status = rank_tapes_read(tapes, &r, &err) < 0 ? cli_fail(cli, &err) : 0;
    if (!status && s->json)
        ranks_json(&r, &text);
    else if (!status)
        ranks_text(&r, style, &text);
    if (!status && !s->json)
        buf_add(&text, tapes->notes.at, tapes->notes.len);
    if (!status)
        status = cli_out(cli, &text);
    ranks_done(&r);
    buf_done(&text);
    return status;
}

static int summarize_several(const struct cli *cli, const struct settings *s, const struct tape_list *list, char **argv)
{
    struct rank_tapes tapes = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int found = rank_tapes_find(list, false, &tapes, &err);
    int status = found < 0                                     ? cli_fail(cli, &err)
                 : found && !s->verbose && s->by == BY_NOTHING ? summarize_ranks(cli, s, &tapes)
                                                               : list_several(cli, s, list, argv);
    rank_tapes_done(&tapes);
    return status;
}

int cmd_summary(struct cli *cli, const struct settings *s, char **argv)
{
    struct tape_list list = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int status;
    if (!argv[0])
        return summarize_one(cli, s, NULL, "@1");
    if (tape_list_read(&list, argv, &err) < 0)
        status = cli_fail(cli, &err);
    else if (list.n > 1)
        status = summarize_several(cli, s, &list, argv);
    else if (list.at[0].is_unread)
        status = cli_fail(cli, &list.at[0].reason);
    else
        status = summarize_one(cli, s, list.at[0].path, *argv[0] == '@' ? argv[0] : list.at[0].path);
    tape_list_done(&list);
    return status;
}
