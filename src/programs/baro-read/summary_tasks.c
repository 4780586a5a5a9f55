/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/summary_tasks.h"

#include "base/json.h"
#include "output/text/tasks.h"

static void put_fact(struct json *j, const struct baro_summary *s, int fact, size_t row)
{
    const struct baro_fact *of = baro_summary_fact(fact);
    struct baro_value v;
    baro_summary_value(s, fact, row, &v);
    json_key(j, of->name);
    if (v.absent)
        json_null(j);
    else if (of->type == BARO_FACT_TEXT)
        json_text(j, v.text);
    else if (of->type == BARO_FACT_REAL)
        json_double(j, v.real);
    else if (of->type == BARO_FACT_BOOLEAN)
        json_bool(j, v.u64);
    else
        json_u64(j, v.u64);
}

static void print_json(const struct baro_summary *s, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    const struct baro_section *section = baro_summary_section(baro_summary_section_find("tasks"));
    json_begin(&j, '{');
    json_key_text(&j, "tape", path);
    json_key_begin(&j, "tasks", '[');
    for (size_t row = 0; row < report_tasks_count(s); row++) {
        json_begin(&j, '{');
        for (int i = 0; i < section->fact_count; i++)
            put_fact(&j, s, section->first_fact + i, row);
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
        buf_str(&text, "no tasks; --task NAME=REGEX makes one (`baro help summary`)\n");
    int status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_summary_free(summary);
    return status;
}
