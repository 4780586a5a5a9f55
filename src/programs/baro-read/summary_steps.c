/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/summary_steps.h"

#include "output/rows/step_json.h"
#include "output/text/steps.h"

#define STEPS_SHOWN 15

static void print_json(const struct baro_steps *steps, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 2);
    json_key_text(&j, "tape", path);
    json_steps(steps, &j);
    json_end(&j, '}');
}

int summary_steps(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_steps *steps = NULL;
    struct buf text = {0};
    int status = 0, code = 0;
    if (baro_steps_of_tape(tape, &steps, &err) < 0)
        return cli_fail(cli, &err);
    if (s->json)
        print_json(steps, path, &text);
    else
        code = report_steps(steps, s->verbose ? 0 : STEPS_SHOWN, (unsigned)cli->width, cli->utf8, &text);
    if (code < 0)
        status = cli_failf(cli, "out of memory");
    else
        status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_steps_free(steps);
    return status;
}
