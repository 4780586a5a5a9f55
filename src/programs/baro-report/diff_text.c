/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for people: a sentence, the job, then what differs most of commands, phases and tasks. */
#include <string.h>

#include "base/json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "programs/baro-report/diff.h"
#include "programs/baro-report/markdown_text.h"

#define ROWS_MOST 8u /* of commands, of phases and of tasks each */

/* ---- text ---- */

static void put_runs(const struct baro_runset *set, size_t from, size_t to, const char *what, struct buf *ret)
{
    const char *name = baro_runset_name(set, from);
    buf_printf(ret, "%-7s ", what);
    text_escaped(ret, name, strlen(name));
    if (to - from > 1)
        buf_printf(ret, " and %zu more", to - from - 1);
    buf_byte(ret, '\n');
}

static void put_circumstances(const struct baro_runset *set, struct buf *ret)
{
    for (size_t i = 0; i < baro_circumstance_count(set); i++) {
        const struct baro_circumstance *c = baro_circumstance_get(set, i);
        buf_printf(ret, "%s%s ", i ? ", " : "! ", c->what);
        text_escaped(ret, c->after, strlen(c->after));
        buf_str(ret, " instead of ");
        text_escaped(ret, c->before, strlen(c->before));
    }
    buf_str(ret, baro_circumstance_count(set) ? "\n" : "");
}

/* A line on what the tapes say of why runs differ. */
static void put_noise(const struct baro_runset *set, size_t before, unsigned width, struct buf *ret)
{
    size_t from = ret->len;
    buf_str(ret, "! ");
    if (!noise_of_sides(set, before, ret)) {
        ret->len = from;
        return;
    }
    buf_byte(ret, '\n');
    wrap_lines(ret, from, width);
}

static void put_cell(struct table *t, void (*put)(struct buf *b, const struct baro_difference *d),
                     const struct baro_difference *d)
{
    struct buf b = {0};
    put(&b, d);
    table_take(t, &b);
    buf_done(&b);
}

static void put_row(struct table *t, const struct baro_difference *d)
{
    struct buf b = {0};
    bool is_job = strcmp(d->scope, "job") == 0;
    text_escaped(&b, d->name, strlen(d->name));
    buf_printf(&b, "%s%s%s", *d->name || is_job ? "" : "(not known)", is_job ? "" : ": ", diff_label(d));
    table_take(t, &b);
    diff_value(&b, d, d->before);
    table_take(t, &b);
    diff_value(&b, d, d->after);
    table_take(t, &b);
    put_cell(t, diff_shift, d);
    put_cell(t, diff_percent, d);
    put_cell(t, diff_answer, d);
    buf_done(&b);
}

void diff_each_row(const struct baro_runset *set, void (*visit)(void *context, const struct baro_difference *d),
                   void *context)
{
    const char *scope = "", *fact = "";
    unsigned shown = 0;
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        bool is_job = strcmp(d->scope, "job") == 0, is_shown = diff_is_shown(d);
        if (strcmp(scope, d->scope) != 0 || strcmp(fact, d->fact->name) != 0)
            shown = 0;
        scope = d->scope;
        fact = d->fact->name;
        if (is_shown && (is_job || shown++ < ROWS_MOST))
            visit(context, d);
    }
}

static void visit_table(void *context, const struct baro_difference *d)
{
    put_row(context, d);
}

const char *diff_advice(const struct baro_runset *set, size_t before)
{
    bool is_enough = before > 1 && baro_runset_runs(set) - before > 1;
    return is_enough
               ? ""
               : "Of one run only a large change can be told: a fifth of the job's CPU time, a quarter and 0.1 s of a "
                 "command's or phase's, twice the wall time. "
                 "Several runs on each side tell more: --before, --after.";
}

static void put_advice(const struct baro_runset *set, size_t before, unsigned width, struct buf *ret)
{
    const char *advice = diff_advice(set, before);
    size_t from = ret->len;
    if (!*advice)
        return;
    buf_printf(ret, "\n%s\n", advice);
    wrap_lines(ret, from, width);
}

void diff_text(const struct baro_runset *set, size_t before, struct report_style style, struct buf *ret)
{
    static const char *const titles[] = {"", "before", "after", "change", "", ""};
    struct table t = {.columns = 6,
                      .right = {false, true, true, true, true, false},
                      .ascii = !style.utf8,
                      .drop = {4, 3},
                      .n_drop = 2};
    struct buf sentence = {0};
    put_runs(set, 0, before, "before", ret);
    put_runs(set, before, baro_runset_runs(set), "after", ret);
    put_circumstances(set, ret);
    put_noise(set, before, style.width, ret);
    buf_byte(ret, '\n');
    diff_sentence(set, before, &sentence);
    buf_byte(&sentence, '\n');
    wrap_lines(&sentence, 0, style.width);
    buf_add(ret, sentence.at, sentence.len);
    buf_byte(ret, '\n');
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        table_text(&t, titles[i]);
    diff_each_row(set, visit_table, &t);
    table_print(&t, style.whole_names ? 0 : style.width, ret);
    put_advice(set, before, style.width, ret);
    if (!style.utf8)
        text_ascii(ret, 0);
    ret->failed = ret->failed || sentence.failed || t.text.failed;
    buf_done(&sentence);
    table_done(&t);
}

/* ---- Markdown ---- */

