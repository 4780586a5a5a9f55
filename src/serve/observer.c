/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of the Thermos observer, for clients that it has. A job is what it calls a task, and a task of a tape is
 * what it calls a process; a job without tasks has one process, its command. What it reports as 0 because it does not
 * know it is null here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/baro.h"
#include "base/span.h"
#include "serve/observer_used.h"
#include "serve/route.h"
#include "serve/row.h"
#include "serve/server.h"

#define NUMBER 20u
#define TASKS 100u /* in one request */

/* ---- states ---- */

/* LOST: how it ended, or whether it has, is not known. */
static const char *task_state(enum job_state state, const struct baro_tape_end *end)
{
    if (state == JOB_RUNNING || state == JOB_NEW)
        return "ACTIVE";
    if (state == JOB_ENDED && end->ended && end->status_known)
        return WIFSIGNALED(end->status) ? "KILLED" : end->status ? "FAILED" : "SUCCESS";
    return "LOST";
}

/* The names of the processes of a job. */
struct named {
    char *name;
    bool has_begun, lives;
    size_t task; /* its position; SIZE_MAX: the job itself */
};

static const char *process_state(enum job_state state, const struct baro_tape_end *end, const struct named *p)
{
    const char *task = task_state(state, end);
    if (strcmp(task, "ACTIVE") == 0)
        return p->lives ? "RUNNING" : p->has_begun ? "LOST" : "WAITING";
    return task;
}

/* Called with the lock of the job. */
static size_t find_named(const struct job *job, const char *title, struct named *ret, size_t most)
{
    int kind = baro_kind_find("task"), processes = baro_metric_find(kind, "processes", 9);
    int started = baro_metric_find(kind, "processes_started", 17);
    size_t n = job->now ? baro_sample_entity_count(job->now, kind) : 0, k = 0;
    for (size_t i = 0; i < n && k < most; i++) {
        const struct baro_entity *e = baro_sample_entity(job->now, kind, i);
        uint64_t living = 0, all = 0;
        baro_entity_value(e, processes, &living);
        baro_entity_value(e, started, &all);
        ret[k++] = (struct named){strdup(baro_entity_name(e)), all > 0, living > 0, i};
    }
    if (!n && most)
        ret[k++] = (struct named){strdup(title), true, true, SIZE_MAX};
    return k;
}

struct view {
    enum job_state state;
    struct baro_tape_end end;
    struct named named[TASKS];
    size_t n;
    char *title;
    int64_t start_ns;
};

/* Takes what is known of a job; its lock is held from then on until view_done(). */
static void view_begin(struct request *q, struct job *job, struct view *v)
{
    *v = (struct view){.state = job_state(q->server->catalogue, job)};
    v->title = job_title(q->server->catalogue, job, &v->start_ns);
    pthread_mutex_lock(&job->lock);
    v->end = job->end;
    v->n = find_named(job, v->title ? v->title : "", v->named, TASKS);
}

static void view_done(struct job *job, struct view *v)
{
    pthread_mutex_unlock(&job->lock);
    for (size_t i = 0; i < v->n; i++)
        free(v->named[i].name);
    free(v->title);
}

static double end_time(const struct view *v)
{
    uint64_t end_ns = v->end.end_ns > v->end.last_ns ? v->end.end_ns : v->end.last_ns;
    return ((double)v->start_ns + (double)end_ns) / 1e9;
}

/* ---- documents ---- */

static void write_names(struct json *j, const struct view *v, const char *as, const char *state)
{
    json_key(j, as);
    json_begin(j, '[');
    for (size_t i = 0; i < v->n; i++) {
        if (strcmp(process_state(v->state, &v->end, &v->named[i]), state) == 0)
            json_text(j, v->named[i].name);
    }
    json_end(j, ']');
}

