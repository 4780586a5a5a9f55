/* SPDX-License-Identifier: Apache-2.0 */
/* baro tasks: checks a task file, and says what is in it. */
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "programs/baro-tasks/json_lines.h"
#include "programs/common/cli.h"

static void put_tasks(const struct cli *cli, const struct job *job, struct buf *out)
{
    struct table t = {.columns = 3, .wrap = true};
    table_text(&t, "task");
    table_text(&t, "by");
    table_text(&t, "processes");
    for (size_t i = 0; i < job->n_items; i++) {
        const struct item *item = &job->items[i];
        const struct task *task = &job->tasks[item->task];
        bool first = i == 0 || job->items[i - 1].task != item->task;
        struct buf cell = {0};
        if (first)
            text_escaped(&cell, task->name, strlen(task->name));
        table_take(&t, &cell);
        table_text(&t, item_names[item->kind]);
        text_escaped(&cell, item->text, strlen(item->text));
        table_take(&t, &cell);
        buf_done(&cell);
    }
    table_print(&t, cli->table_width, out);
    table_done(&t);
}

int cmd_tasks(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct document d;
    struct job job = {0};
    struct buf out = {0};
    int code = document_read(&d, argv[0], s->in_folder, &err), status = 0;
    if (code == 0)
        code = job_check(&d, &job);
    if (code < 0 && s->json)
        job_error_line(err.text, &out);
    if (code == 0 && s->json)
        job_lines(&job, &out);
    if (code == 0 && !s->json)
        put_tasks(cli, &job, &out);
    if (out.len || out.failed)
        status = cli_out(cli, &out);
    if (code < 0)
        status = s->json ? CLI_FAILED : cli_fail(cli, &err);
    buf_done(&out);
    job_done(&job);
    document_done(&d);
    return status;
}
