/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/task_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "libbaro/rules/task_fold.h"
#include "recorder/job/task.h"

void task_row_init(struct task_row *r, struct sampling *sampling)
{
    *r = (struct task_row){.sampling = sampling, .table = {.kind = KIND_task}};
}

/* Makes the label of a task for people, which says how its processes are selected: "\bgulpy\b, gulmc", "pid 1234",
 * "/run/gulpy.pid". */
static void label_of(const struct select_options *o, size_t task, struct buf *ret)
{
    for (size_t i = 0; i < o->rules->n; i++) {
        if (o->rules->at[i].task != task)
            continue;
        buf_str(ret, ret->len ? ", " : "");
        buf_str(ret, o->rules->at[i].text);
    }
    for (size_t i = 0; i < o->n_pins; i++) {
        const struct pin *pin = &o->pins[i];
        if (pin->task != task + 1)
            continue;
        buf_str(ret, ret->len ? ", " : "");
        if (pin->kind == PIN_PID)
            buf_printf(ret, "pid %d", (int)pin->pid);
        else
            buf_printf(ret, "%s%s", pin->kind == PIN_GROUP ? "cgroup " : "", pin->path);
    }
    buf_byte(ret, 0);
}

static int add_group(struct task_row *r, struct pin *pin, int root_fd, struct baro_error *err)
{
    struct task_group *g = calloc(1, sizeof(*g));
    if (!g)
        return error_set(err, -ENOMEM, "out of memory");
    g->task = pin->task - 1u;
    g->next = r->groups;
    g->meter.fd = g->meter.split_fd = -1;
    r->groups = g;
    int code = cgroup_target(root_fd, pin->path, &g->places, err);
    if (code < 0)
        return code;
    pin->place = &g->places.at[0];
    if (cgroup_meter_open(&g->meter, root_fd, &g->places, r->sampling->job->ns_per_tick) == 0)
        cgroup_meter_read(&g->meter, &g->base);
    r->sampling->job->tasks[g->task].is_group = true;
    return 0;
}

static int add_pins(struct task_row *r, const struct select_options *o, int root_fd, struct baro_error *err)
{
    int code = 0;
    r->pins = calloc(o->n_pins + 1, sizeof(*r->pins));
    if (!r->pins)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < o->n_pins && code == 0; i++) {
        r->pins[i] = o->pins[i];
        if (o->pins[i].kind == PIN_GROUP)
            code = add_group(r, &r->pins[i], root_fd, err);
    }
    return code;
}

int task_row_use(struct task_row *r, const struct select_options *o, int root_fd, bool selects, struct baro_error *err)
{
    struct job *job = r->sampling->job;
    const struct rules *rules = o->rules;
    size_t n = rules->n_tasks;
    if (job_use_tasks(job, n, selects) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < rules->n; i++)
        job->tasks[rules->at[i].task].has_rules = true;
    for (size_t i = 0; i < n; i++) {
        struct buf label = {0};
        label_of(o, i, &label);
        const struct baro_entity *e =
            label.failed ? NULL
                         : entity_add(&r->table, &r->sampling->entity_ids, rules->task[i].name, (const char *)label.at);
        buf_done(&label);
        if (!e)
            return error_set(err, -ENOMEM, "out of memory");
        job->tasks[i].id = e->id;
    }
    return add_pins(r, o, root_fd, err);
}

