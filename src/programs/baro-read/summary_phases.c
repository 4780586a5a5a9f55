/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/summary_phases.h"

#include <string.h>
#include <sys/wait.h>

#include "baro/text.h"
#include "baro/timeline.h"
#include "base/fmt.h"
#include "base/json.h"
#include "output/rows/csv_json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/text/read_fact.h"

#define INDENT_MOST 8

/* ---- as a table ---- */

static const struct {
    const char *title, *fact;
} shown[] = {{"cpu", "cpu_ns"},
             {"cores", "cores_mean"},
             {"rss", "rss_peak_bytes"},
             {"read()", "io_rchar_bytes"},
             {"write()", "io_wchar_bytes"},
             {"waited", "run_delay_ns"},
             {"procs", "processes_peak"}};
#define SHOWN (sizeof(shown) / sizeof(*shown))

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

static void put_name(struct buf *cell, const struct baro_timeline_item *v, bool has_status)
{
    for (int k = 0; k < v->depth && k < INDENT_MOST; k++)
        buf_str(cell, "  ");
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
    unsigned flags = 0;
    fmt_moment(&cell, v->begin_ns);
    table_take(t, &cell);
    buf_str(&cell, baro_value_prefix(v->is_open ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
    fmt_duration(&cell, v->end_ns - v->begin_ns);
    table_take(t, &cell);
    for (size_t k = 0; k < SHOWN; k++) {
        struct baro_value value;
        int fact = baro_timeline_fact_find(shown[k].fact);
        baro_timeline_value(timeline, i, fact, &value);
        unsigned used = report_table_cell(t, baro_timeline_fact(fact), &value);
        flags |= used & BARO_VALUE_LOWER_BOUND ? BARO_VALUE_LOWER_BOUND : used;
    }
    if (has_status) {
        put_status(&cell, timeline, i);
        table_take(t, &cell);
    }
    put_name(&cell, v, has_status);
    table_take(t, &cell);
    buf_done(&cell);
    return flags | (v->is_open ? BARO_VALUE_LOWER_BOUND : 0);
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
        .columns = 3 + SHOWN + (has_status ? 1 : 0), .ascii = !cli->utf8, .drop = {8, 7, 6, 5, 3}, .n_drop = 5};
    unsigned flags = 0;
    size_t phases = 0;
    for (unsigned i = 0; i < 2 + SHOWN; i++)
        t.right[i] = true;
    table_text(&t, "begin");
    table_text(&t, "took");
    for (size_t k = 0; k < SHOWN; k++)
        table_text(&t, shown[k].title);
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
        table_print(&t, cli->width, ret);
    else
        buf_str(ret, "no phases; `baro help phase` says how a job names them\n");
    if (flags & BARO_VALUE_LOWER_BOUND)
        buf_str(ret, "≥ at least, or not ended\n");
    if (flags & BARO_VALUE_ESTIMATE)
        buf_str(ret, "≈ about: samples are far apart for a phase so short\n");
    table_done(&t);
}

/* ---- as JSON ---- */

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

static void print_json(const struct baro_timeline *timeline, const char *path, struct buf *ret)
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

int summary_phases(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path)
{
    struct baro_fold *fold;
    struct baro_error err = BARO_ERROR_INIT;
    struct buf text = {0};
    if (baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, &err) < 0)
        return cli_fail(cli, &err);
    const struct baro_timeline *timeline = baro_fold_timeline(fold);
    if (s->json)
        print_json(timeline, path, &text);
    else
        print_table(cli, timeline, &text);
    int status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    buf_done(&text);
    baro_fold_free(fold);
    return status;
}
