/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/thermos_view.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/passwd.h"
#include "output/rows/escaped.h"
#include "output/rows/row.h"
#include "programs/baro-serve/server.h"

#define RATE_NS (NS_PER_SEC / 2) /* as in follow.c */

/* ---- names ---- */

static int value(const struct baro_row *task, const char *stem, uint64_t *ret)
{
    *ret = 0;
    return baro_row_value(task, baro_metric_find(baro_kind_find("task"), stem), ret);
}

static double seconds_of(struct baro_tape *tape, uint64_t t_ns)
{
    return (double)row_realtime_ns(tape, baro_tape_header(tape), t_ns) / 1e9;
}

static void take_task(struct baro_tape *tape, const struct baro_row *e, struct named *ret)
{
    uint64_t living, started, begin = 0, end = 0, code = 0, signal = 0;
    value(e, "processes", &living);
    value(e, "processes_started", &started);
    *ret = (struct named){.name = strdup(baro_row_name(e)), .task = e, .lives = living > 0};
    ret->has_status = value(e, "exit_signal", &signal) == BARO_PRESENT;
    value(e, "exit_code", &code);
    ret->has_begun = started > 0 || ret->has_status;
    ret->code = (int)code;
    ret->signal = (int)signal;
    if (value(e, "begin", &begin) == BARO_PRESENT)
        ret->begin_s = seconds_of(tape, begin);
    if (value(e, "end", &end) == BARO_PRESENT)
        ret->end_s = seconds_of(tape, end);
}

/* Returns a copy with control characters escaped as "\x0a". */
static char *escaped(const char *text)
{
    struct buf b = {0};
    text_escaped(&b, text ? text : "", text ? strlen(text) : 0);
    buf_byte(&b, 0);
    char *copy = b.failed ? NULL : strdup((const char *)b.at);
    buf_done(&b);
    return copy;
}

static void take_job(struct view *v)
{
    struct named *p = &v->named[v->n++];
    bool is_known = v->end.ended && v->end.status_known;
    *p = (struct named){.name = escaped(v->title),
                        .has_begun = true,
                        .lives = v->state == JOB_RUNNING,
                        .has_status = is_known,
                        .begin_s = (double)v->start_ns / 1e9,
                        .end_s = view_end_s(v)};
    if (is_known && WIFSIGNALED(v->end.status))
        p->signal = WTERMSIG(v->end.status);
    else if (is_known)
        p->code = WEXITSTATUS(v->end.status);
}

/* ---- a job ---- */

static void take_names(struct view *v, struct baro_tape *tape)
{
    int kind = baro_kind_find("task");
    size_t n = v->now ? baro_sample_rows(v->now, kind) : 0;
    for (size_t i = 0; i < n && v->n < VIEW_NAMES; i++)
        take_task(tape, baro_sample_row(v->now, kind, i), &v->named[v->n++]);
    if (!n)
        take_job(v);
}

/* Finds the last sample of a tape, and the last one that is half a second older, or the first one. */
static void find_samples(struct view *v, struct baro_tape *tape)
{
    int code = baro_tape_at(tape, UINT64_MAX, BARO_AT_BEFORE, &v->now, NULL);
    if (code <= 0) {
        v->no_memory |= code == -ENOMEM;
        return;
    }
    uint64_t t_ns = baro_sample_t_ns(v->now);
    code = baro_tape_at(tape, t_ns > RATE_NS ? t_ns - RATE_NS : 0, t_ns > RATE_NS ? BARO_AT_BEFORE : BARO_AT_AFTER,
                        &v->before, NULL);
    v->no_memory |= code == -ENOMEM;
    if (!v->before || baro_sample_t_ns(v->before) < t_ns)
        return;
    baro_sample_free(v->before);
    v->before = NULL;
}

/* Reads the tape of a job that is not followed any more. */
static bool read_tape(struct view *v, uint32_t *ret_uid)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape = job_open(v->job, REQUEST_CPU_NS, &err);
    v->no_memory |= !tape && err.code == -ENOMEM;
    if (!tape)
        return false;
    int code = baro_tape_read_end(tape, &end, NULL);
    if (code >= 0)
        v->end = end;
    v->no_memory |= code == -ENOMEM;
    find_samples(v, tape);
    take_names(v, tape);
    *ret_uid = baro_header_uid(baro_tape_header(tape));
    baro_tape_close(tape);
    return true;
}

static bool copy_followed(struct view *v, uint32_t *ret_uid)
{
    struct job *job = v->job;
    pthread_mutex_lock(&job->lock);
    bool is_followed = job->tape != NULL;
    v->end = job->end;
    if (is_followed && job->now)
        v->no_memory |= baro_sample_copy(job->now, &v->now, NULL) < 0;
    if (is_followed && job->before)
        v->no_memory |= baro_sample_copy(job->before, &v->before, NULL) < 0;
    if (is_followed)
        take_names(v, job->tape);
    *ret_uid = is_followed ? baro_header_uid(baro_tape_header(job->tape)) : 0;
    pthread_mutex_unlock(&job->lock);
    return is_followed;
}

/* ---- processes and directories of tasks ---- */

/* Compares like strcmp(3), but with / before all other characters, so that subdirectories follow their directory. */
static int compare_paths(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    if (*a == *b)
        return 0;
    return !*a || (*a == '/' && *b) ? -1 : !*b || *b == '/' ? 1 : (unsigned char)*a - (unsigned char)*b;
}

static int by_owner(const void *a, const void *b)
{
    const struct owned *x = a, *y = b;
    int order = x->owner < y->owner ? -1 : x->owner > y->owner;
    if (!order && x->path && y->path)
        order = compare_paths(x->path, y->path);
    return order ? order : x->place < y->place ? -1 : 1;
}

