/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-tasks/check.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/passwd.h"
#include "base/regex.h"
#include "base/span.h"
#include "programs/common/opt.h"

#define NAME_MOST 63u
#define TEXT_MOST 4095u

const char *const item_names[ITEM_KINDS] = {"pid", "pidfile", "cgroup", "match", "exact", "sandbox"};

struct check {
    const struct document *d;
    yaml_document_t *yaml;
    struct job *job;
    struct task *task; /* the task that is being checked */
};

static const yaml_node_t *node_of(const struct check *c, int index)
{
    return yaml_document_get_node(c->yaml, index);
}

/* ---- values ---- */

static int check_text(const struct check *c, const yaml_node_t *at, const char *key, size_t most)
{
    if (at->type != YAML_SCALAR_NODE || strcmp(document_type(at), "nothing") == 0)
        return document_error(c->d, at, "%s is %s; give it text", key, document_type(at));
    if (!at->data.scalar.length)
        return document_error(c->d, at, "%s is empty; give it text", key);
    if (memchr(at->data.scalar.value, 0, at->data.scalar.length))
        return document_error(c->d, at, "%s contains a NUL; remove it", key);
    if (at->data.scalar.length > most)
        return document_error(c->d, at, "%s is longer than %zu bytes; shorten it", key, most);
    return 0;
}

static int check_pid(const struct check *c, const yaml_node_t *at)
{
    int32_t pid;
    bool is_one = document_is_bare(at) && parse_pid(document_text(at), &pid, NULL) == 0;
    return is_one ? 0
                  : document_error(c->d, at, "pid is %s; give the number of a process in digits, without quotes",
                                   at->type == YAML_SCALAR_NODE ? document_text(at) : document_type(at));
}

static int check_regex(const struct check *c, const yaml_node_t *at)
{
    struct baro_error why = BARO_ERROR_INIT;
    struct regex *regex;
    int code = check_text(c, at, "match", TEXT_MOST);
    if (code < 0)
        return code;
    if (regex_make(&regex, document_text(at), 0, &why) < 0)
        return document_error_why(c->d, at, &why, "write it as for grep -E");
    regex_free(regex);
    return 0;
}

/* Makes a path absolute: a relative one starts at the folder of the file. */
static int make_absolute(const struct check *c, struct item *item)
{
    char folder[PATH_MAX], *slash, *whole;
    if (item->text[0] == '/')
        return 0;
    if (!realpath(c->d->path, folder) || !(slash = strrchr(folder, '/')))
        return document_error(c->d, item->at, "%s is relative, and the folder of %s can't be found; write a leading /",
                              item->text, c->d->path);
    *slash = 0;
    char **grown = realloc(c->job->own_texts, (c->job->n_own_texts + 1) * sizeof(*grown));
    if (grown)
        c->job->own_texts = grown;
    if (!grown || asprintf(&whole, "%s/%s", folder, item->text) < 0)
        return error_set(c->d->err, -ENOMEM, "out of memory");
    c->job->own_texts[c->job->n_own_texts++] = whole;
    item->text = whole;
    return 0;
}

static int check_value(const struct check *c, struct item *item)
{
    const char *name = item_names[item->kind];
    if (item->kind == ITEM_PID)
        return check_pid(c, item->at);
    if (item->kind == ITEM_MATCH)
        return check_regex(c, item->at);
    int code = check_text(c, item->at, name, TEXT_MOST);
    bool is_path = item->kind == ITEM_PIDFILE || item->kind == ITEM_SANDBOX;
    return code == 0 && is_path ? make_absolute(c, item) : code;
}

/* ---- items: keys that take one value or a list ---- */

/* Is one control group below the other? A process in the lower one would then be in both. */
static bool is_within(const char *path, const char *of)
{
    size_t n = strlen(of);
    while (n && of[n - 1] == '/')
        n--;
    return strncmp(path, of, n) == 0 && (!path[n] || path[n] == '/');
}

