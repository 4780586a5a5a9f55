/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/task_row.h"

#include <errno.h>
#include <stdlib.h>

#include "job/task.h"

void task_row_init(struct task_row *r, struct sampling *sampling)
{
    *r = (struct task_row){.sampling = sampling, .table = {.kind = KIND_task}};
}

/* The texts of its rules, for people: "\bgulpy\b, gulmc". */
static void label_of(const struct rules *rules, size_t task, struct buf *ret)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->at[i].task != task)
            continue;
        if (ret->len)
            buf_str(ret, ", ");
        buf_str(ret, rules->at[i].text);
    }
    buf_byte(ret, 0);
}

int task_row_use(struct task_row *r, const struct rules *rules)
{
    struct job *job = r->sampling->job;
    size_t n = rules->n_tasks;
    r->value = calloc(n, sizeof(*r->value));
    r->absent = calloc(n, sizeof(*r->absent));
    if (!r->value || !r->absent || job_use_tasks(job, n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct buf label = {0};
        label_of(rules, i, &label);
        const struct baro_entity *e = label.failed ? NULL
                                                   : entity_add(&r->table, &r->sampling->entity_ids, rules->task[i],
                                                                (const char *)label.at);
        buf_done(&label);
        if (!e)
            return -ENOMEM;
        job->tasks[i].id = e->id;
    }
    return 0;
}

/* ---- the row ---- */

static bool tick(void *state, const struct collector_tick *t)
{
    struct task_row *r = state;
    if (!r->table.n)
        return false;
    struct job *job = r->sampling->job;
    job->commands_unknown = !r->selector || !select_commands_unread(r->selector, &job->commands_unread);
    job_task_values(r->sampling->job, t->now_ns, r->value, r->absent);
    for (size_t i = 0; i < r->table.n; i++) {
        struct baro_entity *e = r->table.at[i];
        for (int k = 0; k < TASK_MAX; k++) {
            if (r->absent[i][k])
                entity_lack(e, k, (enum baro_absent)r->absent[i][k]);
            else
                entity_put(e, k, r->value[i][k]);
        }
    }
    t->sample->entities[KIND_task] = entity_view(&r->table);
    t->sample->entities[KIND_task].read_ns = t->now_ns;
    return true;
}

static int32_t pid_of_helper(void *state)
{
    const struct task_row *r = state;
    return r->selector ? select_pid(r->selector) : 0;
}

static void cost(void *state, struct collector_cost *ret)
{
    const struct task_row *r = state;
    if (r->selector)
        ret->cpu_ns = select_cpu_ns(r->selector);
}

static void finish(void *state)
{
    const struct task_row *r = state;
    select_end(r->selector);
}

static void close_tasks(void *state, bool exiting)
{
    struct task_row *r = state;
    if (exiting)
        return;
    entity_table_done(&r->table);
    free(r->value);
    free(r->absent);
    r->value = NULL;
    r->absent = NULL;
}

const struct collector task_collector = {
    .name = "tasks",
    .kinds = COLLECTOR_KIND(KIND_task),
    .tick = tick,
    .helper = pid_of_helper,
    .cost = cost,
    .finish = finish,
    .close = close_tasks,
};
