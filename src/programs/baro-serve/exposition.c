/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /metrics: the last sample of each job that is running, or has ended recently, as OpenMetrics or Prometheus text. Each
 * metric of the registry is a family, whose name consists of kind, stem and base unit. Only the families about the
 * server and about jobs are named here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "baro/baro.h"
#include "base/clock.h"
#include "base/growth.h"
#include "output/rows/escaped.h"
#include "output/rows/family.h"
#include "output/text/read_fact.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/server.h"
#include "programs/baro-serve/sight.h"

#define JOBS 2000u    /* most jobs: the newest */
#define TASKS 256u    /* most tasks, or GPUs, of each job */
#define ENTITIES 512u /* most entities of each kind */

struct scrape {
    struct request *q;
    struct buf *out;
    bool is_open_metrics;
    struct buf labels; /* of the next value, without the brace at the end */
    struct job_list jobs;
    struct job *host; /* the job that read the machine last; NULL: no job has read it */
    uint64_t left_out;
};

/* ---- text ---- */

static void add_label(struct scrape *s, const char *name, const char *value)
{
    struct buf *b = &s->labels, safe = {0};
    buf_printf(b, "%c%s=\"", b->len ? ',' : '{', name);
    text_escaped(&safe, value, strlen(value));
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.at[i] == '"' || safe.at[i] == '\\')
            buf_byte(b, '\\');
        buf_byte(b, safe.at[i]);
    }
    buf_byte(b, '"');
    s->out->failed = s->out->failed || b->failed || safe.failed;
    buf_done(&safe);
}

/* Sets the labels of the next values: pairs of name and value, ended by NULL. */
__attribute__((sentinel)) static void set_labels(struct scrape *s, ...)
{
    va_list pairs;
    buf_clear(&s->labels);
    va_start(pairs, s);
    for (const char *name; (name = va_arg(pairs, const char *));)
        add_label(s, name, va_arg(pairs, const char *));
    va_end(pairs);
}

/* Begins a family. name: without _total. */
static void begin(struct scrape *s, const char *name, const char *unit, bool is_counter, const char *help)
{
    const char *total = is_counter && !s->is_open_metrics ? "_total" : "";
    buf_printf(s->out, "# HELP %s%s ", name, total);
    for (const char *c = help; *c; c++) {
        if (*c == '\\' || (*c == '"' && s->is_open_metrics))
            buf_byte(s->out, '\\');
        buf_byte(s->out, (uint8_t)(*c == '\n' ? ' ' : *c));
    }
    buf_printf(s->out, "\n# TYPE %s%s %s\n", name, total, is_counter ? "counter" : "gauge");
    if (s->is_open_metrics && *unit)
        buf_printf(s->out, "# UNIT %s %s\n", name, unit);
}

static void put_value(struct buf *out, const struct scrape *s, const char *name, bool is_counter, double v)
{
    buf_str(out, name);
    buf_str(out, is_counter ? "_total" : "");
    buf_add(out, s->labels.at, s->labels.len);
    buf_str(out, s->labels.len ? "} " : " ");
    buf_double(out, v);
    buf_byte(out, '\n');
}

/* ---- the families of one kind ---- */

/*
 * One for each metric. The rows of each job are read once, and each value is written to the family of its metric. So
 * all values of a row are from one sample, and the labels of a row are made once. Example: for 500 tasks and 30
 * metrics, which are 15,000 values, 500 labels are made, not 15,000.
 */
struct families {
    struct scrape *s;
    const char *name;
    int kind, n;
    struct family_values {
        struct family family;
        bool is_there;
        struct buf values;
    } * at;
};

static void families_begin(struct families *k, struct scrape *s, const char *name, int kind)
{
    *k = (struct families){.s = s, .name = name, .kind = kind, .n = baro_metric_count(kind)};
    k->at = calloc((size_t)k->n + 1, sizeof(*k->at));
    s->out->failed = s->out->failed || !k->at;
    for (int id = 0; k->at && id < k->n; id++)
        k->at[id].is_there = family_of_metric(&k->at[id].family, name, kind, id);
}

/* Writes the families that have a value. */
static void families_end(struct families *k)
{
    struct buf *out = k->s->out;
    for (int id = 0; k->at && id < k->n; id++) {
        struct family_values *f = &k->at[id];
        if (f->values.len) {
            begin(k->s, f->family.name, f->family.unit, f->family.is_counter, f->family.help);
            buf_add(out, f->values.at, f->values.len);
        }
        out->failed = out->failed || f->values.failed;
        buf_done(&f->values);
    }
    free(k->at);
}

