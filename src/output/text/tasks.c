/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "baro/text.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/rows/wrap.h"
#include "output/text/lines.h"
#include "output/text/read_fact.h"

size_t report_tasks_count(const struct baro_summary *s)
{
    return report_rows(s, "tasks");
}

static uint64_t task_cpu(const struct baro_summary *s, size_t row)
{
    return report_row(s, "tasks", "cpu_ns", row).u64;
}

/* Sorts by insertion: there are few tasks, and nearly all rows are asked for once. */
size_t report_tasks_order(const struct baro_summary *s, size_t *ret, size_t cap)
{
    size_t n = 0;
    for (size_t row = 0; row < report_tasks_count(s); row++) {
        uint64_t cpu = task_cpu(s, row);
        size_t at = n < cap ? n : cap;
        while (at > 0 && task_cpu(s, ret[at - 1]) < cpu)
            at--;
        if (at == cap)
            continue;
        n += n < cap;
        memmove(ret + at + 1, ret + at, (n - at - 1) * sizeof(*ret));
        ret[at] = row;
    }
    return n;
}

/* ---- as a table ---- */

static const struct {
    const char *title, *fact;
} columns[] = {
    {"procs", "processes_started"},
    {"samples", "process_samples"},
    {"uss/proc", "process_uss_peak_bytes"},
    {"uss", "uss_peak_bytes"},
    {"rss", "rss_peak_bytes"},
    {"pss", "pss_peak_bytes"},
    {"user", "cpu_user_ns"},
    {"system", "cpu_system_ns"},
    {"cpu", "cpu_ns"},
    {"read", "io_read_bytes"},
    {"write", "io_write_bytes"},
    {"active", "active_ns"},
    {"uss-mean", "process_uss_mean_bytes"},
    {"cores/proc", "process_cores_peak"},
    {"cores", "cores_mean"},
    {"peak", "cores_peak"},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))
#define MACHINE_WIDE 120 /* columns of a terminal that has room for user and system time, too */

/* Of a machine: the same columns for each stretch of its tape, so that two can be compared. uss and pss are read on
 * demand. */
static bool is_of_machine(const char *title, int width)
{
    static const char *const always[] = {"procs", "rss", "cpu", "read", "write", "active", "cores", "peak"};
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++) {
        if (strcmp(title, always[i]) == 0)
            return true;
    }
    return (strcmp(title, "user") == 0 || strcmp(title, "system") == 0) && (width <= 0 || width >= MACHINE_WIDE);
}

/* Marks the columns that some task has a value for; of I/O, that some task did. */
static void find_columns(const struct baro_summary *s, int width, bool shown[COLUMNS])
{
    bool of_machine = report_text_is(s, "", "cgroup", "machine") || report_text_is(s, "", "cgroup", "visible");
    for (size_t k = 0; k < COLUMNS; k++) {
        bool is_io = strncmp(columns[k].fact, "io_", 3) == 0;
        bool is_part = strcmp(columns[k].title, "uss") == 0 || strcmp(columns[k].title, "pss") == 0;
        shown[k] = of_machine ? is_of_machine(columns[k].title, width) : !report_tasks_count(s) && !is_io;
        for (size_t row = 0; (is_part || !of_machine) && row < report_tasks_count(s) && !shown[k]; row++) {
            struct baro_value v = report_row(s, "tasks", columns[k].fact, row);
            shown[k] = !v.absent && (v.u64 || !(is_io || of_machine));
        }
    }
}

/* Returns which marks were used: flags of values. */
static unsigned put_task(struct table *t, const struct baro_summary *s, size_t row, const bool shown[COLUMNS])
{
    struct buf cell = {0};
    unsigned used = 0;
    for (size_t k = 0; k < COLUMNS; k++) {
        if (!shown[k])
            continue;
        const struct baro_fact *fact = baro_summary_fact(baro_summary_fact_find("tasks", columns[k].fact));
        struct baro_value v = report_row(s, "tasks", columns[k].fact, row);
        unsigned flags = report_table_cell(t, fact, &v);
        used |= flags & BARO_VALUE_ESTIMATE;
        used |= fact->type != BARO_FACT_REAL ? flags & BARO_VALUE_LOWER_BOUND : 0;
    }
    const char *name = report_row(s, "tasks", "name", row).text;
    text_escaped(&cell, name ? name : "?", name ? strlen(name) : 1);
    table_take(t, &cell);
    buf_done(&cell);
    return used;
}

/* Writes the line of the task that lacks most. Example: "12 programs ended before their command was read; these used 3
 * ms". */
static void put_unread(const struct baro_summary *s, struct buf *ret)
{
    size_t most = 0;
    uint64_t n = 0;
    for (size_t row = 0; row < report_tasks_count(s); row++) {
        struct baro_value v = report_row(s, "tasks", "commands_unread", row);
        if (v.absent || v.u64 <= n)
            continue;
        n = v.u64;
        most = row;
    }
    struct baro_value cpu = report_row(s, "tasks", "commands_unread_cpu_ns", most);
    if (!n)
        return;
    buf_str(ret, "  ");
    fmt_count(ret, n);
    buf_str(ret, n == 1 ? " program ended before its" : " programs ended before their");
    buf_str(ret, " command was read");
    if (!cpu.absent) {
        buf_str(ret, n == 1 ? "; it used " : "; together they used ");
        fmt_duration(ret, cpu.u64);
    }
    buf_byte(ret, '\n');
}