static bool new_list(struct owned_list *l, size_t n)
{
    l->at = n ? calloc(n, sizeof(*l->at)) : NULL;
    l->n = l->at ? n : 0;
    return l->at || !n;
}

static void sort_list(struct owned_list *l)
{
    if (l->n)
        qsort(l->at, l->n, sizeof(*l->at), by_owner);
}

static void take_owned(struct view *v)
{
    const struct baro_sample *s = v->now, *before = v->before;
    int task = baro_kind_find("task"), of = baro_metric_find(BARO_KIND_PROCESS, "task");
    v->no_memory |= !new_list(&v->processes, s ? baro_sample_rows(s, BARO_KIND_PROCESS) : 0);
    v->no_memory |= !new_list(&v->directories, s ? baro_sample_rows(s, BARO_KIND_DIRECTORY) : 0);
    v->no_memory |= !new_list(&v->all_directories, v->directories.n);
    v->no_memory |= !new_list(&v->before_tasks, before ? baro_sample_rows(before, task) : 0);
    for (size_t i = 0; i < v->processes.n; i++) {
        v->processes.at[i].place = i;
        if (baro_row_value(baro_sample_row(s, BARO_KIND_PROCESS, i), of, &v->processes.at[i].owner) != BARO_PRESENT)
            v->processes.at[i].owner = 0;
    }
    for (size_t i = 0; i < v->all_directories.n; i++) {
        const struct baro_row *e = baro_sample_row(s, BARO_KIND_DIRECTORY, i);
        bool is_owned = baro_row_owner(e) == BARO_OWNER_ENTITY;
        v->directories.at[i] = (struct owned){is_owned ? baro_row_owner_id(e) : 0, i, baro_row_name(e)};
        v->all_directories.at[i] = (struct owned){0, i, baro_row_name(e)};
    }
    for (size_t i = 0; i < v->before_tasks.n; i++)
        v->before_tasks.at[i] = (struct owned){baro_row_id(baro_sample_row(before, task, i)), i, NULL};
    sort_list(&v->processes);
    sort_list(&v->directories);
    sort_list(&v->all_directories);
    sort_list(&v->before_tasks);
}

/* Counts the elements whose owner is below this one. */
static size_t count_below(const struct owned_list *l, uint64_t owner)
{
    size_t from = 0, to = l->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (l->at[middle].owner < owner)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const struct owned *view_owned(const struct owned_list *l, uint64_t owner, size_t *ret_n)
{
    size_t from = count_below(l, owner);
    *ret_n = count_below(l, owner + 1) - from;
    return *ret_n ? l->at + from : NULL;
}

/* A name may have to be asked for, which takes time: nothing is locked. */
static char *user_name(uint32_t uid)
{
    char room[1024], number[16];
    struct passwd_user known;
    struct passwd pw, *found = NULL;
    if (passwd_by_uid(PASSWD_FILE, uid, &known) > 0)
        return strdup(known.name);
    snprintf(number, sizeof(number), "%u", uid);
    bool has = getpwuid_r(uid, &pw, room, sizeof(room), &found) == 0 && found;
    return strdup(has ? found->pw_name : number);
}

void view_begin(struct request *q, struct job *job, struct view *v)
{
    struct catalogue *c = q->server->catalogue;
    bool may_read = workers_read(&q->server->workers, q, job);
    uint32_t uid;
    *v = (struct view){.job = job, .state = job_state(c, job)};
    v->title = job_title(c, job, &v->start_ns);
    bool runs = may_read && v->state == JOB_RUNNING && copy_followed(v, &uid);
    if (runs || (may_read && read_tape(v, &uid)))
        v->user = user_name(uid);
    else
        take_job(v);
    take_owned(v);
    for (size_t i = 0; i < v->n; i++)
        v->no_memory |= !v->named[i].name;
    q->out.failed = q->out.failed || v->no_memory;
}

void view_done(struct view *v)
{
    free(v->processes.at);
    free(v->directories.at);
    free(v->all_directories.at);
    free(v->before_tasks.at);
    baro_sample_free(v->now);
    baro_sample_free(v->before);
    for (size_t i = 0; i < v->n; i++)
        free(v->named[i].name);
    free(v->title);
    free(v->user);
}

const char *view_state(const struct view *v)
{
    if (v->state == JOB_RUNNING || v->state == JOB_NEW)
        return "ACTIVE";
    if (v->state == JOB_ENDED && v->end.ended && v->end.status_known)
        return WIFSIGNALED(v->end.status) ? "KILLED" : v->end.status ? "FAILED" : "SUCCESS";
    return "LOST";
}

/* Example: a job of two tasks has ended with 0. One task has exit code 9, and nothing is known about the other one: the
 * first one is FAILED, the second one LOST. */
const char *view_process_state(const struct view *v, const struct named *p)
{
    if (!p->task)
        return strcmp(view_state(v), "ACTIVE") == 0 ? "RUNNING" : view_state(v);
    if (!p->has_begun)
        return "WAITING";
    if (p->lives)
        return strcmp(view_state(v), "ACTIVE") == 0 ? "RUNNING" : "LOST";
    return !p->has_status ? "LOST" : p->signal ? "KILLED" : p->code ? "FAILED" : "SUCCESS";
}

double view_end_s(const struct view *v)
{
    uint64_t end_ns = v->end.end_ns > v->end.last_ns ? v->end.end_ns : v->end.last_ns;
    return ((double)v->start_ns + (double)end_ns) / 1e9;
}
