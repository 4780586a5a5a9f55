/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/wait.h>

#include "baro/text.h"
#include "baro/timeline.h"
#include "base/fmt.h"
#include "base/json.h"
#include "output/rows/csv_json.h"
#include "output/rows/escaped.h"
#include "output/rows/step_json.h"
#include "output/rows/table.h"
#include "output/text/read_fact.h"
#include "output/text/steps.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/common/rank_tapes.h"
#include "programs/common/tape_args.h"
#include "programs/common/tape_rows.h"
#include "programs/common/zone.h"

#define ROWS_SHOWN 15 /* of steps and of groups, without -v */

/* ---- by step ---- */

static void print_steps_json(const struct baro_steps *steps, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 2);
    json_key_text(&j, "tape", path);
    json_steps(steps, &j);
    json_end(&j, '}');
}

/* baro summary --by step: prints steps and the chain, as tables or JSON. Returns the exit status. */
static int summary_steps(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_steps *steps = NULL;
    struct buf text = {0};
    int status = 0, code = 0;
    if (baro_steps_of_tape(tape, &steps, &err) < 0)
        return cli_fail(cli, &err);
    if (s->json)
        print_steps_json(steps, path, &text);
    else
        code = report_steps(steps, s->verbose ? 0 : ROWS_SHOWN, cli->table_width, cli->utf8, &text);
    if (code < 0)
        status = cli_failf(cli, "out of memory");
    else
        status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_steps_free(steps);
    return status;
}

/* ---- by task ---- */

/* Which numbers of a task may be off. */
static void put_marks(struct json *j, const struct baro_summary *s, const struct baro_section *section, size_t row)
{
    struct baro_value v;
    json_key_begin(j, "marks", '{');
    for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
        baro_summary_value(s, i, row, &v);
        if (baro_value_mark(v.flags))
            json_key_text(j, baro_summary_fact(i)->name, baro_value_mark(v.flags));
    }
    json_end(j, '}');
}

static void print_tasks_json(const struct baro_summary *s, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    const struct baro_section *section = baro_summary_section(baro_summary_section_find("tasks"));
    json_begin(&j, '{');
    json_key_u64(&j, "format", 2);
    json_key_text(&j, "tape", path);
    json_key_u64(&j, "start_ns", report_u64(s, "", "start_ns"));
    json_key_u64(&j, "wall_ns", report_u64(s, "", "wall_ns"));
    json_key_begin(&j, "tasks", '[');
    for (size_t row = 0; row < report_tasks_count(s); row++) {
        json_begin(&j, '{');
        for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
            struct baro_value v;
            baro_summary_value(s, i, row, &v);
            json_fact(&j, baro_summary_fact(i), &v);
        }
        put_marks(&j, s, section, row);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

/* Says which stretch was read: its edges are samples. */
static void put_stretch(const struct cli *cli, const struct baro_tape *tape, const struct baro_summary *s,
                        struct buf *ret)
{
    report_stretch(s, zone_east(baro_header_start_realtime_ns(baro_tape_header(tape))), ret);
    buf_str(ret, cli->utf8 ? " · " : " - ");
    fmt_duration(ret, report_u64(s, "", "wall_ns"));
    buf_byte(ret, '\n');
}

/* baro summary --by task: prints what each task has used, as a table or JSON. Returns the exit status. */
static int summary_tasks(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_fold *fold = NULL;
    struct buf text = {0};
    if (baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, &err) < 0)
        return cli_fail(cli, &err);
    const struct baro_summary *summary = baro_fold_summary(fold);
    if (!s->json && (s->from || s->to))
        put_stretch(cli, tape, summary, &text);
    if (s->json)
        print_tasks_json(summary, path, &text);
    else if (report_tasks_count(summary))
        report_tasks_text(summary, s->by == BY_TASK || s->verbose ? 0 : ROWS_SHOWN, (int)cli->table_width, cli->utf8,
                          &text);
    else
        buf_str(&text, "no tasks; --task NAME=REGEX makes one (`baro help summary`)\n");
    int status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_fold_free(fold);
    return status;
}

/* ---- by phase, as a table ---- */

/* baro summary --by phase: what the job used in each of its phases. */

#define INDENT_MOST 8

static const struct {
    const char *title, *fact;
} columns[] = {{"cpu", "cpu_ns"},
               {"cores", "cores_mean"},
               {"rss", "rss_peak_bytes"},
               {"read()", "io_rchar_bytes"},
               {"write()", "io_wchar_bytes"},
               {"waited", "run_delay_ns"},
               {"procs", "processes_peak"}};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

