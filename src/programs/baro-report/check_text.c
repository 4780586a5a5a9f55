/* SPDX-License-Identifier: Apache-2.0 */
/* What runs say of limits: as text, Markdown and JSON. */
#include <string.h>

#include "base/json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "programs/baro-report/check.h"
#include "programs/baro-report/markdown_text.h"

static const char *text_of(const struct buf *b)
{
    return b->failed || !b->len ? "" : (const char *)b->at;
}

/* "7 limits, 5 runs: 5 kept, 1 broken, 1 cannot tell" */
static void put_sum(const struct check *c, struct buf *b)
{
    static const struct {
        enum outcome outcome;
        bool is_warning;
        const char *text;
    } parts[] = {{OUTCOME_BROKEN, false, "broken"},
                 {OUTCOME_BROKEN, true, "broken that only warn"},
                 {OUTCOME_UNKNOWN, false, "cannot be told"},
                 {OUTCOME_UNKNOWN, true, "cannot be told that only warn"}};
    size_t kept = check_count(c, OUTCOME_KEPT, false) + check_count(c, OUTCOME_KEPT, true);
    size_t runs = baro_runset_runs(c->set) + c->unread;
    buf_printf(b, "%zu limit%s, ", c->n, c->n == 1 ? "" : "s");
    buf_printf(b, "%zu run%s: %zu kept", runs, runs == 1 ? "" : "s", kept);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        size_t n = check_count(c, parts[i].outcome, parts[i].is_warning);
        if (n)
            buf_printf(b, ", %zu %s", n, parts[i].text);
    }
}

static void put_why(const struct limit *l, struct buf *b)
{
    buf_str(b, text_of(&l->why));
    if (l->outcome == OUTCOME_BROKEN && *text_of(&l->cause)) {
        buf_str(b, *text_of(&l->why) ? ": " : "");
        if (l->worst > 1.02 * l->middle) { /* the limit is on the median */
            buf_str(b, "in the run of ");
            check_put_number(b, l, l->worst);
            buf_byte(b, ' ');
        }
        buf_str(b, text_of(&l->cause));
    }
}

void check_put_evidence(const struct check *c, const struct limit *l, struct buf *b)
{
    check_put_value(c, b, l);
    buf_str(b, l->outcome == OUTCOME_KEPT ? "" : ", ");
    put_why(l, b);
}

/* Visits broken limits, then those that can't be told, then the kept ones. */
static void each_limit(const struct check *c, bool all,
                       void (*visit)(const struct check *c, const struct limit *l, void *to), void *to)
{
    for (int outcome = OUTCOME_BROKEN; outcome >= (all ? OUTCOME_KEPT : OUTCOME_UNKNOWN); outcome--) {
        for (size_t i = 0; i < c->n; i++) {
            if ((int)c->limit[i].outcome == outcome)
                visit(c, &c->limit[i], to);
        }
    }
}

static void put_row(const struct check *c, const struct limit *l, void *to)
{
    struct table *t = to;
    struct buf b = {0};
    table_text(t, check_outcome_name(l));
    table_text(t, l->text);
    check_put_value(c, &b, l);
    table_take(t, &b);
    put_why(l, &b);
    table_take(t, &b);
    buf_done(&b);
}

void check_text(const struct check *c, bool all, struct report_style style, struct buf *ret)
{
    struct table t = {.columns = 4, .right = {false, false, true, false}, .ascii = !style.utf8, .wrap = true};
    size_t from = ret->len;
    buf_str(ret, text_of(&c->notes));
    if (style.width)
        wrap_lines(ret, from, style.width);
    each_limit(c, all, put_row, &t);
    table_print(&t, style.width, ret);
    put_sum(c, ret);
    buf_byte(ret, '\n');
    if (!style.utf8)
        text_ascii(ret, 0);
    ret->failed = ret->failed || t.text.failed;
    table_done(&t);
}

/* ---- Markdown ---- */

static void put_markdown_row(const struct check *c, const struct limit *l, void *to)
{
    static const char *const signs[] = {"✓", "?", "✗"};
    struct buf *ret = to, b = {0};
    buf_printf(ret, "| %s %s%s | ", signs[l->outcome], check_outcome_name(l), l->is_warning ? " (warning)" : "");
    markdown_code(ret, l->text, strlen(l->text), true);
    buf_str(ret, " | ");
    check_put_value(c, ret, l);
    buf_str(ret, " | ");
    put_why(l, &b);
    markdown_escaped_text(ret, (const char *)b.at, b.len);
    buf_str(ret, " |\n");
    ret->failed = ret->failed || b.failed;
    buf_done(&b);
}

void check_markdown(const struct check *c, struct buf *ret)
{
    static const char *const signs[] = {"✓", "✗"};
    bool is_broken = check_status(c) != 0;
    buf_printf(ret, "## %s ", signs[is_broken]);
    put_sum(c, ret);
    buf_str(ret, "\n\n|  | limit | used |  |\n|---|---|---:|---|\n");
    each_limit(c, true, put_markdown_row, ret);
    struct span rest = span_str(text_of(&c->notes)), line;
    while (scan_line(&rest, &line)) {
        buf_str(ret, "\n");
        markdown_escaped_text(ret, line.at, line.len);
        buf_str(ret, "\n");
    }
}

/* ---- JSON ---- */

static void put_limit(struct json *j, const struct limit *l)
{
    static const char *const answers[] = {"kept", "unknown", "broken"};
    json_begin(j, '{');
    json_key_exact(j, "limit", l->text);
    json_key_text(j, "answer", answers[l->outcome]);
    json_key_bool(j, "is_warning", l->is_warning);
    json_key_text(j, "scope", l->is.scope);
    json_key_text(j, "name", l->row ? l->row->name : NULL);
    json_key_text(j, "fact", l->is.fact->name);
    json_key_text(j, "unit", baro_unit_name(l->is.fact->unit));
    json_key_double(j, "allowed", l->allowed);
    json_key_double(j, "value", l->middle);
    json_key_double(j, "low", l->low);
    json_key_double(j, "high", l->high);
    json_key_text(j, "mark", baro_value_mark(l->flags));
    json_key_exact(j, "why", text_of(&l->why));
    json_key_exact(j, "cause", text_of(&l->cause));
    json_key_text(j, "file", l->file);
    json_key_u64(j, "line", l->line);
    json_end(j, '}');
}

void check_json(const struct check *c, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    json_key_u64(&j, "status", (uint64_t)check_status(c));
    json_key_begin(&j, "runs", '[');
    for (size_t i = 0; i < baro_runset_runs(c->set); i++)
        json_text(&j, baro_runset_name(c->set, i));
    json_end(&j, ']');
    json_key_u64(&j, "runs_unread", c->unread);
    json_key_begin(&j, "notes", '[');
    struct span rest = span_str(text_of(&c->notes)), line;
    while (scan_line(&rest, &line))
        json_text_n(&j, line.at, line.len);
    json_end(&j, ']');
    json_key_begin(&j, "limits", '[');
    for (size_t i = 0; i < c->n; i++)
        put_limit(&j, &c->limit[i]);
    json_end(&j, ']');
    json_end(&j, '}');
}
