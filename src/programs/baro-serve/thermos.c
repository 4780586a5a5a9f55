/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of the Thermos observer, for its clients. What it calls a task is a job; what it calls a process is a task
 * of a tape. A job without tasks has one process, its command. Values that the observer reports as 0 because it does
 * not know them are null here.
 */
#include <string.h>

#include "baro/baro.h"
#include "base/span.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/job_row.h"
#include "programs/baro-serve/server.h"
#include "programs/baro-serve/thermos_used.h"
#include "programs/baro-serve/thermos_view.h"

#define NUMBER 20
#define NUMBER_MOST 1000
#define TASKS 100u /* most tasks in one answer */

/* ---- documents ---- */

static void write_names(struct json *j, const struct view *v, const char *as, const char *state)
{
    json_key_begin(j, as, '[');
    for (size_t i = 0; i < v->n; i++) {
        if (strcmp(view_process_state(v, &v->named[i]), state) == 0)
            json_text(j, v->named[i].name);
    }
    json_end(j, ']');
}

/* Writes a time; null if the tape cannot be read. */
static void put_time(struct json *j, const char *key, const struct view *v, double seconds)
{
    json_key(j, key);
    if (v->start_ns)
        json_double(j, seconds);
    else
        json_text(j, NULL);
}

/* Writes the members that a task and its row in a list have in common. */
static void put_head(struct json *j, const struct view *v)
{
    bool is_active = strcmp(view_state(v), "ACTIVE") == 0;
    json_key_text(j, "task_id", v->job->id);
    json_key_text(j, "name", v->title);
    put_time(j, "launch_timestamp", v, (double)v->start_ns / 1e9);
    json_key_text(j, "state", view_state(v));
    put_time(j, "state_timestamp", v, is_active ? (double)v->start_ns / 1e9 : view_end_s(v));
    json_key_begin(j, "ports", '{');
    json_end(j, '}');
    json_key(j, "resource_consumption");
    observer_write_used(j, v, NULL);
}

static void write_task(struct request *q, struct job *job, struct json *j)
{
    struct view v;
    view_begin(q, job, &v);
    json_begin(j, '{');
    put_head(j, &v);
    json_key_text(j, "user", v.user);
    json_key(j, "result");
    row_result(j, &v.end);
    json_key_begin(j, "processes", '{');
    write_names(j, &v, "waiting", "WAITING");
    write_names(j, &v, "running", "RUNNING");
    write_names(j, &v, "success", "SUCCESS");
    write_names(j, &v, "failed", "FAILED");
    write_names(j, &v, "killed", "KILLED");
    write_names(j, &v, "lost", "LOST");
    json_end(j, '}');
    json_end(j, '}');
    view_done(&v);
}

/* Writes a process. return_code is negative for a signal. */
static void write_process(const struct view *v, const struct named *p, struct json *j)
{
    const char *state = view_process_state(v, p);
    bool is_running = strcmp(state, "RUNNING") == 0, waits = strcmp(state, "WAITING") == 0;
    json_begin(j, '{');
    json_key_text(j, "process_name", p->name);
    json_key_u64(j, "process_run", 0);
    json_key_text(j, "state", state);
    if (!waits && p->begin_s > 0)
        json_key_double(j, "start_time", p->begin_s);
    if (!waits && !is_running && p->end_s > 0) {
        json_key_double(j, "stop_time", p->end_s);
    }
    if (!waits && !is_running && p->has_status)
        json_key_i64(j, "return_code", p->signal ? -p->signal : p->code);
    if (is_running) {
        json_key(j, "used");
        observer_write_used(j, v, p->task);
    }
    json_end(j, '}');
}

/* ---- handlers ---- */

/* Makes the filter of active, finished or all tasks. A recording of the machine is no task. */
static bool filter_of(const char *which, struct job_filter *ret)
{
    *ret = (struct job_filter){.state = strcmp(which, "active") == 0 ? (int)JOB_RUNNING : -1,
                               .is_over = strcmp(which, "finished") == 0,
                               .no_machine = true};
    return ret->state >= 0 || ret->is_over || strcmp(which, "all") == 0;
}

/* Counts tasks. Returns false if the request has failed, because memory ran out. */
static bool count_tasks(struct request *q, const char *which, uint64_t *ret)
{
    struct job_filter filter;
    struct job_list l = {0};
    filter_of(which, &filter);
    bool ok = catalogue_list(q->server->catalogue, &filter, 0, 0, &l) >= 0;
    *ret = l.total;
    job_list_done(q->server->catalogue, &l);
    if (!ok)
        request_fail(q, 503, "no_memory", "out of memory");
    return ok;
}

void observer_count(struct request *q)
{
    static const char *const which[] = {"active", "finished", "all"};
    uint64_t n[sizeof(which) / sizeof(*which)];
    struct json j = {.out = &q->out};
    for (size_t i = 0; i < sizeof(which) / sizeof(*which); i++) {
        if (!count_tasks(q, which[i], &n[i]))
            return;
    }
    json_begin(&j, '{');
    for (size_t i = 0; i < sizeof(which) / sizeof(*which); i++)
        json_key_u64(&j, which[i], n[i]);
    json_end(&j, '}');
    request_json_end(q);
}

static bool number_of(struct request *q, const char *text, int64_t otherwise, int64_t *ret)
{
    struct span s = span_str(text);
    *ret = otherwise;
    if (!*text || (scan_i64(&s, ret) && !s.len && *ret >= INT32_MIN && *ret <= INT32_MAX))
        return true;
    request_fail(q, 400, "bad_parameter", "offset and number are numbers");
    return false;
}

/* Writes a row. It has what the task uses twice, in an object and as members of its own: some clients read the one,
 * some the other. */
