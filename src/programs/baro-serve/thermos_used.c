/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a job or a task used at its last sample, with the names of the Thermos observer. */
#include <string.h>

#include "baro/baro.h"
#include "programs/baro-serve/thermos_used.h"

static void key_absent(struct json *j, const char *name, int absent, double v)
{
    json_key(j, name);
    if (absent)
        json_null(j);
    else
        json_double(j, v);
}

static int task_value(const struct baro_row *e, const char *stem, uint64_t *ret)
{
    return baro_row_value(e, baro_metric_find(baro_kind_find("task"), stem), ret);
}

static int job_value(const struct baro_sample *s, const char *stem, uint64_t *ret)
{
    int metric = baro_metric_find(BARO_KIND_JOB, stem);
    if (metric >= 0)
        return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), metric, ret);
    *ret = 0;
    return baro_sample_sum(s, baro_metric_find(BARO_KIND_PROCESS, stem), ret, NULL);
}

static int value_of(const struct baro_sample *s, const struct baro_row *task, const char *stem, uint64_t *ret)
{
    *ret = 0;
    return task ? task_value(task, stem, ret) : job_value(s, stem, ret);
}

static const struct baro_row *same_task(const struct view *v, const struct baro_row *task)
{
    size_t n = 0;
    const struct owned *o = task ? view_owned(&v->before_tasks, baro_row_id(task), &n) : NULL;
    return o ? baro_sample_row(v->before, baro_kind_find("task"), o->place) : NULL;
}

static int cores_of(const struct view *job, const struct baro_row *task, double *ret)
{
    uint64_t now, before;
    const struct baro_row *earlier = same_task(job, task);
    if (!job->before || (task && !earlier))
        return BARO_ABSENT_NOT_YET;
    if (value_of(job->now, task, "cpu", &now) || value_of(job->before, earlier, "cpu", &before) || now < before)
        return BARO_ABSENT_UNKNOWN;
    uint64_t time_ns = baro_sample_t_ns(job->now) - baro_sample_t_ns(job->before);
    *ret = time_ns ? (double)(now - before) / (double)time_ns : 0;
    return time_ns ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

/* Is the path the directory, or below it? */
static bool is_in(const char *path, const char *directory)
{
    size_t len = strlen(directory);
    while (len && directory[len - 1] == '/')
        len--;
    return strncmp(path, directory, len) == 0 && (!path[len] || path[len] == '/');
}

/* Adds up the directories of --du and the sandboxes of tasks, or the sandbox of one task. If one of them is not known,
 * neither is the sum. A directory within another one that is counted is not counted again. */
static int disk_of(const struct view *v, const struct baro_row *task, uint64_t *ret, bool *ret_is_bound)
{
    int used = baro_metric_find(BARO_KIND_DIRECTORY, "used");
    int unread = baro_metric_find(BARO_KIND_DIRECTORY, "unread");
    int absent = BARO_ABSENT_UNKNOWN;
    size_t n;
    const struct owned *o =
        task ? view_owned(&v->directories, baro_row_id(task), &n) : view_owned(&v->all_directories, 0, &n);
    const char *outer = NULL;
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *e = baro_sample_row(v->now, BARO_KIND_DIRECTORY, o[i].place);
        uint64_t bytes = 0, left_out = 0;
        if (outer && is_in(o[i].path, outer))
            continue;
        outer = o[i].path;
        absent = baro_row_value(e, used, &bytes);
        if (absent)
            return absent;
        *ret += bytes;
        *ret_is_bound |= baro_row_value(e, unread, &left_out) || left_out;
    }
    return absent;
}

/* ---- values of processes ---- */

/* Returns psutil's name of a state, which the Thermos observer uses. */
static const char *status_of(char state)
{
    static const struct {
        char state;
        const char *name;
    } names[] = {{'R', "running"}, {'S', "sleeping"}, {'D', "disk-sleep"}, {'T', "stopped"}, {'t', "tracing-stop"},
                 {'Z', "zombie"},  {'X', "dead"},     {'I', "idle"},       {'P', "parked"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (names[i].state == state)
            return names[i].name;
    }
    return NULL;
}

/* Writes the sum of the address spaces of the living processes, and the nice value and state of the last one, as the
 * Thermos observer does. If a process lacks the value, there is no sum. */
static void put_of_processes(struct json *j, const struct view *view, const struct baro_row *task)
{
    int virtual = baro_metric_find(BARO_KIND_PROCESS, "virtual");
    int nice = baro_metric_find(BARO_KIND_PROCESS, "nice"), state = baro_metric_find(BARO_KIND_PROCESS, "state");
    const struct baro_row *last = NULL;
    uint64_t sum = 0, v = 0;
    bool is_whole = true;
    size_t n = view->now ? baro_sample_rows(view->now, BARO_KIND_PROCESS) : 0;
    const struct owned *own = task ? view_owned(&view->processes, baro_row_id(task), &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        last = baro_sample_row(view->now, BARO_KIND_PROCESS, own ? own[i].place : i);
        is_whole &= baro_row_value(last, virtual, &v) == BARO_PRESENT;
        sum += v;
    }
    key_absent(j, "vms", !last || !is_whole, (double)sum);
    bool has = last && baro_row_value(last, nice, &v) == BARO_PRESENT;
    key_absent(j, "nice", !has, has ? (double)(int64_t)v : 0);
    json_key(j, "status");
    has = last && baro_row_value(last, state, &v) == BARO_PRESENT;
    json_text(j, has ? status_of((char)v) : NULL);
}

void observer_put_used(struct json *j, const struct view *v, const struct baro_row *task)
{
    static const struct {
        const char *name, *stem;
        double unit;
    } values[] = {{"ram", "rss", 1},
                  {"rss", "rss", 1},
                  {"user", "cpu_user", 1e9},
                  {"system", "cpu_system", 1e9},
                  {"threads", "threads", 1}};
    double cores = 0;
    uint64_t disk = 0;
    bool is_bound = false;
    int absent = v->now ? cores_of(v, task, &cores) : BARO_ABSENT_UNKNOWN;
    key_absent(j, "cpu", absent, cores);
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        uint64_t u = 0;
        absent = v->now ? value_of(v->now, task, values[i].stem, &u) : BARO_ABSENT_UNKNOWN;
        key_absent(j, values[i].name, absent, (double)u / values[i].unit);
    }
    put_of_processes(j, v, task);
    absent = v->now ? disk_of(v, task, &disk, &is_bound) : BARO_ABSENT_UNKNOWN;
    key_absent(j, "disk", absent, (double)disk);
    json_key_bool(j, "disk_is_lower_bound", !absent && is_bound);
}

void observer_write_used(struct json *j, const struct view *v, const struct baro_row *task)
{
    json_begin(j, '{');
    observer_put_used(j, v, task);
    json_end(j, '}');
}
