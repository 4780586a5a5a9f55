/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/follow.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "output/rows/row.h"
#include "output/text/summary_text.h"
#include "base/fmt.h"
#include "base/json.h"

#define HEAD_NS (200 * NS_PER_MS)  /* limit of CPU time for the header of a tape and its end */
#define READ_NS (2 * NS_PER_SEC)   /* limit of CPU time for a whole tape, or for the new records of a running job */
#define RATE_NS (NS_PER_SEC / 2)   /* shortest time over which rates are computed */
#define JUDGE_NS (10 * NS_PER_SEC) /* period of the rules while a job is running: they cost as much as 50 records */
#define STILL_NS NS_PER_SEC        /* time without growth after which it is checked whether the tape has a writer */
#define KEPT_NS (300 * NS_PER_SEC) /* how long the last samples of a job are kept after its end, for slow scrapers */

/* ---- the row of a job in the list: a JSON object; it needs the lock of the job ---- */

static const char *const in_row[] = {"cpu_ns",         "cores_mean",        "cores_peak",
                                     "rss_peak_bytes", "pss_peak_bytes",    "io_read_bytes",
                                     "io_write_bytes", "processes_started", "processes_peak"};
#define IN_ROW (sizeof(in_row) / sizeof(*in_row))

static void write_facts(struct json *j, const struct baro_summary *s)
{
    struct baro_value v[IN_ROW];
    for (size_t i = 0; i < IN_ROW; i++) {
        int fact = baro_summary_fact_find("job", in_row[i]);
        baro_summary_value(s, fact, 0, &v[i]);
        json_key(j, in_row[i]);
        if (v[i].absent)
            json_null(j);
        else if (baro_summary_fact(fact)->type == BARO_FACT_REAL)
            json_double(j, v[i].real);
        else
            json_u64(j, v[i].u64);
    }
    json_key_begin(j, "marks", '{');
    for (size_t i = 0; i < IN_ROW; i++) {
        if (!v[i].absent && baro_value_mark(v[i].flags))
            json_key_text(j, in_row[i], baro_value_mark(v[i].flags));
    }
    json_end(j, '}');
    json_key_begin(j, "absent", '{');
    for (size_t i = 0; i < IN_ROW; i++) {
        if (v[i].absent == BARO_PRESENT || v[i].absent == BARO_ABSENT_NONE)
            continue;
        json_key_text(j, in_row[i], baro_absent_name((enum baro_absent)v[i].absent));
    }
    json_end(j, '}');
}

static void write_metric(struct json *j, const char *name, int absent, uint64_t v)
{
    json_key(j, name);
    json_u64_or_null(j, !absent, v);
}

/* Writes the cores that the job uses, or that are busy on the machine. */
static void write_cores(struct json *j, const struct job *job, int kind)
{
    double cores = 0;
    int derived = baro_derived_find(kind, "cores");
    const struct baro_row *before = job->before ? baro_sample_row(job->before, kind, 0) : NULL;
    json_key(j, "cores");
    int absent = baro_row_derived(before, baro_sample_row(job->now, kind, 0), derived, &cores);
    json_double_or_null(j, !absent, cores);
}

/* Writes what a running job uses at this moment; for a recording of the machine alone what is used of it. */
static void write_now(struct json *j, const struct job *job, bool is_machine)
{
    uint64_t v = 0, rss = 0;
    size_t lacking = 0;
    const struct baro_row *now = baro_sample_row(job->now, BARO_KIND_JOB, 0);
    int absent;
    json_begin(j, '{');
    json_key_u64(j, "t_ns", baro_sample_t_ns(job->now));
    write_cores(j, job, is_machine ? BARO_KIND_HOST : BARO_KIND_JOB);
    if (is_machine) {
        absent = baro_row_value(baro_sample_row(job->now, BARO_KIND_HOST, 0),
                                baro_metric_find(BARO_KIND_HOST, "memory_used"), &v);
        write_metric(j, "memory_used_bytes", absent, v);
    }
    absent = baro_sample_sum(job->now, baro_metric_find(BARO_KIND_PROCESS, "rss"), &rss, &lacking);
    write_metric(j, "rss_bytes", absent, rss);
    json_key_bool(j, "rss_is_lower_bound", !absent && lacking);
    absent = baro_row_value(now, baro_metric_find(BARO_KIND_JOB, "processes"), &v);
    write_metric(j, "processes", absent, v);
    json_key_u64(j, "tasks", baro_sample_rows(job->now, baro_kind_find("task")));
    json_end(j, '}');
}

