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

/* A summary with its verdicts. */
struct judged {
    struct baro_summary *summary;
    struct baro_verdicts *verdicts;
};

static void judged_done(struct judged *j)
{
    baro_summary_free(j->summary);
    baro_verdicts_free(j->verdicts);
}

static int judge(struct judged *j, struct baro_tape *tape, double carbon, struct baro_error *err)
{
    int code = baro_summary_new(&j->summary, baro_tape_header(tape), err);
    if (code >= 0)
        code = baro_verdicts_new(&j->verdicts, baro_tape_header(tape), err);
    if (code >= 0)
        code = baro_verdicts_add_tape(j->verdicts, j->summary, tape, err);
    if (code < 0)
        return code;
    baro_summary_finish(j->summary);
    baro_summary_set_carbon(j->summary, carbon);
    return baro_verdicts_finish(j->verdicts, j->summary, err);
}

/* Returns the timeline; NULL: the tape has no phases. */
static struct baro_timeline *phases_of(struct baro_tape *tape)
{
    struct baro_timeline *t = NULL;
    baro_timeline_of_tape(tape, &t, NULL);
    return t;
}

static int print_summary(const struct cli *cli, const struct settings *s, struct baro_tape *tape,
                         const struct judged *j, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct buf text = {0};
    if (s->json) {
        int code = baro_verdicts_json(j->verdicts, j->summary, path, to_stdout, NULL, &err);
        if (code < 0 && !err.text[0])
            return cli_failf(cli, "can't write to standard output: %s", strerror(-code));
        return code < 0 ? cli_fail(cli, &err) : 0;
    }
    struct baro_timeline *timeline = phases_of(tape);
    struct report_style style = {.width = cli->width,
                                 .utf8 = cli->utf8,
                                 .color = cli->color,
                                 .curves = cli->tty,
                                 .timeline = timeline,
                                 .running = baro_tape_state(tape) == BARO_TAPE_RUNNING,
                                 .zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(tape)))};
    report_block(j->summary, path, style, &text);
    report_tasks_section(j->summary, cli->width, &text);
    report_verdicts(j->verdicts, style, &text);
    int status = cli_out(cli, &text);
    baro_timeline_free(timeline);
    buf_done(&text);
    return status;
}

int cmd_summary(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_tape *tape;
    struct judged judged = {0};
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    int status = reader_open(cli, argv[0], &tape, &path);
    if (status)
        return status;
    if (s->by == BY_PHASE)
        status = summary_phases(cli, s, tape, path.at);
    else if (s->by == BY_TASK)
        status = summary_tasks(cli, s, tape, path.at);
    else
        status = judge(&judged, tape, s->carbon, &err) < 0 ? cli_fail(cli, &err)
                                                           : print_summary(cli, s, tape, &judged, path.at);
    judged_done(&judged);
    baro_tape_close(tape);
    return status;
}
