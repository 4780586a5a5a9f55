/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/summary_tasks.h"

#include "base/json.h"
#include "report/tasks.h"

static int read_tasks(struct report_tasks *t, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_record record;
    int code = 0;
    while (baro_tape_kind_find(tape, "task") >= 0 && (code = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE)
            report_tasks_add(t, record.u.sample);
    }
    return code;
}

static void print_text(const struct cli *cli, const struct report_tasks *tasks, struct buf *ret)
{
    if (report_tasks_count(tasks))
        report_tasks_text(tasks, cli->width, ret);
    else
        buf_str(ret, "no tasks; `baro help record` says how --match names them\n");
}

static void print_json(const struct report_tasks *tasks, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '{');
    json_key(&j, "tape");
    json_text(&j, path);
    json_key(&j, "tasks");
    report_tasks_json(tasks, &j);
    json_end(&j, '}');
}

int summary_tasks(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct buf text = {0};
    struct report_tasks *tasks = report_tasks_new(baro_tape_kind_find(tape, "task"));
    int status;
    if (!tasks)
        return cli_failf(cli, "out of memory");
    if (read_tasks(tasks, tape, &err) < 0) {
        status = cli_fail(cli, &err);
    } else {
        if (s->json)
            print_json(tasks, path, &text);
        else
            print_text(cli, tasks, &text);
        status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    }
    buf_done(&text);
    report_tasks_free(tasks);
    return status;
}