static const struct item *same_as(const struct job *j, const struct item *new)
{
    for (size_t i = 0; i < j->n_items; i++) {
        const struct item *old = &j->items[i];
        bool same = strcmp(old->text, new->text) == 0;
        if (new->kind == ITEM_CGROUP)
            same = is_within(old->text, new->text) || is_within(new->text, old->text);
        if (old->kind == new->kind && same)
            return old;
    }
    return NULL;
}

/* Each item is compared with all others. */
static int check_room(const struct check *c, enum item_kind kind, const yaml_node_t *at)
{
    const size_t *n = c->job->n;
    if ((kind == ITEM_MATCH || kind == ITEM_EXACT) && n[ITEM_MATCH] + n[ITEM_EXACT] == RULES_MOST)
        return document_error(c->d, at, "more than %u of match and exact; divide the file", RULES_MOST);
    if (kind <= ITEM_CGROUP && n[ITEM_PID] + n[ITEM_PIDFILE] + n[ITEM_CGROUP] == NAMED_MOST)
        return document_error(c->d, at, "more than %u of pid, pidfile and cgroup; divide the file", NAMED_MOST);
    if (kind == ITEM_SANDBOX && n[ITEM_SANDBOX] == SANDBOX_MOST)
        return document_error(c->d, at, "more than %u sandboxes; divide the file", SANDBOX_MOST);
    return 0;
}

static int add_item(const struct check *c, enum item_kind kind, const yaml_node_t *at)
{
    struct job *j = c->job;
    int code = check_room(c, kind, at);
    if (code < 0)
        return code;
    struct item *grown = realloc(j->items, (j->n_items + 1) * sizeof(*grown));
    if (!grown)
        return error_set(c->d->err, -ENOMEM, "out of memory");
    j->items = grown;
    struct item *item = &grown[j->n_items];
    *item = (struct item){kind, (size_t)(c->task - j->tasks), NULL, at};
    item->text = at->type == YAML_SCALAR_NODE ? document_text(at) : "";
    code = check_value(c, item);
    if (code < 0)
        return code;
    const struct item *old = same_as(j, item);
    if (old)
        return document_error(c->d, at, "%s %.80s: line %u has %s already, of task %s; a process belongs to one task",
                              item_names[kind], item->text, document_line(old->at),
                              strcmp(old->text, item->text) == 0 ? "it" : old->text, j->tasks[old->task].name);
    c->task->n[kind]++;
    j->n[kind]++;
    j->n_items++;
    return 0;
}

static int take_items(const struct check *c, enum item_kind kind, const yaml_node_t *at)
{
    int code = 0;
    if (at->type != YAML_SEQUENCE_NODE)
        return add_item(c, kind, at);
    const yaml_node_item_t *item = at->data.sequence.items.start, *end = at->data.sequence.items.top;
    if (item == end)
        return document_error(c->d, at, "%s is an empty list; give it a value or remove it", item_names[kind]);
    for (; item < end && code == 0; item++)
        code = add_item(c, kind, node_of(c, *item));
    return code;
}

/* ---- the other keys of a task ---- */

static int take_children(const struct check *c, const yaml_node_t *at)
{
    const char *text = document_is_bare(at) ? document_text(at) : "";
    c->task->children = strcmp(text, "true") == 0;
    return c->task->children || strcmp(text, "false") == 0
               ? 0
               : document_error(c->d, at, "children is neither true nor false; write one of them, without quotes");
}

static int take_on(const struct check *c, const yaml_node_t *at)
{
    static const char *const words[] = {"cmdline", "exe", "comm"};
    const char *text = at->type == YAML_SCALAR_NODE ? document_text(at) : "";
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(text, words[i]) == 0)
            c->task->on = words[i];
    }
    return c->task->on ? 0 : document_error(c->d, at, "match-on is none of cmdline, exe and comm; write one of them");
}

static int find_user(const char *name, uint64_t *ret)
{
    char room[4096];
    struct passwd_user known;
    struct passwd pw, *found = NULL;
    if (passwd_by_name(PASSWD_FILE, name, &known) > 0) {
        *ret = known.uid;
        return 0;
    }
    int code = getpwnam_r(name, &pw, room, sizeof(room), &found);
    if (found)
        *ret = found->pw_uid;
    /* All of them say that, by getpwnam(3). */
    bool is_unknown = !code || code == ENOENT || code == ESRCH || code == EBADF || code == EPERM;
    return found ? 0 : is_unknown ? -ENOENT : -code;
}

