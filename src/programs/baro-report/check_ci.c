/* SPDX-License-Identifier: Apache-2.0 */
/* What runs say of limits, in the formats of services that build and test. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "output/chart/chart.h"
#include "output/rows/escaped.h"
#include "programs/baro-report/check.h"

/* ---- JUnit ---- */

static void put_case(const struct check *c, const struct limit *l, struct buf *b)
{
    static const char *const elements[] = {NULL, "skipped", "failure"};
    const char *element = l->is_warning && l->outcome == OUTCOME_BROKEN ? "skipped" : elements[l->outcome];
    struct buf text = {0};
    if (l->outcome == OUTCOME_UNKNOWN && !l->is_warning && c->unknown_fails > 0)
        element = "error";
    buf_str(b, "  <testcase classname=\"budget\" name=\"");
    chart_xml_escaped(b, l->text, strlen(l->text));
    if (l->file) {
        buf_str(b, "\" file=\"");
        chart_xml_text(b, l->file, strlen(l->file));
        buf_printf(b, "\" line=\"%u", l->line);
    }
    buf_str(b, "\">\n    ");
    if (element)
        buf_printf(b, "<%s message=\"", element);
    else
        buf_str(b, "<system-out>");
    buf_printf(&text, "%s, ", check_outcome_name(l));
    check_put_evidence(c, l, &text);
    chart_xml_escaped(b, (const char *)text.at, text.len);
    buf_printf(b, "%s>\n  </testcase>\n", element ? "\"/" : "</system-out");
    b->failed = b->failed || text.failed;
    buf_done(&text);
}

void check_junit(const struct check *c, struct buf *ret)
{
    size_t unknown = check_count(c, OUTCOME_UNKNOWN, false), errors = c->unknown_fails > 0 ? unknown : 0;
    size_t skipped = unknown - errors + check_count(c, OUTCOME_UNKNOWN, true) + check_count(c, OUTCOME_BROKEN, true);
    buf_printf(ret,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"baro check\" "
               "tests=\"%zu\" failures=\"%zu\" ",
               c->n, check_count(c, OUTCOME_BROKEN, false));
    buf_printf(ret, "errors=\"%zu\" skipped=\"%zu\">\n", errors, skipped);
    for (size_t i = 0; i < c->n; i++)
        put_case(c, &c->limit[i], ret);
    buf_str(ret, "</testsuite>\n</testsuites>\n");
}

/* ---- GitHub ---- */

/* Of one step ten annotations of a level are shown, and the rest is dropped without a word. */
#define ANNOTATIONS_MOST 9u

/* Data of a workflow command; of a property also ":" and ",". */
static void put_command_text(struct buf *b, const char *at, size_t len, bool is_property)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] == '%' || at[i] == '\r' || at[i] == '\n' || (is_property && (at[i] == ':' || at[i] == ',')))
            buf_printf(b, "%%%02X", (unsigned)(unsigned char)at[i]);
        else
            buf_byte(b, (unsigned char)at[i]);
    }
}

static void put_annotation(const struct check *c, const struct limit *l, struct buf *b)
{
    struct buf text = {0};
    bool is_error = !l->is_warning && (l->outcome == OUTCOME_BROKEN || c->unknown_fails > 0);
    buf_printf(b, "::%s ", is_error ? "error" : "warning");
    if (l->file) {
        text_escaped(&text, l->file, strlen(l->file));
        buf_str(b, "file=");
        put_command_text(b, (const char *)text.at, text.len, true);
        buf_printf(b, ",line=%u,", l->line);
        buf_clear(&text);
    }
    buf_printf(b, "title=%s::", check_outcome_name(l));
    buf_printf(&text, "%s: ", l->text);
    check_put_evidence(c, l, &text);
    put_command_text(b, (const char *)text.at, text.len, false);
    buf_byte(b, '\n');
    b->failed = b->failed || text.failed;
    buf_done(&text);
}

void check_annotations(const struct check *c, struct buf *ret)
{
    size_t n = 0;
    for (int outcome = OUTCOME_BROKEN; outcome >= OUTCOME_UNKNOWN; outcome--) {
        for (size_t i = 0; i < c->n; i++) {
            if ((int)c->limit[i].outcome == outcome && n++ < ANNOTATIONS_MOST)
                put_annotation(c, &c->limit[i], ret);
        }
    }
    if (n > ANNOTATIONS_MOST)
        buf_printf(ret, "::warning::and %zu more\n", n - ANNOTATIONS_MOST);
}

/* ---- GitLab ---- */

