/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `baro show`: the job at one moment, and its processes as a tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmt.h"
#include "base/escape.h"
#include "output/rows/csv_json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "output/text/command_line.h"
#include "output/text/summary_text.h"
#include "programs/baro-read/forest.h"
#include "programs/baro-read/show.h"
#include "programs/baro-read/show_gpus.h"
#include "programs/baro-read/show_kinds.h"
#include "programs/baro-read/show_machine.h"
#include "programs/baro-read/show_phases.h"
#include "programs/baro-read/show_tasks.h"

enum form { FORM_COUNT, FORM_BYTES, FORM_LETTER };

static void put_not_known(struct show *w, struct buf *b)
{
    w->any_not_known = true;
    buf_byte(b, '-');
}

static void cell_of_value(struct show *w, struct table *t, const struct baro_row *p, int metric, enum form form)
{
    struct buf b = {0};
    uint64_t v;
    int absent = baro_row_value(p, metric, &v);
    if (absent == BARO_ABSENT_DENIED)
        buf_str(&b, "denied");
    else if (absent != BARO_PRESENT)
        put_not_known(w, &b);
    else if (form == FORM_LETTER)
        buf_byte(&b, v > ' ' && v < 127 ? (uint8_t)v : '?');
    else if (form == FORM_BYTES)
        fmt_bytes(&b, v);
    else
        fmt_count(&b, v);
    table_take(t, &b);
    buf_done(&b);
}

#define ANY_ROOM 0u

/* Writes a command line without the program's folder. room: columns; if it is too little for the line, the subject of
 * the command is shown, and what comes before it is left out. */
static void command_text(const struct show *w, const char *line, unsigned room, struct buf *b)
{
    struct command_line c;
    unsigned used = (unsigned)utf8_columns((const char *)b->at, b->len);
    command_line_read(line, 4096, &c);
    text_escaped(b, c.program.at, c.program.len);
    used += (unsigned)c.program.len + 3;
    size_t skip = room == ANY_ROOM ? 0 : command_line_skip(&c, room > used ? room - used : 0);
    if (skip)
        buf_str(b, w->cli->utf8 ? " … " : " ~ ");
    text_escaped(b, c.rest.at + skip, c.rest.len - skip);
}

static void command_cell(struct show *w, struct table *t, const struct forest *f, size_t i, bool tree, unsigned room)
{
    const struct baro_row *p = f->at[i].process;
    const char *line = baro_row_cmdline(p), *name = baro_row_name(p);
    struct buf b = {0};
    if (tree)
        forest_branch(f, i, w->cli->utf8, &b);
    if (line && *line) {
        command_text(w, line, room, &b);
    } else {
        w->any_name = true;
        buf_byte(&b, '[');
        text_escaped(&b, *name ? name : "?", strlen(*name ? name : "?"));
        buf_byte(&b, ']');
    }
    table_take(t, &b);
    buf_done(&b);
}

static bool has_tasks(const struct baro_sample *s)
{
    return baro_sample_rows(s, BARO_KIND_TASK) > 0;
}

static bool job_has_tcp(const struct show *w, const struct baro_sample *s)
{
    uint64_t v;
    return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_tcp_sent, &v) == BARO_PRESENT;
}

/* A line of the table: a process, and the value by which it is sorted. */
struct line {
    size_t node;
    double cores;
    uint64_t rss;
    int cores_absent;
};

/* Asks for rates once per process, because asking also stores the value for the next rate. */
static void fill_line(struct show *w, const struct baro_record *record, const struct forest *f, size_t i,
                      struct line *ret)
{
    struct output_row row = {.kind = BARO_KIND_PROCESS,
                             .header = baro_tape_header(w->tape),
                             .t_ns = record->t_ns,
                             .sample = record->u.sample,
                             .process = f->at[i].process,
                             .memory = w->memory};
    row_begin(&row);
    *ret = (struct line){
        .node = i, .cores = row.cores_absent == BARO_PRESENT ? row.cores : 0, .cores_absent = row.cores_absent};
    baro_row_value(f->at[i].process, w->metric.rss, &ret->rss);
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->cores != y->cores)
        return x->cores < y->cores ? 1 : -1;
    if (x->rss != y->rss)
        return x->rss < y->rss ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static void process_cells(struct show *w, struct table *t, const struct baro_sample *s, const struct forest *f,
                          const struct line *l, bool tree, unsigned room)
{
    const struct baro_row *p = f->at[l->node].process;
    struct buf b = {0};
    uint64_t cpu;
    buf_printf(&b, "%d", baro_row_pid(p));
    table_take(t, &b);
    cell_of_value(w, t, p, w->metric.state, FORM_LETTER);
    if (l->cores_absent == BARO_PRESENT)
        reader_cores(&b, l->cores);
    else
        put_not_known(w, &b);
    table_take(t, &b);
    if (baro_row_value(p, w->metric.cpu, &cpu) == BARO_PRESENT)
        fmt_duration(&b, cpu);
    else
        put_not_known(w, &b);
    table_take(t, &b);
    cell_of_value(w, t, p, w->metric.rss, FORM_BYTES);
    cell_of_value(w, t, p, w->metric.pss, FORM_BYTES);
    cell_of_value(w, t, p, w->metric.uss, FORM_BYTES);
    cell_of_value(w, t, p, w->metric.threads, FORM_COUNT);
    cell_of_value(w, t, p, w->metric.fds, FORM_COUNT);
    if (job_has_tcp(w, s)) {
        cell_of_value(w, t, p, w->metric.tcp_sent, FORM_BYTES);
        cell_of_value(w, t, p, w->metric.tcp_received, FORM_BYTES);
    }
    if (has_tasks(s))
        show_task_cell(s, p, t);
    command_cell(w, t, f, l->node, tree, room);
    buf_done(&b);
}