/* Adds the values of a row; NULL: the sums of the processes of a sample. */
static void add_row(struct families *k, const struct baro_row *row, const struct baro_sample *sample)
{
    for (int id = 0; k->at && id < k->n; id++) {
        struct family_values *f = &k->at[id];
        uint64_t v = 0;
        int absent = !f->is_there              ? BARO_ABSENT_UNSUPPORTED
                     : row                     ? baro_row_value(row, id, &v)
                     : baro_metric_adds_up(id) ? baro_sample_sum(sample, id, &v, NULL)
                                               : BARO_ABSENT_UNSUPPORTED;
        if (absent == BARO_PRESENT)
            put_value(&f->values, k->s, f->family.name, f->family.is_counter,
                      baro_metric_real(baro_metric_get(k->kind, id), v) / f->family.divisor);
    }
}

struct name_at {
    const char *name;
    size_t i;
};

static int by_name(const void *a, const void *b)
{
    const struct name_at *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->i > y->i) - (x->i < y->i);
}

static int by_place(const void *a, const void *b)
{
    const struct name_at *x = a, *y = b;
    return (x->i > y->i) - (x->i < y->i);
}

/* Removes all but the first entity of each name: two would be two values of one series. Returns how many are left. */
static size_t first_of_each_name(struct name_at *all, size_t n)
{
    size_t kept = 0;
    qsort(all, n, sizeof(*all), by_name);
    for (size_t i = 0; i < n; i++) {
        if (!kept || strcmp(all[kept - 1].name, all[i].name) != 0)
            all[kept++] = all[i];
    }
    qsort(all, kept, sizeof(*all), by_place);
    return kept;
}

/* Adds the entities of a sample. job NULL: those of the machine. */
static void add_entities(struct families *k, const struct baro_sample *sample, const char *job, size_t most)
{
    size_t all = baro_sample_rows(sample, k->kind), n = all < most ? all : most;
    struct name_at *names = n ? calloc(n, sizeof(*names)) : NULL;
    for (size_t i = 0; names && i < n; i++)
        names[i] = (struct name_at){baro_row_name(baro_sample_row(sample, k->kind, i)), i};
    size_t distinct = names ? first_of_each_name(names, n) : 0;
    for (size_t i = 0; i < distinct; i++) {
        if (job)
            set_labels(k->s, FAMILY_JOB, job, k->name, names[i].name, NULL);
        else
            set_labels(k->s, k->name, names[i].name, NULL);
        add_row(k, baro_sample_row(sample, k->kind, names[i].i), NULL);
    }
    k->s->out->failed = k->s->out->failed || (n && !names);
    k->s->left_out += (all - n) * (uint64_t)k->n;
    free(names);
}

struct used {
    const struct baro_row *process;
    uint32_t id;
    uint64_t cpu_ns;
};

static int by_id(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int busiest_first(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    return x->cpu_ns < y->cpu_ns ? 1 : x->cpu_ns > y->cpu_ns ? -1 : by_id(a, b);
}

/* Returns the CPU time of each process, sorted by id; NULL: memory ran out, or there is no process. */
static struct used *used_by(const struct baro_sample *s, size_t *ret_n)
{
    int cpu = baro_metric_find(BARO_KIND_PROCESS, "cpu");
    *ret_n = s ? baro_sample_rows(s, BARO_KIND_PROCESS) : 0;
    struct used *all = *ret_n ? calloc(*ret_n, sizeof(*all)) : NULL;
    for (size_t i = 0; all && i < *ret_n; i++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        all[i] = (struct used){.process = p, .id = baro_row_id(p)};
        baro_row_value(p, cpu, &all[i].cpu_ns);
    }
    if (all)
        qsort(all, *ret_n, sizeof(*all), by_id);
    return all;
}

/* Adds the `most` processes that used most CPU time since `before`; NULL: since they began. */
static void add_busiest(struct families *k, const struct job *job, size_t most)
{
    size_t n = 0, n_before = 0;
    struct used *now = used_by(job->now, &n), *earlier = used_by(job->before, &n_before);
    for (size_t i = 0, at = 0; now && earlier && i < n; i++) {
        while (at < n_before && earlier[at].id < now[i].id)
            at++;
        uint64_t was = at < n_before && earlier[at].id == now[i].id ? earlier[at].cpu_ns : 0;
        growth_between(was, now[i].cpu_ns, &now[i].cpu_ns);
    }
    if (now)
        qsort(now, n, sizeof(*now), busiest_first);
    for (size_t i = 0; now && i < n && i < most; i++) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", baro_row_pid(now[i].process));
        set_labels(k->s, FAMILY_JOB, job->id, "pid", pid, "name", baro_row_name(now[i].process), NULL);
        add_row(k, now[i].process, NULL);
    }
    free(now);
    free(earlier);
}

