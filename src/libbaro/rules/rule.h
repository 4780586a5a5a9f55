/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that say to which task a process belongs: the first one with a rule that its command fits. A recorder uses them
 * to choose who is recorded, readers to sum up what tasks used. Pure functions over text.
 */
#ifndef LIBBARO_RULES_RULE_H
#define LIBBARO_RULES_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/regex.h"

#define RULES_MOST 255u
/* Steps of all regular expressions together (base/regex.h). So many take about a second for the longest command. */
#define RULES_STEPS_MOST 20000u
#define TASKS_MOST 255u     /* their numbers, counted from 1, are bytes */
#define TASK_NAME_MOST 64u  /* with its NUL */
#define COMMAND_MOST 32768u /* of a command line that is longer the beginning is matched */

/* What a regular expression is matched with. */
enum match_on {
    MATCH_CMDLINE, /* all arguments, joined by single spaces */
    MATCH_EXE,     /* the path of the executable */
    MATCH_COMM,    /* the name that the kernel keeps, of at most 15 bytes */
    MATCH_EITHER /* this name, or all arguments; this name alone if the expression is ^ and a letter and has no blank */
};

/* A rule as the user gave it. */
struct rule_request {
    const char *task; /* NULL: named by text */
    const char *text; /* a regular expression, or a name */
    bool is_name;     /* the program's name is equal to text, and no part of the command is searched */
    enum match_on on; /* unless is_name */
    bool has_uid;
    uint32_t uid; /* only processes of this real user id, if has_uid */
};

struct rule {
    unsigned task; /* index of its task, counted from 0 */
    const char *text;
    bool is_name;
    enum match_on on;
    bool has_uid;
    uint32_t uid;
    struct regex *regex; /* NULL: is_name */
    struct span literal; /* in each text that it fits; may be empty */
};

/* All-zero: none. */
struct rules {
    struct rule *at;
    size_t n, cap;
    struct rule_task {
        char name[TASK_NAME_MOST];
        bool whole; /* descendants of a process of the task belong to the task, too */
    } * task;       /* in the order in which they were added */
    size_t n_tasks, cap_tasks;
    size_t steps; /* of all regular expressions */
};

/* What is known of a process's command. A text that is not known is "", for rules_judge() NULL. */
struct known_command {
    const char *cmdline, *exe, *comm;
    /* the base name of the executable, and of the first argument, without what begins with '-' of a login shell */
    const char *exe_name, *argv_name;
    bool has_uid;
    uint32_t uid;
    const char *script_name; /* of command_script(); NULL or "": not known */
};

/* Finds or adds a task, which may have no rule. Returns its index, or a negative code. */
int rules_task(struct rules *r, const char *name, struct baro_error *err);
/* Adds a rule; the text is borrowed. Rules of the same name add to one task. Returns 0, or a negative code. */
int rules_add(struct rules *r, const struct rule_request *request, struct baro_error *err);
void rules_done(struct rules *r);

/* Returns the number of the first task with a rule that fits, counted from 1; 0: none. */
unsigned rules_match(const struct rules *r, const struct known_command *c);

/* Decides the task of a process of whose command not all is known: a text that is not known is NULL. Returns the number
 * of the task, counted from 1; 0: none, or it can't be determined. Then ret_may has for each task, counted from 0,
 * whether the process may belong to it. */
unsigned rules_judge(const struct rules *r, const struct known_command *c, bool ret_may[TASKS_MOST]);

/* Does any rule need this text? Does any need the user? */
bool rules_need(const struct rules *r, enum match_on what);
bool rules_need_user(const struct rules *r);

/* Makes one line of text from the len bytes of /proc/PID/cmdline, in place: arguments are joined by single spaces. The
 * buffer has room for len + 1 bytes. */
void command_join(char *at, size_t len);

/* The kernel keeps COMM_MOST bytes of a program's name. If comm is the beginning of the name of a script, its base name
 * is in the len bytes of /proc/PID/cmdline: the interpreter's second argument, or the third one after an option, as of
 * `#!/bin/sh -e`. Returns false, and "", if there is none. */
#define COMM_MOST 15u
bool command_script(const char *at, size_t len, const char *comm, char *ret, size_t cap);

#endif
