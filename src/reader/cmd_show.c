/* SPDX-License-Identifier: Apache-2.0 */
/* baro show: the tree as it was at a moment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/summary.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "reader/forest.h"
#include "reader/moment.h"
#include "reader/reader.h"
#include "reader/show_kinds.h"
#include "reader/show_machine.h"
#include "reader/show_phases.h"
#include "reader/show_tasks.h"
#include "command/zone.h"
#include "encode/encode.h"
#include "encode/escaped.h"
#include "encode/table.h"
#include "encode/wrap.h"
#include "report/report.h"

#define RATE_OVER (100 * NS_PER_MS) /* at least, so that 10 ms steps of the kernel don't look like bursts */

/* Ids of the process metrics that the table shows, and of the job's. */
struct show_metrics {
    int state, cpu, rss, pss, uss, threads, fds;
    int job_cpu, job_cpu_bound, job_processes, job_pss_stale;
};

static struct show_metrics find_metrics(void)
{
    static const char *const process[] = {"state", "cpu", "rss", "pss", "uss", "threads", "fds"};
    static const char *const job[] = {"cpu", "cpu_bound", "processes", "pss_stale"};
    int p[7], j[4];
    for (size_t i = 0; i < 7; i++)
        p[i] = baro_metric_find(BARO_KIND_PROCESS, process[i], strlen(process[i]));
    for (size_t i = 0; i < 4; i++)
        j[i] = baro_metric_find(BARO_KIND_JOB, job[i], strlen(job[i]));
    return (struct show_metrics){p[0], p[1], p[2], p[3], p[4], p[5], p[6], j[0], j[1], j[2], j[3]};
}

struct show {
    struct cli *cli;
    const struct settings *settings;
    struct baro_tape *tape;
    const char *path;
    struct row_memory *memory, *of_tasks; /* apart: ids of entities are those of processes, too */
    uint64_t before_ns;  /* the sample that rates are taken from; UINT64_MAX: none */
    int64_t asked_ns;
    uint64_t tolerance_ns; /* a sample so much later is the one that was asked for */
    bool asked;
    long zone;           /* seconds east of UTC */
    struct show_metrics metric; /* their ids */
    struct show_phases phases;
    struct baro_error err;
};

/* ---- which sample ---- */

static int next_sample(struct show *w, struct baro_record *ret)
{
    int code;
    while ((code = baro_tape_next(w->tape, ret, &w->err)) > 0) {
        if (ret->kind == BARO_RECORD_SAMPLE)
            return 1;
    }
    return code;
}

/* Zombies are in a sample, and are not counted as processes. */
static bool has_processes(const struct show *w, const struct baro_sample *s)
{
    uint64_t n;
    return baro_sample_job(s, w->metric.job_processes, &n) == BARO_PRESENT ? n > 0 : baro_sample_count(s) > 0;
}

/* Finds the time of the sample that stands for the moment. */
static int choose(struct show *w, uint64_t moment_ns, uint64_t *ret_ns)
{
    struct baro_record record;
    int code = baro_tape_seek(w->tape, moment_ns + w->tolerance_ns, &record, &w->err);
    if (code <= 0)
        return code;
    *ret_ns = record.t_ns;
    if (record.t_ns >= moment_ns || w->settings->pick == PICK_BEFORE)
        return 1;
    code = next_sample(w, &record);
    if (code > 0 && (w->settings->pick == PICK_AFTER || record.t_ns - moment_ns < moment_ns - *ret_ns))
        *ret_ns = record.t_ns;
    return code < 0 ? code : 1;
}

static void remember(struct show *w, const struct baro_record *record, int kind)
{
    const struct baro_sample *s = record->u.sample;
    struct row row = {.kind = kind, .header = baro_tape_header(w->tape), .t_ns = record->t_ns, .sample = s,
                      .memory = kind == BARO_KIND_TASK ? w->of_tasks : w->memory};
    if (kind == BARO_KIND_JOB) {
        row_begin(&row);
        return;
    }
    for (size_t i = 0; kind == BARO_KIND_TASK && i < baro_sample_entity_count(s, kind); i++) {
        row.entity = baro_sample_entity(s, kind, i);
        row_begin(&row);
    }
    for (size_t i = 0; kind == BARO_KIND_PROCESS && i < baro_sample_count(s); i++) {
        row.process = baro_sample_process(s, i);
        row_begin(&row);
    }
}