static bool is_of_end(const struct baro_attribute *a)
{
    return strcmp(a->name, "status") == 0 || strcmp(a->name, "signal") == 0;
}

/* How the command of a phase ended; "" if it has none. A failure begins with a cross. */
static void put_status(struct buf *cell, const struct baro_timeline *timeline, size_t i)
{
    int status;
    if (baro_timeline_status(timeline, i, &status) != BARO_PRESENT)
        return;
    buf_str(cell, status ? "✗ " : "");
    if (WIFSIGNALED(status))
        buf_str(cell, baro_signal_name(WTERMSIG(status)));
    else
        buf_u64(cell, (uint64_t)WEXITSTATUS(status));
}

static void put_attribute(struct buf *cell, const struct baro_attribute *a)
{
    struct json number = {.out = cell};
    buf_byte(cell, ' ');
    text_escaped(cell, a->name, strlen(a->name));
    buf_byte(cell, '=');
    switch (a->type) {
    case BARO_ATTRIBUTE_UNSIGNED: buf_u64(cell, a->u64); break;
    case BARO_ATTRIBUTE_SIGNED: json_i64(&number, a->i64); break;
    case BARO_ATTRIBUTE_REAL: json_double(&number, a->real); break;
    case BARO_ATTRIBUTE_TEXT:
    case BARO_ATTRIBUTE_JSON: text_escaped(cell, a->text, strlen(a->text)); break;
    case BARO_ATTRIBUTE_BOOLEAN: buf_str(cell, a->u64 ? "true" : "false"); break;
    }
}

/* Phases of processes that run beside each other are in lanes (depth), and not within each other. */
static void indent(struct buf *cell, const struct baro_timeline *timeline, const struct baro_timeline_item *v)
{
    for (int k = 0; v && v->parent >= 0 && k < INDENT_MOST; k++) {
        buf_str(cell, "  ");
        v = baro_timeline_get(timeline, (size_t)v->parent);
    }
}

static void put_name(struct buf *cell, const struct baro_timeline *timeline, size_t i, bool has_status)
{
    const struct baro_timeline_item *v = baro_timeline_get(timeline, i);
    indent(cell, timeline, v);
    text_escaped(cell, v->name, strlen(v->name));
    for (size_t k = 0; k < v->attribute_count; k++) {
        if (!has_status || !is_of_end(&v->attribute[k]))
            put_attribute(cell, &v->attribute[k]);
    }
}

/* Returns which marks were used: flags of values. */
static unsigned put_phase_row(struct table *t, const struct baro_timeline *timeline, size_t i, bool has_status)
{
    const struct baro_timeline_item *v = baro_timeline_get(timeline, i);
    struct buf cell = {0};
    unsigned flags = v->begins_before ? BARO_VALUE_UPPER_BOUND : 0;
    bool is_least = v->is_open || v->begins_before;
    buf_str(&cell, baro_value_prefix(flags, BARO_PREFIX_SYMBOL));
    fmt_moment(&cell, v->begin_ns);
    table_take(t, &cell);
    buf_str(&cell, baro_value_prefix(is_least ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
    fmt_duration(&cell, v->end_ns - v->begin_ns);
    table_take(t, &cell);
    for (size_t k = 0; k < COLUMNS; k++) {
        struct baro_value value;
        int fact = baro_timeline_fact_find(columns[k].fact);
        baro_timeline_value(timeline, i, fact, &value);
        unsigned used = report_table_cell(t, baro_timeline_fact(fact), &value);
        flags |= used & BARO_VALUE_LOWER_BOUND ? BARO_VALUE_LOWER_BOUND : used;
    }
    if (has_status) {
        put_status(&cell, timeline, i);
        table_take(t, &cell);
    }
    put_name(&cell, timeline, i, has_status);
    table_take(t, &cell);
    buf_done(&cell);
    return flags | (is_least ? BARO_VALUE_LOWER_BOUND : 0);
}

static bool any_status(const struct baro_timeline *timeline)
{
    int status;
    for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
        if (baro_timeline_status(timeline, i, &status) == BARO_PRESENT)
            return true;
    }
    return false;
}

static void print_table(struct cli *cli, const struct baro_timeline *timeline, struct buf *ret)
{
    bool has_status = any_status(timeline);
    struct table t = {
        .columns = 3 + COLUMNS + (has_status ? 1 : 0), .ascii = !cli->utf8, .drop = {8, 7, 6, 5, 3}, .n_drop = 5};
    unsigned flags = 0;
    size_t phases = 0;
    for (unsigned i = 0; i < 2 + COLUMNS; i++)
        t.right[i] = true;
    table_text(&t, "begin");
    table_text(&t, "took");
    for (size_t k = 0; k < COLUMNS; k++)
        table_text(&t, columns[k].title);
    if (has_status)
        table_text(&t, "status");
    table_text(&t, "phase");
    for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
        if (baro_timeline_get(timeline, i)->kind != BARO_TIMELINE_PHASE)
            continue;
        flags |= put_phase_row(&t, timeline, i, has_status);
        phases++;
    }
    if (phases)
        table_print(&t, cli->table_width, ret);
    else
        buf_str(ret, "no phases; `baro help phase` says how a job names them\n");
    if (flags & BARO_VALUE_LOWER_BOUND)
        buf_str(ret, "≥ at least, or not ended\n");
    if (flags & BARO_VALUE_UPPER_BOUND)
        buf_str(ret, "≤ began before that, when is not on the tape\n");
    if (flags & BARO_VALUE_ESTIMATE)
        buf_str(ret, "≈ about: samples are far apart for a phase so short\n");
    table_done(&t);
}

