/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of `baro show`. */
#include "base/fmt.h"
#include "output/rows/csv_json.h"
#include "programs/baro-read/show.h"
#include "programs/baro-read/show_kinds.h"
#include "programs/baro-read/show_machine.h"
#include "programs/baro-read/show_phases.h"
#include "programs/baro-read/show_tasks.h"

static void json_which(struct show *w, const struct baro_record *record, struct json *j)
{
    struct buf time = {0};
    fmt_time_utc(&time, row_realtime_ns(w->tape, baro_tape_header(w->tape), record->t_ns));
    json_key_text(j, "tape", w->path);
    json_key(j, "time");
    json_text_n(j, (const char *)time.at, time.len);
    buf_done(&time);
    json_key_u64(j, "t_ns", record->t_ns);
    json_key(j, "asked_ns");
    if (w->asked)
        json_i64(j, w->asked_ns);
    else
        json_null(j);
    int64_t off = w->asked ? show_off_by(w, record) : 0;
    json_key_text(j, "sample",
                  !w->asked                           ? "last"
                  : off == 0                          ? "at"
                  : w->settings->pick == PICK_NEAREST ? "nearest"
                  : off < 0                           ? "before"
                                                      : "after");
    json_key(j, "rates_over_ns");
    if (w->before_ns == UINT64_MAX)
        json_null(j);
    else
        json_u64(j, record->t_ns - w->before_ns);
}

int show_json(struct show *w, const struct baro_record *record, struct buf *b)
{
    struct columns processes, job;
    struct json j = {.out = b, .pretty = !w->settings->follow};
    const struct baro_sample *s = record->u.sample;
    struct output_row row = {.kind = BARO_KIND_JOB,
                             .header = baro_tape_header(w->tape),
                             .t_ns = record->t_ns,
                             .sample = s,
                             .memory = w->memory};
    int code = columns_choose(&processes, BARO_KIND_PROCESS, NULL, w->tape, NULL, &w->err);
    if (code == 0)
        code = columns_choose(&job, BARO_KIND_JOB, NULL, w->tape, NULL, &w->err);
    if (code < 0)
        return code;
    json_begin(&j, '{');
    json_which(w, record, &j);
    row_begin(&row);
    json_key(&j, "job");
    json_row(&job, &row, &j);
    json_key_begin(&j, "processes", '[');
    row.kind = BARO_KIND_PROCESS;
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        row.process = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (!show_task_fits(s, row.process, w->settings->task))
            continue;
        row_begin(&row);
        json_row(&processes, &row, &j);
    }
    json_end(&j, ']');
    show_phases_json(&w->phases, record->t_ns, &j);
    json_key(&j, "host");
    code = show_machine_json(w->tape, record, w->memory, &j, &w->err);
    if (code == 0 && baro_sample_rows(s, BARO_KIND_TASK)) {
        json_key(&j, "tasks");
        code = show_kind_json(w->tape, record, BARO_KIND_TASK, w->settings->task, w->of_tasks, &j, &w->err);
    }
    if (code == 0)
        code = show_kinds_json(w->tape, record, &j, &w->err);
    json_end(&j, '}');
    columns_done(&processes);
    columns_done(&job);
    return code;
}