/* PSS of processes was read before others that share memory with them came or went: their sum may be too high or too
 * low. */
static bool is_stale(const struct show *w, const struct baro_sample *s)
{
    uint64_t v;
    return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_pss_stale, &v) == BARO_PRESENT && v;
}

static void say_sum(const struct show *w, struct buf *b, const struct baro_sample *s, int metric, const char *unit)
{
    uint64_t sum;
    size_t lacking;
    int absent = baro_sample_sum(s, metric, &sum, &lacking);
    buf_str(b, ", ");
    if (absent != BARO_PRESENT) {
        buf_printf(b, "%s not known (%s)", unit, report_reason(absent));
        return;
    }
    bool estimate = (metric == w->metric.pss || metric == w->metric.uss) && is_stale(w, s);
    unsigned flags = estimate ? BARO_VALUE_ESTIMATE : lacking ? BARO_VALUE_LOWER_BOUND : 0;
    buf_str(b, baro_value_prefix(flags, BARO_PREFIX_WORDS));
    if (metric == w->metric.threads || metric == w->metric.fds)
        fmt_count(b, sum);
    else
        fmt_bytes(b, sum);
    buf_printf(b, " %s",
               metric == w->metric.threads && sum == 1 && baro_sample_rows(s, BARO_KIND_PROCESS) == 1 ? "thread"
                                                                                                      : unit);
}

static void say_which(struct show *w, const struct baro_record *record, struct buf *b)
{
    fmt_moment(b, record->t_ns);
    buf_str(b, ", ");
    fmt_time_zone(b, row_realtime_ns(w->tape, baro_tape_header(w->tape), record->t_ns), w->zone, true);
    if (!w->asked) {
        buf_str(b, w->settings->follow                       ? ": the newest sample"
                   : show_has_processes(w, record->u.sample) ? ": the last sample with processes"
                                                             : ": the last sample");
    } else {
        int64_t off = show_off_by(w, record);
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
    struct output_row row = {.kind = BARO_KIND_JOB,
                             .header = baro_tape_header(w->tape),
                             .t_ns = record->t_ns,
                             .sample = s,
                             .memory = w->memory};
    row_begin(&row);
    fmt_count(b, baro_sample_rows(s, BARO_KIND_PROCESS));
    buf_str(b, baro_sample_rows(s, BARO_KIND_PROCESS) == 1 ? " process" : " processes");
    say_sum(w, b, s, w->metric.rss, "rss");
    say_sum(w, b, s, w->metric.pss, "pss");
    say_sum(w, b, s, w->metric.uss, "uss");
    say_sum(w, b, s, w->metric.threads, "threads");
    say_sum(w, b, s, w->metric.fds, "fds");
    buf_byte(b, '\n');
    if (baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_cpu, &v) == BARO_PRESENT) {
        buf_str(b, "so far ");
        fmt_duration(b, v);
        buf_str(b, " cpu");
        if (baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_cpu_bound, &bound) == BARO_PRESENT &&
            bound) {
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

static void say_tcp(const struct show *w, const struct baro_sample *s, struct buf *b)
{
    uint64_t sent = 0, received = 0, bound = 0;
    if (!job_has_tcp(w, s))
        return;
    baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_tcp_sent, &sent);
    baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_tcp_received, &received);
    baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_tcp_is_bound, &bound);
    const char *least = baro_value_prefix(bound ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_WORDS);
    buf_printf(b, "tcp so far: sent %s", least);
    fmt_bytes(b, sent);
    buf_printf(b, ", received %s", least);
    fmt_bytes(b, received);
    buf_byte(b, '\n');
}