/* "baro_cpu_seconds" */
static void put_metric_name(struct buf *b, const struct baro_fact *f)
{
    bool is_time = f->unit == BARO_UNIT_NS;
    buf_str(b, "baro_");
    buf_add(b, f->name, strlen(f->name) - (is_time ? strlen("_ns") : 0));
    buf_str(b, is_time ? "_seconds" : "");
}

static void put_label(struct buf *b, const char *text)
{
    struct buf escaped = {0};
    text_escaped(&escaped, text, strlen(text));
    for (size_t i = 0; i < escaped.len; i++) {
        if (escaped.at[i] == '"' || escaped.at[i] == '\\')
            buf_byte(b, '\\');
        buf_byte(b, escaped.at[i]);
    }
    b->failed = b->failed || escaped.failed;
    buf_done(&escaped);
}

/* GitLab compares values as text: with three digits noise is no change. Example: 41234567 is 41200000. */
static double rounded(double v)
{
    double step = 1;
    for (; v / step >= 1000; step *= 10)
        ;
    for (; v > 0 && v / step < 100 && step > 1e-9; step /= 10)
        ;
    return step < 1 ? (double)(uint64_t)(v / step + 0.5) / (1 / step) : (double)(uint64_t)(v / step + 0.5) * step;
}

static void put_sample(const struct limit *l, struct buf *b)
{
    const struct baro_fact *f = l->row->fact;
    put_metric_name(b, f);
    if (*l->row->name) {
        buf_printf(b, "{%s=\"", l->row->scope);
        put_label(b, l->row->name);
        buf_str(b, "\"}");
    }
    buf_byte(b, ' ');
    buf_double(b, f->unit == BARO_UNIT_NS      ? rounded(l->middle / 1e9)
                  : f->unit == BARO_UNIT_BYTES ? rounded(l->middle)
                                               : l->middle);
    buf_byte(b, '\n');
}

/* Has an earlier limit this metric; with is_row, of this row? */
static bool is_earlier(const struct check *c, size_t limit, bool is_row)
{
    const struct baro_runset_row *row = c->limit[limit].row;
    for (size_t i = 0; i < limit; i++) {
        const struct baro_runset_row *other = c->limit[i].row;
        if (other && !isnan(c->limit[i].middle) && strcmp(other->fact->name, row->fact->name) == 0 &&
            (!is_row || other == row))
            return true;
    }
    return false;
}

/* The samples of a metric stand together, each once. */
void check_gitlab_metrics(const struct check *c, struct buf *ret)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct limit *l = &c->limit[i];
        if (!l->row || isnan(l->middle) || is_earlier(c, i, false))
            continue;
        buf_str(ret, "# TYPE ");
        put_metric_name(ret, l->row->fact);
        buf_str(ret, " gauge\n");
        for (size_t k = i; k < c->n; k++) {
            const struct limit *other = &c->limit[k];
            if (other->row && !isnan(other->middle) && strcmp(other->row->fact->name, l->row->fact->name) == 0 &&
                !is_earlier(c, k, true))
                put_sample(other, ret);
        }
    }
    buf_str(ret, "# EOF\n");
}

/* A finding is the same in the next run if its fingerprint is: that of the limit without its value. */
static void put_fingerprint(struct json *j, const struct limit *l)
{
    struct buf text = {0};
    buf_printf(&text, "%s:%s:%s", l->is.scope, l->is.name, l->is.fact->name);
    uint64_t hash = map_hash(text.at, text.len);
    buf_clear(&text);
    buf_printf(&text, "%016llx", (unsigned long long)hash);
    buf_byte(&text, 0);
    json_key_text(j, "fingerprint", text.failed ? "" : (const char *)text.at);
    buf_done(&text);
}

void check_gitlab_quality(const struct check *c, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '[');
    for (size_t i = 0; i < c->n; i++) {
        const struct limit *l = &c->limit[i];
        struct buf text = {0};
        if (l->outcome == OUTCOME_KEPT)
            continue;
        buf_printf(&text, "%s: %s, ", check_outcome_name(l), l->text);
        check_put_evidence(c, l, &text);
        buf_byte(&text, 0);
        json_begin(&j, '{');
        json_key_exact(&j, "description", text.failed ? "" : (const char *)text.at);
        json_key_text(&j, "check_name", "baro check");
        put_fingerprint(&j, l);
        json_key_text(&j, "severity", l->outcome == OUTCOME_UNKNOWN ? "info" : l->is_warning ? "minor" : "major");
        json_key_begin(&j, "location", '{');
        json_key_text(&j, "path", l->file ? l->file : ".gitlab-ci.yml");
        json_key_begin(&j, "lines", '{');
        json_key_u64(&j, "begin", l->file ? l->line : 1);
        json_end(&j, '}');
        json_end(&j, '}');
        json_end(&j, '}');
        buf_done(&text);
    }
    json_end(&j, ']');
}
