/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /metrics: the last sample of each job that is running, or has ended recently, as OpenMetrics or Prometheus text. Each
 * metric of the registry is a family, whose name consists of kind, stem and base unit. Only the families about the
 * server and about jobs are named here.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "baro/baro.h"
#include "base/clock.h"
#include "programs/baro-serve/kind_families.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/server.h"

#define JOBS 2000u    /* most jobs: the newest */
#define TASKS 256u    /* most tasks of each job */
#define ENTITIES 512u /* most entities of each kind */

struct scrape {
    struct request *q;
    struct families text;
    struct job_list jobs;
    struct job *host; /* the job that read the machine last; NULL: no job has read it */
    uint64_t left_out;
};

/* ---- jobs ---- */

typedef int read_function(const struct job *job, int metric, uint64_t *ret);

static int read_job(const struct job *job, int metric, uint64_t *ret)
{
    return baro_row_value(baro_sample_row(job->now, BARO_KIND_JOB, 0), metric, ret);
}

static int read_recorder(const struct job *job, int metric, uint64_t *ret)
{
    return baro_row_value(baro_sample_row(job->now, BARO_KIND_RECORDER, 0), metric, ret);
}

static int read_sum(const struct job *job, int metric, uint64_t *ret)
{
    *ret = 0;
    return baro_sample_sum(job->now, metric, ret, NULL);
}

/* Writes a family with a value for each job, unless no job has a value. */
static void add_jobs(struct scrape *s, const char *kind, const struct baro_metric *m, int id, read_function *read)
{
    struct family f = family_of(kind, m);
    struct buf labels = {0};
    bool begun = false;
    for (size_t i = 0; f.is_there && i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        uint64_t v = 0;
        pthread_mutex_lock(&job->lock);
        int absent = job->now ? read(job, id, &v) : BARO_ABSENT_UNKNOWN;
        pthread_mutex_unlock(&job->lock);
        if (absent)
            continue;
        if (!begun)
            family_begin(&s->text, f.name, f.unit, f.is_counter, m->help);
        begun = true;
        family_label(&labels, "job", job->id);
        family_value(&s->text, f.name, f.is_counter, &labels, baro_metric_real(m, v) / f.divisor);
    }
    buf_done(&labels);
}

/* Writes how many processes are missing from the sums, which are lower bounds if there are any. */
static void add_missing(struct scrape *s)
{
    static const char name[] = "baro_job_processes_missing_in_sum";
    struct buf labels = {0};
    family_begin(&s->text, name, "", false,
                 "processes whose value a sum of the job lacks, so that the sum is a lower bound");
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        for (int id = 0; id < baro_metric_count(BARO_KIND_PROCESS); id++) {
            uint64_t sum;
            size_t lacking = 0;
            pthread_mutex_lock(&job->lock);
            bool lacks = job->now && baro_metric_adds_up(id) &&
                         baro_sample_sum(job->now, id, &sum, &lacking) == BARO_PRESENT && lacking;
            pthread_mutex_unlock(&job->lock);
            if (!lacks)
                continue;
            family_label(&labels, "job", job->id);
            family_label(&labels, "sum", baro_metric_get(BARO_KIND_PROCESS, id)->name);
            family_value(&s->text, name, false, &labels, (double)lacking);
        }
    }
    buf_done(&labels);
}

/* Adds what people call the control group of a job. The job is locked. */
static void label_names(struct buf *labels, const struct job *job)
{
    static const char *const names[] = {"container", "pod", "pod_namespace", "image", "unit"};
    const struct baro_header *h = job->tape ? baro_tape_header(job->tape) : NULL;
    struct baro_value v;
    for (size_t i = 0; h && i < sizeof(names) / sizeof(*names); i++) {
        if (baro_header_value(h, baro_header_fact_find(names[i]), 0, &v) == BARO_PRESENT)
            family_label(labels, names[i], v.text);
    }
}

/* Writes the values of the control group that a job is. */
static void add_groups(struct scrape *s)
{
    struct kind_families k;
    struct buf labels = {0};
    int kind = baro_kind_find("cgroup");
    kind_families_begin(&k, kind, &s->text);
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        pthread_mutex_lock(&job->lock);
        const char *mode = job->tape ? baro_header_cgroup_mode(baro_tape_header(job->tape)) : "";
        bool is_group = strcmp(mode, "target") == 0 || strcmp(mode, "members") == 0 || strcmp(mode, "own") == 0;
        buf_clear(&labels);
        family_label(&labels, "job", job->id);
        label_names(&labels, job);
        if (is_group && job->now && baro_sample_rows(job->now, kind))
            kind_families_row(&k, baro_sample_row(job->now, kind, 0), &labels);
        pthread_mutex_unlock(&job->lock);
    }
    kind_families_end(&k);
    buf_done(&labels);
}

