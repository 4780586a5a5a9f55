/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task file (docs/tasks.md), checked and as lines of JSON: what `baro tasks --json FILE` writes. That program links a
 * parser of YAML, which the recorder does not.
 *
 *     {"job": "nightly"}
 *     {"task": "gul", "line": 2, "column": 3, "on": "exe", "children": true, "uid": 1000}
 *     {"match": "gulpy$", "line": 3, "column": 12}          of the last task
 *     {"error": "FILE:3:12: ..."}                           instead of all these
 *
 * The parser makes no system call.
 */
#ifndef SELECT_TASK_FILE_H
#define SELECT_TASK_FILE_H

#include "base/span.h"
#include "select/pin.h"
#include "select/rule.h"

#define SANDBOXES_MOST 256u

/* Texts belong to the struct. */
struct task_file {
    char job[TASK_NAME_MOST]; /* "": none */
    struct rules rules;       /* with all tasks, also those without a rule */
    struct pin pin[PINS_MOST];
    size_t n_pins;
    struct sandbox {
        unsigned task; /* counted from 0 */
        const char *path;
        unsigned line, column;
    } sandbox[SANDBOXES_MOST];
    size_t n_sandboxes;
    char *text; /* what all of these point to */
};

/* Returns 0 or a negative code. path: of the task file, for errors. The struct is large (100 kB). */
int task_file_parse(struct task_file *ret, const char *path, struct span lines, struct baro_error *err);
void task_file_done(struct task_file *f);

#endif