static void write_row(struct request *q, struct job *job, struct json *j)
{
    struct view v;
    view_begin(q, job, &v);
    json_begin(j, '{');
    put_head(j, &v);
    json_key_text(j, "role", v.user);
    observer_put_used(j, &v, NULL);
    json_end(j, '}');
    view_done(&v);
}

static void write_ids(struct request *q, const char *which, const struct job_list *l, uint64_t offset, uint64_t number)
{
    struct json j = {.out = &q->out};
    json_begin(&j, '{');
    json_key_begin(&j, "task_ids", '[');
    for (size_t i = 0; i < l->n; i++)
        json_text(&j, l->at[i]->id);
    json_end(&j, ']');
    json_key_begin(&j, "tasks", '[');
    for (size_t i = 0; i < l->n; i++)
        write_row(q, l->at[i], &j);
    json_end(&j, ']');
    json_key_text(&j, "type", which);
    json_key_u64(&j, "offset", offset);
    json_key_u64(&j, "num", number);
    json_key_u64(&j, "task_count", l->total);
    json_end(&j, '}');
    request_json_end(q);
}

/* A negative offset counts from the end, as in the observer: -20 means the last 20 of 50 tasks, and all of 15. */
static uint64_t offset_of(int64_t offset, uint64_t total)
{
    if (offset >= 0)
        return (uint64_t)offset;
    return (uint64_t)-offset < total ? total - (uint64_t)-offset : 0;
}

void observer_task_ids(struct request *q)
{
    const char *which = *q->part[0] ? q->part[0] : "all";
    struct catalogue *c = q->server->catalogue;
    struct job_filter filter;
    struct job_list l;
    int64_t offset, number;
    if (!number_of(q, q->part[1], 0, &offset) || !number_of(q, q->part[2], NUMBER, &number))
        return;
    if (!filter_of(which, &filter)) {
        request_fail(q, 404, "not_found", "tasks are all, active or finished");
        return;
    }
    number = number < 0 ? 0 : number < NUMBER_MOST ? number : NUMBER_MOST;
    uint64_t total = 0;
    if (offset < 0 && !count_tasks(q, which, &total))
        return;
    uint64_t from = offset_of(offset, total);
    if (catalogue_list(c, &filter, from, (uint64_t)number, &l) < 0) {
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    write_ids(q, which, &l, from, (uint64_t)number);
    job_list_done(c, &l);
}

/* Calls fn for each job of a list of ids with commas between them. Unknown ids are left out. */
static void each_job(struct request *q, const char *ids, struct json *j,
                     void (*fn)(struct request *q, struct job *job, struct json *j))
{
    char id[1024]; /* enough for the longest file name, escaped */
    json_begin(j, '{');
    for (size_t n = 0; n < TASKS && *ids; n++) {
        size_t len = strcspn(ids, ",");
        if (len && len < sizeof(id)) {
            memcpy(id, ids, len);
            id[len] = 0;
            struct job *job = catalogue_find(q->server->catalogue, id);
            if (job) {
                json_key(j, job_id(job));
                fn(q, job, j);
                job_release(q->server->catalogue, job);
            }
        }
        ids += len + (ids[len] == ',');
    }
    json_end(j, '}');
}

void observer_tasks(struct request *q)
{
    struct json j = {.out = &q->out};
    const char *ids = request_param(q, "task_id");
    each_job(q, ids ? ids : "", &j, write_task);
    request_json_end(q);
}

void observer_task(struct request *q)
{
    struct json j = {.out = &q->out};
    each_job(q, q->part[0], &j, write_task);
    request_json_end(q);
}

static void write_processes(struct request *q, struct job *job, struct json *j)
{
    struct view v;
    view_begin(q, job, &v);
    json_begin(j, '{');
    for (size_t i = 0; i < v.n; i++) {
        json_key(j, v.named[i].name ? v.named[i].name : "");
        write_process(&v, &v.named[i], j);
    }
    json_end(j, '}');
    view_done(&v);
}

void observer_processes(struct request *q)
{
    struct json j = {.out = &q->out};
    const char *ids = request_param(q, "task_ids");
    ids = ids ? ids : request_param(q, "task_id");
    each_job(q, ids ? ids : "", &j, write_processes);
    request_json_end(q);
}

/* Finds a process by NAME or NAME/RUN. Names may have slashes, so "load/0" may be a name, or run 0 of "load", which is
 * its only run; run -1 is the last one. text "": the first process. */
static const struct named *find_named(const struct view *v, const char *text)
{
    const char *slash = strrchr(text, '/');
    size_t len = slash && (strcmp(slash, "/0") == 0 || strcmp(slash, "/-1") == 0) ? (size_t)(slash - text) : 0;
    const struct named *found = NULL;
    for (size_t i = 0; i < v->n; i++) {
        const struct named *p = &v->named[i];
        if (!p->name)
            continue;
        if (!*text || strcmp(p->name, text) == 0)
            return p;
        if (!found && len && strncmp(p->name, text, len) == 0 && !p->name[len])
            found = p;
    }
    return found;
}

/* If there is no such task, process or run, writes an empty object, as the observer does. */
void observer_process(struct request *q)
{
    struct json j = {.out = &q->out};
    struct view v;
    const struct named *found = NULL;
    struct job *job = catalogue_find(q->server->catalogue, q->part[0]);
    if (job) {
        view_begin(q, job, &v);
        found = find_named(&v, q->part[1]);
        if (found)
            write_process(&v, found, &j);
        view_done(&v);
        job_release(q->server->catalogue, job);
    }
    if (!found) {
        json_begin(&j, '{');
        json_end(&j, '}');
    }
    request_json_end(q);
}