/* The status of a job that has ended, as a shell has it: 128 and the signal for one that a signal ended. */
static void add_exit_status(struct scrape *s)
{
    struct buf labels = {0};
    family_begin(&s->text, "baro_job_exit_status", "", false,
                 "exit status of a job that has ended; 128 and the signal's number where a signal ended it");
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        pthread_mutex_lock(&job->lock);
        const struct baro_tape_end end = job->end;
        pthread_mutex_unlock(&job->lock);
        if (!end.ended || !end.status_known)
            continue;
        family_label(&labels, "job", job->id);
        family_value(&s->text, "baro_job_exit_status", false, &labels,
                     WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status));
    }
    buf_done(&labels);
}

static void add_job_info(struct scrape *s)
{
    struct buf labels = {0};
    struct catalogue *c = s->q->server->catalogue;
    family_begin(&s->text, "baro_job_info", "", false, "a job: its command, and what its control group is called");
    for (size_t i = 0; i < s->jobs.n; i++) {
        int64_t start_ns;
        char *title = job_title(c, s->jobs.at[i], &start_ns);
        family_label(&labels, "job", s->jobs.at[i]->id);
        family_label(&labels, "command", title ? title : "");
        pthread_mutex_lock(&s->jobs.at[i]->lock);
        label_names(&labels, s->jobs.at[i]);
        pthread_mutex_unlock(&s->jobs.at[i]->lock);
        family_value(&s->text, "baro_job_info", false, &labels, 1);
        free(title);
    }
    family_begin(&s->text, "baro_job_running", "", false, "1: the job runs; 0: it has ended");
    for (size_t i = 0; i < s->jobs.n; i++) {
        family_label(&labels, "job", s->jobs.at[i]->id);
        family_value(&s->text, "baro_job_running", false, &labels, job_state(c, s->jobs.at[i]) == JOB_RUNNING);
    }
    family_begin(&s->text, "baro_job_sample_timestamp_seconds", "seconds", false, "when the last sample was taken");
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        pthread_mutex_lock(&job->lock);
        int64_t at_ns = job->now_ns;
        pthread_mutex_unlock(&job->lock);
        if (!at_ns)
            continue;
        family_label(&labels, "job", job->id);
        family_value(&s->text, "baro_job_sample_timestamp_seconds", false, &labels, (double)at_ns / 1e9);
    }
    buf_done(&labels);
}

/* ---- tasks, the machine, the busiest processes ---- */

static void add_tasks(struct scrape *s)
{
    struct kind_families k;
    kind_families_begin(&k, baro_kind_find("task"), &s->text);
    for (size_t i = 0; i < s->jobs.n; i++) {
        pthread_mutex_lock(&s->jobs.at[i]->lock);
        if (s->jobs.at[i]->now)
            s->left_out += kind_families_entities(&k, s->jobs.at[i]->now, s->jobs.at[i]->id, TASKS);
        pthread_mutex_unlock(&s->jobs.at[i]->lock);
    }
    kind_families_end(&k);
}

static void add_host(struct scrape *s)
{
    static const int kinds[] = {BARO_KIND_CPU, BARO_KIND_DISK, BARO_KIND_FS, BARO_KIND_NET, BARO_KIND_SENSOR};
    struct job *job = s->host;
    struct kind_families k;
    pthread_mutex_lock(&job->lock);
    kind_families_begin(&k, BARO_KIND_HOST, &s->text);
    if (job->now)
        kind_families_host(&k, job->now);
    kind_families_end(&k);
    for (size_t i = 0; job->now && i < sizeof(kinds) / sizeof(*kinds); i++) {
        kind_families_begin(&k, kinds[i], &s->text);
        s->left_out += kind_families_entities(&k, job->now, NULL, ENTITIES);
        kind_families_end(&k);
    }
    pthread_mutex_unlock(&job->lock);
}

static void add_processes(struct scrape *s)
{
    size_t most = s->q->server->settings->metrics_processes;
    struct kind_families k;
    kind_families_begin(&k, BARO_KIND_PROCESS, &s->text);
    for (size_t i = 0; most && i < s->jobs.n; i++) {
        pthread_mutex_lock(&s->jobs.at[i]->lock);
        if (s->jobs.at[i]->now)
            kind_families_busiest(&k, s->jobs.at[i]->before, s->jobs.at[i]->now, s->jobs.at[i]->id, most);
        pthread_mutex_unlock(&s->jobs.at[i]->lock);
    }
    kind_families_end(&k);
}

/* ---- the server ---- */

