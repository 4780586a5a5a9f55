/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers for the list of jobs, for a job with its summary and verdicts, for the registry, and for the machine. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "output/rows/csv_json.h"
#include "programs/baro-serve/embedded.h"
#include "programs/baro-serve/follow.h"
#include "programs/baro-serve/instant.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/server.h"
#include "programs/baro-serve/sight.h"

#define LIMIT 50u
#define LIMIT_MOST 1000u

void api_index(struct request *q)
{
    struct json j = {.out = &q->out, .pretty = true};
    json_begin(&j, '{');
    json_key_text(&j, "program", "barograph");
    json_key_text(&j, "version", baro_version());
    json_key_begin(&j, "paths", '[');
    for (const struct route *r = routes; r->path; r++)
        json_text(&j, r->path);
    json_end(&j, ']');
    json_end(&j, '}');
    request_json_end(q);
}

void api_openapi(struct request *q)
{
    q->status = 200;
    if (!request_unchanged(q, "openapi-" BARO_VERSION))
        q->text = serve_openapi;
}

void api_health(struct request *q)
{
    struct json j = {.out = &q->out};
    struct server *s = q->server;
    size_t count[JOB_STATES];
    char error[256];
    catalogue_error(s->catalogue, error, sizeof(error));
    catalogue_count(s->catalogue, count);
    q->status = *error ? 503 : 200;
    json_begin(&j, '{');
    json_key_text(&j, "status", *error ? "failing" : "ok");
    json_key_text(&j, "error", *error ? error : NULL);
    json_key_text(&j, "version", baro_version());
    json_key_u64(&j, "uptime_ns", clock_monotonic_ns() - s->start_ns);
    json_key_begin(&j, "jobs", '{');
    for (int i = 0; i < JOB_STATES; i++) {
        json_key_u64(&j, job_state_name((enum job_state)i), count[i]);
    }
    json_end(&j, '}');
    if (s->observing.is_wanted) {
        json_key_begin(&j, "observer", '{');
        json_key_bool(&j, "is_running", s->observing.is_running);
        json_key_u64(&j, "starts", s->observing.starts);
        json_end(&j, '}');
    } else {
        json_key(&j, "observer");
        json_null(&j);
    }
    json_end(&j, '}');
    request_json_end(q);
}

/* ---- the registry ---- */

static void write_metric(struct json *j, const char *kind, const char *name, const char *unit, const char *semantics,
                         const char *help)
{
    json_begin(j, '{');
    json_key_text(j, "kind", kind);
    json_key_text(j, "name", name);
    json_key_text(j, "unit", unit);
    json_key_text(j, "semantics", semantics);
    json_key_text(j, "help", help);
    json_end(j, '}');
}

/* Writes the metrics of a tape; NULL: those of this library. */
static void write_metrics(struct request *q, const struct baro_tape *tape)
{
    struct json j = {.out = &q->out};
    const char *only = request_param(q, "kind");
    int kinds = tape ? baro_tape_kind_count(tape) : baro_kind_count();
    json_begin(&j, '{');
    json_key_begin(&j, "metrics", '[');
    for (int kind = 0; kind < kinds; kind++) {
        const char *name = tape ? baro_tape_kind_name(tape, kind) : baro_kind_name(kind);
        int n = tape ? baro_tape_metric_count(tape, kind) : baro_metric_count(kind);
        if (only && strcmp(only, name) != 0)
            continue;
        for (int id = 0; id < n; id++) {
            const struct baro_metric *m = tape ? baro_tape_metric(tape, kind, id) : baro_metric_get(kind, id);
            write_metric(&j, name, m->name, baro_unit_name(m->unit), baro_semantics_name(m->semantics), m->help);
        }
        for (int i = 0; i < baro_derived_count(kind); i++) {
            const struct baro_derived *d = baro_derived_get(kind, i);
            write_metric(&j, name, d->name, d->unit, "derived", d->help);
        }
    }
    json_end(&j, ']');
    json_end(&j, '}');
    request_json_end(q);
}

