/* SPDX-License-Identifier: Apache-2.0 */
/* The options of record that select processes by their commands: rows of its table of options. */
#ifndef PROGRAMS_BARO_OPTIONS_SELECT_H
#define PROGRAMS_BARO_OPTIONS_SELECT_H

#include "programs/common/options.h"

extern const char *const select_match_ons[]; /* in the order of enum match_on */
int select_take_match(void *at, const char *text, struct baro_error *err);
int select_take_name(void *at, const char *text, struct baro_error *err);
int select_take_exact(void *at, const char *text, struct baro_error *err);
int select_take_user(void *at, const char *text, struct baro_error *err);
int select_take_under(void *at, const char *text, struct baro_error *err);
int select_take_file(void *at, const char *text, struct baro_error *err);

#define OPTIONS_SELECT                                                                                                 \
    PARSED("match", 0, "REGEX", record.select, select_take_match,                                                      \
           "record every process whose command matches, now and later, as a task of this name; may be repeated"),      \
        PARSED("name", 0, "NAME=REGEX", record.select, select_take_name,                                               \
               "the same, as a task called NAME; equal names are one task"),                                           \
        PARSED("exact", 0, "NAME", record.select, select_take_exact,                                                   \
               "the same for each program called NAME, whatever its arguments are; may be repeated"),                  \
        CHOICE("match-on", 0, "WHAT", record.select.on, select_match_ons,                                              \
               "what REGEX is matched with: cmdline (the default), exe or comm"),                                      \
        SETS("children", 0, record.select.children,                                                                    \
             "what a process of a task starts belongs to the task, too, whatever it executes"),                        \
        PARSED("user", 0, "USER", record.select, select_take_user,                                                     \
               "match only processes of this user, a name or a number"),                                               \
        PARSED("task", 0, "FILE", record.select, select_take_file,                                                     \
               "record the tasks of this file: processes by pid, PID file, control group or command",                  \
               .completes = OPT_A_FILE),                                                                               \
        PARSED("under", 0, "PID", record.select.under, select_take_under,                                              \
               "match only descendants of this process; the recording, also that of --host alone, ends with it",       \
               .completes = OPT_A_PID)

#endif