static void add_one(struct scrape *s, const char *name, const char *unit, bool is_counter, double v, const char *help)
{
    struct buf labels = {0};
    family_begin(&s->text, name, unit, is_counter, help);
    family_value(&s->text, name, is_counter, &labels, v);
}

static void add_observer(struct scrape *s, const struct observing *o)
{
    if (!o->is_wanted)
        return;
    add_one(s, "baro_observer_up", "", false, o->is_running, "1: the baro observe of this server runs; 0: it does not");
    add_one(s, "baro_observer_starts", "", true, (double)o->starts, "how often baro observe was started");
}

static void add_server(struct scrape *s)
{
    struct server *server = s->q->server;
    struct rusage used;
    struct buf labels = {0};
    size_t n[JOB_STATES];
    getrusage(RUSAGE_SELF, &used);
    catalogue_count(server->catalogue, n);
    family_begin(&s->text, "baro_jobs", "", false, "tapes in the folder, by state");
    for (int i = 0; i < JOB_STATES; i++) {
        family_label(&labels, "state", job_state_name((enum job_state)i));
        family_value(&s->text, "baro_jobs", false, &labels, (double)n[i]);
    }
    family_begin(&s->text, "baro_build_info", "", false, "the version of barograph");
    family_label(&labels, "version", baro_version());
    family_value(&s->text, "baro_build_info", false, &labels, 1);
    buf_done(&labels);
    double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    add_one(s, "baro_serve_requests", "", true, (double)server->requests, "requests that were answered");
    add_one(s, "baro_serve_refused", "", true, (double)server->refused,
            "requests without the token, or for a foreign host");
    add_one(s, "baro_serve_failed", "", true, (double)server->failed, "requests that failed in the server");
    add_one(s, "baro_serve_connections", "", false, (double)clients_count(&server->clients),
            "connections at this moment");
    add_one(s, "baro_serve_streams", "", false, (double)live_count(server->live), "clients that get events");
    add_one(s, "baro_serve_cpu_seconds", "seconds", true, cpu, "CPU time of the server");
    add_one(s, "baro_serve_uptime_seconds", "seconds", false, (double)(clock_monotonic_ns() - server->start_ns) / 1e9,
            "time since the server was started");
    add_one(s, "baro_serve_series_left_out", "", false, (double)s->left_out,
            "values that were left out because there are too many");
}

/* ---- the answer ---- */

/* Keeps the jobs that have a last sample, and releases the others. */
static void keep_followed(struct scrape *s)
{
    struct catalogue *c = s->q->server->catalogue;
    size_t n = 0;
    int64_t newest_ns = 0;
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        bool locked = job_lock(job), has = locked && job->tape && job->now && n < JOBS;
        s->left_out += locked && job->tape && job->now && !has;
        if (locked)
            pthread_mutex_unlock(&job->lock);
        int64_t at_ns = has ? job_host_ns(job) : 0;
        if (at_ns > newest_ns) {
            newest_ns = at_ns;
            s->host = job;
        }
        if (has)
            s->jobs.at[n++] = job;
        else
            job_release(c, job);
    }
    s->jobs.n = n;
}

static void write_all(struct scrape *s)
{
    add_job_info(s);
    add_exit_status(s);
    for (int id = 0; id < baro_metric_count(BARO_KIND_JOB); id++)
        add_jobs(s, "job", baro_metric_get(BARO_KIND_JOB, id), id, read_job);
    for (int id = 0; id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        if (baro_metric_adds_up(id))
            add_jobs(s, "job", baro_metric_get(BARO_KIND_PROCESS, id), id, read_sum);
    }
    add_missing(s);
    for (int id = 0; id < baro_metric_count(BARO_KIND_RECORDER); id++)
        add_jobs(s, "recorder", baro_metric_get(BARO_KIND_RECORDER, id), id, read_recorder);
    add_groups(s);
    add_tasks(s);
    add_processes(s);
    if (s->host)
        add_host(s);
    add_server(s);
    add_observer(s, &s->q->server->observing);
}

void exposition(struct request *q)
{
    struct scrape s = {.q = q, .text = {.out = &q->out}};
    struct job_filter any = {.state = -1};
    s.text.is_open_metrics = q->accept && strstr(q->accept, "application/openmetrics-text");
    if (catalogue_list(q->server->catalogue, &any, 0, UINT64_MAX, &s.jobs) < 0) {
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    keep_followed(&s);
    write_all(&s);
    job_list_done(q->server->catalogue, &s.jobs);
    buf_str(s.text.out, s.text.is_open_metrics ? "# EOF\n" : "");
    q->type = s.text.is_open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                     : "text/plain; version=0.0.4; charset=utf-8";
    q->status = 200;
    if (q->out.failed) {
        buf_done(&q->out);
        request_fail(q, 503, "no_memory", "out of memory");
    }
}
