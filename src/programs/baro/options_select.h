/* SPDX-License-Identifier: Apache-2.0 */
/* The options of record that select processes by their commands: rows of its table of options. */
#ifndef PROGRAMS_BARO_OPTIONS_SELECT_H
#define PROGRAMS_BARO_OPTIONS_SELECT_H

#include "libbaro/rules/rule.h"
#include "programs/common/options.h"

extern const char *const select_match_ons[]; /* in the order of enum match_on */
int select_take_match(void *at, const char *text, struct baro_error *err);
int select_take_task(void *at, const char *text, struct baro_error *err); /* at: struct record_settings */
int select_take_name(void *at, const char *text, struct baro_error *err); /* at: struct record_settings */
int select_take_exact(void *at, const char *text, struct baro_error *err);
int select_take_user(void *at, const char *text, struct baro_error *err);
int select_take_under(void *at, const char *text, struct baro_error *err);
int select_take_file(void *at, const char *text, struct baro_error *err);

/* Makes the rules, and lines for readers (libbaro/rules/task_lines.h), with a NUL. Returns 0 or a negative code. */
int select_rules(const struct select_settings *s, struct rules *ret, struct buf *ret_lines, struct baro_error *err);

#define NAME_OPTION PARSED("name", 0, "TEXT", record, select_take_name, "the name of the recording, which is its title")

#define OPTIONS_SELECT                                                                                                 \
    PARSED("match", 0, "REGEX", record.select, select_take_match,                                                      \
           "record every process whose command line matches, now and later, as a task of this name; may be repeated"), \
        PARSED("task", 0, "NAME=REGEX", record, select_take_task,                                                      \
               "the same for what fits REGEX by name or command line, as a task called NAME"),                         \
        NAME_OPTION,                                                                                                   \
        PARSED("exact", 0, "NAME", record.select, select_take_exact,                                                   \
               "the same for each program called NAME, whatever its arguments are; may be repeated"),                  \
        CHOICE("match-on", 0, "WHAT", record.select.on, select_match_ons,                                              \
               "what REGEX is matched with: cmdline (the default), exe or comm"),                                      \
        SETS("children", 0, record.select.children,                                                                    \
             "what a process of a task starts belongs to the task, too, whatever it executes"),                        \
        PARSED("user", 0, "USER", record.select, select_take_user,                                                     \
               "match only processes of this user, a name or a number"),                                               \
        PARSED("tasks", 0, "FILE", record.select, select_take_file,                                                    \
               "record the tasks of this file: processes by pid, PID file, control group or command",                  \
               .completes = OPT_A_FILE),                                                                               \
        PARSED("under", 0, "PID", record.select.under, select_take_under,                                              \
               "match only descendants of this process; the recording, also that of --host alone, ends with it",       \
               .completes = OPT_A_PID)

#endif
