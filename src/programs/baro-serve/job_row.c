/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/job_row.h"

#include <sys/wait.h>

#include "base/fmt.h"
#include "base/json.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"

static void write_value(struct json *j, const struct baro_fact *fact, const struct baro_value *v)
{
    if (v->absent)
        json_null(j);
    else if (fact->type == BARO_FACT_REAL)
        json_double(j, v->real);
    else
        json_u64(j, v->u64);
}

static const struct {
    const char *section, *name, *as;
} in_row[] = {
    {"job", "cpu_ns", "cpu_ns"},
    {"job", "cores_mean", "cores_mean"},
    {"job", "cores_peak", "cores_peak"},
    {"job", "rss_peak_bytes", "rss_peak_bytes"},
    {"job", "pss_peak_bytes", "pss_peak_bytes"},
    {"job", "io_read_bytes", "io_read_bytes"},
    {"job", "io_write_bytes", "io_write_bytes"},
    {"job", "processes_started", "processes_started"},
    {"job", "processes_peak", "processes_peak"},
};
#define IN_ROW (sizeof(in_row) / sizeof(*in_row))

static void write_facts(struct json *j, const struct baro_summary *s)
{
    struct baro_value v[IN_ROW];
    for (size_t i = 0; i < IN_ROW; i++) {
        int fact = baro_summary_fact_find(in_row[i].section, in_row[i].name);
        baro_summary_value(s, fact, 0, &v[i]);
        json_key(j, in_row[i].as);
        write_value(j, baro_summary_fact(fact), &v[i]);
    }
    json_key_begin(j, "lower_bounds", '[');
    for (size_t i = 0; i < IN_ROW; i++) {
        if (!v[i].absent && (v[i].flags & BARO_VALUE_LOWER_BOUND))
            json_text(j, in_row[i].as);
    }
    json_end(j, ']');
    json_key_begin(j, "absent", '{');
    for (size_t i = 0; i < IN_ROW; i++) {
        if (v[i].absent == BARO_PRESENT || v[i].absent == BARO_ABSENT_NONE)
            continue;
        json_key_text(j, in_row[i].as, baro_absent_name((enum baro_absent)v[i].absent));
    }
    json_end(j, '}');
}

static void write_metric(struct json *j, const char *name, int absent, uint64_t v)
{
    json_key(j, name);
    if (absent)
        json_null(j);
    else
        json_u64(j, v);
}

/* Writes what a running job uses at this moment. */
static void write_now(struct json *j, const struct job *job)
{
    uint64_t v = 0, rss = 0;
    size_t lacking = 0;
    double cores = 0;
    int derived = baro_derived_find(BARO_KIND_JOB, "cores");
    const struct baro_row *now = baro_sample_row(job->now, BARO_KIND_JOB, 0);
    int absent =
        baro_row_derived(job->before ? baro_sample_row(job->before, BARO_KIND_JOB, 0) : NULL, now, derived, &cores);
    json_begin(j, '{');
    json_key_u64(j, "t_ns", baro_sample_t_ns(job->now));
    json_key(j, "cores");
    if (absent)
        json_null(j);
    else
        json_double(j, cores);
    absent = baro_sample_sum(job->now, baro_metric_find(BARO_KIND_PROCESS, "rss"), &rss, &lacking);
    write_metric(j, "rss_bytes", absent, rss);
    json_key_bool(j, "rss_is_lower_bound", !absent && lacking);
    absent = baro_row_value(now, baro_metric_find(BARO_KIND_JOB, "processes"), &v);
    write_metric(j, "processes", absent, v);
    json_key_u64(j, "tasks", baro_sample_rows(job->now, baro_kind_find("task")));
    json_end(j, '}');
}

void row_result(struct json *j, const struct baro_tape_end *end)
{
    struct buf b = {0};
    if (end->ended && end->status_known)
        report_status(end->status, &b);
    else if (end->detached || end->ended)
        buf_str(&b, end->detached ? "detached" : "ended");
    if (b.len)
        json_text_n(j, (const char *)b.at, b.len);
    else
        json_null(j);
    buf_done(&b);
}

static void write_result(struct json *j, const struct baro_tape_end *end)
{
    bool is_known = end->ended && end->status_known;
    json_key(j, "result");
    row_result(j, end);
    json_key(j, "exit_status");
    if (is_known && WIFEXITED(end->status))
        json_i64(j, WEXITSTATUS(end->status));
    else
        json_null(j);
    json_key_text(j, "exit_signal",
                  is_known && WIFSIGNALED(end->status) ? baro_signal_name(WTERMSIG(end->status)) : NULL);
}

static void write_head(struct json *j, const struct baro_header *h, const struct baro_tape_end *end)
{
    struct buf time = {0};
    fmt_time_utc(&time, baro_header_start_realtime_ns(h));
    json_key_text(j, "name", *baro_header_name(h) ? baro_header_name(h) : NULL);
    json_key_begin(j, "command", '[');
    for (const char *const *a = baro_header_argv(h); *a; a++)
        json_text(j, *a);
    json_end(j, ']');
    json_key(j, "start");
    json_text_n(j, (const char *)time.at, time.len);
    json_key_u64(j, "wall_ns", end->end_ns > end->last_ns ? end->end_ns : end->last_ns);
    write_result(j, end);
    json_key_text(j, "host", baro_header_host(h));
    json_key_u64(j, "uid", baro_header_uid(h));
    json_key_text(j, "job_id", *baro_header_job_id(h) ? baro_header_job_id(h) : NULL);
    buf_done(&time);
}

static void write_problems(struct json *j, const struct baro_verdicts *v)
{
    size_t n = 0;
    for (size_t i = 0; i < baro_verdicts_count(v); i++)
        n += baro_verdicts_get(v, i)->weight == BARO_VERDICT_PROBLEM;
    json_key_u64(j, "problems", n);
}

/* Ends a row without the newline of a document, because it becomes a part of one. */
static void end_row(struct json *j)
{
    json_end(j, '}');
    while (j->out->len && j->out->at[j->out->len - 1] == '\n')
        j->out->len--;
}

static void begin_row(struct json *j, const struct job *job, const struct found *f)
{
    json_begin(j, '{');
    json_key_text(j, "id", job->id);
    json_key_text(j, "state", job_state_name(f->state));
}

void row_make(const struct job *job, const struct baro_tape *tape, struct found *f)
{
    struct json j = {.out = &f->row};
    const struct baro_header *h = baro_tape_header(tape);
    f->start_ns = baro_header_start_realtime_ns(h);
    f->is_machine = baro_header_mode(h) == BARO_MODE_ATTACH && !baro_header_target_count(h) && !*baro_header_argv(h);
    begin_row(&j, job, f);
    write_head(&j, h, &job->end);
    buf_clear(&f->title);
    if (job->summary)
        report_title(job->summary, &f->title);
    else
        report_name(h, &f->title);
    json_key(&j, "title");
    json_text_n(&j, (const char *)f->title.at, f->title.len);
    if (f->is_summed && job->summary) {
        write_facts(&j, job->summary);
        write_problems(&j, job->verdicts);
    }
    json_key(&j, "now");
    if (f->state == JOB_RUNNING && job->now)
        write_now(&j, job);
    else
        json_null(&j);
    end_row(&j);
}

void row_error(const struct job *job, const char *text, struct found *f)
{
    struct json j = {.out = &f->row};
    f->state = JOB_UNREADABLE;
    f->is_summed = true;
    begin_row(&j, job, f);
    json_key_text(&j, "title", job->id);
    json_key_text(&j, "error", text);
    end_row(&j);
    buf_str(&f->title, job->id);
}