static int take_user(const struct check *c, const yaml_node_t *at)
{
    uint64_t uid;
    int code = check_text(c, at, "user", NAME_MOST);
    if (code < 0)
        return code;
    struct span digits = span_str(document_text(at));
    if (!scan_u64(&digits, &uid) || digits.len || uid >= UINT32_MAX) {
        code = find_user(document_text(at), &uid);
        if (code == -ENOENT)
            return document_error(c->d, at, "there is no user %s; give a name or a number", document_text(at));
        if (code < 0)
            return document_error(c->d, at, "can't look for the user %s: %s", document_text(at),
                                  code == -ENOMEM ? "out of memory" : strerror(-code));
    }
    c->task->has_uid = true;
    c->task->uid = (uint32_t)uid;
    return 0;
}

static const char *const task_keys[] = {"pid",     "pidfile",  "cgroup",   "match", "exact",
                                        "sandbox", "children", "match-on", "user",  NULL};

static int take_task_key(const struct check *c, const yaml_node_t *key, const yaml_node_t *value)
{
    const char *name = document_text(key);
    for (enum item_kind k = 0; k < ITEM_KINDS; k++) {
        if (strcmp(name, item_names[k]) == 0)
            return take_items(c, k, value);
    }
    if (strcmp(name, "children") == 0)
        return take_children(c, value);
    if (strcmp(name, "match-on") == 0)
        return take_on(c, value);
    if (strcmp(name, "user") == 0)
        return take_user(c, value);
    const char *near = opt_nearest(name, task_keys);
    if (near)
        return document_error(c->d, key, "a task has no key %.40s; did you mean %s?", name, near);
    return document_error(c->d, key,
                          "a task has no key %.40s; it has pid, pidfile, cgroup, match, exact, match-on, "
                          "children, user and sandbox",
                          name);
}

/* ---- mappings ---- */

typedef int pair_fn(const struct check *c, const yaml_node_t *key, const yaml_node_t *value);

static int check_keys(const struct check *c, const yaml_node_t *map, const char *what)
{
    const yaml_node_pair_t *first = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    for (const yaml_node_pair_t *p = first; p < end; p++) {
        const yaml_node_t *key = node_of(c, p->key);
        if (p - first == KEYS_MOST)
            return document_error(c->d, key, "more than %u keys in %s", KEYS_MOST, what);
        if (key->type != YAML_SCALAR_NODE)
            return document_error(c->d, key, "a key of %s is %s; write a name", what, document_type(key));
        for (const yaml_node_pair_t *q = first; q < p; q++) {
            const yaml_node_t *before = node_of(c, q->key);
            if (strcmp(document_text(before), document_text(key)) == 0)
                return document_error(c->d, key, "this key is in %s twice, first in line %u; put them together", what,
                                      document_line(before));
        }
    }
    return 0;
}

static int each_pair(const struct check *c, const yaml_node_t *map, const char *what, pair_fn *fn)
{
    int code = check_keys(c, map, what);
    const yaml_node_pair_t *p = map->data.mapping.pairs.start;
    for (; p < map->data.mapping.pairs.top && code == 0; p++)
        code = fn(c, node_of(c, p->key), node_of(c, p->value));
    return code;
}

/* Finds the key in this mapping, for an error about it. */
static const yaml_node_t *find_key_node(const struct check *c, const yaml_node_t *map, const char *name)
{
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = node_of(c, p->key);
        if (strcmp(document_text(key), name) == 0)
            return key;
    }
    return NULL;
}

/* ---- tasks ---- */

