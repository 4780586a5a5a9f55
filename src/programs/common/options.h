/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of options, one a command. Those of commands that record stand in programs/baro/options.c, which the
 * program baro-read does not have: there they are NULL.
 */
#ifndef PROGRAMS_COMMON_OPTIONS_H
#define PROGRAMS_COMMON_OPTIONS_H

#include "base/error.h"
#include "programs/common/moment.h"
#include "programs/common/opt.h"
#include "programs/common/settings.h"

extern const struct opt options_summary[], options_show[], options_export[], options_ls[], options_trend[],
    options_advise[], options_rm[], options_metrics[], options_report[], options_diff[], options_compare[],
    options_check[], options_plot[], options_top[], options_tasks[], options_serve[], options_push[], options_trim[],
    options_thin[], options_anonymize[], options_none[];
extern __attribute__((weak)) const struct opt options_run[], options_record[], options_observe[], options_doctor[],
    options_mark[], options_phase[];

/* ---- for those who write tables ---- */

/* values.c: values that more than one program takes; for OPT_PARSED. */
int take_interval(void *at, const char *text, struct baro_error *err); /* at: nanoseconds; 0: auto */
int take_tag(void *at, const char *text, struct baro_error *err);      /* at: struct tag_settings */
int take_note(void *at, const char *text, struct baro_error *err);     /* at: const char * */
int take_every(void *at, const char *text, struct baro_error *err);    /* at: ns, 1s to 24h */
int take_push(void *at, const char *text, struct baro_error *err);     /* at: const char *; of an argument */
#define PUSH_URL_MOST 4000
/* Has a URL to push to a protocol that is known? The rest of it is checked by baro push. No message has the URL, which
 * may have a password. */
int check_push(const char *text, struct baro_error *err);
int take_runs(void *at, const char *text, struct baro_error *err);   /* at: uint32_t, from 1 */
int take_warmup(void *at, const char *text, struct baro_error *err); /* the same from 0 */
int take_keep(void *at, const char *text, struct baro_error *err);   /* at: struct record_settings */
int take_thin_after(void *at, const char *text, struct baro_error *err);
int take_reserve(void *at, const char *text, struct baro_error *err); /* at: bytes */
#define THIN_OPTION                                                                                                    \
    PARSED("thin-after", 0, "TIME", record.thin_ns, take_thin_after,                                                   \
           "with --keep: of what is older than TIME, keep about every tenth sample, e.g. 1d (baro thin)")
#define RESERVE_OPTION                                                                                                 \
    PARSED("reserve", 0, "SIZE", record.reserve_bytes, take_reserve,                                                   \
           "with --keep: remove the oldest part also where less than SIZE of the disk is free (default: 5 %, 1 GB at " \
           "most; 0: never)")
int take_total(void *at, const char *text, struct baro_error *err);  /* at: bytes */
int take_carbon(void *at, const char *text, struct baro_error *err); /* at: double, grams for a kWh */

/* task_options.c; at: struct task_settings */
int take_task_rule(void *at, const char *text, struct baro_error *err);  /* NAME=REGEX */
int take_task_shown(void *at, const char *text, struct baro_error *err); /* the same, or NAME */
int take_task_file(void *at, const char *path, struct baro_error *err);
const char *task_rule_text(const char *option); /* the REGEX of NAME=REGEX; NULL: it is something else */
/* A rule as lines of JSON, as `baro tasks --json` writes them. */
struct task_line {
    const char *name, *text, *on;
    bool is_name, children, has_uid;
    uint32_t uid;
};
void task_lines_add(struct buf *lines, const struct task_line *line);

#define AT(member) offsetof(struct settings, member)
/* Rows: the long name, the letter or 0, the argument's name, where in the settings the value goes, the help, and what a
 * few have besides (.completes). What one line can't say is in docs/help.md. */
#define OPTION(name_, letter_, argument_, type_, member, ...)                                                          \
    {                                                                                                                  \
        .name = name_, .letter = letter_, .argument = argument_, .type = type_, .offset = AT(member),                  \
        .help = __VA_ARGS__                                                                                            \
    }
#define SETS(name, letter, member, ...) OPTION(name, letter, NULL, OPT_TRUE, member, __VA_ARGS__)
#define CLEARS(name, letter, member, ...) OPTION(name, letter, NULL, OPT_FALSE, member, __VA_ARGS__)
#define TEXT(name, letter, argument, member, ...) OPTION(name, letter, argument, OPT_TEXT, member, __VA_ARGS__)
#define CHOICE(name, letter, argument, member, words, ...)                                                             \
    OPTION(name, letter, argument, OPT_CHOICE, member, __VA_ARGS__, .choices = words)
#define PARSED(name, letter, argument, member, function, ...)                                                          \
    OPTION(name, letter, argument, OPT_PARSED, member, __VA_ARGS__, .parse = function)
#define TASK_OPTIONS                                                                                                   \
    PARSED("task", 0, "NAME=REGEX", tasks, take_task_rule,                                                             \
           "what fits REGEX, and what it starts, is the task NAME; may be repeated"),                                  \
        PARSED("tasks", 0, "FILE", tasks, take_task_file,                                                              \
               "the same for the tasks of a task file (baro help tasks), by match and exact alone",                    \
               .completes = OPT_A_FILE)
/* Whose processes are one task. */
#define GROUP_BY_OPTION                                                                                                \
    CHOICE("by", 0, "WHAT", group_by, group_by_names,                                                                  \
           "whose processes are together, as a task: service, container, user, command or cgroup (baro help summary)")
#define TAG_OPTION                                                                                                     \
    PARSED("tag", 0, "KEY=VALUE", tags, take_tag, "a tag of the recording, for lists and filters; may be repeated")
#define NOTE_OPTION                                                                                                    \
    PARSED("note", 0, "TEXT", record.note, take_note, "a note on the recording, for baro ls: the tag note")
/* Which stretch of the tape a command reads: programs/common/stretch.h. */
#define STRETCH_OPTIONS                                                                                                \
    TEXT("from", 0, "TIME", from, "only the stretch from TIME on: " MOMENT_FORMS),                                     \
        TEXT("to", 0, "TIME", to, "the stretch ends at TIME (default: end)")
#define JSON_OPTION SETS("json", 0, json, "write JSON")
/* The last rows of each table. */
#define END                                                                                                            \
    {.name = "help", .letter = 'h', .type = OPT_HELP, .help = "print this help"},                                      \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

#endif