/* ---- by phase, as JSON ---- */

static void put_item(struct json *j, const struct baro_timeline *timeline, size_t i)
{
    const struct baro_timeline_item *v = baro_timeline_get(timeline, i);
    if (v->kind == BARO_TIMELINE_PHASE) {
        json_phase(timeline, i, j);
        return;
    }
    json_begin(j, '{');
    json_key_text(j, "name", v->name);
    if (v->kind == BARO_TIMELINE_EVENT) {
        json_key_text(j, "text", v->text);
        json_key_bool(j, "is_problem", v->is_problem);
    }
    json_key_u64(j, "begin_ns", v->begin_ns);
    if (v->kind != BARO_TIMELINE_MARK)
        json_key_u64(j, "end_ns", v->end_ns);
    json_key(j, "attributes");
    json_attributes(v, j);
    json_end(j, '}');
}

static void put_list(struct json *j, const struct baro_timeline *timeline, const char *name,
                     enum baro_timeline_kind kind)
{
    json_key_begin(j, name, '[');
    for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
        if (baro_timeline_get(timeline, i)->kind == kind)
            put_item(j, timeline, i);
    }
    json_end(j, ']');
}

static void print_phases_json(const struct baro_timeline *timeline, const char *path, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 2);
    json_key_text(&j, "tape", path);
    put_list(&j, timeline, "phases", BARO_TIMELINE_PHASE);
    put_list(&j, timeline, "marks", BARO_TIMELINE_MARK);
    put_list(&j, timeline, "events", BARO_TIMELINE_EVENT);
    json_end(&j, '}');
}

/* Returns the exit status. */
static int summary_phases(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_fold *fold;
    struct baro_error err = BARO_ERROR_INIT;
    struct buf text = {0};
    if (baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, &err) < 0)
        return cli_fail(cli, &err);
    const struct baro_timeline *timeline = baro_fold_timeline(fold);
    if (s->json)
        print_phases_json(timeline, path, &text);
    else
        print_table(cli, timeline, &text);
    int status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_fold_free(fold);
    return status;
}

static int print_summary(const struct cli *cli, const struct settings *s, struct baro_tape *tape,
                         const struct baro_fold *fold, const char *path, const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    const struct baro_summary *summary = baro_fold_summary(fold);
    struct buf text = {0};
    if (s->json) {
        int code = json_summary(fold, path, &text, &err),
            failure = code < 0 ? cli_fail(cli, &err) : cli_out(cli, &text);
        buf_done(&text);
        return failure;
    }
    struct report_style style = {.width = cli->width,
                                 .whole_names = !cli->table_width,
                                 .utf8 = cli->utf8,
                                 .color = cli->color,
                                 .curves = cli->tty,
                                 .timeline = baro_fold_timeline(fold),
                                 .running = baro_tape_state(tape) == BARO_TAPE_RUNNING,
                                 .zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(tape)))};
    if (s->verbose) {
        report_block(summary, path, style, &text);
        report_tasks_section(summary, (int)cli->table_width, cli->utf8, &text);
        report_verdicts(baro_fold_verdicts(fold), style, &text);
    } else {
        report_glance(summary, baro_fold_verdicts(fold), name, style, &text);
    }
    return cli_out_done(cli, &text);
}