/* "evil ended with 9": of each task whose command did not end well. */
static void put_failures(const struct baro_summary *s, struct buf *ret)
{
    for (size_t row = 0; row < report_tasks_count(s); row++) {
        struct baro_value code = report_row(s, "tasks", "exit_code", row);
        struct baro_value signal = report_row(s, "tasks", "exit_signal", row);
        const char *name = report_row(s, "tasks", "name", row).text;
        bool is_killed = !signal.absent && signal.u64;
        if (!name || (!is_killed && (code.absent || !code.u64)))
            continue;
        text_escaped(ret, name, strlen(name));
        buf_str(ret, is_killed ? " was killed by " : " ended with ");
        const char *signal_name = is_killed ? baro_signal_name((int)signal.u64) : NULL;
        if (signal_name)
            buf_str(ret, signal_name);
        else
            buf_u64(ret, is_killed ? signal.u64 : code.u64);
        buf_byte(ret, '\n');
    }
}

/* "12 more used 312 ms of CPU time; the largest had 1.20 GB (all: -v)": of the tasks from n on. */
static void put_rest(const struct baro_summary *s, const size_t *order, size_t n, struct buf *ret)
{
    uint64_t cpu_ns = 0;
    unsigned flags = 0;
    struct baro_value rss = {.absent = BARO_ABSENT_UNKNOWN};
    size_t all = report_tasks_count(s);
    for (size_t i = n; i < all; i++) {
        struct baro_value cpu = report_row(s, "tasks", "cpu_ns", order[i]),
                          held = report_row(s, "tasks", "rss_peak_bytes", order[i]);
        cpu_ns += cpu.absent ? 0 : cpu.u64;
        flags |= cpu.absent ? BARO_VALUE_LOWER_BOUND : cpu.flags;
        if (!held.absent && (rss.absent || held.u64 > rss.u64))
            rss = held;
    }
    buf_printf(ret, "%zu more used %s%s of CPU time", all - n, baro_value_prefix(flags, BARO_PREFIX_SYMBOL),
               DURATION(cpu_ns));
    if (!rss.absent)
        buf_printf(ret, "; the largest had %s", MARKED(rss, fmt_bytes));
    buf_str(ret, " (all: -v)\n");
}

void report_tasks_text(const struct baro_summary *s, size_t most, int width, bool utf8, struct buf *ret)
{
    /* In a narrow terminal these go first, in this order. */
    static const char *const drop[] = {"samples", "cores/proc", "user",   "system", "pss", "write", "read",
                                       "rss",     "uss-mean",   "active", "peak",   "uss", "cores", "procs"};
    bool shown[COLUMNS];
    struct table t = {.ascii = !utf8};
    unsigned place[COLUMNS];
    find_columns(s, width, shown);
    for (size_t k = 0; k < COLUMNS; k++)
        place[k] = t.columns += shown[k];
    for (size_t i = 0; i < sizeof(drop) / sizeof(*drop); i++) {
        for (size_t k = 0; k < COLUMNS; k++) {
            if (shown[k] && strcmp(columns[k].title, drop[i]) == 0)
                t.drop[t.n_drop++] = (unsigned char)(place[k] - 1);
        }
    }
    t.columns++;
    size_t n = report_tasks_count(s), *order = calloc(n + 1, sizeof(*order));
    unsigned used = 0;
    for (unsigned i = 0; i + 1 < t.columns; i++)
        t.right[i] = true;
    for (size_t k = 0; k < COLUMNS; k++) {
        if (shown[k])
            table_text(&t, columns[k].title);
    }
    table_text(&t, "task");
    n = order ? report_tasks_order(s, order, n) : n;
    most = order && most && most < n ? most : n;
    for (size_t i = 0; i < most; i++)
        used |= put_task(&t, s, order ? order[i] : i, shown);
    table_print(&t, (unsigned)width, ret);
    size_t from = ret->len;
    if (most < n)
        put_rest(s, order, most, ret);
    put_failures(s, ret);
    if (used & BARO_VALUE_LOWER_BOUND) {
        buf_str(ret, "≥ at least: some processes were missed, or ended before this was known of them\n");
        put_unread(s, ret);
    }
    if (used & BARO_VALUE_ESTIMATE)
        buf_str(ret, "≈ about: the kernel's split of processes shorter than a few ticks is a guess\n");
    if (!utf8)
        text_ascii(ret, from);
    if (width > 0 && ret->len > from)
        wrap_lines(ret, from, (unsigned)width);
    table_done(&t);
    free(order);
}

void report_tasks_section(const struct baro_summary *s, int width, bool utf8, struct buf *ret)
{
    if (!report_tasks_count(s))
        return;
    buf_byte(ret, '\n');
    report_tasks_text(s, 0, width, utf8, ret);
}