static void write_task(struct request *q, struct job *job, struct json *j)
{
    struct view v;
    view_begin(q, job, &v);
    const char *state = task_state(v.state, &v.end);
    json_begin(j, '{');
    json_key(j, "task_id");
    json_text(j, job->id);
    json_key(j, "name");
    json_text(j, v.title);
    json_key(j, "user");
    if (job->tape) {
        char user[16];
        snprintf(user, sizeof(user), "%u", baro_header_uid(baro_tape_header(job->tape)));
        json_text(j, user);
    } else {
        json_null(j);
    }
    json_key(j, "launch_timestamp");
    json_double(j, (double)v.start_ns / 1e9);
    json_key(j, "state");
    json_text(j, state);
    json_key(j, "result");
    row_result(j, &v.end);
    json_key(j, "state_timestamp");
    json_double(j, strcmp(state, "ACTIVE") == 0 ? (double)v.start_ns / 1e9 : end_time(&v));
    json_key(j, "ports");
    json_begin(j, '{');
    json_end(j, '}');
    json_key(j, "resource_consumption");
    observer_write_used(j, job, NULL);
    json_key(j, "processes");
    json_begin(j, '{');
    write_names(j, &v, "waiting", "");
    write_names(j, &v, "running", "RUNNING");
    write_names(j, &v, "success", "SUCCESS");
    write_names(j, &v, "failed", "FAILED");
    write_names(j, &v, "killed", "KILLED");
    write_names(j, &v, "lost", "LOST");
    json_end(j, '}');
    json_end(j, '}');
    view_done(job, &v);
}

static void write_process(const struct job *job, const struct view *v, const struct named *p, struct json *j)
{
    const char *state = process_state(v->state, &v->end, p);
    json_begin(j, '{');
    json_key(j, "process_name");
    json_text(j, p->name);
    json_key(j, "process_run");
    json_u64(j, 0);
    json_key(j, "state");
    json_text(j, state);
    json_key(j, "start_time");
    json_double(j, (double)v->start_ns / 1e9);
    if (v->state == JOB_ENDED) {
        json_key(j, "stop_time");
        json_double(j, end_time(v));
    }
    if (v->state == JOB_ENDED && v->end.status_known && WIFEXITED(v->end.status) && WEXITSTATUS(v->end.status)) {
        json_key(j, "return_code");
        json_u64(j, (uint64_t)WEXITSTATUS(v->end.status));
    }
    if (strcmp(state, "RUNNING") == 0) {
        json_key(j, "used");
        observer_write_used(j, job,
                   p->task == SIZE_MAX ? NULL : baro_sample_entity(job->now, baro_kind_find("task"), p->task));
    }
    json_end(j, '}');
}

/* ---- handlers ---- */

void observer_count(struct request *q)
{
    struct json j = {.out = &q->out};
    size_t n[JOB_STATES], all = 0;
    catalogue_count(q->server->catalogue, n);
    for (int i = 0; i < JOB_STATES; i++)
        all += n[i];
    json_begin(&j, '{');
    json_key(&j, "active");
    json_u64(&j, n[JOB_RUNNING]);
    json_key(&j, "finished");
    json_u64(&j, all - n[JOB_RUNNING]);
    json_key(&j, "all");
    json_u64(&j, all);
    json_end(&j, '}');
    request_json_end(q);
}

static bool number_of(struct request *q, const char *text, uint64_t otherwise, uint64_t *ret)
{
    struct span s = span_str(text);
    *ret = otherwise;
    if (!*text || (scan_u64(&s, ret) && !s.len && *ret <= UINT32_MAX))
        return true;
    request_fail(q, 400, "bad_parameter", "offset and number are numbers");
    return false;
}

static void write_row(struct request *q, struct job *job, struct json *j)
{
    struct view v;
    view_begin(q, job, &v);
    json_begin(j, '{');
    json_key(j, "task_id");
    json_text(j, job->id);
    json_key(j, "name");
    json_text(j, v.title);
    json_key(j, "launch_timestamp");
    json_double(j, (double)v.start_ns / 1e9);
    json_key(j, "state");
    json_text(j, task_state(v.state, &v.end));
    json_key(j, "resource_consumption");
    observer_write_used(j, job, NULL);
    json_end(j, '}');
    view_done(job, &v);
}

