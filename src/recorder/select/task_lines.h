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
 * The parser makes no system call; targets_there.c does.
 */
#ifndef RECORDER_SELECT_TASK_LINES_H
#define RECORDER_SELECT_TASK_LINES_H

#include "base/buf.h"
#include "base/span.h"
#include "recorder/select/pin.h"
#include "recorder/select/rule.h"

#define SANDBOXES_MOST 256u

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

/* targets_there.c: are the processes and control groups there that are named? Notes the start times of processes, so
 * that none is taken for another one. goes_on: another recorder has recorded the job before, so a process may have
 * ended since. Returns 0 or a negative code. */
int task_file_find(struct task_file *f, const char *path, bool goes_on, struct baro_error *err);
/* Drops processes that were not found, and those that began after the recording, which did at begin_ns of
 * CLOCK_BOOTTIME: they have the pid of one that has ended. */
void task_file_keep(struct task_file *f, uint64_t begin_ns, uint32_t clk_tck);
/* The same of one process or control group. */
bool task_file_is_there(const struct pin *pin);

#endif
