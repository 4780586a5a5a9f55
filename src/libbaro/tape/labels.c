/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: the cursor sums them up while it reads (libbaro/rules), by rules or by what the rows of processes say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "libbaro/rules/label_by.h"
#include "libbaro/rules/task_fold.h"
#include "libbaro/rules/task_lines.h"
#include "libbaro/tape/cursor.h"

struct tape_tasks {
    struct task_file file;   /* no tasks in it: rows say which task they belong to */
    char *lines;             /* the rules of a reader; NULL: those of the header, or none */
    struct labeler *labeler; /* NULL: rules, or rows, say which task a process belongs to */
    size_t part;             /* of the tape, that the labeler knows */
    struct task_fold *fold;
    uint64_t before_ns; /* the last sample without tasks; 0: none so far */
};

/* A tape says what commands were. Who was named by pid or group, and where executables were, only its recorder knew. */
static int check_rules(const struct task_file *f, struct baro_error *err)
{
    if (f->n_pins || f->n_sandboxes)
        return error_set(err, BARO_E_SYNTAX,
                         "tasks by pid, pidfile, cgroup or sandbox can be recorded, but not be found on a tape");
    for (size_t i = 0; i < f->rules.n; i++) {
        if (!f->rules.at[i].is_name && f->rules.at[i].on == MATCH_EXE)
            return error_set(err, BARO_E_SYNTAX, "a tape does not have paths of executables: match cmdline or comm");
    }
    return 0;
}

static void free_tasks(struct tape_tasks *tasks)
{
    if (!tasks)
        return;
    task_fold_free(tasks->fold);
    labeler_free(tasks->labeler);
    task_file_done(&tasks->file);
    free(tasks->lines);
    free(tasks);
}

static int make_tasks(struct tape_tasks **ret, const char *lines, struct baro_error *err)
{
    struct tape_tasks *tasks = calloc(1, sizeof(*tasks));
    if (!tasks)
        return error_set(err, -ENOMEM, "no memory to read a tape");
    enum label_by by = label_by_of(lines);
    if (by != LABEL_BY_NONE) {
        tasks->labeler = labeler_new(by);
        if (!tasks->labeler) {
            free_tasks(tasks);
            return error_set(err, -ENOMEM, "no memory to read a tape");
        }
        *ret = tasks;
        return 0;
    }
    int r = lines ? task_file_parse(&tasks->file, "the tasks", span_str(lines), err) : 0;
    if (r == 0)
        r = check_rules(&tasks->file, err);
    if (r < 0)
        free_tasks(tasks);
    else
        *ret = tasks;
    return r;
}

void labels_done(struct baro_tape *t)
{
    free_tasks(t->tasks);
    t->tasks = NULL;
}

/* Rules of a header that can't be understood are those of a newer recorder: then there are no tasks. */
int labels_open(struct baro_tape *t)
{
    int r = make_tasks(&t->tasks, t->header.task_rules, NULL);
    return r == 0 || r == -ENOMEM ? r : make_tasks(&t->tasks, NULL, NULL);
}

int baro_tape_set_tasks(struct baro_tape *t, const char *rules, struct baro_error *err)
{
    struct tape_tasks *tasks;
    int r = make_tasks(&tasks, rules, err);
    if (r < 0)
        return r;
    tasks->lines = rules ? strdup(rules) : NULL;
    if (tasks->lines || !rules)
        r = baro_tape_rewind(t, err);
    else
        r = error_set(err, -ENOMEM, "no memory to read a tape");
    if (r < 0) {
        free_tasks(tasks);
        return r;
    }
    free_tasks(t->tasks);
    t->tasks = tasks;
    return 0;
}

int labels_copy(struct baro_tape *to, const struct baro_tape *from, struct baro_error *err)
{
    return from->tasks->lines ? baro_tape_set_tasks(to, from->tasks->lines, err) : 0;
}

void labels_move(struct baro_tape *t, bool to_first)
{
    t->from_first = to_first;
    if (t->tasks) {
        task_fold_free(t->tasks->fold);
        t->tasks->fold = NULL;
        t->tasks->before_ns = 0;
        if (t->tasks->labeler)
            labeler_part(t->tasks->labeler);
    }
}

void labels_restore(struct baro_tape *t)
{
    if (t->tasks->labeler)
        labeler_restore(t->tasks->labeler, t->processes, t->n);
    else if (t->tasks->fold)
        task_fold_restore(t->tasks->fold, t->processes, t->n);
}

/* The cursor was moved to this sample, so it has not read what tasks had used before: reads the tape from its first
 * record up to the same sample. */
static int walk(struct baro_tape *t, struct baro_record *ret, struct baro_error *err)
{
    uint64_t at = t->tell_at, count = t->tell_count, damage = t->damage, stop_at = t->stop_at;
    uint32_t segment = tape_segment(t);
    bool complete = t->complete, stay = t->segments && t->segments->stay;
    if (t->segments)
        t->segments->stay = false;
    t->stop_at = 0;
    int r = baro_tape_rewind(t, err);
    r = r < 0 ? r : 1;
    while (r > 0 && !(t->tell_at == at && t->tell_count == count && tape_segment(t) == segment))
        r = baro_tape_next(t, ret, err);
    if (t->segments)
        t->segments->stay = stay;
    t->stop_at = stop_at;
    t->damage = damage;
    t->complete = complete;
    return r;
}

static int label_record(struct baro_tape *t, bool is_sample)
{
    struct tape_tasks *tasks = t->tasks;
    size_t part = t->segments ? t->segments->part : 0;
    bool is_base = t->header.segment > 1 && !tasks->before_ns;
    if (part != tasks->part)
        labeler_part(tasks->labeler);
    tasks->part = part;
    return is_sample ? labeler_sample(tasks->labeler, &t->sample, tasks->fold, is_base)
                     : labeler_exit(tasks->labeler, &t->exit);
}

int labels_take(struct baro_tape *t, struct baro_record *ret, struct baro_error *err)
{
    struct tape_tasks *tasks = t->tasks;
    bool by_rules = tasks->file.rules.n_tasks;
    bool is_sample = ret->kind == BARO_RECORD_SAMPLE;
    if (t->part != PART_ALL || (!is_sample && ret->kind != BARO_RECORD_EXIT))
        return 1;
    bool is_needed = by_rules || tasks->labeler || tasks->fold || (is_sample && task_fold_is_needed(&t->sample));
    if (is_needed && !t->from_first)
        return is_sample ? walk(t, ret, err) : 1;
    const struct rules *rules = by_rules ? &tasks->file.rules : NULL;
    if (is_needed && !tasks->fold && task_fold_new(&tasks->fold, &t->header, rules, tasks->before_ns) < 0)
        return error_set(err, -ENOMEM, "no memory for the tasks of a tape");
    if (is_needed)
        task_fold_limit_cpu(tasks->fold, t->cpu_until_ns);
    int r = tasks->labeler ? label_record(t, is_sample) : 0;
    r = r < 0 || !is_needed ? r
        : is_sample         ? task_fold_sample(tasks->fold, &t->sample)
                            : task_fold_exit(tasks->fold, &t->exit);
    tasks->before_ns = is_sample ? ret->t_ns : tasks->before_ns;
    return r < 0 ? error_set(err, r, "no memory for the tasks of a tape") : 1;
}
