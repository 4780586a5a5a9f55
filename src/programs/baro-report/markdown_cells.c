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

void markdown_cell(struct buf *out, struct baro_value v, void (*format)(struct buf *, uint64_t))
{
    struct buf b = {0};
    buf_str(out, " | ");
    if (v.absent) {
        buf_str(out, v.absent == BARO_ABSENT_NONE ? "" : baro_absent_name(v.absent));
        return;
    }
    if (report_says_nothing(v)) { /* the process was too short to be read */
        buf_str(out, "-");
        return;
    }
    report_marked(&b, v, format);
    markdown_unbroken(out, &b);
    buf_done(&b);
}

void markdown_cell_real(struct buf *out, struct baro_value v)
{
    struct buf b = {0};
    buf_str(out, " | ");
    if (v.absent) {
        buf_str(out, v.absent == BARO_ABSENT_NONE ? "" : baro_absent_name(v.absent));
        return;
    }
    buf_str(&b, baro_value_prefix(v.flags, BARO_PREFIX_WORDS));
    fmt_decimal(&b, v.real, v.real < 10 ? 2 : 1);
    markdown_unbroken(out, &b);
    buf_done(&b);
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
    void (*format)(struct buf *, uint64_t); /* NULL: cores */
} columns[] = {
    {"processes", "processes_started", fmt_count},
    {"samples", "process_samples", fmt_count},
    {"peak uss of one", "process_uss_peak_bytes", fmt_bytes},
    {"peak uss", "uss_peak_bytes", fmt_bytes},
    {"peak rss", "rss_peak_bytes", fmt_bytes},
    {"peak pss", "pss_peak_bytes", fmt_bytes},
    {"mean uss of one", "process_uss_mean_bytes", fmt_bytes},
    {"cpu", "cpu_ns", fmt_duration},
    {"user", "cpu_user_ns", fmt_duration},
    {"system", "cpu_system_ns", fmt_duration},
    {"cores", "cores_mean", NULL},
    {"peak cores", "cores_peak", NULL},
    {"mean cores of one", "process_cores_mean", NULL},
    {"peak cores of one", "process_cores_peak", NULL},
    {"active", "active_ns", fmt_duration},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

static void task_row(const struct baro_summary *s, size_t row, struct buf *out)
{
    const char *name = report_row(s, "tasks", "name", row).text;
    buf_str(out, "| ");
    markdown_code(out, name ? name : "", name ? strlen(name) : 0, true);
    for (size_t i = 0; i < COLUMNS; i++) {
        struct baro_value v = report_row(s, "tasks", columns[i].fact, row);
        if (columns[i].format)
            markdown_cell(out, v, columns[i].format);
        else
            markdown_cell_real(out, v);
    }
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
        buf_printf(out, ", %s", baro_value_prefix(uss.flags, BARO_PREFIX_WORDS));
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
