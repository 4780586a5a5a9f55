/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps of a job are new, gone or used more CPU time: one run before, one after. */
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/map.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "base/command_line.h"
#include "output/text/steps.h"
#include "programs/baro-report/diff.h"

#define ROWS_MOST 15u
#define CHAIN_MOST 32u /* drivers above a step that count */
#define NAME_MOST 200u
#define FIGURES 42u     /* columns beside a name */
#define DIGITS_LEAST 4u /* so many in a row are a pid or a part of a temporary name */

/* A step of one side. */
struct item {
    const struct baro_step *step;
    uint64_t key;
    struct baro_value cpu;
    bool is_matched;
};

/* A step of both sides, or of one: then the other step is NULL. */
struct pair {
    struct item before, after;
};

static bool is_temporary(const char *from, const char *at)
{
    if (at > from && !strchr(" =:,'\"", at[-1])) /* ~/tmp/ is none */
        return false;
    return strncmp(at, "/tmp/", 5) == 0 || strncmp(at, "/var/tmp/", 9) == 0 || strncmp(at, "/dev/shm/", 9) == 0;
}

/* Writes a command line without what differs from run to run. Example: "as -o /tmp/ccXk2.o job-12345.s" is
 * "as -o / job-#.s". */
static void put_normalized(const char *from, struct buf *ret)
{
    const char *at = from;
    for (size_t digits; *at;) {
        if (is_temporary(from, at)) {
            buf_byte(ret, '/');
            at += strcspn(at, " =:,'\"");
        } else if ((digits = strspn(at, "0123456789")) >= DIGITS_LEAST) {
            buf_byte(ret, '#');
            at += digits;
        } else {
            buf_byte(ret, (unsigned char)*at++);
        }
    }
}

/* How steps are matched, one way after the other: by all arguments; by what the step is called ("cc1 a.c"), so that
 * `gcc -O1 a.c` is found as `gcc -O2 a.c`; by the name of the program, if the arguments of one of them are not known,
 * as those of a short process. Of the drivers above it the names count alone: `make -j4` is `make -j2`. */
enum way { BY_ARGUMENTS, BY_LABEL, BY_PROGRAM, WAYS };

static uint64_t key_of(const struct baro_steps *steps, const struct baro_step *step, enum way way)
{
    struct buf b = {0};
    struct command_line c;
    buf_printf(&b, "%s %d ", step->name, step->is_driver);
    if (step->cmdline && way == BY_ARGUMENTS) {
        put_normalized(step->cmdline, &b);
    } else if (step->cmdline && way == BY_LABEL && !step->is_driver) {
        command_line_read(step->cmdline, strlen(step->cmdline), &c);
        struct span label = command_line_label(&c, NAME_MOST);
        buf_add(&b, label.at, label.len);
    }
    for (unsigned i = 0; i < CHAIN_MOST && step && step->driver >= 0; i++) {
        step = baro_steps_get(steps, (size_t)step->driver);
        buf_printf(&b, "\n%s", step ? step->name : "");
    }
    uint64_t key = b.failed ? 1 : map_hash(b.at, b.len);
    buf_done(&b);
    return key;
}

static int compare_items(const void *one, const void *other)
{
    const struct item *a = one, *b = other;
    if (a->is_matched != b->is_matched)
        return a->is_matched - b->is_matched;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->step->begin_ns > b->step->begin_ns) - (a->step->begin_ns < b->step->begin_ns);
}

static struct item *items_of(const struct baro_steps *steps)
{
    size_t n = baro_steps_count(steps);
    struct item *items = calloc(n + 1, sizeof(*items));
    for (size_t i = 0; items && i < n; i++) {
        items[i].step = baro_steps_get(steps, i);
        baro_steps_value(steps, i, baro_steps_fact_find("cpu_ns"), &items[i].cpu);
    }
    return items;
}

static void sort_by_key(const struct baro_steps *steps, struct item *items, enum way way)
{
    for (size_t i = 0; i < baro_steps_count(steps); i++)
        items[i].key = key_of(steps, items[i].step, way);
    qsort(items, baro_steps_count(steps), sizeof(*items), compare_items);
}

/* Pairs what both sides have: the first of a key with the first, and so on. What was matched before stands at the end.
 */
static size_t match(struct item *a, size_t n_a, struct item *b, size_t n_b, enum way way, struct pair *ret)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < n_a && k < n_b && !a[i].is_matched && !b[k].is_matched;) {
        if (a[i].key != b[k].key) {
            a[i].key < b[k].key ? i++ : k++;
            continue;
        }
        if (way == BY_PROGRAM && a[i].step->cmdline && b[k].step->cmdline) { /* of which both are known to differ */
            i++;
            continue;
        }
        a[i].is_matched = b[k].is_matched = true;
        ret[n++] = (struct pair){a[i++], b[k++]};
    }
    return n;
}

static double size_of(const struct pair *p)
{
    return (double)p->after.cpu.u64 - (double)p->before.cpu.u64;
}

static int compare_pairs(const void *one, const void *other)
{
    double a = size_of(one), b = size_of(other);
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return (a < b) - (a > b);
}

