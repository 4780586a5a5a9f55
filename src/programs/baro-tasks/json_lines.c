/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-tasks/json_lines.h"

#include "base/json.h"

static void put_place(struct json *j, const yaml_node_t *at)
{
    json_key_u64(j, "line", document_line(at));
    json_key_u64(j, "column", document_column(at));
}

static void put_task(struct json *j, const struct task *t)
{
    json_begin(j, '{');
    json_key_exact(j, "task", t->name);
    put_place(j, t->at);
    if (t->on)
        json_key_exact(j, "on", t->on);
    if (t->children)
        json_key_bool(j, "children", true);
    if (t->has_uid) {
        json_key_u64(j, "uid", t->uid);
    }
    json_end(j, '}');
}

void job_lines(const struct job *job, struct buf *out)
{
    if (job->name) {
        struct json j = {.out = out};
        json_begin(&j, '{');
        json_key_exact(&j, "job", job->name);
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
            json_key_exact(&one, item_names[item->kind], item->text);
            put_place(&one, item->at);
            json_end(&one, '}');
        }
    }
}

void job_error_line(const char *text, struct buf *out)
{
    struct json j = {.out = out};
    json_begin(&j, '{');
    json_key_exact(&j, "error", text);
    json_end(&j, '}');
}