static void write_ids(struct request *q, const char *which, const struct job_list *l, uint64_t offset, uint64_t number)
{
    struct json j = {.out = &q->out};
    json_begin(&j, '{');
    json_key(&j, "task_ids");
    json_begin(&j, '[');
    for (size_t i = 0; i < l->n; i++)
        json_text(&j, l->at[i]->id);
    json_end(&j, ']');
    json_key(&j, "tasks");
    json_begin(&j, '[');
    for (size_t i = 0; i < l->n; i++)
        write_row(q, l->at[i], &j);
    json_end(&j, ']');
    json_key(&j, "type");
    json_text(&j, which);
    json_key(&j, "offset");
    json_u64(&j, offset);
    json_key(&j, "num");
    json_u64(&j, number);
    json_key(&j, "task_count");
    json_u64(&j, l->total);
    json_end(&j, '}');
    request_json_end(q);
}

void observer_task_ids(struct request *q)
{
    const char *which = *q->part[0] ? q->part[0] : "all";
    struct catalogue *c = q->server->catalogue;
    struct job_filter filter = {.state = -1};
    struct job_list l;
    uint64_t offset, number;
    if (!number_of(q, q->part[1], 0, &offset) || !number_of(q, q->part[2], NUMBER, &number))
        return;
    if (strcmp(which, "active") != 0 && strcmp(which, "finished") != 0 && strcmp(which, "all") != 0) {
        request_fail(q, 404, "not_found", "tasks are all, active or finished");
        return;
    }
    filter.state = strcmp(which, "active") == 0 ? (int)JOB_RUNNING : -1;
    filter.is_over = strcmp(which, "finished") == 0;
    if (catalogue_list(c, &filter, offset, number < 1000 ? number : 1000, &l) < 0) {
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    write_ids(q, which, &l, offset, number);
    job_list_done(c, &l);
}

/* Calls fn for each job of a list of ids, separated by commas; those that are not there are left out. */
static void each_job(struct request *q, const char *ids, struct json *j,
                     void (*fn)(struct request *q, struct job *job, struct json *j))
{
    char id[256];
    json_begin(j, '{');
    for (size_t n = 0; n < TASKS && *ids; n++) {
        size_t len = strcspn(ids, ",");
        if (len && len < sizeof(id)) {
            memcpy(id, ids, len);
            id[len] = 0;
            struct job *job = catalogue_find(q->server->catalogue, id);
            if (job) {
                json_key(j, id);
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
        write_process(job, &v, &v.named[i], j);
    }
    json_end(j, '}');
    view_done(job, &v);
}

void observer_processes(struct request *q)
{
    struct json j = {.out = &q->out};
    const char *ids = request_param(q, "task_ids");
    ids = ids ? ids : request_param(q, "task_id");
    each_job(q, ids ? ids : "", &j, write_processes);
    request_json_end(q);
}

/* An empty object where there is no such task, process or run: so does the observer. */
void observer_process(struct request *q)
{
    struct json j = {.out = &q->out};
    struct view v;
    bool found = false;
    struct job *job = catalogue_find(q->server->catalogue, q->part[0]);
    if (job) {
        view_begin(q, job, &v);
        for (size_t i = 0; i < v.n && !found; i++) {
            bool is_run = !*q->part[2] || strcmp(q->part[2], "0") == 0 || strcmp(q->part[2], "-1") == 0;
            found = is_run && v.named[i].name && (!*q->part[1] || strcmp(v.named[i].name, q->part[1]) == 0);
            if (found)
                write_process(job, &v, &v.named[i], &j);
        }
        view_done(job, &v);
        job_release(q->server->catalogue, job);
    }
    if (!found) {
        json_begin(&j, '{');
        json_end(&j, '}');
    }
    request_json_end(q);
}
