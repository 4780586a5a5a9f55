/* SPDX-License-Identifier: Apache-2.0 */
/* The heaviest tasks or commands: how many processes, CPU time, its share, most memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "output/text/glance.h"
#include "output/text/read_fact.h"
#include "output/text/tasks.h"

#define SHOWN 2u
#define COLUMNS 4u

struct figures {
    uint64_t processes, cpu_ns, rss_bytes, failed;
    unsigned process_flags, cpu_flags, rss_flags;
    bool has_cpu, has_rss;
};

struct texts {
    const char *mark;
    char name[160], at[COLUMNS][48];
};

static const struct source {
    const char *section, *processes;
} of_commands = {"commands", "processes"}, of_tasks = {"tasks", "processes_started"};

static void add(const struct baro_summary *s, const struct source *of, size_t i, struct figures *ret)
{
    struct baro_value n = report_row(s, of->section, of->processes, i), cpu = report_row(s, of->section, "cpu_ns", i),
                      rss = report_row(s, of->section, "rss_peak_bytes", i);
    ret->processes += n.u64;
    ret->process_flags |= n.flags;
    ret->cpu_ns += cpu.u64;
    ret->cpu_flags |= cpu.flags;
    ret->has_cpu |= !cpu.absent;
    ret->rss_bytes = rss.u64 > ret->rss_bytes ? rss.u64 : ret->rss_bytes;
    ret->rss_flags |= rss.flags;
    ret->has_rss |= !rss.absent;
    if (of == &of_tasks)
        ret->failed = report_row(s, of->section, "exit_code", i).u64 | report_row(s, of->section, "exit_signal", i).u64;
}

static void take(char (*to)[48], struct buf *b)
{
    size_t n = b->failed ? 0 : b->len < sizeof(*to) - 1 ? b->len : sizeof(*to) - 1;
    memcpy(*to, n ? (const char *)b->at : "", n);
    (*to)[n] = 0;
    buf_clear(b);
}

static void write_figures(const struct figures *f, uint64_t total, struct texts *ret)
{
    struct buf b = {0};
    buf_printf(&b, "%s%s×", baro_value_prefix(f->process_flags, BARO_PREFIX_SYMBOL), COUNT(f->processes));
    take(&ret->at[0], &b);
    bool is_cpu = f->has_cpu && (f->cpu_ns || !(f->cpu_flags & BARO_VALUE_LOWER_BOUND));
    if (is_cpu)
        buf_printf(&b, "%s%s", baro_value_prefix(f->cpu_flags, BARO_PREFIX_SYMBOL), DURATION(f->cpu_ns));
    take(&ret->at[1], &b);
    if (is_cpu && total && !f->cpu_flags) /* no percentage of a value that is not exact */
        buf_printf(&b, "%s", PERCENT((double)f->cpu_ns / (double)total));
    take(&ret->at[2], &b);
    if (f->has_rss && f->rss_bytes)
        buf_printf(&b, "%s%s", baro_value_prefix(f->rss_flags, BARO_PREFIX_SYMBOL), BYTES(f->rss_bytes));
    take(&ret->at[3], &b);
    buf_done(&b);
}

static void put_rows(struct glance *g, const struct texts *rows, unsigned n, bool has_rest, unsigned name_width)
{
    unsigned width[COLUMNS] = {0};
    for (unsigned i = 0; i < n; i++) {
        for (unsigned c = 0; c < COLUMNS; c++) {
            unsigned w = (unsigned)utf8_columns(rows[i].at[c], strlen(rows[i].at[c]));
            width[c] = w > width[c] ? w : width[c];
        }
    }
    for (unsigned i = 0; i < n; i++) {
        struct buf b = {0};
        struct lines l = glance_row(g,
                                    has_rest && i + 1 == n ? DROP_REST
                                    : i                    ? DROP_COMMAND
                                                           : DROP_NEVER,
                                    "", TONE_PLAIN, rows[i].name, name_width);
        for (unsigned c = 0; c < COLUMNS; c++) {
            unsigned w = (unsigned)utf8_columns(rows[i].at[c], strlen(rows[i].at[c]));
            buf_spaces(&b, width[c] ? width[c] - w + (c ? 2 : 0) : 0);
            buf_str(&b, rows[i].at[c]);
        }
        glance_end(g, &l, &b);
    }
}

/* Lists the rows in their order: of tasks those that failed, then the heaviest. */
static void order_tasks(const struct baro_summary *s, size_t *order, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct figures f = {0};
        add(s, &of_tasks, order[i], &f);
        if (!f.failed)
            continue;
        size_t failed = order[i];
        memmove(order + at + 1, order + at, (i - at) * sizeof(*order));
        order[at++] = failed;
    }
}

void glance_commands(struct glance *g)
{
    size_t tasks = report_tasks_count(g->s), n = tasks ? tasks : report_rows(g->s, "commands");
    const struct source *of = tasks ? &of_tasks : &of_commands;
    size_t *order = calloc(n + 1, sizeof(*order));
    struct texts rows[SHOWN + 1] = {0};
    uint64_t total = report_u64(g->s, "job", "cpu_ns");
    unsigned shown = n < SHOWN ? (unsigned)n : SHOWN, name_width = g->label;
    if (!order || n < 2 - (size_t)(tasks > 0)) {
        free(order);
        return;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (tasks) {
        n = report_tasks_order(g->s, order, n);
        order_tasks(g->s, order, n);
    }
    struct figures rest = {0};
    for (size_t i = 0; i < n; i++) {
        struct figures one = {0}, *f = i < shown ? &one : &rest;
        add(g->s, of, order[i], f);
        if (i >= shown)
            continue;
        const char *name = report_row(g->s, of->section, "name", order[i]).text;
        name = name && *name ? name : "(not known)";
        snprintf(rows[i].name, sizeof(rows[i].name), "%s", name);
        rows[i].mark = one.failed ? "✗ " : "";
        write_figures(&one, total, &rows[i]);
        unsigned w = (unsigned)utf8_columns(rows[i].name, strlen(rows[i].name)) + (one.failed ? 2 : 0);
        name_width = w > name_width ? w : name_width;
    }
    if (n > shown) {
        rows[shown].mark = "";
        snprintf(rows[shown].name, sizeof(rows[shown].name), "%zu more", n - shown);
        write_figures(&rest, total, &rows[shown]);
    }
    put_rows(g, rows, shown + (n > shown), n > shown, name_width < 24 ? name_width : 24);
    free(order);
}