static int check_whole(const struct check *c, const struct task *t, const yaml_node_t *map)
{
    static const char *const of_rules[] = {"match-on", "children", "user"};
    size_t rules = t->n[ITEM_MATCH] + t->n[ITEM_EXACT], named = t->n[ITEM_PID] + t->n[ITEM_PIDFILE];
    if (!rules && !named && !t->n[ITEM_CGROUP])
        return document_error(c->d, t->at, "task %s has no processes; give it pid, pidfile, cgroup, match or exact",
                              t->name);
    if (t->n[ITEM_CGROUP] && (rules || named))
        return document_error(c->d, find_key_node(c, map, "cgroup"),
                              "task %s has a cgroup and other processes; make them "
                              "two tasks, as what a cgroup used is the kernel's count",
                              t->name);
    for (size_t i = 0; i < sizeof(of_rules) / sizeof(*of_rules); i++) {
        const yaml_node_t *key = find_key_node(c, map, of_rules[i]);
        if (key && !(i == 0 ? t->n[ITEM_MATCH] : rules))
            return document_error(c->d, key, "%s goes with match%s; remove it", of_rules[i], i ? " or exact" : "");
    }
    return 0;
}

static int take_named_task(const struct check *c, const yaml_node_t *key, const yaml_node_t *value)
{
    struct check inner = *c;
    struct job *j = c->job;
    int code = check_text(c, key, "the name of a task", NAME_MOST);
    if (code < 0)
        return code;
    if (value->type != YAML_MAPPING_NODE)
        return document_error(c->d, value, "task %s is %s; give it keys, such as pid: 1234", document_text(key),
                              document_type(value));
    if (j->n_tasks == TASKS_MOST)
        return document_error(c->d, key, "more than %u tasks; divide the file", TASKS_MOST);
    inner.task = &j->tasks[j->n_tasks++];
    *inner.task = (struct task){.name = document_text(key), .at = key};
    code = each_pair(&inner, value, "this task", take_task_key);
    return code < 0 ? code : check_whole(c, inner.task, value);
}

static int take_tasks(const struct check *c, const yaml_node_t *value)
{
    if (value->type != YAML_MAPPING_NODE)
        return document_error(c->d, value, "tasks is %s; write each task as NAME: with its keys below",
                              document_type(value));
    if (value->data.mapping.pairs.start == value->data.mapping.pairs.top)
        return document_error(c->d, value, "tasks is empty; name a task");
    return each_pair(c, value, "tasks", take_named_task);
}

/* Takes a key of the top level. A file without these keys may be any file, and its content must not get into root's
 * log, so only keys that are nearly right are quoted. */
static int take_top_key(const struct check *c, const yaml_node_t *key, const yaml_node_t *value)
{
    static const char *const keys[] = {"name", "tasks", NULL};
    const char *name = document_text(key);
    if (strcmp(name, "tasks") == 0)
        return take_tasks(c, value);
    const char *near = opt_nearest(name, keys);
    if (strcmp(name, "name") != 0)
        return near ? document_error(c->d, key, "a task file has no key %.40s; did you mean %s?", name, near)
                    : document_error(c->d, key, "a task file has no such key; it has name and tasks");
    c->job->name = value->type == YAML_SCALAR_NODE ? document_text(value) : NULL;
    return check_text(c, value, "name", NAME_MOST);
}

int job_check(const struct document *d, struct job *ret)
{
    yaml_document_t yaml = d->yaml;
    struct check c = {d, &yaml, ret, NULL};
    const yaml_node_t *root = yaml_document_get_root_node(&yaml);
    *ret = (struct job){.tasks = calloc(TASKS_MOST, sizeof(struct task))};
    if (!ret->tasks)
        return error_set(d->err, -ENOMEM, "out of memory");
    if (!root)
        return error_set(d->err, BARO_E_SYNTAX, "%s:1:1: the file is empty; write tasks: and name a task", d->path);
    if (root->type != YAML_MAPPING_NODE)
        return document_error(d, root, "the file is %s; write tasks: and name a task", document_type(root));
    int code = each_pair(&c, root, "the file", take_top_key);
    if (code == 0 && !ret->n_tasks)
        return document_error(d, root, "there is no key tasks; write tasks: and name a task");
    return code;
}

void job_done(struct job *j)
{
    for (size_t i = 0; i < j->n_own_texts; i++)
        free(j->own_texts[i]);
    free(j->own_texts);
    free(j->tasks);
    free(j->items);
    *j = (struct job){0};
}