/* Writes how a job ended: a text or null. */
static void write_result(struct json *j, const struct baro_tape_end *end)
{
    bool is_known = end->ended && end->status_known;
    struct buf b = {0};
    if (is_known)
        report_status(end->status, &b);
    else if (end->detached || end->ended)
        buf_str(&b, end->detached ? "detached" : "ended");
    json_key(j, "result");
    if (b.len)
        json_text_n(j, (const char *)b.at, b.len);
    else
        json_null(j);
    buf_done(&b);
    json_key(j, "exit_status");
    json_i64_or_null(j, is_known && WIFEXITED(end->status), WEXITSTATUS(end->status));
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
    json_key_begin(j, "tags", '{');
    for (const char *const *tag = baro_header_tags(h); *tag; tag++)
        json_key_pair(j, *tag);
    json_end(j, '}');
    json_key(j, "start");
    json_text_n(j, (const char *)time.at, time.len);
    json_key_u64(j, "wall_ns", end->end_ns > end->last_ns ? end->end_ns : end->last_ns);
    write_result(j, end);
    json_key_text(j, "host", baro_header_host(h));
    json_key_u64(j, "uid", baro_header_uid(h));
    json_key_text(j, "job_id", *baro_header_job_id(h) ? baro_header_job_id(h) : NULL);
    buf_done(&time);
}

/* Has a verdict before this one the same rule, about another phase? */
static bool is_repeated(const struct baro_verdicts *v, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(baro_verdicts_get(v, k)->rule, baro_verdicts_get(v, i)->rule) == 0)
            return true;
    }
    return false;
}

