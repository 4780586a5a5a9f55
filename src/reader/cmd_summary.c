/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "reader/reader.h"
#include "report/report.h"
#include "command/zone.h"

static int to_stdout(void *context, const char *text, size_t len)
{
    (void)context;
    return fd_write_all(STDOUT_FILENO, text, len, NULL);
}

static int print(const struct cli *cli, const struct settings *s, const struct baro_tape *tape,
                 const struct baro_summary *summary, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct buf text = {0};
    if (s->json) {
        int code = baro_summary_json(summary, path, to_stdout, NULL, &err);
        if (code < 0 && !err.text[0])
            return cli_failf(cli, "can't write to standard output: %s", error_text(-code));
        return code < 0 ? cli_fail(cli, &err) : 0;
    }
    struct report_style style = {.width = cli->width,
                                 .utf8 = cli->utf8,
                                 .color = cli->color,
                                 .curves = cli->tty,
                                 .running = baro_tape_state(tape) == BARO_TAPE_RUNNING,
                                 .zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(tape)))};
    report_block(summary, path, style, &text);
    int status = cli_out(cli, &text);
    buf_done(&text);
    return status;
}

int cmd_summary(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_tape *tape;
    struct baro_summary *summary;
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    int status = reader_open(cli, argv[0], &tape, &path);
    if (status)
        return status;
    if (baro_summary_of_tape(tape, &summary, &err) < 0) {
        status = cli_fail(cli, &err);
    } else {
        status = print(cli, s, tape, summary, path.at);
        baro_summary_free(summary);
    }
    baro_tape_close(tape);
    return status;
}
