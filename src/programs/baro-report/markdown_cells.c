/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/markdown_cells.h"

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/baro-report/markdown_text.h"

#define TASKS_SHOWN 64u

void markdown_unbroken(struct buf *out, const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        if (text->at[i] == ' ')
            buf_str(out, "\xc2\xa0");
        else
            buf_byte(out, text->at[i]);
    }
    out->failed = out->failed || text->failed;
}

void markdown_cell(struct buf *out, const struct baro_fact *fact, struct baro_value v)
{
    struct buf b = {0};
    buf_str(out, " | ");
    if (v.absent) {
        buf_str(out, v.absent == BARO_ABSENT_NONE ? "" : baro_absent_name(v.absent));
    } else if (fact->type == BARO_FACT_REAL) {
        buf_str(&b, baro_value_prefix(v.flags, BARO_PREFIX_SYMBOL));
        fmt_decimal(&b, v.real, v.real < 10 ? 2 : 1);
    } else if (report_says_nothing(v)) { /* the process was too short to be read */
        buf_byte(out, '-');
    } else {
        report_marked(&b, v, report_format(fact));
    }
    markdown_unbroken(out, &b);
    buf_done(&b);
}

void markdown_fact(struct buf *out, const struct baro_summary *s, const char *section, const char *name, size_t row)
{
    const struct baro_fact *fact = baro_summary_fact(baro_summary_fact_find(section, name));
    markdown_cell(out, fact, report_row(s, section, name, row));
}

static void legend_of(struct buf *out, size_t from, size_t to, const char *word, const char *means)
{
    char cell[64];
    int n = snprintf(cell, sizeof(cell), " | %s |", word);
    if (!memmem(out->at + from, to - from, cell, (size_t)n))
        return;
    buf_str(out, out->len > to ? "; `" : "\n`");
    buf_printf(out, "%s`: %s", word, means);
}

void markdown_legend(struct buf *out, size_t from)
{
    size_t to = out->len;
    if (out->failed)
        return;
    legend_of(out, from, to, "-", "not known, as processes were too short to be read");
    for (int reason = BARO_ABSENT_NOT_ASKED; reason <= BARO_ABSENT_UNKNOWN; reason++)
        legend_of(out, from, to, baro_absent_name((enum baro_absent)reason), report_reason(reason));
    buf_str(out, out->len > to ? ".\n" : "");
}

/* ---- tasks ---- */

static const struct {
    const char *title, *fact;
} columns[] = {
    {"processes", "processes_started"},
    {"samples", "process_samples"},
    {"peak uss of one", "process_uss_peak_bytes"},
    {"peak uss", "uss_peak_bytes"},
    {"peak rss", "rss_peak_bytes"},
    {"peak pss", "pss_peak_bytes"},
    {"mean uss of one", "process_uss_mean_bytes"},
    {"cpu", "cpu_ns"},
    {"user", "cpu_user_ns"},
    {"system", "cpu_system_ns"},
    {"cores", "cores_mean"},
    {"peak cores", "cores_peak"},
    {"mean cores of one", "process_cores_mean"},
    {"peak cores of one", "process_cores_peak"},
    {"active", "active_ns"},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

static void task_row(const struct baro_summary *s, size_t row, struct buf *out)
{
    const char *name = report_row(s, "tasks", "name", row).text;
    buf_str(out, "| ");
    markdown_code(out, name ? name : "", name ? strlen(name) : 0, true);
    for (size_t i = 0; i < COLUMNS; i++)
        markdown_fact(out, s, "tasks", columns[i].fact, row);
    buf_str(out, " |\n");
}

/* Writes the row of all processes of the recording, including those without a task. */
static void all_tasks(const struct baro_summary *s, struct buf *out)
{
    struct baro_value uss = report_fact(s, "job", "uss_peak_bytes");
    struct baro_value memory = report_fact(s, "host", "memory_total_bytes");
    uint64_t samples = 0;
    for (size_t i = 0; i < report_tasks_count(s); i++) {
        struct baro_value rows = report_row(s, "tasks", "process_samples", i);
        samples += rows.absent ? 0 : rows.u64;
    }
    fmt_count(out, samples);
    buf_str(out, " samples of processes of tasks");
    if (uss.absent == BARO_PRESENT) {
        buf_str(out, " · peak uss of all processes together ");
        report_marked(out, uss, fmt_bytes);
    }
    if (uss.absent == BARO_PRESENT && memory.absent == BARO_PRESENT && memory.u64) {
        buf_printf(out, ", %s", baro_value_prefix(uss.flags, BARO_PREFIX_SYMBOL));
        fmt_decimal(out, 100.0 * (double)uss.u64 / (double)memory.u64, 1);
        buf_str(out, " % of the machine's memory");
    }
    if (memory.absent == BARO_PRESENT) {
        buf_str(out, " · memory of the machine ");
        fmt_bytes(out, memory.u64);
    }
    buf_str(out, "\n\n");
}

void markdown_tasks(const struct baro_summary *s, struct buf *out)
{
    size_t order[TASKS_SHOWN], n = report_tasks_order(s, order, TASKS_SHOWN);
    if (!n)
        return;
    buf_str(out, "### Tasks\n\n| task |");
    for (size_t i = 0; i < COLUMNS; i++)
        buf_printf(out, " %s |", columns[i].title);
    buf_str(out, "\n|---|");
    for (size_t i = 0; i < COLUMNS; i++)
        buf_str(out, "--:|");
    buf_byte(out, '\n');
    size_t from = out->len;
    for (size_t i = 0; i < n; i++)
        task_row(s, order[i], out);
    markdown_legend(out, from);
    if (report_tasks_count(s) > n)
        buf_printf(out, "\n%zu more tasks used less.\n", report_tasks_count(s) - n);
    buf_byte(out, '\n');
    all_tasks(s, out);
}