static uint64_t used(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* Reads what the kernel has counted for the groups of the tasks since the recording began. A group may have been
 * removed. */
static void count_groups(struct task_row *r)
{
    struct job *job = r->sampling->job;
    for (const struct task_group *g = r->groups; g; g = g->next)
        job->tasks[g->task].group_now = (struct job_group){0};
    for (struct task_group *g = r->groups; g; g = g->next) {
        struct cgroup_reading now;
        struct job_group *sum = &job->tasks[g->task].group_now;
        if (g->meter.fd >= 0 && cgroup_meter_read(&g->meter, &now) == 0) {
            cgroup_reading_advance(&g->last, &now);
            g->counted_ns = now.user_ns + now.system_ns;
        }
        sum->known = g->meter.fd >= 0;
        sum->user_ns += used(g->last.user_ns, g->base.user_ns);
        sum->system_ns += used(g->last.system_ns, g->base.system_ns);
    }
}

int task_row_name(struct task_row *r, const char *name)
{
    struct job *job = r->sampling->job;
    for (size_t i = 0; i < r->table.n; i++) {
        if (strcmp(r->table.at[i]->name, name) == 0)
            return (int)i + 1;
    }
    if (job->n_tasks >= JOB_TASKS_MOST)
        return -ENOMEM;
    struct baro_entity *e = entity_add(&r->table, &r->sampling->entity_ids, name, "");
    if (!e)
        return -ENOMEM;
    int task = job_add_task(job, e->id);
    if (task < 0)
        entity_remove(&r->table, e);
    return task;
}

/* ---- the row ---- */

/* The kernel's count of a group includes processes that were never seen. */
static void put_group(struct baro_entity *e, const struct job_task *t)
{
    entity_put(e, TASK_cpu, t->group_now.user_ns + t->group_now.system_ns);
    entity_put(e, TASK_cpu_user, t->group_now.user_ns);
    entity_put(e, TASK_cpu_system, t->group_now.system_ns);
    entity_put(e, TASK_processes_unread, 0);
}

static void put_unread(struct baro_entity *e, const struct job *j, const struct job_task *t)
{
    bool unknown =
        t->has_rules || j->selected ? j->commands_unknown || t->is_group : !j->source.events || j->source.lossy;
    if (unknown)
        entity_lack(e, TASK_commands_unread, BARO_ABSENT_UNKNOWN);
    else
        entity_put(e, TASK_commands_unread, t->commands_unread);
    if (unknown || t->commands_unsized)
        entity_lack(e, TASK_commands_unread_cpu, BARO_ABSENT_UNKNOWN);
    else
        entity_put(e, TASK_commands_unread_cpu, t->commands_unread_cpu);
}

/* Example: `baro run --task load -- sh -c 'exit 9'`: exit_code 9, exit_signal 0. */
static void put_status(struct baro_entity *e, const struct job_task *t)
{
    bool is_killed = WIFSIGNALED(t->wait_status);
    if (is_killed)
        entity_lack(e, TASK_exit_code, BARO_ABSENT_UNKNOWN);
    else
        entity_put(e, TASK_exit_code, (uint64_t)WEXITSTATUS(t->wait_status));
    entity_put(e, TASK_exit_signal, is_killed ? (uint64_t)WTERMSIG(t->wait_status) : 0);
}

static bool tick_tasks(void *state, const struct collector_tick *t)
{
    struct task_row *r = state;
    if (!r->table.n)
        return false;
    struct job *job = r->sampling->job;
    count_groups(r);
    job->commands_unknown = !r->selector || !select_reports_unread(r->selector);
    job_count_groups(job);
    for (size_t i = 0; i < r->table.n; i++) {
        struct baro_entity *e = r->table.at[i];
        for (int k = 0; k < TASK_MAX; k++)
            entity_lack(e, k, TASK_OF_READERS);
        if (job->tasks[i].group_now.known)
            put_group(e, &job->tasks[i]);
        put_unread(e, job, &job->tasks[i]);
        if (job->tasks[i].has_status)
            put_status(e, &job->tasks[i]);
    }
    t->sample->entities[KIND_task] = entity_view(&r->table);
    t->sample->entities[KIND_task].read_ns = t->now_ns;
    return true;
}

/* Has no group's count changed? Processes may have run since the last sample, and have ended or left the group. */
static bool tasks_are_quiet(void *state, uint64_t now_ns)
{
    const struct task_row *r = state;
    (void)now_ns;
    for (const struct task_group *g = r->groups; g; g = g->next) {
        struct cgroup_reading now;
        if (g->meter.fd >= 0 && cgroup_meter_read(&g->meter, &now) == 0 && now.user_ns + now.system_ns != g->counted_ns)
            return false;
    }
    return true;
}

static struct worker *worker_of_tasks(const void *state)
{
    const struct task_row *r = state;
    return sampling_is_shared(r->sampling) ? NULL : select_worker(r->selector);
}

static void close_tasks(void *state)
{
    struct task_row *r = state;
    while (r->groups) {
        struct task_group *g = r->groups;
        r->groups = g->next;
        cgroup_meter_close(&g->meter);
        free(g);
    }
    free(r->pins);
    r->pins = NULL;
    entity_table_done(&r->table);
}

const struct collector task_collector = {
    .name = "tasks",
    .kinds = COLLECTOR_KIND(KIND_task),
    .tick = tick_tasks,
    .is_quiet = tasks_are_quiet,
    .worker = worker_of_tasks,
    .close = close_tasks,
};
