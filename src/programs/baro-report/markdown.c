/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as Markdown, for pull requests, job summaries and mail: one line with the result, the verdicts in a few
 * words each, a small table of what was used, the phases; all the rest is folded away (markdown_rest.c), and left out
 * of a report of several tapes.
 */
#include "programs/baro-report/markdown.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "output/text/lines.h"
#include "output/text/phase_names.h"
#include "output/text/read_fact.h"
#include "output/text/used.h"
#include "programs/baro-report/markdown_cells.h"
#include "programs/baro-report/markdown_text.h"

#define VERDICTS_SHOWN 8u
#define PHASES_SHOWN 20u
#define NAMES_SHOWN 6u

static void put_escaped(struct markdown *p, const struct buf *b)
{
    if (b->failed)
        p->out->failed = true;
    else if (b->len)
        markdown_escaped_text(p->out, (const char *)b->at, b->len);
}

/* ---- head ---- */

void markdown_sign(struct buf *out, enum report_result result)
{
    buf_str(out, result == REPORT_GOOD ? "✓ " : result == REPORT_BAD || result == REPORT_CUT_OFF ? "✗ " : "");
}

/* Returns what to say of the end besides its status: what failed, or which memory ran out. NULL: nothing. */
static const char *why_it_ended(const struct baro_verdicts *all)
{
    const struct baro_verdict *first = baro_verdicts_get(all, 0);
    bool has_more =
        first && report_is_end(first) && strcmp(first->rule, "killed") != 0 && strncmp(first->brief, "status ", 7) != 0;
    return has_more ? first->brief : NULL;
}

static void head(struct markdown *p)
{
    struct buf title = {0}, result = {0};
    const char *why = why_it_ended(p->d->verdicts);
    enum report_result how = report_result(p->s, p->style.running, &result);
    report_title(p->s, &title);
    buf_str(p->out, "## ");
    if (p->d->number)
        buf_printf(p->out, "%zu. ", p->d->number);
    markdown_sign(p->out, how);
    p->is_cut = markdown_title(p->out, &title, false);
    buf_str(p->out, " · ");
    put_escaped(p, &result);
    buf_str(p->out, " · ");
    buf_str(p->out, DURATION(report_u64(p->s, "", "wall_ns")));
    if (why) {
        buf_str(p->out, " · ");
        markdown_text(p->out, why, strlen(why));
    }
    buf_str(p->out, "\n\n");
    buf_done(&title);
    buf_done(&result);
}

/* ---- verdicts ---- */

/* Are both of one rule, and about phases? */
static bool is_alike(const struct baro_verdict *a, const struct baro_verdict *b)
{
    return a->phase && b->phase && strcmp(a->rule, b->rule) == 0;
}

bool markdown_is_first(const struct baro_verdicts *all, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (is_alike(baro_verdicts_get(all, k), baro_verdicts_get(all, i)))
            return false;
    }
    return true;
}

void markdown_phases_alike(struct markdown *p, size_t i, bool same_words, const char *before)
{
    const struct baro_verdicts *all = p->d->verdicts;
    const struct baro_verdict *v = baro_verdicts_get(all, i), *other;
    size_t n = 0;
    for (size_t k = i + 1; k < baro_verdicts_count(all); k++) {
        other = baro_verdicts_get(all, k);
        if (!is_alike(v, other) || (strcmp(v->brief, other->brief) == 0) != same_words || ++n > NAMES_SHOWN)
            continue;
        buf_str(p->out, n == 1 ? before : ", ");
        markdown_code(p->out, other->phase, strlen(other->phase), false);
    }
    if (n > NAMES_SHOWN)
        buf_printf(p->out, " and %zu more", n - NAMES_SHOWN);
}

void markdown_begin_verdict(struct markdown *p, size_t i)
{
    const struct baro_verdict *v = baro_verdicts_get(p->d->verdicts, i);
    buf_str(p->out, "- **");
    markdown_text(p->out, v->rule, strlen(v->rule));
    buf_str(p->out, "**");
    if (v->phase) {
        buf_str(p->out, " in ");
        markdown_code(p->out, v->phase, strlen(v->phase), false);
        markdown_phases_alike(p, i, true, ", ");
    }
}

/* Verdicts of one rule on several phases are one item: with the words of the first, and the names of the others. */
static void put_verdict(struct markdown *p, size_t i)
{
    const struct baro_verdict *v = baro_verdicts_get(p->d->verdicts, i);
    markdown_begin_verdict(p, i);
    buf_str(p->out, ": ");
    markdown_text(p->out, v->brief, strlen(v->brief));
    markdown_phases_alike(p, i, false, "; also in ");
    buf_str(p->out, *v->hint ? " → " : "");
    markdown_text(p->out, v->hint, strlen(v->hint));
    buf_byte(p->out, '\n');
}

