/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/show_tasks.h"

#include <string.h>

#include "base/fmt.h"
#include "output/rows/csv_json.h"
#include "output/rows/escaped.h"
#include "programs/common/tape_args.h"

#define TASKS_MOST 16u /* lines; `baro export --entity task` has all */

static bool entity_value(const struct baro_row *e, const char *metric, uint64_t *ret)
{
    return baro_row_value(e, baro_metric_find(BARO_KIND_TASK, metric), ret) == BARO_PRESENT;
}

static const char *task_of(const struct baro_sample *s, const struct baro_row *p)
{
    uint64_t id;
    if (baro_row_value(p, baro_metric_find(BARO_KIND_PROCESS, "task"), &id) != BARO_PRESENT)
        return NULL;
    return row_task_name(NULL, s, id);
}

void show_task_cell(const struct baro_sample *s, const struct baro_row *p, struct table *t)
{
    const char *task = task_of(s, p);
    struct buf b = {0};
    if (task)
        text_escaped(&b, task, strlen(task));
    else
        buf_byte(&b, '-');
    table_take(t, &b);
    buf_done(&b);
}

bool show_task_fits(const struct baro_sample *s, const struct baro_row *p, const char *name)
{
    const char *task = name ? task_of(s, p) : NULL;
    return !name || (task && strcmp(task, name) == 0);
}

bool show_tasks_has(const struct baro_sample *s, const char *name)
{
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_TASK); i++) {
        if (strcmp(baro_row_name(baro_sample_row(s, BARO_KIND_TASK, i)), name) == 0)
            return true;
    }
    return false;
}

static void put_task_name(struct buf *b, const struct baro_row *e)
{
    text_escaped(b, baro_row_name(e), strlen(baro_row_name(e)));
}

int show_tasks_missing(const struct cli *cli, const struct baro_sample *s, const char *name, const char *path)
{
    struct buf names = {0};
    size_t n = baro_sample_rows(s, BARO_KIND_TASK);
    for (size_t i = 0; i < n; i++) {
        buf_str(&names, i ? ", " : "");
        put_task_name(&names, baro_sample_row(s, BARO_KIND_TASK, i));
    }
    buf_byte(&names, 0);
    int status = names.failed ? cli_failf(cli, "out of memory")
                 : n ? cli_failf(cli, "--task %s: there is no such task; the tape has %s", name, (const char *)names.at)
                     : cli_failf(cli, "--task %s: %s has no tasks", name, path);
    buf_done(&names);
    return status;
}

/* ", 71.6 MB rss" */
static void put_bytes(struct buf *b, const struct baro_row *e, const char *metric, bool at_least, const char *name)
{
    uint64_t v;
    if (!entity_value(e, metric, &v))
        return;
    buf_printf(b, ", %s", baro_value_prefix(at_least ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_WORDS));
    fmt_bytes(b, v);
    buf_printf(b, " %s", name);
}

static void put_living(const struct baro_row *e, uint64_t living, struct buf *b)
{
    uint64_t unread = 0;
    fmt_count(b, living);
    buf_str(b, living == 1 ? " process" : " processes");
    entity_value(e, "memory_unread", &unread);
    put_bytes(b, e, "rss_bytes", false, "rss");
    put_bytes(b, e, "pss_bytes", unread > 0, "pss");
    put_bytes(b, e, "uss_bytes", unread > 0, "uss");
}

/* "task gulpy: 2 processes, 71.6 MB rss, 66.5 MB pss, 65.8 MB uss; so far 813 ms cpu of 2 processes, now 0.70 cores" */
static void put_task_line(const struct output_row *row, struct buf *b)
{
    const struct baro_row *e = row->entity;
    uint64_t living = 0, started = 0, cpu = 0, unread = 0;
    entity_value(e, "processes", &living);
    entity_value(e, "processes_started", &started);
    entity_value(e, "processes_unread", &unread);
    buf_str(b, "task ");
    put_task_name(b, e);
    buf_str(b, ": ");
    if (living)
        put_living(e, living, b);
    else
        buf_str(b, started ? "no process now" : "no process yet");
    if (started && entity_value(e, "cpu_ns", &cpu)) {
        buf_printf(b, "; so far %s", baro_value_prefix(unread ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_WORDS));
        fmt_duration(b, cpu);
        buf_str(b, " cpu of ");
        fmt_count(b, started);
        buf_str(b, started == 1 ? " process" : " processes");
        if (row->cores_absent == BARO_PRESENT) {
            buf_str(b, ", now ");
            reader_cores(b, row->cores);
            buf_str(b, " cores");
        }
    }
    buf_byte(b, '\n');
}

void show_tasks_text(const struct baro_tape *tape, const struct baro_record *record, struct baro_previous *memory,
                     const char *only, struct buf *b)
{
    const struct baro_sample *s = record->u.sample;
    struct output_row row = {
        .kind = BARO_KIND_TASK, .header = baro_tape_header(tape), .t_ns = record->t_ns, .sample = s, .memory = memory};
    size_t n = baro_sample_rows(s, BARO_KIND_TASK), left = 0;
    for (size_t i = 0; i < n; i++) {
        row.entity = baro_sample_row(s, BARO_KIND_TASK, i);
        if (only && strcmp(only, baro_row_name(row.entity)) != 0)
            continue;
        if (!only && i >= TASKS_MOST) {
            left++;
            continue;
        }
        row_begin(&row);
        put_task_line(&row, b);
    }
    if (left)
        buf_printf(b, "%zu more tasks (baro export --entity task)\n", left);
}