/* Writes how many problems there are, and the names of what is a problem or gives advice, problems first. */
static void write_verdicts(struct json *j, const struct baro_verdicts *v)
{
    size_t n = 0;
    for (size_t i = 0; i < baro_verdicts_count(v); i++)
        n += baro_verdicts_get(v, i)->weight == BARO_VERDICT_PROBLEM;
    json_key_u64(j, "problems", n);
    json_key_begin(j, "verdicts", '[');
    for (size_t i = 0; i < baro_verdicts_count(v); i++) {
        if (baro_verdicts_get(v, i)->weight <= BARO_VERDICT_ADVICE && !is_repeated(v, i))
            json_text(j, baro_verdicts_get(v, i)->rule);
    }
    json_end(j, ']');
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

/* Has the recording processes of all users of a machine (`record --all`)? */
static bool has_all_users(const struct baro_header *h)
{
    struct baro_value v;
    if (baro_header_value(h, baro_header_fact_find("cgroup_mode"), 0, &v) != BARO_PRESENT)
        return false;
    return strcmp(v.text, "machine") == 0 || strcmp(v.text, "visible") == 0;
}

static void row_make(const struct job *job, const struct baro_tape *tape, struct found *f)
{
    struct json j = {.out = &f->row};
    const struct baro_header *h = baro_tape_header(tape);
    f->start_ns = baro_header_start_realtime_ns(h);
    f->is_machine = baro_header_mode(h) == BARO_MODE_ATTACH && !baro_header_target_count(h) && !*baro_header_argv(h);
    f->is_private = has_all_users(h);
    f->end_ns =
        f->state == JOB_RUNNING
            ? INT64_MAX
            : baro_header_realtime_ns(h, job->end.end_ns > job->end.last_ns ? job->end.end_ns : job->end.last_ns);
    begin_row(&j, job, f);
    write_head(&j, h, &job->end);
    buf_clear(&f->title);
    if (job->fold)
        report_title(baro_fold_summary(job->fold), &f->title);
    else
        report_name(h, &f->title);
    json_key_bool(&j, "is_machine", f->is_machine);
    json_key_bool(&j, "has_machine", f->is_machine || f->is_private);
    json_key(&j, "title");
    json_text_n(&j, (const char *)f->title.at, f->title.len);
    if (f->is_summed && job->fold) {
        write_facts(&j, baro_fold_summary(job->fold));
        write_verdicts(&j, baro_fold_verdicts(job->fold));
    }
    json_key(&j, "now");
    if (f->state == JOB_RUNNING && job->now)
        write_now(&j, job, f->is_machine);
    else
        json_null(&j);
    end_row(&j);
}

static void row_error(const struct job *job, const char *text, struct found *f)
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

/* ---- tapes ---- */

void found_done(struct found *f)
{
    buf_done(&f->row);
    buf_done(&f->title);
}

static enum job_state state_of(enum baro_tape_state state)
{
    return state == BARO_TAPE_RUNNING ? JOB_RUNNING : state == BARO_TAPE_ENDED ? JOB_ENDED : JOB_CUT_OFF;
}

static void make_failure(const struct job *job, const struct baro_error *err, struct found *f)
{
    f->no_memory = err->code == -ENOMEM;
    row_error(job, err->code == -ETIME ? "takes too long to read" : err->text, f);
}

/* ---- reading ---- */

static void let_go(struct job *job)
{
    baro_tape_close(job->tape);
    baro_fold_free(job->fold);
    if (job->between != job->now)
        baro_sample_free(job->between);
    baro_sample_free(job->now);
    baro_sample_free(job->before);
    job->tape = NULL;
    job->fold = NULL;
    job->now = job->before = job->between = NULL;
    job->now_ns = job->host_ns = 0;
}

void follow_head(struct job *job, struct found *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    *ret = (struct found){.state = JOB_NEW};
    pthread_mutex_lock(&job->lock);
    struct baro_tape *tape = job_open(job, HEAD_NS, &err);
    job->end = (struct baro_tape_end){.size = sizeof(job->end)};
    if (tape && baro_tape_read_end(tape, &job->end, &err) >= 0) {
        ret->state = state_of(baro_tape_state(tape));
        row_make(job, tape, ret);
    } else {
        make_failure(job, &err, ret);
    }
    baro_tape_close(tape);
    pthread_mutex_unlock(&job->lock);
}

static int keep_sample(struct job *job, const struct baro_sample *s, struct baro_error *err)
{
    struct baro_sample *copy;
    int code = baro_sample_copy(s, &copy, err);
    if (code < 0)
        return code;
    if (job->now != job->between)
        baro_sample_free(job->now);
    job->now = copy;
    if (job->between && baro_sample_t_ns(copy) - baro_sample_t_ns(job->between) < RATE_NS)
        return 0;
    baro_sample_free(job->before);
    job->before = job->between;
    job->between = copy;
    return 0;
}

/* Computes wall-clock times, for which the tape is read. That may hang, so no request about all jobs does it. */
static void note_times(struct job *job)
{
    const struct baro_header *h = baro_tape_header(job->tape);
    uint64_t t_ns;
    job->now_ns = row_realtime_ns(job->tape, h, baro_sample_t_ns(job->now));
    bool has_host = baro_sample_read_ns(job->now, BARO_KIND_HOST, &t_ns) == BARO_PRESENT;
    job->host_ns = has_host ? row_realtime_ns(job->tape, h, t_ns) : 0;
}

int follow_judge(struct job *job, struct baro_error *err)
{
    if (!job->is_unjudged)
        return 0;
    job->is_unjudged = false;
    job->judged_ns = clock_monotonic_ns();
    return baro_fold_finish(job->fold, BARO_FOLD_VERDICTS, err);
}

/* Adds the new records. Returns how many there were, or a negative code. */
static int drain(struct job *job, bool samples, struct baro_error *err)
{
    struct baro_record r;
    int code, n = 0;
    baro_tape_limit_cpu(job->tape, READ_NS);
    while ((code = baro_tape_next(job->tape, &r, err)) > 0) {
        baro_fold_add(job->fold, &r);
        job->end.last_ns = r.kind == BARO_RECORD_SAMPLE ? r.t_ns : job->end.last_ns;
        if (samples && r.kind == BARO_RECORD_SAMPLE)
            code = keep_sample(job, r.u.sample, err);
        if (code < 0)
            break;
        n = n < 1 << 30 ? n + 1 : n;
    }
    if (code >= 0 && n && job->now)
        note_times(job);
    if (code >= 0 && n) {
        code = baro_fold_finish(job->fold, BARO_FOLD_SUMMARY, err);
        job->is_unjudged = true;
        if (code >= 0 && clock_monotonic_ns() - job->judged_ns >= JUDGE_NS)
            code = follow_judge(job, err);
    }
    return code < 0 ? code : n;
}

static int begin_following(struct job *job, struct baro_error *err)
{
    let_go(job);
    job->judged_ns = 0;
    job->tape = job_open(job, READ_NS, err);
    if (!job->tape)
        return err->code ? err->code : -EIO;
    return baro_fold_new(&job->fold, baro_tape_header(job->tape), BARO_FOLD_VERDICTS, err);
}

static void see_state(struct job *job, struct found *f)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    struct baro_tape *tape = NULL;
    f->state = state_of(baro_tape_state(job->tape));
    if (f->state == JOB_RUNNING)
        return;
    tape = job_open(job, HEAD_NS, NULL);
    if (tape && baro_tape_read_end(tape, &end, NULL) >= 0)
        job->end = end;
    baro_tape_close(tape);
}

