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
    PARSED(                                                                                                            \
        "match", 0, "REGEX", record.select, select_take_match,                                                         \
        "record every process whose command line matches, now and later, as a task of this name; may be repeated",     \
        MORE("REGEX is an extended regular expression, as of grep -E, without back-references. It matches anywhere "   \
             "in the command. A process belongs to the first of --match, --task and --exact that fits it. What it "    \
             "forks has the same command and belongs to the task as well. When a process executes another program, "   \
             "that program decides: the process may join a task, change it or leave it. If it had run another "        \
             "program for more than a second, what it used before is not counted. A child that lives for 200 ms "      \
             "without executing a program is counted as a process of the task, also if it executes another program "   \
             "later. With the process connector (root; any user since Linux 6.6) a command is read when it is "        \
             "executed. Without, /proc is scanned every 100 ms or less often, and processes that live shorter may be " \
             "missed. So may programs that end before their command is read: what may be incomplete is marked as a "   \
             "lower bound. Reading commands takes at most half of --overhead. The processes of baro run, record and "  \
             "observe (also of other recordings, whose command line has that of their job), what started this one "    \
             "(shell, sudo) and kernel threads never belong to a task. The recording ends with INT or TERM, after "    \
             "--for, or when --under ends. With --pid or --cgroup the job is what these name, and all of it is "       \
             "recorded: then --match, --task and --exact are rules that the tape has for those who read it. baro "     \
             "summary --by task shows the tasks.")),                                                                   \
        PARSED("task", 0, "NAME=REGEX", record, select_take_task,                                                      \
               "the same for what fits REGEX by name or command line, as a task called NAME",                          \
               MORE("Equal names are one task. If REGEX begins with ^ and a letter and has no blank or slash, the "    \
                    "program's name alone counts. "                                                                    \
                    "With --pid or --cgroup, what such a process starts belongs to the task as well; without, see "    \
                    "--children. "                                                                                     \
                    "Each command that reads tapes has --task, too: a task need not be recorded to be looked at.")),   \
        NAME_OPTION,                                                                                                   \
        PARSED("exact", 0, "NAME", record.select, select_take_exact,                                                   \
               "the same for each program called NAME, whatever its arguments are; may be repeated",                   \
               MORE("NAME is compared with the base name of the executable, that of the first argument, and the name " \
                    "that the kernel keeps, which for a script is the script's own. The kernel keeps 15 bytes of it; " \
                    "the rest is taken from the command line. A shell or an editor that merely mentions a program "    \
                    "does not fit.")),                                                                                 \
        CHOICE("match-on", 0, "WHAT", record.select.on, select_match_ons,                                              \
               "what REGEX is matched with: cmdline (the default), exe or comm",                                       \
               MORE("cmdline: all arguments, joined by single spaces, 32 KiB at most; exe: the path of the "           \
                    "executable; comm: the name that the kernel keeps, of 15 bytes at most.")),                        \
        SETS("children", 0, record.select.children,                                                                    \
             "what a process of a task starts belongs to the task, too, whatever it executes"),                        \
        PARSED("user", 0, "USER", record.select, select_take_user,                                                     \
               "match only processes of this user, a name or a number"),                                               \
        PARSED("tasks", 0, "FILE", record.select, select_take_file,                                                    \
               "record the tasks of this file: processes by pid, PID file, control group or command",                  \
               .completes = OPT_A_FILE,                                                                                \
               MORE("The file is YAML; baro help tasks has its keys, and baro tasks FILE checks it. If it names "      \
                    "processes by pid alone, the recording ends when these and what they started have ended.")),       \
        PARSED(                                                                                                        \
            "under", 0, "PID", record.select.under, select_take_under,                                                 \
            "match only descendants of this process; the recording, also that of --host alone, ends with it",          \
            .completes = OPT_A_PID,                                                                                    \
            MORE("A process whose parent ended before its command was read is no longer known to be a descendant."))

#endif