/* Returns the steps of both sides, those whose CPU time differs most first; NULL: out of memory. */
static struct pair *pairs_of(const struct baro_steps *before, const struct baro_steps *after, size_t *ret_n)
{
    size_t n_a = baro_steps_count(before), n_b = baro_steps_count(after), n = 0;
    struct item *a = items_of(before), *b = items_of(after);
    struct pair *pairs = calloc(n_a + n_b + 1, sizeof(*pairs));
    for (enum way way = 0; a && b && pairs && way < WAYS; way++) {
        sort_by_key(before, a, way);
        sort_by_key(after, b, way);
        n += match(a, n_a, b, n_b, way, pairs + n);
    }
    for (size_t i = 0; a && b && pairs && i < n_a; i++) {
        if (!a[i].is_matched)
            pairs[n++].before = a[i];
    }
    for (size_t i = 0; a && b && pairs && i < n_b; i++) {
        if (!b[i].is_matched)
            pairs[n++].after = b[i];
    }
    if (!a || !b) {
        free(pairs);
        pairs = NULL;
    } else if (pairs) {
        qsort(pairs, n, sizeof(*pairs), compare_pairs);
    }
    free(a);
    free(b);
    *ret_n = n;
    return pairs;
}

/* "new", "gone"; "more" or "less" beyond what one run each can tell; else "" */
static const char *answer_of(const struct pair *p)
{
    double size = size_of(p), floor = 0;
    for (int i = 0; i < baro_runset_fact_count(); i++) {
        if (strcmp(baro_runset_fact_scope(i), "command") == 0 && strcmp(baro_runset_fact(i)->name, "cpu_ns") == 0)
            floor = baro_runset_fact_floor(i, (double)p->before.cpu.u64);
    }
    if (!p->before.step || !p->after.step)
        return p->before.step ? "gone" : "new";
    if ((p->before.cpu.absent || p->after.cpu.absent) || (size < floor && size > -floor))
        return "";
    const struct baro_value *less = size < 0 ? &p->after.cpu : &p->before.cpu;
    return less->flags & BARO_VALUE_LOWER_BOUND ? "" : size < 0 ? "less" : "more";
}

/* ---- output ---- */

static const struct baro_step *step_of(const struct pair *p)
{
    return p->after.step ? p->after.step : p->before.step;
}

static void put_cpu(struct table *t, const struct item *item, struct buf *b)
{
    if (!item->step || item->cpu.absent) {
        buf_str(b, item->step ? "?" : "-");
    } else {
        buf_str(b, baro_value_prefix(item->cpu.flags, BARO_PREFIX_SYMBOL));
        fmt_duration(b, item->cpu.u64);
    }
    table_take(t, b);
}

static void put_signed(struct buf *b, double size)
{
    buf_str(b, size < 0 ? "-" : "+");
    fmt_duration(b, whole_of((size < 0 ? -size : size) + 0.5));
}

static void put_row(struct table *t, const struct pair *p, unsigned name_most)
{
    struct buf b = {0}, name = {0};
    report_step_name(step_of(p), name_most, &name);
    text_escaped(&b, (const char *)name.at, name.len);
    table_take(t, &b);
    put_cpu(t, &p->before, &b);
    put_cpu(t, &p->after, &b);
    put_signed(&b, size_of(p));
    table_take(t, &b);
    table_text(t, answer_of(p));
    buf_done(&b);
    buf_done(&name);
}

static void put_text(const struct pair *pairs, size_t n, struct report_style style, struct buf *ret)
{
    static const char *const titles[] = {"", "cpu before", "after", "difference", ""};
    struct table t = {
        .columns = 5, .right = {false, true, true, true, false}, .ascii = !style.utf8, .drop = {3}, .n_drop = 1};
    size_t added = 0, gone = 0, rows = 0, from = ret->len;
    double all = 0, shown = 0;
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        table_text(&t, titles[i]);
    for (size_t i = 0; i < n; i++) {
        added += !pairs[i].before.step;
        gone += !pairs[i].after.step;
        all += size_of(&pairs[i]);
        if (rows == ROWS_MOST || size_of(&pairs[i]) == 0)
            continue;
        put_row(&t, &pairs[i], !style.whole_names && style.width > FIGURES + 20 ? style.width - FIGURES : NAME_MOST);
        shown += size_of(&pairs[i]);
        rows++;
    }
    buf_printf(ret, "Of %zu steps %zu are new and %zu are gone. All steps used ", n, added, gone);
    put_signed(ret, all);
    buf_printf(ret, " of CPU time after, the %zu that differ most ", rows);
    put_signed(ret, shown);
    buf_str(ret, ".\n");
    wrap_lines(ret, from, style.width);
    table_print(&t, style.whole_names ? 0 : style.width, ret);
    if (!style.utf8)
        text_ascii(ret, 0);
    ret->failed = ret->failed || t.text.failed;
    table_done(&t);
}

static void put_json(const struct pair *pairs, size_t n, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    json_key_begin(&j, "steps", '[');
    for (size_t i = 0; i < n; i++) {
        const struct item *side[] = {&pairs[i].before, &pairs[i].after};
        struct buf name = {0};
        report_step_name(step_of(&pairs[i]), NAME_MOST, &name);
        buf_byte(&name, 0);
        json_begin(&j, '{');
        json_key_text(&j, "step", name.failed ? "" : (const char *)name.at);
        json_key_text(&j, "answer", answer_of(&pairs[i]));
        for (size_t k = 0; k < 2; k++) {
            json_key(&j, k ? "cpu_after_ns" : "cpu_before_ns");
            json_u64_or_null(&j, side[k]->step && !side[k]->cpu.absent, side[k]->cpu.u64);
        }
        json_end(&j, '}');
        buf_done(&name);
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

bool diff_steps(const struct baro_steps *before, const struct baro_steps *after, bool is_json,
                struct report_style style, struct buf *ret)
{
    size_t n = 0;
    struct pair *pairs = pairs_of(before, after, &n);
    if (pairs && is_json)
        put_json(pairs, n, ret);
    else if (pairs)
        put_text(pairs, n, style, ret);
    free(pairs);
    return pairs && !ret->failed;
}