/* ---- jobs and the machine ---- */

/* Adds what people call the control group of a job. The job is locked. */
static void label_names(struct scrape *s, const struct job *job)
{
    static const char *const names[] = {"container", "pod", "pod_namespace", "image", "unit"};
    const struct baro_header *h = job->tape ? baro_tape_header(job->tape) : NULL;
    struct baro_value v;
    for (size_t i = 0; h && i < sizeof(names) / sizeof(*names); i++) {
        if (baro_header_value(h, baro_header_fact_find(names[i]), 0, &v) == BARO_PRESENT)
            add_label(s, names[i], v.text);
    }
}

static bool has_group(const struct job *job)
{
    return job->tape && family_group_is_job(baro_tape_header(job->tape)) &&
           baro_sample_rows(job->now, BARO_KIND_CGROUP);
}

/* Adds the rows of a kind of all jobs. name "job" with processes: their sums. */
static void add_kind(struct scrape *s, const char *name, int kind)
{
    size_t busiest = s->q->server->settings->metrics_processes;
    struct families k;
    families_begin(&k, s, name, kind);
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        pthread_mutex_lock(&job->lock);
        if (job->now && (kind == BARO_KIND_TASK || kind == BARO_KIND_GPU)) {
            add_entities(&k, job->now, job->id, TASKS);
        } else if (job->now && strcmp(name, "process") == 0) {
            add_busiest(&k, job, busiest);
        } else if (job->now && (kind != BARO_KIND_CGROUP || has_group(job))) {
            set_labels(s, FAMILY_JOB, job->id, NULL);
            if (kind == BARO_KIND_CGROUP)
                label_names(s, job);
            add_row(&k, kind == BARO_KIND_PROCESS ? NULL : baro_sample_row(job->now, kind, 0), job->now);
        }
        pthread_mutex_unlock(&job->lock);
    }
    families_end(&k);
}

static void add_host(struct scrape *s)
{
    static const int kinds[] = {BARO_KIND_HOST, BARO_KIND_CPU, BARO_KIND_DISK,
                                BARO_KIND_FS,   BARO_KIND_NET, BARO_KIND_SENSOR};
    struct job *job = s->host;
    struct families k;
    pthread_mutex_lock(&job->lock);
    for (size_t i = 0; job->now && i < sizeof(kinds) / sizeof(*kinds); i++) {
        families_begin(&k, s, baro_kind_name(kinds[i]), kinds[i]);
        set_labels(s, NULL);
        if (kinds[i] == BARO_KIND_HOST)
            add_row(&k, baro_sample_row(job->now, BARO_KIND_HOST, 0), NULL);
        else
            add_entities(&k, job->now, NULL, ENTITIES);
        families_end(&k);
    }
    pthread_mutex_unlock(&job->lock);
}

/* Writes how many processes are missing from the sums, which are lower bounds if there are any. */
static void add_missing(struct scrape *s)
{
    static const char name[] = "baro_job_processes_missing_in_sum";
    begin(s, name, "", false, "processes whose value a sum of the job lacks, so that the sum is a lower bound");
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        pthread_mutex_lock(&job->lock);
        for (int id = 0; job->now && id < baro_metric_count(BARO_KIND_PROCESS); id++) {
            uint64_t sum;
            size_t lacking = 0;
            if (!baro_metric_adds_up(id) || baro_sample_sum(job->now, id, &sum, &lacking) != BARO_PRESENT || !lacking)
                continue;
            set_labels(s, FAMILY_JOB, job->id, "sum", baro_metric_get(BARO_KIND_PROCESS, id)->name, NULL);
            put_value(s->out, s, name, false, (double)lacking);
        }
        pthread_mutex_unlock(&job->lock);
    }
}