void api_metrics(struct request *q)
{
    write_metrics(q, NULL);
}

void api_job_metrics(struct request *q)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape = request_tape(q);
    if (tape && baro_tape_read_kinds(tape, &err) < 0)
        request_fail_tape(q, &err);
    else if (tape)
        write_metrics(q, tape);
    baro_tape_close(tape);
}

/* ---- the list ---- */

static bool read_filter(struct request *q, struct job_filter *f)
{
    const char *state = request_param(q, "state");
    *f = (struct job_filter){.state = -1, .search = request_param(q, "search")};
    f->is_over = state && strcmp(state, "over") == 0;
    for (int i = 0; state && i < JOB_STATES; i++)
        f->state = strcmp(state, job_state_name((enum job_state)i)) == 0 ? i : f->state;
    if (!state || f->state >= 0 || f->is_over)
        return true;
    request_fail(q, 400, "bad_parameter",
                 "state is one of new, running, ended, cut_off, unreadable, and over: all "
                 "that do not run");
    return false;
}

/* Others than those who may see all of a recording see that there is one, and how to ask for their own processes. */
static void write_private(struct buf *ret, const struct job *job)
{
    struct json j = {.out = ret};
    json_begin(&j, '{');
    json_key_text(&j, "id", job->shown);
    json_key_bool(&j, "is_private", true);
    json_end(&j, '}');
    ret->len -= ret->len && ret->at[ret->len - 1] == '\n';
}

void api_jobs(struct request *q)
{
    struct json j = {.out = &q->out};
    struct catalogue *c = q->server->catalogue;
    struct job_filter filter;
    struct page_range range;
    struct job_list list;
    struct buf row = {0};
    const bool sees_all = sight_all(q);
    if (!read_filter(q, &filter) || !request_range(q, LIMIT, LIMIT_MOST, &range))
        return;
    if (catalogue_list(c, &filter, range.offset, range.limit, &list) < 0) {
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    json_begin(&j, '{');
    json_key_u64(&j, "total", list.total);
    json_key_u64(&j, "offset", range.offset);
    json_key_begin(&j, "jobs", '[');
    for (size_t i = 0; i < list.n; i++) {
        buf_clear(&row);
        if (sees_all || !job_is_private(c, list.at[i]))
            job_row(c, list.at[i], &row);
        else
            write_private(&row, list.at[i]);
        json_raw(&j, (const char *)row.at, row.len);
    }
    json_end(&j, ']');
    json_end(&j, '}');
    q->out.failed = q->out.failed || row.failed;
    buf_done(&row);
    job_list_done(c, &list);
    request_json_end(q);
}

/* ---- one job ---- */

static int put_verdicts(const struct baro_fold *fold, bool alone, const char *path, struct buf *ret,
                        struct baro_error *err)
{
    if (!alone)
        return json_summary(fold, path, ret, err);
    return baro_verdicts_json(baro_fold_verdicts(fold), NULL, path, request_sink, ret, err);
}

/* Makes the verdicts, with the summary or alone, from what is kept of a running job, or from the whole tape. */
static int judge(struct request *q, bool alone, struct buf *ret, struct baro_error *err)
{
    struct job *job = q->job;
    const char *path = alone ? NULL : job->path;
    struct baro_fold *fold = NULL;
    pthread_mutex_lock(&job->lock);
    bool is_followed = job->tape != NULL;
    int code = is_followed ? follow_judge(job, err) : 0;
    if (is_followed && code >= 0)
        code = put_verdicts(job->fold, alone, path, ret, err);
    pthread_mutex_unlock(&job->lock);
    if (is_followed)
        return code;
    struct baro_tape *tape = job_open(job, REQUEST_CPU_NS, err);
    if (!tape)
        return err->code;
    code = baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, err);
    if (code >= 0)
        code = put_verdicts(fold, alone, path, ret, err);
    baro_fold_free(fold);
    baro_tape_close(tape);
    return code;
}

