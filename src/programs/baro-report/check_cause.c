/* SPDX-License-Identifier: Apache-2.0 */
/* Which command used most of what is over a limit, and when. */
#include <math.h>
#include <string.h>

#include "baro/fold.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/check.h"

static void put_text(struct buf *b, const char *text)
{
    text_escaped(b, text, strlen(text));
}

/* "cc1 38.1 s of it": the row of a table with the largest value. */
static void put_largest(struct buf *b, const struct baro_summary *s, const char *section, const char *fact)
{
    baro_fact_id id = baro_summary_fact_find(section, fact);
    size_t largest = 0;
    uint64_t most = 0;
    for (size_t i = 0; id >= 0 && i < report_rows(s, section); i++) {
        struct baro_value v = report_row(s, section, fact, i);
        largest = v.u64 > most ? i : largest;
        most = v.u64 > most ? v.u64 : most;
    }
    if (!most)
        return;
    const char *name = report_row(s, section, "name", largest).text;
    put_text(b, name && *name ? name : "(not known)");
    buf_byte(b, ' ');
    report_format(baro_summary_fact(id))(b, most);
}

const char *check_fact_of_commands(const char *fact)
{
    return strcmp(fact, "processes_started") == 0 ? "processes" : NULL;
}

/* "linker 2 instead of 1": the command that has most more than in the base. Returns whether there is one. */
static bool put_grown(const struct check *c, struct buf *b, const struct baro_summary *s, const char *fact)
{
    uint64_t was = 0, is = 0;
    const char *name = NULL;
    bool is_known = false;
    for (size_t i = 0; i < report_rows(s, "commands"); i++) {
        const char *command = report_row(s, "commands", "name", i).text;
        struct baro_value v = report_row(s, "commands", fact, i);
        const struct baro_runset_row row = {"command", command ? command : "",
                                            baro_summary_fact(baro_summary_fact_find("commands", fact))};
        const struct base_value *base = base_find(&c->base, &row);
        uint64_t before = base ? (uint64_t)base->median : 0;
        is_known = is_known || base;
        if (v.u64 > before && v.u64 - before > is - was) {
            is = v.u64;
            was = before;
            name = row.name;
        }
    }
    if (!name || !is_known)
        return false;
    put_text(b, *name ? name : "(not known)");
    buf_byte(b, ' ');
    fmt_count(b, is);
    buf_str(b, " instead of ");
    fmt_count(b, was);
    return true;
}

/* The names of the facts of commands, and of those who held most at a peak. */
static void put_cause_of_job(const struct check *c, struct buf *b, const struct baro_summary *s,
                             const struct baro_timeline *t, const char *fact)
{
    static const struct {
        const char *fact, *section, *of, *age;
    } causes[] = {
        {"rss_peak_bytes", "rss_peak_held_by", "bytes", "rss_peak_age_ns"},
        {"memory_peak_bytes", "rss_peak_held_by", "bytes", "rss_peak_age_ns"},
        {"pss_peak_bytes", "pss_peak_held_by", "bytes", "pss_peak_age_ns"},
        {"processes_started", "commands", "processes", NULL},
    };
    const char *section = "commands", *of = fact, *age = NULL;
    for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
        if (strcmp(causes[i].fact, fact) != 0)
            continue;
        section = causes[i].section;
        of = causes[i].of;
        age = causes[i].age;
    }
    const char *largest = report_text(s, "job", "process_rss_peak_name");
    if (strcmp(fact, "process_rss_peak_bytes") == 0)
        put_text(b, largest);
    else if (check_fact_of_commands(fact)) {
        if (!put_grown(c, b, s, of)) {
            buf_str(b, "most are ");
            put_largest(b, s, section, of);
        }
    } else if (strcmp(fact, "wall_ns") != 0)
        put_largest(b, s, section, of);
    struct baro_value when = report_fact(s, "job", age ? age : "");
    if (age && !when.absent) {
        buf_str(b, b->len ? " at " : "at ");
        fmt_moment(b, when.u64);
    }
    const struct baro_timeline_item *item, *longest = NULL;
    for (size_t i = 0; strcmp(fact, "wall_ns") == 0 && (item = baro_timeline_get(t, i)); i++) {
        if (item->kind == BARO_TIMELINE_PHASE &&
            (!longest || item->end_ns - item->begin_ns > longest->end_ns - longest->begin_ns))
            longest = item;
    }
    if (longest) {
        buf_str(b, "longest phase ");
        put_text(b, longest->name);
        buf_byte(b, ' ');
        fmt_duration(b, longest->end_ns - longest->begin_ns);
    }
}

/* "from +12.3s to +53.1s" */
static void put_time_of_phase(struct buf *b, const struct baro_timeline *t, const char *path)
{
    const struct baro_timeline_item *item;
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    unsigned n = 0;
    for (size_t i = 0; (item = baro_timeline_get(t, i)); i++) {
        char name[1024];
        if (item->kind != BARO_TIMELINE_PHASE || baro_timeline_path(t, i, name, sizeof(name)) >= sizeof(name) ||
            strcmp(name, path) != 0)
            continue;
        begin_ns = item->begin_ns < begin_ns ? item->begin_ns : begin_ns;
        end_ns = item->end_ns > end_ns ? item->end_ns : end_ns;
        n++;
    }
    if (!n)
        return;
    if (n > 1)
        buf_printf(b, "%u phases ", n);
    buf_str(b, "from ");
    fmt_moment(b, begin_ns);
    buf_str(b, " to ");
    fmt_moment(b, end_ns);
}

static void put_processes(struct buf *b, const struct baro_summary *s, const char *section, const char *fact,
                          const char *name)
{
    ptrdiff_t row = baro_summary_row_find(s, baro_summary_section_find(section), name);
    struct baro_value v = report_row(s, section, fact, row < 0 ? 0 : (size_t)row);
    if (row < 0 || v.absent)
        return;
    buf_str(b, "in ");
    fmt_count(b, v.u64);
    buf_str(b, v.u64 == 1 ? " process" : " processes");
}

static void note_cause(const struct check *c, struct limit *l, const struct baro_fold *fold,
                       const struct baro_runset_row *row)
{
    const struct baro_summary *s = baro_fold_summary(fold);
    buf_clear(&l->cause);
    if (strcmp(row->scope, "job") == 0)
        put_cause_of_job(c, &l->cause, s, baro_fold_timeline(fold), row->fact->name);
    else if (strcmp(row->scope, "phase") == 0)
        put_time_of_phase(&l->cause, baro_fold_timeline(fold), row->name);
    else if (strcmp(row->scope, "command") == 0)
        put_processes(&l->cause, s, "commands", "processes", row->name);
    else
        put_processes(&l->cause, s, "tasks", "processes_started", row->name);
    buf_byte(&l->cause, 0);
}

void check_cause(struct check *c, const struct baro_fold *fold)
{
    size_t run = baro_runset_runs(c->set) - 1;
    for (size_t i = 0; i < c->n; i++) {
        struct limit *l = &c->limit[i];
        for (size_t k = 0; k < baro_runset_rows(c->set); k++) {
            const struct baro_runset_row *row = baro_runset_row(c->set, k);
            double allowed, top;
            if (!scoped_fact_names(&l->is, row) || !check_allowed(c, l, row, &allowed, &top))
                continue;
            struct bounds b = check_bounds(c, l, k, run);
            if (!isnan(b.value) && limit_is_over(l, b.low, allowed) && b.value > l->worst) {
                l->worst = b.value;
                note_cause(c, l, fold, row);
            }
        }
    }
}
