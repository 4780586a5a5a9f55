/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a task file (docs/tasks.md) that was checked and converted to lines of JSON by `baro tasks --json FILE`. That
 * program links a parser of YAML, which the recorder does not.
 *
 *     {"job": "nightly"}
 *     {"task": "gul", "line": 2, "column": 3, "on": "exe", "children": true, "uid": 1000}
 *     {"match": "gulpy$", "line": 3, "column": 12}          of the last task
 *     {"error": "FILE:3:12: ..."}                           instead of all these
 *
 * The same lines are the rules that a recording has in its header. The parser makes no system call;
 * recorder/select/targets_there.c does.
 */
#ifndef LIBBARO_RULES_TASK_LINES_H
#define LIBBARO_RULES_TASK_LINES_H

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/rules/rule.h"

#define SANDBOXES_MOST 256u

/* A process, or several, that belong to a task because they are named (recorder/select/pin.h). */
struct pin {
    enum pin_kind { PIN_PID, PIN_FILE, PIN_GROUP } kind;
    uint8_t task; /* counted from 1 */
    int32_t pid;  /* PIN_PID, with its start time in ticks; 0: not known */
    uint64_t start;
    const char *path;                    /* of a PID file; of a control group, as --cgroup takes it; borrowed */
    const struct cgroup_location *place; /* PIN_GROUP; borrowed */
    unsigned line, column;               /* the pin's position in a task file; 0: it is in none */
};

#define PINS_MOST 1024u

/* Texts belong to the struct. */
struct task_file {
    char job[TASK_NAME_MOST]; /* "": none */
    struct rules rules;       /* with all tasks, also those without a rule */
    struct pin *pin;
    size_t n_pins, cap_pins;
    struct sandbox {
        unsigned task; /* counted from 0 */
        const char *path;
        unsigned line, column;
    } * sandbox;
    size_t n_sandboxes, cap_sandboxes;
    unsigned rule_line, rule_column; /* of the first rule; 0: there is none */
    const struct pin *not_there;     /* a control group that task_file_find() did not find; NULL: none */
    char *text;                      /* what all of these point to */
};

/* Returns 0 or a negative code. path: of the task file, for errors. task_file_done() in any case. */
int task_file_parse(struct task_file *ret, const char *path, struct span lines, struct baro_error *err);
void task_file_done(struct task_file *f);

/* The same of all that the program has written, and the status with which it ended; -1: by a signal. */
#define TASK_FILE_LINES_MOST (16u << 20)
#define TASK_FILE_NOT_READ 127 /* status: there is no such program */
int task_file_take(struct task_file *ret, const char *path, const struct buf *lines, int status,
                   struct baro_error *err);

#endif