/* Moves to the sample at t_ns, by way of the one that rates are taken from. */
static int go_to(struct show *w, uint64_t t_ns, struct baro_record *ret)
{
    int code;
    row_memory_free(w->memory);
    row_memory_free(w->of_tasks);
    w->memory = row_memory_new();
    w->of_tasks = row_memory_new();
    w->before_ns = UINT64_MAX;
    code = show_machine_before(w->tape, t_ns, w->memory, &w->err);
    if (code < 0)
        return code;
    if (t_ns > 0) {
        code = baro_tape_seek(w->tape, t_ns > RATE_OVER ? t_ns - RATE_OVER : 0, ret, &w->err);
        if (code <= 0)
            return code;
        if (ret->t_ns < t_ns) {
            w->before_ns = ret->t_ns;
            remember(w, ret, BARO_KIND_JOB);
            remember(w, ret, BARO_KIND_PROCESS);
            remember(w, ret, BARO_KIND_TASK);
        }
    }
    return baro_tape_seek(w->tape, t_ns, ret, &w->err);
}

/* ---- for people ---- */

#define COLUMNS_WITH_TASK 11u

enum form { FORM_COUNT, FORM_BYTES, FORM_LETTER };

static void cell_of_value(struct table *t, const struct baro_process *p, int metric, enum form form)
{
    struct buf b = {0};
    uint64_t v;
    int absent = baro_process_value(p, metric, &v);
    if (absent == BARO_ABSENT_DENIED)
        buf_str(&b, "denied");
    else if (absent != BARO_PRESENT)
        buf_byte(&b, '-');
    else if (form == FORM_LETTER)
        buf_byte(&b, v > ' ' && v < 127 ? (uint8_t)v : '?');
    else if (form == FORM_BYTES)
        fmt_bytes(&b, v);
    else
        fmt_count(&b, v);
    table_take(t, &b);
    buf_done(&b);
}

static void command_cell(struct show *w, struct table *t, const struct forest *f, size_t i, bool tree)
{
    const struct baro_process *p = f->at[i].process;
    const char *line = baro_process_cmdline(p), *name = baro_process_name(p);
    struct buf b = {0};
    if (tree)
        forest_branch(f, i, w->cli->utf8, &b);
    if (line && *line) {
        text_escaped(&b, line, strlen(line) < 4096 ? strlen(line) : 4096);
    } else {
        buf_byte(&b, '[');
        text_escaped(&b, *name ? name : "?", strlen(*name ? name : "?"));
        buf_byte(&b, ']');
    }
    table_take(t, &b);
    buf_done(&b);
}

/* A line of the table: a process and what it is ordered by. */
struct line {
    size_t node;
    double cores;
    uint64_t rss;
    int cores_absent;
};

/* Rates are asked once for each process: to be asked is to be remembered. */
static void fill_line(struct show *w, const struct baro_record *record, const struct forest *f, size_t i,
                      struct line *ret)
{
    struct row row = {.kind = BARO_KIND_PROCESS, .header = baro_tape_header(w->tape), .t_ns = record->t_ns,
                      .sample = record->u.sample, .process = f->at[i].process, .memory = w->memory};
    row_begin(&row);
    *ret = (struct line){
        .node = i, .cores = row.cores_absent == BARO_PRESENT ? row.cores : 0, .cores_absent = row.cores_absent};
    baro_process_value(f->at[i].process, w->metric.rss, &ret->rss);
}

