/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a document as tasks (docs/tasks.md has the format), as far as that is possible without the processes. */
#ifndef PROGRAMS_BARO_TASKS_CHECK_H
#define PROGRAMS_BARO_TASKS_CHECK_H

#include "programs/baro-tasks/yaml_document.h"

#define TASKS_MOST 255u
#define RULES_MOST 255u
#define NAMED_MOST 1024u /* pids, PID files and control groups */
#define SANDBOX_MOST 256u
#define KEYS_MOST 512u /* keys of one mapping: each is compared with all others */

enum item_kind { ITEM_PID, ITEM_PIDFILE, ITEM_CGROUP, ITEM_MATCH, ITEM_EXACT, ITEM_SANDBOX, ITEM_KINDS };
extern const char *const item_names[ITEM_KINDS];

struct item {
    enum item_kind kind;
    size_t task;
    const char *text; /* borrowed from the document or from own_text */
    const yaml_node_t *at;
};

struct task {
    const char *name;
    const yaml_node_t *at;
    const char *on; /* what match applies to: cmdline, exe or comm; NULL: not given */
    bool children, has_uid;
    uint32_t uid;
    size_t n[ITEM_KINDS];
};

struct job {
    const char *name; /* NULL: none */
    struct task *tasks;
    struct item *items;
    size_t n_tasks, n_items, n[ITEM_KINDS];
    char **own_texts; /* absolute paths */
    size_t n_own_texts;
};

/* Returns 0 or a negative code, with the error of the document set. */
int job_check(const struct document *d, struct job *ret);
void job_done(struct job *j);

#endif
