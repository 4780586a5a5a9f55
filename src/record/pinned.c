/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of an observer whose tasks are processes that are named by pid: no command decides, and nobody joins later, so
 * no process has to select. The processes that are named are members with all that they start, as of --pid, and what
 * is below each of them belongs to its task.
 */
#include <errno.h>

#include "job/task.h"
#include "record/recorder.h"

static int place_error(const struct recorder *r, const struct pin *pin, const struct baro_error *why,
                       struct baro_error *err)
{
    return error_set(err, why->code, "%s:%u:%u: %s", r->options->task_file, pin->line, pin->column, why->text);
}

static int add_process(struct recorder *r, const struct pin *pin, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    struct member *m = targets_add(r, pin->pid, &why);
    if (m && pin->start && m->row.key.start != pin->start) {
        error_set(&why, -ESRCH, "process %d ended before it could be read", (int)pin->pid);
        m = NULL;
    }
    if (!m)
        return place_error(r, pin, &why, err);
    job_label(&r->job, m, pin->task, sampler_now(&r->sampler), false);
    job_label_below(&r->job, m, pin->task);
    return 0;
}

int pinned_open(struct recorder *r, struct baro_error *err)
{
    const struct select_options *o = r->options->pinned;
    int code = task_row_use(&r->sampler.tasks, o, r->root_fd, false, err);
    if (code == 0)
        code = record_sandboxes(r, o, err);
    for (size_t i = 0; i < o->n_pins && code == 0; i++)
        code = add_process(r, &o->pins[i], err);
    return code;
}