static int heavier(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->cores != y->cores)
        return x->cores < y->cores ? 1 : -1;
    if (x->rss != y->rss)
        return x->rss < y->rss ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static void process_cells(struct show *w, struct table *t, const struct baro_sample *s, const struct forest *f,
                          const struct line *l, bool tree)
{
    const struct baro_process *p = f->at[l->node].process;
    struct buf b = {0};
    uint64_t cpu;
    buf_printf(&b, "%d", baro_process_pid(p));
    table_take(t, &b);
    cell_of_value(t, p, w->metric.state, FORM_LETTER);
    if (l->cores_absent == BARO_PRESENT)
        reader_cores(&b, l->cores);
    else
        buf_byte(&b, '-');
    table_take(t, &b);
    if (baro_process_value(p, w->metric.cpu, &cpu) == BARO_PRESENT)
        fmt_duration(&b, cpu);
    else
        buf_byte(&b, '-');
    table_take(t, &b);
    cell_of_value(t, p, w->metric.rss, FORM_BYTES);
    cell_of_value(t, p, w->metric.pss, FORM_BYTES);
    cell_of_value(t, p, w->metric.uss, FORM_BYTES);
    cell_of_value(t, p, w->metric.threads, FORM_COUNT);
    cell_of_value(t, p, w->metric.fds, FORM_COUNT);
    if (t->columns == COLUMNS_WITH_TASK)
        show_task_cell(s, p, t);
    command_cell(w, t, f, l->node, tree);
    buf_done(&b);
}

/* PSS of processes was read before others that share memory with them came or went: their sum may be too high or too
 * low. */
static bool is_stale(const struct show *w, const struct baro_sample *s)
{
    uint64_t v;
    return baro_sample_job(s, w->metric.job_pss_stale, &v) == BARO_PRESENT && v;
}

static void say_sum(const struct show *w, struct buf *b, const struct baro_sample *s, int metric, const char *unit)
{
    struct baro_sum sum;
    int absent = baro_sample_sum(s, metric, &sum);
    buf_str(b, ", ");
    if (absent != BARO_PRESENT) {
        buf_printf(b, "%s not known (%s)", unit, baro_absent_name((enum baro_absent)absent));
        return;
    }
    bool estimate = (metric == w->metric.pss || metric == w->metric.uss) && is_stale(w, s);
    buf_str(b, estimate ? "about " : sum.covered < sum.members ? "at least " : "");
    if (metric == w->metric.threads || metric == w->metric.fds)
        fmt_count(b, sum.value);
    else
        fmt_bytes(b, sum.value);
    buf_printf(b, " %s", metric == w->metric.threads && sum.value == 1 && baro_sample_count(s) == 1 ? "thread" : unit);
}

/* How far the sample lies from what was asked for; what is meant, though it was written less exactly, is that itself.
 */
static int64_t off_by(const struct show *w, const struct baro_record *record)
{
    int64_t off = (int64_t)(record->t_ns - (uint64_t)w->asked_ns);
    return off > 0 && (uint64_t)off <= w->tolerance_ns ? 0 : off;
}

static void say_which(struct show *w, const struct baro_record *record, struct buf *b)
{
    const struct baro_header *h = baro_tape_header(w->tape);
    fmt_moment(b, record->t_ns);
    buf_str(b, ", ");
    fmt_time_zone(b, baro_header_realtime_ns(h, record->t_ns), w->zone, true);
    if (!w->asked) {
        buf_str(b, w->settings->follow                ? ": the newest sample"
                   : has_processes(w, record->u.sample) ? ": the last sample with processes"
                                                      : ": the last sample");
    } else {
        int64_t off = off_by(w, record);
        uint64_t distance = off < 0 ? 0 - (uint64_t)off : (uint64_t)off;
        buf_str(b, ": ");
        if (distance)
            fmt_duration(b, distance);
        buf_str(b, off == 0 ? "the sample at that time" : off < 0 ? " before that time" : " after that time");
        if (off && w->settings->pick == PICK_NEAREST)
            buf_str(b, ", the nearest sample");
        else if (off)
            buf_str(b, off < 0           ? ", the last sample until then"
                       : w->asked_ns < 0 ? ", the first sample"
                                         : ", the first sample from then on");
    }
    buf_byte(b, '\n');
}

