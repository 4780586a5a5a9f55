/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of an observer whose tasks are processes that are named by pid: no command is matched, and no process joins
 * later, so no selector is needed. The named processes and their descendants are members, as with --pid. The
 * descendants of a named process belong to its task.
 */
#include <errno.h>

#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

static int place_error(const struct recorder *r, const struct pin *pin, const struct baro_error *why,
                       struct baro_error *err)
{
    return error_set(err, why->code, "%s:%u:%u: %s", r->options->attach.task_file, pin->line, pin->column, why->text);
}

static int add_pinned(struct recorder *r, const struct pin *pin, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    struct member *m = targets_add(r, pin->pid, &why);
    if (m && pin->start && m->row.key.start != pin->start) {
        error_set(&why, -ESRCH, "process %d ended before it could be read", (int)pin->pid);
        m = NULL;
    }
    if (!m)
        return place_error(r, pin, &why, err);
    job_label(m, &r->job, pin->task);
    job_label_below(&r->job, m, pin->task);
    return 0;
}

int pinned_open(struct recorder *r, struct baro_error *err)
{
    const struct select_options *o = r->options->attach.pinned;
    int code = task_row_use(&r->sampler.tasks, o, r->root_fd, false, err);
    if (code == 0)
        code = record_sandboxes(r, o, err);
    for (size_t i = 0; i < o->n_pins && code == 0; i++)
        code = add_pinned(r, &o->pins[i], err);
    return code;
}
