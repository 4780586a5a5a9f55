/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks that the job itself names: `baro run --task NAME -- COMMAND` inside of a recording appends a line to
 * $BARO_EVENTS before it starts the command. All descendants of that process belong to the task.
 *
 * The line is written before the fork, and read before exits are reported, so a process that ended meanwhile has its
 * task as well.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "libbaro/sample/row.h"
#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

#define ROOT_WAIT (10 * NS_PER_SEC) /* without events, a new process is found by a scan */
#define START_SLACK (20 * NS_PER_MS)

/* Returns its number, or 0. */
static unsigned task_named(struct recorder *r, const char *name)
{
    int task = task_row_name(&r->sampler.tasks, name);
    if (task > 0)
        return (unsigned)task;
    if (!r->tasks.lost++)
        recorder_event(r, BARO_EVENT_WARNING, NULL, 0, "too many tasks: no more are made");
    return 0;
}

void tasks_begin(struct recorder *r)
{
    if (r->options->run.task)
        r->job.all_task = (uint8_t)task_named(r, r->options->run.task);
}

static bool is_root(const struct recorder *r, const struct member *m, struct baro_key key)
{
    if (!m || m->row.key.pid != key.pid)
        return false;
    if (m->reading.stat_was_read)
        return m->row.key.start == key.start;
    uint64_t begin = job_begin_ns(&r->job, key.start);
    return begin <= m->life.begin_ns + START_SLACK && m->life.begin_ns <= begin + START_SLACK;
}

static struct member *find_root(const struct recorder *r, struct baro_key key)
{
    struct member *m = tree_find(&r->job.tree, key.pid);
    if (is_root(r, m, key))
        return m;
    for (m = r->job.settling.gone; m; m = m->links.list_next) {
        if (is_root(r, m, key))
            return m;
    }
    return NULL;
}

static void label_root(struct recorder *r, struct member *root, const struct task_root *one)
{
    if (one->itself)
        job_label(root, &r->job, one->task);
    job_label_below(&r->job, root, one->task);
}

void tasks_run(struct recorder *r, const char *name, struct baro_key key, bool itself)
{
    if (r->options->attach.select)
        return; /* rules decide which members are tasks */
    struct member *root = find_root(r, key);
    unsigned task = task_named(r, name);
    if (!task)
        return;
    struct task_root found = {.key = key, .task = task, .itself = itself, .since_ns = sampler_now(&r->sampler)};
    if (root) {
        label_root(r, root, &found);
        return;
    }
    bool is_full = r->tasks.n_roots >= TASK_ROOTS_MOST;
    struct task_root *grown =
        is_full ? NULL : array_room(r->tasks.roots, r->tasks.n_roots, &r->tasks.cap_roots, sizeof(*grown));
    if (!grown)
        return;
    r->tasks.roots = grown;
    r->tasks.roots[r->tasks.n_roots++] = found;
}

void tasks_ended(struct recorder *r, const char *name, int wait_status)
{
    unsigned task = r->options->attach.select ? 0 : task_named(r, name);
    if (task)
        job_task_status(&r->job, task, wait_status);
}

/* Notes the wait status for the task if a task file names the process that has ended. Its descendants may still be
 * alive. */
static void note_status(struct recorder *r, const struct baro_exit *e)
{
    const struct select_options *o = r->options->attach.pinned ? r->options->attach.pinned : r->options->attach.select;
    for (size_t i = 0; o && e->status_known && i < o->n_pins; i++) {
        const struct pin *pin = &o->pins[i];
        if (pin->kind == PIN_PID && pin->pid == e->key.pid && (!pin->start || pin->start == e->key.start))
            job_task_status(&r->job, pin->task, e->status);
    }
}

void tasks_look(struct recorder *r)
{
    marks_look(r);
    uint64_t now = r->tasks.n_roots ? sampler_now(&r->sampler) : 0;
    for (size_t i = 0; i < r->tasks.n_roots;) {
        struct task_root *one = &r->tasks.roots[i];
        struct member *root = find_root(r, one->key);
        if (root)
            label_root(r, root, one);
        if (root || now > one->since_ns + ROOT_WAIT)
            *one = r->tasks.roots[--r->tasks.n_roots];
        else
            i++;
    }
}

/* ---- exits ---- */

bool tasks_hold_exit(struct recorder *r, const struct baro_exit *e)
{
    note_status(r, e);
    if (e->absent[EXIT_task] || r->sampler.tasks.table.n == r->tasks.on_tape)
        return false;
    if (array_reserve(&r->tasks.held, r->tasks.n_held + 1, &r->tasks.cap_held, sizeof(*r->tasks.held)) < 0)
        return false;
    if (baro_row_copy(row_of_exit(e), &r->tasks.held[r->tasks.n_held], NULL) < 0)
        return false;
    r->tasks.n_held++;
    return true;
}

void tasks_written(struct recorder *r, const struct baro_sample *s)
{
    size_t n = s->entities[KIND_task].n;
    if (n != r->sampler.tasks.table.n)
        return;
    r->tasks.on_tape = n;
    for (size_t i = 0; i < r->tasks.n_held; i++) {
        tape_writer_exit(r->writer, row_exit(r->tasks.held[i]));
        baro_row_free(r->tasks.held[i]);
        r->writes.pending++;
    }
    r->tasks.n_held = 0;
}

void tasks_close(struct recorder *r)
{
    while (r->tasks.n_held)
        baro_row_free(r->tasks.held[--r->tasks.n_held]);
    free(r->tasks.held);
    free(r->tasks.roots);
    r->tasks.held = NULL;
    r->tasks.roots = NULL;
    r->tasks.n_roots = 0;
}