static void say_job(struct show *w, const struct baro_record *record, struct buf *b)
{
    const struct baro_sample *s = record->u.sample;
    uint64_t v, bound = 0;
    struct row row = {.kind = BARO_KIND_JOB, .header = baro_tape_header(w->tape), .t_ns = record->t_ns, .sample = s,
                      .memory = w->memory};
    row_begin(&row);
    fmt_count(b, baro_sample_count(s));
    buf_str(b, baro_sample_count(s) == 1 ? " process" : " processes");
    say_sum(w, b, s, w->metric.rss, "rss");
    say_sum(w, b, s, w->metric.pss, "pss");
    say_sum(w, b, s, w->metric.uss, "uss");
    say_sum(w, b, s, w->metric.threads, "threads");
    say_sum(w, b, s, w->metric.fds, "fds");
    buf_byte(b, '\n');
    if (baro_sample_job(s, w->metric.job_cpu, &v) == BARO_PRESENT) {
        buf_str(b, "so far ");
        fmt_duration(b, v);
        buf_str(b, " cpu");
        if (baro_sample_job(s, w->metric.job_cpu_bound, &bound) == BARO_PRESENT && bound) {
            buf_str(b, " (short by less than ");
            fmt_duration(b, bound);
            buf_byte(b, ')');
        }
    }
    if (row.cores_absent == BARO_PRESENT) {
        buf_str(b, ", now ");
        reader_cores(b, row.cores);
        buf_str(b, " cores, over ");
        fmt_duration(b, record->t_ns - w->before_ns);
    }
    buf_byte(b, '\n');
}

/* How many processes are shown: what was asked for, or what fits below the lines above the table, its titles and the
 * line of the rest. 0: all. */
static size_t most_of(const struct show *w, const struct buf *above)
{
    unsigned lines = 2;
    if (w->settings->count)
        return w->settings->count == UINT32_MAX ? 0 : w->settings->count;
    if (!w->settings->follow || !w->cli->height)
        return 0;
    for (size_t i = 0; i < above->len; i++)
        lines += above->at[i] == '\n';
    return w->cli->height > lines ? w->cli->height - lines : 1;
}

static void say_rest(const struct line *at, size_t n, struct buf *b)
{
    double cores = 0;
    for (size_t i = 0; i < n; i++)
        cores += at[i].cores;
    buf_byte(b, '(');
    fmt_count(b, n);
    buf_str(b, " more, ");
    reader_cores(b, cores);
    buf_str(b, " cores)\n");
}

/* Returns how many there are. */
static size_t fill_lines(struct show *w, const struct baro_record *record, const struct forest *f, struct line *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (show_task_fits(record->u.sample, f->at[i].process, w->settings->task))
            fill_line(w, record, f, i, &ret[n++]);
    }
    return n;
}

/* The tree, or of too many processes the heaviest, or those of a task. */
static int print_processes(struct show *w, const struct baro_record *record, const struct forest *f, struct buf *b)
{
    static const char *const titles[] = {"PID", "S", "CORES", "CPU", "RSS", "PSS", "USS", "THR", "FDS"};
    const struct baro_sample *s = record->u.sample;
    bool tasks = baro_sample_entity_count(s, BARO_KIND_TASK) > 0;
    struct table t = {.columns = tasks ? COLUMNS_WITH_TASK : COLUMNS_WITH_TASK - 1,
                      .right = {true, false, true, true, true, true, true, true, true},
                      .drop = {6, 8, 7, 1, 5, 3},
                      .n_drop = 6};
    struct line *lines = calloc(f->n + 1, sizeof(*lines));
    if (!lines)
        return error_set(&w->err, -ENOMEM, "out of memory");
    size_t all = fill_lines(w, record, f, lines), most = most_of(w, b), n = most && most < all ? most : all;
    if (n < all)
        qsort(lines, all, sizeof(*lines), heavier);
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        table_text(&t, titles[i]);
    if (tasks)
        table_text(&t, "TASK");
    table_text(&t, "COMMAND");
    for (size_t i = 0; i < n; i++)
        process_cells(w, &t, s, f, &lines[i], n == f->n);
    if (all)
        table_print(&t, w->cli->tty ? w->cli->width : 0, b);
    if (n < all)
        say_rest(lines + n, all - n, b);
    table_done(&t);
    free(lines);
    return 0;
}