/* shown: what the user may call the tape. */
static int summarize_one(struct cli *cli, const struct settings *s, const char *name, const char *shown)
{
    struct baro_tape *tape;
    struct baro_fold *fold = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    int status = reader_open(cli, name, &tape, &path);
    if (status)
        return status;
    if (s->by == BY_PHASE)
        status = summary_phases(cli, s, tape, path.at);
    else if (s->by == BY_TASK || s->by >= BY_SERVICE)
        status = summary_tasks(cli, s, tape, path.at);
    else if (s->by == BY_STEP)
        status = summary_steps(cli, s, tape, path.at);
    else if (baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, &err) < 0)
        status = cli_fail(cli, &err);
    else {
        baro_summary_set_carbon(baro_fold_summary(fold), s->carbon);
        status = print_summary(cli, s, tape, fold, path.at, shown);
    }
    baro_fold_free(fold);
    baro_tape_close(tape);
    return status;
}

/* Was a tape that can't be read named itself, and not the folder that it is in? */
static bool has_unread_operand(const struct tape_rows *rows, char **argv)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct tape_row *row = &rows->at[i];
        for (size_t k = 0; row->head && row->head->error && argv[k]; k++) {
            if (strcmp(argv[k], row->path) == 0)
                return true;
        }
    }
    return false;
}

/* A line for each of several tapes. What a summary has besides is in a report of them. */
static int list_several(const struct cli *cli, const struct settings *s, const struct tape_list *list, char **argv,
                        const struct buf *notes)
{
    struct tape_rows rows = {0};
    struct buf text = {0};
    struct baro_error err = BARO_ERROR_INIT;
    if (s->json || s->from || s->to || s->by != BY_NOTHING)
        return cli_failf(cli,
                         "%s is for one tape, and here are %zu: name one, or use `baro report -o FILE.json`, which "
                         "takes several",
                         s->json            ? "--json"
                         : s->from || s->to ? "--from"
                                            : "--by",
                         list->n);
    int code = tape_rows_of_list(&rows, list, &err);
    if (code >= 0) {
        tape_rows_table(cli, rows.at, rows.n, &text);
        buf_printf(&text, "%zu tapes; all of them in one report: baro report -o FILE.md", list->n);
        for (size_t i = 0; argv[i] && i < 3; i++) {
            buf_byte(&text, ' ');
            text_escaped(&text, i < 2 ? argv[i] : "...", strlen(i < 2 ? argv[i] : "..."));
        }
        buf_byte(&text, '\n');
        buf_add(&text, notes->at, notes->len);
    }
    int status = code < 0 ? cli_fail(cli, &err) : cli_out_text(cli, &text);
    if (!status && has_unread_operand(&rows, argv))
        status = 2; /* the table has the reason */
    tape_rows_done(&rows);
    buf_done(&text);
    return status;
}

/* All ranks of a job as one. */
static int summarize_ranks(const struct cli *cli, const struct settings *s, const struct rank_tapes *tapes)
{
    struct ranks r = {0};
    struct buf text = {0};
    struct baro_error err = BARO_ERROR_INIT;
    struct report_style style = {
        .width = cli->width, .whole_names = !cli->table_width, .utf8 = cli->utf8, .color = cli->color};
    int status = rank_tapes_read(tapes, BARO_FOLD_TIMELINE, &r, &err) < 0 ? cli_fail(cli, &err) : 0;
    if (!status && s->json)
        ranks_json(&r, &text);
    else if (!status)
        ranks_text(&r, style, &text);
    if (!status && !s->json)
        buf_add(&text, tapes->notes.at, tapes->notes.len);
    if (!status)
        status = cli_out(cli, &text);
    ranks_done(&r);
    buf_done(&text);
    return status;
}

static int summarize_several(const struct cli *cli, const struct settings *s, const struct tape_list *list, char **argv)
{
    struct rank_tapes tapes = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int found = rank_tapes_find(list, false, &tapes, &err);
    int status = found < 0                                            ? cli_fail(cli, &err)
                 : found && s->by == BY_NOTHING && !s->from && !s->to ? summarize_ranks(cli, s, &tapes)
                                                                      : list_several(cli, s, list, argv, &tapes.notes);
    rank_tapes_done(&tapes);
    return status;
}

int cmd_summary(struct cli *cli, const struct settings *s, char **argv)
{
    struct tape_list list = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int status;
    if (!argv[0])
        return summarize_one(cli, s, NULL, "@1");
    if (tape_list_read(&list, argv, &err) < 0)
        status = cli_fail(cli, &err);
    else if (list.n > 1)
        status = summarize_several(cli, s, &list, argv);
    else if (list.at[0].is_unread)
        status = cli_fail(cli, &list.at[0].reason);
    else
        status = summarize_one(cli, s, list.at[0].path, *argv[0] == '@' ? argv[0] : list.at[0].path);
    tape_list_done(&list);
    return status;
}