static void add_job_info(struct scrape *s)
{
    struct catalogue *c = s->q->server->catalogue;
    begin(s, "baro_job_info", "", false, "a job: its command, and what its control group is called");
    for (size_t i = 0; i < s->jobs.n; i++) {
        int64_t start_ns;
        char *title = job_title(c, s->jobs.at[i], &start_ns);
        set_labels(s, FAMILY_JOB, s->jobs.at[i]->id, "command", title ? title : "", NULL);
        pthread_mutex_lock(&s->jobs.at[i]->lock);
        label_names(s, s->jobs.at[i]);
        pthread_mutex_unlock(&s->jobs.at[i]->lock);
        put_value(s->out, s, "baro_job_info", false, 1);
        free(title);
    }
    begin(s, "baro_job_running", "", false, "1: the job runs; 0: it has ended");
    for (size_t i = 0; i < s->jobs.n; i++) {
        uint64_t bytes;
        set_labels(s, FAMILY_JOB, s->jobs.at[i]->id, NULL);
        put_value(s->out, s, "baro_job_running", false, job_version(c, s->jobs.at[i], &bytes) == JOB_RUNNING);
    }
    begin(s, "baro_job_sample_timestamp_seconds", "seconds", false, "when the last sample was taken");
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        pthread_mutex_lock(&job->lock);
        int64_t at_ns = job->now_ns;
        pthread_mutex_unlock(&job->lock);
        set_labels(s, FAMILY_JOB, job->id, NULL);
        if (at_ns)
            put_value(s->out, s, "baro_job_sample_timestamp_seconds", false, (double)at_ns / 1e9);
    }
}

/* The status of a job that has ended, as a shell has it: 128 and the signal for one that a signal ended. */
static void add_exit_status(struct scrape *s)
{
    begin(s, "baro_job_exit_status", "", false,
          "exit status of a job that has ended; 128 and the signal's number where a signal ended it");
    for (size_t i = 0; i < s->jobs.n; i++) {
        struct job *job = s->jobs.at[i];
        pthread_mutex_lock(&job->lock);
        const struct baro_tape_end end = job->end;
        pthread_mutex_unlock(&job->lock);
        set_labels(s, FAMILY_JOB, job->id, NULL);
        if (end.ended && end.status_known)
            put_value(s->out, s, "baro_job_exit_status", false,
                      WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status));
    }
}

/* ---- the server ---- */

static void add_one(struct scrape *s, const char *name, const char *unit, bool is_counter, double v, const char *help)
{
    set_labels(s, NULL);
    begin(s, name, unit, is_counter, help);
    put_value(s->out, s, name, is_counter, v);
}

static void add_server(struct scrape *s)
{
    struct server *server = s->q->server;
    struct rusage used;
    size_t n[JOB_STATES];
    getrusage(RUSAGE_SELF, &used);
    catalogue_count(server->catalogue, n);
    begin(s, "baro_jobs", "", false, "tapes in the folder, by state");
    for (int i = 0; i < JOB_STATES; i++) {
        set_labels(s, "state", job_state_name((enum job_state)i), NULL);
        put_value(s->out, s, "baro_jobs", false, (double)n[i]);
    }
    begin(s, "baro_build_info", "", false, "the version of barograph");
    set_labels(s, "version", baro_version(), NULL);
    put_value(s->out, s, "baro_build_info", false, 1);
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
    const struct observing *o = &server->observing;
    if (!o->is_wanted)
        return;
    add_one(s, "baro_observer_up", "", false, o->is_running, "1: the baro observe of this server runs; 0: it does not");
    add_one(s, "baro_observer_starts", "", true, (double)o->starts, "how often baro observe was started");
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

void exposition(struct request *q)
{
    struct scrape s = {.q = q, .out = &q->out};
    struct job_filter any = {.state = -1, .no_private = !sight_all(q)};
    s.is_open_metrics = q->accept && strstr(q->accept, "application/openmetrics-text");
    if (catalogue_list(q->server->catalogue, &any, 0, UINT64_MAX, &s.jobs) < 0) {
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    keep_followed(&s);
    add_job_info(&s);
    add_exit_status(&s);
    add_kind(&s, "job", BARO_KIND_JOB);
    add_kind(&s, "job", BARO_KIND_PROCESS);
    add_missing(&s);
    add_kind(&s, "recorder", BARO_KIND_RECORDER);
    add_kind(&s, "cgroup", BARO_KIND_CGROUP);
    add_kind(&s, "task", BARO_KIND_TASK);
    add_kind(&s, "gpu", BARO_KIND_GPU);
    if (q->server->settings->metrics_processes)
        add_kind(&s, "process", BARO_KIND_PROCESS);
    if (s.host)
        add_host(&s);
    add_server(&s);
    job_list_done(q->server->catalogue, &s.jobs);
    buf_done(&s.labels);
    buf_str(s.out, s.is_open_metrics ? "# EOF\n" : "");
    q->type = s.is_open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8";
    request_json_end(q);
}
