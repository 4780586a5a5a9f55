/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/fd.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/baro-read/summary_phases.h"
#include "programs/baro-read/summary_tasks.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

static int to_stdout(void *context, const char *text, size_t len)
{
    (void)context;
    return fd_write_all(STDOUT_FILENO, text, len, NULL);
}

static int print_summary(const struct cli *cli, const struct settings *s, struct baro_tape *tape,
                         const struct baro_fold *fold, const char *path, const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    const struct baro_summary *summary = baro_fold_summary(fold);
    struct buf text = {0};
    if (s->json) {
        int code = baro_verdicts_json(baro_fold_verdicts(fold), summary, path, to_stdout, NULL, &err);
        if (code < 0 && !err.text[0])
            return cli_failf(cli, "can't write to standard output: %s", strerror(-code));
        return code < 0 ? cli_fail(cli, &err) : 0;
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

int cmd_summary(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_tape *tape;
    struct baro_fold *fold = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    int status = reader_open(cli, argv[0], &tape, &path);
    if (status)
        return status;
    if (s->by == BY_PHASE)
        status = summary_phases(cli, s, tape, path.at);
    else if (s->by == BY_TASK)
        status = summary_tasks(cli, s, tape, path.at);
    else if (baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, &err) < 0)
        status = cli_fail(cli, &err);
    else {
        baro_summary_set_carbon(baro_fold_summary(fold), s->carbon);
        status = print_summary(cli, s, tape, fold, path.at, argv[0] ? argv[0] : "@1");
    }
    baro_fold_free(fold);
    baro_tape_close(tape);
    return status;
}