/* Notes have no effect on the job: they are folded away with the sentences. */
static void verdicts(struct markdown *p)
{
    size_t n = 0;
    for (size_t i = 0; i < baro_verdicts_count(p->d->verdicts); i++) {
        if (baro_verdicts_get(p->d->verdicts, i)->weight > BARO_VERDICT_ADVICE ||
            !markdown_is_first(p->d->verdicts, i) || ++n > VERDICTS_SHOWN)
            continue;
        put_verdict(p, i);
    }
    if (n > VERDICTS_SHOWN)
        buf_printf(p->out, "- %zu more\n", n - VERDICTS_SHOWN);
    buf_str(p->out, n ? "\n" : "");
}

/* ---- what was used ---- */

static void put_used(void *context, const struct used *u)
{
    struct markdown *p = context;
    buf_str(p->out, "| ");
    markdown_escaped_text(p->out, u->label, strlen(u->label));
    buf_str(p->out, " | ");
    put_escaped(p, u->text);
    buf_str(p->out, " |\n");
}

static void used(struct markdown *p)
{
    struct buf waited = {0};
    buf_str(p->out, "| resource | used |\n|---|---|\n");
    used_rows(p->s, p->style, put_used, p);
    used_waiting(p->s, &waited);
    if (waited.len)
        put_used(p, &(struct used){.label = "waiting", .text = &waited});
    buf_byte(p->out, '\n');
    buf_done(&waited);
}

/* ---- phases ---- */

static void phase_row(struct markdown *p, const struct named_phases *d)
{
    struct buf b = {0};
    buf_str(p->out, "| ");
    markdown_code(p->out, d->path, strlen(d->path), true);
    if (d->n > 1)
        buf_printf(p->out, " ×%zu", d->n);
    buf_str(p->out, " | ");
    buf_str(&b, baro_value_prefix(d->is_least ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL));
    fmt_duration(&b, d->took_ns);
    markdown_unbroken(p->out, &b);
    buf_clear(&b);
    buf_str(p->out, " | ");
    if (d->has_cpu)
        buf_printf(&b, "%s%s", baro_value_prefix(d->cpu_flags, BARO_PREFIX_SYMBOL), DURATION(d->cpu_ns));
    markdown_unbroken(p->out, &b);
    buf_clear(&b);
    buf_str(p->out, " | ");
    if (d->has_rss)
        buf_printf(&b, "%s%s", baro_value_prefix(d->rss_flags, BARO_PREFIX_SYMBOL), BYTES(d->rss_bytes));
    markdown_unbroken(p->out, &b);
    buf_str(p->out, " | ");
    if (d->status) {
        buf_str(p->out, "✗ ");
        report_status(d->status, p->out);
    }
    buf_str(p->out, d->is_open ? "not ended |\n" : " |\n");
    buf_done(&b);
}

static void phases(struct markdown *p)
{
    struct phase_names names = {.n = 0};
    phase_names_collect(&names, p->d->timeline);
    if (!names.n)
        return;
    if (names.n > PHASES_SHOWN)
        phase_names_keep(&names, PHASES_SHOWN);
    buf_str(p->out, "| phase | took | cpu | peak rss | status |\n|---|--:|--:|--:|---|\n");
    for (size_t i = 0; i < names.n; i++)
        phase_row(p, &names.at[i]);
    if (names.left_out)
        buf_printf(p->out, "| %zu more | | | | |\n", names.left_out);
    buf_byte(p->out, '\n');
    phase_names_done(&names);
}

/* ---- foot ---- */

static void place_and_time(struct markdown *p)
{
    struct buf b = {0};
    const char *host = report_text(p->s, "host", "name"), *kernel = report_text(p->s, "host", "kernel");
    fmt_time_zone(&b, report_fact(p->s, "", "start").i64, p->style.zone, false);
    put_escaped(p, &b);
    if (*host) {
        buf_str(p->out, " on ");
        markdown_code(p->out, host, strlen(host), false);
    }
    if (*kernel) {
        buf_str(p->out, ", Linux ");
        markdown_text(p->out, kernel, strlen(kernel));
    }
    buf_done(&b);
}

static void foot(struct markdown *p)
{
    const char *name = p->d->name;
    buf_str(p->out, "<sub>");
    markdown_code(p->out, name, strlen(name), false);
    buf_str(p->out, " · started ");
    place_and_time(p);
    buf_str(p->out, " · barograph ");
    markdown_text(p->out, baro_header_version(p->d->header), strlen(baro_header_version(p->d->header)));
    buf_str(p->out, "</sub>\n");
}

int document_markdown(const struct document *d, void *context, struct buf *ret, struct baro_error *err)
{
    (void)context;
    struct markdown p = {.d = d, .s = d->summary, .out = ret};
    p.style = (struct report_style){
        .width = 400, .utf8 = true, .running = baro_tape_state(d->tape) == BARO_TAPE_RUNNING, .zone = d->zone};
    head(&p);
    verdicts(&p);
    used(&p);
    phases(&p);
    if (!d->number)
        markdown_rest(&p);
    foot(&p);
    return ret->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}