static int print_text(struct show *w, const struct baro_record *record, struct buf *b)
{
    struct forest f;
    size_t from = b->len;
    say_which(w, record, b);
    uint64_t v;
    if (baro_sample_job(record->u.sample, w->metric.job_processes, &v) != BARO_ABSENT_NOT_ASKED)
        say_job(w, record, b);
    show_phases_text(&w->phases, record->t_ns, b);
    show_machine_line(w->tape, record, w->memory, b);
    show_tasks_text(w->tape, record, w->of_tasks, w->settings->task, b);
    show_kinds_text(w->tape, record, b);
    if (w->cli->tty)
        wrap_lines(b, from, w->cli->width);
    buf_byte(b, '\n');
    if (forest_make(&f, record->u.sample) < 0)
        return error_set(&w->err, -ENOMEM, "out of memory");
    int code = print_processes(w, record, &f, b);
    forest_done(&f);
    return code;
}

/* ---- for programs ---- */

static void json_which(struct show *w, const struct baro_record *record, struct json *j)
{
    struct buf time = {0};
    fmt_time_utc(&time, baro_header_realtime_ns(baro_tape_header(w->tape), record->t_ns));
    json_key(j, "tape");
    json_text(j, w->path);
    json_key(j, "time");
    json_text_n(j, (const char *)time.at, time.len);
    buf_done(&time);
    json_key(j, "t_ns");
    json_u64(j, record->t_ns);
    json_key(j, "asked_ns");
    if (w->asked)
        json_i64(j, w->asked_ns);
    else
        json_null(j);
    int64_t off = w->asked ? off_by(w, record) : 0;
    json_key(j, "sample");
    json_text(j, !w->asked                           ? "last"
                 : off == 0                          ? "at"
                 : w->settings->pick == PICK_NEAREST ? "nearest"
                 : off < 0                           ? "before"
                                                     : "after");
    json_key(j, "rates_over_ns");
    if (w->before_ns == UINT64_MAX)
        json_null(j);
    else
        json_u64(j, record->t_ns - w->before_ns);
}

static int print_json(struct show *w, const struct baro_record *record, struct buf *b)
{
    struct columns processes, job;
    struct json j = {.out = b, .pretty = !w->settings->follow};
    const struct baro_sample *s = record->u.sample;
    struct row row = {.kind = BARO_KIND_JOB, .header = baro_tape_header(w->tape), .t_ns = record->t_ns, .sample = s,
                      .memory = w->memory};
    int code = columns_choose(&processes, BARO_KIND_PROCESS, NULL, w->tape, NULL, &w->err);
    if (code == 0)
        code = columns_choose(&job, BARO_KIND_JOB, NULL, w->tape, NULL, &w->err);
    if (code < 0)
        return code;
    json_begin(&j, '{');
    json_which(w, record, &j);
    row_begin(&row);
    json_key(&j, "job");
    json_row(&job, &row, &j);
    json_key(&j, "processes");
    json_begin(&j, '[');
    row.kind = BARO_KIND_PROCESS;
    for (size_t i = 0; i < baro_sample_count(s); i++) {
        row.process = baro_sample_process(s, i);
        if (!show_task_fits(s, row.process, w->settings->task))
            continue;
        row_begin(&row);
        json_row(&processes, &row, &j);
    }
    json_end(&j, ']');
    show_phases_json(&w->phases, record->t_ns, &j);
    json_key(&j, "host");
    code = show_machine_json(w->tape, record, w->memory, &j, &w->err);
    if (code == 0 && baro_sample_entity_count(s, BARO_KIND_TASK)) {
        json_key(&j, "tasks");
        code = show_kind_json(w->tape, record, BARO_KIND_TASK, w->settings->task, w->of_tasks, &j, &w->err);
    }
    if (code == 0)
        code = show_kinds_json(w->tape, record, &j, &w->err);
    json_end(&j, '}');
    columns_done(&processes);
    columns_done(&job);
    return code;
}

/* ---- the command ---- */

