/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/summary_tasks.h"

#include "base/json.h"
#include "output/rows/csv_json.h"
#include "output/text/tasks.h"

/* Which numbers of a task may be off. */
static void put_marks(struct json *j, const struct baro_summary *s, const struct baro_section *section, size_t row)
{
    struct baro_value v;
    json_key_begin(j, "marks", '{');
    for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
        baro_summary_value(s, i, row, &v);
        if (baro_value_mark(v.flags))
            json_key_text(j, baro_summary_fact(i)->name, baro_value_mark(v.flags));
    }
    json_end(j, '}');
}

static void print_json(const struct baro_summary *s, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    const struct baro_section *section = baro_summary_section(baro_summary_section_find("tasks"));
    json_begin(&j, '{');
    json_key_u64(&j, "format", 2);
    json_key_text(&j, "tape", path);
    json_key_begin(&j, "tasks", '[');
    for (size_t row = 0; row < report_tasks_count(s); row++) {
        json_begin(&j, '{');
        for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
            struct baro_value v;
            baro_summary_value(s, i, row, &v);
            json_fact(&j, baro_summary_fact(i), &v);
        }
        put_marks(&j, s, section, row);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

int summary_tasks(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_fold *fold = NULL;
    struct buf text = {0};
    if (baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, &err) < 0)
        return cli_fail(cli, &err);
    const struct baro_summary *summary = baro_fold_summary(fold);
    if (s->json)
        print_json(summary, path, &text);
    else if (report_tasks_count(summary))
        report_tasks_text(summary, cli->width, cli->utf8, &text);
    else
        buf_str(&text, "no tasks; --task NAME=REGEX makes one (`baro help summary`)\n");
    int status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_fold_free(fold);
    return status;
}