/* Does the client have the answer already? That of a job that has ended does not change. */
static bool is_known(struct request *q)
{
    char version[80];
    uint64_t bytes;
    if (job_version(q->server->catalogue, q->job, &bytes) != JOB_ENDED)
        return false;
    snprintf(version, sizeof(version), "%" PRIx64 "-%" PRIx64 "-" BARO_VERSION, (uint64_t)q->job->inode, bytes);
    return request_unchanged(q, version);
}

void api_job(struct request *q)
{
    struct json j = {.out = &q->out};
    struct buf summary = {0}, row = {0};
    struct baro_error err = BARO_ERROR_INIT;
    if (is_known(q))
        return;
    if (judge(q, false, &summary, &err) < 0) {
        request_fail_tape(q, &err);
    } else {
        job_row(q->server->catalogue, q->job, &row);
        json_begin(&j, '{');
        json_key(&j, "job");
        json_raw(&j, (const char *)row.at, row.len);
        json_key(&j, "summary");
        json_raw(&j, (const char *)summary.at,
                 summary.len && summary.at[summary.len - 1] == '\n' ? summary.len - 1 : summary.len);
        json_end(&j, '}');
        q->out.failed = q->out.failed || summary.failed || row.failed;
        request_json_end(q);
    }
    buf_done(&summary);
    buf_done(&row);
}

void api_verdicts(struct request *q)
{
    struct baro_error err = BARO_ERROR_INIT;
    if (is_known(q))
        return;
    if (judge(q, true, &q->out, &err) < 0)
        request_fail_tape(q, &err);
    else
        request_json_end(q);
}

/* ---- the machine ---- */

/* Finds the running job that read the machine last, to be released with job_release(); NULL: none. */
static struct job *newest_reading(struct catalogue *c, bool sees_all, bool *ret_failed)
{
    struct job_filter running = {.state = JOB_RUNNING, .no_private = !sees_all};
    struct job_list list;
    struct job *found = NULL;
    int64_t newest_ns = 0;
    *ret_failed = catalogue_list(c, &running, 0, UINT64_MAX, &list) < 0;
    if (*ret_failed)
        return NULL;
    for (size_t i = 0; i < list.n; i++) {
        int64_t at_ns = job_host_ns(list.at[i]);
        if (at_ns > newest_ns) {
            newest_ns = at_ns;
            found = list.at[i];
        }
    }
    if (found)
        found = catalogue_find(c, found->shown);
    job_list_done(c, &list);
    return found;
}

void api_host(struct request *q)
{
    struct json j = {.out = &q->out};
    struct buf sample = {0};
    struct json part = {.out = &sample};
    char host[65] = "";
    uint64_t cpus = 0, memory = 0;
    bool failed;
    struct job *job = newest_reading(q->server->catalogue, sight_all(q), &failed);
    if (job) {
        pthread_mutex_lock(&job->lock);
        if (job->tape && job->now) {
            const struct baro_header *h = baro_tape_header(job->tape);
            struct instant_writer w;
            snprintf(host, sizeof(host), "%s", baro_header_host(h));
            cpus = baro_header_cpus(h);
            memory = baro_header_memory_bytes(h);
            failed |= instant_init(&w, job->tape, NULL) < 0;
            if (!failed && job->before)
                instant_write(&w, job->before, NULL);
            if (!failed)
                instant_write(&w, job->now, &part);
            instant_done(&w);
        }
        pthread_mutex_unlock(&job->lock);
    }
    json_begin(&j, '{');
    json_key_text(&j, "job", job ? job->id : NULL);
    json_key_text(&j, "host", *host ? host : NULL);
    json_key_u64(&j, "cpus", cpus);
    json_key_u64(&j, "memory_bytes", memory);
    json_key(&j, "sample");
    if (sample.len)
        json_raw(&j, (const char *)sample.at, sample.len);
    else
        json_null(&j);
    json_end(&j, '}');
    q->out.failed = q->out.failed || sample.failed || failed;
    buf_done(&sample);
    if (job)
        job_release(q->server->catalogue, job);
    request_json_end(q);
}