/* Returns how many processes are shown: as many as the user asked for, or as fit below the lines above the table, its
 * titles and the line about the rest. 0: all. */
static size_t processes_shown(const struct show *w, const struct buf *above)
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
    bool is_least = false;
    for (size_t i = 0; i < n; i++) {
        cores += at[i].cores;
        is_least |= at[i].cores_absent != BARO_PRESENT; /* it counts as 0 */
    }
    buf_byte(b, '(');
    fmt_count(b, n);
    buf_str(b, is_least ? " more, at least " : " more, ");
    reader_cores(b, cores);
    buf_str(b, " cores)\n");
}

static void say_legend(const struct show *w, struct buf *b)
{
    size_t from = b->len;
    if (w->any_not_known)
        buf_str(b, "- not read: not by then, or no longer, or not asked for\n");
    if (w->any_name)
        buf_str(b, "[name] its command line was not read\n");
    if (w->cli->tty)
        wrap_lines(b, from, w->cli->width);
}

/* Returns the number of processes. */
static size_t fill_lines(struct show *w, const struct baro_record *record, const struct forest *f, struct line *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (show_task_fits(record->u.sample, f->at[i].process, w->settings->task))
            fill_line(w, record, f, i, &ret[n++]);
    }
    return n;
}

static void make_table(struct show *w, const struct baro_sample *s, const struct forest *f, const struct line *lines,
                       size_t n, unsigned room, struct table *ret)
{
    static const char *const titles[] = {"PID", "S", "CORES", "CPU", "RSS", "PSS", "USS", "THR", "FDS"};
    bool tasks = has_tasks(s), tcp = job_has_tcp(w, s);
    *ret = (struct table){.columns = 10u + (tcp ? 2 : 0) + (tasks ? 1 : 0),
                          .right = {true, false, true, true, true, true, true, true, true, tcp, tcp},
                          .drop = {6, 8, 7, 1, 5, 3},
                          .n_drop = 6};
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        table_text(ret, titles[i]);
    if (tcp) {
        table_text(ret, "SENT");
        table_text(ret, "RECEIVED");
    }
    if (tasks)
        table_text(ret, "TASK");
    table_text(ret, "COMMAND");
    for (size_t i = 0; i < n; i++)
        process_cells(w, ret, s, f, &lines[i], n == f->n, room);
}

/* Prints the table. How much room commands have is known only when all other columns are filled. */
static void print_table(struct show *w, const struct baro_sample *s, const struct forest *f, const struct line *lines,
                        size_t n, struct buf *b)
{
    unsigned width = w->cli->tty ? w->cli->width : 0;
    struct table t;
    make_table(w, s, f, lines, n, ANY_ROOM, &t);
    if (width) {
        unsigned room = table_last_room(&t, width);
        table_done(&t);
        make_table(w, s, f, lines, n, room, &t);
    }
    table_print(&t, width, b);
    table_done(&t);
}

/* Prints the tree; of too many processes the heaviest; or the processes of a task. */
static int print_processes(struct show *w, const struct baro_record *record, const struct forest *f, struct buf *b)
{
    const struct baro_sample *s = record->u.sample;
    struct line *lines = calloc(f->n + 1, sizeof(*lines));
    if (!lines)
        return error_set(&w->err, -ENOMEM, "out of memory");
    w->any_not_known = w->any_name = false;
    size_t all = fill_lines(w, record, f, lines), most = processes_shown(w, b), n = most && most < all ? most : all;
    if (n < all)
        qsort(lines, all, sizeof(*lines), compare_lines);
    if (all)
        print_table(w, s, f, lines, n, b);
    if (n < all)
        say_rest(lines + n, all - n, b);
    if (!w->settings->follow)
        say_legend(w, b);
    free(lines);
    return 0;
}

int show_text(struct show *w, const struct baro_record *record, struct buf *b)
{
    struct forest f;
    size_t from = b->len;
    say_which(w, record, b);
    uint64_t v;
    if (baro_row_value(baro_sample_row(record->u.sample, BARO_KIND_JOB, 0), w->metric.job_processes, &v) !=
        BARO_ABSENT_NOT_ASKED)
        say_job(w, record, b);
    say_tcp(w, record->u.sample, b);
    show_phases_text(&w->phases, record->t_ns, b);
    show_machine_line(w->tape, record, w->memory, b);
    show_tasks_text(w->tape, record, w->of_tasks, w->settings->task, b);
    show_gpus_text(record, w->gpus_before, b);
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