static int print(struct show *w, uint64_t t_ns)
{
    struct baro_record record;
    struct buf b = {0};
    int code = show_phases_read(&w->phases, w->path, &w->err);
    if (code >= 0)
        code = go_to(w, t_ns, &record);
    if (code <= 0)
        return code < 0 ? cli_fail(w->cli, &w->err) : cli_failf(w->cli, "%s has no sample", w->path);
    if (w->settings->task && !show_tasks_has(record.u.sample, w->settings->task))
        return show_tasks_missing(w->cli, record.u.sample, w->settings->task, w->path);
    if (w->settings->follow && w->cli->tty && !w->settings->json) {
        cli_resize(w->cli);
        buf_str(&b, "\033[H\033[2J");
    }
    code = w->settings->json ? print_json(w, &record, &b) : print_text(w, &record, &b);
    if (!code && w->settings->follow && !w->cli->tty && !w->settings->json)
        buf_byte(&b, '\n');
    if (!code && w->settings->follow && w->cli->tty && !w->settings->json && b.len)
        b.len--; /* the last line stands on the last one of the terminal */
    int status = code < 0            ? cli_fail(w->cli, &w->err)
                 : w->settings->json ? cli_out(w->cli, &b)
                                     : cli_out_text(w->cli, &b);
    buf_done(&b);
    return status;
}

/* Seeking always looks at what was added since. */
static int follow(struct show *w)
{
    struct baro_record record;
    uint64_t shown_ns = UINT64_MAX;
    int status = 0;
    for (;;) {
        int code = baro_tape_seek(w->tape, UINT64_MAX, &record, &w->err);
        if (code < 0)
            return cli_fail(w->cli, &w->err);
        if (code > 0 && record.t_ns != shown_ns) {
            shown_ns = record.t_ns;
            status = print(w, shown_ns);
        }
        while (code > 0 && (code = baro_tape_next(w->tape, &record, &w->err)) > 0)
            ; /* to the end mark, if it is there */
        if (!status && reader_wait(w->tape))
            continue;
        if (!status && w->cli->tty && !w->settings->json && shown_ns != UINT64_MAX) {
            struct buf end = {0};
            buf_byte(&end, '\n');
            status = cli_out(w->cli, &end);
            buf_done(&end);
        }
        if (!status && baro_tape_state(w->tape) == BARO_TAPE_CUT_OFF)
            cli_note(w->cli, "no recorder writes %s any more; it has no end", w->path);
        return status;
    }
}

/* Which moments there are, for one that is not among them. */
static int outside(struct show *w, bool before, uint64_t end_ns)
{
    struct buf b = {0};
    int64_t start = baro_header_start_realtime_ns(baro_tape_header(w->tape));
    fmt_moment(&b, 0);
    buf_str(&b, " to ");
    fmt_moment(&b, end_ns);
    buf_str(&b, ", ");
    fmt_time_zone(&b, start, w->zone, true);
    buf_str(&b, " to ");
    fmt_time_zone(&b, (int64_t)((uint64_t)start + end_ns), w->zone, true);
    buf_byte(&b, 0);
    int status = b.failed ? cli_failf(w->cli, "out of memory")
                          : cli_failf(w->cli, "--at %.40s is %s; the tape has %s", w->settings->at,
                                      before ? "before the start" : "after the end", (const char *)b.at);
    buf_done(&b);
    return status;
}