void follow_read(struct job *job, struct found *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    *ret = (struct found){.state = JOB_NEW};
    pthread_mutex_lock(&job->lock);
    int code = begin_following(job, &err);
    bool is_running = code >= 0 && baro_tape_state(job->tape) == BARO_TAPE_RUNNING;
    if (code >= 0)
        code = drain(job, is_running, &err);
    if (code >= 0 || code == -ETIME) {
        see_state(job, ret);
        ret->is_summed = code >= 0;
        row_make(job, job->tape, ret);
        ret->is_summed = true; /* the tape is not read again */
    } else {
        make_failure(job, &err, ret);
    }
    job->grown_ns = clock_monotonic_ns();
    if (ret->state != JOB_RUNNING)
        let_go(job);
    pthread_mutex_unlock(&job->lock);
}

bool follow_tick(struct job *job, struct found *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    uint64_t now_ns = clock_monotonic_ns();
    *ret = (struct found){.state = JOB_RUNNING, .is_summed = true};
    pthread_mutex_lock(&job->lock);
    bool is_open = job->tape != NULL;
    int n = is_open ? drain(job, true, &err) : 0;
    bool is_still = is_open && n == 0 && now_ns - job->grown_ns > STILL_NS;
    if (is_open && (baro_tape_complete(job->tape) || (is_still && baro_tape_state(job->tape) != BARO_TAPE_RUNNING))) {
        n = n < 0 ? n : drain(job, true, &err); /* records that were written before the state was checked */
        n = n < 0 ? n : follow_judge(job, &err);
        if (n >= 0) {
            see_state(job, ret);
            job->ended_ns = now_ns;
            row_make(job, job->tape, ret);
            n = 1;
        }
    } else if (n > 0) {
        row_make(job, job->tape, ret);
        job->grown_ns = now_ns;
    }
    if (n < 0) {
        make_failure(job, &err, ret);
        let_go(job);
    }
    pthread_mutex_unlock(&job->lock);
    return n != 0;
}

bool follow_forget(struct job *job, uint64_t now_ns, bool at_once)
{
    pthread_mutex_lock(&job->lock);
    bool forgets = job->tape && (at_once || (job->ended_ns && now_ns - job->ended_ns > KEPT_NS));
    if (forgets)
        let_go(job);
    pthread_mutex_unlock(&job->lock);
    return forgets;
}