static void visit_markdown(void *context, const struct baro_difference *d)
{
    struct buf *b = context;
    buf_str(b, "| ");
    if (*d->name)
        markdown_code(b, d->name, strlen(d->name), true);
    buf_printf(b, "%s%s | ", *d->name ? " " : "", diff_label(d));
    diff_value(b, d, d->before);
    buf_str(b, " | ");
    diff_value(b, d, d->after);
    buf_str(b, " | ");
    diff_shift(b, d);
    buf_byte(b, ' ');
    diff_percent(b, d);
    buf_str(b, d->answer == BARO_ANSWER_CHANGED ? " | **" : " | ");
    diff_answer(b, d);
    buf_str(b, d->answer == BARO_ANSWER_CHANGED ? "** |\n" : " |\n");
}

static void count_row(void *context, const struct baro_difference *d)
{
    *(size_t *)context += strcmp(d->scope, "job") != 0;
}

static void visit_job(void *context, const struct baro_difference *d)
{
    if (strcmp(d->scope, "job") == 0)
        visit_markdown(context, d);
}

static void visit_others(void *context, const struct baro_difference *d)
{
    if (strcmp(d->scope, "job") != 0)
        visit_markdown(context, d);
}

void diff_markdown(const struct baro_runset *set, size_t before, struct buf *ret)
{
    static const char head[] = "|  | before | after | difference | |\n|---|---:|---:|---:|---|\n";
    struct buf sentence = {0};
    size_t others = 0, after = baro_runset_runs(set) - before;
    diff_sentence(set, before, &sentence);
    markdown_escaped_text(ret, sentence.len ? (const char *)sentence.at : "", sentence.len);
    buf_printf(ret, "\n\n%zu run%s before, %zu after.", before, before == 1 ? "" : "s", after);
    for (size_t i = 0; i < baro_circumstance_count(set); i++) {
        const struct baro_circumstance *c = baro_circumstance_get(set, i);
        buf_printf(ret, "%s%s ", i ? ", " : " Besides, this differs: ", c->what);
        markdown_code(ret, c->after, strlen(c->after), false);
        buf_str(ret, " instead of ");
        markdown_code(ret, c->before, strlen(c->before), false);
    }
    buf_str(ret, baro_circumstance_count(set) ? "." : "");
    size_t at = ret->len;
    buf_str(ret, " Of the machine: ");
    if (!noise_of_sides(set, before, ret))
        ret->len = at;
    else
        buf_byte(ret, '.');
    buf_printf(ret, "\n\n%s", head);
    diff_each_row(set, visit_job, ret);
    diff_each_row(set, count_row, &others);
    if (others) {
        buf_printf(ret, "\n<details><summary>commands, phases and tasks</summary>\n\n%s", head);
        diff_each_row(set, visit_others, ret);
        buf_str(ret, "\n</details>\n");
    }
    ret->failed = ret->failed || sentence.failed;
    buf_done(&sentence);
}

/* ---- JSON ---- */

static void put_names(struct json *j, const struct baro_runset *set, const char *key, size_t from, size_t to)
{
    json_key_begin(j, key, '[');
    for (size_t i = from; i < to; i++)
        json_text(j, baro_runset_name(set, i));
    json_end(j, ']');
}

static void put_difference(struct json *j, const struct baro_difference *d)
{
    json_begin(j, '{');
    json_key_text(j, "scope", d->scope);
    json_key_text(j, "name", d->name);
    json_key_text(j, "fact", d->fact->name);
    json_key_text(j, "unit", baro_unit_name(d->fact->unit));
    json_key_text(j, "answer", baro_answer_name(d->answer));
    json_key_u64(j, "runs_before", d->n_before);
    json_key_u64(j, "runs_after", d->n_after);
    json_key_double(j, "before", d->before);
    json_key_double(j, "after", d->after);
    json_key_double(j, "shift", d->shift);
    json_key_double(j, "low", d->low);
    json_key_double(j, "high", d->high);
    json_key_double(j, "floor", d->floor);
    json_key_text(j, "mark", baro_value_mark(d->flags));
    json_key_u64(j, "runs_to_decide", d->more_runs);
    json_end(j, '}');
}

void diff_json(const struct baro_runset *set, size_t before, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    struct buf sentence = {0}, noise = {0};
    diff_sentence(set, before, &sentence);
    buf_byte(&sentence, 0);
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    json_key_text(&j, "sentence", sentence.failed ? "" : (const char *)sentence.at);
    put_names(&j, set, "before", 0, before);
    put_names(&j, set, "after", before, baro_runset_runs(set));
    json_key_begin(&j, "circumstances", '[');
    for (size_t i = 0; i < baro_circumstance_count(set); i++) {
        const struct baro_circumstance *c = baro_circumstance_get(set, i);
        json_begin(&j, '{');
        json_key_text(&j, "what", c->what);
        json_key_text(&j, "before", c->before);
        json_key_text(&j, "after", c->after);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    noise_of_sides(set, before, &noise);
    buf_byte(&noise, 0);
    json_key_text(&j, "noise", noise.failed ? "" : (const char *)noise.at);
    json_key_begin(&j, "differences", '[');
    for (size_t i = 0; i < baro_difference_count(set); i++)
        put_difference(&j, baro_difference_get(set, i));
    json_end(&j, ']');
    json_end(&j, '}');
    buf_done(&sentence);
    buf_done(&noise);
}