/* When the job held most memory, as the summary shows it. */
static int find_peak(struct show *w)
{
    struct baro_summary *summary;
    if (baro_summary_of_tape(w->tape, &summary, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    struct baro_value peak;
    int absent = baro_summary_value(summary, baro_summary_fact_find("job", "memory_peak_t_ns"), 0, &peak);
    w->asked_ns = (int64_t)peak.u64;
    baro_summary_free(summary);
    return absent == BARO_PRESENT ? 0 : cli_failf(w->cli, "--at peak: no sample of %s has memory", w->path);
}

/* Finds the moment that was asked for. A moment that is written less exactly may lie a little outside: "12:30" of a run
 * that began at 12:30:20. */
static int find_moment(struct show *w, uint64_t first_ns, uint64_t last_ns)
{
    struct moment m;
    struct baro_tape_end end = {.size = sizeof(end)};
    if (baro_tape_read_end(w->tape, &end, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    uint64_t end_ns = end.end_ns > last_ns ? end.end_ns : last_ns;
    if (moment_parse(w->settings->at, baro_header_start_realtime_ns(baro_tape_header(w->tape)), end_ns, &m, &w->err) <
        0)
        return cli_fail(w->cli, &w->err);
    if (m.kind == MOMENT_PEAK)
        return find_peak(w);
    w->asked_ns = m.kind == MOMENT_START ? (int64_t)first_ns : m.kind == MOMENT_END ? (int64_t)last_ns : m.ns;
    w->tolerance_ns = moment_tolerance(&m);
    if (w->asked_ns < 0 && (uint64_t)-w->asked_ns >= m.unit_ns)
        return outside(w, true, end_ns);
    if (w->asked_ns > 0 && (uint64_t)w->asked_ns > end_ns && (uint64_t)w->asked_ns - end_ns >= m.unit_ns)
        return outside(w, false, end_ns);
    return 0;
}

/*
 * When all has ended the last samples have no process, several of them on a busy machine; what is asked for is the last
 * one before. It is looked for in the last second, then in the last four, and so on, because a tape is read forwards.
 * Of the machine alone no sample has any.
 */
static int last_with_processes(struct show *w, const struct baro_sample *last, uint64_t *t_ns)
{
    struct baro_record record;
    uint64_t unused, end_ns = *t_ns, from_ns = end_ns, back_ns = NS_PER_SEC;
    bool found = baro_sample_job(last, w->metric.job_processes, &unused) == BARO_ABSENT_NOT_ASKED;
    int code = 1;
    for (; code >= 0 && !found && from_ns > 0; back_ns *= 4) {
        from_ns = end_ns > back_ns ? end_ns - back_ns : 0;
        code = baro_tape_seek(w->tape, from_ns, &record, &w->err);
        for (; code > 0 && record.t_ns < end_ns; code = next_sample(w, &record)) {
            if (!has_processes(w, record.u.sample))
                continue;
            found = true;
            *t_ns = record.t_ns;
        }
    }
    return code < 0 ? code : 1;
}

static int show(struct show *w)
{
    struct baro_record record;
    uint64_t first_ns = 0, t_ns = 0;
    w->zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(w->tape)));
    if (w->settings->follow)
        return follow(w);
    int code = baro_tape_seek(w->tape, 0, &record, &w->err);
    first_ns = code > 0 ? record.t_ns : 0;
    if (code > 0)
        code = baro_tape_seek(w->tape, UINT64_MAX, &record, &w->err);
    if (code > 0)
        t_ns = record.t_ns;
    if (code > 0 && !has_processes(w, record.u.sample) && (!w->asked || strcmp(w->settings->at, "end") == 0))
        code = last_with_processes(w, record.u.sample, &t_ns);
    if (code > 0 && w->asked) {
        int status = find_moment(w, first_ns, t_ns);
        if (status)
            return status;
        code = choose(w, w->asked_ns < 0 ? 0 : (uint64_t)w->asked_ns, &t_ns);
    }
    if (code < 0)
        return cli_fail(w->cli, &w->err);
    return code ? print(w, t_ns) : cli_failf(w->cli, "%s has no sample", w->path);
}

int cmd_show(struct cli *cli, const struct settings *s, char **argv)
{
    struct reader_path path;
    struct show w = {.cli = cli, .settings = s, .asked = s->at != NULL, .metric = find_metrics(), .path = path.at};
    struct moment checked;
    /* Bad text is reported before a tape is opened. */
    if (s->at && moment_parse(s->at, 0, 0, &checked, &w.err) < 0)
        return cli_fail(cli, &w.err);
    if (s->at && s->follow)
        return cli_failf(cli, "--at and --follow exclude each other");
    if (s->json && s->count)
        return cli_failf(cli, "--top and --json exclude each other: JSON has all processes");
    int status = reader_open(cli, argv[0], &w.tape, &path);
    if (status)
        return status;
    status = show(&w);
    row_memory_free(w.memory);
    row_memory_free(w.of_tasks);
    show_phases_done(&w.phases);
    baro_tape_close(w.tape);
    return status;
}
