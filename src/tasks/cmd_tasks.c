/* SPDX-License-Identifier: Apache-2.0 */
/* baro tasks: checks a task file, and says what is in it. */
#include "base/json.h"
#include "command/cli.h"
#include "encode/escaped.h"
#include "encode/table.h"
#include "tasks/check.h"

/* ---- as JSON lines, for select/task_file.c ---- */

static void put_place(struct json *j, const yaml_node_t *at)
{
    json_key(j, "line");
    json_u64(j, document_line(at));
    json_key(j, "column");
    json_u64(j, document_column(at));
}

static void put_key(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_exact(j, text);
}

static void put_task(struct json *j, const struct task *t)
{
    json_begin(j, '{');
    put_key(j, "task", t->name);
    put_place(j, t->at);
    if (t->on)
        put_key(j, "on", t->on);
    if (t->children) {
        json_key(j, "children");
        json_bool(j, true);
    }
    if (t->has_uid) {
        json_key(j, "uid");
        json_u64(j, t->uid);
    }
    json_end(j, '}');
}

static void put_lines(const struct job *job, struct buf *out)
{
    if (job->name) {
        struct json j = {.out = out};
        json_begin(&j, '{');
        put_key(&j, "job", job->name);
        json_end(&j, '}');
    }
    for (size_t i = 0; i < job->n_tasks; i++) {
        struct json j = {.out = out};
        put_task(&j, &job->tasks[i]);
        for (size_t k = 0; k < job->n_items; k++) {
            const struct item *item = &job->items[k];
            struct json one = {.out = out};
            if (item->task != i)
                continue;
            json_begin(&one, '{');
            put_key(&one, item_names[item->kind], item->text);
            put_place(&one, item->at);
            json_end(&one, '}');
        }
    }
}

static void put_error(const char *text, struct buf *out)
{
    struct json j = {.out = out};
    json_begin(&j, '{');
    put_key(&j, "error", text);
    json_end(&j, '}');
}

/* ---- as text ---- */

static void put_text(const struct cli *cli, const struct job *job, struct buf *out)
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
    table_print(&t, cli->width, out);
    table_done(&t);
}

int cmd_tasks(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct document d;
    struct job job = {0};
    struct buf out = {0};
    int code = document_read(&d, argv[0], &err), status = 0;
    if (code == 0)
        code = job_check(&d, &job);
    if (code < 0 && s->json)
        put_error(err.text, &out);
    if (code == 0 && s->json)
        put_lines(&job, &out);
    if (code == 0 && !s->json)
        put_text(cli, &job, &out);
    if (out.len)
        status = cli_out(cli, &out);
    if (code < 0)
        status = s->json ? CLI_FAILED : cli_fail(cli, &err);
    buf_done(&out);
    job_done(&job);
    document_done(&d);
    return status;
}
