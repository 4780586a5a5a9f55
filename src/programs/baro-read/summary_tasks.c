/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/summary_tasks.h"

#include "output/rows/csv_json.h"
#include "output/text/tasks.h"

static void print_json(const struct baro_summary *s, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    const struct baro_section *section = baro_summary_section(baro_summary_section_find("tasks"));
    json_begin(&j, '{');
    json_key_text(&j, "tape", path);
    json_key_begin(&j, "tasks", '[');
    for (size_t row = 0; row < report_tasks_count(s); row++) {
        json_begin(&j, '{');
        for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
            struct baro_value v;
            baro_summary_value(s, i, row, &v);
            json_fact(&j, baro_summary_fact(i), &v);
        }
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

int summary_tasks(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_summary *summary = NULL;
    struct buf text = {0};
    if (baro_summary_of_tape(tape, &summary, &err) < 0)
        return cli_fail(cli, &err);
    if (s->json)
        print_json(summary, path, &text);
    else if (report_tasks_count(summary))
        report_tasks_text(summary, cli->width, &text);
    else
        buf_str(&text, "no tasks; `baro help record` says how --match names them\n");
    int status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_summary_free(summary);
    return status;
}
